# SPDX-License-Identifier: GPL-3.0-or-later
"""What a replaced key leaves on real accounts: what is ours goes with it, the rest is named and stays a reminder."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.effort import turns
from tests.integration.runs import Ran, play
from tests.testbed.registry import PRIVATE, new_key

from .rotation_scene import Stage

pytestmark = [pytest.mark.testbed, turns(2)]

DRAFT = "enroot/..credentials.hpc.onboard-draft"
TOKENS = ".cache/enroot/.tokens.1000"


@pytest.fixture
def few(stage: Stage) -> Stage:
    """Two of the accounts, of two clusters."""
    return stage._replace(accounts=[stage.accounts[0], stage.accounts[3]])


def rotated(stage: Stage, **wishes: Any) -> Ran:
    """A whole rotation, with a person who deactivates the old key between its two runs."""
    new = new_key()
    stage.registry.allow(new, [PRIVATE])
    first = stage.rotate(key=new)
    assert first.code == 0, first.text
    stage.registry.revoke(stage.old)
    return stage.rotate(rotate_resume=True, rotate_retired=True, **wishes)


def plain(ran: Ran) -> str:
    """What was said, whatever its lines."""
    return " ".join(ran.text.split())


def keep(account: Any, path: str, text: str) -> None:
    """Put a file onto an account, as its owner would."""
    folder = path.rpartition("/")[0] or "."
    account.ssh(f"mkdir -p {folder} && printf '%s\\n' '{text}' >> {path}")


def test_leftovers_of_the_old_key_go_or_are_named_and_the_rotation_says_so_at_its_end(few: Stage) -> None:
    first = few.accounts[0]
    keep(first, ".bashrc", f"export NGC_API_KEY={few.old}")
    line = first.path(".bashrc").read_text().count("\n")
    keep(first, "jobs/train.sbatch", f"#!/bin/sh\nexport KEY={few.old}")
    keep(first, "jobs/other.sh", f"export KEY={new_key()}")
    keep(first, TOKENS + "/abc", "a token")
    keep(first, DRAFT, f"machine nvcr.io login x password {few.old}")
    before = first.path(".bashrc").read_bytes(), first.path("jobs/train.sbatch").read_bytes()
    ended = rotated(few)
    print(ended.text)
    said = plain(ended)
    assert ended.code == 0, ended.text
    assert f"~/.bashrc:{line}: a replaced key of 'ngc' is in this file" in said
    assert "~/jobs/train.sbatch:2: a replaced key of 'ngc' is in this file" in said
    assert "other.sh" not in said
    assert f"found copies of the key on these accounts: {first.name} (2). Remove the copies, then search again" in said
    assert "nothing is left to do" not in said
    assert few.old not in ended.text
    assert not first.exists(TOKENS)
    assert not first.exists(DRAFT)
    assert (first.path(".bashrc").read_bytes(), first.path("jobs/train.sbatch").read_bytes()) == before
    again = few.rotate(rotate_resume=True)
    assert "found copies of the key on these accounts" in plain(again)


def test_the_old_key_in_other_lines_of_key_files_is_named_by_the_rotation_and_by_the_audit(few: Stage) -> None:
    first = few.accounts[0]
    keep(first, "enroot/.credentials", f"machine helm.ngc.nvidia.com login $oauthtoken password {few.old}")
    line = first.path("enroot/.credentials").read_text().count("\n")
    keep(first, ".docker/config.json", f"# {few.old}")
    ended = rotated(few)
    places = [f"~/enroot/.credentials:{line}", "~/.docker/config.json:1"]
    assert [place for place in places if f"{place}: a replaced key of 'ngc' is in this file" not in plain(ended)] == []
    assert f"found copies of the key on these accounts: {first.name} (2)" in plain(ended)
    output = few.folder / "report"
    given = json.dumps({"audit_output": str(output), "audit_formats": "json"})
    order = ("-i", str(few.bed.accounts_file(few.accounts)), "--tags", "watch", "-e", given)
    play(few.bed, *order, playbook="audit.yml", environment=few.environment)
    findings = json.loads((output / "audit.json").read_text())["findings"]
    found = [(one["place"], one["class"]) for one in findings if one["rule"] == "KEY-002"]
    assert sorted(found) == sorted((place, "stale") for place in places)


def test_where_nothing_is_left_the_rotation_says_so(few: Stage) -> None:
    ended = rotated(few)
    assert ended.code == 0, ended.text
    assert "nothing is left to do" in plain(ended)


def test_of_a_compromised_key_the_leftovers_are_looked_for_when_the_new_one_comes(few: Stage) -> None:
    first = few.accounts[0]
    keep(first, "run.sh", f"KEY={few.old}")
    new = new_key()
    few.registry.allow(new, [PRIVATE])
    opened = few.rotate(key=new, rotate_mode="compromised")
    few.registry.revoke(few.old)
    ended = few.rotate(key=new, rotate_resume=True, rotate_retired=True)
    print(opened.text, ended.text)
    assert ended.code == 0, ended.text
    assert "~/run.sh:1: a replaced key of 'ngc' is in this file" in plain(ended)
    assert f"found copies of the key on these accounts: {first.name} (1)" in plain(ended)
