# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A key entry of the user whose former text is restored, and the former modes of its file and folder.

Before hpc-onboard replaced a key of the user, it saved a private copy of the key's file (former_copies.py). Then the
note about the key in the receipt has "replaced". Offboarding restores the entry from the copy. A Host reads and changes
the files of the account.
"""

from typing import Any, List, Mapping, Optional

from .._core.host import Host
from .._core.resource import Resource, State
from .._receipt import former_copies

COPY = "former key"  # the field of the state that shows that the private copy still exists


class RestoredKey(Resource):
    """The entry as the user had it. If its former text is lost, the entry of hpc-onboard is removed instead."""

    def __init__(self, key_resource: Any, note: Mapping[str, Any]) -> None:
        """Store a key's resource (_resources/kept_key.py) whose removal is declared, and its note in the receipt."""
        self._key, self._note = key_resource, note
        self.options, self.identity, self.KIND = key_resource.options, key_resource.identity, key_resource.KIND
        self._text: Optional[str] = None  # the file's former text; cached, because apply removes the copy

    def with_expanded_paths(self, host: Host) -> "RestoredKey":
        """Return a copy of this resource whose paths are expanded for the account."""
        return RestoredKey(self._key.with_expanded_paths(host), self._note)

    def touches(self, host: Host) -> List[str]:
        """Return the absolute paths that the key's resource depends on."""
        return list(self._key.touches(host))

    def _former_text(self, host: Host) -> Optional[str]:
        """Return the file's whole text before the key was replaced; None if unknown, or if no key was replaced."""
        content = former_copies.read_copy(host, self) if self._note.get("replaced") else None
        if content is not None:
            self._text = content.decode("latin-1")
        return self._text

    def is_in_place(self, host: Host) -> bool:
        """Return True if the entry is that of the copy: a killed run did not replace the key yet, or restored it."""
        text, file = self._former_text(host), host.entry(self._key.path)
        if text is None or file is None or file.kind != "file":
            return False
        return bool(self._key.find_entry(text) == self._key.find_entry(host.read(self._key.path).decode("latin-1")))

    def desired(self, host: Host) -> State:
        """Return the former key and modes; if the former key is unknown, an empty state: the entry is then removed."""
        state = {name: value for name, value in self.inspect(host).items() if name != COPY}
        if self._note.get("replaced"):
            text = self._former_text(host)
            former = self._key.find_entry(text) if text is not None else None
            if former is None:
                return {}
            state["password"] = host.fingerprint(former.passwords[0])  # of several keys, programs use the first
        state.update(self._key.find_former_modes(host))
        return state

    def inspect(self, host: Host) -> State:
        """Return the key and the modes in the file, and COPY if the private copy still exists."""
        fields = ("password", "is", "mode", "folder mode")  # "is": what else than a regular file is at the path
        state = {name: value for name, value in self._key.inspect(host).items() if name in fields}
        if self._note.get("replaced") and former_copies.has_copy(host, self):
            state[COPY] = "kept"
        return state

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why the file must not be edited, as for the key itself; None if it may be edited.

        before: not used, because the key has a different state.
        """
        problem: Optional[str] = self._key.obstacle(self._key.inspect(host), host)
        return problem

    def apply(self, host: Host) -> None:
        """Restore the former entry and modes, and remove the copy. If the copy is lost, remove the entry."""
        text, key = self._former_text(host), self._key
        if self._note.get("replaced") and text is None:
            key.apply(host)  # removes the entry, since that is the key's desired state
            return
        if text is not None:
            former = key.find_entry(text)
            key.update_program_copy(host, former.passwords[0] if former else "")
            file = host.entry(key.path)
            current = host.read(key.path) if file else None  # the user may have removed the file
            former_copies.restore_folder(host, key.path, 0o700)
            restored = str(key.restore_entry((current or b"").decode("latin-1"), text)).encode("latin-1")
            host.write(key.path, old=current, content=restored, mode=file.mode if file else 0o600, private=True)
            former_copies.remove_copy(host, self)
        key.restore_modes(host)  # if the key was not replaced, only modes had been changed
