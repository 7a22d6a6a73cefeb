# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The names of accounts in the user's ~/.ssh, kept by the same loop and system interface as accounts are.

The file of ours comes first and goes last: never are there lines of ours in ~/.ssh/config that nobody owns up to.
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
OURS = 0o600
FOLDER = 0o700


class SshNames(Resource):
    """The sections of accounts in a file of ours, and the lines of ~/.ssh/config that read it."""

    KIND = "ssh_config"
    TITLE = "names for ssh"
    OPTIONS = {"sections": {"type": "dict", "required": True}, "gone": {"type": "list", "required": True}}

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
        ours, config = _ours(host), _config(host)
        state: State = {}
        if ours.there:
            state[texts.FILE] = ours.text
            if ours.mode != OURS:
                state["mode of it"] = f"{ours.mode:04o}"
        if texts.is_read(config.text):
            state[texts.CONFIG] = LAST if texts.is_last(config.text) else ELSEWHERE
        if _drafts(host):
            state["of a run that was ended"] = ", ".join(map(host.shown, _drafts(host)))
        return state

    def _edited(self, host: Host) -> str:
        return texts.edited(_ours(host).text, self.options["sections"], self.options["gone"], " ".join(_lacking(host)))

    def obstacle(self, before: State, host: Host) -> str | None:
        folder, config, ours = (host.expand(path) for path in (texts.FOLDER, texts.CONFIG, texts.FILE))
        instead = "make it one file, then run again"
        problem = host.why_blocked(folder) or edited_file.why_not_editable(host, config, instead)
        if problem:
            return problem
        found = host.entry(ours)
        if found and (found.kind != "file" or not found.mine):
            return f"{texts.FILE} is a {found.kind} that is not ours: move it away, then run again"
        mode = _config(host).mode
        if mode & 0o022:
            return f"others may write {texts.CONFIG} (mode {mode:04o}), so ssh may refuse it: chmod go-w {texts.CONFIG}"
        return self._changed_by_hand(host)

    def _changed_by_hand(self, host: Host) -> str | None:
        trace = texts.trace(_config(host).text)
        if trace:
            return (
                f"our lines in {texts.CONFIG} were changed by hand: delete '{trace}' and its like there, then run again"
            )
        text = _ours(host).text
        if text and not text.startswith(texts.HEADER):
            return f"{texts.FILE} is not what we wrote: move it away, then run again"
        for account, one in texts.sections(text).items():
            if not one.untouched:
                move = f"move what is yours into {texts.CONFIG}, delete that section, then run again"
                return f"the section {account} of {texts.FILE} was changed by hand: {move}"
        if not texts.sections(self._edited(host)) and self._edited(host):
            return f"{texts.FILE} holds lines of yours: move them into {texts.CONFIG}, then run again"
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
            host.make_folder(folder, FOLDER, partial(_write_first, host, new))
        elif _ours(host).text != new or _ours(host).mode != OURS:
            _write(host, _ours(host), new)
        config = _config(host)
        if not texts.is_last(config.text):
            edited_file.write_edited_file(host, config, texts.insert(texts.remove(config.text)))

    def _take_out(self, host: Host, _new: str) -> None:
        ours, config = _ours(host), _config(host)
        made = texts.made_for(ours.text)
        kept = texts.CONFIG not in made or config.path != host.expand(texts.CONFIG)
        edited_file.write_edited_file(host, config, texts.remove(config.text), keep=kept)
        folder, name = os.path.split(ours.path)
        if texts.FOLDER in made and host.names(folder) == [name]:
            host.empty_and_remove(folder, lambda draft: host.remove(os.path.join(draft, name)))
        elif ours.there:
            host.remove(ours.path)


def _config(host: Host) -> EditedFile:
    return edited_file.read_edited_file(host, host.expand(texts.CONFIG), OURS)


def _ours(host: Host) -> EditedFile:
    return edited_file.read_edited_file(host, host.expand(texts.FILE), OURS)


def _lacking(host: Host) -> list[str]:
    """What has to be made for a file of ours."""
    return [path for path in (texts.FOLDER, texts.CONFIG) if host.resolved_kind(host.expand(path)) == "nothing"]


def _drafts(host: Host) -> list[str]:
    """What a run that was killed has left beside what it was to write."""
    config = _config(host).path
    paths = [draft_path(host.expand(path)) for path in (texts.FOLDER, texts.FILE)] + [draft_path(config)]
    found = ((path, host.entry(path)) for path in paths)
    return [path for path, one in found if one and one.mine and one.kind in ("file", "folder")]


def _write(host: Host, ours: EditedFile, new: str) -> None:
    host.write(ours.path, ours.text.encode("latin-1") if ours.there else None, new.encode("latin-1"), OURS)


def _write_first(host: Host, new: str, draft: str) -> None:
    """Write the file of ours into the folder that is being made for it."""
    _write(host, EditedFile(os.path.join(draft, os.path.basename(texts.FILE)), "", OURS, False), new)
