# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of the ngc program, judged by Python's own reader of such files."""

from __future__ import annotations

import configparser

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._formats import ngc_config

HEAD = ";WARNING - This is a machine generated file.  Do not edit manually.\n"
FILE = HEAD + "[CURRENT]\napikey = old\nformat_type = ascii\norg = nvidia\n\n[OTHER]\napikey = other\n"


def read(text: str) -> configparser.ConfigParser:
    """As the program reads it."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    return parser


@pytest.mark.parametrize(
    "text",
    [
        "",
        FILE,
        FILE.replace("\n", "\r\n"),
        HEAD + "[CURRENT]\n",
        HEAD + "[CURRENT]",
        "[OTHER]\nx = y",
        FILE.replace("apikey = old\n", ""),
        FILE.replace("apikey = old", "APIKEY:old  "),
    ],
)
def test_the_key_of_the_section_in_use_changes_and_nothing_else(text: str) -> None:
    written = ngc_config.put(text, "nvapi-new")
    assert read(written)["CURRENT"]["apikey"] == "nvapi-new"
    assert ngc_config.read_keys(written) == ["nvapi-new"]
    assert ngc_config.put(written, "nvapi-new") == written
    was, now = read(text), read(written)
    for section in was.sections():
        for key, value in was[section].items():
            if (section, key) != ("CURRENT", "apikey"):
                assert now[section][key] == value
    assert ngc_config.read_keys(ngc_config.without(written)) == []


def test_every_other_byte_stays() -> None:
    assert ngc_config.put(FILE, "new") == FILE.replace("= old", "= new")
    assert ngc_config.put(FILE + "[CURRENT]\napikey=twice\n", "new") == FILE.replace("= old", "= new") + "[CURRENT]\n"


def test_what_we_made_is_taken_out_whole() -> None:
    assert ngc_config.without(ngc_config.put("", "new")) == ""


def test_a_program_without_a_key_has_none() -> None:
    assert ngc_config.read_keys(FILE.replace("old", "no-apikey")) == []
