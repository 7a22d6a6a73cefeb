# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps that fix a finding: commands, and a sentence where no command should.

A place that an account named goes into a command only when it is a plain path, for a person will paste the line.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

from ...module_utils._receipt.set_aside import set_aside_command
from .._documents.fix import Fix, FixStep, account_command, advice, local_command
from .._input.command_line import Start, replacing

if TYPE_CHECKING:
    from .._documents.finding import FoundDifference

PLACE = re.compile(r"~?/[A-Za-z0-9_./+@%=,-]+~?")

SENTENCES = {
    "SEC-001": "Let nobody else at {place}: its owner must shut it.",
    "SEC-002": "Let nobody else write in {place}, or keep the key elsewhere.",
    "SEC-003": "Take the default access list off {place}, if nobody needs it: setfacl -k",
    "SEC-006": "Look at {place}, keep what its original lacks, and remove it.",
    "SEC-009": "Remove {place} when no pull is under way.",
    "KEY-009": "Bring what you need of {place} into the file that is read, then remove it there.",
    "LNK-003": "Let {place} lead somewhere, or remove it.",
    "LNK-005": "Let {place} lead to storage that lasts: move what is behind it first.",
    "ENV-001": "Let its program keep it elsewhere, by the variable that docs/rules.md names, then look at {place}.",
    "SEC-004": "Take the key out of {place} by hand, when what reads it there gets its key in another way.",
    "SEC-005": "Take the key out of {place} and out of git's history, and make a new one: {rotate}",
    "SEC-007": "Onboarding leaves this line as it is. Delete {place}, then run: {onboard}. For a machine that"
    " hpc-onboard does not keep, write the password itself there.",
    "SEC-008": "Take the variable out of {place}: the file with the key is enough.",
    "KEY-003": "Keep one line for each machine in {place}.",
    "KEY-004": "Edit {place} by hand as the finding says. Onboarding leaves this line as it is.",
    "KEY-005": "Make a new key and bring it everywhere: {rotate}",
    "KEY-006": "Give the key its services at its issuer's page, or make a new one: {rotate}",
    "KEY-007": "Bring a new key everywhere: {rotate}",
    "KEY-008": "Change to a personal key: {rotate}",
    "KEY-010": "Hand the key to each job that needs it when you submit it, in the job's environment.",
    "KEY-011": "Deactivate it at its issuer's page, then: {rotate} -e rotate_resume=true",
    "IMG-003": "Move {place} to a storage area, or declare it in container_images and remove it.",
    "ENV-003": "Let {place} print for people at a terminal only.",
    "ENV-004": "Look at what {place} runs.",
    "ENV-005": "Take {place}, or its folder, out of PATH, or put it behind the folder of hpc-onboard's script.",
    "ENV-007": "Take the line out of {place}, or declare its value in the accounts file.",
    "PKG-001": "Save each environment first: conda env export -n NAME > NAME.yml. Make it again where the site allows"
    " it (docs/rules.md), then remove {place}. Do not move the folder: its programs name their own path.",
    "PKG-002": "Take the block out of {place}: conda init --reverse",
    "PKG-003": "Name the channels in {place}: conda config --remove channels defaults",
    "JOB-001": "Choose one of yours in the accounts file (scheduler: {{account: NAME}}), or ask your project's leader.",
    "JOB-002": "Name another partition, and tell the profile's keepers what changed: {place}.",
    "JOB-003": "Name another quality of service than {place}, or ask the site for it.",
    "JOB-004": "Choose one in the accounts file: scheduler: {{account: NAME}}",
    "USE-001": "Make room: {place}.",
    "USE-002": "Make room: {place}.",
    "USE-003": "Copy what you still need to storage that lasts: {place}. What is gone has to be made again.",
    "SES-001": "Renew it, then run again.",
    "STP-001": "Do it, and say so.",
    "STP-002": "Do it again, and say so.",
    "PRO-001": "Look at the site's documentation, then tell the profile's keepers what changed.",
    "RUN-003": "Do what the finding says, or take the receipt back from a backup.",
    "RUN-001": "See the problems above, then run again.",
}

CASES = {  # of rules whose cases need different advice
    ("SEC-004", "unknown_key"): "{keep} Then take the line out of {place}.",
    ("SEC-006", "unknown_key"): "{keep} Then remove {place}.",
    ("SEC-008", "unknown_key"): "{keep} Then take the variable out of {place}.",
    ("SEC-004", "application"): "An application reads {place}, so hpc-onboard does not edit it. Give the application"
    " its key in another way, keep the key in your keyring if you need it (keyring set hpc.onboard NAME), then take it"
    " out there.",
    ("SEC-004", "no_replacement"): "No file that the program reads in place of this variable holds the key, so"
    " what runs {place} would have none. Set up the role that keeps the program's file, then take the line out.",
    ("SEC-008", "leads_past"): "Let the accounts file name the file that it leads to (path), or take the variable out"
    " of {place} once nothing else needs what it leads to.",
    ("ENV-001", "not_made_again"): "Keep {place}: no program makes it again. To have it elsewhere, move it by its own"
    " program (of enroot: enroot export, then enroot create).",
    ("ENV-005", "not_on_path"): "Log in again; if it is still missing, look for what sets PATH after the line of"
    " hpc-onboard in your start-up file, and add the folder there: export PATH={folder}:$PATH (in tcsh: set path = ("
    "{folder} $path)).",
}
KEEP = "This key is not in your keyring. Keep it first if you need it: keyring set hpc.onboard NAME."

UNPLACED = {  # of what is set by nothing that was looked at
    "ENV-007": "Find what sets {place}, which no start-up file of yours does in words (a module, say), and let it not.",
    "SEC-008": "Find what sets {place}, which no start-up file of yours does in words, and let it not.",
}

FORGED = "Look at ~/.config/hpc.onboard/receipt.json, and move it away if you do not know who wrote that."
YOURS = "Keep it as it is. If you do not know why it is noted, look at ~/.config/hpc.onboard/receipt.json."
YOURSELF = "Do what the finding says."
COPY = "Copy what you still need of the old place to the new one: the link is turned, and what lies there stays there."
FIRST = {  # what a person does, by who moved, before onboarding can put right what it would not touch
    "site": "Ask the site where it is now, or put its path right in the accounts file.",
    "time": "Ask the site for it, or put its path right in the accounts file.",
}


class Commands:
    """The commands of one run.

    start: how the run was started, and so how others are. practised: the accounts that are sandboxes. Nothing is run
    there by hand: it would be run on this machine.
    """

    def __init__(self, start: Start, practised: Container[str] = ()) -> None:
        self._start, self._practised = start, practised

    def fixes(self, finding: FoundDifference, account: str) -> Fix:
        """The steps that fix a finding of an account."""
        if "auto_fix" in finding:
            return [local_command(*self._start.command("fix", ["-l", account]))]
        if finding["rule"] == "ORP-001":
            if finding.get("in_the_way"):
                return [advice(YOURS)]
            return [local_command(*self._start.command("offboard", ["-l", account, "-e", "offboard_only=undeclared"]))]
        if finding["rule"] == "RUN-004":
            again: FixStep = local_command(*self._start.command("onboard", ["-l", account]))
            return [again] if finding["class"] == "missing" else [advice(FORGED), again]
        if finding["capability"] != "watch" and finding["rule"] != "RUN-001":
            return [*self._first(finding, account), self._again(finding, account)]
        return [self._by_hand(finding, account)]

    def _again(self, finding: FoundDifference, account: str) -> FixStep:
        tags = [] if finding["capability"] == "resources" else ["--tags", finding["capability"]]
        agreed = replacing(self._start) if finding.get("case") == "unknown_key" else []
        return local_command(*self._start.command("onboard", ["-l", account, *tags, *agreed]))

    def _first(self, finding: FoundDifference, account: str) -> Fix:
        """What goes before onboarding: a move of what it would not touch, a copy of what it leads away from, a word."""
        if finding.get("case") == "unknown_key":
            return []  # the finding says that a copy is kept
        if not finding.get("blocked"):
            return [advice(COPY)] if (finding["rule"], finding["cause"]) == ("LNK-002", "site") else []
        path = finding["in_the_way"]
        if PLACE.fullmatch(path):
            return [self._there(set_aside_command(path), account)]
        return [advice(FIRST.get(finding["cause"], YOURSELF))]

    def _by_hand(self, finding: FoundDifference, account: str) -> FixStep:
        place, rule = finding["place"], finding["rule"]
        rotate = shlex.join(self._start.command("rotate"))
        onboard = shlex.join(self._start.command("onboard", ["-l", account]))
        said = UNPLACED.get(rule) if place.startswith("$") else None
        said = said or CASES.get((rule, finding.get("case", ""))) or SENTENCES.get(rule, "Look at {place}.")
        return advice(
            said.format(
                place=place or "it",
                rotate=rotate,
                onboard=onboard,
                keep=KEEP,
                folder=posixpath.dirname(place) if PLACE.fullmatch(place) else "FOLDER",
            )
        )

    def _there(self, words: Sequence[str], account: str) -> FixStep:
        return account_command(
            words, None if account in self._practised else ["ansible", *self._start.accounts(), account]
        )
