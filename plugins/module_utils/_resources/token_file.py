# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file that holds one token and nothing else, as Hugging Face's programs keep theirs."""

import os
import re
from typing import Optional

from .._core.host import Host
from .._options.key_options import TokenFileOptions
from .kept_key import KeptKey, KeyEntry, text_of

STORED = "stored_tokens"
"""An INI file next to the token, with tokens by name. Hugging Face's programs know the one in use only by its value."""

_TOKEN = re.compile(r"^([ \t]*hf_token[ \t]*[=:][ \t]*)([^\r\n]*?)([ \t]*\r?)$", re.MULTILINE)


def replace(text: str, old: str, new: str) -> str:
    """Return the text of the stored tokens with the new token in place of the old one; every other byte stays."""
    return _TOKEN.sub(lambda one: one.group(1) + new + one.group(3) if one.group(2) == old else one.group(), text)


class TokenFile(TokenFileOptions, KeptKey):
    """A file whose whole content is the token. A file with more than one word is not changed."""

    def find(self, text: str) -> Optional[KeyEntry]:
        """Return the whole text as the key, or None for an empty file."""
        return KeyEntry([text.strip()], {}) if text.strip() else None

    def put(self, text: str) -> str:
        """Return the new token, which is the whole file."""
        return str(self.options["password"])

    def without(self, text: str) -> str:
        """Return an empty text, so that the file is removed."""
        return ""

    def unreadable(self, text: str, shown: str) -> Optional[str]:
        """Return why a file with more than one word must not be changed, or None."""
        if len(text.split()) > 1:
            return (
                "%s contains more than one word, so it is not a token file: check the file, then move it away" % shown
            )
        return None

    def prepare(self, host: Host) -> None:
        """Replace the old token in the stored tokens, while the file still says which one it is."""
        stored = os.path.join(os.path.dirname(self.path), STORED)
        found, file = host.entry(stored), host.entry(self.path)
        if found is None or file is None or found.kind != "file" or not found.mine or found.links != 1:
            return
        old, text = text_of(host, self.path).strip(), text_of(host, stored)
        new = replace(text, old, self.options["password"]) if old else text
        if new != text:
            host.write(stored, text.encode("latin-1"), new.encode("latin-1"), 0o600, private=True)
