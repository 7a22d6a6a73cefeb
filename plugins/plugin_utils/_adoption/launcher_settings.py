# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of the role launchers that have the same effect as the srun options in a user's own script."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

SETTINGS = {  # option of srun -> setting, and the pattern of its value
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
LONG_NAMES = {"p": "partition", "q": "qos", "A": "account", "t": "time", "c": "cpus-per-task", "G": "gpus"}
NUMBERS = ("minutes", "cpus", "gpus")
# hpc-onboard's own script always sets this option, so no setting is needed
DEFAULT_OPTIONS = ("--container-workdir=$PWD", "--container-workdir=`pwd`", "--container-workdir=$(pwd)")


def parse_srun_options(options: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the settings with the same effect as options of srun, and the options without a matching setting."""
    settings: dict[str, Any] = {}
    unmatched_options: list[str] = []
    for option in options:
        name, value = _split_option(option)
        setting, pattern = SETTINGS.get(name, ("", ""))
        value = re.sub(r"([KMGT])B$", r"\1", value) if setting == "memory" else value  # the setting has no B
        if setting and re.fullmatch(pattern, value):
            settings[setting] = _convert_value(setting, value)
        elif option not in DEFAULT_OPTIONS:
            unmatched_options.append(option)
    return settings, unmatched_options


def _split_option(option: str) -> tuple[str, str]:
    """Return the long name and the value of an option, such as --mem=8G or -c4; the name is empty if unknown."""
    if option.startswith("--"):
        name, _equals, value = option[2:].partition("=")
        return name, value
    return LONG_NAMES.get(option[1:2], ""), option[2:].strip()


def _convert_value(setting: str, value: str) -> Any:
    """Return the value of an option as its setting requires: a list of mounts, a number, or text."""
    if setting == "mounts":
        return value.split(",")
    return int(value) if setting in NUMBERS else value
