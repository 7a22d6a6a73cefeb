# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file that holds one token and nothing else, as Hugging Face's programs keep theirs."""

from typing import Optional

from .._core.values import check_path, check_secret
from .kept_key import PASSWORD, STATE, Kept, KeptKey


class TokenFile(KeptKey):
    """The whole content is the token. What is no single word is not ours to replace."""

    KIND = "token_file"
    OPTIONS = {
        "path": {"type": "path", "default": "~/.cache/huggingface/token"},
        "password": PASSWORD,
        "state": STATE,
    }

    def name(self) -> str:
        return "token %s" % self.options["path"]

    def check(self) -> None:
        check_path("path", self.options["path"])
        if self.options["state"] == "present":
            check_secret(self.options.get("password"))

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
