# SPDX-License-Identifier: GPL-3.0-or-later
"""How many drifts, planted by somebody who knew the documentation alone, one audit reports; and what it should not.

HPC_ONBOARD_PLANTS names another set than "open": one of the files plants_SET.yml.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.effort import exhaustive
from tests.integration.audit.audit_scene import Scene
from tests.integration.runs import REPOSITORY

from .judging import OWNERS, SEVERITIES, Verdict, beyond_controls, judge, listed, reported, why_missed
from .plants import Laid, compute, lay, set_up, things, with_accounts

PARTS = sorted(path.stem[len("plants_") :] for path in Path(__file__).parent.glob("plants_*.yml"))
HALF = os.environ.get("HPC_ONBOARD_PLANTS", "open")


def test_each_thing_can_be_judged() -> None:
    drifts = [one for part in PARTS for one in things(f"plants_{part}")]
    innocents = [one for part in PARTS for one in things(f"innocents_{part}")]
    rules = set(re.findall(r"^### (\w+-\d+)$", (REPOSITORY / "docs" / "rules.md").read_text(), re.MULTILINE))
    assert len(drifts) >= 250
    assert len(innocents) >= 120
    assert [name for name, number in Counter(one["id"] for one in [*drifts, *innocents]).items() if number > 1] == []
    assert [one["id"] for one in drifts if not (one["rule"] or one["what"])] == []
    assert {rule for one in drifts for rule in listed(one["rule"])} <= rules
    assert {cause for one in drifts for cause in listed(one["cause"])} <= OWNERS
    assert {one["severity"] for one in drifts} <= set(SEVERITIES)


@exhaustive
@pytest.mark.parametrize("half", [HALF])
def test_the_numbers_of_today(bed: Any, tmp_path: Path, say: Callable[[str], None], half: str) -> None:
    plants, innocents = things(f"plants_{half}"), things(f"innocents_{half}")
    laid = with_accounts(bed, [*plants, *innocents])
    compute(bed, laid)
    settings = {one.account.name: dict(one.thing["settings"]) for one in laid if "settings" in one.thing}
    scene = Scene(bed, tmp_path / "scene", [one.account for one in laid], settings)
    set_up(scene)
    lay(laid)
    audit = scene.audit(timeout=600)
    for one in laid:
        one.account.unhang()
    assert audit.report, audit.ran.text[-4000:]
    own = beyond_controls(laid, audit.findings)
    drifts = [one for one in laid if one.thing in plants]
    verdicts = [judge(one, own[one.account.name]) for one in drifts]
    false = {one.thing["id"]: reported(own[one.account.name]) for one in laid if one.thing in innocents}
    reasons = Counter(why_missed(one.laid, own[one.laid.account.name]) for one in verdicts if not one.found)
    text = "\n".join(summary(half, verdicts, {name: found for name, found in false.items() if found}, len(false)))
    text += "".join(f"\n  missed, reported: {reason}: {number}" for reason, number in reasons.items())
    text += "".join(f"\n  instead: {one}" for one in instead(verdicts, own))
    text += "\n" + unmeasured(laid, audit.report)
    save(half, text)
    say(text)


def summary(half: str, verdicts: list[Verdict], false: dict[str, list[Any]], innocents: int) -> list[str]:
    """Return recall by class, cause and line, and the misses and false alarms by name."""
    every = Counter(one.laid.thing["class"] for one in verdicts)
    found = Counter(one.laid.thing["class"] for one in verdicts if one.found)
    lines = [f"{half}: {found.total()} of {every.total()} drifts found ({100 * found.total() / every.total():.0f} %)"]
    lines += [f"  {name}: {found[name]} of {number}" for name, number in every.items()]
    for name in ("cause", "line"):
        asked = [getattr(one, name) for one in verdicts if getattr(one, name) is not None]
        lines.append(f"  {name}: right in {sum(asked)} of {len(asked)}")
    lines.append(f"  innocent: {len(false)} of {innocents} reported")
    lines += [f"  missed: {one.laid.thing['class']}: {one.laid.thing['id']}" for one in verdicts if not one.found]
    lines += [f"  wrong cause: {one.laid.thing['id']}: {_of(one, 'cause')}" for one in verdicts if one.cause is False]
    lines += [f"  wrong line: {one.laid.thing['id']}: {_of(one, 'place')}" for one in verdicts if one.line is False]
    lines += [f"  false alarm: {name}: {f['rule']} {f['text']}" for name, some in false.items() for f in some]
    return lines


def instead(verdicts: list[Verdict], own: dict[str, list[Any]]) -> list[str]:
    """Return what was found on the accounts of what was missed."""
    missed = [one.laid for one in verdicts if not one.found]
    return [
        f"{one.thing['id']}: {found['rule']} {found['severity']} {found['place'] or found['resource']}: {found['text']}"
        for one in missed
        for found in own[one.account.name]
    ]


def _of(verdict: Verdict, name: str) -> str:
    """Return a field of the findings that fit."""
    return ", ".join(sorted({str(finding[name]) for finding in verdict.fitting}))


def unmeasured(laid: list[Laid], report: dict[str, Any]) -> str:
    """Return how many accounts the audit could not measure."""
    states = Counter(row["state"] for row in report["accounts"])
    return f"  accounts: {len(laid)}, " + ", ".join(f"{number} {state}" for state, number in sorted(states.items()))


def save(half: str, text: str) -> None:
    """Write the numbers where they outlive the run; the other half's stay."""
    file = REPOSITORY / ".cache" / "plants.txt"
    file.parent.mkdir(exist_ok=True)
    before = file.read_text(encoding="utf-8").split("\n\n") if file.exists() else []
    kept = [part.strip() for part in before if part.strip() and not part.startswith(f"{half}:")]
    file.write_text("\n\n".join([*kept, text]) + "\n", encoding="utf-8")
