# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The help of hpc-onboard, for terminals of 80 columns."""

from __future__ import annotations

from .verbs import VERBS, Verb

INTRODUCTION = """\
hpc-onboard sets up your account on every HPC cluster you use.

    hpc-onboard wilson             set up your accounts on one cluster
    hpc-onboard SUBCOMMAND [NAME...] [OPTION...]
        NAME: an account, a cluster or a pattern like 'simone@*' (default: all)
"""
OPTIONS = """\
Options  of ansible-playbook
    --tags ROLE        only this role; --skip-tags ROLE: all but this one
    --check --diff     change nothing, show the changes of files; -v: details
    -e NAME=VALUE      a setting; -f NUMBER: accounts at the same time
"""
ACCOUNTS = """\
The accounts file is the first of: -i FILE, $HPC_ONBOARD_ACCOUNTS, accounts.yml,
inventory/accounts.yml, ~/.config/hpc.onboard/accounts.yml
"""
CODES = """\
Exit codes  0  everything is up to date
            2  something failed or is not up to date, or the command is invalid
            4  some accounts could not be reached, everything else is up to date
"""
LAST = "Details: hpc-onboard SUBCOMMAND --help. Versions: hpc-onboard --version."


def overview() -> str:
    """Return the help of the whole command."""
    width = max(map(len, VERBS))
    lines, group = [INTRODUCTION.rstrip()], ""
    for name, verb in VERBS.items():
        if verb.group != group:
            group = verb.group
            lines += ["", group]
        lines.append(f"    {name:{width}}  {verb.summary}")
    return "\n".join([*lines, "", OPTIONS.rstrip(), ACCOUNTS, CODES.rstrip(), LAST])


def of_verb(name: str) -> str:
    """Return the help of one subcommand that connects to accounts."""
    verb = VERBS[name]
    shape = "[OPTION...]" if name == "doctor" else "[NAME...] [OPTION...]"
    head = f"hpc-onboard {name} {shape}\n\n{_sentence(verb)}\n{verb.more}\n"
    width = max(len(command) for command, _what in verb.examples)
    examples = "\n".join(f"    {command:{width}}  {what}" for command, what in verb.examples)
    return f"{head}\n{examples}\n\n{OPTIONS}\n{CODES}".rstrip()


def _sentence(verb: Verb) -> str:
    return f"{verb.summary[0].upper()}{verb.summary[1:]}."
