# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sessions by which programs reach accounts whose login asks the user for something in each connection.

A session that the person has opened by hand (ssh -MNf narval) is used, which Ansible's own options would hide. ssh
itself says where a person's sessions lie (ssh -G), and whether one is open (ssh -O check); neither connects. Where
there is none, it is ours, which connect.yml opens at a terminal. Nothing but a session is ever used there: no program
tries to log in, since sites count refused attempts. Where the site forbids to share a connection, the user is asked
in the one that does the work. Accounts whose certificate or ticket has expired are marked, so that nothing is
tried there.
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
from .._input.ssh_arguments import NO_OTHER, parse_settings, read_ssh_config, ssh_arguments
from .._state.fingerprint_key import state_folder

ASKING = ("password", "key_otp", "key_then_otp", "password_otp", "session")  # login methods at which the user is asked
OWN_WAYS = ("ansible_ssh_args", "ansible_password", "ansible_ssh_pass")  # whoever says these knows how to get in
ONCE = (  # what ssh may ask a person: Ansible would let it ask nothing
    *("-o", "KbdInteractiveAuthentication=yes", "-o", "PasswordAuthentication=yes", "-o", "NumberOfPasswordPrompts=1"),
    *("-o", "PreferredAuthentications=gssapi-with-mic,hostbased,publickey,keyboard-interactive,password"),
)
NO_AUTOMATION = "no_automation"  # login method where programs may not log in
LAPSING = ("certificate", "kerberos")  # archetypes whose credential ends by itself
SECONDS = 5  # for what asks nobody anything
MENTIONS = re.compile(r"^\s*(controlpath|include)\b(?!.*hpc\.onboard\.conf)", re.IGNORECASE | re.MULTILINE)


def session_variables(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is to be said to Ansible of an account that is entered by a session; nothing where none is needed.

    variables: the account's, to which these are added. account.session is the socket of the session that is ours;
    account.lapses says that a certificate or ticket has ended, or ends within minutes; account.asks_each_time that the
    person is asked in every connection, and whether somebody is there; account.by_hand that no program may enter.
    """
    if variables.get("ansible_connection", "ssh") != "ssh":
        return {}
    if is_by_hand(variables):
        nowhere = shlex.join([*control_path_options("none"), *NO_OTHER])
        return {"ansible_ssh_args": nowhere, "account": {**variables["account"], "by_hand": True}}
    if any(name in variables for name in OWN_WAYS):
        return {}
    known = {key: str(value) for key, value in variables.items() if value is not None and not is_template(value)}
    try:
        arguments = ssh_arguments(known, "")
    except ValueError:
        return {}  # doctor says what is wrong with them
    asks, shares, ours = is_asked(variables), may_be_shared(variables), socket_path(arguments)
    path = (
        _find_user_session(arguments, str(variables["cluster"]["id"]))
        if shares and _has_control_path(arguments)
        else ""
    )
    if shares and not (path or asks) and ours.exists() and _is_open(str(ours), arguments):
        path = str(ours)  # by a name that we gave it (ssh_config.yml)
    if path:
        return {"ansible_ssh_args": shlex.join([*control_path_options(path), *(NO_OTHER if asks else ())])}
    marks: dict[str, Any] = {"lapses": True} if _is_expiring({**known, **_pick_documents(variables)}) else {}
    options = [] if shares else control_path_options("none")
    if asks and shares:
        marks["session"] = str(ours)
        options = [*control_path_options(marks["session"]), *NO_OTHER]
    elif asks:
        marks["asks_each_time"] = {"at_terminal": _is_at_terminal()}
        options += ONCE
    said = {"ansible_ssh_args": shlex.join(options)} if options else {}
    return {**said, "account": {**variables["account"], **marks}} if marks else said


def is_by_hand(variables: Mapping[str, Any]) -> bool:
    """Return True if no program may enter the account: the account says so, or else its cluster."""
    said = variables["account"].get("auth")
    archetype = (variables["cluster"].get("auth") or {}).get("archetype")
    return bool(said == "none" or (said is None and archetype == NO_AUTOMATION))


def is_asked(variables: Mapping[str, Any]) -> bool:
    """Whether a person is asked for something at every new connection: the account says so, or else its cluster."""
    said = variables["account"].get("auth")
    archetype = (variables["cluster"].get("auth") or {}).get("archetype")
    return bool(said == "ask" or (said is None and archetype in ASKING))


def may_be_shared(variables: Mapping[str, Any]) -> bool:
    """Return True if the site lets several sessions share one connection: most do."""
    return (variables["cluster"].get("auth") or {}).get("multiplexing") != "forbidden"


def _pick_documents(variables: Mapping[str, Any]) -> dict[str, Any]:
    return {name: variables[name] for name in ("account", "cluster")}


def _is_expiring(variables: Mapping[str, Any]) -> bool:
    """Return True if the account wants a certificate or a ticket that has ended, or ends within minutes."""
    if (variables["cluster"].get("auth") or {}).get("archetype") not in LAPSING:
        return False
    from .._authentication import credential  # most have keys

    now = datetime.now(UTC)
    held = credential.find_credential(variables, now)
    return held is not None and held.needs_renewal(now)


def _is_at_terminal() -> bool:
    """Return True if somebody is there to be asked, found by the process that has the terminal."""
    try:
        return os.isatty(0) and os.getpgrp() == os.tcgetpgrp(0)
    except OSError:
        return False


def control_path_options(socket: str) -> list[str]:
    """The options of ssh by which a session is used, and none is opened."""
    return ["-o", "ControlMaster=no", "-o", f"ControlPath={socket}"]


def socket_path(arguments: Iterable[str]) -> Path:
    """Return where our session lies that these arguments of ssh lead to: two accounts with the same ones share it."""
    return state_folder() / "ssh" / hashlib.sha256("\0".join(arguments).encode()).hexdigest()[:12]


def _find_user_session(arguments: list[str], cluster: str) -> str:
    """The socket of a session that the person has opened to the host, or to a name that leads there; empty if none."""
    there = _effective_settings(arguments)
    for host in dict.fromkeys((arguments[-1], cluster)):
        named = [*arguments[:-1], host]
        found = _effective_settings(named)
        path = found.get("controlpath", "none")
        same = all(found.get(word) == there.get(word) for word in ("hostname", "user", "port"))
        if same and path != "none" and _run_ssh("-O", "check", *named) is not None:
            return path
    return ""


def _is_open(socket: str, arguments: list[str]) -> bool:
    """Return True if ssh says that the session at a socket is open."""
    return _run_ssh("-O", "check", *control_path_options(socket), *arguments) is not None


def _has_control_path(arguments: list[str]) -> bool:
    """Return True if the person's own settings say anything of sessions: most say nothing, and nobody need ask ssh."""
    return bool(MENTIONS.search(read_ssh_config(arguments)))


def _effective_settings(arguments: Iterable[str]) -> dict[str, str]:
    """Return what ssh would do, word to value; of a word that is there several times the last."""
    return {word: values[-1] for word, values in parse_settings(_run_ssh("-G", *arguments) or "").items()}


def _run_ssh(*arguments: str) -> str | None:
    """Return what ssh says without connecting; None where it fails."""
    from .._input.programs import run_program  # most have no session

    said = run_program(["ssh", *arguments], SECONDS)
    return said.output if said.code == 0 else None
