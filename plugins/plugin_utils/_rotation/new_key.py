# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read a new key from a file, standard input or the terminal; never from the command line."""

from __future__ import annotations

import os
from pathlib import Path

from ...module_utils._core.errors import AccountError
from .._input.agreement import is_yes
from .._input.command_line import describe_options
from .._secrets.passphrase import explain_not_private
from .._secrets.prompt import NotAnswered, NoTerminal, ask, ask_to_agree
from .._validate.key_kinds import CheckedKey, MalformedKey, check_key
from .options import parse_last_day

LARGEST = 10_000  # bytes; real keys are far shorter
STDIN = "-"  # as a file name: standard input


def read_new_key(secret: str, service: str, file: str, stdin: bytes, hint: str) -> CheckedKey:
    """Read the new key, and check its form. Raise AccountError, whose text never contains the key.

    secret: the name of the key. service: that the key is for. file: its path, STDIN, or empty to ask the user.
    stdin: the content of standard input. hint: to show before the question at the terminal.
    """
    if file == STDIN:
        if not stdin:
            option = describe_options("rotate", "--key-file", STDIN)
            raise AccountError(
                f"standard input is empty. Pipe the new key into the command, or omit {option} to type the key"
            )
        text = stdin.decode("utf-8", "replace").rstrip("\r\n")
    else:
        text = _read_key_file(file) if file else _ask_key(secret, hint)
    try:
        return check_key(text, service)
    except MalformedKey as error:
        raise AccountError(f"the new key for '{secret}' is not valid: {error}. Nothing was changed") from None


def _read_key_file(file: str) -> str:
    """Return the key in a private file, without its line end. Raise AccountError. file: its path, set by the user."""
    path = Path(os.path.expanduser(file))  # unlike Path.expanduser, keeps ~NAME of an unknown user
    try:
        reason = explain_not_private(path, is_pipe_allowed=True)
        if reason:
            raise AccountError(f"the key file {reason}")
        with open(path, "rb") as stream:
            text = stream.read(LARGEST).decode("utf-8")
    except OSError as error:
        raise AccountError(f"the key file {path} cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise AccountError(f"the key file {path} is not a text file") from None
    return text.removesuffix("\n").removesuffix("\r")


def _ask_key(secret: str, hint: str) -> str:
    """Return the key that the user enters at the terminal. Raise AccountError without terminal or answer.

    secret: the name of the key. hint: to show before the question.
    """
    try:
        return ask(f"{hint}New key of '{secret}' (your input is hidden): ", is_hidden=True)
    except NoTerminal:
        option = describe_options("rotate", "--key-file", "FILE")
        text = (
            f"no terminal is available to ask for the new key. Name a file (mode 600) that contains the key: {option}"
        )
        raise AccountError(text) from None
    except NotAnswered:
        raise AccountError(f"no new key was entered for '{secret}', and nothing was changed") from None


def ask_yes_no(question: str) -> bool:
    """Return True if the user answers yes at the terminal; False without a terminal or an answer."""
    return is_yes(ask_to_agree(question) or "")


def ask_last_day(secret: str, page: str) -> str:
    """Ask the user for the last day of a new key, and return the day; empty without a terminal or an answer.

    secret: the name of the key. page: the address where the user finds the day.
    """
    question = (
        f"Last day on which the new key of '{secret}' is valid, such as 2027-01-31 (see {page}).\n"
        "The issuer does not report this date. Press Enter to skip: "
    )
    hint = ""
    for _attempt in range(3):  # then the day stays unknown
        try:
            typed = ask(hint + question).strip()
            return parse_last_day("your input", typed) if typed else ""
        except AccountError as error:
            hint = f"{error}.\n"
        except (NoTerminal, NotAnswered):
            break
    return ""
