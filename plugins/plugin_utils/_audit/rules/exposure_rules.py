# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules about keys that other users can get, and about files that other users can change."""

from __future__ import annotations

from .rule import CHECKS, KEEPERS_AND_CHECKS, UNPLACED, Rule

EXPOSURE_RULES = {
    "SEC-001": Rule(
        title="Other users can read a file with a key",
        severity="critical",
        reported_by=KEEPERS_AND_CHECKS,
        why="Group members or all users of the cluster can read or change a file that contains a key or a token. A"
        " login node has hundreds of users. One of these users may have copied the key, even if they could read the"
        " file for only a minute. Anyone who has the key can pull images, run up costs and publish in your name.",
        fix="If a role of hpc-onboard writes the file with the key, run `hpc-onboard onboard ACCOUNT`, which sets the"
        " file's mode to 0600. For any other file with a key, run `hpc-onboard fix ACCOUNT`, which removes the access"
        " of other users. If another user may have read the key, replace the key with `hpc-onboard rotate`.",
        advice="Remove other users' access to {place} (chmod go-rwx). Only the owner of the file can change its mode.",
    ),
    "SEC-002": Rule(
        title="A folder that contains a key is open to other users",
        severity="critical",
        reported_by=KEEPERS_AND_CHECKS,
        why="Other users can write to a folder that contains a key, or can list a folder that should be private. A"
        " user who can write to a folder can replace the files in it, even without write permission for these"
        " files. hpc-onboard does not write keys to a folder that other users can write to.",
        fix="If a role of hpc-onboard creates the folder that contains the key, run `hpc-onboard onboard ACCOUNT`,"
        " which restores the folder's mode. For any other folder that contains a key, run `hpc-onboard fix ACCOUNT`,"
        " which removes the write permission of other users.",
        advice="Remove other users' write permission from {place} (chmod go-w), or store the key in a different"
        " folder.",
    ),
    "SEC-003": Rule(
        title="An access control list gives other users access to a key",
        severity="critical",
        reported_by=KEEPERS_AND_CHECKS,
        why="An access control list (ACL) gives other users access to a file with a key, although the file's mode"
        " looks private. In the output of `ls -l`, only a `+` after the mode shows that a file has an ACL. New files"
        " often inherit an ACL from a project folder.",
        fix="If a role of hpc-onboard writes the file with the key, run `hpc-onboard onboard ACCOUNT`, which removes"
        " the file's ACL. For any other file with a key, run `hpc-onboard fix ACCOUNT`. New files inherit the default"
        " ACL of their folder. To remove this default ACL, run `setfacl -k FOLDER` on the account.",
        advice="If other users do not need access to {place}, remove its ACL: run setfacl -b on a file, or setfacl -k"
        " on a folder.",
    ),
    "SEC-004": Rule(
        title="A key is in a file that is not meant for keys",
        severity="high",
        reported_by=CHECKS,
        why="A text file contains a key that should be only in a key file, such as `~/.netrc`. Examples of such text"
        " files are a shell's start-up file or history, a job script, a notebook and a log file. Users often copy and"
        " share such files, and send them to support teams. `hpc-onboard rotate` does not replace the key in a text"
        " file. The rule also reports keys in copies of text files, except for copies of start-up files. Rule SEC-006"
        " reports keys in copies of start-up files and of key files. If only the beginning of a name is that of such a"
        " file, as in `~/.netrc_wandb`, the file is not a copy, and this rule reports its keys. The audit recognises"
        " keys from your keyring, keys in the format of a known service, random-looking values of settings such as"
        " `api_key`, and private keys without a passphrase. The audit ignores lines that contain `hpc.onboard:allow`.",
        fix="Run `hpc-onboard fix ACCOUNT`. The command removes a variable if its value is a current or replaced key"
        " from your keyring, and if the program that reads the variable also finds the key in a key file (for"
        " `WANDB_API_KEY`, in `~/.netrc`). In a shell history, the command overwrites keys from your keyring. Remove"
        " every other key from the text file by hand. If a key was never in your keyring, first store the key under a"
        " name of your choice (`keyring set hpc.onboard NAME`), because the file may contain the only copy of the"
        " key. If an application reads the file (such as `.env` or a compose file), give the application its key in"
        " another way before you remove the key. Finally, replace the key with `hpc-onboard rotate`.",
        advice="Make sure that the program gets its key in another way. Then remove the key from {place} by hand.",
        cases={
            "unknown_key": "{keep} Then remove the key from {place}.",
            "application": "hpc-onboard does not edit {place}, because an application reads this file. Give the"
            " application its key in another way. If you need the key, store it in your keyring (keyring set"
            " hpc.onboard NAME). Then remove the key from the file.",
            "no_replacement": "The program that reads this variable does not find the key anywhere else. Set up the"
            " role that writes the key to a file, then remove the variable from {place}.",
        },
    ),
    "SEC-005": Rule(
        title="A file that Git tracks contains a key",
        severity="critical",
        reported_by=CHECKS,
        why="Git tracks a file that contains a key. The key is therefore in the Git history and in every clone of the"
        " repository. If the file was pushed, the key may also be in copies that you cannot find. Deleting the"
        " file later does not remove the key from these copies.",
        fix="First, run `hpc-onboard rotate` to replace the key on your accounts, because other people may already"
        " have copied the key. Then remove the file from Git (`git rm --cached FILE`) and add the file's name to"
        " `.gitignore`.",
        advice="Remove the key from {place} and from the Git history. Then replace the key: {rotate}",
    ),
    "SEC-006": Rule(
        title="A leftover copy of a file contains a key",
        severity="high",
        reported_by=KEEPERS_AND_CHECKS,
        why="A copy of a key file (such as `~/.netrc.bak`) or of a start-up file (such as `~/.bashrc~`) contains a"
        " key. Such a copy is in the same folder as its original, and is usually a backup or an editor's swap file."
        " `hpc-onboard rotate` does not replace the key in such a copy. Often, more users can read the copy than can"
        " read the original. The rule also reports a draft of a key file that an interrupted run of hpc-onboard left,"
        " and `~/.ngc/config.BAK`, the backup file of the ngc program, if the key in this file differs from the key"
        " in `~/.ngc/config`. Rule SEC-004 reports keys in all other text files and their copies.",
        fix="Run `hpc-onboard fix ACCOUNT`, which removes a copy if the original file contains all lines of the copy,"
        " and removes drafts that hpc-onboard left. In any other copy, the command overwrites only the keys that are"
        " in your keyring. If a start-up file, script or settings file mentions the copy, the command does not change"
        " the copy, because a program may read it. If a key was never in your keyring, the copy may be the only file"
        " that contains the key. In this case, first store the key under a name of your choice (`keyring set"
        " hpc.onboard NAME`), then remove the copy by hand. If the finding names `config.BAK`, the backup file of the"
        " ngc program, run `hpc-onboard onboard ACCOUNT`, which writes the current key to this file.",
        advice="Compare {place} with its original. Save the lines that you need, then remove the copy.",
        cases={
            "unknown_key": "{keep} Then remove {place}.",
            "in_use": "Make sure that no program reads {place}: use the original instead in the file that the finding"
            " names. Then remove the copy.",
        },
    ),
    "SEC-007": Rule(
        title="A password begins with '$', so a shell expands it",
        severity="high",
        reported_by=CHECKS,
        why="A password in enroot's credentials file begins with `$`. enroot passes the password to a shell, which"
        " expands the password as a variable or a command. As a result, either the password is empty, or the shell"
        " runs the command.",
        fix="If a role of hpc-onboard writes the line whose password begins with `$`, delete this line, because"
        " onboarding does not change it. Then run `hpc-onboard onboard ACCOUNT --tags enroot_credentials`, which"
        " writes a new line with the key itself as the password. If no role writes the line, edit the file and"
        " replace the password with the key itself.",
        advice="If no role of hpc-onboard writes {place}, replace the password in this line with the key itself."
        " Otherwise, delete the line, then run: {onboard}",
    ),
    "SEC-008": Rule(
        title="An environment variable overrides a key file",
        severity="high",
        reported_by=CHECKS,
        why="A start-up file of your shell or of the site sets a variable with a key (such as `WANDB_API_KEY`,"
        " `HF_TOKEN`, `NGC_API_KEY` or `APPTAINER_DOCKER_PASSWORD`), or with the path of a different key file (such"
        " as `NETRC` or `HF_TOKEN_PATH`). A program that reads this variable ignores the key file that hpc-onboard"
        " writes. The program may therefore use an old key, although the key file contains the current key. If the"
        " variable contains the key itself, every program that you start can read the key.",
        fix="If the variable contains a key from your keyring, run `hpc-onboard fix ACCOUNT`, which removes the"
        " variable if nothing else depends on it. Otherwise, remove the variable from the start-up file that the"
        " finding names. Then log in again, and check that `env | grep -iE 'key|token'` no longer shows the variable."
        " A variable that contains the path of a file or folder (`NETRC`, `HF_HOME`) may also have another purpose,"
        " such as a cache of models. In this case, set the same path in the accounts file (option `path` of the role"
        " that writes the key), or remove the variable if no other program needs it.",
        advice="Remove the variable from {place}. The program then reads the key from the key file.",
        cases={
            "unknown_key": "{keep} Then remove the variable from {place}.",
            "leads_past": "In the accounts file, set the role's option path to the path in this variable. hpc-onboard"
            " then writes the key to that file. If no other program needs the variable, remove it from {place}"
            " instead.",
            UNPLACED: "None of your start-up files sets {place}. Find out which other file or program sets the"
            " variable, then remove this setting.",
        },
    ),
    "SEC-009": Rule(
        title="A container tool has stored tokens from earlier logins",
        severity="low",
        reported_by=CHECKS,
        why="enroot stores the tokens of earlier logins to a registry in its cache, in a folder such as"
        " `.tokens.1000`, where 1000 is your user ID. Until a token expires, anyone who can read the token can use it"
        " instead of your key.",
        fix="Run `hpc-onboard fix ACCOUNT`, which removes enroot's stored tokens. The next pull of an image gets a"
        " new token.",
        advice="Make sure that no image is being pulled, then remove {place}.",
    ),
    "SEC-010": Rule(
        title="Another user can change a file that your programs run or trust",
        severity="critical",
        reported_by=CHECKS,
        why="Another user can change or replace a file that your shells, your services or ssh run or trust. Examples"
        " are start-up files, the programs that they run, hpc-onboard's own files, programs on your PATH, job"
        " scripts, files in `~/.ssh`, systemd units and editor plugins. By changing one of these files, the other"
        " user can run commands as you and read all your keys. This rule also reports setuid and setgid programs that"
        " belong to you in the upper levels of your home directory and storage areas, a `~/.rhosts` or `~/.shosts`"
        " file that lets users on any host log in, and settings of a Jupyter or VNC server that turn off its token or"
        " password, including options in a job script. The other user may be the owner of the file or of a folder"
        " above it, or may have access by the mode or an access control list (ACL). The rule does not report access"
        " for a group that has no other members. Nor does the rule report data files and folders that every user can"
        " change, if no program runs or trusts them.",
        fix="To remove the write permission of other users, run `hpc-onboard fix ACCOUNT`, or run `chmod go-w FILE`"
        " on the account. If the file belongs to another user, check its content and replace the file with your own"
        " copy. For a setuid or setgid program, run `chmod ug-s FILE`. If the finding reports settings that let other"
        " users log in or connect, remove these settings.",
        advice="Check {place} for changes that you did not make, then remove other users' write permission (chmod"
        " go-w).",
        cases={
            "foreign_owner": "Check {place}, which belongs to another user. Then replace it with your own copy, or ask"
            " the site to change its owner.",
        },
    ),
    "SEC-011": Rule(
        title="A test, example or documentation file contains a key",
        severity="info",
        reported_by=CHECKS,
        why="A file in a folder such as `tests`, `fixtures`, `examples` or `docs` contains a key that was never in"
        " your keyring. The key may be real, or it may be only an example.",
        fix="Check whether the key in the file is real. If the key is real, create a new key on the issuer's page,"
        " deactivate the old key, and remove the old key from the file. If the key is only an example, write"
        " `hpc.onboard:allow` on the same line, so that the audit ignores the key.",
        advice="Check whether the key in {place} is real. If the key is real, deactivate the key on its issuer's"
        " page, and remove it from the file.",
    ),
    "SEC-012": Rule(
        title="A program does not verify the servers that it connects to",
        severity="medium",
        reported_by=CHECKS,
        why="A setting of a program turns off the verification of certificates or host keys, or uses an unencrypted"
        " connection (http). The audit looks for such settings of Git, conda, pip, uv, npm, yarn, curl, wget, lftp,"
        " aria2, rclone, s3cmd, Node.js, Python, Perl, R, Julia, Ruby, wandb, container tools and similar programs in"
        " settings files, start-up files, job scripts, `.env` and `.envrc`. The audit also looks for options of"
        " commands, such as `curl -k`. For ssh, the rule reports settings that apply to every host (`Host *`, an"
        " alias or a function). The rule does not report unencrypted connections to a proxy (`http_proxy`) or to the"
        " same machine. An attacker on the network can read the keys that you send to an unverified server, and"
        " change the files that you download.",
        fix="Remove the setting that turns off the verification of servers. If a server's certificate comes from a"
        " private certificate authority, set the path of that authority's certificate file instead (`http.sslCAInfo`,"
        " `ssl_verify: FILE`, `cert = FILE`). In an address that begins with `http:`, write `https:`.",
        advice="Remove the setting in {place}. If a server's certificate comes from a private certificate authority,"
        " set the path of that authority's certificate file instead. If the setting is an address that begins with"
        " http:, write https: instead.",
    ),
}
