# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Proposals for the existing things of a user: which of them hpc-onboard can use instead of its own resources.

Pure functions, from outcomes and observations of an account. An uncertain observation gives no proposal.

A thing is what the user already has. A use is the proposal for a thing, with a relation to the desired state: "equal";
"equivalent", used instead; "different", the user is asked; "left", stays unused. The evidence of an outcome says what
was found in place of a declared resource. adopted: a fitting thing of the user, with its relation. theirs: another file
of the user. unknown_key: a key that is not in the keyring. in_use: data that a declared variable would hide.
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

USED = "hpc-onboard uses your existing setup unchanged"
PLAIN_PATH = re.compile(r"(?:/|~/)[A-Za-z0-9_@%+=:,./-]{1,1000}")
CACHE_HOME_TOOLS = ("pip", "uv", "huggingface", "torch", "wandb")  # tools whose default folder is $XDG_CACHE_HOME/NAME
CONTAINER_VARIABLES = [name for variables in container_caches.CACHES.values() for name in variables]
OVERRIDDEN_BY = {"HF_HOME": "HF_HUB_CACHE"}  # user's variable -> declared one that overrides it for its folder /hub


class Desired(NamedTuple):
    """The desired state of an account. conda: True if the account shall have a conda, even if not declared yet."""

    declared: Sequence[PlanEntry]
    conda: bool

    def variables(self) -> dict[str, str]:
        """Return the variables that hpc-onboard sets."""
        variables: dict[str, str] = {}
        for entry in self.declared:
            variables |= (entry["options"].get("variables") or {}) if entry["kind"] == "shell_environment" else {}
        return variables

    def prefix(self) -> str:
        """Return the prefix of the declared conda; empty without one."""
        prefixes = [str(entry["options"]["prefix"]) for entry in self.declared if entry["kind"] == "conda_install"]
        return prefixes[0] if prefixes else ""


def list_things(
    outcomes: Sequence[ResourceOutcome], existing: Sequence[ExistingThing], desired: Desired
) -> list[ExistingUse]:
    """Return the user's existing things with their proposed use, sorted by relation.

    Only plain paths are used, because a path can become a setting, and Ansible would evaluate a template in it.
    """
    plain = [thing for thing in existing if PLAIN_PATH.fullmatch(thing["shown"])]
    variables, found_condas, found_images, launchers = (
        [thing for thing in plain if thing["what"] == what] for what in ("variable", "conda", "image", "launcher")
    )
    caches = [use for thing in variables for use in _list_variable_uses(thing, desired.variables())]
    in_use = [pair for outcome in outcomes for pair in outcome["evidence"].get("in_use", {}).items()]
    caches += _list_hidden_folders(in_use, {thing["shown"] for thing in variables})
    adopted = {outcome["identity"] for outcome in outcomes if "adopted" in outcome["evidence"]}
    condas = list(_list_conda_uses(found_condas, desired, adopted))
    images = [_build_use("equivalent", f"image {thing['shown']}", "your image stays; jobs can use it by its path")
              for thing in found_images]  # fmt: skip
    # the declared conda is not listed if one of the user's can be used instead
    replaced_conda = f"conda {desired.prefix()}" if any(use["keep"] for use in condas) else ""
    others = [outcome for outcome in outcomes if outcome["identity"] != replaced_conda]
    resources = [use for outcome in others for use in _list_resource_uses(outcome, launchers)]
    order = ("equal", "equivalent", "different", "left")
    return sorted([*resources, *caches, *condas, *images], key=lambda use: order.index(use["relation"]))


def _build_use(relation: Relation, thing: str, use: str, keep: AccountSettings | None = None,
               replace: AccountSettings | None = None, lost: Iterable[str] = ()) -> ExistingUse:  # fmt: skip
    """Return the proposed use of a thing. use: a sentence. keep, replace: the settings for each answer of the user.

    replace: None if the user need not choose; {} if a replacement needs no settings. lost: the options that a
    replacement does not support.
    """
    return {
        "relation": relation, "thing": thing, "use": use, "keep": keep or {}, "replace": replace, "lost": list(lost),
    }  # fmt: skip


# -- resources -------------------------------------------------------------------------------------


def _list_resource_uses(outcome: ResourceOutcome, launchers: Sequence[ExistingThing]) -> Iterator[ExistingUse]:
    """Yield the use of a declared resource that already exists, or of a different thing in its place; else nothing.

    launchers: the user's own scripts that start jobs. A declared launcher is not needed if one of them has its name.
    """
    identity, evidence = outcome["identity"], outcome["evidence"]
    keep = {"keep": [identity]}
    if outcome["status"] == "ok" and "adopted" in evidence:
        yield _build_use(evidence["adopted"], identity, USED)
    elif outcome["status"] == "blocked" and evidence.get("unknown_key"):
        use = "the file contains a key that is not in your keyring"
        yield _build_use("different", identity, use, keep=keep, replace={"replace": [identity]})
    elif outcome["status"] == "blocked" and evidence.get("theirs"):
        yield _replaceable_use(identity, launchers)
    elif outcome["status"] == "blocked":
        yield _build_use("left", identity, str(outcome["reason"]))
    elif outcome["status"] == "missing" and outcome["capability"] == "launchers":
        same_name = next((thing for thing in launchers if identity.endswith(f"/{thing['name']}")), None)
        if same_name:
            path = identity.partition(" ")[2]  # identity: "script PATH"
            use = f"your script is on PATH, so hpc-onboard does not create {path}"
            yield _build_use("equivalent", f"script {same_name['shown']}", use, keep=keep)


def _replaceable_use(identity: str, launchers: Sequence[ExistingThing]) -> ExistingUse:
    """Return the use of a thing in the place of a declared resource. The user is asked to keep or replace the thing.

    identity: of the resource. launchers: the user's own scripts. If the thing is one of them, its srun options
    ("words") become settings.
    """
    keep, replace = {"keep": [identity]}, {"replace": [identity]}
    scripts = [thing for thing in launchers if identity.endswith(f"/{thing['name']}") and thing["words"]]
    if not scripts:
        use = "your setup differs from what hpc-onboard would create"
        return _build_use("different", identity, use, keep=keep, replace=replace)
    srun_options = scripts[0]["words"]
    settings, lost = launcher_settings.parse_srun_options(srun_options)
    launchers_settings = {"launchers": settings} if settings else {}
    use = f"your script runs srun with {' '.join(srun_options)}"
    return _build_use("different", identity, use, keep=keep, replace={**replace, **launchers_settings}, lost=lost)


# -- caches ----------------------------------------------------------------------------------------


def _list_variable_uses(variable: ExistingThing, desired: dict[str, str]) -> Iterator[ExistingUse]:
    """Yield the use of a variable in a start-up file that sets a folder of a tool. desired: declared variables.

    A variable that has nothing to do with the declared ones has no use.
    """
    name, path = variable["name"], variable["shown"]
    thing = f"{name} in {variable['at']}"
    # the folder that hpc-onboard would set: by the same variable, or by one that overrides it
    desired_folders = {desired.get(name), desired.get(OVERRIDDEN_BY.get(name, ""))}
    if name == "XDG_CACHE_HOME":
        yield from _list_cache_home_uses(thing, path, desired)
    elif name == "TRANSFORMERS_CACHE":
        if "HF_HUB_CACHE" in desired:
            use = "your variable stays; transformers uses it, and other programs use HF_HUB_CACHE"
            yield _build_use("left", thing, use)
    elif desired_folders & {path, variable["path"], f"{path}/hub"}:  # with ~, in full, or its subfolder
        yield _build_use("equal", thing, USED)
    elif settings := _path_setting(name, path, desired):
        yield _folder_use(thing, variable, settings)


def _list_cache_home_uses(thing: str, path: str, desired: dict[str, str]) -> Iterator[ExistingUse]:
    """Yield the use of XDG_CACHE_HOME, unless the declared variables name the same folders. path: its value.

    thing: the name of the variable and its place. desired: the declared variables. A tool uses the folder path/TOOL.
    """
    tools = [tool for tool in CACHE_HOME_TOOLS if tool_caches.TOOLS[tool].keys() & desired.keys()]
    folders = {key: f"{path}/{folder}" for tool in tools for key, folder in tool_caches.TOOLS[tool].items()}
    if any(desired[key] != folder for key, folder in folders.items() if key in desired):
        setting: AccountSettings = {"tool_caches": {"paths": {tool: f"{path}/{tool}" for tool in tools}}}
        yield _build_use("equivalent", thing, f"{path} stays in use", keep=setting)


def _list_hidden_folders(in_use: Iterable[tuple[str, str]], own_folders: Container[str]) -> Iterator[ExistingUse]:
    """Yield the use of folders that tools would no longer find after hpc-onboard has set its variables.

    in_use: pairs of such a variable and its folder. own_folders: those in the user's own variables, which are listed
    with the variables.
    """
    use = "hpc-onboard uses this folder unchanged"
    folders = {folder: name for name, folder in in_use if folder not in own_folders and PLAIN_PATH.fullmatch(folder)}
    for folder, name in folders.items():
        if name in CONTAINER_VARIABLES:
            setting: AccountSettings = {"container_caches": {"paths": {name: folder}}}
            yield _build_use("equivalent", f"containers in {folder}", use, keep=setting)
        else:  # a variable of Hugging Face
            setting = {"tool_caches": {"paths": {"huggingface": folder}}}
            yield _build_use("equivalent", f"models in {folder}", use, keep=setting)


def _folder_use(thing: str, variable: ExistingThing, settings: AccountSettings) -> ExistingUse:
    """Return the use of a variable's folder. The user is asked if the folder is in the home directory.

    thing: the name of the variable and its place. settings: those with which hpc-onboard uses the folder, too.
    """
    if variable["in_home"]:
        use = f"{variable['shown']} is in the home directory; hpc-onboard would use a folder outside the home directory"
        return _build_use("different", thing, use, keep=settings, replace={})
    return _build_use("equivalent", thing, f"{variable['shown']} stays in use", keep=settings)


def _path_setting(name: str, path: str, desired: dict[str, str]) -> AccountSettings:
    """Return the setting that keeps the path of a variable (name); {} for a variable that hpc-onboard does not set."""
    if name in CONTAINER_VARIABLES:
        return {"container_caches": {"paths": {name: path}}} if name in desired else {}
    for tool, variables in tool_caches.TOOLS.items():
        user_variable = tool_caches.USER_VARIABLES.get(tool, next(iter(variables)))  # for the user's own folder
        if name == user_variable and variables.keys() & desired.keys():
            return {"tool_caches": {"paths": {tool: path}}}
    return {}


# -- conda -----------------------------------------------------------------------------------------


def _list_conda_uses(
    condas: Sequence[ExistingThing], desired: Desired, adopted: Container[str]
) -> Iterator[ExistingUse]:
    """Yield the use of conda installations: a single one outside the home directory is used, the others stay.

    If the only conda is in the home directory, the user is asked. adopted: the names of declared resources that already
    use a thing of the user; these are listed with the resources.
    """
    outside_home = [conda for conda in condas if not conda["in_home"]]
    candidates = outside_home or condas
    is_prefix_adopted = f"conda {desired.prefix()}" in adopted  # then no conda needs to be chosen
    for conda in condas:
        thing, setting = f"conda {conda['shown']}", {"conda": {"distribution": "own", "prefix": conda["shown"]}}
        is_candidate = candidates == [conda] and not is_prefix_adopted
        if not desired.conda:
            yield _build_use("left", thing, "your conda stays; hpc-onboard does not install conda on this account")
        elif is_candidate and conda["in_home"]:
            use = "your conda is in the home directory; hpc-onboard would install conda in a different folder"
            yield _build_use("different", thing, use, keep=setting, replace={})
        elif is_candidate:
            yield _build_use(
                "equivalent", thing, "hpc-onboard uses this installation and its environments unchanged", keep=setting
            )
        elif thing not in adopted:
            yield _build_use(
                "left", thing, "your conda stays; to use it, set `conda: {distribution: own, prefix: ...}`"
            )
