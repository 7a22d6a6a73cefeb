# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files with keys in places where their program does not look, or where jobs cannot read them."""

import re
from typing import Any, Dict, List, Tuple

from .._audit_checks.audit_check import AuditCheck, real_home
from .._core.host import Host
from .._formats import docker_auth
from .._formats.key_files import ENROOTS
from .._formats.lines import split_lines, split_words
from .._key_search.placeholders import is_placeholder
from .._scan.search import Search

SCHEME = re.compile(r"[a-z]+://")  # as tutorials write it: docker://nvcr.io
DOCKERS = "~/.docker/config.json"
HOME_IN_JOBS = {
    "ticket": "jobs have no ticket at this site, so they cannot read the home",
    "absent": "compute nodes do not have the home",
}


class UnreadKeys(AuditCheck):
    """The other places of enroot's file, Docker's file next to Apptainer's, and the home as jobs see it."""

    KIND = "unread_keys"
    TITLE = "keys that no program reads"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "enroots": {"type": "list", "elements": "str", "default": []},  # that enroot reads here; empty: unknown
        "apptainers": {"type": "list", "elements": "str", "default": []},  # that a role keeps for Apptainer
        "of_jobs": {"type": "list", "elements": "str", "default": []},  # that jobs read
        "home_in_jobs": {"type": "str", "default": ""},  # on_compute of the profile's home
    }

    def run(self, host: Host) -> None:
        search = Search(host, [host.home])
        self._check_enroot(host, search)
        self._check_apptainer(host, search)
        self._check_jobs(host)
        self.skip_unread(search)

    def _check_enroot(self, host: Host, search: Search) -> None:
        read = [host.expand(path) for path in self.options["enroots"]]
        known = {host.resolve(path) for path in read}
        for path in [host.home + "/" + name for name in ENROOTS] if read else []:
            real = search.resolve_file(path)
            if real and real not in known and _has_password(search.read_text(path)):
                text = "at this site enroot reads %s, not this file" % host.shown(read[0])
                self.report("KEY-009", host.shown(path), text)

    def _check_apptainer(self, host: Host, search: Search) -> None:
        """Compare Docker's file, which Apptainer reads only while it has none of its own."""
        dockers = search.read_text(host.expand(DOCKERS))
        for path in [host.expand(path) for path in self.options["apptainers"] if host.expand(path) != DOCKERS]:
            text = search.read_text(path)
            for registry, login in _logins(text):
                if "://" not in registry:
                    self._check_rivals(host, path, text, registry, login.password)
                    self._check_rivals(host, path, dockers, registry, login.password, DOCKERS)

    def _check_rivals(self, host: Host, path: str, text: str, registry: str, password: str, place: str = "") -> None:
        """Report other keys for the registry in a text. place: the file of the text, where it is not path."""
        for name, other in _logins(text):
            if SCHEME.sub("", name).rstrip("/") == registry and other.password not in ("", password):
                what = "%s has another key there than %s" % (name, registry)
                if place:
                    what = "it has another key for a registry that Apptainer looks up in %s" % host.shown(path)
                self.report("KEY-009", host.shown(place or path), "%s, %s" % (what, host.fingerprint(other.password)))

    def _check_jobs(self, host: Host) -> None:
        why = HOME_IN_JOBS.get(self.options["home_in_jobs"])
        for path in sorted({host.expand(path) for path in self.options["of_jobs"]}) if why else []:
            real = host.resolve(path)
            entry = host.entry(real) if real else None
            if real and entry and entry.kind == "file" and real.startswith(real_home(host) + "/"):
                self.report("KEY-010", host.shown(path), str(why))


def _logins(text: str) -> "List[Tuple[str, docker_auth.RegistryLogin]]":
    found = [(name, docker_auth.find(text, name)) for name in docker_auth.list_registries(text)]
    return [(name, login) for name, login in found if login]


def _has_password(text: str) -> bool:
    """Return True if the text has an entry for a machine and a password that is not a placeholder."""
    every = [word for line in split_lines(text) for word in split_words(line)]
    passwords = [after for word, after in zip(every, every[1:]) if word == "password"]
    has_entry = any(split_words(line)[:1] == ["machine"] for line in split_lines(text))
    return has_entry and any(not is_placeholder(word) for word in passwords)
