# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The capability job_scripts: scripts of jobs that fit the site and the person's own Slurm account."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...module_utils._core.errors import AccountError
from .._input.collection import ROLES_FOLDER
from .launchers import LINE, PLAIN, PLAIN_WORDS, split_gpu_options
from .table import SLURM_ACCOUNT, Settings, declare_nothing, resource, scheduler_question

if TYPE_CHECKING:
    from .._documents.declaration import Declaration

OURS = ("batch", "gpus", "nodes", "chain", "interactive", "staging", "import")
FILES = ROLES_FOLDER / "job_scripts" / "files"
WORD = re.compile(r"@([a-z_]+)@")
MAIL = re.compile(r"[A-Za-z0-9._+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+\Z")
COMMAND = re.compile(r"[^\0-\x1f\x7f]+\Z")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
IN_HOME = re.compile(r"(?:~|/|\$[A-Z_]+)(?:/[A-Za-z0-9_.+-]+)+\Z")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
IMPORTS = {
    "enroot": 'enroot import --output "$name.sqsh" "docker://${image/\\//#}"',
    "apptainer": 'apptainer pull "$name.sif" "docker://$image"',
    "singularity": 'singularity pull "$name.sif" "docker://$image"',
}


def declare(settings: Settings) -> Declaration:
    """What an account gets. Raises AccountError for a value that a job could not bear, or an unknown word."""
    if settings["scheduler"] != "slurm":
        return declare_nothing("not_here", "the scripts of jobs are for Slurm, which is not here")
    names = _select_templates(settings["templates"])
    if not names and not settings["own"]:
        return {"resources": [], "notes": []}
    if not settings["folder"]:
        return declare_nothing(
            "place_unknown", "no folder is known here that jobs can write to: set job_scripts: {folder: …}"
        )
    words = template_words(settings)
    texts = {f"{name}.sh": FILES / f"{name}.sh.template" for name in names if name != "import" or words["import"]}
    contents = {name: fill_template(file.read_text(encoding="utf-8"), words, file.name) for name, file in texts.items()}
    contents.update({one["name"]: _fill_own(one, settings, words) for one in settings["own"]})
    folder, state = settings["folder"], settings["state"]
    asks = "sbatch --test-only" if settings["ask_slurm"] else ""
    scripts = [
        resource(
            "path_script",
            path=f"{folder}/{name}",
            content=content,
            found=["slurm_account"] if SLURM_ACCOUNT in content and state == "present" else None,
            asks=_test_only_command(asks, name, content),
            state=state,
        )
        for name, content in contents.items()
    ]
    output = resource("directory", path=f"{folder}/output", root=settings["root"], state=state)
    first = [scheduler_question(settings), output]
    return {"resources": [*first, *scripts] if state == "present" else [*scripts, output], "notes": []}


def _select_templates(wanted: Sequence[str]) -> Sequence[str]:
    """The names of our scripts that are wanted. Raises AccountError for one that nobody knows."""
    unknown = next((name for name in wanted if name not in (*OURS, "all")), None)
    if unknown is not None:
        raise AccountError(f"job_scripts: templates: {unknown!r} is not one of {', '.join(OURS)}, or all")
    return OURS if "all" in wanted else wanted


def _test_only_command(command: str, name: str, content: str) -> str | None:
    """What Slurm is asked of a script; nothing of one that is run on the login node."""
    return command if command and name != "interactive.sh" and "#SBATCH" in content else None


def _fill_own(one: Settings, settings: Settings, words: dict[str, list[str]]) -> str:
    """A template of the person's own, filled. Raises AccountError."""
    from . import own_texts  # few have such

    if not NAME.match(one["name"]):
        raise AccountError(f"job_scripts: {one['name']!r} is not the name of a file")
    file = Path(settings["files_from"], Path(one["file"]).expanduser())
    return fill_template(own_texts.read_own_text("job_scripts", file), words, str(file.absolute()))


def fill_template(template: str, words: dict[str, list[str]], where: str) -> str:
    """A template with what its words become. A line with one word alone becomes as many lines as that has, or none.

    Raises AccountError for a word that nobody knows.
    """
    lines = []
    for number, line in enumerate(template.splitlines(), 1):
        unknown = next((word for word in WORD.findall(line) if word not in words), None)
        if unknown:
            known = ", ".join(f"@{word}@" for word in sorted(words))
            raise AccountError(f"job_scripts: {where}:{number}: nobody knows @{unknown}@; these are known: {known}")
        alone = WORD.fullmatch(line)
        lines += words[alone[1]] if alone else [WORD.sub(lambda found: " ".join(words[found[1]]), line)]
    return "\n".join(lines) + "\n"


def template_words(settings: Settings) -> dict[str, list[str]]:
    """What each word of a template becomes: lines. Raises AccountError for a value that a script could not bear."""
    check_settings(settings)
    person = _user_options(settings)
    gpus, nodes = settings["gpus"], settings["nodes"]
    runtime = settings["runtime"]
    return {
        "site": [settings["site"]],
        "folder": [settings["folder"]],
        "time": [str(settings["minutes"])],
        "gpus": [str(gpus)],
        "nodes": [str(nodes)],
        "links": [str(settings["links"])],
        "command": [settings["command"]],
        "slurm_account": [SLURM_ACCOUNT],
        "person": _sbatch_lines([*person, *_mail_options(settings)]),
        "person_words": person,
        "gpu": _sbatch_lines(gpu_words(settings, 1, 1)),
        "gpu_words": gpu_words(settings, 1, 1),
        "several_gpus": _sbatch_lines(gpu_words(settings, gpus, 1)),
        "several_gpus_on_nodes": _sbatch_lines(gpu_words(settings, gpus, nodes)),
        "cpu": _sbatch_lines(_without_overridden(settings["cpu"].split(), settings)),
        "load": _load_lines(settings),
        "nccl": [f"export {name}={shlex.quote(str(value))}" for name, value in sorted(settings["nccl"].items())],
        "tmp": [f"${{{settings['tmp'][1:]}:?}}" if settings["tmp"][:1] == "$" else _job_folder(settings["tmp"])],
        "import": _import_lines(runtime, settings["module"]) if runtime in IMPORTS else [],
    }


def check_settings(settings: Settings) -> None:
    """Refuse what a script could not bear. Raises AccountError with what to say instead."""
    if not LINE.match(settings["site"]):
        raise AccountError("job_scripts: site: it is one line, without control characters")
    if settings["mail"] and not MAIL.match(settings["mail"]):
        raise AccountError(f"job_scripts: mail: {settings['mail']!r} is not a mail address, such as ada@uni.example")
    if not COMMAND.match(settings["command"]):
        raise AccountError("job_scripts: command: it is one line of a shell, and not empty")
    for name in ("account", "partition", "qos"):
        if not PLAIN.match(settings[name]):
            raise AccountError(f"job_scripts: {name}: {settings[name]!r} holds a character that a shell would read")
    for name in ("gpu", "cpu"):
        if not PLAIN_WORDS.match(settings[name]):
            raise AccountError(f"job_scripts: {name}: {settings[name]!r} holds a character that a shell would read")
    for name in ("minutes", "gpus", "nodes", "links"):
        if settings[name] < 1:
            raise AccountError(f"job_scripts: {name}: {settings[name]} is not a number from 1 up")
    if settings["environment"] and not IN_HOME.match(settings["environment"]):
        raise AccountError(f"job_scripts: environment: {settings['environment']!r} is not a path, such as ~/envs/ml")
    wrong = next((name for name in settings["nccl"] if not VARIABLE.match(str(name))), None)
    if wrong is not None:
        raise AccountError(f"job_scripts: nccl: {wrong!r} is not the name of a variable, such as NCCL_SOCKET_IFNAME")


def gpu_words(settings: Settings, gpus: int, nodes: int) -> list[str]:
    """The options that ask for GPUs on each of the nodes. --gpus counts all of a job, which Slurm may spread unevenly.

    >>> gpu_words({"gpu": "--partition=gpu --gpus=1", "partition": ""}, 2, 3)
    ['--partition=gpu', '--gpus-per-node=2']
    """
    option, kind, others = split_gpu_options(settings["gpu"])
    each = "--gpus-per-node=" if option == "--gpus=" and nodes > 1 else option
    words = [*others.split(), *([f"{each}{kind + ':' if kind else ''}{gpus}"] if option else [])]
    return _without_overridden(words, settings)


def _without_overridden(words: list[str], settings: Settings) -> list[str]:
    """The options of the site, but for those that the person has an own word for."""
    own = [f"--{name}=" for name in ("partition", "account", "qos") if settings.get(name)]
    return [word for word in words if not word.startswith(tuple(own))]


def _user_options(settings: Settings) -> list[str]:
    """The account is found on the cluster."""
    own = [f"--{name}={settings[name]}" for name in ("partition", "qos") if settings[name]]
    return [f"--account={SLURM_ACCOUNT}", *own]


def _mail_options(settings: Settings) -> list[str]:
    return [f"--mail-user={settings['mail']}", "--mail-type=END,FAIL"] if settings["mail"] else []


def _sbatch_lines(words: list[str]) -> list[str]:
    return [f"#SBATCH {word}" for word in words]


def _load_lines(settings: Settings) -> list[str]:
    """The lines that open the way out, load modules, and activate the environment, which loads its own."""
    wanted = [*filter(None, [settings["proxy_module"]]), *settings["modules"]]
    modules = [f"module load {shlex.quote(one)}" for one in wanted]
    proxy = shlex.quote(settings["proxy"])
    modules += [f"export http_proxy={proxy} https_proxy={proxy}"] if settings["proxy"] else []
    return modules + ([f". {settings['environment']}/activate"] if settings["environment"] else [])


def _job_folder(folder: str) -> str:
    """A folder for this job alone on the node's own disk, where the site names no variable."""
    return f"{folder or '${TMPDIR:-/tmp}'}/$USER-$SLURM_JOB_ID"


def _import_lines(runtime: str, module: str) -> list[str]:
    loaded = [f"module load {shlex.quote(module)}"] if module else []
    return [*loaded, IMPORTS[runtime]]
