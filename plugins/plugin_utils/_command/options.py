# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that a subcommand has besides those of ansible-playbook: each sets one variable of its playbook."""

from __future__ import annotations

from typing import NamedTuple


class SettingOption(NamedTuple):
    """One option, and the variable that it sets.

    metavar: the name of its value; empty for a flag, which sets the variable to true. choices: the only values, if
    they are few. is_list: it can be repeated and takes several values with commas between them. short: its short form.
    """

    flag: str
    variable: str
    help: str
    metavar: str = ""
    choices: tuple[str, ...] = ()
    is_list: bool = False
    short: str = ""


AUDIT = (
    SettingOption("--output", "audit_output", "write the reports to this folder", "DIR"),
    SettingOption(
        *("--format", "audit_formats", "formats of the reports; default: all", "FORMAT"),
        choices=("json", "md", "junit", "sarif", "html"),
        is_list=True,
    ),
    SettingOption(
        *("--fail-on", "audit_fail_on", "lowest severity that fails the run; default: high", "SEVERITY"),
        choices=("critical", "high", "medium", "low", "info", "never"),
    ),
    SettingOption(
        *("--incomplete", "audit_incomplete", "what an incomplete audit does; default: fail", "fail|ignore"),
        choices=("fail", "ignore"),
    ),
    SettingOption("--waivers", "audit_waivers", "accepted findings; default: waivers.yml next to the accounts", "FILE"),
    SettingOption("--baseline", "audit_baseline", "only findings that are not in this file fail", "FILE"),
    SettingOption("--baseline-write", "audit_baseline_write", "write that file from this audit"),
    SettingOption("--max-age", "audit_max_age", "age at which a profile must be checked again", "DAYS"),
    SettingOption("--seconds", "audit_seconds", "time limit of one check; default: 30", "SECONDS"),
    SettingOption("--patience", "audit_patience", "time limit of one account; default: 600", "SECONDS"),
)
CONVERGE = (
    SettingOption("--seconds", "converge_seconds", "time limit of one step; default: 30", "SECONDS"),
    SettingOption("--wait", "converge_wait", "wait for installations; default: 3600", "SECONDS"),
)
REPLACE = SettingOption("--replace", "onboard_replace", "replace keys that are not in your keyring; copies are kept")
WITHOUT_QUESTION = "do not ask"
PLAN_YES = SettingOption("--yes", "", "apply the changes without a question")
ROTATE = (
    SettingOption("--secret", "secret", "the key to replace; default: ngc", "NAME"),
    SettingOption("--key-file", "rotate_key_file", "read the new key from this file (- for standard input)", "FILE"),
    SettingOption("--resume", "rotate_resume", "continue the open rotation"),
    SettingOption("--retired", "rotate_retired", "you have deactivated the old key"),
    SettingOption("--give-up", "rotate_give_up", "end the rotation; the old key is put back"),
    SettingOption(
        *("--mode", "rotate_mode", "compromised: the old key is deactivated first", "MODE"),
        choices=("scheduled", "compromised"),
    ),
    SettingOption("--grace", "rotate_grace", "keep the old key active for 12h, 7d or 2w", "TIME"),
    SettingOption("--expires", "rotate_expires", "last day of the new key, such as 2027-01-31", "DAY"),
    SettingOption("--canary", "rotate_canary", "the first target, such as ada@dfki:enroot_credential", "TARGET"),
    SettingOption("--excuse", "rotate_excuse", "continue without this target", "TARGET", is_list=True),
    SettingOption("--levels", "rotate_levels", "services that test the new key", "LEVEL", is_list=True),
    SettingOption("--canary-image", "rotate_canary_image", "an image that only your key can pull", "IMAGE"),
    SettingOption("--registry", "rotate_registry", "address of the registry", "HOST"),
    SettingOption("--image", "rotate_image", "image for the test of the registry's token", "IMAGE"),
    SettingOption("--issuer", "rotate_issuer", "address of the service that issues the key", "URL"),
    SettingOption("--realms", "rotate_realms", "allowed hosts of the registry's tokens", "HOST", is_list=True),
    SettingOption("--ca-file", "rotate_ca_file", "certificates that these services are checked with", "FILE"),
)
OPTIONS: dict[str, tuple[SettingOption, ...]] = {
    "plan": (PLAN_YES, REPLACE, *CONVERGE),
    "onboard": (REPLACE, *CONVERGE),
    "audit": AUDIT,
    "fix": (SettingOption("--yes", "fix_sure", WITHOUT_QUESTION), *AUDIT),
    "offboard": (
        SettingOption("--yes", "offboard_sure", WITHOUT_QUESTION),
        SettingOption(
            *("--only", "offboard_only", "undeclared: only what accounts.yml no longer requests", "WHAT"),
            choices=("everything", "undeclared"),
        ),
        CONVERGE[0],
    ),
    "ssh-config": (
        SettingOption("--yes", "ssh_config_sure", WITHOUT_QUESTION),
        SettingOption(
            *("--state", "ssh_config_state", "absent: remove all entries", "STATE"), choices=("present", "absent")
        ),
    ),
    "rotate": ROTATE,
    "test-job": (
        SettingOption("--gpu", "test_job_gpu", "request a GPU"),
        SettingOption("--wait", "test_job_wait", "wait for the jobs", "SECONDS"),
        SettingOption("--output", "test_job_output", "write the results as JSON", "FILE"),
    ),
    "preflight": (
        SettingOption("--output", "preflight_output", "write the results as JSON", "FILE"),
        SettingOption("--patience", "preflight_patience", "time limit of one account; default: 120", "SECONDS"),
    ),
    "export-script": (SettingOption("--output", "export_script_output", "the script to write", "FILE", short="-o"),),
}
