# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A script of ours in a folder on PATH."""

import os
from typing import List, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Evidence, Resource, State
from .._core.values import PathScriptOptions
from .._formats.origin_mark import is_ours, is_untouched, stamped

AWAY = "move it away (mv -n {0} {0}.mine), then run again"


class PathScript(PathScriptOptions, Resource):
    """An executable file that carries our stamp. One without it, or changed by hand, is the user's and stays."""

    EDITED_IS_THEIRS = True

    def touches(self, host: Host) -> List[str]:
        return [self.options["path"]]

    def desired(self, host: Host) -> State:
        if self.options["state"] == "absent":
            return {}
        return {"content": self._wanted(), "mode": "0755"}

    def _wanted(self) -> str:
        return stamped(self.options["content"])

    def inspect(self, host: Host) -> State:
        file = host.entry(self.options["path"])
        if file is None:
            return {}
        if file.kind != "file":
            return {"is": file.kind}
        text = self._found(host)
        if not is_ours(text):
            return {"is": "file that is not ours"}  # what it holds is nobody else's business
        return {
            "content": text.encode("utf-8", "replace").decode("utf-8"),
            "mode": "%04o" % file.mode,
        }

    def _found(self, host: Host) -> str:
        return host.read(self.options["path"]).decode("utf-8", "surrogateescape")

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        shown = host.shown(self.options["path"])
        if not before:
            return host.in_the_way(os.path.dirname(self.options["path"]))
        if "is" in before:
            return "%s is a %s and stays: %s" % (shown, before["is"], AWAY.format(shown))
        return self._not_ours(shown, host.read(self.options["path"]))

    def _not_ours(self, shown: str, found: bytes) -> Optional[str]:
        text, away = found.decode("utf-8", "surrogateescape"), AWAY.format(shown)
        if not is_ours(text):
            return "%s is a file that is not ours and stays: %s" % (shown, away)
        if not is_untouched(text):
            return "%s was changed by hand since we wrote it: %s" % (shown, away)
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
        problem = self._not_ours(host.shown(path), old) if old is not None else None
        if problem:
            raise AccountError(problem)
        host.write(path, old, self._wanted().encode("utf-8"), 0o755)
