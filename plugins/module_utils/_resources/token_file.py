# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file that contains one token and nothing else, as the programs of Hugging Face keep it.

The base class reads and writes the file. This class defines the format of the key's entry in the text of the file.
"""

import os
import re
from typing import Match, Optional

from .._core.host import Host
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

    def why_not_parseable(self, text: str, display_path: str) -> Optional[str]:
        """Return why a text of more than one word must not be changed, or None. display_path: the file in messages."""
        if len(text.split()) > 1:
            problem = "%s contains more than one word, so it is not a token file: check it, then rename or move it"
            return problem % display_path
        return None

    def update_program_copy(self, host: Host) -> None:
        """Replace the old token in STORED, before apply() replaces the old token in the token file."""
        path = os.path.join(os.path.dirname(self.path), STORED)
        stored, file = host.entry(path), host.entry(self.path)
        is_changeable = stored is not None and stored.kind == "file" and stored.mine and stored.links == 1
        if file is None or not is_changeable:
            return
        old_token, text = read_latin1(host, self.path).strip(), read_latin1(host, path)
        new = replace_token(text, old_token, self.options["password"]) if old_token else text
        if new != text:
            new_content = new.encode("latin-1")
            host.write(path, old=text.encode("latin-1"), content=new_content, mode=0o600, private=True)
