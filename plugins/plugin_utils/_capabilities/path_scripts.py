# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The capability path_scripts: scripts in a folder that is on PATH, our launcher of container jobs among them."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._capabilities.table import Settings, resource
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.collection import ROLES

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.declaration import Declaration

LAUNCHER = ROLES / "path_scripts" / "files" / "usrun.sh.template"
PLAIN = re.compile(r"^(?:[\w./:@#+=,-]|\$[A-Z]+)*\Z")


def declare(settings: Settings) -> Declaration:
    """What an account gets.

    settings: scripts [{name, content or file}], launchers [{name, image, mounts, minutes}], folder, files_from, state.
    """
    scripts = [{"name": one["name"], "content": launcher(one)} for one in settings["launchers"]]
    scripts += [
        {"name": one["name"], "content": own_script(one, settings["files_from"])} for one in settings["scripts"]
    ]
    if not scripts:
        return {"resources": [], "notes": []}
    resources = [
        resource(
            "path_script",
            path=f"{settings['folder']}/{script['name']}",
            content=script["content"],
            state=settings["state"],
        )
        for script in scripts
    ]
    section = resource("shell_environment", section="path_scripts", path=[settings["folder"]], state=settings["state"])
    return {"resources": [*resources, section], "notes": []}


def own_script(settings: Settings, start: str) -> str:
    """The text of a person's script, as it is said or from its file, relative to start. Raises AccountError."""
    from ansible_collections.hpc.onboard.plugins.plugin_utils._capabilities import own_texts  # few have such

    file, content = settings.get("file"), settings.get("content")
    if (file is None) == (content is None):
        raise AccountError(f'path_scripts: {settings["name"]} needs one of "file" and "content"')
    if file is not None:
        return own_texts.read("path_scripts", Path(start, Path(file).expanduser()))
    own_texts.refuse_keys(f"path_scripts: {settings['name']}", str(content))
    return str(content)


def launcher(settings: Settings) -> str:
    """Our usrun.sh for a site: settings are its image, mounts and minutes. Raises AccountError."""
    image, mounts = settings["image"], ",".join(settings.get("mounts", []))
    for name, value in (("image", image), ("mounts", mounts)):
        if not PLAIN.match(value):
            raise AccountError(f"{settings['name']}: {name} {value!r} holds a character that a shell would read")
    return Template(LAUNCHER.read_text(encoding="utf-8")).substitute(
        IMAGE=image, MOUNTS=mounts, MINUTES=int(settings.get("minutes", 60))
    )
