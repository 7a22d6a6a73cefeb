# SPDX-License-Identifier: GPL-3.0-or-later
"""A login node gets no way to anywhere else: not the ssh agent, no display, no forwarded port."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.runs import onboard

pytestmark = pytest.mark.testbed

FORWARDS = "Host *\n  ForwardAgent yes\n  ForwardX11 yes\n  ForwardX11Trusted yes\n  RemoteForward 45871 127.0.0.1:22\n"
NOTES = (
    'echo "agent=$SSH_AUTH_SOCK display=$DISPLAY" >> ~/noted\n(: < /dev/tcp/127.0.0.1/45871) && echo port >> ~/noted\n'
)


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Give the environment of an ssh agent with a key."""
    socket = tmp_path / "agent"
    server = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL)
    environment = {"SSH_AUTH_SOCK": str(socket), "DISPLAY": ":7"}
    subprocess.run(["ssh-keygen", "-q", "-N", "", "-t", "ed25519", "-f", str(tmp_path / "key")], check=True)
    while subprocess.run(["ssh-add", str(tmp_path / "key")], env={**os.environ, **environment}, check=False).returncode:
        assert server.poll() is None
    yield environment
    server.terminate()
    server.wait()


@pytest.mark.parametrize("asked", [False, True])
def test_the_agent_goes_along_only_where_the_account_asks_for_it(
    bed: Any, agent: dict[str, str], tmp_path: Path, asked: bool
) -> None:
    account = bed.new_account("lrz", files={".bashrc": NOTES.encode()})
    config = tmp_path / "config"
    config.write_text(f"Include {bed.ssh_config}\n{FORWARDS}")
    own = {"vars": {"ansible_ssh_common_args": f"-F {config}"}, **({"forward_agent": True} if asked else {})}
    ran = onboard(bed, account, settings={account.name: own}, environment=agent)
    assert ran.code == 0, ran.text
    noted = account.read("noted").decode()
    assert "display= " in noted.replace("\n", " "), noted
    assert "port" not in noted, noted
    assert ("agent=/" in noted) == asked, noted
