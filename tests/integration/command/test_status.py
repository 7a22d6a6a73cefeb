# SPDX-License-Identifier: GPL-3.0-or-later
"""What hpc-onboard tells of real accounts from its records: after each run, at once, and with everything cut off."""

from __future__ import annotations

import json
import resource
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.integration.command.desk import Desk
from tests.integration.runs import COMMAND

pytestmark = pytest.mark.testbed
AWAY = {"vars": {"ansible_port": 1, "ansible_host": "127.0.0.1"}}
SHUT = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring", "ANSIBLE_CONFIG": "/nowhere"}
SECONDS = 0.3


def status(desk: Desk, *words: str) -> Any:
    """The status as a document, told without a network and a keyring."""
    environment = {**desk.bed.client.environment(), **SHUT}
    order = ["unshare", "--net", COMMAND, "status", "--json", *words]
    done = subprocess.run(order, cwd=desk.folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def spent() -> float:
    """Seconds of processor that programs which ended have taken."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def of(document: Any, name: str) -> Any:
    """What a status says of an account."""
    return next(one for one in document["accounts"] if one["name"] == name)


def test_the_life_of_an_account_as_status_tells_it(bed: Any) -> None:
    account, away = bed.new_account("lrz"), bed.new_account("wilson")
    desk = Desk(bed, account, away, settings={away.name: AWAY})
    before = status(desk)
    assert {one["next"] for one in before["accounts"]} == {"plan"}
    assert {"account", "export_control", "vpn"} < {step["id"] for step in of(before, account.name)["steps"]}

    assert desk.types("plan").returncode == 4
    assert status(desk)["accounts"] == before["accounts"], "what was only previewed is no run"

    first = desk.types("onboard").stdout
    assert f"Manual steps left: 2. hpc-onboard done {account.name}" in " ".join(first.split())
    then = status(desk)
    assert of(then, account.name)["onboard"]["ended"] == "changed"
    assert [step["id"] for step in of(then, account.name)["steps"]] == ["export_control", "ai_group"]
    assert of(then, away.name)["onboard"]["ended"] == "unreachable"
    assert then["next"][1:] == ["preflight", away.name]

    said = desk.types("done", account.name, "export_control")
    assert said.returncode == 0, said.stderr
    assert [step["id"] for step in of(status(desk), account.name)["steps"]] == ["ai_group"]
    assert desk.types("done", account.name, "export_control", "--not").returncode == 0
    assert len(of(status(desk), account.name)["steps"]) == 2

    account.ssh("rm ~/dss")
    assert desk.types("audit", "lrz").returncode == 2
    drifted = of(status(desk, "lrz"), account.name)
    assert (drifted["audit"]["ended"], drifted["next"]) == ("found", "audit")
    assert desk.types("lrz").returncode == 0
    assert desk.types("audit", "lrz").returncode == 0
    assert status(desk, "lrz")["next"] == []
    assert desk.types("offboard", "lrz", "-e", "offboard_sure=true").returncode == 0
    assert "removed" in desk.types("status", account.name).stdout


def test_a_day_of_ones_own_is_told_until_it_is_said_done_for_it(bed: Any) -> None:
    soon, later = (str(datetime.now(UTC).date() + timedelta(days)) for days in (10, 300))
    account = bed.new_account("lrz")
    contract = {"text": "Ask for a longer contract", "due": soon}
    steps = {"contract": contract, "export_control": {"due": later}}
    desk = Desk(bed, account, settings={account.name: {"steps": steps}})

    def open_ones() -> dict[str, str]:
        return {step["id"]: step.get("due", "") for step in of(status(desk), account.name)["steps"]}

    assert desk.types("onboard").returncode == 0
    assert open_ones() == {"ai_group": "", "contract": soon}
    assert f"due {soon}" in " ".join(desk.types("status").stdout.split())
    assert f"Due on {soon}: Ask for a longer contract (STP-002)" in " ".join(desk.types("audit").stdout.split())
    listed = desk.types("done", account.name).stdout
    assert f"due on {soon}" in listed
    assert f"due on {later}" in listed

    assert desk.types("done", account.name, "contract").returncode == 0
    assert open_ones() == {"ai_group": ""}
    assert "STP-002" not in desk.types("audit").stdout
    file = Path(desk.file)
    file.write_text(file.read_text().replace(soon, "2026-11-01"))
    assert open_ones()["contract"] == "2026-11-01", "a new day is a new step"


def test_what_is_wanted_every_year_is_due_a_year_after_the_day_on_which_it_was_done(bed: Any) -> None:
    account = bed.new_account("lrz")
    desk, name = Desk(bed, account), "export_control"
    assert desk.types("onboard").returncode == 0
    for days, is_open in ((360, False), (370, True)):
        day = datetime.now(UTC).date() - timedelta(days)
        said = desk.types("done", account.name, name, "--on", str(day)).stdout
        again = day + timedelta(365)
        assert (f"due again since {again}" if is_open else f"is done until {again}") in " ".join(said.split())
        assert (name in [step["id"] for step in of(status(desk), account.name)["steps"]]) == is_open
    assert f"Due again since {again}: Agree" in " ".join(desk.types("audit").stdout.split())


def test_what_is_left_out_is_said_once(bed: Any) -> None:
    account = bed.new_account("wilson")
    desk = Desk(bed, account)
    said = "skipped      enroot_credentials"
    assert "enroot_credentials skipped" in desk.types("plan").stdout
    assert said in desk.types("onboard").stdout
    assert said not in desk.types("onboard").stdout
    assert said not in desk.types("onboard", "--tags", "container_caches").stdout
    assert said not in desk.types("onboard").stdout
    assert said in desk.types("onboard", "-v").stdout


def test_status_is_there_at_once(bed: Any, tmp_path: Path) -> None:
    """It waits for nothing, so the processor's time is the time that it takes where no other program is at work.

    Compiled, as it is from its second run on.
    """
    compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tmp_path)}
    clusters = ("lrz", "wilson", "dfki", "narval", "daint")
    desk = Desk(bed, *(bed.new_account(cluster) for cluster in clusters))
    took = []
    for _turn in range(7):
        begun = spent()
        assert desk.types("status", **compiled).returncode == 0
        took.append(spent() - begun)
    assert min(took) < SECONDS


def test_without_an_accounts_file_it_says_what_comes_first(bed: Any) -> None:
    desk = Desk(bed, bed.new_account("wilson"))
    desk.file.unlink()
    done = desk.types("status")
    assert (done.returncode, done.stdout) == (2, "")
    assert "To write an accounts file, run:\n  hpc-onboard " in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["status", "wislon"], 'did you mean "wilson"?'),
        (["done", "nobody@wilson", "account"], '"nobody@wilson" is not an account'),
        (["done", "{name}", "acount"], 'did you mean "account"?'),
        (["done", "{name}", "account", "--on", "2026-02-30"], '"2026-02-30" is not a valid date'),
        (["done", "{name}", "account", "--on", "2999-01-01"], "--on 2999-01-01 is in the future"),
        (["done", "{name}", "--not"], "--on and --not require a STEP"),
        (["status", "-i", "nope.yml"], "-i nope.yml: file not found"),
    ],
)
def test_a_word_that_means_nothing_is_one_error(bed: Any, words: list[str], said: str) -> None:
    account = bed.new_account("wilson")
    done = Desk(bed, account).types(*(word.replace("{name}", account.name) for word in words))
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
