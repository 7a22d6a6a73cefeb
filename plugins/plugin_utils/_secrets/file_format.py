# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The format of the encrypted file: bytes to entries and back. Nothing here touches a file or asks anything.

Four lines. The magic with the version; a canonical JSON header {fsalt, kdf, salt, seq, v}; an HMAC over both; the body.
The passphrase becomes a key by the KDF that the header names; with the fresh fsalt of every write, that becomes two
(HKDF): one for the HMAC, which is checked first and commits to the passphrase, and one for the body (AES-256-GCM; used
once, so its nonce is constant). The body is one padded blob: names, number and lengths of the entries are hidden.
"""

from __future__ import annotations

import base64
import hmac
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from ...module_utils._core import document_version
from .file_errors import StoreDamaged, StoreLocked, WrongPassphrase

try:
    from cryptography.exceptions import InvalidTag, UnsupportedAlgorithm
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
except ImportError:  # then the backend is not to be chosen; see keyring_backend.py
    pass
try:
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
except ImportError:
    Argon2id = None

MAGIC = b"HPCON-KEYRING 1"
SCHEMA = "hpc.onboard/keyring/1.0"  # what the magic means, as other documents write it
BLOCK = 4096
LARGEST = 4 * 1024 * 1024
NONCE = bytes(12)
GIB = 1024 * 1024  # in the KiB of Argon2

Kdf = dict[str, Any]
Entries = dict[str, dict[str, str]]

ARGON2ID: Kdf = {"name": "argon2id", "m": 256 * 1024, "t": 3, "p": 4}
SCRYPT: Kdf = {"name": "scrypt", "n": 2**17, "r": 8, "p": 1}
# The limits of what a file may contain: a replaced one must not cost more memory and time than a machine has.
BOUNDS = {
    "argon2id": {"m": (8, GIB), "t": (1, 16), "p": (1, 16)},
    "scrypt": {"n": (2**14, 2**20), "r": (8, 8), "p": (1, 4)},
}


@dataclass(frozen=True)
class Header:
    """The unencrypted header. salt belongs to the passphrase, fsalt to one write, seq counts the writes."""

    kdf: Kdf
    salt: bytes
    fsalt: bytes
    seq: int

    def text(self) -> bytes:
        """Return the canonical text."""
        return _canonical(
            {"fsalt": _encode(self.fsalt), "kdf": self.kdf, "salt": _encode(self.salt), "seq": self.seq, "v": 1}
        )

    def next(self) -> Header:
        """Return the header of the next write with the same passphrase."""
        return replace(self, fsalt=os.urandom(32), seq=self.seq + 1)

    def key_id(self) -> str:
        """Return what identifies the key that the passphrase makes: the KDF, its parameters and the salt."""
        return _canonical({**self.kdf, "salt": _encode(self.salt)}).decode()

    def is_below_default(self) -> bool:
        """Return True if guessing its passphrase is cheaper than for a file made today with the same KDF."""
        today = ARGON2ID if self.kdf["name"] == "argon2id" else SCRYPT
        return any(self.kdf[name] < least for name, least in today.items() if name in ("m", "t", "n"))


@dataclass(frozen=True)
class Sealed:
    """A parsed file, not authenticated yet."""

    header: Header
    mac: bytes
    body: bytes

    def entries(self, key: bytes) -> Entries:
        """Return service -> name -> value. Raises WrongPassphrase, StoreDamaged."""
        head = _prefix(self.header)
        if not hmac.compare_digest(_mac(self.header, key), self.mac):
            raise WrongPassphrase("the passphrase is wrong, or the header of the file is damaged")
        try:
            text = AESGCM(_derive_subkey(self.header, key, b"body")).decrypt(NONCE, self.body, head + self.mac)
        except InvalidTag:
            raise StoreDamaged("the content of the file was changed after it was written") from None
        return _read_entries(text)

    def to_bytes(self) -> bytes:
        """Return the file: one text for the same parts, and no other."""
        return _prefix(self.header) + b"\n".join([_encode(self.mac).encode(), _encode(self.body).encode(), b""])


def new_header(kdf: Kdf | None = None, seq: int = 1) -> Header:
    """Return the header of a new passphrase."""
    return Header(dict(kdf or default_kdf()), os.urandom(16), os.urandom(32), seq)


def default_kdf() -> Kdf:
    """Return Argon2id if the library has it, and the OpenSSL that the library was built with; else scrypt."""
    if Argon2id is None:
        return SCRYPT
    try:
        Argon2id(salt=bytes(16), length=32, iterations=1, lanes=1, memory_cost=8)
    except UnsupportedAlgorithm:
        return SCRYPT
    return ARGON2ID


def derive_key(header: Header, passphrase: str) -> bytes:
    """Return the key that the passphrase makes. Takes most of a second, and 256 MiB, on purpose."""
    try:
        key: bytes = _make_kdf(header).derive(passphrase.encode())
    except MemoryError:
        raise StoreLocked("this machine does not have enough memory to check the passphrase") from None
    except UnsupportedAlgorithm:
        raise StoreLocked(_NO_ARGON2ID) from None
    return key


def seal(entries: Mapping[str, Mapping[str, str]], header: Header, key: bytes) -> bytes:
    """Return the file that contains these entries."""
    text = _canonical(entries)
    padded = text.ljust(-(-len(text) // BLOCK) * BLOCK)
    mac = _mac(header, key)
    body = AESGCM(_derive_subkey(header, key, b"body")).encrypt(NONCE, padded, _prefix(header) + mac)
    return Sealed(header, mac, body).to_bytes()


def parse(content: bytes) -> Sealed:
    """Parse a file. Raises StoreDamaged for whatever is not exactly as seal writes it."""
    lines = content.split(b"\n")
    if lines[0] != MAGIC:
        raise StoreDamaged(_explain_magic(lines[0]))
    if len(lines) != 5 or lines[4]:
        raise StoreDamaged("the file does not have four lines")
    try:
        head = json.loads(lines[1])
        header = Header(head["kdf"], _decode(head["salt"]), _decode(head["fsalt"]), head["seq"])
        sealed = Sealed(header, _decode(lines[2]), _decode(lines[3]))
        is_canonical = sealed.to_bytes() == content
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise StoreDamaged("one line of the file cannot be decoded") from None
    if not is_canonical:
        raise StoreDamaged("the file is not in the form in which hpc-onboard writes it")
    sizes = (len(header.salt), len(header.fsalt), len(sealed.mac), len(sealed.body) % BLOCK)
    if sizes != (16, 32, 32, 16) or len(sealed.body) < BLOCK:
        raise StoreDamaged("the lines of the file have a wrong length")
    if not _is_number(header.seq, 1, 2**53) or not _is_within_bounds(header.kdf):
        raise StoreDamaged("the numbers in its header are out of bounds")
    return sealed


def _explain_magic(line: bytes) -> str:
    """Return what is wrong with a first line: a newer version, or another kind of file."""
    found = re.fullmatch(re.escape(MAGIC[:-1]) + rb"([1-9][0-9]{0,3})", line)
    schema = f"hpc.onboard/keyring/{found[1].decode()}.0" if found else SCHEMA
    return document_version.refusal(schema, SCHEMA, "it", "") or "the file is not a keyring file of hpc-onboard"


_NO_ARGON2ID = (
    "the file needs Argon2id, which the Python package 'cryptography' has since version 44. Run: pip install "
    "--upgrade cryptography"
)


def _make_kdf(header: Header) -> Any:
    cost = header.kdf
    if cost["name"] == "scrypt":
        return Scrypt(salt=header.salt, length=32, n=cost["n"], r=cost["r"], p=cost["p"])
    if Argon2id is None:
        raise StoreLocked(_NO_ARGON2ID)
    return Argon2id(salt=header.salt, length=32, iterations=cost["t"], lanes=cost["p"], memory_cost=cost["m"])


def _prefix(header: Header) -> bytes:
    return MAGIC + b"\n" + header.text() + b"\n"


def _derive_subkey(header: Header, key: bytes, what: bytes) -> bytes:
    derived: bytes = HKDF(SHA256(), 32, header.fsalt, b"hpc.onboard keyring 1 " + what).derive(key)
    return derived


def _mac(header: Header, key: bytes) -> bytes:
    return hmac.new(_derive_subkey(header, key, b"header"), _prefix(header), sha256).digest()


def _is_within_bounds(kdf: Any) -> bool:
    if not isinstance(kdf, dict) or kdf.get("name") not in tuple(BOUNDS):
        return False
    bounds = BOUNDS[kdf["name"]]
    if kdf.keys() != {"name", *bounds}:
        return False
    if not all(_is_number(kdf[name], least, most) for name, (least, most) in bounds.items()):
        return False
    return bool(kdf["m"] >= 8 * kdf["p"] if "m" in kdf else kdf["n"] & (kdf["n"] - 1) == 0)


def _is_number(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _read_entries(text: bytes) -> Entries:
    """Return the entries of a decrypted body."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    services = found.values() if isinstance(found, dict) else [None]
    if not all(isinstance(names, dict) and all(isinstance(v, str) for v in names.values()) for names in services):
        raise StoreDamaged("a different version of hpc.onboard wrote the file: use the same or a newer version")
    entries: Entries = found
    return entries


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def _encode(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _decode(text: str | bytes) -> bytes:
    return base64.b64decode(text, validate=True)
