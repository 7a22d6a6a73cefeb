# SPDX-License-Identifier: GPL-3.0-or-later
"""What the account holds before, and what is asked for: the operations that faults are injected into."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from .harness import OLD_SECRET, SECRET, TREE

FOREIGN = "# mine\nmachine gitlab.example.org login me password foreign\r\n\xff\xfe no line end"
OURS = "machine nvcr.io login $oauthtoken password %s\n"


class Scene(NamedTuple):
    """An operation: how the home is laid out, the resources that are wanted, and the umask of the account."""

    name: str
    build: Callable[[Path], None]
    resources: list[dict[str, Any]]
    umask: int = 0o022
    kept: bool = False  # an obstacle stands: nothing may change


def put(path: Path, text: str, mode: int = 0o644) -> None:
    """A file with its folders; in latin-1, as byte for byte."""
    for folder in reversed([one for one in path.parents if not one.exists()]):
        folder.mkdir()
        folder.chmod(0o700)
    path.write_bytes(text.encode("latin-1"))
    path.chmod(mode)


def credential(state: str = "present", machine: str = "nvcr.io", secret: str = SECRET) -> dict[str, Any]:
    """The entry of a plan for a key."""
    options = {"path": "~/.config/enroot/.credentials", "machine": machine, "login": "$oauthtoken", "state": state}
    return {"kind": "enroot_credential", "key": "ngc", "options": {**options, "password": secret}}


def _keys(text: str, mode: int = 0o600, folder: int = 0o700) -> Callable[[Path], None]:
    def build(home: Path) -> None:
        put(home / ".config/enroot/.credentials", text, mode)
        (home / ".config/enroot").chmod(folder)

    return build


def environment(state: str = "present") -> dict[str, Any]:
    """The entry of a plan for the environment."""
    options = {
        "section": "caches",
        "variables": {"APPTAINER_CACHEDIR": "/scratch/me"},
        "path": ["~/bin"],
        "path_end": [],
        "unless_used": {},
        "on_demand": {},
    }
    return {"kind": "shell_environment", "options": {**options, "state": state}}


def _start_up(home: Path) -> None:
    put(home / "dotfiles/bashrc", "# mine, \xff\r\ncase $- in *i*) ;; *) return;; esac\r\nalias ll='ls -l'", 0o640)
    (home / ".bashrc").symlink_to("dotfiles/bashrc")
    put(home / ".bash_profile", "PATH=$PATH:/opt/mine\n", 0o600)
    (home / "dotfiles").chmod(0o755)


def _with_environment(home: Path) -> None:
    """The state that the engine itself leaves."""
    _start_up(home)
    environment_text = _module("_formats.environment")
    section = _module("_formats.section")
    startup = _module("_formats.startup")
    kind = _module("_resources.shell_environment")
    options = environment()["options"]
    for dialect in environment_text.DIALECTS:
        folders = [folder.replace("~", "/home/me") for folder in options["path"]]
        body = environment_text.render(dialect, environment_text.ShellSettings(options["variables"], folders))
        put(home / f"{kind.FOLDER}/env.{dialect}", section.put(kind.HEADER, options["section"], body))
    line = environment_text.source_line("sh", f"{kind.FOLDER}/env.sh", startup.MARK)
    for name in ("dotfiles/bashrc", ".bash_profile"):
        file = home / name
        file.write_bytes(startup.insert(file.read_bytes().decode("latin-1"), line).encode("latin-1"))


def _module(name: str) -> Any:
    plugins = str(TREE / "plugins")
    if plugins not in sys.path:
        sys.path.insert(0, plugins)
    return importlib.import_module("module_utils." + name)


def script(state: str = "present") -> dict[str, Any]:
    """The entry of a plan for a script."""
    options = {"path": "~/bin/usrun.sh", "content": "#!/bin/sh\necho new\n", "state": state}
    return {"kind": "path_script", "options": options}


def _old_script(home: Path) -> None:
    put(home / "bin/usrun.sh", _module("_formats.origin_mark").add_mark("#!/bin/sh\necho old\n"), 0o755)


def link(state: str = "present") -> dict[str, Any]:
    """The entry of a plan for a link."""
    return {"kind": "storage_link", "options": {"path": "~/links/work", "target": "/data/me", "state": state}}


def _area(home: Path) -> None:
    (home.parents[1] / "data/me").mkdir(parents=True)


def _linked(target: str) -> Callable[[Path], None]:
    def build(home: Path) -> None:
        _area(home)
        (home / "links").mkdir()
        (home / "links/work").symlink_to(str(home.parents[1]) + target)

    return build


def _file_in_the_way(home: Path) -> None:
    _area(home)
    put(home / "links/work", "my own notes")


def directory() -> dict[str, Any]:
    """The entry of a plan for a folder that a project shares."""
    options = {"path": "/data/me/shared", "root": "/data/me", "mode": "2770", "state": "present"}
    return {"kind": "directory", "options": options}


def _nothing(home: Path) -> None:
    pass


SCENES = (
    Scene("a new key", _nothing, [credential()], 0),
    Scene("a key replaced", _keys(OURS % OLD_SECRET + FOREIGN), [credential()], 0),
    Scene("a key replaced, too open", _keys(OURS % OLD_SECRET * 2 + FOREIGN, 0o644, 0o755), [credential()], 0),
    Scene("a key beside foreign lines", _keys(FOREIGN), [credential()], 0),
    Scene("a key taken out", _keys(OURS % OLD_SECRET + FOREIGN), [credential("absent")], 0),
    Scene("the only key taken out", _keys(OURS % OLD_SECRET), [credential("absent")], 0),
    Scene("a new environment", _start_up, [environment()], 0o077),
    Scene("an environment taken out", _with_environment, [environment("absent")]),
    Scene("a new script", _nothing, [script()], 0o077),
    Scene("a script replaced", _old_script, [script()]),
    Scene("a script of the user", lambda home: put(home / "bin/usrun.sh", "#!/bin/sh\nmine\n"), [script()], kept=True),
    Scene("a new link", _area, [link()], 0o077),
    Scene("a link of the user's", _linked("/elsewhere"), [link()], kept=True),
    Scene("a link taken out", _linked("/data/me"), [link("absent")]),
    Scene("a file where a link belongs", _file_in_the_way, [link()], kept=True),
    Scene("a folder of a project", _area, [directory()], 0o077),
)
