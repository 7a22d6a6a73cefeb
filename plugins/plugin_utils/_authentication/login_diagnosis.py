# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a login failed, from the output of ssh and the keys on this machine, and what to do for this account."""

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

from .._input.command_line import command
from .._input.programs import ask, ssh_settings
from .._input.ssh_arguments import ssh_arguments, typed
from .._text.ssh_words import PROXY_ENDED, State, host_of, meaning, removal
from . import host_keys
from .unattended import Question

SECONDS = 5
METHODS = re.compile(r"Permission denied \(([a-z0-9,@.-]+)\)")
LOCKED = re.compile(r"incorrect passphrase|passphrase supplied")
LONG_SOCKET = re.compile(r"too long for Unix domain socket|ControlPath too long")
PRINT = re.compile(r"SHA256:[A-Za-z0-9+/=]+")
ASKED = {"session", "asks_each_time"}  # marks of an account whose login asks the user (_accounts/open_sessions.py)
TYPED = {"password", "keyboard-interactive"}  # methods that ask the user
NO_AGENT = 2  # exit code of ssh-add, where none answers


class Diagnosis(NamedTuple):
    """Why a login failed, in a sentence without its full stop, and what to do."""

    state: State
    text: str
    next: str


@dataclass(frozen=True)
class LoginDiagnosis:
    """A failed login. variables: of the account, those of ssh as they are used, and the profile of its cluster."""

    account: str
    variables: Mapping[str, Any]

    @property
    def arguments(self) -> list[str]:
        """Those of ssh, the host last."""
        return ssh_arguments(self.variables, self.account)

    @property
    def cluster(self) -> Mapping[str, Any]:
        """The profile, empty without one."""
        return self.variables.get("cluster") or {}

    def judged(self, words: str, unasked: Sequence[Question] = ()) -> Diagnosis:
        """Return what ssh's last words mean here. words: in one line. unasked: what ssh would have asked the user."""
        asked = next((one for one in unasked if one.is_of_site), None)
        if asked:
            text = f"{self._which(asked.hop)} asks for what only you can type: {asked.text}"
            return Diagnosis("needs_person", text, f"At a terminal: {self._connect()}")
        new = next((one for one in unasked if one.is_of_host_key), None)
        state: State = "host_key_unknown" if new else meaning(words)
        hop = new.hop if new else host_of(words)
        host, login = self.arguments[-1], (self.cluster.get("login") or {}).get("host")
        if state == "refused":
            return self._refused(words, hop)
        if state == "host_key_unknown":
            text = f"this machine has never met {self._which(hop)}: its host key is not in your known hosts"
            return Diagnosis(
                state, text, f"At a terminal, it is compared with what the site publishes: {self._connect()}"
            )
        if state == "host_key_changed":
            key = PRINT.search(words)
            shows = f"{self._which(hop)} shows {f'the key {key[0]}' if key else 'a key'}"
            advice = "Connect no more until the site says that it has a new key. Then remove the old one:"
            order = removal(words) or ["ssh-keygen", "-R", str(host)]
            return Diagnosis(state, f"{shows}, and your known_hosts has another one", f"{advice} {shlex.join(order)}")
        if state == "unresolved":
            said = f"the entry of {self.account} in your accounts file" if host != login else "the cluster's profile"
            advice = f"Is the network there, does the name need the VPN, is it right? It comes from {said}"
            return Diagnosis(state, f"no host of the name {host} is known here", advice)
        if state == "dropped":
            advice = "The login node turns connections away: it is busy, or had too many from here. Wait some minutes"
            return Diagnosis(state, words, advice)
        if LONG_SOCKET.search(words):
            text = f"the path of the socket for kept connections is too long on this machine ({words})"
            return Diagnosis(state, text, "Give it a shorter folder: export ANSIBLE_SSH_CONTROL_PATH_DIR=/tmp/cp-$USER")
        if PROXY_ENDED.search(words):
            return Diagnosis(state, f"the jump host let nothing through ({words})", f"{self._try_it} -v")
        advice = f"Is the network there, does the site want its VPN or a jump host? {self._try_it}"
        return Diagnosis(state, words or "ssh ended without a word", advice)

    def told(self, words: str, unasked: Sequence[Question] = ()) -> str:
        """Return what ssh said, and what to do. unasked: see `judged`; empty if the user was asked."""
        shut = self.judged(words, unasked)
        return words if shut.state in ("unreachable", "dropped") else f"{shut.text}. {shut.next}"

    @cached_property
    def _found(self) -> dict[str, list[str]]:
        """What ssh would do there, by setting."""
        return ssh_settings(self.arguments, SECONDS)

    @property
    def _try_it(self) -> str:
        return f"Try 'ssh {typed(self.variables, self.account)}'"

    def _is_login(self, hop: str) -> bool:
        """Return True if a host is the account's own, not a jump host before it. hop: as ssh names it, or empty."""
        every = host_keys.names(self._found, self.arguments[-1])
        return hop in ("", *every, *(name.partition("]")[0].lstrip("[") for name in every))

    def _which(self, hop: str) -> str:
        return f"the login node {hop}".strip() if self._is_login(hop) else f"the jump host {hop}"

    def _refused(self, words: str, hop: str) -> Diagnosis:
        """Whether it is the door that wants more than a key, the key that cannot be used, or the user."""
        said = METHODS.search(words)
        methods = set(said[1].split(",")) if said else set()
        found = self._found
        host = found.get("hostname", [str(self.arguments[-1])])[0]
        user = found.get("user", ["you"])[0]
        if not self._is_login(hop):
            text = f"the jump host {hop} refuses the keys that ssh has here ({words})"
            return Diagnosis("refused", text, f"Is your public key in place there? {self._of_keys()}{self._try_it}")
        if "Too many authentication failures" in words:
            text = f"{host} refuses so many keys: ssh shows each that your agent holds ({words})"
            advice = f"Name the one for this site in ~/.ssh/config: Host {host}, IdentityFile FILE, IdentitiesOnly yes"
            return Diagnosis("refused", text, advice)
        if TYPED & methods and ASKED & set(self.variables.get("account") or ()):
            text = f"what was typed was not taken ({words})"
            advice = "Was it mistyped, or a code that has served already? The site counts refusals. Try again"
            return Diagnosis("refused", text, advice)
        if TYPED & methods and "publickey" not in methods:
            text = f"{host} lets nobody in by a key alone: it asks for a password or a code ({words})"
            advice = f"Write 'auth: ask' into the entry of {self.account}; then, at a terminal: {self._connect()}"
            return Diagnosis("refused", text, advice)
        here = Keys(found)
        if not here.files and not here.held:
            advice = f"Make one: ssh-keygen -t ed25519. {self._of_keys()}"
            return Diagnosis("refused", "there is no key here that ssh could show", advice.strip())
        locked = here.locked() if not here.held or "identitiesonly yes" in _flat(found) else []
        if locked and locked == here.files:
            add = shlex.join(["ssh-add", *locked])
            agent = add if here.agent else f'eval "$(ssh-agent)" && {add}'
            text = f"your key has a passphrase, and no ssh agent holds it: {', '.join(locked)}"
            return Diagnosis("refused", text, agent)
        text = f"{host} refuses the user {user} with the keys that ssh has here ({words})"
        return Diagnosis(
            "refused", text, f"Is {user} your name there, and your public key in place? {self._of_keys()}{self._try_it}"
        )

    def _connect(self) -> str:
        return shlex.join([*command("connect"), "-l", self.account])

    def _of_keys(self) -> str:
        """Where keys are put in place, in the site's words; with a blank behind."""
        auth = self.cluster.get("auth") or {}
        said = [str(auth[name]) for name in ("keys_by", "keys_url") if auth.get(name)]
        return f"Keys are put there by: {', '.join(said)}. " if said else ""


class Keys:
    """The keys that ssh would show: files of this machine, as its settings name them, and those that an agent holds."""

    def __init__(self, found: Mapping[str, Sequence[str]]) -> None:
        """found: what ssh -G says."""
        home = pwd.getpwuid(os.getuid()).pw_dir
        named = [str(Path(home, path[2:]) if path.startswith("~/") else path) for path in found.get("identityfile", ())]
        self.files = [path for path in named if os.path.isfile(path)]
        where = found.get("identityagent", ["SSH_AUTH_SOCK"])[0]
        own = {} if where == "SSH_AUTH_SOCK" else {"SSH_AUTH_SOCK": "" if where == "none" else where}
        said = ask(["ssh-add", "-l"], SECONDS, own)
        self.agent = said.code not in (None, NO_AGENT)
        self.held = set(PRINT.findall(said.output))

    def locked(self) -> list[str]:
        """Those files that want a passphrase and that no agent holds."""
        return [path for path in self.files if _wants_passphrase(path) and not self._print(path) & self.held]

    def _print(self, path: str) -> set[str]:
        return set(PRINT.findall(ask(["ssh-keygen", "-lf", path], SECONDS).output))


def _wants_passphrase(path: str) -> bool:
    said = ask(["ssh-keygen", "-y", "-P", "", "-f", path], SECONDS, {"LC_ALL": "C"})
    return said.code != 0 and bool(LOCKED.search(said.errors))


def _flat(found: Mapping[str, Sequence[str]]) -> set[str]:
    return {f"{word} {values[0]}" for word, values in found.items()}
