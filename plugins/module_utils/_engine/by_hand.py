# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a file does that a person runs on the login node, where no program may log in: the same engine.

Keys are asked for unseen, at a terminal alone; they are in no argument, no variable and no file but their own. What
came of it is printed, and written as an answer that is brought back: sealed, so that a changed one is known.
"""

import argparse
import getpass
import hashlib
import hmac
import json
import os
import pwd
import sys
import time
import warnings
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

from .._core import files
from .._core.account import Account, AccountPaths
from .._core.errors import AccountError, errno_name
from .._core.resource import FAILURES, Outcome
from .._core.values import check_secret
from . import engine
from .by_hand_lines import Page
from .isolation import Document
from .plan import Kinds, build_resource

SCHEMA = "hpc.onboard/script-result/1.0"
BAD, INTERRUPTED = 2, 130
TRIES = 3  # for a key that cannot be one
UNKNOWN = "unknown"  # stands for a key that was not typed, in a resource that is only named
GLANCE, PATIENCE = 10.0, 3600.0  # seconds: of one look at work of minutes, and for all of it
NEEDS_TERMINAL = (
    "keys are asked for here, unseen, and this is no terminal. Nothing was done. Log in and run it there; over ssh:"
    " ssh -t HOST python3 %s"
)


class RunRequest(NamedTuple):
    """What was asked for on the command line."""

    part: str  # onboard, audit or offboard
    work: str  # as the engine takes it
    sure: bool


def main(told: Mapping[str, Any], kinds: Kinds) -> None:
    """Do what the command line asks for; ends the program. told: what the file holds (export-script.schema.json)."""
    page = Page(sys.stdout)
    name = os.path.basename(sys.argv[0])
    try:
        code = _run(told, kinds, _wish(sys.argv[1:], name, told), page, name)
    except (AccountError, OSError) as error:
        text = str(error) if isinstance(error, AccountError) else errno_name(error)
        page.error("%s: %s" % (name, text))
        code = BAD
    except (KeyboardInterrupt, EOFError):
        page.error("\n%s: interrupted. Run it again: it goes on from what is there" % name)
        code = INTERRUPTED
    sys.stdout.flush()
    os._exit(code)  # a child that hangs in a file system is not waited for


def _wish(words: Sequence[str], name: str, told: Mapping[str, Any]) -> RunRequest:
    parser = argparse.ArgumentParser(
        prog="python3 " + name,
        description="Sets up %s, on its login node. Keys are asked for, unseen." % told["account"],
    )
    parser.add_argument("--check", action="store_true", help="foresee only: nothing is changed")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--audit", action="store_true", help="only look, and say what is not as it should be")
    what.add_argument("--offboard", action="store_true", help="take out what was made here, keys first")
    parser.add_argument("--sure", action="store_true", help="with --offboard: ask nothing")
    wish = parser.parse_args(words)
    if wish.audit:
        return RunRequest("audit", "examine", False)
    return RunRequest("offboard" if wish.offboard else "onboard", "foresee" if wish.check else "reconcile", wish.sure)


def _run(told: Mapping[str, Any], kinds: Kinds, wish: RunRequest, page: Page, name: str) -> int:
    user = pwd.getpwuid(os.getuid()).pw_name
    if user != told["user"]:
        raise AccountError("this file is for the user %s, and you are %s: nothing was done" % (told["user"], user))
    entries = told["parts"][wish.part]
    keys = _typed(told, entries, page, name)
    plan = dict(told["plan"], work=wish.work, receipt=True, seconds=engine.SECONDS)
    plan["keys"] = {key: _held(plan["fingerprint_key"], _of(key, keys), one) for key, one in plan["keys"].items()}
    if wish.part == "offboard":
        plan["only_made"] = True
        if wish.work == "reconcile" and not wish.sure and not _agreed(plan, kinds, entries, told["account"], page):
            page.say("Nothing was taken out.")
            return BAD
    started = time.time()
    answer = _answered(plan, kinds, entries, keys, page)
    if answer["error"]:
        raise AccountError(answer["error"])
    bad = page.account(told["account"], wish.part, wish.work, answer, time.time() - started)
    if wish.work == "foresee":
        page.say("Nothing was changed.")
        return BAD if bad else 0
    _leave(told, wish, answer, page)
    return BAD if bad else 0


def _agreed(plan: Mapping[str, Any], kinds: Kinds, entries: List[Document], account: str, page: Page) -> bool:
    """Whether the person wants that taken out, having seen it."""
    if not sys.stdin.isatty():
        raise AccountError("nobody can be asked here whether that is to be taken out: add --sure. Nothing was done")
    foreseen = _answered(dict(plan, work="foresee"), kinds, entries, {}, page)
    if foreseen["error"]:
        raise AccountError(foreseen["error"])
    page.account(account, "offboard", "foresee", foreseen, 0.0)
    return input("Take this out? yes or no: ").strip().lower() in ("y", "yes")


# -- keys --------------------------------------------------------------------------------------


def _typed(told: Mapping[str, Any], entries: List[Document], page: Page, name: str) -> Dict[str, str]:
    """The keys that the entries need, by the name that they have there; one that was not typed is left out."""
    wanted = sorted({entry["key"] for entry in entries if entry.get("key")})
    if wanted and not sys.stdin.isatty():
        raise AccountError(NEEDS_TERMINAL % name)
    typed = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)  # it would be seen
        for key in wanted:
            value = _asked(told["questions"][key], page, name)
            if value:
                typed[key] = value
    return typed


def _asked(question: str, page: Page, name: str) -> str:
    """One key; empty where the person has none."""
    for _try in range(TRIES):
        try:
            value = getpass.getpass("%s (not shown; Enter: without it): " % question).strip()
        except getpass.GetPassWarning:
            raise AccountError(NEEDS_TERMINAL % name) from None
        if not value:
            return ""
        try:
            check_secret(value)
        except AccountError:
            page.say("That cannot be a key: it holds a character that no key has. Copy the whole of it again.")
        else:
            return value
    raise AccountError("no key was typed that can be one: nothing was done")


def _held(fingerprint_key: str, value: Optional[str], known: Document) -> Document:
    """What is known of the rotations of a key, with the fingerprint of the one that was typed."""
    if value is None:
        return known
    names = AccountPaths(Account("", ""), bytes.fromhex(fingerprint_key))
    return dict(known, held=[names.fingerprint(value)])


def _of(name: str, keys: Mapping[str, str]) -> Optional[str]:
    """The key of that name that was typed, which an entry calls NAME or NAME@VERSION."""
    return next((value for key, value in keys.items() if key.partition("@")[0] == name), None)


def _whole(entry: Document, value: Optional[str]) -> Document:
    """An entry with its key in it."""
    return dict(entry, options=dict(entry["options"], password=UNKNOWN if value is None else value))


# -- the work ----------------------------------------------------------------------------------


def _answered(
    plan: Mapping[str, Any], kinds: Kinds, entries: List[Document], keys: Mapping[str, str], page: Page
) -> Document:
    """What the engine answers when nothing is under way any more; an outcome for each entry, in their order."""
    ready = [at for at, entry in enumerate(entries) if not entry.get("key") or entry["key"] in keys]
    sent = [_whole(entries[at], keys[entries[at]["key"]]) if entries[at].get("key") else entries[at] for at in ready]
    sys.stdout.flush()  # before the engine's children are forked
    answer = _settled(dict(plan, resources=sent), kinds, page)
    if answer["error"]:
        return answer
    found = dict(zip(ready, answer["outcomes"]))
    answer["outcomes"] = [found[at] if at in found else _unmet(entry, kinds) for at, entry in enumerate(entries)]
    return answer


def _unmet(entry: Document, kinds: Kinds) -> Document:
    """The outcome of what needs a key that was not typed."""
    why = "the key '%s' was not typed: run this again when you have it" % entry["key"].partition("@")[0]
    outcome = Outcome.unmet(build_resource(_whole(entry, None), kinds).identity, "failed", why).document()
    outcome.pop("folders")
    return dict(outcome, capability=entry["capability"])


def _settled(plan: Document, kinds: Kinds, page: Page) -> Document:
    """The answer, when the work that goes on by itself has ended."""
    answer = engine.answer(plan, kinds)
    if answer["error"] or plan["work"] != "reconcile":
        return answer
    deadline, shown = time.time() + PATIENCE, ""
    seen = answer
    while any(_is_under_way(one) for one in seen["outcomes"]) and time.time() < deadline:
        step = next(str(one["progress"]["step"]) for one in seen["outcomes"] if _is_under_way(one))
        if step != shown:
            page.say("  under way: %s" % step)
            sys.stdout.flush()
            shown = step
        seen = engine.answer(dict(plan, work="follow", follow_seconds=GLANCE), kinds)
        if seen["error"]:
            return seen
    if shown:
        seen = engine.answer(dict(plan, work="examine"), kinds)
        if seen["error"]:
            return seen
        answer["receipt"] = seen["receipt"] or answer["receipt"]
    pairs = zip(answer["outcomes"], seen["outcomes"])
    answer["outcomes"] = [_ended(first, then) if first["progress"] else first for first, then in pairs]
    return answer


def _is_under_way(outcome: Document) -> bool:
    return bool(outcome["progress"]) and "failed" not in outcome["progress"]


def _ended(first: Document, then: Document) -> Document:
    """What was found first, with what has come of it."""
    progress = then["progress"]
    if progress and "failed" in progress:
        return dict(first, status="failed", reason=progress["failed"], progress=None)
    if progress:
        why = "still at it (%s), and goes on by itself: run this again to see" % progress["step"]
        return dict(first, status="unknown", reason=why, progress=None)
    if then["status"] in FAILURES or then["fields"]:
        why = then["reason"] or "it ended, and is still not up to date: " + ", ".join(then["fields"])
        return dict(first, status="failed", reason=why, progress=None)
    return dict(first, progress=None)


# -- the answer --------------------------------------------------------------------------------


def _leave(told: Mapping[str, Any], wish: RunRequest, answer: Document, page: Page) -> None:
    """Write the answer into the home, for its owner alone, and say how it is brought back."""
    name = "hpc-onboard-%s-%s.json" % (told["plan"]["cluster"], wish.part)
    folder = os.open(answer["account"]["home"], os.O_RDONLY | os.O_DIRECTORY)
    try:
        files.replace(folder, name, seal_result(told, wish.part, wish.work, answer), 0o600, {})
    except OSError as error:
        raise AccountError("what was done is done, and the answer ~/%s: %s" % (name, errno_name(error))) from None
    finally:
        os.close(folder)
    page.say("The answer is in ~/%s; no key is in it." % name)
    page.say("Bring it back, on your machine:")
    page.say("  scp %s:%s ." % (told["ssh_target"], name))
    page.say("  hpc-onboard import-result %s" % name)


def seal_result(told: Mapping[str, Any], part: str, work: str, answer: Document) -> bytes:
    """The answer as it is brought back: a JSON document, and over it a seal that this file alone can make."""
    document = {
        "schema": SCHEMA,
        "script": told["script"],
        "account": told["account"],
        "part": part,
        "work": work,
        "run": os.urandom(8).hex(),
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "answer": answer,
    }
    text = json.dumps(document, sort_keys=True)
    seal = hmac.new(bytes.fromhex(told["seal_key"]), text.encode("utf-8"), hashlib.sha256).hexdigest()
    return (json.dumps(dict(document, seal=seal), sort_keys=True) + "\n").encode("utf-8")
