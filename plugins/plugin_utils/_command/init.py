# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The subcommand init: write the accounts file from the user's ssh settings and answers."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...module_utils._core.errors import AccountError
from .._init import first_key, person
from .._init.accounts_text import NotAdded, render_entry
from .._init.desired_account import DesiredAccount, describe_fault, list_questions
from .._init.first_file import AccountsDraft
from .._init.interview import ask_questions
from .._init.place import find_repository, write_file
from .._input.diagnostics import Mistakes
from .._input.writers import abbreviate_home
from .._secrets.key_faults import find_fault
from .._unlocked import handover
from . import accounts
from .accounts import CommandError
from .child import end_by_signal
from .probe import suggest_name

OPTIONS = {  # option of an account -> the field of its entry, the name of its value, and its help
    "--project": ("project", "NAME", "your project, group or Slurm account"),
    "--storage": ("storage", "AREA=PATH", "path of a storage area, such as dss=/dss/...; can be repeated"),
    "--jump-user": ("jump_user", "NAME", "user name on the jump host, if it differs from the account's"),
    "--ssh": ("ssh", "NAME", "the Host entry of your ssh settings to use for this account"),
    "--auth": ("auth", "key|ask", "key: an SSH key is enough; ask: ssh asks for a password or code"),
    "--without": ("without", "ROLE", "role to skip; can be repeated"),
}
BAD = 2  # exit code
ADOPT_QUESTION = "Check what you have already set up on the accounts, such as links, conda and containers?"


class CollectAccount(argparse.Action):
    """Collect the accounts of the line, each as a pair of its name and a list of its options with their values.

    The option --account begins an account. Any other option belongs to the account before it.
    """

    def __call__(self, _parser: Any, namespace: argparse.Namespace, value: Any, option: str | None = None) -> None:
        """Add an option to `namespace.accounts`, the pairs so far. Raises CommandError before the first account."""
        # a copy, because argparse uses the same default list each time it parses a line
        accounts = namespace.accounts = list(namespace.accounts)
        if option == "--account":
            accounts.append((value, []))
        elif not accounts:
            raise CommandError(f"{option} must follow an account: --account USER@CLUSTER {option} ...")
        else:
            accounts[-1][1].append((option, value))  # to the options of the last account


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the subcommand."""
    file_help = "the file to write; default: ~/.config/hpc.onboard/accounts.yml"
    parser.add_argument("-o", "--file", metavar="FILE", type=accounts.read_path, help=file_help)
    parser.add_argument("--add", action="store_true", help="add the accounts to an existing file")
    parser.add_argument("--yes", action="store_true", help="ask only what is required; check the login at the end")
    group = parser.add_argument_group("accounts, each followed by its options")
    account_row = ("", "USER@CLUSTER", "an account; CLUSTER is enough if your ssh settings contain the user")
    for option, (_field, value, text) in {"--account": account_row, **OPTIONS}.items():
        group.add_argument(option, action=CollectAccount, dest="accounts", metavar=value, help=text, default=[])


def run(options: argparse.Namespace) -> int:
    """Write the accounts file and check this machine. Return 2 if something is not ready. Raises CommandError."""
    try:
        return _write_accounts(options, program=shlex.split(options.prog)[:-1])  # without the word "init"
    except person.Cancelled:
        print("Nothing was written.", file=sys.stderr)
        return BAD
    except (AccountError, Mistakes) as error:
        raise CommandError(f"{error}\nNothing was written.") from None
    except KeyboardInterrupt:
        print("\nNothing was written.", file=sys.stderr, flush=True)
        end_by_signal(signal.SIGINT)
        return BAD


def _write_accounts(options: argparse.Namespace, program: list[str]) -> int:
    """Ask for the accounts, write the file and offer the next steps. Return the exit code.

    program: the words that start hpc-onboard. Raises CommandError, or Cancelled if the user declines.
    """
    file = options.file or accounts.list_default_paths(os.environ)[-1]  # by default in ~/.config
    shown_path = abbreviate_home(file)
    exists = os.path.lexists(file)
    if exists and not options.add:
        text = f"{shown_path} already exists. To add an account, use --add. To write another file, use -o FILE."
        raise CommandError(text)
    if not exists:
        _check_repository(file, shown_path)
    draft = AccountsDraft(file, exists)  # the accounts file to be written
    is_interactive = sys.stdin.isatty() and sys.stdout.isatty()
    desired = [_read_account(draft, name, settings) for name, settings in options.accounts]
    if is_interactive:
        desired = desired or _choose_accounts(draft, shown_path, program)
        for account in desired:
            ask_questions(account, draft.history.local_user, only_required=options.yes)
    _check_complete(desired, draft, is_interactive)
    text = _render_file(draft, desired)
    if is_interactive and not options.yes:
        print()
        for account in desired:
            print(*(f"  {line}" for line in render_entry(account)), sep="\n")
        if not person.confirm(f"{'Add' if exists else 'Write'} this to {shown_path}?"):
            raise person.Cancelled
    write_file(file, text, before=draft.text)
    person.print_paragraph(f"{shown_path} was written. You can edit this file. Its first lines list more settings.")
    try:
        return _offer_next_steps(desired, file, program, is_interactive, is_unattended=options.yes)
    except (KeyboardInterrupt, person.Cancelled):
        command = shlex.join([*program, "doctor", *accounts.inventory_options(file)])
        print(f"\n{shown_path} was written. Continue with: {command}", file=sys.stderr, flush=True)
        end_by_signal(signal.SIGINT)
        return BAD


def _check_repository(file: Path, shown_path: str) -> None:
    """Raise CommandError if a git repository would track the file. shown_path: the file, for the message."""
    if repository := find_repository(file):
        text = f"{shown_path} would be in the git repository {abbreviate_home(repository)}, but accounts are private."
        raise CommandError(f"{text}\nUse -o FILE to write the file elsewhere, or add the file to .gitignore.")


def _read_account(draft: AccountsDraft, name: str, settings: Sequence[tuple[str, str]]) -> DesiredAccount:
    """Return the account that --account NAME describes. settings: its options, each with its value.

    draft: the file to be written. Raises CommandError for an unknown cluster or an invalid value.
    """
    try:
        account = draft.create_account(name)
    except ValueError as error:
        raise CommandError(f"--account {name}: {error}") from None
    for option, value in settings:
        field, _value_name, _help = OPTIONS[option]
        if option == "--without":
            account.entry.setdefault(field, []).append(value)
            continue
        if option == "--storage":
            area, equals, value = value.partition("=")
            if not equals:
                raise CommandError(f"{option} {area} is invalid. Expected AREA=PATH, such as dss=/dss/...")
            field = f"storage:{area}"
        fault = describe_fault(field, value)
        if fault:
            raise CommandError(f"{option} of {account.name}: {fault}")
        account.set_value(field, value)
    return account


def _choose_accounts(draft: AccountsDraft, shown_path: str, program: list[str]) -> list[DesiredAccount]:
    """List the clusters, ask on which of them the user has accounts, and return these accounts.

    draft: the file to be written. shown_path: its path. program: the words that start hpc-onboard, for a probe.
    """
    candidates = draft.find_accounts()
    person.print_paragraph(f"hpc-onboard writes an entry for each of your accounts to {shown_path}.")
    if candidates:
        person.print_paragraph("Your ssh settings and known hosts contain these clusters:")
        for number, account in enumerate(candidates, 1):
            title = account.profile.get("name", account.cluster)
            person.print_paragraph(f"{number}  {account.name:23} {title}", indent=2)
            person.print_paragraph(f"({account.traces.where})", indent=5)
    others = sorted(draft.catalogue.ids() - {account.cluster for account in candidates})
    person.print_paragraph(f"{'Other known clusters' if candidates else 'Known clusters'}: {', '.join(others)}.")
    all_numbers = " ".join(str(number) for number in range(1, len(candidates) + 1))
    text = (
        "Where do you have accounts? Enter numbers from the list or USER@CLUSTER, separated by spaces."
        if candidates
        else "Where do you have accounts? Enter each one as USER@CLUSTER, separated by spaces."
    )
    text += " For an unknown cluster, enter USER@HOST."

    def read_accounts(answer: str) -> list[DesiredAccount]:  # of numbers in the list, or names; raises ValueError
        words = dict.fromkeys(_probe_unknown(draft, word, program) for word in answer.split())  # without repetitions
        return [candidates[int(word) - 1] if word.isdigit() and 0 < int(word) <= len(candidates)
                else draft.create_account(word) for word in words]  # fmt: skip

    def find_answer_fault(answer: str) -> str:  # empty if the answer is valid
        try:
            return "" if read_accounts(answer) else "Enter an account, such as simone@wilson, or press Ctrl-C to stop."
        except ValueError as error:
            return str(error)

    return read_accounts(person.prompt(text, default=all_numbers, find_fault=find_answer_fault))


def _probe_unknown(draft: AccountsDraft, word: str, program: list[str]) -> str:
    """Return USER@CLUSTER for a word USER@HOST; any other word unchanged.

    If the host has no profile yet, offer to probe it, which reads the cluster and writes its profile.
    Raises ValueError if the user declines, or the probe fails. program: the words that start hpc-onboard.
    """
    user, _at, host = word.rpartition("@")
    if not user or "." not in host:  # a number, CLUSTER or USER@CLUSTER: only names of hosts have dots
        return word
    name = suggest_name(host)
    if not (draft.own_profiles / f"{name}.yml").exists():
        question = f"{host} is not a known cluster. Probe it and write a first profile? The cluster stays unchanged."
        command = [*program, "probe", word, "--output", str(draft.own_profiles)]
        is_probed = person.confirm(question) and subprocess.call(command) == 0
        if not is_probed:
            raise ValueError(f"{host} has no profile. Choose a known cluster, or run: {shlex.join(command)}")
    draft.add_profiles()  # including the profile that the probe has just written
    return f"{user}@{name}"


def _check_complete(desired: Sequence[DesiredAccount], draft: AccountsDraft, is_interactive: bool) -> None:
    """Raise CommandError if there is no desired account, or if required values are missing, which the error lists."""
    if not desired:
        names = ", ".join(account.name for account in draft.find_accounts()) or "none"
        text = "without a terminal, hpc-onboard cannot ask for accounts. Name each account with --account USER@CLUSTER"
        raise CommandError(f"{text}\nAccounts found in your ssh settings: {names}. Nothing was written.")
    if is_interactive:
        return  # ask_questions() has asked for all required values
    missing = [
        f"    {account.name}: {question.option}   {question.text}"
        for account in desired
        for question in list_questions(account, draft.history.local_user)
        if question.is_required
    ]
    if missing:
        heading = "without a terminal, hpc-onboard cannot ask for missing values. Add these options:"
        raise CommandError("\n".join([heading, *missing, "Nothing was written."]))


def _render_file(draft: AccountsDraft, desired: Sequence[DesiredAccount]) -> str:
    """Return the text of the file with the desired accounts, checked as by every run. Raises CommandError, Mistakes."""
    try:
        return draft.render(desired)
    except NotAdded as error:  # the existing file has a format that only the user can edit
        rows = "\n".join(f"  {line}" for account in desired for line in render_entry(account))
        raise CommandError(f"{draft.file}: {error}. Add these lines below `accounts:` by hand:\n{rows}") from None
    except ValueError as error:
        raise CommandError(str(error)) from None


def _offer_next_steps(
    desired: Sequence[DesiredAccount], file: Path, program: list[str], is_interactive: bool, is_unattended: bool
) -> int:
    """Offer to store the key for NVIDIA's registry, run doctor, and then preflight and adopt if the user agrees.

    desired: the added accounts. is_unattended: --yes was given. Return exit code 2 if one of the commands fails.
    """
    # If the key file is unlocked to store the key, the commands below read its encryption key from this pipe.
    pipe_ends = handover.open_pipe()[:2]
    _offer_key(desired, is_interactive)
    inventory = accounts.inventory_options(file)
    doctor, preflight, adopt, onboard, plan = (
        [*program, subcommand, *inventory] for subcommand in ("doctor", "preflight", "adopt", "onboard", "plan")
    )
    person.print_paragraph(f"Checking this machine: {shlex.join(doctor)}")
    codes = [subprocess.call(doctor, pass_fds=pipe_ends)]
    if is_unattended or (
        is_interactive and person.confirm("Check the login of each account now, with one attempt each?")
    ):
        person.print_paragraph(shlex.join(preflight))
        codes.append(subprocess.call(preflight, pass_fds=pipe_ends))
        if is_interactive and not is_unattended and not codes[-1] and person.confirm(ADOPT_QUESTION):
            codes.append(subprocess.call(adopt, pass_fds=pipe_ends))
    else:
        person.print_paragraph(f"To check the logins, run:  {shlex.join(preflight)}")
    person.print_paragraph(f"To preview the changes of `{shlex.join(onboard)}`, run:  {shlex.join(plan)}")
    return BAD if any(codes) else 0


def _offer_key(desired: Sequence[DesiredAccount], is_interactive: bool) -> None:
    """Offer to store the key for NVIDIA's registry if a desired account's cluster uses it and the keyring lacks it."""
    profiles = [account.profile for account in desired]
    clusters = first_key.clusters_with_key(profiles)
    if not clusters or not first_key.is_key_missing():
        return
    store = ["keyring", "set", "hpc.onboard", first_key.NAME]
    page = first_key.key_page(profiles)
    origin = f" Create the key at {page}." if page else ""
    names = ", ".join(dict.fromkeys(clusters))
    text = f"To use NVIDIA's containers on {names}, you need an NGC key, but the keyring does not contain one.{origin}"
    if not is_interactive:
        person.print_paragraph(f"{text} To store the key, run:  {shlex.join(store)}")
    elif not person.confirm(f"{text} Store the key now? Your input is hidden.", default=False):
        person.print_paragraph(f"To store the key later, run:  {shlex.join(store)}")
    else:
        fault = first_key.store_key(person.prompt_secret("Your NGC key: ", find_fault))
        failure = f"The key was not stored: {fault}. To try again, run:  {shlex.join(store)}"
        person.print_paragraph(failure if fault else "The key is stored in the keyring.")
