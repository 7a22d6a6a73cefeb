# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sends one plan to an account, then checks its jobs there until they have ended.

A plan has an entry for each resource, and the account answers with an outcome for each. A job is work that continues
on the account after the session, such as an installation. The receipt is the account's record of what hpc-onboard
created. A rotation replaces a key by a new version. Offers are the Slurm accounts and partitions that the user may use.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ...module_utils._core.errors import AccountError
from .._secrets.backends import MissingKey
from .._state import slurm_offers
from .._state.fingerprint_key import account_fingerprint, account_key, state_folder
from .._state.run_memory import BOARD
from .._text.sanitise import harmless

if TYPE_CHECKING:
    from .._documents.answer import AccountReceipt, KeyRotations
    from .._documents.declaration import PlanEntry
    from .._documents.outcome import JobProgress, ResourceOutcome
    from .account_session import AccountSession
    from .connection import Message

ASK_SLURM = ("scheduler", "slurm_rights", "site_probe")  # resource types that query Slurm
KEPT_KEYS = {"rotated", "unknown_key"}  # evidence of keys that are not replaced
PLAIN_PATH = re.compile(r"/[A-Za-z0-9_@%+=:,./-]+")  # sftp would execute what follows a line end


class Conversation:
    """The exchange with one account about one plan.

    receipt: the newest receipt that the account has sent, if any. seconds: the time that the account has worked.
    """

    def __init__(self, session: AccountSession, entries: list[PlanEntry], settings: Message) -> None:
        """entries: of the plan. settings: its other parts, of which "work" is required (see _engine/engine.py).

        work: "reconcile" makes the changes, "preview" only reports them, "examine" only compares.
        """
        self.receipt: AccountReceipt | None = None
        self.seconds = 0.0
        self._session = session
        self._entries = entries
        self._plan = {
            "schema": "hpc.onboard/plan/1.0",
            "fingerprint_key": account_key(session.name),
            "cluster": session.cluster,
            "sandbox": session.sandbox,
            "keys": _describe_rotations(session, entries),
            **settings,
        }
        self._asks_slurm = not session.sandbox and any(entry["kind"] in ASK_SLURM for entry in entries)
        if self._asks_slurm:
            is_audit = self._plan["work"] == "examine"  # an audit queries Slurm each time
            # The offers of an earlier session, so that the account queries Slurm only once a day
            self._plan["found"] = slurm_offers.make_plan_field(session.name, ask_again=is_audit)

    def fetch_outcomes(self, wait: int) -> list[ResourceOutcome]:
        """Send the plan and return its outcomes, after its jobs have ended. wait: seconds to wait for the jobs.

        An empty plan is sent, too, because that shows if the account can be reached.
        """
        outcomes = self._send_entries(range(len(self._entries)))
        if self._plan["work"] != "reconcile" or not any(outcome["progress"] for outcome in outcomes):
            return outcomes  # no job was started
        from . import job_wait

        final = job_wait.wait_for_jobs(outcomes, wait, self._send_entries, self._copy_installer, self._show_progress)
        # no state after the change: the job removes the resource
        removed_by_jobs = [
            position for position, outcome in enumerate(outcomes) if outcome["progress"] and not outcome["after"]
        ]
        if removed_by_jobs:  # sent again, so that the account updates its receipt and removes folders that became empty
            folders = [position for position, entry in enumerate(self._entries) if _is_removed_folder(entry)]
            self._send_entries([*removed_by_jobs, *folders])
        return final

    def _show_progress(self, progress: JobProgress | None) -> None:
        """Show the progress of a job to the user; None removes it from the display."""
        BOARD.put(self._session.name, progress)

    def _send_entries(self, positions: Iterable[int], follow_seconds: float = 0) -> list[ResourceOutcome]:
        """Send the entries at these positions of the plan, and return their outcomes.

        follow_seconds: if set, the account does no work, but waits that long for the progress of these entries' jobs.
        """
        document = {**self._plan, "resources": [self._entries[position] for position in positions]}
        if follow_seconds:
            document = {**document, "work": "follow", "follow_seconds": follow_seconds}
        answer = self._session.connection.send_plan(document)
        self.receipt = answer["receipt"] or self.receipt
        self.seconds += answer["seconds"]
        offers = [outcome["evidence"]["slurm"] for outcome in answer["outcomes"] if "slurm" in outcome["evidence"]]
        if offers and self._asks_slurm and self._plan["work"] != "preview":  # a preview stores nothing
            slurm_offers.keep_offers(self._session.name, offers[0])  # all offers of one answer are equal
        return [self._explain_kept_key(outcome) for outcome in answer["outcomes"]]

    def _explain_kept_key(self, outcome: ResourceOutcome) -> ResourceOutcome:
        """Return the outcome, with the reason and advice if the account kept a key that the plan would replace."""
        if KEPT_KEYS.isdisjoint(outcome["evidence"]):
            return outcome
        from . import key_rotations  # few accounts keep such a key

        return key_rotations.explain_kept_key(outcome, self._session.name)

    def _copy_installer(self, position: int, wants: Mapping[str, str]) -> ResourceOutcome:
        """Download the installer that the account cannot fetch, copy it there, and restart the job.

        position: of the job's entry in the plan. wants: the installer's address, checksum, and path on the account.
        Return the outcome of the restarted job. Raise AccountError.
        """
        options = self._entries[position]["options"]
        if options.get("state") == "absent":  # options from the account's receipt, which may name any address
            raise AccountError("the account requested a file, but a removal needs no files, so no file was copied")
        installers = options.get("installers", {}).values()
        if not any((wants["url"], wants["sha256"]) == (file["url"], file["sha256"]) for file in installers):
            raise AccountError("the account requested a file that is not in its plan, so the file was not copied")
        if not PLAIN_PATH.fullmatch(wants["path"]):
            raise AccountError("the account named a path that sftp cannot copy to, so no file was copied")
        from . import job_wait

        step: JobProgress = {
            "step": "downloading the installer for the account",
            "done": None,
            "total": None,
            "unit": "bytes",
        }
        file = job_wait.fetch_installer(
            wants["url"],
            wants["sha256"],
            lambda done, total: self._show_progress({**step, "done": done, "total": total}),
        )
        self._show_progress({"step": "copying the installer", "done": None, "total": None, "unit": "steps"})
        try:
            self._session.connection.put_file(str(file), wants["path"])
        except Exception as error:  # of Ansible, which this package does not import, with text from the account
            raise AccountError(f"the file could not be copied to the account: {harmless(error, 2000)}") from None
        return self._send_entries([position])[0]


def _describe_rotations(session: AccountSession, entries: Iterable[PlanEntry]) -> dict[str, KeyRotations]:
    """Return the rotations and the fingerprint of each key in a plan, by the key's name. Raise AccountError.

    known: the ids of all rotations that this machine knows. mark: the rotation that created the version in the plan.
    held: the fingerprint of the current key.
    """
    described: dict[str, KeyRotations] = {}
    for keyring_name in {entry["key"] for entry in entries if "key" in entry}:
        if session.sandbox or not (state_folder() / "secrets").is_dir():  # a simulated key, or no key was ever rotated
            name = keyring_name
            rotations: KeyRotations = {"known": [], "mark": None}
        else:
            from . import key_rotations

            name = keyring_name.partition("@")[0]  # without the version in NAME@VERSION
            rotations = key_rotations.describe_rotations(keyring_name, session.name)
        described[name] = {**rotations, "held": _fingerprint_current_key(session, name)}
    return described


def _fingerprint_current_key(session: AccountSession, name: str) -> list[str]:
    """Return the fingerprint of the current key of this name, as the account shows it; [] if the key is missing."""
    try:
        return [account_fingerprint(session.name, hashlib.sha256(session.key(name).encode()).digest())]
    except MissingKey:
        return []


def _is_removed_folder(entry: PlanEntry) -> bool:
    """Return True if the entry removes a folder, which the account does only if the folder is empty."""
    return entry["kind"] == "directory" and entry["options"].get("state") == "absent"
