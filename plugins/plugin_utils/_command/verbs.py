# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What hpc-onboard can do, in the order of its help. A new verb is one entry here."""

from __future__ import annotations

from typing import NamedTuple


class Verb(NamedTuple):
    """One verb.

    summary: its line in the help. more: what its own help adds. examples: commands, each with what it does. module: the
    room and the file whose main() does a verb that reaches no account; all others are playbooks.
    """

    group: str
    summary: str
    more: str = ""
    examples: tuple[tuple[str, str], ...] = ()
    module: str = ""


FIRST, ACCOUNTS, HERE = "Look first", "Set up and keep", "On this machine"

VERBS = {
    "init": Verb(
        FIRST,
        "write your accounts file: from your ssh settings, and by asking",
        module="_command.init",
    ),
    "doctor": Verb(
        FIRST,
        "check that this machine is ready, and say what to do if not",
        "Looks at Python, Ansible, ssh, the keyring and the accounts file, and at the\n"
        "way to each account, as far as it can be seen from here. Connects to nothing.",
        (("hpc-onboard doctor", "all that a run needs"),),
    ),
    "preflight": Verb(
        FIRST,
        "say whether each account can be entered now, without a person",
        "One connection and one attempt each; asks nobody, changes nothing. Tells apart\n"
        "what is shut: key, ticket, code, host key, name, network, the account itself.",
        (
            ("hpc-onboard preflight", "all accounts at once"),
            ("hpc-onboard preflight lrz", "one cluster's"),
        ),
    ),
    "connect": Verb(
        FIRST,
        "open the doors that ask a person for a code or a password",
        "ssh itself asks, once and unseen, also for a jump host; the session stays for\n"
        "later runs. onboard, rotate, mend and offboard ask by themselves when they must.",
        (("hpc-onboard connect narval", "then even a run from cron gets in"),),
    ),
    "plan": Verb(
        FIRST,
        "foresee exactly what onboard would do, then ask whether to do it",
        "Foresees as onboard --check --diff does. At a terminal it asks then; without\n"
        "one, or with --check, nothing is changed.",
        (
            ("hpc-onboard plan wilson", "what would be made there; do it?"),
            ("hpc-onboard plan wilson --yes", "show it, and do it"),
        ),
    ),
    "onboard": Verb(
        ACCOUNTS,
        "set up accounts; a second run changes nothing",
        "One connection for each account. Nothing of yours is overwritten: what is in\n"
        "the way is reported, with the command that clears it.",
        (
            ("hpc-onboard wilson", "short for onboard wilson"),
            ("hpc-onboard onboard 'simone@*'", "one user's accounts, on every cluster"),
            ("hpc-onboard onboard --tags conda", "one capability, by its role"),
        ),
    ),
    "try": Verb(
        ACCOUNTS,
        "let one small job say whether jobs can use what was set up",
        "A job that waits is looked at again by the next run, and submitted once.\n"
        "Afterwards the job and its files are gone. --check only asks Slurm.",
        (
            ("hpc-onboard try lrz", "one cluster's accounts"),
            ("hpc-onboard try -e try_gpu=true", "with a GPU"),
            ("hpc-onboard try -e try_output=jobs.json", "for programs"),
        ),
    ),
    "audit": Verb(
        ACCOUNTS,
        "say what has drifted, who moved and what mends it; reads only",
        "An account that could not be looked at counts as a finding, so it is a 2, too.",
        (
            ("hpc-onboard audit", "all accounts"),
            ("hpc-onboard audit lrz -e audit_output=report", "reports as files"),
            ("hpc-onboard audit -e audit_fail_on=high", "what makes it a 2"),
        ),
    ),
    "mend": Verb(
        ACCOUNTS,
        "mend what the last audit found and can mend without a loss",
        "Shows it and asks first. Each thing is looked for again by its fingerprint; what\n"
        "was changed meanwhile, or hangs together with other things, is left to you.",
        (
            ("hpc-onboard mend wilson --check", "what would be mended"),
            ("hpc-onboard mend wilson", "show it, ask, mend it, and look again"),
            ("hpc-onboard mend --yes", "ask nobody"),
        ),
    ),
    "rotate": Verb(
        ACCOUNTS,
        "replace the NGC key on every account, or --secret NAME",
        "The new key is proven, brought to one account, then to the rest, and verified\n"
        "on each. It can stop anywhere; rotate_resume goes on.",
        (
            ("hpc-onboard rotate", "asks for the new key, unseen"),
            ("hpc-onboard rotate -e rotate_resume=true", "go on where the last run stopped"),
            ("hpc-onboard rotate --secret wandb", "another key"),
        ),
    ),
    "offboard": Verb(
        ACCOUNTS,
        "take out what was made there, keys first",
        "Shows it and asks first. What was there before us stays, what you have changed\n"
        "since does, and so does every folder with something in it.",
        (
            ("hpc-onboard offboard wilson --check", "what would be taken out"),
            ("hpc-onboard offboard wilson", "show it, ask, and take it out"),
            ("hpc-onboard offboard --yes", "ask nobody"),
        ),
    ),
    "export": Verb(
        ACCOUNTS,
        "write a file to run there yourself, where no program may log in",
        "The file sets up, looks and takes out, as a run over ssh does. No key is in it:\n"
        "it asks for them there, unseen. hpc-onboard answer takes in what it says.",
        (
            ("hpc-onboard export simone@frontier", "for one account"),
            ("hpc-onboard export simone@frontier -o FILE", "into this file"),
        ),
    ),
    "answer": Verb(
        ACCOUNTS,
        "take in what such a file has answered: hpc-onboard answer FILE",
        "Checks that it is of your account, to a file of this machine, and unchanged.\n"
        "Then receipt, rotation and audit know of it as if it had come over ssh.",
        (("hpc-onboard answer FILE", "the file as you copied it from there"),),
    ),
    "ssh-config": Verb(
        HERE,
        "let 'ssh wilson' lead to your account, for all accounts",
        "Shows it and asks first. Your own entries win; the lines of ours stand in a file\n"
        "of their own. offboard takes an account's out again, and all of it goes by\n"
        "-e ssh_config_state=absent.",
        (
            ("hpc-onboard ssh-config", "show it, ask, and write it"),
            ("hpc-onboard ssh-config --check", "what it would write"),
        ),
    ),
    "status": Verb(
        HERE,
        "say how all accounts and keys stand, and what is next; at once",
        module="_status.status",
    ),
    "done": Verb(
        HERE,
        "say that you did what only you can do at a site",
        module="_status.done",
    ),
    "cheatsheet": Verb(
        HERE,
        "show a cluster on one screen: where to put what, limits, rules",
        module="_command.cheatsheet",
    ),
    "profile": Verb(
        HERE,
        "list the known clusters; write and check one of your own",
        module="_command.profile",
    ),
    "ledger": Verb(
        HERE,
        "check the record of rotations, and say where a key ever went",
        module="_command.ledger",
    ),
    "state": Verb(
        HERE,
        "take what this machine remembers to another one; no keys",
        module="_command.state",
    ),
    "rekey": Verb(
        HERE,
        "give the encrypted file of keys another passphrase",
        module="_command.rekey",
    ),
    "completion": Verb(
        HERE,
        "print what bash, zsh or fish sources to complete what you type",
        module="_command.completion",
    ),
}
