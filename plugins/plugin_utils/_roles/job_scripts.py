# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The capability job_scripts: scripts of jobs that fit the site and the person's own Slurm account."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ...module_utils._core.errors import AccountError
from .._input.collection import ROLES_FOLDER
from .job_request import JobRequest, make_farm_request, make_import_request, make_request, nearest_offer
from .job_texts import (
    IMPORTS,
    build_lines,
    container_lines,
    environment_lines,
    import_lines,
    load_lines,
    option_lines,
    options_with_purposes,
    quote_path,
    requested_lines,
    shape_lines,
)
from .launchers import LINE, PLAIN, PLAIN_WORDS
from .table import SLURM_ACCOUNT, Settings, declare_nothing, find_placeholders, resource, scheduler_question

if TYPE_CHECKING:
    from .._documents.declaration import Declaration, SkipReason

IMAGING = ("import", "build")  # scripts that make images
OURS = ("batch", "gpus", "nodes", "array", "chain", "farm", "interactive", "jupyter", "staging", *IMAGING)
RUN_BY_HAND = ("interactive.sh", "array.sh")  # on the login node
FILES = ROLES_FOLDER / "job_scripts" / "files"
WORD = re.compile(r"@([a-z_]+)@")
MAIL = re.compile(r"[A-Za-z0-9._+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+\Z")
COMMAND = re.compile(r"[^\0-\x1f\x7f]+\Z")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
PLACE = re.compile(r"(?:~|\$[A-Z_][A-Z0-9_]*)?(?:/[A-Za-z0-9_.+@-]+)+/?\Z")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
Words = Mapping[str, Callable[[], list[str]]]


def declare(settings: Settings) -> Declaration:
    """Return the scripts of an account. Raises AccountError for a request that the site cannot satisfy."""
    if settings["scheduler"] != "slurm":
        return declare_nothing("not_here", "the scripts of jobs are for Slurm, which is not here")
    names = _select_templates(settings["templates"])
    if not names and not settings["own"]:
        return {"resources": [], "notes": []}
    if not settings["folder"]:
        return declare_nothing(
            "place_unknown", "no folder is known here that jobs can write to: set job_scripts: {folder: …}"
        )
    notes: list[SkipReason] = []
    imaging = [f"{name}.sh" for name in names if name in IMAGING]
    why = why_no_import(settings) if imaging else ""
    if why:
        names = [name for name in names if name not in IMAGING]
        verb = "is" if len(imaging) == 1 else "are"
        notes.append({"code": "not_here", "text": f"{' and '.join(imaging)} {verb} skipped: {why}"})
    words = template_words(settings)
    texts = {f"{name}.sh": FILES / f"{name}.sh.template" for name in names}
    contents = {name: fill_template(file.read_text(encoding="utf-8"), words, file.name) for name, file in texts.items()}
    contents.update({one["name"]: _fill_own(one, settings, words) for one in settings["own"]})
    folder, state = settings["folder"], settings["state"]
    asks = "sbatch --test-only" if settings["ask_slurm"] else ""
    scripts = [
        resource(
            "path_script",
            path=f"{folder}/{name}",
            content=content,
            found=find_placeholders(content) if state == "present" else None,
            asks=_test_only_command(asks, name, content),
            state=state,
        )
        for name, content in contents.items()
    ]
    output = resource("directory", path=f"{folder}/output", root=settings["root"], state=state)
    first = [scheduler_question(settings), output]
    return {"resources": [*first, *scripts] if state == "present" else [*scripts, output], "notes": notes}


def _select_templates(wanted: Sequence[str]) -> Sequence[str]:
    """The names of our scripts that are wanted. Raises AccountError for one that nobody knows."""
    unknown = next((name for name in wanted if name not in (*OURS, "all")), None)
    if unknown is not None:
        raise AccountError(f"job_scripts: templates: {unknown!r} is not one of {', '.join(OURS)}, or all")
    return OURS if "all" in wanted else wanted


def why_no_import(settings: Settings) -> str:
    """Return why no job can import an image here, or an empty text."""
    if settings["importer"] not in IMPORTS:
        return "neither enroot nor Apptainer is here"
    if settings["internet"] == "none" and not settings["proxy"]:
        return "compute nodes have no Internet access. Import images on a login node, as role container_images does"
    return ""


def _test_only_command(command: str, name: str, content: str) -> str | None:
    """Return what Slurm is asked of a script; nothing of one that is run on the login node."""
    return command if command and name not in RUN_BY_HAND and "#SBATCH" in content else None


def _fill_own(one: Settings, settings: Settings, words: Words) -> str:
    """A template of the person's own, filled. Raises AccountError."""
    from . import own_texts  # few have such

    if not NAME.match(one["name"]):
        raise AccountError(f"job_scripts: {one['name']!r} is not the name of a file")
    file = Path(settings["files_from"], Path(one["file"]).expanduser())
    return fill_template(own_texts.read_own_text("job_scripts", file), words, str(file.absolute()))


def fill_template(template: str, words: Words, where: str) -> str:
    """Return a template with its words filled in. A line with one word alone becomes the lines that it has, or none.

    Raises AccountError for an unknown word, and where a word that the template has cannot be filled at this site.
    """
    lines = []
    for number, line in enumerate(template.splitlines(), 1):
        unknown = next((word for word in WORD.findall(line) if word not in words), None)
        if unknown:
            known = ", ".join(f"@{word}@" for word in sorted(words))
            raise AccountError(f"job_scripts: {where}:{number}: nobody knows @{unknown}@; these are known: {known}")
        alone = WORD.fullmatch(line)
        lines += words[alone[1]]() if alone else [WORD.sub(lambda found: " ".join(words[found[1]]()), line)]
    return "\n".join(lines) + "\n"


def template_words(settings: Settings) -> Words:
    """Return what each word of a template becomes: lines. Raises AccountError for a value that a script cannot hold."""
    check_settings(settings)
    gpus, nodes = settings["gpus"], settings["nodes"]
    one = nearest_offer(settings, 1) if gpus else 0
    tmp = settings["tmp"]
    texts = {
        **{name: str(settings[name]) for name in ("site", "folder", "gpus", "nodes", "links", "command")},
        "time": str(settings["minutes"]),
        "one_gpu": _count_gpus(one),
        "all_gpus": _count_gpus(gpus),
        "all_nodes": f"{nodes} node{'s' if nodes > 1 else ''}",
        "workers": str(max(gpus, 1)),
        "tmp": f"${{{tmp[1:]}:?}}/job-$SLURM_JOB_ID" if tmp[:1] == "$" else _job_folder(tmp),
        "build_tmp": f'"${{{tmp[1:]}:?}}/job-$SLURM_JOB_ID"' if tmp[:1] == "$" else '"$folder/.build-$SLURM_JOB_ID"',
        "images": quote_path(settings["images"]) if settings["images"] else '"$PWD"',
        "login": f"${{USER:-$(id -un)}}@{settings['login']}" if settings["login"] else "LOGIN-NODE",
        "slurm_account": SLURM_ACCOUNT,
        "script_folder": "@script_folder@",  # filled in on the account, where the home is known
    }
    load = [*load_lines(settings), *environment_lines(settings["environment"])]
    container = ['"${container[@]}"'] if settings["image"] not in ("", "none") else []
    lines = {
        "mail": _mail_lines(settings),
        "shape": shape_lines(settings),
        "load": [*load, *container_lines(settings, one)],
        "load_for_cpus": [*load, *container_lines(settings, 0)],
        "load_with_disk": [*load, *container_lines(settings, one, "$disk")],
        "nccl": [f"export {name}={shlex.quote(str(value))}" for name, value in sorted(settings["nccl"].items())],
        "container": container,
        "step": ["srun -K --export=ALL", *container],
        "import": import_lines(settings),
        "build": build_lines(settings),
    }
    requests: dict[str, Callable[[], JobRequest]] = {
        "gpu": lambda: make_request(settings, one, 1),
        "several_gpus": lambda: make_request(settings, gpus, 1),
        "several_gpus_on_nodes": lambda: make_request(settings, gpus, nodes),
        "cpu": lambda: make_request(settings, 0, 1),
        "import_job": lambda: make_import_request(settings),
        "farm_job": lambda: make_farm_request(settings),
    }
    return {
        **{name: partial(list, [text]) for name, text in texts.items()},
        **{name: partial(list, text) for name, text in lines.items()},
        **{name: partial(_request_lines, request, requested_lines) for name, request in requests.items()},
        "gpu_explained": partial(_request_lines, requests["gpu"], options_with_purposes),
        "gpu_words": partial(_request_lines, requests["gpu"], option_lines),
    }


def _request_lines(request: Callable[[], JobRequest], write: Callable[[Sequence[str]], list[str]]) -> list[str]:
    """The options of a request, which is made only if a template has its word. Raises AccountError."""
    try:
        return write(request().options)
    except AccountError as error:
        raise AccountError(f"job_scripts: {error}") from None


def check_settings(settings: Settings) -> None:
    """Raise AccountError for a value that a script cannot hold."""
    if not LINE.match(settings["site"]):
        raise AccountError("job_scripts: site: it is one line, without control characters")
    if settings["mail"] and not MAIL.match(settings["mail"]):
        raise AccountError(f"job_scripts: mail: {settings['mail']!r} is not a mail address, such as ada@uni.example")
    if not COMMAND.match(settings["command"]):
        raise AccountError("job_scripts: command: it is one line of a shell, and not empty")
    plain = (
        "account",
        "partition",
        "cpu_partition",
        "qos",
        "gpu_type",
        "memory",
        "image",
        "images",
        "home_in_jobs",
        "login",
    )
    for name, form in (*((name, PLAIN) for name in plain), ("gpu", PLAIN_WORDS), ("cpu", PLAIN_WORDS)):
        if not form.match(settings[name]):
            raise AccountError(f"job_scripts: {name}: {settings[name]!r} holds a character that a shell would read")
    if not all(PLAIN.match(mount) for mount in settings["mounts"]):
        raise AccountError("job_scripts: mounts: one of them holds a character that a shell would read")
    for name, least in (("minutes", 1), ("gpus", 0), ("nodes", 1), ("links", 1), ("cpus", 0)):
        if settings[name] < least:
            raise AccountError(f"job_scripts: {name}: {settings[name]} is not a number from {least} up")
    if settings["environment"] and not PLACE.match(settings["environment"]):
        raise AccountError(
            f"job_scripts: environment: {settings['environment']!r} is not a path, such as ~/envs/ml, /data/ada/envs/ml"
            " or $WORK/envs/ml"
        )
    if settings["image"] not in ("", "none") and settings["runtime"] == "none":
        raise AccountError(
            f"job_scripts: image: no program that starts containers in jobs is known at {settings['site']}."
            " Remove image, or set runtime"
        )
    wrong = next((name for name in settings["nccl"] if not VARIABLE.match(str(name))), None)
    if wrong is not None:
        raise AccountError(f"job_scripts: nccl: {wrong!r} is not the name of a variable, such as NCCL_SOCKET_IFNAME")


def _count_gpus(number: int) -> str:
    return {0: "no GPU", 1: "1 GPU"}.get(number, f"{number} GPUs")


def _mail_lines(settings: Settings) -> list[str]:
    return requested_lines([f"--mail-user={settings['mail']}", "--mail-type=END,FAIL"]) if settings["mail"] else []


def _job_folder(folder: str) -> str:
    """A folder for this job alone on the node's own disk, where the site names no variable."""
    return f"{folder or '${TMPDIR:-/tmp}'}/${{USER:-$UID}}-$SLURM_JOB_ID"
