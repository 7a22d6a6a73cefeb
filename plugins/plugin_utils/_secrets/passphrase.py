# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The passphrase of the encrypted file: from a source that the user has set up, else from a prompt."""

from __future__ import annotations

import getpass
import os
import pwd
import shlex
import stat
import sys
from pathlib import Path
from typing import NamedTuple, Protocol

from .file_errors import StoreLocked

# environment variables: a file descriptor, the passphrase itself, and the permission to use the latter
FD = "HPC_ONBOARD_PASSPHRASE_FD"
VALUE = "HPC_ONBOARD_PASSPHRASE"
ALLOWED = "HPC_ONBOARD_PASSPHRASE_FROM_ENVIRONMENT"
CREDENTIAL = "hpc.onboard"  # name of the systemd credential
LARGEST = 64 * 1024  # bytes to read from a source
SOURCES = (
    "Run the command at a terminal, set KEYRING_PROPERTY_PASSPHRASE_FILE to a file (mode 600) with the passphrase, "
    f"set {FD} to an open file descriptor, or provide the systemd credential {CREDENTIAL}"
)
NOT_UTF8 = "the file is locked, and the passphrase is not valid UTF-8"
NO_TERMINAL = f"the file is locked, and no terminal is available to ask for the passphrase. {SOURCES}"

_kept_handle: list[int] = []  # the duplicated descriptor, once keep_descriptor() was called
_kept_content: list[bytes] = []  # the content of the descriptor, once it was read


class PassphraseSource(NamedTuple):
    """A passphrase. source: a description for messages."""

    passphrase: str
    source: str


class Prompter(Protocol):
    """Asks the user for the passphrase."""

    def ask(self, question: str) -> str:
        """Return the hidden input. Raise StoreLocked without a terminal or an answer."""

    def show_note(self, text: str) -> None:
        """Show a note, immediately or later."""


class TerminalPrompter:
    """Prompts at the terminal of this process."""

    def ask(self, question: str) -> str:
        """Return the hidden input from the terminal, not from standard input, which may be the value of a key."""
        try:
            os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))  # fails without a terminal
        except OSError:
            raise StoreLocked(NO_TERMINAL) from None
        try:
            return getpass.getpass(f"{question}: ")
        except EOFError:
            raise StoreLocked("the file is locked, and no passphrase was entered") from None
        except UnicodeDecodeError:  # of a terminal with another encoding
            raise StoreLocked(NOT_UTF8) from None

    def show_note(self, text: str) -> None:
        """Print to standard error, because standard output may be the value of a key."""
        print(text, file=sys.stderr)


def find_passphrase(passphrase_file: str) -> PassphraseSource | None:
    """Return the passphrase from the first available source; None if the user must be prompted. Raise StoreLocked."""
    source = _read_first_source(passphrase_file)
    if source is not None and not source.passphrase:
        raise StoreLocked(f"the file is locked, and {source.source} is empty. Put the passphrase into {source.source}")
    return source


def _read_first_source(passphrase_file: str) -> PassphraseSource | None:
    """Return the passphrase, even if empty, from the first source that is set up; None without such a source."""
    if passphrase_file:
        path = Path(os.path.expanduser(passphrase_file))  # unlike Path.expanduser, keeps ~NAME of an unknown user
        return PassphraseSource(_read_file(path, must_be_private=True), f"the file {passphrase_file}")
    if os.environ.get(FD):
        return PassphraseSource(_read_descriptor(), f"the file descriptor in {FD}")
    folder = os.environ.get("CREDENTIALS_DIRECTORY")
    credential = Path(folder, CREDENTIAL) if folder else None
    if credential and credential.exists():
        return PassphraseSource(_read_file(credential), f"the systemd credential {CREDENTIAL}")
    if os.environ.get(ALLOWED, "").lower() in ("yes", "true", "1") and VALUE in os.environ:
        return PassphraseSource(_first_line(os.environb[VALUE.encode()]), f"the environment variable {VALUE}")
    return None


def _read_file(path: Path, must_be_private: bool = False) -> str:
    """Return the first line of a file. must_be_private: refuse a file that others can access. Raise StoreLocked."""
    try:
        reason = explain_not_private(path) if must_be_private else ""
        if reason:  # the reason begins with the path
            raise StoreLocked(f"the file is locked, and the passphrase file {reason}")
        with open(path, "rb") as stream:
            return _first_line(stream.read(LARGEST))
    except OSError as error:
        raise StoreLocked(
            f"the file is locked, and the passphrase file {path} cannot be read ({error.strerror})"
        ) from None


def explain_not_private(path: Path, is_pipe_allowed: bool = False) -> str:
    """Return why a file is not safe for a secret, and what to do; empty if only this user can read the file.

    is_pipe_allowed: accept a pipe or a device, too. Raise OSError if the file cannot be examined.
    """
    entry = path.stat()
    if stat.S_ISDIR(entry.st_mode):
        return f"{path} is a folder. Give the path of a file"
    if not stat.S_ISREG(entry.st_mode):
        return "" if is_pipe_allowed else f"{path} is not a regular file. Give the path of a regular file"
    if entry.st_uid != os.geteuid():
        try:
            owner = pwd.getpwuid(entry.st_uid).pw_name
        except KeyError:
            owner = f"uid {entry.st_uid}"
        return f"{path} belongs to another user ({owner}). Use your own copy of the file, with mode 600"
    if stat.S_IMODE(entry.st_mode) & 0o077:
        return f"{path} is accessible to other users. Run: chmod 600 {shlex.quote(str(path))}"
    return ""


def keep_descriptor() -> None:
    """Duplicate the descriptor that the user has set, before the forks: workers replace the descriptors 0 to 2."""
    if os.environ.get(FD, "").isdecimal() and not _kept_handle:
        try:
            _kept_handle.append(os.dup(int(os.environ[FD])))
        except OSError:  # not open; _read_descriptor() reports that if the passphrase is needed
            return


def _read_descriptor() -> str:
    """Return the first line from the user's descriptor. A process reads it only once, because it may be a pipe."""
    keep_descriptor()
    if not _kept_handle:
        raise StoreLocked(f"the file is locked, and {FD} is not the number of an open file descriptor")
    if not _kept_content:
        try:
            with os.fdopen(_kept_handle[0], "rb", closefd=False) as stream:
                _kept_content.append(stream.read(LARGEST))
        except OSError as error:
            raise StoreLocked(
                f"the file is locked, and the file descriptor in {FD} cannot be read ({error.strerror})"
            ) from None
    return _first_line(_kept_content[0])


def _first_line(content: bytes) -> str:
    """Return the first line without its line end. Raise StoreLocked for text that is not UTF-8."""
    try:
        return content.split(b"\n", 1)[0].removesuffix(b"\r").decode()
    except UnicodeDecodeError:
        raise StoreLocked(NOT_UTF8) from None
