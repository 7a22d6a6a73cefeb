# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of the roles' settings in an accounts file: each mistake with its line, as a run would find it later.

Only doctor makes this check. It takes too long before each run, and a run makes it for each account.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...module_utils._core.errors import AccountError
from .._accounts.accounts_file import AccountsFile
from .._accounts.host_variables import InventoryHost
from .._delivery.plan import apply_keep_and_replace, drop_refused_roles
from .._input.diagnostics import Mistake, Place
from .._input.json_schema import is_template
from .._input.spec_sentences import find_setting
from .._roles.collect import collect_resources
from .._roles.table import ROLES

TOLERATED = (AccountError,)


def find_role_mistakes(file: AccountsFile, hosts: Iterable[InventoryHost]) -> list[Mistake]:
    """Return the mistakes in the settings of roles, and in `keep` and `replace`, each once. hosts: of the file."""
    return list(dict.fromkeys(mistake for host in hosts for mistake in _check_account(file, host)))


def _check_account(file: AccountsFile, host: InventoryHost) -> Iterator[Mistake]:
    """Yield the mistakes of one account. Roles with a template are not checked, because Ansible evaluates it later."""
    account = host.variables["account"]
    names = [role for role in ROLES if not _has_template(_select_settings(host.variables, role))]
    collected = collect_resources(names, account["without"], [], host.variables.get, TOLERATED)
    declared = drop_refused_roles(collected, TOLERATED)
    for role, reason in declared.refused.items():
        place = find_setting(file.document, host.name, role, reason, host.variables) or ("accounts", host.name)
        yield file.lines.mistake(place, f"role {role}: {reason}".replace("\n", "; "), at_key=True)
    is_complete = not declared.refused and len(names) == len(ROLES)
    for place, lists in _split_lists(account):
        try:
            apply_keep_and_replace(declared, lists, is_complete)
        except AccountError as error:
            yield file.lines.mistake(("accounts", host.name, *place), str(error))


def _split_lists(account: Mapping[str, Any]) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    """Yield each resource in `keep` and `replace` alone, with its place, so that each mistake is found.

    A resource in both lists is yielded in both, at its place in `keep`.
    """
    keep, replace = (list(account.get(name) or ()) for name in ("keep", "replace"))
    for index, identity in enumerate(keep):
        yield ("keep", index), {"keep": [identity], "replace": [word for word in replace if word == identity]}
    for index, identity in enumerate(replace):
        if identity not in keep:
            yield ("replace", index), {"replace": [identity]}


def _select_settings(variables: Mapping[str, Any], role: str) -> list[Any]:
    """Return the values of a role's settings."""
    return [value for name, value in variables.items() if name.startswith(f"{role}_")]


def _has_template(value: Any) -> bool:
    """Return True if a value is or contains a template."""
    if isinstance(value, Mapping):
        return any(map(_has_template, value.values()))
    return any(map(_has_template, value)) if isinstance(value, list) else is_template(value)
