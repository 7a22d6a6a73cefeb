# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs over accounts that people live in, and what became of their own: byte for byte, mode for mode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.integration.audit.audit_scene import TOKENS, Scene, replaced
from tests.integration.audit.late_drifts import OLD
from tests.integration.runs import KEY, Ran, play

from .fixes_shown import Fix, State, carry_over, is_shown, states
from .laying import lay
from .lived_in import HOMES, SHELLS, UNKNOWN

Trees = dict[str, dict[str, Any]]


class Life:
    """Five lived-in accounts, and what the runs over them have shown so far that they would change."""

    def __init__(self, bed: Any, folder: Path, without: Sequence[str] = ("conda",)) -> None:
        """without: roles that no account is to have."""
        self.accounts = [bed.new_account(name, SHELLS.get(name, "/bin/bash")) for name in HOMES]
        for account in self.accounts:
            lay(account, HOMES[account.cluster.name])
        settings = {one.name: {"without": list(without), "vars": TOKENS} for one in self.accounts}
        self.scene = Scene(bed, folder, self.accounts, settings)
        replaced(self.scene.environment["XDG_STATE_HOME"], OLD)
        self.before = self.trees()
        self.expected = {one.name: states(one) for one in self.accounts}

    def play(self, playbook: str, *more: str) -> Ran:
        """Run a playbook over all five."""
        order = ("-i", str(self.scene.inventory), *more)
        return play(self.scene.bed, *order, playbook=playbook, environment=self.scene.environment)

    def take(self, step: str) -> Ran:
        """Take a step of a life by its name."""
        if step == "fix":
            return self._fix()
        if step == "audit":
            return self.scene.audit().ran
        orders = {
            "plan": ("onboard.yml", "--check", "--diff"),
            "preflight": ("preflight.yml",),
            "adopt": ("adopt.yml", "-e", "adopt_sure=true"),
            "onboard": ("onboard.yml",),
            "replace": ("onboard.yml", "-e", "onboard_replace=true"),
            "offboard": ("offboard.yml", "-e", "offboard_sure=true"),
        }
        return self.play(*orders[step])

    def trees(self) -> Trees:
        """Return every entry of every account."""
        return {one.name: dict(one.tree()) for one in self.accounts}

    def _texts(self) -> Iterator[tuple[tuple[str, str], bytes]]:
        """Yield account, path and bytes of each file."""
        for account in self.accounts:
            for path, entry in account.tree().items():
                if entry.kind == "file":
                    yield (account.name, path), account.read(path)

    def lost_keys(self) -> list[str]:
        """Return the unknown keys that some file held at first and none holds now."""
        now = b"\n".join(text for _place, text in self._texts())
        return [key for key in UNKNOWN if key.encode() not in now]

    def changed(self) -> list[str]:
        """Return what is not as it was at first, but for what fixes changed as they had shown it."""
        found = []
        for account in self.accounts:
            now = states(account)
            for path, then in self.expected[account.name].items():
                if now.get(path) not in (then, _followed(then)):
                    found.append(f"{account.name}: {path}: {then} -> {now.get(path, 'gone')}")
        return found

    def left(self) -> list[str]:
        """Return what is on the accounts that was not there at first."""
        return [
            f"{one.name}: {path}" for one in self.accounts for path in one.tree() if path not in self.before[one.name]
        ]

    def _fix(self) -> Ran:
        """Fix, and expect from then on what was shown of it; whatever else it changed stands out at the end."""
        before = {one.name: states(one) for one in self.accounts}
        ran = self.play("fix.yml", "-e", "fix_sure=true")
        offered = [one for found in ran.results for one in found["result"].get("offered") or ()]
        for account in self.accounts:
            now = states(account)
            for path, then in before[account.name].items():
                if now.get(path) != then:
                    fixes = [Fix(one, account) for one in offered if one["account"] == account.name]
                    here = str(account.path(path, follow=False))
                    shown = [fix for fix in fixes if fix.is_about(here)]
                    if is_shown(then, now.get(path), shown):
                        carry_over(self.expected[account.name], path, then, now.get(path))
        return ran


def _followed(state: State) -> State:
    """Return a file as onboarding leaves it: an earlier version of a key is the current one, and one line is enough."""
    lines = state.content.decode("latin-1").replace(OLD, KEY).splitlines(keepends=True)
    once = [line for at, line in enumerate(lines) if line not in lines[:at] or not line.startswith("machine")]
    return state._replace(content="".join(once).encode("latin-1"))
