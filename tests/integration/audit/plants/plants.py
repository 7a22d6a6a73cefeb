# SPDX-License-Identifier: GPL-3.0-or-later
"""Drifts and innocent things as data, each laid on an account of its own over ssh."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.integration.audit.audit_scene import by_root
from tests.integration.runs import play

from .made_up import filled

HERE = Path(__file__).parent
SHELLS = {"bash": "/bin/bash", "zsh": "/usr/bin/zsh", "tcsh": "/bin/tcsh", "fish": "/usr/bin/fish"}
QUEUED = "wilson"
"""The cluster with a Slurm, where all accounts compute for wc_test."""
AT_ONCE = 4


class Laid(NamedTuple):
    """A thing and the account on which it lies; an account without one is a control."""

    account: Any
    thing: Mapping[str, Any]

    def words(self, text: str) -> str:
        """Return the text for this account."""
        known = {"user": self.account.user, "project": self.account.project, "home": self.account.home}
        return filled(text, self.thing.get("id", ""), known)

    @property
    def files(self) -> list[str]:
        """The paths by which a finding may name the thing."""
        listed = self.thing["file"]
        return [self.words(one) for one in (listed if isinstance(listed, list) else [listed])]

    @property
    def likeness(self) -> str:
        """What decides which control it is compared with."""
        return json.dumps([self.thing[name] for name in ("cluster", "shell")] + [self.thing.get("settings")])


def things(name: str) -> list[dict[str, Any]]:
    """Return the things of a file."""
    read: list[dict[str, Any]] = yaml.safe_load((HERE / f"{name}.yml").read_text(encoding="utf-8"))
    return read


def with_accounts(bed: Any, wanted: list[dict[str, Any]]) -> list[Laid]:
    """Give each thing an account, and each likeness of accounts a control."""
    controls: dict[str, dict[str, Any]] = {}
    for one in wanted:
        kept: dict[str, Any] = {name: one[name] for name in ("cluster", "shell", "settings") if name in one}
        controls[Laid(None, one).likeness] = kept
    laid = []
    for number, thing in enumerate([*controls.values(), *wanted]):
        shell = SHELLS[thing["shell"]]
        laid.append(Laid(bed.new_account(thing["cluster"], shell, project=f"q{number:03d}", skel=True), thing))
    for cluster in {one.account.cluster.name: one.account.cluster for one in laid}.values():
        for mount in cluster.site.mounts:
            cluster.world.run("mount", "-o", "remount,size=4g", mount)
    return laid


def compute(bed: Any, laid: list[Laid]) -> None:
    """Let all users of one cluster compute for one Slurm account."""
    users = ",".join(one.account.user for one in laid if one.thing["cluster"] == QUEUED)
    run = bed.slurm(QUEUED).cluster.world.run
    run("sacctmgr", "-i", "-Q", "add", "account", "wc_test", "qos=opp,regular,test", "defaultqos=opp")
    run("sacctmgr", "-i", "-Q", "add", "user", users, "account=wc_test", timeout=120)


def set_up(scene: Any) -> None:
    """Onboard all accounts."""
    ran = play(scene.bed, "-i", str(scene.inventory), environment=scene.environment, timeout=600)
    assert ran.code == 0, ran.text[-4000:]


def lay(laid: list[Laid]) -> None:
    """Let everything happen; raise for what could not."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        failed = [one for one in pool.map(_lay, [one for one in laid if "id" in one.thing]) if one]
    assert not failed, "\n".join(failed)


def _lay(one: Laid) -> str:
    """Let one thing happen; return what went wrong."""
    thing = one.thing
    try:
        if "small" in thing:
            one.account.small_home(*thing["small"])
        if "do" in thing:
            script = f"set -e\numask 022\ncd\n{one.words(thing['do'])}\n"
            done = one.account.ssh("exec bash -s", text=script, timeout=60)
            if done.returncode:
                return f"{thing['id']}: {done.returncode} {done.stdout[-300:]} {done.stderr[-300:]}"
        if "root" in thing:
            by_root(one.account, one.words(thing["root"]))
        if "hang" in thing:
            one.account.hang(one.words(thing["hang"]))
    except Exception as error:
        return f"{thing['id']}: {error}"
    return ""
