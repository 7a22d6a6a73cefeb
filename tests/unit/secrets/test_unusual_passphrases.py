# SPDX-License-Identifier: GPL-3.0-or-later
"""Passphrases that are not UTF-8, and the terminal of a question if the output goes elsewhere."""

from __future__ import annotations

import os
import pty
import sys
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import passphrase
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.file_errors import StoreLocked

TYPED = """
import sys
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.passphrase import StoreLocked, TerminalPrompter
try:
    TerminalPrompter().ask("Passphrase")
except StoreLocked as error:
    print("REFUSED", error)
"""
SHOWN = """
import os
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import run_memory
if os.fork() == 0:  # a worker of Ansible has no standard input
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import prompt
    os._exit(0 if prompt._write_to_terminal("Passphrase of ~/keys") else 1)
print(os.wait()[1])
"""


def run_at_terminal(code: str, typed: bytes = b"", output: Path | None = None) -> bytes:
    """Return what a program shows at a terminal. typed: the answer. output: where its standard output goes."""
    pid, terminal = pty.fork()
    if pid == 0:
        if output:
            os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT, 0o600), 1)
        os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
        os.execv(sys.executable, [sys.executable, "-c", code])
    shown = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # the program has ended
            break
        shown += part
        if typed and b"Passphrase: " in shown:
            os.write(terminal, typed)
            typed = b""
        if not part:
            break
    os.waitpid(pid, 0)
    os.close(terminal)
    return shown


def test_a_passphrase_in_the_environment_in_another_encoding_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(passphrase.ALLOWED, "yes")
    monkeypatch.setenv(passphrase.VALUE, os.fsdecode("schlüssel".encode("latin-1")))
    with pytest.raises(StoreLocked, match="the passphrase is not valid UTF-8"):
        passphrase.find_passphrase("")
    monkeypatch.setenv(passphrase.VALUE, "schlüssel")
    found = passphrase.find_passphrase("")
    assert found
    assert found.passphrase == "schlüssel"


def test_a_passphrase_from_a_terminal_in_another_encoding_is_refused() -> None:
    shown = run_at_terminal(TYPED, typed="schlüssel\n".encode("latin-1"))
    assert b"REFUSED the file is locked, and the passphrase is not valid UTF-8" in shown
    assert b"schl" not in shown


def test_a_worker_asks_at_the_terminal_if_the_output_goes_to_a_file(tmp_path: Path) -> None:
    output = tmp_path / "output"
    assert b"Passphrase of ~/keys" in run_at_terminal(SHOWN, output=output)
    assert output.read_text() == "0\n"
    assert b"Passphrase" not in run_at_terminal(SHOWN), "Ansible writes this question itself"
