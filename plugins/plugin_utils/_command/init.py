# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The subcommand init: write the accounts file, from what ssh knows and what the user answers."""

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
from .._init.first_file import AccountsDraft
from .._init.place import find_repository, write_file
from .._init.wishes import AccountQuestion, DesiredAccount, describe_fault, list_questions
from .._input.diagnostics import Mistakes
from .._input.writers import abbreviate_home
from .._secrets.key_faults import find_fault
from .._unlocked import handover
from . import accounts
from .accounts import CommandError
from .child import end_by
from .probe import suggest_name

OPTIONS = {  # option of an account -> the field of its entry, the name of its value, and its help
    "--project": ("project", "NAME", "project, group or Slurm account"),
    "--storage": ("storage", "AREA=PATH", "path of a storage area, such as dss=/dss/...; can be repeated"),
    "--jump-user": ("jump_user", "NAME", "user name on the jump host, if it differs"),
    "--ssh": ("ssh", "NAME", "host in your ssh settings that connects to the account"),
    "--auth": ("auth", "key|ask", "key: an SSH key is enough; ask: ssh asks for a password or code"),
    "--without": ("without", "ROLE", "role to skip; can be repeated"),
}
BAD = 2
EXISTING = "Look on the account for what you have set up before, such as links, conda and containers?"


class StoreOfAccount(argparse.Action):
    """Keep --account USER@CLUSTER, or an option of the account before it."""

    def __call__(self, _parser: Any, namespace: argparse.Namespace, value: Any, option: str | None = None) -> None:
        accounts = namespace.accounts = list(namespace.accounts)
        if option == "--account":
            accounts.append((value, []))
        elif not accounts:
            raise CommandError(f"{option} must follow its account: --account USER@CLUSTER {option} ...")
        else:
            accounts[-1][1].append((option, value))


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the subcommand."""
    parser.add_argument(
        "-o", "--file", metavar="FILE", type=Path, help="the file to write; default: ~/.config/hpc.onboard/accounts.yml"
    )
    parser.add_argument("--add", action="store_true", help="add to an existing file")
    parser.add_argument("--yes", action="store_true", help="ask only what is required; check the login at the end")
    group = parser.add_argument_group("accounts, each followed by its options")
    form = "an account; CLUSTER alone if ssh knows the user"
    group.add_argument(
        "--account", action=StoreOfAccount, dest="accounts", default=[], metavar="USER@CLUSTER", help=form
    )
    for option, (_word, value, text) in OPTIONS.items():
        group.add_argument(option, action=StoreOfAccount, dest="accounts", metavar=value, help=text, default=[])


def run(options: argparse.Namespace) -> int:
    """Write the accounts file and check this machine. 2 if something is not ready. Raises CommandError."""
    try:
        return _run(options, shlex.split(options.prog)[:-1])
    except person.Cancelled:
        print("Nothing was written.", file=sys.stderr)
        return BAD
    except (AccountError, Mistakes) as error:
        raise CommandError(f"{error}\nNothing was written.") from None
    except KeyboardInterrupt:
        print("\nNothing was written.", file=sys.stderr, flush=True)
        end_by(signal.SIGINT)
        return BAD


def _run(wish: argparse.Namespace, front: list[str]) -> int:
    file = (wish.file or accounts.places(os.environ)[-1]).expanduser()
    shown = abbreviate_home(file)
    there = os.path.lexists(file)
    if there and not wish.add:
        raise CommandError(f"{shown} already exists. To add an account, run init --add; for another file, use -o FILE.")
    top = None if there else find_repository(file)
    if top:
        text = f"{shown} is in {abbreviate_home(top)}, a folder that git tracks, but your accounts are private."
        raise CommandError(f"{text}\nUse -o FILE to write outside that folder, or let git ignore the file.")
    draft = AccountsDraft(file, there)
    is_asked = sys.stdin.isatty() and sys.stdout.isatty()
    wishes = [_said(draft, name, words) for name, words in wish.accounts]
    if is_asked:
        if not wishes:
            wishes = _chosen(draft, shown, front)
        for one in wishes:
            _complete(one, draft.world.me, wish.yes)
    _check_whole(wishes, draft, is_asked)
    text = _composed(draft, wishes)
    if is_asked and not wish.yes:
        _show(wishes, shown)
        if not person.confirm(f"Write this {'into' if there else 'to'} {shown}?"):
            raise person.Cancelled
    write_file(file, text, draft.text)
    person.print_paragraph(f"{shown} is written. You can edit it; its first lines list what else it can contain.")
    try:
        return _then(wishes, file, front, is_asked, wish.yes)
    except (KeyboardInterrupt, person.Cancelled):
        print(f"\n{shown} is written. Continue with: {shlex.join([*front, 'doctor'])}", file=sys.stderr, flush=True)
        end_by(signal.SIGINT)
        return BAD


def _said(draft: AccountsDraft, name: str, words: Sequence[tuple[str, str]]) -> DesiredAccount:
    """An account as the options say it. Raises CommandError."""
    wish = _named(draft, name)
    for option, value in words:
        word = OPTIONS[option][0]
        if option == "--without":
            wish.entry.setdefault(word, []).append(value)
            continue
        if option == "--storage":
            area, equals, value = value.partition("=")
            if not equals:
                raise CommandError(f"{option} {area}: expected AREA=PATH, such as dss=/dss/...")
            word = f"storage:{area}"
        why = describe_fault(word, value)
        if why:
            raise CommandError(f"{option} of {wish.name}: {why}")
        wish.say(word, value)
    return wish


def _named(draft: AccountsDraft, name: str) -> DesiredAccount:
    """An account by its name, or by its cluster's alone. Raises CommandError."""
    try:
        return draft.wish(name)
    except ValueError as error:
        raise CommandError(f"--account {name}: {error}") from None


def _chosen(draft: AccountsDraft, shown: str, front: list[str]) -> list[DesiredAccount]:
    """Return the accounts that the user wants. front: the words of this command, which probes an unknown cluster."""
    known = draft.known()
    person.print_paragraph(f"Your accounts go into {shown}, one entry each.")
    if known:
        person.print_paragraph("Your ssh knows these clusters:")
        for number, one in enumerate(known, 1):
            person.print_paragraph(f"{number}  {one.name:24}{one.profile.get('name', one.cluster)}", 2)
            person.print_paragraph(f"({one.found.where})", 5)
    others = sorted(draft.catalogue.ids() - {one.cluster for one in known})
    person.print_paragraph(f"{'Other known clusters' if known else 'Known clusters'}: {', '.join(others)}.")
    every = " ".join(str(number) for number in range(1, len(known) + 1))
    numbers = "Numbers of the list, or USER@CLUSTER" if known else "USER@CLUSTER"
    text = f"Where do you have accounts? {numbers}; separated by spaces. For another cluster: USER@HOST."

    def wishes(answer: str) -> list[DesiredAccount]:
        words = dict.fromkeys(_probed(draft, word, front) for word in answer.split())
        return [known[int(one) - 1] if one.isdigit() and 0 < int(one) <= len(known) else draft.wish(one)
                for one in words]  # fmt: skip

    def why(answer: str) -> str:
        try:
            return "" if wishes(answer) else "Type an account, such as simone@wilson, or Ctrl-C to stop."
        except ValueError as error:
            return str(error)

    return wishes(person.prompt(text, every, why))


def _probed(draft: AccountsDraft, word: str, front: list[str]) -> str:
    """Return the name of an account at a host that no profile has, once the cluster is probed. Raises ValueError."""
    user, _at, host = word.rpartition("@")
    if not user or "." not in host:
        return word
    name = suggest_name(host)
    if not (draft.own_profiles / f"{name}.yml").exists():
        question = (
            f"{host} is not a known cluster. Probe it now and write a first profile? Nothing is changed on the cluster."
        )
        command = [*front, "probe", word, "--output", str(draft.own_profiles)]
        if not person.confirm(question) or subprocess.call(command):
            raise ValueError(f"{host} has no profile. Choose a known cluster, or run: {shlex.join(command)}")
    draft.add_profiles()
    return f"{user}@{name}"


def _complete(wish: DesiredAccount, me: str, brief: bool) -> None:
    """Ask for what is still to be said of an account. brief: for what is needed alone."""
    asked = False
    for one in list(list_questions(wish, me)):
        if one.needed or not brief:
            if not asked:
                print()
                person.print_paragraph(f"{wish.name}: {wish.profile.get('name', wish.cluster)}")
            asked = True
            wish.say(one.word, _answer(one, wish))
    if wish.entry.get("jump_user") == wish.user:
        del wish.entry["jump_user"]


def _answer(question: AccountQuestion, wish: DesiredAccount) -> str:
    usual = wish.user if question.word == "jump_user" and not wish.found.jump_user else question.usual

    def why(answer: str) -> str:
        if not answer:
            return "A value is required." if question.needed else ""
        return describe_fault(question.word, answer)

    skip = "" if question.needed or usual else " Press Enter to skip."
    return person.prompt(f"{question.text}{'' if question.text.endswith('.') else '.'}{skip}", usual, why)


def _check_whole(wishes: Sequence[DesiredAccount], draft: AccountsDraft, is_asked: bool) -> None:
    """Refuse what cannot be written yet, all of it at once."""
    if not wishes:
        known = ", ".join(one.name for one in draft.known()) or "no known cluster"
        text = "there is no terminal to ask on: give each account with  --account USER@CLUSTER"
        raise CommandError(f"{text}\nYour ssh knows {known}. Nothing was written.")
    missing = [
        f"    {one.name}: {question.option}   {question.text}"
        for one in wishes
        for question in list_questions(one, draft.world.me)
        if question.needed and not is_asked
    ]
    if missing:
        head = "there is no terminal to ask on. Missing options:"
        raise CommandError("\n".join([head, *missing, "Nothing was written."]))


def _composed(draft: AccountsDraft, wishes: Sequence[DesiredAccount]) -> str:
    """The text of the file, checked as every run will check it. Raises CommandError, Mistakes."""
    try:
        return draft.composed(wishes)
    except NotAdded as error:
        rows = "\n".join(f"  {line}" for one in wishes for line in render_entry(one))
        raise CommandError(f"{draft.file}: {error}. Add these lines below `accounts:` by hand:\n{rows}") from None
    except ValueError as error:
        raise CommandError(str(error)) from None


def _show(wishes: Sequence[DesiredAccount], shown: str) -> None:
    print()
    for one in wishes:
        for line in render_entry(one):
            print(f"  {line}")


def _then(wishes: Sequence[DesiredAccount], file: Path, front: list[str], is_asked: bool, sure: bool) -> int:
    """The key, the doctor, and the preflight if the person likes."""
    pipe = handover.open_pipe()  # what is unlocked for the key stays so for the checks
    _offer_key(wishes, is_asked)
    source = accounts.find([], os.environ)
    named = [] if source and Path(source.paths[0]).absolute() == file.absolute() else ["-i", str(file)]
    doctor, preflight, adopt, plan = ([*front, verb, *named] for verb in ("doctor", "preflight", "adopt", "plan"))
    person.print_paragraph(f"Checking this machine: {shlex.join(doctor)}")
    codes = [subprocess.call(doctor, pass_fds=pipe[:2])]
    connects = sure or (
        is_asked and person.confirm("Check the login of each account now? One connection, one attempt.")
    )
    if connects:
        person.print_paragraph(shlex.join(preflight))
        codes.append(subprocess.call(preflight, pass_fds=pipe[:2]))
        if is_asked and not sure and not codes[-1] and person.confirm(EXISTING):
            codes.append(subprocess.call(adopt, pass_fds=pipe[:2]))
    else:
        person.print_paragraph(f"To check the logins, run:  {shlex.join(preflight)}")
    person.print_paragraph(
        f"To see what  {shlex.join([*front, 'onboard', *named])}  would change, run:  {shlex.join(plan)}"
    )
    return BAD if any(codes) else 0


def _offer_key(wishes: Sequence[DesiredAccount], is_asked: bool) -> None:
    """Offer to store the key for NVIDIA's registry, where a cluster takes it and none is there."""
    profiles = [one.profile for one in wishes]
    takers = first_key.clusters_with_key(profiles)
    if not takers or not first_key.is_key_missing():
        return
    store = ["keyring", "set", "hpc.onboard", first_key.NAME]
    page = first_key.key_page(profiles)
    made = f" (made at {page})" if page else ""
    text = f"{', '.join(dict.fromkeys(takers))}: NVIDIA's containers need your NGC key{made}; the keyring has none."
    if not is_asked:
        person.print_paragraph(f"{text} Store it with:  {shlex.join(store)}")
    elif not person.confirm(f"{text} Store it now? Your input is hidden.", usual=False):
        person.print_paragraph(f"Later:  {shlex.join(store)}")
    else:
        why = first_key.store_key(person.prompt_secret("Your NGC key: ", find_fault))
        person.print_paragraph(
            f"Not stored: {why}. Try again:  {shlex.join(store)}" if why else "The key is stored in the keyring."
        )
