# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person wants of a rotation is read as it was meant, or refused with the word that is wrong."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.coordinator import Coordinator
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.new_key import ask_last_day, read_new_key
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.options import (
    PREFIX,
    SETTINGS,
    RotationOptions,
    parse_options,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.targets import find_files, service_of


@pytest.mark.parametrize(
    ("name", "given", "read"),
    [
        ("resume", "false", False),
        ("resume", "yes", True),
        ("retired", True, True),
        ("grace", "12h", 43200),
        ("grace", "7d", 604800),
        ("grace", "0", 0),
        ("excuse", "ada@dfki:a,ada@lrz:b", ("ada@dfki:a", "ada@lrz:b")),
        ("excuse", ["ada@dfki:a"], ("ada@dfki:a",)),
        ("levels", "[issuer, token]", ("issuer", "token")),
        ("levels", [], ()),
    ],
)
def test_a_value_is_read_as_it_was_meant(name: str, given: Any, read: Any) -> None:
    assert getattr(parse_options({f"rotate_{name}": given}), name) == read


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rotate_resum": True}, "rotate_resume"),
        ({"rotate_giveup": True}, "rotate_give_up"),
        ({"rotate_retired": "soon"}, "must be true or false"),
        ({"rotate_mode": "scheduld"}, "scheduled"),
        ({"rotate_grace": "7"}, "12h, 7d or 2w"),
        ({"rotate_grace": "400d"}, "up to a year"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, Any], said: str) -> None:
    with pytest.raises(AccountError, match="Nothing was done") as error:
        parse_options(given)
    assert said in str(error.value)


def test_without_a_terminal_nobody_is_asked_for_the_last_day_and_the_day_stays_open() -> None:
    assert ask_last_day("ngc", "https://org.ngc.nvidia.com/setup/api-keys") == ""


def test_every_wish_has_a_reader() -> None:
    assert [name.removeprefix(PREFIX) for name in SETTINGS] == [one.name for one in fields(RotationOptions)]


def test_a_level_or_an_address_that_is_none_is_refused() -> None:
    for given in ({"rotate_levels": "issuer,tokens"}, {"rotate_issuer": "http://plain.example"}):
        with pytest.raises(AccountError, match="the settings of the rotation"):
            parse_options(given).validation_settings("ngc")


def _entry(kind: str, path: str, secret: str = "w") -> dict[str, Any]:
    return {"kind": kind, "options": {"secret": secret, "path": path}}


@pytest.mark.usefixtures("state")
def test_a_ca_file_is_sent_to_accounts_without_comments_in_other_letters_and_one_that_is_not_there_is_said(
    tmp_path: Path,
) -> None:
    file = tmp_path / "ca.pem"
    options = RotationOptions(give_up=True, ca_file=str(file))
    with pytest.raises(AccountError, match=r"ca\.pem cannot be read"):
        Coordinator("ngc", (), options, b"", ())
    file.write_text("# Főtanúsítvány\n-----BEGIN CERTIFICATE-----\n", encoding="utf-8")
    assert (
        Coordinator("ngc", (), options, b"", ()).preview()["registry"]["ca"].endswith("\n-----BEGIN CERTIFICATE-----\n")
    )


def test_a_key_file_below_the_home_of_an_unknown_user_is_said_not_to_be_there() -> None:
    with pytest.raises(AccountError, match="~nobody-of-that-name/key cannot be read"):
        read_new_key("ngc", "ngc", "~nobody-of-that-name/key", b"", "")


def test_two_files_of_a_kind_are_two_targets() -> None:
    found = find_files("a@b", "w", [_entry("netrc_entry", "~/.netrc"), _entry("netrc_entry", "/data/netrc")])
    assert [file.target for file in found] == ["a@b:netrc_entry", "a@b:netrc_entry2"]
    assert service_of("w", [file.target for file in found]) == "wandb"


def test_a_name_for_keys_of_two_services_is_refused() -> None:
    with pytest.raises(AccountError, match="huggingface and wandb"):
        service_of("w", ["a@b:netrc_entry", "a@b:token_file"])
    assert service_of("huggingface", []) == "huggingface"
    assert service_of("anything", []) == "ngc"
