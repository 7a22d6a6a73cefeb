# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of the role launchers that do what a user's own script tells srun, and what none of them does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

FORMS = {  # option of srun -> setting, and the form of a value that it takes
    "mem": ("memory", r"[1-9][0-9]{0,6}[KMGT]"),
    "partition": ("partition", r"[A-Za-z0-9_.-]{1,100}"),
    "qos": ("qos", r"[A-Za-z0-9_.-]{1,100}"),
    "account": ("account", r"[A-Za-z0-9_.-]{1,100}"),
    "time": ("minutes", r"[1-9][0-9]{0,6}"),
    "cpus-per-task": ("cpus", r"[1-9][0-9]{0,3}"),
    "gpus": ("gpus", r"[0-9]{1,2}"),
    "container-image": ("image", r"[A-Za-z0-9_./:@#+=,~-]{1,300}"),
    "container-mounts": ("mounts", r"[A-Za-z0-9_./:@#+=,$~-]{1,1000}"),
}
SHORT = {"p": "partition", "q": "qos", "A": "account", "t": "time", "c": "cpus-per-task", "G": "gpus"}
NUMBERS = ("minutes", "cpus", "gpus")
OWN = ("--container-workdir=$PWD", "--container-workdir=`pwd`", "--container-workdir=$(pwd)")  # usrun.sh does this


def from_words(words: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the settings that options of srun amount to, and the options that none amounts to."""
    settings: dict[str, Any] = {}
    lost: list[str] = []
    for word in words:
        name, value = _split(word)
        setting, form = FORMS.get(name, ("", ""))
        value = re.sub(r"([KMGT])B$", r"\1", value) if setting == "memory" else value
        if setting and re.fullmatch(form, value):
            settings[setting] = _typed(setting, value)
        elif word not in OWN:
            lost.append(word)
    return settings, lost


def _split(word: str) -> tuple[str, str]:
    """Return the long name and the value of an option."""
    if word.startswith("--"):
        name, _equals, value = word[2:].partition("=")
        return name, value
    return SHORT.get(word[1:2], ""), word[2:].strip()


def _typed(setting: str, value: str) -> Any:
    if setting == "mounts":
        return value.split(",")
    return int(value) if setting in NUMBERS else value
