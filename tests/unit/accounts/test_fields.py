"""No fact of a profile is dead text: the table says who reads it, and the generated files list it.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.field_types import (
    ABOUT,
    LIST,
    PEOPLE,
    SECTION,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.fields import BY_NAME, FIELDS, is_relied_on
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import COLLECTION

PACKAGES = {path.name for path in (COLLECTION / "plugins").glob("*_utils/_*")}


def test_a_name_stands_in_the_table_once():
    assert len(BY_NAME) == len(FIELDS)


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_a_fact_says_who_reads_it_and_belongs_to_a_section_of_the_table(field):
    if field.form in (SECTION, LIST):
        assert field.reader == ""
    else:
        assert field.reader in PACKAGES | {ABOUT, PEOPLE}
    assert field.sentence.endswith(".")
    around = field.name.rpartition(".")[0] or field.name.removesuffix("[]")
    assert around in BY_NAME


def test_a_source_is_needed_by_what_a_program_reads():
    assert is_relied_on("storage[].purge.days")
    assert is_relied_on("scheduler.hours")
    assert is_relied_on("scheduler.partition_hours.normal")  # a key of a mapping
    assert not is_relied_on("conda.area")  # chosen by hpc-onboard
    assert not is_relied_on("policies[]")  # for people
    assert not is_relied_on("scheduler.qos.normal")
    assert not is_relied_on("sandbox_environment.SCRATCH")
