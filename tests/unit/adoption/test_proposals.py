# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What serves and what differs: from outcomes and observations to a list with settings."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._adoption import launcher_settings
from ansible_collections.hpc.onboard.plugins.plugin_utils._adoption.proposals import Desired, list_things

USRUN = ["-K", "--container-mounts=/data:/data,$HOME:$HOME", "--container-workdir=$PWD", "--mem=64GB", "-p batch"]


def existing(what: str, path: str, name: str = "", words: list[str] | None = None) -> Any:
    """One observation."""
    in_home = path.startswith("~")
    whole = path.replace("~", "/home/ada")
    at = "~/.bashrc:3"
    return {
        "what": what, "path": whole, "shown": path, "name": name, "at": at, "in_home": in_home, "words": words or [],
    }  # fmt: skip


def outcome(identity: str, status: str = "ok", capability: str = "x", **evidence: Any) -> Any:
    """One outcome."""
    return {"identity": identity, "status": status, "capability": capability, "evidence": evidence, "reason": "why"}


def desired(prefix: str = "", conda: bool = False, **variables: str) -> Desired:
    """What is desired of the account."""
    entries: list[Any] = [{"kind": "shell_environment", "options": {"variables": variables}}]
    entries += [{"kind": "conda_install", "options": {"prefix": prefix}}] if prefix else []
    return Desired(entries, conda or bool(prefix))


OURS = {"HF_HUB_CACHE": "/c/huggingface/hub", "HF_XET_CACHE": "/c/huggingface/xet", "PIP_CACHE_DIR": "/c/pip"}
SCRIPT = "script ~/bin/usrun.sh"
LAUNCHERS = {"mounts": ["/data:/data", "$HOME:$HOME"], "memory": "64G", "partition": "batch"}
HUGGINGFACE = {"tool_caches": {"paths": {"huggingface": "/d/hf"}}}
OWN = {"conda": {"distribution": "own", "prefix": "/d/mc"}}
STORE = {"container_caches": {"paths": {"ENROOT_DATA_PATH": "~/.local/share/enroot"}}}
CASES: dict[str, tuple[list[Any], list[Any], Desired, list[Any]]] = {
    # outcomes, observations, what is desired, and relation, settings to keep it and to replace it
    "a link that is equal": ([outcome("link ~/a", adopted="equal")], [], desired(), [("equal", {}, None)]),
    "one that hpc-onboard made": ([outcome("link ~/a")], [], desired(), []),
    "a link to elsewhere": (
        [outcome("link ~/a", "blocked", theirs=True)], [], desired(),
        [("different", {"keep": ["link ~/a"]}, {"replace": ["link ~/a"]})],
    ),
    "another key": (
        [outcome("netrc", "blocked", unknown_key=True)], [], desired(),
        [("different", {"keep": ["netrc"]}, {"replace": ["netrc"]})],
    ),
    "something that is blocked otherwise": ([outcome("link", "blocked")], [], desired(), [("left", {}, None)]),
    "a launcher of the user's": (
        [outcome(SCRIPT, "blocked", theirs=True)], [existing("launcher", "~/bin/usrun.sh", "usrun.sh", USRUN)],
        desired(), [("different", {"keep": [SCRIPT]}, {"replace": [SCRIPT], "launchers": LAUNCHERS})],
    ),
    "a launcher elsewhere on PATH": (
        [outcome(SCRIPT, "missing", "launchers")], [existing("launcher", "~/s/usrun.sh", "usrun.sh")], desired(),
        [("equivalent", {"keep": [SCRIPT]}, None)],
    ),
    "models off the home": ([], [existing("variable", "/d/hf", "HF_HOME")], desired(**OURS),
                            [("equivalent", HUGGINGFACE, None)]),
    "models where hpc-onboard wants them": ([], [existing("variable", "/c/huggingface", "HF_HOME")], desired(**OURS),
                                            [("equal", {}, None)]),
    "models that were adopted": ([], [existing("variable", "/d/hf", "HF_HOME")], desired(HF_HOME="/d/hf"),
                                 [("equal", {}, None)]),
    "a variable of no role here": ([], [existing("variable", "/d/hf", "HF_HOME")], desired(), []),
    "a cache in the home": ([], [existing("variable", "~/pip", "PIP_CACHE_DIR")], desired(**OURS),
                            [("different", {"tool_caches": {"paths": {"pip": "~/pip"}}}, {})]),
    "all caches in one folder": ([], [existing("variable", "/d", "XDG_CACHE_HOME")], desired(**OURS),
        [("equivalent", {"tool_caches": {"paths": {"pip": "/d/pip", "huggingface": "/d/huggingface"}}}, None)]),
    "a cache that outranks": ([], [existing("variable", "/d", "TRANSFORMERS_CACHE")], desired(**OURS),
                              [("left", {}, None)]),
    "containers": ([outcome("environment", in_use={"ENROOT_DATA_PATH": "~/.local/share/enroot"})], [], desired(),
                   [("equivalent", STORE, None)]),
    "models that a variable names, too": (
        [outcome("environment", in_use={"HF_HUB_CACHE": "/d/hf", "HF_XET_CACHE": "/d/hf"})],
        [existing("variable", "/d/hf", "HF_HOME")], desired(**OURS), [("equivalent", HUGGINGFACE, None)],
    ),
    "a conda": ([outcome("conda /d/m3", "missing")], [existing("conda", "/d/mc")], desired("/d/m3"),
                [("equivalent", OWN, None)]),
    "a conda in the place of ours": ([outcome("conda /d/mc", "blocked")], [existing("conda", "/d/mc")],
                                     desired("/d/mc"), [("equivalent", OWN, None)]),
    "a conda that was adopted": ([outcome("conda /d/mc", adopted="equal")], [existing("conda", "/d/mc")],
                                 desired("/d/mc"), [("equal", {}, None)]),
    "a conda where terms are to be accepted": ([], [existing("conda", "/d/mc")], desired(conda=True),
                                               [("equivalent", OWN, None)]),
    "two condas": ([], [existing("conda", "/d/mc"), existing("conda", "/d/x")], desired("/d/m3"),
                   [("left", {}, None)] * 2),
    "a conda in the home": ([], [existing("conda", "~/mc")], desired("/d/m3"),
                            [("different", {"conda": {"distribution": "own", "prefix": "~/mc"}}, {})]),
    "a conda where none is set up": ([], [existing("conda", "~/mc")], desired(), [("left", {}, None)]),
    "a path that Ansible would evaluate": (
        [outcome("environment", in_use={"ENROOT_DATA_PATH": "/{{ lookup('pipe', 'id') }}"})],
        [existing("conda", "/d/{{ x }}"), existing("variable", "/d/{{ x }}", "HF_HOME")], desired("/d/m3", **OURS), [],
    ),
    "an image": ([], [existing("image", "/d/a.sqsh")], desired(), [("equivalent", {}, None)]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_each_thing_has_a_use_and_the_settings_for_it(case: str) -> None:
    outcomes, observations, wanted, expected = CASES[case]
    things = list_things(outcomes, observations, wanted)
    assert [(one["relation"], one["keep"], one["replace"]) for one in things] == expected


def test_what_srun_is_given_becomes_settings_and_the_rest_is_named() -> None:
    settings, lost = launcher_settings.parse_srun_options([*USRUN, "-A proj", "--time=1:00:00", "--qos=$QOS", "-c4"])
    assert settings == {**LAUNCHERS, "account": "proj", "cpus": 4}
    assert lost == ["-K", "--time=1:00:00", "--qos=$QOS"]
