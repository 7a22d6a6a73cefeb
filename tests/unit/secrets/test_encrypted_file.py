# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The encrypted file on its disk: who may have touched it, what a crash leaves, and who is asked for what."""

from __future__ import annotations

import os
import pwd
import random
import resource
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("cryptography")

from ansible_collections.hpc.onboard.plugins.plugin_utils._command import rekey
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.accounts import CommandError
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.main import run
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import encrypted_file, file_format
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import passphrase as _passphrase
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.encrypted_file import Store
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.file_errors import (
    NotWritten,
    StoreDamaged,
    StoreError,
    StoreLocked,
    StoreMissing,
    WrongPassphrase,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.file_format import Entries, parse

from tests.effort import turns

pytestmark = turns(2)

CHEAP = {"name": "argon2id", "m": 64, "t": 1, "p": 1}
PASSPHRASE = "correct horse battery"


class Typist:
    """A person who types what the test says, and remembers what they were asked and told."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.told: list[str] = []

    def ask(self, question: str) -> str:
        self.asked.append(question)
        if not self.answers:
            raise StoreLocked(_passphrase.NO_TERMINAL)
        return self.answers.pop(0)

    def show_note(self, text: str) -> None:
        self.told.append(text)


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_format, "ARGON2ID", CHEAP)
    monkeypatch.setattr(file_format, "SCRYPT", {**file_format.SCRYPT, "n": 2**14})
    for name in (_passphrase.FD, _passphrase.VALUE, _passphrase.ALLOWED, "CREDENTIALS_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the file is to lie."""
    return tmp_path / "ring" / "keyring"


def store(path: Path, *answers: str) -> Store:
    """A store whose person types this."""
    return Store(path, "", Typist(*answers))


def putting(name: str, value: str) -> Callable[[Entries], None]:
    """The change that keeps a key."""

    def edit(entries: Entries) -> None:
        entries.setdefault("hpc.onboard", {})[name] = value

    return edit


def keep(path: Path, name: str = "ngc", value: str = "nvapi-1") -> None:
    """Keep a key there."""
    answers = [PASSPHRASE] if path.exists() else [PASSPHRASE, PASSPHRASE]
    store(path, *answers).change(putting(name, value))


def kept(path: Path, passphrase: str = PASSPHRASE) -> dict[str, str]:
    """The keys there."""
    return store(path, passphrase).entries()["hpc.onboard"]


def test_a_new_store_is_its_owners_alone_whatever_the_umask(path: Path) -> None:
    before = os.umask(0)
    try:
        keep(path)
    finally:
        os.umask(before)
    modes = {entry.name: stat.S_IMODE(entry.lstat().st_mode) for entry in path.parent.iterdir()}
    assert modes == {"keyring": 0o600, ".keyring.lock": 0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert kept(path) == {"ngc": "nvapi-1"}


def test_each_write_counts_and_the_salt_stays(path: Path) -> None:
    keep(path)
    first = parse(path.read_bytes()).header
    keep(path, "wandb", "w")
    second = parse(path.read_bytes()).header
    assert (second.seq, second.salt) == (first.seq + 1, first.salt)
    assert kept(path) == {"ngc": "nvapi-1", "wandb": "w"}


def test_the_four_errors_are_four(path: Path) -> None:
    with pytest.raises(StoreMissing, match="keyring set hpc.onboard ngc"):  # noqa: RUF043  # the dot is meant to match a dot
        kept(path)
    keep(path)
    with pytest.raises(WrongPassphrase, match="try again"):
        store(path, "a", "b", "c").entries()
    with pytest.raises(StoreLocked, match="no terminal"):
        store(path).entries()
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(StoreDamaged, match="fix the problem, or restore the file from a backup"):
        kept(path)
    assert len({StoreMissing, WrongPassphrase, StoreLocked, StoreDamaged}) == 4
    assert not [one for one in StoreError.__subclasses__() if one.__subclasses__()]


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty", "newer", "folder", "link", "two names", "open"])
def test_nothing_is_written_after_a_read_that_failed(path: Path, damage: str) -> None:
    keep(path)
    content = path.read_bytes()
    if damage == "truncated":
        path.write_bytes(content[:-100])
    elif damage == "flipped":
        path.write_bytes(content[:-90] + b"A" + content[-89:])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "newer":
        path.write_bytes(content.replace(b"KEYRING 1", b"KEYRING 2"))
    elif damage == "folder":
        path.unlink()
        path.mkdir(mode=0o700)
    elif damage == "link":
        path.rename(path.with_name("elsewhere"))
        path.symlink_to("elsewhere")
    elif damage == "two names":
        path.with_name("other").hardlink_to(path)
    elif damage == "open":
        path.chmod(0o640)
    before = sorted((one.name, one.lstat().st_mtime_ns, one.lstat().st_size) for one in path.parent.iterdir())
    for use in (lambda: store(path, PASSPHRASE).entries(), lambda: keep(path), lambda: store(path, PASSPHRASE).rekey()):
        with pytest.raises(StoreDamaged):
            use()
    after = sorted((one.name, one.lstat().st_mtime_ns, one.lstat().st_size) for one in path.parent.iterdir())
    assert after == before


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o777, 0o1777])
def test_a_folder_that_others_may_use_is_refused(path: Path, mode: int) -> None:
    keep(path)
    path.parent.chmod(mode)
    with pytest.raises(StoreDamaged, match="chmod 700"):
        kept(path)


def test_a_folder_above_in_which_others_may_write_is_refused(path: Path) -> None:
    keep(path)
    path.parent.parent.chmod(0o777)
    with pytest.raises(StoreDamaged, match="chmod go-w"):
        kept(path)
    path.parent.parent.chmod(0o1777)
    assert kept(path)


def test_a_folder_that_is_a_link_is_refused(path: Path) -> None:
    keep(path)
    path.parent.rename(path.parent.with_name("real"))
    path.parent.symlink_to("real")
    with pytest.raises(StoreDamaged, match="link"):
        kept(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("whose", ["file", "folder", "above"])
def test_what_belongs_to_another_is_refused(path: Path, whose: str) -> None:
    keep(path)
    os.chown({"file": path, "folder": path.parent, "above": path.parent.parent}[whose], 65534, -1)
    with pytest.raises(StoreDamaged, match=r"belongs to (another user|somebody else)"):
        kept(path)


def test_a_pipe_in_its_place_does_not_hang(path: Path) -> None:
    keep(path)
    path.unlink()
    os.mkfifo(path, 0o600)
    with pytest.raises(StoreDamaged):
        kept(path)


WRITER = """
import sys
from pathlib import Path
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import file_format as _vault
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.encrypted_file import Store
_vault.ARGON2ID = {"name": "argon2id", "m": 64, "t": 1, "p": 1}
path, name, rounds = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
store = Store(path, sys.argv[4])
def edit(entries, number):
    entries.setdefault("hpc.onboard", {})[f"{name}{number}"] = "v" * 500
for number in range(rounds):
    store.change(lambda entries: edit(entries, number))
    print(number, flush=True)
"""


def writer(path: Path, name: str, rounds: int, folder: Path) -> subprocess.Popen[str]:
    """A process that writes keys, and says each one that is kept."""
    passphrase = folder / "passphrase"
    passphrase.touch(mode=0o600)
    passphrase.write_text(PASSPHRASE)
    order = [sys.executable, "-c", WRITER, str(path), name, str(rounds), str(passphrase)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(order, env=env, text=True, stdout=subprocess.PIPE)


def test_writers_at_once_lose_nothing(path: Path, tmp_path: Path) -> None:
    keep(path)
    running = [writer(path, name, 40, tmp_path) for name in "abc"]
    assert [one.wait(60) for one in running] == [0, 0, 0]
    assert set(kept(path)) == {"ngc", *(f"{name}{number}" for name in "abc" for number in range(40))}
    assert parse(path.read_bytes()).header.seq == 121


def test_makers_at_once_lose_nothing(path: Path, tmp_path: Path) -> None:
    running = [writer(path, name, 5, tmp_path) for name in "abcd"]
    assert [one.wait(60) for one in running] == [0, 0, 0, 0]
    assert len(kept(path)) == 20


def test_a_writer_killed_at_any_moment_loses_nothing_that_it_had_kept(path: Path, tmp_path: Path) -> None:
    keep(path)
    chance = random.Random(1)
    for turn in range(12):
        running = writer(path, f"t{turn}-", 10_000, tmp_path)
        assert running.stdout is not None
        said = [running.stdout.readline()]
        time.sleep(chance.uniform(0, 0.05))
        running.send_signal(signal.SIGKILL)
        said += running.stdout.readlines()
        running.wait()
        running.stdout.close()
        found = kept(path)
        assert found["ngc"] == "nvapi-1"
        complete = [line for line in said if line.endswith("\n")]
        assert {f"t{turn}-{int(line)}" for line in complete} <= set(found)
    keep(path, "last", "one")
    assert sorted(one.name for one in path.parent.iterdir()) == [".keyring.lock", "keyring"]


REKEYER = """
import sys
from pathlib import Path
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import file_format as _vault
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.encrypted_file import Store
_vault.ARGON2ID = {"name": "argon2id", "m": 64, "t": 1, "p": 1}
class Typist:
    def ask(self, question):
        return answers.pop(0)
    def show_note(self, text): pass
path, now, then = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
print("begun", flush=True)
while True:
    answers = [now, then, then]
    Store(path, "", Typist()).rekey()
    now, then = then, now
"""


def test_a_rekey_killed_at_any_moment_leaves_a_file_that_one_passphrase_opens(path: Path) -> None:
    keep(path)
    chance, now, then = random.Random(2), PASSPHRASE, "another one"
    for _turn in range(10):
        order = [sys.executable, "-c", REKEYER, str(path), now, then]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        running = subprocess.Popen(order, env=env, stdout=subprocess.PIPE)
        assert running.stdout is not None
        running.stdout.readline()
        time.sleep(chance.uniform(0, 0.05))
        running.kill()
        running.wait()
        running.stdout.close()
        typist = Typist(now, then)
        assert Store(path, "", typist).entries() == {"hpc.onboard": {"ngc": "nvapi-1"}}
        if len(typist.asked) == 2:
            now, then = then, now
    store(path, now).change(putting("last", "one"))
    assert sorted(one.name for one in path.parent.iterdir()) == [".keyring.lock", "keyring"]


@pytest.mark.parametrize("limit", [0, 1, 4000, 5695, 6000])
def test_a_full_disk_leaves_the_old_content(path: Path, limit: int) -> None:
    keep(path)
    before = path.read_bytes()
    soft = resource.getrlimit(resource.RLIMIT_FSIZE)
    disposition = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, soft[1]))
    try:
        with pytest.raises(NotWritten, match="EFBIG"):
            keep(path, "large", "v" * 9000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, soft)
        signal.signal(signal.SIGXFSZ, disposition)
    assert path.read_bytes() == before
    assert sorted(one.name for one in path.parent.iterdir()) == [".keyring.lock", "keyring"]


def test_what_cannot_be_read_back_does_not_take_the_place(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(path)
    before = path.read_bytes()
    monkeypatch.setattr(encrypted_file, "seal", lambda entries, header, key: before)
    with pytest.raises(StoreDamaged, match="read back"):
        keep(path, "more", "m")
    assert path.read_bytes() == before


def test_rekey_makes_the_old_passphrase_worthless(path: Path) -> None:
    keep(path)
    before = parse(path.read_bytes()).header
    store(path, PASSPHRASE, "another one", "another one").rekey()
    after = parse(path.read_bytes()).header
    assert kept(path, "another one") == {"ngc": "nvapi-1"}
    with pytest.raises(WrongPassphrase):
        store(path, PASSPHRASE, PASSPHRASE, PASSPHRASE).entries()
    assert after.salt != before.salt
    assert after.seq == before.seq + 1
    assert sorted(one.name for one in path.parent.iterdir()) == [".keyring.lock", "keyring"]


@pytest.mark.parametrize("answers", [("x", "x", "x"), (PASSPHRASE, "new", "now"), (PASSPHRASE, ""), (PASSPHRASE,)])
def test_a_rekey_that_is_given_up_changes_nothing(path: Path, answers: tuple[str, ...]) -> None:
    keep(path)
    before = path.read_bytes()
    with pytest.raises((StoreLocked, WrongPassphrase)):
        store(path, *answers).rekey()
    assert path.read_bytes() == before


def test_a_cheaper_cost_is_announced_and_rekey_fixes_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(path)
    monkeypatch.setattr(file_format, "ARGON2ID", {**CHEAP, "m": 128})
    typist = Typist(PASSPHRASE)
    Store(path, "", typist).entries()
    assert "rekey --keep-passphrase" in typist.told[0]
    store(path, PASSPHRASE).rekey(ask_new=False)
    typist = Typist(PASSPHRASE)
    assert Store(path, "", typist).entries()
    assert typist.told == []


def test_a_rekey_in_between_is_noticed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(path)
    typist = Typist(PASSPHRASE, PASSPHRASE)
    mine = Store(path, "", typist)
    first = mine._unlock
    turns = iter([lambda: store(path, PASSPHRASE).rekey(ask_new=False), lambda: None])

    def then_rekeyed() -> encrypted_file.UnlockedStore:
        opened = first()
        next(turns)()
        return opened

    monkeypatch.setattr(mine, "_unlock", then_rekeyed)
    mine.change(putting("more", "m"))
    assert kept(path) == {"ngc": "nvapi-1", "more": "m"}
    assert len(typist.asked) == 2


def test_the_command_rekeys_with_a_passphrase_file(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("keyring")
    keep(path)
    file = tmp_path / "passphrase"
    file.touch(mode=0o600)
    file.write_text(PASSPHRASE)
    monkeypatch.setenv("KEYRING_PROPERTY_FILE", str(path))
    monkeypatch.setenv("KEYRING_PROPERTY_PASSPHRASE_FILE", str(file))
    monkeypatch.setitem(rekey.KDFS, "scrypt", {**file_format.SCRYPT})
    assert run(["rekey", "--keep-passphrase", "--kdf", "scrypt"]) == 0
    assert "has a new salt" in capsys.readouterr().out
    assert parse(path.read_bytes()).header.kdf["name"] == "scrypt"
    file.write_text("wrong")
    with pytest.raises(CommandError, match=f"the passphrase in the file {file} is wrong"):
        run(["rekey", "--keep-passphrase"])


def test_a_rekey_that_keeps_the_passphrase_needs_the_passphrase(path: Path) -> None:
    keep(path)
    shared = Store(path, "", Typist(PASSPHRASE), unlocked := {})
    assert shared.entries()
    before = path.read_bytes()
    with pytest.raises(StoreLocked, match="a stored key has opened the file"):
        Store(path, "", Typist(), unlocked).rekey(ask_new=False)
    assert path.read_bytes() == before


def test_a_passphrase_file_below_the_home_of_an_unknown_user_is_said_not_to_be_there(path: Path) -> None:
    keep(path)
    with pytest.raises(StoreLocked, match="~nobody-of-that-name/it cannot be read"):
        Store(path, "~nobody-of-that-name/it", Typist(PASSPHRASE)).entries()


def test_sources_go_before_persons_in_their_order(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(path)
    file = tmp_path / "passphrase"
    file.touch(mode=0o600)
    file.write_text(f"{PASSPHRASE}\nmore\n")
    assert Store(path, str(file), Typist()).entries()
    monkeypatch.setenv(_passphrase.VALUE, PASSPHRASE)
    with pytest.raises(StoreLocked):
        store(path).entries()
    monkeypatch.setenv(_passphrase.ALLOWED, "yes")
    assert store(path).entries()
    (tmp_path / "hpc.onboard").write_text("not the right one")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    with pytest.raises(WrongPassphrase, match="systemd credential"):
        store(path, PASSPHRASE).entries()
    monkeypatch.setenv(_passphrase.FD, "999")
    with pytest.raises(StoreLocked, match="is not the number of an open file descriptor"):
        store(path, PASSPHRASE).entries()
    assert Store(path, str(file), Typist()).entries()


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        ("absent", "cannot be read (No such file or directory)"),
        ("open to others", "is accessible to other users. Run: chmod 600 "),
        ("of another user", "belongs to another user (nobody). Use your own copy of the file, with mode 600"),
        ("a folder", "is a folder. Give the path of a file"),
        ("a pipe", "is not a regular file. Give the path of a regular file"),
        ("empty", "is empty. Put the passphrase into "),
        ("no text", "the passphrase is not valid UTF-8"),
    ],
)
def test_a_passphrase_file_that_cannot_serve_says_which_fix_it_needs(
    path: Path, tmp_path: Path, trouble: str, said: str
) -> None:
    keep(path)
    file = tmp_path / "passphrase"
    if trouble == "a folder":
        file.mkdir(mode=0o700)
    elif trouble == "a pipe":
        os.mkfifo(file, 0o600)
    elif trouble != "absent":
        file.touch(mode=0o644 if trouble == "open to others" else 0o600)
        file.write_bytes({"empty": b"\n", "no text": b"\xff\xfe"}.get(trouble, PASSPHRASE.encode()))
    if trouble == "of another user":
        if os.geteuid():
            pytest.skip("only root can give a file away")
        os.chown(file, pwd.getpwnam("nobody").pw_uid, -1)
    with pytest.raises(StoreLocked, match="locked") as raised:
        Store(path, str(file), Typist(PASSPHRASE)).entries()
    assert said in str(raised.value)
    assert ("chmod" in str(raised.value)) == (trouble == "open to others")
    assert PASSPHRASE not in str(raised.value)
