# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of all roles and of all resource types.

A role has a file of its name in this package. A resource type ("kind") has a file of its name, usually in
module_utils/_resources, with its class. Everything else about a role or type is in these files.
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
    """The facts about a role that are needed before its file is loaded.

    turned_on_by: settings that turn the role on. If all of them are empty, the role declares nothing and is not loaded.
    Without such settings, the role is always on.
    asked_by: settings with which the user asks for keys. If none is set, a key that is not in the keyring is skipped.
    Without such settings, every key is required.
    holds_keys: True if the role stores keys. Its file then has a table KEYS, resource type -> KeyFileType.
    """

    turned_on_by: tuple[str, ...] = ()
    asked_by: tuple[str, ...] = ()
    holds_keys: bool = False

    def is_off(self, settings: Settings) -> bool:
        """Return True if the role declares no resource and no note. settings: without the role's prefix."""
        is_absent = settings.get("state") == "absent"  # earlier resources may have to be removed
        if not self.turned_on_by or is_absent:
            return False
        return all(settings.get(name) in (None, "", "none", [], {}) for name in self.turned_on_by)


class KeyFileType(NamedTuple):
    """A type of file that contains a key.

    service: the issuer of the key. by_containers: True if a container tool reads the file, so that the key can be
    tested with the registry. in_jobs: True if a program in jobs reads the file. copy: the suffix of the backup copy
    that the program keeps next to the file; the role updates this copy, too.
    """

    service: str
    by_containers: bool = False
    in_jobs: bool = False
    copy: str = ""


ROLES = {  # in the order in which their resources are created
    "storage_links": Role(),
    "enroot_credentials": Role(holds_keys=True),
    "registry_auth": Role(turned_on_by=("runtime",), asked_by=("registries", "secret"), holds_keys=True),
    "tokens": Role(turned_on_by=("programs",), holds_keys=True),
    "container_caches": Role(),
    "tool_caches": Role(turned_on_by=("folder", "paths")),
    "container_images": Role(turned_on_by=("images",)),
    "conda": Role(),
    "python_envs": Role(turned_on_by=("environments",)),
    "launchers": Role(),
    "job_scripts": Role(turned_on_by=("templates", "own")),
    "path_scripts": Role(turned_on_by=("scripts",)),
    "shell_environment": Role(turned_on_by=("variables", "path")),
    "own_files": Role(turned_on_by=("files",)),
}
KINDS = {  # resource types, each with the module that defines its options; "" if its own class defines them
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
    """Return the class name of a resource type: StorageLink for storage_link."""
    return "".join(word.capitalize() for word in kind.split("_"))


# types that keep nothing on the account, by the package of their class; all others are in _resources
ELSEWHERE = {"emptied_cache": "_images", "scheduler": "_slurm", "slurm_test_job": "_slurm"}
PLACES = {kind: f"{ELSEWHERE.get(kind, '_resources')}.{kind}.{class_name(kind)}" for kind in KINDS}
"""The path of each type's class in module_utils, such as _resources.directory.Directory."""
COMMON_KINDS = (
    *("directory", "enroot_credential", "netrc_entry", "ngc_config", "registry_auth", "shell_environment"),
    *("storage_link", "token_file", "path_script"),
)
"""Resource types that most plans contain."""

MODULE_UTILS = __name__.replace("plugin_utils._roles.table", "module_utils")
SET_PATH = "Set the path under `storage` in the accounts file."  # if a profile names no path and no way to find it
SLURM_ACCOUNT = "@slurm_account@"  # placeholder for the Slurm account of jobs with GPUs
SLURM_CPU_ACCOUNT = "@slurm_cpu_account@"  # placeholder for the Slurm account of jobs without GPUs


def find_options_class(kind: str) -> type[Options] | None:
    """Return the class with the options of a resource type; None if only the type's own class defines them.

    The type's own class is not imported here, because that takes time and only the engine on an account needs it.
    """
    if not KINDS.get(kind):
        return None
    options_class: type[Options] = getattr(import_module(f"{MODULE_UTILS}.{KINDS[kind]}"), f"{class_name(kind)}Options")
    return options_class


def default_path(kind: str) -> str:
    """Return the default path of a file of this type. kind: a type with options of its own and the option path."""
    options_class = find_options_class(kind)
    return str(options_class.OPTIONS["path"]["default"]) if options_class else ""


@cache
def key_files() -> dict[str, KeyFileType]:
    """Return the types of files that contain a key, by resource type."""
    roles = [load_role(name) for name, role in ROLES.items() if role.holds_keys]
    return {kind: key_file for role in roles for kind, key_file in role.KEYS.items()}


def load_role(name: str) -> ModuleType:
    """Return the module of a role, imported when an account first needs it, because imports take time.

    Its function declare() takes the role's settings without their prefix and returns a Declaration.
    """
    return import_module(f"{__name__.rpartition('.')[0]}.{name}")


def prepare_roles(accounts: Iterable[Settings]) -> None:
    """Load the roles that the accounts need, once for all accounts. Call this before Ansible forks per account.

    accounts: the variables of each account that are known by then. A role that is turned on later is loaded later.
    """
    all_variables = list(accounts)
    for name, role in ROLES.items():
        prefix = f"{name}_"
        all_settings = [
            {key.removeprefix(prefix): variables[key] for key in variables if key.startswith(prefix)}
            for variables in all_variables
        ]
        settings_in_use = [settings for settings in all_settings if not role.is_off(settings)]
        if settings_in_use:
            prepare: Callable[[Sequence[Settings]], None] | None = getattr(load_role(name), "prepare", None)
            if prepare:
                prepare(settings_in_use)


def resource(kind: str, **options: Any) -> ResourceEntry:
    """Return the entry that declares a resource, without options that are None."""
    return {"kind": kind, "options": {name: value for name, value in options.items() if value is not None}}


def declare_scheduler_query(settings: Settings) -> ResourceEntry:
    """Return the resource that looks up the Slurm accounts for jobs. settings: of a role, with those of site.py.

    Declare this resource before files whose text contains SLURM_ACCOUNT or SLURM_CPU_ACCOUNT. The option `found` of
    these files must be find_placeholders(text).
    """
    return resource(
        "scheduler",
        account=settings["account"],
        likely=settings["likely_account"],
        required="yes" if settings["account_required"] else "no",
        suffixes=settings.get("limits", {}).get("account_suffixes"),
    )


def find_placeholders(content: str) -> list[str] | None:
    """Return the names of the placeholders for Slurm accounts in the content of a file, or None."""
    return [name.strip("@") for name in (SLURM_ACCOUNT, SLURM_CPU_ACCOUNT) if name in content] or None


def declare_nothing(code: Code, text: str) -> Declaration:
    """Return a declaration without resources, with the reason: a code for programs, and a text for the user."""
    return {"resources": [], "notes": [{"code": code, "text": text}]}


def why_no_slurm(scheduler: str) -> str:
    """Return the end of a sentence about something that needs Slurm. scheduler: the batch system; "none" if unknown."""
    if scheduler != "none":
        return "which the cluster does not use"
    return (
        "but the cluster's profile names no batch system. If it is Slurm, set `scheduler: {kind: slurm}` in the profile"
    )
