# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of a wrong shape in sentences, whatever Ansible says of them; and what is left for a person."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import Catalogue
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.manual_steps import left, of_account
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.spec_errors import of_role, sentences
from fabricated import outcome, result

SPEC: dict[str, Any] = {
    "r_by": {"type": "str", "choices": ["us", "site"]},
    "r_areas": {
        "type": "list",
        "elements": "dict",
        "options": {"name": {"type": "str", "required": True}, "n": {"type": "int"}, "state": {"choices": ["x", "y"]}},
    },
    "r_map": {"type": "dict"},
    "r_list": {"type": "list", "elements": "str"},
    "r_count": {"type": "int"},
    "r_flag": {"type": "bool"},
}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"r_by": "me"}, "setting r_by must be one of us, site; got me"),
        ({"r_count": "x"}, 'setting r_count must be a whole number; got "x"'),
        ({"r_flag": "maybe"}, 'setting r_flag must be true or false; got "maybe"'),
        ({"r_map": "x"}, "setting r_map must be a mapping; got text"),
        ({"r_map": 3}, "setting r_map must be a mapping; got a whole number"),
        ({"r_areas": "x"}, "setting r_areas must be a list of mappings; got text in it"),
        ({"r_list": {"a": 1}}, "setting r_list must be a list; got a mapping"),
        ({"r_areas": [{"n": 1}]}, "setting r_areas must have name; got an entry without"),
        ({"r_areas": [{"name": "a", "n": "q"}]}, 'setting n in r_areas must be a whole number; got "q"'),
        ({"r_areas": [{"name": "a", "state": "q"}]}, "setting state in r_areas must be one of x, y; got q"),
        (
            {"r_areas": [{"name": "a", "z": 1}]},
            "setting r_areas must have no other keys than n, name, state; got z",
        ),
        ({"zzz": 1}, "there is no setting zzz; there are r_areas, r_by, r_count, r_flag, r_list, r_map"),
    ],
)
def test_what_ansible_says_of_a_setting_becomes_one_sentence(settings: dict[str, Any], said: str) -> None:
    assert sentences("r", ArgumentSpecValidator(SPEC).validate(settings).error_messages) == [f"role r: {said}"]


def test_words_that_are_not_known_are_kept() -> None:
    assert sentences("r", ["something new", "something new"]) == ["role r: something new"]


def test_only_the_check_of_our_own_roles_is_told_in_sentences() -> None:
    errors = {"argument_errors": ["value of x must be one of: a, b, got: c"]}
    ours = {"validate_args_context": {"name": "hpc.onboard.conda", "path": "/p"}, **errors}
    assert of_role(ours) == ["role conda: setting x must be one of a, b; got c"]
    assert of_role({"validate_args_context": {"name": "their.own.role", "path": "/p"}, **errors}) == []
    assert of_role({"msg": "x"}) == []


def profile(cluster: str) -> dict[str, Any]:
    """A profile that ships."""
    found = Catalogue().profile(cluster)
    assert found
    return found


@pytest.mark.parametrize("cluster", sorted(Catalogue().ids()))
def test_every_profile_says_what_comes_before_an_account_is_reached(cluster: str) -> None:
    steps = left(profile(cluster), {"unreachable": True})
    assert steps
    assert all(step["text"] for step in steps)
    assert not any("registry" in step["text"] for step in steps)
    assert left(profile(cluster), result()) == []


def test_before_an_account_is_reached_steps_without_a_sign_are_left_too() -> None:
    steps = [step["text"] for step in left(profile("lrz"), {"unreachable": True})]
    assert any("export control" in step for step in steps)
    assert not any("DSS" in step for step in steps)


def test_a_key_that_is_missing_is_left_to_be_made() -> None:
    why = "no key 'ngc' in x.Keyring: store it with  keyring set hpc.onboard ngc"
    missing = {**outcome("failed", reason="in words that nobody reads back"), "missing_secret": "ngc"}
    other = {**outcome("failed", reason=why), "missing_secret": "wandb"}
    locked = outcome("failed", reason=why)
    assert [step["url"] for step in left(profile("lrz"), result(missing))] == [
        "https://org.ngc.nvidia.com/setup/api-keys"
    ]
    assert left(profile("lrz"), result(locked)) == []
    assert left(profile("lrz"), result(other)) == []


def test_an_area_whose_path_nobody_knows_is_left_to_be_asked_for() -> None:
    note = {"capability": "storage_links", "code": "path_unknown", "area": "dss", "text": "in other words"}
    steps = left(profile("lrz"), result(notes=[note]))
    assert [step["text"].split()[0] for step in steps] == ["Accept"]
    assert left(profile("lrz"), result(notes=[{**note, "area": "scratch"}])) == []
    assert left(profile("lrz"), result(notes=[{**note, "code": "terms"}])) == []


def test_a_sandbox_leaves_nothing_to_a_person_and_neither_does_a_host_of_others() -> None:
    variables = {"cluster": profile("lrz"), "account": {"sandbox": {"root": "/x"}}}
    unreached: Any = {"kind": "account", "unreachable": True, "msg": "x"}
    assert of_account(variables, unreached) == []
    assert of_account({}, unreached) == []
    assert of_account({**variables, "account": {"name": "x"}}, unreached)
