# SPDX-License-Identifier: GPL-3.0-or-later
"""What an account shows beside a profile: what differs for certain, and what must not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.new_profile import NAME
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import SHIPPED, read_sourced, schema
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.local_checks import check_probed_facts
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.probe import suggest_name
from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.result import JobCheckResult
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.json_schema import Checker
from ansible_collections.hpc.onboard.plugins.plugin_utils._probe import patch
from ansible_collections.hpc.onboard.plugins.plugin_utils._probe.comparison import compare, compare_jobs
from ansible_collections.hpc.onboard.plugins.plugin_utils._probe.first_profile import build_profile
from ansible_collections.hpc.onboard.plugins.plugin_utils._probe.observations import Observations
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import probed_facts

PROFILE: dict[str, Any] = {
    "id": "attic",
    "home": {"path": "/home/ada", "bytes": 50 * 10**9},
    "storage": [
        {"name": "scratch", "variable": "$SCRATCH", "bytes": 10**12},
        {"name": "work", "path": "/work/ada", "root": "/work"},
    ],
    "container": {"runtime": "apptainer", "on_login": True, "module": "apptainer"},
    "quota_command": "myquota",
    "scheduler": {
        "kind": "slurm",
        "partitions": ["cpu", "gpu"],
        "gpu": "--partition=gpu --gres=gpu:a100:1",
        "hours": 24,
        "gpu_nodes": {"a100": 2},
    },
}
SEEN = {
    "home": "/home/ada",
    "home folder": "/lustre/home/ada",
    "variable SCRATCH": "/scratch/ada",
    "area scratch": "folder",
    "area scratch path": "/scratch/ada",
    "area work": "folder",
    "area work path": "/work/ada",
    "area work root": "folder",
    "program myquota": "/usr/bin/myquota",
    "program apptainer": "/usr/bin/apptainer",
    "quota bytes /home": str(50 * 10**9),
    "nodes 0": "gpu|gpu:a100:4(S:0-1)|2|1-00:00:00",
    "nodes 1": "cpu|(null)|9|1-00:00:00",
}
MAY_BE: dict[str, dict[str, str]] = {  # what another account, day or login node shows, though the profile is right
    "a variable that only jobs have": {"variable SCRATCH": ""},
    "an area that was not granted": {"area work": "nothing"},
    "an area that cannot be looked at": {"area work": "", "area work root": ""},
    "a module that a batch shell does not load": {"program apptainer": ""},
    "a quota in units of 1024": {"quota bytes /home": str(47 * 10**9)},
    "a raised quota": {"quota bytes /home": str(80 * 10**9)},
    "no quota command on this login node": {"program myquota": "", "quota bytes /home": ""},
    "a home behind a link": {"home": "/lustre/home/ada", "home folder": "/home/ada"},
    "maintenance, with no partition": {"nodes 0": "", "nodes 1": ""},
    "a longer limit": {"nodes 1": "cpu|(null)|9|7-00:00:00"},
    "a partition that the profile does not name": {"nodes 2": "tests|(null)|1|00:30:00"},
}
IS_WRONG: dict[str, tuple[dict[str, str], str]] = {
    "a smaller quota": ({"quota bytes /home": str(20 * 10**9)}, "home.bytes"),
    "another home": ({"home": "/users/ada", "home folder": "/users/ada"}, "home.path"),
    "no root of the area": ({"area work": "nothing", "area work root": "nothing"}, "storage.work.path"),
    "no such module": ({"module apptainer": "no"}, "container.module"),
    "a partition that is gone": ({"nodes 1": ""}, "scheduler.partitions"),
    "a shorter limit": (
        {"nodes 0": "gpu|gpu:a100:4|2|12:00:00", "nodes 1": "cpu|(null)|9|12:00:00"},
        "scheduler.hours",
    ),
    "other GPUs": ({"nodes 0": "gpu|gpu:h100:4|2|1-00:00:00"}, "scheduler.gpu"),
    "fewer nodes": ({"nodes 0": "gpu|gpu:a100:4|1|1-00:00:00"}, "scheduler.gpu_nodes"),
}


def differing(change: dict[str, str]) -> list[str]:
    """Return the facts that differ when the account shows a change."""
    texts = {name: text for name, text in {**SEEN, **change}.items() if text}
    return [one["fact"] for one in compare(PROFILE, Observations(texts, {}), "ada") if one["result"] == "differs"]


@pytest.mark.parametrize("name", MAY_BE)
def test_what_may_depend_on_the_account_does_not_differ(name: str) -> None:
    assert differing(MAY_BE[name]) == []


@pytest.mark.parametrize("name", IS_WRONG)
def test_what_is_wrong_differs(name: str) -> None:
    change, fact = IS_WRONG[name]
    assert fact in differing(change)
    assert differing({}) == []


def test_what_only_a_job_shows_comes_from_a_test_job() -> None:
    profile = {"home": {"on_compute": "rw"}, "storage": [], "compute": {"internet": "none"}}
    tried = (
        ("~ is writable", "writes", False),
        ("nvcr.io is reachable", "reach", True),
        ("a GPU is visible", "gpu", True),
    )
    jobs: list[JobCheckResult] = [{"what": what, "way": way, "works": works, "why": ""} for what, way, works in tried]
    assert [(one["fact"], one["result"]) for one in compare_jobs(profile, jobs)] == [
        ("home.on_compute", "differs"),
        ("compute.internet", "differs"),
    ]
    assert compare_jobs(profile, []) == []


def test_the_audit_reports_what_two_days_have_shown(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    cluster = {"id": "attic", "name": "Attic"}
    texts = {**SEEN, "quota bytes /home": str(20 * 10**9)}
    facts = compare(PROFILE, Observations(texts, {}), "ada")
    for _again in range(2):
        probed_facts.remember("attic", "ada@attic", "2026-11-24", facts)
        assert check_probed_facts(cluster) == []
    probed_facts.remember("attic", "ada@attic", "2026-11-25", facts)
    assert [one["place"] for one in check_probed_facts(cluster)] == ["home.bytes"]
    probed_facts.remember("attic", "bob@attic", "2026-11-25", compare(PROFILE, Observations(SEEN, {}), "ada"))
    assert check_probed_facts(cluster) == []


def test_a_patched_profile_that_ships_is_valid_and_says_its_source(tmp_path: Any) -> None:
    for shipped in sorted(SHIPPED.glob("*.yml")):
        own = tmp_path / shipped.name
        before = shipped.read_text(encoding="utf-8")
        text, done = patch.replace_facts(
            own, before, {"scheduler.partitions": ["only"], "home.bytes": 7, "nothing": 1}, "2026-11-25"
        )
        own.write_text(text, encoding="utf-8")
        former = read_sourced(shipped).profile["scheduler"].get("partitions", [])
        expected = ["only"] if "scheduler.partitions" in done else former
        assert read_sourced(own).profile["scheduler"].get("partitions", []) == expected
        assert len({*before.splitlines()} - {*text.splitlines()}) <= len(former) + 3, "all other lines stay"


def test_a_short_user_name_is_not_found_inside_other_words() -> None:
    profile = {"home": {"path": "/home/{user}"}}
    observations = Observations({"arch": "x86_64", "home": "/home/u/me", "area data": "folder"}, {})
    (home,) = compare(profile, observations, "me")
    assert home["value"] == "/home/u/{user}"
    texts = {**observations.texts, "area data path": "/some/data/me", "area data writable": "yes"}
    first = build_profile("attic", {"host": "attic"}, "me", Observations(texts, {}), {})
    assert first["home"]["path"] == "/home/u/{user}"
    assert first["storage"][0]["path"] == "/some/data/{user}"


def test_a_text_in_several_lines_is_replaced_without_the_next_line(tmp_path: Any) -> None:
    text = "os: >-\n  Rocky\n  Linux 8\nhome: {}\n"
    assert patch.replace_facts(tmp_path / "attic.yml", text, {"os": "Rocky Linux 9"}, "2026-11-25")[0] == (
        "os: Rocky Linux 9\nhome: {}\n"
    )


@pytest.mark.parametrize("host", ["login2.attic.example", "attic-login1.uni.example", "ssh.attic.uni.example", "attic"])
def test_a_cluster_is_named_for_its_host(host: str) -> None:
    assert suggest_name(host) == "attic"


@pytest.mark.parametrize("host", ["login.my-attic.example", "my-attic-ln3.uni.example", "my-attic"])
def test_the_name_of_a_cluster_is_one_that_a_profile_may_have(host: str) -> None:
    assert suggest_name(host) == "my_attic"
    assert NAME.fullmatch("my_attic")
    for name in ("my_attic", "my-attic", "3attic"):
        is_valid = not any(Checker(schema("cluster")["properties"]["id"]).violations(name))
        assert bool(NAME.fullmatch(name)) is is_valid


def test_time_limits_are_rounded_and_those_that_a_profile_cannot_have_are_left_out() -> None:
    seen = {"arch": "x86_64", **{f"nodes {hours}": f"{hours}|(null)|9|{hours}" for hours in ("0:10:00", "0:20:00")}}
    observed = Observations({**seen, "nodes 3": "day|(null)|9|1-00:00:00"}, {})
    made = build_profile("attic", {"host": "attic.site.org"}, "ada", observed, {})
    assert made["scheduler"]["partition_hours"] == {"0:20:00": 0.33, "day": 24}
    own = {"home": {}, "scheduler": {"kind": "slurm", "partition_hours": {"0:10:00": 1, "0:20:00": 1}}}
    values = {
        row["fact"]: row.get("value") for row in compare(own, observed, "ada") if "partition_hours" in row["fact"]
    }
    assert values == {"scheduler.partition_hours.0:10:00": None, "scheduler.partition_hours.0:20:00": 0.33}


def test_a_partition_with_dots_in_its_name_is_found_in_a_profile(tmp_path: Path) -> None:
    text = "scheduler:\n  partition_hours: {gpu.1day: 24, cpu: 12}\n"
    file = tmp_path / "attic.yml"
    made, done = patch.replace_facts(file, text, {"scheduler.partition_hours.gpu.1day": 20}, "2026-11-25")
    assert (made, done) == (text.replace("24", "20"), ["scheduler.partition_hours.gpu.1day"])


@pytest.mark.parametrize("comment", ["", "  # see: the manual", "\n\n  # for all"])
def test_comments_between_a_key_and_its_list_stay(tmp_path: Path, comment: str) -> None:
    text = f"scheduler:\n  partitions:{comment}\n  - cpu\n  - gpu\n  hours: 24\n"
    made, _done = patch.replace_facts(tmp_path / "attic.yml", text, {"scheduler.partitions": ["cpu"]}, "2026-11-25")
    assert made == f"scheduler:\n  partitions: [cpu]{comment}\n  hours: 24\n"


def test_a_first_profile_agrees_with_the_account_that_it_was_made_from() -> None:
    quotas = {"quota bytes home (user ada)": "1000", "quota bytes /home": "5000"}
    observed = Observations({"arch": "x86_64", "home": "/home/ada", "nodes 0": "cpu|gpu:0|9|1:00:00", **quotas}, {})
    several = {"nodes 0": "a|gpu:a100:4|9|1:00:00", "nodes 1": "h|gpu:h100:8|9|1:00:00"}
    for texts in (observed.texts, {**observed.texts, **several}):
        assert_agrees(Observations(texts, {}))
    assert "gpus_per_node" not in build(observed)["scheduler"], "a node with no GPU has none"


def build(observed: Observations) -> dict[str, Any]:
    return build_profile("attic", {"host": "attic.site.org"}, "ada", observed, {})


def assert_agrees(observed: Observations) -> None:
    made = build(observed)
    filled = {**made, "home": {**made["home"], "path": "/home/ada"}}
    assert [row["fact"] for row in compare(filled, observed, "ada") if row["result"] == "differs"] == []


@pytest.mark.parametrize(
    "sources",
    ["\n- {id: a, what: b, date: 2026-01-01}\n", "\n    - id: a\n      what: b\n", " [{id: a, what: b}]\n", " []\n"],
)
def test_the_source_is_added_in_the_form_of_the_others(tmp_path: Path, sources: str) -> None:
    text = f"sources:{sources}os: Rocky Linux 8\n"
    made, _done = patch.replace_facts(tmp_path / "attic.yml", text, {"os": "Rocky Linux 9"}, "2026-11-25")
    before, after = yaml.safe_load(text), yaml.safe_load(made)
    assert after["sources"][:-1] == before["sources"]
    assert after["sources"][-1]["id"] == "probe"
    assert after["os"]["value"] == "Rocky Linux 9"
