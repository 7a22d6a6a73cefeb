# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base class of all resource types that keep a key in a file that only its owner can read.

The file is a regular file with one hard link, no access list and mode 0600, in real folders of the account. All other
content of the file stays. A subclass implements the format of the file.

The receipt is the account's record of what hpc-onboard created; a note in it describes one resource, such as a key.

A run compares the states from inspect() and desired(); an empty state means that the resource is absent. If the states
differ and obstacle() returns None, the run calls apply(). remarks() returns notes for the user, and evidence() returns
observations for programs. before is the state from inspect(). A Host reads and changes the account's files.
"""

import os
from typing import Any, List, Mapping, NamedTuple, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Evidence, Resource, State
from .._core.values import is_key_note
from .._formats.lines import NUL_PROBLEM
from .._receipt import former_copies


class KeyEntry(NamedTuple):
    """The entry of a key in a file."""

    passwords: List[str]  # the keys of the entry; the program uses the first one
    form: State  # details of its format, such as {"entries": "1"}


class KeptKey(Resource):
    """One key in a private file. A subclass implements the format of the file."""

    KEEPS_USER_EDITS = True
    IS_RESTORED = True

    def find_entry(self, text: str) -> Optional[KeyEntry]:
        """Return the key's entry in the text of the file, or None if the text has no such entry."""
        raise NotImplementedError

    def form(self) -> State:
        """Return the desired details of the format, as in KeyEntry.form."""
        return {}

    def put_entry(self, text: str) -> str:
        """Return the text with the desired entry, and everything else unchanged."""
        raise NotImplementedError

    def remove_entry(self, text: str) -> str:
        """Return the text without the entry."""
        raise NotImplementedError

    def restore_entry(self, text: str, former: str) -> str:
        """Return the text with the entry of the former text, which is from before hpc-onboard changed the file.

        If everything else in the two texts is equal, return the former text, byte for byte. Otherwise, put the former
        key into the present text, or remove the entry if the former text has none.
        """
        rest = self.remove_entry(text)
        if rest == self.remove_entry(former):
            return former
        former_entry = self.find_entry(former)
        if former_entry is None:
            return rest
        return type(self)(dict(self.options, password=former_entry.passwords[0], state="present")).put_entry(text)

    def find_problem(self, text: str) -> Optional[str]:
        """Return why a file with this text must not be edited, and what to do; else None."""
        return NUL_PROBLEM if "\0" in text else None

    def update_program_copy(self, host: Host, new: str) -> None:
        """Update the copy that a program keeps in another file, before the key in this file is replaced or removed.

        new: the key that replaces the key; empty to remove it. Most programs keep no copy, so this does nothing.
        """

    # -- the resource --------------------------------------------------------------------------

    @property
    def path(self) -> str:
        """Return the path of the file."""
        return str(self.options["path"])

    def touches(self, host: Host) -> List[str]:
        """Return the only path that this resource depends on."""
        return [self.path]

    def desired(self, host: Host) -> State:
        """Return the fingerprint of the key, the details of the format, and the modes of file and folder."""
        if self.options["state"] == "absent":
            return {}
        state = {"password": host.fingerprint(self.options["password"])}
        state.update(self.form())
        state.update({"mode": "0600", "folder mode": self._folder_mode(host)})
        return state

    def _folder_mode(self, host: Host) -> str:
        """Return the desired mode of the file's folder: 0700, but the present mode if the folder is the home."""
        is_home = os.path.dirname(self.path) == host.home
        home = host.resolved_entry(host.home) if is_home else None
        return "%04o" % (home.mode if home else 0o700)

    def inspect(self, host: Host) -> State:
        """Return the same fields as desired(), read from the file; only 'is' if the path is not a regular file.

        Return {} without the file or the entry. The home may be a link, but no other folder may.
        """
        file = host.entry(self.path)
        if file is None:
            return {}
        if file.kind != "file":
            return {"is": file.kind}
        key_entry = self.find_entry(read_latin1(host, self.path))
        if key_entry is None:
            return {}
        parent = os.path.dirname(self.path)
        folder = host.resolved_entry(parent) if parent == host.home else host.entry(parent)
        state = {"password": host.fingerprint(key_entry.passwords[0])}
        state.update(key_entry.form)
        state["mode"] = ("%04o and an access list" if host.has_acl(self.path) else "%04o") % file.mode
        state["folder mode"] = (
            "%04o" % folder.mode if folder and folder.kind == "folder" else "none (the folder is a link)"
        )
        return state

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why the key must not be written to the file or removed from it, or None. before: not used here."""
        display_path = host.shown(self.path)
        unsafe = _why_unsafe(host, os.path.dirname(self.path))
        if unsafe:
            return unsafe
        file = host.entry(self.path)
        if file is None:
            return None
        if file.kind != "file":
            return (
                "%s is a %s, but keys are stored only in regular files: rename or move the %s, then run hpc-onboard"
                " again" % (display_path, file.kind, file.kind)
            )
        if not file.mine:
            return "%s belongs to another user: rename or move the file, then run hpc-onboard again" % display_path
        if file.links != 1:
            return "%s has %d hard links: remove the others, then run hpc-onboard again" % (display_path, file.links)
        problem = self.find_problem(read_latin1(host, self.path))
        return "%s: %s" % (display_path, problem) if problem else None

    def keys(self, host: Host) -> State:
        """Return the fingerprints of all keys that apply would replace, by a description of each key's place."""
        file, display_path = host.entry(self.path), host.shown(self.path)
        key_entry = self.find_entry(read_latin1(host, self.path)) if file and file.kind == "file" else None
        fingerprints = [host.fingerprint(password) for password in key_entry.passwords] if key_entry else []
        if len(fingerprints) == 1:
            return {display_path: fingerprints[0]}
        return {"entry %d in %s" % (number, display_path): value for number, value in enumerate(fingerprints, 1)}

    def fields_to_tighten(self, host: Host) -> State:
        """Return the modes of file and folder that are not yet private, to restore them later; {} for a removal."""
        if self.options["state"] == "absent":
            return {}
        folder, file = host.entry(os.path.dirname(self.path)), host.entry(self.path)
        modes = {}
        if file and file.mode != 0o600:
            modes["mode"] = "%04o" % file.mode
        if folder and os.path.dirname(self.path) != host.home and folder.mode != 0o700:
            modes["folder mode"] = "%04o" % folder.mode
        return modes

    def evidence(self, before: State, host: Host) -> Evidence:
        """Return {open_folder: the first folder above the file's folder to which others can write}, or {}.

        before: not used here.
        """
        open_folder = _find_open_folder(host, os.path.dirname(os.path.dirname(self.path)))
        return {"open_folder": host.shown(open_folder)} if open_folder else {}

    def apply(self, host: Host) -> None:
        """Write or remove the entry, and set or restore the modes."""
        if self.options["state"] == "absent":
            self.update_program_copy(host, new="")
            self._remove_from_file(host)
            self.restore_modes(host)
            return
        folder = os.path.dirname(self.path)
        host.make_folders(folder, 0o700)
        folder_entry = host.entry(folder)
        if folder != host.home and folder_entry and folder_entry.mode != 0o700:
            host.set_mode(folder, 0o700)
        old = host.read(self.path) if host.entry(self.path) else None  # None: write() creates the file
        text = (old or b"").decode("latin-1")
        desired_entry = KeyEntry([self.options["password"]], self.form())
        if self.find_entry(text) != desired_entry:  # else only the mode differs
            text = self.put_entry(text)
        if self.find_entry(text) != desired_entry:  # find_entry() reads the new text as programs will read the file
            raise AccountError(
                "programs would not find the key in %s. If the file is damaged, rename or move it, then run hpc-onboard"
                " again" % host.shown(self.path)
            )
        if self.keeps_copy and old is not None:  # offboarding restores the user's key from the copy
            former_copies.save_copy(host, self, old)
        host.write(self.path, old, text.encode("latin-1"), 0o600, private=True)

    def _remove_from_file(self, host: Host) -> None:
        """Remove the entry, or the whole file if the file contains nothing else."""
        old = host.read(self.path)
        rest = self.remove_entry(old.decode("latin-1"))
        file = host.entry(self.path)
        if rest:
            host.write(self.path, old, rest.encode("latin-1"), file.mode if file else 0o600, private=True)
        else:
            host.remove(self.path)

    def restore_modes(self, host: Host) -> None:
        """Restore the former modes of file and folder, once no key of hpc-onboard is in the file or folder."""
        host.removed_keys.add(self.note_key)  # this key no longer needs the modes
        for field, mode in self.find_former_modes(host).items():
            host.set_mode(self.path if field == "mode" else os.path.dirname(self.path), int(mode, 8))

    def find_former_modes(self, host: Host) -> State:
        """Return the former modes that are to be restored: "mode" of the file, and "folder mode" of its folder.

        A mode is restored if it is still the mode that hpc-onboard set, and if no other key of hpc-onboard needs it.
        """
        modes = {}
        removed_keys = {self.note_key} | host.removed_keys  # by this run
        fields = (("mode", self.path, 0o600), ("folder mode", os.path.dirname(self.path), 0o700))
        for field, path, private_mode in fields:
            notes = {key: note for key, note in host.receipt_notes.items() if _is_about_key_at(host, note, path)}
            # "was": the modes before hpc-onboard changed them
            former_modes = [note["was"][field] for note in notes.values() if field in note.get("was", {})]
            other_notes = [note for key, note in notes.items() if key not in removed_keys]
            is_needed = any(note["made"] or note.get("replaced") for note in other_notes)  # hpc-onboard wrote the key
            entry = host.entry(path)
            is_unchanged = entry is not None and entry.mine and entry.mode == private_mode
            if former_modes and is_unchanged and not is_needed:
                modes[field] = former_modes[0]
        return modes


def _is_about_key_at(host: Host, note: Mapping[str, Any], path: str) -> bool:
    """Return True if a note of the receipt is about a key in the file at this path, or in a file of this folder."""
    try:
        key_path = host.expand(str(note["options"].get("path") or "")) if is_key_note(note) else ""
    except AccountError:
        return False  # the path contains a variable that the site no longer sets
    return key_path != "" and path in (key_path, os.path.dirname(key_path))


def _find_open_folder(host: Host, folder: str) -> Optional[str]:
    """Return the first folder of the user, from the home down to this folder, to which others can write, or None.

    Others are the group and all users (0o022). With a sticky bit (0o1000), they cannot replace the files in a folder.
    """
    below = os.path.relpath(folder, host.home)
    # of a folder outside the home, only the home itself is checked
    parts = [] if below in (".", "..") or below.startswith("../") else below.split("/")
    for number in range(len(parts) + 1):
        path = os.path.join(host.home, *parts[:number])
        entry = host.entry(host.resolve(path) or path)
        is_open = entry and entry.mode & 0o022 and not entry.mode & 0o1000
        if entry and entry.kind == "folder" and entry.mine and is_open:
            return path
    return None


def read_latin1(host: Host, path: str) -> str:
    """Return the text of a file as latin-1, because this encoding keeps every byte."""
    return host.read(path).decode("latin-1")


def _why_unsafe(host: Host, folder: str) -> Optional[str]:
    """Return why the folder is not safe for a key, or None. The mode is not checked, because apply() corrects it."""
    if folder == host.home:  # apply() does not change the mode of the home
        return host.why_unsafe_folder(folder)
    entry = host.entry(folder)
    if entry and (entry.kind != "folder" or not entry.mine):
        kind = entry.kind if entry.mine else entry.kind + " of another user"
        return (
            "%s is a %s, but keys are stored only in folders that you own: rename or move it, then run hpc-onboard"
            " again" % (host.shown(folder), kind)
        )
    return host.why_unsafe_folder(os.path.dirname(folder))  # apply() creates the folder, or makes it private
