# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One account as far as it is known, what must still be said of it, and whether what is said has the right form.

The forms are those of the schema of the accounts file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .._accounts.account_checks import USER
from .._accounts.profiles import PATTERNS, Profile, find_placeholder, schema
from .._input.json_schema import Checker, matches
from .ssh_world import SshTraces

Entry = dict[str, Any]
WORDS = ("project", "jump_user", "ssh", "auth")  # of an entry, each with a value of one word


@dataclass
class DesiredAccount:
    """An account: its cluster's profile, what ssh tells of it, the user ("" where nobody has said) and its entry."""

    profile: Profile
    found: SshTraces
    user: str = ""
    entry: Entry = field(default_factory=dict)

    @property
    def cluster(self) -> str:
        """The cluster's name."""
        return str(self.profile["id"])

    @property
    def name(self) -> str:
        """The account's name, with a question mark for a user that is not known."""
        return f"{self.user or '?'}@{self.cluster}"

    def say(self, word: str, value: str) -> None:
        """Put a value into the entry; storage:NAME is the path of a storage area. Nothing is said by nothing."""
        if not value:
            return
        part, _colon, area = word.partition(":")
        if word == "user":
            self.user = value
        elif area:
            self.entry.setdefault(part, {})[area] = value
        else:
            self.entry[word] = value


@dataclass(frozen=True)
class AccountQuestion:
    """What only the person knows. word: as Wish.say takes it. option: what answers it on a command line."""

    word: str
    text: str
    option: str
    usual: str = ""
    needed: bool = True


def list_questions(wish: DesiredAccount, me: str) -> Iterator[AccountQuestion]:
    """Yield what is still to be said of an account, in the order in which one would ask. me: the user's name here."""
    profile, account = wish.profile, wish.user or "USER"
    if not wish.user:
        yield AccountQuestion("user", "Your user name there", f"--account USER@{wish.cluster}", wish.found.user or me)
    lacking = find_placeholder({part: profile.get(part) for part in PATTERNS}, "project")
    if lacking and "project" not in wish.entry:
        yield AccountQuestion("project", f"Your project, a part of {lacking}", "--project NAME")
    for area in profile.get("storage", ()):
        if "ask" in area and area["name"] not in wish.entry.get("storage", {}):
            hint = " ".join(str(area["ask"]).split())
            text = f"Path of your storage '{area['name']}'. {hint}"
            yield AccountQuestion(f"storage:{area['name']}", text, f"--storage {area['name']}=PATH", needed=False)
    jump = (profile["login"].get("jump") or {}).get("host")
    if jump and not {"jump_user", "ssh"} & wish.entry.keys():
        text = f"Your user name on the jump host {jump}"
        yield AccountQuestion("jump_user", text, "--jump-user NAME", wish.found.jump_user or account, needed=False)


def describe_fault(word: str, value: str) -> str:
    """What is wrong with a value, in the words that an accounts file is refused with; nothing when it is good."""
    if word == "user":
        good = bool(USER.fullmatch(value))
        return "" if good else "A user name has letters, digits, ., - and _ only, and no @."
    properties = schema("accounts")["$defs"]["account"]["properties"]
    part, _colon, area = word.partition(":")
    wanted = properties[part]
    if area:
        names = wanted["propertyNames"]["pattern"]
        if not matches(names, area):
            return f'"{area}" is not the name of a storage area (small letters, digits, - and _).'
        wanted = wanted["additionalProperties"]
    good = not any(Checker(wanted).violations(value))
    said = wanted.get("description", "").rstrip(".")
    return "" if good else f'"{value}" cannot be used here. Needed: {said}.'
