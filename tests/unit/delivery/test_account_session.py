# SPDX-License-Identifier: GPL-3.0-or-later
"""A session with one account: whose settings hold, which account is reached, and what a check run leaves alone."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import connection, payload
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.account_session import AccountSession
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.answer import NoAnswer
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.delivery import deliver, report_unreached
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.collect import DeclaredResources
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import ROLES
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import receipts

ADA = {"inventory_hostname": "ada@dfki", "account": {"without": []}, "cluster": {}}
SSH = 'Data could not be sent to remote host "h". Make sure this host can be reached over ssh: '
FOLDER = {"kind": "directory", "capability": "storage_links", "options": {"path": "~/made"}}


class Here:
    """What Ansible gives an action, with this machine's own shell as the way to the account."""

    def __init__(self, **task: Any) -> None:
        self._task = SimpleNamespace(**{"delegate_to": None, "check_mode": False, "diff": False, "tags": [], **task})
        self.options: dict[str, Any] = {}
        self._connection = SimpleNamespace(
            transport="local", set_option=self.options.__setitem__, get_option={"timeout": 10}.__getitem__
        )
        self._templar = SimpleNamespace(template=lambda value: value)
        self._display = SimpleNamespace(warning=print)

    def _low_level_execute_command(self, cmd: str, sudoable: bool, in_data: bytes) -> dict[str, Any]:
        done = subprocess.run(["/bin/sh", "-c", cmd], input=in_data, capture_output=True, env=os.environ, check=False)
        return {"stdout": done.stdout.decode(), "stderr": done.stderr.decode(), "rc": done.returncode}


@pytest.fixture
def sandbox(tmp_path: Path) -> dict[str, Any]:
    """A folder that stands for a cluster."""
    return {"root": str(tmp_path / "root"), "home": "/home/ada", "shell": "/bin/bash", "environment": {}, "folders": []}


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What outlives a run here lies in a folder of the test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_with_delegate_to_the_other_account_is_reached_and_the_settings_stay() -> None:
    there = {"inventory_hostname": "ada@lrz", "account": {"sandbox": {"root": "/there"}}}
    variables = {**ADA, "conda_state": "absent", "ansible_delegated_vars": {"ada@lrz": there}}
    session = AccountSession(Here(delegate_to="ada@lrz"), variables)
    assert (session.name, session.sandbox) == ("ada@lrz", {"root": "/there"})
    assert session.value("conda_state") == "absent"
    assert session.value("conda_nothing") is None


@pytest.mark.parametrize(("tags", "left"), [(["always"], ["conda"]), ([], ["conda", "tokens"])])
def test_tags_choose_in_a_task_that_is_always_run(tags: list[str], left: list[str]) -> None:
    session = AccountSession(Here(tags=tags), {**ADA, "ansible_run_tags": ["conda"]})
    assert session.select(["conda", "tokens"]) == left


def test_the_key_of_a_sandbox_is_pretended() -> None:
    session = AccountSession(Here(), {**ADA, "account": {"sandbox": {"root": "/r"}}})
    assert session.key("ngc") == "nvapi-not-a-real-key-ngc-of-the-sandbox"


class Dropping(Here):
    """A way that fails in these words, each time, and then leads there."""

    def __init__(self, *words: str) -> None:
        super().__init__()
        self._connection.transport = "ssh"
        self.words = list(words)

    def _low_level_execute_command(self, cmd: str, sudoable: bool, in_data: bytes) -> dict[str, Any]:
        if self.words:
            raise ConnectionError(SSH + self.words.pop(0))
        return super()._low_level_execute_command(cmd, sudoable, in_data)


DOOR = "kex_exchange_identification: Connection closed by remote host\r\nConnection closed by 10.0.0.1 port 22\r\n"
RESET = "kex_exchange_identification: read: Connection reset by peer\r\nConnection reset by 10.0.0.1 port 22\r\n"


@pytest.mark.parametrize(
    ("words", "left"),
    [
        ([], 0),
        ([DOOR], 0),
        ([DOOR, RESET], 0),
        ([DOOR, DOOR, DOOR, DOOR], 1),
        ([f"debug1: kex_exchange_identification: banner line 0: Not allowed at this time\r\n{DOOR}", DOOR], 1),
        ([f"{DOOR}{payload.BEGUN}\n", DOOR], 1),
        (["ada@h: Permission denied (publickey).\r\n", DOOR], 1),
        ([f"ada@jump: Permission denied (publickey).\r\n{DOOR}", DOOR], 1),
        ([f"channel 0: open failed: connect failed: Connection refused\nstdio forwarding failed\n{DOOR}", DOOR], 1),
        (["ssh: connect to host h port 22: Connection refused\r\n", DOOR], 1),
        (["Connection closed by 10.0.0.1 port 22\r\n", DOOR], 1),
    ],
)
def test_only_what_was_dropped_at_the_door_is_tried_again_twice(
    words: list[str], left: int, sandbox: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    way = Dropping(*words)
    session = AccountSession(way, {**ADA, "account": {"sandbox": sandbox}})
    monkeypatch.setattr(connection, "PAUSES", (0.0, 0.0))
    if left:
        with pytest.raises(ConnectionError):
            deliver(session, DeclaredResources([FOLDER], [], {}), 0, {"seconds": 30})
    else:
        assert deliver(session, DeclaredResources([FOLDER], [], {}), 0, {"seconds": 30})["changed"]
    assert len(way.words) == left
    assert way.options.pop("reconnection_retries") == 0, "Ansible tries again by itself, and tells nobody"
    assert way.options == ({"verbosity": 1} if words else {}), "what a login node says at its door is told at -v only"


@pytest.mark.parametrize("check", [True, False])
def test_a_check_run_changes_nothing_and_keeps_no_receipt(check: bool, sandbox: dict[str, Any]) -> None:
    session = AccountSession(Here(check_mode=check, diff=True), {**ADA, "account": {"sandbox": sandbox}})
    found = deliver(session, DeclaredResources([FOLDER], [], {}), 0, {"seconds": 30})
    assert (found["changed"], found["failed"], found["sandbox"]) == (True, False, sandbox["root"])
    assert found["diff"][0]["after"] == "is: folder\n"
    assert Path(f"{sandbox['root']}/home/ada/made").is_dir() is not check
    assert bool(receipts.read_notes("ada@dfki", True)) is not check


def test_an_interpreter_that_is_named_is_the_only_one_tried(sandbox: dict[str, Any]) -> None:
    variables = {**ADA, "account": {"sandbox": sandbox}, "ansible_python_interpreter": "/nowhere/python3"}
    session = AccountSession(Here(), variables)
    with pytest.raises(NoAnswer, match=r"Tried: /nowhere/python3: .*not found"):
        deliver(session, DeclaredResources([FOLDER], [], {}), 0, {"seconds": 30})


def failed(words: str, cause: Exception | None = None) -> Exception:
    """The error of a connection, as Ansible raises it: before it came, in some cases, another one."""
    error = Exception(words)
    error.__context__ = cause
    return error


def session_over(transport: str) -> AccountSession:
    """A session with ada@dfki over a connection of that kind."""
    action = Here()
    action._connection.transport = transport
    return AccountSession(action, ADA)


def test_an_account_that_was_not_reached_is_told_by_its_name() -> None:
    session = session_over("ssh")
    missed = report_unreached(session, session.connection.explain_failure(failed(f"{SSH}refused")))
    assert missed["unreachable"]
    assert missed["msg"].endswith("Try 'ssh ada@dfki'")


@pytest.mark.parametrize(
    ("transport", "error", "began"),
    [
        ("ssh", failed(f"{SSH}Connection to h closed by remote host."), False),
        ("ssh", failed(f"{SSH}{payload.BEGUN}\nConnection refused"), True),
        ("ssh", failed("Data could not be sent to remote host 'h'.", BrokenPipeError()), False),
        ("paramiko_ssh", failed("the socket is closed", BrokenPipeError()), True),
        ("paramiko_ssh", failed("Authentication failed."), True),
    ],
)
def test_a_command_may_have_begun_unless_all_that_ssh_said_lacks_its_mark(
    transport: str, error: Exception, began: bool
) -> None:
    assert session_over(transport).connection.explain_failure(error).began is began


@pytest.mark.parametrize(
    ("words", "began", "said"),
    [
        (
            f"{SSH}ssh: connect to host h: Connection refused\r\n",
            False,
            "ssh: connect to host h: Connection refused. Check the network",
        ),
        (f"{SSH}", False, "ssh failed without a message. Check the network"),
        (
            f"{SSH}{payload.BEGUN}\nConnection to h closed.",
            True,
            "the connection was lost (Connection to h closed.). The state of",
        ),
        (f"{SSH}{payload.BEGUN}\n", True, "the connection was lost. The state of the account is unknown"),
        (
            "Connection refused, timed out",
            True,
            "the connection was lost (Connection refused, timed out). The state of",
        ),
    ],
)
def test_what_a_line_that_failed_means_is_told_by_a_fact(words: str, began: bool, said: str) -> None:
    error = session_over("ssh" if SSH in words else "paramiko_ssh").connection.explain_failure(failed(words))
    assert (error.began, error.text.startswith(said)) == (began, True), error.text
    assert payload.BEGUN not in error.text


def test_a_long_notice_of_the_login_node_does_not_hide_the_failure() -> None:
    notice = "This system is for authorized users only.\n" * 100
    words = f"{SSH}{notice}ada@h: Permission denied (publickey).\r\n"
    error = session_over("ssh").connection.explain_failure(failed(words))
    assert "Permission denied (publickey)" in error.output
    assert "Check the network" not in error.text


def chosen(names: list[str] | None = None, **account: Any) -> DeclaredResources:
    """What is declared where the user has chosen for single things."""
    settings = {
        "storage_links_own": {"~/work": "/data/ada"},
        "path_scripts_scripts": [{"name": "x", "content": "#!/bin/sh\n"}],
    }
    return AccountSession(Here(), {**ADA, **settings, "account": account}).collect(names or list(ROLES), [])


def test_what_the_user_keeps_is_skipped_and_what_is_replaced_is_marked() -> None:
    declared = chosen(keep=["link ~/work"], replace=["script ~/bin/x"])
    assert "storage_link" not in {one["kind"] for one in declared.resources}
    assert [one for one in declared.notes if one["code"] == "kept"] == [
        {"capability": "storage_links", "code": "kept", "text": "link ~/work is not changed, because `keep` lists it"}
    ]
    assert [one["kind"] for one in declared.resources if one.get("replace")] == ["path_script"]


@pytest.mark.parametrize(
    ("account", "said"),
    [
        (
            {"keep": ["link ~/wrok"]},
            'keep: this account has no resource "link ~/wrok"; did you mean "link ~/work"?',
        ),
        ({"replace": ["script ~/bin/y"]}, 'replace: this account has no resource .*did you mean "script ~/bin/x"?'),
        ({"keep": ["script ~/bin/x"], "replace": ["script ~/bin/x"]}, "is in both `keep` and `replace`"),
        (
            {"replace": ["environment: path_scripts"]},
            "cannot be replaced. Remove it from `replace`; to leave it unchanged, add it to `keep`",
        ),
    ],
)
def test_a_mistake_in_what_the_user_chose_is_one_error(account: dict[str, Any], said: str) -> None:
    with pytest.raises(AccountError, match=said):
        chosen(**account)


def test_with_tags_a_thing_of_another_role_is_no_mistake() -> None:
    assert len(chosen(["path_scripts"], keep=["link ~/work"]).resources) == 2
