# SPDX-License-Identifier: GPL-3.0-or-later
"""Accounts on which drifts are planted, one thing at a time on each, and what a person does about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.effort import sample
from tests.testbed.installer import installer
from tests.testbed.web import Web

from .audit_scene import TOKENS, Scene, at, by_root, conda_settings, replaced
from .drift import Drift
from .drifts import DRIFTS, OWN
from .late_drifts import OLD

ACCOUNTS = {"lrz": 8, "dfki": 4, "pegasus": 1, "wilson": 3, "daint": 2, "narval": 3}
SHELLS = {"pegasus": "/usr/bin/zsh", "wilson": "/bin/tcsh", "narval": "/usr/bin/fish"}


class Planted(NamedTuple):
    """A drift on an account."""

    account: Any
    drift: Drift

    def words(self, command: str) -> str:
        """The command for this account."""
        return command.format(home=self.account.home, user=self.account.user, project=self.account.project)


@contextmanager
def planting_scene(
    bed: Any, folder: Path, counts: Mapping[str, int], live_in: Callable[[Any], None] = lambda account: None
) -> Iterator[Scene]:
    """Give accounts that are onboarded, so many on each cluster. live_in: lays what is there before."""
    accounts = []
    for cluster, count in counts.items():
        for number in range(count):  # a project of its own: what the site does to it, it does to no other account
            project = f"{cluster}{number}"
            accounts.append(bed.new_account(cluster, SHELLS.get(cluster, "/bin/bash"), project=project, skel=True))
    (folder / "demo.yml").write_text("dependencies: [python]\n")
    environments = [{"name": "demo", "file": str(folder / "demo.yml")}]
    with Web(installer(2, 0.01)) as web:
        settings: dict[str, Any] = {}
        for account in accounts:
            if account.cluster.name == "dfki":
                settings[account.name] = conda_settings(account, web, environments=environments)
            elif account.cluster.name == "narval":
                settings[account.name] = {"vars": TOKENS}
            elif account.cluster.name == "lrz":
                settings[account.name] = dict(OWN)
            elif account.cluster.name == "daint":
                settings[account.name] = {"without": ["container_caches"]}
        for account in accounts:  # one section in the files of settings is what most drifts are about
            mine = settings.setdefault(account.name, {})
            kept = account.cluster.name in ("dfki", "pegasus")
            mine["without"] = [*mine.get("without", ()), "tool_caches", *([] if kept else ["launchers"])]
        for account in accounts:
            live_in(account)
        here = Scene(bed, folder, accounts, settings)
        ran = here.onboard()
        assert ran.code == 0, ran.text
        replaced(here.environment["XDG_STATE_HOME"], OLD)
        for account in accounts:
            by_root(account, f"tar -cpPf /var/tmp/{account.user}.tar {account.home}")
        yield here


def rounds(accounts: list[Any], *words: object) -> Iterator[list[Planted]]:
    """Every drift once, or a sample of them, as many as accounts; at most one on each at a time. words: see effort."""
    counts = Counter(one.cluster.name for one in accounts)
    waiting = {name: sample(DRIFTS[name], count, name, *words) for name, count in counts.items()}
    while any(waiting.values()):
        yield [Planted(one, waiting[one.cluster.name].pop(0)) for one in accounts if waiting[one.cluster.name]]


def plant(scene: Scene, planted: list[Planted]) -> None:
    """Let each thing happen."""
    for one in planted:
        if one.drift.do:
            at(one.account, one.words(one.drift.do))
        if one.drift.site:
            by_root(one.account, one.words(one.drift.site))
    scene.declare({one.account.name: {**one.drift.settings} for one in planted if one.drift.settings})


def by_hand(planted: Planted) -> None:
    """Do what the fix asks of a person in a sentence."""
    if planted.drift.by_hand:
        done = by_root if planted.drift.site else at
        done(planted.account, planted.words(planted.drift.by_hand))


def unasked(command: str) -> str:
    """Return the command with the agreement that a person would give at a terminal."""
    return command + "".join(f" -e {one}_sure=true" for one in ("fix", "offboard") if f"{one}.yml" in command)


def restore(scene: Scene, account: Any) -> None:
    """Bring the home back to what it was after the first onboarding."""
    by_root(account, f"find {account.home} -mindepth 1 -delete; tar -xpPf /var/tmp/{account.user}.tar")
    ran = scene.onboard("-l", account.name)
    assert ran.code == 0, (account.name, ran.text)
