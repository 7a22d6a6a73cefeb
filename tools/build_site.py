"""Build the documentation site, offline, and fail on every broken link.

    python -m tools.build_site FOLDER        # make docs: build/site

The pages are the checkout's Markdown files, and the pages of roles and modules from antsibull-docs. A link to a page
becomes a link within the site; a link to any other file of the checkout becomes a link to the repository.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPOSITORY = "https://github.com/hpc-onboard/hpc.onboard/blob/main"
ASSETS = ("docs/screenshots/*.svg", "docs/schemas/*.json", "docs/examples/*")
LINK = re.compile(r"(?P<start>\]\(|^\[[^\]\n]+\]: +)(?P<target>[^\s()#]+)", re.MULTILINE)
FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
BELOW = {"docs/clusters.md": "clusters/*"}  # page -> pages below it in the navigation
NEEDLESS = re.compile(  # Furo adds a table of contents itself; the note is about Galaxy, which has no collection yet
    r"^\.\. contents::\n(?:   :.*\n)+|^\.\. Collection note\n\n\.\. note::\n(?:    .*\n|\n)+", re.MULTILINE
)
REFERENCE = "reference"  # the folder of antsibull-docs' pages


class BrokenLink(Exception):
    """A page links to a file that the checkout does not have."""


def main(folder: Path) -> int:
    """Build the site and return the exit code."""
    with tempfile.TemporaryDirectory(prefix="site") as draft:
        source = Path(draft)
        try:
            lay_out(source)
        except BrokenLink as error:
            print(error, file=sys.stderr)
            return 1
        describe_collection(source / REFERENCE)
        command = [
            "-m",
            "sphinx",
            "-q",
            "-W",
            "--keep-going",
            "-j",
            "auto",
            "-b",
            "html",
            "-c",
            str(ROOT / "docs/site"),
        ]
        doctrees = ["-d", str(source / ".doctrees")]
        return subprocess.run([sys.executable, *command, *doctrees, str(source), str(folder)], cwd=ROOT).returncode


def lay_out(source: Path) -> None:
    """Write all pages and their assets below a folder. Raise BrokenLink."""
    pages = dict(find_pages())
    for name, place in pages.items():
        (source / place).parent.mkdir(parents=True, exist_ok=True)
        tree = f"\n```{{toctree}}\n:hidden:\n:glob:\n\n{BELOW[name]}\n```\n" if name in BELOW else ""
        (source / place).write_text(relink(name, pages) + tree, encoding="utf-8")
    for pattern in ASSETS:
        for file in ROOT.glob(pattern):
            place = source / file.relative_to(ROOT / "docs")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)


def find_pages() -> Iterator[tuple[str, str]]:
    """Yield the path of each page in the checkout, and its path on the site."""
    for file in sorted((ROOT / "docs").glob("**/*.md")):
        yield str(file.relative_to(ROOT)), str(file.relative_to(ROOT / "docs"))
    for file in sorted(ROOT.glob("roles/*/README.md")):
        yield str(file.relative_to(ROOT)), f"roles/{file.parent.name}.md"
    for name in ("CONTRIBUTING.md", "SECURITY.md"):
        yield name, name.lower()


def relink(name: str, pages: Mapping[str, str]) -> str:
    """Return the text of a page with its links changed for the site. Code blocks stay. Raise BrokenLink."""
    text = (ROOT / name).read_text(encoding="utf-8")
    parts, end = [], 0
    for fence in FENCE.finditer(text):
        parts += [_relink_prose(text[end : fence.start()], name, pages), fence.group()]
        end = fence.end()
    return "".join([*parts, _relink_prose(text[end:], name, pages)])


def _relink_prose(text: str, name: str, pages: Mapping[str, str]) -> str:
    return LINK.sub(lambda match: match["start"] + _retarget(match["target"], name, pages), text)


def _retarget(target: str, name: str, pages: Mapping[str, str]) -> str:
    """Return the target of a link for the site. name: the page with the link. Raise BrokenLink."""
    if re.match(r"[a-z]+:", target):
        return target
    path = os.path.normpath(os.path.join(os.path.dirname(name), target))
    folder = os.path.dirname(pages[name])
    if path in pages:
        return os.path.relpath(pages[path], folder)
    if path.startswith(f"docs/{REFERENCE}/"):
        return os.path.relpath(path.removeprefix("docs/"), folder)
    if not (ROOT / path).exists():
        raise BrokenLink(f"{name}: the target of the link {target} does not exist")
    if (ROOT / path).is_file() and path.startswith("docs/"):
        return os.path.relpath(path.removeprefix("docs/"), folder)
    return f"{REPOSITORY}/{path}"


def describe_collection(folder: Path) -> None:
    """Write the pages of roles, modules and plugins with antsibull-docs."""
    folder.mkdir()
    program = str(Path(sys.executable).with_name("antsibull-docs"))
    options = ["--use-current", "--squash-hierarchy", "--fail-on-error", "--dest-dir", str(folder)]
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = [program, "collection", *options, "hpc.onboard"]
    subprocess.run(command, check=True, cwd=ROOT, env={**environment, "PATH": path}, stdout=subprocess.DEVNULL)
    for page in folder.glob("*.rst"):
        page.write_text(NEEDLESS.sub("", page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
