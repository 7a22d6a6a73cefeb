# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the entry of an account in ssh_config from the options with which runs connect to the account.

An entry is the line "Host NAME" with its options, by which the command "ssh NAME" connects to the account. A section
is the part of the written file with the entries of one account. Only known keywords with plain values are written, so
that no value can start another line or become another option.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...module_utils._core.errors import AccountError
from .._accounts.open_sessions import asks_user, may_be_shared, socket_path
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
FORMS = {  # by keyword that an entry may contain: the pattern of its values
    "User": USER,
    "Port": NUMBER,
    "ProxyJump": rf"none|{HOP}(?:,{HOP})*",
    "HostKeyAlias": HOST,
    "AddressFamily": WORD,
    "ConnectTimeout": NUMBER,
    "IdentityFile": FILE,
    "IdentitiesOnly": WORD,
    "CertificateFile": FILE,
    "IdentityAgent": FILE,
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
KEYWORDS = {word.lower(): word for word in FORMS}  # lower case, as ssh -G prints keywords -> usual form
REPEATABLE = ("IdentityFile", "CertificateFile")
QUOTED = ("IdentityFile", "CertificateFile", "IdentityAgent", "ControlPath")  # names of one file, with spaces
SKIPPED_OPTIONS = {  # not written: they matter only to a program, or the user chooses them each time
    *("clearallforwardings", "forwardx11", "batchmode", "stricthostkeychecking", "numberofpasswordprompts", "loglevel"),
    *("controlmaster", "controlpath", "controlpersist"),
}
UNWRITTEN = {"proxycommand": "ProxyCommand", "pkcs11provider": "PKCS11Provider"}
"""Options of the user's own settings without which a login may fail, and which an entry cannot contain."""
KEYWORD_OF_OPTION = {"-p": "Port", "-l": "User", "-i": "IdentityFile", "-J": "ProxyJump"}
ADDRESS_FAMILIES = {"-4": "inet", "-6": "inet6"}
PERSIST = 600  # seconds that a session stays open after its last use, if a new one needs no input of the user

Options = list[tuple[str, str]]
Settings = Mapping[str, Sequence[str]]  # values by keyword in lower case


class HostEntry(NamedTuple):
    """The entry of an account. short, long: its possible names: CLUSTER and USER-CLUSTER. options: (keyword, value).

    source: the accounts file. jump: user and jump host, if the account's settings set both.
    """

    account: str
    source: str
    short: str
    long: str
    options: Options
    jump: tuple[str, str] | None


def make_entry(variables: Mapping[str, Any], source: str, user_options: Callable[[str, str], Settings]) -> HostEntry:
    """Return the entry of an account. Raise AccountError if its options cannot be written.

    variables: of Ansible, for the account. source: the accounts file. user_options: returns the options of a host and a
    user name on this host in the user's own settings, including hostname.
    """
    # only the variables that are set
    values = {name: str(variables[name]) for name in SSH_VARIABLES if variables.get(name) not in (None, "")}
    account = variables["account"]
    try:
        arguments = ssh_arguments(values, name="")
    except ValueError as error:
        raise AccountError(f"the ssh arguments of the account cannot be parsed: {error}") from None
    own_options = translate_arguments(arguments[:-1])  # the last argument is the host
    # The user's settings are used where the account sets nothing. They may also define the host as a name for another.
    host, user = _check_value("HostName", arguments[-1]), dict(own_options).get("User", "")
    settings = user_options(host, user)
    options = [("HostName", _check_value("HostName", settings["hostname"][-1])), *own_options]
    account_keywords = {keyword for keyword, _value in options}
    _require_writable(settings, host, str(account["cluster"]), has_jump="ProxyJump" in account_keywords)
    for name, setting in settings.items():
        keyword = KEYWORDS.get(name)
        if keyword and keyword not in account_keywords:
            options += [(keyword, _check_value(keyword, value)) for value in setting]
    # a jump host with a user name, so that "ssh HOST" can use the name, too
    jump = re.fullmatch(rf"({USER})@({HOST})", dict(own_options).get("ProxyJump", ""))
    options += sharing_options(variables, str(socket_path(arguments)))
    short = str(account["cluster"])
    options.sort(key=lambda option: ORDER.index(option[0]))
    return HostEntry(
        account=account["name"],
        source=source,
        short=short,
        long=f"{account['user']}-{short}",
        options=options,
        jump=(jump[1], jump[2]) if jump else None,
    )


def _require_writable(settings: Settings, host: str, name: str, has_jump: bool) -> None:
    """Raise AccountError if the user's own settings of a host contain an option that an entry cannot contain.

    name: that the account would get. has_jump: the account sets a jump host, which overrides a ProxyCommand.
    """
    for keyword, written in UNWRITTEN.items():
        is_set = settings.get(keyword, ["none"])[-1] != "none"
        if is_set and not (has_jump and keyword == "proxycommand"):
            raise AccountError(
                f"your ssh settings for {host} set {written}, which hpc-onboard does not write to ssh_config. Add a "
                f"name to that section of your own settings, such as 'Host {host} {name}', and set its HostName and "
                "User there"
            )


def translate_arguments(arguments: Sequence[str]) -> Options:
    """Return arguments of ssh as keywords and values of ssh_config. Raise AccountError for one that cannot be written.

    The first value of a repeated keyword is used, as by ssh.
    """
    options: Options = []
    for name, value in _parse_arguments(arguments):
        if name.lower() in SKIPPED_OPTIONS:
            continue
        if name.lower() not in KEYWORDS:
            raise AccountError(
                f"the ssh arguments of the account set {name}, which hpc-onboard does not write to ssh_config"
            )
        keyword = KEYWORDS[name.lower()]
        if keyword in REPEATABLE or keyword not in dict(options):
            options.append((keyword, _check_value(keyword, value)))
    return options


def _parse_arguments(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the keyword and the value of each option of ssh. Raise AccountError for an unsupported option."""
    remaining = list(arguments)
    while remaining:
        argument = remaining.pop(0)
        if argument in ADDRESS_FAMILIES:
            yield "AddressFamily", ADDRESS_FAMILIES[argument]
            continue
        letter, value = argument[:2], argument[2:]
        if letter not in (*KEYWORD_OF_OPTION, "-o"):
            shown = letter if letter.startswith("-") else argument
            raise AccountError(
                f"the ssh arguments of the account contain {shown}, which hpc-onboard cannot write to ssh_config"
            )
        value = value or (remaining.pop(0) if remaining else "")
        if letter != "-o":
            yield KEYWORD_OF_OPTION[letter], value
            continue
        # ssh accepts KEYWORD=VALUE and KEYWORD VALUE.
        keyword, _equal, setting = re.sub(r"^ *(\w+)(?: *= *| +)", r"\1=", value).partition("=")
        yield keyword.strip(), setting


def _check_value(keyword: str, value: str) -> str:
    """Return the value if it matches the pattern of the keyword, which is HOST for HostName. Raise AccountError."""
    if not re.fullmatch(FORMS.get(keyword, HOST), value):
        raise AccountError(f"{value!r} is not a valid value for {keyword} in ssh_config")
    return value


def sharing_options(variables: Mapping[str, Any], socket: str) -> Options:
    """Return the options that share SSH sessions through the socket of runs, as the site allows.

    variables: of Ansible, for the account. socket: its path; runs and the entry use the same session.
    """
    if not may_be_shared(variables):
        return [("ControlMaster", "no"), ("ControlPath", "none")]
    if len(socket.encode()) > ssh_login.LONGEST_PATH or not re.fullmatch(FILE, socket):
        return []  # ssh could not use the socket
    auth = variables["cluster"].get("auth") or {}
    # if the login asks the user for something, keep the session as long as the site allows
    seconds = ssh_login.read_session_hours(auth) * 3600 if asks_user(variables) else PERSIST
    return [  # % is the escape character of ssh
        ("ControlMaster", "auto"),
        ("ControlPath", socket.replace("%", "%%")),
        ("ControlPersist", str(seconds)),
    ]


def choose_names(
    entries: Iterable[HostEntry], clusters: Iterable[str], is_free: Callable[[str], bool]
) -> dict[str, str]:
    """Return account -> its name for ssh: CLUSTER, or USER-CLUSTER if that name is in use or not unique.

    An account without a free name is not in the result. clusters: of all accounts, also of those without an entry.
    is_free: True for a name that is not in use.
    """
    account_counts = Counter(clusters)
    names: dict[str, str] = {}
    for entry in entries:
        is_shared = account_counts[entry.short] > 1  # several accounts are on this cluster
        candidates = [entry.long] if is_shared else [entry.short, entry.long]
        name = next((name for name in candidates if name not in names.values() and is_free(name)), None)
        if name:
            names[entry.account] = name
    return names


def choose_jump_users(entries: Iterable[HostEntry], is_free: Callable[[str], bool]) -> dict[str, str]:
    """Return jump host -> user name, except for a host that is not free or that accounts use with different names.

    is_free: True for a host that the user's own settings do not mention.
    """
    users: dict[str, set[str]] = {}
    for user, host in filter(None, (entry.jump for entry in entries)):
        users.setdefault(host, set()).add(user)
    return {host: names.pop() for host, names in users.items() if len(names) == 1 and is_free(host)}


def render_section(entry: HostEntry, name: str, jump_users: Mapping[str, str]) -> str:
    """Return the text of an account's section: its entry, and an entry for its jump host if the host has a user name.

    name: of the account for ssh. jump_users: user names by jump host.
    """
    lines = [f"{SOURCE}{entry.source}", f"Host {name}", *(_render_option(*option) for option in entry.options)]
    if entry.jump and entry.jump[1] in jump_users:
        lines += [f"Host {entry.jump[1]}", _render_option("User", entry.jump[0])]
    return "".join(f"{line}\n" for line in lines)


def _render_option(keyword: str, value: str) -> str:
    """Return the line of an option. The path of one file is quoted if it contains spaces."""
    return f'    {keyword} "{value}"' if keyword in QUOTED and " " in value else f"    {keyword} {value}"
