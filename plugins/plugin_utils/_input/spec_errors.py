# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Ansible says of a setting of the wrong shape, as a sentence: which one, what it must be, what it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible_collections.hpc.onboard.plugins.plugin_utils._input.collection import ROLES

KINDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "list": "a list",
    "dict": "a mapping",
    "path": "a path",
    "NoneType": "nothing",
}
SEVERAL = {"dict": "mappings", "str": "texts", "int": "whole numbers", "list": "lists", "bool": "true or false"}

FOUND_IN = r"(?: found in '?(?P<place>[\w.> -]+?)'?\.?)?"
CHOICE = re.compile(
    r"value of (?P<name>\w+) must be one (?:or more )?of: (?P<choices>.*?)[.,] [gG]ot(?: no match for)?: "
    rf"(?P<got>.*?){FOUND_IN}$",
    re.DOTALL,
)
MISSING = re.compile(rf"missing required arguments: (?P<names>[\w, ]+?){FOUND_IN}$")
TYPE = re.compile(
    rf"argument '(?P<name>\w+)' is of type (?P<found>\S+?){FOUND_IN} and we were unable to convert to (?P<wanted>\w+): "
    r"(?P<why>.*)$",
    re.DOTALL,
)
ELEMENTS = re.compile(
    rf"Elements value for option '(?P<name>\w+)' is of type (?P<found>\S+?){FOUND_IN} and we were unable to convert to "
    r"(?P<wanted>\w+): (?P<why>.*)$",
    re.DOTALL,
)
UNKNOWN = re.compile(
    r"(?:Unsupported parameters.*?: )?(?P<path>\w+(?:\.\w+)*)\.? Supported parameters include: (?P<known>.*)\."
)
QUOTED = re.compile(r"""^"?'(?P<one>[^'"]*)'"? cannot be|^The value '(?P<other>[^']*)' is""")


def sentences(role: str, messages: Iterable[str]) -> list[str]:
    """One sentence for each thing that is wrong, each once. Words that are not known are kept as they are."""
    said = [message.strip() for message in messages]
    whole = [one for one in dict.fromkeys(said) if not any(one != other and one in other for other in said)]
    return [f"role {role}: {sentence(message)}" for message in whole]


def of_role(result: Mapping[str, Any]) -> list[str]:
    """The sentences for a failed check of the arguments of one of our roles; none for any other result."""
    context = result.get("validate_args_context") or {}
    role = str(context.get("name", "")).removeprefix("hpc.onboard.")
    ours = str(context.get("path", "")).startswith(str(ROLES)) or role != context.get("name", "")
    return sentences(role, result.get("argument_errors") or []) if ours else []


def sentence(message: str) -> str:
    """A message of Ansible's argument specs in the words of a person who wrote a setting."""
    for form, words in FORMS:
        match = form.match(message)
        if match:
            return words(match)
    return message


def _setting(match: re.Match[str]) -> str:
    place = match.groupdict().get("place")
    return f"setting {match['name']}" + (f" in {place}" if place else "")


def _choice(match: re.Match[str]) -> str:
    return f"{_setting(match)} must be one of {match['choices']}; got {match['got']}"


def _missing(match: re.Match[str]) -> str:
    if match["place"]:
        return f"setting {match['place']} must have {match['names']}; got an entry without"
    return f"setting {match['names']} must be given; got nothing"


def _type(match: re.Match[str]) -> str:
    return f"{_setting(match)} must be {KINDS.get(match['wanted'], match['wanted'])}; got {_got(match)}"


def _elements(match: re.Match[str]) -> str:
    wanted = SEVERAL.get(match["wanted"], match["wanted"])
    return f"{_setting(match)} must be a list of {wanted}; got {_got(match)} in it"


def _got(match: re.Match[str]) -> str:
    quoted = QUOTED.search(match["why"])
    value = quoted and (quoted["one"] or quoted["other"])
    return f'"{value}"' if value else KINDS.get(match["found"], match["found"])


def _unknown(match: re.Match[str]) -> str:
    place, _dot, name = match["path"].rpartition(".")
    if place:
        return f"setting {place} must have no other keys than {match['known']}; got {name}"
    return f"there is no setting {name}; there are {match['known']}"


FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (CHOICE, _choice),
    (MISSING, _missing),
    (TYPE, _type),
    (ELEMENTS, _elements),
    (UNKNOWN, _unknown),
)
