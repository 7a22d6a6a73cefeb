# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What this machine remembers, in one file for another one: receipts, ledger, labels, audits, runs, steps; no key.

The ledger's signatures are made with a key that never leaves a machine. So the records travel without them, after they
were verified here, and are signed anew where they arrive. Whoever can change the file on its way can change what it
says: its checksum is said on both sides, to be compared. Of keys it holds no value and nothing that one could be
tried against: fingerprints are keyed hashes, cut to twelve digits, and the sealed hashes stay behind.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...module_utils._core import document_version
from ...module_utils._core.errors import AccountError, errno_name
from .._rotation.ledger import Ledger, LedgerError, now, record_key
from .._secrets import versions
from .._secrets.version_store import BELOW, Sidecar
from .._secrets.versions import Secret, VersionError
from .._state import audit_history, last_runs, receipts, said_done
from .._state.fingerprint_key import machine_id, state_folder
from .._state.signed_record import canonical
from .._text.amounts import count

SCHEMA = "hpc.onboard/state/1.1"
LARGEST = 256 * 1024 * 1024
RECEIPT, PLACE = re.compile(r"[A-Za-z0-9_%+@-][A-Za-z0-9_.%+@-]{0,250}\.json"), re.compile(r"[0-9a-f]{12}")
AGAIN = "export it again on the other machine"


@dataclass
class Imported:
    """What an import has added, as counts; kept: what was newer here and stayed."""

    notes: int = 0
    records: int = 0
    secrets: list[str] = field(default_factory=list)
    findings: int = 0
    runs: int = 0
    last_runs: int = 0
    steps: int = 0
    kept: list[str] = field(default_factory=list)


def checksum(document: Mapping[str, Any]) -> str:
    """What is compared on both sides: of all that the document says."""
    rest = {name: value for name, value in document.items() if name != "checksum"}
    return hashlib.sha256(canonical(rest).encode()).hexdigest()


def collect() -> dict[str, Any]:
    """All that this machine remembers, as the document that travels. Raises what is damaged or was edited."""
    key = record_key()
    names = sorted(path.stem for path in (state_folder() / BELOW).glob("*.json"))
    secrets = {name: Sidecar(name, key).secret() for name in names}
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "made": now(),
        "machine": machine_id(key),
        "receipts": receipts.exported(),
        "ledger": Ledger(key).told(),
        "labels": {name: versions.document(_unsealed(one), 0) for name, one in secrets.items() if one},
        "audits": audit_history.exported(),
        "last_runs": last_runs.exported(),
        "steps": said_done.marks(),
    }
    return {**document, "checksum": checksum(document)}


def _unsealed(secret: Secret) -> Secret:
    """The secret without what only this machine can open."""
    return replace(secret, versions=tuple(replace(one, sealed="") for one in secret.versions))


def export(file: Path) -> dict[str, Any]:
    """Write all of it to a new file, for its owner alone; gives the document. Raises AccountError, StateError."""
    document = collect()
    text = json.dumps(document, indent=1, sort_keys=True).encode() + b"\n"
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(handle)
    except FileExistsError:
        raise AccountError(f"{file} is there already: name another file, or move it away") from None
    except OSError as error:
        raise AccountError(f"{file}: {errno_name(error)}: name another place") from None
    return document


def read(file: Path) -> dict[str, Any]:
    """The document of a file, checked as a whole before anything of it is taken. Raises AccountError."""
    try:
        with file.open("rb") as stream:
            content = stream.read(LARGEST + 1)
    except OSError as error:
        raise AccountError(f"{file}: {errno_name(error)}: name a file that state export wrote") from None
    try:
        found = json.loads(content)
        why = document_version.refusal(found["schema"], SCHEMA, str(file), AGAIN)
        if why:
            raise AccountError(why)
        if len(content) > LARGEST or found["checksum"] != checksum(found):
            raise AccountError(f"{file} was changed or cut on its way: {AGAIN}")
        _check_parts(found)
    except VersionError as error:
        raise AccountError(f"{file}: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise AccountError(f"{file} is no state of hpc.onboard: {AGAIN}") from None
    return dict(found)


def _check_parts(found: Mapping[str, Any]) -> None:
    """Raise what a damaged part raises; its names become names of files here, and the ledger looks at its records."""
    for name, receipt in found["receipts"].items():
        if not RECEIPT.fullmatch(name):
            raise ValueError(name)
        receipts.check(receipt, name)
    for name, labels in found["labels"].items():
        versions.of_document(labels, Sidecar(name, b"").name)
    for place, known in found["audits"]["known"].items():
        if not PLACE.fullmatch(place) or not all(isinstance(one, dict) for one in known["findings"].values()):
            raise ValueError(place)
    if not all(isinstance(one, dict) for one in (*found["ledger"], *found["audits"]["runs"])):
        raise ValueError("a line")
    last_runs.check(found.get("last_runs", []))
    said_done.check(found.get("steps", {}))


def adopt(document: Mapping[str, Any]) -> Imported:
    """Take over what the document of another machine says and this one does not know yet.

    Raises LedgerError, before anything is changed, where both machines have rotated a key since they knew the same.
    Killed in between, the same import goes on.
    """
    key, done = record_key(), Imported()
    ledger = Ledger(key)
    mine, theirs = ledger.told(), [dict(one) for one in document["ledger"]]
    new, own = _without(theirs, mine), _without(mine, theirs)
    both = _rotated(new) & _rotated(own)
    if both:
        raise LedgerError(
            f"both machines have rotated {', '.join(sorted(both))} since: give it up on one of them first"
        )
    if own:
        done.kept.append(f"the ledger, which has {count(len(own), 'record')} more here")
    ledger.add(new)
    done.records = len(new)
    ahead = {one["secret"] for one in own} - {one["secret"] for one in new}
    for name, labels in document["labels"].items():
        sidecar, secret = Sidecar(name, key), versions.of_document(labels, name)
        known = sidecar.secret()
        if known and (name in ahead or _unsealed(known) == secret):
            continue
        sidecar.put(_with_own(secret, known))
        done.secrets.append(name)
    for file, receipt in document["receipts"].items():
        done.notes += receipts.merge(file, receipt)
    done.findings, done.runs = audit_history.merge(document["audits"])
    done.last_runs = last_runs.merge(document.get("last_runs", []))  # 1.0 had neither
    done.steps = said_done.merge(document.get("steps", {}))
    return done


def _without(some: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records, as they are told, that are not among others, in their order."""
    left = Counter(canonical(one) for one in others)
    found = []
    for one in some:
        text = canonical(one)
        if left[text]:
            left[text] -= 1
        else:
            found.append(one)
    return found


def _rotated(told: Sequence[Mapping[str, Any]]) -> set[str]:
    """The secrets of which records, as they are told, move a version on that is not given up in them."""
    brought = {(one["secret"], one["version"]) for one in told if one["step"] not in ("plan", "excuse", "abort")}
    ended = {(one["secret"], one["version"]) for one in told if (one["step"], one["result"]) == ("abort", "ok")}
    return {secret for secret, _version in brought - ended}


def _with_own(secret: Secret, known: Secret | None) -> Secret:
    """The versions, with what only this machine knows: sealed hashes, and versions that were given up here."""
    if known is None:
        return secret
    seals, theirs = {one.id: one.sealed for one in known.versions}, {one.id for one in secret.versions}
    given_up = [one for one in known.versions if one.id not in theirs and one.label in ("retired", "dead", "purged")]
    every = [replace(one, sealed=seals.get(one.id, "")) for one in secret.versions]
    return replace(secret, versions=(*given_up, *every))
