# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with an entry of the accounts file, an account's or the defaults, beyond what one word can show.

Loaded for entries that say more than the usual words, and for mistakes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .._input.collection import Roles
from .._input.diagnostics import Lines, Mistake, Place, nearest
from .._input.json_schema import is_template, mapping
from . import own_words
from .defaults import Entry
from .profiles import Catalogue, Profile, schema

DEFAULTS = "defaults"


def known_keys(roles: Roles) -> set[str]:
    """All keys that an account may have."""
    return {*schema("accounts")["$defs"]["account"]["properties"], *roles.names()}


def name_advice(name: str, catalogue: Catalogue) -> str:
    """What to say about a key that is no account name."""
    if "@" not in name:
        example = f"{name}@{min(catalogue.ids(), default='cluster')}"
        return f'"{name}" is no account; write USER@CLUSTER, such as {example}.'
    if is_template(name):
        return f'"{name}" is a template; account names must be plain.'
    return f'"{name}" is no account; write USER@CLUSTER with one @, and letters, digits, ., - and _ before it.'


def wrong_entry(lines: Lines, name: str, entry: Entry, profile: Profile, roles: Roles) -> Iterator[Mistake]:
    """What is wrong with an account although each of its values is well formed."""
    place: Place = ("accounts", name)
    yield from _unknown_roles(lines, place, entry, roles)
    yield from _unknown_variables(lines, place, entry)
    if "jump_user" in entry and "jump" not in profile["login"]:
        text = f'"jump_user" is of no use here: {profile["id"]} has no jump host. Take it out.'
        yield lines.mistake((*place, "jump_user"), text, at_key=True)
    storage, areas = mapping(entry.get("storage")), {area["name"] for area in profile["storage"]}
    for word, text in own_words.misspelt_areas(storage, areas).items():
        yield lines.mistake((*place, "storage", word), text, at_key=True)
    known = {step["id"]: step for step in profile.get("human_steps", ())}
    for word, text in own_words.wrong_steps(mapping(entry.get("steps")), known).items():
        yield lines.mistake((*place, "steps", word), text, at_key=True)


def wrong_defaults(lines: Lines, shared: Entry, roles: Roles, clusters: Sequence[Profile] | None) -> Iterator[Mistake]:
    """What is wrong with the defaults of all accounts. clusters: of the accounts; None where they cannot be known."""
    place: Place = (DEFAULTS,)
    yield from _unknown_roles(lines, place, shared, roles)
    yield from _unknown_variables(lines, place, shared)
    if shared.get("ssh"):
        text = '"ssh" leads to one account; write it there.'
        yield lines.mistake((*place, "ssh"), text, at_key=True)
    if clusters is None:
        return
    if "jump_user" in shared and not any("jump" in one["login"] for one in clusters):
        text = '"jump_user" is of no use here: no cluster of these accounts has a jump host. Take it out.'
        yield lines.mistake((*place, "jump_user"), text, at_key=True)
    areas = {area["name"] for one in clusters for area in one["storage"]}
    for word in mapping(shared.get("storage")).keys() - areas:
        advice = nearest(str(word), areas)
        text = f'no cluster of these accounts has a storage area "{word}"; {advice} One of your own goes under "links".'
        yield lines.mistake((*place, "storage", word), text, at_key=True)
    known = {step["id"]: step for one in clusters for step in one.get("human_steps", ())}
    for word, text in own_words.wrong_steps(mapping(shared.get("steps")), known).items():
        yield lines.mistake((*place, "steps", word), text, at_key=True)


def _unknown_roles(lines: Lines, place: Place, entry: Entry, roles: Roles) -> Iterator[Mistake]:
    without: Any = entry.get("without")
    for index, role in enumerate(without if isinstance(without, list) else ()):
        if isinstance(role, str) and role not in roles.names():
            text = f'unknown role "{role}" in "without"; {nearest(role, roles.names())}'
            yield lines.mistake((*place, "without", index), text)


def _unknown_variables(lines: Lines, place: Place, entry: Entry) -> Iterator[Mistake]:
    """Variables that are nearly, but not quite, those of Ansible."""
    own = mapping(entry.get("vars"))
    for word, text in own_words.unknown_variables(own).items():
        yield lines.mistake((*place, "vars", word), text, at_key=True)
