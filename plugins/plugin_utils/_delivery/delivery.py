# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings an account to its desired state and makes the result of the task: outcomes, receipt, advice for the user.

A plan lists resources; the account answers with an outcome for each, and with its receipt. The receipt has a note about
each resource that hpc-onboard created, so that offboarding can remove it. This machine has a copy of the receipt.

A session is the account that the task is run for, with its settings and its connection.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from .._secrets.backends import MissingKey
from .._secrets.session import SESSION
from .._state import last_runs, receipts
from .._state.durable_files import StateError
from . import result as _result
from .conversation import Conversation
from .plan import Plan, skip_missing_keys

if TYPE_CHECKING:
    from .._documents.adoption import AdoptionOffer
    from .._documents.answer import AccountReceipt, Notes
    from .._documents.declaration import PlanEntry
    from .._documents.outcome import ResourceOutcome
    from .._documents.result import AccountResult, UnreachableResult
    from .._roles.collect import DeclaredResources
    from .account_session import AccountSession
    from .connection import Message
    from .connection_failure import ConnectionFailure

UNDECIDED = {"theirs", "unknown_key", "in_use"}
"""Names of the evidence that a resource is the user's own, so that the user must decide what happens to it."""


def deliver(
    session: AccountSession,
    declared: DeclaredResources,
    wait: int,
    settings: Message,
    plan_rest: Callable[[Notes], list[PlanEntry]] | None = None,
) -> AccountResult:
    """Bring the account to the declared state, or preview the changes in check mode. Return the task's result.

    wait: seconds to wait for jobs. settings: other fields of the plan, such as the seconds for one resource.
    plan_rest: only for a removal; returns a second plan that removes what only the account's receipt contains, or [] if
    nothing remains. Raise AccountError and NoAnswer.
    """
    declared = skip_missing_keys(declared, session.key)
    is_removal = plan_rest is not None
    if session.connection.asks_each_time:
        wait = 0  # each check of a job would ask the user
    outcomes, receipt = _run_plan(session, declared.resources, wait, settings)
    offer = None if is_removal else _offer_adoption(session, declared.resources, outcomes)
    if not (is_removal or session.is_check_run):
        planned = {outcome["identity"] for outcome in outcomes}
        lost_notes = receipts.find_lost_notes(session.name, bool(session.sandbox), receipt, planned)
        if lost_notes:  # the account adds those to its receipt that it really lost; the outcomes stay the same
            _outcomes, receipt = _run_plan(session, declared.resources, wait, {**settings, "notes": lost_notes})
    rest = plan_rest(receipt["notes"]) if plan_rest and receipt else []
    if rest:
        outcomes_of_rest, receipt = _run_plan(session, rest, wait, settings)
        outcomes = _result.merge_outcomes(outcomes, outcomes_of_rest)
    removed = {outcome["identity"] for outcome in outcomes if is_removal and outcome["status"] not in _result.FAILURES}
    outcomes = _result.drop_absent(outcomes) if is_removal else _result.drop_queries(outcomes)
    is_first = not is_removal and _is_first_change(session, outcomes)  # must come before _keep_receipt
    message_if_empty = "nothing to remove" if is_removal else "no resources declared"
    outcomes = [*outcomes, *_keep_receipt(session, receipt, removed)]
    result = _result.build_result(outcomes, declared, session.is_check_run, message_if_empty)
    _add_details(session, result, declared.resources, offer)
    _add_advice(session, result, is_first)
    return result


def _add_details(
    session: AccountSession, result: AccountResult, entries: list[PlanEntry], offer: AdoptionOffer | None
) -> None:
    """Add to the result what its outcomes do not contain: the keys, the keyring, the sandbox, the offer and the diff.

    entries: the declared resources. offer: from _offer_adoption.
    """
    values = _read_keys(session, entries)
    if values:
        result["found_keys"] = sorted({name.partition("@")[0] for name in values})  # without the version
    if keys := _describe_changed_keys(session, values, result["outcomes"]):
        result["keys"] = keys
    if SESSION.source:
        result["keyring"] = SESSION.source
    if session.sandbox:
        result["sandbox"] = session.sandbox["root"]
    if offer:
        result["adoption"] = offer
    if session.wants_diff:
        result["diff"] = _result.render_diffs(_result.name_keys(result["outcomes"], result.get("keys", {})))


def report_unreached(session: AccountSession, failure: ConnectionFailure) -> UnreachableResult:
    """Return the result of a task whose account was not reached, with the manual steps before a first login."""
    result: UnreachableResult = {"kind": "account", "unreachable": True, "msg": failure.text}
    if session.connection.blocked or last_runs.was_reached(session.name):  # the steps would not explain the failure
        return result
    from . import manual_steps

    steps = manual_steps.list_open_steps(session.variables, result)
    return {**result, "human_steps": steps} if steps else result


def _run_plan(
    session: AccountSession, entries: list[PlanEntry], wait: int, settings: Message
) -> tuple[list[ResourceOutcome], AccountReceipt | None]:
    """Send one plan. Return its outcomes, also of entries whose key is missing, and the account's receipt, if any.

    wait, settings: as in deliver().
    """
    plan = Plan.of(entries, session.key)
    conversation = Conversation(session, plan.entries, {"work": session.work, "receipt": True, **settings})
    return plan.add_unmet(conversation.fetch_outcomes(wait)), conversation.receipt


def _read_keys(session: AccountSession, entries: list[PlanEntry]) -> dict[str, str]:
    """Return the value of each key that the entries need and the keyring has, by its name. The run has read them."""
    values = {}
    for name in {str(entry["options"].get("secret") or "") for entry in entries} - {""}:
        with suppress(MissingKey):
            values[name] = session.key(name)
    return values


def _describe_changed_keys(
    session: AccountSession, values: dict[str, str], outcomes: list[ResourceOutcome]
) -> dict[str, str]:
    """Return a text with the name and age of each key, by the key's fingerprint. values: the keys, by name.

    Return {} if the run changes no key, or if the age is unknown.
    """
    if not any("password" in outcome["fields"] for outcome in outcomes):  # the field of a key
        return {}
    from .._secrets import key_marks  # most runs change no key

    try:
        return key_marks.describe_keys(session.name, values, datetime.now(UTC).date())
    except StateError as error:
        session.warn(f"the age of the keys is unknown: {error}")
        return {}


def _keep_receipt(session: AccountSession, receipt: AccountReceipt | None, removed: set[str]) -> list[ResourceOutcome]:
    """Copy the account's receipt to this machine. Return a failed outcome if the account could not write it, else [].

    removed: the identities of resources that were removed.
    """
    if receipt is None:
        return []
    if receipt["problem"]:
        return [_result.make_receipt_failure(receipt["problem"])]
    if not session.is_check_run:
        problem = receipts.keep_receipt(session.name, bool(session.sandbox), receipt, removed)
        if problem:
            session.warn(problem)
    return []


def _is_first_change(session: AccountSession, outcomes: list[ResourceOutcome]) -> bool:
    """Return True if no earlier run of this machine has changed the account: there is no copy of its receipt yet."""
    is_real = not (session.is_check_run or session.sandbox)
    is_changed = any(outcome["status"] in _result.CHANGES for outcome in outcomes)
    return is_real and is_changed and not receipts.has_receipt(session.name, is_sandbox=False)


def _offer_adoption(
    session: AccountSession, entries: list[PlanEntry], outcomes: list[ResourceOutcome]
) -> AdoptionOffer | None:
    """Return a preview's offer to adopt the user's own resources; None if no decision is open, or outside a preview."""
    users_resources = [
        outcome
        for entry, outcome in zip(entries, outcomes, strict=True)
        if entry["kind"] != "directory"  # a folder that already exists needs no decision
        and not {*UNDECIDED, "adopted"}.isdisjoint(outcome["evidence"])  # adopted: already in the desired state
    ]
    is_undecided = any(not UNDECIDED.isdisjoint(outcome["evidence"]) for outcome in users_resources)
    if session.sandbox or not session.is_check_run or not is_undecided:
        return None
    from .._input import command_line  # few previews have an offer

    return {"things": len(users_resources), "command": command_line.command_for("adopt", ["-l", session.name])}


def _add_advice(session: AccountSession, result: AccountResult, is_first: bool) -> None:
    """Add advice for the user to the result: an introduction after the first change, manual steps after a failure."""
    # a storage area whose path is unknown may need a manual step, too
    needs_steps = result["failed"] or any(note["code"] == "path_unknown" for note in result["notes"])
    if not (is_first or needs_steps):
        return
    from . import manual_steps

    if is_first:
        result["introduction"] = manual_steps.introduce_site(session.variables, session.name, result["outcomes"])
    steps = manual_steps.list_open_steps(session.variables, result) if needs_steps else []
    if steps:
        result["human_steps"] = steps
