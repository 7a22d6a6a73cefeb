# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The subcommand profile: list the known clusters, write a profile of a cluster, and check profiles.

A profile is a file with the facts about a cluster. SHIPPED is the folder with the profiles of hpc-onboard. An inventory
is the value of the option -i, which names the accounts file.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from .._accounts import new_profile
from .._accounts.profiles import SHIPPED, Catalogue, read_sourced
from .._input.diagnostics import Mistakes, display_path, nearest, read_text
from .._input.json_schema import write_yaml
from .._text.amounts import count
from . import accounts
from .accounts import CommandError
from .parser import add_inventory

OWN = "own"  # the status shown for a user's profile that states none


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the parts and options of the subcommand."""
    _add_folders(parser, default=[])
    parts = parser.add_subparsers(dest="part", metavar="new|check")
    new = parts.add_parser("new", help="write a profile of a cluster")
    new.add_argument("name", metavar="NAME", help="the name of the cluster, as in ada@NAME")
    new.add_argument("--from", metavar="CLUSTER", dest="model", help="copy the profile of this cluster")
    new.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=accounts.read_path,
        help="folder of the new profile; default: next to accounts.yml",
    )
    for question in new_profile.QUESTIONS:
        new.add_argument(f"--{question.name}", metavar=question.name.upper(), help=question.text)
    check = parts.add_parser("check", help="report all mistakes in profiles; default: in all your own profiles")
    check.add_argument(
        "file", metavar="FILE", type=accounts.read_path, nargs="*", help="a profile, such as our-clusters/attic.yml"
    )
    for part in (new, check):
        # without a default, which would overwrite the values that precede the word new or check
        _add_folders(part, default=argparse.SUPPRESS)


def _add_folders(parser: argparse.ArgumentParser, default: object) -> None:
    """Add the options -i (the accounts file) and -p (folders with profiles). default: of both options."""
    add_inventory(parser, default)
    parser.add_argument(
        *("-p", "--profiles"),
        metavar="DIR",
        type=accounts.read_folder,
        action="append",
        default=default,
        help="a folder with profiles",
    )


def run(options: argparse.Namespace) -> int:
    """List, write or check profiles, and return the exit code.

    Raises CommandError if a file cannot be written or has a mistake.
    """
    try:
        folders = [*options.profiles, *accounts.read_profile_folders(options.inventory)]
        if options.part == "new":
            return _write_profile(options, folders)
        if options.part == "check":
            files = options.file or [file for folder in folders for file in sorted(folder.glob("*.yml"))]
            return _check_files(files, options.prog)
        return _print_list(folders)
    except Mistakes as mistakes:
        raise CommandError(str(mistakes)) from None
    except OSError as error:
        if error.filename is None:  # an error of the output, which main() handles
            raise
        raise CommandError(f"{error.filename} cannot be written: {error.strerror}") from None


# -- the list --------------------------------------------------------------------------------------


def _print_list(folders: Sequence[Path]) -> int:
    """Print a table of all clusters. Return exit code 0, or 2 if a profile has a mistake."""
    rows, has_mistakes = [("id", "name", "status", "from")], False
    for file in _list_files(folders):
        origin = "hpc.onboard" if file.parent == SHIPPED else display_path(file)
        try:
            profile = read_sourced(file).profile
            rows.append((file.stem, profile.get("name", file.stem), profile.get("status", OWN), origin))
        except Mistakes as mistakes:
            has_mistakes = True
            rows.append((file.stem, f"invalid, {count(len(mistakes.found), 'mistake')}", "-", origin))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:  # the last column is not padded
        print("  ".join([*(text.ljust(width) for text, width in zip(row, widths, strict=False)), row[3]]))
    return 2 if has_mistakes else 0


def _list_files(folders: Sequence[Path]) -> Iterator[Path]:
    """Yield the file of each cluster's profile, sorted by name. The first folder with a profile of a cluster wins."""
    files: dict[str, Path] = {}
    for folder in (*folders, SHIPPED):
        for file in folder.glob("*.yml"):
            files.setdefault(file.stem, file)
    return iter(files[name] for name in sorted(files))


# -- check -----------------------------------------------------------------------------------------


def _check_files(files: Sequence[Path], program: str) -> int:
    """Print which files are valid, and return exit code 0. Raise Mistakes if some are not, with all their mistakes.

    program: the words that start the subcommand. Raises CommandError if the list of files is empty.
    """
    if not files:
        text = (
            "you have no profiles of your own. Give the path of a profile, or set `profiles: [FOLDER]` in accounts.yml."
        )
        raise CommandError(f"{text}\nTo create a profile, run: {program} new NAME")
    mistakes = []
    for file in files:
        try:
            profile = read_sourced(file).profile
            print(f"{display_path(file.absolute())}: {profile['id']} is valid.")
        except Mistakes as error:
            mistakes += error.found
    if mistakes:
        raise Mistakes(mistakes)
    return 0


# -- new -------------------------------------------------------------------------------------------


def _write_profile(options: argparse.Namespace, folders: Sequence[Path]) -> int:
    """Write a profile from options, answers and an optional model. Print how to use the profile, and return 0.

    folders: of the user's own profiles. Raises CommandError if the name is invalid or the profile already exists.
    """
    catalogue = Catalogue((*folders, SHIPPED))
    if not new_profile.NAME.fullmatch(options.name):
        raise CommandError(
            f'"{options.name}" is not a valid name: use lower-case letters, digits and _, and begin with a letter'
        )
    model = _read_model(options.model, folders, catalogue) if options.model else None
    folder = options.output or choose_folder(options.inventory, folders)
    file = folder / f"{options.name}.yml"
    if file.exists():
        raise CommandError(
            f"{display_path(file.absolute())} already exists. To check the profile, run: {options.prog} check {file}"
        )
    option_values = {question.name: getattr(options, question.name) for question in new_profile.QUESTIONS}
    answers = {name: value for name, value in option_values.items() if value is not None}
    program = options.prog.removesuffix(" profile")
    answers = _ask_missing(answers, f"{program} {shlex.join(sys.argv[1:])}")
    text = new_profile.render_profile(options.name, answers, model)
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("x", encoding="utf-8") as stream:
        stream.write(text)
    try:
        read_sourced(file)
    except Mistakes:  # such as an answer that the schema refuses: leave no broken profile
        file.unlink()
        raise
    advice = (
        f"Check that each fact of {options.model} also applies to {options.name}."
        if model
        else "Review the file. Each line that begins with # is a template for a fact that you can add."
    )
    print(f"{display_path(file.absolute())} was written. {advice}")
    if (SHIPPED / f"{options.name}.yml").exists():
        print(f"Your profile overrides the shipped profile of {options.name}.")
    profiles = write_yaml("profiles", [_as_accounts_path(folder, options.inventory)])
    lines = (profiles, "accounts:", f"  {os.environ.get('USER', 'you')}@{options.name}:")
    print("Add these lines to the accounts file:\n", *(f"    {line}" for line in lines), sep="\n")
    print(f"\nThen run: {options.prog} check {shlex.quote(str(file))}")
    return 0


def _read_model(cluster: str, folders: Sequence[Path], catalogue: Catalogue) -> tuple[str, str]:
    """Return the cluster's name and the text of its profile, to copy. Raises CommandError for an unknown cluster.

    folders: of the user's own profiles. catalogue: of all profiles. Raises Mistakes for a profile with mistakes.
    """
    file = next((path for path in _list_files(folders) if path.stem == cluster), None)
    if file is None:
        raise CommandError(f'--from {cluster}: unknown cluster "{cluster}"; {nearest(cluster, catalogue.ids())}')
    read_sourced(file)  # raises Mistakes
    return cluster, read_text(file)


def choose_folder(inventory: Sequence[str], folders: Iterable[Path]) -> Path:
    """Return the folder for the user's own profiles: the first of the folders, else one next to the accounts file.

    inventory: the values of -i. folders: those that the options and the accounts file name.
    """
    file = accounts.find_single_file(inventory)
    return next(iter(folders), (file.parent if file else Path()) / new_profile.USUAL_FOLDER)


def _as_accounts_path(folder: Path, inventory: Sequence[str]) -> str:
    """Return the folder as it is written in the accounts file of -i (inventory): relative to this file if possible."""
    file = accounts.find_single_file(inventory)
    base = (file.parent if file else Path()).absolute()
    path = folder.absolute()
    return str(path.relative_to(base) if path.is_relative_to(base) else path)


def _ask_missing(answers: dict[str, str], command: str) -> dict[str, str]:
    """Return the answers by the name of the question: those given by options, and those entered at the terminal.

    Skipped questions are not in the result. command: this one, shown in the error with the missing options. Raises
    CommandError for an invalid or missing answer.
    """
    for question in new_profile.QUESTIONS:
        if question.name in answers and not question.fits(answers[question.name]):
            text = f"--{question.name} {answers[question.name]} is invalid: {question.form}"
            raise CommandError(f"{text}. Example: {question.example}")
    missing = [question for question in new_profile.QUESTIONS if question.name not in answers]
    if sys.stdin.isatty() and sys.stderr.isatty():
        answers = {**answers, **{question.name: _ask(question) for question in missing}}
    unanswered = [question for question in missing if question.is_needed and not answers.get(question.name)]
    if unanswered:
        words = " ".join(f"--{question.name} {shlex.quote(question.example)}" for question in unanswered)
        raise CommandError(f"without a terminal, hpc-onboard cannot ask for missing values. Run: {command} {words}")
    return {name: value for name, value in answers.items() if value}


def _ask(question: new_profile.ProfileQuestion) -> str:
    """Ask a question until the answer is valid, and return the answer. Raises CommandError if the input ends."""
    while True:
        print(f"{question.text[0].upper()}{question.text[1:]} ({question.hint}): ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            raise CommandError("the input has ended, so nothing was written")
        answer = line.strip()
        is_valid = question.fits(answer) if answer else not question.is_needed  # Enter skips an optional question
        if is_valid:
            return answer
        print(f"  {question.form}.", file=sys.stderr)
