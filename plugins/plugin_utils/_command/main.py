# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command hpc-onboard: a thin front for people. What reaches accounts is ansible-playbook's; the rest is done here.

Nothing here imports Ansible, which takes most of a second: help, mistakes and what stays on this machine are quick.
"""

from __future__ import annotations

import importlib
import os
import shlex
import shutil
import signal
import sys
from pathlib import Path

from .._input.collection import COLLECTION, version
from .._input.command_line import PROGRAM, of_playbook
from .._input.verdict import Verdict
from .._input.writers import from_home, other_writers
from .._text.sanitise import visible
from . import accounts, help_text
from .refused import Refused
from .typed import REPLACING, Typed, parse
from .verbs import VERBS

BAD = 2
REPLACE_QUESTION = "Replace the keys that are not in your keyring? Private copies are kept on the account."
ROOMS = "ansible_collections.hpc.onboard.plugins.plugin_utils"


def main() -> int:
    """Run the command. 0 all is up to date, 2 something is not, 4 accounts could not be reached."""
    words = sys.argv[1:]
    try:
        if "_ARGCOMPLETE" in os.environ:  # a shell asks how the line may go on
            importlib.import_module(f"{ROOMS}._command.completion").complete()
        if not words:
            print(help_text.overview(), file=sys.stderr)
            return BAD
        if words[0] in VERBS and VERBS[words[0]].module:
            program = f"{shlex.join(called())} {words[0]}"
            return int(importlib.import_module(f"{ROOMS}.{VERBS[words[0]].module}").main(words[1:], program))
        typed = parse(words)
        if typed.wants:
            print(_about(typed))
            return 0
        return _playbook(typed)
    except Refused as error:
        print("\n".join(map(visible, f"hpc-onboard: {error}".split("\n"))), file=sys.stderr)
        return BAD
    except BrokenPipeError:  # of a reader who has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BAD


def called() -> tuple[str, ...]:
    """The words that start this command again: its name, where a shell finds it by that."""
    path = Path(sys.argv[0])
    found = shutil.which(path.name)
    return (path.name,) if found and path.exists() and os.path.samefile(found, path) else (str(path),)


def _about(typed: Typed) -> str:
    """--help or --version."""
    if typed.wants == "--help":
        return help_text.of_verb(typed.verb) if typed.verb else help_text.overview()
    from .child import playbook_program

    try:
        program = playbook_program()
    except Refused:
        program = "not found"
    rows = (("collection", COLLECTION), ("ansible", program), ("python", sys.executable))
    return "\n".join([f"hpc-onboard {version()}", *(f"  {name:10}  {value}" for name, value in rows)])


def _playbook(typed: Typed) -> int:
    """A verb that reaches accounts: ansible-playbook, with our settings and theirs."""
    from . import settings

    source = accounts.find(typed.inventory, os.environ)
    if source is None and typed.verb != "doctor":  # which looks without, and says what to do
        raise _misspelt_verb(typed) or accounts.not_found(os.environ)
    environment = {**settings.environment(os.environ), PROGRAM: shlex.join(called())}
    options = list(typed.options)
    if source is None:
        environment |= {**settings.NO_ACCOUNTS, "ANSIBLE_INVENTORY": str(accounts.places(os.environ)[0])}
    else:
        _check_names(typed, source)
        if source.named:
            for path in source.paths:
                if Path(path).is_file() and (why := other_writers(Path(path))):
                    print(f"Warning: {why}, so they can run programs as you. Run: chmod go-w there", file=sys.stderr)
            options = [*(word for path in source.paths for word in ("-i", path)), *options]
        else:  # not as an option: what we print for pasting is shorter, and finds it as this run did
            environment["ANSIBLE_INVENTORY"] = source.paths[0]
        if sys.stderr.isatty():
            shown = ", ".join(from_home(Path(path)) for path in source.paths)
            print(f"Accounts from {shown}", file=sys.stderr, flush=True)
    code, verdict = _run(typed.verb or "onboard", options, environment)
    if typed.verb == "plan" and verdict.changed and not typed.is_check and (typed.is_sure or _is_agreed("Do it?")):
        code, verdict = _run("onboard", options, environment)
    elif typed.verb not in ("", "onboard") or typed.is_check:
        return code
    if verdict.replaceable and _is_agreed(REPLACE_QUESTION):
        limit = ["-l", ",".join(verdict.replaceable)]
        code, _verdict = _run("onboard", [*options, *REPLACING, *limit], environment)
    return code


def _run(verb: str, options: list[str], environment: dict[str, str]) -> tuple[int, Verdict]:
    """Run a verb's playbook; return our exit code, and how its accounts ended. A signal ends both."""
    from . import child

    playbook, *own = of_playbook(verb, options)
    code, verdict = child.run([child.playbook_program(), f"hpc.onboard.{playbook}", *own], environment)
    if code < 0 or code == child.INTERRUPTED:
        child.end_by(-code if code < 0 else signal.SIGINT)
    return child.meaning(code, verdict), verdict or Verdict(0, 0, 0)


def _is_agreed(question: str) -> bool:
    """Ask at the terminal, and return True for a yes. Without a terminal nothing is asked."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    from .._input.agreement import YES

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python would see it only when the line is there
    try:
        answer = input(f"\n{question} [y/N] ")
    except EOFError:
        answer = ""
        print()
    is_yes = answer.strip().lower() in YES
    print("" if is_yes else "Nothing was changed.", flush=True)
    return is_yes


def _check_names(typed: Typed, source: accounts.Source) -> None:
    """Where no verb was typed, the first word must at least be a name."""
    file = source.file()
    if typed.verb or not file:
        return
    from .._accounts.selection import find_unknown_host
    from .._input.diagnostics import Mistakes, nearest, shown

    terms = ",".join(typed.names)
    try:
        if not find_unknown_host(terms, accounts.written(file)):
            return  # sites and container tools are groups as well, but to know them takes all profiles
        names, groups = accounts.known(file)
    except Mistakes:
        return  # the run will say what is wrong, in the same words as ever
    word = find_unknown_host(terms, names | groups)
    if word:
        advice = nearest(word, {*VERBS, *names, *groups}, groups)
        text = f'"{word}" is not a verb, and not an account or a cluster in {shown(file)}; {advice}'
        raise Refused(f"{text}\nhpc-onboard --help  lists the verbs.")


def _misspelt_verb(typed: Typed) -> Refused | None:
    """What is said of a word that can only be a misspelt verb, since there are no accounts."""
    from .._input.diagnostics import nearest

    advice = nearest(typed.names[0], VERBS, ()) if typed.names and not typed.verb else ""
    return Refused(f'"{typed.names[0]}" is not a verb; {advice}') if advice.startswith("did") else None
