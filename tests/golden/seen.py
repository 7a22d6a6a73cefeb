# SPDX-License-Identifier: GPL-3.0-or-later
"""What people see, kept as files: a text without what no two runs share, held against the file of its name.

HPC_ONBOARD_GOLDEN=write writes the files anew; the difference is then for a person to read in `git diff`.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import unified_diff
from pathlib import Path

import pytest

FILES = Path(__file__).with_name("files")
WRITES = os.environ.get("HPC_ONBOARD_GOLDEN") == "write"
CHANGING = (  # pattern, and what stands in its place; in this order
    (r"\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?", "<time>"),
    (r"\b20\d\d-\d\d-\d\d\b", "<day>"),
    (r"\b20\d{6}T\d{6,12}Z\b", "<run>"),
    (r'("seconds": ?)\d+(\.\d+)?', r"\1<seconds>"),
    (r'(\btime=")\d+(\.\d+)?', r"\1<seconds>"),
    (r"\b\d+(\.\d+)? (s|ms|seconds)\b", "<seconds>"),
    (r"\b\d+ min \d+ s\b", "<seconds>"),
    (r"(?m)[, ]+<seconds>$", ""),  # a second or more is said, less is not
    (r" {2,}<time> UTC", "  <time> UTC"),  # and moves what stands before it
    (r"\b(hmac-sha256|sha256|key|key:) ?:?[0-9a-f]{12,64}\b", r"\1 <fingerprint>"),
    (r"\b[0-9a-f]{64}\b", "<sum>"),
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<id>"),
    (r"\b[0-9a-f]{32}\b", "<id>"),
    (r"\b[0-9a-f]{12,16}\b", "<id>"),
    (r"\bnvapi-[\w-]{20,}", "<key>"),
    (r'(id="document">)[^<]*', r"\1<document>"),
    (r"(_timestamp_seconds) \d+|(duration_seconds) [\d.]+", r"\1\2 <seconds>"),
    (r"\b10\.213\.\d+\.(\d+)\b", r"10.213.N.\1"),
    (r"\b(localhost|10\.213\.N\.\d+):\d{4,5}\b", r"\1:<port>"),
    (r"\bu\d\d\d\b", "uNNN"),
    (r"(ansible-core |\"ansible\": ?\")2\.\d+\.\d+\w*", r"\1<version>"),
    (r"/inventory\d+/", "/inventory/"),
)


@contextmanager
def place() -> Iterator[Path]:
    """An empty folder whose name is always as long: lines break where they broke before."""
    folder = Path(f"/tmp/hob-golden{os.getpid():07}")
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def plain(text: str, places: dict[str, str]) -> str:
    """The text with what changes from run to run named in its place. places: path on this machine -> its name."""
    for path, name in sorted(places.items(), key=lambda one: -len(one[0])):
        text = text.replace(path, name)
    for pattern, name in CHANGING:
        text = re.sub(pattern, name, text)
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


def hold(name: str, text: str) -> None:
    """Hold a plain text against its file."""
    file = FILES / name
    if WRITES:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    kept = file.read_text(encoding="utf-8")
    if text != kept:
        changes = unified_diff(kept.splitlines(), text.splitlines(), "kept", "seen", lineterm="", n=1)
        pytest.fail(f"{name} is not as people saw it before:\n" + "\n".join(changes), pytrace=False)
