# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A key of the user's that gets back what hpc-onboard changed of it: its former text, and the modes around it."""

from typing import Any, List, Mapping, Optional

from .._core.host import Host
from .._core.resource import Resource, State, note_key
from .._receipt import former_copies

COPY = "former key"  # the field that says that its private copy is still there


class RestoredKey(Resource):
    """The entry as the user had it. Without its former text, what hpc-onboard wrote in its place is removed."""

    def __init__(self, key: Any, note: Mapping[str, Any]) -> None:
        """Take a KeptKey as it would be removed, and what the receipt says of it."""
        self._key, self._note = key, note
        self.options, self.identity, self.KIND = key.options, key.identity, key.KIND
        self._text: Optional[str] = None  # the former one, once it was read: apply removes the copy

    def bound(self, host: Host) -> "RestoredKey":
        return RestoredKey(self._key.bound(host), self._note)

    def touches(self, host: Host) -> List[str]:
        return list(self._key.touches(host))

    @property
    def _name(self) -> str:
        return note_key(self.KIND, self.identity)

    def _former(self, host: Host) -> Optional[str]:
        """Return the whole text of the file as it was before the key was replaced."""
        content = former_copies.read_copy(host, self._name) if self._note.get("replaced") else None
        if content is not None:
            self._text = content.decode("latin-1")
        return self._text

    def desired(self, host: Host) -> State:
        found = {name: one for name, one in self.inspect(host).items() if name != COPY}
        if self._note.get("replaced"):
            text = self._former(host)
            kept = self._key.find(text) if text is not None else None
            if kept is None:
                return {}
            found["password"] = host.fingerprint(kept.passwords[0])
        found.update(self._key.loosened(host))
        return found

    def inspect(self, host: Host) -> State:
        fields = ("password", "is", "mode", "folder mode")
        found = {name: one for name, one in self._key.inspect(host).items() if name in fields}
        if self._note.get("replaced") and host.entry(former_copies.copy_path(host, self._name)):
            found[COPY] = "kept"
        return found

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        why: Optional[str] = self._key.obstacle(self._key.inspect(host), host)
        return why or None

    def apply(self, host: Host) -> None:
        text = self._former(host)
        if self._note.get("replaced") and text is None:
            self._key.apply(host)
            return
        key = self._key
        if text is not None:
            now = host.read(key.path).decode("latin-1")
            new, file = str(key.restored(now, text)), host.entry(key.path)
            mode = file.mode if file else 0o600
            host.write(key.path, now.encode("latin-1"), new.encode("latin-1"), mode, private=True)
            former_copies.remove_copy(host, self._name)
        key.loosen(host)
