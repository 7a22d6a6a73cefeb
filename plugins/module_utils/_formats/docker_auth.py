# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The JSON file in which Docker and Apptainer keep registry logins.

Only the entry of one registry in "auths" is rewritten; every other byte of the file stays. In all functions, text is
the content of the file, and registry is the name of a registry, such as nvcr.io. Format:
https://docs.docker.com/reference/cli/docker/login/, https://github.com/containers/image/blob/main/docs/containers-auth.json.5.md
"""

import base64
import binascii
import json
import re
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

SCHEME = re.compile(r"(?:docker|https?)://")  # prefix of a registry's name that some programs write and all ignore
BLANK = re.compile(r"[ \t\r\n]*")
NEW = "{}\n"  # the content of a new file


class RegistryLogin(NamedTuple):
    """User and password of an entry."""

    user: str
    password: str


class Member(NamedTuple):
    """A member of a JSON object: the offsets of its name, of its value, and of its end in the text."""

    start: int
    value: int
    end: int


def find_problem(text: str, registry: str) -> Optional[str]:
    """Return why this file cannot be edited, or why programs would ignore the registry's entry; else None."""
    try:
        document = json.loads(text or NEW, object_pairs_hook=_refuse_duplicates)
    except _DuplicateName as error:
        return "the file contains the name %s twice: remove one of the two entries" % error
    except (ValueError, RecursionError):
        return "the file is not valid JSON: fix the file or rename it"
    if not isinstance(document, dict) or not isinstance(document.get("auths", {}), dict):
        return 'the file does not contain logins ("auths" is not an object): rename the file'
    if not all(isinstance(document["auths"][name], dict) for name in find_names(text, registry)):
        return "the entry for %s is not a login: remove the entry" % registry
    program = credential_helper(text, registry)
    if program:
        return (
            "the program %s, not this file, provides the login for %s: remove the credsStore or credHelpers setting"
            % (program, registry)
        )
    return None


def credential_helper(text: str, registry: str) -> str:
    """Return the program that provides the login for this registry instead of the file; "" if the file does."""
    try:
        document = json.loads(text or NEW)
        name = (document.get("credHelpers") or {}).get(registry) or document.get("credsStore")
    except (ValueError, AttributeError, RecursionError):
        return ""  # find_problem() reports it
    return "docker-credential-%s" % name if name else ""


def find_names(text: str, registry: str) -> List[str]:
    """Return the names under which a file has logins for a registry: the exact name first, then docker://NAME etc."""
    plain = _strip_scheme(registry)
    names = [name for name in list_registries(text) if _strip_scheme(name) == plain]
    return sorted(names, key=lambda name: name != registry)


def _strip_scheme(name: str) -> str:
    """Return the name of a registry without scheme and trailing slash, for comparison."""
    return SCHEME.sub("", name, 1).rstrip("/")


def find(text: str, registry: str) -> Optional[RegistryLogin]:
    """Return the login for a registry, or None; a login with an empty user and password for an invalid entry."""
    logins = find_all(text, registry)
    return logins[0] if logins else None


def find_all(text: str, registry: str) -> List[RegistryLogin]:
    """Return the logins for a registry under all of its names."""
    return [_read_login(json.loads(text)["auths"][name]) for name in find_names(text, registry)]


def _read_login(entry: Any) -> RegistryLogin:
    """Return the login in an entry; a login with an empty user and password if the entry is invalid."""
    try:
        user, colon, password = base64.b64decode(str(entry["auth"]), validate=True).decode("utf-8").partition(":")
    except (KeyError, TypeError, ValueError, binascii.Error):
        return RegistryLogin("", "")
    return RegistryLogin(user, password) if colon else RegistryLogin("", "")


def list_registries(text: str) -> List[str]:
    """Return the registries for which a file has logins; an empty list if the file is invalid."""
    try:
        return sorted(json.loads(text or NEW).get("auths", {}).keys())
    except (ValueError, AttributeError, RecursionError):
        return []


def put(text: str, registry: str, login: RegistryLogin) -> str:
    """Return the text with this login for the registry, under a single name: the first one that find_names() returns.

    Entries under other names of the registry are removed.
    """
    registry, *duplicates = find_names(text, registry) or [registry]
    for name in duplicates:
        text = _without_name(text, name)
    text = text or NEW
    auth = base64.b64encode(("%s:%s" % login).encode("utf-8")).decode("ascii")
    entry = json.dumps({"auth": auth})
    start = _skip_blank(text, offset=0)
    top = _read_members(text, start)
    if "auths" not in top:  # the file has no login yet
        auths_value = "{%s: %s}" % (json.dumps(registry), entry)
        return _insert_member(text, start, "auths", auths_value, is_empty=not top)
    offset = top["auths"].value
    auths = _read_members(text, offset)
    if registry not in auths:
        return _insert_member(text, offset, registry, entry, is_empty=not auths)
    member = auths[registry]
    return text[: member.value] + entry + text[member.end :]


def without(text: str, registry: str) -> str:
    """Return the text without the logins for the registry; "" if no other content is left."""
    for name in find_names(text, registry):
        text = _without_name(text, name)
    return text


def _without_name(text: str, registry: str) -> str:
    """Return the text without one member of "auths" and one comma; "" if no other content is left.

    registry: the member's name, exactly as in the text.
    """
    auths = _read_members(text, _read_members(text, _skip_blank(text, offset=0))["auths"].value)
    members = sorted(auths.values())
    index = members.index(auths[registry])
    if index + 1 < len(members):  # remove the comma after the member, too
        rest = text[: members[index].start] + text[members[index + 1].start :]
    elif index:  # the last of several members: remove the comma before the member, too
        rest = text[: members[index - 1].end] + text[members[index].end :]
    else:  # the only member
        rest = text[: members[0].start] + text[members[0].end :]
    return "" if json.loads(rest) in ({}, {"auths": {}}) else rest


class _DuplicateName(ValueError):
    """A name occurs twice in one object, and programs differ on which value they use."""


def _refuse_duplicates(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    """Return an object's members as a dict, for json.loads. Raise _DuplicateName if a name occurs twice."""
    names = [name for name, _value in pairs]
    for name in names:
        if names.count(name) > 1:
            raise _DuplicateName(name if name.isprintable() else "?")
    return dict(pairs)


def _skip_blank(text: str, offset: int) -> int:
    """Return the offset of the first character, from this offset on, that is not white space."""
    found = BLANK.match(text, offset)
    return found.end() if found else offset


def _read_members(text: str, offset: int) -> Dict[str, Member]:
    """Return the members of a JSON object by name. text: valid JSON. offset: of the object's opening brace."""
    decoder = json.JSONDecoder()
    members: Dict[str, Member] = {}
    start = _skip_blank(text, offset + 1)
    while text[start] != "}":
        name, name_end = decoder.raw_decode(text, start)
        colon = _skip_blank(text, name_end)
        value = _skip_blank(text, colon + 1)
        _value, end = decoder.raw_decode(text, value)
        members[name] = Member(start, value, end)
        start = _skip_blank(text, end)
        if text[start] == ",":
            start = _skip_blank(text, start + 1)
    return members


def _insert_member(text: str, offset: int, name: str, value: str, is_empty: bool) -> str:
    """Return the text with a new first member in the object at an offset, indented like the next member.

    value: as JSON. is_empty: True if the object has no other member.
    """
    indent = "" if is_empty else text[offset + 1 : _skip_blank(text, offset + 1)]
    member = "%s%s: %s" % (indent, json.dumps(name), value)
    return text[: offset + 1] + member + ("" if is_empty else ",") + text[offset + 1 :]
