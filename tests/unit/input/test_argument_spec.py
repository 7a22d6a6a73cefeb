# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings checked by an argument spec: what Ansible takes is taken, and what is wrong is said in a sentence."""

from __future__ import annotations

import copy
import datetime
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.hpc.onboard.plugins.action import converge
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import KINDS
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.argument_spec import KEYWORDS, TYPES, check_settings
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.role_specs import role_names, role_options
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.spec_sentences import SPOKEN_TYPES as SPOKEN
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.spec_sentences import describe_violation
from hypothesis import given
from hypothesis import strategies as st

SPEC: dict[str, Any] = {
    "r_by": {"type": "str", "choices": ["us", "site"]},
    "r_areas": {
        "type": "list",
        "elements": "dict",
        "options": {"name": {"type": "str", "required": True}, "n": {"type": "int"}, "state": {"choices": ["x", "y"]}},
    },
    "r_map": {"type": "dict"},
    "r_site": {"type": "dict", "options": {"policy": {"type": "str", "default": "allowed"}}},
    "r_list": {"type": "list", "elements": "int"},
    "r_count": {"type": "int", "default": 3},
    "r_flag": {"type": "bool"},
    "r_key": {"type": "str", "choices": ["a"], "no_log": True},
}
SPECS: dict[str, Mapping[str, Any]] = {
    **{f"role {name}": role_options(name) for name in sorted(role_names())},
    **{f"module {kind}": converge.make_module_spec(kind) for kind in sorted(KINDS)},
    "all that can be said": SPEC,
}


@pytest.mark.parametrize(
    ("settings", "place", "code", "said"),
    [
        ({"r_by": "me"}, ("r_by",), "choice", "r_by must be one of us, site; got me"),
        ({"r_key": "canary"}, ("r_key",), "choice", "r_key must be one of a; got a different value"),
        ({"r_count": "x"}, ("r_count",), "type", 'r_count must be a whole number; got "x"'),
        ({"r_count": "1.5"}, ("r_count",), "type", 'r_count must be a whole number; got "1.5"'),
        ({"r_count": None}, ("r_count",), "type", "r_count must be a whole number; got nothing"),
        ({"r_flag": "maybe"}, ("r_flag",), "type", 'r_flag must be true or false; got "maybe"'),
        ({"r_map": "x"}, ("r_map",), "type", "r_map must be a mapping; got text"),
        ({"r_site": 3}, ("r_site",), "type", "r_site must be a mapping; got a whole number"),
        ({"r_areas": "x"}, ("r_areas",), "type", "r_areas must be a list of mappings; got text"),
        ({"r_list": {"a": 1}}, ("r_list",), "type", "r_list must be a list of whole numbers; got a mapping"),
        ({"r_list": [1, "b"]}, ("r_list", 1), "type", 'item 2 of r_list must be a whole number; got "b"'),
        ({"r_areas": [{"n": 1}]}, ("r_areas", 0, "name"), "missing", "item 1 of r_areas needs name; add it"),
        (
            {"r_areas": [{"name": "a"}, {"name": "b", "n": "q"}]},
            ("r_areas", 1, "n"),
            "type",
            'n in item 2 of r_areas must be a whole number; got "q"',
        ),
        (
            {"r_areas": [{"name": "a", "nam": 1}]},
            ("r_areas", 0, "nam"),
            "unknown",
            'unknown key "nam" in item 1 of r_areas; did you mean "name"?',
        ),
        ({"r_site": {"x": 1}}, ("r_site", "x"), "unknown", 'unknown key "x" in r_site; known: policy.'),
        ({"r_cuont": 1}, ("r_cuont",), "unknown", 'unknown key "r_cuont"; did you mean "r_count"?'),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(settings: dict[str, Any], place: Any, code: str, said: str) -> None:
    assert [(one.place, one.code, describe_violation(one)) for one in check_settings(SPEC, settings).violations] == [
        (place, code, said)
    ]


def test_everything_that_is_wrong_is_found_at_once() -> None:
    settings = {"r_by": "me", "r_flag": 7, "r_areas": [{}, {"name": "a", "n": []}]}
    assert {one.place for one in check_settings(SPEC, settings).violations} == {
        *(("r_by",), ("r_flag",), ("r_areas", 0, "name"), ("r_areas", 1, "n"))
    }


def test_what_was_given_is_left_as_it_is() -> None:
    settings: dict[str, Any] = {"r_areas": [{"name": 1}], "r_list": "1,2", "r_site": {}}
    before = copy.deepcopy(settings)
    assert check_settings(SPEC, settings).values["r_site"] == {"policy": "allowed"}
    assert settings == before


def test_a_day_is_text_to_both() -> None:
    """YAML makes a date of 2024-03-01, which may be a version."""
    settings = {"r_site": {"policy": datetime.date(2024, 3, 1)}}
    assert check_settings(SPEC, settings).values == by_ansible(SPEC, settings)
    assert check_settings(SPEC, settings).values["r_site"]["policy"] == "2024-03-01"


@pytest.mark.parametrize("choices", [["yes", "no"], ["on", "off", "auto"], ["yes", "true"], ["us", "site"]])
@pytest.mark.parametrize("written", [True, False, "True", "no", "off", 0])
def test_a_bare_yes_is_the_choice_that_was_written(choices: list[str], written: Any) -> None:
    """YAML makes true of yes and false of no."""
    spec = {"r_by": {"type": "str", "choices": choices}}
    checked = check_settings(spec, {"r_by": written})
    assert by_ansible(spec, {"r_by": written}) == (None if checked.violations else checked.values)


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(),
    st.floats(allow_nan=False, width=16),
    st.sampled_from(
        ["", " ", "yes", "OFF ", "maybe", "1", " 7", "1e2", "1.50", "1_0", "nan", "inf", "~/x", "$HOME", "é"]
    ),
    st.sampled_from(
        ["a=b", "a=b, c=d", "a b=c", "a='b c'", "a\\=b", "=", "{}", '{"a": 1}', "{'a': 1}", "{1}", "{", "a,b"]
    ),
    st.text("=,'\"\\ {}:ab1", max_size=8),
)
ANYTHING = st.recursive(
    SCALARS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from("abc"), below, max_size=2),
    max_leaves=4,
)


Draw = Callable[[st.SearchStrategy[Any]], Any]


def value_for(option: Mapping[str, Any], draw: Draw) -> Any:
    """A value for an option: such as it wants, nearly such, or any."""
    if draw(st.integers(0, 3)) == 0:
        return draw(ANYTHING)
    if "choices" in option:
        return draw(st.sampled_from(option["choices"]))
    if option.get("type") == "dict" and "options" in option:
        return settings_of(option["options"], draw)
    if option.get("type") == "list" and option.get("elements"):
        item = {**option, "type": option["elements"]}
        return [value_for(item, draw) for _each in range(draw(st.integers(0, 3)))]
    return draw(SCALARS)


def settings_of(spec: Mapping[str, Any], draw: Draw) -> dict[str, Any]:
    """A few settings of a spec, mostly with those that it asks for, now and then with a foreign word."""
    names = set(draw(st.lists(st.sampled_from(sorted(spec)), max_size=3)))
    if draw(st.integers(0, 7)):
        names |= {name for name, option in spec.items() if option.get("required")}
    settings = {name: value_for(spec[name], draw) for name in sorted(names)}
    return {**settings, "nobody": 1} if draw(st.integers(0, 15)) == 7 else settings


@pytest.mark.filterwarnings("ignore:.*invalid escape sequence")  # of Python, about text that is read as Python
@pytest.mark.parametrize("name", sorted(SPECS))
@given(data=st.data())
def test_exactly_what_ansible_takes_is_taken_as_the_same(name: str, data: st.DataObject) -> None:
    settings = settings_of(SPECS[name], data.draw)
    checked = check_settings(SPECS[name], settings)
    theirs = by_ansible(SPECS[name], settings)
    assert (theirs is None) == bool(checked.violations), (theirs, checked)
    assert all(map(describe_violation, checked.violations))
    if theirs is not None:
        assert exact(checked.values) == exact(theirs)


def by_ansible(spec: Mapping[str, Any], settings: dict[str, Any]) -> dict[str, Any] | None:
    """What Ansible makes of settings; None where it refuses them, which now and then it does by falling over."""
    try:
        found = ArgumentSpecValidator(copy.deepcopy(dict(spec))).validate(copy.deepcopy(settings))
    except (TypeError, OverflowError):
        return None
    return None if found.error_messages else found.validated_parameters


def exact(value: Any) -> Any:
    """A value that equals another one of the same type alone: 1 is not true."""
    if isinstance(value, dict):
        return {key: exact(one) for key, one in value.items()}
    if isinstance(value, list):
        return [exact(one) for one in value]
    return (type(value), value)


def test_every_type_has_words() -> None:
    assert set(SPOKEN) == set(TYPES)


def test_the_specs_use_no_word_that_is_not_checked() -> None:
    """One more, such as required_if, would be passed over: it belongs into the check first."""
    for name, spec in SPECS.items():
        for option in every_option(spec):
            assert set(option) <= KEYWORDS, name
            assert {option.get("type", "str"), option.get("elements", "str")} <= set(TYPES), name
            assert option.get("type") == "list" or "elements" not in option, name
            assert option.get("type", "str") == "str" or "choices" not in option, name


def every_option(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The options of a spec, and those below them."""
    for option in spec.values():
        yield option
        yield from every_option(option.get("options", {}))
