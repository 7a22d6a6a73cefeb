# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lines of job scripts, start-up files, launchers and workflow settings request of Slurm.

Options of sbatch: https://slurm.schedmd.com/sbatch.html. Names in settings: submitit (slurm_partition), the Slurm
executors of Snakemake (slurm_partition, slurm_account) and Nextflow (queue, clusterOptions).
"""

import re
from typing import Dict, Iterator, List, NamedTuple, Tuple

from .._formats.lines import split_lines

DIRECTIVE = re.compile(r"#SBATCH[ \t]+(.*)")
_COMMAND = re.compile(r"(?:^|[\s;&|(\"'=/@])(?:srun|sbatch|salloc|usrun\.sh)[ \t]+((?:-[^|;&]*)?)")
_SHORT = {"p": "partition", "A": "account", "q": "qos", "D": "chdir"}
_SHORT.update({"G": "gpus", "t": "time", "o": "output", "e": "error"})
_LONG = "partition|account|qos|chdir|gres|gpus|gpus-per-node|gpus-per-task|time|output|error|container-image"
_LONG += "|container-mounts"
_OPTION = re.compile(r"(?<!\S)(?:--(%s)(?:=|[ \t]+)|-([pAqDGtoe])[ \t]*)[\"']?([^\s\"'#]+)" % _LONG)
_VARIABLE = re.compile(
    r"\b(?:SBATCH|SALLOC|SLURM)_(PARTITION|ACCOUNT|QOS|TIMELIMIT|GRES|GPUS|OUTPUT|ERROR)(?:=|[ \t]+)"
    r"[\"']?([\w.,:+%/-]+)"
)
_WHAT = {
    "timelimit": "time",
    "gpus-per-node": "node_gpus",
    "gpus-per-task": "gpus",
    "gres": "node_gpus",
    "error": "output",
}
_WHAT.update({"container-image": "image", "container-mounts": "mounts", "queue": "partition"})
PATHS = ("output", "image", "chdir", "mounts")
_OF_SLURM = re.compile(r"slurm|sbatch|srun|submitit", re.IGNORECASE)
_SETTING = re.compile(
    r"(?:^|[\s{(,\"'])(?:slurm[_-])?(partition|account|qos|queue)[\"']?[ \t]*[:=][ \t]*[\"']?([A-Za-z][\w.,-]*)"
)
_QUOTED = re.compile(r"[\"'\s\[(]--(partition|account|qos)(?:=|[\"'],?[ \t]*[\"'])([A-Za-z][\w.,-]*)")
_IMAGE = re.compile(
    r"(?:apptainer|singularity|enroot)[ \t]+(?:exec|run|shell|start|create)\b[^\n]*?"
    r"[ \t][\"']?(/[^\s\"']+\.(?:sif|sqsh))\b"
)
_EDF_IMAGE = re.compile(r"^[ \t]*image[ \t]*=[ \t]*[\"'](/\S+\.(?:sif|sqsh))[\"']")  # environment files of CSCS
_USE = re.compile(
    r"(?:^|[;&|]|\bsource|\bcd|\.)[ \t]*(?:source|cd|\.)?[ \t]+[\"']?((?:~|\$HOME|\$\{HOME\})/[^\s\"';&|]*)"
)
_HERE = re.compile(r"\bsbatch\b[^\n#]*<<-?[ \t]*[\"']?(\w+)")
_OF_SHELL = re.compile(r"#![^\n]*\b(?:ba|z|k|da|tc|c)?sh\b")
_SOURCED = re.compile(r"^[ \t]*(?:source|\.)[ \t]+[\"']?(/[\w./+@-]+)[\"']?[ \t]*(?:#.*)?$")
_ASSIGNED = re.compile(r"^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)=[\"']?(/[^\s\"'$`;&|]+|[\w.-]+)[\"']?[ \t]*(?:#.*)?$")
_USED = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


class LineRequest(NamedTuple):
    """What a line requests: partition, account, qos, chdir, gpus (with their type), node_gpus (of each node), time,
    output, image, mounts, source (a file that the job's shell reads), or use (a path in the home that a job's own
    commands use). line: from 1."""

    what: str
    name: str
    line: int


def find_in_script(text: str) -> Iterator[LineRequest]:
    """Yield what the directives of a job script request, unless they are below its first command, and its commands."""
    is_head, is_job = True, False
    assigned: Dict[str, str] = {}
    for number, line in enumerate(split_lines(text), 1):
        is_head = is_head and (not line.strip() or line.startswith("#"))
        directive = DIRECTIVE.match(line) if is_head else None
        is_job = is_job or directive is not None
        if directive:
            yield from _of_options(directive.group(1), number)
        elif not line.lstrip().startswith("#"):
            line = _USED.sub(lambda found: assigned.get(found.group(1) or found.group(2), found.group()), line)
            assigned.update(_ASSIGNED.findall(line))
            yield from _of_commands(line, number)
            for path in _SOURCED.findall(line) if is_job else ():
                yield LineRequest("source", path, number)
            for path in _IMAGE.findall(line):
                yield LineRequest("image", path, number)
            for path in _USE.findall(line) if is_job else ():
                yield LineRequest("use", path, number)


def find_submitted(text: str) -> Iterator[LineRequest]:
    """Yield what the here-documents of sbatch request: each is a job script."""
    lines = split_lines(text)
    for number, line in enumerate(lines):
        found = _HERE.search(line)
        if found and not line.lstrip().startswith("#"):
            rest = [one.strip() for one in lines[number + 1 :]]
            end = rest.index(found.group(1)) if found.group(1) in rest else len(rest)
            for one in find_in_script("".join(lines[number + 1 : number + 1 + end])):
                yield one._replace(line=one.line + number + 1)


def find_in_start_up_file(text: str) -> Iterator[LineRequest]:
    """Yield what the variables and aliases of a start-up file request."""
    for number, line in enumerate(split_lines(text), 1):
        for what, name in _VARIABLE.findall(line.partition("#")[0]):
            yield LineRequest(_WHAT.get(what.lower(), what.lower()), name, number)
        yield from _of_commands(line, number)


def find_in_settings(text: str) -> Iterator[LineRequest]:
    """Yield what a launcher in Python or a workflow's settings request, if they speak of Slurm at all, and images."""
    for number, line in enumerate(split_lines(text), 1):
        for path in _EDF_IMAGE.findall(line):
            yield LineRequest("image", path, number)
    if not _OF_SLURM.search(text):
        return
    for number, line in enumerate(split_lines(text), 1):
        if not line.lstrip().startswith("#"):
            yield from _of_commands(line, number)
            for pattern in (_SETTING, _QUOTED):
                for what, name in pattern.findall(line):
                    yield LineRequest(_WHAT.get(what, what), name, number)


def _of_commands(line: str, number: int) -> Iterator[LineRequest]:
    """Yield what srun, sbatch and salloc request in a line of a shell, by options before their program."""
    for words in _COMMAND.findall(line):
        yield from _of_options(" ".join(_before_program(words.split())), number)


def _before_program(words: List[str]) -> Iterator[str]:
    """Yield the options and their values: the first word that can be neither is the program."""
    may_be_value = False
    for word in words:
        if not word.startswith("-") and not may_be_value:
            return
        may_be_value = word.startswith("-") and "=" not in word
        yield word


def _of_options(options: str, number: int) -> Iterator[LineRequest]:
    for long, short, name in _OPTION.findall(options):
        what = long or _SHORT[short]
        what = _WHAT.get(what, what)
        if what in PATHS or not re.search("[%$]", name):
            yield LineRequest(what, name, number)


def find_refused(text: str) -> Iterator[Tuple[int, str]]:
    """Yield the lines for which Slurm refuses a job script, or that it ignores, and why.

    Directives are read down to the first command. A script that writes or submits others has theirs below it.
    """
    lines = split_lines(text)
    directives = [number for number, line in enumerate(lines, 1) if DIRECTIVE.match(line)]
    of_another = text.startswith("#!") and not _OF_SHELL.match(text)  # a launcher with a template in it
    if not directives or "<<" in text or of_another:
        return
    if not text.startswith("#!"):
        yield 1, "Slurm refuses a job script whose first line does not name its shell (#!/bin/bash)"
    first = next((number for number, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")), 0)
    for number in directives:
        if first and number > first:
            yield number, "this directive is below the first command (line %d), so Slurm ignores it" % first
            return
