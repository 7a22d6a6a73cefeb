# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The subcommands of hpc-onboard, in the order of the help. A new one is one entry here."""

from __future__ import annotations

from typing import NamedTuple


class Subcommand(NamedTuple):
    """One subcommand.

    summary: its line in the help. more: further lines of its own help. examples: commands, each with a description.
    exits: exit codes 0, 2 and, if there is one, 4. ansible: the options of ansible-playbook that its help lists.
    module: package and file, for a subcommand that runs in this process; the others start a playbook.
    """

    summary: str
    more: str = ""
    examples: tuple[tuple[str, str], ...] = ()
    exits: tuple[str, ...] = ()
    ansible: tuple[str, ...] = ()
    module: str = ""


EVERYDAY = ("init", "plan", "onboard", "status", "audit", "fix")
"""The subcommands that the short help lists."""
BY_ROLE = ("--tags", "--skip-tags")
CHECK = ("--check", "--diff")
UNREACHABLE = "some accounts could not be reached; nothing else failed"
SET_UP = ("everything is up to date", "something failed or is blocked, or the command is invalid", UNREACHABLE)
SUBCOMMANDS = {
    "init": Subcommand(
        "write your accounts file, from your ssh settings",
        "Reads your ssh settings and known hosts, and asks for what is missing. What an\noption sets is not asked.",
        (
            ("hpc-onboard init", "choose your accounts from a list"),
            ("hpc-onboard init --account ada@dfki", "without a terminal"),
        ),
        ("the file is written, and this machine is ready", "not written, or not ready; the last lines say why"),
        module="_command.init",
    ),
    "doctor": Subcommand(
        "check that this machine is ready",
        "Checks Python, Ansible, ssh, the keyring and the accounts file, and the path to\n"
        "each account as far as this machine knows it. Connects to nothing.",
        (("hpc-onboard doctor", "check everything that a run needs"),),
        ("this machine is ready", "something is missing; the output says how to get it"),
    ),
    "preflight": Subcommand(
        "check that each account can be reached now, without questions",
        "Makes one connection and one attempt for each account. Asks nothing and changes\n"
        "nothing. Reports what fails: key, ticket, code, host key, name or network.",
        (
            ("hpc-onboard preflight", "all accounts"),
            ("hpc-onboard preflight lrz", "the accounts of one cluster"),
        ),
        ("all accounts can be reached", "some accounts cannot be reached"),
    ),
    "connect": Subcommand(
        "log in where a password or code is needed; keep the session",
        "ssh itself asks, once and hidden, also for a jump host. Later runs use the\n"
        "session. onboard, rotate, fix and offboard ask by themselves when they must.",
        (("hpc-onboard connect narval", "then also a run from cron can log in"),),
        ("all accounts are connected", "some accounts could not be reached"),
    ),
    "plan": Subcommand(
        "show the changes, then ask to apply them",
        "Shows the same as onboard --check, and asks at a terminal. Without a\n"
        "terminal, or with --check, nothing is changed.",
        (
            ("hpc-onboard plan wilson", "show the changes there, and ask"),
            ("hpc-onboard plan wilson --yes", "show them, and apply them"),
        ),
        SET_UP,
        (*BY_ROLE, "--check"),
    ),
    "adopt": Subcommand(
        "use what you have on your accounts already",
        "Looks at links, keys, conda, caches, containers and launchers of yours, and asks\n"
        "at most once about each that differs. Writes your accounts file, nothing else.",
        (
            ("hpc-onboard adopt wilson", "show what is there, ask, and write the file"),
            ("hpc-onboard adopt wilson --check", "show it only"),
            ("hpc-onboard adopt --yes", "do not ask; keep what is different"),
        ),
        ("written, or nothing to write", "not agreed to, or an account could not be looked at", UNREACHABLE),
        ("--check",),
    ),
    "probe": Subcommand(
        "compare a profile with the cluster, or write a first one",
        "Looks at storage, quotas, partitions, GPUs and containers as your account sees\n"
        "them. Reads only, submits no job. USER@HOST of an unknown cluster: writes its\n"
        "first profile, after at most three questions.",
        (
            ("hpc-onboard probe wilson", "what differs from the profile"),
            ("hpc-onboard probe wilson --write", "write it into a profile of your own"),
            ("hpc-onboard probe ada@login.attic.example", "an unknown cluster"),
        ),
        ("looked at; differences are listed", "an account could not be looked at", UNREACHABLE),
        ("--check",),
    ),
    "onboard": Subcommand(
        "set up accounts; a second run changes nothing",
        "Makes one connection for each account. Nothing of yours is overwritten: a\n"
        "conflict is reported, with the command that resolves it.",
        (
            ("hpc-onboard wilson", "short for onboard wilson"),
            ("hpc-onboard onboard 'simone@*'", "the accounts of one user, on every cluster"),
            ("hpc-onboard onboard --tags conda", "one role"),
        ),
        SET_UP,
        (*BY_ROLE, *CHECK),
    ),
    "test-job": Subcommand(
        "check the setup on a compute node with one small job",
        "The next run checks a job that is still pending, and submits no second one.\n"
        "The job and its files are removed afterwards. --check only asks Slurm.",
        (
            ("hpc-onboard test-job lrz", "one cluster"),
            ("hpc-onboard test-job --gpu", "with a GPU"),
            ("hpc-onboard test-job --output jobs.json", "results as JSON"),
        ),
        ("all checks passed in all jobs", "a check or a job failed, is pending, or an account is unreachable"),
        ("--check",),
    ),
    "audit": Subcommand(
        "report drift, its cause and the fix (read-only)",
        "Compares each account with its desired state and checks it for keys, caches\n"
        "and start-up files that cause trouble. Changes nothing and asks nothing.",
        (
            ("hpc-onboard audit", "all accounts"),
            ("hpc-onboard audit lrz --output report", "write reports as files"),
            ("hpc-onboard audit --fail-on medium", "be stricter"),
        ),
        ("no finding is as severe as --fail-on, and nothing is unknown", "a finding is, or an audit is incomplete"),
        BY_ROLE,
    ),
    "fix": Subcommand(
        "fix what the last audit found, where nothing can be lost",
        "Shows the fixes and asks first. Each thing is located again by its fingerprint.\n"
        "What has changed since then, or is used elsewhere, is left to you.",
        (
            ("hpc-onboard fix wilson --check", "show what would be fixed"),
            ("hpc-onboard fix wilson", "show it, ask, fix it, and audit again"),
            ("hpc-onboard fix --yes", "do not ask"),
        ),
        ("fixed; the new audit has no finding as severe as --fail-on", "not fixed, or such a finding is left"),
        ("--check",),
    ),
    "rotate": Subcommand(
        "replace the NGC key on every account, or --secret NAME",
        "The new key is tested, installed on one account, then on the others, and checked\n"
        "on each. It can stop at any point; --resume continues.",
        (
            ("hpc-onboard rotate", "ask for the new key, hidden"),
            ("hpc-onboard rotate --resume", "continue the last run"),
            ("hpc-onboard rotate --secret wandb", "replace another key"),
        ),
        ("the key is replaced everywhere", "not finished; the last lines show the next command"),
        ("--check",),
    ),
    "offboard": Subcommand(
        "remove what hpc-onboard created, keys first",
        "Shows it and asks first. Your own files stay, also those that you have changed,\n"
        "and every folder that is not empty.",
        (
            ("hpc-onboard offboard wilson --check", "show what would be removed"),
            ("hpc-onboard offboard wilson", "show it, ask, and remove it"),
            ("hpc-onboard offboard --only undeclared --yes", "what accounts.yml lacks now"),
        ),
        ("everything is removed", "not agreed to, or something is left", UNREACHABLE),
        (*BY_ROLE, *CHECK),
    ),
    "export-script": Subcommand(
        "write a script to run yourself where programs may not log in",
        "The script sets up, audits and removes, as a run over ssh does. It holds no key\n"
        "and asks for them there, hidden. hpc-onboard import-result reads its result.",
        (
            ("hpc-onboard export-script simone@frontier", "for one account"),
            ("hpc-onboard export-script simone@frontier -o FILE", "write it to this file"),
        ),
        ("the script is written", "not written; the output says why"),
    ),
    "import-result": Subcommand(
        "read the result of such a script: import-result FILE",
        "Checks that the result is of your account and of a script from this machine, and\n"
        "unchanged. Then receipt, rotation and audit use it as if it had come over ssh.",
        (("hpc-onboard import-result FILE", "the file that you copied from there"),),
        ("everything is up to date there", "invalid, or something is not up to date there"),
    ),
    "ssh-config": Subcommand(
        "let 'ssh wilson' connect to your account, for all accounts",
        "Shows the entries and asks first. Your own entries win; these are in a file of\n"
        "their own. offboard removes those of an account; --state absent removes all.",
        (
            ("hpc-onboard ssh-config", "show the entries, ask, and write them"),
            ("hpc-onboard ssh-config --check", "show what would be written"),
        ),
        ("the entries are up to date", "not agreed to, or not written"),
        CHECK,
    ),
    "status": Subcommand(
        "show the state of all accounts and keys, and the next step",
        "Reads the records of this machine; uses no network and no keyring.",
        (("hpc-onboard status", "all accounts"), ("hpc-onboard status 'simone@*' --json", "as JSON")),
        ("shown, whatever the state is", "no accounts file, or a name is unknown"),
        module="_status.status",
    ),
    "done": Subcommand(
        "mark a manual step at a site as done",
        "Without STEP, lists the steps of the account.",
        (("hpc-onboard done go42tum@lrz export_control", "this step is done, today"),),
        ("recorded, or listed", "the account or the step is unknown"),
        module="_status.done",
    ),
    "cheatsheet": Subcommand(
        "show a cluster on one screen: storage, limits, rules",
        examples=(
            ("hpc-onboard cheatsheet wilson", "one screen"),
            ("hpc-onboard cheatsheet wilson --all", "everything"),
        ),
        exits=("shown", "the cluster is unknown, or its profile has a mistake"),
        module="_command.cheatsheet",
    ),
    "profile": Subcommand(
        "list the known clusters; write and check your own profile",
        examples=(
            ("hpc-onboard profile", "list the clusters"),
            ("hpc-onboard profile new attic", "write a profile of a cluster"),
            ("hpc-onboard profile check", "report all mistakes in your own profiles"),
        ),
        exits=("done", "not written, or a profile has a mistake"),
        module="_command.profile",
    ),
    "ledger": Subcommand(
        "verify the rotation record; show where a key was installed",
        examples=(
            ("hpc-onboard ledger verify", "find the first changed line"),
            ("hpc-onboard ledger who-has 3f9a1c20b7de", "every target that had this key"),
        ),
        exits=("the record is unchanged", "it was changed or cannot be read"),
        module="_command.ledger",
    ),
    "state": Subcommand(
        "copy the records of this machine to another one, without keys",
        "The records: receipts, rotations, audits, runs and manual steps.",
        (
            ("hpc-onboard state export FILE", "write them to a new file"),
            ("hpc-onboard state import FILE", "add what this machine does not have"),
        ),
        ("done", "not done; the output says why"),
        module="_command.state",
    ),
    "keyring": Subcommand(
        "unlock the encrypted key file for some hours; lock it",
        "Keeps the key that unlocks the file: not the passphrase, and none of your keys.\n"
        "Only programs that run as you can use it. Without a word, shows the state.",
        (
            ("hpc-onboard keyring unlock", "ask for the passphrase once for 8 hours"),
            ("hpc-onboard keyring unlock --for 30m", "for another time"),
            ("hpc-onboard keyring lock", "end it now"),
            ("hpc-onboard keyring", "until when it is unlocked"),
        ),
        ("done, or shown", "not done; the output says why"),
        module="_command.unlock",
    ),
    "rekey": Subcommand(
        "change the passphrase of the encrypted key file",
        "Also renews its salt, and uses the cost that this version has for guessing.",
        (("hpc-onboard rekey --keep-passphrase", "renew salt and cost only"),),
        ("changed", "not changed; the output says why"),
        module="_command.rekey",
    ),
    "completion": Subcommand(
        "print the completion script for bash, zsh or fish",
        "Your shell then completes subcommands, accounts, clusters, roles and options:\n"
        '  bash   eval "$(hpc-onboard completion bash)"    in ~/.bashrc\n'
        '  zsh    eval "$(hpc-onboard completion zsh)"     in ~/.zshrc, below compinit\n'
        "  fish   hpc-onboard completion fish | source     in ~/.config/fish/config.fish",
        exits=("printed", "the Python package argcomplete is missing"),
        module="_command.completion",
    ),
}
