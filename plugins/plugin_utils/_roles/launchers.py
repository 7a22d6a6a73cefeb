# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The capability launchers: usrun.sh, which runs a command on a compute node, with the same words at every site."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from ...module_utils._core.errors import AccountError
from .._input.collection import ROLES_FOLDER
from .table import SLURM_ACCOUNT, Settings, declare_nothing, resource, scheduler_question

if TYPE_CHECKING:
    from .._documents.declaration import Declaration

BODY = ROLES_FOLDER / "launchers" / "files" / "usrun.sh.template"
ONE_GPU = re.compile(r"(--gres=gpu:|--gpus=|--gpus-per-node=)(?:([A-Za-z0-9_.-]+):)?1\Z")
PLAIN = re.compile(r"[A-Za-z0-9_./:@#+=,$~-]*\Z")
PLAIN_WORDS = re.compile(r"[A-Za-z0-9_./:=,$ -]*\Z")
LINE = re.compile(r"[^\0-\x1f\x7f]*\Z")
FORMS = {"site": LINE, "gpu_jobs": PLAIN_WORDS, "cpu_jobs": PLAIN_WORDS, "accounts_command": PLAIN_WORDS}
WORDS = ("image", "images", "memory", "partition", "qos")


def declare(settings: Settings) -> Declaration:
    """What an account gets. settings: those of the role."""
    if settings["scheduler"] != "slurm":
        return declare_nothing("not_here", "usrun.sh starts jobs of Slurm, which is not here")
    folder, state = settings["folder"], settings["state"]
    asks = [scheduler_question(settings)] if state == "present" else []
    script = resource(
        "path_script",
        path=f"{folder}/{settings['name']}",
        content=render_script(settings),
        found=["slurm_account"] if asks else None,
        state=state,
    )
    section = resource("shell_environment", section="launchers", path=[folder], state=state)
    return {"resources": [*asks, script, section], "notes": []}


def render_script(settings: Settings) -> str:
    """Our usrun.sh for a site: its facts and the account's wishes as a shell's variables, and then what all have.

    Raises AccountError for a value with a character that a shell would read.
    """
    lines = [
        f"{name}={quote_for_shell(settings['name'], name, value)}" for name, value in script_variables(settings).items()
    ]
    head = f"#!/bin/bash\n# Runs a command on a compute node; {settings['name']} --help says how.\n\n"
    body = BODY.read_text(encoding="utf-8").replace("usrun.sh", settings["name"])
    return head + "\n".join(lines) + "\n\n" + body


def script_variables(settings: Settings) -> dict[str, str]:
    """What is told to the script, by the names of its variables."""
    option, kind, others = split_gpu_options(settings["gpu"])
    return {
        "site": settings["site"],
        "runtime": settings["runtime"],
        "module": settings["module"],
        **{name: settings[name] for name in WORDS},
        "account": SLURM_ACCOUNT,
        "minutes": str(settings["minutes"]),
        "cpus": str(settings["cpus"] or ""),
        "mounts": ",".join(settings["mounts"]),
        "gpu_option": option,
        "gpu_type": kind,
        "gpu_jobs": others,
        "cpu_jobs": settings["cpu"],
        "account_required": "yes" if settings["account_required"] else "",
        "accounts_command": settings["accounts_command"],
        "home_in_jobs": settings["home_in_jobs"],
        "proxy": settings["proxy"],
        "proxy_module": settings["proxy_module"],
    }


def split_gpu_options(asked: str) -> tuple[str, str, str]:
    """How a job asks for one GPU: the option before type and number, the type, and the other options.

    >>> one_gpu("--partition=gpu --gres=gpu:a100:1")
    ('--gres=gpu:', 'a100', '--partition=gpu')
    >>> one_gpu("--partition=gh --nodes=1")
    ('', '', '--partition=gh --nodes=1')
    """
    words = asked.split()
    found = next((match for word in words if (match := ONE_GPU.match(word))), None)
    if not found:
        return "", "", asked
    return found[1], found[2] or "", " ".join(word for word in words if word != found[0])


def quote_for_shell(script: str, name: str, value: str) -> str:
    """A value for a shell. Raises AccountError."""
    if not FORMS.get(name, PLAIN).match(value):
        raise AccountError(f"{script}: {name} {value!r} holds a character that a shell would read")
    return shlex.quote(value)
