# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of keys that lie where their reader does not look, or where jobs cannot read them."""

import re
from typing import Any, Dict, Iterator, List, Optional, Tuple

from .._core.host import Host
from .._formats import docker_auth
from .._formats.key_files import ENROOTS
from .._formats.key_forms import is_placeholder
from .._formats.lines import split_lines, split_words
from .._scan.search import Search
from .watch import Seen, Watch

SCHEME = re.compile(r"[a-z]+://")  # as tutorials write it: docker://nvcr.io
DOCKERS = "~/.docker/config.json"
HOME_IN_JOBS = {
    "ticket": "jobs have no ticket here, and cannot read the home",
    "absent": "compute nodes do not have the home",
}


class UnreadKeys(Watch):
    """The other places of enroot's file, Docker's file behind Apptainer's, and the home as jobs see it."""

    KIND = "unread_keys"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "enroots": {"type": "list", "elements": "str", "default": []},  # that enroot reads here; none: not known
        "apptainers": {"type": "list", "elements": "str", "default": []},  # that a role keeps for Apptainer
        "of_jobs": {"type": "list", "elements": "str", "default": []},  # that jobs read
        "home_in_jobs": {"type": "str", "default": ""},  # on_compute of the profile's home
    }

    def name(self) -> str:
        return "keys that nobody reads"

    def touches(self, host: Host) -> List[str]:
        return [host.home]

    _search: Optional[Search] = None

    def seen(self, host: Host) -> List[Seen]:
        """The files that nobody reads, or that jobs cannot read."""
        self._search = Search(host, [host.home])
        return (
            list(self._of_enroot(host, self._search))
            + list(self._of_apptainer(host, self._search))
            + list(self._of_jobs(host))
        )

    def unseen(self, host: Host) -> List[str]:
        """What the look left out."""
        return self._search.left_out() if self._search else []

    def _of_enroot(self, host: Host, search: Search) -> Iterator[Seen]:
        read = [host.expand(path) for path in self.options["enroots"]]
        known = {host.resolve(path) for path in read}
        for path in [host.home + "/" + name for name in ENROOTS] if read else []:
            real = search.file(path)
            if real and real not in known and _has_password(search.text(path)):
                text = "enroot reads %s at this site, and not this file" % host.shown(read[0])
                yield Seen("KEY-009", host.shown(path), text)

    def _of_apptainer(self, host: Host, search: Search) -> Iterator[Seen]:
        """Apptainer reads Docker's file only while it has none of its own."""
        theirs = search.text(host.expand(DOCKERS))
        for path in [host.expand(path) for path in self.options["apptainers"] if host.expand(path) != DOCKERS]:
            ours = search.text(path)
            for registry, mine in _logins(ours):
                if "://" not in registry:
                    yield from self._rivals(host, path, registry, mine.password, ours, theirs)

    def _rivals(self, host: Host, path: str, registry: str, password: str, ours: str, theirs: str) -> Iterator[Seen]:
        """Other keys for the registry: in Docker's file, or in the same file with a scheme before its name."""
        for place, text in ((path, ours), (DOCKERS, theirs)):
            for name, other in _logins(text):
                if SCHEME.sub("", name).rstrip("/") == registry and other.password not in ("", password):
                    said = "it has another key for a registry that Apptainer looks up in %s" % host.shown(path)
                    if place == path:
                        said = "%s has another key there than %s" % (name, registry)
                    yield Seen("KEY-009", host.shown(place), "%s, %s" % (said, host.fingerprint(other.password)))

    def _of_jobs(self, host: Host) -> Iterator[Seen]:
        why = HOME_IN_JOBS.get(self.options["home_in_jobs"])
        home = host.resolve(host.home) or host.home
        for path in sorted({host.expand(path) for path in self.options["of_jobs"]}) if why else []:
            real = host.resolve(path)
            found = host.entry(real) if real else None
            if real and found and found.kind == "file" and real.startswith(home + "/"):
                yield Seen("KEY-010", host.shown(path), str(why))


def _logins(text: str) -> "List[Tuple[str, docker_auth.RegistryLogin]]":
    found = [(name, docker_auth.find(text, name)) for name in docker_auth.registries(text)]
    return [(name, login) for name, login in found if login]


def _has_password(text: str) -> bool:
    """Whether a machine is there, and a password that is no placeholder."""
    every = [word for line in split_lines(text) for word in split_words(line)]
    behind = [then for word, then in zip(every, every[1:]) if word == "password"]
    is_entry = any(split_words(line)[:1] == ["machine"] for line in split_lines(text))
    return is_entry and any(not is_placeholder(word) for word in behind)
