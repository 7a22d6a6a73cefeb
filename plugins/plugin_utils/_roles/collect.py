# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the capabilities declare for one account: their resources, and why they declare none.

A role checks its own settings by argument specs when it runs alone. In the shared trip no role runs, so
the same specs and defaults are used here, all roles at once, before anything is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ...module_utils._core.errors import AccountError
from .._input.argument_spec import check_settings
from .._input.role_specs import RoleSpecs
from .table import ROLES, USUAL, declare_function, find_options_class, load_role

if TYPE_CHECKING:
    from .._documents.declaration import Declaration, Note, PlanEntry, ResourceEntry

Value = Callable[[str], Any]
Tolerated = tuple[type[AccountError], ...]
"""Errors in the settings of one role that a caller handles itself; any other one is raised."""

PREFIXES = tuple(f"{name}_" for name in ROLES)
DIRECT = "resources"  # what resources belong to that no capability declares


class RefusedValue(AccountError):
    """A value that fits the argument spec of its role, but that the role refuses; a file that is gone is one."""


class DeclaredResources(NamedTuple):
    """Entries {kind, capability, options}, notes, and why roles declare nothing: role -> reason without its name."""

    resources: list[PlanEntry]
    notes: list[Note]
    refused: dict[str, str]

    def of(self, names: Iterable[str]) -> DeclaredResources:
        """Return what these capabilities declare, and the resources that were given directly."""
        chosen = {*names, DIRECT}
        return DeclaredResources(
            [entry for entry in self.resources if entry["capability"] in chosen],
            [note for note in self.notes if note["capability"] in chosen],
            {name: without_role for name, without_role in self.refused.items() if name in chosen},
        ).without_repeats()

    def without_repeats(self) -> DeclaredResources:
        """Return the same without what an earlier role declares alike, such as one folder for the caches of both.

        It would meet its own creation as a change by another program. root only says what must exist above.
        """
        contents = [(entry["kind"], {**entry["options"], "root": None}) for entry in self.resources]
        kept = [entry for at, entry in enumerate(self.resources) if contents[at] not in contents[:at]]
        return self._replace(resources=kept)


def select_roles(names: Iterable[str], run: Iterable[str], skip: Iterable[str]) -> list[str]:
    """The capabilities that --tags and --skip-tags leave; each one's tag is its name."""
    wanted, unwanted = set(run), set(skip)
    every = wanted & {"all", "tagged"}
    return [name for name in names if (every or name in wanted) and name not in unwanted]


def collect(
    names: Iterable[str],
    without: Iterable[str],
    resources: Sequence[object],
    value: Value,
    tolerated: Tolerated = (),
) -> DeclaredResources:
    """All that the named capabilities declare, and the resources given directly. Raises AccountError."""
    declared = DeclaredResources([], [], {})
    unwanted = set(without)
    for name in names:
        if name in unwanted:
            why = "the accounts file says so (without)"
            declared.notes.append({"capability": name, "code": "without", "text": why})
            continue
        if name not in ROLES:
            raise AccountError(f"{name} is no capability; there are: {', '.join(sorted(ROLES))}")
        try:
            declaration = _declare(name, value)
        except tolerated as error:
            declared.refused[name] = without_role(name, error)
            continue
        entries = _complete_entries(name, declaration["resources"])
        declared.resources.extend(map(_mark_optional, entries) if _skips_missing_keys(name, value) else entries)
        declared.notes.extend({**without_role, "capability": name} for without_role in declaration["notes"])
    _add_copies(declared, names)
    for entry in plain_values(resources):
        if "password" in entry:
            raise AccountError("resources: a password does not belong here; name the key in its place: secret: NAME")
        options = {key: item for key, item in entry.items() if key != "kind"}
        refuse_keys(options)
        declared.resources.append({"kind": entry.get("kind"), "capability": DIRECT, "options": options})
    return declared


def without_role(role: str, error: AccountError) -> str:
    """Return the text of an error without the name of the role that it begins with."""
    return str(error).replace(f"role {role}: ", "").removeprefix(f"{role}: ")


def refuse_unknown(variables: Iterable[object]) -> None:
    """Raise AccountError for a variable that is named like a setting of a role and is none: nobody would heed it."""
    for name in map(str, variables):
        if name.startswith(PREFIXES):
            role = next(role for role in ROLES if name.startswith(f"{role}_"))
            known = role_settings(role).spec
            if name not in known:
                raise AccountError(_describe_unknown(name, role, known))


def _describe_unknown(name: str, role: str, known: Iterable[str]) -> str:
    from .._input.diagnostics import nearest

    advice = nearest(name, known, prefix=f"{role}_")
    return f"role {role}: there is no setting {name}; {advice} A variable of your own needs another name"


def refuse_keys(options: Mapping[str, Any]) -> None:
    """Raise AccountError where the text of a file that is given directly holds a key."""
    if isinstance(options.get("content"), str):
        from . import own_texts  # few have such

        own_texts.refuse_keys(f"content of {options.get('path')}", options["content"])


def plain_values(value: Any) -> Any:
    """The value in plain Python types: Ansible's own are lazy, and not every library sees what they hold."""
    if isinstance(value, dict):
        return {str(key): plain_values(value[key]) for key in value}
    if isinstance(value, (list, tuple)):
        return [plain_values(item) for item in value]
    return str(value) if isinstance(value, str) else value


def _declare(name: str, value: Value) -> Declaration:
    """Return what a capability declares from its role's settings, each of them looked up once and checked."""
    role = role_settings(name)
    values = {option: plain_values(value(option)) for option in role.spec}
    given = {option: setting for option, setting in values.items() if setting is not None}
    checked = check_settings({option: role.spec[option] for option in given}, given)
    if checked.violations:
        from .._input.spec_sentences import describe_violation

        raise AccountError(
            "\n".join(f"role {name}: {describe_violation(violation)}" for violation in checked.violations)
        )
    whole = {**role.defaults, **checked.values}
    settings = {key.removeprefix(name + "_"): setting for key, setting in whole.items()}
    if ROLES[name].is_off(settings):
        return {"resources": [], "notes": []}
    try:
        return declare_function(name)(settings)
    except AccountError as error:
        raise RefusedValue(str(error)) from None


def _complete_entries(name: str, resources: Iterable[ResourceEntry]) -> list[PlanEntry]:
    """Return what a capability declares, as it is sent."""
    return [{"kind": one["kind"], "options": one["options"], "capability": name} for one in resources]


def _skips_missing_keys(name: str, value: Value) -> bool:
    """Return True if nobody has said a word about the keys of a capability, which it keeps because of the site."""
    asked_by = ROLES[name].asked_by
    return bool(asked_by) and all(value(f"{name}_{setting}") is None for setting in asked_by)


def _mark_optional(entry: PlanEntry) -> PlanEntry:
    return {**entry, "is_unasked": True}


def _add_copies(declared: DeclaredResources, names: Iterable[str]) -> None:
    """Add what a capability needs because of what others declare."""
    for name in names:
        mine = [entry for entry in declared.resources if entry["capability"] == name]
        beside = getattr(load_role(name), "declare_copies", None) if mine else None
        if beside:
            declared.resources.extend(_complete_entries(name, beside(mine, declared.resources)))


class RoleSettings(NamedTuple):
    """What a role can be told: its argument spec, and the values where nobody says anything, checked by it."""

    spec: dict[str, Any]
    defaults: dict[str, Any]


@lru_cache
def role_settings(name: str) -> RoleSettings:
    """The settings of one of our roles, checked once a run for all accounts. Every option has a default."""
    roles = RoleSpecs()
    spec = roles.options(name)
    return RoleSettings(spec, check_settings(spec, roles.defaults(name)).values)


def prepare_settings() -> None:
    """Read the settings of all roles, and what is asked of usual kinds, for the processes forked from this one."""
    for name in ROLES:
        role_settings(name)
    for kind in USUAL:
        find_options_class(kind)
