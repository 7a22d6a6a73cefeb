# SPDX-License-Identifier: GPL-3.0-or-later
"""CSCS' door: a certificate of one day, behind a jump host; the person's own program signs anew, where they agree."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.effort import turns
from tests.integration.command.test_command import Desk
from tests.integration.onboard.test_code_login import ended
from tests.testbed.signing import CODE, Signing

pytestmark = pytest.mark.testbed


class Student(Desk):
    """Somebody with one account on Daint, whose key is signed for a day."""

    def __init__(self, bed: Any, folder: Path) -> None:
        self.account = bed.new_account("daint")
        self.signing = Signing(bed, self.account, folder)
        super().__init__(bed, self.account, settings={self.account.name: self.signing.settings})
        path = bed.client.environment()["PATH"]
        self.environment = {**self.environment, "PATH": f"{self.signing.programs}:{path}"}


@pytest.fixture
def student(bed: Any) -> Iterator[Student]:
    """A student whose paths are so short that a command with one fits into a row."""
    with tempfile.TemporaryDirectory(prefix="s") as folder:
        yield Student(bed, Path(folder))


def test_where_it_has_ended_nothing_is_tried_and_the_command_that_signs_is_run_if_the_person_agrees(
    student: Student,
) -> None:
    signing = student.signing
    signing.sign("-2d:-1h")
    command = f"cscs-key sign -f {signing.key}"
    for verb, exit_code in (("onboard", 4), ("preflight", 2), ("audit", 2), ("connect", 2)):
        ran = student.types(verb)
        said = " ".join((ran.stdout + ran.stderr).split())
        assert ran.returncode == exit_code, said
        assert "the certificate expired on 20" in said
        assert command in said.replace("\\ ", "")
    assert signing.connections == 0

    run = student.at_terminal("onboard")
    run.expect(r"certificate expired on .*\[y/N\]")
    run.sendline("y")
    run.expect("Code shown there: ")
    run.sendline(CODE)
    run.expect("Saved")
    exit_code, said = ended(run)
    assert exit_code == 0, said
    assert student.account.exists(".config/enroot/.credentials")
    assert [door.accepted for door in signing.doors] == [1, 1]

    again = student.at_terminal("onboard")
    exit_code, said = ended(again)
    assert exit_code == 0, said
    assert "certificate" not in said
    assert student.types("audit").returncode == 0


OTHERWISE = [  # the certificate's days, what is typed, how the run ends, what is said
    (
        "the person refuses",
        "-2d:-1h",
        ["n"],
        4,
        "so hpc-onboard did not connect. To get a new certificate, run: cscs-key sign",
    ),
    (
        "a wrong code",
        "-2d:-1h",
        ["y", "111111"],
        4,
        "so hpc-onboard did not connect. To get a new certificate, run: cscs-key sign",
    ),
    ("it ends within minutes, and will do", "-1d:+4m", [""], 0, "1 account: "),
    ("the program is not there", "-2d:-1h", [], 4, "is not on your PATH; install it from https://github.com/eth-cscs/"),
]


@turns(4)
@pytest.mark.parametrize(("claim", "days", "typed", "exit_code", "says"), OTHERWISE)
def test_without_a_new_one_nothing_is_tried_where_it_has_ended(
    student: Student, claim: str, days: str, typed: list[str], exit_code: int, says: str
) -> None:
    student.signing.sign(days)
    if not typed:
        (student.signing.programs / "cscs-key").unlink()
    run = student.at_terminal("onboard")
    for text in typed:
        run.expect(r"certificate (expires|expired) on .*\[y/N\]|Code shown there: ")
        run.sendline(text)
    code, said = ended(run)
    assert code == exit_code, claim + said
    assert says in said, claim + said
    assert (student.signing.connections == 0) == bool(exit_code), claim


BAD = [  # how the key is signed; what is said of it
    ([], "you have no certificate"),
    (["+1h:+9h"], "the certificate is not valid before 20"),
    (["-1h:+9h", "bob"], "the certificate is for bob, not for u"),
]


def test_a_certificate_that_the_site_would_refuse_is_not_shown_to_it(student: Student) -> None:
    for signed, sentence in BAD:
        if signed:
            student.signing.sign(*signed)
        ran = student.types("preflight" if signed else "connect")
        said = " ".join((ran.stdout + ran.stderr).split())
        assert ran.returncode == 2, said
        assert sentence in said
        assert "cscs-key sign" in said
    assert student.signing.connections == 0
