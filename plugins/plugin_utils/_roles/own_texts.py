# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts of a person's own that go to an account: read from this machine, and refused where they hold a key."""

from __future__ import annotations

import re
from pathlib import Path

from ...module_utils._core.errors import AccountError
from ...module_utils._key_search.keys_in_texts import find_keys
from ...module_utils._options.file_options import LARGEST_TEXT, check_text

PRIVATE = re.compile(r"^-----BEGIN [A-Z0-9 ]*PRIVATE KEY", re.MULTILINE)


def read_own_text(role: str, file: Path) -> str:
    """The text of a file. Raises AccountError where it cannot be read, is no text, or must not go to an account."""
    said = f"{role}: the file {file.absolute()}"
    try:
        if file.exists() and not (file.is_file() or file.is_dir()):
            raise AccountError(f"{said} is not a plain file")
        with file.open("rb") as stream:
            content = stream.read(LARGEST_TEXT + 1)
        text = content.decode("utf-8")
    except OSError as error:
        raise AccountError(f"{said} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        if len(content) <= LARGEST_TEXT:  # else it may be cut within a letter
            raise AccountError(f"{said}: it is no text; other files are copied with rsync or scp") from None
        text = "x" * len(content)
    check_text(said, text)
    refuse_keys(said, text)
    return text


def refuse_keys(said: str, content: str) -> None:
    """Raise AccountError for a text that holds a key. The key is not shown."""
    found = [(one.line, one.what) for one in find_keys(content, lambda _word: "")]
    found += [(content.count("\n", 0, one.start()) + 1, "a private key") for one in PRIVATE.finditer(content)]
    if found:
        line, what = min(found)
        raise AccountError(
            f"{said} holds {what} in line {line}: keys do not go along with files. Take it out; what the roles keep is"
            f" stored by its name:  keyring set hpc.onboard NAME"
        )
