# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The script that the user runs on the login node: the engine and the plans of one account in one Python program.

The engine is hpc-onboard's program for accounts; a plan lists the resources that it creates, changes or removes.

The script contains no keys. It contains the salt of their fingerprints, but no fingerprints, because guesses at a key
can be tested with both.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from .._delivery import payload

if TYPE_CHECKING:
    from .._documents.declaration import PlanEntry

SCHEMA = "hpc.onboard/export-script/1.0"
MAIN_MODULE = "_engine.exported_script"  # of the engine; runs the script on the account
WIDTH = 76  # characters of a line of data
HEAD = '''\
#!/usr/bin/env python3
"""hpc.onboard {version}: sets up {account}, where no program may log in. Run this script on the login node:

    python3 {file}             set up the account; a second run changes nothing
    python3 {file} --check     show the changes, but do not make them
    python3 {file} --audit     only audit the account
    python3 {file} --offboard  remove what the script created

The script asks for keys and hides your input. The script itself contains no keys. It was written on {made}.
"""
import os
import sys

if sys.version_info < (3, 6):
    sys.exit("This is Python %d.%d, but the script needs 3.6 or newer. Try python3.11, or load a module with a newer"
             " Python" % sys.version_info[:2])
if not sys.flags.isolated and sys.executable:  # so that no file in this folder is imported
    os.execv(sys.executable, [sys.executable, "-I", "-S", os.path.abspath(__file__)] + sys.argv[1:])
import binascii
import json
import zlib

BLOCKS = """
{blocks}
"""
payload, blocks = {{}}, [binascii.a2b_base64(block) for block in BLOCKS.split("#")[1:]]
engine = zlib.decompress(blocks[0])  # the dictionary of its modules
for block in blocks:
    payload.update(json.loads(zlib.decompressobj(zdict=engine).decompress(block).decode()))
exec(payload["boot"], {{"payload": payload}})
'''
BOOT = (
    payload.LOADER
    + """
script = payload["script"]
kinds = kinds_of([entry for entries in script["parts"].values() for entry in entries])
__import__("hpc_onboard._engine.exported_script", fromlist=["main"]).main(script, kinds)
"""
)


class ScriptData(TypedDict):
    """The data in a script, in addition to the engine (docs/schemas/export-script.schema.json).

    script: its id. user: the user name on the account. ssh_target: arguments of ssh and scp for the account. seal_key:
    signs the results; hexadecimal. questions: the description of each key, for its prompt. plan: shared by all parts.
    parts: onboard, audit and offboard, each with its entries.
    """

    schema: str
    script: str
    account: str
    user: str
    ssh_target: str
    seal_key: str
    questions: dict[str, str]
    plan: dict[str, Any]
    parts: dict[str, list[PlanEntry]]


def render_script(data: ScriptData, kinds: Mapping[str, str], file: str, made: str, version: str) -> str:
    """Return the text of the script. data: the data in the script, in addition to the engine.

    kinds: the import path of each resource type. file: the name of the script's file. made: the date. version:
    of hpc.onboard.
    """
    entries = [entry for part in data["parts"].values() for entry in part]
    # BOOT is the Python code that starts the engine
    blocks = payload.build_blocks(entries, kinds, {"boot": BOOT, "script": data}, MAIN_MODULE)
    lines = [line for block in blocks for line in textwrap.wrap(block.strip(), WIDTH, break_on_hyphens=False)]
    return HEAD.format(version=version, account=data["account"], file=file, made=made, blocks="\n".join(lines))


def remove_keys(entries: Iterable[PlanEntry]) -> list[PlanEntry]:
    """Return the entries without keys and fingerprints."""
    return [{**entry, "options": _remove_key(entry["options"])} for entry in entries]


def _remove_key(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of an entry without the key, and without fingerprints of known keys."""
    others = {name: value for name, value in options.items() if name != "password"}
    # `known` maps fingerprints of keys to names (key_leftovers)
    return {**others, "known": {}} if "known" in others else others
