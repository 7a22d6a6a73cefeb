# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What came of one resource, as docs/schemas/answer.schema.json has it and an answer was read."""

from __future__ import annotations

from typing import Literal, TypedDict

Verdict = Literal["valid", "invalid", "not_entitled", "not_measured"]


class Evidence(TypedDict, total=False):
    """What was seen beside the state and is acted on.

    verdict: what the registry says of a key as it stands in its file. leftovers: in how many places a replaced key
    still stands. severities: field of a watch's state -> how bad it is there. theirs: what is in the way is the
    user's own, to be moved away.
    """

    verdict: Verdict
    leftovers: int
    severities: dict[str, str]
    theirs: bool
