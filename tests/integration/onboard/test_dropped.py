# SPDX-License-Identifier: GPL-3.0-or-later
"""A login node that drops what comes when too many wait at its door is tried again later; one that refuses is not."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.integration.runs import Ran, onboard

pytestmark = pytest.mark.testbed

PORT = 2200


class Door:
    """A further sshd of a cluster, with settings of its own, and what it logged."""

    def __init__(self, cluster: Any) -> None:
        self.host, self._log = cluster.host, cluster.world.root / "var/log/door.log"

    def count(self, pattern: str) -> int:
        """How often it logged that."""
        return len(re.findall(pattern, self._log.read_text(errors="replace")))

    def onboard(self, bed: Any, account: Any) -> Ran:
        """A run of onboard.yml through this door, with no connection open before."""
        bed.client.disconnect()
        return onboard(bed, account, settings={account.name: {"vars": {"ansible_port": PORT}}})


@contextmanager
def door(cluster: Any, **settings: str) -> Iterator[Door]:
    """It listens."""
    root: Path = cluster.world.root
    own = {"ListenAddress": f"0.0.0.0:{PORT}", "PidFile": "/run/door.pid", **settings}
    kept = [line for line in (root / "etc/ssh/testbed_config").read_text().splitlines() if line.split()[0] not in own]
    lines = [*kept, *(f"{name} {value}" for name, value in own.items())]
    (root / "etc/ssh/door_config").write_text("".join(f"{line}\n" for line in lines))
    (root / "var/log/door.log").write_bytes(b"")
    cluster.world.run("/usr/sbin/sshd", "-f", "/etc/ssh/door_config", "-E", "/var/log/door.log")
    made = Door(cluster)
    try:
        wait_for(lambda: made.count("Server listening"))
        yield made
    finally:
        cluster.world.run("sh", "-ec", "kill $(cat /run/door.pid)")


def wait_for(seen: Any) -> None:
    """Wait until that is so."""
    end = time.monotonic() + 20
    while not seen() and time.monotonic() < end:
        time.sleep(0.05)


def test_what_was_dropped_at_the_door_is_tried_again(bed: Any) -> None:
    account = bed.new_account("wilson")
    with door(account.cluster, MaxStartups="1:100:1") as made:
        waits = socket.create_connection((made.host, PORT))
        waits.recv(100)

        def leave() -> None:
            wait_for(lambda: made.count("past MaxStartups"))
            waits.close()

        leaves = threading.Thread(target=leave)
        leaves.start()
        ran = made.onboard(bed, account)
        leaves.join()
        assert ran.code == 0, ran.text
        assert made.count("past MaxStartups") == 1
        assert made.count("Starting session: command") == 1


def test_a_refusal_is_not_tried_again(bed: Any) -> None:
    account = bed.new_account("wilson")
    with door(account.cluster, AuthorizedKeysFile="none") as made:
        ran = made.onboard(bed, account)
        assert ran.code == 4, ran.text
        assert "Permission denied" in ran.text
        assert made.count("Connection from") == 1


def test_who_is_told_to_stay_away_does_not_knock_again(bed: Any) -> None:
    """An sshd from 9.8 up says so to an address that it bars; ssh tells what it says there with -v: here at once."""
    account = bed.new_account("wilson")
    came = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def turn_away() -> None:
            with suppress(OSError):  # the end
                while True:
                    made, _from = server.accept()
                    came.append(made)
                    with made:
                        made.sendall(b"Not allowed at this time\r\n")
                        made.shutdown(socket.SHUT_WR)
                        made.recv(1000)

        threading.Thread(target=turn_away, daemon=True).start()
        bed.client.disconnect()
        port = server.getsockname()[1]
        settings = {account.name: {"vars": {"ansible_host": "127.0.0.1", "ansible_port": port}}}
        ran = onboard(bed, account, settings=settings)
    assert ran.code == 4, ran.text
    said = " ".join(ran.text.split())
    assert "the login node closed the connection before the login" in said
    assert "(Not allowed at this time | " in said, said
    assert "debug1" not in said
    assert len(came) == 1
