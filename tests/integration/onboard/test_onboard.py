# SPDX-License-Identifier: GPL-3.0-or-later
"""The promise of the README over real ssh: one trip, nothing the second time, and it works in a login shell."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

import pytest

from tests.effort import turns
from tests.integration.runs import KEY, keyring_environment, onboard
from tests.testbed.proxy import Proxy

pytestmark = pytest.mark.testbed

CLUSTERS = ("lrz", "dfki", "wilson", "daint")
SHELLS = ("/bin/bash", "/usr/bin/zsh", "/usr/bin/tcsh", "/usr/bin/fish")


@turns(2)
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_the_first_and_the_second_run_take_one_session_each(bed: Any, cluster: str) -> None:
    account = bed.new_account(cluster)
    first = onboard(bed, account)
    assert first.code == 0, first.text
    assert account.sessions() == 1
    before = account.tree()
    account.reset_sessions()
    second = onboard(bed, account)
    assert second.code == 0, second.text
    assert account.sessions() == 1
    assert second.of(account.name)["changed"] is False
    assert set(second.statuses(account.name).values()) == {"ok"}
    assert account.tree() == before, "the second run touched a file"
    assert not [path for path in before if ".ansible" in path or "hpc.onboard-draft" in path or ".lock" in path]
    assert programs(account) == []


def programs(account: Any) -> list[str]:
    """What runs there as the user, but for the session that ssh keeps open."""
    lines = []
    for number in account.processes():
        with contextlib.suppress(OSError):  # it has ended just now
            lines.append(Path(f"/proc/{number}/cmdline").read_text().replace("\0", " "))
    return [line for line in lines if line and not line.startswith("sshd: ")]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_settings_are_in_every_login_shell(bed: Any, shell: str) -> None:
    account = bed.new_account("dfki", shell=shell)
    assert onboard(bed, account).code == 0
    for run in (account.login_shell, account.ssh):
        assert run("echo cache=$ENROOT_CACHE_PATH").stdout.strip() == f"cache=/data/{account.user}/enroot/cache"
        assert run("echo $HF_HUB_CACHE").stdout.strip() == f"/data/{account.user}/caches/huggingface/hub"
        assert run("which usrun.sh").stdout.strip() == f"{account.home}/bin/usrun.sh"


def test_the_launcher_says_where_srun_is_missing_and_passes_arguments_on(bed: Any) -> None:
    fake = b"#!/bin/sh\nfor a; do printf '<%s>' \"$a\"; done\n"
    account = bed.new_account("dfki", files={"fake/srun": fake})
    account.ssh("chmod +x fake/srun")
    assert onboard(bed, account).code == 0
    missing = account.login_shell("PATH=/nowhere ~/bin/usrun.sh nvidia-smi")
    assert missing.returncode == 127
    assert "srun was not found" in missing.stderr
    image = "/data/enroot/nvcr.io_nvidia_pytorch_22.05-py3.sqsh"
    given = account.login_shell("PATH=$HOME/fake:$PATH usrun.sh id")
    assert given.stderr == f"usrun.sh: {image} does not exist. To see the files in this folder, run: ls /data/enroot\n"
    account.ssh(f"touch {image}")
    given = account.login_shell("PATH=$HOME/fake:$PATH usrun.sh --gpus=1 python -c 'print(\"a  b\")' '$x' ''")
    assert given.stdout.endswith('<python><-c><print("a  b")><$x><>'), given.stdout
    assert "<--gpus=1><--cpus-per-task=8><--mem=32G><--time=60>" in given.stdout
    assert f"<--container-mounts=/data:/data,{account.home}:{account.home}>" in given.stdout


@turns(2)
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_check_mode_previews_exactly_what_the_run_does(bed: Any, cluster: str) -> None:
    account = bed.new_account(cluster)
    before = account.tree()
    preview = onboard(bed, account, more=("--check", "--diff"))
    assert preview.code == 0, preview.text
    assert account.tree() == before, "check mode wrote"
    done = onboard(bed, account)
    assert done.outcomes(account.name) == preview.outcomes(account.name)
    assert KEY not in preview.text


def test_a_real_folder_in_the_way_is_kept_and_said(bed: Any) -> None:
    account = bed.new_account("wilson", files={"work/thesis.tex": b"mine"})
    ran = onboard(bed, account)
    assert ran.code == 2
    assert account.read("work/thesis.tex") == b"mine"
    assert ran.statuses(account.name)["link ~/work"] == "blocked"
    assert ran.statuses(account.name)["link ~/wclustre"] == "missing"
    assert "mv -n ~/work ~/work.mine" in " ".join(ran.text.split())


def test_a_start_up_file_in_a_dotfiles_folder_is_edited_where_it_lies(bed: Any) -> None:
    account = bed.new_account("dfki", files={"dotfiles/bashrc": b"# mine\r\ncase $- in *i*) ;; *) return;; esac"})
    account.ssh("ln -s dotfiles/bashrc .bashrc")
    assert onboard(bed, account).code == 0
    assert account.ssh("readlink .bashrc").stdout.strip() == "dotfiles/bashrc"
    text = account.read("dotfiles/bashrc")
    assert text.endswith(b"# mine\r\ncase $- in *i*) ;; *) return;; esac")
    assert b"hpc.onboard/env.sh" in text.splitlines()[0]


@turns(2)
@pytest.mark.parametrize(
    "noise",
    [
        b"echo Welcome to the cluster; echo '{\"a\": 1}'\n",
        b"echo noise >&2\ncat /etc/motd 2>/dev/null; printf 'no newline'\n",
    ],
)
def test_a_start_up_file_that_prints_does_no_harm(bed: Any, noise: bytes) -> None:
    account = bed.new_account("lrz", files={".bashrc": noise})
    ran = onboard(bed, account)
    assert ran.code == 0, ran.text


@turns(2)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"exec /usr/bin/zsh\n", "starts another shell"),
        (b"exit 0\n", "A start-up file of the login shell ends the shell"),
        (b'[ -z "$PS1" ] && exit\n', "A start-up file of the login shell ends the shell"),
        (b"read x y; read z; read z; read z; read z; read z\n", "the input was incomplete"),
        (b"export HOME=/tmp\n", "HOME is /tmp"),
    ],
)
def test_a_start_up_file_that_breaks_the_connection_is_named(bed: Any, text: bytes, said: str) -> None:
    account = bed.new_account("dfki", files={".bashrc": text})
    before = account.tree()
    ran = onboard(bed, account)
    assert ran.code == 2
    assert said in " ".join(ran.text.split())
    assert "debug1" not in ran.text
    assert KEY not in ran.text
    assert account.tree() == before


def test_an_account_without_a_python_says_what_was_tried(bed: Any) -> None:
    account = bed.new_account("bare")
    ran = onboard(bed, account)
    assert ran.code == 2
    assert "no Python 3.6 or newer" in ran.text
    assert "platform-python" in ran.text


def test_a_home_that_cannot_take_the_receipt_stops_making_and_not_looking(bed: Any) -> None:
    account = bed.new_account("dfki")
    account.small_home()
    account.fill_home("big")
    ran = onboard(bed, account)
    assert ran.code == 2
    assert "ENOSPC" in ran.text
    assert ran.statuses(account.name)[f"folder /data/{account.user}"] == "blocked"
    assert not account.exists(f"/data/{account.user}"), "what cannot be noted is not made"
    assert not [path for path in account.tree() if "draft" in path or ".lock" in path]
    account.ssh("rm big")
    assert onboard(bed, account).code == 0
    assert onboard(bed, account).of(account.name)["changed"] is False


def test_a_hung_file_system_costs_only_its_own(bed: Any) -> None:
    account = bed.new_account("wilson")
    account.hang(f"/wclustre/{account.project}")
    try:
        ran = onboard(bed, account, more=("-e", "converge_seconds=2"))
    finally:
        account.unhang()
    assert ran.code == 2
    statuses = ran.statuses(account.name)
    assert statuses["link ~/work"] == "missing"
    assert statuses["link ~/wclustre"] == "unknown"
    assert "did not respond" in ran.text
    assert onboard(bed, account).code == 0


def test_one_account_down_does_not_hold_up_the_others(bed: Any) -> None:
    good, gone = bed.new_account("lrz"), bed.new_account("dfki")
    ran = onboard(bed, good, gone, settings={gone.name: {"vars": {"ansible_port": 1}}})
    assert ran.code == 4
    assert set(ran.statuses(good.name).values()) == {"missing"}
    assert "unreachable" in ran.text


def test_tags_choose_capabilities_by_name(bed: Any) -> None:
    account = bed.new_account("dfki")
    ran = onboard(bed, account, more=("--tags", "launchers"))
    assert {one["capability"] for one in ran.outcomes(account.name)} == {"launchers"}
    ran = onboard(bed, account, more=("--skip-tags", "launchers,enroot_credentials"))
    assert "launchers" not in {one["capability"] for one in ran.outcomes(account.name)}
    assert account.sessions() == 3 - 1


def test_a_missing_key_costs_only_what_needs_it(bed: Any, tmp_path: Any) -> None:
    account = bed.new_account("lrz")
    empty = {"KEYRING_PROPERTY_FILE_PATH": str(tmp_path / "empty.cfg")}
    ran = onboard(bed, account, environment=empty)
    assert ran.code == 2
    assert "keyring set hpc.onboard ngc" in ran.text
    statuses = ran.statuses(account.name)
    assert {status for name, status in statuses.items() if name.startswith("credentials")} == {"failed"}
    assert {status for name, status in statuses.items() if not name.startswith("credentials")} == {"missing"}


@turns(4)
@pytest.mark.parametrize(
    "key",
    [KEY[:-1], f"{KEY[:40]}\n{KEY[40:]}", "nvapi-a b", "$(touch /tmp/owned)", "nvapi-a\tb", "nvapi-\x1b[31m"],
    ids=["cut", "line break", "blank", "command", "tab", "control character"],
)
def test_a_malformed_key_costs_its_own_files_alone(bed: Any, tmp_path: Any, key: str) -> None:
    account = bed.new_account("lrz")
    ran = onboard(bed, account, environment=keyring_environment(tmp_path, key))
    assert ran.code == 2
    statuses = ran.statuses(account.name)
    assert {status for name, status in statuses.items() if name.startswith("credentials")} == {"failed"}
    assert {status for name, status in statuses.items() if not name.startswith("credentials")} == {"missing"}
    assert not account.exists("enroot/.credentials")
    assert not account.path("/tmp/owned").exists()
    said = " ".join(ran.text.split())
    assert "the key 'ngc' in " in said
    assert " is malformed: the key " in said
    assert "keyring set hpc.onboard ngc" in said
    assert key not in ran.text


def test_two_runs_at_once_both_end_well(bed: Any) -> None:
    from concurrent.futures import ThreadPoolExecutor

    account = bed.new_account("dfki")
    with ThreadPoolExecutor(4) as pool:
        alone = {"ANSIBLE_SSH_ARGS": "-o ControlMaster=no"}  # as from two laptops
        runs = list(pool.map(lambda _n: onboard(bed, account, environment=alone), range(4)))
    assert [ran.code for ran in runs] == [0, 0, 0, 0], runs[0].text
    credentials = account.read("enroot/.credentials").decode().splitlines()
    assert len(credentials) == len(set(credentials)) == 2
    assert onboard(bed, account).of(account.name)["changed"] is False
    assert not [path for path in account.tree() if "draft" in path or ".lock" in path]


@turns(2)
@pytest.mark.parametrize("cut", [{"cut_up": 6_000}, {"cut_up": 25_000}, {"cut_down": 4_000}, {"cut_down": 4_200}])
def test_after_a_dropped_line_the_next_run_decides(bed: Any, cut: dict[str, int]) -> None:
    account = bed.new_account("dfki")
    with Proxy(account.host, account.port, **cut) as proxy:
        through = {
            "ansible_host": "127.0.0.1",
            "ansible_port": proxy.port,
            "ansible_ssh_common_args": f"-F {bed.ssh_config} -o HostKeyAlias={account.cluster.name}",
        }
        dropped = onboard(bed, account, settings={account.name: {"vars": through}})
    assert dropped.code == 4, dropped.text
    assert "1 not up to date" in dropped.text
    assert onboard(bed, account).code == 0
    again = onboard(bed, account)
    assert again.of(account.name)["changed"] is False
    assert not [path for path in account.tree() if "draft" in path or ".lock" in path]


def test_the_first_run_of_an_account_ends_with_where_things_are_and_what_is_next(bed: Any) -> None:
    account = bed.new_account("daint")
    preview, first, second = onboard(bed, account, more=("--check",)), onboard(bed, account), onboard(bed, account)
    assert "Your folders and scripts: ~/scratch, ~/store, ~/bin/usrun.sh." in " ".join(first.text.split())
    assert re.search(r"Manual steps left: (\d+|none)\.", first.text)
    assert re.search(r"Next: \S*(hpc-onboard test-job|ansible-playbook)", " ".join(first.text.split()))
    assert re.search(rf"hpc-onboard cheatsheet( \\| -i \S+)* {account.name}", " ".join(first.text.split()))
    account.ssh("rm ~/.config/enroot/.credentials")
    third = onboard(bed, account)
    assert third.of(account.name)["changed"]
    assert not [ran for ran in (preview, second, third) if "Manual steps left" in ran.text]
