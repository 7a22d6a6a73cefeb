# SPDX-License-Identifier: GPL-3.0-or-later
"""What of ours a colleague swaps names beside: pieces of work on a shared area, which say how often they came about.

Most of it has its home elsewhere; some has its home in the shared area, too, as a project's state folder may lie there:
then receipt and lock are as much within his reach as the rest.
"""

from __future__ import annotations

import codecs
import hashlib
import importlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from .harness import TREE
from .swapping import CONDA, IMPORT, Area

sys.path.insert(0, str(TREE / "collections"))
ROOM = "ansible_collections.hpc.onboard.plugins.module_utils."
accounts, errors, hosts, resources = (
    importlib.import_module(f"{ROOM}_core.{name}") for name in ("account", "errors", "host", "resource")
)
jobs, made, download = (importlib.import_module(f"{ROOM}_jobs.{name}") for name in ("job", "made", "download"))
engine, lock = (importlib.import_module(f"{ROOM}_engine.{name}") for name in ("engine", "lock"))
receipts = importlib.import_module(ROOM + "_receipt.receipt")
images, lookup = (
    importlib.import_module(ROOM + name) for name in ("_resources.container_image", "_registry.image_lookup")
)
for _path in sorted(Path(TREE, "plugins/module_utils").glob("_*/*.py")):  # who takes other rights could load none
    importlib.import_module(f"{ROOM}{_path.parent.name}.{_path.stem}")

KINDS = {
    "directory": ("directory", "Directory"),
    "storage_link": ("storage_link", "StorageLink"),
    "path_script": ("path_script", "PathScript"),
    "conda_install": ("conda_install", "CondaInstall"),
    "container_image": ("container_image", "ContainerImage"),
}
codecs.lookup("unicode_escape")  # loaded, too
Way = Callable[[str], Any]


class Work(NamedTuple):
    """A piece of work, the names that he takes turns with, and how often it must come about in spite of him."""

    do: Callable[[Area], int]
    names: tuple[str, ...] = ("me",)
    enough: int = 100
    rest: float = 0.0  # see Attack


def class_of(kind: str) -> Any:
    """The class of a kind of resource."""
    module, name = KINDS[kind]
    return getattr(importlib.import_module(f"{ROOM}_resources.{module}"), name)


def host_at(home: Path) -> Any:
    """A fresh look at the account that has this home."""
    return hosts.Host(accounts.Account(str(home), "/bin/sh", {}), b"key")


@contextmanager
def refusals() -> Iterator[None]:
    """What is refused, and said: the engine catches both."""
    with suppress(errors.AccountError, OSError):
        yield


def both_ways(home: Path, *ways: Way) -> int:
    """Set up and take out, by the very loop of a run, with a fresh look each time; how many came about."""
    done = 0
    for state in ("present", "absent"):
        for way in ways if state == "present" else reversed(ways):
            with refusals():
                host = host_at(home)
                done += not resources.reconcile(way(state).with_expanded_paths(host), host).reason
    return done


def make(where: Area) -> int:
    """A folder directly in the shared area."""
    return both_ways(where.home, lambda state: folder(where, "new", state, "0755"))


def folder(where: Area, name: str, state: str, mode: str = "0700") -> Any:
    """A folder of the account's own there."""
    path = str(where.shared / name)
    return class_of("directory")({"path": path, "root": str(where.shared), "mode": mode, "state": state})


def nested(where: Area) -> int:
    """Folders below the one of our own."""
    return both_ways(
        where.home, lambda state: folder(where, "me/a", state), lambda state: folder(where, "me/a/b", state)
    )


def link(where: Area) -> int:
    """A link in the folder of our own, and one in the home to it."""

    def one(path: str) -> Way:
        return lambda state: class_of("storage_link")({"path": path, "target": str(where.mine), "state": state})

    return both_ways(where.home, one(f"{where.mine}/l"), one(f"{where.home}/l"))


def script(where: Area) -> int:
    """A script in a folder below our own."""

    def one(state: str) -> Any:
        content = "#!/bin/sh\necho 1\n"
        return class_of("path_script")({"path": f"{where.mine}/bin/x", "content": content, "state": state})

    return both_ways(where.home, one)


NOTE = {
    **{"kind": "directory", "capability": "x", "identity": "folder ~/x", "options": {"path": "~/x"}, "for": ""},
    **{"hashes": {"is": "x"}, "keyed": {}, "clusters": ["lrz"], "made": True, "state": "done"},
}


def receipt(where: Area) -> int:
    """The receipt of an account whose home lies in the shared area, with the folders that it lies in."""

    def one(state: str) -> Any:
        return receipts.Receipt({"directory folder ~/x": NOTE if state == "present" else None}, "lrz")

    return both_ways(where.mine, one)


def locked(where: Area) -> int:
    """The lock of an account whose home lies in the shared area."""
    with refusals():
        lock.run_locked(host_at(where.mine), lambda: None, 0.0)
        return 1
    return 0


INSTALLER = b"""#!/bin/sh
cd "$(dirname "$0")" || exit 1
mkdir -p ../c/bin ../c/envs
printf '#!/bin/sh\\nexit 0\\n' > ../c/bin/conda
chmod 755 ../c/bin/conda
"""
"""It goes by its own folder, where a real one goes by the path that it is given: that part is conda's own."""
SUM = hashlib.sha256(INSTALLER).hexdigest()
ONE = {"url": "http://127.0.0.1:1/Standin.sh", "sha256": SUM}


def conda(where: Area, state: str) -> Any:
    """A conda in the folder of our own."""
    asked = {"distribution": "miniforge", "version": "26.1.1-3", "installers": {os.uname().machine: ONE}}
    options = {**asked, "prefix": str(where.mine / "c"), "channels": ["x"], "environments": [], "proxies": {}}
    options = {**options, "glibc": "2.17", "bytes": 0, "files": 0}
    return class_of("conda_install")({**options, "state": state})


def at_work(where: Area, resource: Any, job: str) -> None:
    """Start the job of that name, and wait until it has ended."""
    host = host_at(where.home)
    with refusals():
        resources.reconcile(resource.with_expanded_paths(host), host)
    deadline = time.monotonic() + 60
    while job_of(where.handle, job):
        assert time.monotonic() < deadline, "the job does not end"
        time.sleep(0.002)


def installation(where: Area) -> bool:
    """A conda that is installed there by a job; its installer has come with an earlier one, past all names."""
    download.PAUSE = 0.0
    within = f"/proc/self/fd/{where.handle}"
    shutil.rmtree(f"{within}/c", ignore_errors=True)
    os.makedirs(f"{within}/{CONDA}", 0o700, exist_ok=True)
    Path(within, CONDA, "installer.sh").write_bytes(INSTALLER)
    at_work(where, conda(where, "present"), CONDA)
    return os.path.exists(f"{within}/c/{made.FINISHED_MARK}")


def removal(where: Area) -> bool:
    """A conda in the folder of our own, laid there past all names, and taken out by a job that goes on by itself."""
    within = f"/proc/self/fd/{where.handle}"
    os.makedirs(f"{within}/c/bin", exist_ok=True)
    Path(within, "c", made.FINISHED_MARK).write_text(f"miniforge 26.1.1-3 for {os.uname().machine}")
    at_work(where, conda(where, "absent"), CONDA)
    return not os.path.exists(f"{within}/c")


IMAGE = "nvcr.io/a/b:1"
PULL = '#!/bin/sh\nmkdir -p "$APPTAINER_CACHEDIR/x" && echo x >"$APPTAINER_CACHEDIR/x/l" && echo image >"$2"\n'


def import_of_image(where: Area) -> bool:
    """An image that a stand-in for apptainer pulls; what the registry says of it is known."""
    within, tool = f"/proc/self/fd/{where.handle}", where.home / "apptainer"
    for name in os.listdir(within):
        if name.startswith("nvcr.io"):
            os.unlink(f"{within}/{name}")
    tool.write_text(PULL)
    tool.chmod(0o700)
    os.environ["PATH"] = f"{where.home}:/usr/bin:/bin"
    images._LOOKUPS[IMAGE, "None"] = lookup.ImageLookup("sha256:" + "ab" * 32, 10)
    image = class_of("container_image")
    asked = image(image.with_defaults({"image": IMAGE, "folder": str(where.mine), "runtime": "apptainer"}))
    at_work(where, asked, IMPORT)
    return any(name.endswith(".sif.hpc.onboard") for name in os.listdir(within))


def job_of(folder: int, job: str) -> bool:
    """Whether a job is at work there; one that ended without success is cleared away."""
    place = f"/proc/self/fd/{folder}/{job}"
    progress = jobs.read_progress(place)
    if progress and "failed" in progress:
        shutil.rmtree(place)
        return False
    return progress is not None


def command(where: Area, home: Path) -> bool:
    """All that an engine does for onboarding and for offboarding: receipt, lock, children, what is left alone."""
    mine = str(where.mine)
    declared = [
        ("directory", {"path": f"{mine}/a", "root": str(where.shared), "mode": "0700"}),
        ("path_script", {"path": f"{mine}/bin/x", "content": "#!/bin/sh\necho 1\n"}),
        ("storage_link", {"path": f"{home}/l", "target": mine}),
    ]
    return all([answered(home, declared, "present"), answered(home, declared, "absent")])


def answered(home: Path, declared: list[tuple[str, dict[str, str]]], state: str) -> bool:
    """Whether all of a plan came about."""
    entries = [{"kind": kind, "capability": "x", "options": {**options, "state": state}} for kind, options in declared]
    plan = {
        **{"resources": entries, "work": "reconcile", "fingerprint_key": "5e" * 32, "receipt": True, "cluster": "lrz"},
        **{"only_made": state == "absent", "sandbox": {"root": "", "home": str(home), "environment": {}}},
    }
    said = engine.answer(plan, {kind: class_of(kind) for kind in KINDS})
    assert "a bug in hpc.onboard" not in str(said), said
    problem = said["error"] or said["receipt"]["problem"]
    return not problem and all(one["status"] not in resources.FAILURES for one in said["outcomes"])


WORKS = {
    "folder": Work(make, ("new", ".new.hpc.onboard-draft")),
    "nested": Work(nested),
    "link": Work(link),
    "script": Work(script),
    "receipt": Work(receipt),
    "lock": Work(locked),
    "installation": Work(installation, enough=2, rest=0.3),
    "removal": Work(removal, enough=20),
    "import": Work(import_of_image, enough=2, rest=0.3),
    "command": Work(lambda where: command(where, where.home), enough=2, rest=0.3),
    "command at home": Work(lambda where: command(where, where.mine), enough=1, rest=0.3),
}
