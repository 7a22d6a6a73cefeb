# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan: equal ones once, a line for what differs only in its path, the user's files, and totals to decide by."""

from __future__ import annotations

from typing import Any

from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.account import AccountEnd
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.layout import Terminal, plain_text
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.plan import Overview

LINE = 'if [ -r "$HOME/.config/hpc.onboard/env.sh" ]; then . it; fi # hpc.onboard'


def outcome(identity: str, status: str = "missing", role: str = "storage_links", **more: Any) -> dict[str, Any]:
    one = {"identity": identity, "capability": role, "status": status, "fields": [], "before": {}, "after": {}}
    return {**one, "reason": None, "progress": None, "evidence": {}, **more}


def result(*outcomes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"outcomes": list(outcomes), "notes": [], "remarks": [], **more}


def usual(user: str, digits: str) -> dict[str, Any]:
    """The plan of an account; the fingerprint of its key is its own."""
    key = {"password": f"key {digits}"}
    paths = [f"/data/{user}/enroot/{name}" for name in ("cache", "data", "tmp")]
    edits = {"~/.bashrc": LINE, "~/.config/hpc.onboard/env.sh": "export A='secret text'"}
    return result(
        outcome(f"link ~/data of {user}".partition(" of")[0], after={"target": f"/data/{user}"}),
        *(outcome(f"credentials ~/enroot/.credentials: {host}", after=key) for host in ("nvcr.io", "authn.nvidia.com")),
        *(outcome(f"folder {path}", role="container_caches", after={"is": "folder"}) for path in paths),
        outcome("environment: container_caches", after=edits),
        keys={f"key {digits}": "key ngc, 12 days old"},
    )


def shown(overview: Overview) -> str:
    return "".join(f"{plain_text(line)}\n" for line in overview.lines(Terminal()))


def test_plans_that_differ_by_user_are_one_and_name_keys_folders_and_edited_files() -> None:
    overview = Overview()
    overview.add("bob@dfki", "", usual("bob", "0123456789ab"))
    overview.add("ada@dfki", "", usual("ada", "ba9876543210"))
    assert shown(overview) == (
        "~ 2 accounts on dfki  7 to create each\n"
        "    ada@dfki, bob@dfki\n"
        "  + link ~/data -> /data/USER\n"
        "  + key ngc, 12 days old, in ~/enroot/.credentials: nvcr.io, authn.nvidia.com\n"
        "  + 3 cache folders in /data/USER/enroot\n"
        "  + environment: container_caches\n"
        "\n"
        "Your files that will be edited:\n"
        "  ~/.bashrc\n"
        '    + if [ -r "$HOME/.config/hpc.onboard/env.sh" ]; then . it; fi # hpc.onboard\n'
    )
    assert overview.total({}).text == "2 accounts: 14 to create, 0 to change, 0 to remove"


def test_plans_that_differ_by_more_stay_apart() -> None:
    overview = Overview()
    for name, text in (("ada@dfki", "one"), ("bob@dfki", "two")):
        overview.add(name, "", result(outcome("own file ~/.inputrc", after={"content": text})))
    assert [line for line in shown(overview).splitlines() if line[:1] == "~"] == [
        "~ ada@dfki  1 to create",
        "~ bob@dfki  1 to create",
    ]


def test_what_is_adopted_asked_about_or_blocked_is_counted_and_an_account_without_a_plan_too() -> None:
    overview = Overview()
    overview.add(
        "ada@dfki",
        "",
        result(
            outcome("conda ~/miniconda3", "ok", evidence={"adopted": "equivalent"}),
            outcome("script ~/bin/usrun.sh", "blocked", reason="it is yours", evidence={"theirs": True}),
            outcome("link ~/work", "blocked", reason="the site has no /work"),
            outcome("link ~/data", "ok"),
            outcome("folder ~/x", "extra"),
        ),
    )
    ends = {"ada@dfki": AccountEnd("failed"), "bob@dfki": AccountEnd("unreachable")}
    counts = "1 to adopt, 1 to ask about, 0 to create, 0 to change, 1 to remove, 1 blocked, 1 unchanged"
    assert overview.total(ends).text == f"2 accounts: {counts}, 1 unreachable"
    said = shown(overview)
    assert "  = to adopt: conda ~/miniconda3\n" in said
    assert "  ! blocked: link ~/work\n      the site has no /work\n" in said
    assert said.count("it is yours") == 1


def test_accounts_that_are_up_to_date_are_one_line_and_many_plans_are_headings() -> None:
    overview = Overview()
    for number in range(20):
        overview.add(f"u{number:02}@dfki", "", result(outcome("folder ~/x", "ok")))
        overview.add(f"v{number:02}@dfki", "", result(outcome(f"folder ~/{number}x")))
    lines = shown(overview).splitlines()
    assert sum(line.startswith("✓ 20 accounts on dfki  unchanged") for line in lines) == 1
    assert sum(line.startswith("~ v") for line in lines) == 20
    assert sum(line.startswith("  + ") for line in lines) == 12


def test_paths_in_the_home_and_outside_are_in_rows_of_their_own() -> None:
    overview = Overview()
    overview.add("ada@dfki", "", result(*(outcome(f"folder {path}") for path in ("~/a", "/data/b", "~/c"))))
    overview.add("bob@lrz", "", result(*(outcome(f"credentials {path}") for path in ("~/x/a", "~/x/b"))))
    lines = shown(overview)
    assert "+ 2 folders: ~/a, ~/c\n" in lines
    assert "+ folder /data/b\n" in lines
    assert "+ 2 credentials in ~/x\n" in lines


def test_links_with_one_target_are_one_row_with_their_target() -> None:
    after = {"target": "/data/ada", "points to": "folder"}
    overview = Overview()
    overview.add("ada@lrz", "", result(*(outcome(f"link ~/{name}", after=after) for name in "ab")))
    assert "+ 2 links: ~/a, ~/b -> /data/ada" in shown(overview)
