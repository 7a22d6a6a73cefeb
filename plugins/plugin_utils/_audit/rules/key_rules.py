# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules about keys: who can read them, and whether they work."""

from __future__ import annotations

from .rule import UNPLACED, Rule

CHECKS = "audit checks"
KEEPERS = "roles that store keys"
BOTH = f"{KEEPERS} and {CHECKS}"

KEY_RULES = {
    "SEC-001": Rule(
        title="Other users can read a file with a key",
        severity="critical",
        owner=BOTH,
        why="Group members or all users can access a file that contains a key or a token. A login node has hundreds of"
        " users. Even if the file was readable for only a minute, one of them may have copied the key. Anyone with the"
        " key can pull images, run up costs and publish in your name.",
        fix="For a key file that a role writes, run `hpc-onboard onboard ACCOUNT`, which sets the mode of the file to"
        " 0600. For any other file with a key, run `hpc-onboard fix ACCOUNT`. If other users could read the key for a"
        " long time, replace it with `hpc-onboard rotate`.",
        advice="Remove the access of other users to {place}. Only its owner can do this.",
    ),
    "SEC-002": Rule(
        title="The folder of a key is open to other users",
        severity="critical",
        owner=BOTH,
        why="Other users can write to a folder that contains a key, or can list a folder that should be private. A"
        " user who can write to a folder can replace the files in it, whatever their modes are. hpc-onboard writes no"
        " key to such a folder.",
        fix="`hpc-onboard fix ACCOUNT` removes other users' write permission from a folder that contains a key. For a"
        " folder that a role creates, run `hpc-onboard onboard ACCOUNT`.",
        advice="Remove the write permission of other users on {place}, or store the key in a different folder.",
    ),
    "SEC-003": Rule(
        title="An access control list gives other users access to a key",
        severity="critical",
        owner=BOTH,
        why="An access control list (ACL) gives other users access to a key, although the mode of the file looks"
        " private. In the output of `ls -l`, only a `+` after the mode shows that a file has an ACL. Files often"
        " inherit an ACL from a project folder.",
        fix="`hpc-onboard fix ACCOUNT` removes the ACL of a file that contains a key. To remove the default ACL of a"
        " folder, run `setfacl -k FOLDER` on the account.",
        advice="If no user needs the default access list of {place}, remove it with setfacl -k",
    ),
    "SEC-004": Rule(
        title="A file contains a key that does not belong there",
        severity="high",
        owner=CHECKS,
        why="A start-up file, a shell history, a job script, a notebook, a log or another text file contains a key."
        " Such files are copied, shared and mailed to support teams, and a rotation does not replace the key in them."
        " The audit recognises the keys in your keyring, and other keys by their issuer's format and checksum. It"
        " ignores lines that contain `hpc.onboard:allow`.",
        fix="`hpc-onboard fix ACCOUNT` removes a variable whose value is a current or replaced key from your keyring."
        " The account must also have the key in the file that the variable's program reads, such as `~/.netrc` for"
        " `WANDB_API_KEY`. Remove every other key by hand. If a key was never in your keyring, it may exist nowhere"
        " else, so store it first (`keyring set hpc.onboard NAME`). If an application reads the file (`.env`, a"
        " compose file), first give the application its key in another way. Finally, replace the key with `hpc-onboard"
        " rotate`.",
        advice="Make sure that the program has its key in another way. Then remove the key from {place} by hand.",
        cases={
            "unknown_key": "{keep} Then remove the line from {place}.",
            "application": "An application reads {place}, so hpc-onboard does not edit it. Give the application its key"
            " in another way. If you need the key, store it in your keyring (keyring set hpc.onboard NAME). Then remove"
            " it from the file.",
            "no_replacement": "The commands in {place} need this variable, because no file that their program reads"
            " contains the key. Set up the role that writes this file, then remove the line.",
        },
    ),
    "SEC-005": Rule(
        title="A file that git tracks contains a key",
        severity="critical",
        owner=CHECKS,
        why="Git tracks a file that contains a key. The key is therefore in the history and in every clone. If the"
        " file was pushed, the key is also in places that you cannot list. Deleting the file later does not remove"
        " these copies.",
        fix="First, replace the key in the file with `hpc-onboard rotate`. Then remove the file from Git (`git rm"
        " --cached FILE`) and add it to `.gitignore`.",
        advice="Remove the key from {place} and from the history of git, and replace it: {rotate}",
    ),
    "SEC-006": Rule(
        title="A leftover copy of a file contains a key",
        severity="high",
        owner=BOTH,
        why="A copy of a file with a key (`.bak`, `~`, an editor's swap file) is in the same folder as the file. A"
        " rotation does not replace the key in the copy. Often, more users can read the copy than the original.",
        fix="`hpc-onboard fix ACCOUNT` removes a copy of a key file if all lines of the copy are also in the original."
        " In any other copy, it overwrites the keys that are in your keyring. A key that was never in your keyring may"
        " exist nowhere else, so store it first (`keyring set hpc.onboard NAME`).",
        advice="Compare {place} with its original, save the lines that you need, and remove it.",
        cases={"unknown_key": "{keep} Then remove {place}."},
    ),
    "SEC-007": Rule(
        title="A password begins with '$', so a shell expands it",
        severity="high",
        owner=CHECKS,
        why="A password in enroot's credentials file begins with `$`. enroot passes the password to a shell, which"
        " treats it as a variable or a command. As a result, either the password is empty or the command runs.",
        fix="Onboarding does not change a password that begins with `$`. Delete the line with this password, then run"
        " `hpc-onboard onboard ACCOUNT --tags enroot_credentials`, which writes the literal key. For a machine that no"
        " role sets up, write the literal password to the file by hand.",
        advice="Onboarding does not change this line. Delete {place}, then run: {onboard}. For a machine that"
        " hpc-onboard does not set up, write the password itself into the file.",
    ),
    "SEC-008": Rule(
        title="An environment variable overrides a key file",
        severity="high",
        owner=CHECKS,
        why="A start-up file sets a variable such as `WANDB_API_KEY` or `HF_TOKEN`. A program that reads this variable"
        " ignores the file that hpc-onboard writes. It may therefore use an old key although the file has the current"
        " one. In addition, the key is in the environment of each of your processes.",
        fix="Remove the variable from the start-up file that the finding names, log in again, and check with `env |"
        " grep -i key`. A variable that points to a different file or folder (`NETRC`, `HF_HOME`) may have other"
        " purposes, such as a cache of models. In this case, set the variable's path in the accounts file (`path`), or"
        " remove the variable if nothing else needs it.",
        advice="Remove the variable from {place}. Its program then reads the key from the file.",
        cases={
            "unknown_key": "{keep} Then remove the variable from {place}.",
            "leads_past": "Set the path of the file that the variable points to in the accounts file (path). Or remove"
            " the variable from {place}, if nothing else needs it.",
            UNPLACED: "Find out what sets {place}: none of your start-up files does. Then remove the variable.",
        },
    ),
    "SEC-009": Rule(
        title="A container tool has stored tokens from earlier logins",
        severity="low",
        owner=CHECKS,
        why="A container tool has stored tokens from earlier logins, for example in enroot's token cache. Until a"
        " token expires, anyone who has it can use it like the key.",
        fix="`hpc-onboard fix ACCOUNT` removes the stored tokens. The next pull gets a new token.",
        advice="Remove {place} while no pull is running.",
    ),
    "SEC-010": Rule(
        title="Another user can change a file that your programs run or trust",
        severity="critical",
        owner=CHECKS,
        why="Another user can change or replace a file that your shells, ssh or services run or trust. Examples are"
        " start-up files, the programs that they run, hpc-onboard's own files, programs on your PATH, files in"
        " `~/.ssh`, systemd units and editor plugins. Once you log in, that user can get all of your permissions and"
        " read all of your keys. The rule also reports a server that you run without a token, such as a Jupyter"
        " server. It does not report access for a group that has no other members.",
        fix="To remove other users' write permission, run `hpc-onboard fix ACCOUNT`, or run `chmod go-w FILE` on the"
        " account. If the file belongs to another user, check its content and replace the file with your own copy.",
        advice="Check who has changed {place}, then run chmod go-w {place}.",
    ),
    "SEC-011": Rule(
        title="A test, example or documentation file contains a key",
        severity="info",
        owner=CHECKS,
        why="A file in a folder such as `tests`, `fixtures`, `examples` or `docs` contains a key that was never in"
        " your keyring. The key has the format and the checksum of an issuer's keys, so it may be real or just an"
        " example.",
        fix="Check whether the key in the file is real. If it is, replace the key on its issuer's page and remove it"
        " from the file. If the key is only an example, write `hpc.onboard:allow` on the same line. The audit then no"
        " longer reports the key.",
        advice="Check the key in {place}. If it is real, replace it on its issuer's page and remove it from the file.",
    ),
    "SEC-012": Rule(
        title="A program does not verify the servers that it connects to",
        severity="medium",
        owner=CHECKS,
        why="A setting of git, conda, pip, npm, curl, wget, ssh (for every host) or a container tool turns off the"
        " verification of certificates or host keys. An attacker on the network can then read the keys that you send"
        " and change the files that you download.",
        fix="Remove the setting that turns off the verification. If a server uses a certificate from a private"
        " authority, set the file with the authority's certificate instead (`http.sslCAInfo`, `ssl_verify: FILE`,"
        " `cert = FILE`).",
        advice="Remove {place}. If a server uses a certificate of a private authority, set the authority's certificate"
        " instead.",
    ),
    "KEY-001": Rule(
        title="A key is missing",
        severity="high",
        owner=KEEPERS,
        why="A key file has no entry for a machine that needs one. For nvcr.io, enroot needs two entries: one for the"
        " registry and one for the registry's token service. Without an entry, pulls fail with error 401, often only"
        " inside a job.",
        fix="`hpc-onboard onboard ACCOUNT --tags enroot_credentials` writes the missing key. If the finding names a"
        " role other than `enroot_credentials`, use that role's name. If only the site's profile asks for the key and"
        " your keyring does not have it, the severity is info. In this case, store the key, or skip the role with"
        " `without: [registry_auth]`.",
    ),
    "KEY-002": Rule(
        title="A file contains a key that is not the current one",
        severity="high",
        owner=KEEPERS,
        why="The fingerprint of the key in the file differs from the fingerprint of the current key. Either a rotation"
        " has not reached this account yet, or another user or program has changed the key. An old key works until it"
        " is deactivated.",
        fix="If a rotation has not reached the account yet, run `hpc-onboard rotate --resume`. Otherwise, run"
        " `hpc-onboard onboard ACCOUNT`.",
    ),
    "KEY-003": Rule(
        title="A key file has several entries for a machine, and programs use only the first one",
        severity="high",
        owner=BOTH,
        why="A key file has several entries for one machine, and programs use only the first one. A new key in a later"
        " entry is never used. If the entries have different logins, the severity is medium, because a rotation does"
        " not replace the key of the second login.",
        fix="Delete the entries that you do not need from the key file. Or run `hpc-onboard onboard ACCOUNT`, which"
        " updates the entry that programs use.",
        found_class="broken",
        advice="Keep one entry for each machine in {place}.",
    ),
    "KEY-004": Rule(
        title="A key has a format that its program cannot read",
        severity="high",
        owner=BOTH,
        why="The file contains the key, but in a format that its program cannot read: an entry that spans several"
        " lines, quotation marks, fields in the wrong order, or a carriage return at the end. Or the file sets a"
        " credential helper for the registry (`credsStore`, `credHelpers`). In all these cases, the program ignores"
        " the key without a message.",
        fix="`hpc-onboard onboard ACCOUNT` rewrites an entry that is on a single line. It cannot fix an entry that"
        " spans several lines, a carriage return, a byte-order mark, a non-ASCII space, or a credential helper. Fix"
        " these by hand as the finding describes, then run the command again.",
        found_class="broken",
        advice="Edit {place} by hand as the finding describes. Onboarding does not change this line.",
    ),
    "KEY-005": Rule(
        title="The issuer refuses the key",
        severity="high",
        owner=CHECKS,
        why="The issuer reports that the key is invalid. The key was deleted, has expired, or was copied incompletely.",
        fix="Create a new key on the issuer's page, then run `hpc-onboard rotate`. The rotation tests the new key"
        " before it changes an account.",
        advice="Create a new key and install it everywhere: {rotate}",
    ),
    "KEY-006": Rule(
        title="The key is valid, but lacks permissions",
        severity="high",
        owner=CHECKS,
        why="The key is valid, but it gives no access to the private images of the registry, because it was created"
        " for other services or another organisation. Pulls of public images still work, so users often notice the"
        " problem late.",
        fix="Add the missing services to the key on its issuer's page. Or create a key with these services, then run"
        " `hpc-onboard rotate`.",
        advice="Add the services to the key on its issuer's page, or create a new key: {rotate}",
    ),
    "KEY-007": Rule(
        title="A key expires soon",
        severity="medium",
        owner=CHECKS,
        why="The key expires within a month. In its last week, the severity is high. Jobs that use the key fail once"
        " it has expired.",
        fix="Create a new key while the old one still works, and install it with `hpc-onboard rotate`.",
        found_class="at_risk",
        found_cause="time",
        advice="Install a new key: {rotate}",
    ),
    "KEY-008": Rule(
        title="A legacy key is in use",
        severity="low",
        owner=CHECKS,
        why="The issuer still accepts legacy keys, but no longer creates them. A legacy key never expires, and its"
        " scope cannot be limited. Anyone who gets the key can use all of your permissions.",
        fix="Create a personal key, then run `hpc-onboard rotate`.",
        found_class="at_risk",
        found_cause="unknown",
        advice="Replace it with a personal key: {rotate}",
    ),
    "KEY-009": Rule(
        title="A key is in a file that this site does not read",
        severity="medium",
        owner=CHECKS,
        why="A file with a key is in the default folder of its program, but this site sets a different folder (for"
        " example with `ENROOT_CONFIG_PATH`). No program reads the file, so it is only an extra copy of the key. This"
        " rule also covers a login under a second name of the registry (`docker://nvcr.io` in addition to `nvcr.io`).",
        fix="Run `hpc-onboard onboard ACCOUNT`, which writes the key to the file that the site reads. Then remove the"
        " unused key file (`rm FILE`). If only one login in the file uses a second name of the registry, remove only"
        " this login.",
        advice="Copy the entries that you need from {place} to the file that the site reads. Then remove them from"
        " {place}.",
    ),
    "KEY-010": Rule(
        title="Jobs cannot read the key",
        severity="info",
        owner=CHECKS,
        why="Programs on the login node can read the key, but jobs cannot. The key file is in a home directory for"
        " which jobs have no ticket, or on a file system that compute nodes do not mount.",
        fix="Set WANDB_API_KEY in your shell without typing the key into a command: `read -rs WANDB_API_KEY; export"
        " WANDB_API_KEY`. Then submit each job that needs the key from this shell with `sbatch --export=ALL`. Never"
        " write the key into a job script.",
        found_class="broken",
        found_cause="site",
        advice="Pass the key to each job that needs it when you submit the job, in the job's environment.",
    ),
    "KEY-011": Rule(
        title="A replaced key may still work",
        severity="medium",
        owner=CHECKS,
        why="A rotation has replaced a key, but no test has confirmed yet that the old key no longer works. Until"
        " then, anyone with a copy of the old key, for example from a backup, may be able to use it.",
        fix="Deactivate the old key on the issuer's page, then run `hpc-onboard rotate --resume --retired`.",
        found_class="at_risk",
        advice="Deactivate the old key on its issuer's page, then run: {resume}",
    ),
}
