# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Our hashes are those of hashlib and hmac, on every Python, and need no OpenSSL."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._formats import hashes

FILE = Path(str(hashes.__file__))
JUDGED = """
import runpy, sys
sys.modules.update(dict.fromkeys(sys.argv[2:]))  # Python finds none of these then
ours = runpy.run_path(sys.argv[1])
assert ("hashlib" in sys.modules) == ("_sha2" in sys.argv), sorted(sys.modules)
import hashlib, hmac
for size in range(65):
    key, content = bytes(range(size)), bytes(range(255, 255 - size, -1)) * 3
    assert ours["digest"](content) == hashlib.sha256(content).digest()
    assert ours["keyed_digest"](key, content) == hmac.new(key, content, hashlib.sha256).digest()
"""


@pytest.mark.parametrize("missing", [[], ["_sha2", "_sha256"]], ids=["usual", "built without its own"])
def test_they_are_the_same_with_and_without_openssl(missing: list[str]) -> None:
    subprocess.run([sys.executable, "-I", "-S", "-c", JUDGED, str(FILE), *missing], check=True)
