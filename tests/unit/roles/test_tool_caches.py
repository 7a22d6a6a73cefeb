# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the caches of tools go: off the home, where the site asks for it or the account names a folder."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import render
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.collection import ROLES_FOLDER
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.collect import DeclaredResources, collect_resources
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.container_caches import declare as declare_containers
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.site import site_settings
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import ROLES
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.tool_caches import TOOLS, declare

from tests.unit.roles.job_settings import PROFILES

WANTED = {"wilson": "/work1/p/ada/caches", "dfki": "/data/ada/caches", "dfki_pegasus": "/netscratch/ada/caches"}
SPEC = yaml.safe_load((ROLES_FOLDER / "tool_caches/meta/argument_specs.yml").read_text(encoding="utf-8"))[
    "argument_specs"
]


def declared(**settings: Any) -> list[dict[str, Any]]:
    """What is declared for these wishes."""
    usual = {"folder": "/work/ada/caches", "root": "", "tools": list(TOOLS), "paths": {}, "state": "present"}
    return [dict(one) for one in declare({**usual, **settings})["resources"]]


@pytest.mark.parametrize("cluster", PROFILES)
def test_they_are_off_the_home_where_the_site_asks_for_it(cluster: str) -> None:
    settings = site_settings(render(PROFILES[cluster], {"user": "ada", "project": "p"}, {}))
    assert settings["tool_caches_folder"] == WANTED.get(cluster, "")
    asked = {name.removeprefix("tool_caches_"): value for name, value in settings.items() if "tool_caches" in name}
    assert ROLES["tool_caches"].is_off(asked) == (cluster not in WANTED)


def test_each_tool_is_told_by_its_own_variables() -> None:
    folder, section = declared(folder="/work/ada/caches/", root="/work", tools=["huggingface", "pip"])
    assert folder == {"kind": "directory", "options": {"path": "/work/ada/caches", "root": "/work"}}
    assert section["options"]["variables"] == {
        "HF_HUB_CACHE": "/work/ada/caches/huggingface/hub",
        "HF_XET_CACHE": "/work/ada/caches/huggingface/xet",
        "HF_DATASETS_CACHE": "/work/ada/caches/huggingface/datasets",
        "PIP_CACHE_DIR": "/work/ada/caches/pip",
    }


def test_the_variable_that_holds_a_token_is_left_alone() -> None:
    assert not {"HF_HOME", "WANDB_CONFIG_DIR", "NGC_CLI_HOME"} & {name for tool in TOOLS.values() for name in tool}


def test_absent_takes_the_variables_out_and_leaves_the_folder() -> None:
    (section,) = declared(folder="", state="absent")
    assert section["options"]["state"] == "absent"


def test_nothing_is_declared_for_no_tool() -> None:
    assert declared(tools=[]) == []


def test_a_tool_that_is_not_known_is_named() -> None:
    with pytest.raises(AccountError, match='unknown tool "pipp"; available: pip, uv, huggingface'):
        declared(tools=["pip", "pipp"])
    assert all(tool in SPEC["main"]["options"]["tool_caches_tools"]["description"] for tool in TOOLS)


def test_a_folder_of_the_users_is_the_one_that_is_used() -> None:
    tools = {"tools": ["huggingface", "torch"], "paths": {"huggingface": "/data/ada/hf", "torch": "/data/ada/t"}}
    variables = declared(**tools)[1]["options"]["variables"]
    extensions = "/work/ada/caches/torch_extensions"
    own = {"HF_HOME": "/data/ada/hf", "TORCH_HOME": "/data/ada/t"}
    assert variables == {**own, "TORCH_EXTENSIONS_DIR": extensions}
    (section,) = declared(folder="", **tools)
    assert section["options"]["variables"] == own


def test_a_token_is_kept_in_the_users_own_home_of_hugging_face() -> None:
    settings = {
        "tool_caches_paths": {"huggingface": "/data/ada/hf"},
        "tokens_programs": [{"program": "huggingface"}],
    }
    found = collect_resources(["tokens", "tool_caches"], [], [], settings.get).resources
    assert [one["options"].get("path") for one in found if one["kind"] == "token_file"] == ["/data/ada/hf/token"]
    assert not [one for one in found if one["options"].get("section") == "tokens"]


def test_container_caches_of_the_users_are_used_with_their_twins() -> None:
    usual = {"runtime": "apptainer", "folder": "/w/c", "root": "", "why": "", "clean": False, "state": "present"}
    found = declare_containers(
        {**usual, "paths": {"APPTAINER_CACHEDIR": "/data/ada/a", "SINGULARITY_TMPDIR": "/tmp/a"}}
    )
    assert found["resources"][-1]["options"]["variables"] == {
        **dict.fromkeys(("APPTAINER_CACHEDIR", "SINGULARITY_CACHEDIR"), "/data/ada/a"),
        **dict.fromkeys(("APPTAINER_TMPDIR", "SINGULARITY_TMPDIR"), "/tmp/a"),
    }
    assert [one["options"]["path"] for one in found["resources"][:-1]] == ["/data/ada/a", "/tmp/a"]
    store = declare_containers({**usual, "runtime": "enroot", "folder": "", "paths": {"ENROOT_DATA_PATH": "~/c"}})
    assert store["resources"][-1]["options"]["variables"] == {"ENROOT_DATA_PATH": "~/c"}
    with pytest.raises(AccountError, match='unknown variable "ENROOT_DATA" in paths; did you mean "ENROOT_DATA_PATH"'):
        declare_containers({**usual, "runtime": "enroot", "paths": {"ENROOT_DATA": "~/c"}})


def test_a_folder_that_two_roles_declare_is_there_once_for_both_and_for_each() -> None:
    def folder(role: str, root: str | None) -> Any:
        return {"kind": "directory", "capability": role, "options": {"path": "/work/ada/caches", "root": root}}

    both = DeclaredResources([folder("container_caches", "/work"), folder("tool_caches", None)], [], {})
    assert [one["capability"] for one in both.without_repeats().resources] == ["container_caches"]
    assert [one["capability"] for one in both.of_roles(["tool_caches"]).resources] == ["tool_caches"]
    other = {**folder("tool_caches", None), "kind": "storage_link"}
    assert len(both._replace(resources=[both.resources[0], other]).without_repeats().resources) == 2
