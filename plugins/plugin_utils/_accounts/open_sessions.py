# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Choose the SSH session for accounts whose login asks the user for something at each connection.

A session that the user has opened (ssh -MNf narval) is used first; Ansible's default options would ignore it. ssh -G
prints the path of such a session, and ssh -O check reports whether it is open; neither connects. Otherwise the session
of hpc-onboard is used, which connect.yml opens at a terminal. Programs use only an open session and never try to log
in, because sites count failed logins. If the site does not allow shared connections, ssh asks the user in the
connection that does the work. Accounts with an expired certificate or ticket are marked, so that no login is tried.

Variables are Ansible's, of one account; "cluster" is the profile of its cluster. Arguments are those of ssh, the host
last.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .._input.json_schema import is_template
from .._input.ssh_arguments import (
    ONLY_OPEN_SESSION,
    arguments_mention_proxy,
    parse_settings,
    read_ssh_config,
    ssh_arguments,
)
from .._state.fingerprint_key import state_folder

# Login methods where ssh asks the user, and variables of users who manage the login themselves.
ASKING_METHODS = ("password", "key_otp", "key_then_otp", "password_otp", "session")
OWN_LOGIN_VARIABLES = ("ansible_ssh_args", "ansible_password", "ansible_ssh_pass")
ASK_ONCE = (  # lets ssh ask the user, which Ansible's default options prevent
    *("-o", "KbdInteractiveAuthentication=yes", "-o", "PasswordAuthentication=yes", "-o", "NumberOfPasswordPrompts=1"),
    *("-o", "PreferredAuthentications=gssapi-with-mic,hostbased,publickey,keyboard-interactive,password"),
)
# seconds for which ssh waits for the login node, and so for the answers to its jump host; Ansible's default is 10
ANSWERS_AT_JUMP_HOST = ("-o", "ConnectTimeout=120")
NO_AUTOMATION = "no_automation"  # login method where programs may not log in
EXPIRING_METHODS = ("certificate", "kerberos")  # with a credential that expires
SECONDS = 5  # time limit of ssh -G and ssh -O check
# a setting that may define a session; not the line that includes the file of hpc-onboard
CONTROL_PATH = re.compile(r"^\s*(controlpath|include)\b(?!.*hpc\.onboard\.conf)", re.IGNORECASE | re.MULTILINE)


def session_variables(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variables to add to those of an account, so that Ansible uses its session; {} if it needs none.

    The result may add these keys to the variable account. session: the socket of hpc-onboard's session. lapses: the
    certificate or ticket has expired or expires within minutes. asks_each_time: ssh asks the user at every connection;
    at_terminal is True if the user can answer. by_hand: programs may not log in.
    """
    if variables.get("ansible_connection", "ssh") != "ssh":
        return {}  # no ssh: a sandbox on this machine
    if is_by_hand(variables):
        no_login = shlex.join([*control_path_options("none"), *ONLY_OPEN_SESSION])
        return {"ansible_ssh_args": no_login, "account": {**variables["account"], "by_hand": True}}
    if any(name in variables for name in OWN_LOGIN_VARIABLES):
        return {}  # the user manages the login
    texts = plain_variables(variables)
    try:
        arguments = ssh_arguments(texts, name="")
    except ValueError:
        return {}  # an unclosed quote in the ssh options, which doctor reports
    asks, can_share = asks_user(variables), may_be_shared(variables)
    open_socket = _find_open_session(arguments, str(variables["cluster"]["id"]), asks) if can_share else ""
    if open_socket:
        return {
            "ansible_ssh_args": shlex.join([*control_path_options(open_socket), *(ONLY_OPEN_SESSION if asks else ())])
        }
    documents = {name: variables[name] for name in ("account", "cluster")}
    account_marks: dict[str, Any] = {"lapses": True} if _is_expiring({**texts, **documents}) else {}
    options = [] if can_share else control_path_options("none")
    if asks and can_share:  # connect.yml opens this session
        account_marks["session"] = str(socket_path(arguments))
        options = [*control_path_options(account_marks["session"]), *ONLY_OPEN_SESSION]
    elif asks:  # ssh asks the user in the connection that does the work
        account_marks["asks_each_time"] = {"at_terminal": _is_at_terminal()}
        options += [*ASK_ONCE, *(ANSWERS_AT_JUMP_HOST if arguments_mention_proxy(arguments) else ())]
    added = {"ansible_ssh_args": shlex.join(options)} if options else {}
    return {**added, "account": {**variables["account"], **account_marks}} if account_marks else added


def plain_variables(variables: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables that contain no template, as text."""
    return {key: str(value) for key, value in variables.items() if value is not None and not is_template(value)}


def is_by_hand(variables: Mapping[str, Any]) -> bool:
    """Return True if programs may not log in to the account. The setting auth overrides the profile's method."""
    setting = variables["account"].get("auth")
    method = (variables["cluster"].get("auth") or {}).get("archetype")
    return bool(setting == "none" or (setting is None and method == NO_AUTOMATION))


def asks_user(variables: Mapping[str, Any]) -> bool:
    """Return True if ssh asks the user at every new connection. The setting auth overrides the profile's method."""
    setting = variables["account"].get("auth")
    method = (variables["cluster"].get("auth") or {}).get("archetype")
    return bool(setting == "ask" or (setting is None and method in ASKING_METHODS))


def may_be_shared(variables: Mapping[str, Any]) -> bool:
    """Return True if the site allows several sessions to share one connection, as most sites do."""
    return (variables["cluster"].get("auth") or {}).get("multiplexing") != "forbidden"


def _is_expiring(variables: Mapping[str, Any]) -> bool:
    """Return True if the account needs a certificate or ticket that has expired or expires within minutes."""
    if (variables["cluster"].get("auth") or {}).get("archetype") not in EXPIRING_METHODS:
        return False
    from .._authentication import credential  # imported late: most accounts use a key

    now = datetime.now(UTC)
    current = credential.find_credential(variables, now)
    return current is not None and current.needs_renewal(now)


def _is_at_terminal() -> bool:
    """Return True if the user can answer: this process has a terminal and is in its foreground."""
    try:
        return os.isatty(0) and os.getpgrp() == os.tcgetpgrp(0)
    except OSError:  # the terminal is closed, or is not the one of this process
        return False


def control_path_options(socket: str) -> list[str]:
    """Return the ssh options that use the session at a socket and never open a shared one. "none": share no session."""
    return ["-o", "ControlMaster=no", "-o", f"ControlPath={socket}"]


def socket_path(arguments: Iterable[str]) -> Path:
    """Return the socket of hpc-onboard's session for these ssh arguments. Accounts with equal arguments share it."""
    name = hashlib.sha256("\0".join(arguments).encode()).hexdigest()[:12]  # short: the system limits paths of sockets
    return state_folder() / "ssh" / name


def _find_open_session(arguments: list[str], cluster: str, asks: bool) -> str:
    """Return the socket of an open session for these ssh arguments; empty if there is none.

    cluster: its name. asks: ssh asks the user. Then connect.yml opens hpc-onboard's own session, which is skipped here.
    """
    own_socket = socket_path(arguments)
    may_have_session = CONTROL_PATH.search(read_ssh_config(arguments))  # most users have none, and ssh is not run
    if may_have_session and (user_socket := _find_user_session(arguments, cluster)):
        return user_socket
    # An own session is open if the user has connected with the ssh_config that ssh_config.yml writes.
    check = ["-O", "check", *control_path_options(str(own_socket)), *arguments]
    is_own_open = not asks and own_socket.exists() and _run_ssh(*check) is not None
    return str(own_socket) if is_own_open else ""


def _find_user_session(arguments: list[str], cluster: str) -> str:
    """Return the socket of a session that the user has opened to the host; empty if there is none.

    The user may have opened it by the name of the cluster, if ~/.ssh/config has such a name for the same host.
    """
    settings = _effective_settings(arguments)
    for host in dict.fromkeys((arguments[-1], cluster)):  # the last argument is the host
        host_arguments = [*arguments[:-1], host]
        host_settings = _effective_settings(host_arguments)
        socket = host_settings.get("controlpath", "none")
        is_same_host = all(host_settings.get(key) == settings.get(key) for key in ("hostname", "user", "port"))
        if is_same_host and socket != "none" and _run_ssh("-O", "check", *host_arguments) is not None:
            return socket
    return ""


def _effective_settings(arguments: Iterable[str]) -> dict[str, str]:
    """Return the settings that ssh would use, by keyword; the last value of a repeated keyword."""
    return {keyword: values[-1] for keyword, values in parse_settings(_run_ssh("-G", *arguments) or "").items()}


def _run_ssh(*arguments: str) -> str | None:
    """Return the output of ssh with options that do not connect; None if ssh fails."""
    from .._input.programs import run_program  # imported late: most accounts have no session

    result = run_program(["ssh", *arguments], SECONDS)
    return result.output if result.code == 0 else None
