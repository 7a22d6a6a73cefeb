# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit's report as the document that it is, in ASCII: what cannot be seen is spelled out."""

from __future__ import annotations

import json

from ..._documents.finding import AuditReport


def text(report: AuditReport) -> str:
    """The whole document, the same text for the same report."""
    return json.dumps(report, indent=1) + "\n"
