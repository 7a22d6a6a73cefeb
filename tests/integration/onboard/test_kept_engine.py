# SPDX-License-Identifier: GPL-3.0-or-later
"""The account keeps the engine: later sessions send the plan alone, and nothing that another program changed is run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.runs import Ran, onboard, play
from tests.testbed.proxy import Proxy

pytestmark = pytest.mark.testbed

FOLDER = ".config/hpc.onboard"
WITHOUT = ("-e", "onboard_keep_engine=false")


def kept(account: Any) -> list[Path]:
    """The engines that the account keeps, and drafts of them."""
    return sorted(account.path(FOLDER).glob("*engine-*"))


def measured(bed: Any, account: Any, playbook: str = "onboard.yml", *more: str) -> tuple[Ran, int]:
    """Run a playbook over a counting line; give it, and the bytes that were sent."""
    with Proxy(account.host, account.port) as proxy:
        through = {
            "ansible_host": "127.0.0.1",
            "ansible_port": proxy.port,
            "ansible_ssh_common_args": f"-F {bed.ssh_config} -o HostKeyAlias={account.cluster.name}",
        }
        settings = {account.name: {"vars": through}}
        account.reset_sessions()
        ran = play(bed, "-i", str(bed.accounts_file([account], settings=settings)), *more, playbook=playbook)
        return ran, proxy.bytes_up


def test_later_sessions_send_the_plan_alone(bed: Any, tmp_path: Path) -> None:
    account = bed.new_account("dfki")
    assert onboard(bed, account, more=("--check",)).code == 0
    assert not account.exists(FOLDER), "check mode keeps nothing"
    first, much = measured(bed, account)
    (file,) = kept(account)
    assert (first.code, file.stat().st_mode & 0o777, account.sessions()) == (0, 0o600, 1)
    tree = account.tree()
    second, little = measured(bed, account)
    assert (second.code, account.sessions(), account.tree() == tree) == (0, 1, True), second.text
    assert second.of(account.name)["changed"] is False
    assert little < 20_000 < 80_000 < much
    audited, little = measured(bed, account, "audit.yml", "-e", f"audit_output={tmp_path}")
    assert (account.sessions(), account.tree() == tree) == (1, True), audited.text
    assert little < 40_000


def test_a_file_that_anybody_changed_is_not_run(bed: Any) -> None:
    account = bed.new_account("dfki")
    assert onboard(bed, account).code == 0
    (file,) = kept(account)
    content = file.read_bytes()
    index, _newline, _modules = content.partition(b"\n")
    names = json.loads(index[1:])
    engine = names["hpc_onboard._engine.engine"]
    at = len(index) + 1 + engine[0] + engine[1] // 2
    changed = {
        "index": content.replace(b'"hpc_onboard._engine.engine"', b'"hpc_onboard._engine.engind"', 1),
        "module": content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :],
        "short": content[: len(index) + 100],
        "empty": b"",
    }
    for name, evil in changed.items():
        file.write_bytes(evil)
        again, much = measured(bed, account)
        assert again.code == 0, (name, again.text)
        assert again.of(account.name)["changed"] is False, name
        assert (account.sessions(), much > 80_000, file.read_bytes() == content) == (2, True, True), name
        assert measured(bed, account)[1] < 20_000, name


def test_a_pipe_a_link_or_nothing_in_its_place_costs_one_session_more(bed: Any) -> None:
    account = bed.new_account("dfki")
    assert onboard(bed, account).code == 0
    (file,) = kept(account)
    place = f"{FOLDER}/{file.name}"
    for change in (f"rm {place}", f"mv {place} e; ln -s ~/e {place}", f"rm {place}; mkfifo {place}"):
        account.ssh(change)
        again, _much = measured(bed, account)
        assert (again.code, account.sessions()) == (0, 2), (change, again.text)
        third, _bytes = measured(bed, account)
        assert (third.code, account.sessions()) == (0, 1), (change, third.text)
        onboard(bed, account, more=WITHOUT)
        account.ssh("rm -f e")
        onboard(bed, account)


def test_it_goes_with_a_setting_and_with_offboarding(bed: Any) -> None:
    account = bed.new_account("dfki")
    for _round in range(2):
        assert onboard(bed, account, more=WITHOUT).code == 0
        assert kept(account) == []
        assert onboard(bed, account).code == 0
        assert len(kept(account)) == 1
    inventory = str(bed.accounts_file([account]))
    assert play(bed, "-i", inventory, "-e", "offboard_sure=true", playbook="offboard.yml").code == 0
    assert not account.exists(FOLDER)
    refused = onboard(bed, account, more=("-e", "onboard_keep_engin=false"))
    assert refused.code != 0
    assert "onboard_keep_engine" in refused.text


def test_a_full_home_keeps_none_and_is_not_asked_again(bed: Any) -> None:
    account = bed.new_account("dfki")
    account.small_home("1m", 400)
    assert onboard(bed, account).code == 0
    assert kept(account) == []
    again, much = measured(bed, account)
    assert (again.code, account.sessions(), kept(account)) == (0, 1, [])
    assert 20_000 < much < 100_000, "what this plan needs, not all"
