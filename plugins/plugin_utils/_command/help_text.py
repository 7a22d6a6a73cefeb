# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What hpc-onboard says of itself, for terminals of 80 columns."""

from __future__ import annotations

from .verbs import VERBS, Verb

INTRODUCTION = """\
hpc-onboard sets up your account on every HPC cluster you use.

    hpc-onboard wilson                      your accounts on one cluster
    hpc-onboard VERB [NAME...] [OPTION...]  NAME: an account, a cluster, or a
                                            pattern as 'simone@*'; else all
"""
OPTIONS = """\
Options  those of ansible-playbook
    --tags ROLE        only this capability; --skip-tags ROLE: all but this one
    --check --diff     foresee only; show what would be in files; -v: tell all
    -e NAME=VALUE      a setting; -f NUMBER: so many accounts at once
"""
ACCOUNTS = """\
The accounts file is the first of: -i FILE, $HPC_ONBOARD_ACCOUNTS, accounts.yml,
inventory/accounts.yml, ~/.config/hpc.onboard/accounts.yml
"""
CODES = """\
Exit codes  0  all is as wanted
            2  something is not, or the command cannot be run as it was typed
            4  accounts could not be reached, and nothing else is amiss
"""
LAST = "hpc-onboard VERB --help says more of one. hpc-onboard --version says what runs."


def overview() -> str:
    """The help of the whole command."""
    width = max(map(len, VERBS))
    lines, group = [INTRODUCTION.rstrip()], ""
    for name, verb in VERBS.items():
        if verb.group != group:
            group = verb.group
            lines += ["", group]
        lines.append(f"    {name:{width}}  {verb.summary}")
    return "\n".join([*lines, "", OPTIONS.rstrip(), ACCOUNTS, CODES.rstrip(), LAST])


def of_verb(name: str) -> str:
    """The help of one verb that reaches accounts."""
    verb = VERBS[name]
    shape = "[OPTION...]" if name == "doctor" else "[NAME...] [OPTION...]"
    head = f"hpc-onboard {name} {shape}\n\n{_sentence(verb)}\n{verb.more}\n"
    width = max(len(command) for command, _what in verb.examples)
    examples = "\n".join(f"    {command:{width}}  {what}" for command, what in verb.examples)
    return f"{head}\n{examples}\n\n{OPTIONS}\n{CODES}".rstrip()


def _sentence(verb: Verb) -> str:
    return f"{verb.summary[0].upper()}{verb.summary[1:]}."
