# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The capability launchers: usrun.sh, which runs a command on a compute node, with the same words at every site."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from ...module_utils._core.errors import AccountError
from .._input.collection import ROLES_FOLDER
from .job_request import (
    find_usual,
    gpu_flag,
    make_request,
    minutes_by_partition,
    nearest_offer,
    offered_gpus,
    split_site_options,
)
from .table import (
    SLURM_ACCOUNT,
    SLURM_CPU_ACCOUNT,
    Settings,
    declare_nothing,
    find_placeholders,
    resource,
    scheduler_question,
)

if TYPE_CHECKING:
    from .._documents.declaration import Declaration

BODY = ROLES_FOLDER / "launchers" / "files" / "usrun.sh.template"
PLAIN = re.compile(r"[A-Za-z0-9_./:@#+=,$~-]*\Z")
PLAIN_WORDS = re.compile(r"[A-Za-z0-9_./:=,$ -]*\Z")
LINE = re.compile(r"[^\0-\x1f\x7f]*\Z")
SEVERAL_WORDS = (
    *("gpu_others", "cpu_others", "accounts_command", "offered_gpus", "gpu_nodes", "partitions", "partition_minutes"),
)
FORMS = {"site": LINE, **dict.fromkeys(SEVERAL_WORDS, PLAIN_WORDS)}
FACTS = ("cpus_per_gpu", "memory_per_gpu", "memory_per_cpu")  # limits that usrun.sh calculates with


def declare(settings: Settings) -> Declaration:
    """Return what an account gets. settings: those of the role."""
    if settings["scheduler"] != "slurm":
        return declare_nothing("not_here", "usrun.sh starts jobs of Slurm, which is not here")
    folder, state = settings["folder"], settings["state"]
    asks = [scheduler_question(settings)] if state == "present" else []
    content = render_script(settings)
    script = resource(
        "path_script",
        path=f"{folder}/{settings['name']}",
        content=content,
        found=find_placeholders(content) if asks else None,
        state=state,
    )
    # Where jobs cannot read the home, it is in the project's area, of which only the site can create the top. Every
    # command of a login shell would wait for such a file system, if it was at the beginning of PATH.
    in_home = folder.startswith("~")
    place = {"path": [folder]} if in_home else {"path_end": [folder]}
    section = resource("shell_environment", section="launchers", state=state, **place)
    area = [] if in_home else [resource("directory", path=folder, root=settings["root"], state=state)]
    resources = [*asks, *area, script, section] if asks else [script, section, *area]
    return {"resources": resources, "notes": []}


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
    """Return the variables of the script. Raises AccountError for a usual request that the site cannot satisfy."""
    check_usual_request(settings)
    limits, site = settings["limits"], split_site_options(settings["gpu"])
    longest = minutes_by_partition(settings)
    variables = {
        "site": settings["site"],
        "runtime": settings["runtime"],
        "module": settings["module"],
        "image": settings["image"],
        "images": settings["images"],
        "mounts": ",".join(settings["mounts"]),
        "home_in_jobs": settings["home_in_jobs"],
        "proxy": settings["proxy"],
        "proxy_module": settings["proxy_module"],
        "minutes": str(settings["minutes"]),
        "gpus": str(settings["gpus"]),
        "gpu_option": site.gpu_option,
        "gpu_type": settings["gpu_type"] or site.gpu_type,
        "gpu_flag": gpu_flag(settings),
        "account_required": "yes" if settings["account_required"] else "",
        "accounts_command": settings["accounts_command"],
        "partition_required": "yes" if limits.get("partition_required") else "",
        "offered_gpus": " ".join(map(str, offered_gpus(settings))),
        "gpu_nodes": _join_pairs(limits.get("gpu_nodes", {})),
        "partitions": " ".join(limits.get("partitions", [])),
        "partition_minutes": _join_pairs({name: number for name, number in longest.items() if name}),
        "most_minutes": str(longest.get("", "")),
        **{name: str(limits.get(name, "")) for name in FACTS},
    }
    for kind, account in (("gpu", SLURM_ACCOUNT), ("cpu", SLURM_CPU_ACCOUNT)):
        usual = find_usual(settings, kind == "gpu")
        variables |= {
            f"{kind}_account": account if limits.get("account_suffixes") else SLURM_ACCOUNT,
            f"{kind}_partition": usual.partition,
            f"{kind}_qos": usual.qos,
            f"{kind}_cpus": str(usual.cpus or ""),
            f"{kind}_memory": usual.memory,
            f"{kind}_others": " ".join(usual.others),
        }
    return variables


def check_usual_request(settings: Settings) -> None:
    """Raise AccountError for a request that cannot be satisfied. A partition may still be named with the command."""
    if settings["image"] not in ("", "none") and settings["runtime"] == "none":
        raise AccountError(
            f"launchers: image: no program that starts containers in jobs is known at {settings['site']}."
            " Remove image, or set runtime"
        )
    limits = {name: value for name, value in settings["limits"].items() if name != "partition_required"}
    try:
        make_request({**settings, "limits": limits}, settings["gpus"], 1)
        make_request({**settings, "limits": limits}, nearest_offer(settings, 1), 1)
    except AccountError as error:
        raise AccountError(f"launchers: {error}") from None


def _join_pairs(pairs: Settings) -> str:
    return " ".join(f"{name}={value}" for name, value in pairs.items())


def quote_for_shell(script: str, name: str, value: str) -> str:
    """A value for a shell. Raises AccountError."""
    if not FORMS.get(name, PLAIN).match(value):
        raise AccountError(f"{script}: {name} {value!r} holds a character that a shell would read")
    quoted = shlex.quote(value)
    return f"'{value}'" if quoted == value else quoted
