# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The search for Slurm requests in job scripts, start-up files, launchers and workflow settings.

Options of sbatch: https://slurm.schedmd.com/sbatch.html. Names in settings: submitit (slurm_partition), the Slurm
executors of Snakemake (slurm_partition, slurm_account) and Nextflow (queue, clusterOptions).
"""

import re
from typing import Dict, Generator, Iterator, List, Mapping, Match, NamedTuple, Tuple

from .._formats.lines import split_lines
from .directives import DIRECTIVE

# a command of Slurm, with its options as the group. usrun.sh: the launcher of hpc-onboard, which passes options to srun
_COMMAND = re.compile(r"(?:^|[\s;&|(\"'=/@])(?:srun|sbatch|salloc|usrun\.sh)[ \t]+((?:-[^|;&]*)?)")
_PRINTED = re.compile(r"^[ \t]*(?:echo|printf)\b[^|;&]*")  # text that is printed, up to the next command
_COMMAND_WORD = re.compile(r"\b(?:srun|sbatch|salloc)\b")
_SHORT = {"p": "partition", "A": "account", "q": "qos", "D": "chdir"}
_SHORT.update({"G": "gpus", "t": "time", "o": "output", "e": "error", "i": "input", "M": "clusters"})
_LONG = "partition|account|qos|chdir|gres|gpus|gpus-per-node|gpus-per-task|time|output|error|input|container-image"
_LONG += "|container-mounts|clusters"
# --LONG=VALUE, --LONG VALUE, -S VALUE or -SVALUE; groups: LONG, S and VALUE
_OPTION = re.compile(r"(?<!\S)(?:--(%s)(?:=|[ \t]+)|-([pAqDGtoeiM])[ \t]*)[\"']?([^\s\"'#]+)" % _LONG)
_VARIABLE = re.compile(  # SBATCH_NAME=VALUE or "SBATCH_NAME VALUE"; groups: NAME and VALUE
    r"\b(?:SBATCH|SALLOC|SLURM)_(PARTITION|ACCOUNT|QOS|CLUSTERS|TIMELIMIT|GRES|GPUS(?:_PER_NODE|_PER_TASK)?|OUTPUT|ERROR)"
    r"(?:=|[ \t]+)[\"']?([\w.,:+%/-]+)"
)
_KINDS = {  # option, variable or setting -> kind of the request (see LineRequest), if the kind has another name
    "timelimit": "time",
    "gpus-per-node": "node_gpus",
    "gpus-per-task": "gpus",
    "gres": "node_gpus",
    "gpus_per_node": "node_gpus",
    "gpus_per_task": "gpus",
    "error": "output",
    "input": "source",
    "walltime": "time",
    "runtime": "time",
}
_KINDS.update({"container-image": "image", "container-mounts": "mounts", "queue": "partition"})
PATHS = ("output", "image", "chdir", "mounts", "source")  # kinds whose name is a path; its variables are resolved later
_SLURM_WORDS = re.compile(r"slurm|sbatch|srun|submitit", re.IGNORECASE)
_NAME_OF_SETTING = r"(?:^|[\s{(,:\"']|\b(?:process|executor|slurm|sbatch)\.)(?:slurm[_-])?"  # what precedes the name
_SETTING = re.compile(  # NAME: VALUE or NAME = VALUE, in a settings file; not "NAME: null"
    _NAME_OF_SETTING + r"(partition|account|qos|queue)[\"']?[ \t]*[:=][ \t]*[\"']?"
    r"(?!(?i:null|none)\b)([A-Za-z][\w.,-]*)(?![\w(\[])"
)
_SETTING_IN_CODE = re.compile(  # NAME="VALUE" and similar, in a program: the value is a literal
    r"%s(partition|account|qos|queue)(?:[\"']?[ \t]*[:=][ \t]*[\"']|[ \t]+[\"']|=)"
    r"([A-Za-z][\w.,-]*)(?=[\"'])" % _NAME_OF_SETTING
)
_DURATION = re.compile(r"(?:^|[\s{.])time[ \t]*=?[ \t]*[\"']?(\d+)[ .]?([hd])\b")  # of Nextflow
_SIZE = re.compile(  # a time with a colon or days, and GPUs
    _NAME_OF_SETTING + r"(time|walltime|runtime|gres|gpus_per_node)[\"']?[ \t]*[:=][ \t]*"
    r"[\"']?(\d+(?:-\d+)?(?::\d+)+|\d+-\d+|gpu:[\w:]+|(?<=node=)\d+|\d{4,}(?!\w))"
)
_SUBMITS = re.compile(r"slurm|sbatch|srun|salloc|clusterOptions|job_extra|native", re.IGNORECASE)  # in a line
_ARGUMENTS = re.compile(r"[\"'](-[^\"']*)[\"']")  # options of sbatch in a string, such as clusterOptions = '-A p1'
_DEFAULT = re.compile(r"[ \t]*(?:[\w*.-]+:){0,2}([\w-]+)[ \t]*=[ \t]*([^\s#]+)")  # [COMMAND:][CLUSTER:]OPTION=VALUE
# in a list of arguments: "--OPTION=VALUE" or "--OPTION", "VALUE"; and "-S", "VALUE"
_QUOTED = re.compile(r"[\"'\s\[(]--(partition|account|qos)(?:=|[\"'],?[ \t]*[\"'])([A-Za-z][\w.,-]*)")
_SHORT_QUOTED = re.compile(r"[\"']-([pAq])[\"'],[ \t]*[\"']([A-Za-z][\w.,-]*)[\"']")
_HOME = r"(?:~|\$HOME|\$\{HOME\})"
_IMAGE = re.compile(  # the image file in a command of a container tool
    r"(?:apptainer|singularity|enroot)[ \t]+(?:exec|run|shell|start|create|instance[ \t]+start)\b[^\n]*?"
    r"[ \t][\"']?(%s?/[^\s\"']+\.(?:sif|sqsh|simg|squashfs|sqfs|img))\b" % _HOME
)
_BIND = re.compile(  # the paths that a container tool mounts, in an option or a variable
    r"(?:\b(?:apptainer|singularity)\b[^\n]*?[ \t](?:-B|--bind)[ \t=]*|\b(?:APPTAINER|SINGULARITY)_BIND(?:PATH)?=)"
    r"[\"']?(%s?/[^\s\"']+)" % _HOME
)
# environment definition files (EDF) of CSCS: how to recognize one, and the mounts and the image in its lines
_EDF = re.compile(r"^[ \t]*(?:image|base_environment)[ \t]*=", re.MULTILINE)
_EDF_MOUNT = re.compile(r"[\"'](/[^\"':]+:/[^\"']*)[\"']")
_EDF_IMAGE = re.compile(r"^[ \t]*image[ \t]*=[ \t]*[\"'](/\S+\.(?:sif|sqsh))[\"']")
_USE = re.compile(  # a path in the home directory, or another absolute path, anywhere in a command except PATH=
    r"(?:^|[\s;&|<>]|(?<!PATH)=)[\"']?((?:%s(?![^\s/\"';&|)])|/)[^\s\"';&|:)]*)" % _HOME
)
_NO_USE = re.compile(r"[ \t]*(?:echo|printf)\b|.*\[[ \t]+-[defrsx][ \t]")  # prints a path, or tests whether it exists
_HERE_DOCUMENT = re.compile(r"\bsbatch\b[^\n#]*<<-?[ \t]*[\"']?(\w+)")  # sbatch <<END_WORD; group: END_WORD
_SHELL_SCRIPT = re.compile(r"#![^\n]*\b(?:ba|z|k|da|tc|c)?sh\b")
_PATH = r"[\"']?(%s?/[\w./+@-]+)[\"']?" % _HOME
_SOURCES = tuple(  # commands that need a file or a folder; %s: its path
    re.compile(pattern % _PATH)
    for pattern in (
        r"^[ \t]*(?:source|\.)[ \t]+%s[ \t]*(?:[;&|#].*)?$",
        r"\b(?:conda|mamba|micromamba)[ \t]+activate[ \t]+%s[ \t]*(?:[;&#].*)?$",
        r"\b(?:conda|mamba|micromamba)[ \t]+run\b[^\n|;]*?[ \t](?:-p|--prefix)[ \t=]+%s",
        r"^[ \t]*(?:cd|pushd)[ \t]+%s[ \t]*(?:[;&|#].*)?$",
        r"(?<!<)<[ \t]*%s(?=[ \t\n;])",
        r"\b(?:cp|rsync|cat|head|unzip|tar[ \t]+-?\w*x\w*)[ \t]+(?:-\S+[ \t]+)*%s(?=[ \t\n;])",
        r"^[ \t]*(?:(?:srun|mpirun|mpiexec|time|exec)[ \t]+(?:-[^|;&\n]*?[ \t])?)?%s(?=[ \t\n])",
        r"\b(?:python[\d.]*|torchrun|deepspeed|accelerate|bash|sh|Rscript|julia)[ \t](?:[^|;&<>\n]*?[ \t])??"
        r"%s(?=[ \t\n;])",
    )
)
_CREATES = re.compile(r"\b(?:mkdir|install|clone|rsync|unzip|tar|cp|virtualenv)[ \t]|-m venv\b|\bcreate\b")
_GOES_HOME = re.compile(r"^[ \t]*cd[ \t]*(?:[;&#].*)?$")  # cd without a folder
_OPTIONS_IN_VARIABLE = re.compile(r"^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)=[\"'](-[^\"'$`]*)[\"']")  # NAME="-OPTIONS"
_ASSIGNMENT = re.compile(  # NAME=VALUE in the syntax of any shell; VALUE: a path or a word
    r"^[ \t]*(?:export[ \t]+|set(?:[ \t]+-\w+)*[ \t]+|setenv[ \t]+)?([A-Za-z_]\w*)(?:[ \t]*=[ \t]*|[ \t]+)[\"']?"
    r"(%s?/[^\s\"'$`;&|]+|[\w.-]+)[\"']?[ \t]*(?:#.*)?$" % _HOME
)
_VARIABLE_USE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


class LineRequest(NamedTuple):
    """A request in a line of a file.

    Kinds: partition, account, qos, clusters, chdir, gpus (with their type), node_gpus (per node), time, output, image,
    mounts, source (a file that the job's shell reads), and use (a path in the home directory in the job's commands).
    """

    what: str  # the kind of request
    name: str  # the requested name, number, time or path
    line: int  # the number of the line, from 1


def find_in_script(text: str) -> Iterator[LineRequest]:
    """Yield the requests of a job script's commands, and of its directives above the first command."""
    is_head = True  # the line is above the first command
    is_job = False  # the line is below a directive
    is_continued = False  # the line continues the options of the line above
    variables: Dict[str, str] = {}  # assigned in the lines above
    for number, line in enumerate(split_lines(text), 1):
        is_head = is_head and line.lstrip()[:1] in ("", "#")
        directive = DIRECTIVE.match(line) if is_head else None
        is_job = is_job or directive is not None
        if directive:
            yield from _read_options(directive.group(1), number)
        elif not line.lstrip().startswith("#"):
            as_written, line = line, _replace_variables(line, variables)
            variables.update(_ASSIGNMENT.findall(line))
            variables.update(_OPTIONS_IN_VARIABLE.findall(line))
            yield from _read_variables(line, number)
            is_continued = yield from _read_commands(line, number, is_continued)
            if is_job:
                yield from _read_sources(line, number, as_written, text)
            for what, pattern in (("image", _IMAGE), ("mounts", _BIND)):
                for path in pattern.findall(line):
                    yield LineRequest(what, path, number)
            if is_job:
                yield from _read_uses(line, number)


def _read_sources(line: str, number: int, as_written: str, text: str) -> Iterator[LineRequest]:
    """Yield the files and folders that a job's command needs, except those that the script may create.

    line: with values in place of variables. as_written: the line with its variables. text: of the whole script.
    """
    for pattern in _SOURCES:
        for path in pattern.findall(line):
            # A path that the script mentions again, or contains in a variable, may be created by the script.
            may_be_created = text.count(path) > 1 if path in as_written else _CREATES.search(text)
            if not may_be_created:
                yield LineRequest("source", path, number)


def _read_uses(line: str, number: int) -> Iterator[LineRequest]:
    """Yield the paths that a job's command uses, "~" for a command that changes to the home directory."""
    if _GOES_HOME.match(line):
        yield LineRequest("use", "~", number)
    if not _NO_USE.match(line):
        for path in _USE.findall(line):
            yield LineRequest("use", path, number)


def _replace_variables(line: str, variables: Mapping[str, str]) -> str:
    """Return the line with the values of these variables; other variables stay as $NAME."""

    def replace(use: Match[str]) -> str:
        name = use.group(1) or use.group(2)  # ${NAME} or $NAME
        return variables.get(name, use.group())

    return _VARIABLE_USE.sub(replace, line)


def find_submitted(text: str) -> Iterator[LineRequest]:
    """Yield the requests of the job scripts that are here-documents of sbatch."""
    lines = split_lines(text)
    for above, line in enumerate(lines):  # above: the number of lines above this line
        opening = _HERE_DOCUMENT.search(line)
        if opening and not line.lstrip().startswith("#"):
            below = lines[above + 1 :]
            stripped, end_word = [line_below.strip() for line_below in below], opening.group(1)
            end = stripped.index(end_word) if end_word in stripped else len(stripped)
            for request in find_in_script("".join(below[:end])):
                yield request._replace(line=request.line + above + 1)


def find_in_start_up_file(text: str) -> Iterator[LineRequest]:
    """Yield the requests of the variables and aliases in a start-up file."""
    is_continued = False
    for number, line in enumerate(split_lines(text), 1):
        yield from _read_variables(line, number)
        is_continued = yield from _read_commands(line, number, is_continued)


def find_in_defaults(text: str) -> Iterator[LineRequest]:
    """Yield the requests of ~/.slurm/defaults: the default options of sbatch, srun and salloc."""
    for number, line in enumerate(split_lines(text), 1):
        default = _DEFAULT.match(line)
        if default:
            yield from _read_options("--%s=%s" % default.groups(), number)


def find_in_settings(text: str, is_code: bool) -> Iterator[LineRequest]:
    """Yield the requests of a Python launcher or of workflow settings that mention Slurm, and images in any text.

    is_code: the text is a program, in which only a value in quotes is literal.
    """
    patterns = [("image", _EDF_IMAGE)] + ([("mounts", _EDF_MOUNT)] if _EDF.search(text) else [])
    for number, line in enumerate(split_lines(text), 1):
        for what, pattern in patterns:
            for path in pattern.findall(line):
                yield LineRequest(what, path, number)
    if not _SLURM_WORDS.search(text):  # words such as "account" have another meaning without Slurm
        return
    for number, line in enumerate(split_lines(text), 1):
        if not line.lstrip().startswith("#"):
            yield from _read_commands(line, number)
            for arguments in _ARGUMENTS.findall(line) if _SUBMITS.search(line) else ():
                yield from _read_options(arguments, number)
            short_options = _SHORT_QUOTED.findall(line) if _COMMAND_WORD.search(line) else ()
            settings = [(_SHORT[letter], value) for letter, value in short_options]
            settings += (_SETTING_IN_CODE if is_code else _SETTING).findall(line)
            # "2h" and "1d" in the syntax of Slurm: 2:00:00 and 1-0
            settings += [("time", count + {"h": ":00:00", "d": "-0"}[unit]) for count, unit in _DURATION.findall(line)]
            for what, value in [*settings, *_SIZE.findall(line), *_QUOTED.findall(line)]:
                yield LineRequest(_KINDS.get(what, what), value, number)


def _read_variables(line: str, number: int) -> Iterator[LineRequest]:
    """Yield the requests of Slurm's variables in a shell line."""
    for what, name in _VARIABLE.findall(line.partition("#")[0]):  # without a comment at the end
        yield LineRequest(_KINDS.get(what.lower(), what.lower()), name, number)


def _read_commands(line: str, number: int, is_continued: bool = False) -> Generator[LineRequest, None, bool]:
    """Yield the requests of srun, sbatch and salloc in a shell line, from the options before the program to run.

    number: of the line. is_continued: the line continues the options of the line above. Return whether the next line
    continues this line.
    """
    if line.lstrip().startswith("#"):
        return False
    texts = [line.strip()] if is_continued else _COMMAND.findall(_PRINTED.sub("", line))
    words: List[str] = []
    for arguments in texts:
        words = arguments.split()
        yield from _read_options(" ".join(_options_before_program(words)), number)
    ends_with_backslash = words[-1:] == ["\\"]
    has_only_options = list(_options_before_program(words[:-1])) == words[:-1]
    return ends_with_backslash and has_only_options


def _options_before_program(arguments: List[str]) -> Iterator[str]:
    """Yield the arguments before the program to run: options, and one value after each option without '='."""
    may_be_value = False  # True after an option without '='
    for argument in arguments:
        if not argument.startswith("-") and not may_be_value:
            return  # this argument is the program
        may_be_value = argument.startswith("-") and "=" not in argument
        yield argument


def _read_options(options: str, number: int) -> Iterator[LineRequest]:
    """Yield the requests in options of sbatch. Names with variables or placeholders are skipped, except paths.

    number: of the line.
    """
    for long, short, name in _OPTION.findall(options):
        option = long or _SHORT[short]
        what = _KINDS.get(option, option)
        if what in PATHS or not re.search("[%${<]", name):
            yield LineRequest(what, name, number)


def find_refused(text: str) -> Iterator[Tuple[int, str]]:
    """Yield (line, reason) for lines that make Slurm reject a job script, and the first directive that Slurm ignores.

    Slurm reads only the directives above the first command. A script that writes or submits other scripts is not
    checked, because its directives may be those of the other scripts.
    """
    lines = split_lines(text)
    directives = [number for number, line in enumerate(lines, 1) if DIRECTIVE.match(line)]
    is_program = text.startswith("#!") and not _SHELL_SCRIPT.match(text)  # which may contain a template of a job script
    has_here_document = "<<" in text
    if not directives or has_here_document or is_program:
        return
    if not text.startswith("#!"):
        yield (
            1,
            "Slurm rejects job scripts whose first line does not name a shell. Add a first line such as #!/bin/bash",
        )
    commands = [number for number, line in enumerate(lines, 1) if line.lstrip()[:1] not in ("", "#")]
    if commands and directives[-1] > commands[0]:
        ignored = next(number for number in directives if number > commands[0])
        yield ignored, "Slurm ignores this directive, because it is below the first command (line %d)" % commands[0]
