# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The format of the encrypted file: what was written is read, what was changed is refused, for ever the same."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("cryptography")

from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import file_format
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.file_errors import (
    StoreDamaged,
    StoreError,
    StoreLocked,
    WrongPassphrase,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.file_format import (
    ARGON2ID,
    BLOCK,
    SCRYPT,
    Entries,
    Header,
    default_kdf,
    derive_key,
    new_header,
    parse,
    seal,
)

CHEAP = {"name": "argon2id", "m": 64, "t": 1, "p": 1}
PASSPHRASE = "correct horse battery"
ENTRIES: Entries = {"hpc.onboard": {"ngc": "nvapi-not-a-real-key", "wandb": "schlüssel"}}
VECTORS = Path(__file__).parent / "keyrings"
KEYS = {
    "argon2id": "558776a28c232da2850c2b8fce311bc0e9d12e4b2b91013501701759afbfdb18",
    "scrypt": "e96ec6ba8c63a23698220f37c7fc042925d430c7feadec9ceb04af03cabb9f2f",
}


def made(entries: Entries = ENTRIES, passphrase: str = PASSPHRASE, kdf: dict[str, Any] = CHEAP) -> bytes:
    """A file."""
    header = new_header(kdf)
    return seal(entries, header, derive_key(header, passphrase))


def opened(content: bytes, passphrase: str = PASSPHRASE) -> Entries:
    """What a file holds."""
    sealed = parse(content)
    return sealed.entries(derive_key(sealed.header, passphrase))


def refused(content: bytes, passphrase: str = PASSPHRASE) -> type[StoreError]:
    """The class of the error, or a failure: nothing else may come of such a file."""
    try:
        opened(content, passphrase)
    except StoreError as error:
        return type(error)
    pytest.fail("it was accepted")


def with_header(content: bytes, **changed: Any) -> bytes:
    """The file with other words in its header, written as we write them."""
    magic, head, *rest = content.split(b"\n")
    found = {**json.loads(head), **changed}
    return b"\n".join([magic, json.dumps(found, sort_keys=True, separators=(",", ":")).encode(), *rest])


@given(st.dictionaries(st.text(), st.dictionaries(st.text(), st.text())))
def test_what_was_sealed_is_opened(entries: Entries) -> None:
    assert opened(made(entries)) == entries


@pytest.mark.parametrize("name", sorted(KEYS))
def test_a_file_of_the_first_release_is_read_and_written_the_same_for_ever(name: str) -> None:
    content = (VECTORS / name).read_bytes()
    sealed = parse(content)
    key = derive_key(sealed.header, PASSPHRASE)
    assert key.hex() == KEYS[name]
    assert sealed.entries(key) == ENTRIES
    assert seal(ENTRIES, sealed.header, key) == content
    assert sealed.header.seq == 7


def test_the_head_can_be_checked_with_the_standard_library_alone() -> None:
    magic, head, mac, _body, _end = (VECTORS / "scrypt").read_bytes().split(b"\n")
    found = json.loads(head)
    salt, fsalt = base64.b64decode(found["salt"]), base64.b64decode(found["fsalt"])
    key = hashlib.scrypt(PASSPHRASE.encode(), salt=salt, n=2**14, r=8, p=1, dklen=32, maxmem=2**26)
    derived = hmac.digest(
        hmac.digest(fsalt, key, "sha256"), b"hpc.onboard keyring 1 header\x01", "sha256"
    )  # HKDF, RFC 5869
    assert base64.b64decode(mac) == hmac.digest(derived, magic + b"\n" + head + b"\n", "sha256")


def test_every_changed_byte_is_refused() -> None:
    content = made()
    classes = {
        refused(content[:place] + bytes([content[place] ^ flip]) + content[place + 1 :])
        for place in range(len(content))
        for flip in (1, 0x20, 0x80)
    }
    assert classes == {WrongPassphrase, StoreDamaged}


def test_every_truncation_is_refused() -> None:
    content = made()
    assert {refused(content[:length]) for length in range(len(content))} == {StoreDamaged}


@given(st.binary(max_size=600))
def test_anything_at_all_is_refused(content: bytes) -> None:
    assert refused(content) is StoreDamaged
    assert refused(b"HPCON-KEYRING 1\n" + content) is StoreDamaged


def test_lines_of_two_files_do_not_go_together() -> None:
    header = new_header(CHEAP)
    key = derive_key(header, PASSPHRASE)
    older, newer = seal(ENTRIES, header, key), seal({"hpc.onboard": {}}, header.next(), key)
    for one, other in ((made(), made()), (older, newer), (newer, older)):
        lines, others = one.split(b"\n"), other.split(b"\n")
        for chosen in range(1, 2**3 - 1):
            mixed = [line if not chosen >> i & 1 else others[i + 1] for i, line in enumerate(lines[1:4])]
            assert refused(b"\n".join([lines[0], *mixed, b""])) in (WrongPassphrase, StoreDamaged)
        assert refused(b"\n".join([lines[0], lines[1], lines[3], lines[2], b""])) is StoreDamaged


def test_another_passphrase_is_wrong_and_no_damage() -> None:
    assert refused(made(), "correct horse batterz") is WrongPassphrase
    assert refused(made(), "") is WrongPassphrase


@pytest.mark.parametrize(
    "magic", [b"HPCON-KEYRING 2", b"HPCON-KEYRING 0", b"HPCON-KEYRING 10", b"hpcon-keyring 1", b""]
)
def test_another_version_is_refused(magic: bytes) -> None:
    content = magic + made().removeprefix(b"HPCON-KEYRING 1")
    assert refused(content) is StoreDamaged


def test_a_newer_version_says_what_to_do() -> None:
    with pytest.raises(StoreDamaged, match=r"newer hpc-onboard \(keyring 2.0; this version reads 1.0\)"):
        parse(b"HPCON-KEYRING 2" + made().removeprefix(b"HPCON-KEYRING 1"))


@pytest.mark.parametrize(
    "changed",
    [
        {"v": 2}, {"v": "1"}, {"v": True}, {"more": 1}, {"seq": 0}, {"seq": -1}, {"seq": 2**60}, {"seq": 1.0},
        {"seq": True}, {"seq": "1"}, {"salt": ""}, {"fsalt": "AAAA"}, {"salt": 7}, {"salt": None}, {"kdf": None},
        {"kdf": []}, {"kdf": {}}, {"kdf": {"name": []}}, {"kdf": {"name": {}}}, {"kdf": {"name": "md5"}},
    ],
    ids=str,
)  # fmt: skip
def test_a_head_that_we_would_not_write_is_refused(changed: dict[str, Any]) -> None:
    assert refused(with_header(made(), **changed)) is StoreDamaged


@pytest.mark.parametrize(
    "kdf",
    [
        {**CHEAP, "m": 2**20 + 1}, {**CHEAP, "m": 2**62}, {**CHEAP, "m": 7}, {**CHEAP, "p": 16},
        {**CHEAP, "m": -8},
        {**CHEAP, "t": 0}, {**CHEAP, "t": 17}, {**CHEAP, "p": 0}, {**CHEAP, "p": 17}, {**CHEAP, "m": 64.0},
        {**CHEAP, "t": True}, {**CHEAP, "x": 1}, {"name": "argon2id", "m": 64, "t": 1},
        {**SCRYPT, "n": 2**21}, {**SCRYPT, "n": 2**13}, {**SCRYPT, "n": 2**17 + 1}, {**SCRYPT, "r": 16},
        {**SCRYPT, "p": 5}, {**SCRYPT, "p": 0}, {**SCRYPT, "name": "argon2id"}, {**CHEAP, "name": "scrypt"},
    ],
    ids=str,
)  # fmt: skip
def test_a_kdf_out_of_bounds_is_refused_before_it_is_run(kdf: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_format, "_make_kdf", lambda header: pytest.fail("it was run"))
    assert refused(with_header(made_before(), kdf=kdf)) is StoreDamaged


def made_before() -> bytes:
    """A file, with no KDF run."""
    return (VECTORS / "argon2id").read_bytes()


@pytest.mark.parametrize("line", [2, 3])
def test_base64_that_another_would_write_is_refused(line: int) -> None:
    lines = made().split(b"\n")
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    stem = lines[line].rstrip(b"=")
    spare = stem[:-1] + alphabet[alphabet.index(stem[-1]) ^ 1 :][:1] + lines[line][len(stem) :]
    same = base64.b64decode(spare) == base64.b64decode(lines[line])
    for text in (lines[line] + b"=", lines[line].rstrip(b"="), b" " + lines[line], lines[line] + b"\r", spare):
        content = b"\n".join([*lines[:line], text, *lines[line + 1 :]])
        if not same and text == spare:
            assert refused(content)
        elif text != lines[line]:
            assert refused(content) is StoreDamaged


def test_header_text_that_another_would_write_is_refused() -> None:
    content = made_before()
    head = content.split(b"\n")[1]
    for text in (head + b" ", head.replace(b":", b": "), head.replace(b"seq", b"s\\u0065q"), head[:-1] + b',"v":1}'):
        assert refused(content.replace(head, text)) is StoreDamaged


def test_names_number_and_lengths_are_not_to_be_seen() -> None:
    few, many = made({"a": {"b": "c"}}), made({"hpc.onboard": {f"key{i}": "v" * 40 for i in range(50)}})
    assert len(few) == len(many)
    assert len(base64.b64decode(few.split(b"\n")[3])) == BLOCK + 16
    content = made()
    assert not [word for word in (b"hpc.onboard", b"nvapi") if word in content]
    # decoded, because base64 of random bytes contains three given letters in one of fifty files
    assert b"ngc" not in base64.b64decode(content.split(b"\n")[3])


def test_no_two_writes_share_a_key() -> None:
    header = new_header(CHEAP)
    following = header.next()
    assert (following.salt, following.seq) == (header.salt, header.seq + 1)
    assert following.fsalt != header.fsalt
    assert file_format._derive_subkey(header, bytes(32), b"body") != file_format._derive_subkey(
        following, bytes(32), b"body"
    )
    assert file_format._derive_subkey(header, bytes(32), b"body") != file_format._derive_subkey(
        header, bytes(32), b"header"
    )


def test_scrypt_serves_where_argon2id_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_kdf() == ARGON2ID
    with_argon = made_before()
    monkeypatch.setattr(file_format, "Argon2id", None)
    assert default_kdf() == SCRYPT
    assert opened(made(kdf={**SCRYPT, "n": 2**14})) == ENTRIES
    with pytest.raises(StoreLocked, match="cryptography"):
        opened(with_argon)


def test_a_file_that_is_cheaper_to_guess_at_than_todays_is_known() -> None:
    def header(kdf: dict[str, Any]) -> Header:
        return new_header(kdf)

    assert header({**ARGON2ID, "m": 64 * 1024}).is_below_default()
    assert header({**SCRYPT, "n": 2**16}).is_below_default()
    assert not header(SCRYPT).is_below_default(), "somebody chose it, for a machine without Argon2id"
    assert not header(ARGON2ID).is_below_default()
    assert not header({**ARGON2ID, "m": 2**20}).is_below_default()


def test_too_little_memory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def derive(self, passphrase: bytes) -> bytes:
            raise MemoryError

    monkeypatch.setattr(file_format, "_make_kdf", lambda header: Full())
    with pytest.raises(StoreLocked, match="not have enough memory"):
        derive_key(new_header(CHEAP), PASSPHRASE)
