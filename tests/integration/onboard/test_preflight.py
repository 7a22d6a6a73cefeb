# SPDX-License-Identifier: GPL-3.0-or-later
"""A preflight tells apart why an account cannot be entered: one connection at most, nothing changed, nobody asked."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.integration.command.test_command import Desk
from tests.testbed.client import new_key
from tests.testbed.code_login import PORT, CodeLogin

pytestmark = pytest.mark.testbed

SCHEMA = Path(__file__).parents[3] / "docs" / "schemas" / "preflight.schema.json"


def ended_certificate(folder: Path) -> Path:
    """A key whose certificate ended an hour ago."""
    authority, key = new_key(folder / "authority"), new_key(folder / "day")
    order = ["ssh-keygen", "-q", "-s", str(authority), "-I", "day", "-n", "any,u", "-V", "-2h:-1h", f"{key}.pub"]
    subprocess.run(order, check=True, stdin=subprocess.DEVNULL)
    return key


def forged_hosts(bed: Any, folder: Path, cluster: str) -> Path:
    """known_hosts in which the cluster has another key."""
    other = new_key(folder / "other").with_suffix(".pub").read_text(encoding="ascii").split()[:2]
    file = folder / "known_hosts"
    file.write_text(f"{cluster} {' '.join(other)}\n", encoding="ascii")
    return file


def test_every_door_is_named_for_what_it_is(bed: Any, tmp_path: Path) -> None:
    door = CodeLogin(bed.cluster("narval"))
    accounts = {
        "open": bed.new_account("lrz"),
        "needs_person": bed.new_account("narval"),
        "ended": bed.new_account("daint"),
        "refused": bed.new_account("dfki"),
        "host_key_unknown": bed.new_account("pegasus"),
        "host_key_changed": bed.new_account("lrz"),
        "unresolved": bed.new_account("lrz"),
        "unreachable": bed.new_account("lrz"),
        "not_ready": bed.new_account("bare"),
    }
    stranger = new_key(tmp_path / "stranger")
    nothing, forged = tmp_path / "nothing", forged_hosts(bed, tmp_path, "lrz")
    nothing.touch()
    own = tmp_path / "ssh_config"  # in which the key of the testbed is another one
    own.write_text(
        Path(bed.ssh_config).read_text(encoding="ascii").replace(str(bed.key), str(stranger)), encoding="ascii"
    )
    strict = "-o StrictHostKeyChecking=yes -o UserKnownHostsFile="
    ways: dict[str, dict[str, Any]] = {
        "needs_person": {"ansible_port": PORT},
        "ended": {"ansible_ssh_private_key_file": str(ended_certificate(tmp_path))},
        "refused": {"ansible_ssh_private_key_file": str(stranger), "ansible_ssh_common_args": f"-F {own}"},
        "host_key_unknown": {"ansible_ssh_extra_args": f"{strict}{nothing}"},
        "host_key_changed": {"ansible_ssh_extra_args": f"{strict}{forged}"},
        "unresolved": {"ansible_host": "no-such-host.invalid"},
        "unreachable": {"ansible_port": 9},
    }
    settings: dict[str, dict[str, Any]] = {accounts[state].name: {"vars": way} for state, way in ways.items()}
    settings[accounts["needs_person"].name]["auth"] = "ask"
    settings[accounts["ended"].name]["auth"] = None
    desk = Desk(bed, *accounts.values(), settings=settings)
    before = {state: account.tree() for state, account in accounts.items()}

    out = desk.folder / "out" / "doors.json"
    ran = desk.types("preflight", "-e", f"preflight_output={out}")
    assert ran.returncode == 2, ran.stdout + ran.stderr
    document = json.loads(out.read_text(encoding="utf-8"))
    jsonschema.validate(document, json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert out.stat().st_mode & 0o777 == 0o600
    names = {account.name: state for state, account in accounts.items()}
    assert {names[row["name"]]: row["state"] for row in document["accounts"]} == {one: one for one in accounts}, (
        ran.stdout
    )
    assert "1 reachable, 8 not" in ran.stdout
    assert all(row["next"] or row["text"] for row in document["accounts"] if row["state"] != "open")
    assert {state: account.tree() for state, account in accounts.items()} == before
    assert door.connections == 0
    assert accounts["ended"].logins() == 0
    assert (accounts["open"].logins(), accounts["open"].sessions()) == (1, 1)
    assert max(len(line) for line in ran.stdout.splitlines()) <= 80

    looked = desk.types("audit", accounts["ended"].name)
    assert looked.returncode == 2
    assert "the certificate expired on" in " ".join(looked.stdout.split())

    alone = desk.types("preflight", accounts["open"].name)
    assert alone.returncode == 0, alone.stdout + alone.stderr
    wrong = desk.types("preflight", accounts["open"].name, "-e", "preflight_outptu=x")
    assert wrong.returncode == 2
    assert "preflight_output" in wrong.stderr + wrong.stdout
