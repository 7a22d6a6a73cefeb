# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Explains why a login failed, from the output of ssh and the keys on this machine, and what the user can do."""

from __future__ import annotations

import os
import pwd
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from .._input.command_line import command_for
from .._input.programs import run_program, ssh_settings
from .._input.ssh_arguments import ssh_arguments, typed_arguments
from .._text.ssh_words import PROXY_ENDED, State, find_failing_host, find_login_state, find_removal_command
from . import host_keys
from .unattended import LoginQuestion

SECONDS = 5
METHODS = re.compile(r"Permission denied \(([a-z0-9,@.-]+)\)")
LOCKED = re.compile(r"incorrect passphrase|passphrase supplied")
LONG_SOCKET = re.compile(r"too long for Unix domain socket|ControlPath too long")
PRINT = re.compile(r"SHA256:[A-Za-z0-9+/=]+")
ASKING = {"session", "asks_each_time"}  # marks of an account whose login asks the user (_accounts/open_sessions.py)
TYPED = {"password", "keyboard-interactive"}  # methods that ask the user
NO_AGENT = 2  # exit code of ssh-add without an agent


class Diagnosis(NamedTuple):
    """Why a login failed, in a sentence without its full stop, and what to do."""

    state: State
    text: str
    next: str


@dataclass(frozen=True)
class FailedLogin:
    """A login that failed. variables: of the account, with those of ssh as text, and the profile of its cluster."""

    account: str
    variables: Mapping[str, Any]

    @property
    def arguments(self) -> list[str]:
        """The arguments of ssh, the host last."""
        return ssh_arguments(self.variables, self.account)

    @property
    def cluster(self) -> Mapping[str, Any]:
        """The profile of the cluster; empty without one."""
        return self.variables.get("cluster") or {}

    def diagnose(self, output: str, questions: Sequence[LoginQuestion] = ()) -> Diagnosis:
        """Return what the output of ssh means for this account.

        output: in one line. questions: that ssh did not ask the user.
        """
        asked = next((question for question in questions if question.is_of_site), None)
        if asked:
            text = f"{self._name_host(asked.hop)} asks for input that only you can give: {asked.text}"
            return Diagnosis("needs_person", text, f"At a terminal, run: {self._connect}")
        new = next((question for question in questions if question.is_of_host_key), None)
        state: State = "host_key_unknown" if new else find_login_state(output)
        hop = new.hop if new else find_failing_host(output)
        if state == "refused":
            return self._diagnose_refusal(output, hop)
        if state == "host_key_unknown":
            text = f"the host key of {self._name_host(hop)} is not in your known_hosts"
            advice = f"Compare it with the key that the site publishes. To do so, run at a terminal: {self._connect}"
            return Diagnosis(state, text, advice)
        if state == "host_key_changed":
            return self._diagnose_changed_key(output, hop)
        if state == "unresolved":
            return self._diagnose_name()
        if state == "dropped":
            advice = (
                "The login node is busy, or received too many connections from this machine. Wait a few minutes, "
                "then run again"
            )
            return Diagnosis(state, output, advice)
        if LONG_SOCKET.search(output):
            text = f"the path of the socket for shared SSH sessions is too long ({output})"
            return Diagnosis(
                state, text, "Set a folder with a shorter path: export ANSIBLE_SSH_CONTROL_PATH_DIR=/tmp/cp-$USER"
            )
        if PROXY_ENDED.search(output):
            return Diagnosis(state, f"the jump host closed the connection ({output})", f"{self._try} -v")
        advice = f"Check the network. The site may require its VPN or a jump host. {self._try}"
        return Diagnosis(state, output or "ssh failed without a message", advice)

    def explain(self, output: str, questions: Sequence[LoginQuestion] = ()) -> str:
        """Return the diagnosis in one text; only the output if there is no more to say of it."""
        diagnosis = self.diagnose(output, questions)
        if diagnosis.state in ("unreachable", "dropped"):
            return output
        return f"{diagnosis.text}. {diagnosis.next}"

    def _diagnose_changed_key(self, output: str, hop: str) -> Diagnosis:
        key = PRINT.search(output)
        text = (
            f"{self._name_host(hop)} presents {f'the key {key[0]}' if key else 'a key'}, but your known_hosts has a "
            f"different key"
        )
        remove = find_removal_command(output) or ["ssh-keygen", "-R", str(self.arguments[-1])]
        advice = f"Do not connect until the site confirms the new key. Then remove the old one: {shlex.join(remove)}"
        return Diagnosis("host_key_changed", text, advice)

    def _diagnose_name(self) -> Diagnosis:
        host, login = self.arguments[-1], (self.cluster.get("login") or {}).get("host")
        source = f"the entry of {self.account} in your accounts file" if host != login else "the cluster's profile"
        advice = f"Check the network, the site's VPN, and the host name in {source}"
        return Diagnosis("unresolved", f"the host name {host} cannot be resolved", advice)

    def _diagnose_refusal(self, output: str, hop: str) -> Diagnosis:
        """Return whether the site requires more than a key, the key cannot be used, or the user is unknown."""
        match = METHODS.search(output)
        methods = set(match[1].split(",")) if match else set()
        host = self._settings.get("hostname", [str(self.arguments[-1])])[0]
        if not self._is_login(hop):
            text = f"the jump host {hop} does not accept the SSH keys of this machine ({output})"
            return Diagnosis(
                "refused", text, f"Check that your public key is installed on the jump host. {self._keys_by}{self._try}"
            )
        if "Too many authentication failures" in output:
            text = f"{host} refuses the login because ssh offers too many keys: all that your agent has ({output})"
            advice = f"Set the key for this site in ~/.ssh/config: Host {host}, IdentityFile FILE, IdentitiesOnly yes"
            return Diagnosis("refused", text, advice)
        if TYPED & methods and ASKING & set(self.variables.get("account") or ()):
            advice = (
                "Did you mistype it, or was the code already used? Try again; the site may lock your account after "
                "several failures"
            )
            return Diagnosis("refused", f"your password or code was not accepted ({output})", advice)
        if TYPED & methods and "publickey" not in methods:
            text = f"{host} does not accept an SSH key alone: it asks for a password or a code ({output})"
            advice = f"Set 'auth: ask' in the entry of {self.account}; then, at a terminal, run: {self._connect}"
            return Diagnosis("refused", text, advice)
        return self._diagnose_keys(output, host)

    def _diagnose_keys(self, output: str, host: str) -> Diagnosis:
        user = self._settings.get("user", ["you"])[0]
        keys = OfferedKeys(self._settings)
        if not keys.files and not keys.held:
            advice = f"Create one: ssh-keygen -t ed25519. {self._keys_by}"
            return Diagnosis("refused", "ssh found no SSH key on this machine", advice.strip())
        is_limited = self._settings.get("identitiesonly", [""])[0] == "yes"
        locked = keys.list_locked() if not keys.held or is_limited else []
        if locked and locked == keys.files:
            add = shlex.join(["ssh-add", *locked])
            text = f"your SSH key has a passphrase, and no ssh agent has the key: {', '.join(locked)}"
            return Diagnosis("refused", text, add if keys.has_agent else f'eval "$(ssh-agent)" && {add}')
        text = f"{host} does not accept the SSH keys of this machine for the user {user} ({output})"
        advice = (
            f"Check that {user} is your user name there and that your public key is installed. "
            f"{self._keys_by}{self._try}"
        )
        return Diagnosis("refused", text, advice)

    @cached_property
    def _settings(self) -> dict[str, list[str]]:
        """The output of ssh -G for the account."""
        return ssh_settings(self.arguments, SECONDS)

    @property
    def _try(self) -> str:
        return f"Try 'ssh {typed_arguments(self.variables, self.account)}'"

    @property
    def _connect(self) -> str:
        return shlex.join([*command_for("connect"), "-l", self.account])

    @property
    def _keys_by(self) -> str:
        """How keys are installed at the site, as a sentence with a space after it; empty if the profile has nothing."""
        auth = self.cluster.get("auth") or {}
        ways = [str(auth[name]) for name in ("keys_by", "keys_url") if auth.get(name)]
        return f"To install a public key: {', '.join(ways)}. " if ways else ""

    def _is_login(self, hop: str) -> bool:
        """Return True if a host is the account's own, not a jump host before it. hop: as ssh names it, or empty."""
        names = host_keys.list_names(self._settings, self.arguments[-1])
        return hop in ("", *names, *(name.partition("]")[0].lstrip("[") for name in names))

    def _name_host(self, hop: str) -> str:
        return f"the login node {hop}".strip() if self._is_login(hop) else f"the jump host {hop}"


class OfferedKeys:
    """The keys that ssh offers: in files that its settings name, and held by an agent, by fingerprint."""

    def __init__(self, settings: Mapping[str, Sequence[str]]) -> None:
        """settings: the output of ssh -G."""
        home = pwd.getpwuid(os.getuid()).pw_dir
        named = [Path(home, path[2:]) if path.startswith("~/") else path for path in settings.get("identityfile", ())]
        self.files = [str(path) for path in named if os.path.isfile(path)]
        agent = settings.get("identityagent", ["SSH_AUTH_SOCK"])[0]
        own = {} if agent == "SSH_AUTH_SOCK" else {"SSH_AUTH_SOCK": "" if agent == "none" else agent}
        listed = run_program(["ssh-add", "-l"], SECONDS, own)
        self.has_agent = listed.code not in (None, NO_AGENT)
        self.held = set(PRINT.findall(listed.output))

    def list_locked(self) -> list[str]:
        """Return the files that have a passphrase and whose key no agent holds."""
        return [path for path in self.files if _has_passphrase(path) and not _fingerprints(path) & self.held]


def _fingerprints(path: str) -> set[str]:
    return set(PRINT.findall(run_program(["ssh-keygen", "-lf", path], SECONDS).output))


def _has_passphrase(path: str) -> bool:
    done = run_program(["ssh-keygen", "-y", "-P", "", "-f", path], SECONDS, {"LC_ALL": "C"})
    return done.code != 0 and bool(LOCKED.search(done.errors))
