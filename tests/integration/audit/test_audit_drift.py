# SPDX-License-Identifier: GPL-3.0-or-later
"""Drift that was planted, one thing at a time on every account: the audit says it, and what it says to do mends it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.fix import Fix, in_one_line, said

from tests.effort import EXHAUSTIVE, sample
from tests.testbed.installer import installer
from tests.testbed.web import Web

from .audit_scene import TOKENS, Audit, Scene, at, by_root, conda_settings, replaced
from .drift import Drift
from .drifts import DRIFTS, OWN
from .late_drifts import OLD

pytestmark = pytest.mark.testbed

SAMPLED = 1  # round of a sample
ACCOUNTS = {"lrz": 8, "dfki": 4, "pegasus": 1, "wilson": 3, "daint": 2, "narval": 3}
SHELLS = {"pegasus": "/usr/bin/zsh", "wilson": "/bin/tcsh", "narval": "/usr/bin/fish"}


class Planted(NamedTuple):
    """A drift on an account."""

    account: Any
    drift: Drift

    def words(self, command: str) -> str:
        """The command for this account."""
        return command.format(home=self.account.home, user=self.account.user, project=self.account.project)


class Result(NamedTuple):
    """What came of it."""

    planted: Planted
    found: list[str]
    places: list[str]
    fixes: list[str]
    mended: str


@pytest.fixture(scope="module")
def scene(bed: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    accounts = []
    for cluster, count in ACCOUNTS.items():
        for number in range(count):  # a project of its own: what the site does to it, it does to no other account
            project = f"{cluster}{number}"
            accounts.append(bed.new_account(cluster, SHELLS.get(cluster, "/bin/bash"), project=project, skel=True))
    folder = tmp_path_factory.mktemp("drift")
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
        here = Scene(bed, folder, accounts, settings)
        ran = here.onboard()
        assert ran.code == 0, ran.text
        replaced(here.environment["XDG_STATE_HOME"], OLD)
        for account in accounts:
            by_root(account, f"tar -cpPf /var/tmp/{account.user}.tar {account.home}")
        yield here


def rounds(accounts: list[Any]) -> Iterator[list[Planted]]:
    """Every drift once, or a sample of them; at most one on each account at a time."""
    waiting = {name: sample(drifts, SAMPLED * ACCOUNTS[name], name) for name, drifts in DRIFTS.items()}
    while any(waiting.values()):
        yield [Planted(one, waiting[one.cluster.name].pop(0)) for one in accounts if waiting[one.cluster.name]]


def plant(scene: Scene, planted: list[Planted]) -> None:
    for one in planted:
        if one.drift.do:
            at(one.account, one.words(one.drift.do))
        if one.drift.site:
            by_root(one.account, one.words(one.drift.site))
    scene.declare({one.account.name: {**one.drift.settings} for one in planted if one.drift.settings})


def mended(scene: Scene, planted: Planted, fixes: list[Fix]) -> str:
    """Do what the fixes say, a command as it stands and a sentence by hand; what went wrong thereby."""
    problems = []
    if planted.drift.by_hand:
        by_hand = by_root if planted.drift.site else at
        by_hand(planted.account, planted.words(planted.drift.by_hand))
    for fix in fixes:
        for number, part in enumerate(said(fix)):
            if part.is_command:
                asking = [one for one in ("mend", "offboard") if f"{one}.yml" in part.text]  # nobody is at a terminal
                done = scene.pasted(part.text + "".join(f" -e {one}_sure=true" for one in asking))
                problems += [f"{part.text}: {done.stdout[-800:]}{done.stderr[-300:]}"] if done.returncode else []
            elif number < len(fix) - 1 and not planted.drift.by_hand:
                problems.append(f"a sentence, and nothing to do by hand: {part.text}")
    return "; ".join(problems)


def different(fixes: Iterable[Fix]) -> list[Fix]:
    """Each fix once, always in the same order."""
    return [fix for _text, fix in sorted({in_one_line(fix): fix for fix in fixes}.items())]


def results(scene: Scene, planted: list[Planted], audit: Audit, again: Audit, problems: list[str]) -> Iterator[Result]:
    for one, problem in zip(planted, problems, strict=True):
        found = sorted(f"{f['rule']} {f['class']} {f['cause']} {f['severity']}" for f in audit.of(one.account))
        left = [f"still {f['rule']}: {f['text']}" for f in again.of(one.account)]
        fixes = sorted({f"{f['text']} | {in_one_line(f['fix'])}" for f in audit.of(one.account)})
        places = [f["place"] for f in audit.of(one.account) if f["place"]]
        yield Result(one, found, places, fixes, "; ".join([problem] * bool(problem) + left))


def is_right(result: Result) -> bool:
    """Whether the findings are those of the drift, and where it is."""
    drift, place = result.planted.drift, result.planted.words(result.planted.drift.place)
    in_place = not place or (bool(result.places) and all(one.startswith(place) for one in result.places))
    return result.found == sorted(drift.finds) and in_place


def line(result: Result) -> str:
    drift, found = result.planted.drift, ", ".join(dict.fromkeys(result.found)) or "nothing"
    wanted = f"WANTED {', '.join(drift.finds)} at {drift.place or 'any place'}, not {result.places}"
    right = "as expected" if is_right(result) else wanted
    return f"{result.planted.account.cluster.name:8} {drift.name:58} {found:36} {right:12} {result.mended or 'mended'}"


def test_each_drift_is_found_alone_and_mended_by_what_its_finding_says(
    scene: Scene, say: Callable[[str], None]
) -> None:
    every: list[Result] = []
    others: list[str] = []
    for planted in rounds(scene.accounts):
        plant(scene, planted)
        audit = scene.audit()
        touched = {one.account.name for one in planted}
        others += [f"{one['account']}: {one['text']}" for one in audit.findings if one["account"] not in touched]
        fixes = [different(f["fix"] for f in audit.of(one.account)) for one in planted]
        with ThreadPoolExecutor(9) as pool:
            problems = list(pool.map(lambda pair: mended(scene, *pair), zip(planted, fixes, strict=True)))
        again = scene.audit()
        every += results(scene, planted, audit, again, problems)
        scene.declare()
        for one in planted:
            restore(scene, one, again)
    print("", *map(line, every), f"{len(every)} drifts", sep="\n")
    wrong = [one for one in every if one.mended or not is_right(one)]
    assert not wrong, "\n".join(f"{line(one)}\n    " + "\n    ".join(one.fixes) for one in wrong)
    assert not others
    say(f"drifts found alone, and mended: {len(every)} of {sum(map(len, DRIFTS.values()))}")
    assert len(every) >= (110 if EXHAUSTIVE else 15)


def restore(scene: Scene, planted: Planted, audit: Audit) -> None:
    """After a drift that was not mended, or that was mended for other settings, begin the next one from clean."""
    if audit.of(planted.account) or planted.drift.settings:
        account = planted.account
        by_root(account, f"find {account.home} -mindepth 1 -delete; tar -xpPf /var/tmp/{account.user}.tar")
        ran = scene.onboard("-l", account.name)
        assert ran.code == 0, (planted.drift.name, ran.text)
