# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The key of the ngc program, in its settings file and in the backup copy that the program keeps of this file.

The base class reads and writes the file. This class defines the format of the key's entry in the text of the file.
"""

from typing import List, Optional

from .._core.host import Host
from .._core.resource import State
from .._formats import ngc_config
from .._options.key_options import NgcConfigOptions
from .kept_key import KeptKey, KeyEntry, read_latin1

COPY_SUFFIX = ".BAK"
"""The suffix of the backup copy."""
COPY_FIELD = "config.BAK"
"""The field of a state with the fingerprints of other keys in the backup copy."""


class NgcConfig(NgcConfigOptions, KeptKey):
    """The apikey of the section in use. Other settings stay. Other keys are removed from the backup copy."""

    def touches(self, host: Host) -> List[str]:
        """Return the paths that this resource depends on: the file and its backup copy."""
        return [self.path, self.path + COPY_SUFFIX]

    def form(self) -> State:
        """Return the desired format: a section with one key."""
        return {"keys": "1"}

    def find_entry(self, text: str) -> Optional[KeyEntry]:
        """Return the keys of the section, or None. The last key comes first, because the program uses the last key."""
        keys = ngc_config.read_keys(text)
        return KeyEntry(keys[::-1], {"keys": str(len(keys))}) if keys else None

    def put_entry(self, text: str) -> str:
        """Return the text with the desired key as its only key."""
        return ngc_config.put(text, self.options["password"])

    def remove_entry(self, text: str) -> str:
        """Return the text without any key."""
        return ngc_config.without(text)

    def keys(self, host: Host) -> State:
        """Return the fingerprints of all keys that apply would replace, by a description of each key's place.

        Keys in the backup copy are included, numbered from 1.
        """
        fingerprints = super().keys(host)
        for number, key in enumerate(self._other_keys_in_copy(host), 1):
            fingerprints["%s (%d)" % (host.shown(self.path + COPY_SUFFIX), number)] = host.fingerprint(key)
        return fingerprints

    # -- the backup copy -----------------------------------------------------------------------

    def inspect(self, host: Host) -> State:
        """Return the state of the file, and the other keys in the backup copy."""
        state = super().inspect(host)
        others = self._other_keys_in_copy(host)
        if others:
            state[COPY_FIELD] = ", ".join(host.fingerprint(key) for key in others)
        return state

    def _other_keys_in_copy(self, host: Host) -> List[str]:
        """Return the keys in the backup copy, except the desired key."""
        copy_path = self.path + COPY_SUFFIX
        entry = host.entry(copy_path)
        if entry is None or entry.kind != "file":
            return []
        keys = ngc_config.read_keys(read_latin1(host, copy_path))
        return [key for key in keys if key != self.options.get("password")]

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why the backup copy or the file must not be changed, or None. before: the state from inspect()."""
        entry = host.entry(self.path + COPY_SUFFIX)
        is_editable = entry is not None and entry.mine and entry.links == 1
        if COPY_FIELD in before and entry and not is_editable:
            text = "%s contains a key, but belongs to another user or has several hard links: remove the file"
            return text % host.shown(self.path + COPY_SUFFIX)
        return super().obstacle(before, host)

    def apply(self, host: Host) -> None:
        """Write or remove the key in the file, and replace or remove other keys in the backup copy."""
        is_in_file = bool(super().inspect(host))
        if self.options["state"] == "present" or is_in_file:  # otherwise, only the copy has a key to remove
            super().apply(host)
        if self._other_keys_in_copy(host):
            copy_path = self.path + COPY_SUFFIX
            old = host.read(copy_path)
            text = old.decode("latin-1")  # keeps every byte
            new = self.put_entry(text) if self.options["state"] == "present" else self.remove_entry(text)
            host.write(copy_path, old, new.encode("latin-1"), 0o600, private=True)
