# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of a profile in words."""

from __future__ import annotations

from ansible_collections.hpc.onboard.plugins.plugin_utils._text.profile_words import (
    describe_longest_job,
    list_limits,
    list_partitions,
)


def test_one_is_not_many() -> None:
    purge = {"clock": "age", "days": 1}
    assert list_limits({"purge": purge}) == ["files are deleted 1 day after they were last changed"]
    assert [describe_longest_job({"hours": hours}) for hours in (1, 24)] == ["at most 1 hour", "at most 24 hours"]


def test_the_partition_of_a_job_comes_first_in_either_form_of_the_option() -> None:
    for option in ("--partition=gpu", "-p gpu"):
        assert list_partitions({"gpu": f"{option} --gres=gpu:1", "partitions": ["cpu", "gpu"]}) == "gpu, cpu"
