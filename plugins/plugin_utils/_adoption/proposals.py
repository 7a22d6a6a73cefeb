# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What serves for what the roles declare: from outcomes and observations to a list of the user's things.

Pure: nothing is asked and nothing is read. What cannot be told for certain is not in the list.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .._roles import container_caches, tool_caches
from . import launcher_settings

if TYPE_CHECKING:
    from .._documents.adoption import AccountSettings, ExistingUse, Relation
    from .._documents.declaration import PlanEntry
    from .._documents.outcome import ExistingThing, ResourceOutcome

USED = "used as it is"
PLAIN = re.compile(r"(?:/|~/)[A-Za-z0-9_@%+=:,./-]{1,1000}")
IN_CACHE_HOME = ("pip", "uv", "huggingface", "torch", "wandb")  # tools with a folder of their name in $XDG_CACHE_HOME
CONTAINERS = [name for variables in container_caches.CACHES.values() for name in variables]
HUB = {"HF_HOME": "HF_HUB_CACHE"}  # a variable of the user's -> the declared one that would outrank it, with /hub


class Desired(NamedTuple):
    """What is desired of the account. conda: whether a conda is, even if none can be declared yet."""

    declared: Sequence[PlanEntry]
    conda: bool

    def variables(self) -> dict[str, str]:
        """Return the variables that hpc-onboard sets."""
        found: dict[str, str] = {}
        for one in self.declared:
            found |= (one["options"].get("variables") or {}) if one["kind"] == "shell_environment" else {}
        return found

    def prefix(self) -> str:
        """Return the prefix of the declared conda; empty without one."""
        return next((str(one["options"]["prefix"]) for one in self.declared if one["kind"] == "conda_install"), "")


def list_things(
    outcomes: Sequence[ResourceOutcome], existing: Sequence[ExistingThing], desired: Desired
) -> list[ExistingUse]:
    """Return the user's things, those to ask about last but for what is left.

    Paths of the account become settings here, so only plain ones count: Ansible would evaluate a template in them.
    """
    existing = [one for one in existing if PLAIN.fullmatch(one["shown"])]
    variables = [one for one in existing if one["what"] == "variable"]
    caches = [thing for one in variables for thing in _variable(one, desired.variables())]
    hidden = [pair for one in outcomes for pair in one["evidence"].get("in_use", {}).items()]
    caches += _stores(hidden, {one["shown"] for one in variables})
    used = {one["identity"] for one in outcomes if "adopted" in one["evidence"]}
    condas = list(_condas([one for one in existing if one["what"] == "conda"], desired, used))
    images = [_use("equivalent", f"image {one['shown']}", "stays; jobs can name it by its path")
              for one in existing if one["what"] == "image"]  # fmt: skip
    launchers = [one for one in existing if one["what"] == "launcher"]
    about_conda = f"conda {desired.prefix()}" if any(one["keep"] for one in condas) else ""
    resources = [thing for one in outcomes if one["identity"] != about_conda for thing in _resource(one, launchers)]
    order = ("equal", "equivalent", "different", "left")
    return sorted([*resources, *caches, *condas, *images], key=lambda one: order.index(one["relation"]))


def _use(relation: Relation, thing: str, use: str, keep: AccountSettings | None = None,
         replace: AccountSettings | None = None, lost: Iterable[str] = ()) -> ExistingUse:  # fmt: skip
    return {
        "relation": relation, "thing": thing, "use": use, "keep": keep or {}, "replace": replace, "lost": list(lost),
    }  # fmt: skip


# -- resources -------------------------------------------------------------------------------------


def _resource(outcome: ResourceOutcome, launchers: Sequence[ExistingThing]) -> Iterator[ExistingUse]:
    """Yield what is to be said of a declared resource that the user has, or whose place the user holds."""
    identity, evidence = outcome["identity"], outcome["evidence"]
    keep = {"keep": [identity]}
    if outcome["status"] == "ok" and "adopted" in evidence:
        yield _use(evidence["adopted"], identity, USED)
    elif outcome["status"] == "blocked" and evidence.get("unknown_key"):
        yield _use("different", identity, "holds a key that is not in your keyring", keep, {"replace": [identity]})
    elif outcome["status"] == "blocked" and evidence.get("theirs"):
        yield _replaceable(identity, launchers)
    elif outcome["status"] == "blocked":
        yield _use("left", identity, str(outcome["reason"]))
    elif outcome["status"] == "missing" and outcome["capability"] == "launchers":
        first = next((one for one in launchers if identity.endswith(f"/{one['name']}")), None)
        if first:
            use = f"found on PATH, so hpc-onboard creates no {identity.partition(' ')[2]}"
            yield _use("equivalent", f"script {first['shown']}", use, keep)


def _replaceable(identity: str, launchers: Sequence[ExistingThing]) -> ExistingUse:
    """Return the question about a thing of the user's in the place of another one, with what would be lost."""
    keep, replace = {"keep": [identity]}, {"replace": [identity]}
    mine = next((one for one in launchers if identity.endswith(f"/{one['name']}") and one["words"]), None)
    if not mine:
        return _use("different", identity, "differs from what hpc-onboard would create", keep, replace)
    settings, lost = launcher_settings.from_words(mine["words"])
    more = {"launchers": settings} if settings else {}
    return _use("different", identity, f"gives srun {' '.join(mine['words'])}", keep, {**replace, **more}, lost)


# -- caches ----------------------------------------------------------------------------------------


def _variable(one: ExistingThing, desired: dict[str, str]) -> Iterator[ExistingUse]:
    name, path = one["name"], one["shown"]
    thing = f"{name} in {one['at']}"
    if name == "XDG_CACHE_HOME":
        tools = {tool: f"{path}/{tool}" for tool in IN_CACHE_HOME if tool_caches.TOOLS[tool].keys() & desired.keys()}
        if tools and any(desired[name] != f"{path}/{below}" for tool in tools
                         for name, below in tool_caches.TOOLS[tool].items() if name in desired):  # fmt: skip
            yield _use(
                "equivalent", thing, f"{path} stays the place of these caches", {"tool_caches": {"paths": tools}}
            )
    elif name == "TRANSFORMERS_CACHE":
        if "HF_HUB_CACHE" in desired:
            yield _use("left", thing, "stays; transformers uses it first, other programs HF_HUB_CACHE")
    elif {desired.get(name), desired.get(HUB.get(name, ""))} & {path, one["path"], f"{path}/hub"}:
        yield _use("equal", thing, USED)
    elif settings := _path_setting(name, path, desired):
        yield _placed(thing, one, settings)


def _stores(hidden: Iterable[tuple[str, str]], chosen: Container[str]) -> Iterator[ExistingUse]:
    """Yield the folders of tools whose content the variables of hpc-onboard would hide, each once.

    hidden: variables with these folders. chosen: the folders that the user's own variables name.
    """
    folders = {folder: name for name, folder in hidden if folder not in chosen and PLAIN.fullmatch(folder)}
    for folder, name in folders.items():
        if name in CONTAINERS:
            setting: AccountSettings = {"container_caches": {"paths": {name: folder}}}
            yield _use("equivalent", f"containers in {folder}", "used as they are", setting)
        else:
            setting = {"tool_caches": {"paths": {"huggingface": folder}}}
            yield _use("equivalent", f"models in {folder}", "used as they are", setting)


def _placed(thing: str, one: ExistingThing, settings: AccountSettings) -> ExistingUse:
    """Return a folder of the user's: desired from now on if it is off the home, else a question."""
    if one["in_home"]:
        use = f"{one['shown']} is in the home; hpc-onboard would use a folder off the home"
        return _use("different", thing, use, settings, {})
    return _use("equivalent", thing, f"{one['shown']} stays the place for it", settings)


def _path_setting(name: str, path: str, desired: dict[str, str]) -> AccountSettings:
    """Return the setting that makes a path the desired one; {} for a variable that hpc-onboard leaves alone."""
    if name in CONTAINERS:
        return {"container_caches": {"paths": {name: path}}} if name in desired else {}
    for tool, variables in tool_caches.TOOLS.items():
        if name == tool_caches.OWN.get(tool, next(iter(variables))) and variables.keys() & desired.keys():
            return {"tool_caches": {"paths": {tool: path}}}
    return {}


# -- conda -----------------------------------------------------------------------------------------


def _condas(condas: Sequence[ExistingThing], desired: Desired, used: Container[str]) -> Iterator[ExistingUse]:
    """Yield the condas: the one to use if it is the only one off the home, else those that stay.

    used: the identities of the user's things that are used by now.
    """
    off_home = [one for one in condas if not one["in_home"]]
    candidates = off_home or condas
    is_open = f"conda {desired.prefix()}" not in used
    for one in condas:
        thing, setting = f"conda {one['shown']}", {"conda": {"distribution": "own", "prefix": one["shown"]}}
        if not desired.conda:
            yield _use("left", thing, "stays; hpc-onboard sets up no conda here")
        elif is_open and candidates == [one] and one["in_home"]:
            yield _use("different", thing, "is in the home; hpc-onboard would set up one off the home", setting, {})
        elif is_open and candidates == [one]:
            yield _use("equivalent", thing, "used with its environments, never changed", setting)
        elif thing not in used:
            yield _use("left", thing, "stays; `conda: {distribution: own, prefix: ...}` names the one to use")
