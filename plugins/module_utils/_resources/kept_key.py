# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base of all resource types that keep a key in a file which only its owner can read.

The file is a regular file with one hard link, without an access list, with mode 0600, in real folders of the account.
All other content of the file stays. The subclass knows the format.
"""

import os
from typing import Any, List, Mapping, NamedTuple, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Evidence, Resource, State
from .._core.values import is_key_note, note_key
from .._receipt import former_copies


class KeyEntry(NamedTuple):
    """The entry of a key in a file."""

    passwords: List[str]  # the keys of the entry; the program uses the first one
    form: State  # the details of its format, field to value


class KeptKey(Resource):
    """One key in a private file. A subclass knows the format of the file."""

    KEEPS_USER_EDITS = True
    IS_RESTORED = True
    PLACE = "path"  # the option that names the file

    def find(self, text: str) -> Optional[KeyEntry]:
        """Return the entry in the text, or None."""
        raise NotImplementedError

    def form(self) -> State:
        """Return the desired details of the format, field to value."""
        return {}

    def put(self, text: str) -> str:
        """Return the text with the desired entry, and everything else unchanged."""
        raise NotImplementedError

    def without(self, text: str) -> str:
        """Return the text without the entry."""
        raise NotImplementedError

    def restored(self, text: str, former: str) -> str:
        """Return the text with our entry as in the former text; the former text itself if nothing else differs."""
        if self.without(text) == self.without(former):
            return former
        found = self.find(former)
        options = dict(self.options, password=found.passwords[0] if found else None, state="present")
        return type(self)(options).put(text)

    def unreadable(self, text: str, shown: str) -> Optional[str]:
        """Return why this text must not be edited and what to do, or None."""
        raise NotImplementedError

    def prepare(self, host: Host) -> None:
        """Update copies that the program keeps next to the file, before a rotation replaces the key in the file."""

    # -- the resource --------------------------------------------------------------------------

    @property
    def path(self) -> str:
        """Return the path of the file."""
        return str(self.options[self.PLACE])

    def touches(self, host: Host) -> List[str]:
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
        """Return the desired mode of the folder: 0700, but a home keeps its mode."""
        home = host.resolved_entry(host.home) if os.path.dirname(self.path) == host.home else None
        return "%04o" % (home.mode if home else 0o700)

    def inspect(self, host: Host) -> State:
        """Return the same fields of the entry in the file; nothing without an entry; 'is' if it is no regular file."""
        file = host.entry(self.path)
        if file is None:
            return {}
        if file.kind != "file":
            return {"is": file.kind}
        found = self.find(text_of(host, self.path))
        if found is None:
            return {}
        above = os.path.dirname(self.path)
        folder = (
            host.resolved_entry(above) if above == host.home else host.entry(above)
        )  # homes are often behind a link
        state = {"password": host.fingerprint(found.passwords[0])}
        state.update(found.form)
        state["mode"] = "%04o%s" % (file.mode, " and an access list" if host.has_acl(self.path) else "")
        state["folder mode"] = "%04o" % folder.mode if folder and folder.kind == "folder" else "none: it is a link"
        return state

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why no key may be written to the file, or None."""
        shown = host.shown(self.path)
        unsafe = _why_unsafe(host, os.path.dirname(self.path))
        if unsafe:
            return unsafe
        file = host.entry(self.path)
        if file is None:
            return None
        if file.kind != "file":
            return "%s is a %s, but a key needs a regular file: move it away, then run again" % (shown, file.kind)
        if not file.mine:
            return "%s belongs to another user: move it away, then run again" % shown
        if file.links != 1:
            return "%s has %d hard links: remove the other links, then run again" % (shown, file.links)
        return self.unreadable(text_of(host, self.path), shown)

    def keys(self, host: Host) -> State:
        """Return the fingerprints of all entries that put would replace."""
        file, shown = host.entry(self.path), host.shown(self.path)
        found = self.find(text_of(host, self.path)) if file and file.kind == "file" else None
        held = [host.fingerprint(one) for one in found.passwords] if found else []
        places = [shown] if len(held) == 1 else ["entry %d in %s" % (at, shown) for at in range(1, len(held) + 1)]
        return dict(zip(places, held))

    def fields_to_tighten(self, host: Host) -> State:
        """Return the modes of file and folder that are not yet private."""
        if self.options["state"] == "absent":
            return {}
        folder, file = host.entry(os.path.dirname(self.path)), host.entry(self.path)
        was = {}
        if file and file.mode != 0o600:
            was["mode"] = "%04o" % file.mode
        if folder and os.path.dirname(self.path) != host.home and folder.mode != 0o700:
            was["folder mode"] = "%04o" % folder.mode
        return was

    def evidence(self, before: State, host: Host) -> Evidence:
        """Return the first folder above the file's own that others can write to: an audit reports it."""
        found = _find_open_folder(host, os.path.dirname(os.path.dirname(self.path)))
        return {"open_folder": host.shown(found)} if found else {}

    def apply(self, host: Host) -> None:
        """Write or remove the entry, and set or restore the modes."""
        if self.options["state"] == "absent":
            self._remove_entry(host)
            self.loosen(host)
            return
        folder = os.path.dirname(self.path)
        host.make_folders(folder, 0o700)
        found = host.entry(folder)
        if folder != host.home and found and found.mode != 0o700:
            host.set_mode(folder, 0o700)
        old = host.read(self.path) if host.entry(self.path) else None
        new, desired = (old or b"").decode("latin-1"), KeyEntry([self.options["password"]], self.form())
        if self.find(new) != desired:  # else only the mode differs
            new = self.put(new)
        if self.find(new) != desired:
            text = "the key in %s would not be found by its programs. Is the file damaged? Move it away, then run again"
            raise AccountError(text % host.shown(self.path))
        if self.keeps_copy and old is not None:
            former_copies.save_copy(host, note_key(self.KIND, self.identity), old)
        host.write(self.path, old, new.encode("latin-1"), 0o600, private=True)

    def _remove_entry(self, host: Host) -> None:
        """Remove the entry, and the file if nothing else is in it."""
        old = host.read(self.path)
        left = self.without(old.decode("latin-1"))
        found = host.entry(self.path)
        if left:
            host.write(self.path, old, left.encode("latin-1"), found.mode if found else 0o600, private=True)
        else:
            host.remove(self.path)

    def loosen(self, host: Host) -> None:
        """Restore the former modes of file and folder, once they contain no key of hpc-onboard."""
        host.removed_keys.add(note_key(self.KIND, self.identity))
        for field, mode in self.loosened(host).items():
            host.set_mode(self.path if field == "mode" else os.path.dirname(self.path), int(mode, 8))

    def loosened(self, host: Host) -> State:
        """Return the former modes that loosen restores, if hpc-onboard's mode is still set and no key needs it."""
        found = {}
        for field, path, private in (("mode", self.path, 0o600), ("folder mode", os.path.dirname(self.path), 0o700)):
            file, notes = host.entry(path), [one for one in host.receipt_notes.items() if _is_at(host, one[1], path)]
            was = [note["was"][field] for _key, note in notes if field in note.get("was", {})]
            own = {note_key(self.KIND, self.identity)} | host.removed_keys
            left = [key for key, note in notes if key not in own and (note["made"] or note.get("replaced"))]
            if was and not left and file and file.mine and file.mode == private:
                found[field] = was[0]
        return found


def _is_at(host: Host, note: Mapping[str, Any], path: str) -> bool:
    """Return True if a note is about a key in this file, or in a file of this folder."""
    try:
        place = host.expand(str(note["options"].get("path") or "")) if is_key_note(note) else ""
    except AccountError:
        return False
    return place != "" and path in (place, os.path.dirname(place))


def _find_open_folder(host: Host, folder: str) -> Optional[str]:
    """Return the first own folder from the home down to this one in which others may write, or None."""
    below = os.path.relpath(folder, host.home)
    parts = [] if below in (".", "..") or below.startswith("../") else below.split("/")
    for number in range(len(parts) + 1):
        place = os.path.join(host.home, *parts[:number])
        found = host.entry(host.resolve(place) or place)
        if found and found.kind == "folder" and found.mine and found.mode & 0o1022 in (0o002, 0o020, 0o022):
            return place
    return None


def text_of(host: Host, path: str) -> str:
    """Return the text of a file as latin-1, which keeps every byte."""
    return host.read(path).decode("latin-1")


def _why_unsafe(host: Host, folder: str) -> Optional[str]:
    """Return why no key may be in this folder, or None. Its own mode is corrected, those of folders above are not."""
    if folder == host.home:
        return host.why_unsafe_folder(folder)
    found = host.entry(folder)
    if found and (found.kind != "folder" or not found.mine):
        owner = "" if found.mine else " of another user"
        return "%s is a %s%s, but a key needs a real folder that you own: move it away, then run again" % (
            host.shown(folder),
            found.kind,
            owner,
        )
    return host.why_unsafe_folder(os.path.dirname(folder))
