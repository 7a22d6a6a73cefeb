# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One account as a task sees it: its settings, what its roles declare, its keys, and the connection to it.

A role declares resources: the files, folders and links that the account shall have. A key is a secret, such as an API
key, and is declared by its name; only this module replaces the name by the value. A sandbox is a folder on this
machine that simulates an account.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .._roles.collect import (
    DeclaredResources,
    Tolerated,
    collect_resources,
    preload_settings,
    refuse_unknown_settings,
    select_roles,
)
from .._roles.table import PLACES, ROLES
from .._secrets.session import SESSION, current_keyring_name
from . import payload
from .connection import AccountConnection, Action, Variables
from .plan import apply_keep_and_replace, drop_refused_roles


def load_before_fork() -> None:
    """Load what every session needs. Called before Ansible forks a process for each account, so that all share it."""
    preload_settings()
    payload.load_engine()


class AccountSession:
    """The account that a task is run for.

    With Ansible's delegate_to, name, sandbox, cluster and connection are those of the other host.
    """

    def __init__(
        self,
        action: Action,
        variables: Variables | None,
        places: Mapping[str, str] = PLACES,
        is_preview: bool = False,
    ) -> None:
        """action: Ansible's action plugin that runs the task. variables: Ansible's, of the task.

        places: import paths of the resource types that may be sent, by name. is_preview: change nothing, as in check
        mode.
        """
        self.variables: Variables = variables or {}
        delegated = self.variables.get("ansible_delegated_vars") or {}
        host_variables: Variables = delegated.get(action._task.delegate_to) or self.variables
        self.name = str(host_variables.get("inventory_hostname", "it"))  # "it": in messages of a task without variables
        self.sandbox: dict[str, Any] | None = (host_variables.get("account") or {}).get("sandbox")
        """The folder that simulates the account, and the settings of the simulation; None for a real account."""
        self.cluster = str((host_variables.get("cluster") or {}).get("id", ""))
        self.is_check_run = is_preview or bool(action._task.check_mode)
        self.wants_diff = bool(action._task.diff)
        self.connection = AccountConnection(action, host_variables, self.name, places)
        self._action = action

    @property
    def work(self) -> str:
        """What hpc-onboard does with a plan on the account: "preview" reports the changes, "reconcile" makes them."""
        return "preview" if self.is_check_run else "reconcile"

    def value(self, name: str) -> Any:
        """Return the value of an Ansible variable with its templates resolved; None if the variable is not set."""
        return self._action._templar.template(self.variables[name]) if name in self.variables else None

    def select(self, names: list[str]) -> list[str]:
        """Return those of the role names that --tags and --skip-tags select."""
        if "always" not in self._action._task.tags:
            return names  # Ansible runs such a task only if the options select the task itself
        run_tags = self.variables.get("ansible_run_tags", ["all"])
        skipped_tags = self.variables.get("ansible_skip_tags", [])
        return select_roles(names, run_tags, skipped_tags)

    def collect(self, names: list[str], resources: Sequence[object], tolerated: Tolerated = ()) -> DeclaredResources:
        """Return what the roles of these names declare, and these resources of the task itself. Raise AccountError.

        tolerated: types of errors that only drop the role in which they occur. The role is then in `refused`.
        """
        refuse_unknown_settings(self.variables)
        account = self.variables.get("account") or {}
        collected = collect_resources(names, account.get("without", []), resources, self.value, tolerated)
        declared = self._locate_refused(drop_refused_roles(collected, tolerated))
        if not (account.get("keep") or account.get("replace")):
            return declared  # the user has listed no resource to keep or to replace
        has_all_roles = not declared.refused and {*ROLES} <= {*names}
        return apply_keep_and_replace(declared, account, is_complete=has_all_roles)

    def _locate_refused(self, declared: DeclaredResources) -> DeclaredResources:
        """Add the line of the accounts file to the reason of each role with invalid settings, if the file sets them."""
        if not declared.refused or "inventory_file" not in self.variables:
            return declared
        from .._input.spec_sentences import add_line  # few accounts have invalid settings

        file = Path(str(self.variables["inventory_file"]))
        refused = {
            role: add_line(file, self.name, role, reason, self.variables) for role, reason in declared.refused.items()
        }
        return declared._replace(refused=refused)

    def key(self, name: str) -> str:
        """Return the value of a key from the keyring, or a simulated one for a sandbox. Raise MissingKey."""
        if self.sandbox:
            # "nvapi-" is the prefix of an NGC key
            return f"nvapi-not-a-real-key-{name}-of-the-sandbox"
        value, warnings = SESSION.read_usable_key(current_keyring_name(name))
        for warning in warnings:
            self.warn(warning)
        return value

    def warn(self, text: str) -> None:
        """Show a warning through Ansible, which prints each text once per run."""
        self._action._display.warning(text)
