# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file that holds one token and nothing else, as Hugging Face's programs keep theirs."""

from typing import Optional

from .._core.values import TokenFileOptions
from .kept_key import Kept, KeptKey


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
