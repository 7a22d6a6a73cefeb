# SPDX-License-Identifier: GPL-3.0-or-later
"""What each finding's fix is, and what it did to an account that somebody lives in."""

from __future__ import annotations

import json
import re
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.fix import FixStep, describe_fix

from tests.integration.audit.audit_scene import Audit, Scene
from tests.integration.audit.planting import unasked
from tests.integration.runs import CALLBACKS

from .fixes_shown import Fix, State, States, is_shown, states

OURS = re.compile(
    rb"nvcr\.io|authn\.nvidia\.com|api\.wandb\.ai|hpc\.onboard|hpc-onboard|^\s*(login|password) |^(apikey|\[CURRENT\])"
)
"""Lines that roles keep, in files that they share with the user."""


Findings = Iterable[Mapping[str, Any]]
Counted = Counter[tuple[str, str, str]]


class Row(NamedTuple):
    """A row of the table. changed: the user's entries that the fix changed and did not show."""

    rule: str
    kind: str
    drift: str
    command: str
    result: str
    changed: Sequence[str]

    def __str__(self) -> str:
        own = ", ".join(self.changed) or "0"
        return f"{self.rule:8} {self.kind:20} {self.drift:58} {self.result:28} own changed: {own:4} {self.command}"


def kind_of(fix: Iterable[FixStep]) -> str:
    """Return what a fix consists of, in its order."""
    kinds = []
    for step in fix:
        if step["kind"] == "advice":
            kinds.append("advice")
        elif step["where"] == "account":
            kinds.append(step["command"][0])
        else:
            playbook = next((word for word in step["command"] if word.endswith(".yml") and "accounts" not in word), "")
            kinds.append(playbook.removesuffix(".yml"))
    return "+".join(dict.fromkeys(kinds))


def commands(fix: Sequence[FixStep]) -> list[str]:
    """Return the commands of a fix as they are printed."""
    return [part.text for part in describe_fix(fix) if part.is_command]


def same(finding: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return what is equal for findings of one thing, whatever line it has moved to."""
    return finding["rule"], finding["resource"], re.sub(r":\d+$", "", finding["place"])


def counted(audit: Audit, account: Any) -> Counted:
    """Return how many findings there are of each thing."""
    return Counter(same(one) for one in audit.of(account))


def pasted(scene: Scene, command: str) -> tuple[int, str, list[dict[str, Any]]]:
    """Run a printed command; return its exit code, what it printed and what a fix offered."""
    record = scene.folder / f"record-{uuid.uuid4().hex}.jsonl"
    told = {"RECORD": str(record), "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS), "ANSIBLE_CALLBACKS_ENABLED": "record"}
    done = scene.pasted(unasked(command), **told)
    results = [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
    offered = [one for found in results for one in found["result"].get("offered") or ()]
    return done.returncode, done.stdout + done.stderr, offered


class Home:
    """A lived-in account that was onboarded, and what of it is the user's own."""

    def __init__(self, account: Any, laid: Collection[str]) -> None:
        """laid: the paths that were there before onboarding."""
        self.account, self._onboarded = account, states(account)
        self._made = self._onboarded.keys() - laid

    def _is_ours(self, path: str, state: State) -> bool:
        """Return True for what a role made, unless a hand has changed it since: the change is the user's own."""
        if "/.config/hpc.onboard" in path or path.endswith("/.hpc.onboard"):
            return True
        return path in self._made and (self._onboarded[path] == state or "/miniconda3/" in path)

    def changes(self, before: States, offered: Iterable[dict[str, Any]], findings: Findings) -> list[str]:
        """Return the user's entries that are not as before, and of which no fix showed that it would change them so."""
        now, fixes = states(self.account), [Fix(o, self.account) for o in offered if o["account"] == self.account.name]
        named = " ".join(f"{one['resource']} {one['place']}" for one in findings)
        found = []
        for path, then in before.items():
            there = now.get(path)
            if there == then or self._is_ours(path, then):
                continue
            here = str(self.account.path(path, follow=False))
            shown = path.replace(self.account.home, "~", 1)
            if not (
                is_shown(then, there, [fix for fix in fixes if fix.is_about(here)])
                or _was_moved(path, then, now)
                or (there and _is_shared(then, there))
                or (there and shown in named and there == then._replace(mode=there.mode))
                or (there and shown in named and there == self._onboarded.get(path) and then.kind == "link")
            ):
                found.append(f"{path} ({then.kind} {then.mode:o} -> {there.kind if there else 'gone'})")
        return found


def _was_moved(path: str, then: State, now: States) -> bool:
    """Return True if the entry, or a folder that it was in, has its name with .mine behind it."""
    parts = path.split("/")
    return any(
        now.get("/".join([*parts[:at], parts[at] + ".mine", *parts[at + 1 :]])) == then for at in range(len(parts))
    )


def _is_shared(then: State, now: State) -> bool:
    """Return True if of a file with the user's lines only lines that a role keeps are others."""
    if then.kind != "file" or now.kind != "file" or now.mode not in (then.mode, 0o600):
        return False
    return then.content != now.content and _theirs(then.content) == _theirs(now.content)


def _theirs(content: bytes) -> Any:
    """Return what of a file no role keeps: its logins if it is Docker's, else its lines."""
    try:
        auths = json.loads(content)["auths"].items()
    except (ValueError, TypeError, KeyError, AttributeError):
        return [line for line in content.splitlines() if line and not OURS.search(line)]
    return {name: login for name, login in auths if not OURS.search(name.encode())}
