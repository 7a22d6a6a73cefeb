# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role job_scripts: job scripts for the site and for the user's Slurm account, filled from templates.

A declaration has resources, and notes with the reasons for skipped ones: a code for programs, and a text for the user.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ...module_utils._core.errors import AccountError
from .._input.collection import ROLES_FOLDER
from .job_request import check_amounts, make_farm_request, make_import_request, make_request, nearest_offer
from .job_texts import (
    IMPORTS,
    build_lines,
    check_readable_in_jobs,
    container_lines,
    environment_lines,
    import_lines,
    load_lines,
    options_with_purposes,
    quote_path,
    requested_lines,
    shape_lines,
)
from .launchers import LINE, PLAIN, PLAIN_WORDS
from .table import (
    SLURM_ACCOUNT,
    Settings,
    declare_nothing,
    declare_scheduler_query,
    find_placeholders,
    resource,
    why_no_slurm,
)

if TYPE_CHECKING:
    from .._documents.declaration import Declaration, ResourceEntry, SkipReason

IMAGE_TEMPLATES = ("import", "build")  # scripts that create images
TEMPLATES = ("batch", "gpus", "nodes", "array", "chain", "farm", "interactive", "jupyter", "staging", *IMAGE_TEMPLATES)
RUN_BY_HAND = ("interactive.sh", "array.sh")  # run on the login node, not submitted with sbatch
FILES = ROLES_FOLDER / "job_scripts" / "files"
PLACEHOLDER = re.compile(r"@([a-z_]+)@")
MAIL = re.compile(r"[A-Za-z0-9._+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+\Z")
COMMAND = re.compile(r"[^\0-\x1f\x7f]+\Z")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
ENVIRONMENT_PATH = re.compile(r"(?:~|\$[A-Z_][A-Z0-9_]*)?(?:/[A-Za-z0-9_.+@-]+)+/?\Z")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")  # of the user's own script
Values = Mapping[str, Callable[[], list[str]]]
"""Placeholder of a template -> function that returns the lines to fill in, called only if a template needs them."""


def declare(settings: Settings) -> Declaration:
    """Declare the scripts of an account. Raise AccountError for a request that the site cannot satisfy.

    settings: of the role; among them `templates`, the names of scripts to write; `own`, the user's own templates;
    `folder` of the scripts; `root`, the folder above `folder` that must exist; `ask_slurm`, to let Slurm check them.
    """
    if settings["scheduler"] != "slurm":
        return declare_nothing("not_here", f"job scripts need Slurm, {why_no_slurm(settings['scheduler'])}")
    names = _select_templates(settings["templates"])
    if not names and not settings["own"]:
        return {"resources": [], "notes": []}
    if not settings["folder"]:
        text = "no folder that jobs can write to is known at this site. Set a folder with `job_scripts: {folder: …}`"
        return declare_nothing("place_unknown", text)
    notes: list[SkipReason] = []
    image_scripts = [f"{name}.sh" for name in names if name in IMAGE_TEMPLATES]
    reason = why_no_import(settings) if image_scripts else ""
    if reason:
        names = [name for name in names if name not in IMAGE_TEMPLATES]
        verb = "is" if len(image_scripts) == 1 else "are"
        notes.append({"code": "not_here", "text": f"{' and '.join(image_scripts)} {verb} skipped: {reason}"})
    contents = _fill_templates(names, settings)
    scripts = [_declare_script(name, content, settings) for name, content in contents.items()]
    output = resource("directory", path=f"{settings['folder']}/output", root=settings["root"], state=settings["state"])
    if settings["state"] == "absent":  # the folder last: it is removed only if it is empty
        return {"resources": [*scripts, output], "notes": notes}
    return {"resources": [declare_scheduler_query(settings), output, *scripts], "notes": notes}


def _select_templates(names: Sequence[str]) -> Sequence[str]:
    """Return the names of templates; all templates for "all". Raise AccountError for an unknown name."""
    unknown = next((name for name in names if name not in (*TEMPLATES, "all")), None)
    if unknown is not None:
        raise AccountError(f"job_scripts: templates: unknown name {unknown!r}; available: {', '.join(TEMPLATES)}, all")
    return TEMPLATES if "all" in names else names


def why_no_import(settings: Settings) -> str:
    """Return why no job of the site can import an image, or an empty text."""
    if settings["importer"] not in IMPORTS:
        return "the site has neither enroot nor Apptainer"
    if settings["internet"] == "none" and not settings["proxy"]:
        return "compute nodes have no Internet access. Import images on a login node with the role container_images"
    return ""


def _fill_templates(names: Sequence[str], settings: Settings) -> dict[str, str]:
    """Return file name -> content of each script: from the role's templates of these names, and from the user's own."""
    values = template_values(settings)
    contents = {}
    for name in names:
        file = FILES / f"{name}.sh.template"
        contents[f"{name}.sh"] = fill_template(file.read_text(encoding="utf-8"), values, file.name)
    return contents | {entry["name"]: _fill_own_template(entry, settings, values) for entry in settings["own"]}


def _declare_script(name: str, content: str, settings: Settings) -> ResourceEntry:
    """Return the entry of a script. name: its file name."""
    is_present = settings["state"] == "present"
    is_submitted = name not in RUN_BY_HAND and "#SBATCH" in content  # with sbatch, so Slurm can check the script
    return resource(
        "path_script",
        path=f"{settings['folder']}/{name}",
        content=content,
        found=find_placeholders(content) if is_present else None,  # filled in on the account
        asks="sbatch --test-only" if settings["ask_slurm"] and is_present and is_submitted else None,
        state=settings["state"],
    )


def _fill_own_template(entry: Settings, settings: Settings, values: Values) -> str:
    """Return the user's own template, filled. Raise AccountError for an invalid name, file or placeholder.

    entry: of the setting `own`, with `name` and `file`.
    """
    from . import own_texts  # imported late: few accounts have texts

    if not NAME.match(entry["name"]):
        raise AccountError(f"job_scripts: {entry['name']!r} is not a valid file name")
    file = Path(settings["files_from"], os.path.expanduser(entry["file"]))
    template = own_texts.read_own_text("job_scripts", file, settings["state"]).removeprefix(own_texts.BOM)
    return fill_template(template, values, str(file.absolute()))


def fill_template(template: str, values: Values, file: str) -> str:
    """Return a template with its placeholders filled. A placeholder alone on its line becomes any number of lines.

    file: named in errors. Raise AccountError for an unknown placeholder, or for a request that the site cannot satisfy.
    """
    lines = []
    for number, line in enumerate(template.splitlines(), 1):
        unknown = next((name for name in PLACEHOLDER.findall(line) if name not in values), None)
        if unknown:
            available = ", ".join(f"@{name}@" for name in sorted(values))
            raise AccountError(f"job_scripts: {file}:{number}: unknown placeholder @{unknown}@; available: {available}")
        placeholder_line = PLACEHOLDER.fullmatch(line)
        if placeholder_line:
            lines += values[placeholder_line[1]]()
        else:
            lines.append(PLACEHOLDER.sub(lambda match: " ".join(values[match[1]]()), line))
    return "\n".join(lines) + "\n"


def template_values(settings: Settings) -> Values:
    """Return the values of all placeholders. Raise AccountError for a setting that a script cannot contain."""
    check_settings(settings)
    gpus, nodes = settings["gpus"], settings["nodes"]
    # for a script with one GPU; some sites give whole nodes
    fewest_gpus = nearest_offer(settings, number=1) if gpus else 0
    requests: dict[str, Callable[[], list[str]]] = {
        "gpu": lambda: make_request(settings, fewest_gpus, nodes=1),
        "several_gpus": lambda: make_request(settings, gpus, nodes=1),
        "several_gpus_on_nodes": lambda: make_request(settings, gpus, nodes),
        "cpu": lambda: make_request(settings, gpus=0, nodes=1),
        "import_job": lambda: make_import_request(settings),
        "farm_job": lambda: make_farm_request(settings),
    }
    # partial(list, lines) returns a copy of the lines
    return {
        **{name: partial(list, [text]) for name, text in _placeholder_texts(settings, fewest_gpus).items()},
        **{name: partial(list, lines) for name, lines in _placeholder_lines(settings, fewest_gpus).items()},
        **{name: partial(_request_lines, request, requested_lines) for name, request in requests.items()},
        "gpu_explained": partial(_request_lines, requests["gpu"], options_with_purposes),
        "gpu_words": partial(_request_lines, requests["gpu"], list),
    }


def _placeholder_texts(settings: Settings, fewest_gpus: int) -> dict[str, str]:
    """Return the placeholders for a part of a line. fewest_gpus: of a script with as few GPUs as possible."""
    gpus, nodes = settings["gpus"], settings["nodes"]
    tmp = settings["tmp"]  # the node's local disk: $VARIABLE, $VARIABLE/FOLDER, a folder, or empty
    variable, slash, below = tmp[1:].partition("/")
    # the shell ends the script if the variable is unset
    folder_in_variable = f"${{{variable}:?}}{slash}{below}/job-$SLURM_JOB_ID" if tmp[:1] == "$" else ""
    return {
        **{name: str(settings[name]) for name in ("site", "folder", "gpus", "nodes", "links", "command")},
        "time": str(settings["minutes"]),
        "one_gpu": _count_gpus(fewest_gpus),
        "all_gpus": _count_gpus(gpus),
        "all_nodes": f"{nodes} node{'s' if nodes > 1 else ''}",
        "workers": str(max(gpus, 1)),
        "tmp": folder_in_variable or _job_folder(tmp),
        "build_tmp": f'"{folder_in_variable}"' if folder_in_variable else '"$folder/.build-$SLURM_JOB_ID"',
        "images": quote_path(settings["images"]) if settings["images"] else '"$PWD"',
        "login": f"${{USER:-$(id -un)}}@{settings['login']}" if settings["login"] else "LOGIN-NODE",
        "slurm_account": SLURM_ACCOUNT,
        "script_folder": "@script_folder@",  # filled in on the account, where the home is known
    }


def _placeholder_lines(settings: Settings, fewest_gpus: int) -> dict[str, list[str]]:
    """Return the placeholders for whole lines. fewest_gpus: of a script with as few GPUs as possible."""
    load = [*load_lines(settings), *environment_lines(settings["environment"])]
    container = ['"${container[@]}"'] if settings["image"] not in ("", "none") else []
    return {
        "mail": _mail_lines(settings),
        "shape": shape_lines(settings),
        "load": [*load, *container_lines(settings, fewest_gpus)],
        "load_for_cpus": [*load, *container_lines(settings, gpus=0)],
        "load_with_disk": [*load, *container_lines(settings, fewest_gpus, "$disk")],
        "nccl": [f"export {name}={shlex.quote(str(value))}" for name, value in sorted(settings["nccl"].items())],
        "container": container,
        "step": ["srun -K --export=ALL", *container],
        "import": import_lines(settings),
        "build": build_lines(settings),
    }


def _request_lines(request: Callable[[], list[str]], render: Callable[[Sequence[str]], list[str]]) -> list[str]:
    """Return the options of a request as lines of a script. Raise AccountError if the request is impossible.

    render: returns options as lines.
    """
    try:
        return render(request())
    except AccountError as error:
        raise AccountError(f"job_scripts: {error}") from None


def check_settings(settings: Settings) -> None:
    """Raise AccountError for a setting that a script cannot contain."""
    if not LINE.match(settings["site"]):
        raise AccountError("job_scripts: site is not valid; expected one line without control characters")
    if settings["mail"] and not MAIL.match(settings["mail"]):
        raise AccountError(
            f"job_scripts: mail: {settings['mail']!r} is not a valid address; expected, for example, ada@uni.example"
        )
    if not COMMAND.match(settings["command"]):
        raise AccountError("job_scripts: command is not valid; expected one line of shell code")
    plain = (
        *("account", "partition", "cpu_partition", "qos", "gpu_type", "memory"),
        *("image", "images", "home_in_jobs", "login"),
    )
    for name, pattern in (*((name, PLAIN) for name in plain), ("gpu", PLAIN_WORDS), ("cpu", PLAIN_WORDS)):
        if not pattern.match(settings[name]):
            raise AccountError(
                f"job_scripts: {name}: {settings[name]!r} contains a character with a special meaning in a shell."
                " Remove the character"
            )
    if not all(PLAIN.match(mount) for mount in settings["mounts"]):
        raise AccountError(
            "job_scripts: mounts: a path contains a space or a character with a special meaning in a shell. Remove it"
        )
    try:
        check_amounts(settings)
    except AccountError as error:
        raise AccountError(f"job_scripts: {error}") from None
    if settings["environment"] and not ENVIRONMENT_PATH.match(settings["environment"]):
        raise AccountError(
            f"job_scripts: environment: {settings['environment']!r} is not a valid path; expected, for example,"
            " ~/envs/ml, /data/ada/envs/ml or $WORK/envs/ml"
        )
    check_readable_in_jobs(settings)
    if settings["image"] not in ("", "none") and settings["runtime"] == "none":
        raise AccountError(
            f"job_scripts: image: no container runtime for jobs is known at {settings['site']}."
            " Remove `image`, or set `runtime`"
        )
    invalid_name = next((name for name in settings["nccl"] if not VARIABLE.match(str(name))), None)
    if invalid_name is not None:
        raise AccountError(
            f"job_scripts: nccl: {invalid_name!r} is not a valid variable name; expected, for example,"
            " NCCL_SOCKET_IFNAME"
        )


def _count_gpus(number: int) -> str:
    """Return a number of GPUs for a comment in a script, such as "2 GPUs"."""
    return {0: "no GPU", 1: "1 GPU"}.get(number, f"{number} GPUs")


def _mail_lines(settings: Settings) -> list[str]:
    """Return the lines that request an e-mail at the end of the job; no lines without an address."""
    return requested_lines([f"--mail-user={settings['mail']}", "--mail-type=END,FAIL"]) if settings["mail"] else []


def _job_folder(folder: str) -> str:
    """Return the job's own folder on the node's local disk, for a site that sets no variable with the disk's path."""
    return f"{folder or '${TMPDIR:-/tmp}'}/${{USER:-$UID}}-$SLURM_JOB_ID"
