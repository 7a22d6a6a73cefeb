# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps that fix a finding: commands, or the rule's advice if no command can fix it.

A path that an account reports gets into a command only if it has no special characters, because users paste commands.
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
KEEP_KEY = "This key is not in your keyring. If you need it, store it first: keyring set hpc.onboard NAME."
FORGED = (
    "Inspect ~/.config/hpc.onboard/receipt.json. If you do not know who wrote this entry, move the file away: "
    "mv -n ~/.config/hpc.onboard/receipt.json ~/receipt.json.damaged"
)
NOT_OURS = (
    "No change is needed. If you do not know why the receipt has this entry, inspect "
    "~/.config/hpc.onboard/receipt.json."
)
COPY = "First copy the data that you need from the old folder. Onboarding changes the link but does not move data."
BLOCKED_BY = {  # the cause of a blocked resource -> what the user does before onboarding can fix it
    "site": "Ask the site for the new path, or correct the path in the accounts file.",
    "time": "Ask the site to create the folder again, or correct the path in the accounts file.",
}


class FixCommands:
    """The fixes of one run.

    start: the form of the commands, as the user started this run. sandboxes: accounts that get no command for their
    login node, because it would run on this machine.
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
        if finding["capability"] != "watch" and rule != "RUN-001":  # of a role; RUN-001 says what could not be checked
            return [*self._prepare_onboarding(finding, account), self._onboard(finding, account)]
        return [self._advise(finding, onboard["command"])]

    def _onboard(self, finding: FoundDifference, account: str) -> FixStep:
        """Return the command that onboards the account again, limited to the role of the finding."""
        tags = [] if finding["capability"] == "resources" else ["--tags", finding["capability"]]
        consent = ["--replace"] if finding.get("case") == "unknown_key" else []
        return local_command(*self._start.command("onboard", ["-l", account, *tags, *consent]))

    def _prepare_onboarding(self, finding: FoundDifference, account: str) -> Fix:
        """Return the steps that come before onboarding: to move or copy the user's own files, or an advice."""
        if finding.get("case") == "unknown_key":
            return []  # onboarding keeps a copy of the unknown key
        if not finding.get("blocked"):
            return [advice(COPY)] if (finding["rule"], finding["cause"]) == ("LNK-002", "site") else []
        path = finding["in_the_way"]  # empty if the resource is blocked by something else
        if PLAIN_PATH.fullmatch(path):
            ansible = None if account in self._sandboxes else ["ansible", *self._start.accounts(), account]
            return [account_command(set_aside_command(path), ansible)]
        return [advice(BLOCKED_BY.get(finding["cause"], BLOCKED))]

    def _advise(self, finding: FoundDifference, onboard: list[str]) -> FixStep:
        """Return the rule's advice for the case of the finding. onboard: the command, as words."""
        place, rule = finding["place"], RULES[finding["rule"]]
        unplaced = rule.cases.get(UNPLACED) if place.startswith("$") else None
        text = unplaced or rule.cases.get(finding.get("case", "")) or rule.advice
        return advice(
            text.format(
                place=place or "it",
                rotate=shlex.join(self._start.command("rotate")),
                retire=shlex.join(self._start.command("rotate", ["--retired"])),
                onboard=shlex.join(onboard),
                keep=KEEP_KEY,
                folder=posixpath.dirname(place) if PLAIN_PATH.fullmatch(place) else "FOLDER",
            )
        )
