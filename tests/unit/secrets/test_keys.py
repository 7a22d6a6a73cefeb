# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys from the keyring: which backend is used, how often it is asked, and what is said when there is no key."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.effort import turns

pytestmark = turns(3)

pytest.importorskip("keyring")

BACKENDS = """
import os
import sys
from keyring.errors import InitError, KeyringLocked
from keyring.backend import KeyringBackend
from keyring.backends.chainer import ChainerBackend
from keyring.backends.null import Keyring as Null

class Counting(KeyringBackend):
    priority = 5
    def get_password(self, service, username):
        with open(os.environ["LOOKUPS"], "a") as stream:
            stream.write(f"{service} {username}\\n")
        return {"ngc": "nvapi-canary", "empty": ""}.get(username)
    def set_password(self, service, username, password):
        raise NotImplementedError

class Angry(Counting):
    def get_password(self, service, username):
        raise RuntimeError("the canary is locked")

class Stuck(Counting):
    def get_password(self, service, username):
        super().get_password(service, username)
        raise KeyringLocked("the canary")

class Early(Counting):
    def get_password(self, service, username):
        super().get_password(service, username)
        raise InitError("the canary")

class Keychain(Counting):
    def get_password(self, service, username):
        with open(os.environ["LOOKUPS"], "a") as stream:
            stream.write(f"{os.getpid()} {sys.orig_argv[-2:]}\\n")
        if username == "locked":
            raise KeyringLocked("the canary")
        if username == "crash":
            os.abort()
        return {"ngc": "nvapi-canary"}.get(username)

class Unable(Counting):
    def __init__(self):
        raise RuntimeError("canary")

class Chain(ChainerBackend):
    backends = [Null(), Counting()]

class Refusing(ChainerBackend):
    backends = [Null()]
"""
ASK = """
import json, os, sys
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.session import SESSION, MissingKey
if os.environ.get("STAND_IN"):
    from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import backends as _backends
    import ctypes.util  # while this is no Mac: Debian's Python has not the part of it that Macs need
    import keyring
    _backends.MACOS = "test_backends.Keychain"
    sys.platform = "darwin"
def ask(name):
    try:
        value, warnings = SESSION.read_key(name)
        return {"value": value, "warnings": warnings}
    except MissingKey as error:
        return {"error": str(error)}
said = []
for name in sys.argv[2:]:
    for process in range(int(sys.argv[1])):
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.write(writer, json.dumps(ask(name)).encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as stream:
            said.append(json.load(stream))
        os.wait()
print(json.dumps(said))
"""


class Ring:
    """A run with a keyring of the test's, in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.shown = ""
        self.lookups = folder / "lookups"
        self.lookups.touch()
        (folder / "test_backends.py").write_text(BACKENDS)
        (folder / "test_lacking.py").write_text("import nosuch_library\n")
        path = os.pathsep.join([str(folder), *sys.path])
        self.env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": path, "LOOKUPS": str(self.lookups), "HOME": str(folder)}

    def ask(self, backend: str | None, *names: str, processes: int = 1) -> list[dict[str, object]]:
        """What every process is told, name by name."""
        env = {**self.env, "PYTHON_KEYRING_BACKEND": backend} if backend else self.env
        command = [sys.executable, "-c", ASK, str(processes), *names]
        run = subprocess.run(command, env=env, capture_output=True, check=True, text=True)
        self.shown = run.stderr
        return json.loads(run.stdout)  # type: ignore[no-any-return]  # an answer is JSON


@pytest.fixture
def ring(tmp_path: Path) -> Ring:
    """A keyring in a folder of its own."""
    return Ring(tmp_path)


def test_a_key_is_looked_up_once_for_all_processes(ring: Ring) -> None:
    said = ring.ask("test_backends.Counting", "ngc", processes=6)
    assert said == [{"value": "nvapi-canary", "warnings": []}] * 6
    assert ring.lookups.read_text() == "hpc.onboard ngc\n"


@pytest.mark.parametrize("name", ["wandb", "empty"])
def test_a_missing_key_is_asked_for_once_and_says_the_command_that_stores_it(name: str, ring: Ring) -> None:
    said = ring.ask("test_backends.Counting", name, processes=3)
    assert len({str(one) for one in said}) == 1
    assert f"the key '{name}' is not in test_backends.Counting" in str(said[0]["error"])
    assert f"keyring set hpc.onboard {name}" in str(said[0]["error"])
    assert ring.lookups.read_text() == f"hpc.onboard {name}\n"


def test_one_missing_key_does_not_cost_another(ring: Ring) -> None:
    said = ring.ask("test_backends.Counting", "wandb", "ngc")
    assert ["error" in one for one in said] == [True, False]


def test_the_words_of_a_backend_are_never_shown(ring: Ring) -> None:
    error = str(ring.ask("test_backends.Angry", "ngc")[0]["error"])
    assert "canary" not in error
    assert "(RuntimeError)" in error
    assert "keyring get hpc.onboard ngc" in error


@pytest.mark.parametrize(
    ("backend", "said"),
    [
        (
            "keyring.backends.null.Keyring",
            "keyring.backends.null.Keyring (this keyring stores nothing and reports no error)",
        ),
        (
            "keyring.backends.fail.Keyring",
            "keyring.backends.fail.Keyring (no keyring service is running on this machine)",
        ),
        ("test_backends.Refusing", "keyring.backends.null.Keyring (this keyring stores nothing"),
        ("nosuch.Keyring", "PYTHON_KEYRING_BACKEND names nosuch.Keyring, which is not installed in this Python. "),
        ("keyrings.nosuch.deep.Keyring", " -m pip install keyrings.nosuch, or unset the variable"),
        ("keyring.backends.nosuch.Keyring", "which is not installed in this Python"),
        ("test_backends.Nosuch", "names test_backends.Nosuch, which does not exist. "),
        ("KWallet", "names KWallet, which does not exist. "),
        ("test_lacking.Keyring", "but the Python module nosuch_library, which this backend needs, is not installed. "),
        ("test_backends.Unable", "names test_backends.Unable, which cannot start on this machine (RuntimeError)"),
    ],
)
def test_a_backend_that_cannot_be_trusted_is_refused_by_name_and_reason(backend: str, said: str, ring: Ring) -> None:
    error = str(ring.ask(backend, "ngc")[0]["error"])
    assert said in error
    assert "canary" not in error
    assert ring.lookups.read_text() == ""


def _name_in_keyringrc(ring: Ring, backend: str) -> None:
    folder = Path(ring.env["HOME"]) / ".config" / "python_keyring"
    folder.mkdir(parents=True)
    (folder / "keyringrc.cfg").write_text(f"[backend]\ndefault-keyring={backend}\n")


def test_a_backend_that_keyringrc_names_and_that_is_not_installed_is_called_that(ring: Ring) -> None:
    _name_in_keyringrc(ring, "keyrings.nosuch.file.Keyring")
    error = str(ring.ask(None, "ngc")[0]["error"])
    assert "~/.config/python_keyring/keyringrc.cfg names keyrings.nosuch.file.Keyring, which is not installed" in error
    assert "-m pip install keyrings.nosuch, or remove the line default-keyring from that file" in error


def test_a_chain_is_resolved_to_its_first_backend_that_may_be_used(ring: Ring) -> None:
    assert ring.ask("test_backends.Chain", "ngc")[0]["value"] == "nvapi-canary"
    assert "in test_backends.Counting" in str(ring.ask("test_backends.Chain", "wandb")[0]["error"])


PLAINTEXT = "keyrings.alt.file.PlaintextKeyring"
STORE = (
    "import keyring, keyrings.alt.file as file; keyring.set_keyring(file.PlaintextKeyring());"
    "keyring.set_password('hpc.onboard', 'ngc', 'nvapi-plain')"
)


def test_a_plaintext_backend_is_used_with_a_warning_when_it_is_named_and_refused_when_not(ring: Ring) -> None:
    pytest.importorskip("keyrings.alt")
    subprocess.run([sys.executable, "-c", STORE], env=ring.env, check=True)
    named = ring.ask(PLAINTEXT, "ngc", processes=3)
    assert [one["value"] for one in named] == ["nvapi-plain"] * 3
    warnings = [warning for one in named for warning in one["warnings"]]  # type: ignore[attr-defined]  # an answer is JSON
    assert len(warnings) == 1
    assert f"PYTHON_KEYRING_BACKEND selects the keyring {PLAINTEXT}" in warnings[0]
    _name_in_keyringrc(ring, PLAINTEXT)
    error = str(ring.ask(None, "ngc")[0]["error"])
    assert f"{PLAINTEXT} (this keyring stores keys unencrypted in a file)" in error


@pytest.mark.parametrize(
    ("backend", "words"),
    [("Stuck", "is locked; see the advice above"), ("Early", "started before the keyring was unlocked")],
)
def test_a_locked_keyring_is_asked_once_for_all_keys_and_says_how_to_unlock_it(
    backend: str, words: str, ring: Ring
) -> None:
    said = ring.ask(f"test_backends.{backend}", "ngc", "wandb", processes=3)
    assert len({str(one) for one in said}) == 1
    assert words in str(said[0]["error"])
    assert ring.shown.count("gnome-keyring-daemon --unlock") == 1
    assert "canary" not in str(said[0]["error"]) + ring.shown
    assert ring.lookups.read_text() == "hpc.onboard ngc\n"


def test_on_macos_the_keychain_is_asked_by_a_fresh_program(ring: Ring) -> None:
    ring.env["STAND_IN"] = "yes"
    said = ring.ask("test_backends.Keychain", "ngc", processes=4)
    assert said == [{"value": "nvapi-canary", "warnings": []}] * 4
    (line,) = ring.lookups.read_text().splitlines()
    assert line.endswith("['hpc.onboard', 'ngc']"), "it was asked in a worker"


def test_what_the_fresh_program_cannot_get_is_said(ring: Ring) -> None:
    ring.env["STAND_IN"] = "yes"
    missing, crashed, locked = ring.ask("test_backends.Keychain", "wandb", "crash", "locked")
    assert "the key 'wandb' is not in test_backends.Keychain" in str(missing["error"])
    assert "the program that read the key ended with exit code -6" in str(crashed["error"])
    assert "is locked" in str(locked["error"])
    assert "canary" not in str([missing, crashed, locked])


OURS = "ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.keyring_backend.Keyring"


CHEAP = """
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import file_format
file_format.ARGON2ID = {"name": "argon2id", "m": 64, "t": 1, "p": 1}
"""


@pytest.fixture
def headless(ring: Ring) -> Ring:
    """A machine without a keyring service, with a passphrase file, and with a key that is derived at once."""
    pytest.importorskip("cryptography")
    (Path(ring.env["HOME"]) / "sitecustomize.py").write_text(CHEAP)
    file = Path(ring.env["HOME"]) / "passphrase"
    file.touch(mode=0o600)
    file.write_text("correct horse battery")
    ring.env["KEYRING_PROPERTY_PASSPHRASE_FILE"] = str(file)
    ring.env["XDG_RUNTIME_DIR"] = "/nowhere"
    return ring


def keyring(ring: Ring, *order: str, value: str = "") -> subprocess.CompletedProcess[str]:
    """The keyring command."""
    program = [sys.executable, "-m", "keyring", *order]
    return subprocess.run(program, env=ring.env, input=value, capture_output=True, text=True, check=False)


def test_without_a_service_the_keyring_command_makes_and_uses_the_encrypted_file(headless: Ring) -> None:
    assert keyring(headless, "set", "hpc.onboard", "ngc", value="nvapi-1").returncode == 0
    assert keyring(headless, "get", "hpc.onboard", "ngc").stdout == "nvapi-1\n"
    missing = keyring(headless, "get", "hpc.onboard", "wandb")
    assert (missing.returncode, missing.stdout, missing.stderr) == (1, "", "")
    assert keyring(headless, "del", "hpc.onboard", "ngc").returncode == 0
    assert "has no key 'ngc'" in keyring(headless, "del", "hpc.onboard", "ngc").stderr


def test_the_encrypted_file_is_unlocked_once_for_all_keys_and_processes(headless: Ring) -> None:
    for name in ("ngc", "wandb"):
        keyring(headless, "set", "hpc.onboard", name, value=f"value of {name}")
    reader, writer = os.pipe()
    os.write(writer, b"correct horse battery")
    os.close(writer)
    del headless.env["KEYRING_PROPERTY_PASSPHRASE_FILE"]
    headless.env["HPC_ONBOARD_PASSPHRASE_FD"] = str(reader)
    command = [sys.executable, "-c", ASK, "3", "ngc", "wandb", "ngc"]
    said = json.loads(
        subprocess.run(command, env=headless.env, capture_output=True, check=True, pass_fds=[reader]).stdout
    )
    assert [one.get("value") for one in said] == ["value of ngc"] * 3 + ["value of wandb"] * 3 + ["value of ngc"] * 3


def test_the_encrypted_file_is_no_place_for_other_programs(headless: Ring) -> None:
    assert keyring(headless, "get", "pypi", "simone").stdout == ""
    del headless.env["KEYRING_PROPERTY_PASSPHRASE_FILE"]
    assert keyring(headless, "--keyring-backend", OURS, "get", "pypi", "simone").returncode == 1
    refused = keyring(headless, "--keyring-backend", OURS, "set", "pypi", "simone", value="x")
    assert "stores only keys of the service hpc.onboard" in refused.stderr


PRIORITY = """
import keyring
from keyring.backend import KeyringBackend
from keyring.backends.chainer import ChainerBackend
class Desktop(KeyringBackend):
    priority = 5
    def get_password(self, service, username): return None
    def set_password(self, service, username, password): pass
names = [type(one).__module__ for one in ChainerBackend.backends]
print(type(keyring.get_keyring()).__name__, *(name.rpartition(".")[2] for name in names))
"""


def test_a_desktops_keyring_goes_first_and_alone_until_there_is_a_file(headless: Ring) -> None:
    def chosen() -> list[str]:
        program = [sys.executable, "-c", PRIORITY]
        return subprocess.run(program, env=headless.env, capture_output=True, check=True, text=True).stdout.split()

    assert chosen()[1] == "__main__"
    assert "keyring_backend" not in chosen()
    keyring(headless, "set", "hpc.onboard", "ngc", value="nvapi-1")
    assert chosen()[:3] == ["ChainerBackend", "__main__", "keyring_backend"]


BARE = """
import importlib, pkgutil, sys
sys.modules.update({"keyring": None, "cryptography": None})
import ansible_collections.hpc.onboard.plugins as plugins
from pathlib import Path
top = Path(list(plugins.__path__)[0])
for file in sorted([*top.glob("plugin_utils/**/*.py"), *top.glob("action/*.py")]):
    importlib.import_module(".".join([plugins.__name__, *file.relative_to(top).with_suffix("").parts]))
    print(file.stem)
"""


def test_all_can_be_imported_without_what_is_not_ansibles(ring: Ring) -> None:
    said = subprocess.run([sys.executable, "-c", BARE], env=ring.env, capture_output=True, check=True, text=True).stdout
    assert {"file_format", "keyring_backend", "backends", "rekey", "converge", "doctor"} <= set(said.split())


def test_without_the_library_the_error_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "keyring.py").write_text("raise ModuleNotFoundError(\"No module named 'keyring'\", name='keyring')")
    ring = Ring(tmp_path)
    assert "pip install keyring" in str(ring.ask(None, "ngc")[0]["error"])
