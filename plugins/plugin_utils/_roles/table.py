# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one table of what an account can have: the capabilities, and the kinds of resources that they declare.

A capability is a role, and here a file of its own, with its name. A kind is a class of module_utils/_resources, in a
file with its name. What else there is to know of either is said in its files, and found by these names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from types import ModuleType

    from ...module_utils._core.values import Options
    from .._documents.declaration import Code, Declaration, ResourceEntry

Settings = Mapping[str, Any]


class Role(NamedTuple):
    """What must be known of a capability before its file is loaded.

    unless: settings of which one must say something, else nothing is declared and the file is not needed; with none of
    them it always is. asked_by: settings by which a person asks for its keys; where none of them says anything,
    what needs a key that is not in the keyring is left out. Where this is empty, every key is needed.
    """

    unless: tuple[str, ...] = ()
    asked_by: tuple[str, ...] = ()
    holds_keys: bool = False
    """Whether it keeps keys, and has a table KEYS of the kinds of files in which it does."""

    def is_off(self, settings: Settings) -> bool:
        """Return True if it declares nothing, not even a note. settings: without the role's name before them."""
        if not self.unless or settings.get("state") == "absent":  # what was there may have to be taken out
            return False
        return all(settings.get(name) in (None, "", "none", [], {}) for name in self.unless)


class KeyFileType(NamedTuple):
    """What is to know of a kind of file that holds a key; where it lies is among its options.

    service: whose key it is. by_containers: whether a container tool reads it, so that a registry can be asked with it
    from the account. in_jobs: whether its program is used where the work is done. copy: the end of the name of the copy
    that its program keeps beside it, and the capability with it.
    """

    service: str
    by_containers: bool = False
    in_jobs: bool = False
    copy: str = ""


ROLES = {  # in the order in which an account gets them
    "storage_links": Role(),
    "enroot_credentials": Role(holds_keys=True),
    "registry_auth": Role(unless=("runtime",), asked_by=("registries", "secret"), holds_keys=True),
    "tokens": Role(unless=("programs",), holds_keys=True),
    "container_caches": Role(),
    "tool_caches": Role(unless=("folder", "paths")),
    "container_images": Role(unless=("images",)),
    "conda": Role(),
    "python_envs": Role(unless=("environments",)),
    "launchers": Role(),
    "job_scripts": Role(unless=("templates", "own")),
    "path_scripts": Role(unless=("scripts",)),
    "shell_environment": Role(unless=("variables", "path")),
    "own_files": Role(unless=("files",)),
}
KINDS = {  # of resources, each with the module that says what is asked of it; "" where its own class does
    "conda_install": "_options.conda_options",
    "container_image": "_options.image_options",
    "directory": "_options.folder_options",
    "emptied_cache": "_options.image_options",
    "enroot_credential": "_options.key_options",
    "key_leftovers": "",
    "netrc_entry": "_options.key_options",
    "ngc_config": "_options.key_options",
    "own_file": "_options.file_options",
    "path_script": "_options.file_options",
    "python_env": "_options.env_options",
    "registry_auth": "_options.key_options",
    "rotated_key": "",
    "scheduler": "_options.file_options",
    "shell_environment": "_options.shell_options",
    "storage_link": "_options.folder_options",
    "token_file": "_options.key_options",
    "slurm_test_job": "",
}


def class_name(kind: str) -> str:
    """Return the name of a kind's class: StorageLink of storage_link."""
    return "".join(word.capitalize() for word in kind.split("_"))


ELSEWHERE = {
    "emptied_cache": "_images",
    "scheduler": "_slurm",
    "slurm_test_job": "_slurm",
}  # kinds that keep nothing
PLACES = {kind: f"{ELSEWHERE.get(kind, '_resources')}.{kind}.{class_name(kind)}" for kind in KINDS}
"""Where the class of each kind is, below module_utils."""
USUAL = (
    *("directory", "enroot_credential", "netrc_entry", "ngc_config", "registry_auth", "shell_environment"),
    *("storage_link", "token_file", "path_script"),
)
"""Those that most plans hold."""

MODULE_UTILS = __name__.replace("plugin_utils._roles.table", "module_utils")
SLURM_ACCOUNT = "@slurm_account@"  # of jobs with GPUs
SLURM_CPU_ACCOUNT = "@slurm_cpu_account@"  # of jobs without a GPU


def find_options_class(kind: str) -> type[Options] | None:
    """What is asked of a kind, without loading how an account keeps it; None where its own class alone says it."""
    if not KINDS.get(kind):
        return None
    found: type[Options] = getattr(import_module(f"{MODULE_UTILS}.{KINDS[kind]}"), f"{class_name(kind)}Options")
    return found


def usual_path(kind: str) -> str:
    """Return where a file of this kind lies when nobody says. The kind is one of those with a path."""
    asked = find_options_class(kind)
    return str(asked.OPTIONS["path"]["default"]) if asked else ""


@cache
def key_files() -> dict[str, KeyFileType]:
    """All kinds of files that hold a key."""
    return {kind: key for name, one in ROLES.items() if one.holds_keys for kind, key in load_role(name).KEYS.items()}


def declare_function(name: str) -> Callable[[Settings], Declaration]:
    """What says which resources a capability declares: it takes the settings without the role's name before them."""
    found: Callable[[Settings], Declaration] = load_role(name).declare
    return found


def load_role(name: str) -> ModuleType:
    """The file of a capability. It is loaded where an account has the capability: loading takes its time."""
    return import_module(f"{__name__.rpartition('.')[0]}.{name}")


def prepare_roles(accounts: Iterable[Settings]) -> None:
    """Load what the accounts will need, once for all of them: call it before the forks, one for each account.

    accounts: of each, the variables that are known by then. What others turn on, or a role's default, is loaded later.
    """
    known = list(accounts)
    for name, capability in ROLES.items():
        start = f"{name}_"
        own = [{key.removeprefix(start): one[key] for key in one if key.startswith(start)} for one in known]
        wanting = [settings for settings in own if not capability.is_off(settings)]
        if wanting:
            more: Callable[[Sequence[Settings]], None] | None = getattr(load_role(name), "prepare", None)
            if more:
                more(wanting)


def resource(kind: str, **options: Any) -> ResourceEntry:
    """One thing that is declared; an option that is None is not said."""
    return {"kind": kind, "options": {name: value for name, value in options.items() if value is not None}}


def scheduler_question(settings: Settings) -> ResourceEntry:
    """Return the resource that asks for the Slurm accounts of jobs. settings: with the site's (site.py).

    It comes before the files whose texts name them as SLURM_ACCOUNT or SLURM_CPU_ACCOUNT, with find_placeholders() as
    their option found.
    """
    return resource(
        "scheduler",
        account=settings["account"],
        likely=settings["likely_account"],
        required="yes" if settings["account_required"] else "no",
        suffixes=settings.get("limits", {}).get("account_suffixes"),
    )


def find_placeholders(content: str) -> list[str] | None:
    """Return the names of the Slurm accounts in the content of a file, or None if it has none."""
    return [name.strip("@") for name in (SLURM_ACCOUNT, SLURM_CPU_ACCOUNT) if name in content] or None


def declare_nothing(code: Code, text: str) -> Declaration:
    """No resource, and why."""
    return {"resources": [], "notes": [{"code": code, "text": text}]}
