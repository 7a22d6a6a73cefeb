# SPDX-License-Identifier: GPL-3.0-or-later
"""What hpc-onboard init refuses before anything is written, each in a line that says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.accounts import CommandError
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.main import run


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Name each account with --account USER@CLUSTER"),
        (
            ["--account", "ada@wilson", "--account", "ada@lrz"],
            "ada@wilson: --project NAME   Your project, which is part of /work1",
        ),
        (["--account", "ada@wilsn"], 'did you mean "wilson"'),
        (["--account", "ada@../wilson"], "unknown cluster"),
        (["--account", "ada ada@dfki"], "A user name may contain only letters"),
        (["--account", "ada@wilson", "--project", "deep lgt"], '"deep lgt" is invalid'),
        (["--account", "a@lrz", "--storage", "/dss"], "Expected AREA=PATH"),
        (["--account", "a@lrz", "--storage", "dss=dss"], "Absolute path"),
        (["--account", "a@lrz", "--storage", "ds=/dss"], 'did you mean "dss"'),
        (["--account", "a@dfki", "--without", "konda"], 'did you mean "conda"'),
        (["--account", "a@dfki", "--auth", "open"], "Expected: key, ask, none"),
        (["--account", "a@dfki", "--account", "a@dfki"], "a@dfki is given twice. Name each account only once"),
        (["--account", "a@dfki", "--jump-user", "b"], "has no jump host"),
        (["--project", "x", "--account", "a@dfki"], "must follow an account"),
        (["--acount", "a@dfki"], 'unknown option --acount; did you mean "--account"?'),
        (["a@dfki"], 'unexpected word "a@dfki"'),
    ],
)
def test_nothing_is_written_and_what_is_wrong_is_said(words: list[str], said: str, tmp_path: Path) -> None:
    file = tmp_path / "accounts.yml"
    with pytest.raises(CommandError) as refused:
        run(["init", "-o", str(file), *words])
    assert said in str(refused.value)
    assert not file.exists()


def test_the_home_of_an_unknown_user_is_refused() -> None:
    with pytest.raises(CommandError, match="the user 'no-such-user' is unknown on this machine"):
        run(["init", "-o", "~no-such-user/accounts.yml", "--account", "a@dfki"])
