# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether known_hosts tells of a host, plainly or by a hash: ssh-keygen itself is the judge."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._init.known_hosts import is_known

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFzHBxkXvsK8Hk1ZTNPWWlXH5P3kqcJ0b0lVJ8aVkRQg"
TEXT = f"""\
# a comment
lumi.csc.fi,193.167.209.163 {KEY}
[wc.fnal.gov]:2222 {KEY}
@cert-authority *.cscs.ch {KEY}
@revoked login.ai.lrz.de {KEY}
*.alliancecan.ca {KEY}
Fir.AllianceCan.ca {KEY}

"""
HOSTS = [
    ("lumi.csc.fi", 22, True),
    ("LUMI.csc.fi", 22, True),
    ("193.167.209.163", 22, True),
    ("umi.csc.fi", 22, False),
    ("wc.fnal.gov", 22, False),
    ("wc.fnal.gov", 2222, True),
    ("daint.cscs.ch", 22, False),
    ("login.ai.lrz.de", 22, False),
    ("narval.alliancecan.ca", 22, False),
    ("fir.alliancecan.ca", 22, True),
]


@pytest.mark.parametrize(("host", "port", "known"), HOSTS)
def test_a_host_that_was_visited_is_known(host: str, port: int, known: bool) -> None:
    assert is_known(TEXT, host, port) is known


@pytest.mark.parametrize(("host", "port", "known"), HOSTS)
def test_so_it_is_by_its_hash(host: str, port: int, known: bool, tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    file.write_text("".join(f"{line}\n" for line in TEXT.splitlines() if line and line[0] not in "#@*"))
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(file)], check=True, capture_output=True)
    assert "csc.fi" not in file.read_text()
    assert is_known(file.read_text(), host, port) is known


@pytest.mark.parametrize("line", ["|1|", "|1|%%|x", "|1|YQ==", "|2|a|b k v", ""])
def test_a_broken_line_tells_of_no_host(line: str) -> None:
    assert not is_known(line, "lumi.csc.fi")
