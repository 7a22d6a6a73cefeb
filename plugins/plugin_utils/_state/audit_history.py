# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What audits remember on this machine: since when each finding is known, and how the runs before this one ended.

Without it a run is as good, but tells nothing of the past.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from ansible_collections.hpc.onboard.plugins.plugin_utils._state import durable_files

FOLDER = "audit"
KNOWN, HISTORY, LOCK = "known-%s.json", "history.jsonl", "lock"
RUNS = 60  # that are told of
KEPT = 2000  # runs that are remembered
WAIT_SECONDS = 30.0

Known = dict[str, dict[str, str]]


def series(*words: str) -> str:
    """What tells runs over the same accounts from others."""
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:12]


def read(place: str, name: str) -> tuple[Known, list[dict[str, Any]]]:
    """The findings that are known, by fingerprint, and the runs of that series, oldest first.

    place: the series of all runs over the same accounts files, for another file may have an account of the same name.
    """
    with durable_files.told(FOLDER), durable_files.folder(FOLDER, make=False) as at:
        if at < 0:
            return {}, []
        known, history = durable_files.read(at, KNOWN % place), durable_files.read(at, HISTORY)
    runs = [run for run in _lines(history) if run.get("series") == name]
    return _object(known), [{key: run[key] for key in run if key != "series"} for run in runs[-RUNS:]]


def keep(known: Known, place: str, name: str, run: Mapping[str, Any]) -> None:
    """Remember these findings, and this run."""
    with (
        durable_files.told(FOLDER),
        durable_files.folder(FOLDER) as at,
        durable_files.locked(at, LOCK, "another audit writes down what it found, and does not end", WAIT_SECONDS),
    ):
        text = json.dumps(known, indent=1, sort_keys=True).encode() + b"\n"
        if text != durable_files.read(at, KNOWN % place):
            durable_files.replace(at, KNOWN % place, text)
        runs = [*_lines(durable_files.read(at, HISTORY)), {**run, "series": name}][-KEPT:]
        durable_files.replace(at, HISTORY, b"".join(json.dumps(one, sort_keys=True).encode() + b"\n" for one in runs))


def _object(content: bytes | None) -> Known:
    try:
        found = json.loads(content or b"{}")
    except ValueError:
        return {}
    return {key: one for key, one in found.items() if isinstance(one, dict)} if isinstance(found, dict) else {}


def _lines(content: bytes | None) -> list[dict[str, Any]]:
    """The runs that can be read; a line that a crash has cut is none."""
    found = []
    for line in (content or b"").splitlines():
        try:
            run = json.loads(line)
        except ValueError:
            continue
        if isinstance(run, dict):
            found.append(run)
    return found
