# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A key entry of the user that gets back what hpc-onboard changed: its former text, and the modes around it."""

from typing import Any, List, Mapping, Optional

from .._core.host import Host
from .._core.resource import Resource, State
from .._core.values import note_key
from .._receipt import former_copies

COPY = "former key"  # the field that is set while the private copy is there


class RestoredKey(Resource):
    """The entry as the user had it. Without its former text, what hpc-onboard wrote in its place is removed."""

    def __init__(self, key: Any, note: Mapping[str, Any]) -> None:
        """Take a KeptKey whose removal is declared, and its note in the receipt."""
        self._key, self._note = key, note
        self.options, self.identity, self.KIND = key.options, key.identity, key.KIND
        self._note_key = note_key(key.KIND, key.identity)
        self._text: Optional[str] = None  # the former one, once it was read: apply removes the copy

    def bound(self, host: Host) -> "RestoredKey":
        return RestoredKey(self._key.bound(host), self._note)

    def touches(self, host: Host) -> List[str]:
        return list(self._key.touches(host))

    def _former_text(self, host: Host) -> Optional[str]:
        """Return the whole text of the file as it was before the key was replaced."""
        content = former_copies.read_copy(host, self._note_key) if self._note.get("replaced") else None
        if content is not None:
            self._text = content.decode("latin-1")
        return self._text

    def is_in_place(self, host: Host) -> bool:
        """Return True if the entry is as in the copy: a run ended before it replaced it, or after it put it back."""
        text, file = self._former_text(host), host.entry(self._key.path)
        if text is None or file is None or file.kind != "file":
            return False
        return bool(self._key.find_entry(text) == self._key.find_entry(host.read(self._key.path).decode("latin-1")))

    def desired(self, host: Host) -> State:
        """Return the former key and modes; nothing if there was no former key."""
        found = {name: one for name, one in self.inspect(host).items() if name != COPY}
        if self._note.get("replaced"):
            text = self._former_text(host)
            former = self._key.find_entry(text) if text is not None else None
            if former is None:
                return {}
            found["password"] = host.fingerprint(former.passwords[0])
        found.update(self._key.find_former_modes(host))
        return found

    def inspect(self, host: Host) -> State:
        """Return the key and modes in the file, and if the private copy still exists."""
        fields = ("password", "is", "mode", "folder mode")
        found = {name: one for name, one in self._key.inspect(host).items() if name in fields}
        if self._note.get("replaced") and host.entry(former_copies.copy_path(host, self._note_key)):
            found[COPY] = "kept"
        return found

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why the file must not be edited, as for the key itself."""
        why: Optional[str] = self._key.obstacle(self._key.inspect(host), host)
        return why

    def apply(self, host: Host) -> None:
        """Restore the former entry and modes, and remove the copy; without a copy, remove the entry."""
        text, key = self._former_text(host), self._key
        if self._note.get("replaced") and text is None:
            key.apply(host)
            return
        if text is not None:
            now = host.read(key.path).decode("latin-1")
            new, file = str(key.restore_entry(now, text)), host.entry(key.path)
            mode = file.mode if file else 0o600
            host.write(key.path, now.encode("latin-1"), new.encode("latin-1"), mode, private=True)
            former_copies.remove_copy(host, self._note_key)
        key.restore_modes(host)
