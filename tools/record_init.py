"""Record the transcripts of docs/start.md in tmux with 80 columns (`make transcripts`; needs root).

The wheel of this checkout is built, and installed in a new virtual environment. The login nodes are those of the
testbed, which run a real sshd. One of them asks for a code. In the transcripts, the names of the sites replace those of
the testbed.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "collections")]

from tests.integration.command.person import Person  # noqa: E402  # the path comes first
from tests.integration.runs import FileRing  # noqa: E402  # the path comes first
from tests.testbed import Testbed  # noqa: E402  # the path comes first
from tests.testbed.code_login import PORT, CodeLogin, code  # noqa: E402  # the path comes first
from tools import transcripts  # noqa: E402  # the path comes first
from tools.build_packages import build, read_commit_time  # noqa: E402  # the path comes first
from tools.record_logins import READY, Terminal, host_of  # noqa: E402  # the path comes first

PAGE = ROOT / "docs" / "start.md"
ANSWER = r"^> *\Z"
AREA = "/dss/dssfs04/lwp-dss-0002/pr12ab/pr12ab-dss-0000"
SCENES = ("init", "plan", "onboard", "status")  # subcommands


def install(folder: Path) -> Path:
    """Install a wheel of this checkout in a new virtual environment. Return the folder with its programs."""
    build(ROOT, folder / "dist", read_commit_time(ROOT))
    venv.create(folder / "venv", with_pip=True)
    wheel = next((folder / "dist").glob("*.whl"))
    subprocess.run([folder / "venv/bin/pip", "install", "-qq", wheel], check=True)
    return folder / "venv/bin"


def record(bed: Testbed, folder: Path, programs: Path) -> list[str]:
    """Return the screens, one for each of SCENES. programs: the folder with the hpc-onboard to record."""
    dfki = bed.new_account("dfki", user="ada")
    lrz = bed.new_account("lrz", user="go42tum", project="pr12ab")
    door = CodeLogin(bed.cluster("lrz"))
    door.admit([lrz])
    person = Person(bed, folder)
    person.knows("serv-6404.kl.dfki.de", "dfki", f"User {dfki.user}")
    person.knows("login.ai.lrz.de", "lrz", f"User {lrz.user}")
    settings = person.ssh / "config"
    asks = "PreferredAuthentications publickey,keyboard-interactive"
    text = settings.read_text(encoding="ascii")
    settings.write_text(text.replace(f"User {lrz.user}", f"User {lrz.user}\n    {asks}").replace(
        f"Port {lrz.port}\n    User {lrz.user}", f"Port {PORT}\n    User {lrz.user}"), encoding="ascii")  # fmt: skip
    ring = FileRing(folder, kdf=None)
    environment = {
        **person.environment,
        **ring.env,
        "KEYRING_PROPERTY_PASSPHRASE_FILE": str(ring.passphrase_file),
        "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
    }
    del environment["ANSIBLE_NOCOLOR"]
    asked = rf"{lrz.name}: [^$]*:\Z"
    typed = {
        "init": [(ANSWER, "1 2"), (ANSWER, AREA), (ANSWER, ""), (ANSWER, "y")],
        "plan": [(asked, code), (r"\[y/N\] *\Z", "y")],
    }
    seen = []
    for scene in SCENES:
        with Terminal({**environment, "NO_COLOR": "1"}, person.home, person.command()) as terminal:
            terminal.types(READY.pattern, f"hpc-onboard {scene}")
            for awaited, words in typed.get(scene, []):
                terminal.types(awaited, words() if callable(words) else words)
            seen.append(terminal.seen())
    return seen


def recorded(folder: Path, programs: Path) -> dict[str, str]:
    """Return scene -> screen, with the names of the sites. programs: the folder with the hpc-onboard to record."""
    with Testbed() as bed:
        seen = record(bed, folder, programs)
        places = {
            str(folder / "home"): "~",
            str(folder): "~/keys",
            f"{bed.cluster('lrz').host} port {PORT}": f"{host_of('lrz')} port 22",
            bed.cluster("dfki").host: host_of("dfki"),
            str(bed.folder): "~/.ansible",
        }
    screens = {}
    for scene, text in zip(SCENES, seen, strict=True):
        for found, word in places.items():
            text = text.replace(found, word)
        screens[scene] = text
    return screens


def main() -> None:
    """Record the scenes, and write them to the page."""
    with tempfile.TemporaryDirectory(prefix="rec") as folder:
        programs = install(Path(folder))
        transcripts.write(PAGE, recorded(Path(folder) / "person", programs))


if __name__ == "__main__":
    main()
