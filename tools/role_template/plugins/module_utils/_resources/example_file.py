# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file of example_files: its purpose, its reader, and the document that defines its format."""

import os
from typing import Any, Dict, List, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Evidence, Resource, State
from .._core.values import STATE, check_path
from .._formats.origin_mark import add_mark, has_mark, is_unchanged

AWAY = "rename it (mv {0} {0}.mine), then run again"


class ExampleFile(Resource):
    """Keep one of example_files.

    Writes a text that carries a stamp of hpc-onboard. The task fails, and changes nothing, if the file exists without
    the stamp or was edited by hand.

    Options:
        path: The file.
        content: The whole text.

    Example: Keep a file
        path: ~/example_file
        content: |
          # the first line
          hello
    """

    KIND = "example_file"
    TITLE = "example_file %(path)s"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "path": {"type": "path", "required": True},
        "content": {"type": "str"},
        "state": STATE,
    }

    def check(self) -> None:
        check_path("path", self.options["path"])
        if self.options["state"] == "present" and not self.options.get("content"):
            raise AccountError("content of %s: it is empty" % self.options["path"])

    def touches(self, host: Host) -> List[str]:
        return [self.options["path"]]

    def desired(self, host: Host) -> State:
        return {} if self.options["state"] == "absent" else {"content": add_mark(self.options["content"])}

    def inspect(self, host: Host) -> State:
        found = host.entry(self.options["path"])
        if found is None:
            return {}
        if found.kind != "file":
            return {"is": found.kind}
        text = host.read(self.options["path"]).decode("utf-8", "replace")
        return {"content": text} if has_mark(text) else {"is": "file that is not ours"}

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        shown = host.shown(self.options["path"])
        if not before:
            return host.why_blocked(os.path.dirname(self.options["path"]))
        if "is" in before:
            return "%s is a %s and stays: %s" % (shown, before["is"], AWAY.format(shown))
        if not is_unchanged(before["content"]):
            return "%s was changed by hand since we wrote it: %s" % (shown, AWAY.format(shown))
        return None

    def evidence(self, before: State, host: Host) -> Evidence:
        is_other = bool(before) and before != self.desired(host)
        return {"theirs": True} if is_other and self.obstacle(before, host) else {}

    def apply(self, host: Host) -> None:
        path = self.options["path"]
        if self.options["state"] == "absent":
            host.remove(path)
            return
        host.make_folders(os.path.dirname(path), 0o755)
        old = host.read(path) if host.entry(path) else None
        host.write(path, old, add_mark(self.options["content"]).encode("utf-8"), 0o644)
