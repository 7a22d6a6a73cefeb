# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the entry of an account for ssh from its variables: the options of runs, as keywords of ssh_config.

Only known keywords with plain values are written: no value can start another line or become another option.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...module_utils._core.errors import AccountError
from .._accounts.open_sessions import is_asked, may_be_shared, socket_path
from .._authentication import ssh_login
from .._input.ssh_arguments import SSH_VARIABLES, ssh_arguments
from .texts import SOURCE

WORD = r"[A-Za-z0-9_@.+-]+"
NUMBER = r"[0-9]{1,9}"
HOST = r"[A-Za-z0-9_](?:[A-Za-z0-9_.:-]*[A-Za-z0-9_])?"
USER = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
HOP = rf"(?:(?:{USER}|%r)@)?(?:{HOST}|\[[0-9A-Fa-f:.]+\](?::{NUMBER})?)"
FILE = r"[\w~/][\w@%+=:,./~-]*(?: [\w@%+=:,./~-]+)*"
FILES = r"[\w~/][\w@%+=:,./~-]*(?: [\w~/][\w@%+=:,./~-]*)*"
LIST = r"[A-Za-z0-9@+^-][A-Za-z0-9@.,+*?^-]*"
FORMS = {  # the keywords that an entry may have, and the form of their values
    "User": USER,
    "Port": NUMBER,
    "ProxyJump": rf"none|{HOP}(?:,{HOP})*",
    "HostKeyAlias": HOST,
    "AddressFamily": WORD,
    "ConnectTimeout": NUMBER,
    "IdentityFile": FILE,
    "IdentitiesOnly": WORD,
    "CertificateFile": FILE,
    "UserKnownHostsFile": FILES,
    "ServerAliveInterval": NUMBER,
    "ServerAliveCountMax": NUMBER,
    "GSSAPIAuthentication": WORD,
    "GSSAPIDelegateCredentials": WORD,
    "ForwardAgent": "yes|no",
    "PreferredAuthentications": LIST,
    "PubkeyAuthentication": WORD,
    "PasswordAuthentication": WORD,
    "KbdInteractiveAuthentication": WORD,
    "HostKeyAlgorithms": LIST,
    "PubkeyAcceptedAlgorithms": LIST,
    "KexAlgorithms": LIST,
    "Ciphers": LIST,
    "MACs": LIST,
}
ORDER = ("HostName", *FORMS, "ControlMaster", "ControlPath", "ControlPersist")
KEYWORDS = {word.lower(): word for word in FORMS}
SEVERAL = ("IdentityFile", "CertificateFile")
QUOTED = ("IdentityFile", "CertificateFile", "ControlPath")  # of one file each, whose name may contain spaces
OF_RUNS = {  # what matters only to a program, or is the user's choice each time
    *("clearallforwardings", "forwardx11", "batchmode", "stricthostkeychecking", "numberofpasswordprompts", "loglevel"),
    *("controlmaster", "controlpath", "controlpersist"),
}
LETTERS = {"-p": "Port", "-l": "User", "-i": "IdentityFile", "-J": "ProxyJump"}
FAMILIES = {"-4": "inet", "-6": "inet6"}
PERSIST = 600  # seconds that a session stays after its last use, if a new one asks nothing

Options = list[tuple[str, str]]
Settings = Mapping[str, Sequence[str]]


class HostEntry(NamedTuple):
    """One account for ssh. short, long: its possible names. options: keywords and values. jump: user and jump host."""

    account: str
    source: str
    short: str
    long: str
    options: Options
    jump: tuple[str, str] | None


def make_entry(variables: Mapping[str, Any], source: str, user_options: Callable[[str], Settings]) -> HostEntry:
    """Return the entry of an account. Raise AccountError if its options cannot be written.

    source: the accounts file. user_options: returns the options of a host in the user's settings, lists by keyword in
    lower case, with hostname.
    """
    values = {name: str(variables[name]) for name in SSH_VARIABLES if variables.get(name) not in (None, "")}
    account = variables["account"]
    try:
        arguments = ssh_arguments(values, "")
    except ValueError as error:
        raise AccountError(f"its settings of ssh have {error}".replace("No", "no")) from None
    theirs = user_options(_check_value("HostName", arguments[-1]))
    options = [("HostName", _check_value("HostName", theirs["hostname"][-1])), *translate_arguments(arguments[:-1])]
    options += [
        (KEYWORDS[word], _check_value(KEYWORDS[word], one))
        for word, found in theirs.items()
        if word in KEYWORDS and KEYWORDS[word] not in dict(options)
        for one in found
    ]
    jump = re.fullmatch(rf"({USER})@({HOST})", dict(translate_arguments(arguments[:-1])).get("ProxyJump", ""))
    options += sharing_options(variables, str(socket_path(arguments)))
    short = str(account["cluster"])
    options.sort(key=lambda option: ORDER.index(option[0]))
    own_jump = (jump[1], jump[2]) if jump else None
    return HostEntry(account["name"], source, short, f"{account['user']}-{short}", options, own_jump)


def translate_arguments(words: Sequence[str]) -> Options:
    """Return arguments of ssh as keywords of ssh_config. Of a repeated keyword, the first counts, as for ssh."""
    found: Options = []
    for word, value in _options(words):
        if word.lower() in OF_RUNS:
            continue
        if word.lower() not in KEYWORDS:
            raise AccountError(f"its settings of ssh say {word}, which is left to runs")
        keyword = KEYWORDS[word.lower()]
        if keyword in SEVERAL or keyword not in dict(found):
            found.append((keyword, _check_value(keyword, value)))
    return found


def _options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the keyword and the value of each argument."""
    rest = list(words)
    while rest:
        one = rest.pop(0)
        if one in FAMILIES:
            yield "AddressFamily", FAMILIES[one]
            continue
        letter, value = one[:2], one[2:]
        if letter not in (*LETTERS, "-o"):
            raise AccountError(f"its settings of ssh say {letter}, which no entry can say")
        value = value or (rest.pop(0) if rest else "")
        if letter != "-o":
            yield LETTERS[letter], value
            continue
        word, _equal, said = re.sub(r"^ *(\w+)(?: *= *| +)", r"\1=", value).partition("=")
        yield word.strip(), said


def _check_value(word: str, value: str) -> str:
    """Return the value if it has the form of the keyword. Raise AccountError."""
    if not re.fullmatch(FORMS.get(word, HOST), value):
        raise AccountError(f"{value!r} cannot be written as {word}")
    return value


def sharing_options(variables: Mapping[str, Any], socket: str) -> Options:
    """Return the options that share SSH sessions through the socket of runs, as the site allows."""
    if not may_be_shared(variables):
        return [("ControlMaster", "no"), ("ControlPath", "none")]
    if len(socket.encode()) > ssh_login.LONGEST or not re.fullmatch(FILE, socket):
        return []
    auth = variables["cluster"].get("auth") or {}
    seconds = ssh_login.hours(auth) * 3600 if is_asked(variables) else PERSIST
    return [
        ("ControlMaster", "auto"),
        ("ControlPath", socket.replace("%", "%%")),
        ("ControlPersist", str(seconds)),
    ]


def choose_names(
    entries: Iterable[HostEntry], clusters: Iterable[str], is_free: Callable[[str], bool]
) -> dict[str, str]:
    """Return the name of each account for ssh: its cluster's, or with the user if that is taken or is not unique.

    An account without a free name is left out. clusters: of all accounts, also of those without an entry.
    """
    accounts, used = Counter(clusters), set[str]()
    names: dict[str, str] = {}
    for one in entries:
        candidates = [one.long] if accounts[one.short] > 1 else [one.short, one.long]
        name = next((name for name in candidates if name not in used and is_free(name)), None)
        if name:
            names[one.account] = name
            used.add(name)
    return names


def choose_jump_users(entries: Iterable[HostEntry], is_free: Callable[[str], bool]) -> dict[str, str]:
    """Return the user of each jump host for which all accounts have the same one."""
    users: dict[str, set[str]] = {}
    for user, host in filter(None, (one.jump for one in entries)):
        users.setdefault(host, set()).add(user)
    return {host: min(found) for host, found in users.items() if len(found) == 1 and is_free(host)}


def render_section(entry: HostEntry, name: str, jump_users: Mapping[str, str]) -> str:
    """Return the lines of an account's section."""
    lines = [f"{SOURCE}{entry.source}", f"Host {name}", *(_line(*option) for option in entry.options)]
    if entry.jump and entry.jump[1] in jump_users:
        lines += [f"Host {entry.jump[1]}", _line("User", entry.jump[0])]
    return "".join(f"{line}\n" for line in lines)


def _line(word: str, value: str) -> str:
    return f'    {word} "{value}"' if word in QUOTED and " " in value else f"    {word} {value}"
