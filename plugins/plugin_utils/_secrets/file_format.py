# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The format of the encrypted file: decode entries from bytes, and encode them. This module reads and writes no file.

A file has four lines: the magic with the version; a canonical JSON header {fsalt, kdf, salt, seq, v}; an HMAC of both;
the body. The KDF in the header derives a key from the passphrase. From that and the fsalt, which is new for each write,
HKDF derives two keys: one for the HMAC, which is checked first and commits to the passphrase, and one for the body
(AES-256-GCM; used once, so its nonce is constant). The body is one padded blob, which hides names, number and lengths
of the entries.
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
from .._state.signed_record import canonical_json, is_integer
from .file_errors import StoreDamaged, StoreLocked, WrongPassphrase

try:
    from cryptography.exceptions import InvalidTag, UnsupportedAlgorithm
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
except ImportError:  # keyring_backend.py then reports that the backend is not available
    pass
try:
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
except ImportError:
    Argon2id = None

MAGIC = b"HPCON-KEYRING 1"
SCHEMA = "hpc.onboard/keyring/1.0"  # the magic, in the notation of other documents
BLOCK = 4096  # bytes to which the body is padded
LARGEST = 4 * 1024 * 1024  # bytes of a file
NONCE = bytes(12)  # constant: each write derives a new key, and uses the key once
GIB = 1024 * 1024  # 1 GiB in the unit of Argon2, KiB

Kdf = dict[str, Any]  # the name and the parameters of a key-derivation function
Entries = dict[str, dict[str, str]]  # service -> name of a key -> its value

ARGON2ID: Kdf = {"name": "argon2id", "m": 256 * 1024, "t": 3, "p": 4}  # memory in KiB, passes, lanes
SCRYPT: Kdf = {"name": "scrypt", "n": 2**17, "r": 8, "p": 1}  # cost, block size, parallelisation
# Limits for the header: a file from an attacker must not use up the memory and time of this machine.
BOUNDS = {
    "argon2id": {"m": (8, GIB), "t": (1, 16), "p": (1, 16)},
    "scrypt": {"n": (2**14, 2**20), "r": (8, 8), "p": (1, 4)},
}


@dataclass(frozen=True)
class Header:
    """The unencrypted header. kdf: key-derivation settings. salt: new with each passphrase. fsalt: new with each write.

    seq: number of the write.
    """

    kdf: Kdf
    salt: bytes
    fsalt: bytes
    seq: int

    def text(self) -> bytes:
        """Return the header as canonical JSON."""
        fields = {"fsalt": _encode(self.fsalt), "kdf": self.kdf, "salt": _encode(self.salt), "seq": self.seq, "v": 1}
        return canonical_json(fields).encode()

    def next(self) -> Header:
        """Return the header for the next write with the same passphrase."""
        return replace(self, fsalt=os.urandom(32), seq=self.seq + 1)

    def key_id(self) -> str:
        """Return the identity of the key derived from the passphrase: the KDF, its parameters and the salt."""
        return canonical_json({**self.kdf, "salt": _encode(self.salt)})

    def is_below_default(self) -> bool:
        """Return True if its passphrase is easier to guess than with the default parameters of the same KDF."""
        default = ARGON2ID if self.kdf["name"] == "argon2id" else SCRYPT
        costs = ("m", "t", "n")  # memory, passes, scrypt's cost; more of another parameter is not safer
        return any(self.kdf[name] < default[name] for name in costs if name in default)


@dataclass(frozen=True)
class Sealed:
    """A parsed file, not authenticated yet. mac: the HMAC of the first two lines. body: the encrypted entries."""

    header: Header
    mac: bytes
    body: bytes

    def entries(self, key: bytes) -> Entries:
        """Authenticate and decrypt the file. Return the stored keys, by service and name. key: from derive_key().

        Raise WrongPassphrase, StoreDamaged.
        """
        prefix = _prefix(self.header)
        if not hmac.compare_digest(_mac(self.header, key), self.mac):
            raise WrongPassphrase("the passphrase is wrong, or the header of the file is damaged")
        try:
            text = AESGCM(_derive_subkey(self.header, key, b"body")).decrypt(NONCE, self.body, prefix + self.mac)
        except InvalidTag:
            raise StoreDamaged("the file was damaged, or changed by another program") from None
        return _read_entries(text)

    def to_bytes(self) -> bytes:
        """Return the content of the file. The same parts always give the same bytes."""
        return _prefix(self.header) + b"\n".join([_encode(self.mac).encode(), _encode(self.body).encode(), b""])


def new_header(kdf: Kdf | None = None) -> Header:
    """Return the header for a new passphrase. kdf: key-derivation settings; the defaults if None."""
    return Header(dict(kdf or default_kdf()), salt=os.urandom(16), fsalt=os.urandom(32), seq=1)


def default_kdf() -> Kdf:
    """Return Argon2id if the cryptography library and its OpenSSL support it, else scrypt."""
    if Argon2id is None:
        return SCRYPT
    try:
        Argon2id(salt=bytes(16), length=32, iterations=1, lanes=1, memory_cost=8)  # raises if OpenSSL is too old
    except UnsupportedAlgorithm:
        return SCRYPT
    return ARGON2ID


def derive_key(header: Header, passphrase: str) -> bytes:
    """Return the key derived from the passphrase. Slow on purpose: nearly a second, and 256 MiB. Raise StoreLocked."""
    try:
        key: bytes = _make_kdf(header).derive(passphrase.encode())
    except MemoryError:
        raise StoreLocked("this machine does not have enough memory to check the passphrase") from None
    except UnsupportedAlgorithm:
        raise StoreLocked(_NO_ARGON2ID) from None
    return key


def seal(entries: Mapping[str, Mapping[str, str]], header: Header, key: bytes) -> bytes:
    """Return the content of a file with these entries. key: from derive_key, for the same header."""
    text = canonical_json(entries).encode()
    padded = text.ljust(-(-len(text) // BLOCK) * BLOCK)  # rounded up to whole blocks
    mac = _mac(header, key)
    body = AESGCM(_derive_subkey(header, key, b"body")).encrypt(NONCE, padded, _prefix(header) + mac)
    return Sealed(header, mac, body).to_bytes()


def parse(content: bytes) -> Sealed:
    """Return the parts of a file. Raise StoreDamaged for content that is not exactly as seal() writes it."""
    lines = content.split(b"\n")
    if lines[0] != MAGIC:
        raise StoreDamaged(_explain_magic(lines[0]))
    if len(lines) != 5 or lines[4]:
        raise StoreDamaged("the file does not have four lines")
    try:
        fields = json.loads(lines[1])
        header = Header(fields["kdf"], _decode(fields["salt"]), _decode(fields["fsalt"]), fields["seq"])
        sealed = Sealed(header, _decode(lines[2]), _decode(lines[3]))
        is_canonical = sealed.to_bytes() == content
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise StoreDamaged("one line of the file cannot be decoded") from None
    if not is_canonical:
        raise StoreDamaged("the file is not in the format that hpc-onboard writes")
    # the body is a number of blocks, and the 16 bytes with which AES-GCM authenticates them
    sizes = (len(header.salt), len(header.fsalt), len(sealed.mac), len(sealed.body) % BLOCK)
    if sizes != (16, 32, 32, 16) or len(sealed.body) < BLOCK:
        raise StoreDamaged("a line of the file has the wrong length")
    if not is_integer(header.seq, 1, 2**53) or not _is_within_bounds(header.kdf):
        raise StoreDamaged("a number in the header of the file is out of range")
    return sealed


def _explain_magic(line: bytes) -> str:
    """Return what is wrong with the first line of a file: it has a different version, or is not of a keyring file."""
    # the magic, with any number of a version
    version = re.fullmatch(re.escape(MAGIC[:-1]) + rb"([1-9][0-9]{0,3})", line)
    schema = f"hpc.onboard/keyring/{version[1].decode()}.0" if version else SCHEMA
    # None: the line names no version, so that `schema` is the supported one
    reason = document_version.refusal(schema, supported=SCHEMA, document="the file", advice="")
    return reason or "the file is not an hpc-onboard keyring file"


_NO_ARGON2ID = (
    "the file uses Argon2id, which needs version 44 or later of the Python package 'cryptography'. Run: pip install "
    "--upgrade cryptography"
)


def _make_kdf(header: Header) -> Any:
    """Return the key-derivation function with the parameters of the header. Raise StoreLocked without Argon2id."""
    kdf = header.kdf
    if kdf["name"] == "scrypt":
        return Scrypt(salt=header.salt, length=32, n=kdf["n"], r=kdf["r"], p=kdf["p"])
    if Argon2id is None:
        raise StoreLocked(_NO_ARGON2ID)
    return Argon2id(salt=header.salt, length=32, iterations=kdf["t"], lanes=kdf["p"], memory_cost=kdf["m"])


def _prefix(header: Header) -> bytes:
    """Return the first two lines of a file: magic and header."""
    return MAGIC + b"\n" + header.text() + b"\n"


def _derive_subkey(header: Header, key: bytes, purpose: bytes) -> bytes:
    """Return the key for one purpose, header or body, and for one write of the file."""
    subkey: bytes = HKDF(SHA256(), 32, header.fsalt, b"hpc.onboard keyring 1 " + purpose).derive(key)
    return subkey


def _mac(header: Header, key: bytes) -> bytes:
    """Return the HMAC of the first two lines of a file."""
    return hmac.new(_derive_subkey(header, key, b"header"), _prefix(header), sha256).digest()


def _is_within_bounds(kdf: Any) -> bool:
    """Return True for a known key-derivation function whose parameters are within BOUNDS and fit each other."""
    if not isinstance(kdf, dict) or kdf.get("name") not in tuple(BOUNDS):
        return False
    bounds = BOUNDS[kdf["name"]]
    if kdf.keys() != {"name", *bounds}:
        return False
    if not all(is_integer(kdf[name], least, most) for name, (least, most) in bounds.items()):
        return False
    if "m" in kdf:
        return bool(kdf["m"] >= 8 * kdf["p"])  # Argon2: at least 8 KiB for each lane
    return bool(kdf["n"] & (kdf["n"] - 1) == 0)  # scrypt: a power of two


def _read_entries(text: bytes) -> Entries:
    """Return the entries in a decrypted body, by service and name. Raise StoreDamaged for another structure."""
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    services = document.values() if isinstance(document, dict) else [None]
    if not all(
        isinstance(names, dict) and all(isinstance(value, str) for value in names.values()) for names in services
    ):
        raise StoreDamaged("a different version of hpc.onboard wrote the file. Use the same or a newer version")
    entries: Entries = document
    return entries


def _encode(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _decode(text: str | bytes) -> bytes:
    return base64.b64decode(text, validate=True)
