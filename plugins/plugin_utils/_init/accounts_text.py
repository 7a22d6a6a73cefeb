# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of an accounts file: made anew with comments that teach, or an existing one with an entry more.

Every line of an existing file stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from .._input.diagnostics import YamlText
from .._input.yaml_loader import Loader
from .wishes import DesiredAccount

HEAD = """\
# Your accounts on clusters: one entry each, named USER@CLUSTER. This file is yours, edit it as you like:
# "hpc-onboard doctor" checks it and reports each mistake with its line and the nearest known word.
# Add another account:  hpc-onboard init --add
#
# Further settings of an entry:
#   ssh: mycluster              a name in your ~/.ssh/config that connects there; its settings are used
#   auth: key                   your key is enough to log in, whatever the profile says
#   auth: ask                   ssh asks you for something at every connection
#   without: [conda]            roles to skip on this account
#   conda: {distribution: miniforge}    settings of a role, below its name
#   vars: {ansible_port: 2222}  variables of Ansible; they override everything else
# Next to "accounts:", settings that all accounts share:  defaults: {without: [conda]}
# and folders with profiles of your own clusters:  profiles: [FOLDER]
---
plugin: hpc.onboard.accounts
"""
Node = yaml.Node


class NotAdded(Exception):
    """An entry cannot be put into that file by a program: why."""


def render_file(wishes: Sequence[DesiredAccount], profiles: Sequence[str] = ()) -> str:
    """The text of a new file. profiles: folders with profiles of the user's own."""
    head = HEAD + _profiles_line(profiles) + "\naccounts:\n"
    return head + "\n".join("".join(f"  {line}\n" if line else "\n" for line in render_entry(one)) for one in wishes)


def render_entry(wish: DesiredAccount) -> list[str]:
    """The lines of one account, as they stand below accounts."""
    comment = [f"# {wish.profile.get('name', wish.cluster)}"]
    missing = [area for area in wish.profile.get("storage", ()) if "ask" in area]
    missing = [area for area in missing if area["name"] not in wish.entry.get("storage", {})]
    comment += [f"# storage: {{{area['name']}: /...}}  # {' '.join(str(area['ask']).split())}" for area in missing]
    return [*comment, f"{wish.name}:", *(f"  {line}" for line in render_lines(wish.entry))]


def render_lines(mapping: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of settings, lists in brackets."""
    for key, value in mapping.items():
        if isinstance(value, Mapping):
            yield f"{key}:"
            yield from (f"  {line}" for line in render_lines(value))
        else:
            yield f"{key}: {render_value(value)}"


def render_value(value: Any) -> str:
    """Return a value as YAML reads it back, also between brackets."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {render_value(one)}' for key, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(render_value, value))}]"
    if not isinstance(value, str):
        return json.dumps(value)
    try:
        plain = yaml.load(f"k: {value}", Loader=Loader) == {"k": value} == yaml.load(f"{{k: {value}}}", Loader=Loader)
    except yaml.YAMLError:
        plain = False
    return value if plain else "'" + value.replace("'", "''") + "'"


def _profiles_line(profiles: Sequence[str]) -> str:
    return f"profiles: {render_value(list(profiles))}\n" if profiles else ""


def add_entries(file: Path, text: str, wishes: Sequence[DesiredAccount], profiles: Sequence[str] = ()) -> str:
    """The text of a file with these accounts behind those that it has. Raises NotAdded, Mistakes.

    profiles: folders to name, unless the file names some.
    """
    lines = YamlText(file, text)
    root, document = lines.root(), lines.document()
    accounts = find_value(root, "accounts")
    if not isinstance(accounts, yaml.MappingNode) or accounts.flow_style or not accounts.value:
        raise NotAdded("its accounts are not written one on a line each")
    indent = " " * accounts.value[0][0].start_mark.column
    at = find_last_line(accounts) + 1
    new = [f"{indent}{line}".rstrip() for one in wishes for line in ("", *render_entry(one))]
    rows = text.splitlines()
    folders = _profiles_line(profiles) if "profiles" not in document else ""
    top = next(key.start_mark.line for key, value in getattr(root, "value", ()) if value is accounts)
    made = "\n".join([*rows[:top], *folders.splitlines(), *rows[top:at], *new, *rows[at:]]) + "\n"
    names = {one.name: one.entry or None for one in wishes}
    wanted = {**document, "accounts": {**document["accounts"], **names}}
    wanted |= {"profiles": list(profiles)} if folders else {}
    if yaml.load(made, Loader=Loader) != wanted:
        raise NotAdded("its form is not one that hpc-onboard can add to")
    return made


def find_value(root: Node | None, key: str) -> Node | None:
    """Return the value of a key of a mapping; None if there is none."""
    pairs = root.value if isinstance(root, yaml.MappingNode) else ()
    return next((value for one, value in pairs if one.value == key), None)


def find_last_line(node: Node) -> int:
    """Return the line on which the last part of a node ends."""
    return max(map(_last_line, _list_leaves(node)))


def _list_leaves(node: Node) -> Iterator[Node]:
    """The nodes with no block below them; those of a mapping with its keys."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        for item in node.value:
            for one in item if isinstance(item, tuple) else (item,):
                yield from _list_leaves(one)
    else:
        yield node


def _last_line(node: Node) -> int:
    """The line on which a node ends; that of a block of text ends before the next one begins."""
    mark = node.end_mark
    return int(mark.line - (1 if mark.column == 0 and mark.line > node.start_mark.line else 0))
