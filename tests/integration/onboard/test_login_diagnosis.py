# SPDX-License-Identifier: GPL-3.0-or-later
"""What a first contact fails by is told apart over real sshds, each with the command that is right for this account."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.integration.command.test_command import Desk
from tests.testbed.client import new_key
from tests.testbed.code_login import PORT, CodeLogin

pytestmark = pytest.mark.testbed


def own_settings(bed: Any, folder: Path, key: Path | str) -> Path:
    """The testbed's ssh settings with another key."""
    file = folder / f"ssh_config-{Path(key).name}"
    text = Path(bed.ssh_config).read_text(encoding="ascii").replace(str(bed.key), str(key))
    file.write_text(text, encoding="ascii")
    return file


def locked_key(bed: Any, folder: Path) -> Path:
    """A copy of the testbed's key, with a passphrase."""
    key = folder / "locked"
    key.write_bytes(Path(bed.key).read_bytes())
    key.chmod(0o600)
    subprocess.run(["ssh-keygen", "-q", "-p", "-P", "", "-N", "correct horse", "-f", str(key)], check=True)
    return key


def test_each_reason_has_its_sentence_and_its_command(bed: Any, tmp_path: Path) -> None:
    CodeLogin(bed.cluster("narval"), password="secret")
    unknown, locked, password, wrong, keyless, nowhere = (
        bed.new_account(name) for name in ("pegasus", "dfki", "narval", "lrz", "lrz", "lrz")
    )
    nothing = tmp_path / "nothing"
    nothing.touch()
    key, stranger = locked_key(bed, tmp_path), new_key(tmp_path / "stranger")
    strict = f"-o StrictHostKeyChecking=yes -o UserKnownHostsFile={nothing}"

    def by(key: Path) -> dict[str, str]:
        own = f"-F {own_settings(bed, tmp_path, key)}"
        return {"ansible_ssh_common_args": own, "ansible_ssh_private_key_file": str(key)}

    ways = {
        unknown.name: {"ansible_ssh_extra_args": strict},
        locked.name: by(key),
        password.name: {"ansible_port": PORT},
        wrong.name: by(stranger),
        keyless.name: {**by(tmp_path / "none"), "ansible_ssh_private_key_file": ""},
        nowhere.name: {"ansible_host": nowhere.name.replace("@", "-")},
    }
    desk = Desk(
        bed,
        unknown,
        locked,
        password,
        wrong,
        keyless,
        nowhere,
        settings={one: {"vars": way} for one, way in ways.items()},
    )
    connect = "hpc-onboard connect -l "
    wanted = {
        unknown.name: ("is not in your known_hosts", connect + unknown.name),
        locked.name: (f"no ssh agent has the key: {key}", f'eval "$(ssh-agent)" && ssh-add {key}'),
        password.name: ("does not accept an SSH key alone", f"'auth: ask' in the entry of {password.name}"),
        wrong.name: (
            f"of this machine for the user {wrong.user}",
            f"Check that {wrong.user} is your user name at the site",
        ),
        keyless.name: ("ssh found no SSH key on this machine", "ssh-keygen -t ed25519"),
        nowhere.name: (
            f"the host name {nowhere.name.replace('@', '-')} cannot be resolved",
            f"the entry of {nowhere.name}",
        ),
    }
    looked = desk.types("preflight", "-e", f"preflight_output={tmp_path / 'doors.json'}")
    assert looked.returncode == 2, looked.stdout
    rows = json.loads((tmp_path / "doors.json").read_text(encoding="utf-8"))["accounts"]
    told = {row["name"]: f"{row['text']} {row['next']}" for row in rows}
    assert told.keys() == wanted.keys()
    for account, said in told.items():
        assert [one for one in wanted[account] if one not in said] == [], said
        assert [one[0] for name, one in wanted.items() if name != account and one[0] in said] == [], said
        assert f"ssh {account}" not in said, "the inventory's name is no host"
    onboarded = desk.types("onboard", "-v")
    assert onboarded.returncode == 4, onboarded.stdout
    shown = "".join(onboarded.stdout.split())
    for sentences in wanted.values():
        assert [one for one in sentences if "".join(one.split()) not in shown] == [], onboarded.stdout
    assert max(map(len, looked.stdout.splitlines())) <= 80

    said = told[wrong.name].partition("Try '")[2].rstrip("'")
    typed = shlex.split(said)
    at = next(number for number, word in enumerate(typed) if word.startswith(f"{wrong.user}@"))
    own = typed[: at + 1]
    own[own.index("-F") + 1] = str(bed.ssh_config)
    own[own.index("-i") + 1] = str(bed.key)
    done = subprocess.run([*own, "id -un"], check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.stdout.strip() == wrong.user, (own, done.stderr)


def test_a_socket_whose_path_is_too_long_is_not_taken_for_a_network_that_is_down(bed: Any, tmp_path: Path) -> None:
    desk = Desk(bed, bed.new_account("dfki"))
    long = {"ANSIBLE_SSH_CONTROL_PATH_DIR": str(tmp_path / ("long" * 30))}
    done = desk.types("onboard", **long)
    said = "".join(done.stdout.split())
    assert done.returncode == 4, done.stdout + done.stderr
    assert "socketforsharedSSHsessionsistoolong" in said, done.stdout
    assert "exportANSIBLE_SSH_CONTROL_PATH_DIR=/tmp/cp-$USER" in said
    assert "wantitsVPN" not in said
