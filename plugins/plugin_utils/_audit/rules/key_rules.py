# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules about keys that are missing, replaced, expired, or that no program reads."""

from __future__ import annotations

from .rule import CHECKS, KEEPERS, KEEPERS_AND_CHECKS, Rule

KEY_RULES = {
    "KEY-001": Rule(
        title="A key is missing",
        severity="high",
        reported_by=KEEPERS,
        why="A key file has no entry for a registry or another server that requires a key. For NVIDIA's registry"
        " (nvcr.io), enroot needs two entries: one for the registry, and one for the registry's token service. If an"
        " entry is missing, pulls of private images fail with error 401, often only inside a job.",
        fix="Run `hpc-onboard onboard ACCOUNT --tags enroot_credentials` to write the missing key. If the finding"
        " names a different role, use that role's name instead of `enroot_credentials`. If the cluster's profile"
        " requests a key that your keyring does not contain, and your accounts file does not request the key, the"
        " severity is info. In this case, store the key in your keyring, or skip the role in the accounts file, for"
        " example with `without: [registry_auth]`.",
    ),
    "KEY-002": Rule(
        title="A file contains a key that is not the current key",
        severity="high",
        reported_by=KEEPERS_AND_CHECKS,
        why="A key file contains a key whose fingerprint differs from the fingerprint of the current key. Either a"
        " rotation (the replacement of a key on all accounts) has not reached the account yet, or a user or a program"
        " has changed the key in the file. A replaced key works until it is deactivated. The rule also reports"
        " replaced keys that no role writes: in other entries and comments of a role's file, and in the key files of"
        " programs, such as `~/.docker/config.json`.",
        fix="If a rotation (the replacement of a key on all accounts) is not finished, run `hpc-onboard rotate"
        " --resume`. Otherwise, run `hpc-onboard onboard ACCOUNT`, which writes the current key to the file. If the"
        " key in the file was never in your keyring, onboarding replaces this key only if you agree, or if you add"
        " the option `--replace`. If no role writes the line that the finding names, edit the file: remove the replaced"
        " key, or log in again with the current key.",
        found_class="stale",
        advice="No role of hpc-onboard writes {place}. Remove the replaced key there, or log in again with the current"
        " key.",
    ),
    "KEY-003": Rule(
        title="A key file has several entries for a machine, but programs use only the first entry",
        severity="high",
        reported_by=KEEPERS_AND_CHECKS,
        why="A key file has several entries for one machine (such as a registry), and most programs use only the"
        " first entry. A new key in a later entry has no effect. If the entries have different logins, the severity"
        " is medium, because `hpc-onboard rotate` does not replace the key of the second login. The severity is also"
        " medium if two entries in `~/.netrc` have the same login but different keys, because some programs use the"
        " first entry and others the last.",
        fix="A key file needs only one entry for each machine, such as a registry. Delete all other entries for the"
        " machine from the key file. Alternatively, run `hpc-onboard onboard ACCOUNT`, which writes the current key"
        " to the entry that programs use.",
        found_class="broken",
        advice="Keep only one entry for each machine, and delete the other entries (see {place}).",
    ),
    "KEY-004": Rule(
        title="A key has a format that its program cannot read",
        severity="high",
        reported_by=KEEPERS_AND_CHECKS,
        why="A file contains a key in a format that programs cannot read. Examples are an entry that spans several"
        " lines, quotation marks, fields in the wrong order, and a carriage return at the end of a line. Programs"
        " ignore or misread such a key without an error message. Container tools also ignore a registry's key if the"
        " file names a credential helper for this registry (`credsStore`, `credHelpers`).",
        fix="Run `hpc-onboard onboard ACCOUNT`, which rewrites an entry that is on a single line. The command cannot"
        " fix an entry that spans several lines, and cannot remove a carriage return, a byte-order mark, a non-ASCII"
        " space, or a credential helper. In these cases, edit the file as the finding describes, then run the command"
        " again.",
        found_class="broken",
        advice="Edit {place} as the finding describes, because onboarding does not change this line.",
    ),
    "KEY-007": Rule(
        title="A key expires soon",
        severity="medium",
        reported_by=CHECKS,
        why="A key expires within 30 days, or has already expired. If the key expires within 7 days or has expired,"
        " the severity is high. Jobs that use an expired key fail.",
        fix="Create a new key while the current key still works, then install the new key with `hpc-onboard rotate"
        " --secret NAME`.",
        found_class="at_risk",
        found_cause="time",
        advice="Create a new key, then install it on all accounts: {rotate}",
    ),
    "KEY-008": Rule(
        title="A legacy key is in use",
        severity="low",
        reported_by=CHECKS,
        why="You use a legacy key, an old type of key that its issuer still accepts but has replaced with personal"
        " keys. A legacy key never expires, and its scope cannot be limited. Anyone who gets the key can use all of"
        " your permissions.",
        fix="Create a personal key on the issuer's page, then run `hpc-onboard rotate --secret NAME` to"
        " replace the legacy key.",
        found_class="at_risk",
        found_cause="unknown",
        advice="Create a personal key, then replace the legacy key: {rotate}",
    ),
    "KEY-009": Rule(
        title="A key is in a file that no program reads at this site",
        severity="medium",
        reported_by=CHECKS,
        why="A key file is in the default folder of its program, but the program uses a different folder at this site"
        " (for example because the variable `ENROOT_CONFIG_PATH` is set). No program reads the key file, so it is"
        " only an extra copy of the key. For Apptainer, this rule also reports a login with a different key under a"
        " second name of the same registry (`docker://nvcr.io` in addition to `nvcr.io`), or in"
        " `~/.docker/config.json`.",
        fix="Run `hpc-onboard onboard ACCOUNT`, which writes the key to the file that the program uses at this site."
        " Then remove the unused key file (`rm FILE`). If the finding reports a second login for a registry, remove"
        " only this login, not the whole file.",
        advice="Copy the entries that you need from {place} to the file that the program reads. Then remove the"
        " unused entries from {place}.",
    ),
    "KEY-010": Rule(
        title="Jobs cannot read the key",
        severity="info",
        reported_by=CHECKS,
        why="Programs on the login node can read a key, but jobs cannot. The key file is in the home directory, which"
        " jobs at this site cannot read: either compute nodes do not have the home directory, or jobs do not have the"
        " Kerberos ticket that it requires.",
        fix="Pass the key to each job in the job's environment. For wandb, run `read -rs WANDB_API_KEY; export"
        " WANDB_API_KEY` in your shell on the account, and paste the key. The shell neither shows the key nor stores"
        " it in the shell history. Then submit the job from this shell with `sbatch --export=ALL`. Never write the"
        " key into a job script.",
        found_class="broken",
        found_cause="site",
        advice="When you submit a job that needs the key, pass the key in the job's environment.",
    ),
    "KEY-011": Rule(
        title="A replaced key may still work",
        severity="medium",
        reported_by=CHECKS,
        why="`hpc-onboard rotate` has replaced a key, but no test has confirmed yet that the old key no longer works."
        " Until then, anyone with a copy of the old key, for example from a backup, may be able to use the key.",
        fix="Deactivate the replaced key on its issuer's page, then run `hpc-onboard rotate --secret NAME"
        " --retired` to tell hpc-onboard that you have deactivated this key.",
        found_class="at_risk",
        advice="Deactivate the old key on its issuer's page, then run: {retire}",
        cases={
            "cancelled": "Deactivate the new key of the cancelled rotation on its issuer's page, then run: {retire}",
        },
    ),
}
