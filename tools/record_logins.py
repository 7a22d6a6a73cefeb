"""Record the transcripts of docs/login_*.md in tmux with 80 columns (`make transcripts`; needs root).

The login nodes are those of the testbed (tests/testbed): real sshds that ask for codes through PAM, a certificate
authority behind a jump host, and a Kerberos realm. Hidden input is hidden in the transcripts, too. The names of the
sites replace those of the testbed.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "collections")]

from tests.integration.command.desk import Desk  # noqa: E402  # the path comes first
from tests.integration.onboard.test_certificate_login import Student  # noqa: E402  # the path comes first
from tests.integration.onboard.test_code_login import ENTRY  # noqa: E402  # the path comes first
from tests.integration.onboard.test_ticket_door import Physicist  # noqa: E402  # the path comes first
from tests.integration.runs import FileRing  # noqa: E402  # the path comes first
from tests.testbed import Testbed  # noqa: E402  # the path comes first
from tests.testbed.code_login import CodeLogin, code  # noqa: E402  # the path comes first
from tests.testbed.realm import PASSWORD  # noqa: E402  # the path comes first
from tests.testbed.signing import CODE  # noqa: E402  # the path comes first
from tools import transcripts  # noqa: E402  # the path comes first

COLUMNS, ROWS, PATIENCE = 80, 24, 60.0
READY = re.compile(r"^\$ *\Z", re.MULTILINE)  # the shell waits for the next command


class Terminal:
    """A shell in tmux, with simulated input."""

    def __init__(self, environment: Mapping[str, str], folder: Path, before: Sequence[str] = ()) -> None:
        """Start the shell. before: the words of a command that runs it, such as nsenter."""
        self._server = ["tmux", "-L", f"record{time.monotonic_ns()}", "-f", "/dev/null"]
        settings = [f"{name}={value}" for name, value in environment.items() if name != "TERM"]
        shell = shlex.join([*before, "env", "-i", "TERM=screen-256color", "PS1=$ ", *settings, "sh"])
        size = ["-x", str(COLUMNS), "-y", str(ROWS)]
        self._tmux("new-session", "-d", *size, "-c", str(folder), shell)
        self._tmux("set-option", "-g", "history-limit", "5000")

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tmux("kill-server")

    def types(self, awaited: str, words: str) -> None:
        """Type a line as soon as the end of the screen matches the pattern (awaited)."""
        self._await(re.compile(awaited, re.MULTILINE))
        self._tmux("send-keys", "-l", words)
        self._tmux("send-keys", "Enter")
        time.sleep(0.5)

    def seen(self) -> str:
        """Return the whole screen as soon as the shell waits for the next command."""
        self._await(READY)
        return READY.sub("", self._screen().rstrip()).rstrip() + "\n"

    def _await(self, pattern: re.Pattern[str]) -> None:
        end = time.monotonic() + PATIENCE
        while not pattern.search(self._screen("-J").rstrip()):
            if time.monotonic() > end:
                raise TimeoutError(f"{pattern.pattern} did not appear:\n{self._screen()}")
            time.sleep(0.1)

    def _screen(self, *joined: str) -> str:
        return self._tmux("capture-pane", "-p", *joined, "-S", "-")

    def _tmux(self, *words: str) -> str:
        return subprocess.run([*self._server, *words], check=True, capture_output=True, text=True).stdout


def with_keyring(desk: Desk, folder: Path) -> Desk:
    """Return the desk with an encrypted key file below the folder, and a file with its passphrase."""
    folder.mkdir(exist_ok=True)
    ring = FileRing(folder, kdf=None)
    rest = {name: text for name, text in desk.environment.items() if "KEYRING" not in name}
    desk.environment = {**rest, **ring.env, "KEYRING_PROPERTY_PASSPHRASE_FILE": str(ring.passphrase_file)}
    return desk


def record(desk: Desk, *typed: tuple[str, str]) -> str:
    """Return the screen after the input. typed: pattern of the end of the screen, and the line to type then."""
    with_keyring(desk, Path(desk.bed.folder) / "person")
    with Terminal({**desk.bed.client.environment(), **desk.environment}, desk.folder) as terminal:
        for awaited, words in typed:
            terminal.types(awaited, words() if callable(words) else words)
        return terminal.seen()


def before_codes(bed: Testbed, cluster: str, users: Sequence[str], *verbs: str) -> str:
    """Record subcommands on accounts whose login needs a key and a code."""
    door = CodeLogin(bed.cluster(cluster))
    accounts = [bed.new_account(cluster, user=user, project="pr12ab") for user in users]
    door.admit(accounts)
    desk = Desk(bed, *accounts, settings={account.name: ENTRY for account in accounts})
    first, *others = verbs
    codes: list[Any] = [(rf"{account.name}: [^$]*:\Z", code) for account in accounts]
    seen = record(desk, (READY.pattern, first), *codes, *((READY.pattern, verb) for verb in others))
    assert (door.connections, door.refused) == (len(accounts), 0), door.said
    return seen


def at_daint(bed: Testbed, folder: Path) -> str:
    """Record a run with a certificate that expired yesterday, behind a jump host."""
    student = Student(bed, folder)
    student.signing.sign("-2d:-1h")
    yes, typed = (r"\[y/N\]\Z", "y"), (r"Code shown there:\Z", CODE)
    return record(student, (READY.pattern, "hpc-onboard daint"), yes, typed)


def at_wilson(bed: Testbed, folder: Path) -> str:
    """Record a run without a Kerberos ticket, for a home that only a forwarded ticket makes readable."""
    desk = Physicist(bed, folder)
    yes, typed = (r"\[y/N\]\Z", "y"), (r"Password for [^$]*:\Z", PASSWORD)
    return record(desk, (READY.pattern, "hpc-onboard wilson"), yes, typed)


def named(text: str, bed: Testbed, places: Mapping[str, str]) -> str:
    """Return the text with the names of the sites in place of those of the testbed."""
    for name in ("lrz", "narval", "daint", "wilson", "ela"):
        text = text.replace(bed.cluster(name).host, host_of(name))
    for found, word in places.items():
        text = text.replace(found, word)
    return re.sub(r"\bu\d{3}\b", "anna", text)


def host_of(cluster: str) -> str:
    """Return the name of the cluster's login node from its profile."""
    if cluster == "ela":
        return "ela.cscs.ch"
    profile = yaml.safe_load((ROOT / f"inventory/clusters/{cluster}.yml").read_text(encoding="utf-8"))
    said = profile["login"]["host"]
    return str(said["value"] if isinstance(said, dict) else said)


def main() -> None:
    """Record all transcripts, and write them to the pages."""
    with Testbed() as bed, tempfile.TemporaryDirectory(prefix="rec") as folder:
        here = Path(folder)
        for name in ("daint", "wilson"):
            (here / name).mkdir()
        again = ("hpc-onboard onboard", "hpc-onboard audit")
        places = {str(here / "daint"): "~/.ssh", str(here / "wilson"): "~", f"{bed.folder}/person": "~/keys"}
        screens = {
            ("login_code", "lrz"): before_codes(bed, "lrz", ("go42tum", "ge83xum"), *again),
            ("login_code", "narval"): before_codes(bed, "narval", ("ada",), "hpc-onboard narval"),
            ("login_certificate", "daint"): at_daint(bed, here / "daint"),
            ("login_ticket", "wilson"): at_wilson(bed, here / "wilson"),
        }
        for (page, name), seen in screens.items():
            transcripts.write(ROOT / "docs" / f"{page}.md", {name: named(seen, bed, places)})


if __name__ == "__main__":
    main()
