# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules about logins, profiles, leftovers, and the audit itself."""

from __future__ import annotations

from .rule import CHECKS, Rule

RECEIPT_CHECK = "an audit check that compares the account with its receipt (the record of what hpc-onboard created)"

RUN_RULES = {
    "SES-001": Rule(
        title="A certificate or a ticket expires soon",
        severity="medium",
        reported_by=CHECKS,
        why="A certificate or a ticket that your machine uses to log in to the account is missing, has expired, or"
        " expires within an hour. Without a valid certificate or ticket, jobs lose access to the home directory, or the"
        " next login is refused.",
        fix="Get a new certificate or ticket: run `kinit`, `cscs-key sign`, or the command that the site recommends."
        " Then run `hpc-onboard audit ACCOUNT` again.",
        found_class="at_risk",
        found_cause="time",
        advice="Renew the certificate or ticket, then run the audit again.",
    ),
    "PRO-001": Rule(
        title="The cluster's profile was last checked months ago",
        severity="low",
        reported_by=CHECKS,
        why="The facts in the cluster's profile were last checked more than 180 days ago (to change this number, set"
        " `audit_max_age`). Sites move file systems and change rules, so the profile may be out of date.",
        fix="Compare the cluster's profile with the site's documentation, and correct the profile"
        " (`inventory/clusters/CLUSTER.yml`). Then set `verified_on` in this file to today's date.",
        found_class="at_risk",
        found_cause="time",
        advice="Compare the profile with the site's documentation, and report any changes to the profile's"
        " maintainers.",
    ),
    "PRO-002": Rule(
        title="The cluster's profile differs from the cluster",
        severity="low",
        reported_by=CHECKS,
        why="`hpc-onboard probe` has found a value on the cluster that differs from the cluster's profile. The value"
        " was found on two days or with two accounts. Roles and job scripts rely on the profile.",
        fix="Run `hpc-onboard probe CLUSTER --write` to write the value that was found on the cluster to your own"
        " profile.",
        found_class="at_risk",
        found_cause="site",
        advice="Correct {place} in your own profile, and report the change to the profile's maintainers.",
    ),
    "ORP-001": Rule(
        title="A resource created by hpc-onboard is no longer declared",
        severity="low",
        reported_by=RECEIPT_CHECK,
        why="hpc-onboard created a resource on the account, but your settings no longer declare the resource. The"
        " resource does no harm, but it is no longer updated.",
        fix="To remove the undeclared resource, run `hpc-onboard offboard ACCOUNT --only undeclared`. To keep the"
        " resource up to date, declare the resource again in the accounts file.",
    ),
    "RUN-001": Rule(
        title="A part of an account could not be checked",
        severity="info",
        reported_by="any Ansible role or audit check",
        why="A part of the account could not be checked, for example because permission was denied, a file system did"
        " not respond, a command was missing, or the settings of a role are invalid. The state of"
        " this part is therefore unknown. All other parts were checked.",
        fix="Solve the problem that the finding names, then run `hpc-onboard audit ACCOUNT` again. If you cannot solve"
        " the problem, check by hand the part of the account that the finding concerns.",
        advice="Solve the problem that this finding names, then run the audit again.",
        cases={"refused": "Correct this setting in the accounts file, then run the audit again."},
    ),
    "RUN-002": Rule(
        title="An account could not be checked",
        severity="high",
        reported_by="the audit",
        why="An account could not be checked, so its state is unknown. By default, the audit fails if it cannot check"
        " an account (`audit_incomplete: fail`).",
        fix="Follow the advice in the finding. For example, the advice may be to run `kinit`, or to open a connection"
        " with `ssh -MNf HOST`, where HOST is the login node. Then run `hpc-onboard audit ACCOUNT` again.",
        advice="Solve the problem that this finding names, then run the audit again.",
    ),
    "RUN-003": Rule(
        title="An account's receipt cannot be used",
        severity="high",
        reported_by=RECEIPT_CHECK,
        why="The receipt of the account (`~/.config/hpc.onboard/receipt.json`) lists the resources that hpc-onboard"
        " created. The receipt is damaged, was written by a newer version of hpc-onboard, or is not a regular"
        " file. Until you fix the problem, onboarding creates nothing on the account, and offboarding removes"
        " nothing.",
        fix="Follow the advice in the finding: either upgrade hpc-onboard (run `git pull` and `pip install .`"
        " in its clone), or restore the receipt from a backup. If you have no backup, rename the receipt on the"
        " account (`mv -n ~/.config/hpc.onboard/receipt.json ~/receipt.json.damaged`), then run `hpc-onboard onboard"
        " ACCOUNT`. This run uses the copy of the receipt on your machine. hpc-onboard assumes that you created every"
        " resource that is not in this copy.",
        advice="Follow the advice in the finding, or restore the receipt from a backup.",
    ),
    "RUN-004": Rule(
        title="The receipt lacks entries or was changed by hand",
        severity="medium",
        reported_by=RECEIPT_CHECK,
        why="The receipt of the account (`~/.config/hpc.onboard/receipt.json`), which lists the resources that"
        " hpc-onboard created, differs from the copy on your machine. An entry for an existing resource is missing, a"
        " resource that existed before is recorded as created by hpc-onboard, or an entry was not written by"
        " hpc-onboard. Offboarding relies on the receipt, so it could leave resources of hpc-onboard on the account,"
        " or remove your own resources.",
        fix="Restore the receipt from a backup, or run `hpc-onboard onboard ACCOUNT`. Onboarding adds entries for the"
        " unchanged resources that the copy of the receipt on your machine lists. hpc-onboard treats all other"
        " resources as your own. If the finding reports an entry that hpc-onboard did not write, inspect the receipt"
        " before you run the command. If you do not know who wrote the entry, rename the receipt first.",
    ),
}
