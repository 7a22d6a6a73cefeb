# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of one account on the controller: every resource checked, every secret's name made its value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from ...module_utils._core.errors import AccountError
from ...module_utils._core.values import Options
from .._roles.collect import DIRECT, Declared, RefusedValue, Tolerated, reason
from .._roles.table import MODULE_UTILS, PLACES, options_of
from .._secrets.backends import MissingKey
from .result import unmet

if TYPE_CHECKING:
    from ...module_utils._core.resource import Resource
    from .._documents.declaration import Note, PlanEntry
    from .._documents.declaration import Options as Given
    from .._documents.outcome import Outcome


class Kinds(Mapping[str, "type[Resource]"]):
    """The kinds of resource, by name. Each is loaded when it is asked for: loading takes its time."""

    def __getitem__(self, name: str) -> type[Resource]:
        module, _dot, kind = PLACES[name].rpartition(".")
        found: type[Resource] = getattr(import_module(f"{MODULE_UTILS}.{module}"), kind)
        return found

    def __contains__(self, name: object) -> bool:
        return name in PLACES

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)


KINDS = Kinds()
UNKNOWN_KEY = "unknown"
TYPES: dict[str, type] = {"str": str, "path": str, "dict": dict, "list": list, "int": int, "bool": bool}


class Plan(NamedTuple):
    """What is sent, and the outcomes of what cannot be sent because its key is missing, by position."""

    entries: list[PlanEntry]
    unmet: dict[int, Outcome]

    @classmethod
    def of(cls, declared: Sequence[PlanEntry], key: Callable[[str], str]) -> Plan:
        """Check every resource before anything is touched. Raises AccountError for the first that is wrong."""
        plan = cls([], {})
        for position, entry in enumerate(declared):
            options = dict(entry["options"])
            secret = options.pop("secret", None)
            try:
                if secret is not None:
                    options["password"] = key(secret)
                sent: PlanEntry = {
                    "kind": entry["kind"],
                    "capability": entry["capability"],
                    "options": _checked(entry, options),
                }
                if secret is not None:
                    sent["key"] = secret
                plan.entries.append(sent)
            except MissingKey as error:
                named = _checked(entry, {**options, "password": UNKNOWN_KEY})
                outcome = unmet(asked_of(entry["kind"])(named).identity, entry["capability"], str(error))
                plan.unmet[position] = {**outcome, "missing_secret": secret} if error.absent else outcome
        return plan

    def merged(self, answered: Sequence[Outcome]) -> list[Outcome]:
        """The outcomes of all resources in the order they were declared. Raises AccountError when some are missing."""
        if len(answered) != len(self.entries):
            raise AccountError(
                f"the account answered for {len(answered)} of {len(self.entries)} resources: what it did with the"
                " others is unknown. Run again: it reads back what was done"
            )
        answers = iter(answered)
        total = len(answered) + len(self.unmet)
        return [self.unmet[i] if i in self.unmet else next(answers) for i in range(total)]


def left_out(declared: Declared, key: Callable[[str], str]) -> Declared:
    """What is declared, without what nobody has asked for and whose key the keyring does not have: a note says so."""
    kept: list[PlanEntry] = []
    notes: dict[str, Note] = {}
    for entry in declared.resources:
        try:
            if entry.get("is_unasked") and "secret" in entry["options"]:
                key(entry["options"]["secret"])
        except MissingKey as error:
            if error.absent:
                name = entry["capability"]
                text = f"left out: {error}, or say that you need none: without: [{name}] in the accounts file"
                notes[text] = {"capability": name, "code": "key_absent", "text": text}
                continue
        kept.append(entry)
    return declared._replace(resources=kept, notes=[*declared.notes, *notes.values()])


def sound(declared: Declared, tolerated: Tolerated) -> Declared:
    """Return what is declared without the roles of which a kind refuses an entry. Raises AccountError."""
    refused: dict[str, str] = {}
    for entry in declared.resources:
        try:
            _whole(entry)
        except AccountError as error:
            if entry["capability"] == DIRECT or not issubclass(RefusedValue, tolerated):
                raise
            refused.setdefault(entry["capability"], reason(entry["capability"], error))
    kept = [entry for entry in declared.resources if entry["capability"] not in refused]
    return declared._replace(resources=kept, refused={**declared.refused, **refused})


def key_of(entry: PlanEntry) -> str:
    """What an entry's resource is noted under in a receipt."""
    from ...module_utils._receipt import notes  # onboarding notes nothing here

    return notes.key(entry, asked_of(entry["kind"])(_whole(entry)).identity)


def _whole(entry: PlanEntry) -> Given:
    """Return the options of an entry, complete and checked, with a word in place of its key. Raises AccountError."""
    options = dict(entry["options"])
    if options.pop("secret", None) is not None:
        options["password"] = UNKNOWN_KEY
    return _checked(entry, options)


def asked_of(kind: str) -> type[Options]:
    """What is asked of a resource of that kind."""
    return options_of(kind) or KINDS[kind]


def _checked(entry: PlanEntry, options: Given) -> Given:
    """The options, complete and checked by the resource itself."""
    if str(entry["kind"]) not in PLACES:
        raise AccountError(f"{entry['kind']!r} is no kind of resource; there are: {', '.join(sorted(KINDS))}")
    kind = asked_of(str(entry["kind"]))
    unknown = sorted(set(options) - set(kind.OPTIONS))
    if unknown:
        raise AccountError(f"{entry['capability']}: {entry['kind']} has no option {unknown[0]!r}")
    missing = sorted(name for name, spec in kind.OPTIONS.items() if spec.get("required") and not options.get(name))
    if missing:
        raise AccountError(f"{entry['capability']}: {entry['kind']} needs {', '.join(missing)}")
    for name, value in options.items():
        wanted = TYPES[kind.OPTIONS[name]["type"]]
        if not isinstance(value, wanted) and value is not None:
            raise AccountError(f"{entry['capability']}: {name} of {entry['kind']} is no {wanted.__name__}")
    whole = kind.whole(options)
    for name, spec in kind.OPTIONS.items():
        if "choices" in spec and whole.get(name) not in spec["choices"]:
            raise AccountError(
                f"{entry['capability']}: {name} is {whole.get(name)!r}, not one of {', '.join(spec['choices'])}"
            )
    try:
        kind(whole)
    except AccountError as error:
        raise AccountError(f"{entry['capability']}: {error}") from None
    return whole
