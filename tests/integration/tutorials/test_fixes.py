# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of fixes: each rule, the fix that its findings offer, and what that did to a lived-in home."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.rules.catalogue import RULES

from tests.effort import EXHAUSTIVE
from tests.integration.audit.audit_scene import Scene, at
from tests.integration.audit.drift import ENROOT, Drift
from tests.integration.audit.drifts import DAINTS, DRIFTS
from tests.integration.audit.planting import ACCOUNTS, Planted, by_hand, plant, planting_scene, restore, rounds
from tests.integration.runs import REPOSITORY

from .fixes import Counted, Home, Row, commands, counted, kind_of, pasted, same
from .fixes_shown import states
from .laying import lay
from .lived_in import FOREIGN, HOMES, everywhere

pytestmark = pytest.mark.testbed

FEW = {"lrz": 1, "dfki": 1, "pegasus": 1, "wilson": 1, "daint": 1, "narval": 1}
ROLES = (".credentials", ".netrc", ".netrc.bak", ".ngc/config", "huggingface/token", "docker-config.json", "usrun.sh",
         "/miniconda3", ".condarc", "_history")  # fmt: skip
LINKS = ("work", "wclustre", "dss", "loco", "scratch", "data", "projects")
LEFT = "what the tutorials left"
NO_DRIFT = {  # rules that nothing on an account can break, and where they are tested
    "SEC-007": "onboarding writes no such line; unit/audit_checks/test_enroot_lines_check.py",
    "KEY-007": "a date in the keyring; unit/audit/test_key_ages.py",
    "KEY-008": "a key's form in the keyring; unit/audit/test_key_ages.py",
    "KEY-011": "a rotation's record; rotation/test_rotate_trouble.py",
    "PKG-006": "wants modules; jobs/test_python_envs.py",
    "PKG-007": "wants modules; jobs/test_python_envs.py",
    "JOB-001": "wants Slurm; jobs/test_slurm_offers.py",
    "JOB-002": "wants Slurm; jobs/test_slurm_offers.py",
    "JOB-003": "wants Slurm; jobs/test_slurm_offers.py",
    "JOB-004": "wants Slurm; jobs/test_slurm_offers.py",
    "PRO-002": "wants two probes; unit/probe/test_comparison.py",
    "JOB-005": "wants Slurm; unit/audit_checks/test_job_requests_check.py",
    "JOB-006": "wants Slurm; unit/audit_checks/test_job_requests_check.py",
    "USE-004": "wants a file system of one's own; audit/plants/test_plants.py",
    "IMG-001": "wants a registry; jobs/test_container_images.py",
    "IMG-002": "wants a registry; jobs/test_container_images.py",
    "OWN-001": "wants a file of the user's on this machine; onboard/test_own_things.py",
    "OWN-002": "wants a file of the user's on this machine; onboard/test_own_things.py",
    "SES-001": "a ticket's or certificate's end; onboard/test_certificate_login.py",
    "PRO-001": "a date in a profile; unit/audit/test_local_checks.py",
    "STP-001": "a step of a person's; unit/audit/test_local_checks.py",
    "STP-002": "a step of a person's; unit/audit/test_local_checks.py",
    "RUN-002": "an account that cannot be reached; audit/test_audit_ends.py",
    "RUN-003": "a receipt that is damaged; onboard/test_receipts.py",
}


def live_in(account: Any) -> None:
    """Lay what the tutorials leave, but for what roles keep and the drifts are about."""
    things = HOMES.get(account.cluster.name, everywhere(account.cluster.name))
    rest = {
        path: thing
        for path, thing in things.items()
        if not (path.partition("/")[0] in LINKS or any(part in f"/{path}" for part in ROLES))
    }
    lay(account, rest)


Planting = tuple[Scene, dict[str, Home]]


@pytest.fixture(scope="module")
def planting(bed: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planting]:
    """Lived-in accounts that are onboarded, with lines of the user's own in the files that roles write."""
    laid: dict[str, set[str]] = {}

    def live(account: Any) -> None:
        live_in(account)
        laid[account.name] = {*account.tree()}

    counts = ACCOUNTS if EXHAUSTIVE else FEW
    with planting_scene(bed, tmp_path_factory.mktemp("fixes"), counts, live) as scene:
        for account in scene.accounts:
            file = {"lrz": ENROOT, "dfki": ENROOT, "daint": DAINTS}.get(account.cluster.name)
            if file:
                at(account, f"cat >> {file} <<'END'\n{FOREIGN}END")
        yield scene, {one.name: Home(one, laid[one.name]) for one in scene.accounts}


def remedied(scene: Scene, home: Home, drift: str, new: list[dict[str, Any]]) -> list[Row]:
    """Run the commands of these findings' fixes, each once; give their rows, which lack what came of them."""
    before, offered, problems = states(home.account), [], []
    for command in dict.fromkeys(command for one in new for command in commands(one["fix"])):
        code, text, shown = pasted(scene, command)
        offered += shown
        problems += [f"exit {code}: {text[-500:]}"] if code not in (0, 2) or "Traceback" in text else []
    changed = [*home.changes(before, offered, new), *problems]
    return [Row(one["rule"], kind_of(one["fix"]), drift, " ; ".join(commands(one["fix"])), "", changed) for one in new]


def take(scene: Scene, planted: list[Planted], homes: dict[str, Home], base: dict[str, Counted]) -> list[Row]:
    """Do what the fixes of new findings say, on all accounts; give the rows, and bring base up to date."""
    audit, news = scene.audit(), []
    for one in planted:
        here, old = counted(audit, one.account), base.get(one.account.name, Counter())
        news.append([found for found in audit.of(one.account) if here[same(found)] > old[same(found)]])
        by_hand(one)
    with ThreadPoolExecutor(3) as pool:
        work = [
            pool.submit(remedied, scene, homes[one.account.name], one.drift.name, new)
            for one, new in zip(planted, news, strict=True)
        ]
    again, rows = scene.audit(), []
    for one, new, done in zip(planted, news, work, strict=True):
        left, old = counted(again, one.account), base.setdefault(one.account.name, Counter())
        gone = [left[same(found)] <= old[same(found)] for found in new]
        rows += [
            row._replace(result="gone" if is_gone else "stays")
            for row, is_gone in zip(done.result(), gone, strict=True)
        ]
        if one.drift.name == LEFT:
            base[one.account.name] = left
        elif not all(gone) or one.drift.settings:
            scene.declare()
            restore(scene, one.account)
            base.pop(one.account.name)
    return rows


def test_what_a_fix_prints_fixes_its_finding_and_nothing_else(planting: Planting, say: Callable[[str], None]) -> None:
    scene, homes = planting
    base: dict[str, Counted] = {}
    rows = take(scene, [Planted(one, Drift(LEFT, ())) for one in scene.accounts], homes, base)
    for planted in rounds(scene.accounts, "fixes"):
        if len(base) < len(scene.accounts):
            audit = scene.audit()
            base = {one.name: counted(audit, one) for one in scene.accounts}
        plant(scene, planted)
        rows += take(scene, planted, homes, base)
        scene.declare()
    rows += [Row(rule, "-", f"not planted: {why}", "", "", ()) for rule, why in NO_DRIFT.items()]
    (REPOSITORY / ".cache").mkdir(exist_ok=True)
    table = "\n".join(map(str, sorted(rows)))
    (REPOSITORY / ".cache" / "fixes.txt").write_text(f"{table}\n")
    print(table)
    wrong = [row for row in rows if row.changed or (row.command and row.result != "gone")]
    assert not wrong, "\n".join(map(str, wrong))
    say(f"findings whose fix was run as printed, in lived-in homes: {sum(bool(row.command) for row in rows)}")


def test_every_rule_is_in_the_table() -> None:
    planted = {found.split()[0] for drifts in DRIFTS.values() for one in drifts for found in one.finds}
    assert not planted & NO_DRIFT.keys()
    assert {*planted, *NO_DRIFT, "IMG-003", "KEY-010"} == RULES.keys()
