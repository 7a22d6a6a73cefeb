# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The key of the ngc program, in its settings, and in the copy that it keeps of them."""

from typing import List, Optional

from .._core.host import Host
from .._core.resource import State
from .._formats import ngc_config
from .._options.key_options import NgcConfigOptions
from .kept_key import KeptKey, KeyEntry, text_of

COPY = ".BAK"
FIELD = "config.BAK"


class NgcConfig(NgcConfigOptions, KeptKey):
    """The apikey of the section in use. Other settings stay, and the program's own copy keeps no other key."""

    def touches(self, host: Host) -> List[str]:
        return [self.path, self.path + COPY]

    def form(self) -> State:
        """Return that the section has one key."""
        return {"keys": "1"}

    def find(self, text: str) -> Optional[KeyEntry]:
        """Return the keys of the section, the last one first: the program uses that."""
        found = ngc_config.read_keys(text)
        return KeyEntry(found[::-1], {"keys": str(len(found))}) if found else None

    def put(self, text: str) -> str:
        """Return the text with this key, once."""
        return ngc_config.put(text, self.options["password"])

    def without(self, text: str) -> str:
        """Return the text without any key."""
        return ngc_config.without(text)

    def unreadable(self, text: str, shown: str) -> Optional[str]:
        """Return why the file must not be edited, or None."""
        return "%s contains a NUL byte, so it is not a text file: move it away" % shown if "\0" in text else None

    def keys(self, host: Host) -> State:
        """Return those of the copy as well."""
        copy = self.path + COPY
        left = [host.fingerprint(key) for key in self._other_keys_in_copy(host)]
        return dict(super().keys(host), **{"%s (%d)" % (host.shown(copy), at): one for at, one in enumerate(left, 1)})

    # -- the copy ------------------------------------------------------------------------------

    def inspect(self, host: Host) -> State:
        """Return the state of the file, and the other keys in the program's copy."""
        state = super().inspect(host)
        left = self._other_keys_in_copy(host)
        if left:
            state[FIELD] = ", ".join(host.fingerprint(key) for key in left)
        return state

    def _other_keys_in_copy(self, host: Host) -> List[str]:
        """Return the keys in the program's copy of its settings other than the desired one."""
        copy = self.path + COPY
        found = host.entry(copy)
        if found is None or found.kind != "file":
            return []
        return [key for key in ngc_config.read_keys(text_of(host, copy)) if key != self.options.get("password")]

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why the copy or the file must not be changed, or None."""
        copy = host.entry(self.path + COPY)
        if FIELD in before and copy and (not copy.mine or copy.links != 1):
            return (
                "%s contains a key, but belongs to another user or has several hard links: remove the file"
                % host.shown(self.path + COPY)
            )
        return super().obstacle(before, host)

    def apply(self, host: Host) -> None:
        """Write or remove the key in the file, and replace or remove other keys in the copy."""
        if self.options["state"] == "present" or super().inspect(host):
            super().apply(host)
        if self._other_keys_in_copy(host):
            copy = self.path + COPY
            old = host.read(copy)
            text = old.decode("latin-1")
            left = self.put(text) if self.options["state"] == "present" else self.without(text)
            host.write(copy, old, left.encode("latin-1"), 0o600, private=True)
