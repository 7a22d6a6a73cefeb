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

from ansible_collections.hpc.onboard.plugins.plugin_utils._capabilities.parts.image_site import (
    image_folder,
    image_settings,
)

if TYPE_CHECKING:
    from types import ModuleType

    from ansible_collections.hpc.onboard.plugins.module_utils._core.values import Options
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.declaration import Code, Declaration, Entry

Settings = Mapping[str, Any]


class Capability(NamedTuple):
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
        """Whether it declares nothing, not even a note. settings: without the role's name before them."""
        if not self.unless or settings.get("state") == "absent":  # what was there may have to be taken out
            return False
        return all(settings.get(name) in (None, "", "none", [], {}) for name in self.unless)


class Key(NamedTuple):
    """What is to know of a kind of file that holds a key; where it lies is among its options.

    service: whose key it is. by_containers: whether a container tool reads it, so that a registry can be asked with it
    from the account. in_jobs: whether its program is used where the work is done. copy: the end of the name of the copy
    that its program keeps beside it, and the capability with it.
    """

    service: str
    by_containers: bool = False
    in_jobs: bool = False
    copy: str = ""


CAPABILITIES = {  # in the order in which an account gets them
    "storage_links": Capability(),
    "enroot_credentials": Capability(holds_keys=True),
    "registry_auth": Capability(unless=("runtime",), asked_by=("registries", "secret"), holds_keys=True),
    "tokens": Capability(unless=("programs",), holds_keys=True),
    "container_caches": Capability(),
    "tool_caches": Capability(unless=("folder",)),
    "container_images": Capability(unless=("images",)),
    "conda": Capability(),
    "python_envs": Capability(unless=("environments",)),
    "launchers": Capability(),
    "job_scripts": Capability(unless=("templates", "own")),
    "path_scripts": Capability(unless=("scripts",)),
    "shell_environment": Capability(unless=("variables", "path")),
    "own_files": Capability(unless=("files",)),
}
KINDS = {  # of resources, each with the module that says what is asked of it; "" where its own class does
    "conda_install": "_options.conda_options",
    "container_image": "_options.image_options",
    "directory": "_core.values",
    "emptied_cache": "_options.image_options",
    "enroot_credential": "_core.values",
    "key_leftovers": "",
    "netrc_entry": "_core.values",
    "ngc_config": "_core.values",
    "own_file": "_options.file_options",
    "path_script": "_options.file_options",
    "python_env": "_options.env_options",
    "registry_auth": "_core.values",
    "rotated_key": "",
    "scheduler": "_options.file_options",
    "shell_environment": "_core.values",
    "storage_link": "_core.values",
    "token_file": "_core.values",
    "try_job": "",
}


def _class_name(kind: str) -> str:
    return "".join(word.capitalize() for word in kind.split("_"))


ELSEWHERE = {"emptied_cache": "_images", "scheduler": "_jobs", "try_job": "_jobs"}  # rooms of kinds that keep nothing
PLACES = {kind: f"{ELSEWHERE.get(kind, '_resources')}.{kind}.{_class_name(kind)}" for kind in KINDS}
"""Where the class of each kind is, below module_utils."""
USUAL = [kind for kind, module in KINDS.items() if module == "_core.values"] + ["path_script"]
"""Those that most plans hold."""

MODULE_UTILS = __name__.replace("plugin_utils._capabilities.table", "module_utils")
SLURM_ACCOUNT = "@slurm_account@"
STARTING = ("apptainer", "singularity")  # container tools that start a command in a job themselves
CACHING = ("apptainer", "enroot")  # container tools with a cache of the user's
OF_CONDA = ("policy", "why", "instead", "area", "below", "by_machine")  # what a profile says of it, as the role has it


def options_of(kind: str) -> type[Options] | None:
    """What is asked of a kind, without loading how an account keeps it; None where its own class alone says it."""
    if not KINDS.get(kind):
        return None
    found: type[Options] = getattr(import_module(f"{MODULE_UTILS}.{KINDS[kind]}"), f"{_class_name(kind)}Options")
    return found


def usual_path(kind: str) -> str:
    """Where a file of this kind lies when nobody says. The kind is one of those with a path."""
    asked = options_of(kind)
    return str(asked.OPTIONS["path"]["default"]) if asked else ""


@cache
def keys() -> dict[str, Key]:
    """All kinds of files that hold a key."""
    return {kind: key for name, one in CAPABILITIES.items() if one.holds_keys for kind, key in load(name).KEYS.items()}


def declaring(name: str) -> Callable[[Settings], Declaration]:
    """What says which resources a capability declares: it takes the settings without the role's name before them."""
    found: Callable[[Settings], Declaration] = load(name).declare
    return found


def load(name: str) -> ModuleType:
    """The file of a capability. It is loaded where an account has the capability: loading takes its time."""
    return import_module(f"{__name__.rpartition('.')[0]}.{name}")


def prepare(accounts: Iterable[Settings]) -> None:
    """Load what the accounts will need, once for all of them: call it before the forks, one for each account.

    accounts: of each, the variables that are known by then. What others turn on, or a role's default, is loaded later.
    """
    known = list(accounts)
    for name, capability in CAPABILITIES.items():
        start = f"{name}_"
        own = [{key.removeprefix(start): one[key] for key in one if key.startswith(start)} for one in known]
        wanting = [settings for settings in own if not capability.is_off(settings)]
        if wanting:
            more: Callable[[Sequence[Settings]], None] | None = getattr(load(name), "prepare", None)
            if more:
                more(wanting)


def site_settings(cluster: Settings, project: str = "", account: str = "") -> dict[str, Any]:
    """The roles' settings that follow from a cluster's profile, as the inventory gives them to an account.

    account: the Slurm account that the person has chosen, or empty.
    """
    container, caches, links, conda = (cluster.get(part, {}) for part in ("container", "caches", "links", "conda"))
    slurm = scheduler_settings(cluster, project, account)
    areas = [{key: value for key, value in one.items() if key != "per"} for one in cluster.get("storage", [])]
    there = [container.get("runtime", "none"), *container.get("further", [])]
    # Singularity reads the same variables as Apptainer, but keeps its logins in a file of its own.
    caching = next((name for name in there if name in CACHING), "apptainer" if "singularity" in there else "none")
    return {
        "storage_links_areas": areas,
        "storage_links_by": links.get("by", "us"),
        "storage_links_why": links.get("why", ""),
        "enroot_credentials_path": container.get("credentials", ""),
        "enroot_credentials_runtime": "enroot" if "enroot" in there else "none",
        "registry_auth_runtime": "apptainer" if "apptainer" in there else "none",
        "container_caches_runtime": caching,
        "container_caches_folder": caches.get("path", ""),
        "container_caches_root": caches.get("root", ""),
        "container_caches_why": caches.get("why_not", ""),
        **{f"launchers_{name}": value for name, value in _launcher(cluster).items()},
        **{f"job_scripts_{name}": value for name, value in _scripts(cluster).items()},
        **{f"python_envs_{name}": value for name, value in _python(cluster, areas).items()},
        **{f"{role}_{name}": value for role in ("launchers", "job_scripts") for name, value in slurm.items()},
        **{f"container_images_{name}": value for name, value in image_settings(cluster, project).items()},
        **{f"tool_caches_{name}": value for name, value in _off_home(caches, areas).items()},
        "conda_wanted": conda.get("usual", False),
        "conda_distribution": conda.get("distribution", "miniforge"),
        "conda_site": {
            **{name: conda[name] for name in OF_CONDA if name in conda},
            "storage": areas,
        },
        "conda_proxies": cluster.get("proxies", {}),
    }


def _off_home(caches: Settings, areas: Iterable[Settings]) -> dict[str, str]:
    """Where the site wants the caches of all tools, where it says so and the place is known."""
    area = next((one for one in areas if one["name"] == caches.get("off_home") and "path" in one), None)
    if not area:
        return {"folder": "", "root": ""}
    return {"folder": f"{area['path']}/caches", "root": area["root"] if area.get("create") else area["path"]}


def _python(cluster: Settings, areas: Iterable[Settings]) -> dict[str, Any]:
    """Where Python environments come from here, and where they go: beside conda where that has an area that lasts."""
    wheels, conda = cluster.get("wheels", {}), cluster.get("conda", {})
    area = next((one for one in areas if one["name"] == conda.get("area") and "path" in one), {"purge": True})
    inside = (
        "" if "purge" in area else "/".join(str(part) for part in (area["path"], conda.get("below"), "envs") if part)
    )
    root = area.get("root") if area.get("create") else area.get("path")
    offline = wheels.get("no_index", False)
    return {
        "folder": inside or "~/envs",
        "root": root if inside else "~",
        "offline": offline,
        "maker": "virtualenv" if offline else "any",
        "search": wheels.get("search", ""),
        "index": cluster.get("mirrors", {}).get("pypi", ""),
        "in_job": cluster.get("compute", {}).get("tmp", "") if offline else "",
        "proxies": cluster.get("proxies", {}),
    }


def _scripts(cluster: Settings) -> dict[str, Any]:
    """What scripts of jobs take from the site: as the launcher, and where a job can read and write."""
    launcher, container = _launcher(cluster), cluster.get("container", {})
    said = ("scheduler", "site", "module", "gpu", "cpu", "proxy", "proxy_module")
    place = launcher["home_in_jobs"]
    area: Settings = next((one for one in cluster.get("storage", []) if place and one.get("path") == place), {})
    return {
        **{name: launcher[name] for name in said},
        "folder": f"{place}/jobs" if place else "~/jobs",
        "root": (area.get("root") if area.get("create") else place) or "~",
        "runtime": container.get("runtime", "none"),
        "tmp": cluster.get("compute", {}).get("tmp", ""),
    }


def scheduler_settings(cluster: Settings, project: str, account: str) -> dict[str, Any]:
    """What a role that names a Slurm account goes by: it is found on the cluster, in the same trip."""
    scheduler = cluster.get("scheduler", {})
    return {
        "account": account,
        "likely_account": project if scheduler.get("account") == "project" else "",
        "account_required": scheduler.get("account_required", False),
    }


def _launcher(cluster: Settings) -> dict[str, Any]:
    """How a job is started here, as usrun.sh needs it."""
    container, scheduler = cluster.get("container", {}), cluster.get("scheduler", {})
    usual: Settings = next(iter(cluster.get("launchers", [])), {})
    runtime = container.get("runtime", "none")
    elsewhere = cluster.get("home", {}).get("on_compute") in ("ticket", "none")
    areas = [one["path"] for one in cluster.get("storage", []) if one.get("on_compute") == "rw" and "path" in one]
    return {
        "name": usual.get("name", "usrun.sh"),
        "scheduler": scheduler.get("kind", "none"),
        "site": cluster.get("name", ""),
        "runtime": container.get("in_jobs") or (runtime if runtime in STARTING else "none"),
        "module": container.get("module", ""),
        "image": usual.get("image", ""),
        "images": image_folder(cluster),
        "mounts": usual.get("mounts", []),
        "minutes": usual.get("minutes", 60),
        "gpu": scheduler.get("gpu", "--gpus=1"),
        "cpu": scheduler.get("cpu", ""),
        "accounts_command": scheduler.get("accounts_command", ""),
        "home_in_jobs": areas[0] if elsewhere and areas else "",
        "proxy": cluster.get("compute", {}).get("proxy", ""),
        "proxy_module": cluster.get("compute", {}).get("module", ""),
    }


def resource(kind: str, **options: Any) -> Entry:
    """One thing that is declared; an option that is None is not said."""
    return {"kind": kind, "options": {name: value for name, value in options.items() if value is not None}}


def scheduler_question(settings: Settings) -> Entry:
    """The resource that asks which Slurm account jobs are counted for. settings: with those of scheduler_settings.

    It is declared before the files whose texts name it as SLURM_ACCOUNT, and that say found=["slurm_account"].
    """
    required = "yes" if settings["account_required"] else "no"
    return resource("scheduler", account=settings["account"], likely=settings["likely_account"], required=required)


def nothing(code: Code, text: str) -> Declaration:
    """No resource, and why."""
    return {"resources": [], "notes": [{"code": code, "text": text}]}
