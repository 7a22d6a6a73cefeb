# SPDX-License-Identifier: GPL-3.0-or-later
"""Results as converge and a doctor would give them, and names that no person would choose."""

from __future__ import annotations

from typing import Any

from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.layout import Line, Terminal, plain_text
from hypothesis import strategies as st

from tests.testbed.screen import width

hostile = st.text(
    st.one_of(
        st.sampled_from("日本語한국\uff21\u0301\u0308é\u200d👩🏽ß…\t\r\n\x1b\x07\u202e\u00a0 /:,.='\"\\"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=60,
)
words = st.one_of(hostile, st.lists(hostile, max_size=6).map(" ".join), hostile.map(lambda text: "/" + text * 6))
widths = st.integers(40, 120)
looks = st.builds(Terminal, widths, st.booleans())
statuses = st.sampled_from(["ok", "missing", "different", "extra", "blocked", "failed", "unknown"])


def outcome(status: str = "missing", identity: str = "folder /a", **more: Any) -> dict[str, Any]:
    """One outcome."""
    bad = status in ("blocked", "failed", "unknown")
    return {
        "identity": identity,
        "capability": "x",
        "status": status,
        "before": {},
        "after": {} if bad else {"is": "folder"},
        "reason": "something is in the way" if bad else None,
        **more,
    }


def result(*outcomes: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A result of converge."""
    bad = {"blocked", "failed", "unknown"}
    return {
        "outcomes": list(outcomes),
        "notes": [],
        "failed": any(one["status"] in bad for one in outcomes),
        "changed": any(one["status"] in ("missing", "different", "extra") for one in outcomes),
        **more,
    }


results = st.builds(
    lambda outcomes, more: result(*outcomes, **more),
    st.lists(
        st.builds(
            lambda status, identity, reason, target, before: outcome(
                status, identity, reason=reason, after={"target": target, "content": target}, before={"content": before}
            ),
            statuses,
            words,
            st.none() | words,
            words,
            words,
        ),
        max_size=4,
    ),
    st.fixed_dictionaries(
        {"seconds": st.floats(0, 1e6), "human_steps": st.lists(st.fixed_dictionaries({"text": words, "url": words}))},
        optional={
            "sandbox": words,
            "diff": st.just([]),
            "notes": st.lists(st.fixed_dictionaries({"capability": words, "text": words}), max_size=3),
        },
    ),
)


def measured(line: Line) -> int:
    """The cells of a line, counted by the terminal of the tests."""
    return sum(map(width, plain_text(line)))


def text(lines: list[Line]) -> str:
    """Lines as text."""
    return "\n".join(map(plain_text, lines))
