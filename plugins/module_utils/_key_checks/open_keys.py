# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check for files with keys that other users can read or replace.

The Ansible roles of hpc-onboard check the key files that they write themselves.
"""

import os
import re
from typing import Any, Dict, Iterator

from .._audit_checks.audit_check import AuditCheck, find_entry, folders_down_to, has_own_group, traversal_bits, via_home
from .._core import files
from .._core.host import Host
from .._fixes import offers
from .._formats.key_files import CREDENTIALS
from .._key_search.placeholders import is_placeholder
from .._scan.home_listing import HomeListing
from .._scan.search import Search, expand_paths

DEFAULT_ACL = "system.posix_acl_default"
SETTINGS_FILES = (  # endings of files that may or may not contain a key
    *(".json", ".yaml", ".yml", ".toml", ".conf", ".py", ".pypirc", ".npmrc", ".my.cnf", ".boto", ".s3cfg"),
    ".kube/config",
)
REFERENCES = ("/", "~", "$", "os.")  # first characters of a value that names a file or a variable, not a key
SECRET = re.compile(  # a setting whose name means a key or password; the group is its value
    r"\"?(?<!\w)\w*(?:auth|token|key(?:-data)?|password|secret)[\"']?\s*[:=]\s*[\"']?([^\s\"'{}\[\],]{6,})",
    re.IGNORECASE,
)
COMMENTS = re.compile(r"^[ \t]*[#;].*", re.MULTILINE)
PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----")


class OpenKeys(AuditCheck):
    """Mode, access list and parent folders of each file with a key in the home directory, except files of roles."""

    KIND = "open_keys"
    TITLE = "other files with keys"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "own": {"type": "list", "elements": "str", "default": []},  # key files of roles, which the roles check
        "areas": {"type": "list", "elements": "str", "default": []},  # folders to which links may point
    }

    def run(self, host: Host) -> None:
        """Check each file with a key that no role writes, and the folders of the roles' files."""
        areas = self.expand(self.options["areas"], host)
        # A link cannot lead to a file in the other areas, which are missing or closed to this account.
        search = Search(host, [host.home] + [area for area in areas if find_entry(area, host)])
        for path in self._key_files(host, search):
            self._check_file(host, path, search.resolve_file(path) or path)
        own, _skipped = expand_paths(host, self.options["own"])
        for path in own:
            real = search.resolve_file(path)
            if real:
                self._check_default_list(host, os.path.dirname(real))  # the role checks the file itself
        self.skip_unread(search)

    def _key_files(self, host: Host, search: Search) -> Iterator[str]:
        """Yield the paths of credentials files that contain a key, and of private keys in ~/.ssh."""
        own, _skipped = expand_paths(host, self.options["own"])
        for name in HomeListing(host).select(CREDENTIALS):
            path = host.home + "/" + name
            text = "" if path in own else search.read_text(path)
            is_key_file = not name.endswith(SETTINGS_FILES)
            if text.strip() and (is_key_file or _contains_secret(text)):
                yield path
        for name in search.list_names(host.home + "/.ssh"):
            path = host.home + "/.ssh/" + name
            if not name.endswith(".pub") and PRIVATE_KEY.match(search.read_text(path)[:80]):
                yield path

    def _check_file(self, host: Host, path: str, real: str) -> None:
        """Report how other users can access or replace a file. real: the file's path without symbolic links."""
        entry = host.entry(real)
        if entry is None:  # the file was removed after the search
            return
        folder = os.path.dirname(real)
        mode, has_acl = entry.mode, host.has_acl(real)
        traversable = traversal_bits(host, folder)
        text = _describe_mode(
            mode,
            traversable,
            has_acl=has_acl,
            is_of_ssh=path.startswith(host.home + "/.ssh/"),
            has_private_group=has_own_group(host.real(real)),
        )
        if text:
            self._report(host, "SEC-001", path, text % mode, way="mode")
        if has_acl and mode & 0o060 and traversable & 0o010:
            self._report(host, "SEC-003", path, "an access list gives other users access", way="list")
        self._check_default_list(host, folder)
        for above in folders_down_to(folder):
            entry, place = host.entry(above), via_home(above, host)
            why = files.why_unsafe(entry, host.shown(place)) if entry else None
            if why:  # other users could replace the file; only the uppermost such folder is reported
                self._report(host, "SEC-002", place, why, way="folder")
                break

    def _check_default_list(self, host: Host, folder: str) -> None:
        """Report a folder whose default access list is applied to every new file in it."""
        if DEFAULT_ACL in files.list_attributes(host.real(folder)):
            text = "the default access list gives other users access to every new file in this folder"
            self.report("SEC-003", host.shown(folder), text)

    def _report(self, host: Host, rule: str, path: str, text: str, way: str) -> None:
        """Report a path with the fix that removes other users' access.

        way: the access to remove, as in AccessFix: by the file's mode, by its access list, or to a folder above it.
        """
        self.report(rule, host.shown(path), text, auto_fix=offers.offer_access_fix(host, path, way))


def _describe_mode(mode: int, traversable: int, has_acl: bool, is_of_ssh: bool, has_private_group: bool) -> str:
    """Return how a file's mode gives other users access, with %04o for the mode; empty if the mode does not.

    traversable: who can enter the folders of the file, see traversal_bits. has_acl: the group bits of the mode are the
    maximum that an access list allows. has_private_group: the file's group has no other members.
    """
    if mode & 0o004 and traversable & 0o001:
        return "every user of this cluster can read the file (mode %04o)"
    if mode & 0o040 and traversable & 0o010 and not has_acl:
        return "the group can read the file (mode %04o)"
    if mode & 0o077 and is_of_ssh:
        return "ssh does not use a private key that other users may access (mode %04o)"
    if mode & 0o002 or (mode & 0o020 and not has_acl and not has_private_group):
        return "other users can read or change the file if they can access its folder (mode %04o)"
    return ""


def _contains_secret(text: str) -> bool:
    """Return True if a text sets a key or password to a value, and the value is no reference and no placeholder."""
    values = SECRET.findall(COMMENTS.sub("", text))
    return any(not (value.startswith(REFERENCES) or is_placeholder(value)) for value in values)
