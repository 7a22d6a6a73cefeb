# SPDX-License-Identifier: GPL-3.0-or-later
"""A rotation whose keys or records cannot be read: the step is not taken, and the report has the reason."""

from __future__ import annotations

import http.server
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("keyring")

from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation import adapters
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.adapters import ControllerEffects
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.coordinator import Coordinator
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.ledger import Ledger, record_key
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.messages import REMAINING, describe_remaining_work
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.next_step import RotationStep
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.options import RotationOptions
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.ports import StepRefused
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.reminders import list_reminders
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.steps import ALLOWED_LABELS, Rotation
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import versions
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.session import KeySession
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.version_store import VersionStore
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.versions import FIRST, KeyVersion
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.signed_record import Event
from ansible_collections.hpc.onboard.plugins.plugin_utils._validate.https import Transport
from ansible_collections.hpc.onboard.plugins.plugin_utils._validate.key_kinds import CheckedKey, check_key
from ansible_collections.hpc.onboard.plugins.plugin_utils._validate.validate import ValidationSettings

from tests.testbed.registry import Authority

KEY = "hf_" + "a" * 34


@pytest.fixture
def issuer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ValidationSettings]:
    """The settings for an issuer that accepts no key."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(401)
            self.end_headers()

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    authority = Authority("authority of issuers")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.write_server(tmp_path / "server.pem", ["localhost"]))
    monkeypatch.setenv("no_proxy", "localhost")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        transport = Transport(ca_file=str(authority.write(tmp_path / "ca.pem")))
        address = f"https://localhost:{server.server_address[1]}/whoami"
        yield ValidationSettings(huggingface=address, transport=transport)
        server.shutdown()


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KeySession:
    """The keys of a run on a machine whose keyring, an encrypted file, is locked."""
    import keyring
    from keyring.backends.fail import Keyring

    monkeypatch.setattr(keyring, "get_keyring", Keyring)
    session = KeySession()
    monkeypatch.setattr(adapters, "SESSION", session)
    return session


def effects(settings: ValidationSettings) -> ControllerEffects:
    """The effects of a rotation whose new key is at hand."""

    def get_new_key(_keyring_name: str) -> CheckedKey:
        return check_key(KEY, "huggingface")

    return ControllerEffects("hf", "huggingface", settings, get_new_key, last_day="")


def test_a_refused_old_key_is_not_dead_if_the_current_key_cannot_be_read(
    issuer: ValidationSettings, session: KeySession, state: Path
) -> None:
    store = VersionStore("hf", record_key())
    store.read_or_adopt("token")
    new = KeyVersion(versions.new_id(), "token")
    store.update(lambda secret: versions.promote(versions.add_pending(secret, new), new.id, ()))
    session.keep("hf", KEY)
    tested = effects(issuer)
    with pytest.raises(StepRefused, match="no keyring service is running"):
        tested.test_key(FIRST)
    assert "no keyring service is running" in tested.sentences[FIRST]


@pytest.mark.parametrize("options", [RotationOptions(retired=True), RotationOptions(resume=True)])
def test_a_deactivation_without_an_open_rotation_begins_none(
    options: RotationOptions, session: KeySession, state: Path
) -> None:
    """A run that confirms a deactivation again, or on the wrong machine, does not ask for a new key."""
    coordinator = Coordinator("hf", ("ada@lrz:token_file",), options, b"", ())
    for result in (coordinator.preview(), coordinator.take_steps(None, is_last=True)):
        assert not result["failed"]
        assert result["step"] == {}, "the accounts have nothing to do, and a preview shows no change"
        assert result["msg"].startswith("rotation: no rotation of 'hf' is open on this machine.")
    assert Ledger(record_key()).records() == []


def test_the_report_says_why_a_key_was_not_stored_tested_or_removed(session: KeySession, state: Path) -> None:
    tested = effects(ValidationSettings())
    rotation = Rotation("hf", Ledger(record_key()), VersionStore("hf", record_key()), tested, ("ada@lrz:token_file",))
    version = rotation.begin("token")
    for name in ("take", "prove", "purge"):
        tested.sentences.clear()
        work = {"take": tested.store_key, "prove": tested.test_key, "purge": tested.remove_key}[name]
        with pytest.raises(StepRefused):
            work(version)
        step = RotationStep(name, version)
        sentence = tested.sentences[version]
        (check,) = describe_remaining_work(rotation.situation(), step, "huggingface", sentence, "").checks
        assert check["text"].startswith("not finished; the ")
        assert ": no safe keyring was found." in check["text"]


def test_every_step_that_a_run_may_not_complete_has_a_text() -> None:
    with_own_text = {"prove_dead", "abort"}
    assert set(REMAINING) == set(ALLOWED_LABELS) - with_own_text


@pytest.mark.parametrize(
    ("damage", "start"),
    [
        (lambda ledger: ledger.chmod(0o644), "The ledger of rotations cannot be read: other users can access"),
        (lambda ledger: ledger.write_text("x\n"), "The ledger of rotations is damaged: line 1 of ledger.jsonl"),
    ],
)
def test_only_a_damaged_ledger_is_called_damaged(damage: Callable[[Path], object], start: str, state: Path) -> None:
    store = VersionStore("ngc", record_key())
    store.read_or_adopt("personal")
    store.update(lambda secret: versions.add_pending(secret, KeyVersion(versions.new_id(), "personal")))
    Ledger(record_key()).append(Event("ngc", "plan", "begun", "first"))
    damage(state / "ledger.jsonl")
    assert list_reminders()[0].text.startswith(start)
