# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An account that init adds: its known settings, the questions about the others, and the check of the answers.

The schema of the accounts file defines which answers are valid. A profile contains the facts about a cluster. The
traces of an account are what the user's ssh files contain about the account.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .._accounts.account_checks import USER_NAME
from .._accounts.profiles import RENDERED_PARTS, Profile, find_placeholder, schema
from .._input.json_schema import Checker, matches
from .ssh_world import SshTraces

Entry = dict[str, Any]


@dataclass
class DesiredAccount:
    """An account that init adds to the accounts file."""

    profile: Profile  # of the cluster
    traces: SshTraces  # in the user's ssh files
    user: str = ""  # the user name on the cluster; empty if unknown
    entry: Entry = field(default_factory=dict)  # the settings in the accounts file

    @property
    def cluster(self) -> str:
        """Return the name of the cluster."""
        return str(self.profile["id"])

    @property
    def name(self) -> str:
        """Return the name of the account, with a question mark for an unknown user."""
        return f"{self.user or '?'}@{self.cluster}"

    def set_value(self, setting: str, value: str) -> None:
        """Set the user, or a setting of the entry.

        setting: "user", the name of a setting, or "storage:AREA" for the path of a storage area.
        """
        if not value:  # the user skipped the question
            return
        key, _colon, area = setting.partition(":")
        if setting == "user":
            self.user = value
        elif area:
            self.entry.setdefault(key, {})[area] = value
        else:
            self.entry[setting] = value


@dataclass(frozen=True)
class AccountQuestion:
    """A question about a setting that only the user knows."""

    setting: str  # as in DesiredAccount.set_value()
    text: str
    option: str  # the option of init that answers the question
    default: str = ""
    is_required: bool = True


def list_questions(account: DesiredAccount, local_user: str) -> Iterator[AccountQuestion]:
    """Yield a question for each setting that is still unknown, in the order to ask them.

    local_user: the user name on this machine, which is the default if the ssh files contain no other user name.
    """
    profile, traces = account.profile, account.traces
    if not account.user:
        option = f"--account USER@{account.cluster}"
        yield AccountQuestion("user", "Your user name on the cluster", option, traces.user or local_user)
    # the first path with the placeholder, such as /work/{project}
    path = find_placeholder({part: profile.get(part) for part in RENDERED_PARTS}, "project")
    if path and "project" not in account.entry:
        yield AccountQuestion("project", f"Your project, which is part of {path}", "--project NAME")
    for area in profile.get("storage", ()):
        name = area["name"]
        if "ask" in area and name not in account.entry.get("storage", {}):  # ask: how the user finds the path
            text = f"Path of your storage area '{name}'. {' '.join(str(area['ask']).split())}"
            yield AccountQuestion(f"storage:{name}", text, f"--storage {name}=PATH", is_required=False)
    jump = (profile["login"].get("jump") or {}).get("host")  # None without a jump host
    if jump and not {"jump_user", "ssh"} & account.entry.keys():  # with ssh, the ssh settings contain the jump host
        text = f"Your user name on the jump host {jump}"
        default = traces.jump_user or account.user or "USER"  # USER: the account's user is not known yet
        yield AccountQuestion("jump_user", text, "--jump-user NAME", default, is_required=False)


def describe_fault(setting: str, value: str) -> str:
    """Return what is wrong with the value of a setting, in a sentence for the user; empty if the value is valid.

    setting: as in DesiredAccount.set_value().
    """
    if setting == "user":
        is_valid = bool(USER_NAME.fullmatch(value))
        return "" if is_valid else "A user name may contain only letters, digits, dots, hyphens and underscores."
    key, _colon, area = setting.partition(":")
    value_schema = schema("accounts")["$defs"]["account"]["properties"][key]
    if area:  # the schema of a mapping: patterns of its keys (areas) and values (paths)
        if not matches(value_schema["propertyNames"]["pattern"], area):
            return f'"{area}" is not a valid name of a storage area. Use lowercase letters, digits, - and _.'
        value_schema = value_schema["additionalProperties"]
    if not any(Checker(value_schema).violations(value)):
        return ""
    choices = ", ".join(value_schema.get("enum", ()))
    expected = choices or value_schema.get("description", "").rstrip(".")
    return f'"{value}" is invalid. Expected: {expected}.'
