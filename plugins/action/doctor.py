# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks at this machine for doctor; what it makes of it is in plugin_utils/_readiness/doctor_checks.py.

The documentation is in plugins/modules/doctor.py.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible import constants
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import connection_loader
from ansible.release import __version__
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts import open_sessions
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.host_variables import InventoryHost
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication import credential, renewers, ssh_login
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.collection import serving
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.json_schema import is_template
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.programs import ask
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.ssh_arguments import settings, ssh_arguments
from ansible_collections.hpc.onboard.plugins.plugin_utils._readiness import doctor_checks
from ansible_collections.hpc.onboard.plugins.plugin_utils._readiness.doctor_checks import Check
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import passphrase
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.backends import MissingKey
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.key_faults import find_fault
from ansible_collections.hpc.onboard.plugins.plugin_utils._ssh_config import texts
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.fingerprint_key import state_folder

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.result import DoctorResult

OURS = re.compile(r"^plugin:\s*[\"']?hpc\.onboard\.accounts", re.MULTILINE)
RESOLVE = "import socket, sys; socket.getaddrinfo(sys.argv[1], None)"
SECONDS = 8

passphrase.keep_descriptor()


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible is untyped
    """hpc.onboard.doctor"""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: Mapping[str, Any] | None = None) -> DoctorResult:
        """Look at everything, and say what was found."""
        super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec({"key": {"type": "str", "default": "ngc"}})
        checks, hosts = accounts(list((task_vars or {}).get("ansible_inventory_sources") or []))
        real = [host for host in hosts if not doctor_checks.is_sandbox(host)]
        return doctor_checks.result(
            [
                *machine(),
                keyring(arguments["key"], bool(real)),
                *keys(),
                *ssh(bool(real)),
                *names(),
                *checks,
                *routes(real),
            ]
        )


def machine() -> Iterator[Check]:
    """Python, Ansible, and the folder it was started in."""
    now = datetime.now()
    yield doctor_checks.python(sys.version_info[:3], (now.year, now.month))
    yield doctor_checks.ansible_core(__version__, (now.year, now.month))
    here = Path.cwd()
    yield doctor_checks.folder(here, here.stat().st_mode, (here / "ansible.cfg").exists())


def ssh(needed: bool) -> Iterator[Check]:
    """The ssh client, its agent, and the place for its sockets."""
    code, _out, error = ask(["ssh", "-V"], SECONDS)
    yield doctor_checks.ssh(None if code is None else error, needed)
    code, out, _error = ask(["ssh-add", "-l"], SECONDS)
    yield doctor_checks.agent(code, out, needed)
    connection_loader.get("ssh", class_only=True)
    name = constants.config.get_config_value("control_path_dir", plugin_type="connection", plugin_name="ssh")
    yield doctor_checks.control_path(os.path.expanduser(os.path.expandvars(str(name))))


def names() -> Iterator[Check]:
    """The names that ssh knows accounts by, where some were given."""
    ours, config = (Path(path).expanduser() for path in (texts.FILE, texts.CONFIG))
    if ours.is_file():
        from ansible_collections.hpc.onboard.plugins.plugin_utils._readiness import doctor_ssh_names
        from ansible_collections.hpc.onboard.plugins.plugin_utils._ssh_config.user_settings import SshSettings

        try:
            ways = list(SshSettings().list_targets(texts.read_sections(ours.read_text(encoding="latin-1"))))
            text = config.read_text(encoding="latin-1") if config.is_file() else ""
            yield doctor_ssh_names.check(text, ways)
        except (OSError, AccountError) as error:
            yield Check(doctor_ssh_names.NAME, doctor_checks.WARNING, f"{error}.")


def keyring(key: str, needed: bool) -> Check:
    """Which keyring is used, and whether the key is there. Somebody is asked only at a terminal."""
    from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import backends
    from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.file_errors import StoreLocked, StoreMissing
    from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.keyring_backend import Keyring
    from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.prompt import AnsiblePrompter

    prompter = AnsiblePrompter()
    try:
        backend, warnings = backends.choose_backend()
    except MissingKey as error:
        return doctor_checks.no_keyring(str(error), needed)
    if isinstance(backend, Keyring):
        backend.use_prompter(prompter, {})
    words = backends.describe(backend)
    try:
        value = backends.read_password(backend, key)
    except MissingKey as error:
        cause = error.__context__
        if isinstance(cause, StoreMissing):
            return doctor_checks.no_file(words, key)
        unseen = isinstance(cause, StoreLocked)
        return doctor_checks.unseen_keyring(words) if unseen else doctor_checks.closed_keyring(str(error), needed)
    return doctor_checks.keyring(
        words, key, bool(value), warnings + prompter.notes, find_fault(value) if value else None
    )


def keys() -> Iterator[Check]:
    """What the records of rotations remind of: a key that expires, a rotation that is open, an old key that lives."""
    if (state_folder() / "secrets").is_dir():
        from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation import reminders  # few keys were rotated

        for one in reminders.list_reminders():
            yield doctor_checks.reminder(one.text, one.command)


def accounts(sources: Sequence[str]) -> tuple[list[Check], list[InventoryHost]]:
    """The accounts files among the sources of the inventory, read without Ansible."""
    checks: list[Check] = []
    found: list[InventoryHost] = []
    for path in files(sources):
        text = path.read_text(encoding="utf-8", errors="replace")
        if OURS.search(text) or path.stem == "accounts":
            more, hosts = doctor_checks.accounts(path)
            checks += more
            found += hosts
    return checks or [doctor_checks.no_accounts(", ".join(sources))], found


def files(sources: Sequence[str]) -> Iterator[Path]:
    """The YAML files among these sources and in the folders among them."""
    for source in (serving(Path(one)) for one in sources):
        for path in sorted(source.iterdir()) if source.is_dir() else [source]:
            if path.is_file() and path.suffix in (".yml", ".yaml"):
                yield path


def routes(hosts: Sequence[InventoryHost]) -> Iterator[Check]:
    """How each account is reached, as ssh itself says, and the certificates used on the way."""
    known: dict[str, bool] = {}
    for host in hosts:
        try:
            arguments = ssh_arguments(known_values(host), host.name)
        except ValueError as error:
            yield doctor_checks.no_route(host.name, f"{error} in ansible_ssh_common_args or ansible_ssh_extra_args")
            continue
        code, out, said = ask(["ssh", "-G", *arguments], SECONDS)
        if code != 0:
            yield doctor_checks.no_route(host.name, said)
            continue
        found = settings(out)
        near = nearest(found, arguments)
        if near and near not in known:
            known[near] = ask([sys.executable, "-I", "-c", RESOLVE, near], SECONDS)[0] == 0
        yield doctor_checks.route(host.name, found, near or found["hostname"][0], known.get(near) if near else None)
        account = open_sessions.way(host.variables).get("account", {})
        if "by_hand" in account:
            yield doctor_checks.by_hand(host.name)
        elif "session" in account:
            yield doctor_checks.session(host.name, ssh_login.is_open(account["session"]))
        yield from certificates(host, found)
        yield from credentials(host)


def nearest(found: dict[str, list[str]], arguments: list[str]) -> str:
    """The host that this machine itself connects to; empty where a program of the user's connects."""
    hop = doctor_checks.first_hop(found)
    if hop:
        file = arguments[arguments.index("-F") :][:2] if "-F" in arguments else []
        code, out, _error = ask(["ssh", "-G", *file, hop], SECONDS)
        return settings(out).get("hostname", [hop])[0] if code == 0 else hop
    if found.get("proxycommand", ["none"])[0] != "none":
        return ""
    return found["hostname"][0]


def known_values(host: InventoryHost) -> dict[str, str]:
    """The account's variables as far as they can be told without Ansible."""
    return {key: str(value) for key, value in host.variables.items() if value is not None and not is_template(value)}


def certificates(host: InventoryHost, found: dict[str, list[str]]) -> Iterator[Check]:
    """The certificates that ssh would offer."""
    named = [Path(path).expanduser() for path in found.get("certificatefile", []) if path != "none"]
    beside = [Path(f"{path}-cert.pub").expanduser() for path in found.get("identityfile", [])]
    for path in dict.fromkeys([*named, *(one for one in beside if one.is_file())]):
        code, out, _error = ask(["ssh-keygen", "-L", "-f", str(path)], SECONDS)
        listing = None if not path.is_file() else out if code == 0 else ""
        yield doctor_checks.certificate(
            host.name, path, listing, datetime.now(), renew(host, str(path)) or doctor_checks.NEW
        )


def credentials(host: InventoryHost) -> Iterator[Check]:
    """Check the Kerberos ticket that the account wants, or say why no certificate lets the user in."""
    now = datetime.now(UTC)
    held = credential.find_credential(host.variables, now)
    if held and (held.kind == "ticket" or held.problem or not held.place):
        order = renew(host, held.place)
        yield doctor_checks.credential(host.name, held.describe(now), held.is_unusable(now), order)


def renew(host: InventoryHost, place: str) -> str:
    """The command that makes a new certificate or ticket for the account."""
    return shlex.join(renewers.renewal_command(host.variables["cluster"], renewers.user_of(host.variables), place))
