# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys on this machine that ssh offers to a host."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from .._input.programs import run_program
from .credential import find_agent_socket, list_files

SECONDS = 5
LOCKED = re.compile(r"incorrect passphrase|passphrase supplied")
FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/=]+")
NO_AGENT = 2  # exit code of ssh-add without an agent


class OfferedKeys:
    """The keys that ssh offers. files: paths of key files. has_agent: True if an ssh agent responds.

    agent_keys: the fingerprints of the agent's keys.
    """

    def __init__(self, settings: Mapping[str, Sequence[str]]) -> None:
        """settings: the output of ssh -G."""
        self.files = [path for path in list_files(settings, "identityfile") if os.path.isfile(path)]
        listing = run_program(["ssh-add", "-l"], SECONDS, {"SSH_AUTH_SOCK": find_agent_socket(settings)})
        self.has_agent = listing.code not in (None, NO_AGENT)  # None: ssh-add is missing or did not end
        self.agent_keys = set(FINGERPRINT.findall(listing.output))

    def list_locked(self) -> list[str]:
        """Return the files that have a passphrase and whose key the agent does not have."""
        return [path for path in self.files if _has_passphrase(path) and not _fingerprint_keys(path) & self.agent_keys]


def _fingerprint_keys(path: str) -> set[str]:
    """Return the fingerprint of the key in a file; none if ssh-keygen cannot read the file."""
    return set(FINGERPRINT.findall(run_program(["ssh-keygen", "-lf", path], SECONDS).output))


def _has_passphrase(path: str) -> bool:
    """Return True if the key in a file has a passphrase: ssh-keygen cannot read the key with an empty one."""
    output = run_program(["ssh-keygen", "-y", "-P", "", "-f", path], SECONDS, {"LC_ALL": "C"})
    return output.code != 0 and bool(LOCKED.search(output.errors))
