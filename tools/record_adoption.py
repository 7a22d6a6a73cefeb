"""Record the transcripts of docs/adoption.md in tmux with 80 columns (`make transcripts`; needs root).

The account is on the testbed, which runs a real sshd. Its user has followed the tutorials of DFKI by hand. In the
transcripts, the names of the site replace those of the testbed.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "collections")]

from tests.integration.command.person import Person  # noqa: E402  # the path comes first
from tests.integration.runs import FileRing  # noqa: E402  # the path comes first
from tests.integration.tutorials.laying import lay  # noqa: E402  # the path comes first
from tests.integration.tutorials.lived_in import DFKI  # noqa: E402  # the path comes first
from tests.testbed import Testbed  # noqa: E402  # the path comes first
from tools import transcripts  # noqa: E402  # the path comes first
from tools.record_init import ANSWER, install  # noqa: E402  # the path comes first
from tools.record_logins import READY, Terminal, host_of  # noqa: E402  # the path comes first

PAGE = ROOT / "docs" / "adoption.md"
TYPED = {
    "init": [(ANSWER, "1"), (ANSWER, ""), (ANSWER, "y")],
    "adopt": [(r"credentials.*\[Y/n\] *\Z", "n"), (r"usrun.*\[Y/n\] *\Z", ""), (r"\[y/N\] *\Z", "y")],
    "onboard": [],
    "status": [],
}


def recorded(folder: Path, programs: Path) -> dict[str, str]:
    """Return subcommand -> screen. programs: the folder with the hpc-onboard to record."""
    folder.mkdir()
    with Testbed() as bed:
        ada = bed.new_account("dfki", user="ada")
        lay(ada, DFKI)
        person = Person(bed, folder)
        person.knows(host_of("dfki"), "dfki", f"User {ada.user}")
        ring = FileRing(folder, kdf=None)
        environment = {
            **person.environment,
            **ring.env,
            "KEYRING_PROPERTY_PASSPHRASE_FILE": str(ring.passphrase_file),
            "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
            "NO_COLOR": "1",
        }
        del environment["ANSIBLE_NOCOLOR"]
        screens = {}
        for subcommand, typed in TYPED.items():
            with Terminal(environment, person.home, person.command()) as terminal:
                terminal.types(READY.pattern, f"hpc-onboard {subcommand}")
                for awaited, words in typed:
                    terminal.types(awaited, words)
                screens[subcommand] = terminal.seen()
        places = {
            str(person.home): "~",
            str(folder): "~/keys",
            bed.cluster("dfki").host: host_of("dfki"),
            str(bed.folder): "~/.ansible",
        }
    for found, word in places.items():
        screens = {name: text.replace(found, word) for name, text in screens.items()}
    return screens


def main() -> None:
    """Record the screens, and write them to the page."""
    with tempfile.TemporaryDirectory(prefix="rec") as folder:
        programs = install(Path(folder))
        screens = recorded(Path(folder) / "person", programs)
        transcripts.write(PAGE, {name: screens[name] for name in transcripts.read(PAGE)})


if __name__ == "__main__":
    main()
