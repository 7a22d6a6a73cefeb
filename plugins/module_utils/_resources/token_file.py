# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file that holds one token and nothing else, as Hugging Face's programs keep theirs."""

import os
import re
from typing import Optional

from .._core.host import Host
from .._options.key_options import TokenFileOptions
from .kept_key import Kept, KeptKey, text_of

STORED = "stored_tokens"
"""Beside the file: tokens by name, an INI file. Hugging Face's programs tell the one in use by its value alone."""

_TOKEN = re.compile(r"^([ \t]*hf_token[ \t]*[=:][ \t]*)([^\r\n]*?)([ \t]*\r?)$", re.MULTILINE)


def replace(text: str, old: str, new: str) -> str:
    """The stored tokens with the new one wherever the old one stood; every other byte stays."""
    return _TOKEN.sub(lambda one: one.group(1) + new + one.group(3) if one.group(2) == old else one.group(), text)


class TokenFile(TokenFileOptions, KeptKey):
    """The whole content is the token. What is no single word is not ours to replace."""

    def find(self, text: str) -> Optional[Kept]:
        return Kept([text.strip()], {}) if text.strip() else None

    def put(self, text: str) -> str:
        return str(self.options["password"])

    def without(self, text: str) -> str:
        return ""

    def unreadable(self, text: str, shown: str) -> Optional[str]:
        if len(text.split()) > 1:
            return "%s holds more than a token: look at it, and move it away" % shown
        return None

    def prepare(self, host: Host) -> None:
        """Let the stored tokens tell the new one by the name of the old one, as long as that is known."""
        stored = os.path.join(os.path.dirname(self.path), STORED)
        found, file = host.entry(stored), host.entry(self.path)
        if found is None or file is None or found.kind != "file" or not found.mine or found.links != 1:
            return
        old, text = text_of(host, self.path).strip(), text_of(host, stored)
        new = replace(text, old, self.options["password"]) if old else text
        if new != text:
            host.write(stored, text.encode("latin-1"), new.encode("latin-1"), 0o600, private=True)
