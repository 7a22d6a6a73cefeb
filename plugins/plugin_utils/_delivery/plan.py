# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of one account on this machine: checks each resource, and replaces the names of keys by their values.

A plan has an entry for each resource, and the account answers with an outcome for each. A key is a secret, such as an
API key; roles declare it by its name (option `secret`), and the account gets its value (option `password`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from ...module_utils._core.errors import AccountError
from ...module_utils._core.values import Options, note_key
from .._input.diagnostics import nearest
from .._roles.collect import DIRECT, DeclaredResources, RefusedValue, Tolerated, remove_role_prefix
from .._roles.table import MODULE_UTILS, PLACES, find_options_class
from .._secrets.backends import MissingKey
from .result import make_failed_outcome

if TYPE_CHECKING:
    from ...module_utils._core.resource import Resource
    from .._documents.declaration import Note, PlanEntry
    from .._documents.declaration import Options as OptionValues
    from .._documents.outcome import ResourceOutcome


class ResourceTypes(Mapping[str, "type[Resource]"]):
    """The classes of resource types, by name. Each is imported at its first use, because importing all takes long.

    places: the path of each class below module_utils, such as _resources.storage_link.StorageLink.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self.places = places

    def __getitem__(self, name: str) -> type[Resource]:
        """Return the class of a resource type, and import its module if needed."""
        module, _dot, class_name = self.places[name].rpartition(".")
        resource_type: type[Resource] = getattr(import_module(f"{MODULE_UTILS}.{module}"), class_name)
        return resource_type

    def __contains__(self, name: object) -> bool:
        return name in self.places

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


KINDS = ResourceTypes(PLACES)


def collect_places(*others: ResourceTypes) -> dict[str, str]:
    """Return the places of the roles' resource types and of these others, by name."""
    return {name: place for types in (KINDS, *others) for name, place in types.places.items()}


UNKNOWN_KEY = "unknown"  # in place of a key's value
KEPT = "{identity} is not changed, because `keep` lists it"
TYPES: dict[str, type] = {"str": str, "path": str, "dict": dict, "list": list, "int": int, "bool": bool}


class Plan(NamedTuple):
    """The entries to send. unmet: failed outcomes of the entries whose key is missing, by position."""

    entries: list[PlanEntry]
    unmet: dict[int, ResourceOutcome]

    @classmethod
    def of(cls, declared: Sequence[PlanEntry], read_key: Callable[[str], str]) -> Plan:
        """Return the plan of the declared resources. Raise AccountError for the first invalid one.

        read_key: returns the value of a key by its name, or raises MissingKey.
        """
        plan = cls([], {})
        for position, entry in enumerate(declared):
            options = dict(entry["options"])
            key_name = options.pop("secret", None)
            try:
                if key_name is not None:
                    options["password"] = read_key(key_name)
                sent_entry: PlanEntry = {
                    "kind": entry["kind"],
                    "capability": entry["capability"],
                    "options": _complete_options(entry, options),
                }
                if key_name is not None:
                    sent_entry["key"] = key_name
                if entry.get("replace"):
                    sent_entry["replace"] = True
                plan.entries.append(sent_entry)
            except MissingKey as error:
                outcome = make_failed_outcome(identity_of(entry), entry["capability"], str(error))
                # absent: the keyring has no such key; otherwise, the keyring failed
                plan.unmet[position] = {**outcome, "missing_secret": key_name} if error.absent else outcome
        return plan

    def add_unmet(self, account_outcomes: Sequence[ResourceOutcome]) -> list[ResourceOutcome]:
        """Return the account's outcomes and those of unmet, in the order of declaration.

        account_outcomes: of the sent entries. Raise AccountError if the account did not answer for each entry.
        """
        if len(account_outcomes) != len(self.entries):
            raise AccountError(
                f"the account returned {len(account_outcomes)} of {len(self.entries)} results, so the state of the"
                " others is unknown. Run hpc-onboard again to check and continue"
            )
        remaining = iter(account_outcomes)
        positions = range(len(account_outcomes) + len(self.unmet))
        return [self.unmet[position] if position in self.unmet else next(remaining) for position in positions]


def skip_missing_keys(declared: DeclaredResources, read_key: Callable[[str], str]) -> DeclaredResources:
    """Return the declaration without the resources that lack their key, if only the cluster's profile requests them.

    A note reports each role with such a resource. read_key: returns the value of a key by its name, or raises
    MissingKey.
    """
    kept: list[PlanEntry] = []
    skipped: dict[str, Note] = {}
    for entry in declared.resources:
        try:
            is_from_profile = entry.get("is_unasked")  # the user has not requested the resource
            if is_from_profile and "secret" in entry["options"]:
                read_key(entry["options"]["secret"])  # raises MissingKey
        except MissingKey as error:
            if error.absent:  # otherwise, the keyring failed, and may have the key
                name = entry["capability"]
                text = f"skipped: {error}; if you do not need this role, set 'without: [{name}]' in the accounts file"
                skipped[text] = {"capability": name, "code": "key_absent", "text": text}
                continue
        kept.append(entry)
    return declared._replace(resources=kept, notes=[*declared.notes, *skipped.values()])


def apply_keep_and_replace(
    declared: DeclaredResources, account: Mapping[str, Any], is_complete: bool
) -> DeclaredResources:
    """Return the declaration without the resources to keep, with a note for each. Mark the resources to replace.

    account: its lists `keep` and `replace` contain identities, as plan and audit show them. is_complete: the resources
    of all roles are declared, so that any other identity is a mistake. Raise AccountError.
    """
    keep, replace = ([str(identity).strip() for identity in account.get(name) or ()] for name in ("keep", "replace"))
    identities = [identity_of(entry) for entry in declared.resources]
    both = sorted({*keep} & {*replace})
    if both:
        raise AccountError(f'"{both[0]}" is in both `keep` and `replace` for this account. Remove it from one list')
    if is_complete:
        _refuse_unknown({"keep": keep, "replace": replace}, identities)
    resources, notes = [], list(declared.notes)
    for entry, identity in zip(declared.resources, identities, strict=True):
        if identity in keep:
            note: Note = {"capability": entry["capability"], "code": "kept", "text": KEPT.format(identity=identity)}
            notes.append(note)
        else:
            resources.append(_mark_to_replace(entry, identity) if identity in replace else entry)
    return declared._replace(resources=resources, notes=notes)


def _refuse_unknown(lists: Mapping[str, Sequence[str]], declared: Sequence[str]) -> None:
    """Raise AccountError for the first identity in the lists that is not declared."""
    for name, identities in lists.items():
        for identity in identities:
            if identity not in declared:
                raise AccountError(f'{name}: this account has no resource "{identity}"; {nearest(identity, declared)}')


def _mark_to_replace(entry: PlanEntry, identity: str) -> PlanEntry:
    """Return the entry marked to replace the user's own file. Raise AccountError if its type does not allow that.

    identity: of the entry's resource.
    """
    # IS_MOVABLE: hpc-onboard can move the user's file away.
    if not (holds_key(entry["kind"]) or KINDS[entry["kind"]].IS_MOVABLE):
        raise AccountError(
            f'"{identity}" cannot be replaced. Remove it from `replace`; to leave it unchanged, add it to `keep`'
        )
    return {**entry, "replace": True}


def drop_refused_roles(declared: DeclaredResources, tolerated: Tolerated) -> DeclaredResources:
    """Return the declaration without the roles that have an invalid entry, and record these roles in `refused`.

    tolerated: types of errors that drop a role. Raise AccountError if they do not include RefusedValue, or if the
    invalid entry belongs to no role.
    """
    refused: dict[str, str] = {}
    for entry in declared.resources:
        try:
            _complete_options_without_key(entry)  # checks the options
        except AccountError as error:
            if entry["capability"] == DIRECT or not issubclass(RefusedValue, tolerated):
                raise
            refused.setdefault(entry["capability"], remove_role_prefix(entry["capability"], error))
    kept = [entry for entry in declared.resources if entry["capability"] not in refused]
    return declared._replace(resources=kept, refused={**declared.refused, **refused})


def key_of(entry: PlanEntry) -> str:
    """Return the key of the note about the entry's resource in a receipt, the account's record of created resources."""
    return note_key(entry["kind"], identity_of(entry))


def identity_of(entry: PlanEntry) -> str:
    """Return the identity of the entry's resource, as outcomes show it."""
    return options_class(entry["kind"])(_complete_options_without_key(entry)).identity


def _complete_options_without_key(entry: PlanEntry) -> OptionValues:
    """Return the complete, checked options of an entry, with UNKNOWN_KEY for its key. Raise AccountError."""
    options = dict(entry["options"])
    if options.pop("secret", None) is not None:
        options["password"] = UNKNOWN_KEY
    return _complete_options(entry, options)


def options_class(kind: str) -> type[Options]:
    """Return the class that checks the options of a resource type: a smaller class if there is one, else the type."""
    return find_options_class(kind) or KINDS[kind]


def holds_key(kind: str) -> bool:
    """Return True if resources of this type are files that hold a key."""
    return "password" in options_class(kind).OPTIONS


def _complete_options(entry: PlanEntry, options: OptionValues) -> OptionValues:
    """Return the options with their defaults, checked by the resource type itself. Raise AccountError.

    entry: declares the resource. options: of the entry, with the value of its key.
    """
    role, kind = entry["capability"], str(entry["kind"])
    if kind not in PLACES:
        raise AccountError(f"unknown resource type {entry['kind']!r}; available: {', '.join(sorted(KINDS))}")
    checker = options_class(kind)
    specs = checker.OPTIONS
    unknown = sorted(set(options) - set(specs))
    if unknown:
        raise AccountError(f"{role}: {kind} has no option {unknown[0]!r}")
    missing = sorted(name for name, spec in specs.items() if spec.get("required") and not options.get(name))
    if missing:
        raise AccountError(f"{role}: {kind} requires {', '.join(missing)}")
    for name, value in options.items():
        expected = TYPES[specs[name]["type"]]
        if not isinstance(value, expected) and value is not None:
            raise AccountError(f"{role}: {name} of {kind} must be of type {expected.__name__}")
    complete = checker.with_defaults(options)
    for name, spec in specs.items():
        if "choices" in spec and complete.get(name) not in spec["choices"]:
            raise AccountError(
                f"{role}: {name} is {complete.get(name)!r}; expected one of {', '.join(spec['choices'])}"
            )
    try:
        checker(complete)
    except AccountError as error:
        raise AccountError(f"{role}: {error}") from None
    return complete
