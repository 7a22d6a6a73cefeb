# SPDX-License-Identifier: GPL-3.0-or-later
"""The fingerprints that accounts show: another one each, all known here, also when the key is gone."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.account import Account
from ansible_collections.hpc.onboard.plugins.module_utils._core.host import Host
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.ledger import to_ledger_fingerprint
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.adapters import ControllerEffects, fingerprint
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.ledger import Ledger
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import key_marks, session, versions
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.key_marks import (
    describe_keys,
    encrypt_hash,
    list_account_marks,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.version_store import VersionStore
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.versions import KeyVersion
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.fingerprint_key import account_key, local_key
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.signed_record import Event
from ansible_collections.hpc.onboard.plugins.plugin_utils._validate.key_kinds import check_key
from ansible_collections.hpc.onboard.plugins.plugin_utils._validate.validate import ValidationSettings

pytestmark = pytest.mark.usefixtures("state")
VALUE, OTHER = "nvapi-" + "a" * 64, "nvapi-" + "b" * 64
ADA, BOB = "ada@dfki", "bob@lrz"


def shown(account: str, value: str) -> str:
    """The fingerprint as the engine on that account makes it, with the key that it is sent."""
    return Host(Account("/home/x", "/bin/sh", {}), bytes.fromhex(account_key(account))).fingerprint(value)


def rotated() -> versions.Secret:
    """A secret after a rotation, whose old value is purged."""
    key = bytes.fromhex(local_key())
    secret = versions.adopt("ngc", "personal", fingerprint(VALUE), sealed=encrypt_hash(VALUE, "ngc", "first", key))
    one = versions.new_id()
    new = KeyVersion(one, "personal", fingerprint=fingerprint(OTHER), sealed=encrypt_hash(OTHER, "ngc", one, key))
    secret = versions.promote(versions.add_pending(secret, new), one, (f"{ADA}:enroot_credential",))
    return versions.purge(versions.mark_dead(versions.retire(secret, "first"), "first"), "first")


def test_no_account_gets_a_key_that_is_worth_anything_elsewhere() -> None:
    keys = {local_key(), account_key(ADA), account_key(BOB), account_key("ada@dfk")}
    assert len(keys) == 4
    assert account_key(ADA) == account_key(ADA)
    assert len({shown(ADA, VALUE), shown(BOB, VALUE), f"key {fingerprint(VALUE)}"}) == 3


def test_what_an_account_shows_is_told_here_after_the_value_is_gone() -> None:
    secret = rotated()
    for account in (ADA, BOB):
        found = list_account_marks({"ngc": secret}, account, bytes.fromhex(local_key()))
        assert found == {("ngc", "first"): shown(account, VALUE), ("ngc", secret.current.id): shown(account, OTHER)}


def test_the_record_does_not_hold_the_hash_itself() -> None:
    assert hashlib.sha256(VALUE.encode()).hexdigest() not in str(rotated())


def test_a_version_of_an_older_record_is_told_while_its_value_is_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    old = [replace(one, sealed="", label="retired") for one in rotated().versions[:1]]
    at_hand = session.KeySession()
    at_hand.keep("ngc", VALUE)
    monkeypatch.setattr(key_marks, "SESSION", at_hand)
    found = list_account_marks({"ngc": versions.Secret("ngc", tuple(old))}, ADA, bytes.fromhex(local_key()))
    assert found == {("ngc", "first"): shown(ADA, VALUE)}


def test_the_age_of_a_key_counts_from_the_day_on_which_a_rotation_stored_it(monkeypatch: pytest.MonkeyPatch) -> None:
    keyring = pytest.importorskip("keyring")
    values: dict[str, str] = {}

    class Memory(keyring.backend.KeyringBackend):  # type: ignore[misc, name-defined]  # keyring is untyped
        priority = 1

        def get_password(self, service: str, username: str) -> str | None:
            return values.get(username)

        def set_password(self, service: str, username: str, password: str) -> None:
            values[username] = password

    monkeypatch.setattr(keyring.core, "_keyring_backend", Memory())
    effects = ControllerEffects("ngc", "ngc", ValidationSettings(), lambda _name: check_key(OTHER, "ngc"), "")
    new = effects.store_key(versions.new_id())
    secret = versions.promote(versions.add_pending(versions.adopt("ngc", "personal"), new), new.id, ())
    VersionStore("ngc", bytes.fromhex(local_key())).write(secret)
    day = datetime.now(UTC).date() + timedelta(days=12)
    assert describe_keys(ADA, {"ngc": OTHER}, day) == {shown(ADA, OTHER): "key ngc, 12 days old"}


def test_the_ledger_is_asked_by_the_fingerprint_that_a_report_shows(state: Path) -> None:
    key = bytes.fromhex(local_key())
    secret = rotated()
    sidecar = VersionStore("ngc", key)
    sidecar.read_or_adopt("personal")
    sidecar.update(lambda _known: secret)
    ledger = Ledger(key)
    target = f"{ADA}:enroot_credential"
    ledger.append(Event("ngc", "spread", "verified", secret.current.id, target, fingerprint(OTHER)))
    for mark in (shown(ADA, OTHER), shown(ADA, OTHER).removeprefix("key "), fingerprint(OTHER)):
        assert ledger.who_has(to_ledger_fingerprint(mark, ledger)) == {target: "verified"}
    assert ledger.who_has(to_ledger_fingerprint(shown(BOB, OTHER), ledger)) == {}
    assert state.is_dir()
