# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a command line is said again, for a person to copy."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import Any


def again(typed: Mapping[str, Any], given: Sequence[str], playbooks: Sequence[str]) -> str:
    """The command that runs the same again, from Ansible's options and the words that were typed.

    Only options that choose what is done: the others may hold what must not be shown.
    """
    words = ["ansible-playbook"]
    if any(word.startswith(("-i", "--inventory")) for word in given):
        words += [f"-i {shlex.quote(near(source))}" for source in typed.get("inventory") or ()]
    words += [shlex.quote(near(name)) for name in playbooks]
    words += ["--check"] if typed.get("check") else []
    for option, unset in (("tags", ["all"]), ("skip_tags", [])):
        chosen = list(typed.get(option) or unset)
        words += [f"--{option.replace('_', '-')} {shlex.quote(','.join(chosen))}"] if chosen != unset else []
    return " ".join(words)


def near(path: str) -> str:
    """The path from here, when it lies below here."""
    return os.path.relpath(path) if path.startswith(os.getcwd() + os.sep) else path
