# SPDX-License-Identifier: GPL-3.0-or-later
"""A notification callback for tests: every task result as one JSON line in the file that RECORD names."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: record
type: notification
short_description: record results for tests
description: Writes every result to the file that the environment variable RECORD names.
"""


class CallbackModule(CallbackBase):
    """record"""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "record"
    CALLBACK_NEEDS_ENABLED = True

    def _record(self, kind: str, result: Any) -> None:
        document = {"kind": kind, "host": result.host.get_name(), "action": result.task.action, "result": result.result}
        document["at"] = time.time()
        with open(os.environ["RECORD"], "a", encoding="utf-8") as stream:
            stream.write(json.dumps(document, default=str) + "\n")

    def v2_runner_on_ok(self, result: Any) -> None:
        self._record("ok", result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        self._record("failed", result)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        self._record("unreachable", result)
