# SPDX-License-Identifier: GPL-3.0-or-later
"""A notification callback for tests: the run stops before one task until the test has done something there."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: meeting
type: notification
short_description: stop before a task for tests
description:
  - Before the task that MEETING_TASK names it makes the file "here" in the folder MEETING, and waits for the file "on".
"""
LONGEST = 60.0


class CallbackModule(CallbackBase):
    """meeting"""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "meeting"
    CALLBACK_NEEDS_ENABLED = True

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        if task.name == os.environ["MEETING_TASK"]:
            folder = Path(os.environ["MEETING"])
            (folder / "here").touch()
            deadline = time.monotonic() + LONGEST
            while not (folder / "on").exists() and time.monotonic() < deadline:
                time.sleep(0.01)
