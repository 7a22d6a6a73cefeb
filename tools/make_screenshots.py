"""Write docs/screenshots/*.svg: the output for sandbox accounts on a terminal of 80 columns.

    python tools/make_screenshots.py [SCENE...]    # default: all scenes

Each scene is a run in a copy of the checkout. The durations in the output are replaced, so that all runs are equal.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from html import escape
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pexpect

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "collections")]

from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.progress_line import FRAMES  # noqa: E402  # the path comes first

from tests.testbed.screen import Cell, Screen  # noqa: E402  # the path comes first

CELL, LINE, EDGE, SIZE = 8.4, 19, 16, 14
COLOURS = {  # SGR code -> colour on light and on dark background
    "31": ("#cf222e", "#ff7b72"),
    "32": ("#1a7f37", "#56d364"),
    "33": ("#9a6700", "#e3b341"),
    "34": ("#0969da", "#79c0ff"),
    "36": ("#1b7c83", "#56d4dd"),
}
STYLE = """
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;
white-space:pre;fill:#1f2328}
rect{fill:#f6f8fa;stroke:#d1d9e0}.b{font-weight:600}.f{fill:#6e7781}"""
DARK = "text{fill:#e6edf3}rect{fill:#0d1117;stroke:#30363d}.f{fill:#8b949e}"

CLUSTERS = {"wilson": "project: deep_lgt", "dfki": "", "daint": "project: g123", "narval": "project: def-ada"}
MINIFORGE = {"step": "downloading Miniforge3 26.1.1-3", "done": 62_000_000, "total": 98_000_000, "unit": "bytes"}


class Scene(NamedTuple):
    """A screenshot. before: prepares the checkout. until: pattern of the last line to stop at; default: the end."""

    command: str
    accounts: str = ""
    before: Callable[[Path], None] = lambda _checkout: None
    until: str = ""
    environment: dict[str, str] = {}


def accounts(count: int) -> str:
    """Return an accounts file with this number of accounts, of which three are unreachable."""
    lines = ["plugin: hpc.onboard.accounts", "sandbox: true", "accounts:"]
    for number in range(count):
        cluster = list(CLUSTERS)[number % len(CLUSTERS)]
        lines += [f"  u{number + 1:02}@{cluster}:", f"    {CLUSTERS[cluster]}"]
        if number in (5, 21, 37):
            lines += ["    sandbox: false", "    vars: {ansible_host: 127.0.0.1, ansible_port: 1}"]
    return "\n".join(lines) + "\n"


def unreachable(name: str) -> Callable[[Path], None]:
    """Return a function that makes one of the practice accounts unreachable."""

    def change(checkout: Path) -> None:
        file = checkout / "inventory" / "practice.yml"
        away = "\n    sandbox: false\n    vars: {ansible_host: 127.0.0.1, ansible_port: 1}"
        file.write_text(file.read_text().replace(f"  {name}:", f"  {name}:{away}"))

    return change


def trouble(checkout: Path) -> None:
    """Make an account unreachable, and create a folder of the user in place of a link."""
    unreachable("go42tum@lrz")(checkout)
    (checkout / "inventory/.sandbox/simone@wilson/home/simone/work/thesis").mkdir(parents=True)


def done_before(checkout: Path) -> None:
    """Set up all accounts except two, and replace a link by a folder."""
    run = [shutil.which("ansible-playbook") or "ansible-playbook", "onboard.yml", "-l", "!u02@dfki:!u13@wilson"]
    subprocess.run(run, cwd=checkout, env=environment(checkout, {}), check=False, capture_output=True)
    (checkout / "inventory/.sandbox/u01@wilson/home/u01/work").unlink()
    (checkout / "inventory/.sandbox/u01@wilson/home/u01/work").mkdir()


def slow(checkout: Path) -> None:
    """Make the Python of an account slow."""
    python = checkout / "slow"
    python.write_text('#!/bin/sh\nsleep 4\nexec python3 "$@"\n')
    python.chmod(0o755)
    file = checkout / "inventory" / "practice.yml"
    interpreter = f"\n    vars: {{ansible_python_interpreter: {python}}}"
    file.write_text(file.read_text().replace("  ada@dfki:", f"  ada@dfki:{interpreter}"))


def drifted(checkout: Path) -> None:
    """Set up two accounts, and then change them by hand."""
    run = [shutil.which("ansible-playbook") or "ansible-playbook", "onboard.yml", "-l", "lrz,wilson"]
    subprocess.run(run, cwd=checkout, env=environment(checkout, {}), check=True, capture_output=True)
    lrz, wilson = (
        checkout / "inventory/.sandbox/go42tum@lrz/home/go42tum",
        checkout / "inventory/.sandbox/simone@wilson",
    )
    (lrz / "enroot/.credentials").chmod(0o644)
    (lrz / ".bashrc").write_text(f"export NGC_API_KEY=nvapi-{hashlib.sha256(b'not a real key').hexdigest()}\n")
    (wilson / "home/simone/work").unlink()


BUSY = {
    "ANSIBLE_CALLBACK_PLUGINS": "tests/integration/callback",
    "ANSIBLE_CALLBACKS_ENABLED": "busy",
    "BUSY": json.dumps([[9, "ada@dfki", MINIFORGE]]),
    "ANSIBLE_FORKS": "2",
}
SCENES = {
    "onboard": Scene("ansible-playbook onboard.yml -l 'wilson,lrz'"),
    "live": Scene("ansible-playbook onboard.yml -l 'dfki,lrz,wilson'", "", slow, "2/3 .* 62/98 MB", BUSY),
    "trouble": Scene("ansible-playbook onboard.yml -l 'wilson,lrz,daint'", "", trouble),
    "diff": Scene("ansible-playbook onboard.yml -l ada@dfki --tags container_caches --check --diff"),
    "many": Scene("ansible-playbook onboard.yml", accounts(60), done_before),
    "audit": Scene("ansible-playbook audit.yml -l 'wilson,lrz'", "", drifted),
}


def environment(checkout: Path, more: dict[str, str]) -> dict[str, str]:
    """Return the environment of a run, with one account at a time, so that all runs look the same.

    The state of earlier runs is in the checkout: notes that they have shown are not shown again.
    """
    own = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith("ANSIBLE_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own |= {"PATH": path, "XDG_STATE_HOME": str(checkout / ".state")}
    return {**own, "TERM": "xterm-256color", "ANSIBLE_FORKS": "1", "LC_ALL": "C.UTF-8", **more}


def seen(scene: Scene) -> Screen:
    """Return the screen after the scene."""
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder) / "hpc.onboard"
        copy(checkout)
        if scene.accounts:
            (checkout / "inventory" / "accounts.yml").write_text(scene.accounts)
        scene.before(checkout)
        screen = Screen()
        screen.feed(f"\x1b[32m$\x1b[0m {scene.command}\r\n")
        command = ["-c", scene.command]
        child = pexpect.spawn(
            "/bin/sh",
            command,
            cwd=checkout,
            env=environment(checkout, scene.environment),
            encoding="utf-8",
            dimensions=(24, 80),
        )
        watch(child, screen, scene.until)
        child.close(force=True)
        return screen


def watch(child: pexpect.spawn[str], screen: Screen, until: str) -> None:
    """Feed the output to the screen until the program ends, or the last line matches the pattern (until)."""
    while not (until and re.search(until, screen.line(-1))):
        try:
            screen.feed(child.read_nonblocking(1 if until else 4096, timeout=120))
        except pexpect.EOF:
            return
    screen.feed(child.read_nonblocking(100, timeout=5).partition("\r")[0])


def copy(checkout: Path) -> None:
    """Copy the files that git tracks to the folder."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.splitlines():
        target = checkout / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target, follow_symlinks=False)


def steady(row: list[Cell]) -> list[Cell]:
    """Return a row with fixed durations, and a fixed character of the live line."""
    if row and row[0].text in FRAMES[0]:
        row[0] = Cell(FRAMES[0][2], row[0].style)
    text = "".join(cell.text or " " for cell in row)
    for found in re.finditer(r"(?<= )\d+(\.\d)? s(?=\s*$)|(?<=^[^ ] )\d+ s|(?<=/\d  )\d+ s", text):
        new = "0.3 s" if "." in found.group() else "2 s"
        for at, character in zip(range(*found.span()), new.rjust(len(found.group())), strict=True):
            row[at] = Cell(character, row[at].style)
    return row


def spans(row: list[Cell]) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Yield column, text and style of each piece of text in a row."""
    column = 0
    for style, cells in groupby(row, key=lambda cell: cell.style):
        group = list(cells)
        text = "".join(cell.text for cell in group)
        if text.strip():
            yield column, text, style
        column += len(group)


def svg(screen: Screen) -> str:
    """Return the screen as an SVG picture, which is light or dark as the reader's settings require."""
    rows = list(screen.rows)
    while rows and not "".join(cell.text for cell in rows[-1]).strip():
        rows.pop()
    wide, high = screen.columns * CELL + 2 * EDGE, len(rows) * LINE + 2 * EDGE
    colours = "".join(f".c{code}{{fill:{light}}}" for code, (light, _dark) in COLOURS.items())
    dark = DARK + "".join(f".c{code}{{fill:{shade}}}" for code, (_light, shade) in COLOURS.items())
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {high}" width="{wide:g}" height="{high}">',
        f"<style>{STYLE}{colours}\n@media(prefers-color-scheme:dark){{{dark}}}</style>",
        f'<rect x=".5" y=".5" width="{wide - 1:g}" height="{high - 1}" rx="8"/>',
    ]
    for number, row in enumerate(rows):
        for column, text, style in spans(steady(row)):
            lead = len(text) - len(text.lstrip())
            x, y = EDGE + (column + lead) * CELL, EDGE + number * LINE + SIZE
            words = text.strip()
            length = f' textLength="{len(words) * CELL:g}" lengthAdjust="spacingAndGlyphs"'
            names = " ".join({"1": "b", "2": "f"}.get(code, f"c{code}") for code in style if code != "0")
            kind = f' class="{names}"' if names else ""
            out.append(f'<text x="{x:g}" y="{y}"{length}{kind}>{escape(words, quote=False)}</text>')
    return "\n".join([*out, "</svg>", ""])


if __name__ == "__main__":
    target = ROOT / "docs" / "screenshots"
    target.mkdir(exist_ok=True)
    for name in sys.argv[1:] or SCENES:
        (target / f"{name}.svg").write_text(svg(seen(SCENES[name])), encoding="utf-8")
        print(f"docs/screenshots/{name}.svg")
