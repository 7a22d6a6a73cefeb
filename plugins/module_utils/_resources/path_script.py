# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A script in a folder on PATH.

The script contains a stamp, a comment line with a hash. The hash shows whether the script was changed by hand.

A run compares the script with the desired text. If they differ and obstacle() returns None, the run writes the script.
A Host reads and changes the account's files.
"""

import os
from typing import List, Optional

from .._core.host import Host
from .._core.resource import Resource, State
from .._formats.origin_mark import add_mark, has_mark, is_unchanged
from .._options.file_options import PathScriptOptions
from .._receipt.set_aside import advise_rename
from .own_file import FOREIGN, OwnFile

SCRIPT_FOLDER = "@script_folder@"  # a placeholder in the text of a script


class PathScript(PathScriptOptions, OwnFile):
    """An executable file with a stamp. A file without the stamp, or edited by hand, is the user's and stays."""

    def with_expanded_paths(self, host: Host) -> Resource:
        """Return this script with its folder's absolute path in its text: Slurm expands neither ~ nor variables."""
        folder = os.path.dirname(host.expand(self.options["path"]))
        content = (self.options.get("content") or "").replace(SCRIPT_FOLDER, folder)
        with_folder = type(self)(dict(self.options, content=content))
        return super(PathScript, with_folder).with_expanded_paths(host)  # the method of OwnFile, not this one again

    def desired_text(self) -> str:
        """Return the whole text with the stamp."""
        return add_mark(self.options["content"])

    def mode(self) -> str:
        """Return the mode of all scripts."""
        return "0755"

    def describe_foreign(self, text: str, host: Host) -> Optional[str]:
        """Return FOREIGN, a description of the user's own file, for a text without the stamp, else None.

        host: not used here.
        """
        return None if has_mark(text) else FOREIGN

    def remarks(self, host: Host) -> List[str]:
        """Return the answer of 'sbatch --test-only' for an existing script, if the option "asks" is set.

        Otherwise, return the remarks about any file.
        """
        # a sandbox (host.root), which simulates an account, has no Slurm
        can_ask = not host.root and host.resolved_kind(self.options["path"]) == "file"
        if not self.options.get("asks") or not can_ask:
            return super().remarks(host)
        from .._slurm.submission import check_submission

        path = self.options["path"]
        return [check_submission(host.read(path).decode("utf-8", "replace"), host.shown(path))]

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why the script must not be written, or why Slurm would refuse the script's directives; else None.

        before: the state from inspect().
        """
        problem = super().obstacle(before, host)
        offers = host.account.facts.get("slurm")  # such as partitions; None if Slurm was not queried
        is_job_script = bool(self.options.get("found"))  # a placeholder in a script stands for a Slurm account
        if problem or not offers or not is_job_script:
            return problem
        from .._slurm.directives import check_directives

        return check_directives(offers, self.options["content"])

    def why_not_ours(self, display_path: str, text: str, before: State, host: Host) -> Optional[str]:
        """Return why a script with the stamp must not be changed, or None.

        text: of the script. display_path: its path in messages. before, host: not used here.
        """
        if is_unchanged(text):
            return None
        return "%s was changed by hand since hpc-onboard wrote it: %s" % (display_path, advise_rename(display_path))
