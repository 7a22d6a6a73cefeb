# SPDX-License-Identifier: GPL-3.0-or-later
"""A profile and an accounts file that have every field, and the same with a hostile word in one of them."""

from __future__ import annotations

import copy
import functools
import json
import operator
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.accounts_file import AccountsFile
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.facts import is_wrapped
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.fields import ABOUT_PROFILE
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.host_variables import InventoryHost, build_hosts
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import schema
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import YamlText

from tests.hostile_words import WORDS

GOOD = (  # tried in this order for a field that has a pattern
    "words that a person reads",
    "attic",
    "own",
    "2026-11-20",
    "https://example.org/docs",
    "https://proxy.example.org:3128",
    "login.example.org",
    "/opt/python/bin/python3",
    "$SCRATCH",
    "~/caches/{user}",
    "/data:/data:ro",
    "usrun.sh",
    "df -h /home",
    "a.example.org,b.example.org",
    "ada@login.example.org",
    "--gpus=h100:1",
    "SHA256:" + "A" * 43,
    "SCRATCH",
    "~/data",
    "16G",
    "NCCL_NET",
)


def complete(node: dict[str, Any], root: dict[str, Any]) -> Any:
    """A document that has every field of a schema."""
    node = {**root["$defs"][node["$ref"].rpartition("/")[2]], **node} if "$ref" in node else node
    if "enum" in node:
        return node["enum"][0]
    kind = node.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        free = node.get("propertyNames") and node["additionalProperties"]
        named = {_fitting(node["propertyNames"]): complete(free, root)} if isinstance(free, dict) else {}
        return {**named, **{name: complete(value, root) for name, value in node.get("properties", {}).items()}}
    if kind == "array":
        return [complete(node["items"], root)]
    if kind == "string":
        return _fitting(node)
    return {"integer": 60, "number": 60, "boolean": True}[kind]


def _fitting(node: dict[str, Any]) -> str:
    """A text that a schema takes."""
    return next(word for word in GOOD if re.search(node.get("pattern", ""), word))


def profile() -> dict[str, Any]:
    made = complete(schema("cluster"), schema("cluster"))
    del made["extends"], made["without"]  # of a family
    del made["mirrors"]  # of profiles that ship
    made["format"] = 2
    del made["sources"][0]["read"]
    made["sources"][0]["id"] = "attic"
    (area,) = made["storage"]
    areas = [{**area, "name": "attic"}, {**area, "name": "found"}, {**area, "name": "said"}]
    for kept, gone in zip(areas, (("variable", "ask"), ("path", "ask"), ("path", "variable")), strict=True):
        for key in gone:
            del kept[key]
    made["sandbox_environment"] = {"SCRATCH": "/scratch/{user}"}
    made["storage"] = areas
    for key in made.keys() - ABOUT_PROFILE:
        inside = isinstance(made[key], dict) and "source" in made[key]
        made[key] = named(made[key]) if inside or key in ("storage", "launchers") else told(made[key])
    steps = [{"id": "one", "text": "do it", "done": "link", "area": "attic", "url": "https://example.org/"}]
    steps.append({"id": "two", "text": "make a key", "done": "key", "secret": "ngc"})
    return {**made, "id": "attic", "human_steps": steps}


def named(node: Any) -> Any:
    """Everything in a document with the name of its source where a section may have one."""
    if isinstance(node, dict):
        return {key: "attic" if key == "source" else named(item) for key, item in node.items()}
    return [named(item) for item in node] if isinstance(node, list) else node


def told(node: Any) -> Any:
    """Every value with its source and its day, as a person may write it."""
    if is_wrapped(node):
        return node
    if isinstance(node, dict):
        return {key: told(item) for key, item in node.items() if key != "source"}
    if isinstance(node, list):
        return [told(item) for item in node]
    return {"value": node, "source": "attic", "date": "2026-11-22"}


def with_sources() -> dict[str, Any]:
    return {key: value if key in ABOUT_PROFILE else told(value) for key, value in profile().items()}


OF_ONE_ACCOUNT = ("jump_user", "keep", "replace")


def accounts() -> dict[str, Any]:
    """An accounts file with every field: those that say where a word leads are as the profile above needs them."""
    whole = schema("accounts")
    made = complete({**whole, "properties": {**whole["properties"], "accounts": {"type": "object"}}}, whole)
    known = {"storage": {"said": "/data/own", "more": "$WORK/more"}, "without": ["conda"], "sandbox": False}
    entry = {**complete(whole["$defs"]["account"], whole), **known}
    by_profile = {name: value for name, value in entry.items() if name != "ssh"}
    by_alias = {name: value for name, value in entry.items() if name != "jump_user"}
    return {
        **made,
        **{"profiles": ["ours"], "sandbox": False},
        "defaults": {name: value for name, value in by_profile.items() if name not in OF_ONE_ACCOUNT},
        "accounts": {"ada@attic": by_profile, "bob@attic": known, "eve@attic": by_alias},
    }


def texts(node: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every text."""
    if isinstance(node, str):
        yield way
    for key, item in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from texts(item, (*way, key))


class Name(str):
    """A name of a mapping, as the end of the way to it."""


def names(node: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every name of a mapping."""
    for key, item in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        if isinstance(node, dict):
            yield (*way, Name(key))
        yield from names(item, (*way, key))


def changed(document: dict[str, Any], way: tuple[Any, ...], word: str) -> dict[str, Any]:
    """The document with another text, or another name."""
    made = copy.deepcopy(document)
    inside = made
    for step in way[:-1]:
        inside = inside[step]
    if isinstance(way[-1], Name):
        inside[word] = inside.pop(str(way[-1]))
    else:
        inside[way[-1]] = word
    return made


def hostile(document: dict[str, Any], way: tuple[Any, ...], mark: str, alone: bool = False) -> Iterator[str]:
    """Words that should not come through: alone, or also before, behind and inside of what may stand there."""
    is_name = isinstance(way[-1], Name)
    good = str(way[-1]) if is_name else str(functools.reduce(operator.getitem, way, document))
    for one in WORDS:
        word = one.replace("{mark}", mark)
        yield word
        if not alone:
            yield from (good + word, word + good, good[:2] + word + good[2:], good + " " + word)


def documents(own: Any, sourced: Any, file: Any, mark: str) -> Iterator[tuple[dict[str, Any], tuple[Any, ...], str]]:
    """Yield a document, the way to a text or a name in it, and the hostile word that takes its place."""
    for whole in (own, sourced, file):
        for way in (*texts(whole), *(names(whole) if whole is file else ())):
            yield from ((whole, way, word) for word in hostile(whole, way, mark, alone=whole is sourced))


def laid(own: dict[str, Any], file: dict[str, Any], folder: Path) -> YamlText:
    """Write the profile to its file, and return the accounts file in the same folder."""
    (folder / "ours").mkdir(exist_ok=True)
    (folder / "ours" / "attic.yml").write_text(json.dumps(own))
    return YamlText(folder / "accounts.yml", json.dumps(file))


def hosts_of(lines: YamlText) -> list[InventoryHost]:
    """Return the hosts that come of an accounts file. Raises Mistakes."""
    return list(build_hosts(AccountsFile(lines, lines.document())))
