# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The encrypted file as a mapping: unlocked once, read, changed as a whole, given another passphrase."""

from __future__ import annotations

import shlex
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from pathlib import Path

from .file_errors import StoreDamaged, StoreError, StoreLocked, StoreMissing, WrongPassphrase, shown
from .file_format import Entries, Header, Kdf, Sealed, key_of, new_header, parse, seal
from .file_on_disk import KeyFile
from .passphrase import AtTerminal, Person, given

TRIES = 3
ADVICE = {
    WrongPassphrase: "try again; if it is right, take the file back from a backup",
    StoreDamaged: "nothing was written. Fix that, or take the file back from a backup",
    StoreMissing: "keyring set hpc.onboard ngc  makes it, and asks for a new passphrase",
}


@dataclass
class Opened:
    """A store whose passphrase is known. passphrase is empty where an earlier look had left the key."""

    header: Header
    key: bytes
    entries: Entries
    passphrase: str = ""


class Meanwhile(Exception):
    """Somebody gave it another passphrase, or made it, between our look and our lock."""


class Store:
    """One encrypted file. unlocked: keys by what made them, for whoever shares them with other processes."""

    def __init__(
        self,
        path: Path,
        passphrase_file: str = "",
        person: Person | None = None,
        unlocked: MutableMapping[str, str] | None = None,
    ) -> None:
        self.path = path
        self._file = KeyFile(path)
        self._passphrase_file = passphrase_file
        self._person = person or AtTerminal()
        self._unlocked = {} if unlocked is None else unlocked

    def entries(self) -> Entries:
        """All that it holds. Raises StoreError, never gives less than there is."""
        try:
            return self._open().entries
        except StoreError as error:
            raise self._worded(error) from None

    def change(self, edit: Callable[[Entries], None]) -> None:
        """Read, edit, write, with other writers kept out; a store that is not there is made."""
        for last in (False, False, True):
            try:
                self._change(edit)
            except Meanwhile:
                if last:
                    error = StoreLocked("others keep changing its passphrase: run this again")
                    raise self._worded(error) from None
            except StoreError as error:
                raise self._worded(error) from None
            else:
                return

    def rekey(self, kdf: Kdf | None = None, ask_new: bool = True) -> None:
        """A new salt and today's cost, with another passphrase or the same one. All or nothing."""
        try:
            opened = self._open()
            passphrase = self._new_passphrase("New passphrase") if ask_new else opened.passphrase
            if not passphrase:
                raise StoreLocked("its passphrase is needed, and only its key is known here")
            self._rekey(opened, passphrase, kdf)
        except (StoreError, Meanwhile) as error:
            text = str(error) or "its passphrase was changed by another process just now"
            raise self._worded(error if isinstance(error, StoreError) else StoreLocked(text)) from None

    def _worded(self, error: StoreError) -> StoreError:
        """The same error with the file's name in front and what to do behind."""
        advice = ADVICE.get(type(error))
        return type(error)(f"the encrypted file {shown(self.path)}: {error}{f'; {advice}' if advice else ''}")

    def _open(self) -> Opened:
        sealed = parse(self._file.read())
        _no_core_dumps()
        known = self._unlocked.get(self._known_as(sealed.header))
        if known:
            return Opened(sealed.header, bytes.fromhex(known), sealed.entries(bytes.fromhex(known)))
        found = given(self._passphrase_file)
        opened = self._try(sealed, found.passphrase, found.source) if found else self._ask(sealed)
        self._unlocked[self._known_as(sealed.header)] = opened.key.hex()
        if sealed.header.below_default():
            from .._input import command_line  # few are told

            rekey = shlex.join(command_line.command("rekey", ["--keep-passphrase"]))
            text = f"The passphrase of {shown(self.path)} is cheaper to guess at than one set today"
            self._person.tell(f"{text}: {rekey}  fixes that.")
        return opened

    def _known_as(self, header: Header) -> str:
        return f"{self._file.path} {header.cost()}"

    def _try(self, sealed: Sealed, passphrase: str, source: str = "") -> Opened:
        key = key_of(sealed.header, passphrase)
        try:
            return Opened(sealed.header, key, sealed.entries(key), passphrase)
        except WrongPassphrase as error:
            if source:
                raise WrongPassphrase(f"the passphrase in {source} does not open it, or its head is damaged") from None
            raise error

    def _ask(self, sealed: Sealed) -> Opened:
        question = f"Passphrase of {shown(self.path)}"
        for attempt in range(1, TRIES + 1):
            again = f"Wrong passphrase. {question} (try {attempt} of {TRIES})"
            try:
                return self._try(sealed, self._person.ask(question if attempt == 1 else again))
            except WrongPassphrase:
                if attempt == TRIES:
                    raise
        raise AssertionError

    def _new_passphrase(self, question: str) -> str:
        """Of a person, and twice, since a slip of the finger would lock the keys away."""
        first = self._person.ask(f"{question} for {shown(self.path)}")
        if not first:
            raise StoreLocked("an empty passphrase protects nothing: nothing was written")
        if self._person.ask("The same again") != first:
            raise StoreLocked("the two were not the same: nothing was written")
        return first

    def _change(self, edit: Callable[[Entries], None]) -> None:
        new = not self._file.exists()
        opened = self._made() if new else self._open()
        with self._file.held():
            if self._file.exists() == new:
                raise Meanwhile
            header = opened.header
            if not new:
                opened.entries, header = self._again(opened)
            edit(opened.entries)
            self._write(opened.entries, header, opened.key)

    def _made(self) -> Opened:
        """An empty store with a new passphrase, not written yet."""
        found = given(self._passphrase_file)
        passphrase = found.passphrase if found else self._new_passphrase("New passphrase")
        header = new_header()
        key = key_of(header, passphrase)
        self._unlocked[self._known_as(header)] = key.hex()
        return Opened(header, key, {}, passphrase)

    def _again(self, opened: Opened) -> tuple[Entries, Header]:
        """What it holds now that nobody else may write, and the header of the next write."""
        sealed = parse(self._file.read())
        if sealed.header.cost() != opened.header.cost():
            raise Meanwhile
        return sealed.entries(opened.key), sealed.header.next()

    def _write(self, entries: Entries, header: Header, key: bytes) -> None:
        def check(back: bytes) -> None:
            if parse(back).entries(key) != entries:
                raise StoreDamaged("what was written could not be read back; nothing was replaced")

        self._file.write(seal(entries, header, key), check)
        self._file.forget_old()

    def _rekey(self, opened: Opened, passphrase: str, kdf: Kdf | None) -> None:
        header = new_header(kdf)
        key = key_of(header, passphrase)
        with self._file.held():
            entries, following = self._again(opened)
            header = Header(header.kdf, header.salt, header.fsalt, following.seq)
            self._file.keep_old(self._file.read())
            self._file.write(seal(entries, header, key), lambda back: parse(back).entries(key))
            if parse(self._file.read()).entries(key) != entries:
                raise StoreDamaged(f"the new one cannot be read back; the old one lies beside it as {self.path}.old")
            self._file.forget_old()
        self._unlocked[self._known_as(header)] = key.hex()


def _no_core_dumps() -> None:
    """From here on this process holds keys."""
    import resource

    _soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
