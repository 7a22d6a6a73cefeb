"""Compare the facts of profiles with clones of the sites' documentation; for maintainers.

    python -m tools.watch_sources learn CLONES    # find the sentence of each fact, and store its hash
    python -m tools.watch_sources check CLONES    # report missing sentences and pages, and new warnings

CLONES is a folder with clones of repositories in REPOSITORIES, each in a folder named like the repository. Only hashes
are stored, in tools/watched_sources.json. A fact is reached if the page of its source is in a clone, and a sentence of
the page contains its value and, for a number, a word for what is counted.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "collections")]

from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.facts import list_facts  # noqa: E402
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.fields import is_relied_on  # noqa: E402
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import SHIPPED, read_sourced  # noqa: E402

KEPT = ROOT / "tools" / "watched_sources.json"
REPOSITORIES = {  # host of the site's documentation, on GitHub with the owner -> public repository on GitHub
    "docs.cscs.ch": "eth-cscs/cscs-docs",
    "docs.alliancecan.ca": "SciNetHPC/alliance-docs-mcp",  # a copy of the wiki
    "docs.lumi-supercomputer.eu": "Lumi-supercomputer/lumi-userguide",
    "docs.mila.quebec": "mila-iqia/mila-docs",
    "docs.csc.fi": "CSCfi/csc-user-guide",
    "docs.tacc.utexas.edu": "TACC/TACC-Docs",
    "docs.nesi.org.nz": "nesi/support-docs",
    "docs.vscentrum.be": "hpcleuven/VscDocumentation",
    "docs.uppmax.uu.se": "UPPMAX/UPPMAX-documentation",
    "docs.ycrc.yale.edu": "ycrc/ycrc.github.io",
    "docs.olcf.ornl.gov": "olcf/olcf-user-docs",
    "docs.alcf.anl.gov": "argonne-lcf/user-guides",
    "docs.archer2.ac.uk": "ARCHER2-HPC/archer2-docs",
    "docs.cirrus.ac.uk": "EPCCed/cirrus-docs",
    "hpc-docs.uni.lu": "ULHPC/ulhpc-docs",
    "ncar-hpc-docs.readthedocs.io": "NCAR/HPC-Docs",
    "scicomp.aalto.fi": "AaltoSciComp/scicomp-docs",
    "www.sherlock.stanford.edu": "stanford-rc/www.sherlock.stanford.edu",
    "github.com/UQ-RCC": "UQ-RCC/hpc-docs",
    "github.com/PDC-support": "PDC-support/PDC-support-web",
}
NOT_REACHED = "not reached: "
SUFFIXES = (".md", ".rst", ".mdx", ".html", ".txt")
WARNINGS = re.compile(r"decommission|retire[ds]?\b|end of (life|service)|will be replaced|replaced by|migrat|moved to")
UNITS = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
BINARY = {unit: 2 ** (10 * power) for power, unit in enumerate(UNITS, 1)}


OURS = ("clock", "per", "policy", "archetype", "on_compute", "by", "account", "internet", "multiplexing", "renewer")
"""Facts whose values are words of hpc-onboard, which are not in the documentation of a site."""
COUNTED = {  # last word of a fact, or the last but one -> words of which one is in the sentence with the number
    **{"hours": "hour|day|time|wall", "certificate_hours": "hour|day", "jobs": "job", "port": "port|ssh"},
    **{"files": "file|inode|quota", "days": "day|week|month|purge|delet", "gpus_per_node": "gpu|gh200|gres|a100|h100"},
    **{"cpus_per_gpu": "core|cpu|thread", "gpu_nodes": "node"},
}


class Watched(NamedTuple):
    """A fact and the page of its source. form: matches its value in a sentence. near: a word in the same sentence."""

    name: str
    host: str
    page: str
    form: re.Pattern[str]
    near: re.Pattern[str] = re.compile("")

    def is_in(self, sentence: str) -> bool:
        """Return True if a sentence contains the value, and the word near it."""
        return bool(self.form.search(sentence) and self.near.search(sentence))


class Clone:
    """A clone of a site's documentation, with or without a work tree."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def files(self) -> list[str]:
        """Return the paths of all texts."""
        names = self._git("ls-tree", "-r", "--name-only", "HEAD").splitlines()
        return [name for name in names if name.endswith(SUFFIXES)]

    def find(self, page: str) -> str:
        """Return the path of the text of a page, which ends like the page's address; empty if the clone lacks it."""
        steps = _plain_path(page.removesuffix("/en")).split("/")  # /en: the language, in a wiki
        for start in range(len(steps)):
            wanted = "/".join(steps[start:])
            found = [name for name in self.files if f"/{_plain_path(name)}".endswith(f"/{wanted}")]
            if found and wanted:
                return min(found, key=len)
        return ""

    @lru_cache  # noqa: B019  # the process ends soon
    def sentences(self, file: str) -> dict[str, str]:
        """Return hash -> sentence for each sentence of a text."""
        text = self._git("show", f"HEAD:{file}")
        return {_hash(one): one for one in _split(text)}

    def _git(self, *words: str) -> str:
        done = subprocess.run(["git", "-C", str(self._folder), *words], capture_output=True, check=True)
        return done.stdout.decode("utf-8", "replace")


def _plain_path(path: str) -> str:
    """Return a path without its suffix and `index`, as in the address of a page."""
    plain = re.sub(r"(\.[a-z]+|/)$", "", path.lower().replace("_", "-"))
    return re.sub(r"(^|/)(index|readme)$", "", plain).strip("/")


def _split(text: str) -> Iterator[str]:
    """Yield the sentences and the rows of tables, in lower case and without formatting."""
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*[-*|#+])|\|\s*\n", text):
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z])", paragraph):
            plain = " ".join(re.sub(r"[*`|#]|&nbsp;", " ", re.sub(r"[<>]", "", sentence)).lower().split())
            if len(plain) > 3:
                yield plain


def _hash(sentence: str) -> str:
    return hashlib.sha256(sentence.encode()).hexdigest()[:16]


def find_form(field: str, value: Any) -> str:
    """Return a regular expression for a fact's value in a text; empty for values that texts do not contain.

    >>> bool(re.search(find_form("home.bytes", 50 * 10**9), "each user has 50 gb of space"))
    True
    >>> bool(re.search(find_form("home.files", 500000), "no more than 500,000 files"))
    True
    """
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, int) and field.endswith("bytes"):
        sizes = [(value / factor, unit) for table in (UNITS, BINARY) for unit, factor in table.items()]
        words = [
            rf"{size:g}\s*{unit.lower()}i?b?" for size, unit in sizes if size >= 0.1 and f"{size:g}" == f"{size:.4g}"
        ]
        return rf"(?<![\d.])({'|'.join(words)})\b"
    if isinstance(value, (int, float)):
        words = [f"{value:,}", f"{value:g}", *([f"{value / 1000:g}k"] if value >= 1000 else [])]
        words += [f"{value / 10**6:g} ?m(illion)?"] if value >= 10**6 else []
        words += [f"{value / 24:g}[ -]?d(ays?)?", f"{value / 24:g}-0?0:00"] if "hours" in field and value > 24 else []
        return rf"(?<![\d.,])({'|'.join(map(str, words))})(?![\d])"
    if isinstance(value, str):
        parts = re.split(r"(\{[^}]*\})", value.lower())
        words = [r"\S{1,40}" if part.startswith("{") else re.escape(part).replace(r"\ ", r"[ =]+") for part in parts]
        return rf"(?<![a-z0-9]){''.join(words)}(?![a-z0-9])"
    return ""


def find_near(place: Sequence[str | int], value: Any) -> str:
    """Return a regular expression for the word near a number: the key of a mapping, or what is counted.

    >>> find_near(("scheduler", "partition_hours", "debug"), 1)
    'debug'
    >>> find_near(("home", "bytes"), 10**9)
    ''
    """
    names = [str(one) for one in place if not isinstance(one, int)]
    if isinstance(value, str) or not names:
        return ""
    is_key = len(names) > 1 and names[-2] in ("partition_hours", "qos_hours")
    return re.escape(names[-1].lower()) if is_key else COUNTED.get(names[-1], COUNTED.get(names[-2:][0], ""))


def list_watched() -> Iterator[Watched]:
    """Yield the facts of shipped profiles that hpc-onboard relies on, each with the page of its source."""
    for file in sorted(SHIPPED.glob("*.yml")):
        known = read_sourced(file)
        urls = {one["id"]: one.get("url", "") for one in known.profile.get("sources", ())}
        for fact in list_facts(known.tree):
            url = urlsplit(urls.get(fact.source or "", ""))
            for value in fact.value if isinstance(fact.value, list) else [fact.value]:
                form = find_form(fact.field, value)
                if is_relied_on(fact.field) and form and fact.field.rpartition(".")[2] not in OURS:
                    name = f"{file.stem} {'.'.join(map(str, fact.place))} {value}"
                    near = re.compile(find_near(fact.place, value))
                    yield Watched(name, _find_host(url), url.path, re.compile(form), near)


def _find_host(url: SplitResult) -> str:
    """Return the host of an address, on GitHub with the owner."""
    return "/".join([url.netloc, url.path.split("/")[1]]) if url.netloc == "github.com" else url.netloc


def open_clones(folder: Path) -> dict[str, Clone]:
    """Return host of the documentation -> clone, for the clones in the folder."""
    places = {host: folder / name.partition("/")[2] for host, name in REPOSITORIES.items()}
    return {host: Clone(place) for host, place in places.items() if place.exists()}


def learn(clones: dict[str, Clone]) -> dict[str, Any]:
    """Return the data to store: by host and file, the hashes of the facts' sentences, and of the warnings."""
    kept: dict[str, Any] = {}
    for one in list_watched():
        clone = clones.get(one.host)
        file = clone.find(one.page) if clone else ""
        if clone is None or not file:
            continue
        entry = kept.setdefault(f"{one.host} {file}", {"facts": {}, "warnings": _find_warnings(clone, file)})
        found = [mark for mark, sentence in clone.sentences(file).items() if one.is_in(sentence)]
        if found:
            entry["facts"][one.name] = found[0]
    return kept


def _find_warnings(clone: Clone, file: str) -> list[str]:
    return sorted(mark for mark, sentence in clone.sentences(file).items() if WARNINGS.search(sentence))


def check(clones: dict[str, Clone], kept: dict[str, Any]) -> list[str]:
    """Return a line for each change, then the facts not reached by cluster, and the numbers."""
    lines, reached = [], set[str]()
    watched = {one.name: one for one in list_watched()}
    for place, entry in kept.items():
        host, _blank, file = place.partition(" ")
        clone = clones.get(host)
        if clone is None:
            continue
        if file not in clone.files:
            moved = [name for name in clone.files if Path(name).name == Path(file).name]
            lines.append(f"{place}: the page is missing" + (f"; maybe it was moved to {moved[0]}" if moved else ""))
            continue
        sentences = clone.sentences(file)
        for name, mark in entry["facts"].items():
            reached.add(name)
            if mark not in sentences:
                lines.append(f"{name}: the sentence in {place} is missing")
            elif name in watched and not watched[name].is_in(sentences[mark]):
                lines.append(f"{name}: the sentence in {place} has a different value")
        new = [mark for mark in _find_warnings(clone, file) if mark not in entry["warnings"]]
        lines += [f"{place}: new warning: {sentences[mark][:200]}" for mark in new]
    missed: dict[str, list[str]] = {}
    for cluster, _blank, fact in (name.partition(" ") for name in watched if name not in reached):
        missed.setdefault(cluster, []).append(fact.partition(" ")[0])
    listed = [f"{NOT_REACHED}{cluster}: {', '.join(sorted(set(facts)))}" for cluster, facts in missed.items()]
    number = len(watched.keys() - reached)
    return [*lines, *listed, f"{len(reached)} facts reached, {number} not reached"]


def main() -> int:
    """Run one part. Return 1 if check found a change."""
    parser = argparse.ArgumentParser(description="Compare the facts of profiles with the documentation of the sites.")
    parser.add_argument("part", choices=("learn", "check"))
    parser.add_argument("clones", type=Path, help="the folder with the clones")
    options = parser.parse_args()
    clones = open_clones(options.clones)
    if options.part == "learn":
        kept = learn(clones)
        KEPT.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        print(f"{sum(len(one['facts']) for one in kept.values())} facts in {len(kept)} pages")
        return 0
    lines = check(clones, json.loads(KEPT.read_text(encoding="utf-8")))
    print("\n".join(lines))
    return int(any(not line.startswith(NOT_REACHED) for line in lines[:-1]))


if __name__ == "__main__":
    sys.exit(main())
