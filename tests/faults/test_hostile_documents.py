# SPDX-License-Identifier: GPL-3.0-or-later
"""A hostile word in any field of a profile or an accounts file starts nothing on the account and hides nothing.

Each document that is accepted is carried as far as the account: the engine makes there what is declared, the user logs
in and runs each script that came of it, with programs that write down what starts them. What the terminal shows of it
is looked at as well. A document whose plan was looked at before is not made again.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.host_variables import InventoryHost
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import Plan
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import Mistakes
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.collect import collect_resources
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import ROLES
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.account import Detail, View, account_lines
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.cheatsheet import SourceSummary, build_sheet
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.layout import Terminal, plain_text

from tests.effort import EXHAUSTIVE, chance
from tests.hostile_documents import accounts, changed, documents, hosts_of, laid, profile

from .harness import FINGERPRINT_KEY, Writer, snapshot

NUMBER, PARTS = (60_000, 10) if EXHAUSTIVE else (240, 1)
PARTITIONS = {
    f"{role}_{name}": "attic" for role in ("job_scripts", "launchers") for name in ("partition", "cpu_partition")
}
SETTINGS = {"job_scripts_templates": ["all"], "launchers_state": "present", **PARTITIONS}
OURS = (".config/hpc.onboard", ".config/fish", ".config")
START_UP = (".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv", ".zprofile", ".cshrc", ".tcshrc", ".login")
REAL = (
    *("sh", "bash", "env", "cat", "sed", "grep", "cut", "tr", "dirname", "basename", "tail", "head", "sort", "wc"),
    *("date", "uname", "mkdir", "awk", "readlink", "id"),
)
WRITTEN_DOWN = (
    *("touch", "curl", "ssh", "evilquota", "pip", "sbatch", "python3", "python", "ls", "rm", "hostname"),
    *("srun", "salloc", "enroot", "apptainer", "singularity", "podman", "module", "sinfo", "sacctmgr", "scontrol"),
)
"""Programs that write down how they are started, and do nothing."""
HOSTILE = ("evil", "http.server", "LD_PRELOAD", " --wrap", "prolog", "bcast")
IN_JOB = {"SLURM_JOB_ID": "1", "SLURM_ARRAY_TASK_ID": "1", "SLURM_JOB_NODELIST": "n1", "SLURM_JOB_NUM_NODES": "1"}


def of_account() -> tuple[dict[str, Any], dict[str, Any]]:
    """A profile and an accounts file with every field, whose places fit together, so that all of it is made."""
    own, file = profile(), accounts()
    own["home"]["path"] = "/home/{user}"
    for area, path in zip(own["storage"], ("/data/{user}", None, None), strict=True):
        area.update({"root": "/data", "link": f"{area['name']}-area", **({"path": path} if path else {})})
    own["container"].update(credentials="~/.config/enroot/.credentials", images="$SCRATCH/images")
    own["caches"]["path"] = "$SCRATCH/caches"
    own["launchers"][0]["image"] = "/data/images/base.sqsh"
    for entry in (file, file["defaults"], *file["accounts"].values()):
        entry["sandbox"] = True
        if "links" in entry:
            entry["links"] = {"~/mine": "/data"}
    del file["defaults"]["sandbox"]
    return own, file


def read(own: dict[str, Any], file: dict[str, Any], folder: Path) -> list[InventoryHost] | str:
    """Return the hosts that come of both documents, or the refusal."""
    try:
        return hosts_of(laid(own, file, folder))
    except Mistakes as refused:
        return "\n".join(map(str, refused.found))


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with the few programs that scripts need, and others that write down how they are started."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in REAL:
        (folder / name).symlink_to(str(shutil.which(name)))
    for name in WRITTEN_DOWN:
        (folder / name).write_text(f'#!/bin/sh\nprintf "%s\\n" "{name} $*" >>{shlex.quote(str(tmp_path))}/started\n')
        (folder / name).chmod(0o755)
    return folder


def started(home: Path, programs: Path, scripts: list[Path]) -> list[str]:
    """Return what starts when the user logs in and runs each script. The system's start-up files are not read."""
    log = programs.parent / "started"
    log.unlink(missing_ok=True)
    environment = {**IN_JOB, "HOME": str(home), "PATH": str(programs), "USER": "ada", "SCRATCH": str(home)}
    lines = ["cd", "for file in .bashrc .profile; do [ ! -e $file ] || . ./$file; done"]
    lines += [f"bash {shlex.quote(str(one))} --image=none --account=a hostname" for one in scripts]
    command = [str(shutil.which("bash")), "--noprofile", "--norc", "-c", "\n".join(lines)]
    subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    return log.read_text().splitlines() if log.exists() else []


def in_plan(path: str, plan: list[dict[str, Any]], sandbox: dict[str, Any]) -> bool:
    """Return True if the plan names a path, one above or below it, or if it is one of hpc-onboard's own."""
    named = []
    for entry in plan:
        options = entry["options"]
        for word in (options.get("path"), options.get("root"), options.get("target")):
            for name, value in sandbox["environment"].items():
                word = word.replace(f"${name}", value) if isinstance(word, str) else word
            if isinstance(word, str):
                named.append(word.replace("~", sandbox["home"], 1))
    named += [f"{sandbox['home']}/{one}" for one in (*OURS, *START_UP)]
    places = [os.path.normpath(one).strip("/") + "/" for one in (*named, *sandbox["folders"])]
    return any(one.startswith(path + "/") or (path + "/").startswith(one) for one in places)


def shown(host: InventoryHost, answer: Mapping[str, Any] = MappingProxyType({})) -> list[str]:
    """The lines that the terminal shows of an account, and of its site."""
    cluster = host.variables["cluster"]
    known = {"places": [], "command": [], "names": [], "steps": cluster["human_steps"], "done": [], "next": []}
    result: Any = {
        **{"outcomes": answer.get("outcomes", []), "msg": str(answer.get("error") or ""), "failed": False},
        **{"notes": [], "remarks": [], "introduction": known, "human_steps": cluster["human_steps"]},
    }
    view = View(Terminal(width=80), check=False, detail=Detail.EVERYTHING)
    return [
        plain_text(line)
        for line in [
            *account_lines(host.name, result, view),
            *build_sheet(cluster, SourceSummary(), Terminal(width=80)),
        ]
    ]


def options_of(command: str) -> str:
    """Return a command without its paths: a folder may have any name, as long as no program takes it for an option."""
    return " ".join(word for word in command.split() if not word.startswith("/"))


class Watch:
    """Looks at what documents create on an account. wrong: the broken promises, each with its document."""

    def __init__(self, writer: Writer, programs: Path, mark: Path) -> None:
        self.writer, self.programs, self.mark = writer, programs, mark
        self.wrong: list[str] = []
        self.plans: set[str] = set()
        self.usual: set[str] = set()
        """The programs that are started with the documents as they are."""

    def look(self, host: InventoryHost, said: str) -> None:
        """Make on an account what a document declares, and look at it."""
        variables = {**host.variables, **SETTINGS}
        try:
            declared = collect_resources(ROLES, [], [], variables.get).resources
            plan = Plan.of(declared, lambda _name: "nvapi-" + "k" * 64)
        except AccountError as error:
            self.is_seen(f"{said}: refused", str(error).splitlines())
            return
        made = (one for one in plan.entries if one["kind"] != "scheduler")  # which asks Slurm, and makes nothing
        entries = cast("list[dict[str, Any]]", list(made))
        sandbox = {**host.variables["account"]["sandbox"], "root": str(self.writer.root)}
        self.is_seen(said, shown(host))
        key = json.dumps([entries, sandbox], sort_keys=True)
        if key in self.plans:
            return
        self.plans.add(key)
        if self.writer.root.exists():
            shutil.rmtree(self.writer.root)
        self.writer.root.mkdir()
        answer = self.writer.run(
            {"resources": entries, "work": "reconcile", "fingerprint_key": FINGERPRINT_KEY, "sandbox": sandbox}
        )
        tree = snapshot(self.writer.root)
        beside = [path for path in tree if not in_plan(path, entries, sandbox)]
        self.wrong += [f"{said}: {path} was made outside of the plan" for path in beside]
        home = Path(f"{self.writer.root}{os.path.normpath(sandbox['home'])}")
        scripts = [self.writer.root / path for path in tree if path.endswith(".sh") and ".config" not in path]
        ran = set(started(home, self.programs, scripts))
        self.usual = self.usual or {"scontrol", *(one.split()[0] for one in ran)}  # jobs of several nodes ask Slurm
        self.wrong += [
            f"{said}: {one!r} was started"
            for one in ran
            if one.split()[0] not in self.usual or any(word in options_of(one) for word in HOSTILE)
        ]
        if self.mark.exists():
            self.mark.unlink()
            self.wrong.append(f"{said}: the word was run")
        self.is_seen(said, shown(host, answer))

    def is_seen(self, said: str, lines: list[str]) -> None:
        """Note the lines that a terminal would not show as they are."""
        self.wrong += [f"{said}: {line!r} is shown" for line in lines if not line.isprintable()]


@pytest.mark.parametrize("part", range(PARTS))
def test_a_hostile_document_starts_nothing_on_the_account(
    tmp_path: Path, programs: Path, count: Callable[[str, int, int], None], part: int
) -> None:
    own, file = of_account()
    mark = tmp_path / "mark-of-the-attack"
    every = list(documents(own, {}, file, str(mark)))
    taken = chance("hostile documents on accounts").sample(every, NUMBER)[part::PARTS]
    writer = Writer()
    try:
        watch = Watch(writer, programs, mark)
        found = read(own, file, tmp_path)
        assert isinstance(found, list), found
        watch.look(found[0], "as it is")
        assert not watch.wrong
        assert {"srun", "enroot"} <= watch.usual, "the scripts were run"
        for whole, way, word in taken:
            made = changed(whole, way, word)
            said = f"{'.'.join(map(str, way))}: {word[:80]!r}"
            found = read(*(own, made) if whole is file else (made, file), tmp_path)
            if isinstance(found, str):
                watch.is_seen(said, found.splitlines())
            else:
                watch.look(found[0], said)
    finally:
        writer.close()
    count("hostile documents on an account", len(taken), len(watch.wrong))
    count("accounts that were made of them", len(watch.plans), len(watch.wrong))
    assert not watch.wrong, "\n".join(watch.wrong)
