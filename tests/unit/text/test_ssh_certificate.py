# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a certificate says, as the real ssh-keygen prints it."""

from __future__ import annotations

import os
import subprocess
from datetime import datetime
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._text.ssh_certificate import ALWAYS, FOREVER, parse_listing

START, END = datetime(2020, 1, 1), datetime(2030, 11, 22, 10, 0, 5)


@pytest.mark.parametrize(
    ("validity", "names", "expected"),
    [
        ("20200101000000:20301122100005", ["-n", "ada,ada@example.org"], (START, END, ("ada", "ada@example.org"))),
        ("always:20301122100005", ["-n", "ada"], (ALWAYS, END, ("ada",))),
        ("20200101000000:forever", [], (START, FOREVER, ())),
        ("always:forever", ["-n", "Principals:"], (ALWAYS, FOREVER, ("Principals:",))),
    ],
)
def test_what_ssh_keygen_prints_of_a_certificate_is_read(
    tmp_path: Path, validity: str, names: list[str], expected: tuple[datetime, datetime, tuple[str, ...]]
) -> None:
    for name in ("ca", "key"):
        order = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", name]
        subprocess.run(order, cwd=tmp_path, check=True)
    utc = {**os.environ, "TZ": "UTC"}
    signed = ["ssh-keygen", "-q", "-s", "ca", "-I", "Valid: forever", "-V", validity, *names, "key.pub"]
    subprocess.run(signed, cwd=tmp_path, check=True, env=utc)
    printed = subprocess.run(
        ["ssh-keygen", "-L", "-f", "key-cert.pub"], cwd=tmp_path, env=utc, check=True, capture_output=True, text=True
    )
    said = parse_listing(printed.stdout)
    assert said
    assert said[:3] == expected
    assert said.authority in subprocess.check_output(["ssh-keygen", "-lf", "ca.pub"], cwd=tmp_path, text=True)


@pytest.mark.parametrize("text", ["", "is not a certificate\n", "Valid: tomorrow\n", '  Key ID: "Valid: forever"\n'])
def test_what_says_nothing_of_an_end_is_no_certificate(text: str) -> None:
    assert parse_listing(text) is None
