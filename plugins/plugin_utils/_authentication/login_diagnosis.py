# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Explains why a login failed and what to do, from the output of ssh and the keys on this machine.

A hop is a host on the way to the account: a jump host, or the login node itself. The profile of a cluster contains its
login node, jump host and login method.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from .._input.command_line import command_for
from .._input.programs import ssh_settings
from .._input.ssh_arguments import ssh_arguments, typed_arguments
from .._text.ssh_words import (
    PROXY_ENDED,
    State,
    find_failing_host,
    find_login_state,
    find_removal_command,
    shorten_output,
)
from . import host_keys
from .offered_keys import FINGERPRINT, OfferedKeys
from .renewers import renewal_command, user_of
from .unattended import LoginQuestion

SECONDS = 5
METHODS = re.compile(r"Permission denied \(([a-z0-9,@.-]+)\)")
UNRESOLVED = re.compile(r"Could not resolve hostname (?P<host>[^\s:]+)")
UNUSABLE_KEY = re.compile(
    r"Load key \"(?P<key>[^\"]+)\": (?P<why>(?!incorrect passphrase)[^|]+?) *(?:\||$)"
    r"|Identity file (?P<missing>[^|]+?) not accessible"
)
REFUSED_SETTINGS = re.compile(
    r"(?:^|\| )(?P<error>(?:\S+ line \d+: |unknown option -- |Bad owner or permissions on )[^|]*?)\.? *(?:\||$)"
)
NO_COMMON = re.compile(
    r"Unable to negotiate with (?P<host>\S+) port \d+: no matching (?P<kind>[\w ]+) found\. "
    r"Their offer: (?P<offer>[^\s|]+)"
)
KEYWORDS = {"host key type": "HostKeyAlgorithms", "key exchange method": "KexAlgorithms", "cipher": "Ciphers"}
LONG_SOCKET = re.compile(r"too long for Unix domain socket|ControlPath too long")
ASKING = {"session", "asks_each_time"}  # marks of an account whose login asks the user (_accounts/open_sessions.py)
TYPED_METHODS = {"password", "keyboard-interactive"}  # methods of authentication that ask the user
TYPED_ADVICE = (
    "Check your password, or wait for a new code, then try again. The site may lock your account after several failures"
)


class Diagnosis(NamedTuple):
    """Why a login failed, in a sentence without its full stop, and what to do. state: the kind of the failure."""

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

    def diagnose(self, output: str, questions: Sequence[LoginQuestion]) -> Diagnosis:
        """Return why the login failed. output: of ssh, in one line. questions: of ssh, which nobody has answered."""
        site_question = next((question for question in questions if question.is_of_site), None)
        if site_question:
            text = (
                f"{self._name_host(site_question.hop)} asks for input that only you can provide: {site_question.text}"
            )
            return Diagnosis("needs_person", text, f"At a terminal, run: {self._connect_command}")
        key_question = next((question for question in questions if question.is_of_host_key), None)
        whole_output, output = output, shorten_output(output)
        state: State = "host_key_unknown" if key_question else find_login_state(output)
        hop = key_question.hop if key_question else find_failing_host(output)
        if state == "refused":
            return self._diagnose_refusal(output, hop, whole_output)
        if state == "host_key_unknown":
            text = f"the host key of {self._name_host(hop)} is not in your known_hosts"
            advice = (
                f"To compare the key with the one that the site publishes, run at a terminal: {self._connect_command}"
            )
            return Diagnosis(state, text, advice)
        if state == "host_key_changed":
            return self._diagnose_changed_key(whole_output, hop)
        if state == "unresolved":
            return self._diagnose_unresolved(output)
        if state == "dropped":
            advice = (
                "The login node is busy, or has received too many connections from this machine. Wait a few "
                "minutes, then try again"
            )
            return Diagnosis(state, output, advice)
        return self._diagnose_unreachable(output, whole_output)

    def explain(self, output: str, questions: Sequence[LoginQuestion]) -> str:
        """Return the diagnosis and its advice in one text. output, questions: see diagnose()."""
        diagnosis = self.diagnose(output, questions)
        return f"{diagnosis.text}. {diagnosis.next}"

    def _diagnose_unreachable(self, output: str, whole_output: str) -> Diagnosis:
        """Return the diagnosis for any other failure: a socket's path, a jump host, the settings, or the network."""
        if LONG_SOCKET.search(output):
            text = f"the path of the socket for shared SSH sessions is too long ({output})"
            advice = "Set a folder with a shorter path: export ANSIBLE_SSH_CONTROL_PATH_DIR=/tmp/cp-$USER"
            return Diagnosis("unreachable", text, advice)
        if PROXY_ENDED.search(output):
            text = f"the jump host closed the connection ({output})"
            return Diagnosis("unreachable", text, self._suggest_ssh("-v "))
        if refused := REFUSED_SETTINGS.search(whole_output):
            advice = f"Correct your ssh settings, or the ssh options in the entry of {self.account} in accounts.yml"
            return Diagnosis("unreachable", f"ssh refuses its settings: {refused['error']}", advice)
        if clash := NO_COMMON.search(whole_output):
            option = f"{KEYWORDS.get(clash['kind'], 'MACs')} +{clash['offer'].split(',')[0]}"
            text = f"{clash['host']} has no {clash['kind']} that your ssh allows, only {clash['offer']}"
            return Diagnosis("unreachable", text, f"In ~/.ssh/config, add to the entry of this host: {option}")
        advice = f"Check the network. The site may require its VPN or a jump host. {self._suggest_ssh()}"
        return Diagnosis("unreachable", output.rstrip(".") or "ssh failed without a message", advice)

    def _diagnose_changed_key(self, output: str, hop: str) -> Diagnosis:
        """Return the diagnosis for a host key that differs from known_hosts. hop: the host, as ssh names it."""
        key = FINGERPRINT.search(output)
        text = (
            f"{self._name_host(hop)} presents {f'the key {key[0]}' if key else 'a key'}, but your known_hosts has a "
            f"different key"
        )
        remove = find_removal_command(output) or ["ssh-keygen", "-R", str(self.arguments[-1])]
        advice = f"Do not connect until the site confirms the new key. Then remove the old key: {shlex.join(remove)}"
        return Diagnosis("host_key_changed", text, advice)

    def _diagnose_unresolved(self, output: str) -> Diagnosis:
        """Return the diagnosis for a host name that cannot be resolved, and the file in which the name is set."""
        login = self.cluster.get("login") or {}
        match = UNRESOLVED.search(output)  # it may be the name of a jump host
        host = match["host"] if match else self.arguments[-1]
        source = f"the entry of {self.account} in your accounts file"
        if host in (login.get("host"), (login.get("jump") or {}).get("host")):
            source = "the cluster's profile"
        elif host != self.arguments[-1].rpartition("@")[2].lower():  # the user's settings name it for the account
            source = "your ssh settings"
        advice = f"Check the network, the site's VPN, and the host name in {source}"
        return Diagnosis("unresolved", f"the host name {host} cannot be resolved", advice)

    def _diagnose_refusal(self, output: str, hop: str, whole_output: str) -> Diagnosis:
        """Return why a host refused the login: a key alone is not enough, or the key or the user is not accepted.

        hop: the host, as ssh names it. whole_output: with the lines that output omits.
        """
        lists = METHODS.findall(output)
        methods = set(lists[-1].split(",")) if lists else set()  # of authentication that the host accepts
        host = self._settings.get("hostname", [str(self.arguments[-1])])[0]
        accepts_typed_input = bool(TYPED_METHODS & methods)
        if accepts_typed_input and not self._is_login_host(hop) and "publickey" not in methods:
            return Diagnosis("refused", f"the jump host {hop} did not accept your password or code", TYPED_ADVICE)
        if unusable_key := _diagnose_unusable_key(whole_output):
            return unusable_key
        if not self._is_login_host(hop):
            text = f"the jump host {hop} does not accept the SSH keys of this machine ({output})"
            check = self._certificate_check or "Check that your public key is installed on the jump host. "
            advice = f"{check}{self._key_advice}{self._suggest_ssh()}"
            return Diagnosis("refused", text, advice)
        if "Too many authentication failures" in output:
            text = f"{host} refuses the login because ssh offers too many keys from your agent ({output})"
            advice = f"Set the key for this site in ~/.ssh/config: Host {host}, IdentityFile FILE, IdentitiesOnly yes"
            return Diagnosis("refused", text, advice)
        if accepts_typed_input and ASKING & set(self.variables.get("account") or ()):  # so the user has typed the input
            return Diagnosis("refused", f"your password or code was not accepted ({output})", TYPED_ADVICE)
        if accepts_typed_input and "publickey" not in methods:
            text = f"{host} does not accept an SSH key alone, but asks for a password or a code ({output})"
            advice = (
                f"Set 'auth: ask' in the entry of {self.account} in accounts.yml. "
                f"Then run at a terminal: {self._connect_command}"
            )
            return Diagnosis("refused", text, advice)
        if methods and "publickey" not in methods:
            text = f"{host} accepts only a Kerberos ticket, and the login failed ({output})"
            user = self._settings.get("user", ["you"])[0]
            advice = f"To check that you have a valid ticket for {user}, run: klist. {self._suggest_ssh('-v ')}"
            return Diagnosis("refused", text, advice)
        return self._diagnose_keys(output, host)

    def _diagnose_keys(self, output: str, host: str) -> Diagnosis:
        """Return why a host refused the keys: ssh found no key, cannot use its keys, or the host does not know them.

        output: of ssh. host: the login node's name.
        """
        user = self._settings.get("user", ["you"])[0]
        keys = OfferedKeys(self._settings)
        if not keys.files and not keys.agent_keys:
            advice = f"To create an SSH key, run: ssh-keygen -t ed25519. {self._key_advice}"
            return Diagnosis("refused", "ssh found no SSH key on this machine", advice.strip())
        ignores_agent = self._settings.get("identitiesonly", [""])[0] == "yes"
        # A key in the agent needs no passphrase.
        locked = keys.list_locked() if not keys.agent_keys or ignores_agent else []
        if locked and locked == keys.files:  # ssh cannot use any of its keys
            add_command = shlex.join(["ssh-add", *locked])
            text = f"your SSH key has a passphrase, and no ssh agent has the key: {', '.join(locked)}"
            command = add_command if keys.has_agent else f'eval "$(ssh-agent)" && {add_command}'
            return Diagnosis("refused", text, f"Run: {command}")
        text = f"{host} does not accept the SSH keys of this machine for the user {user} ({output})"
        check = self._certificate_check or (
            f"Check that {user} is your user name at the site and that your public key is installed. "
        )
        advice = f"{check}{self._key_advice}{self._suggest_ssh()}"
        return Diagnosis("refused", text, advice)

    @cached_property
    def _settings(self) -> dict[str, list[str]]:
        """The output of ssh -G for the account."""
        return ssh_settings(self.arguments, SECONDS)

    def _suggest_ssh(self, option: str = "") -> str:
        """Return the advice to try ssh by hand. option: of ssh, followed by a space."""
        return f"Try 'ssh {option}{typed_arguments(self.variables, self.account)}'"

    @property
    def _connect_command(self) -> str:
        """The command that opens a session of the account at a terminal."""
        return shlex.join([*command_for("connect"), "-l", self.account])

    @property
    def _key_advice(self) -> str:
        """A sentence, and a space, on how to install keys at the site; empty if the profile does not describe it."""
        auth = self.cluster.get("auth") or {}
        instructions = [str(auth[name]).rstrip(".") for name in ("keys_by", "keys_url") if auth.get(name)]
        return f"The site's instructions for public keys: {', '.join(instructions)}. " if instructions else ""

    @property
    def _certificate_check(self) -> str:
        """A sentence, and a space, on the signer of a certificate; empty if the login needs no certificate.

        hpc-onboard has checked the user and the end of the certificate before.
        """
        needs_certificate = (self.cluster.get("auth") or {}).get("archetype") == "certificate"
        if not needs_certificate or (self.variables.get("account") or {}).get("auth"):
            return ""
        renewal = renewal_command(self.cluster, user_of(self.variables), "")
        instruction = f"run: {shlex.join(renewal)}" if renewal else "see the site's documentation"
        return f"Check that this site has signed your certificate. To get a new certificate, {instruction}. "

    def _is_login_host(self, hop: str) -> bool:
        """Return True if a host is the account's own, not a jump host before it. hop: as ssh names it, or empty."""
        names = host_keys.list_names(self._settings, self.arguments[-1])
        names_without_port = {name.partition("]")[0].lstrip("[") for name in names}  # of "[host]:port"
        return hop in {"", *names, *names_without_port}  # without a name, assume the login node

    def _name_host(self, hop: str) -> str:
        """Return a host with its role, for messages. hop: see _is_login_host."""
        return f"the login node {hop}".strip() if self._is_login_host(hop) else f"the jump host {hop}"


def _diagnose_unusable_key(output: str) -> Diagnosis | None:
    """Return the diagnosis for a key that ssh or its agent could not use; None if the output of ssh names none."""
    if "agent refused operation" in output:
        advice = "Unlock the agent, confirm the use of the key, or touch the security key, then try again"
        return Diagnosis("refused", "your ssh agent refused to use the key", advice)
    match = UNUSABLE_KEY.search(output)
    if not match:
        return None
    key = match["key"]
    if not key:
        advice = "Correct the path of the key in your accounts file"
        return Diagnosis("refused", f"the key file {match['missing']} does not exist or cannot be read", advice)
    if key.endswith(".pub"):
        advice = f"Set the path of the private key instead, such as {key.removesuffix('.pub')}"
        return Diagnosis("refused", f"{key} is a public key, with which ssh cannot log in", advice)
    if match["why"] == "bad permissions":
        text = f"ssh ignores the key {key}, because other users can access the file"
        return Diagnosis("refused", text, f"Run: {shlex.join(['chmod', '600', key])}")
    text = f"ssh cannot read the key {key} ({match['why']})"
    return Diagnosis("refused", text, "Check that the file is a complete private key, or use another key")
