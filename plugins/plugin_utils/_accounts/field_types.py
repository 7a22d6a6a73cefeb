# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The type of a row in the table of fields (fields.py), and the forms of values, as JSON Schema."""

from __future__ import annotations

from typing import Any, NamedTuple

Form = dict[str, Any]  # JSON Schema of one value


def one_of(*words: str | int) -> Form:
    """Return the form of a value that must be one of these words."""
    return {"enum": list(words)}


def list_of(item: Form) -> Form:
    """Return the form of a list with at least one item."""
    return {"type": "array", "items": item, "minItems": 1}


def matching(pattern: str) -> Form:
    """Return the form of text that matches a regular expression."""
    return {"type": "string", "minLength": 1, "pattern": pattern}


def mapping(key: Form, value: Form) -> Form:
    """Return the form of a mapping with free keys, such as names of partitions. key: the form with their pattern."""
    return {
        "type": "object",
        "propertyNames": {"pattern": key["pattern"]},
        "additionalProperties": value,
        "minProperties": 1,
    }


SECTION: Form = {"type": "object"}  # the facts below it are its keys
LIST: Form = {"type": "array", "minItems": 1}  # its items are sections
TEXT: Form = {"$ref": "#/$defs/text"}
PATH: Form = {"$ref": "#/$defs/path"}
OPTIONS: Form = {"$ref": "#/$defs/options"}
BOOL: Form = {"type": "boolean"}
COUNT: Form = {"type": "integer", "minimum": 0}
POSITIVE: Form = {"type": "integer", "minimum": 1}
HOURS: Form = {"type": "number", "minimum": 0.25}
PORT: Form = {"type": "integer", "minimum": 1, "maximum": 65535}
ARCHITECTURE = one_of("x86_64", "aarch64", "ppc64le")
SHARED_BY = one_of("user", "group", "project", "site")
RUNTIME = one_of("enroot", "apptainer", "singularity", "podman", "podman-hpc", "shifter", "docker", "none")
IN_JOBS = one_of("rw", "ro", "absent", "ticket")
METHOD = one_of(
    *("key", "key_otp", "key_then_otp", "password_otp", "session", "certificate", "agent_certificate"),
    *("kerberos", "password", "no_automation"),
)
ENVIRONMENT: Form = {
    "type": "object",
    "propertyNames": {"pattern": r"^[A-Z_]([A-Z0-9_]|\{project\})*$"},
    "additionalProperties": PATH,
}

NAME = matching(r"^[a-z][a-z0-9_]*$")
FIELD = matching(r"^[a-z_]+(\.[a-z0-9_-]+)*$")
AREA = matching(r"^[a-z][a-z0-9_-]*$")
DAY = matching(r"^20[0-9]{2}-[01][0-9]-[0-3][0-9]$")
DATE = matching(r"^20[0-9]{2}(-[01][0-9](-[0-3][0-9])?)?$")
HOST = matching(r"^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$")
HOSTS = matching(r"^[A-Za-z0-9.:*_-]+(,[A-Za-z0-9.:*_-]+)*$")
USER = matching(r"^[A-Za-z0-9_][A-Za-z0-9_.@-]*$")
URL = matching(r"^https?://[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?(/[!-~]*)?$")
HTTPS = matching(r"^https://[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?(/[!-~]*)?$")
PROXY = matching(r"^https?://[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?/?$")
FINGERPRINT = matching(r"^SHA256:[A-Za-z0-9+/]{43}$")
REALM = matching(r"^[A-Z0-9][A-Z0-9.-]*$")
PROGRAM = matching(r"^/[A-Za-z0-9_./+-]*$")
VARIABLE = matching(r"^\$[A-Z_]([A-Z0-9_]|\{project\})*$")
MODULE = matching(r"^(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9_./+-]*$")
BELOW = matching(r"^([A-Za-z0-9_-]|\{user\}|\{project\})([A-Za-z0-9_.+-]|/(?!\.)|\{user\}|\{project\})*$")
SCRIPT = matching(r"^[A-Za-z0-9_][A-Za-z0-9_.-]*\.sh$")
MOUNT = matching(r"^((/|\$HOME)[A-Za-z0-9_.@%+=/-]*):\1(:ro|:rw)?$")
PARTITION = matching(r"^[A-Za-z0-9_][A-Za-z0-9_.+-]*$")
MEMORY = matching(r"^[1-9][0-9]*[KMGT]$")
SUFFIX: Form = {"type": "string", "pattern": r"^[A-Za-z0-9_-]*$"}
NCCL = mapping(  # neither a variable for a path nor a path as value, because NCCL loads libraries from paths
    matching(r"^(NCCL|RCCL|FI|MPICH|UCX)_(?!.*(PATH|FILE|DIR))[A-Z0-9_]+$"),
    matching(r"^[A-Za-z0-9^=][A-Za-z0-9_.,:^= -]*$"),
)
COMMAND = matching(r"^[A-Za-z0-9][A-Za-z0-9_./@%+=:, -]*$")
SLURM_COMMAND = matching(r"^[A-Za-z0-9][A-Za-z0-9_./@%+=:,$ -]*$")
QUOTA_COMMAND = matching(
    r"^(quota|myquota|showquota|getquota|lquota|disk-quota|sh_quota|hpcquota|check_quota|diskusage_report|dssusrinfo"
    r"|lumi-workspaces|csc-workspaces|df-ulhpc|uquota|rquota|gladequota|storage_quota|lustrequota|df|lfs quota"
    r"|jutil (user|project) (dataquota|show))( [A-Za-z0-9_./$=,-]+)*$"
)
LINK = matching(  # not a folder of the home from which programs read settings or code
    r"^(?!(s?bin|lib(32|64|x32|exec)?|include|share|etc|opt|usr|local|var|man|R|perl5?|python|ruby|gems|go|julia|cargo"
    r"|rust|node_modules|nltk_data|texmf|jupyter|spack|[Ee]asy[Bb]uild|modulefiles|privatemodules"
    r"|((mini|ana|micro)?(conda|mamba)|miniforge|mambaforge)[0-9]*|pyenv|v?envs?|jobs|images|intel|[Mm]atlab|MATLAB"
    r"|Documents)$)[A-Za-z0-9_][A-Za-z0-9_.-]*$"
)

# Options of sbatch that request resources. Options that start programs or load files are not allowed.
_WORDS = (
    "account|partition|qos|reservation|constraint|gres|gpus|gpus-per-node|gpus-per-task|gpus-per-socket|cpus-per-gpu"
    "|mem-per-gpu|nodes|ntasks|ntasks-per-node|ntasks-per-gpu|ntasks-per-socket|cpus-per-task|mem|mem-per-cpu|tmp|time"
    "|licenses|hint|exclusive|clusters"
)
_OPTION = rf"((-[ACGLNcnpqt] |--({_WORDS})=)[A-Za-z0-9_][A-Za-z0-9_.:,+-]*|--exclusive)"
DEFINITIONS: dict[str, Form] = {
    "text": {
        "description": "Text on one line, without control or invisible characters.",
        **matching(
            r"^[^\u0000-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2000-\u200f"
            r"\u2028-\u202f\u205f-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
            "\U000e0000-\U000e0fff]*$"  # literal characters, because JSON Schema has no escape for them
        ),
    },
    "path": {
        "description": "Path without .. that is absolute, or starts with ~/ or an environment variable."
        " {user}, {user[0]} (its first letter) and {project} are replaced.",
        "type": "string",
        "pattern": r"^(?!.*/\.\.(/|$))(/|~/|\$[A-Za-z_])([A-Za-z0-9_./~$@%+=:, -]|\{user(\[0\])?\}|\{project\})*$",
    },
    "options": {
        "description": "Options of sbatch that request resources, in the long form with = (--partition=gpu --gpus=1)"
        " or in the short form (-G 1).",
        **matching(rf"^{_OPTION}( {_OPTION})*$"),
    },
}

# Readers of a fact that needs no source.
ABOUT = "about"  # the fact describes the profile, not the cluster
PEOPLE = "people"  # the cheat sheet shows the fact, and no program decides by it
FOR_NO_PROGRAM = ("", ABOUT, PEOPLE)


class Field(NamedTuple):
    """One field of a profile: a fact, or a section of facts.

    sentence: its description. reader: the package that reads the fact, or ABOUT or PEOPLE; empty for a section.
    chosen: hpc-onboard chose the value, so it needs no source. label: the first column of its row in the cheat sheet;
    empty if _terminal/cheatsheet.py composes the row, or there is none. more: further keywords of JSON Schema.
    """

    name: str
    form: Form
    sentence: str
    reader: str = ""
    example: Any = None
    required: bool = False
    chosen: bool = False
    label: str = ""
    more: Form = {}

    @property
    def key(self) -> str:
        """Return the last part of the name, such as days of storage[].purge.days."""
        return self.name.rpartition(".")[2].removesuffix("[]")


NOTE = "What users should know, in one sentence."
BYTES = "Space quota in bytes (decimal: 1 GB is 1000000000)."
FILES = "Quota for the number of files and folders."
QUOTA_OWNER = (
    "Owner of the quota: user, group, project, or site (one user on all systems of the site). Omit this"
    " field if the site does not say."
)
JOB_ACCESS = "Access from compute nodes: rw (read and write), ro (read-only), absent, or ticket (with Kerberos only)."
