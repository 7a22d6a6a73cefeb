# SPDX-License-Identifier: GPL-3.0-or-later
"""A role of ours that stands alone in a play, where Ansible checks its settings."""

from __future__ import annotations

from ansible_collections.hpc.onboard.plugins.plugin_utils._input.collection import ROLES_FOLDER, read_refused_settings

ERRORS = {"argument_errors": ["value of x must be one of: a, b, got: c", "another one ", "another one"]}


def test_the_check_of_a_role_of_ours_is_told_in_ansibles_words_each_once() -> None:
    said = ["role conda: value of x must be one of: a, b, got: c", "role conda: another one"]
    assert (
        read_refused_settings({"validate_args_context": {"name": "hpc.onboard.conda", "path": "/p"}, **ERRORS}) == said
    )
    assert (
        read_refused_settings({"validate_args_context": {"name": "conda", "path": f"{ROLES_FOLDER}/conda"}, **ERRORS})
        == said
    )


def test_the_check_of_a_role_of_others_is_theirs_to_tell() -> None:
    assert read_refused_settings({"validate_args_context": {"name": "their.own.role", "path": "/p"}, **ERRORS}) == []
    assert read_refused_settings({"msg": "x"}) == []
