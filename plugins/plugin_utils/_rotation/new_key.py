# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a new key comes from: a file, standard input, or a person at the terminal; never the command line."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ...module_utils._core.errors import AccountError
from .._secrets.prompt import NotAnswered, NoTerminal, asked
from .._validate.key_kinds import CheckedKey, MalformedKey, check_key
from .options import day_to_come

LARGEST = 10_000
STDIN = "-"
NOBODY = "there is no terminal to ask for the new key: name a file with it, mode 600: -e rotate_key_file=PATH"
NOTHING_PIPED = "nothing came on standard input: pipe the new key in, or leave rotate_key_file out to be asked for it"


def new_key(secret: str, service: str, file: str, given: bytes, hint: str = "") -> CheckedKey:
    """The new key in its form; given is what came on standard input. Raises AccountError, which never holds it.

    hint: what a person at the terminal is told before they are asked.
    """
    try:
        return check_key(_typed(secret, file, given, hint), service)
    except MalformedKey as error:
        raise AccountError(f"the new key of '{secret}' was not taken, and nothing was changed: {error}") from None


def _typed(secret: str, file: str, given: bytes, hint: str) -> str:
    if file == STDIN:
        if not given:
            raise AccountError(NOTHING_PIPED)
        return given.decode("utf-8", "replace").rstrip("\r\n")
    return _from_file(file) if file else _asked(secret, hint)


def _from_file(name: str) -> str:
    path = Path(name).expanduser()
    try:
        found = path.stat()
        if stat.S_ISREG(found.st_mode) and (found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077):
            raise AccountError(f"{path}, the file with the new key, must be yours alone: chmod 600 {path}")
        with open(path, "rb") as stream:
            text = stream.read(LARGEST).decode("utf-8")
    except OSError as error:
        raise AccountError(f"{path}, the file with the new key, cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise AccountError(f"{path} holds no text, so it is no key") from None
    return text.removesuffix("\n").removesuffix("\r")


def _asked(secret: str, hint: str) -> str:
    try:
        return asked(f"{hint}New key of '{secret}' (it is not shown): ", unseen=True)
    except NoTerminal:
        raise AccountError(NOBODY) from None
    except NotAnswered:
        raise AccountError(f"no new key of '{secret}' was given, and nothing was changed") from None


def confirmed(question: str) -> bool:
    """Whether a person at the terminal says yes; no where there is none, or no answer."""
    try:
        return asked(question).strip().lower() in ("y", "yes")
    except (NoTerminal, NotAnswered):
        return False


def asked_day(secret: str, page: str) -> str:
    """The last day of a new key, as a person at the terminal knows it; empty where there is none, or no answer."""
    question = (
        f"Last day of the new key of '{secret}', such as 2027-01-31, as {page} shows it.\n"
        "Its issuer does not say it here; Enter alone leaves it open: "
    )
    hint = ""
    for _attempt in range(3):
        try:
            typed = asked(hint + question).strip()
            return day_to_come("that", typed) if typed else ""
        except AccountError as error:
            hint = f"{error}.\n"
        except (NoTerminal, NotAnswered):
            break
    return ""
