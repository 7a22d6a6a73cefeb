# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the text of a new accounts file, with comments that explain it, or add entries to an existing file.

The lines of an existing file are not changed. A node is a part of the parsed YAML text: a scalar (a single value), or a
collection (a mapping or a list), which is written in several lines or in brackets. An account that is added
(DesiredAccount) has its cluster's profile and an entry, its settings in the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from .._input.diagnostics import YamlText
from .._input.yaml_loader import Loader, TolerantLoader
from .desired_account import DesiredAccount

HEAD = """\
# Your accounts on clusters: one entry each, named USER@CLUSTER. You can edit this file:
# "hpc-onboard doctor" checks it and reports each mistake with its line and a suggestion.
# Add another account:  hpc-onboard init --add
#
# Other settings of an entry:
#   ssh: mycluster              a host name from your ~/.ssh/config, whose settings are used
#   auth: key                   your key is enough to log in, even if the profile says otherwise
#   auth: ask                   ssh asks you for input at every connection
#   without: [conda]            roles to skip on this account
#   conda: {distribution: miniforge}    settings of a role, below its name
#   vars: {ansible_port: 2222}  Ansible variables; they override all other settings
# Next to "accounts:", settings for all accounts:  defaults: {without: [conda]}
# and folders with your own profiles of clusters:  profiles: [FOLDER]
---
plugin: hpc.onboard.accounts
"""
Node = yaml.Node


class NotAdded(Exception):
    """The text of the file is too unusual for a program to add entries. The message says why."""


def render_file(accounts: Sequence[DesiredAccount], profiles: Sequence[str] = ()) -> str:
    """Return the text of a new file with these accounts. profiles: folders with the user's own profiles."""
    entries = ("".join(f"  {line}\n" if line else "\n" for line in render_entry(account)) for account in accounts)
    return HEAD + _render_profiles(profiles) + "\naccounts:\n" + "\n".join(entries)


def render_entry(account: DesiredAccount) -> list[str]:
    """Return the lines of one account, without the indentation below "accounts".

    Comments above the entry show the storage areas whose path only the user knows and has not set.
    """
    title = f"# {account.profile.get('name', account.cluster)}"
    areas = [area for area in account.profile.get("storage", ()) if "ask" in area]  # ask: how to find the path
    unset_areas = [area for area in areas if area["name"] not in account.entry.get("storage", {})]
    comments = [f"# storage: {{{area['name']}: /...}}  # {' '.join(str(area['ask']).split())}" for area in unset_areas]
    return [title, *comments, f"{account.name}:", *(f"  {line}" for line in render_lines(account.entry))]


def render_lines(mapping: Mapping[str, Any]) -> Iterator[str]:
    """Yield the YAML lines of settings: mappings in block style, lists in brackets."""
    for key, value in mapping.items():
        if isinstance(value, Mapping):
            yield f"{key}:"
            yield from (f"  {line}" for line in render_lines(value))
        else:
            yield f"{key}: {render_value(value)}"


def render_value(value: Any) -> str:
    """Return a value as YAML on one line, which may be put between brackets."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {render_value(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(render_value, value))}]"
    if not isinstance(value, str):
        return json.dumps(value)
    try:  # text needs no quotes if YAML reads the same text back, both outside and inside of brackets
        parsed = [yaml.load(line, Loader=Loader) for line in (f"k: {value}", f"{{k: {value}}}")]
        is_plain = parsed == [{"k": value}] * 2
    except yaml.YAMLError:
        is_plain = False
    return value if is_plain else "'" + value.replace("'", "''") + "'"


def _render_profiles(profiles: Sequence[str]) -> str:
    """Return the line "profiles: [FOLDER]"; empty without folders."""
    return f"profiles: {render_value(list(profiles))}\n" if profiles else ""


def add_entries(file: Path, text: str, added: Sequence[DesiredAccount], profiles: Sequence[str] = ()) -> str:
    """Return the text of a file with accounts added after its last account. Raises NotAdded, Mistakes.

    file: the path for messages. added: the new accounts. profiles: folders with the user's own profiles, which are
    added unless the file lists folders already.
    """
    yaml_text = YamlText(file, text)
    root, document = yaml_text.root(), yaml_text.document(TolerantLoader)
    accounts = find_value(root, "accounts")
    if not isinstance(accounts, yaml.MappingNode) or accounts.flow_style or not accounts.value:
        raise NotAdded("the accounts in the file are not on separate lines")
    indent = " " * accounts.value[0][0].start_mark.column
    entries = [f"{indent}{line}".rstrip() for account in added for line in ("", *render_entry(account))]
    folders = _render_profiles(profiles) if "profiles" not in document else ""
    rows, newline = text.splitlines(), find_newline(text)
    # start: the line of "accounts:", above which the folders are added. end: the line below the last account.
    start = next(key.start_mark.line for key, value in getattr(root, "value", ()) if value is accounts)
    end = find_last_line(accounts) + 1
    edited_rows = [*rows[:start], *folders.splitlines(), *rows[start:end], *entries, *rows[end:]]
    edited = "".join(f"{row}{newline}" for row in edited_rows)
    added_accounts = {account.name: account.entry or None for account in added}
    expected = {**document, "accounts": {**document["accounts"], **added_accounts}}
    if folders:
        expected["profiles"] = list(profiles)
    if yaml.load(edited, Loader=TolerantLoader) != expected:  # the file has an unusual form, such as an anchor
        raise NotAdded("hpc-onboard cannot add accounts to a file in this format")
    return edited


def find_newline(text: str) -> str:
    """Return the line break of a text, that of its first line."""
    return "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"


def find_value(mapping: Node | None, key: str) -> Node | None:
    """Return the node of the value of a key; None if the mapping lacks the key, or the node is not a mapping."""
    pairs = mapping.value if isinstance(mapping, yaml.MappingNode) else ()
    return next((value for key_node, value in pairs if key_node.value == key), None)


def find_last_line(node: Node) -> int:
    """Return the number, from 0, of the last line of a node, without the comments below the node."""
    return max(map(_find_end, _list_leaves(node)))


def _list_leaves(node: Node) -> Iterator[Node]:
    """Yield the scalars and the collections in brackets of a node, because only these nodes have exact end marks."""
    if not isinstance(node, yaml.CollectionNode) or node.flow_style:
        yield node
        return
    for item in node.value:
        children = item if isinstance(item, tuple) else (item,)  # the item of a mapping is (key, value)
        for child in children:
            yield from _list_leaves(child)


def _find_end(node: Node) -> int:
    """Return the number, from 0, of the last line of a node that _list_leaves() yields."""
    end = node.end_mark
    # after a block of text (|), the end mark is at the start of the next line
    is_below = end.column == 0 and end.line > node.start_mark.line
    return int(end.line - (1 if is_below else 0))
