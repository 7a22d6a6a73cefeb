# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The resource of short names in the user's ~/.ssh, with the same loop and system interface as resources of accounts.

The included file is created first and removed last, so that the block in ~/.ssh/config never points to a missing file.
"""

from __future__ import annotations

import os
from functools import partial

from ...module_utils._core import edited_file
from ...module_utils._core.edited_file import EditedFile
from ...module_utils._core.files import draft_path
from ...module_utils._core.host import Host
from ...module_utils._core.resource import Resource, State
from . import texts

LAST = "Include hpc.onboard.conf, at the end"
ELSEWHERE = "Include hpc.onboard.conf, not at the end"
FILE_MODE = 0o600
FOLDER_MODE = 0o700


class SshNames(Resource):
    """The sections of accounts in the included file, and the block of ~/.ssh/config that includes it."""

    KIND = "ssh_config"
    TITLE = "names for ssh"
    OPTIONS = {"sections": {"type": "dict", "required": True}, "removed": {"type": "list", "required": True}}

    def name(self) -> str:
        return self.TITLE

    def bound(self, host: Host) -> SshNames:
        return self

    def touches(self, host: Host) -> list[str]:
        return [host.expand(path) for path in (texts.FILE, texts.CONFIG)]

    # -- states --------------------------------------------------------------------------------

    def desired(self, host: Host) -> State:
        new = self._edited(host)
        return {texts.FILE: new, texts.CONFIG: LAST} if new else {}

    def inspect(self, host: Host) -> State:
        included, config = _included(host), _config(host)
        state: State = {}
        if included.exists:
            state[texts.FILE] = included.text
            if included.mode != FILE_MODE:
                state["mode of it"] = f"{included.mode:04o}"
        if texts.has_block(config.text):
            state[texts.CONFIG] = LAST if texts.is_block_last(config.text) else ELSEWHERE
        if _drafts(host):
            state["of a run that was ended"] = ", ".join(map(host.shown, _drafts(host)))
        return state

    def _edited(self, host: Host) -> str:
        return texts.edit_sections(
            _included(host).text, self.options["sections"], self.options["removed"], " ".join(_list_missing(host))
        )

    def obstacle(self, before: State, host: Host) -> str | None:
        folder, config, ours = (host.expand(path) for path in (texts.FOLDER, texts.CONFIG, texts.FILE))
        instead = "replace it with a regular file, then run again"
        problem = host.why_blocked(folder) or edited_file.why_not_editable(host, config, instead)
        if problem:
            return problem
        found = host.entry(ours)
        if found and (found.kind != "file" or not found.mine):
            return f"{texts.FILE} is a {found.kind} that hpc-onboard did not create: move it away, then run again"
        mode = _config(host).mode
        if mode & 0o022:
            advice = f"so ssh may refuse it: chmod go-w {texts.CONFIG}"
            return f"other users may write {texts.CONFIG} (mode {mode:04o}), {advice}"
        return self._changed_by_hand(host)

    def _changed_by_hand(self, host: Host) -> str | None:
        trace = texts.find_trace(_config(host).text)
        if trace:
            advice = f"delete '{trace}' and its other lines, then run again"
            return f"the block of hpc-onboard in {texts.CONFIG} was changed by hand: {advice}"
        text = _included(host).text
        if text and not text.startswith(texts.HEADER):
            return f"{texts.FILE} was not written by hpc-onboard: move it away, then run again"
        for account, one in texts.read_sections(text).items():
            if not one.untouched:
                move = f"move your own lines into {texts.CONFIG}, delete that section, then run again"
                return f"the section {account} of {texts.FILE} was changed by hand: {move}"
        if not texts.read_sections(self._edited(host)) and self._edited(host):
            return f"{texts.FILE} contains lines that you added: move them into {texts.CONFIG}, then run again"
        return None

    # -- changes -------------------------------------------------------------------------------

    def apply(self, host: Host) -> None:
        for draft in _drafts(host):
            host.remove_folder(draft) if host.resolved_kind(draft) == "folder" else host.remove(draft)
        new = self._edited(host)
        (self._put if new else self._take_out)(host, new)

    def _put(self, host: Host, new: str) -> None:
        folder = host.expand(texts.FOLDER)
        if host.resolved_kind(folder) == "nothing":
            host.make_folder(folder, FOLDER_MODE, partial(_write_first, host, new))
        elif _included(host).text != new or _included(host).mode != FILE_MODE:
            _write(host, _included(host), new)
        config = _config(host)
        if not texts.is_block_last(config.text):
            edited_file.write_edited_file(host, config, texts.add_block(texts.remove_block(config.text)))

    def _take_out(self, host: Host, _new: str) -> None:
        included, config = _included(host), _config(host)
        created = texts.read_created(included.text)
        kept = texts.CONFIG not in created or config.path != host.expand(texts.CONFIG)
        edited_file.write_edited_file(host, config, texts.remove_block(config.text), keep=kept)
        folder, name = os.path.split(included.path)
        if texts.FOLDER in created and host.names(folder) == [name]:
            host.empty_and_remove(folder, lambda draft: host.remove(os.path.join(draft, name)))
        elif included.exists:
            host.remove(included.path)


def _config(host: Host) -> EditedFile:
    return edited_file.read_edited_file(host, host.expand(texts.CONFIG), FILE_MODE)


def _included(host: Host) -> EditedFile:
    return edited_file.read_edited_file(host, host.expand(texts.FILE), FILE_MODE)


def _list_missing(host: Host) -> list[str]:
    """Return which of ~/.ssh and ~/.ssh/config must be created for the included file."""
    return [path for path in (texts.FOLDER, texts.CONFIG) if host.resolved_kind(host.expand(path)) == "nothing"]


def _drafts(host: Host) -> list[str]:
    """Return the drafts that a killed run has left next to the files."""
    config = _config(host).path
    paths = [draft_path(host.expand(path)) for path in (texts.FOLDER, texts.FILE)] + [draft_path(config)]
    found = ((path, host.entry(path)) for path in paths)
    return [path for path, one in found if one and one.mine and one.kind in ("file", "folder")]


def _write(host: Host, included: EditedFile, new: str) -> None:
    host.write(
        included.path, included.text.encode("latin-1") if included.exists else None, new.encode("latin-1"), FILE_MODE
    )


def _write_first(host: Host, new: str, draft: str) -> None:
    """Write the included file into the folder that is being created for it."""
    _write(host, EditedFile(os.path.join(draft, os.path.basename(texts.FILE)), "", FILE_MODE, False), new)
