# SPDX-License-Identifier: GPL-3.0-or-later
"""A notification callback for tests: writes onto the board what workers would, one entry of BUSY after another."""

from __future__ import annotations

import json
import os
import threading
import time
from typing import Any

from ansible.plugins.callback import CallbackBase
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.run_memory import BOARD

DOCUMENTATION = """
name: busy
type: notification
short_description: long steps for tests
description: Shows the steps of the environment variable BUSY, a list of [seconds, account, entry] in JSON.
"""


class CallbackModule(CallbackBase):
    """busy"""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "busy"
    CALLBACK_NEEDS_ENABLED = True
    _begun = False

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        if self._begun:
            return
        self._begun = True
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        for seconds, account, entry in json.loads(os.environ.get("BUSY", "[]")):
            if account == "ask":
                with BOARD.hush():
                    time.sleep(0.2)
                    os.write(1, entry.encode())
                    time.sleep(seconds)
            else:
                BOARD.put(account, entry)
                time.sleep(seconds)
