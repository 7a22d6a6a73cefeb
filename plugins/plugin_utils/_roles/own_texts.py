# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The user's own texts, read from files of this machine for an account. A text that contains a key is refused."""

from __future__ import annotations

import re
from pathlib import Path

from ...module_utils._core.errors import AccountError
from ...module_utils._key_search.keys_in_texts import find_keys
from ...module_utils._options.file_options import LARGEST_TEXT, check_text

BOM = "\ufeff"  # byte order mark, with which some editors on Windows begin a file
PRIVATE = re.compile(rf"^{BOM}?-----BEGIN [A-Z0-9 ]*PRIVATE KEY", re.MULTILINE)


def read_own_text(role: str, file: Path, state: str) -> str:
    """Return the text of a file. Raise AccountError if it cannot be read, is not a text, or contains a key.

    state: of the role. If it is "absent", the text of a missing file is empty: no text is needed to remove the copy on
    the account.
    """
    subject = f"{role}: the file {file.absolute()}"
    try:
        if state == "absent" and not file.exists():
            return ""
        if file.exists() and not (file.is_file() or file.is_dir()):  # reading a pipe could wait forever
            raise AccountError(f"{subject} is not a regular file")
        with file.open("rb") as stream:
            content = stream.read(LARGEST_TEXT + 1)
        text = content.decode("utf-8")
    except OSError as error:
        raise AccountError(f"{subject} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        if len(content) <= LARGEST_TEXT:
            raise AccountError(f"{subject} is not a text file; copy it with rsync or scp") from None
        text = "x" * len(content)  # may have been cut within a character: check_text() reports the size
    check_text(subject, text)
    refuse_keys(subject, text)
    return text


def refuse_keys(subject: str, content: str) -> None:
    """Raise AccountError for a text that contains a key. subject: of the error, which does not show the key."""
    found = [(key.line, key.what) for key in find_keys(content, lambda _word: "")]  # "": no fingerprints are needed
    found += [(content.count("\n", 0, match.start()) + 1, "a private key") for match in PRIVATE.finditer(content)]
    if found:
        line, description = min(found)
        raise AccountError(
            f"{subject} contains {description} on line {line}. hpc-onboard does not copy files with keys."
            " Remove the key. To store a key for a role, run: keyring set hpc.onboard NAME"
        )
