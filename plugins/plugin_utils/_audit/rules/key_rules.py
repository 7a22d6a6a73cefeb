# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules about keys: who can read them, and whether they work."""

from __future__ import annotations

from .rule import UNPLACED, Rule

CHECKS = "audit checks"
KEEPERS = "roles that keep keys"
BOTH = f"{KEEPERS}, {CHECKS}"

KEY_RULES = {
    "SEC-001": Rule(
        title="Other users can read a file with a key",
        severity="critical",
        owner=BOTH,
        why="The group or every user has a permission on a file with a key or a token. A login node has hundreds of"
        " users, and a key that was readable for a minute may have been copied. Whoever has it pulls, pays and"
        " publishes in your name.",
        fix="`hpc-onboard onboard ACCOUNT` sets the mode of a role's file to 0600, `hpc-onboard fix ACCOUNT` that of"
        " any other. If the file was open for long, replace the key: `hpc-onboard rotate`.",
        advice="Remove the access of other users to {place}: only its owner can.",
    ),
    "SEC-002": Rule(
        title="The folder of a key is open to other users",
        severity="critical",
        owner=BOTH,
        why="Other users may write in the folder of a key, or list it although it should be private. A user who may"
        " write in a folder can replace the file in it, whatever the mode of the file. hpc-onboard writes no key"
        " there.",
        fix="`hpc-onboard fix ACCOUNT` removes the write permission of other users. For a folder that a role keeps, run"
        " `hpc-onboard onboard ACCOUNT`.",
        advice="Remove the write permission of other users on {place}, or keep the key elsewhere.",
    ),
    "SEC-003": Rule(
        title="An access list gives other users access to a key",
        severity="critical",
        owner=BOTH,
        why="An access list (ACL) gives other users a key although its mode looks private; `ls -l` shows only a `+`."
        " Such lists are often inherited from a project's folder.",
        fix="`hpc-onboard fix ACCOUNT` removes the list of a file. Remove the default list of a folder with `setfacl -k"
        " FOLDER` on the account.",
        advice="Remove the default access list of {place} if no user needs it: setfacl -k",
    ),
    "SEC-004": Rule(
        title="A file contains a key that does not belong there",
        severity="high",
        owner=CHECKS,
        why="A start-up file, a shell's history, a job script, a notebook, a log or another text contains a key: one"
        " that your keyring knows, or one of an issuer's form and checksum. Such files are copied, shared and mailed to"
        " the support, and the key stays there after a rotation. A line with `hpc.onboard:allow` is not reported.",
        fix="`hpc-onboard fix ACCOUNT` removes a key that your keyring knows (the current one or a replaced one): a"
        " variable that holds nothing else, and only while the file that its program reads (`~/.netrc` for"
        " `WANDB_API_KEY`) holds the key on the account. A variable of another name stays, because no file replaces"
        " it. A key that your keyring does not know is never removed, because it may exist nowhere else: keep it"
        " first (`keyring set hpc.onboard NAME`), then remove the line by hand. A file that an application reads"
        " (`.env`, a compose file) is never edited. Then replace the key: `hpc-onboard rotate`.",
        advice="Remove the key from {place} by hand, once the program that reads it there has its key in another way.",
        cases={
            "unknown_key": "{keep} Then remove the line from {place}.",
            "application": "An application reads {place}, so hpc-onboard does not edit it. Give the application its key"
            " in another way. If you need the key, keep it in your keyring (keyring set hpc.onboard NAME). Then remove"
            " it from the file.",
            "no_replacement": "No file that the program reads instead of this variable holds the key, so the commands"
            " in {place} would have none. Set up the role that keeps the program's file, then remove the line.",
        },
    ),
    "SEC-005": Rule(
        title="A file that git tracks contains a key",
        severity="critical",
        owner=CHECKS,
        why="git tracks a file with a key. The key is in the history, in every clone and, once pushed, in places that"
        " you cannot list. Deleting it later does not call it back.",
        fix="Replace the key first (`hpc-onboard rotate`). Then remove the file from git (`git rm --cached FILE`) and"
        " add it to `.gitignore`.",
        advice="Remove the key from {place} and from git's history, and replace it: {rotate}",
    ),
    "SEC-006": Rule(
        title="A copy of a file with a key is left over",
        severity="high",
        owner=BOTH,
        why="A copy of a file with a key (`.bak`, `~`, an editor's swap file) is in the same folder. No rotation finds"
        " it, and its mode is often wider than the original's.",
        fix="`hpc-onboard fix ACCOUNT` removes a copy whose lines are all in the original, and overwrites a key that"
        " your keyring knows in any other copy. Another key may exist nowhere else: keep it first (`keyring set"
        " hpc.onboard NAME`).",
        advice="Inspect {place}, keep what its original lacks, and remove it.",
        cases={"unknown_key": "{keep} Then remove {place}."},
    ),
    "SEC-007": Rule(
        title="A password begins with '$', which enroot passes to a shell",
        severity="high",
        owner=CHECKS,
        why="A password in enroot's credentials begins with `$`. enroot passes it to a shell to be expanded, so the"
        " value is empty, or the shell runs it.",
        fix="Onboarding leaves such a line as it is. Delete the line, then `hpc-onboard onboard ACCOUNT --tags"
        " enroot_credentials` writes the key itself. For a machine that no role keeps, write it by hand.",
        advice="Onboarding leaves this line as it is. Delete {place}, then run: {onboard}. For a machine that"
        " hpc-onboard does not keep, write the password itself there.",
    ),
    "SEC-008": Rule(
        title="An environment variable overrides the file with the key",
        severity="high",
        owner=CHECKS,
        why="A start-up file sets a variable such as `WANDB_API_KEY` or `HF_TOKEN`, and its program reads it before the"
        " file that hpc-onboard keeps. The file can be right while the old key is still in use, and every process of"
        " yours shows the variable.",
        fix="Remove the line from the file that the finding names, log in again, and check with `env | grep -i key`. A"
        " variable that points to another file (`HF_HOME`, `NETRC`) may serve other purposes, such as a cache of"
        " models: name that file in the accounts file (`path`), or remove the variable once nothing else needs it.",
        advice="Remove the variable from {place}: the file with the key is enough.",
        cases={
            "unknown_key": "{keep} Then remove the variable from {place}.",
            "leads_past": "Name the file that the variable points to in the accounts file (path), or remove the"
            " variable from {place} once nothing else needs it.",
            UNPLACED: "Find out what sets {place}: no start-up file of yours contains it. Then remove it there.",
        },
    ),
    "SEC-009": Rule(
        title="A container tool's store of tokens is left over",
        severity="low",
        owner=CHECKS,
        why="A container tool has left tokens of former logins, such as enroot's cache of tokens. They expire, but"
        " until then they are as good as the key.",
        fix="`hpc-onboard fix ACCOUNT` removes them; the next pull gets a new one.",
        advice="Remove {place} while no pull is running.",
    ),
    "SEC-010": Rule(
        title="Another user can change what runs as you",
        severity="critical",
        owner=CHECKS,
        why="Another user may write a file that your shells, ssh or services run or trust, or replace it in its"
        " folder: a start-up file, a file of hpc-onboard, a program on your PATH, `~/.ssh`, a unit of systemd, a"
        " program that a start-up file runs, a plugin of an editor. Whoever can does at your next login what you can"
        " do, and reads every key. So does whoever reaches a server of yours that asks for no token, such as"
        " Jupyter's. A group without other members is not reported.",
        fix="`hpc-onboard fix ACCOUNT` takes the permission away, or run `chmod go-w FILE`. If it belongs to another"
        " user, look at it, and replace it by a copy of your own.",
        advice="Run chmod go-w {place}, after you have looked at who changed it.",
    ),
    "SEC-011": Rule(
        title="A test, an example or a page of documentation contains a key",
        severity="info",
        owner=CHECKS,
        why="A file below a folder such as `tests`, `fixtures`, `examples` or `docs` contains a key of an issuer's form"
        " and checksum that your keyring does not know. It may be made up; if it is not, it is as good as any other.",
        fix="Look at it. If it is a real key, replace it on its issuer's page and remove it; if it is made up, write"
        " `hpc.onboard:allow` on its line, and it is not reported any more.",
        advice="Look at {place}: if the key is real, replace it on its issuer's page and remove it from the file.",
    ),
    "SEC-012": Rule(
        title="A program does not check the server that it talks to",
        severity="medium",
        owner=CHECKS,
        why="A setting of git, conda, pip, npm, curl, wget, ssh (for every host) or a container tool turns off the"
        " check of certificates or host keys. Whoever is between the cluster and the server reads the key that is sent,"
        " and can change what you download.",
        fix="Remove the line. If a server has a certificate of its own authority, name that authority's file instead"
        " (`http.sslCAInfo`, `ssl_verify: FILE`, `cert = FILE`).",
        advice="Remove {place}. For a server with its own authority, name the authority's certificate there instead.",
    ),
    "KEY-001": Rule(
        title="A key is missing",
        severity="high",
        owner=KEEPERS,
        why="A file has no line for a machine that needs one; for nvcr.io enroot needs two, one for the registry and"
        " one for its token service. Pulls fail with 401, often only inside a job.",
        fix="`hpc-onboard onboard ACCOUNT --tags enroot_credentials` (or the role that the finding names) writes it."
        " The severity is info if only the site asks for the key and the keyring does not have it: store the key,"
        " or set `without: [registry_auth]`.",
    ),
    "KEY-002": Rule(
        title="A file holds another key than the current one",
        severity="high",
        owner=KEEPERS,
        why="The fingerprint of the key in the file is not that of the current key. Either a rotation has not reached"
        " this account, or another user or program has written another key. The old key works until it is deactivated.",
        fix="Run `hpc-onboard rotate --resume` after a rotation, else `hpc-onboard onboard ACCOUNT`.",
    ),
    "KEY-003": Rule(
        title="A machine has several lines, and the first one counts",
        severity="high",
        owner=BOTH,
        why="One machine has several lines, and programs read the first one. A new key after an old one is never used."
        " No rotation replaces the key of a second login for the machine; the severity is medium then.",
        fix="Delete the lines that you do not need, or run `hpc-onboard onboard ACCOUNT`, which sets the one that"
        " counts.",
        found_class="broken",
        advice="Keep one line for each machine in {place}.",
    ),
    "KEY-004": Rule(
        title="A key has a form that its program does not read",
        severity="high",
        owner=BOTH,
        why="The key exists, but its program does not understand its form: several lines for one entry, quotes,"
        " another order, a carriage return at its end. Or another program answers for the registry (`credsStore`,"
        " `credHelpers`). Programs ignore such a key without a message.",
        fix="`hpc-onboard onboard ACCOUNT` rewrites an entry of one line. It leaves an entry over several lines, a"
        " carriage return, a byte-order mark, a space that is not an ASCII space and a helper program as they are:"
        " change them by hand as the finding says, then run it again.",
        found_class="broken",
        advice="Edit {place} by hand as the finding says. Onboarding leaves this line as it is.",
    ),
    "KEY-005": Rule(
        title="The issuer refuses the key",
        severity="high",
        owner=CHECKS,
        why="The issuer says that the key is invalid. It was deleted, has expired, or was copied incompletely.",
        fix="Create a new key on the issuer's page, then run `hpc-onboard rotate`, which tests it before it changes an"
        " account.",
        advice="Create a new key and distribute it: {rotate}",
    ),
    "KEY-006": Rule(
        title="The key is valid, but lacks permissions",
        severity="high",
        owner=CHECKS,
        why="The key is valid, but the registry gives it no private image: its services or its organisation are wrong."
        " Pulls of public images work, so this is found late.",
        fix="Create a key with the services of the old one, then run `hpc-onboard rotate`.",
        advice="Give the key its services on its issuer's page, or create a new one: {rotate}",
    ),
    "KEY-007": Rule(
        title="A key expires soon",
        severity="medium",
        owner=CHECKS,
        why="The key expires within a month; in its last week the severity is high. A job that runs past that day fails"
        " in the middle.",
        fix="Create a new key while the old one works, and distribute it: `hpc-onboard rotate`.",
        found_class="at_risk",
        found_cause="time",
        advice="Distribute a new key: {rotate}",
    ),
    "KEY-008": Rule(
        title="A key of the older type is in use",
        severity="low",
        owner=CHECKS,
        why="The issuer still accepts keys of this type, but no longer creates them. The key never expires and has no"
        " scope, so its loss gives away everything.",
        fix="Create a key of the new type, then run `hpc-onboard rotate`.",
        found_class="at_risk",
        found_cause="unknown",
        advice="Change to a personal key: {rotate}",
    ),
    "KEY-009": Rule(
        title="A key is in a folder that this site does not read",
        severity="medium",
        owner=CHECKS,
        why="A file with a key is in the default folder of its program, but this site sets another folder (with"
        " `ENROOT_CONFIG_PATH`, for instance). No program reads the file, and it is one more copy of the key. The same"
        " rule covers a login under another name of the registry (`docker://nvcr.io` next to `nvcr.io`).",
        fix="Remove it (`rm FILE`) once `hpc-onboard onboard ACCOUNT` has written the right one; of a login under"
        " another name, remove that entry.",
        advice="Move what you need of {place} to the file that is read, then remove it there.",
    ),
    "KEY-010": Rule(
        title="Jobs cannot read the key",
        severity="info",
        owner=CHECKS,
        why="The key is in a place that jobs cannot read: a home without a ticket, or a file system that compute nodes"
        " do not mount. Programs on the login node find it, and jobs do not.",
        fix="Pass it to the jobs that need it when you submit them, in their environment: `sbatch"
        " --export=ALL,WANDB_API_KEY=…` from a shell that has it, never in the script.",
        found_class="broken",
        found_cause="site",
        advice="Pass the key to each job that needs it when you submit it, in the job's environment.",
    ),
    "KEY-011": Rule(
        title="A replaced key may still work",
        severity="medium",
        owner=CHECKS,
        why="A rotation has replaced a key, and nothing has shown since that the old one is dead. Until then it is a"
        " valid key in old files and backups.",
        fix="Deactivate it on the issuer's page, then run `hpc-onboard rotate --resume --retired`.",
        found_class="at_risk",
        advice="Deactivate it on its issuer's page, then: {resume}",
    ),
}
