# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of ansible-playbook, read without it: which words of a command line belong to which of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

VALUED = {  # by the first long name: the other names of an option that takes a value
    "--inventory": ("-i", "--inventory-file"),
    "--limit": ("-l",),
    "--tags": ("-t",),
    "--skip-tags": (),
    "--extra-vars": ("-e",),
    "--forks": ("-f",),
    "--user": ("-u",),
    "--private-key": ("--key-file",),
    "--connection": ("-c",),
    "--timeout": ("-T",),
    "--ssh-common-args": (),
    "--ssh-extra-args": (),
    "--sftp-extra-args": (),
    "--scp-extra-args": (),
    "--connection-password-file": ("--conn-pass-file",),
    "--become-method": (),
    "--become-user": (),
    "--become-password-file": ("--become-pass-file",),
    "--vault-id": (),
    "--vault-password-file": ("--vault-pass-file",),
    "--module-path": ("-M",),
    "--start-at-task": (),
}
FLAGS = {
    "--check": ("-C",),
    "--diff": ("-D",),
    "--verbose": ("-v",),
    "--help": ("-h",),
    "--version": (),
    "--ask-pass": ("-k",),
    "--become": ("-b",),
    "--ask-become-pass": ("-K",),
    "--ask-vault-password": ("-J", "--ask-vault-pass"),
    "--force-handlers": (),
    "--flush-cache": (),
    "--list-hosts": (),
    "--list-tasks": (),
    "--list-tags": (),
    "--syntax-check": (),
    "--step": (),
}
NAMES = {alias: name for table in (VALUED, FLAGS) for name, others in table.items() for alias in (name, *others)}


class TypedOption(NamedTuple):
    """One option with its value, or one word that belongs to none.

    option: the option's first long name, as typed where none is known, empty for a word that is no option.
    value: None for a flag, and where the value is missing. typed: the words as they stood.
    """

    option: str
    value: str | None
    typed: tuple[str, ...]


def read_options(words: Sequence[str]) -> Iterator[TypedOption]:
    """Every option and every other word, in their order. What is not known counts as a flag."""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            yield from (TypedOption("", one, (one,)) for one in rest)
            return
        if word.startswith("--"):
            yield _read_long(word, rest)
        elif word.startswith("-") and word != "-":
            yield from _read_short(word, rest)
        else:
            yield TypedOption("", word, (word,))


def _read_long(word: str, rest: list[str]) -> TypedOption:
    """--name, --name=value, or --name and the next word; the beginning of a name is enough where one has it."""
    typed, equals, value = word.partition("=")
    found = {name for alias, name in NAMES.items() if alias.startswith(typed)}
    option = NAMES.get(typed) or (found.pop() if len(found) == 1 else typed)
    if equals or option not in VALUED or not rest:
        return TypedOption(option, value if equals else None, (word,))
    return TypedOption(option, rest[0], (word, rest.pop(0)))


def _read_short(word: str, rest: list[str]) -> Iterator[TypedOption]:
    """-v, -vvC, -l NAME, -lNAME."""
    for at, letter in enumerate(word[1:], 1):
        option = NAMES.get(f"-{letter}", f"-{letter}")
        if option not in VALUED:
            yield TypedOption(option, None, (f"-{letter}",))
        elif word[at + 1 :]:
            yield TypedOption(option, word[at + 1 :], (f"-{letter}", word[at + 1 :]))
            return
        else:
            yield TypedOption(option, rest[0] if rest else None, (f"-{letter}", *([rest.pop(0)] if rest else [])))
            return
