# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps that fix a finding: commands, and the rule's advice where no command should.

A place that an account named goes into a command only if it is a plain path, because users will paste the line.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Container
from typing import TYPE_CHECKING

from ...module_utils._receipt.set_aside import set_aside_command
from .._documents.fix import BLOCKED, Fix, FixStep, account_command, advice, local_command
from .._input.command_line import Invocation
from .rules.catalogue import RULES
from .rules.rule import UNPLACED

if TYPE_CHECKING:
    from .._documents.finding import FoundDifference

PLAIN_PATH = re.compile(r"~?/[A-Za-z0-9_./+@%=,-]+~?")
KEEP_KEY = "This key is not in your keyring. Keep it first if you need it: keyring set hpc.onboard NAME."
FORGED = "Inspect ~/.config/hpc.onboard/receipt.json, and move it away if you do not know who wrote this entry."
NOT_OURS = "Keep it as it is. If you do not know why it is recorded, inspect ~/.config/hpc.onboard/receipt.json."
COPY = "Copy what you still need from the old place: onboarding changes the link and moves no data."
BLOCKED_BY = {  # the cause of a blocked resource -> what the user does before onboarding can fix it
    "site": "Ask the site where it is now, or correct its path in the accounts file.",
    "time": "Ask the site for it, or correct its path in the accounts file.",
}


class FixCommands:
    """The fixes of one run.

    start: how the run was started, which other commands repeat. sandboxes: accounts that get no command for their login
    node, because it would run on this machine.
    """

    def __init__(self, start: Invocation, sandboxes: Container[str] = ()) -> None:
        self._start, self._sandboxes = start, sandboxes

    def find_fix(self, finding: FoundDifference, account: str) -> Fix:
        """Return the steps that fix a finding of an account."""
        rule, onboard = finding["rule"], local_command(*self._start.command("onboard", ["-l", account]))
        if "auto_fix" in finding:
            return [local_command(*self._start.command("fix", ["-l", account]))]
        if rule == "ORP-001" and finding.get("in_the_way"):
            return [advice(NOT_OURS)]
        if rule == "ORP-001":
            return [local_command(*self._start.command("offboard", ["-l", account, "--only", "undeclared"]))]
        if rule == "RUN-004":
            return [onboard] if finding["class"] == "missing" else [advice(FORGED), onboard]
        if finding["capability"] != "watch" and rule != "RUN-001":
            return [*self._before_onboarding(finding, account), self._onboard(finding, account)]
        return [self._advise(finding, onboard["command"])]

    def _onboard(self, finding: FoundDifference, account: str) -> FixStep:
        tags = [] if finding["capability"] == "resources" else ["--tags", finding["capability"]]
        consent = ["--replace"] if finding.get("case") == "unknown_key" else []
        return local_command(*self._start.command("onboard", ["-l", account, *tags, *consent]))

    def _before_onboarding(self, finding: FoundDifference, account: str) -> Fix:
        """Return the steps before onboarding can fix it: moving or copying what it does not touch, or an advice."""
        if finding.get("case") == "unknown_key":
            return []  # onboarding keeps a copy, as the finding says
        if not finding.get("blocked"):
            return [advice(COPY)] if (finding["rule"], finding["cause"]) == ("LNK-002", "site") else []
        path = finding["in_the_way"]
        if PLAIN_PATH.fullmatch(path):
            ansible = None if account in self._sandboxes else ["ansible", *self._start.accounts(), account]
            return [account_command(set_aside_command(path), ansible)]
        return [advice(BLOCKED_BY.get(finding["cause"], BLOCKED))]

    def _advise(self, finding: FoundDifference, onboard: list[str]) -> FixStep:
        place, rule = finding["place"], RULES[finding["rule"]]
        unplaced = rule.cases.get(UNPLACED) if place.startswith("$") else None
        text = unplaced or rule.cases.get(finding.get("case", "")) or rule.advice
        return advice(
            text.format(
                place=place or "it",
                rotate=shlex.join(self._start.command("rotate")),
                resume=shlex.join(self._start.command("rotate", ["--resume"])),
                onboard=shlex.join(onboard),
                keep=KEEP_KEY,
                folder=posixpath.dirname(place) if PLAIN_PATH.fullmatch(place) else "FOLDER",
            )
        )
