"""A tag that selects nothing is a mistake in our playbooks, and nobody else's.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.selection import (
    describe_wrong_tags,
    shipped_playbook,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.collection import COLLECTION

PARTS = {"conda", "path_scripts", "storage_links"}


@pytest.mark.parametrize(
    ("called", "name"),
    [
        ("hpc.onboard.audit", "audit"),
        (str(COLLECTION / "onboard.yml"), "onboard"),
        (str(COLLECTION / "playbooks" / "rotate_ngc.yml"), "rotate_ngc"),
        ("/elsewhere/site.yml", ""),
        ("other.collection.audit", ""),
    ],
)
def test_our_playbooks_are_known_by_their_place(called, name):
    assert shipped_playbook(called) == name


@pytest.mark.parametrize(
    ("playbook", "run", "skip"),
    [
        ("onboard", ["all"], []),
        ("onboard", ["conda"], []),
        ("onboard", ["conda", "always"], []),
        ("onboard", ["tagged"], ["conda"]),
        ("audit", ["watch"], []),
        ("audit", ["all"], ["watch"]),
        ("rotate_ngc", ["all"], []),
        ("rotate_ngc", ["untagged"], ["tagged"]),
        ("doctor", ["all"], ["never"]),
    ],
)
def test_tags_that_leave_something_are_right(playbook, run, skip):
    assert describe_wrong_tags(playbook, run, skip, PARTS) == ""


@pytest.mark.parametrize(
    ("playbook", "run", "skip", "words"),
    [
        ("onboard", ["path_script"], [], ["--tags", "path_script", 'did you mean "path_scripts"?']),
        ("onboard", ["all"], ["condaa"], ["--skip-tags", "condaa", 'did you mean "conda"?']),
        ("onboard", ["watch"], [], ["watch"]),
        ("audit", ["storage_link"], [], ['did you mean "storage_links"?']),
        ("onboard", ["conda"], ["conda"], ["exclude everything that onboard does"]),
        ("onboard", ["untagged"], [], ["exclude everything"]),
        ("onboard", ["always"], [], ["exclude everything"]),
        ("onboard", ["all"], ["all"], ["exclude everything"]),
        ("onboard", ["all"], ["always"], ["exclude everything"]),
        ("onboard", ["all"], sorted(PARTS), ["exclude everything"]),
        ("rotate_ngc", ["ngc"], [], ["ngc", "no roles to choose from"]),
        ("doctor", ["tagged"], [], ["exclude everything"]),
    ],
)
def test_tags_that_leave_nothing_are_a_mistake(playbook, run, skip, words):
    said = describe_wrong_tags(playbook, run, skip, PARTS)
    assert all(word in said for word in words), said
