# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The subcommands of hpc-onboard, in the order of the help. A new one is one entry here."""

from __future__ import annotations

from typing import NamedTuple


class Verb(NamedTuple):
    """One subcommand.

    summary: its line in the help. more: further lines of its own help. examples: commands, each with a description.
    module: package and file of its main(), for a subcommand that connects to no account; the others are playbooks.
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
        "write your accounts file, from your ssh settings",
        module="_command.init",
    ),
    "doctor": Verb(
        FIRST,
        "check that this machine is ready",
        "Checks Python, Ansible, ssh, the keyring and the accounts file, and the path to\n"
        "each account as far as this machine knows it. Connects to nothing.",
        (("hpc-onboard doctor", "check everything that a run needs"),),
    ),
    "preflight": Verb(
        FIRST,
        "check that each account can be reached now, without questions",
        "Makes one connection and one attempt for each account. Asks nothing and changes\n"
        "nothing. Reports what fails: key, ticket, code, host key, name or network.",
        (
            ("hpc-onboard preflight", "all accounts"),
            ("hpc-onboard preflight lrz", "the accounts of one cluster"),
        ),
    ),
    "connect": Verb(
        FIRST,
        "log in where a password or code is needed; keep the session",
        "ssh itself asks, once and hidden, also for a jump host. Later runs use the\n"
        "session. onboard, rotate, fix and offboard ask by themselves when they must.",
        (("hpc-onboard connect narval", "then also a run from cron can log in"),),
    ),
    "plan": Verb(
        FIRST,
        "show the changes, then ask to apply them",
        "Shows the same as onboard --check --diff, and asks at a terminal. Without a\n"
        "terminal, or with --check, nothing is changed.",
        (
            ("hpc-onboard plan wilson", "show the changes there, and ask"),
            ("hpc-onboard plan wilson --yes", "show them, and apply them"),
        ),
    ),
    "onboard": Verb(
        ACCOUNTS,
        "set up accounts; a second run changes nothing",
        "Makes one connection for each account. Nothing of yours is overwritten: a\n"
        "conflict is reported, with the command that resolves it.",
        (
            ("hpc-onboard wilson", "short for onboard wilson"),
            ("hpc-onboard onboard 'simone@*'", "the accounts of one user, on every cluster"),
            ("hpc-onboard onboard --tags conda", "one role"),
        ),
    ),
    "test-job": Verb(
        ACCOUNTS,
        "check the setup on a compute node with one small job",
        "The next run looks at a job that is still pending, and submits no second one.\n"
        "The job and its files are removed afterwards. --check only asks Slurm.",
        (
            ("hpc-onboard test-job lrz", "one cluster"),
            ("hpc-onboard test-job -e test_job_gpu=true", "with a GPU"),
            ("hpc-onboard test-job -e test_job_output=jobs.json", "results as JSON"),
        ),
    ),
    "audit": Verb(
        ACCOUNTS,
        "report drift, its cause and the fix (read-only)",
        "An account that could not be audited counts as a finding: the exit code is 2.",
        (
            ("hpc-onboard audit", "all accounts"),
            ("hpc-onboard audit lrz -e audit_output=report", "write reports as files"),
            ("hpc-onboard audit -e audit_fail_on=high", "exit code 2 from here on"),
        ),
    ),
    "fix": Verb(
        ACCOUNTS,
        "fix what the last audit found, where nothing can be lost",
        "Shows the fixes and asks first. Each thing is located again by its fingerprint.\n"
        "What has changed since then, or is used elsewhere, is left to you.",
        (
            ("hpc-onboard fix wilson --check", "show what would be fixed"),
            ("hpc-onboard fix wilson", "show it, ask, fix it, and audit again"),
            ("hpc-onboard fix --yes", "do not ask"),
        ),
    ),
    "rotate": Verb(
        ACCOUNTS,
        "replace the NGC key on every account, or --secret NAME",
        "The new key is tested, installed on one account, then on the others, and checked\n"
        "on each. It can stop at any point; rotate_resume continues.",
        (
            ("hpc-onboard rotate", "ask for the new key, hidden"),
            ("hpc-onboard rotate -e rotate_resume=true", "continue the last run"),
            ("hpc-onboard rotate --secret wandb", "replace another key"),
        ),
    ),
    "offboard": Verb(
        ACCOUNTS,
        "remove what hpc-onboard created, keys first",
        "Shows it and asks first. Your own files stay, also those that you have changed,\n"
        "and every folder that is not empty.",
        (
            ("hpc-onboard offboard wilson --check", "show what would be removed"),
            ("hpc-onboard offboard wilson", "show it, ask, and remove it"),
            ("hpc-onboard offboard --yes", "do not ask"),
        ),
    ),
    "export-script": Verb(
        ACCOUNTS,
        "write a script to run yourself where programs may not log in",
        "The script sets up, audits and removes, as a run over ssh does. It holds no key\n"
        "and asks for them there, hidden. hpc-onboard import-result reads its result.",
        (
            ("hpc-onboard export-script simone@frontier", "for one account"),
            ("hpc-onboard export-script simone@frontier -o FILE", "write it to this file"),
        ),
    ),
    "import-result": Verb(
        ACCOUNTS,
        "read the result of such a script: import-result FILE",
        "Checks that the result is of your account and of a script from this machine, and\n"
        "unchanged. Then receipt, rotation and audit use it as if it had come over ssh.",
        (("hpc-onboard import-result FILE", "the file that you copied from there"),),
    ),
    "ssh-config": Verb(
        HERE,
        "let 'ssh wilson' connect to your account, for all accounts",
        "Shows the entries and asks first. Your own entries win; these are in a file of\n"
        "their own. offboard removes those of an account;\n"
        "-e ssh_config_state=absent removes all.",
        (
            ("hpc-onboard ssh-config", "show the entries, ask, and write them"),
            ("hpc-onboard ssh-config --check", "show what would be written"),
        ),
    ),
    "status": Verb(
        HERE,
        "show the state of all accounts and keys, and the next step",
        module="_status.status",
    ),
    "done": Verb(
        HERE,
        "mark a manual step at a site as done",
        module="_status.done",
    ),
    "cheatsheet": Verb(
        HERE,
        "show a cluster on one screen: storage, limits, rules",
        module="_command.cheatsheet",
    ),
    "profile": Verb(
        HERE,
        "list the known clusters; write and check your own profile",
        module="_command.profile",
    ),
    "ledger": Verb(
        HERE,
        "verify the rotation record; show where a key was installed",
        module="_command.ledger",
    ),
    "state": Verb(
        HERE,
        "copy the records of this machine to another one, without keys",
        module="_command.state",
    ),
    "rekey": Verb(
        HERE,
        "change the passphrase of the encrypted key file",
        module="_command.rekey",
    ),
    "completion": Verb(
        HERE,
        "print the completion script for bash, zsh or fish",
        module="_command.completion",
    ),
}
