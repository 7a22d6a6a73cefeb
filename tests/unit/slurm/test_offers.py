# SPDX-License-Identifier: GPL-3.0-or-later
"""What Slurm's programs print, and what is concluded from it; how often they are started, and for how long."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.account import Account
from ansible_collections.hpc.onboard.plugins.module_utils._core.host import Host
from ansible_collections.hpc.onboard.plugins.module_utils._slurm import offers, queries

ONE = "wilson|p1|opp,regular,test|opp|p1\n"
TWO = "wilson|p2|opp|opp|p1\n" + ONE
NODES = "cpu*|8:00:00|(null)\ngpu|1-00:00:00|gpu:a100:4(S:0-1)\ngpu|1-00:00:00|gpu:v100:2,nvme:1\n"
P1 = {"name": "p1", "qos": ["opp", "regular", "test"], "default_qos": "opp"}
P2 = {"name": "p2", "qos": ["opp"], "default_qos": "opp"}
PARTITIONS = [
    {"name": "cpu", "gpus": [], "minutes": 480},
    {"name": "gpu", "gpus": ["a100", "v100"], "minutes": 1440, "most": 4},
]


def site(folder: Path, **programs: str) -> Host:
    """An account where these programs print this; each notes that it was started."""
    for name, text in programs.items():
        body = text if text.startswith("exit") or text.startswith("sleep") else f"cat <<'EOF'\n{text}EOF"
        (folder / name).write_text(f"#!/bin/sh\necho {name} >> {folder}/asked\n{body}\n")
        (folder / name).chmod(0o755)
    environment = {"PATH": f"{folder}:/usr/bin:/bin"} if "sacctmgr" in programs else {"PATH": str(folder)}
    return Host(Account("/", "/bin/sh", environment), b"k" * 32)


def asked(folder: Path) -> list[str]:
    """The programs that were started."""
    return (folder / "asked").read_text().split()


def test_what_the_programs_say_is_read(tmp_path: Path) -> None:
    found = offers.get_offers(site(tmp_path, sacctmgr=TWO, sinfo=NODES, sshare="exit 1"))
    assert (found["accounts"], found["default"], found["partitions"]) == ([P1, P2], "p1", PARTITIONS)
    assert (found["missed"], found["default_partition"]) == ([], "cpu")
    assert asked(tmp_path) == ["sacctmgr", "sinfo"]


@pytest.mark.parametrize(
    ("answer", "default"), [("No partition specified or system default partition", ""), ("", None)]
)
def test_a_default_partition_is_missing_only_if_slurm_refuses_a_job_without_one(
    tmp_path: Path, answer: str, default: str | None
) -> None:
    sbatch = f"sbatch: error: allocation failure: {answer}\n"
    found = offers.get_offers(site(tmp_path, sacctmgr=ONE, sinfo=NODES.replace("*", ""), sbatch=sbatch))
    assert (found["default_partition"], found["missed"]) == (default, [])


def test_each_program_is_asked_once(tmp_path: Path) -> None:
    host = site(tmp_path, sacctmgr=ONE, sinfo=NODES)
    for wish in ("", "p1", "other"):
        offers.get_offers(host, wish)
    assert asked(tmp_path) == ["sacctmgr", "sinfo"]


def test_what_is_known_of_today_is_not_asked_again(tmp_path: Path) -> None:
    host = site(tmp_path, sacctmgr="exit 1")
    host.account.facts["slurm"] = {"accounts": [P1], "default": "p1", "partitions": [], "missed": [], "fresh": True}
    assert offers.get_offers(host, "P1")["accounts"] == [P1]
    assert not (tmp_path / "asked").exists()


def test_a_wish_that_is_not_known_is_asked_for(tmp_path: Path) -> None:
    host = site(tmp_path, sacctmgr=TWO, sinfo=NODES)
    host.account.facts["slurm"] = {"accounts": [P1], "default": "p1", "partitions": [], "missed": [], "fresh": True}
    assert offers.get_offers(host, "p2")["accounts"] == [P1, P2]


def test_a_database_that_is_down_costs_what_it_alone_knows(tmp_path: Path) -> None:
    host = site(tmp_path, sacctmgr="exit 1", sshare="p1\np2\n", sinfo=NODES)
    host.account.facts["slurm"] = {"accounts": [P1], "default": "p1", "partitions": None, "missed": [], "fresh": False}
    found = offers.get_offers(host)
    assert found["accounts"] == [P1, {"name": "p2", "qos": [], "default_qos": ""}]
    assert (found["default"], found["partitions"]) == ("p1", PARTITIONS)
    assert found["missed"] == ["failed: sacctmgr"]


def test_a_cluster_among_several_has_its_own_accounts(tmp_path: Path) -> None:
    every = ONE + "other|p9|opp|opp|p1\n"
    found = offers.get_offers(site(tmp_path, sacctmgr=every, sshare=" p1\n", sinfo=NODES))
    assert [one["name"] for one in found["accounts"]] == ["p1"]


def test_no_account_is_told_from_not_known(tmp_path: Path) -> None:
    assert offers.get_offers(site(tmp_path, sacctmgr="", sinfo=NODES))["accounts"] == []
    (tmp_path / "bare").mkdir()
    bare = offers.get_offers(site(tmp_path / "bare"))
    assert (bare["accounts"], bare["partitions"]) == (None, None)
    assert bare["missed"] == ["not found: sacctmgr, sshare, sinfo"]


def test_a_program_that_hangs_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "SECONDS", 0.2)
    started = time.monotonic()
    found = offers.get_offers(site(tmp_path, sacctmgr="sleep 60", sshare="sleep 60", sinfo="sleep 60"))
    assert time.monotonic() - started < 20
    assert found["accounts"] is None
    assert found["missed"][0].startswith("did not end within 0 s: sacctmgr")


def test_what_a_shell_would_read_is_no_name(tmp_path: Path) -> None:
    odd = "wilson|$(id)|opp|opp|p1\nwilson|p1|opp,a b|opp|$(id)\n"
    found = offers.get_offers(site(tmp_path, sacctmgr=odd, sinfo="a b|1:00|gpu:1\n;id|\n"))
    assert found["accounts"] == [{**P1, "qos": ["opp"]}]
    assert (found["default"], found["partitions"]) == ("", [])


@pytest.mark.parametrize(
    ("names", "wish", "likely", "account", "why"),
    [
        (["p1"], "", "", "p1", ""),
        (["p1"], "P1", "", "p1", ""),
        (["p1"], "", "other", "p1", ""),
        (["p1", "p2"], "p2", "p1", "p2", ""),
        (["p1", "p2"], "", "p2", "p2", ""),
        (["p1", "p2"], "", "", "", "several Slurm accounts (p1, p2)"),
        (["p1"], "gone", "", "", "'gone' is not one of your Slurm accounts (you have: p1)"),
        ([], "", "p1", "", "you have no Slurm account on this cluster"),
        (None, "", "", "", ""),
        (None, "p1", "p2", "p1", ""),
        (None, "", "p2", "p2", ""),
    ],
)
def test_which_account_is_meant(names: Any, wish: str, likely: str, account: str, why: str) -> None:
    known = None if names is None else [{"name": name} for name in names]
    for purpose in offers.PURPOSES:
        chosen = offers.choose_account({"accounts": known}, wish, likely, {}, purpose)
        assert chosen.account == account
        assert why in chosen.why
        assert bool(chosen.why) == bool(why)


PAIR = ["def-pi_cpu", "def-pi_gpu"]


@pytest.mark.parametrize(
    ("names", "wish", "likely", "gpu", "cpu"),
    [
        (PAIR, "", "", "def-pi_gpu", "def-pi_cpu"),
        (PAIR, "def-pi", "", "def-pi_gpu", "def-pi_cpu"),
        (PAIR, "Def-Pi", "", "def-pi_gpu", "def-pi_cpu"),
        (PAIR, "def-pi_gpu", "", "def-pi_gpu", "def-pi_cpu"),  # of the same project
        ([*PAIR, "rrg-b_cpu", "rrg-b_gpu"], "", "rrg-b", "rrg-b_gpu", "rrg-b_cpu"),
        ([*PAIR, "rrg-b_cpu"], "", "", "def-pi_gpu", "several Slurm accounts (def-pi_cpu, def-pi_gpu, rrg-b_cpu)"),
        (PAIR[:1], "", "", "no Slurm account for jobs with GPUs (you have: def-pi_cpu). Ask your", "def-pi_cpu"),
        (PAIR[:1], "def-pi", "", "'def-pi' has no Slurm account for jobs with GPUs", "def-pi_cpu"),
        (
            PAIR,
            "gone",
            "",
            "Set 'scheduler: {account: def-pi}' in the accounts file, or ask",
            "'gone' is not one of your Slurm accounts",
        ),
        (None, "def-pi", "", "def-pi", "def-pi"),
    ],
)
def test_accounts_with_a_suffix_are_for_their_jobs(names: Any, wish: str, likely: str, gpu: str, cpu: str) -> None:
    known = None if names is None else [{"name": name} for name in names]
    for purpose, expected in (("gpu", gpu), ("cpu", cpu)):
        chosen = offers.choose_account({"accounts": known}, wish, likely, {"cpu": "_cpu", "gpu": "_gpu"}, purpose)
        assert expected in (chosen.why or chosen.account)
        assert bool(chosen.why) == (" " in expected)
        assert "account: def-pi_" not in chosen.why, "what it says to write is right for all jobs"


def test_an_account_that_is_known_by_its_suffix_is_not_asked_for_again(tmp_path: Path) -> None:
    host = site(tmp_path, sacctmgr="exit 1")
    known = [{"name": name, "qos": [], "default_qos": ""} for name in PAIR]
    host.account.facts["slurm"] = {"accounts": known, "default": "", "partitions": [], "missed": [], "fresh": True}
    assert offers.get_offers(host, "def-pi", ["_cpu", "_gpu"])["accounts"] == known
    assert not (tmp_path / "asked").exists()


@pytest.mark.parametrize(
    ("gres", "types"),
    [("(null)", []), ("gpu:8", [""]), ("gpu:a100_3g.20gb:2(S:0),gpu:a100:4", ["a100_3g.20gb", "a100"]), ("nvme:1", [])],
)
def test_the_types_of_gpus(gres: str, types: list[str]) -> None:
    assert queries.parse_gpu_types(gres) == types
