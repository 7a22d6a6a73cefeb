"""Write docs/clusters.md, the table of the profiles that ship, and docs/clusters, a page each. With --print, show them.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "collections"))

from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.facts import Fact, facts  # noqa: E402  # the path comes first
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.fields import CHOSEN  # noqa: E402
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import SHIPPED, Catalogue, Known  # noqa: E402

HEAD = """# Clusters

Made by `tools/make_clusters.py` from the profiles in `inventory/clusters/`. The page of a cluster has every fact with
its source and the day of it; what is not known is absent. *documented*: taken from what the site publishes; *legacy*:
from older or third-party texts, may no longer hold; *closing*: the site will shut it down; *verified*: tried on the
cluster itself. What a profile can say: [cluster.schema.json](schemas/cluster.schema.json); how one is written:
[below](#a-profile-of-your-own).

| cluster | status | compared on | login | signing in | containers | storage | links | conda |
|---|---|---|---|---|---|---|---|---|
"""

FOOT = """
## A profile of your own

A file `our-clusters/attic.yml` in a folder that the accounts file names under `profiles:`. Begin with `format: 2` and
the sources, each with a short `id` and the `date` of the text, or the day on which it was `read`. A section names its
source once; a fact that has another one is written with it:

```yaml
sources:
  - {id: manual, url: https://example.org/manual, what: storage, date: 2026-01-29}
  - {id: news, url: https://example.org/news, what: the new quota, date: 2026-03-04}
home:
  path: /home/{user}
  bytes: {value: 50000000000, source: news}
  source: manual
```

Everything that a program relies on needs a source; the words that only people read may do without. `extends: alliance`
begins with the facts of a family (`inventory/clusters/families`, or a folder `families` beside the file): say what
differs, and in `without:` what of it does not hold. Profiles of the first format, which had no dates, load as they are.
How to begin one, and check it: [A cluster of your own](own_cluster.md).
`$schema` for an editor: [profile.schema.json](schemas/profile.schema.json).
"""

AUTH = {
    "key": "SSH key",
    "key_otp": "key or password, and a second factor",
    "key_then_otp": "key, then a second factor; no password",
    "password_otp": "password and a second factor, no key",
    "session": "key, after a second factor once a session",
    "certificate": "signed key",
    "agent_certificate": "signed key in a forwarded agent",
    "kerberos": "Kerberos ticket",
    "password": "password",
}


def size(number: int) -> str:
    """Bytes as a person says them."""
    for unit, factor in (("TB", 10**12), ("GB", 10**9)):
        if number >= factor:
            return f"{number / factor:g} {unit}"
    return f"{number} B"


def area(entry: dict[str, Any]) -> str:
    """One storage area: where it is, how much it holds, when it is purged."""
    where = entry.get("path") or entry.get("variable") or "path by account"
    said = [f"`{entry['name']}`: {where if where == 'path by account' else f'`{where}`'}"]
    said += [size(entry["bytes"])] if "bytes" in entry else []
    said += [f"{entry['files']} files"] if "files" in entry else []
    said += [f"purged after {entry['purge']['days']} days"] if "purge" in entry else []
    return ", ".join(said)


def row(profile: dict[str, Any]) -> str:
    """One line of the table."""
    third = any(source.get("third_party") for source in profile["sources"])
    auth, login, container = profile["auth"], profile["login"], profile["container"]
    signing = AUTH[auth["archetype"]] + (f", {auth['certificate_hours']} h" if "certificate_hours" in auth else "")
    cells = [
        f"[`{profile['id']}`](clusters/{profile['id']}.md) {profile['name']}",
        profile["status"] + (", in part by third parties" if third else ""),
        str(profile["verified_on"]),
        f"`{login['host']}`" + (f" through `{login['jump']['host']}`" if "jump" in login else ""),
        signing,
        ", ".join([container["runtime"], *container.get("further", [])]),
        "<br>".join(map(area, profile["storage"])),
        profile["links"]["by"],
        profile["conda"]["policy"],
    ]
    return "| " + " | ".join(cells) + " |"


def cluster_page(known: Known) -> str:
    """The page of one cluster: its facts by section, what a person has to do, and the sources."""
    profile = known.profile
    lines = [
        f"# {profile['name']}",
        "",
        f"`{profile['id']}`, {profile['status']}; compared with its sources on {profile['verified_on']}. Made by",
        f"`tools/make_clusters.py` from `inventory/clusters/{profile['id']}.yml`; [all clusters](../clusters.md).",
    ]
    sources = {source["id"]: source for source in profile["sources"]}
    section = ""
    for fact in facts(known.tree):
        if fact.field == "storage[].name":
            continue
        if fact.place[0] != section:
            section = str(fact.place[0])
            lines += [
                "",
                f"## {section.replace('_', ' ')}",
                "",
                "| fact | value | source | date |",
                "|---|---|---|---|",
            ]
        lines.append(fact_row(fact, profile, sources))
    lines += ["", "## what only a person can do", "", *steps(profile)]
    lines += ["", "## sources", "", *map(source_line, sources.values())]
    return "\n".join(lines) + "\n"


def fact_row(fact: Fact, profile: dict[str, Any], sources: dict[str, Any]) -> str:
    """One fact as a line of a table."""
    names = [str(step) for step in fact.place[1:]]
    if fact.place[0] in ("storage", "launchers"):
        names[0] = profile[str(fact.place[0])][fact.place[1]]["name"]
    source = sources.get(fact.source, {})
    if fact.field in CHOSEN:  # our own word, although its section has a source
        said = ("chosen by us", "")
    else:
        said = (f"[{fact.source}](#sources)", fact.date or "") if source else ("", "")
    cells = [" ".join(names) or str(fact.place[0]), shown(fact), *said]
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def shown(fact: Fact) -> str:
    """The value of a fact as a person reads it."""
    if fact.field.endswith("bytes"):
        return size(fact.value)
    if isinstance(fact.value, bool):
        return "yes" if fact.value else "no"
    if isinstance(fact.value, list):
        return ", ".join(f"`{item}`" for item in fact.value)
    text = str(fact.value)
    is_words = fact.field.rpartition(".")[2].removesuffix("[]") in WORDS or (" " in text and text[0] not in "-~")
    return text if is_words else f"`{text}`"


WORDS = {"note", "notes", "why", "instead", "ask", "policies", "traps", "network", "second_factor", "os", "what"}


def steps(profile: dict[str, Any]) -> Iterator[str]:
    """The steps that only a person can take, in order."""
    for number, step in enumerate(profile.get("human_steps", []), 1):
        yield f"{number}. {step['text']}" + (f" <{step['url']}>" if "url" in step else "")


def source_line(source: dict[str, Any]) -> str:
    """One source, with what was taken from it."""
    when = source.get("date") or f"read {source['read']}"
    third = ", by third parties" if source.get("third_party") else ""
    return (
        f"* **{source['id']}**: "
        + (f"<{source['url']}>, " if "url" in source else "")
        + f"{source['what']} ({when}{third})"
    )


def pages() -> dict[Path, str]:
    """Every page, by its file."""
    catalogue = Catalogue((SHIPPED,))
    known = [one for name in sorted(catalogue.ids()) if (one := catalogue.known(name))]
    docs = ROOT / "docs"
    table = HEAD + "\n".join(row(one.profile) for one in known) + "\n" + FOOT
    return {
        docs / "clusters.md": table,
        **{docs / "clusters" / f"{one.profile['id']}.md": cluster_page(one) for one in known},
    }


if __name__ == "__main__":
    for file, text in pages().items():
        if "--print" in sys.argv[1:]:
            sys.stdout.write(f"=== {file.relative_to(ROOT)}\n{text}")
        else:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
