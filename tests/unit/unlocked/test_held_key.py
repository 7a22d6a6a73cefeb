# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Unlocking keys that are held for a time: by the kernel and by a process, for real, and who else could get them."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct
import subprocess
import sys
import time
import types
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("cryptography")

from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import file_format
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.encrypted_file import Store
from ansible_collections.hpc.onboard.plugins.plugin_utils._unlocked import (
    handover,
    held_key,
    holder_process,
    holder_program,
    kernel_keyring,
)

from tests.unit.forked import NOBODY, as_nobody, child

NAME = f"hpc.onboard-test-{os.getpid()}"
PAYLOAD = b"the unlocking key of a file"
HAS_KERNEL = kernel_keyring.hold(NAME, b"a try", 9) and kernel_keyring.drop(NAME)  # most containers forbid it
HOLDERS = {"kernel": kernel_keyring, "process": holder_process}
BOTH = pytest.mark.parametrize("holder", list(HOLDERS.values())[not HAS_KERNEL :], ids=list(HOLDERS)[not HAS_KERNEL :])


@pytest.fixture(autouse=True)
def _own_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Sockets in a folder of the test, with a short path; what is held ends with the test."""
    folder = Path(f"/tmp/held-{os.getpid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    yield
    for holder in held_key.HOLDERS:
        holder.drop(NAME)
    subprocess.run(["rm", "-rf", str(folder)], check=True)


def forbid_keys() -> None:
    """Let the kernel refuse its keyrings to this process, as most containers do (seccomp(2))."""
    rows = [(0x20, 0, 0, 0)]  # load the number of the call
    rows += [(0x15, 0, 1, number) for number in kernel_keyring.CALLS[os.uname().machine]]
    rows = [
        rows[0],
        (0x15, 2, 0, rows[1][3]),
        (0x15, 1, 0, rows[2][3]),
        (0x06, 0, 0, 0x7FFF0000),
        (0x06, 0, 0, 0x50001),
    ]
    code = b"".join(struct.pack("HBBI", *row) for row in rows)
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxQ", len(rows), ctypes.addressof(buffer))
    library = ctypes.CDLL(None)
    assert library.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    assert library.prctl(22, 2, ctypes.c_char_p(program), 0, 0) == 0  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER


def holder_pids() -> list[int]:
    """The processes that hold something under this name."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path("/proc", entry, "cmdline").read_bytes().split(b"\0")
            is_alive = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            continue
        if is_alive and any(word.endswith(NAME.encode()) for word in words):
            found.append(int(entry))
    return found


@BOTH
def test_what_is_held_is_found_until_it_is_dropped(holder: ModuleType) -> None:
    assert holder.find(NAME) == b""
    assert not holder.drop(NAME)
    assert holder.hold(NAME, b"an older one", 60)
    assert holder.hold(NAME, PAYLOAD, 60)
    assert holder.find(NAME) == PAYLOAD
    join = f"import ctypes; ctypes.CDLL(None).syscall({kernel_keyring.CALLS[os.uname().machine][1]}, 1, 0)"
    code = f"{join}; import sys; sys.path[:0] = {sys.path!r}; from {holder.__name__} import find; print(find({NAME!r}))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == repr(PAYLOAD), "another login or a timer of the same user: a new session keyring"
    assert holder.drop(NAME)
    assert holder.find(NAME) == b""


@BOTH
def test_when_its_time_is_over_it_is_gone(holder: ModuleType) -> None:
    assert holder.hold(NAME, PAYLOAD, 1)
    time.sleep(1.3)
    assert holder.find(NAME) == b""
    assert holder_pids() == []


@BOTH
def test_no_other_user_gets_it(holder: ModuleType) -> None:
    assert holder.hold(NAME, PAYLOAD, 60)
    if os.getuid() == 0:
        assert as_nobody(lambda: holder.find(NAME).decode()) == ""
        numbers = [int(line.split()[0], 16) for line in Path("/proc/keys").read_text().splitlines() if NAME in line]
        assert as_nobody(lambda: [read_by_number(number) for number in numbers]) == [""] * len(numbers)


def read_by_number(number: int) -> str:
    """What the kernel gives to who knows the number of a key; empty if it refuses."""
    buffer = ctypes.create_string_buffer(4096)
    call = kernel_keyring.CALLS[os.uname().machine][1]
    length = ctypes.CDLL(None).syscall(call, kernel_keyring.READ, number, buffer, 4096, 0)
    return buffer.raw[: max(length, 0)].decode()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_the_process_answers_no_other_user_even_with_its_socket_open_to_all() -> None:
    assert holder_process.hold(NAME, PAYLOAD, 60)
    folder = Path(os.environ["XDG_RUNTIME_DIR"], "hpc.onboard")
    for path in (folder.parent, folder, folder / NAME):
        path.chmod(0o777)

    def ask() -> str:
        import socket

        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(folder / NAME))
            connection.settimeout(5)
            try:
                connection.sendall(holder_program.GIVE)
                return connection.recv(4096).decode()
            except ConnectionError:
                return ""

    assert as_nobody(ask) == ""
    assert holder_process.find(NAME) == b"", "a folder that others can use is not trusted either"
    folder.chmod(0o700)
    assert holder_process.find(NAME) == PAYLOAD


def test_the_memory_of_the_process_is_in_no_dump_no_child_and_no_swap() -> None:
    def look() -> None:
        memory = holder_program.make_memory()
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        parts = Path("/proc/self/smaps").read_text().split("VmFlags:")
        flags = {
            flag
            for before, after in pairwise(parts)
            if f"\n{address:x}-" in before.lower() or before.lower().startswith(f"{address:x}-")
            for flag in after.splitlines()[0].split()
        }
        assert {"dd", "dc", "lo"} <= flags, flags

    def without_lock() -> str:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
        return str(holder_process.hold(NAME, PAYLOAD, 60))

    assert os.waitpid(child(look), 0)[1] == 0
    if os.getuid() == 0:
        os.chown(os.environ["XDG_RUNTIME_DIR"], NOBODY, NOBODY)  # root is held to no limit
    assert as_nobody(without_lock) == "False"


def test_the_process_leaves_no_core() -> None:
    """Started by hand, so that its end can be waited for; a limit that allows a core is inherited."""
    path = Path(os.environ["XDG_RUNTIME_DIR"], NAME)
    words = [sys.executable, "-I", "-S", holder_program.__file__, str(path), "60"]

    def allow() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)

    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=allow)
    assert process.stdin
    assert process.stdout
    with process.stdin, process.stdout:
        process.stdin.write(PAYLOAD)
        process.stdin.close()
        assert process.stdout.read(1) == b"1"
        if os.getuid() == 0:
            assert as_nobody(lambda: os.access(f"/proc/{process.pid}/mem", os.R_OK)) is False
        assert "Max core file size        0                    0" in Path(f"/proc/{process.pid}/limits").read_text()
        assert os.stat(f"/proc/{process.pid}/environ").st_uid == 0, "it cannot be dumped or traced by its own user"
        os.kill(process.pid, signal.SIGABRT)
        status = os.waitpid(process.pid, 0)[1]
        process.returncode = status
    assert os.WTERMSIG(status) == signal.SIGABRT
    assert not os.WCOREDUMP(status)


def test_a_path_that_is_too_long_for_a_socket_is_reported_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / ("x" * 100)
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    assert holder_process.hold(NAME, PAYLOAD, 60) is False
    assert capfd.readouterr().err == "hpc-onboard: AF_UNIX path too long\n"


@pytest.mark.parametrize("has_kernel", {HAS_KERNEL, False})
def test_the_kernel_holds_it_and_where_it_refuses_a_process_does(tmp_path: Path, has_kernel: bool) -> None:
    file = tmp_path / "keyring"

    def hold() -> None:
        if not has_kernel:
            forbid_keys()
        title = (kernel_keyring if has_kernel else holder_process).TITLE
        assert held_key.hold(file, "id", b"key", 60).holder == title
        found = held_key.find(file)
        assert found
        assert (found.key_id, bytes.fromhex(found.key), found.holder) == ("id", b"key", title)
        assert held_key.find(tmp_path / "another") is None
        assert held_key.drop(file)
        assert held_key.find(file) is None

    assert os.waitpid(child(hold), 0)[1] == 0


def test_a_pipe_hands_keys_to_the_next_process_and_to_no_other_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(handover.VARIABLE, "")
    alone = handover.UnlockedKeys({})
    alone["file id"] = "aa"
    pipe = handover.open_pipe()
    assert handover.open_pipe() == pipe
    first, second = handover.UnlockedKeys({}), handover.UnlockedKeys({})
    first["file id"] = "bb"
    first["other id"] = "cc"
    assert dict(second) == {}
    assert second.get("file id") == "bb"
    assert second.get("none") is None
    assert second["other id"] == "cc"
    assert handover.UnlockedKeys({}).get("other id") == "cc", "each process finds what the one before has left"
    with open(os.devnull, "rb") as other:
        os.dup2(other.fileno(), pipe.reads)
    assert handover.find_pipe() is None, "the number is of another file now"
    for handle in pipe[:2]:
        os.close(handle)


def test_neither_passphrase_nor_value_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_format, "ARGON2ID", {"name": "argon2id", "m": 64, "t": 1, "p": 1})
    file, sources = tmp_path / "ring" / "keyring", tmp_path / "passphrase"
    sources.touch(mode=0o600)
    sources.write_text("correct horse\n")
    Store(file, str(sources)).change(lambda entries: entries.update({"hpc.onboard": {"ngc": "nvapi-1"}}))
    opened = Store(file, str(sources)).unlock()
    kept = []
    holder = types.SimpleNamespace(TITLE="", drop=bool, find=str, hold=lambda *words: kept.append(words) is None)
    monkeypatch.setattr(held_key, "HOLDERS", (holder,))
    held_key.hold(file, opened.header.key_id(), opened.key, 60)
    text = repr(kept)
    assert opened.key.hex() in text
    assert not [word for word in ("correct horse", "nvapi", "ngc") if word in text]
