# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb completion: what a shell sources so that Tab completes verbs, accounts, clusters, roles and options.

The library argcomplete does what differs between shells. At each Tab the shell starts this command with the line so
far; nothing is checked then, and neither Ansible nor the network is touched. What cannot be known completes to nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .._input.collection import COLLECTION
from .._input.playbook_options import FLAGS, VALUED
from .._text.sanitise import visible
from . import accounts as which
from .refused import Refused
from .typed import ASKING
from .verbs import VERBS

SHELLS = ("bash", "zsh", "fish")
SOURCED = {  # shell -> where a person puts the line, and the line
    "bash": ("~/.bashrc", 'eval "$({program} bash)"'),
    "zsh": ("~/.zshrc, below compinit", 'eval "$({program} zsh)"'),
    "fish": ("~/.config/fish/config.fish", "{program} fish | source"),
}
NO_LIBRARY = "completion needs the Python package argcomplete:  {python} -m pip install argcomplete"
OPTIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # verb done here -> its flags, its options with a value
    "init": (
        ("--add", "--yes"),
        ("--file", "--account", "--project", "--storage", "--jump-user", "--ssh", "--auth", "--without"),
    ),
    "status": (("--json",), ("-i", "--inventory")),
    "done": (("--not",), ("-i", "--inventory", "--on")),
    "cheatsheet": (("--all",), ("-i", "--inventory", "--profiles")),
    "profile": ((), ("-i", "--inventory", "--profiles")),
    "rekey": (("--keep-passphrase",), ("--kdf",)),
}
WORDS = {  # verb done here -> what may follow it, which is no account
    "ledger": ("verify", "who-has"),
    "profile": ("new", "check"),
    "state": ("export", "import"),
    "completion": SHELLS,
}
WITHOUT_NAMES = ("doctor", "rekey", *WORDS)


def main(arguments: Sequence[str], program: str) -> int:
    """Run the verb. 0 printed, 2 where the library is missing."""
    places = "\n".join(
        f"  {shell}: {line.format(program=program)}  in {file}" for shell, (file, line) in SOURCED.items()
    )
    parser = argparse.ArgumentParser(
        prog=program,
        description=f"Print what your shell sources to complete verbs, accounts, clusters and roles:\n\n{places}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=SHELLS)
    shell = parser.parse_args(arguments).shell
    try:
        import argcomplete
    except ImportError:
        print(f"{program}: {NO_LIBRARY.format(python=sys.executable)}", file=sys.stderr)
        return 2
    command = program.rpartition(" ")[0]
    print(argcomplete.shellcode([os.path.basename(command)], shell=shell))
    return 0


def complete() -> None:
    """Answer the shell, and end: what completes the line in the variables that argcomplete has set."""
    try:
        import argcomplete
    except ImportError:
        sys.exit(1)
    line = os.environ.get("COMP_LINE", "")[: int(os.environ.get("COMP_POINT", "0") or 0)]
    argcomplete.autocomplete(parser_for(line.split()[1:]), always_complete_options=False)


def parser_for(words: Sequence[str]) -> argparse.ArgumentParser:
    """A parser of the options that the verb among these words has, each with what completes it."""
    verb = next((word for word in words if word in VERBS), "")
    flags, valued = OPTIONS.get(verb, ((), ())) if verb and VERBS[verb].module else _of_playbooks(verb)
    parser = argparse.ArgumentParser(add_help=True)
    for name in flags:
        parser.add_argument(name, action="store_true")
    for name in valued:
        option: Any = parser.add_argument(name, action="append")
        option.completer = COMPLETERS.get(name, _files)
    given: Any = parser.add_argument("words", nargs="*")
    given.completer = _words
    return parser


def _of_playbooks(verb: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The flags, and the options with a value, of a verb that starts ansible-playbook."""
    flags = [name for first, others in FLAGS.items() if first != "--help" for name in (first, *others)]
    valued = [name for first, others in VALUED.items() for name in (first, *others)]
    own = (*(("--yes",) if verb in ASKING else ()), *(("--replace",) if verb in ("onboard", "plan") else ()))
    return (*own, *(name for name in flags if name != "-h")), (*(("--secret",) if verb == "rotate" else ()), *valued)


def _words(prefix: str, parsed_args: argparse.Namespace, **_more: object) -> list[str]:
    """What may stand where a verb or a name does."""
    before = parsed_args.words or []
    verb = before[0] if before and before[0] in VERBS else ""
    if not before:
        return [*VERBS, *_listed(prefix, _names(parsed_args))]
    if verb == "done" and len(before) > 1:
        return _steps(before[1], parsed_args) if len(before) == 2 else []
    if verb in WORDS:
        return list(WORDS[verb]) if len(before) == 1 else _files(prefix)
    if verb in WITHOUT_NAMES:
        return []
    every = _clusters() if verb == "cheatsheet" else []
    return _listed(prefix, [*_names(parsed_args), *every])


def _limit(prefix: str, parsed_args: argparse.Namespace, **_more: object) -> list[str]:
    return _listed(prefix, _names(parsed_args))


def _roles(prefix: str, **_more: object) -> list[str]:
    return _listed(prefix, sorted(path.name for path in (COLLECTION / "roles").iterdir() if path.is_dir()))


def _secrets(**_more: object) -> list[str]:
    return ["ngc", "wandb", "hf"]


def _files(prefix: str, **_more: object) -> list[str]:
    from argcomplete.completers import FilesCompleter

    return list(FilesCompleter()(prefix))


COMPLETERS = {
    "-l": _limit,
    "--limit": _limit,
    "-t": _roles,
    "--tags": _roles,
    "--skip-tags": _roles,
    "--secret": _secrets,
    "--kdf": lambda **_more: ["argon2id", "scrypt"],
}


def _listed(prefix: str, words: Iterable[str]) -> list[str]:
    """Return the words as they continue what was typed up to its last comma, without those that move a cursor."""
    before = prefix[: prefix.rfind(",") + 1]
    return [f"{before}{word}" for word in dict.fromkeys(words) if visible(word) == word]


def _accounts(parsed_args: argparse.Namespace) -> Any:
    """The accounts of the file that a run would take; none where it cannot be read."""
    from .._accounts import quick_look
    from .._input.diagnostics import Mistakes

    typed = [name for part in ("inventory", "i") for name in getattr(parsed_args, part, None) or ()]
    try:
        source = which.find([str(Path(name).expanduser()) for name in typed], os.environ)
        file = source.file() if source else None
        return quick_look.accounts(file) if file else []
    except (Refused, Mistakes):
        return []


def _names(parsed_args: argparse.Namespace) -> list[str]:
    found = _accounts(parsed_args)
    return [*(one.name for one in found), *(group for one in found for group in one.groups)]


def _steps(account: str, parsed_args: argparse.Namespace) -> list[str]:
    return _listed("", (str(step["id"]) for one in _accounts(parsed_args) if one.name == account for step in one.steps))


def _clusters() -> list[str]:
    return sorted(path.stem for path in (COLLECTION / "inventory" / "clusters").glob("*.yml"))
