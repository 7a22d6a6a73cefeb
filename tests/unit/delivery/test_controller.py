# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The small parts of the controller: fingerprints' key, results, selection by tags, and what capabilities declare."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from account_scene import Scene
from ansible_collections.hpc.onboard.plugins.module_utils._core import resource as engine
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import result as words
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import Plan
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.result import (
    build_result,
    count_statuses,
    make_failed_outcome,
    render_diffs,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.declaration import Declaration
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles import (
    collect,
    container_caches,
    enroot_credentials,
    shell_environment,
    storage_links,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.fingerprint_key import local_key

NOTHING = collect.DeclaredResources([], [], {})


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the key of this machine lies."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "hpc.onboard" / "fingerprint.key"


def test_the_key_is_made_once_and_for_its_owner_alone(state: Path) -> None:
    first = local_key()
    assert local_key() == first == state.read_text().strip()
    assert len(bytes.fromhex(first)) == 32
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    assert [file.name for file in state.parent.iterdir()] == ["fingerprint.key"]


def test_runs_that_begin_at_once_have_one_key(state: Path) -> None:
    readers = []
    for _process in range(8):
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.write(writer, local_key().encode())
            os._exit(0)
        os.close(writer)
        readers.append(reader)
    keys = {os.read(reader, 100) for reader in readers}
    for reader in readers:
        os.close(reader)
        os.wait()
    assert keys == {state.read_text().strip().encode()}


def test_what_a_killed_run_with_this_number_left_is_no_obstacle(state: Path) -> None:
    state.parent.mkdir(parents=True)
    (state.parent / f".{state.name}.{os.getpid()}").touch()
    assert local_key() == local_key() == state.read_text().strip()


@pytest.mark.parametrize("content", ["", "00", "zz" * 32, "\xff"])
def test_a_damaged_key_is_not_used_and_not_overwritten(content: str, state: Path) -> None:
    state.parent.mkdir(parents=True)
    state.write_bytes(content.encode("latin-1"))
    assert len(bytes.fromhex(local_key())) == 32
    assert state.read_bytes() == content.encode("latin-1")


def test_where_nothing_can_be_kept_a_key_serves_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/x")
    assert len(bytes.fromhex(local_key())) == 32


def test_a_fingerprint_tells_keys_apart_and_holds_none(scene: Scene) -> None:
    host = scene.host()
    assert host.fingerprint("nvapi-a") == host.fingerprint("nvapi-a") != host.fingerprint("nvapi-b")
    assert "nvapi" not in host.fingerprint("nvapi-a")


def test_the_controller_has_a_word_for_every_status_and_sorts_them_as_the_engine_does() -> None:
    assert set(words.WORDS) == set(engine.STATUSES)
    assert (words.CHANGES, words.FAILURES) == (engine.CHANGES, engine.FAILURES)


def outcome(status: str, **more: Any) -> dict[str, Any]:
    """An outcome of that status."""
    return {**make_failed_outcome(f"thing {status}", "links", ""), "status": status, "reason": None, **more}


@pytest.mark.parametrize(
    ("statuses", "changed", "failed", "check", "msg"),
    [
        ([], False, False, False, "nothing to do"),
        (["ok", "ok"], False, False, False, "2 unchanged"),
        (["missing", "ok"], True, False, False, "1 created, 1 unchanged"),
        (["missing", "different", "extra"], True, False, True, "1 to remove, 1 to change, 1 to create"),
        (["extra"], True, False, False, "1 removed"),
        (["unknown", "missing"], True, True, False, "1 unknown, 1 created"),
    ],
)
def test_a_result_counts_in_words(statuses: list[str], changed: bool, failed: bool, check: bool, msg: str) -> None:
    outcomes = [outcome(status) for status in statuses]
    said = build_result(outcomes, NOTHING, check)
    assert (said["changed"], said["failed"], said["msg"].split("\n")[0]) == (changed, failed, msg)
    assert msg == (count_statuses(outcomes, check) or "nothing to do")


@pytest.mark.parametrize("status", ["blocked", "failed", "unknown"])
def test_what_went_wrong_is_named_with_its_reason(status: str) -> None:
    said = build_result([outcome(status, reason="because"), outcome("ok")], NOTHING, False)
    assert said["failed"]
    assert said["msg"].endswith(f"\nthing {status}: because")


def test_what_an_answer_says_is_said_once_however_many_have_asked() -> None:
    def asked(capability: str, *remarks: str) -> dict[str, Any]:
        question = {"identity": words.QUERIES[0], "capability": capability, "remarks": list(remarks)}
        return {**outcome("ok"), **question}

    things = [outcome("missing"), outcome("missing")]
    told = [asked("launchers", "down"), asked("job_scripts", "down"), asked("job_scripts", "slow"), asked("launchers")]
    assert words.drop_queries([*told, *things]) == [told[0], told[2], *things]
    assert words.drop_queries([asked("resources")]) == [asked("resources")]


def test_a_diff_shows_what_changes_and_nothing_else() -> None:
    after = {"mode": "0755", "content": "#!/bin/sh\necho\n"}
    shown = render_diffs([outcome("ok"), outcome("missing", after=after), outcome("failed")])
    header = {"before_header": "thing missing", "after_header": "thing missing"}
    assert shown == [{**header, "before": "", "after": "mode: 0755\ncontent:\n  #!/bin/sh\n  echo\n"}]


EVERY = ["storage_links", "conda", "path_scripts"]


@pytest.mark.parametrize(
    ("run", "skip", "left"),
    [
        (["all"], [], EVERY),
        (["tagged"], [], EVERY),
        (["conda"], [], ["conda"]),
        (["path_scripts", "conda"], [], ["conda", "path_scripts"]),
        (["all"], ["conda"], ["storage_links", "path_scripts"]),
        (["conda"], ["conda"], []),
        (["other"], [], []),
        (["all"], ["other"], EVERY),
    ],
)
def test_tags_select_capabilities_by_name(run: list[str], skip: list[str], left: list[str]) -> None:
    assert collect.select_roles(EVERY, run, skip) == left


def test_a_capability_that_the_account_does_without_is_left_out_in_words() -> None:
    declared = collect.collect_resources(["conda"], ["conda"], [], lambda _name: None)
    assert declared.resources == []
    assert [(one["capability"], one["code"]) for one in declared.notes] == [("conda", "without")]


def test_an_unknown_capability_is_one_error() -> None:
    with pytest.raises(AccountError, match="unknown role 'nosuch'; available: conda, container_caches"):
        collect.collect_resources(["nosuch"], [], [], lambda _name: None)


def test_without_settings_the_defaults_of_the_role_hold() -> None:
    declared = collect.collect_resources(["enroot_credentials"], [], [], lambda _name: None)
    assert [entry["options"]["machine"] for entry in declared.resources] == ["nvcr.io", "authn.nvidia.com"]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("storage_links_by", "me", "role storage_links: storage_links_by must be one of us, site; got me"),
        (
            "storage_links_areas",
            [{"path": "/a"}],
            "role storage_links: item 1 of storage_links_areas needs name; add it",
        ),
        ("storage_links_areas", "x", "storage_links_areas must be a list of mappings; got text"),
    ],
)
def test_settings_of_a_wrong_shape_are_refused_before_anything_is_sent(name: str, value: Any, said: str) -> None:
    settings = {name: value}
    with pytest.raises(AccountError) as refused:
        collect.collect_resources(["storage_links"], [], [], settings.get)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("conda_wantd", 'role conda: unknown setting conda_wantd; did you mean "conda_wanted"?'),
        ("path_scripts_scirpts", 'unknown setting path_scripts_scirpts; did you mean "path_scripts_scripts"?'),
        ("tokens_zzz", "role tokens: unknown setting tokens_zzz; known: tokens_programs, tokens_state."),
    ],
)
def test_a_variable_that_is_nearly_a_setting_is_refused(name: str, said: str) -> None:
    with pytest.raises(AccountError) as refused:
        collect.refuse_unknown_settings(["ansible_host", name, "conda_wanted"])
    assert said in str(refused.value)


def test_other_variables_are_nobodys_business() -> None:
    collect.refuse_unknown_settings(
        ["conda", "condas_wanted", "my_conda_wanted", "token", "storage", "conda_prefix", 1]
    )


def test_a_password_given_directly_is_refused_and_not_shown() -> None:
    entry = {"kind": "enroot_credential", "machine": "a.io", "password": "canary"}
    with pytest.raises(AccountError) as refused:
        collect.collect_resources([], [], [entry], lambda _name: None)
    assert "secret: NAME" in str(refused.value)
    assert "canary" not in str(refused.value)


def kinds(declaration: Declaration) -> list[tuple[str, str]]:
    """What is declared: kind, and its path, machine or section."""
    named = []
    for one in declaration["resources"]:
        options = one["options"]
        named.append((one["kind"], options.get("machine") or options.get("section") or options.get("path")))
    return named


LINKS = {"by": "us", "why": "", "clean": False, "state": "present"}
AREA = {"name": "work", "path": "/work/p/me", "root": "/work/p", "create": True, "link": "work"}


@pytest.mark.parametrize(
    ("settings", "declared", "note"),
    [
        ({**LINKS, "areas": []}, [], ""),
        ({**LINKS, "areas": [AREA]}, [("directory", "/work/p/me"), ("storage_link", "~/work")], ""),
        ({**LINKS, "areas": [AREA], "state": "absent"}, [("storage_link", "~/work")], ""),
        ({**LINKS, "areas": [{**AREA, "create": False}]}, [("storage_link", "~/work")], ""),
        ({**LINKS, "areas": [{**AREA, "link": ""}]}, [("directory", "/work/p/me")], ""),
        ({**LINKS, "areas": [{**AREA, "path": "", "ask": "ask Ann"}]}, [], "the path of work is unknown. ask Ann"),
        (
            {**LINKS, "areas": [AREA], "by": "site", "why": "at login"},
            [],
            "the site creates these links itself: at login",
        ),
    ],
)
def test_storage_links_declare(settings: dict[str, Any], declared: list[tuple[str, str]], note: str) -> None:
    declaration = storage_links.declare({"own": {}, **settings})
    assert kinds(declaration) == declared
    assert [one["text"] for one in declaration["notes"]] == ([note] if note else [])


KEYS = {"path": "~/k", "registries": [{"machine": "a"}, {"machine": "b", "secret": "s"}], "secret": "ngc"}


@pytest.mark.parametrize(
    ("settings", "secrets"),
    [
        ({**KEYS, "runtime": "enroot", "state": "present"}, ["ngc", "s"]),
        ({**KEYS, "runtime": "enroot", "state": "absent"}, [None, None]),
        ({**KEYS, "runtime": "enroot", "state": "present", "path": ""}, []),
        ({**KEYS, "runtime": "apptainer", "state": "present", "path": ""}, []),
    ],
)
def test_enroot_credentials_name_secrets_and_hold_none(settings: dict[str, Any], secrets: list[str | None]) -> None:
    declaration = enroot_credentials.declare(settings)
    assert [one["options"].get("secret") for one in declaration["resources"]] == secrets
    assert bool(declaration["notes"]) == (not secrets)
    Plan.of([{**one, "capability": "x"} for one in declaration["resources"]], lambda name: f"key-{name}")


def test_apptainers_cache_is_named_without_the_folder_that_it_adds_itself() -> None:
    settings = {
        "runtime": "apptainer",
        "folder": "/s/c/",
        "root": "/s",
        "why": "",
        "paths": {},
        "clean": False,
        "state": "present",
    }
    declaration = container_caches.declare(settings)
    variables = declaration["resources"][-1]["options"]["variables"]
    assert variables["APPTAINER_CACHEDIR"] == variables["SINGULARITY_CACHEDIR"] == "/s/c"
    assert kinds(declaration)[:-1] == [("directory", "/s/c"), ("directory", "/s/c/tmp")]
    assert kinds(container_caches.declare({**settings, "state": "absent"})) == [
        ("shell_environment", "container_caches")
    ]


@pytest.mark.parametrize("change", [{"runtime": "none"}, {"folder": ""}])
def test_no_caches_are_declared_where_there_is_no_place_and_the_reason_is_said(change: dict[str, str]) -> None:
    settings = {
        "runtime": "enroot",
        "folder": "/s",
        "root": "",
        "paths": {},
        "why": "no disk here",
        "state": "present",
        **change,
    }
    code = "place_unknown" if change.get("folder") == "" else "not_here"
    assert container_caches.declare(settings) == {
        "resources": [],
        "notes": [{"code": code, "text": "no disk here"}],
    }


def test_variables_of_ones_own_are_texts() -> None:
    declaration = shell_environment.declare({"variables": {"A": 1}, "path": [], "state": "present"})
    assert declaration["resources"][0]["options"]["variables"] == {"A": "1"}


def test_a_controller_with_macos_can_load_all_that_it_needs() -> None:
    """Its Python lacks what Linux alone has; the engine runs on the account, but its kinds are checked here."""
    code = (
        "import os, sys; sys.path[:0] = sys.argv[1:]\n"
        "for name in ('O_PATH', 'setxattr', 'getxattr', 'listxattr', 'removexattr', 'sched_getaffinity'):\n"
        "    delattr(os, name)\n"
        "import mmap; delattr(mmap, 'MADV_DONTDUMP')\n"
        "from ansible_collections.hpc.onboard.plugins.action import converge, doctor\n"
        "from ansible_collections.hpc.onboard.plugins.inventory import accounts\n"
        "from ansible_collections.hpc.onboard.plugins.callback import console\n"
    )
    subprocess.run([sys.executable, "-c", code, *sys.path], check=True)
