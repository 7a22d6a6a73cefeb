# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check for key files that their program does not read, or that jobs cannot read.

The Ansible roles of hpc-onboard write some of these files, and check the entries that they write.
"""

import re
from typing import Any, Dict, Iterator, List, Tuple

from .._audit_checks.audit_check import AuditCheck, find_entry, real_home, resolve_readable
from .._core.host import Host
from .._formats import docker_auth, netrc
from .._formats.key_files import ENROOTS
from .._formats.lines import split_lines, split_words
from .._key_search.placeholders import is_placeholder
from .._scan.search import Search

SCHEME = re.compile(r"[a-z]+://")  # some tutorials add a scheme to the name of a registry: docker://nvcr.io
DOCKER_FILE = "~/.docker/config.json"
HOME_IN_JOBS = {  # how jobs at this site can use the home directory -> why they cannot read files in it
    "ticket": "jobs have no Kerberos ticket at this site, so they cannot read the home directory",
    "absent": "the home directory does not exist on compute nodes",
}


class UnreadKeys(AuditCheck):
    """Key files that enroot or Apptainer ignores, and those that jobs need but cannot read in the home directory."""

    KIND = "unread_keys"
    TITLE = "keys that no program reads"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        # the files that enroot reads at this site; empty: unknown
        "enroots": {"type": "list", "elements": "str", "default": []},
        # the files of roles for Apptainer
        "apptainers": {"type": "list", "elements": "str", "default": []},
        # the machines whose entries in ~/.netrc a role maintains
        "machines": {"type": "list", "elements": "str", "default": []},
        # the key files that jobs read
        "of_jobs": {"type": "list", "elements": "str", "default": []},
        # a key of HOME_IN_JOBS; any other value means that jobs can read the home directory
        "home_in_jobs": {"type": "str", "default": ""},
    }

    def run(self, host: Host) -> None:
        """Check the files for enroot, for Apptainer, and for jobs."""
        search = Search(host, [host.home])
        self._check_enroot(host, search)
        self._check_apptainer(host, search)
        self._check_netrc(host, search)
        self._check_jobs(host)
        self.skip_unread(search)

    def _check_enroot(self, host: Host, search: Search) -> None:
        """Report files with a login for enroot that enroot does not read at this site."""
        used = self.expand(self.options["enroots"], host)
        if not used:  # the site's configuration of enroot is unknown
            return
        used_real = {resolve_readable(path, host) for path in used}
        for name in ENROOTS:
            path = host.home + "/" + name
            real = search.resolve_file(path)
            if real and real not in used_real and _has_password(search.read_text(path)):
                text = "at this site, enroot reads %s, not this file" % host.shown(used[0])
                self.report("KEY-009", host.shown(path), text)

    def _check_apptainer(self, host: Host, search: Search) -> None:
        """Report different keys for one registry in Apptainer's files and in Docker's file, which Apptainer reads last.

        Each entry for a registry, such as nvcr.io, is compared with the entries for the same registry with a scheme,
        such as docker://nvcr.io, and with those of Docker's file.
        """
        docker_path = host.expand(DOCKER_FILE)
        docker_text = search.read_text(docker_path)
        for path in sorted(set(self.expand(self.options["apptainers"], host)) - {docker_path}):
            text = search.read_text(path)
            for registry, login in _read_logins(text):
                if "://" in registry:
                    continue  # _other_keys yields the entries with a scheme
                for name, key in _other_keys(host, text, registry, login.password):
                    problem = "the entry %s contains %s, but the entry %s contains a different key"
                    self.report("KEY-009", host.shown(path), problem % (name, key, registry))
                for _name, key in _other_keys(host, docker_text, registry, login.password):
                    problem = "this file contains %s for %s, but Apptainer uses a different key in %s"
                    self.report("KEY-009", DOCKER_FILE, problem % (key, registry, host.shown(path)))

    def _check_netrc(self, host: Host, search: Search) -> None:
        """Report a second entry of ~/.netrc for the same machine and login: programs differ in which one they use."""
        path = host.home + "/.netrc"
        text = search.read_text(path)
        for machine in netrc.list_machines(text):
            if machine in self.options["machines"]:
                continue  # the role checks these entries itself
            passwords: Dict[str, str] = {}  # login -> the password of its first entry
            for entry in netrc.find_entries(text, machine):
                if passwords.setdefault(entry.login, entry.password) != entry.password:
                    place = "%s:%d" % (host.shown(path), text.count("\n", 0, entry.start) + 1)
                    problem = (
                        "an earlier entry for %s has the same login, but a different key: delete one of the two entries"
                    )
                    self.report("KEY-003", place, problem % machine, severity="medium")

    def _check_jobs(self, host: Host) -> None:
        """Report files that jobs need, if they are in a home directory that jobs cannot read."""
        why = HOME_IN_JOBS.get(self.options["home_in_jobs"])
        if why is None:  # jobs can read the home directory
            return
        for path in sorted(set(self.expand(self.options["of_jobs"], host))):
            real, entry = resolve_readable(path, host), find_entry(path, host)
            if real and entry and entry.kind == "file" and real.startswith(real_home(host) + "/"):
                self.report("KEY-010", host.shown(path), why)


def _other_keys(host: Host, text: str, registry: str, password: str) -> Iterator[Tuple[str, str]]:
    """Yield (name, fingerprint) of each entry of a Docker configuration that has a different key for the registry.

    name: the name of the entry, which may contain a scheme. password: the key with which the entries are compared.
    """
    for name, login in _read_logins(text):
        if SCHEME.sub("", name).rstrip("/") == registry and login.password not in ("", password):
            yield name, host.fingerprint(login.password)


def _read_logins(text: str) -> "List[Tuple[str, docker_auth.RegistryLogin]]":
    """Return (registry, login) of each entry of a Docker configuration that has a login."""
    entries = [(name, docker_auth.find(text, name)) for name in docker_auth.list_registries(text)]
    return [(name, login) for name, login in entries if login]


def _has_password(text: str) -> bool:
    """Return True if the text has an entry for a machine and a password that is not a placeholder."""
    words = [word for line in split_lines(text) for word in split_words(line)]
    passwords = [next_word for word, next_word in zip(words, words[1:]) if word == "password"]
    has_entry = any(split_words(line)[:1] == ["machine"] for line in split_lines(text))
    return has_entry and any(not is_placeholder(password) for password in passwords)
