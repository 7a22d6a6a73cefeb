# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program of an exported script: the engine for login nodes that allow no automation, where the user runs it.

The program prompts for keys on a terminal, without echo, and writes them only to their own files, never to arguments or
variables. It prints what was done, and writes a signed result. The signature lets import-result detect a changed file.

The script has a list of entries for each of its parts onboard, audit and offboard. An entry describes a resource, such
as a link or a key in a file. The engine gets the entries in a plan, and returns an answer with an outcome for each.
"""

import argparse
import getpass
import hashlib
import hmac
import json
import os
import sys
import time
import warnings
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence

from .._core import files
from .._core.account import Account, AccountPaths, read_user
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
POLL_SECONDS, WAIT_SECONDS = 10.0, 3600.0  # for background jobs: between two reports, and in total
NEEDS_TERMINAL = (
    "this script needs a terminal to prompt for keys. Nothing was changed. Log in and run the script, or run:"
    " ssh -t HOST python3 %s"
)


class RunRequest(NamedTuple):
    """What the command line requests."""

    part: str  # onboard, audit or offboard
    work: str  # of the plan: reconcile, preview or examine
    is_confirmed: bool  # True with --sure


def main(script: Mapping[str, Any], kinds: Kinds) -> None:
    """Run the exported script and end the process.

    script: the script's data (export-script.schema.json). kinds: the resource types by name.
    """
    name = os.path.basename(sys.argv[0])
    run = ScriptRun(script, kinds, name)
    try:
        code = run.execute(parse_arguments(sys.argv[1:], name, script["account"]))
    except (AccountError, OSError) as error:
        text = str(error) if isinstance(error, AccountError) else errno_name(error)
        run.output.print_error("%s: %s" % (name, text))
        code = FAILED
    except (KeyboardInterrupt, EOFError):
        run.output.print_error("\n%s: interrupted. Run the script again to continue" % name)
        code = INTERRUPTED
    run.output.flush()
    os._exit(code)  # a child that hangs in a file system is not waited for


def parse_arguments(arguments: Sequence[str], name: str, account: str) -> RunRequest:
    """Return what the command line requests, or end the program for invalid arguments. name: of the script's file."""
    parser = argparse.ArgumentParser(
        prog="python3 " + name,
        description="Set up the account %s. Run this script on a login node. Keys are not shown as you type." % account,
    )
    parser.add_argument("--check", action="store_true", help="show the changes without making them")
    parts = parser.add_mutually_exclusive_group()
    parts.add_argument("--audit", action="store_true", help="report drift (read-only)")
    parts.add_argument("--offboard", action="store_true", help="remove what hpc-onboard created, keys first")
    parser.add_argument("--sure", action="store_true", help="with --offboard: do not ask for confirmation")
    options = parser.parse_args(arguments)
    if options.audit:
        return RunRequest("audit", "examine", is_confirmed=False)
    part, work = "offboard" if options.offboard else "onboard", "preview" if options.check else "reconcile"
    return RunRequest(part, work, is_confirmed=options.sure)


class ScriptRun:
    """One run of an exported script. kinds: the resource types by name. name: the script's file name, for messages."""

    def __init__(self, script: Mapping[str, Any], kinds: Kinds, name: str) -> None:
        self.output = ScriptOutput(sys.stdout)
        self._script, self._kinds, self._name = script, kinds, name
        self._entries: List[Document] = []  # the plan's entries of the part that runs

    def execute(self, request: RunRequest) -> int:
        """Run the requested part, print its outcomes, write the result, and return the exit code."""
        script, user = self._script, read_user().pw_name
        if user != script["user"]:
            raise AccountError(
                "this script is for the user %s, but you are logged in as %s. Nothing was changed"
                % (script["user"], user)
            )
        self._entries = script["parts"][request.part]
        keys = self._prompt_for_keys()
        plan = dict(script["plan"], work=request.work, receipt=True, seconds=SECONDS)
        plan["keys"] = _with_fingerprints(plan, keys)
        if request.part == "offboard":
            plan["only_made"] = True  # remove only what hpc-onboard has created
            if request.work == "reconcile" and not request.is_confirmed and not self._confirm_removal(plan):
                self.output.print_line("Cancelled. Nothing was removed.")
                return FAILED
        started = time.time()
        answer = self._run_plan(plan, keys)
        seconds = time.time() - started
        has_failed = self.output.print_account(script["account"], request.part, request.work, answer, seconds)
        if request.work == "preview":
            self.output.print_line("Nothing was changed.")
        else:
            self._write_result(request, answer)
        return FAILED if has_failed else 0

    def _confirm_removal(self, plan: Document) -> bool:
        """Show what would be removed, ask for confirmation, and return True if the user agrees."""
        if not sys.stdin.isatty():
            raise AccountError(
                "this script needs a terminal to ask for confirmation. Nothing was removed."
                " To skip the question, add --sure"
            )
        planned = self._run_plan(dict(plan, work="preview"), keys={})  # a removal needs no key
        self.output.print_account(self._script["account"], "offboard", "preview", planned, seconds=0.0)
        return input("Remove the items listed above? [y/N] ").strip().lower() in ("y", "yes")

    def _prompt_for_keys(self) -> Dict[str, str]:
        """Prompt for the keys that the entries need, and return the keys that the user typed, by NAME@VERSION."""
        names = sorted({entry["key"] for entry in self._entries if entry.get("key")})
        if names and not sys.stdin.isatty():
            raise AccountError(NEEDS_TERMINAL % self._name)
        with warnings.catch_warnings():
            warnings.simplefilter("error", getpass.GetPassWarning)  # raised if the key would be echoed
            values = {name: self._prompt_for_key(self._script["questions"][name]) for name in names}
        return {name: value for name, value in values.items() if value}

    def _prompt_for_key(self, question: str) -> str:
        """Prompt for one key, at most TRIES times, and return a valid key; "" if the user skips the key."""
        for _try in range(TRIES):
            try:
                value = getpass.getpass("%s (not shown; Enter to skip): " % question).strip()
            except getpass.GetPassWarning:
                raise AccountError(NEEDS_TERMINAL % self._name) from None
            if not value:
                return ""
            try:
                check_secret(value)
                return value
            except AccountError:
                self.output.print_line("The key has a character that is not allowed in keys. Copy the key again.")
        raise AccountError("no valid key was entered. Nothing was changed")

    def _run_plan(self, plan: Document, keys: Mapping[str, str]) -> Document:
        """Run the plan without entries whose keys were not typed. Return the answer, with an outcome for each entry.

        Raise AccountError for an error of the whole plan.
        """
        incomplete = [entry for entry in self._entries if entry.get("key") and entry["key"] not in keys]
        resources = [
            _with_password(entry, keys[entry["key"]]) if entry.get("key") else entry
            for entry in self._entries
            if entry not in incomplete
        ]
        self.output.flush()  # before the engine forks, or the child could print the same text again
        answer = self._run_until_done(dict(plan, resources=resources))
        outcomes = iter(answer["outcomes"])  # of the resources, in their order
        answer["outcomes"] = [
            _make_missing_key_outcome(entry, self._kinds) if entry in incomplete else next(outcomes)
            for entry in self._entries
        ]
        return answer

    def _run_until_done(self, plan: Document) -> Document:
        """Run the plan, wait for its background jobs, and return the answer with their results."""
        answer = latest = self._call_engine(plan)
        if plan["work"] != "reconcile":
            return answer
        if _list_steps(answer):
            self._wait_for_jobs(plan, answer)
            latest = self._call_engine(dict(plan, work="examine"))
            answer["receipt"] = latest["receipt"] or answer["receipt"]  # the receipt that notes the results
        pairs = zip(answer["outcomes"], latest["outcomes"])
        answer["outcomes"] = [_add_job_result(first, last) if first["progress"] else first for first, last in pairs]
        return answer

    def _wait_for_jobs(self, plan: Document, latest: Document) -> None:
        """Report on the background jobs of a plan until they end or the time is up. latest: the answer so far."""
        deadline, shown_step = time.time() + WAIT_SECONDS, ""
        while _list_steps(latest) and time.time() < deadline:
            step = _list_steps(latest)[0]  # one job is enough to show that the work goes on
            if step != shown_step:
                self.output.print_line("  in progress: %s" % step)
                self.output.flush()
                shown_step = step
            latest = self._call_engine(dict(plan, work="follow", follow_seconds=POLL_SECONDS))

    def _call_engine(self, plan: Document) -> Document:
        """Run the engine on a plan, and return the answer. Raise AccountError for an error of the whole plan."""
        answer = engine.answer(plan, self._kinds)
        if answer["error"]:
            raise AccountError(answer["error"])
        return answer

    def _write_result(self, request: RunRequest, answer: Document) -> None:
        """Write the result to the home, readable by its owner alone, and print how to import it."""
        name = "hpc-onboard-%s-%s.json" % (self._script["plan"]["cluster"], request.part)
        folder = os.open(answer["account"]["home"], os.O_RDONLY | os.O_DIRECTORY)
        try:
            content = seal_result(self._script, request.part, request.work, answer)
            files.replace(folder, name, content, mode=0o600, attributes={})
        except OSError as error:
            text = "the work is done, but its result could not be written to ~/%s (%s). Run the script again"
            raise AccountError(text % (name, errno_name(error))) from None
        finally:
            os.close(folder)
        self.output.print_line("The result, which contains no key, is in ~/%s." % name)
        self.output.print_line("To import the result, run these commands on your machine:")
        self.output.print_line("  scp %s:%s ." % (self._script["ssh_target"], name))
        self.output.print_line("  hpc-onboard import-result %s" % name)


def _with_fingerprints(plan: Mapping[str, Any], keys: Mapping[str, str]) -> Dict[str, Document]:
    """Return the plan's "keys" with the fingerprints of the typed keys as those of the sender's current keys ("held").

    The sender is the machine that exported the script. keys: the typed keys, by NAME@VERSION.
    """
    described_keys = dict(plan["keys"])
    # used only to compute fingerprints, for which the account's paths do not matter
    paths = AccountPaths(Account(home="", shell=""), bytes.fromhex(plan["fingerprint_key"]))
    # reversed, so that a key's first version (NAME alone) is set last
    for name_and_version, value in reversed(list(keys.items())):
        name = name_and_version.partition("@")[0]
        if name in described_keys:
            described_keys[name] = dict(described_keys[name], held=[paths.fingerprint(value)])
    return described_keys


def _with_password(entry: Document, value: str) -> Document:
    """Return a plan's entry with this key as its option "password"."""
    return dict(entry, options=dict(entry["options"], password=value))


def _make_missing_key_outcome(entry: Document, kinds: Kinds) -> Document:
    """Return the outcome of an entry whose key was not typed."""
    why = "the key '%s' was not entered: run the script again when you have the key" % entry["key"].partition("@")[0]
    # built only to get the identity, for which any password is enough
    resource = build_resource(_with_password(entry, "unknown"), kinds)
    outcome = Outcome.of_failure(resource.identity, "failed", why).document()
    outcome.pop("folders")  # an answer's outcomes do not have this field
    return dict(outcome, capability=entry["capability"])


def _list_steps(answer: Document) -> List[str]:
    """Return the present steps of the background jobs in an answer, without those of failed jobs."""
    progresses = [outcome["progress"] for outcome in answer["outcomes"] if outcome["progress"]]
    return [str(progress["step"]) for progress in progresses if "failed" not in progress]


def _add_job_result(first: Document, last: Document) -> Document:
    """Return the outcome of a resource with a background job, once the script stops waiting for the job.

    first: the outcome of the run that started the job. last: the latest outcome, which shows the result of the job.
    """
    progress = last["progress"]
    if progress and "failed" in progress:
        return dict(first, status="failed", reason=progress["failed"], progress=None)
    if progress:  # the time is up
        why = "the work continues in the background (%s): run the script again to see the result" % progress["step"]
        return dict(first, status="unknown", reason=why, progress=None)
    if last["status"] in FAILURES or last["fields"]:
        why = last["reason"] or "the work ended, but these fields still differ: %s" % ", ".join(last["fields"])
        return dict(first, status="failed", reason=why, progress=None)
    return dict(first, progress=None)  # the job has succeeded


def seal_result(script: Mapping[str, Any], part: str, work: str, answer: Document) -> bytes:
    """Return the result as JSON, with an HMAC whose key only script and sender have. part, work: see RunRequest."""
    document = {
        "schema": SCHEMA,
        "script": script["script"],  # id of the script
        "account": script["account"],
        "part": part,
        "work": work,
        "run": os.urandom(8).hex(),  # random id of this run
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "answer": answer,
    }
    text = json.dumps(document, sort_keys=True)
    seal = hmac.new(bytes.fromhex(script["seal_key"]), text.encode("utf-8"), hashlib.sha256).hexdigest()
    return (json.dumps(dict(document, seal=seal), sort_keys=True) + "\n").encode("utf-8")
