# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file that contains one token and nothing else, as the programs of Hugging Face keep it.

The base class reads and writes the file. This class defines the format of the key's entry in the text of the file.
"""

import os
import re
from typing import Match, Optional, Tuple

from .._core.host import Host
from .._core.resource import State
from .._options.key_options import TokenFileOptions
from .kept_key import KeptKey, KeyEntry, read_latin1

STORED = "stored_tokens"
"""An INI file next to the token file, with all tokens by name. The token in use has the value in the token file."""

# a line "hf_token = TOKEN" of STORED. Groups: the text before the token, the token, and spaces at the end
_TOKEN = re.compile(r"^([ \t]*hf_token[ \t]*[=:][ \t]*)([^\r\n]*?)([ \t]*\r?)$", re.MULTILINE)


def replace_token(text: str, old: str, new: str) -> str:
    """Return the text of STORED with the new token in place of the old token; every other byte stays."""

    def replace_value(line: Match[str]) -> str:
        start, token, end = line.groups()
        return str(start + new + end) if token == old else line.group()

    return _TOKEN.sub(replace_value, text)


class TokenFile(TokenFileOptions, KeptKey):
    """A file whose whole content is the token. A file with more than one word is not changed."""

    def find_entry(self, text: str) -> Optional[KeyEntry]:
        """Return the whole text as the key, or None for an empty file."""
        return KeyEntry([text.strip()], {}) if text.strip() else None

    def put_entry(self, text: str) -> str:
        """Return the desired token, which replaces the whole text."""
        return str(self.options["password"])

    def remove_entry(self, text: str) -> str:
        """Return an empty text, because the file contains only the token: apply() then removes the file."""
        return ""

    def find_problem(self, text: str) -> Optional[str]:
        """Return why a text of more than one word must not be changed, or the problem of any file, or None."""
        if len(text.split()) > 1:
            return "the file contains more than one word, so it is not a token file: inspect the file, then rename it"
        return super().find_problem(text)

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why the token must not be written or removed, or None. before: the state from inspect()."""
        if self.options["state"] == "absent" and self._stored_texts(host, new="") and not self._can_change_stored(host):
            text = "%s contains the token, but belongs to another user or has several hard links: remove the file"
            return text % host.shown(self._stored_path)
        return super().obstacle(before, host)

    def update_program_copy(self, host: Host, new: str) -> None:
        """Replace the token of the token file in STORED. new: the new token; empty to keep only its name."""
        texts = self._stored_texts(host, new)
        if texts and self._can_change_stored(host):
            old, content = (text.encode("latin-1") for text in texts)
            host.write(self._stored_path, old=old, content=content, mode=0o600, private=True)

    def _can_change_stored(self, host: Host) -> bool:
        """Return True if STORED belongs to the user and has a single hard link."""
        stored = host.entry(self._stored_path)
        return stored is not None and stored.mine and stored.links == 1

    @property
    def _stored_path(self) -> str:
        """Return the path of STORED."""
        return os.path.join(os.path.dirname(self.path), STORED)

    def _stored_texts(self, host: Host, new: str) -> Optional[Tuple[str, str]]:
        """Return the text of STORED before and after `new` replaces the token of the token file; None if equal."""
        files = [host.entry(path) for path in (self.path, self._stored_path)]
        if any(file is None or file.kind != "file" for file in files):
            return None
        token, text = read_latin1(host, self.path).strip(), read_latin1(host, self._stored_path)
        after = replace_token(text, token, new) if token else text
        return (text, after) if after != text else None
