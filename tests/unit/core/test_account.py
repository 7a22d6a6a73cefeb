# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose account it is, and the variables that only its login shell knows."""

from __future__ import annotations

import os
import pwd
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from account_scene import HOME, KEY, Folder, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._core import account as account_module
from ansible_collections.hpc.onboard.plugins.module_utils._core.account import Account, query_login_shell, read_user
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._core.sandboxed_program import enter_sandbox
from ansible_collections.hpc.onboard.plugins.module_utils._engine import engine
from ansible_collections.hpc.onboard.plugins.module_utils._engine.engine import answer
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import KINDS

STUB = """#!/bin/sh
echo run >> {count}
echo 'Welcome to the cluster'
echo 'noise' >&2
export SCRATCH=/scratch/simone/ WORK=relative EMPTY=
{more}
/bin/sh "$@"
echo 'Good bye'
"""


def stub(folder: Path, more: str = "") -> tuple[str, Path]:
    """A login shell that counts how often it is asked; and where it counts."""
    shell, count = folder / "shell", folder / "count"
    shell.write_text(STUB.format(count=count, more=more))
    shell.chmod(0o755)
    return str(shell), count


def outcomes_of(plan: dict[str, Any], shell: str) -> list[dict[str, Any]]:
    """What came of a plan on an account with that login shell."""
    return engine.WORKS[plan["work"]](engine.make_task(plan, KINDS, Account(HOME, shell))).outcomes


def test_a_home_that_is_not_the_passwd_one_stops_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/tmp/\x1b[31melsewhere")
    said = answer({"resources": [], "work": "preview", "fingerprint_key": KEY}, KINDS)
    assert said["error"].startswith("HOME is /tmp/?[31melsewhere, but the home directory of this account is ")
    assert said["outcomes"] == []


@pytest.mark.parametrize("use", [read_user, lambda: Account.of_this_process(None)])
def test_an_unknown_user_id_is_an_error_with_advice(use: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(number: int) -> None:
        raise KeyError(f"uid not found: {number}")

    monkeypatch.setattr(pwd, "getpwuid", fail)
    with pytest.raises(AccountError, match=f"^the user ID {os.getuid()} is unknown .* Run hpc-onboard again later$"):
        use()


def test_the_home_in_other_words_is_the_home(monkeypatch: pytest.MonkeyPatch) -> None:
    home = pwd.getpwuid(os.getuid()).pw_dir
    monkeypatch.setenv("HOME", home + "/.//")
    assert Account.of_this_process(None).home == home


def test_the_login_shell_is_asked_once_for_all_resources_and_processes(tmp_path: Path, scene: Scene) -> None:
    shell, count = stub(tmp_path)
    scene.make({"/scratch": Folder(), "/scratch/simone": Folder()})
    wanted = [{"kind": "directory", "path": f"$SCRATCH/{number}", "root": "$SCRATCH"} for number in range(3)]
    plan = scene.plan([*wanted, {"kind": "storage_link", "path": "~/scratch", "target": "$SCRATCH"}])
    outcomes = outcomes_of(plan, shell)
    assert {one["status"] for one in outcomes} == {"missing"}
    assert count.read_text() == "run\n"


def test_a_plan_without_variables_asks_no_login_shell(tmp_path: Path, scene: Scene) -> None:
    shell, count = stub(tmp_path)
    scene.make({"/scratch": Folder()})
    outcomes_of(scene.plan([{"kind": "directory", "path": "/scratch/x"}]), shell)
    assert not count.exists()


@pytest.mark.parametrize("name", ["WORK", "EMPTY", "NOWHERE"])
def test_a_variable_that_is_no_path_costs_only_what_needs_it(name: str, tmp_path: Path, scene: Scene) -> None:
    shell, count = stub(tmp_path)
    plan = scene.plan([{"kind": "directory", "path": f"${name}/x"}, {"kind": "directory", "path": "/y"}])
    outcomes = outcomes_of(plan, shell)
    assert [one["status"] for one in outcomes] == ["failed", "missing"]
    assert f" does not set ${name} to a path" in outcomes[0]["reason"]
    assert count.read_text() == "run\n"


def test_a_variable_with_a_hostile_value_is_refused(tmp_path: Path, scene: Scene) -> None:
    shell, _count = stub(tmp_path, "export SCRATCH='/scratch/$(id)'")
    plan = scene.plan([{"kind": "directory", "path": "$SCRATCH/x"}])
    outcome = outcomes_of(plan, shell)[0]
    assert (outcome["status"], "not a valid path" in outcome["reason"]) == ("failed", True)


def test_a_program_that_start_up_files_leave_running_is_not_waited_for(tmp_path: Path) -> None:
    shell, _count = stub(tmp_path, "sleep 30 &")
    started = time.time()
    assert query_login_shell(shell, "/nowhere").environment["SCRATCH"] == "/scratch/simone/"
    assert time.time() - started < 15


def test_a_login_shell_that_does_not_answer_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account_module, "LOGIN_SECONDS", 1)
    shell, _count = stub(tmp_path, "exec sleep 30")
    assert query_login_shell(shell, "/nowhere").failure.startswith("the login shell did not end within 1 s. ")


@pytest.mark.parametrize("more", ["exit 0", "exec true"])
def test_a_login_shell_that_ends_early_is_said(more: str, tmp_path: Path) -> None:
    shell, _count = stub(tmp_path, more)
    assert "printed no environment" in query_login_shell(shell, "/nowhere").failure


@pytest.mark.parametrize("shell", ["/bin/bash", "/bin/sh", "/bin/zsh", "/bin/tcsh", "/usr/bin/fish"])
@pytest.mark.parametrize(("laid", "what"), [(os.mkfifo, "pipe"), (lambda at: at.symlink_to("/dev/zero"), "device")])
def test_a_start_up_file_without_an_end_is_said_at_once(
    shell: str, laid: Callable[[Path], None], what: str, tmp_path: Path
) -> None:
    name = {"tcsh": ".login", "fish": ".config/fish/config.fish", "zsh": ".zprofile"}.get(Path(shell).name, ".profile")
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    laid(tmp_path / name)
    started = time.time()
    asked = query_login_shell(shell, str(tmp_path))
    assert time.time() - started < 1
    assert (
        asked.failure
        == f"the login shell would never end, because ~/{name} is a {what}. Rename this file, then run hpc-onboard "
        "again"
    )


def test_a_start_up_file_that_leads_nowhere_on_purpose_is_read(tmp_path: Path) -> None:
    (tmp_path / ".profile").symlink_to(os.devnull)
    assert query_login_shell("/bin/sh", str(tmp_path)).failure == ""


def test_a_login_shell_that_is_not_there_is_said() -> None:
    assert query_login_shell("/no/such/shell", "/nowhere").failure.startswith(
        "the login shell /no/such/shell cannot be started"
    )


START_UP = {
    "sh": (".profile", "export SCRATCH=/s"),
    "bash": (".bash_profile", "export SCRATCH=/s"),
    "zsh": (".zprofile", "export SCRATCH=/s"),
    "ksh": (".profile", "export SCRATCH=/s"),
    "tcsh": (".login", "setenv SCRATCH /s"),
    "fish": (".config/fish/config.fish", "status is-login; and set -gx SCRATCH /s"),
}


@pytest.mark.parametrize("shell", START_UP)
def test_a_real_login_shell_that_prints_is_understood(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shutil.which(shell)
    if not path:
        pytest.skip(f"{shell} is not installed")
    name, text = START_UP[shell]
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"echo '{{\"noise\": 1}}'\n{text}\necho more noise\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert query_login_shell(path, str(tmp_path)).environment["SCRATCH"] == "/s"


def test_values_may_hold_any_byte_but_one(tmp_path: Path) -> None:
    shell, _count = stub(
        tmp_path,
        r"""export LINES='a
SCRATCH=/b=c' BYTE="$(printf '\377')" """,
    )
    asked = query_login_shell(shell, "/nowhere")
    assert asked.environment["LINES"] == "a\nSCRATCH=/b=c"
    assert asked.environment["BYTE"] == "\udcff"
    assert asked.environment["SCRATCH"] == "/scratch/simone/"
    assert asked.start.text == "Welcome to the cluster\n"


def test_a_shell_that_is_asked_where_it_is_only_looked_at_can_write_nothing(tmp_path: Path) -> None:
    shell, count = stub(tmp_path)
    asked = query_login_shell(shell, "/nowhere", enter_sandbox)
    assert (asked.environment["SCRATCH"], asked.failure) == ("/scratch/simone/", "")
    assert not count.exists()
    assert query_login_shell(shell, "/nowhere").environment["SCRATCH"] == "/scratch/simone/"
    assert count.read_text() == "run\n"


def test_where_no_guard_is_to_be_had_the_shell_is_asked_without(tmp_path: Path) -> None:
    def refused() -> None:
        raise OSError(1, "")

    shell, count = stub(tmp_path)
    assert query_login_shell(shell, "/nowhere", refused).environment["SCRATCH"] == "/scratch/simone/"
    assert count.read_text() == "run\n"


@pytest.mark.parametrize(("work", "guarded"), [("examine", True), ("preview", False), ("reconcile", False)])
def test_only_a_look_is_guarded(work: str, guarded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", pwd.getpwuid(os.getuid()).pw_dir)
    assert (engine._open_account({"work": work})._guard is not None) == guarded
