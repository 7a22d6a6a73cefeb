# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A key in a file that only its owner can read: what all kinds of such files have in common.

The file lies in plain folders of the account's own; it is plain, has one name, no access list and the mode
0600. What else stands in it is not ours and stays. How a key is written in it is said by the subclass.
"""

import os
from typing import Any, List, Mapping, NamedTuple, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Evidence, Resource, State, noted_as
from .._receipt import former


class Kept(NamedTuple):
    """What a file says of our entry."""

    passwords: List[str]  # the keys that stand for it, the one that is taken first
    form: State  # how it is written, field to value


class KeptKey(Resource):
    """One key in a private file. A kind is a subclass, which knows the form of the file."""

    EDITED_IS_THEIRS = True
    IS_PUT_BACK = True
    PLACE = "path"  # the option that names the file

    def find(self, text: str) -> Optional[Kept]:
        """What the text says of our entry, or None where there is none."""
        raise NotImplementedError

    def form(self) -> State:
        """How our entry is to be written, field to value."""
        return {}

    def put(self, text: str) -> str:
        """The text with our entry as it is wanted, and with everything else as it was."""
        raise NotImplementedError

    def without(self, text: str) -> str:
        """The text without our entry."""
        raise NotImplementedError

    def restored(self, text: str, former: str) -> str:
        """Return the text with our entry as it was in a former one; that one itself where nothing else differs."""
        if self.without(text) == self.without(former):
            return former
        found = self.find(former)
        options = dict(self.options, password=found.passwords[0] if found else None, state="present")
        return type(self)(options).put(text)

    def unreadable(self, text: str, shown: str) -> Optional[str]:
        """Why this text must not be edited, and what to do; None when it may."""
        raise NotImplementedError

    def prepare(self, host: Host) -> None:
        """Bring the key to what its program keeps beside the file, before it is replaced there by a rotation."""

    # -- the resource --------------------------------------------------------------------------

    @property
    def path(self) -> str:
        """The file."""
        return str(self.options[self.PLACE])

    def touches(self, host: Host) -> List[str]:
        return [self.path]

    def desired(self, host: Host) -> State:
        if self.options["state"] == "absent":
            return {}
        state = {"password": host.fingerprint(self.options["password"])}
        state.update(self.form())
        state.update({"mode": "0600", "folder mode": self._folder_mode(host)})
        return state

    def _folder_mode(self, host: Host) -> str:
        """A home keeps its mode; any other folder of a key is for its owner alone."""
        home = host.behind(host.home) if os.path.dirname(self.path) == host.home else None
        return "%04o" % (home.mode if home else 0o700)

    def inspect(self, host: Host) -> State:
        file = host.entry(self.path)
        if file is None:
            return {}
        if file.kind != "file":
            return {"is": file.kind}
        found = self.find(text_of(host, self.path))
        if found is None:
            return {}
        above = os.path.dirname(self.path)
        folder = host.behind(above) if above == host.home else host.entry(above)  # homes are often behind a link
        state = {"password": host.fingerprint(found.passwords[0])}
        state.update(found.form)
        state["mode"] = "%04o%s" % (file.mode, " and an access list" if host.has_acl(self.path) else "")
        state["folder mode"] = "%04o" % folder.mode if folder and folder.kind == "folder" else "none: it is a link"
        return state

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        shown = host.shown(self.path)
        unsafe = _unsafe(host, os.path.dirname(self.path))
        if unsafe:
            return unsafe
        file = host.entry(self.path)
        if file is None:
            return None
        if file.kind != "file":
            return "%s is a %s: a key is kept in a plain file only; move it away, then run again" % (shown, file.kind)
        if not file.mine:
            return "%s belongs to somebody else" % shown
        if file.links != 1:
            return "%s has %d names (hard links): remove the others, then run again" % (shown, file.links)
        return self.unreadable(text_of(host, self.path), shown)

    def keys(self, host: Host) -> State:
        """Return the fingerprints of all entries that put would replace."""
        file, shown = host.entry(self.path), host.shown(self.path)
        found = self.find(text_of(host, self.path)) if file and file.kind == "file" else None
        held = [host.fingerprint(one) for one in found.passwords] if found else []
        places = [shown] if len(held) == 1 else ["entry %d in %s" % (at, shown) for at in range(1, len(held) + 1)]
        return dict(zip(places, held))

    def tightens(self, host: Host) -> State:
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
        found = _open_folder(host, os.path.dirname(os.path.dirname(self.path)))
        return {"open_folder": host.shown(found)} if found else {}

    def apply(self, host: Host) -> None:
        if self.options["state"] == "absent":
            self._take_out(host)
            self.loosen(host)
            return
        folder = os.path.dirname(self.path)
        host.make_folders(folder, 0o700)
        found = host.entry(folder)
        if folder != host.home and found and found.mode != 0o700:
            host.set_mode(folder, 0o700)
        old = host.read(self.path) if host.entry(self.path) else None
        new, wanted = (old or b"").decode("latin-1"), Kept([self.options["password"]], self.form())
        if self.find(new) != wanted:  # else only its mode is another one
            new = self.put(new)
        if self.find(new) != wanted:
            text = "%s cannot be written so that its readers find the key: is it damaged?"
            raise AccountError(text % host.shown(self.path))
        if self.keeps_former and old is not None:
            former.keep(host, noted_as(self.KIND, self.identity), old)
        host.write(self.path, old, new.encode("latin-1"), 0o600, private=True)

    def _take_out(self, host: Host) -> None:
        old = host.read(self.path)
        left = self.without(old.decode("latin-1"))
        found = host.entry(self.path)
        if left:
            host.write(self.path, old, left.encode("latin-1"), found.mode if found else 0o600, private=True)
        else:
            host.remove(self.path)

    def loosen(self, host: Host) -> None:
        """Give file and folder their former modes back, once no key of hpc-onboard's is left there."""
        host.gone.add(noted_as(self.KIND, self.identity))
        for field, mode in self.loosened(host).items():
            host.set_mode(self.path if field == "mode" else os.path.dirname(self.path), int(mode, 8))

    def loosened(self, host: Host) -> State:
        """Return the former modes that loosen gives back: where hpc-onboard's mode stands, and no key needs it."""
        found = {}
        for field, path, private in (("mode", self.path, 0o600), ("folder mode", os.path.dirname(self.path), 0o700)):
            file, notes = host.entry(path), [one for one in host.noted.items() if _is_at(host, one[1], path)]
            was = [note["was"][field] for _key, note in notes if field in note.get("was", {})]
            own = {noted_as(self.KIND, self.identity)} | host.gone
            left = [key for key, note in notes if key not in own and (note["made"] or note.get("replaced"))]
            if was and not left and file and file.mine and file.mode == private:
                found[field] = was[0]
        return found


def _is_at(host: Host, note: Mapping[str, Any], path: str) -> bool:
    """Return True if a note is about a key in this file, or in a file of this folder.

    A rotation leaves no fingerprint in a note, but it leaves the secret's name.
    """
    is_key = note.get("secret") or note.get("keyed")
    try:
        place = host.expand(str(note["options"].get("path") or "")) if is_key else ""
    except AccountError:
        return False
    return place != "" and path in (place, os.path.dirname(place))


def _open_folder(host: Host, folder: str) -> Optional[str]:
    """The folder of mine, from the home down to this one, in which others may write: it can be shut without a loss."""
    below = os.path.relpath(folder, host.home)
    parts = [] if below in (".", "..") or below.startswith("../") else below.split("/")
    for number in range(len(parts) + 1):
        place = os.path.join(host.home, *parts[:number])
        found = host.entry(host.resolve(place) or place)
        if found and found.kind == "folder" and found.mine and found.mode & 0o1022 in (0o002, 0o020, 0o022):
            return place
    return None


def text_of(host: Host, path: str) -> str:
    """The text of a file as latin-1, so that every byte comes back as it was."""
    return host.read(path).decode("latin-1")


def _unsafe(host: Host, folder: str) -> Optional[str]:
    """Why no key may lie here. A folder of mine that is too open is put right, those above it are not."""
    if folder == host.home:
        return host.unsafe_folder(folder)
    found = host.entry(folder)
    if found and (found.kind != "folder" or not found.mine):
        return "%s is a %s%s; a key is kept in a plain folder of yours only" % (
            host.shown(folder),
            found.kind,
            "" if found.mine else " of somebody else",
        )
    return host.unsafe_folder(os.path.dirname(folder))
