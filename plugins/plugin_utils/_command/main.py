# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command hpc-onboard: it starts a playbook for subcommands that connect to accounts, and runs the others itself.

Nothing here imports Ansible, which takes most of a second, so that help, errors and local subcommands are quick.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import shlex
import shutil
import signal
import sys
import termios
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from .._input.collection import COLLECTION, read_version
from .._input.command_line import PROGRAM, playbook_command
from .._input.verdict import RunTotals
from .._input.writers import abbreviate_home, find_other_writers, write_protection_command
from .._text.sanitise import visible
from . import accounts
from .accounts import CommandError
from .subcommands import EVERYDAY, SUBCOMMANDS

BAD = 2  # exit code
REPLACE_QUESTION = "Replace the existing keys that are not in your keyring? The account keeps a private backup of each."
PACKAGE = "ansible_collections.hpc.onboard.plugins.plugin_utils."  # of the modules that are imported only if needed
REPLACE_OPTION = ("-e", "onboard_replace=true")
FIRST_STEPS = """\
hpc-onboard sets up your account on every HPC cluster you use.
There is no accounts file yet. To write one from your ssh settings, run:
    {0} init
All subcommands: {0} --help"""
INTRODUCTION = """\
hpc-onboard sets up your account on every HPC cluster you use.

    hpc-onboard wilson             set up your accounts on one cluster
    hpc-onboard SUBCOMMAND [NAME...] [OPTION...]
        NAME: an account, a cluster or a pattern like 'simone@*' (default: all)
"""
ENDING = """\
The accounts file is the first of: -i FILE, $HPC_ONBOARD_ACCOUNTS, accounts.yml,
inventory/accounts.yml, ~/.config/hpc.onboard/accounts.yml

Exit codes  0  everything is up to date
            2  something failed or is not up to date, or the command is invalid
            4  onboard, plan, offboard, adopt, probe: an account was not reached
Options: hpc-onboard SUBCOMMAND --help. Versions: hpc-onboard --version."""
ALL_SUBCOMMANDS = "All subcommands: hpc-onboard --help --all"


def main() -> int:
    """Run the command line and return the exit code: 0 up to date, 2 not up to date, 4 accounts unreachable."""
    if sys.stdout is None:  # the caller has closed it, as >&- does
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # open until the end
        os.dup2(sys.stdout.fileno(), 1)
        os.set_inheritable(1, True)  # for the child, too
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # the terminal may lack a character, such as one in a name
    try:
        if "_ARGCOMPLETE" in os.environ:  # a shell requests the words that complete its line
            import_module(f"{PACKAGE}_command.completion").complete()
        code = run(sys.argv[1:])
        sys.stdout.flush()
        return code
    except CommandError as error:
        print("\n".join(map(visible, f"hpc-onboard: {error}".split("\n"))), file=sys.stderr)
        return BAD
    except KeyboardInterrupt:  # Ctrl-C, for example at a question
        from .child import end_by_signal

        print(file=sys.stderr)
        end_by_signal(signal.SIGINT)
        return BAD
    except BrokenPipeError:  # the reader has closed the pipe, as head does; Python still writes the rest at its exit
        return _discard_output()
    except OSError as error:
        if error.filename is not None or error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise  # not an error of the output
        print(f"hpc-onboard: the output could not be written ({error.strerror})", file=sys.stderr)
        return _discard_output()


def _discard_output() -> int:
    """Discard the output that Python would still write at its exit, and return the exit code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return BAD


def run(words: Sequence[str]) -> int:
    """Run a command line, and return the exit code. words: those after hpc-onboard. Raises CommandError."""
    if not words:
        if accounts.find_source((), os.environ):  # the user has an accounts file
            return run(["status"])
        print(FIRST_STEPS.format(shlex.join(find_program())))
        return 0
    if words[0] in ("-h", "--help") and set(words[1:]) <= {"--all"}:
        print(describe_command(is_whole=len(words) > 1))
        return 0
    if words[0] == "--version":
        print(_describe_versions())
        return 0
    from .parser import parse

    options = parse(words, shlex.join(find_program()))
    module = SUBCOMMANDS[options.subcommand or "onboard"].module
    return int(import_module(f"{PACKAGE}{module}").run(options)) if module else _run_playbook(options)


def find_program() -> tuple[str, ...]:
    """Return the words that start this command again: its name if a shell finds the same file by it, else its path."""
    path = Path(sys.argv[0])
    on_path = shutil.which(path.name)
    return (path.name,) if on_path and path.exists() and os.path.samefile(on_path, path) else (str(path),)


def describe_command(is_whole: bool) -> str:
    """Return the help of the command, with the everyday subcommands, or with all of them (is_whole)."""
    names = [*EVERYDAY, *([name for name in SUBCOMMANDS if name not in EVERYDAY] if is_whole else [])]
    width = max(map(len, names))
    rows = [f"    {name:{width}}  {SUBCOMMANDS[name].summary}" for name in names]
    return "\n".join([INTRODUCTION, *rows, *([] if is_whole else ["", ALL_SUBCOMMANDS]), "", ENDING])


def _describe_versions() -> str:
    """Return the version of hpc-onboard, and the paths of the collection, of Ansible and of Python."""
    from .child import find_playbook_program

    try:
        program = find_playbook_program()
    except CommandError:
        program = "not found"
    rows = (("collection", COLLECTION), ("ansible", program), ("python", sys.executable))
    return "\n".join([f"hpc-onboard {read_version()}", *(f"  {name:10}  {value}" for name, value in rows)])


def _run_playbook(options: argparse.Namespace) -> int:
    """Run a subcommand that starts ansible-playbook, and return the exit code. options: from parser.parse().

    Raises CommandError if the accounts file is missing, or a name is unknown.
    """
    from . import settings
    from .parser import to_playbook_words

    name = options.subcommand  # empty for the short form of onboard
    if name == "probe":
        import_module(f"{PACKAGE}_command.probe").prepare(options)
    source = accounts.find_source(options.inventory, os.environ)
    if source is None and name != "doctor":  # doctor runs without an accounts file, and reports that it is missing
        raise _find_misspelt_subcommand(options) or accounts.missing_file_error(os.environ)
    if name == "import-result":
        options.account = _read_result_account(options.file)
    words = to_playbook_words(options)  # for ansible-playbook
    environment = {**settings.build_environment(os.environ), PROGRAM: shlex.join(find_program())}
    if source is None:
        environment |= {**settings.NO_ACCOUNTS, "ANSIBLE_INVENTORY": str(accounts.list_default_paths(os.environ)[0])}
    else:
        _check_names(options, source)
        if source.is_named:
            _warn_of_writers(source)
            words = [*(word for path in source.paths for word in ("-i", path)), *words]
        else:  # not by -i: printed commands would repeat it, but they find the default file by themselves
            environment["ANSIBLE_INVENTORY"] = source.paths[0]
        if sys.stderr.isatty():
            display_path = ", ".join(abbreviate_home(Path(path)) for path in source.paths)
            print(f"Accounts from {display_path}", file=sys.stderr, flush=True)
    return _run_with_follow_up(options, words, environment)


def _run_with_follow_up(options: argparse.Namespace, words: list[str], environment: dict[str, str]) -> int:
    """Run the playbook and, if the user agrees, onboard: to apply a plan, or to replace existing keys.

    words, environment: for ansible-playbook. Return the exit code of the last run. options: from parser.parse(), with
    "given", the subcommand's own options by flag, and "passed", the options for ansible-playbook.
    """
    name, confirmed_words = options.subcommand or "onboard", sys.argv[1:]
    code, totals = _start_playbook(name, words, environment)
    if not {"--check", "-C"}.isdisjoint(options.passed):  # only a preview was requested
        return code
    if name == "plan":
        is_agreed = "--yes" in options.given
        if not totals.changed or not (is_agreed or _is_interactive()):
            return code
        confirmed_words = [*sys.argv[1:], *([] if is_agreed else ["--yes"])]
        if not (is_agreed or _ask_yes_no("Apply these changes?", "nothing was changed", confirmed_words)):
            return code
        code, totals = _start_playbook("onboard", words, environment)
    elif name != "onboard":
        return code
    # after an onboarding that has left existing keys as they are (on the accounts in `replaceable`)
    replace_words = [*REPLACE_OPTION, "-l", ",".join(totals.replaceable)]
    can_ask = totals.replaceable and _is_interactive()
    if can_ask and _ask_yes_no(REPLACE_QUESTION, "no key was replaced", [*confirmed_words, *replace_words]):
        code, _totals = _start_playbook("onboard", [*words, *replace_words], environment)
    return code


def _start_playbook(name: str, words: list[str], environment: dict[str, str]) -> tuple[int, RunTotals]:
    """Run the playbook of a subcommand (name). Return hpc-onboard's exit code and the run's totals, all 0 if not sent.

    words, environment: for ansible-playbook. If a signal ends the child, the same signal ends this process.
    """
    from . import child

    playbook, *arguments = playbook_command(name, words)
    code, totals = child.run([child.find_playbook_program(), f"hpc.onboard.{playbook}", *arguments], environment)
    if code < 0 or code == child.INTERRUPTED:
        child.end_by_signal(-code if code < 0 else signal.SIGINT)
    return child.to_exit_code(code, totals), totals or RunTotals(seen=0, failed=0, unreachable=0)


def _is_interactive() -> bool:
    """Return True if the user can see a question and answer it."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _ask_yes_no(question: str, not_done: str, unattended_words: Sequence[str]) -> bool:
    """Ask a question, and return True for a yes. Raise CommandError if the user ends the input or presses Ctrl-C.

    not_done: the result without a yes, such as "nothing was changed". unattended_words: the words after hpc-onboard
    that do the same without asking.
    """
    from .._input.agreement import describe_no_answer, is_yes

    signal.signal(signal.SIGINT, signal.default_int_handler)  # Ctrl-C raises KeyboardInterrupt
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)  # ignore what was typed before the question
    try:
        is_agreed = is_yes(input(f"\n{question} [y/N] "))
    except (EOFError, KeyboardInterrupt):
        print()
        command = shlex.join([*find_program(), *unattended_words])
        raise CommandError(describe_no_answer(not_done, command)) from None
    print("" if is_agreed else f"Cancelled. {not_done.capitalize()}.", flush=True)
    return is_agreed


def _read_result_account(file: str) -> str:
    """Return the account that the result of an exported script is about. file: the result. Raises CommandError."""
    from ...module_utils._core.errors import AccountError
    from .._export_script.script_result import read_result

    try:
        return read_result(Path(file)).account
    except AccountError as error:
        raise CommandError(str(error)) from None


def _warn_of_writers(source: accounts.AccountsSource) -> None:
    """Print a warning for each accounts file of the source that other users can change. The run uses it anyway."""
    for path in map(Path, source.paths):
        if path.is_file() and (reason := find_other_writers(path)):
            print(
                f"Warning: {reason}. Anyone who can write to this path can run programs as you. "
                f"If the path is yours, run: {write_protection_command(path)}",
                file=sys.stderr,
            )


def _check_names(options: argparse.Namespace, source: accounts.AccountsSource) -> None:
    """Raise CommandError if no subcommand was typed and a name is not an account, a cluster or a pattern.

    source: the inventory of the run. Only a single accounts file is checked.
    """
    file = source.single_file()
    if options.subcommand or not file:
        return
    from .._accounts.selection import find_unknown_host
    from .._input.diagnostics import Mistakes, display_path, nearest

    terms = ",".join(options.names)  # the form of the option -l
    try:
        if not find_unknown_host(terms, accounts.read_names(file)):
            return  # sites and container runtimes are groups, too, but listing them takes all profiles
        names, groups = accounts.read_names_and_groups(file)
    except Mistakes:
        return  # the inventory plugin reports the mistakes during the run
    word = find_unknown_host(terms, names | groups)
    if word:
        # listed: the words to name if no known word is similar
        advice = nearest(word, {*SUBCOMMANDS, *names, *groups}, listed=groups)
        text = f'"{word}" is neither a subcommand nor an account or cluster in {display_path(file)}; {advice}'
        raise CommandError(f"{text}\nAll subcommands: hpc-onboard --help --all")


def _find_misspelt_subcommand(options: argparse.Namespace) -> CommandError | None:
    """Return an error if no subcommand was typed and the first name resembles one; otherwise None.

    For a line without an accounts file, where the name cannot be an account.
    """
    if options.subcommand or not options.names:
        return None
    name, similar_name = options.names[0], accounts.suggest_subcommand(options.names[0])
    return CommandError(f'"{name}" is not a subcommand; did you mean "{similar_name}"?') if similar_name else None
