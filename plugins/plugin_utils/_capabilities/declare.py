# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each capability declares, from its settings: pure functions from data to data.

The roles' defaults say where the settings come from; converge looks them up, checks them, and calls these.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import Template
from typing import TYPE_CHECKING, Any

from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.collection import ROLES

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.declaration import (
        Code,
        Declaration,
        Entry,
        Reason,
    )

Settings = Mapping[str, Any]

LAUNCHER = ROLES / "path_scripts" / "files" / "usrun.sh.template"

PLAIN = re.compile(r"^(?:[\w./:@#+=,-]|\$[A-Z]+)*\Z")

OF_CONDA = ("policy", "why", "instead", "area", "below", "by_machine")  # what a profile says of it, as the role has it
FORMER = {  # settings that are not read any more, and what is said in their place
    **{f"conda_{name}": f"conda_site: {{{name}: ...}}" for name in OF_CONDA},
    "conda_areas": "conda_site: {storage: [...]}",
}
CACHES = {
    "apptainer": {
        "APPTAINER_CACHEDIR": "",  # Apptainer makes 'cache' below it itself
        "SINGULARITY_CACHEDIR": "",
        "APPTAINER_TMPDIR": "tmp",
        "SINGULARITY_TMPDIR": "tmp",
    },
    "enroot": {"ENROOT_CACHE_PATH": "cache", "ENROOT_DATA_PATH": "data", "ENROOT_TEMP_PATH": "tmp"},
}


def _resource(kind: str, **options: Any) -> Entry:
    return {"kind": kind, "options": {name: value for name, value in options.items() if value is not None}}


def _nothing(code: Code, text: str) -> Declaration:
    return {"resources": [], "notes": [{"code": code, "text": text}]}


def site_settings(cluster: Settings) -> dict[str, Any]:
    """The roles' settings that follow from a cluster's profile, as the inventory gives them to an account."""
    container, caches, links, conda = (cluster.get(part, {}) for part in ("container", "caches", "links", "conda"))
    areas = [{key: value for key, value in one.items() if key != "per"} for one in cluster.get("storage", [])]
    there = [container.get("runtime", "none"), *container.get("further", [])]
    # Singularity reads the same variables as Apptainer, but keeps its logins in a file of its own.
    caching = next((name for name in there if name in CACHES), "apptainer" if "singularity" in there else "none")
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
        "path_scripts_launchers": cluster.get("launchers", []),
        "conda_wanted": conda.get("usual", False),
        "conda_distribution": conda.get("distribution", "miniforge"),
        "conda_site": {
            **{name: conda[name] for name in OF_CONDA if name in conda},
            "storage": areas,
        },
        "conda_proxies": cluster.get("proxies", {}),
    }


def storage_links(settings: Settings) -> Declaration:
    """Links from the home to storage areas, and the account's own folders in them.

    settings: areas [{name, path?, root?, create?, link?, ask?}], by ('us' or 'site'), why, state.
    """
    if settings["by"] == "site":
        why = f": {settings['why']}" if settings.get("why") else ""
        return _nothing("made_by_site", f"the site makes these links itself{why}")
    declaration: Declaration = {"resources": [], "notes": []}
    for area in settings["areas"]:
        if not area.get("path"):
            if area.get("link"):
                text = f"{area['name']}: its path is not known; {area.get('ask', 'say it')}"
                declaration["notes"].append({"code": "path_unknown", "area": area["name"], "text": text})
            continue
        if area.get("create") and settings["state"] == "present":
            declaration["resources"].append(
                _resource("directory", path=area["path"], root=area.get("root"), mode=area.get("mode"))
            )
        if area.get("link"):
            declaration["resources"].append(
                _resource("storage_link", path=f"~/{area['link']}", target=area["path"], state=settings["state"])
            )
    return declaration


def enroot_credentials(settings: Settings) -> Declaration:
    """One line per registry in the file that this site's enroot reads.

    settings: path (empty where nobody knows where it reads), runtime of the site, registries
    [{machine, login?, secret?}], secret, state.
    """
    if not settings["path"]:
        if settings["runtime"] != "enroot":
            return _nothing("not_here", "no enroot here")
        text = "where this site's enroot reads its keys is not known; set enroot_credentials_path"
        return _nothing("place_unknown", text)
    entries = [
        _resource(
            "enroot_credential",
            path=settings["path"],
            machine=registry["machine"],
            login=registry.get("login"),
            secret=(registry.get("secret") or settings["secret"]) if settings["state"] == "present" else None,
            state=settings["state"],
        )
        for registry in settings["registries"]
    ]
    return {"resources": entries, "notes": []}


def registry_auth(settings: Settings) -> Declaration:
    """The login for each registry in the JSON file that Apptainer or Docker reads.

    settings: path, runtime of the site, registries [{registry, login?, secret?}], secret, state.
    """
    if settings["runtime"] != "apptainer":
        return {"resources": [], "notes": []}
    present = settings["state"] == "present"
    entries = [
        _resource(
            "registry_auth",
            path=settings["path"],
            registry=registry["registry"],
            login=registry.get("login"),
            secret=(registry.get("secret") or settings["secret"]) if present else None,
            state=settings["state"],
        )
        for registry in settings["registries"]
    ]
    return {"resources": entries, "notes": []}


TOKENS = {
    "wandb": {"kind": "netrc_entry", "machine": "api.wandb.ai"},
    "huggingface": {"kind": "token_file"},
    "ngc": {"kind": "ngc_config"},
}


def tokens(settings: Settings) -> Declaration:
    """The tokens of programs, each where the program looks for it.

    settings: programs [{program, secret?, path?}], state.
    """
    present = settings["state"] == "present"
    entries = [
        _resource(
            **TOKENS[one["program"]],
            path=one.get("path"),
            secret=(one.get("secret") or one["program"]) if present else None,
            state=settings["state"],
        )
        for one in settings["programs"]
    ]
    return {"resources": entries, "notes": []}


def container_caches(settings: Settings) -> Declaration:
    """The caches of Apptainer and enroot off the home: their folders, and the variables that name them.

    settings: runtime, folder (empty where the site gives none), root, why, state.
    """
    if settings["runtime"] not in CACHES:
        return _nothing("not_here", settings["why"] or "no container tool with a cache of yours here")
    if not settings["folder"]:
        return _nothing("place_unknown", settings["why"] or "the site names no place for caches")
    base = settings["folder"].rstrip("/")
    variables = {name: f"{base}/{below}".rstrip("/") for name, below in CACHES[settings["runtime"]].items()}
    folders = [
        _resource("directory", path=folder, root=settings["root"] or None)
        for folder in dict.fromkeys(variables.values())
    ]
    section = _resource("shell_environment", section="container_caches", variables=variables, state=settings["state"])
    return {"resources": [*(folders if settings["state"] == "present" else []), section], "notes": []}


def conda(settings: Settings) -> Declaration:
    """A conda in the data area with its environments, and the command that every shell knows.

    settings: those of the role; site is what the profile says, complete with the defaults of the argument specs.
    """
    site = settings["site"]
    if site["policy"] == "refused":
        return _nothing("refused", f"{site['why']} Use {site['instead'] or 'what the site offers'}.")
    if not settings["wanted"] and not settings["environments"]:
        return {"resources": [], "notes": []}
    from ansible_collections.hpc.onboard.plugins.plugin_utils._capabilities import (
        conda as _conda,  # not every site has one
    )

    why = _conda.left_out(settings)
    if why:
        return _nothing("to_decide", why)
    options = _conda.install(settings)
    section = _resource(
        "shell_environment",
        section="conda",
        on_demand=_conda.on_demand(options["prefix"]),
        state=settings["state"],
    )
    terms: Reason = {"code": "terms", "text": _conda.LICENCE}
    notes = [terms] if _conda.uses_anacondas_channels(settings["channels"]) else []
    return {"resources": [_resource("conda_install", **options), section], "notes": notes}


def prepare_conda() -> None:
    """Load what the capability conda needs: before the forks, where an account has one."""
    from ansible_collections.hpc.onboard.plugins.plugin_utils._capabilities import conda

    conda.pinned()


def path_scripts(settings: Settings) -> Declaration:
    """Scripts in a folder that is on PATH.

    settings: scripts [{name, content}] or launchers [{name, image, mounts, minutes}], folder, state.
    """
    scripts = [{"name": one["name"], "content": launcher(one)} for one in settings["launchers"]]
    scripts += settings["scripts"]
    if not scripts:
        return {"resources": [], "notes": []}
    resources = [
        _resource(
            "path_script",
            path=f"{settings['folder']}/{script['name']}",
            content=script["content"],
            state=settings["state"],
        )
        for script in scripts
    ]
    section = _resource("shell_environment", section="path_scripts", path=[settings["folder"]], state=settings["state"])
    return {"resources": [*resources, section], "notes": []}


def launcher(settings: Settings) -> str:
    """Our usrun.sh for a site: settings are its image, mounts and minutes. Raises AccountError."""
    image, mounts = settings["image"], ",".join(settings.get("mounts", []))
    for name, value in (("image", image), ("mounts", mounts)):
        if not PLAIN.match(value):
            raise AccountError(f"{settings['name']}: {name} {value!r} holds a character that a shell would read")
    return Template(LAUNCHER.read_text(encoding="utf-8")).substitute(
        IMAGE=image, MOUNTS=mounts, MINUTES=int(settings.get("minutes", 60))
    )


def shell_environment(settings: Settings) -> Declaration:
    """The user's own variables and PATH folders. settings: variables, path, state."""
    if not settings["variables"] and not settings["path"] and settings["state"] == "present":
        return {"resources": [], "notes": []}
    section = _resource(
        "shell_environment",
        section="own",
        variables={name: str(value) for name, value in settings["variables"].items()},
        path=list(settings["path"]),
        state=settings["state"],
    )
    return {"resources": [section], "notes": []}


CAPABILITIES = {
    "storage_links": storage_links,
    "enroot_credentials": enroot_credentials,
    "registry_auth": registry_auth,
    "tokens": tokens,
    "container_caches": container_caches,
    "conda": conda,
    "path_scripts": path_scripts,
    "shell_environment": shell_environment,
}
