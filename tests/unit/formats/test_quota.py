# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the quota commands print, and what is left of it."""

from __future__ import annotations

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._formats.quota import QuotaLeft, read_left

HEAD = "Disk quotas for user ada (uid 1001): \n   Filesystem  blocks  quota  limit  grace  files  quota  limit  grace\n"
KIB = 1024


@pytest.mark.parametrize(
    ("claim", "text", "mount", "room"),
    [
        ("nothing is printed", "", "/data", QuotaLeft(None, None)),
        ("no limit stands", HEAD + "/data  12  0  0  0  5  0  0  0\n", "/data", QuotaLeft(None, None)),
        ("the hard limits count", HEAD + "/data  12  80  100  0  5  8  10  0\n", "/data", QuotaLeft(88 * KIB, 5)),
        ("a soft limit alone counts", HEAD + "/data  12  80  0  0  5  8  0  0\n", "/data", QuotaLeft(68 * KIB, 3)),
        ("over the limit", HEAD + "/data  120*  80  100  1763654400  15*  8  10  0\n", "/data", QuotaLeft(0, 0)),
        ("another mount", HEAD + "/data2  12  80  100  0  5  8  10  0\n", "/data", QuotaLeft(None, None)),
        (
            "the user's and the group's: the tighter",
            HEAD + "/data  0  0  100  0  0  0  9  0\n" + HEAD + "/data  0  0  50  0  0  0  0  0\n",
            "/data",
            QuotaLeft(50 * KIB, 9),
        ),
        ("lfs", "       /lustre/x  300  0  1000  -  2  0  10  -\n", "/lustre/x", QuotaLeft(700 * KIB, 8)),
    ],
)
def test_what_is_left(claim: str, text: str, mount: str, room: QuotaLeft) -> None:
    assert read_left(text, mount) == room, claim
