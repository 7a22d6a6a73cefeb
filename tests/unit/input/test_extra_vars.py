# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of one run: read as they were meant, or refused by one form of sentence."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.run import read_settings as read_audit_settings
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.offboarding import AGREEMENT
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.extra_vars import (
    Reader,
    read_bool,
    read_choice,
    read_choices,
    read_number,
    read_settings,
    read_text,
    read_words,
)


@pytest.mark.parametrize(
    ("reader", "given", "wanted"),
    [
        (read_text, 7, "7"),
        (read_bool, "no", False),
        (read_bool, "yes", True),
        (read_bool, 1, True),
        (read_number, "12", 12),
        (read_number, 0, 0),
        (read_words, "[a, 'b' ,c]", ("a", "b", "c")),
        (read_words, ["a"], ("a",)),
        (read_words, 7, ("7",)),
        (read_words, "", ()),
        (read_choice("a", "b"), "b", "b"),
        (read_choices("a", "b"), "b,a", ("b", "a")),
    ],
)
def test_a_value_is_read_as_it_was_meant(reader: Reader, given: Any, wanted: Any) -> None:
    assert read_settings("x", {"x_y": reader}, ["x_y", "z"], {"x_y": given}.get) == {"x_y": wanted}


@pytest.mark.parametrize(
    ("reader", "given", "said"),
    [
        (read_bool, "perhaps", "x_y is 'perhaps', but must be true or false"),
        (read_number, "soon", "x_y is 'soon', but must be a whole number (0 or more)"),
        (read_number, "-1", "x_y is '-1', but must be a whole number (0 or more)"),
        (read_choice("a", "b"), "c", "x_y cannot be 'c'; known: a, b."),
        (read_choices("html", "json"), "json,htlm", "x_y: 'htlm' is not a valid value; did you mean \"html\"?"),
    ],
)
def test_a_value_of_another_form_is_named(reader: Reader, given: Any, said: str) -> None:
    with pytest.raises(AccountError) as error:
        read_settings("x", {"x_y": reader}, ["x_y"], {"x_y": given}.get)
    assert str(error.value) == said


def test_a_setting_that_nobody_gave_is_not_there() -> None:
    assert read_settings("x", {"x_y": read_number}, ["xylophone", "x", "y_x"], {}.get) == {}


@pytest.mark.parametrize("name", ["offboard_olny", "offboard_capability"])
def test_a_misspelt_word_takes_nothing_out(name: str) -> None:
    with pytest.raises(AccountError, match=rf"{name} is not a setting of an offboarding; did you mean"):
        AGREEMENT.check_names({name: "undeclared", "inventory_hostname": "a@b"})
    AGREEMENT.check_names({"offboard_only": "undeclared", "offboard_capabilities": []})


def test_a_baseline_is_not_written_by_one_who_says_no() -> None:
    given = {
        "audit_baseline": "b.json",
        "audit_baseline_write": "false",
        "audit_formats": "json, html",
        "audit_output": "r",
    }
    wishes = read_audit_settings(given, given.get)
    assert wishes["audit_baseline_write"] is False
    assert wishes["audit_formats"] == ("json", "html")
    assert (wishes["audit_fail_on"], wishes["audit_max_age"]) == ("high", None)
