# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role launchers: usrun.sh, which runs a command on a compute node, with the same options at every site.

A declaration has resources, and notes with the reasons for skipped ones: a code for programs, and a text for the user.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from ...module_utils._core.errors import AccountError
from .._input.collection import ROLES_FOLDER
from .job_request import (
    check_amounts,
    find_job_defaults,
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
    declare_scheduler_query,
    find_placeholders,
    resource,
    why_no_slurm,
)

if TYPE_CHECKING:
    from .._documents.declaration import Declaration

BODY = ROLES_FOLDER / "launchers" / "files" / "usrun.sh.template"
PLAIN = re.compile(r"[A-Za-z0-9_./:@#+=,$~-]*\Z")
PLAIN_WORDS = re.compile(r"[A-Za-z0-9_./:=,$ -]*\Z")
LINE = re.compile(r"[^\0-\x1f\x7f]*\Z")
LISTS = ("gpu_others", "cpu_others", "accounts_command", "offered_gpus", "gpu_nodes", "partitions", "partition_minutes")
PATTERNS = {"site": LINE, **dict.fromkeys(LISTS, PLAIN_WORDS)}  # of variables; all others match PLAIN
AMOUNTS = ("cpus_per_gpu", "memory_per_gpu", "memory_per_cpu")  # limits that usrun.sh calculates with


def declare(settings: Settings) -> Declaration:
    """Declare the script and its folder on PATH.

    settings: of the role; among them `folder` and `name` of the script, and `root`, the folder above `folder` that must
    exist.
    """
    if settings["scheduler"] != "slurm":
        return declare_nothing("not_here", f"usrun.sh needs Slurm, {why_no_slurm(settings['scheduler'])}")
    folder, state = settings["folder"], settings["state"]
    content = render_script(settings)
    script = resource(
        "path_script",
        path=f"{folder}/{settings['name']}",
        content=content,
        found=find_placeholders(content) if state == "present" else None,  # filled in on the account
        state=state,
    )
    # If jobs cannot read the home, the folder is in the project's area, whose top folder only the site can create. The
    # folder is then at the end of PATH: if its file system hangs, a login shell still finds the system's commands.
    in_home = folder.startswith("~")
    path_option = {"path": [folder]} if in_home else {"path_end": [folder]}
    section = resource("shell_environment", section="launchers", state=state, **path_option)
    folders = [] if in_home else [resource("directory", path=folder, root=settings["root"], state=state)]
    if state == "absent":  # the folder last: it is removed only if it is empty
        return {"resources": [script, section, *folders], "notes": []}
    return {"resources": [declare_scheduler_query(settings), *folders, script, section], "notes": []}


def render_script(settings: Settings) -> str:
    """Return usrun.sh for a site: a header with the settings as shell variables, and the part that all sites share.

    Raise AccountError for a setting with a character that has a special meaning in a shell.
    """
    lines = [
        f"{name}={quote_for_shell(settings['name'], name, value)}" for name, value in script_variables(settings).items()
    ]
    head = f"#!/bin/bash\n# Runs a command on a compute node; see {settings['name']} --help.\n\n"
    body = BODY.read_text(encoding="utf-8").replace("usrun.sh", settings["name"])
    return head + "\n".join(lines) + "\n\n" + body


def script_variables(settings: Settings) -> dict[str, str]:
    """Return the variables of the script. Raise AccountError for defaults that the site cannot satisfy."""
    check_default_request(settings)
    limits, site = settings["limits"], split_site_options(settings["gpu"])
    minutes = minutes_by_partition(settings)
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
        "partition_minutes": _join_pairs({name: number for name, number in minutes.items() if name}),
        "most_minutes": str(minutes.get("", "")),  # in partitions that partition_minutes does not name
        **{name: str(limits.get(name, "")) for name in AMOUNTS},
    }
    for kind, account in (("gpu", SLURM_ACCOUNT), ("cpu", SLURM_CPU_ACCOUNT)):
        defaults = find_job_defaults(settings, has_gpus=kind == "gpu")
        variables |= {
            f"{kind}_account": account if limits.get("account_suffixes") else SLURM_ACCOUNT,
            f"{kind}_partition": defaults.partition,
            f"{kind}_qos": defaults.qos,
            f"{kind}_cpus": str(defaults.cpus or ""),
            f"{kind}_memory": defaults.memory,
            f"{kind}_others": " ".join(defaults.others),
        }
    return variables


def check_default_request(settings: Settings) -> None:
    """Raise AccountError if the site cannot satisfy a job with the default settings, or such a job with one GPU."""
    if settings["image"] not in ("", "none") and settings["runtime"] == "none":
        raise AccountError(
            f"launchers: image: no container runtime for jobs is known at {settings['site']}."
            " Remove `image`, or set `runtime`"
        )
    # a missing partition is no error here: the user can still name one on the command line of usrun.sh
    limits = {name: value for name, value in settings["limits"].items() if name != "partition_required"}
    try:
        check_amounts(settings)
        make_request({**settings, "limits": limits}, settings["gpus"], nodes=1)
        make_request({**settings, "limits": limits}, nearest_offer(settings, number=1), nodes=1)
    except AccountError as error:
        raise AccountError(f"launchers: {error}") from None


def _join_pairs(pairs: Settings) -> str:
    """Return a mapping as the text of a shell variable, such as "short=60 long=1440"."""
    return " ".join(f"{name}={value}" for name, value in pairs.items())


def quote_for_shell(script: str, name: str, value: str) -> str:
    """Return a value in quotes. Raise AccountError for a character that has a special meaning in a shell.

    script: its file name, for the error. name: of the variable, by which PATTERNS selects the permitted characters.
    """
    if not PATTERNS.get(name, PLAIN).match(value):
        raise AccountError(
            f"{script}: {name} {value!r} contains a character with a special meaning in a shell. Remove the character"
        )
    quoted = shlex.quote(value)
    return f"'{value}'" if quoted == value else quoted  # shlex leaves plain values without quotes
