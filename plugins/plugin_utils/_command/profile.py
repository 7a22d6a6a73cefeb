# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb profile: the clusters that are known, a profile of one's own, and what is wrong with one."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from .._accounts import new_profile
from .._accounts.profiles import SHIPPED, Catalogue, read_known
from .._input.diagnostics import Mistakes, nearest, read_text, shown
from . import accounts
from .refused import Refused

USUAL_FOLDER = "our-clusters"
OWN = "own"


def main(arguments: Sequence[str], program: str) -> int:
    """Run the verb. 0 done, 2 not done or something is wrong with a profile."""
    wish = _parser(program).parse_args(arguments)
    try:
        folders = [*wish.profiles, *accounts.own_folders(wish.inventory)]
        if wish.verb == "new":
            return _new(wish, folders, program)
        if wish.verb == "check":
            return _check(wish.file or [file for folder in folders for file in sorted(folder.glob("*.yml"))], program)
        return _list(folders)
    except (Refused, Mistakes) as error:
        print(f"{program}: {error}", file=sys.stderr)
    except OSError as error:
        print(f"{program}: {error.filename} cannot be written: {error.strerror}", file=sys.stderr)
    return 2


def _parser(program: str) -> argparse.ArgumentParser:
    common, again = _common([]), _common(argparse.SUPPRESS)  # behind new or check, they add to nothing
    parser = argparse.ArgumentParser(
        prog=program, parents=[common], description="Without more: the clusters that are known, and from where."
    )
    verbs = parser.add_subparsers(dest="verb", metavar="new|check")
    new = verbs.add_parser("new", parents=[again], help="write a profile of a cluster of your own")
    new.add_argument("name", metavar="NAME", help="what the cluster is to be called: ada@NAME")
    new.add_argument("--from", metavar="CLUSTER", dest="model", help="take over all that this one's profile says")
    new.add_argument("-o", "--output", metavar="FOLDER", type=Path, help="where to write it; else beside your accounts")
    for question in new_profile.QUESTIONS:
        new.add_argument(f"--{question.name}", metavar=question.name.upper(), help=question.text)
    check = verbs.add_parser("check", parents=[again], help="say all that is wrong with profiles; else with your own")
    check.add_argument("file", metavar="FILE", type=Path, nargs="*", help="a profile, such as our-clusters/attic.yml")
    return parser


def _common(default: object) -> argparse.ArgumentParser:
    """The options that stand before or behind new and check."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument(
        *("-i", "--inventory"), metavar="FILE", action="append", default=default, help="the accounts file"
    )
    parser.add_argument(
        *("-p", "--profiles"), metavar="FOLDER", type=Path, action="append", default=default, help="one with profiles"
    )
    return parser


# -- the list --------------------------------------------------------------------------------------


def _list(folders: Sequence[Path]) -> int:
    rows, wrong = [("id", "name", "status", "from")], False
    for file in _known(folders):
        where = "hpc.onboard" if file.parent == SHIPPED else shown(file)
        try:
            profile = read_known(file).profile
            rows.append((file.stem, profile.get("name", file.stem), profile.get("status", OWN), where))
        except Mistakes as mistakes:
            wrong = True
            rows.append((file.stem, f"cannot be used: {len(mistakes.found)} wrong", "-", where))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        print("  ".join([*(text.ljust(width) for text, width in zip(row, widths, strict=False)), row[3]]))
    return 2 if wrong else 0


def _known(folders: Sequence[Path]) -> Iterator[Path]:
    """The file of each cluster, in the order of their names; the first folder that has it wins."""
    files: dict[str, Path] = {}
    for folder in (*folders, SHIPPED):
        for file in folder.glob("*.yml"):
            files.setdefault(file.stem, file)
    return iter(files[name] for name in sorted(files))


# -- check -----------------------------------------------------------------------------------------


def _check(files: Sequence[Path], program: str) -> int:
    if not files:
        text = "no profile of your own is known. Name its file, or its folder in the accounts file under profiles:"
        raise Refused(f"{text}\n{program} new NAME  writes one.")
    found = []
    for file in files:
        try:
            profile = read_known(file).profile
            print(f"{shown(file.absolute())}: {profile['id']} is right.")
        except Mistakes as mistakes:
            found += mistakes.found
    if found:
        raise Mistakes(found)
    return 0


# -- new -------------------------------------------------------------------------------------------


def _new(wish: argparse.Namespace, folders: Sequence[Path], program: str) -> int:
    catalogue = Catalogue((*folders, SHIPPED))
    if not new_profile.NAME.fullmatch(wish.name):
        raise Refused(f'"{wish.name}" is not a name for a cluster: small letters, digits, _ and -, a letter first.')
    model = _model(wish.model, folders, catalogue) if wish.model else None
    file = (wish.output or _folder(wish, folders)) / f"{wish.name}.yml"
    if file.exists():
        raise Refused(f"{shown(file.absolute())} is there already; check it with  {program} check {file}")
    said = {one.name: getattr(wish, one.name) for one in new_profile.QUESTIONS if getattr(wish, one.name) is not None}
    text = new_profile.text(wish.name, _answers(said, f"{program} new {wish.name}"), model)
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("x", encoding="utf-8") as stream:
        stream.write(text)
    try:
        read_known(file)
    except Mistakes:
        file.unlink()
        raise
    print(f"{shown(file.absolute())} is written. Look through it: a line that begins with # is a fact to add.")
    if wish.name in {one.stem for one in SHIPPED.glob("*.yml")}:
        print(f"It goes before the profile of {wish.name} that ships.")
    folder = _as_named(file.parent, wish.inventory)
    lines = (f"profiles: [{folder}]", "accounts:", f"  {os.environ.get('USER', 'you')}@{wish.name}:")
    print("In the accounts file:\n", *(f"    {line}" for line in lines), sep="\n")
    print(f"\nThen  {program} check {shlex.quote(str(file))}")
    return 0


def _model(cluster: str, folders: Sequence[Path], catalogue: Catalogue) -> tuple[str, str]:
    """The name and the text of the profile that another one is made from."""
    file = next((one for one in _known(folders) if one.stem == cluster), None)
    if file is None:
        raise Refused(f'--from {cluster}: unknown cluster "{cluster}"; {nearest(cluster, catalogue.ids())}')
    read_known(file)
    return cluster, read_text(file)


def _folder(wish: argparse.Namespace, folders: Iterable[Path]) -> Path:
    """Where profiles of one's own lie, or could."""
    source = accounts.find(wish.inventory, os.environ)
    file = source.file() if source else None
    return next(iter(folders), (file.parent if file else Path()) / USUAL_FOLDER)


def _as_named(folder: Path, inventory: Sequence[str]) -> str:
    """The folder as the accounts file names it."""
    source = accounts.find(inventory, os.environ)
    file = source.file() if source else None
    beside = (file.parent if file else Path()).absolute()
    path = folder.absolute()
    return str(path.relative_to(beside) if path.is_relative_to(beside) else path)


def _answers(said: dict[str, str], command: str) -> dict[str, str]:
    """What is known of the cluster: by options, or asked for at a terminal."""
    for question in new_profile.QUESTIONS:
        if question.name in said and not question.fits(said[question.name]):
            raise Refused(f"--{question.name} {said[question.name]}: {question.form}. Such as:  {question.example}")
    asked = [one for one in new_profile.QUESTIONS if one.name not in said]
    if sys.stdin.isatty() and sys.stderr.isatty():
        said = {**said, **{one.name: _asked(one) for one in asked}}
    lacking = [one for one in asked if one.is_needed and not said.get(one.name)]
    if lacking:
        options = " ".join(f"--{one.name} {shlex.quote(one.example)}" for one in lacking)
        raise Refused(f"without a terminal, say:  {command} {options}")
    return {key: value for key, value in said.items() if value}


def _asked(question: new_profile.Question) -> str:
    """What a person answers to a question; it is asked until the answer has the form."""
    while True:
        print(f"{question.text[0].upper()}{question.text[1:]} ({question.hint}): ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            raise Refused("nothing was written.")
        answer = line.strip()
        if question.fits(answer) if answer else not question.is_needed:
            return answer
        print(f"  {question.form}.", file=sys.stderr)
