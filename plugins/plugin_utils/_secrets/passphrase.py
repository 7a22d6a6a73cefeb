# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the passphrase of the encrypted file comes from: what the user has set up for it, else a person."""

from __future__ import annotations

import getpass
import os
import stat
import sys
from pathlib import Path
from typing import NamedTuple, Protocol

from .file_errors import StoreLocked
from .passphrase_fd import FD, LARGEST, content

VALUE = "HPC_ONBOARD_PASSPHRASE"
ALLOWED = "HPC_ONBOARD_PASSPHRASE_FROM_ENVIRONMENT"
CREDENTIAL = "hpc.onboard"
WAYS = (
    "Name a file with the passphrase, mode 600, in KEYRING_PROPERTY_PASSPHRASE_FILE, or an open file descriptor in"
    f" {FD}, or give the systemd credential {CREDENTIAL}; or run this at a terminal"
)
NOBODY = f"it is locked, and there is no terminal to ask for its passphrase. {WAYS}"


class Given(NamedTuple):
    """A passphrase, and the words for where it came from."""

    passphrase: str
    source: str


class Person(Protocol):
    """Somebody who can be asked, somehow."""

    def ask(self, question: str) -> str:
        """What they type, unseen. Raises StoreLocked when nobody can be asked, or they do not answer."""

    def tell(self, text: str) -> None:
        """Something they should know."""


class AtTerminal:
    """The person at the terminal of this process."""

    def ask(self, question: str) -> str:
        """Ask on the terminal itself: standard input may be the value of a key."""
        try:
            os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
        except OSError:
            raise StoreLocked(NOBODY) from None
        try:
            return getpass.getpass(f"{question}: ")
        except EOFError:
            raise StoreLocked("it is locked, and its passphrase was not given") from None

    def tell(self, text: str) -> None:
        """On standard error, so that a key on standard output stays alone."""
        print(text, file=sys.stderr)


def given(passphrase_file: str) -> Given | None:
    """The passphrase that needs no person, from the first source that is set up; None when none is."""
    found = _found(passphrase_file)
    if found is not None and not found.passphrase:
        raise StoreLocked(f"it is locked, and {found.source} is empty: put the passphrase there")
    return found


def _found(passphrase_file: str) -> Given | None:
    if passphrase_file:
        return Given(_from_file(passphrase_file), f"the file {passphrase_file}")
    if os.environ.get(FD):
        return Given(_from_descriptor(), f"the file descriptor in {FD}")
    folder = os.environ.get("CREDENTIALS_DIRECTORY")
    credential = Path(folder, CREDENTIAL) if folder else None
    if credential and credential.exists():
        return Given(_line(_content(credential)), f"the systemd credential {CREDENTIAL}")
    if os.environ.get(ALLOWED, "").lower() in ("yes", "true", "1") and VALUE in os.environ:
        return Given(os.environ[VALUE], f"the environment variable {VALUE}")
    return None


def _from_file(name: str) -> str:
    """A plain file that is ours alone."""
    path = Path(name).expanduser()
    try:
        found = path.stat()
    except OSError as error:
        raise StoreLocked(f"it is locked, and the passphrase file {path} cannot be read ({error.strerror})") from None
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise StoreLocked(f"it is locked: the passphrase file {path} must be a plain file of yours: chmod 600 {path}")
    return _line(_content(path))


def _content(path: Path) -> bytes:
    try:
        with open(path, "rb") as stream:
            return stream.read(LARGEST)
    except OSError as error:
        raise StoreLocked(f"it is locked, and {path} cannot be read ({error.strerror})") from None


def _from_descriptor() -> str:
    try:
        raw = content()
    except OSError as error:
        raise StoreLocked(f"it is locked, and the descriptor in {FD} cannot be read ({error.strerror})") from None
    if raw is None:
        raise StoreLocked(f"it is locked, and {FD} does not name an open file descriptor")
    return _line(raw)


def _line(raw: bytes) -> str:
    """The first line, as every program that reads passphrases takes it."""
    try:
        return raw.split(b"\n", 1)[0].removesuffix(b"\r").decode()
    except UnicodeDecodeError:
        raise StoreLocked("it is locked, and what was given as its passphrase is no text in UTF-8") from None
