# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The words that were typed: the verb, names of accounts, and options for ansible-playbook."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from .._input.playbook_options import NAMES, VALUED, Read, read
from .refused import Refused
from .verbs import VERBS

LIMIT, INVENTORY, SECRET, YES, REPLACE = "--limit", "--inventory", "--secret", "--yes", "--replace"
REPLACING = ("-e", "onboard_replace=true")
OUTPUT = ("-o", "--output")
ASKING: dict[str, tuple[str, ...]] = {
    "plan": (),
    "fix": ("-e", "fix_sure=true"),
    "offboard": ("-e", "offboard_sure=true"),
    "ssh-config": ("-e", "ssh_config_sure=true"),
}
"""The verbs that ask before they do a thing, and the words by which a playbook asks nobody."""


class Typed(NamedTuple):
    """A command line.

    verb: empty where none was typed. names: of accounts, clusters and patterns, -l included. options: what goes on to
    ansible-playbook, with one -l for all names and without -i. inventory: what -i named. wants: --help, --version or
    nothing. is_sure: nobody is to be asked (--yes). is_check: nothing is to be changed, whatever anybody answers.
    """

    verb: str
    names: tuple[str, ...]
    options: tuple[str, ...]
    inventory: tuple[str, ...] = ()
    wants: str = ""
    is_sure: bool = False
    is_check: bool = False


def parse(words: Sequence[str]) -> Typed:
    """Take the words of a command line apart; Refused where they cannot be meant."""
    found = list(read(words))
    verb = _take_verb(found)
    secret = _take_secret(found, verb)
    sure = _take_yes(found, verb)
    replacing = _take_replace(found, verb)
    own = _take_output(found) if verb == "export-script" else _take_answer(found) if verb == "import-result" else []
    for one in found:
        _check(one)
    options = [word for one in found if one.option not in ("", LIMIT, INVENTORY) for word in one.typed]
    inventory = tuple(str(one.value) for one in found if one.option == INVENTORY)
    names = tuple(str(one.value) for one in found if one.option in ("", LIMIT))
    wants = next((one.option for one in found if one.option in ("--help", "--version")), "")
    if not (verb or names or wants):
        raise Refused("no verb and no name of an account or a cluster.\nhpc-onboard --help  lists the verbs.")
    limit = ["-l", ",".join(names)] if names else []
    is_check = any(one.option == "--check" for one in found)
    words = (*secret, *own, *replacing, *(sure or ()), *options, *limit)
    return Typed(verb, names, words, inventory, wants, sure is not None, is_check)


def _take_verb(found: list[Read]) -> str:
    """The verb, which is the first word that is no option; it is taken out."""
    first = next((one for one in found if not one.option), None)
    if first is None or first.value not in VERBS:
        return ""
    found.remove(first)
    if VERBS[first.typed[0]].module:
        raise Refused(f"{first.value} comes first: hpc-onboard {first.value} --help")
    return first.typed[0]


def _take_secret(found: list[Read], verb: str) -> list[str]:
    """--secret NAME or --secret=NAME, which rotate has; both words are taken out."""
    at = next((at for at, one in enumerate(found) if one.option == SECRET), None)
    if at is None:
        return []
    if verb != "rotate":
        raise Refused(f"{SECRET} is an option of rotate: hpc-onboard rotate {SECRET} NAME")
    one = found.pop(at)
    name = one.value
    if name is None and at < len(found) and not found[at].option:
        name = found.pop(at).value
    if not name:
        raise Refused(f"{SECRET} needs the name of a key: hpc-onboard rotate {SECRET} wandb")
    return [SECRET, name]


def _take_yes(found: list[Read], verb: str) -> tuple[str, ...] | None:
    """--yes, which is taken out: what it is for the playbook; None where it was not typed."""
    typed = [one for one in found if one.option == YES]
    if not typed:
        return None
    if verb not in ASKING:
        raise Refused(f"{YES} is an option of {', '.join(ASKING)}; {verb or 'onboard'} asks nothing.")
    for one in typed:
        found.remove(one)
    return ASKING[verb]


def _take_replace(found: list[Read], verb: str) -> tuple[str, ...]:
    """Take --replace out, which onboard and plan have; what it is for the playbook."""
    typed = [one for one in found if one.option == REPLACE]
    if typed and verb not in ("", "onboard", "plan"):
        raise Refused(f"{REPLACE} is an option of onboard and plan.")
    for one in typed:
        found.remove(one)
    return REPLACING if typed else ()


def _take_output(found: list[Read]) -> list[str]:
    """-o FILE, --output FILE or --output=FILE of export, as ansible-playbook takes it."""
    at = next((at for at, one in enumerate(found) if one.option in OUTPUT), None)
    if at is None:
        return []
    file = found.pop(at).value
    if file is None and at < len(found) and not found[at].option:
        file = found.pop(at).value
    if not file:
        raise Refused("-o needs the name of a file: hpc-onboard export-script USER@CLUSTER -o FILE")
    return _setting("export_script_output", file)


def _take_answer(found: list[Read]) -> list[str]:
    """The file of answer, as ansible-playbook takes it, with the account that the answer is of."""
    one = next((one for one in found if not one.option), None)
    if one is None or not one.value:
        if any(one.option == "--help" for one in found):
            return []
        raise Refused("import-result needs the file that you brought back: hpc-onboard import-result FILE")
    found.remove(one)
    from ...module_utils._core.errors import AccountError  # few bring one
    from .._export_script.script_result import read_result

    try:
        account = read_result(Path(one.value).expanduser()).account
    except AccountError as error:
        raise Refused(str(error)) from None
    return [*_setting("import_result_file", one.value), LIMIT, account]


def _setting(name: str, file: str) -> list[str]:
    return ["-e", json.dumps({name: str(Path(file).expanduser().absolute())})]


def _check(one: Read) -> None:
    """An option without its value, and one that is misspelt; what Ansible may have beyond those known goes on to it."""
    if one.option in VALUED and one.value is None:
        raise Refused(f"{one.typed[0]} needs a value.")
    if one.option.startswith("--") and one.option not in NAMES:
        import difflib  # here, since few misspell

        near = difflib.get_close_matches(one.option, [*NAMES, SECRET, YES, REPLACE], 1, 0.8)
        if near:
            raise Refused(f'unknown option {one.option}; did you mean "{near[0]}"?')
