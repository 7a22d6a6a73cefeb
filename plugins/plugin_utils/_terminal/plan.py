# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of all accounts in few lines: equal plans once, a line for each resource, the user's own files, totals."""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .._delivery.result import CHANGES, FAILURES, name_keys
from .._text.amounts import count
from .account import BAD, STYLES, AccountEnd, Result, describe_progress, steps
from .difference import list_edits, offer_lines
from .layout import Line, Span, Terminal, aligned_line, fit_names, indented_lines, list_item

if TYPE_CHECKING:
    from .._documents.adoption import AdoptionOffer
    from .._documents.outcome import ResourceOutcome
    from .._documents.result import ManualStep

CACHES = ("container_caches", "tool_caches")
APART = ("", "/", "~")  # resources with no more than this in common are listed
FOLDED = 12  # with more different plans, the further ones are their headings alone
NAMED = 3  # accounts that are named next to a file; more are counted
ALWAYS = ("to create", "to change", "to remove")
WORDS = {"missing": "to create", "different": "to change", "extra": "to remove", "ok": "unchanged"}
PENDING = ("to adopt", "to ask about", *ALWAYS)
ORDER = (*PENDING, *FAILURES, "unchanged")
STAMP = re.compile(r"\b[0-9a-f]{12}\b")  # of a script's text; it depends on the paths in it
UNNAMED = re.compile(r"key [0-9a-f]{12}")  # of a key that this machine does not know
Replace = Callable[[str], str]


class Row(NamedTuple):
    """A line of a plan, and what is said below it."""

    mark: str
    style: str
    text: str
    below: tuple[str, ...] = ()


class AccountPlan(NamedTuple):
    """The plan of one account. edits: file of the user's -> its changed lines, each after + or -.

    likeness: equal for accounts whose plans differ by user and project only. empty: why there is no plan, in words.
    """

    name: str
    project: str
    likeness: str
    rows: tuple[Row, ...]
    counts: Counter[str]
    edits: dict[str, tuple[str, ...]]
    steps: tuple[ManualStep, ...]
    adoption: AdoptionOffer | None
    is_sandbox: bool
    empty: str


class Overview:
    """The plans of all accounts of a task, kept until the last one is there."""

    def __init__(self) -> None:
        self._plans: list[AccountPlan] = []

    def __bool__(self) -> bool:
        return bool(self._plans)

    def add(self, name: str, project: str, result: Result) -> None:
        """Keep what the plan of an account shows; its texts of files are not kept."""
        outcomes = name_keys(result["outcomes"], result.get("keys", {}))
        notes = [*result.get("notes", []), *result.get("remarks", [])]
        said = [
            *(Row("", "note", f"{note['capability']} skipped: {note['text']}") for note in result["notes"]),
            *(Row("", "note", f"note: {note['text']}") for note in result.get("remarks", [])),
        ]
        self._plans.append(
            AccountPlan(
                name,
                project,
                _likeness(outcomes, [note["text"] for note in notes], _placeholders(name, project)),
                (*_rows(outcomes), *said),
                Counter(map(action_of, outcomes)),
                list_edits(outcomes),
                tuple(result.get("human_steps", ())),
                result.get("adoption"),
                bool(result.get("sandbox")),
                "" if outcomes else str(result.get("msg", "")),
            )
        )

    def lines(self, terminal: Terminal) -> list[Line]:
        """Return the plans: those with something to say, the others in one line, and the user's files."""
        alike: dict[str, list[AccountPlan]] = {}
        for one in sorted(self._plans, key=lambda one: one.name):
            alike.setdefault(one.likeness if one.rows else "", []).append(one)
        fine = alike.pop("", [])
        bare = [one for one in fine if one.empty]  # nothing was looked at
        lines: list[Line] = []
        for position, group in enumerate(alike.values()):
            lines += [*([()] if lines and position < FOLDED else []), *_group(group, position < FOLDED, terminal)]
        if len(alike) > FOLDED:
            lines += indented_lines("To see each change, add -v or -l ACCOUNT.", 4, terminal, "faint")
        for group in ([one for one in fine if not one.empty], bare):
            lines += (
                [*([()] if lines else []), *_heading(group, group[0].empty or "unchanged", terminal)] if group else []
            )
        offers = {one.name: one.adoption for one in self._plans if one.adoption}
        for more in (_edited(self._plans, terminal), offer_lines(offers, 0, terminal) if offers else []):
            lines += [(), *more] if more else []
        return lines

    def total(self, ends: Mapping[str, AccountEnd]) -> Span:
        """Return '2 accounts: 23 to create, 0 to change, 0 to remove'. ends: of all accounts of the run so far."""
        counts: Counter[str] = sum((one.counts for one in self._plans), Counter())
        planned = {one.name for one in self._plans}
        lost = [end.state for name, end in ends.items() if name not in planned and end.state in BAD]
        states = [f"{lost.count(state)} {state}" for state in BAD if state in lost]
        empty = Counter(one.empty for one in self._plans if one.empty)
        states += [f"{number} with {text}" for text, number in empty.items()]
        text = f"{count(len(planned) + len(lost), 'account')}: {', '.join([_counted(counts, ALWAYS), *states])}"
        return Span(text, "error" if lost else _style(counts))


def action_of(outcome: ResourceOutcome) -> str:
    """Return what a plan says is done with a resource."""
    evidence = outcome["evidence"]
    if outcome["status"] == "ok" and evidence.get("adopted") and not evidence.get("recorded"):
        return "to adopt"
    if outcome["status"] == "blocked" and evidence.get("theirs"):
        return "to ask about"
    return WORDS.get(outcome["status"], outcome["status"])


def _counted(counts: Counter[str], always: Sequence[str] = ()) -> str:
    return ", ".join(f"{counts[word]} {word}" for word in ORDER if counts[word] or word in always)


def _placeholders(name: str, project: str) -> Replace:
    """Return a function that puts USER and PROJECT in the place of the account's own words."""
    words = ((project, "PROJECT"), (name.partition("@")[0], "USER"), (name, "ACCOUNT"))
    known = [(rf"(?<![A-Za-z0-9_]){re.escape(word)}(?![A-Za-z0-9_])", sign) for word, sign in words if word]

    def replaced(text: str) -> str:
        for pattern, sign in known:
            text = re.sub(pattern, sign, text)
        return text

    return replaced


def _likeness(outcomes: Iterable[ResourceOutcome], notes: Sequence[str], replaced: Replace) -> str:
    fields = ("identity", "capability", "status", "fields", "before", "after", "reason")
    text = json.dumps([*notes, *([one[name] for name in fields] for one in outcomes)])  # type: ignore[literal-required]
    return hashlib.sha256(STAMP.sub("", replaced(text)).encode()).hexdigest()


def _rows(outcomes: Iterable[ResourceOutcome]) -> Iterator[Row]:
    """Yield a row for each resource that changes or cannot; those of a role that differ only in their path are one."""
    alike: dict[str, list[ResourceOutcome]] = {}
    for outcome in outcomes:
        if action_of(outcome) != "unchanged" or outcome["progress"]:
            alike.setdefault(_shared(outcome), []).append(outcome)
    for group in alike.values():
        first, action = group[0], action_of(group[0])
        mark, style = STYLES[first["status"]]
        below = [first["reason"] or "", describe_progress(first["progress"]) if first["progress"] else ""]
        word = "to adopt: " if action == "to adopt" else f"{first['status']}: " if first["status"] in FAILURES else ""
        yield Row(mark, style, word + _describe(group), tuple(filter(None, below)))


def _shared(outcome: ResourceOutcome) -> str:
    """Return what the resources of a row have in common: all but the path, or the file and the key."""
    kind, _blank, path = outcome["identity"].partition(" ")
    key = _key(outcome)
    if key:
        path = path.partition(": ")[0]
    elif path[:1] in ("~", "/"):
        path = ""
    states = [outcome["before"], outcome["after"]]
    return json.dumps([outcome["capability"], outcome["status"], kind, path, key, states, outcome["reason"]])


def _key(outcome: ResourceOutcome) -> str:
    state = outcome["after"] or outcome["before"]
    return state.get("password", "")


def _describe(group: Sequence[ResourceOutcome]) -> str:
    """Return '6 cache folders in /data/ada/caches', or the one resource of a row."""
    first = group[0]
    kind, _blank, path = first["identity"].partition(" ")
    if key := _key(first):
        file = path.partition(": ")[0]
        entries = ", ".join(one["identity"].partition(": ")[2] for one in group)
        return f"{kind} {file}: {entries}" if UNNAMED.fullmatch(key) else f"{key}, in {file}: {entries}"
    name = f"cache {kind}" if kind == "folder" and first["capability"] in CACHES else kind
    if len(group) > 1:
        paths = [one["identity"].partition(" ")[2] for one in group]
        folder = posixpath.commonpath(list(map(posixpath.dirname, paths)))
        return f"{len(group)} {name}s" + (f" in {folder}" if folder not in APART else f": {', '.join(paths)}")
    target, was = first["after"].get("target"), first["before"].get("target")
    size = first["before"].get("size") if first["status"] in CHANGES else ""
    text = f"{name} {path}" + (f", {size}" if size else "") + (f" -> {target}" if target else "")
    is_turned = was and first["status"] == "different" and was != target
    return text + (f" (points to {was}; the files there are not moved)" if is_turned else "")


def _group(group: Sequence[AccountPlan], is_shown: bool, terminal: Terminal) -> list[Line]:
    """Return the heading of accounts with equal plans, and below it what they have in common."""
    first = group[0]
    each = " each" if len(group) > 1 else ""
    lines = _heading(group, (_counted(first.counts) or "nothing to do") + each, terminal)
    if not is_shown:
        return lines
    is_one_project = len({one.project for one in group}) == 1
    replaced = _placeholders(first.name, "" if is_one_project else first.project) if each else str
    for row in first.rows:
        lines += _row(row, replaced, terminal)
    return lines + steps("Manual steps:", list(first.steps), terminal, 2)


def _row(row: Row, replaced: Replace, terminal: Terminal) -> list[Line]:
    lines = list_item(row.mark or " ", replaced(row.text), 2, terminal, row.style)
    for text in row.below:
        lines += indented_lines(replaced(text), 6, terminal)
    return lines


def _heading(group: Sequence[AccountPlan], text: str, terminal: Terminal) -> list[Line]:
    """Return the line that a plan begins with; for several accounts their number, and their names below."""
    style = _style(group[0].counts)
    mark = {"error": terminal.mark("bad"), "changed": "~"}.get(style, "-" if group[0].empty else terminal.mark("good"))
    clusters = {one.name.partition("@")[2] for one in group}
    where = f" on {clusters.pop()}" if len(clusters) == 1 else ""
    name = group[0].name if len(group) == 1 else f"{len(group)} accounts{where}"
    left = (Span(mark, style), Span(" "), Span(name, "bold"), Span("  "), Span(text, style))
    lines = aligned_line(left, "sandbox" if group[0].is_sandbox else "", terminal)
    if len(group) > 1:
        lines += indented_lines(_names([one.name for one in group], terminal), 4, terminal, "faint")
    return lines


def _style(counts: Counter[str]) -> str:
    if any(counts[word] for word in FAILURES):
        return "error"
    return "changed" if any(counts[word] for word in PENDING) else "ok"


def _names(names: Sequence[str], terminal: Terminal) -> str:
    """Return as many names as fit into two lines, and how many more there are."""
    return fit_names(names, 2 * (terminal.width - 8))


def _edited(plans: Sequence[AccountPlan], terminal: Terminal) -> list[Line]:
    """Return the user's files that will be edited, each set of lines once."""
    places: dict[tuple[str, ...], dict[tuple[str, ...], list[str]]] = {}  # lines -> files -> accounts
    for one in plans:
        for lines in dict.fromkeys(one.edits.values()):
            files = tuple(sorted(file for file, changed in one.edits.items() if changed == lines))
            places.setdefault(lines, {}).setdefault(files, []).append(one.name)
    out: list[Line] = indented_lines("Your files that will be edited:", 0, terminal) if places else []
    for lines, found in places.items():
        for files, names in found.items():
            where = f" on {', '.join(names) if len(names) <= NAMED else count(len(names), 'account')}"
            out += indented_lines(", ".join(files) + (where if len(names) < len(plans) else ""), 2, terminal)
        for line in lines:
            out += list_item(line[0], line[2:], 4, terminal, "added" if line[0] == "+" else "removed")
    return out
