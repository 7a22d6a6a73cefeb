# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine as a file on the account, so that later sessions send the plan alone and compile nothing.

The file is next to the receipt, the account's record of what hpc-onboard created. Its first line begins with NUL, so
that no search reads the file as text, and contains an index: module -> [offset after the line, bytes, hash]. The
modules follow as Python's bytecode. The sender, the user's machine, knows the digest of the index, and its loader
checks every module that it loads, so a changed file is not run. The file is named after the digest, so machines with
the same engine share the file. If a session does not find the expected file, the session ends, and the sender sends the
whole engine in a second one.
"""

import json
import marshal
import os
import sys
from types import CodeType
from typing import Any, Dict, List, Mapping, Optional

from .._core.account import Account
from .._core.host import Host
from .._core.resource import CHANGES, FAILURES, Resource, State, examine, reconcile
from .._core.values import KEPT_ENGINE
from .._receipt.engine_files import find_engines
from .isolation import Document, Pass, run_isolated
from .plan import SECONDS

try:
    from _blake2 import blake2b as _hash  # takes less than half the time of SHA-256

    _hash()
except (ImportError, ValueError):  # a site's FIPS rules may forbid BLAKE2
    from hashlib import sha256 as _hash  # type: ignore[assignment]

MARSHAL_FORMAT = 2  # the newest format without references, which differ from one run of Python to the next
MOST_FILES = 3  # other machines may use other versions of Python or of hpc-onboard, each with its own file


class KeptEngine(Resource):
    """The engine's file as a resource. content: of the file; None if the account must have no engine file."""

    KIND = "kept_engine"

    def __init__(self, content: Optional[bytes]) -> None:
        self._content = content
        # of the index, which is the first line
        self.digest = hash_content(content.partition(b"\n")[0]) if content else ""
        super().__init__(options={})

    def name(self) -> str:
        """Return the same name for all engines, with the beginning of their paths."""
        return "engine ~/" + KEPT_ENGINE

    def touches(self, host: Host) -> List[str]:
        """Return a list with the path of this engine's file, which ends with the beginning of the digest."""
        return [os.path.join(host.home, KEPT_ENGINE + self.digest[:16])]

    def desired(self, host: Host) -> State:
        """Return {file name: "whole"}, or {} if no engine is to be kept."""
        return {os.path.basename(path): "whole" for path in self.touches(host) if self._content}

    def inspect(self, host: Host) -> State:
        """Return the state of this engine's file, or of the files of all engines if no engine is to be kept.

        The state is {file name: "whole"} for a file with the content of this engine, {file name: "other"} for any other
        file, and {} without a file.
        """
        if not self._content:
            return {os.path.basename(path): "other" for path in find_engines(host)}
        (path,) = self.touches(host)
        entry = host.entry(path)
        if entry is None:
            return {}
        is_whole = entry.kind == "file" and entry.mode == 0o600 and host.read(path) == self._content
        return {os.path.basename(path): "whole" if is_whole else "other"}

    def apply(self, host: Host) -> None:
        """Write the file, and keep at most MOST_FILES files; if no engine is to be kept, remove all files."""
        other_files = [path for path in find_engines(host) if path not in self.touches(host)]
        surplus_files = other_files[MOST_FILES - 1 :] if self._content else other_files
        for path in surplus_files:
            host.remove(path)
        if self._content:
            (path,) = self.touches(host)
            old = host.read(path) if host.entry(path) else None
            host.write(path, old, self._content, 0o600, private=True)


def pack_engine(sources: Mapping[str, Optional[str]]) -> bytes:
    """Return the content of the engine's file. sources: name of a module -> its source; None for a package."""
    index: Dict[str, Optional[List[Any]]] = {}
    parts: List[bytes] = []
    for name in sorted(sources):
        source = sources[name]
        index[name] = None  # a package has no code
        if source is not None:
            part = _dump_code(compile(source, name + ".py", "exec"))
            offset = sum(map(len, parts))
            index[name] = [offset, len(part), hash_content(part)]
            parts.append(part)
    return b"".join([b"\0", json.dumps(index, sort_keys=True).encode("ascii"), b"\n", *parts])


def hash_content(content: bytes) -> str:
    """Return 64 hexadecimal digits, as the loader that the sender sends computes them (LOADER in payload.py)."""
    return str(_hash(content).hexdigest()[:64])


def _dump_code(code: CodeType) -> bytes:
    """Return compiled code as bytes that are the same in every run."""
    try:
        return marshal.dumps(code, MARSHAL_FORMAT)
    except ValueError:  # some code of newer Pythons cannot be written in the old format
        return marshal.dumps(code)


def keep_or_drop_engine(payload: Mapping[str, Any]) -> Optional[Document]:
    """Keep the engine of this payload on the account if plan["engine"] is "keep"; else remove all kept engines.

    Return an object with Python's cache tag ("python") and the "digest" of the kept file; None if no file was kept.
    """
    plan = payload["plan"]
    account = Account.of_this_process(plan.get("sandbox"))
    fingerprint_key, root = bytes.fromhex(plan["fingerprint_key"]), str((plan.get("sandbox") or {}).get("root", ""))
    is_kept = plan["engine"] == "keep"
    package = __name__.partition(".")[0]  # the payload contains the modules by name, next to other fields
    sources = {name: source for name, source in payload.items() if name.split(".")[0] == package}
    engine = KeptEngine(pack_engine(sources) if is_kept else None)
    seconds = float(plan.get("seconds") or SECONDS)

    def make_host() -> Host:
        return Host(account, fingerprint_key, root)

    (outcome,) = run_isolated([engine], Pass(make_host, examine, locked=False, seconds=seconds))
    if outcome["status"] in CHANGES:
        (outcome,) = run_isolated([engine], Pass(make_host, reconcile, locked=True, seconds=seconds))
    python = sys.implementation.cache_tag
    if outcome["status"] in FAILURES or not is_kept or not python:
        return None
    return {"python": python, "digest": engine.digest}
