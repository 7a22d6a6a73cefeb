# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows people what came of their accounts. What it says is decided in plugin_utils/_console.py."""

from __future__ import annotations

DOCUMENTATION = r"""
name: console
type: stdout
short_description: What came of each account, in words
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Shows for each account what M(hpc.onboard.converge) made, changed, left out and could not do, and why.
  - Other tasks look as with P(ansible.builtin.default#callback), and so does everything from C(-vv) on.
extends_documentation_fragment:
  - default_callback
  - result_format_callback
requirements:
  - set as stdout in the configuration
"""

import os
import shutil
import sys
import time
from typing import Any

from ansible import context
from ansible.plugins.callback.default import CallbackModule as Default
from ansible_collections.hpc.onboard.plugins.plugin_utils import _console

OURS = "hpc.onboard.converge"


class CallbackModule(Default):  # type: ignore[misc]
    """hpc.onboard.console"""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "hpc.onboard.console"

    def __init__(self) -> None:
        super().__init__()
        self._unsaid: Any = None
        self._others = False
        self._states: dict[str, str] = {}
        self._started: dict[str, float] = {}
        self._sandbox = False

    def _speaks(self, task: Any) -> bool:
        """Whether this task is ours to show; when much is asked for, the default shows more."""
        return bool(task.action == OURS and self._display.verbosity < 2)

    def _say(self, lines: list[_console.Line]) -> None:
        for line in lines:
            self._display.display(line.text, color=line.colour)

    @property
    def _width(self) -> int:
        return min(100, shutil.get_terminal_size((80, 24)).columns) if sys.stdout.isatty() else 80

    def v2_playbook_on_play_start(self, play: Any) -> None:
        self._unsaid = play

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        if not self._speaks(task):
            if self._unsaid is not None:
                super().v2_playbook_on_play_start(self._unsaid)
                self._unsaid = None
            self._others = True
            super().v2_playbook_on_task_start(task, is_conditional)

    def v2_runner_on_start(self, host: Any, task: Any) -> None:
        self._started[host.get_name()] = time.monotonic()
        if not self._speaks(task):
            super().v2_runner_on_start(host, task)

    def v2_runner_on_ok(self, result: Any) -> None:
        self._show(result, "changed" if result.result.get("changed") else "ok", super().v2_runner_on_ok)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        self._show(
            result, "failed", lambda shown: super(CallbackModule, self).v2_runner_on_failed(shown, ignore_errors)
        )

    def v2_runner_on_unreachable(self, result: Any) -> None:
        self._states[result.host.get_name()] = "unreachable"
        if not self._speaks(result.task):
            super().v2_runner_on_unreachable(result)
            return
        self._say(_console.account(result.host.get_name(), result.result, False, False, self._width))

    def _show(self, result: Any, state: str, otherwise: Any) -> None:
        name = result.host.get_name()
        self._states[name] = state if self._states.get(name) != "failed" else "failed"
        if not self._speaks(result.task):
            otherwise(result)
            return
        self._sandbox = self._sandbox or "sandbox" in result.result
        shown = {
            **result.result,
            "sandbox": _near(result.result.get("sandbox")),
            "seconds": time.monotonic() - self._started.get(name, time.monotonic()),
        }
        every = self._display.verbosity > 0
        self._say(_console.account(name, shown, bool(result.task.check_mode), every, self._width))

    def v2_playbook_on_stats(self, stats: Any) -> None:
        if self._others or self._display.verbosity >= 2:
            super().v2_playbook_on_stats(stats)
            return
        if self._states:
            playbooks = " ".join(os.path.relpath(name) if os.sep in name else name for name in _playbooks())
            command = f"ansible-playbook {playbooks}"
            self._display.display("")
            self._say(_console.recap(self._states, context.CLIARGS.get("check", False), self._sandbox, command))


def _playbooks() -> tuple[str, ...]:
    names: tuple[str, ...] = context.CLIARGS.get("args") or ()
    return names


def _near(path: str | None) -> str | None:
    """The path from here, when it lies below here."""
    inside = path and path.startswith(os.getcwd() + os.sep)
    return os.path.relpath(path) if path and inside else path
