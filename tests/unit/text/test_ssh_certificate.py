# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a certificate ends, as the real ssh-keygen prints it."""

from __future__ import annotations

import os
import subprocess
from datetime import datetime
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._text.ssh_certificate import FOREVER, read_end

END = datetime(2030, 11, 22, 10, 0, 5)


@pytest.mark.parametrize(
    ("validity", "end"),
    [
        ("20200101000000:20301122100005", END),
        ("always:20301122100005", END),
        ("20200101000000:forever", FOREVER),
        ("always:forever", FOREVER),
    ],
)
def test_the_end_is_read_from_what_ssh_keygen_prints(tmp_path: Path, validity: str, end: datetime) -> None:
    for name in ("ca", "key"):
        order = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", name]
        subprocess.run(order, cwd=tmp_path, check=True)
    utc = {**os.environ, "TZ": "UTC"}
    signed = ["ssh-keygen", "-q", "-s", "ca", "-I", "Valid: forever", "-V", validity, "key.pub"]
    subprocess.run(signed, cwd=tmp_path, check=True, env=utc)
    printed = subprocess.run(
        ["ssh-keygen", "-L", "-f", "key-cert.pub"], cwd=tmp_path, env=utc, check=True, capture_output=True, text=True
    )
    assert read_end(printed.stdout) == end


@pytest.mark.parametrize("text", ["", "is not a certificate\n", "Valid: tomorrow\n", '  Key ID: "Valid: forever"\n'])
def test_what_says_nothing_of_an_end_is_no_certificate(text: str) -> None:
    assert read_end(text) is None
