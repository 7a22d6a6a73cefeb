# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A script of ours in a folder on PATH."""

from typing import List, Optional

from .._core.host import Host
from .._core.resource import State
from .._formats.origin_mark import add_mark, has_mark, is_unchanged
from .._options.file_options import PathScriptOptions
from .._receipt.set_aside import advice
from .own_file import FOREIGN, OwnFile


class PathScript(PathScriptOptions, OwnFile):
    """An executable file that carries our stamp. One without it, or changed by hand, is the user's and stays."""

    def wanted(self) -> str:
        """The whole text, with our stamp."""
        return add_mark(self.options["content"])

    def mode(self) -> str:
        """The mode of all scripts."""
        return "0755"

    def unshown(self, text: str, host: Host) -> Optional[str]:
        """What kind of file it is, if it does not carry our stamp."""
        return None if has_mark(text) else FOREIGN

    def remarks(self, host: Host) -> List[str]:
        """What Slurm says of it, where it is to be asked and the script is there."""
        if not self.options.get("asks") or host.root or host.resolved_kind(self.options["path"]) != "file":
            return super().remarks(host)
        from .._slurm.submission import check_submission

        return check_submission(host.real(self.options["path"]), host.shown(self.options["path"]))

    def not_ours(self, shown: str, text: str, before: State, host: Host) -> Optional[str]:
        """Why a script with our stamp is not ours to change any more; None where it is."""
        if is_unchanged(text):
            return None
        return "%s was changed by hand since we wrote it: %s" % (shown, advice(shown))
