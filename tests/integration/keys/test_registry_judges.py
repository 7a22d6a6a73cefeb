# SPDX-License-Identifier: GPL-3.0-or-later
"""Others than us judge the same keys: curl with enroot's file, a look at every process, and the kernel at the end."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.integration.onboard.leaks import forms
from tests.integration.runs import REPOSITORY
from tests.testbed.registry import PRIVATE, Registry, fingerprint

from . import curl_as_enroot
from .registry_scene import OPEN, SECRET, allowed_key, credentials, settings, verdict_of

JUDGED = ["valid", "legacy", "unknown", "revoked", "not entitled", "a token for nothing"]


@pytest.mark.parametrize("case", JUDGED)
def test_curl_with_enroots_file_comes_to_the_same_verdict(registry: Registry, tmp_path: Path, case: str) -> None:
    key = allowed_key(registry, *([] if "n" in case[:1] or "token" in case else [PRIVATE]), legacy=case == "legacy")
    registry.doorkeeper.refuses = case != "a token for nothing"
    if case in ("unknown", "revoked"):
        registry.revoke(key)
    tried = curl_as_enroot.pull(
        registry.address, SECRET, credentials(tmp_path, key, "localhost", "127.0.0.1"), registry.ca_file
    )
    found = verdict_of(key, settings(registry, levels=("manifest",)))
    assert tried.verdict == found.verdict
    expected = {"valid": "valid", "legacy": "valid", "unknown": "invalid", "revoked": "invalid"}
    assert tried.verdict == expected.get(case, "not_entitled")


def test_curl_without_a_key_opens_what_we_call_public(registry: Registry, tmp_path: Path) -> None:
    nothing = credentials(tmp_path, "")
    assert curl_as_enroot.pull(registry.address, OPEN, nothing, registry.ca_file).verdict == "valid"
    assert curl_as_enroot.pull(registry.address, SECRET, nothing, registry.ca_file) == (401, None)


def test_a_key_on_its_way_is_in_no_argv_environment_or_log(
    registry: Registry, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    key = allowed_key(registry, PRIVATE)
    caplog.set_level(logging.DEBUG)
    registry.modes["token"] = "slow"
    path = credentials(tmp_path, key, "localhost", "127.0.0.1")
    ours = threading.Thread(target=verdict_of, args=(key, settings(registry)))
    curls = subprocess.Popen(
        [sys.executable, "-c", "import sys; from pathlib import Path\n"
         "from tests.integration.keys import curl_as_enroot\n"
         "curl_as_enroot.pull(sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))",
         registry.address, SECRET, str(path), str(registry.ca_file)], cwd=REPOSITORY, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    ours.start()
    seen = b""
    while ours.is_alive():
        seen += b"".join(
            _read(file) for name in ("cmdline", "environ") for file in Path("/proc").glob(f"[0-9]*/{name}")
        )
        time.sleep(0.1)
    curls.terminate()
    curls.wait(10)
    told = capfd.readouterr()
    seen += f"{caplog.text}{told.out}{told.err}{registry.log}{registry.requests}".encode()
    assert b"docker-registry" in seen
    assert b"--netrc-file" in seen
    assert fingerprint(key) in {one.fingerprint for one in registry.requests if one.part == "token"}
    assert [name for name, form in forms(key).items() if form in seen] == []


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""
