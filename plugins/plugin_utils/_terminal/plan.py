# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of all accounts: equal plans are shown once, with a line for each resource, edited files and totals.

A plan is the preview of a run for one account. It has an outcome for each resource, such as a link or a file: its
status (see WORDS), its states before and after, and the evidence, which is what else was observed. A note says why a
role skipped something; a remark informs the user. Only the user can do the manual steps.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .._delivery.result import CHANGES, FAILURES, name_keys
from .._text.amounts import count
from .._text.cells import fit_names
from .._text.placeholders import Replace, build_replace
from .account import FAILED_STATES, STYLES, AccountEnd, Result
from .difference import DIFF_STYLES, list_edits, offer_lines
from .layout import Line, Span, Terminal, aligned_line, indented_lines, list_item, step_lines
from .progress_line import describe_progress

if TYPE_CHECKING:
    from .._documents.adoption import AdoptionOffer
    from .._documents.outcome import ResourceOutcome
    from .._documents.result import ManualStep

CACHE_ROLES = ("container_caches", "tool_caches")
TOO_SHORT = ("", "/", "~")  # common folders that describe no place; resources below them are listed by path
MOST_PLANS = 12  # different plans that are shown in full; the others are headings only
MOST_NAMES = 3  # accounts that are named next to a file; more are counted
ALWAYS_COUNTED = ("to create", "to change", "to remove")
WORDS = {"missing": "to create", "different": "to change", "extra": "to remove", "ok": "unchanged"}
PENDING = ("to adopt", "to ask about", *ALWAYS_COUNTED)
ORDER = (*PENDING, *FAILURES, "unchanged")
DIGEST = re.compile(r"\b[0-9a-f]{12}\b")  # of a script; differs between accounts, because their paths are in the script
UNKNOWN_KEY = re.compile(r"key [0-9a-f]{12}")  # the fingerprint of a key that this machine does not know


class Row(NamedTuple):
    """A line of a plan, with its mark and style, and the lines below it."""

    mark: str
    style: str
    text: str
    below: tuple[str, ...] = ()


class AccountPlan(NamedTuple):
    """The plan of one account. adoption: the offer to use what the user has set up, or None.

    edits: start-up file -> its changed lines, each after + or -.
    digest: equal for accounts whose plans differ by user and project only. counts: of resources, by action (see
    name_action). empty: why nothing is declared, or "" if a resource is declared.
    """

    name: str
    project: str
    digest: str
    rows: tuple[Row, ...]
    counts: Counter[str]
    edits: dict[str, tuple[str, ...]]
    steps: tuple[ManualStep, ...]
    adoption: AdoptionOffer | None
    is_sandbox: bool
    empty: str


class Overview:
    """The plans of all accounts of a task, collected until the last one is known."""

    def __init__(self) -> None:
        self._plans: list[AccountPlan] = []

    def add(self, name: str, project: str, result: Result) -> None:
        """Add the plan of an account (name) from its result, but not the result itself, which contains whole files.

        project: of the account, to recognise plans that differ by the project only.
        """
        # "keys": fingerprint of a key -> its name, for the texts of outcomes
        outcomes = name_keys(result["outcomes"], result.get("keys", {}))
        notes, remarks = result["notes"], result.get("remarks", [])
        note_rows = [
            *(Row("", "note", f"{note['capability']} skipped: {note['text']}") for note in notes),
            *(Row("", "note", f"note: {remark['text']}") for remark in remarks),
        ]
        texts = [note["text"] for note in (*notes, *remarks)]
        self._plans.append(
            AccountPlan(
                name=name,
                project=project,
                digest=_hash_plan(outcomes, texts, build_replace(name, project)),
                rows=(*_build_rows(outcomes), *note_rows),
                counts=Counter(map(name_action, outcomes)),
                edits=list_edits(outcomes),
                steps=tuple(result.get("human_steps", ())),
                adoption=result.get("adoption"),
                is_sandbox=bool(result.get("sandbox")),
                empty="" if outcomes else str(result.get("msg", "")),
            )
        )

    def lines(self, terminal: Terminal) -> list[Line]:
        """Return the lines: equal plans together, accounts without changes in one line, edited files, and offers."""
        by_digest: dict[str, list[AccountPlan]] = {}
        for plan in sorted(self._plans, key=lambda plan: plan.name):
            by_digest.setdefault(plan.digest if plan.rows else "", []).append(plan)
        without_rows = by_digest.pop("", [])  # nothing changes, or nothing is declared
        lines: list[Line] = []
        for position, group in enumerate(by_digest.values()):
            is_shown = position < MOST_PLANS
            empty_line = [()] if lines and is_shown else []
            lines += [*empty_line, *_group_lines(group, is_shown, terminal)]
        if len(by_digest) > MOST_PLANS:
            lines += indented_lines("To see each change, add -v or -l ACCOUNT.", 4, terminal, "faint")
        unchanged = [plan for plan in without_rows if not plan.empty]
        empty = [plan for plan in without_rows if plan.empty]
        for group in filter(None, (unchanged, empty)):
            lines += [*([()] if lines else []), *_heading(group, group[0].empty or "unchanged", terminal)]
        offers = {plan.name: plan.adoption for plan in self._plans if plan.adoption}
        for part in (_edit_lines(self._plans, terminal), offer_lines(offers, 0, terminal) if offers else []):
            lines += [(), *part] if part else []
        return lines

    def total(self, ends: Mapping[str, AccountEnd]) -> Span:
        """Return '2 accounts: 23 to create, 0 to change, 0 to remove'. ends: the ends of all accounts so far."""
        counts: Counter[str] = sum((plan.counts for plan in self._plans), Counter())
        planned = {plan.name for plan in self._plans}
        failures = [end.state for name, end in ends.items() if name not in planned and end.state in FAILED_STATES]
        parts = [_join_counts(counts, ALWAYS_COUNTED)]
        parts += [f"{failures.count(state)} {state}" for state in FAILED_STATES if state in failures]
        empty = Counter(plan.empty for plan in self._plans if plan.empty)
        parts += [f"{number} with {reason}" for reason, number in empty.items()]
        text = f"{count(len(planned) + len(failures), 'account')}: {', '.join(parts)}"
        return Span(text, "error" if failures else _choose_style(counts))


def name_action(outcome: ResourceOutcome) -> str:
    """Return what will be done with a resource, such as 'to create'; its status if it cannot be changed."""
    evidence = outcome["evidence"]
    if outcome["status"] == "ok" and evidence.get("adopted") and not evidence.get("recorded"):
        return "to adopt"  # the user created it, and hpc-onboard has not recorded it yet
    if outcome["status"] == "blocked" and evidence.get("theirs"):
        return "to ask about"  # the user decides whether to replace a resource that hpc-onboard did not create
    return WORDS.get(outcome["status"], outcome["status"])


def _join_counts(counts: Counter[str], always: Sequence[str] = ()) -> str:
    """Return '2 to create, 1 blocked' from the numbers of actions. always: actions that are listed even if 0."""
    return ", ".join(f"{counts[word]} {word}" for word in ORDER if counts[word] or word in always)


def _hash_plan(outcomes: Iterable[ResourceOutcome], notes: Sequence[str], replace: Replace) -> str:
    """Return a digest that is equal for accounts whose plans differ by user and project only. notes: their texts.

    replace: puts placeholders in place of the account's user and project.
    """
    fields = ("identity", "capability", "status", "fields", "before", "after", "reason")
    rows = ([outcome[name] for name in fields] for outcome in outcomes)  # type: ignore[literal-required]
    return hashlib.sha256(DIGEST.sub("", replace(json.dumps([*notes, *rows]))).encode()).hexdigest()


def _build_rows(outcomes: Iterable[ResourceOutcome]) -> Iterator[Row]:
    """Yield a row for each changed, failed or unfinished resource. Resources that differ only by path share a row.

    The text begins with the status of a failure, or with "to adopt"; other actions have only a mark.
    """
    groups: dict[str, list[ResourceOutcome]] = {}
    for outcome in outcomes:
        if name_action(outcome) != "unchanged" or outcome["progress"]:
            groups.setdefault(_group_key(outcome), []).append(outcome)
    for group in groups.values():
        first, action = group[0], name_action(group[0])
        mark, style = STYLES[first["status"]]
        below = [first["reason"] or "", describe_progress(first["progress"]) if first["progress"] else ""]
        label = f"{first['status']}: " if first["status"] in FAILURES else ""
        if action == "to adopt":
            label = "to adopt: "
        yield Row(mark, style, label + _describe_group(group), tuple(filter(None, below)))


def _group_key(outcome: ResourceOutcome) -> str:
    """Return a text that is equal for the resources of one row: all their fields except the path are equal.

    For entries of a key file, all except the machine are equal: the identity is KIND FILE: MACHINE.
    """
    kind, _blank, path = outcome["identity"].partition(" ")
    key = _read_key_mark(outcome)
    if key:
        path = path.partition(": ")[0]
    elif path[:1] in ("~", "/"):
        # resources of one row may have different paths, in the home or outside, but not different names
        path = path[:1]
    states = [outcome["before"], outcome["after"]]
    return json.dumps([outcome["capability"], outcome["status"], kind, path, key, states, outcome["reason"]])


def _read_key_mark(outcome: ResourceOutcome) -> str:
    """Return the name or fingerprint of the key in an entry of a key file; empty for other resources."""
    # The state contains this text in place of the password itself. A removed entry has no state after.
    return (outcome["after"] or outcome["before"]).get("password", "")


def _describe_group(group: Sequence[ResourceOutcome]) -> str:
    """Return the text of a group's row, such as '6 cache folders in /data/ada/caches' or 'link ~/work -> /work1'."""
    first = group[0]
    kind, _blank, path = first["identity"].partition(" ")
    if key := _read_key_mark(first):  # entries of one key in a file: "ngc, in ~/.netrc: MACHINE, MACHINE"
        file = path.partition(": ")[0]
        entries = ", ".join(outcome["identity"].partition(": ")[2] for outcome in group)
        # a key without a name on this machine: the kind of the file is clearer than a fingerprint
        return f"{kind} {file}: {entries}" if UNKNOWN_KEY.fullmatch(key) else f"{key}, in {file}: {entries}"
    name = f"cache {kind}" if kind == "folder" and first["capability"] in CACHE_ROLES else kind
    text = f"{name} {path}"
    if len(group) > 1:
        paths = [outcome["identity"].partition(" ")[2] for outcome in group]
        folder = posixpath.commonpath(list(map(posixpath.dirname, paths)))
        where = f" in {folder}" if folder not in TOO_SHORT else f": {', '.join(paths)}"
        text = f"{len(group)} {name.removesuffix('s')}s{where}"
    return _describe_resource(first, text)  # adds the target of the links


def _describe_resource(outcome: ResourceOutcome, text: str) -> str:
    """Return the text with the size of a resource that changes, and the target and former target of a link."""
    target, old_target = outcome["after"].get("target"), outcome["before"].get("target")
    size = outcome["before"].get("size") if outcome["status"] in CHANGES else ""
    text += (f", {size}" if size else "") + (f" -> {target}" if target else "")
    is_redirected = old_target and outcome["status"] == "different" and old_target != target
    return text + (f" (points to {old_target}; the files there are not moved)" if is_redirected else "")


def _group_lines(group: Sequence[AccountPlan], is_shown: bool, terminal: Terminal) -> list[Line]:
    """Return the heading of a group of accounts with equal plans and, if is_shown, the rows and steps of their plan."""
    first = group[0]
    is_common = len(group) > 1
    lines = _heading(group, (_join_counts(first.counts) or "nothing to do") + (" each" if is_common else ""), terminal)
    if not is_shown:
        return lines
    # A single plan, and a project that all accounts share, are shown without placeholders (str changes no text).
    is_one_project = len({plan.project for plan in group}) == 1
    replace = build_replace(first.name, "" if is_one_project else first.project) if is_common else str
    for row in first.rows:
        lines += _row_lines(row, replace, terminal)
    return lines + step_lines("Manual steps:", list(first.steps), terminal, indent=2)


def _row_lines(row: Row, replace: Replace, terminal: Terminal) -> list[Line]:
    """Return the lines of a row. replace: puts placeholders, such as USER, into each of its texts."""
    lines = list_item(row.mark or " ", replace(row.text), 2, terminal, row.style)
    for text in row.below:
        lines += indented_lines(replace(text), 6, terminal)
    return lines


def _heading(group: Sequence[AccountPlan], text: str, terminal: Terminal) -> list[Line]:
    """Return the first line of a plan: mark, account and text. For a group of several accounts, their names follow.

    text: the counts of the plan, or why it has no rows. The mark is "-" if nothing is declared.
    """
    style = _choose_style(group[0].counts)
    mark = {"error": terminal.mark("bad"), "changed": "~"}.get(style, "-" if group[0].empty else terminal.mark("good"))
    clusters = {plan.name.partition("@")[2] for plan in group}
    where = f" on {clusters.pop()}" if len(clusters) == 1 else ""
    name = group[0].name if len(group) == 1 else f"{len(group)} accounts{where}"
    left = (Span(mark, style), Span(" "), Span(name, "bold"), Span("  "), Span(text, style))
    lines = aligned_line(left, "sandbox" if group[0].is_sandbox else "", terminal)
    if len(group) > 1:
        names = fit_names([plan.name for plan in group], 2 * (terminal.width - 8))  # two lines with margins
        lines += indented_lines(names, 4, terminal, "faint")
    return lines


def _choose_style(counts: Counter[str]) -> str:
    """Return the style of a plan with these numbers of actions (counts): error, changed or ok."""
    if any(counts[word] for word in FAILURES):
        return "error"
    return "changed" if any(counts[word] for word in PENDING) else "ok"


def _edit_lines(plans: Sequence[AccountPlan], terminal: Terminal) -> list[Line]:
    """Return the files to edit: each set of changed lines once, below its files and their accounts, if not all."""
    edits: dict[tuple[str, ...], dict[tuple[str, ...], list[str]]] = {}  # changed lines -> files -> accounts
    for plan in plans:
        for changed_lines in dict.fromkeys(plan.edits.values()):
            files = tuple(sorted(file for file, changes in plan.edits.items() if changes == changed_lines))
            edits.setdefault(changed_lines, {}).setdefault(files, []).append(plan.name)
    lines: list[Line] = indented_lines("Your files that will be edited:", 0, terminal) if edits else []
    for changed_lines, names_by_files in edits.items():
        for files, names in names_by_files.items():
            where = f" on {', '.join(names) if len(names) <= MOST_NAMES else count(len(names), 'account')}"
            lines += indented_lines(", ".join(files) + (where if len(names) < len(plans) else ""), 2, terminal)
        for line in changed_lines:
            lines += list_item(line[0], line[2:], 4, terminal, DIFF_STYLES[line[0]])
    return lines
