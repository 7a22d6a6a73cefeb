# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program of an exported script, which the user runs on a login node that allows no automation: the same engine.

It prompts for keys on a terminal, without echo; they are in no argument, variable or file but their own. It prints what
was done and writes it as a signed result, so that importing it shows if it was changed.
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
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence

from .._core import files
from .._core.account import Account, AccountPaths
from .._core.errors import AccountError, errno_name
from .._core.resource import FAILURES, Outcome
from .._core.values import check_secret
from . import engine
from .isolation import Document
from .plan import SECONDS, Kinds, build_resource
from .script_output import ScriptOutput

SCHEMA = "hpc.onboard/script-result/1.0"
FAILED, INTERRUPTED = 2, 130  # exit codes
TRIES = 3  # to type a valid key
NO_KEY = "unknown"  # placeholder for a key that was not typed, in a resource that is only named
POLL_SECONDS, WAIT_SECONDS = 10.0, 3600.0  # for work that goes on by itself: between two reports, and in all
NEEDS_TERMINAL = (
    "this script prompts for keys and needs a terminal. Nothing was done. Log in and run the script there, or run:"
    " ssh -t HOST python3 %s"
)


class RunRequest(NamedTuple):
    """What the command line requests."""

    part: str  # onboard, audit or offboard
    work: str  # the engine's: reconcile, foresee or examine
    is_confirmed: bool


def main(script: Mapping[str, Any], kinds: Kinds) -> None:
    """Do what the command line requests and end. script: the data in the script (export-script.schema.json)."""
    name = os.path.basename(sys.argv[0])
    run = ScriptRun(script, kinds, name)
    try:
        code = run.run(parse_arguments(sys.argv[1:], name, script["account"]))
    except (AccountError, OSError) as error:
        text = str(error) if isinstance(error, AccountError) else errno_name(error)
        run.output.print_error("%s: %s" % (name, text))
        code = FAILED
    except (KeyboardInterrupt, EOFError):
        run.output.print_error("\n%s: interrupted. Run the script again to continue" % name)
        code = INTERRUPTED
    sys.stdout.flush()
    os._exit(code)  # a child that hangs in a file system is not waited for


def parse_arguments(arguments: Sequence[str], name: str, account: str) -> RunRequest:
    """Return what the command line requests; argparse ends the program if it is invalid."""
    parser = argparse.ArgumentParser(
        prog="python3 " + name,
        description="Sets up the account %s; run it on a login node. Prompts for keys without echo." % account,
    )
    parser.add_argument("--check", action="store_true", help="show the changes, but make none")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--audit", action="store_true", help="report drift (read-only)")
    what.add_argument("--offboard", action="store_true", help="remove what hpc-onboard created, keys first")
    parser.add_argument("--sure", action="store_true", help="with --offboard: do not ask for confirmation")
    found = parser.parse_args(arguments)
    if found.audit:
        return RunRequest("audit", "examine", False)
    return RunRequest(
        "offboard" if found.offboard else "onboard", "foresee" if found.check else "reconcile", found.sure
    )


class ScriptRun:
    """One run of the script."""

    def __init__(self, script: Mapping[str, Any], kinds: Kinds, name: str) -> None:
        self.output = ScriptOutput(sys.stdout)
        self._script, self._kinds, self._name = script, kinds, name
        self._entries: List[Document] = []

    def run(self, request: RunRequest) -> int:
        """Do what is requested and return the exit code."""
        script, user = self._script, pwd.getpwuid(os.getuid()).pw_name
        if user != script["user"]:
            raise AccountError("this script is for the user %s; you are %s. Nothing was done" % (script["user"], user))
        self._entries = script["parts"][request.part]
        keys = self._prompt_for_keys()
        plan = dict(script["plan"], work=request.work, receipt=True, seconds=SECONDS)
        plan["keys"] = _with_fingerprints(plan, keys)
        if request.part == "offboard":
            plan["only_made"] = True
            if request.work == "reconcile" and not request.is_confirmed and not self._confirm_removal(plan):
                self.output.print_line("Cancelled. Nothing was removed.")
                return FAILED
        started = time.time()
        answer = self._answer(plan, keys)
        is_bad = self.output.print_account(script["account"], request.part, request.work, answer, time.time() - started)
        if request.work == "foresee":
            self.output.print_line("Nothing was changed.")
        else:
            self._write_result(request, answer)
        return FAILED if is_bad else 0

    def _confirm_removal(self, plan: Document) -> bool:
        """Show what would be removed, and return True if the user agrees."""
        if not sys.stdin.isatty():
            raise AccountError(
                "confirmation needs a terminal. Nothing was done. To remove without confirmation, add --sure"
            )
        preview = self._answer(dict(plan, work="foresee"), {})
        self.output.print_account(self._script["account"], "offboard", "foresee", preview, 0.0)
        return input("Remove this? yes or no: ").strip().lower() in ("y", "yes")

    # -- keys --------------------------------------------------------------------------------------

    def _prompt_for_keys(self) -> Dict[str, str]:
        """Return the keys that the entries need, by NAME@VERSION, without those that were not typed."""
        names = sorted({entry["key"] for entry in self._entries if entry.get("key")})
        if names and not sys.stdin.isatty():
            raise AccountError(NEEDS_TERMINAL % self._name)
        with warnings.catch_warnings():
            warnings.simplefilter("error", getpass.GetPassWarning)  # raised if the key would be echoed
            values = {name: self._prompt(self._script["questions"][name]) for name in names}
        return {name: value for name, value in values.items() if value}

    def _prompt(self, question: str) -> str:
        """Return a valid key; empty if the user has none."""
        for _try in range(TRIES):
            try:
                value = getpass.getpass("%s (not shown; Enter to skip): " % question).strip()
            except getpass.GetPassWarning:
                raise AccountError(NEEDS_TERMINAL % self._name) from None
            if not value:
                return ""
            try:
                check_secret(value)
            except AccountError:
                self.output.print_line("That is not a valid key: it contains an invalid character. Copy it again.")
            else:
                return value
        raise AccountError("no valid key was entered. Nothing was done")

    # -- the work ----------------------------------------------------------------------------------

    def _answer(self, plan: Document, keys: Mapping[str, str]) -> Document:
        """Return the engine's answer when no work is in progress, with an outcome for each entry, in their order.

        Raises AccountError for an error of the whole plan.
        """
        ready = [entry for entry in self._entries if not entry.get("key") or entry["key"] in keys]
        sent = [_with_password(one, keys[one["key"]]) if one.get("key") else one for one in ready]
        sys.stdout.flush()  # before the engine forks
        answer = self._run_to_end(dict(plan, resources=sent))
        outcomes = iter(answer["outcomes"])
        answer["outcomes"] = [
            next(outcomes) if any(entry is one for one in ready) else _missing_key_outcome(entry, self._kinds)
            for entry in self._entries
        ]
        return answer

    def _run_to_end(self, plan: Document) -> Document:
        """Return the answer after the work that goes on by itself has ended."""
        answer = seen = self._call_engine(plan)
        if plan["work"] != "reconcile":
            return answer
        deadline, shown = time.time() + WAIT_SECONDS, ""
        while any(_is_in_progress(one) for one in seen["outcomes"]) and time.time() < deadline:
            step = next(str(one["progress"]["step"]) for one in seen["outcomes"] if _is_in_progress(one))
            if step != shown:
                self.output.print_line("  in progress: %s" % step)
                sys.stdout.flush()
                shown = step
            seen = self._call_engine(dict(plan, work="follow", follow_seconds=POLL_SECONDS))
        if shown:
            seen = self._call_engine(dict(plan, work="examine"))
            answer["receipt"] = seen["receipt"] or answer["receipt"]
        pairs = zip(answer["outcomes"], seen["outcomes"])
        answer["outcomes"] = [_final_outcome(first, then) if first["progress"] else first for first, then in pairs]
        return answer

    def _call_engine(self, plan: Document) -> Document:
        """Return the engine's answer. Raise AccountError for an error of the whole plan."""
        answer = engine.answer(plan, self._kinds)
        if answer["error"]:
            raise AccountError(answer["error"])
        return answer

    def _write_result(self, request: RunRequest, answer: Document) -> None:
        """Write the result into the home, for its owner alone, and print how to import it."""
        name = "hpc-onboard-%s-%s.json" % (self._script["plan"]["cluster"], request.part)
        folder = os.open(answer["account"]["home"], os.O_RDONLY | os.O_DIRECTORY)
        try:
            files.replace(folder, name, seal_result(self._script, request.part, request.work, answer), 0o600, {})
        except OSError as error:
            text = "the work is done, but the result ~/%s could not be written: %s"
            raise AccountError(text % (name, errno_name(error))) from None
        finally:
            os.close(folder)
        self.output.print_line("The result is in ~/%s; it contains no key." % name)
        self.output.print_line("Import it on your machine:")
        self.output.print_line("  scp %s:%s ." % (self._script["ssh_target"], name))
        self.output.print_line("  hpc-onboard import-result %s" % name)


def _with_fingerprints(plan: Mapping[str, Any], keys: Mapping[str, str]) -> Dict[str, Document]:
    """Return what the plan knows of keys, each with the fingerprint of the one that was typed."""
    known = dict(plan["keys"])
    paths = AccountPaths(Account("", ""), bytes.fromhex(plan["fingerprint_key"]))
    for name, value in reversed(list(keys.items())):  # of several versions the first
        secret = name.partition("@")[0]
        if secret in known:
            known[secret] = dict(known[secret], held=[paths.fingerprint(value)])
    return known


def _with_password(entry: Document, value: str) -> Document:
    return dict(entry, options=dict(entry["options"], password=value))


def _missing_key_outcome(entry: Document, kinds: Kinds) -> Document:
    """Return the outcome of an entry whose key was not typed."""
    why = "the key '%s' was not entered: run the script again when you have the key" % entry["key"].partition("@")[0]
    outcome = Outcome.of_failure(
        build_resource(_with_password(entry, NO_KEY), kinds).identity, "failed", why
    ).document()
    outcome.pop("folders")
    return dict(outcome, capability=entry["capability"])


def _is_in_progress(outcome: Document) -> bool:
    return bool(outcome["progress"]) and "failed" not in outcome["progress"]


def _final_outcome(first: Document, then: Document) -> Document:
    """Return what was found first, with the result of the work that was in progress."""
    progress = then["progress"]
    if progress and "failed" in progress:
        return dict(first, status="failed", reason=progress["failed"], progress=None)
    if progress:
        why = "the work continues by itself (%s): run the script again to see the result" % progress["step"]
        return dict(first, status="unknown", reason=why, progress=None)
    if then["status"] in FAILURES or then["fields"]:
        why = then["reason"] or "the work ended, but these fields still differ: " + ", ".join(then["fields"])
        return dict(first, status="failed", reason=why, progress=None)
    return dict(first, progress=None)


def seal_result(script: Mapping[str, Any], part: str, work: str, answer: Document) -> bytes:
    """Return the result as JSON, with an HMAC over it under the key that only this script has."""
    document = {
        "schema": SCHEMA,
        "script": script["script"],
        "account": script["account"],
        "part": part,
        "work": work,
        "run": os.urandom(8).hex(),
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "answer": answer,
    }
    text = json.dumps(document, sort_keys=True)
    seal = hmac.new(bytes.fromhex(script["seal_key"]), text.encode("utf-8"), hashlib.sha256).hexdigest()
    return (json.dumps(dict(document, seal=seal), sort_keys=True) + "\n").encode("utf-8")
