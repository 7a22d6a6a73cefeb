# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates, tickets and profiles, judged at a moment that the test chooses; certificates by real ssh-keygen."""

from __future__ import annotations

import datetime
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit import account
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit import local_checks as here
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication.credential import Credential
from ansible_collections.hpc.onboard.plugins.plugin_utils._documents import fix
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.command_line import command_for

NOW = datetime.datetime(2026, 11, 21, 12, 0, tzinfo=datetime.UTC)


NO_TICKET = Credential("ticket", "", None)


def cluster(archetype: str, command: str = "cscs-key sign") -> dict[str, Any]:
    """A profile as far as it matters."""
    return {
        "id": "daint",
        "name": "CSCS Daint",
        "verified_on": "2026-11-01",
        "auth": {"archetype": archetype, "command": command},
    }


@pytest.mark.parametrize(
    ("verified", "stale"), [("2026-11-21", False), ("2026-05-25", False), ("2026-05-24", True), ("2030-01-01", False)]
)
def test_a_profile_that_nobody_has_checked_for_months(verified: str, stale: bool) -> None:
    found = here.check_profile_age({**cluster("key"), "verified_on": verified}, NOW.date(), 180)
    assert [one["rule"] for one in found] == ["PRO-001"] * stale
    assert [one["place"] for one in found] == ["daint.yml"] * stale
    assert [step["kind"] for one in found for step in one["fix"]] == ["advice"] * stale


@pytest.mark.parametrize("command", ["kinit && aklog", "a 'b", "ssh-keygen | tee x", "see  the wiki"])
def test_a_profiles_command_that_is_more_than_words_is_told_and_not_to_be_pasted(command: str) -> None:
    (found,) = here.check_credential(cluster("kerberos", command), NO_TICKET, "ada", NOW)
    assert found["fix"] == [
        fix.advice(f"Get a new certificate or ticket, as the site's documentation describes: {command}")
    ]


@pytest.mark.parametrize(
    ("held", "kind", "text"),
    [
        (Credential("certificate", "k", NOW + datetime.timedelta(minutes=61)), "", ""),
        (
            Credential("certificate", "k", NOW + datetime.timedelta(minutes=60)),
            "at_risk",
            "the certificate expires on 2026",
        ),
        (Credential("certificate", "k", NOW), "broken", "the certificate expired on 2026"),
        (Credential("certificate", "k", NOW.replace(year=2027), "it is for bob"), "broken", "it is for bob"),
        (Credential("ticket", "", None), "missing", "you have no Kerberos ticket for CSCS Daint"),
    ],
)
def test_what_lets_nobody_in_or_will_soon_is_found(held: Credential, kind: str, text: str) -> None:
    found = here.check_credential(cluster("certificate"), held, "ada", NOW)
    assert [one["class"] for one in found] == [kind] * bool(kind)
    assert all(one["text"].startswith(text) for one in found)
    assert all((one["rule"], one["cause"]) == ("SES-001", "time") for one in found)
    assert all(one["fix"] == [fix.local_command("cscs-key", "sign")] for one in found)


def signed(folder: Path, validity: str) -> Path:
    """A real key with a real certificate beside it."""
    for name in ("ca", "key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    sign = ["ssh-keygen", "-q", "-s", str(folder / "ca"), "-I", "ada", "-n", "ada", "-V", validity]
    subprocess.run([*sign, str(folder / "key.pub")], check=True, env={"TZ": "UTC", "PATH": "/usr/bin:/bin"})
    return folder / "key"


@pytest.mark.parametrize("line", ["IdentityFile {}", "CertificateFile {}-cert.pub"])
@pytest.mark.parametrize(("hour", "ends"), [("13", True), ("15", False)])
def test_a_real_certificate_that_ssh_would_offer(tmp_path: Path, line: str, hour: str, ends: bool) -> None:
    assert shutil.which("ssh-keygen")
    key = signed(tmp_path, f"20261120120000:20261121{hour}0000")
    config = tmp_path / "config"
    config.write_text("Host daint\n  User ada\n  " + line.format(key) + "\n")
    variables = {
        "cluster": cluster("certificate"),
        "ansible_host": "daint",
        "ansible_ssh_common_args": f"-F {config}",
    }
    found = here.find_problems(variables, NOW)
    assert [one["rule"] for one in found] == ["SES-001"] * ends
    assert [one["place"] for one in found] == [f"{key}-cert.pub"] * ends
    assert here.find_problems(variables, NOW) == found


@pytest.mark.parametrize("name", ["ansible_ssh_common_args", "ansible_ssh_extra_args", "ansible_ssh_private_key_file"])
def test_a_certificate_that_the_accounts_own_arguments_name_is_seen(tmp_path: Path, name: str) -> None:
    key = signed(tmp_path, "20200101120000:20200102120000")
    given = {"ansible_ssh_private_key_file": str(key)}.get(name, f"-F /dev/null -o CertificateFile={key}-cert.pub")
    site = cluster("certificate")
    today = datetime.date.today().isoformat()
    variables = {"cluster": {**site, "verified_on": today}, "inventory_hostname": "ada@daint", name: given}
    assert [one["rule"] for one in account.local_findings(variables)] == ["SES-001"]
    assert [one["place"] for one in account.local_findings(variables)] == [f"{key}-cert.pub"]
    assert account.local_findings({**variables, "ansible_ssh_common_args": "-o 'unclosed"}) is not None


def test_a_cluster_that_takes_plain_keys_is_not_asked_for_certificates() -> None:
    assert here.find_problems({"cluster": cluster("key"), "ansible_host": "nowhere.example.org"}, NOW) == []


YEARLY = {"id": "export_control", "text": "Agree to the rules, every year.", "every_days": 365, "url": "https://x.org"}
ONCE = {"id": "group", "text": "Ask for the group."}
CONTRACT = {"id": "contract", "text": "Ask for a longer contract."}


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({}, [("STP-001", "missing", "unknown"), ("STP-001", "missing", "unknown")]),
        ({"export_control": "2020-01-01T10:00:00Z"}, [("STP-002", "stale", "time"), ("STP-001", "missing", "unknown")]),
        ({"export_control": NOW.isoformat(), "group": "2020-01-01T10:00:00Z"}, []),
    ],
)
def test_a_step_that_nothing_shows_is_found_until_it_is_said_and_again_when_it_is_due(
    said: dict[str, str], found: list[tuple[str, str, str]]
) -> None:
    marks: Any = {step: {"at": at, "by": "ada@here"} for step, at in said.items()}
    seen = here.check_manual_steps("ada@lrz", [YEARLY, ONCE], marks, NOW.date())
    assert [(one["rule"], one["class"], one["cause"]) for one in seen] == found
    assert {one["severity"] for one in seen} <= {"info"}
    orders = [step["command"] for one in seen for step in one["fix"] if step["kind"] == "command"]
    steps = ["export_control", "group"][2 - len(found) :]
    assert orders == [command_for("done", ["ada@lrz", name]) for name in steps]


@pytest.mark.parametrize(
    ("days", "said"), [(40, []), (30, ["Due on {}"]), (0, ["Due since {}"]), (-9, ["Due since {}"])]
)
def test_a_day_of_ones_own_is_found_from_a_month_before(days: int, said: list[str]) -> None:
    due = NOW.date() + datetime.timedelta(days)
    found = here.check_manual_steps("ada@lrz", [{**CONTRACT, "due": str(due)}], {}, NOW.date())
    assert [one["text"] for one in found] == [f"{word.format(due)}: {CONTRACT['text']}" for word in said]
    assert {one["rule"] for one in found} <= {"STP-002"}
