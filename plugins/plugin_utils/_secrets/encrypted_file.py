# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The encrypted file as a store of keys: unlock it, read or change its entries, change its passphrase.

The class Sealed is a parsed file whose entries are still encrypted. The passphrase and the header of the file give the
key of the file, which decrypts the entries. A held key is one that
`hpc-onboard keyring unlock` keeps for some hours; a shared key is one that another process of this command has found.
"""

from __future__ import annotations

import resource
import shlex
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from .._input import command_line
from .._unlocked.held_key import HeldKey
from .file_errors import StoreDamaged, StoreError, StoreLocked, StoreMissing, WrongPassphrase, display_path
from .file_format import Entries, Header, Kdf, Sealed, derive_key, new_header, parse, seal
from .file_on_disk import KeyFile
from .passphrase import Prompter, TerminalPrompter, find_passphrase

ATTEMPTS = 3  # to type the passphrase, and to change the file while other processes change it
ADVICE = {  # class of an error -> what to do
    WrongPassphrase: "try again; if the passphrase is right, restore the file from a backup",
    StoreDamaged: "fix the problem, or restore the file from a backup",
    StoreMissing: "to create the file, run `keyring set hpc.onboard ngc`, which asks for a new passphrase",
}
STALE = "the file or its passphrase has changed since `hpc-onboard keyring unlock`, so the file is locked again"


@dataclass
class UnlockedStore:
    """The unlocked content of a file. key: decrypts the file. passphrase: empty if a shared or held key was used."""

    header: Header
    key: bytes
    entries: Entries
    passphrase: str = ""


class PassphraseChanged(StoreError):
    """Another process changed the passphrase, or created or removed the file, before this process had the lock."""


class KeyHolder(Protocol):
    """Keeps files unlocked between commands (held_key.py)."""

    def find(self, file: Path) -> HeldKey | None:
        """Return the held key of a file, or None."""

    def drop(self, file: Path) -> bool:
        """Remove the held key of a file. Return False if no key was held."""


class Store:
    """One encrypted file, which a passphrase or a key opens."""

    def __init__(
        self,
        path: Path,
        passphrase_file: str,
        prompter: Prompter | None = None,
        unlocked: MutableMapping[str, str] | None = None,
        holder: KeyHolder | None = None,
    ) -> None:
        """passphrase_file: the user's file with the passphrase, or empty. prompter: asks for the passphrase.

        unlocked: keys in hexadecimal by _key_name(), which processes may share; keys of opened files are added. holder:
        may hold the key of the file between commands; None if only the passphrase shall open the file.
        """
        self.path = path
        self._file = KeyFile(path)
        self._passphrase_file = passphrase_file
        self._prompter = prompter or TerminalPrompter()
        self._unlocked = {} if unlocked is None else unlocked
        self._holder = holder
        self._is_stale = False  # True after a held key that no longer opens the file

    def unlock(self) -> UnlockedStore:
        """Return the content of the file, with its key. Raise StoreError."""
        with self._name_file_in_errors():
            return self._unlock()

    def is_held(self) -> bool:
        """Return True if a held key opens the file. A held key that fails is removed. Raise StoreError."""
        with self._name_file_in_errors():
            return self._open_by_holder(parse(self._file.read())) is not None

    def entries(self) -> Entries:
        """Return all entries. Raise StoreError."""
        return self.unlock().entries

    def change(self, edit: Callable[[Entries], None]) -> None:
        """Change the entries and write the file, under a lock. Create a missing file. Raise StoreError.

        edit: changes the entries in place.
        """
        with self._name_file_in_errors():
            for _attempt in range(ATTEMPTS - 1):
                with suppress(PassphraseChanged):
                    self._change(edit)
                    return
            self._change(edit)  # the last attempt may raise PassphraseChanged

    def rekey(self, kdf: Kdf | None = None, ask_new: bool = True) -> None:
        """Encrypt the file with a new salt and new key-derivation settings. Raise StoreError.

        kdf: these settings; the current defaults if None. ask_new: ask for a new passphrase, else keep the old one.
        """
        with self._name_file_in_errors():
            store = self._unlock()
            passphrase = self._ask_new_passphrase() if ask_new else store.passphrase
            if not passphrase:
                raise StoreLocked(
                    "this command needs the passphrase of the file, but a stored key has opened the file. "
                    "Run `hpc-onboard keyring lock`, then try again"
                )
            header = new_header(kdf)
            key = derive_key(header, passphrase)
            with self._file.lock():
                entries, next_header = self._reread(store)
                self._write(entries, replace(header, seq=next_header.seq), key)  # seq counts all writes
            self._unlocked[self._key_name(header)] = key.hex()

    @contextmanager
    def _name_file_in_errors(self) -> Iterator[None]:
        """Begin the text of a StoreError of the block with the file's name, and end it with advice, if any."""
        try:
            yield
        except StoreError as error:
            advice, name = ADVICE.get(type(error)), f"the encrypted file {display_path(self.path)}"
            # the user unlocked the file and would not expect that the file is locked
            stale = f"{STALE}; " if self._is_stale and isinstance(error, StoreLocked) else ""
            text = f"{name} does not exist yet" if isinstance(error, StoreMissing) else f"{name}: {stale}{error}"
            raise type(error)(f"{text}; {advice}" if advice else text) from None

    def _unlock(self) -> UnlockedStore:
        """Return the content, opened with a key that this run shares, else with a held key, else with a passphrase."""
        sealed = parse(self._file.read())
        # no core dumps from now on: this process has keys in memory
        _soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
        shared_key = self._unlocked.get(self._key_name(sealed.header))
        if shared_key:
            key = bytes.fromhex(shared_key)
            return UnlockedStore(sealed.header, key, sealed.entries(key))
        store = self._open_by_holder(sealed) or self._open_by_passphrase(sealed)
        self._unlocked[self._key_name(sealed.header)] = store.key.hex()
        return store

    def _open_by_holder(self, sealed: Sealed) -> UnlockedStore | None:
        """Return the content, opened with the held key; None if no key is held. A held key that fails is removed."""
        if self._holder is None:
            return None
        held_key = self._holder.find(self._file.path)
        if held_key is None:
            return None
        with suppress(WrongPassphrase):  # the key is the right one, but the header is damaged
            if held_key.key_id == sealed.header.key_id():
                key = bytes.fromhex(held_key.key)
                return UnlockedStore(sealed.header, key, sealed.entries(key))
        # a key of a former passphrase, or a damaged header; False if another process has removed the held key
        self._is_stale = self._holder.drop(self._file.path)
        return None

    def _open_by_passphrase(self, sealed: Sealed) -> UnlockedStore:
        """Return the content, opened with a passphrase from a source that the user has set up, else from a prompt."""
        source = find_passphrase(self._passphrase_file)
        store = self._open(sealed, source.passphrase, source.source) if source else self._open_by_prompt(sealed)
        if sealed.header.is_below_default():
            rekey = shlex.join(command_line.command_for("rekey", ["--keep-passphrase"]))
            self._prompter.show_note(
                f"The passphrase of {display_path(self.path)} is easier to guess than necessary, because the file uses "
                f"outdated key-derivation settings. To update the settings, run: {rekey}"
            )
        return store

    def _key_name(self, header: Header) -> str:
        """Return the name of the file's key among the keys that processes share."""
        return f"{self._file.path} {header.key_id()}"

    def _open(self, sealed: Sealed, passphrase: str, source: str = "") -> UnlockedStore:
        """Return the content, opened with a passphrase. Raise StoreError.

        source: what messages call the source of the passphrase; empty for a prompt.
        """
        key = derive_key(sealed.header, passphrase)
        try:
            return UnlockedStore(sealed.header, key, sealed.entries(key), passphrase)
        except WrongPassphrase:
            if source:
                raise WrongPassphrase(
                    f"the passphrase in {source} is wrong, or the header of the file is damaged"
                ) from None
            raise

    def _open_by_prompt(self, sealed: Sealed) -> UnlockedStore:
        """Ask for the passphrase, at most ATTEMPTS times, and return the content. Raise StoreError."""
        question = "\n".join([*self._list_remarks(), f"Passphrase of {display_path(self.path)}"])
        for attempt in range(2, ATTEMPTS + 1):
            try:
                return self._open(sealed, self._prompter.ask(question))
            except WrongPassphrase:
                name = display_path(self.path)
                question = f"Wrong passphrase. Passphrase of {name} (attempt {attempt} of {ATTEMPTS})"
        return self._open(sealed, self._prompter.ask(question))  # the last attempt

    def _list_remarks(self) -> list[str]:
        """Return lines for the question: why the passphrase is needed again, and how to be asked less often."""
        unlock = shlex.join(command_line.command_for("keyring", ["unlock"]))
        stale = [f"{STALE}."] if self._is_stale else []
        return [*stale, *([f"To unlock the file for 8 hours, run `{unlock}`."] if self._holder else [])]

    def _ask_new_passphrase(self) -> str:
        """Return a new passphrase that the user typed twice, because a typo would lose the keys. Raise StoreLocked."""
        passphrase = self._prompter.ask(f"New passphrase for {display_path(self.path)}")
        if not passphrase:
            raise StoreLocked("an empty passphrase does not protect the keys, so nothing was written")
        if self._prompter.ask("Repeat the passphrase") != passphrase:
            raise StoreLocked("the passphrases differ, so nothing was written")
        return passphrase

    def _change(self, edit: Callable[[Entries], None]) -> None:
        """Edit the entries and write the file. Raise PassphraseChanged if another process was faster.

        The passphrase is asked for before the lock is taken, so that no other process waits for the user.
        """
        is_new = not self._file.exists()
        store = self._create() if is_new else self._unlock()
        with self._file.lock():
            if self._file.exists() == is_new:  # created or removed since the check above
                raise PassphraseChanged("other processes keep changing the file. Try again later")
            entries, header = (store.entries, store.header) if is_new else self._reread(store)
            edit(entries)
            self._write(entries, header, store.key)

    def _create(self) -> UnlockedStore:
        """Return an empty store with a new passphrase. The file is not written yet."""
        source = find_passphrase(self._passphrase_file)
        passphrase = source.passphrase if source else self._ask_new_passphrase()
        header = new_header()
        key = derive_key(header, passphrase)
        self._unlocked[self._key_name(header)] = key.hex()
        return UnlockedStore(header, key, {}, passphrase)

    def _reread(self, store: UnlockedStore) -> tuple[Entries, Header]:
        """Return the entries, read again under the lock, and the header for the next write.

        store: as read before the lock. Raise PassphraseChanged if its key no longer belongs to the file.
        """
        sealed = parse(self._file.read())
        if sealed.header.key_id() != store.header.key_id():
            raise PassphraseChanged("another process has just changed the passphrase of the file. Try again")
        return sealed.entries(store.key), sealed.header.next()

    def _write(self, entries: Entries, header: Header, key: bytes) -> None:
        """Replace the content of the file, if the new content can be read back with the key."""

        def check_content(content: bytes) -> None:
            """Raise StoreError if the content cannot be decoded, or decodes to different entries."""
            if parse(content).entries(key) != entries:
                raise StoreDamaged("the new content could not be read back; the old file is unchanged")

        self._file.write(seal(entries, header, key), check_content)
