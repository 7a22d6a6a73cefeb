# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps that fix a finding: commands, or the rule's advice if no command can fix it.

A path that an account reports gets into a command only if it has no special characters, because users paste commands.
The role of a finding (its "capability") is "watch" if an audit check reported it, and "resources" if the accounts file
declares the resource without a role. The receipt is the record, on the account, of what hpc-onboard created.
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
KEEP_KEY_ADVICE = "This key is not in your keyring. If you need it, store it first: keyring set hpc.onboard NAME."
FORGED_ADVICE = (
    "Inspect ~/.config/hpc.onboard/receipt.json. If you do not know who wrote these entries, rename the file: "
    "mv -n ~/.config/hpc.onboard/receipt.json ~/receipt.json.damaged"
)
NO_CHANGE_ADVICE = (
    "No change is needed. If you do not know why the receipt has this entry, inspect "
    "~/.config/hpc.onboard/receipt.json."
)
COPY_ADVICE = (
    "Before you change the link, copy the data that you need from its current target. Onboarding does not move data."
)
BLOCKED_ADVICE = {  # the cause of a blocked resource -> what the user does before onboarding can fix it
    "site": "Ask the site for the new path, or correct the path in the accounts file.",
    "time": "Ask the site to create the folder again, or correct the path in the accounts file.",
}


class FixCommands:
    """The fixes of one run.

    invocation: the form of all commands, as the user started this run. sandboxes: accounts that get no command for
    their login node, because the command would run on this machine.
    """

    def __init__(self, invocation: Invocation, sandboxes: Container[str] = ()) -> None:
        self._invocation, self._sandboxes = invocation, sandboxes

    def find_fix(self, finding: FoundDifference, account: str) -> Fix:
        """Return the steps that fix a finding of an account. account: its name."""
        rule = finding["rule"]
        onboard = local_command(*self._invocation.command("onboard", ["-l", account]))
        if "auto_fix" in finding:  # a change that `hpc-onboard fix` can make
            return [local_command(*self._invocation.command("fix", ["-l", account]))]
        if rule == "ORP-001":  # a resource that is no longer declared
            if finding.get("in_the_way"):  # the user's own path, which offboarding does not remove
                return [advice(NO_CHANGE_ADVICE)]
            return [local_command(*self._invocation.command("offboard", ["-l", account, "--only", "undeclared"]))]
        if rule == "RUN-004":  # the receipt has lost entries, which onboarding restores, or has forged ones
            return [onboard] if finding["class"] == "missing" else [advice(FORGED_ADVICE), onboard]
        # Onboarding corrects a role's resources, unless they could not be measured (RUN-001).
        if finding["capability"] != "watch" and rule != "RUN-001":
            return [*self._prepare_onboarding(finding, account), self._onboard(finding, account)]
        return [self._advise(finding, onboard["command"])]

    def _onboard(self, finding: FoundDifference, account: str) -> FixStep:
        """Return the command that onboards the account again, limited to the role of the finding."""
        has_role = finding["capability"] != "resources"  # else the accounts file declares the resource without a role
        tags = ["--tags", finding["capability"]] if has_role else []
        # without this option, onboarding does not replace a key that hpc-onboard does not know
        replace = ["--replace"] if finding.get("case") == "unknown_key" else []
        return local_command(*self._invocation.command("onboard", ["-l", account, *tags, *replace]))

    def _prepare_onboarding(self, finding: FoundDifference, account: str) -> Fix:
        """Return what the user does before onboarding: move or copy files, or ask the site; [] if nothing is needed."""
        if finding.get("case") == "unknown_key":
            return []  # onboarding keeps a copy of the unknown key
        if not finding.get("blocked"):
            was_moved_by_site = (finding["rule"], finding["cause"]) == ("LNK-002", "site")  # the target of a link
            return [advice(COPY_ADVICE)] if was_moved_by_site else []
        path = finding["in_the_way"]  # empty unless a path of the user blocks the resource
        if PLAIN_PATH.fullmatch(path):  # the user moves the path with a command
            # the beginning of a command that runs on the account; None for a folder of this machine
            ansible_words = (
                None if account in self._sandboxes else ["ansible", *self._invocation.inventory_options(), account]
            )
            return [account_command(set_aside_command(path), ansible_words)]
        # Something else blocks the resource. BLOCKED tells the user to follow the text of the finding.
        return [advice(BLOCKED_ADVICE.get(finding["cause"], BLOCKED))]

    def _advise(self, finding: FoundDifference, onboard_command: list[str]) -> FixStep:
        """Return the rule's advice for the case of the finding, with its placeholders filled in.

        onboard_command: the arguments of the command that onboards the account.
        """
        place, rule = finding["place"], RULES[finding["rule"]]
        is_variable = place.startswith("$")
        advice_for_variable = rule.cases.get(UNPLACED) if is_variable else None
        key = ["--secret", finding.get("secret", "NAME")]  # a finding about a file does not know the name of its key
        # the most precise advice
        text = advice_for_variable or rule.cases.get(finding.get("case", "")) or rule.advice
        return advice(
            text.format(
                place=place or "it",  # a finding without a place is about its whole resource
                rotate=shlex.join(self._invocation.command("rotate", key)),
                retire=shlex.join(self._invocation.command("rotate", [*key, "--retired"])),
                onboard=shlex.join(onboard_command),
                keep=KEEP_KEY_ADVICE,
                folder=posixpath.dirname(place) if PLAIN_PATH.fullmatch(place) else "FOLDER",  # part of a command
            )
        )
