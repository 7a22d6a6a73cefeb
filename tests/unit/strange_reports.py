# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports with texts that nobody would choose, for properties."""

from __future__ import annotations

from typing import Any

from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.rules.catalogue import RULES
from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.fix import advice, local_command
from hypothesis import strategies as st
from report_example import HOSTILE, WAIVER, account, finding, report, steps

texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(
        st.one_of(st.sampled_from("<>&'\"|`\\*_[]()!#@{}$~\u202e\u200b\u2028日é\n "), st.characters()), max_size=40
    ),
)
fixes = st.builds(steps, texts, st.integers(0, 3))
findings = st.builds(
    lambda rule, resource, place, text, fix, states, waived, declared: finding(
        rule, "ada@dfki", resource, place=place, text=text, fix=fix, desired=states, actual=states,
        diff=[text, f"+{text}"], event=text,
        waiver={**WAIVER, "justification": text, "where": place} if waived else None,
        declared={"file": resource, "line": 3} if declared else None,
    ),
    st.sampled_from(sorted(RULES)), texts, texts, texts, fixes, st.dictionaries(texts, texts, max_size=2),
    st.booleans(), st.booleans(),
)  # fmt: skip


def made(found: list[dict[str, Any]], reason: str, name: str) -> dict[str, Any]:
    """A report of these findings, of an account that was not measured for that reason, and of a strange capability."""
    fix = [advice(reason), local_command(name)]
    accounts = [account("ada@dfki"), account("ada@lrz", state="unknown", reason=reason, next=fix)]
    accounts[0]["capabilities"][name] = "high"
    return report(accounts, found)


reports = st.builds(made, st.lists(findings, max_size=4), texts, texts)
