# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An account in a temporary folder: lay it out, take a plan to it, and compare the whole tree."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.hpc.onboard.plugins.module_utils._core.account import Account
from ansible_collections.hpc.onboard.plugins.module_utils._core.dry_run import DryRunHost
from ansible_collections.hpc.onboard.plugins.module_utils._core.host import Host
from ansible_collections.hpc.onboard.plugins.module_utils._engine.engine import answer
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import KINDS, Plan

HOME = "/home/simone"
KEY = "00" * 32


class Folder(NamedTuple):
    """A folder with its mode."""

    mode: int = 0o755


class Plain(NamedTuple):
    """A plain file."""

    content: bytes
    mode: int = 0o644


class Link(NamedTuple):
    """A symbolic link; an absolute target lies on the account, not on this machine."""

    target: str


Thing = Folder | Plain | Link
Tree = Mapping[str, Thing]


class Scene:
    """The account of simone below root, which stands for the cluster."""

    def __init__(self, root: Path, shell: str = "/bin/bash") -> None:
        self.root = root
        self.shell = shell
        self.environment: dict[str, str] = {}
        root.mkdir()
        self.make({"/home": Folder(), HOME: Folder()})

    def at(self, path: str) -> Path:
        """Where a path of the account lies on this machine."""
        return Path(str(self.root) + self.whole(path))

    @staticmethod
    def whole(path: str) -> str:
        """The path with its ~ written out."""
        return HOME + path[1:] if path.startswith("~") else path

    def make(self, tree: Tree) -> None:
        """Put these things there."""
        for path, thing in tree.items():
            place = self.at(path)
            if isinstance(thing, Folder):
                place.mkdir(exist_ok=True)
                place.chmod(thing.mode)
            elif isinstance(thing, Plain):
                place.write_bytes(thing.content)
                place.chmod(thing.mode)
            else:
                target = self.whole(thing.target)
                place.symlink_to(str(self.root) + target if target.startswith("/") else target)

    def tree(self) -> dict[str, Thing]:
        """Everything below root by its path on the account: kind, mode, content, target."""
        found: dict[str, Thing] = {}
        for place in sorted(self.root.rglob("*")):
            status = place.lstat()
            path = "/" + str(place.relative_to(self.root))
            if stat.S_ISLNK(status.st_mode):
                target = os.readlink(place)
                inside = target.startswith(f"{self.root}/")
                found[path] = Link(target[len(str(self.root)) :] if inside else target)
            elif stat.S_ISDIR(status.st_mode):
                found[path] = Folder(stat.S_IMODE(status.st_mode))
            elif stat.S_ISREG(status.st_mode):
                found[path] = Plain(place.read_bytes(), stat.S_IMODE(status.st_mode))
        return found

    def footprints(self) -> dict[str, Any]:
        """What tells that a thing was touched, even when it looks the same: inode, times, names, attributes."""
        found = {}
        for place in [self.root, *sorted(self.root.rglob("*"))]:
            status = place.lstat()
            names = os.listxattr(place, follow_symlinks=False)
            attributes = {name: os.getxattr(place, name, follow_symlinks=False) for name in names}
            found[str(place)] = (
                *(status.st_ino, status.st_mode, status.st_uid, status.st_nlink),
                *(status.st_mtime_ns, status.st_ctime_ns, status.st_size, attributes),
            )
        return found

    replaces = False  # keys that the account alone may have

    def host(self) -> Host:
        """The account's files."""
        return Host(Account(HOME, self.shell, self.environment), bytes.fromhex(KEY), str(self.root))

    def dry(self) -> DryRunHost:
        """The account's files in a dry run."""
        return DryRunHost(self.host())

    def plan(self, resources: list[dict[str, Any]], check: bool = False) -> dict[str, Any]:
        """The plan as converge sends it; resources are {kind, and its options}."""
        declared = [
            {"kind": one["kind"], "capability": "test", "options": {k: v for k, v in one.items() if k != "kind"}}
            for one in resources
        ]
        entries = Plan.of(declared, lambda name: f"key-{name}").entries
        sandbox = {"root": str(self.root), "home": HOME, "shell": self.shell, "environment": self.environment}
        return {
            "resources": entries,
            "work": "preview" if check else "reconcile",
            "fingerprint_key": KEY,
            "sandbox": sandbox,
            "replace": self.replaces,
        }

    def run(self, *resources: dict[str, Any], check: bool = False) -> list[dict[str, Any]]:
        """The outcomes of a run, but for how long it took."""
        said = answer(self.plan(list(resources), check), KINDS)
        assert said["error"] is None
        return [{k: v for k, v in outcome.items() if k != "seconds"} for outcome in said["outcomes"]]

    def life(self, *resources: dict[str, Any]) -> list[dict[str, Any]]:
        """Preview, take, and take again; what was previewed must come, and the second run must touch nothing."""
        untouched = self.footprints()
        preview = self.run(*resources, check=True)
        assert self.footprints() == untouched
        taken = self.run(*resources)
        assert taken == preview
        settled = self.footprints()
        again = self.run(*resources)
        for first, second in zip(taken, again, strict=True):
            if first["status"] in ("blocked", "failed"):
                assert second["status"] == first["status"]
            else:
                assert (second["status"], second["fields"]) == ("ok", [])
        if all(one["status"] in ("ok", "blocked") for one in again):
            assert self.footprints() == settled
        return taken
