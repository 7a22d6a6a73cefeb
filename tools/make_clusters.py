"""Write docs/clusters.md, the table of the profiles that ship. With --print, show it instead.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]

HEAD = """# Clusters

Made by `tools/make_clusters.py` from the profiles in `inventory/clusters/`. Each profile names its sources;
what is not known is absent there. *documented*: taken from what the site publishes; *legacy*: from older or
third-party texts, may no longer hold; *verified*: tried on the cluster itself.

| cluster | status | compared on | login | signing in | containers | storage | links | conda |
|---|---|---|---|---|---|---|---|---|
"""

AUTH = {
    "key": "SSH key",
    "key_otp": "key or password, and a second factor",
    "certificate": "signed key",
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
    facts = [f"`{entry['name']}`: {where if where == 'path by account' else f'`{where}`'}"]
    facts += [size(entry["bytes"])] if "bytes" in entry else []
    facts += [f"{entry['files']} files"] if "files" in entry else []
    facts += [f"purged after {entry['purge']['days']} days"] if "purge" in entry else []
    return ", ".join(facts)


def row(profile: dict[str, Any]) -> str:
    """One line of the table."""
    third = any(source.get("third_party") for source in profile["sources"]) or "third-party" in str(profile)
    auth, login = profile["auth"], profile["login"]
    signing = AUTH[auth["archetype"]] + (f", {auth['certificate_hours']} h" if "certificate_hours" in auth else "")
    cells = [
        f"[`{profile['id']}`](../inventory/clusters/{profile['id']}.yml) {profile['name']}",
        profile["status"] + (", in part by third parties" if third else ""),
        str(profile["verified_on"]),
        f"`{login['host']}`" + (f" through `{login['jump']['host']}`" if "jump" in login else ""),
        signing,
        profile["container"]["runtime"],
        "<br>".join(map(area, profile["storage"])),
        profile["links"]["by"],
        profile["conda"]["policy"],
    ]
    return "| " + " | ".join(cells) + " |"


def page() -> str:
    """The whole page."""
    files = sorted((ROOT / "inventory" / "clusters").glob("*.yml"))
    return HEAD + "\n".join(row(yaml.safe_load(file.read_text(encoding="utf-8"))) for file in files) + "\n"


if __name__ == "__main__":
    if "--print" in sys.argv[1:]:
        sys.stdout.write(page())
    else:
        (ROOT / "docs" / "clusters.md").write_text(page(), encoding="utf-8")
