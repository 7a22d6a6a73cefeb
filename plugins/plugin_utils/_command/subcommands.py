# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The subcommands of hpc-onboard, in the order of the help. A new subcommand needs one entry here."""

from __future__ import annotations

from typing import NamedTuple


class Subcommand(NamedTuple):
    """The help and the module of a subcommand.

    summary: its line in the list of subcommands. more: further lines of its own help. examples: commands, each with a
    description. exits: the meanings of the exit codes 0, 2 and, for some, 4. ansible: the options of ansible-playbook
    that its help lists. module: package and file, for a subcommand that runs in this process; others start a playbook.
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
        "write your accounts file from your ssh settings",
        "hpc-onboard init reads your ssh settings and known hosts. It asks you for all values that are "
        "missing in these files and in the options. Without a terminal, add --account for each account, and --project "
        "if storage paths on the cluster contain the name of a project.",
        (
            ("hpc-onboard init", "choose your accounts from a list"),
            ("hpc-onboard init --account ada@dfki", "without a terminal"),
        ),
        ("the file is written, and this machine is ready", "no file is written, or this machine is not ready"),
        module="_command.init",
    ),
    "doctor": Subcommand(
        "check that this machine is ready",
        "hpc-onboard doctor checks Python, Ansible, ssh, the keyring and the accounts file. It also checks the ssh "
        "settings of each account, without connecting.",
        (("hpc-onboard doctor", "check everything that a run needs"),),
        ("this machine is ready", "something is missing; the output says how to fix it"),
    ),
    "preflight": Subcommand(
        "check the login of each account without asking any questions",
        "hpc-onboard preflight makes one connection and one login attempt per account. It changes nothing. If a "
        "login fails, the output shows the cause: key, ticket, code, host key, host name or network.",
        (
            ("hpc-onboard preflight", "all accounts"),
            ("hpc-onboard preflight lrz", "the accounts of one cluster"),
        ),
        ("all accounts can be reached", "some accounts cannot be reached"),
    ),
    "connect": Subcommand(
        "log in to accounts that need a password or code",
        "If a login or a jump host needs a password or code, ssh asks you for it once and hides your input. The "
        "session stays open for later runs. Without an open session, ssh also asks you in other subcommands.",
        (("hpc-onboard connect narval", "open a session, for example before a run from cron"),),
        ("all accounts are connected", "some accounts could not be reached"),
    ),
    "plan": Subcommand(
        "show the changes, then ask to apply them",
        "hpc-onboard plan shows the same changes as hpc-onboard onboard --check. At a terminal, it then asks whether "
        "to apply these changes. Without a terminal, or with --check, it only shows the changes.",
        (
            ("hpc-onboard plan wilson", "show the changes on wilson, and ask"),
            ("hpc-onboard plan wilson --yes", "show the changes, and apply them"),
        ),
        ("the changes are shown, or applied", *SET_UP[1:]),
        (*BY_ROLE, *CHECK),
    ),
    "adopt": Subcommand(
        "use what you have already set up on your accounts",
        "hpc-onboard adopt finds your links, keys, conda, caches, containers and launchers. If one of these "
        "differs from your settings, adopt asks you which version to use. It changes only your accounts file.",
        (
            ("hpc-onboard adopt wilson", "show what exists, ask, and write the file"),
            ("hpc-onboard adopt wilson --check", "only show what exists"),
            ("hpc-onboard adopt --yes", "keep your own versions without asking"),
        ),
        ("the file is written, or needs no change", "you did not confirm, or an account is unknown", UNREACHABLE),
        ("--check",),
    ),
    "probe": Subcommand(
        "compare a profile with the cluster, or write a first profile",
        "hpc-onboard probe reads the storage, quotas, partitions, GPUs and containers that your account sees, and "
        "compares them with the cluster's profile, a file of facts. It changes no account and submits no job. For "
        "a cluster without a profile, use USER@HOST: probe then asks up to three questions and writes a first profile.",
        (
            ("hpc-onboard probe wilson", "show what differs from the profile"),
            ("hpc-onboard probe wilson --write", "add the differences to your profile"),
            ("hpc-onboard probe ada@login.attic.example", "write a profile of a new cluster"),
        ),
        ("the accounts were examined; differences are listed", "an account could not be examined", UNREACHABLE),
        ("--check",),
    ),
    "onboard": Subcommand(
        "set up accounts; a second run changes nothing",
        "hpc-onboard onboard makes one connection per account. It does not overwrite your own files. If a file "
        "conflicts with a setting, the output shows the command that resolves the conflict.",
        (
            ("hpc-onboard wilson", "same as: hpc-onboard onboard wilson"),
            ("hpc-onboard onboard 'simone@*'", "the accounts of one user on all clusters"),
            ("hpc-onboard onboard --tags conda", "one role"),
        ),
        SET_UP,
        (*BY_ROLE, *CHECK),
    ),
    "test-job": Subcommand(
        "check the setup on a compute node with one small job",
        "hpc-onboard test-job submits one small job per account, and removes the job's files when the job has ended. "
        "If the job is still pending when the command ends, the next run waits for this job and submits no other.",
        (
            ("hpc-onboard test-job lrz", "on one cluster"),
            ("hpc-onboard test-job --gpu", "with a GPU"),
            ("hpc-onboard test-job --output jobs.json", "results as JSON"),
        ),
        ("all checks passed in all jobs", "a check or job failed, a job is pending, or an account is unreachable"),
        ("--check",),
    ),
    "audit": Subcommand(
        "report drift, its cause and the fix (read-only)",
        "hpc-onboard audit compares each account with its desired state (your settings and the cluster's profile). It "
        "also reports misplaced keys, and caches and start-up files that cause problems. It changes nothing.",
        (
            ("hpc-onboard audit", "all accounts"),
            ("hpc-onboard audit lrz --output report", "write reports as files"),
            ("hpc-onboard audit --fail-on medium", "also fail on medium findings"),
        ),
        (
            "all accounts were checked, and no finding reaches the severity of --fail-on",
            "a finding reaches the severity of --fail-on, or the audit is incomplete",
        ),
        BY_ROLE,
    ),
    "fix": Subcommand(
        "fix findings of the last audit if no data can be lost",
        "hpc-onboard fix shows the fixes and asks before it applies them. It skips a finding if its place has changed "
        "since the audit, or if the fix could break something. Fix such findings by hand.",
        (
            ("hpc-onboard fix wilson --check", "show what would be fixed"),
            ("hpc-onboard fix wilson", "show the fixes, ask, apply them, audit again"),
            ("hpc-onboard fix --yes", "apply the fixes without asking"),
        ),
        (
            "the fixes were applied, and no finding reaches the severity of --fail-on",
            "a fix was not applied, or a finding reaches the severity of --fail-on",
        ),
        ("--check",),
    ),
    "rotate": Subcommand(
        "replace a key (by default, the NGC key) on every account",
        "hpc-onboard rotate tests the new key, installs it on one account, and tests it again on this account. It then "
        "does the same on all other accounts. You can interrupt the rotation at any point. To continue, use --resume.",
        (
            ("hpc-onboard rotate", "ask for the new key; your input is hidden"),
            ("hpc-onboard rotate --resume", "continue the last rotation"),
            ("hpc-onboard rotate --secret wandb", "replace another key"),
        ),
        ("the key is replaced on all accounts", "the rotation is not finished; the last lines show the next command"),
        ("--check",),
    ),
    "offboard": Subcommand(
        "remove what hpc-onboard created, keys first",
        "hpc-onboard offboard shows what it will remove, and asks before it removes anything. It keeps your own "
        "files, files that you have changed, and every folder that is not empty.",
        (
            ("hpc-onboard offboard wilson --check", "show what would be removed"),
            ("hpc-onboard offboard wilson", "show the list, ask, and remove"),
            ("hpc-onboard offboard --only undeclared --yes", "remove only undeclared resources"),
        ),
        ("everything is removed", "you did not confirm, or something could not be removed", UNREACHABLE),
        (*BY_ROLE, *CHECK),
    ),
    "export-script": Subcommand(
        "write a script for sites where programs may not log in",
        "The exported script can set up, audit and offboard the account, like a run over ssh. The script contains no "
        "keys, but asks you for each key and hides your input. Read its result with hpc-onboard import-result.",
        (
            ("hpc-onboard export-script simone@frontier", "write a script"),
            ("hpc-onboard export-script simone@frontier -o FILE", "write the script to FILE"),
        ),
        ("the script is written", "the script is not written; the output says why"),
    ),
    "import-result": Subcommand(
        "read the result of an exported script",
        "hpc-onboard import-result checks that the result was not changed, that it is from your account, and that this "
        "machine exported the script. It then treats the result like the result of a run over ssh.",
        (("hpc-onboard import-result FILE", "the file that you copied from the cluster"),),
        ("everything on the account is up to date", "the result is invalid, or something is not up to date"),
    ),
    "ssh-config": Subcommand(
        "add short names for your accounts to your ssh settings",
        "hpc-onboard ssh-config shows the new entries for your ssh settings, and asks before it writes these "
        "entries to a separate file. Your own ssh settings take precedence. Offboarding removes an account's entries.",
        (
            ("hpc-onboard ssh-config", "show the new entries, ask, and write them"),
            ("hpc-onboard ssh-config --check", "show what would be written"),
        ),
        ("the entries are up to date", "you did not confirm, or the entries could not be written"),
        CHECK,
    ),
    "status": Subcommand(
        "show the state of all accounts and keys, and the next step",
        "hpc-onboard status reads only the records on this machine. It uses neither the network nor the keyring.",
        (("hpc-onboard status", "all accounts"), ("hpc-onboard status 'simone@*' --json", "as JSON")),
        (
            "the state is shown, even if an account needs attention",
            "the accounts file is missing, or a name is unknown",
        ),
        module="_status.status",
    ),
    "done": Subcommand(
        "mark a manual step at a site as done",
        "A manual step is something that you must do yourself, such as accepting the site's terms. Without STEP, "
        "hpc-onboard done lists the manual steps of the account.",
        (("hpc-onboard done go42tum@lrz export_control", "mark this step as done today"),),
        ("the step is recorded, or the steps are listed", "the account or the step is unknown"),
        module="_status.done",
    ),
    "cheatsheet": Subcommand(
        "show a cluster on one screen: storage, limits, rules",
        examples=(
            ("hpc-onboard cheatsheet wilson", "show the most important facts"),
            ("hpc-onboard cheatsheet wilson --all", "show all facts"),
        ),
        exits=("the cluster is shown", "the cluster is unknown, or its profile has a mistake"),
        module="_command.cheatsheet",
    ),
    "profile": Subcommand(
        "list the known clusters; write and check your own profile",
        examples=(
            ("hpc-onboard profile", "list the known clusters"),
            ("hpc-onboard profile new attic", "write a profile of a cluster"),
            ("hpc-onboard profile check", "check your own profiles and report all mistakes"),
        ),
        exits=("the list is shown, or the profile is valid or was written", "a profile is invalid or was not written"),
        module="_command.profile",
    ),
    "ledger": Subcommand(
        "verify the rotation record; show where a key was installed",
        examples=(
            ("hpc-onboard ledger verify", "report the first changed record"),
            ("hpc-onboard ledger who-has 3f9a1c20b7de", "list all targets that had the key"),
        ),
        exits=("the ledger is unchanged", "the ledger was changed or cannot be read"),
        module="_command.ledger",
    ),
    "state": Subcommand(
        "copy this machine's records to another machine, without keys",
        "hpc-onboard state copies receipts (the records of created resources), and the records of rotations, audits, "
        "runs and manual steps.",
        (
            ("hpc-onboard state export FILE", "write the records to a new file"),
            ("hpc-onboard state import FILE", "add the records that this machine lacks"),
        ),
        ("the records are exported or imported", "nothing is exported or imported; the output says why"),
        module="_command.state",
    ),
    "keyring": Subcommand(
        "unlock the encrypted key file for some hours, or lock it",
        "hpc-onboard keyring unlock keeps the file's encryption key in memory, but neither your passphrase nor the "
        "keys in the file. Only your own programs can use this encryption key. Without unlock or lock, hpc-onboard "
        "keyring shows whether the file is unlocked.",
        (
            ("hpc-onboard keyring unlock", "unlock the file for 8 hours"),
            ("hpc-onboard keyring unlock --for 30m", "unlock the file for 30 minutes"),
            ("hpc-onboard keyring lock", "lock the file now"),
            ("hpc-onboard keyring", "show how long the file stays unlocked"),
        ),
        ("the file is unlocked or locked, or the state is shown", "the command failed; the output says why"),
        module="_command.unlock",
    ),
    "rekey": Subcommand(
        "change the passphrase of the encrypted key file",
        "hpc-onboard rekey asks for a new passphrase, and re-encrypts the file with this passphrase and a new salt. It "
        "also applies this version's key derivation settings, which make the passphrase harder to guess.",
        (("hpc-onboard rekey --keep-passphrase", "keep the passphrase; renew the salt"),),
        ("the file has the new passphrase or settings", "the file is unchanged; the output says why"),
        module="_command.rekey",
    ),
    "completion": Subcommand(
        "print the completion script for bash, zsh or fish",
        "With this script, your shell completes subcommands, accounts, clusters, roles and options. To load the "
        "script in every shell, add the line for your shell to the shell's start-up file:\n"
        '  bash   eval "$(hpc-onboard completion bash)"    in ~/.bashrc\n'
        '  zsh    eval "$(hpc-onboard completion zsh)"     in ~/.zshrc, below compinit\n'
        "  fish   hpc-onboard completion fish | source     in ~/.config/fish/config.fish",
        exits=("the script is printed", "the Python package argcomplete is missing"),
        module="_command.completion",
    ),
}
