# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit of one account: the plan that is sent to the account, and its row of the report from the results.

The plan has an entry for each resource and for each audit check, which inspects what no role declares. The account
returns an outcome for each entry. Its receipt is the record of what hpc-onboard created on the account: one note for
each resource, under the key "TYPE NAME". Leftovers are resources in the receipt that are no longer declared. The
findings of audit checks have "watch" in place of a role (the field "capability"). The rules of the audit have ids, such
as RUN-001.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from ...module_utils._core.errors import AccountError
from ...module_utils._receipt import notes as _notes
from ...module_utils._receipt.receipt import IDENTITY  # the name of the receipt in findings
from .._delivery import offboarding
from .._delivery.plan import KINDS, Plan, key_of, skip_missing_keys
from .._input import extra_vars
from .._roles.collect import DeclaredResources
from .._state import receipts
from .._state.fingerprint_key import account_key
from .._text.sanitise import clean_line
from . import audit_checks, key_ages, key_checks, local_checks, report
from .findings import check_findings, orphan_findings, resource_findings, simple_finding, skipped_findings
from .report_findings import limit_number, remove_duplicates
from .resource_rules import AccountContext, end_sentence

if TYPE_CHECKING:
    from .._delivery.account_session import AccountSession
    from .._delivery.conversation import Conversation
    from .._documents.answer import AccountReceipt, Notes, ReceiptNote
    from .._documents.declaration import PlanEntry
    from .._documents.finding import AccountSite, AuditRow, Cell, Class, FoundDifference
    from .._documents.outcome import ResourceOutcome

Variables = Mapping[str, Any]  # Ansible's, of one account


def describe_account(variables: Variables) -> AccountSite:
    """Return the cluster, the site and the state of the profile of an account, for its row of the report."""
    cluster: Mapping[str, Any] = variables.get("cluster") or {}
    return {
        "cluster": str(cluster.get("id", "")),
        "site": str(cluster.get("name", "")),
        "profile": {"verified_on": str(cluster.get("verified_on", "")), "status": str(cluster.get("status", ""))},
    }


def unmeasured_account(variables: Variables, reason: str) -> AuditRow:
    """Return the row of an account that could not be measured, with the findings that need no connection.

    Such a finding can be the reason: an expired certificate, for instance.
    """
    row = report.unmeasured_row(str(variables["inventory_hostname"]), reason, describe_account(variables))
    with suppress(AccountError):  # an invalid audit_max_age in the account's variables, which may be the reason
        row["findings"].extend(local_findings(variables))
    return row


def local_findings(variables: Variables) -> list[FoundDifference]:
    """Return the findings that need no connection: certificates, tickets, the profile's age, manual steps.

    Raise AccountError for an invalid audit_max_age.
    """
    cluster, account = variables.get("cluster") or {}, variables.get("account") or {}
    if not cluster or account.get("sandbox"):  # no profile, or a folder of this machine
        return []
    days = variables.get("audit_max_age")
    # empty, as in -e audit_max_age=, counts as not set
    max_profile_age = local_checks.MAX_AGE if days in (None, "") else extra_vars.read_number("audit_max_age", days)
    return local_checks.find_problems(variables, datetime.now(UTC), max_profile_age)


def _refused_finding(role: str, reason: str) -> FoundDifference:
    """Return the finding about a role with invalid settings, whose resources are unknown. reason: why, and advice."""
    text = clean_line(f"The settings of the role {role} are invalid, so its part was not checked: {reason}")
    finding = simple_finding("RUN-001", f"role {role}", end_sentence(text), found_class="unknown", cause="spec")
    return {**finding, "capability": role, "severity": "high", "case": "refused"}


def _check_receipt(receipt: AccountReceipt | None, copy: Notes, up_to_date: Sequence[str]) -> list[FoundDifference]:
    """Return RUN-003 for a receipt that is unusable, RUN-004 for one that differs from this machine's copy; else [].

    receipt: None if the account sent no receipt. copy: this machine's copy. up_to_date: the keys of the resources that
    are up to date on the account.
    """
    if receipt and receipt["problem"]:
        text = f"{receipt['problem']}."
        return [simple_finding("RUN-003", IDENTITY, text, found_class="broken", cause="unknown")]
    notes = receipt["notes"] if receipt else {}
    lost = [key for key in up_to_date if key in copy and key not in notes]
    forged = [key for key, note in notes.items() if _is_forged(note, copy.get(key))] + offboarding.list_forged(notes)
    sentences = []
    if lost:
        sentences.append(f"The receipt no longer lists these existing resources: {_shorten_names(lost)}.")
    if forged:
        sentences.append(
            f"hpc-onboard did not write the receipt's entries for these resources: {_shorten_names(forged)}."
        )
    text = " ".join(sentences)
    found_class: Class = "changed" if forged else "missing"  # onboarding restores missing entries
    return [simple_finding("RUN-004", IDENTITY, text, found_class=found_class, cause="hand")] if text else []


def _is_forged(note: ReceiptNote, copy: ReceiptNote | None) -> bool:
    """Return True if a note says that hpc-onboard made a resource that, by this machine's copy, existed before.

    With a different hash, hpc-onboard may have replaced the resource since then, so the note may be right.
    """
    return bool(copy and note["made"] and not copy["made"] and note["hashes"] == copy["hashes"])


def _shorten_names(keys: Sequence[str]) -> str:
    """Return the name of the first resource, and the number of further ones. keys: of the receipt, "TYPE NAME"."""
    name = keys[0].partition(" ")[2] or keys[0]
    return name if len(keys) == 1 else f"{name} (and {len(keys) - 1} more)"


def _restore_identity(entry: PlanEntry, outcome: ResourceOutcome) -> ResourceOutcome:
    """Return an outcome with the planned role and name, because a name from the account must not get into a command.

    entry: of the plan, for the same resource or audit check.
    """
    is_check = entry["kind"] not in KINDS  # the plan has no name for an audit check
    identity = outcome["identity"] if is_check else key_of(entry).partition(" ")[2]  # the key is "TYPE NAME"
    return {**outcome, "capability": entry["capability"], "identity": identity}


def plan_audit(session: AccountSession, names: Sequence[str], resources: Sequence[object]) -> AccountAudit:
    """Plan the audit of a session's account: the resources of these roles, undeclared leftovers, and audit checks.

    names: of the roles. resources: those that the accounts file declares without a role.
    """
    all_declared = session.collect(list(names), resources, tolerated=(AccountError,))
    roles = session.select(list(names))  # those that --tags select
    has_checks = bool(session.select(["watch"]))  # the tag of leftovers and audit checks
    declared = skip_missing_keys(all_declared.of_roles(roles), session.key)
    plan = Plan.of(declared.resources, session.key)
    copy = receipts.read_notes(session.name, is_sandbox=bool(session.sandbox))  # this machine's copy of the receipt
    read_key = session.key if has_checks else None  # None: without leftovers and audit checks
    return AccountAudit(
        session.variables,
        declared=declared,
        all_declared=all_declared,
        plan=plan,
        copy=copy,
        roles=roles,
        read_key=read_key,
    )


class AccountAudit:
    """The plan of the audit of one account, and the row of the report from its outcomes."""

    def __init__(
        self,
        variables: Variables,
        *,
        declared: DeclaredResources,
        all_declared: DeclaredResources,
        plan: Plan,
        copy: Notes,
        roles: Sequence[str],
        read_key: Callable[[str], str] | None,
    ) -> None:
        """Plan leftovers and audit checks in addition to the plan of the declared resources.

        declared, plan: of the roles that --tags select, which are named by roles. all_declared: of all roles.
        copy: this machine's copy of the account's receipt. read_key: returns the value of a secret; None if --tags
        exclude leftovers and audit checks.
        """
        self._has_checks = read_key is not None
        self._variables, self._declared, self._plan, self._copy = variables, declared, plan, copy
        self._roles = roles
        entries = all_declared.resources
        secrets = {str(entry["options"]["secret"]) for entry in entries if entry["options"].get("secret")}
        name = str(variables.get("inventory_hostname", ""))
        self._rotated_secrets = key_ages.read_versions(secrets)
        self._marks = key_ages.map_fingerprints(self._rotated_secrets, name)  # (secret, version) -> fingerprint
        undeclared = offboarding.list_undeclared(entries, copy, str((variables.get("cluster") or {}).get("id", "")))
        # what a role with invalid settings no longer declares is unknown, so all its resources count as declared
        of_refused = [entry for entry in undeclared if entry["capability"] in all_declared.refused]
        orphans = [entry for entry in undeclared if entry["capability"] not in all_declared.refused]
        # An empty text replaces the values of their keys: orphans are never created.
        self._orphans = Plan.of(orphans, read_key=lambda _name: "").entries if read_key else []
        current_fingerprints = key_checks.fingerprint_current_keys(secrets, name, read_key) if read_key else {}
        existing = [*entries, *map(offboarding.as_present, of_refused)]
        self._checks = self._plan_checks(existing, current_fingerprints) if read_key else []

    def _plan_checks(
        self, all_declared: Sequence[PlanEntry], current_fingerprints: Mapping[str, str]
    ) -> list[PlanEntry]:
        """Return the entries for the audit checks.

        all_declared: the resources of all roles. current_fingerprints: name of a secret -> fingerprint of its value.
        """
        cluster, account = self._variables.get("cluster") or {}, self._variables.get("account") or {}
        known_keys = key_checks.describe_known_keys(self._rotated_secrets, self._marks, current_fingerprints)
        may_start_shells = not extra_vars.read_bool("audit_no_shells", self._variables.get("audit_no_shells") or False)
        return audit_checks.plan_checks(cluster, account, all_declared, known_keys, may_start_shells)

    @property
    def entries(self) -> list[PlanEntry]:
        """Return the entries to send: the declared resources, the undeclared leftovers, and the audit checks."""
        return [*self._plan.entries, *self._orphans, *self._checks]

    def build_row(self, outcomes: list[ResourceOutcome], conversation: Conversation) -> AuditRow:
        """Return the row of the report. outcomes: of the entries, in the same order. Raise AccountError if some lack.

        conversation: has the account's receipt, and how long the session took.
        """
        if len(outcomes) != len(self.entries):
            raise AccountError(
                f"the account reported {len(outcomes)} of {len(self.entries)} results. Run the audit again"
            )
        outcomes = [_restore_identity(*pair) for pair in zip(self.entries, outcomes, strict=True)]
        findings_by_check = self._find_by_check(outcomes, conversation.receipt)
        return {
            "name": str(self._variables["inventory_hostname"]),
            **describe_account(self._variables),
            "state": "measured",
            "reason": "",
            "next": [],
            "declared": None,  # the report adds the line of the accounts file
            "project": str((self._variables.get("account") or {}).get("project", "")),
            "seconds": round(conversation.seconds, 1),
            "checks": len(findings_by_check),
            "ok": sum(not findings for findings in findings_by_check),
            "capabilities": self._list_cells(),
            "findings": limit_number(
                remove_duplicates(finding for findings in findings_by_check for finding in findings)
            ),
        }

    def _find_by_check(
        self, outcomes: Sequence[ResourceOutcome], receipt: AccountReceipt | None
    ) -> list[list[FoundDifference]]:
        """Return a list of findings for each check and each declared resource; it is empty if there is no problem.

        A skipped role and the receipt are counted as checks only if they have a finding. outcomes: of the entries, in
        the same order. receipt: None if the account sent no receipt.
        """
        remaining = iter(outcomes)  # in the order of entries: declared resources, leftovers, audit checks
        plan_outcomes, orphan_outcomes, check_outcomes = (
            list(islice(remaining, len(entries))) for entries in (self._plan.entries, self._orphans, self._checks)
        )
        context = self._build_context(receipt)
        # Resources whose keys are missing were not sent; add_unmet() adds their outcomes.
        declared = list(zip(self._declared.resources, self._plan.add_unmet(plan_outcomes), strict=True))
        findings_by_check = [resource_findings(entry, key_of(entry), outcome, context) for entry, outcome in declared]
        findings_by_check += [orphan_findings(*pair) for pair in zip(self._orphans, orphan_outcomes, strict=True)]
        findings_by_check += [check_findings(*pair) for pair in zip(self._checks, check_outcomes, strict=True)]
        findings_by_check += filter(None, map(skipped_findings, self._declared.notes))
        findings_by_check += [[_refused_finding(*refusal)] for refusal in self._declared.refused.items()]
        up_to_date = [key_of(entry) for entry, outcome in declared if outcome["status"] == "ok"]
        findings_by_check += filter(None, [_check_receipt(receipt, self._copy, up_to_date)])
        if self._has_checks:
            findings_by_check += [
                key_ages.key_findings(self._rotated_secrets, datetime.now(UTC).date()),
                local_findings(self._variables),
            ]
        return findings_by_check

    def _build_context(self, receipt: AccountReceipt | None) -> AccountContext:
        """Return the facts about the account that the rules need. receipt: None if the account sent no receipt."""
        # The account's own notes are newer than this machine's copy if another machine has written since.
        notes = (receipt["notes"] if receipt else None) or self._copy
        areas = (self._variables.get("cluster") or {}).get("storage", [])
        purged = [
            str(area[name]) for area in areas if area.get("purge") for name in ("path", "variable") if area.get(name)
        ]
        # the id of the secret key with which this account makes fingerprints for this machine
        key_id = _notes.fingerprint_key_id(account_key(str(self._variables["inventory_hostname"])))
        return AccountContext(notes, key_id, key_ages.map_old_keys(self._rotated_secrets, self._marks), tuple(purged))

    def _list_cells(self) -> dict[str, Cell]:
        """Return the cell of each role: unknown, not applicable, or ok, which the report replaces for findings."""
        declared_roles = {entry["capability"] for entry in self._declared.resources}
        # Resources that a playbook declares itself belong to none of the selected roles.
        further_roles = [name for name in declared_roles if name not in self._roles]
        cells: dict[str, Cell] = {
            name: "ok" if name in declared_roles else "not_applicable" for name in [*self._roles, *further_roles]
        }
        for name in self._declared.refused:
            cells[name] = "unknown"
        return {**cells, "watch": "ok"} if self._has_checks else cells
