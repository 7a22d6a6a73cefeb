# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reasons why accounts failed, shortened for lists of accounts that failed for the same reason."""

from __future__ import annotations

import re


def generalise_reason(account: str, reason: str) -> str:
    """Return a reason without the account, USER@CLUSTER, and USER@, so that equal causes have equal reasons."""
    return reason.replace(account, "").replace(f"{account.partition('@')[0]}@", "")


def first_sentence(reason: str) -> str:
    """Return the first sentence of a reason, because the whole reason was shown with the account."""
    # a sentence ends with a full stop after a word, a question mark, or a line break
    return re.split(r"(?<=\w{2})\. |\n|(?<=\w)\? ", reason.strip(), maxsplit=1)[0].rstrip(".")
