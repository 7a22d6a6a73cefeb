# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The short names of accounts in the user's ~/.ssh, as a resource: the engine's code for accounts runs on this machine.

The host is the interface to the files of this machine. The engine compares the state of a resource, field -> value,
with the desired state. The block in ~/.ssh/config includes a file, which has a section with the names of each account.
A draft is a new file or folder before it gets its final name.

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

BLOCK_AT_END = "Include hpc.onboard.conf, at the end"
BLOCK_ELSEWHERE = "Include hpc.onboard.conf, not at the end"
FILE_MODE = 0o600
FOLDER_MODE = 0o700


class SshNames(Resource):
    """The sections of accounts in the included file, and the block of ~/.ssh/config that includes it."""

    KIND = "ssh_config"
    TITLE = "names for ssh"
    OPTIONS = {"sections": {"type": "dict", "required": True}, "removed": {"type": "list", "required": True}}

    def name(self) -> str:
        """Return the name of the resource, which exists only once."""
        return self.TITLE

    def touches(self, host: Host) -> list[str]:
        """Return the paths on which the resource depends."""
        return [host.expand(path) for path in (texts.FILE, texts.CONFIG)]

    # -- states --------------------------------------------------------------------------------

    def desired(self, host: Host) -> State:
        """Return the text of the included file, and the place of the block in ~/.ssh/config; {} without sections."""
        new_text = self._render_file(host)
        return {texts.FILE: new_text, texts.CONFIG: BLOCK_AT_END} if new_text else {}

    def inspect(self, host: Host) -> State:
        """Return the text of the included file and the place of the block; also a wrong mode, and leftover drafts."""
        included, config = _read_included(host), _read_config(host)
        state: State = {}
        if included.exists:
            state[texts.FILE] = included.text
            if included.mode != FILE_MODE:
                state[f"mode of {texts.FILE}"] = f"{included.mode:04o}"
        if texts.has_block(config.text):
            state[texts.CONFIG] = BLOCK_AT_END if texts.is_block_last(config.text) else BLOCK_ELSEWHERE
        if _find_drafts(host):
            state["leftovers of an interrupted run"] = ", ".join(map(host.shown, _find_drafts(host)))
        return state

    def _render_file(self, host: Host) -> str:
        """Return the desired text of the included file, from its present text; empty if the file is not needed."""
        return texts.edit_sections(
            _read_included(host).text,
            desired=self.options["sections"],
            removed=self.options["removed"],
            created=" ".join(_list_missing(host)),
        )

    def obstacle(self, before: State, host: Host) -> str | None:
        """Return why the files must not be changed, and what to do; None if they may be. before is not used."""
        folder, config, included = (host.expand(path) for path in (texts.FOLDER, texts.CONFIG, texts.FILE))
        advice = f"replace {texts.CONFIG} with a regular file, then try again"
        problem = host.why_blocked(folder) or edited_file.why_not_editable(host, config, advice)
        if problem:
            return problem
        entry = host.entry(included)
        if entry and (entry.kind != "file" or not entry.mine):  # mine: owned by this user
            return f"{texts.FILE} is a {entry.kind} that hpc-onboard did not create. Rename or move it, then try again"
        mode = _read_config(host).mode
        if mode & 0o022:
            return (
                f"other users can write to {texts.CONFIG} (mode {mode:04o}), so ssh may refuse the file. Run: "
                f"chmod go-w {texts.CONFIG}"
            )
        return self._find_change_by_hand(host)

    def _find_change_by_hand(self, host: Host) -> str | None:
        """Return which text of hpc-onboard the user has changed, and what to do; None if no text was changed."""
        changed_line = texts.find_changed_line(_read_config(host).text)
        if changed_line:
            return (
                f"the block of hpc-onboard in {texts.CONFIG} was changed by hand. Delete '{changed_line}' and the "
                "other lines of the block, then try again"
            )
        text = _read_included(host).text
        if text and not text.startswith(texts.HEADER):
            return f"{texts.FILE} was not written by hpc-onboard. Rename or move the file, then try again"
        for account, section in texts.read_sections(text).items():
            if not section.untouched:
                return (
                    f"the section {account} of {texts.FILE} was changed by hand. Move your own lines to "
                    f"{texts.CONFIG}, delete that section, then try again"
                )
        new_text = self._render_file(host)
        if new_text and not texts.read_sections(new_text):  # without sections, other lines keep the file
            return f"{texts.FILE} contains lines that you added. Move these lines to {texts.CONFIG}, then try again"
        return None

    # -- changes -------------------------------------------------------------------------------

    def apply(self, host: Host) -> None:
        """Remove drafts of an interrupted run, then write or remove both files."""
        for draft in _find_drafts(host):
            if host.resolved_kind(draft) == "folder":  # a draft of ~/.ssh
                host.remove_folder(draft)
            else:
                host.remove(draft)
        new_text = self._render_file(host)
        if new_text:
            self._write_files(host, new_text)
        else:
            self._remove_files(host)

    def _write_files(self, host: Host, new_text: str) -> None:
        """Write the included file (new_text), then the block at the end of ~/.ssh/config."""
        folder = host.expand(texts.FOLDER)
        if host.resolved_kind(folder) == "nothing":  # the folder gets its name only after it contains the file
            host.make_folder(folder, FOLDER_MODE, partial(_write_first, host, new_text))
        elif _read_included(host).text != new_text or _read_included(host).mode != FILE_MODE:
            _write(host, _read_included(host), new_text)
        config = _read_config(host)
        if not texts.is_block_last(config.text):
            edited_file.write_edited_file(host, config, texts.add_block(texts.remove_block(config.text)))

    def _remove_files(self, host: Host) -> None:
        """Remove the block and the included file, and ~/.ssh/config and ~/.ssh if they were created for this file."""
        included, config = _read_included(host), _read_config(host)
        created = texts.read_created(included.text)
        # an empty file that existed before, or to which a link of the user points, stays
        is_kept = texts.CONFIG not in created or config.path != host.expand(texts.CONFIG)
        edited_file.write_edited_file(host, config, texts.remove_block(config.text), keep=is_kept)
        folder, name = os.path.split(included.path)
        # The folder is renamed to a draft first, so that ssh never reads a folder that is partly removed.
        if texts.FOLDER in created and host.names(folder) == [name]:
            host.empty_and_remove(folder, lambda draft: host.remove(os.path.join(draft, name)))
        elif included.exists:
            host.remove(included.path)


def _read_config(host: Host) -> EditedFile:
    """Return ~/.ssh/config, which may be a link, or missing; a missing file has the mode FILE_MODE and no text."""
    return edited_file.read_edited_file(host, host.expand(texts.CONFIG), FILE_MODE)


def _read_included(host: Host) -> EditedFile:
    """Return the file with the sections of accounts; a missing file has the mode FILE_MODE and no text."""
    return edited_file.read_edited_file(host, host.expand(texts.FILE), FILE_MODE)


def _list_missing(host: Host) -> list[str]:
    """Return which of ~/.ssh and ~/.ssh/config must be created for the included file."""
    return [path for path in (texts.FOLDER, texts.CONFIG) if host.resolved_kind(host.expand(path)) == "nothing"]


def _find_drafts(host: Host) -> list[str]:
    """Return the paths of drafts that an interrupted run has left next to the files."""
    paths = [*(host.expand(path) for path in (texts.FOLDER, texts.FILE)), _read_config(host).path]
    drafts = ((path, host.entry(path)) for path in map(draft_path, paths))
    return [path for path, entry in drafts if entry and entry.mine and entry.kind in ("file", "folder")]


def _write(host: Host, included: EditedFile, new_text: str) -> None:
    """Write a new text into the included file. Raise AccountError if the file has changed since it was read."""
    old_content = included.text.encode("latin-1") if included.exists else None
    host.write(included.path, old=old_content, content=new_text.encode("latin-1"), mode=FILE_MODE)


def _write_first(host: Host, new_text: str, draft: str) -> None:
    """Write the included file (new_text) into a new folder. draft: the path of the folder until it is complete."""
    path = os.path.join(draft, os.path.basename(texts.FILE))
    _write(host, EditedFile(path, text="", mode=FILE_MODE, exists=False), new_text)
