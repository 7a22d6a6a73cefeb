# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file that a person runs on the login node: the engine and the plans of one account in one Python program.

No key is in it, and no fingerprint of one: it holds what fingerprints are made with there, and whoever found both could
try guesses.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from .._delivery import payload

if TYPE_CHECKING:
    from .._documents.declaration import PlanEntry

SCHEMA = "hpc.onboard/export/1.0"
BY_HAND = "_engine.by_hand"
WIDTH = 76
HEAD = '''\
#!/usr/bin/env python3
"""hpc.onboard {tool}: sets up {account}, where no program may log in. Run it on the login node:

    python3 {file}             set up; a second run changes nothing
    python3 {file} --check     say what it would do
    python3 {file} --audit     only look
    python3 {file} --offboard  take out what it made

Keys are asked for, unseen; none is in here. Made on {made}.
"""
import os
import sys

if sys.version_info < (3, 6):
    sys.exit("Python 3.6 or newer is needed, this is %d.%d: try python3.11, say, or module load" % sys.version_info[:2])
if not sys.flags.isolated and sys.executable:  # nothing that lies about here is loaded
    os.execv(sys.executable, [sys.executable, "-I", "-S", os.path.abspath(__file__)] + sys.argv[1:])
import binascii
import json
import zlib

BLOCKS = """
{blocks}
"""
payload = {{}}
for block in BLOCKS.split("#")[1:]:
    payload.update(json.loads(zlib.decompress(binascii.a2b_base64(block)).decode()))
exec(payload["by_hand"], {{"payload": payload}})
'''
BOOT = (
    payload.LOADER
    + """
told = payload["export"]
kinds = kinds_of([entry for entries in told["parts"].values() for entry in entries])
__import__("hpc_onboard._engine.by_hand", fromlist=["main"]).main(told, kinds)
"""
)


class Export(TypedDict):
    """What the file holds beside the engine (docs/schemas/export.schema.json).

    export: the file's id. user: whose it is there. way: where a person's ssh gets to it. seal:
    the key, in hexadecimal, that its answers are sealed with. asks: by key, what is asked for. plan: what all parts
    share. parts: by what can be done, the entries.
    """

    schema: str
    export: str
    account: str
    user: str
    way: str
    seal: str
    asks: dict[str, str]
    plan: dict[str, Any]
    parts: dict[str, list[PlanEntry]]


def written(export: Export, kinds: Mapping[str, str], file: str, made: str, tool: str) -> str:
    """The text of the file. kinds: the places of all that there are. file: its name. made: the day, for people."""
    entries = [entry for part in export["parts"].values() for entry in part]
    blocks = payload.program(entries, kinds, {"by_hand": BOOT, "export": export}, BY_HAND)
    lines = "\n".join(line for block in blocks for line in _lines(block))
    return HEAD.format(tool=tool, account=export["account"], file=file, made=made, blocks=lines)


def _lines(block: str) -> list[str]:
    """A block in lines that survive a terminal."""
    return textwrap.wrap(block.strip(), WIDTH, break_on_hyphens=False)


def without_keys(entries: Iterable[PlanEntry]) -> list[PlanEntry]:
    """The entries as they are sent, without keys and fingerprints."""
    return [{**entry, "options": _harmless(entry["options"])} for entry in entries]


def _harmless(options: Mapping[str, Any]) -> dict[str, Any]:
    left = {name: value for name, value in options.items() if name != "password"}
    return {**left, "known": {}} if "known" in left else left
