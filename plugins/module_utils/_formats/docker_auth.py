# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The JSON file in which Docker and Apptainer keep registry logins.

Only the one entry below "auths" is rewritten; every other byte of the file stays. Format:
https://docs.docker.com/reference/cli/docker/login/, https://github.com/containers/image/blob/main/docs/containers-auth.json.5.md
"""

import base64
import binascii
import json
import re
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

SCHEME = re.compile(r"(?:docker|https?)://")  # some programs write it before a registry's name, and readers drop it
BLANK = re.compile(r"[ \t\r\n]*")
NEW = "{}\n"


class RegistryLogin(NamedTuple):
    """User and password of an entry."""

    user: str
    password: str


class Member(NamedTuple):
    """Offsets of an object's member in the text: of its name, of its value, and of its end."""

    start: int
    value: int
    end: int


def problem(text: str, registry: str) -> Optional[str]:
    """Return why this text cannot be edited, or why an entry in it would not be read; None if it is fine."""
    try:
        document = json.loads(text or NEW, object_pairs_hook=_refuse_doubles)
    except _Double as double:
        return "the file contains the name %s twice: remove one of the two entries" % double
    except (ValueError, RecursionError):
        return "the file is not valid JSON: fix the file, or move it away"
    if not isinstance(document, dict) or not isinstance(document.get("auths", {}), dict):
        return 'the file is not a file of logins ("auths" is not an object): move it away'
    if not all(isinstance(document["auths"][name], dict) for name in names_of(text, registry)):
        return "the entry for %s is not a login: remove the entry" % registry
    program = credential_helper(text, registry)
    if program:
        text = "the program %s, not this file, provides the login for %s: remove the setting credsStore or credHelpers"
        return text % (program, registry)
    return None


def credential_helper(text: str, registry: str) -> str:
    """Return the program that readers ask for this registry instead of the file; empty if they read the file."""
    try:
        document = json.loads(text or NEW)
        name = document.get("credHelpers", {}).get(registry) or document.get("credsStore")
    except (ValueError, AttributeError, RecursionError):
        return ""  # problem() reports it
    return "docker-credential-%s" % name if name else ""


def names_of(text: str, registry: str) -> List[str]:
    """Return the names under which a file has logins for a registry: its own first, then nvcr.io as docker://nvcr.io."""
    plain = _normalise(registry)
    return sorted((name for name in registries(text) if _normalise(name) == plain), key=lambda name: name != registry)


def _normalise(name: str) -> str:
    """Return the name of a registry without scheme and trailing slash, for comparison."""
    return SCHEME.sub("", name, 1).rstrip("/")


def find(text: str, registry: str) -> Optional[RegistryLogin]:
    """Return the login for a registry, or None; an empty one if the entry is invalid."""
    found = find_all(text, registry)
    return found[0] if found else None


def find_all(text: str, registry: str) -> List[RegistryLogin]:
    """Return the logins for a registry under all of its names."""
    names = names_of(text, registry)
    return [_read_login(json.loads(text)["auths"][name]) for name in names]


def _read_login(entry: Any) -> RegistryLogin:
    """Return the login in an entry; an empty one if the entry is invalid."""
    try:
        user, colon, password = base64.b64decode(str(entry["auth"]), validate=True).decode("utf-8").partition(":")
    except (KeyError, TypeError, ValueError, binascii.Error):
        return RegistryLogin("", "")
    return RegistryLogin(user, password) if colon else RegistryLogin("", "")


def registries(text: str) -> List[str]:
    """Return the registries that a file has logins for; none if it is invalid."""
    try:
        return sorted(json.loads(text or NEW).get("auths", {}))
    except (ValueError, AttributeError, TypeError, RecursionError):
        return []


def put(text: str, registry: str, login: RegistryLogin) -> str:
    """Return the text with this login for the registry, under the name that it has there."""
    names = names_of(text, registry) or [registry]
    for name in names[1:]:
        text = _without_name(text, name)
    registry = names[0]
    text = text if text.strip() else NEW
    auth = base64.b64encode(("%s:%s" % login).encode("utf-8")).decode("ascii")
    entry = json.dumps({"auth": auth})
    top = _read_members(text, _skip_blank(text, 0))
    if "auths" not in top:
        return _insert_member(text, _skip_blank(text, 0), not top, "auths", "{%s: %s}" % (json.dumps(registry), entry))
    at = top["auths"].value
    auths = _read_members(text, at)
    if registry not in auths:
        return _insert_member(text, at, not auths, registry, entry)
    found = auths[registry]
    return text[: found.value] + entry + text[found.end :]


def without(text: str, registry: str) -> str:
    """Return the text without the logins for the registry; empty if nothing else is in it."""
    for name in names_of(text, registry):
        text = _without_name(text, name)
    return text


def _without_name(text: str, registry: str) -> str:
    """Return the text without one member of auths; empty if nothing else is left."""
    auths = _read_members(text, _read_members(text, _skip_blank(text, 0))["auths"].value)
    members = sorted(auths.values())
    index = members.index(auths[registry])
    if index + 1 < len(members):
        left = text[: members[index].start] + text[members[index + 1].start :]
    elif index:
        left = text[: members[index - 1].end] + text[members[index].end :]
    else:
        left = text[: members[0].start] + text[members[0].end :]
    return "" if json.loads(left) in ({}, {"auths": {}}) else left


class _Double(ValueError):
    """A name is twice in one object: readers differ on which one counts."""


def _refuse_doubles(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    """Return an object's members as a dict, for json.loads. Raise _Double if a name occurs twice."""
    names = [name for name, _value in pairs]
    for name in names:
        if names.count(name) > 1:
            raise _Double(name if name.isprintable() else "?")
    return dict(pairs)


def _skip_blank(text: str, at: int) -> int:
    """Return the offset of the first character that is not white space."""
    found = BLANK.match(text, at)
    return found.end() if found else at


def _read_members(text: str, at: int) -> Dict[str, Member]:
    """Return the members of the object at an offset of valid JSON."""
    decoder = json.JSONDecoder()
    members: Dict[str, Member] = {}
    at = _skip_blank(text, at + 1)
    while text[at] != "}":
        name, colon = decoder.raw_decode(text, at)
        value = _skip_blank(text, _skip_blank(text, colon) + 1)
        end = decoder.raw_decode(text, value)[1]
        members[name] = Member(at, value, end)
        at = _skip_blank(text, end)
        if text[at] == ",":
            at = _skip_blank(text, at + 1)
    return members


def _insert_member(text: str, at: int, empty: bool, name: str, value: str) -> str:
    """Return the text with a new first member in the object at an offset, indented like the members there."""
    gap = text[at + 1 : _skip_blank(text, at + 1)]
    indent = "" if empty else gap
    member = "%s%s: %s" % (indent, json.dumps(name), value)
    return text[: at + 1] + member + ("" if empty else ",") + text[at + 1 :]
