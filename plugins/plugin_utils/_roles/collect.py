# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The resources that the roles declare for one account, and the reasons why a role declares none.

Ansible checks a role's settings by its argument specs if the role runs alone. For a session with all roles, no role
runs, so the same specs and defaults are applied here to all roles, before anything is sent. In the documents, the role
of an entry is its `capability`, and the type of a resource its `kind`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ...module_utils._core.errors import AccountError
from .._input.argument_spec import check_settings
from .._input.role_specs import role_defaults, role_options
from .table import COMMON_KINDS, ROLES, find_options_class, load_role

if TYPE_CHECKING:
    from .._documents.declaration import Declaration, Note, PlanEntry, ResourceEntry
    from .._input.extra_vars import ReadVariable

Tolerated = tuple[type[AccountError], ...]
"""Classes of errors in a role's settings that are recorded in `refused`; all other errors are raised."""

WHOLE_FILES = ("own_file", "path_script")  # resource types that write a whole file
DIRECT = "resources"  # in place of a role's name, for resources that a playbook declares itself


class RefusedValue(AccountError):
    """A value that fits the argument spec of its role, but that the role refuses, such as a missing file."""


class DeclaredResources(NamedTuple):
    """What the roles of an account declare.

    resources: the entries of a plan; the `capability` of an entry is its role, or DIRECT. notes: why a role declares
    nothing, or what the user should know. refused: the reasons of the roles whose settings are invalid, by role.
    """

    resources: list[PlanEntry]
    notes: list[Note]
    refused: dict[str, str]

    def of_roles(self, names: Iterable[str]) -> DeclaredResources:
        """Return what these roles declare, and the resources that a playbook declares itself."""
        chosen = {*names, DIRECT}
        return DeclaredResources(
            [entry for entry in self.resources if entry["capability"] in chosen],
            [note for note in self.notes if note["capability"] in chosen],
            {name: reason for name, reason in self.refused.items() if name in chosen},
        ).without_repeats()

    def without_repeats(self) -> DeclaredResources:
        """Return the declaration without entries that an earlier role declares, too: a folder that two roles use.

        A second entry would report the work of the first entry as a change by another program. The option `root` is not
        compared, because it only names the folder that must exist already.
        """
        contents = [(entry["kind"], {**entry["options"], "root": None}) for entry in self.resources]
        kept = [entry for number, entry in enumerate(self.resources) if contents[number] not in contents[:number]]
        return self._replace(resources=kept)


def select_roles(names: Iterable[str], run_tags: Iterable[str], skip_tags: Iterable[str]) -> list[str]:
    """Return the roles that --tags (run_tags) and --skip-tags (skip_tags) select; the tag of a role is its name."""
    selected, skipped = set(run_tags), set(skip_tags)
    selects_all = selected & {"all", "tagged"}  # "tagged" selects everything that has a tag, as every role does
    return [name for name in names if (selects_all or name in selected) and name not in skipped]


def collect_resources(
    names: Iterable[str],
    without: Iterable[str],
    resources: Sequence[object],
    read_variable: ReadVariable,
    tolerated: Tolerated = (),
) -> DeclaredResources:
    """Return all that the named roles declare, and the given resources of a playbook. Raise AccountError.

    names: of the roles. without: roles that the accounts file excludes. read_variable: returns the value of a setting,
    or None if it is not set. tolerated: types of errors that are recorded in `refused` instead of raised.
    """
    declared = DeclaredResources(resources=[], notes=[], refused={})
    excluded = set(without)
    for name in names:
        if name in excluded:
            reason = "excluded by `without:` in the accounts file"
            declared.notes.append({"capability": name, "code": "without", "text": reason})
            continue
        if name not in ROLES:
            raise AccountError(f"unknown role {name!r}; available: {', '.join(sorted(ROLES))}")
        try:
            declaration = _declare(name, read_variable)
            entries = _complete_entries(name, declaration["resources"])
            _refuse_shared_files(entries, declared.resources)
        except tolerated as error:
            declared.refused[name] = remove_role_prefix(name, error)
            continue
        # is_unasked: the plan skips an entry if its key is missing
        is_optional = _skips_missing_keys(name, read_variable)
        declared.resources.extend({**entry, "is_unasked": True} if is_optional else entry for entry in entries)
        declared.notes.extend({**note, "capability": name} for note in declaration["notes"])
    _add_dependent_resources(declared, names)
    declared.resources.extend(map(_read_direct_entry, plain_values(resources)))
    return declared


def _refuse_shared_files(entries: Sequence[PlanEntry], others: Sequence[PlanEntry]) -> None:
    """Raise RefusedValue if an entry of a role would write a file to which another entry writes another text.

    entries: of the role. others: of the roles before it.
    """
    owners: dict[str, PlanEntry] = {}  # path -> the first entry that writes this file
    for entry in (*others, *entries):
        if entry["kind"] not in WHOLE_FILES:
            continue
        owner = owners.setdefault(entry["options"]["path"], entry)
        if entry["options"] != owner["options"]:
            raise RefusedValue(
                f"{entry['capability']}: {entry['options']['path']} is already a file of the role"
                f" {owner['capability']}."
                " Remove one of the two settings, or use different paths"
            )


def _read_direct_entry(entry: Mapping[str, Any]) -> PlanEntry:
    """Return a resource that a playbook declares itself, as plans contain it. Raise AccountError if it contains a key.

    entry: the type of the resource (kind) and its options.
    """
    if "password" in entry:
        raise AccountError("resources: passwords are not allowed here. Name the key instead (secret: NAME)")
    options = {name: value for name, value in entry.items() if name != "kind"}
    refuse_keys(options)
    kind: Any = entry.get("kind")  # the plan refuses an unknown type
    return {"kind": kind, "capability": DIRECT, "options": options}


def remove_role_prefix(role: str, error: AccountError) -> str:
    """Return the text of an error without the role's name, with which each of its lines may begin."""
    return str(error).replace(f"role {role}: ", "").removeprefix(f"{role}: ")


def refuse_unknown_settings(variables: Iterable[object]) -> None:
    """Raise AccountError for a variable with a role's prefix that is not a setting of the role, such as a typo."""
    for name in map(str, variables):
        role = next((role for role in ROLES if name.startswith(f"{role}_")), None)
        if role and name not in role_settings(role).spec:
            from .._input.diagnostics import nearest  # imported late: most runs have no mistake

            advice = nearest(name, role_settings(role).spec, prefix=f"{role}_")
            raise AccountError(
                f"role {role}: unknown setting {name}; {advice} If {name} is your own variable, rename it"
            )


def refuse_keys(options: Mapping[str, Any]) -> None:
    """Raise AccountError if a resource that a playbook declares has a text that contains a key."""
    if isinstance(options.get("content"), str):
        from . import own_texts  # imported late: few accounts have texts

        own_texts.refuse_keys(f"content of {options.get('path')}", options["content"])


def plain_values(value: Any) -> Any:
    """Return the value in plain Python types. Ansible's types are lazy, and some libraries cannot read them."""
    if isinstance(value, dict):
        return {str(key): plain_values(value[key]) for key in value}
    if isinstance(value, (list, tuple)):
        return [plain_values(item) for item in value]
    return str(value) if isinstance(value, str) else value


def _declare(name: str, read_variable: ReadVariable) -> Declaration:
    """Return what a role (name) declares, from its settings, checked and with defaults.

    read_variable: returns the value of a setting, or None; called once for each setting. Raise AccountError for a value
    that does not fit the argument spec, and RefusedValue for one that the role itself refuses.
    """
    role = role_settings(name)
    values = {option: plain_values(read_variable(option)) for option in role.spec}
    user_values = {option: value for option, value in values.items() if value is not None}
    check = check_settings({option: role.spec[option] for option in user_values}, user_values)
    if check.violations:
        from .._input.spec_sentences import describe_violation

        raise AccountError("\n".join(f"role {name}: {describe_violation(violation)}" for violation in check.violations))
    complete = {**role.defaults, **check.values}
    settings = {option.removeprefix(name + "_"): value for option, value in complete.items()}
    if ROLES[name].is_off(settings):
        return {"resources": [], "notes": []}  # without loading the role
    try:
        declaration: Declaration = load_role(name).declare(settings)
        return declaration
    except AccountError as error:
        raise RefusedValue(str(error)) from None


def _complete_entries(name: str, resources: Iterable[ResourceEntry]) -> list[PlanEntry]:
    """Return the entries of a role with the role's name, as plans contain them."""
    return [{"kind": entry["kind"], "options": entry["options"], "capability": name} for entry in resources]


def _skips_missing_keys(name: str, read_variable: ReadVariable) -> bool:
    """Return True if the role stores keys only because of the site: the user set no setting that requests keys.

    If the keyring lacks a key, the role's resource is then skipped, which is not an error.
    """
    asked_by = ROLES[name].asked_by
    return bool(asked_by) and all(read_variable(f"{name}_{setting}") is None for setting in asked_by)


def _add_dependent_resources(declared: DeclaredResources, names: Iterable[str]) -> None:
    """Add the resources that a role needs because of other roles' resources, if the role has declare_dependent().

    For example, the role tokens sets the path of a token if the role tool_caches moves the default path.
    """
    for name in names:
        role_entries = [entry for entry in declared.resources if entry["capability"] == name]
        declare_dependent = getattr(load_role(name), "declare_dependent", None) if role_entries else None
        if declare_dependent:
            declared.resources.extend(_complete_entries(name, declare_dependent(role_entries, declared.resources)))


class RoleSettings(NamedTuple):
    """The argument spec of a role, and the default of each setting, checked against the spec."""

    spec: dict[str, Any]
    defaults: dict[str, Any]


@lru_cache
def role_settings(name: str) -> RoleSettings:
    """Return the settings of a role, read and checked once per run for all accounts."""
    spec = role_options(name)
    return RoleSettings(spec, check_settings(spec, role_defaults(name)).values)


def preload_settings() -> None:
    """Load the settings of all roles and the options of common resource types, before Ansible forks per account."""
    for name in ROLES:
        role_settings(name)
    for kind in COMMON_KINDS:
        find_options_class(kind)
