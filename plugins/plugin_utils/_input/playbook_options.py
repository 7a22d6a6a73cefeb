# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of ansible-playbook, parsed without Ansible, and the additional options of each subcommand.

Each option of a subcommand sets one variable of its playbook.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

VALUED = {  # by the first long name: the other names of an option that takes a value
    "--inventory": ("-i", "--inventory-file"),
    "--limit": ("-l",),
    "--tags": ("-t",),
    "--skip-tags": (),
    "--extra-vars": ("-e",),
    "--forks": ("-f",),
    "--user": ("-u",),
    "--private-key": ("--key-file",),
    "--connection": ("-c",),
    "--timeout": ("-T",),
    "--ssh-common-args": (),
    "--ssh-extra-args": (),
    "--sftp-extra-args": (),
    "--scp-extra-args": (),
    "--connection-password-file": ("--conn-pass-file",),
    "--become-method": (),
    "--become-user": (),
    "--become-password-file": ("--become-pass-file",),
    "--vault-id": (),
    "--vault-password-file": ("--vault-pass-file",),
    "--module-path": ("-M",),
    "--start-at-task": (),
}
FLAGS = {  # likewise, options without a value
    "--check": ("-C",),
    "--diff": ("-D",),
    "--verbose": ("-v",),
    "--help": ("-h",),
    "--version": (),
    "--ask-pass": ("-k",),
    "--become": ("-b",),
    "--ask-become-pass": ("-K",),
    "--ask-vault-password": ("-J", "--ask-vault-pass"),
    "--force-handlers": (),
    "--flush-cache": (),
    "--list-hosts": (),
    "--list-tasks": (),
    "--list-tags": (),
    "--syntax-check": (),
    "--step": (),
}
# each name of an option -> its first long name
NAMES = {alias: name for table in (VALUED, FLAGS) for name, others in table.items() for alias in (name, *others)}


class SettingOption(NamedTuple):
    """One option, and the variable that it sets. variable: empty for an option that hpc-onboard itself reads.

    metavar: the name of its value; empty for a flag, which sets the variable to true. choices: all allowed values, if
    they are limited. is_list: the option can be repeated and takes several values, separated by commas.
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
        choices=("json", "md", "junit", "sarif", "html", "csv", "openmetrics", "digest", "digest-json"),
        is_list=True,
    ),
    SettingOption(
        *("--fail-on", "audit_fail_on", "lowest severity that makes the audit fail; default: high", "SEVERITY"),
        choices=("critical", "high", "medium", "low", "info", "never"),
    ),
    SettingOption(
        "--incomplete",
        "audit_incomplete",
        "result if an account could not be checked; default: fail",
        "fail|ignore",
        choices=("fail", "ignore"),
    ),
    SettingOption(
        *(
            "--since",
            "audit_since",
            "show only findings that are new, changed or resolved since the last audit",
            "last",
        ),
        choices=("last",),
    ),
    SettingOption(
        *("--waivers", "audit_waivers", "file with accepted findings; default: waivers.yml next to the accounts file"),
        "FILE",
    ),
    SettingOption(
        *("--baseline", "audit_baseline", "file with known findings; only other findings make the audit fail", "FILE")
    ),
    SettingOption(
        "--baseline-write", "audit_baseline_write", "write the findings of this audit to the --baseline file"
    ),
    SettingOption("--max-age", "audit_max_age", "report profiles not checked in the last DAYS days", "DAYS"),
    SettingOption("--no-shells", "audit_no_shells", "do not start a shell to test the start-up files"),
    SettingOption("--seconds", "audit_seconds", "time limit of one check; default: 30", "SECONDS"),
    SettingOption("--patience", "audit_patience", "time limit of one account; default: 600", "SECONDS"),
)
CONVERGE = (
    SettingOption("--seconds", "converge_seconds", "time limit of one step; default: 30", "SECONDS"),
    SettingOption("--wait", "converge_wait", "time limit for installations; default: 3600", "SECONDS"),
)
REPLACE = SettingOption(
    "--replace", "onboard_replace", "replace existing keys that are not in your keyring, and keep copies of them"
)
WITHOUT_QUESTION = "do not ask for confirmation"
PLAN_YES = SettingOption("--yes", "", "apply the changes without asking")
ROTATE = (
    SettingOption("--secret", "secret", "the key to replace; default: ngc", "NAME"),
    SettingOption("--key-file", "rotate_key_file", "read the new key from this file (- for standard input)", "FILE"),
    SettingOption("--resume", "rotate_resume", "continue the open rotation"),
    SettingOption("--retired", "rotate_retired", "confirm that you have deactivated the old key"),
    SettingOption("--give-up", "rotate_give_up", "cancel the rotation and restore the old key"),
    SettingOption(
        *("--mode", "rotate_mode", "compromised: deactivate the old key first; default: scheduled", "MODE"),
        choices=("scheduled", "compromised"),
    ),
    SettingOption("--grace", "rotate_grace", "time for which the old key stays active, such as 12h, 7d or 2w", "TIME"),
    SettingOption("--expires", "rotate_expires", "last day on which the new key is valid, such as 2027-01-31", "DAY"),
    SettingOption(
        "--canary", "rotate_canary", "target that gets the new key first, such as ada@dfki:enroot_credential", "TARGET"
    ),
    SettingOption("--excuse", "rotate_excuse", "skip this target", "TARGET", is_list=True),
    SettingOption("--levels", "rotate_levels", "services that test the new key", "LEVEL", is_list=True),
    SettingOption("--canary-image", "rotate_canary_image", "private image to test the new key with", "IMAGE"),
    SettingOption("--registry", "rotate_registry", "address of the registry", "HOST"),
    SettingOption("--image", "rotate_image", "image to use when testing the registry's token", "IMAGE"),
    SettingOption("--issuer", "rotate_issuer", "address of the service that issues the key", "URL"),
    SettingOption("--realms", "rotate_realms", "hosts that may issue tokens for the registry", "HOST", is_list=True),
    SettingOption("--ca-file", "rotate_ca_file", "file with CA certificates of the registry and the issuer", "FILE"),
)
SETTING_OPTIONS: dict[str, tuple[SettingOption, ...]] = {
    "plan": (PLAN_YES, REPLACE, *CONVERGE),
    "onboard": (REPLACE, *CONVERGE),
    "audit": AUDIT,
    "fix": (SettingOption("--yes", "fix_sure", WITHOUT_QUESTION), *AUDIT),
    "adopt": (
        SettingOption("--yes", "adopt_sure", "do not ask for confirmation; keep existing resources that differ"),
    ),
    "probe": (
        SettingOption("--write", "probe_write", "write the differences to your own profile"),
        SettingOption(
            "--output", "probe_folder", "folder of your own profiles; default: our-clusters", "DIR", short="-o"
        ),
        SettingOption("--name", "", "name of the new cluster", "NAME"),
        SettingOption("--jobs", "probe_jobs", "also compare the results that test-job --output wrote to FILE", "FILE"),
    ),
    "offboard": (
        SettingOption("--yes", "offboard_sure", WITHOUT_QUESTION),
        SettingOption(
            *(
                "--only",
                "offboard_only",
                "undeclared: remove only resources that accounts.yml no longer declares; default: everything",
                "WHAT",
            ),
            choices=("everything", "undeclared"),
        ),
        CONVERGE[0],
    ),
    "ssh-config": (
        SettingOption("--yes", "ssh_config_sure", WITHOUT_QUESTION),
        SettingOption(
            *("--state", "ssh_config_state", "absent: remove all entries; default: present", "STATE"),
            choices=("present", "absent"),
        ),
    ),
    "rotate": ROTATE,
    "test-job": (
        SettingOption("--gpu", "test_job_gpu", "request a GPU"),
        SettingOption("--wait", "test_job_wait", "time limit for the jobs", "SECONDS"),
        SettingOption("--output", "test_job_output", "write the results as JSON", "FILE"),
    ),
    "preflight": (
        SettingOption("--output", "preflight_output", "write the results as JSON", "FILE"),
        SettingOption("--patience", "preflight_patience", "time limit of one account; default: 120", "SECONDS"),
    ),
    "export-script": (
        SettingOption("--output", "export_script_output", "file to write the script to", "FILE", short="-o"),
    ),
}


class TypedOption(NamedTuple):
    """One option with its value, or one other word of a command line.

    name: the option's first long name; as typed for an unknown option; empty for another word, which is in `value`.
    value: None for a flag or a missing value. typed_words: the words on the command line.
    """

    name: str
    value: str | None
    typed_words: tuple[str, ...]


def read_options(words: Sequence[str]) -> Iterator[TypedOption]:
    """Yield all options and other words in their order. An unknown option is read as a flag."""
    remaining_words = list(words)
    while remaining_words:
        word = remaining_words.pop(0)
        if word == "--":  # ends the options
            yield from (TypedOption(name="", value=argument, typed_words=(argument,)) for argument in remaining_words)
            return
        if word.startswith("--"):
            yield _read_long(word, remaining_words)
        elif word.startswith("-") and word != "-":
            yield from _read_short(word, remaining_words)
        else:
            yield TypedOption(name="", value=word, typed_words=(word,))


def _read_long(word: str, next_words: list[str]) -> TypedOption:
    """Return the option --name or --name=VALUE. A value may be the next word, which is then removed from next_words."""
    beginning, equals, value = word.partition("=")
    names = {name for alias, name in NAMES.items() if alias.startswith(beginning)}  # --inv is short for --inventory
    name = NAMES.get(beginning) or (names.pop() if len(names) == 1 else beginning)
    if equals or name not in VALUED or not next_words:
        return TypedOption(name, value if equals else None, (word,))
    return TypedOption(name, next_words[0], (word, next_words.pop(0)))


def _read_short(word: str, next_words: list[str]) -> Iterator[TypedOption]:
    """Yield the options of a word such as -vvC. The last one may have a value: -lNAME, or -l and the next word.

    A value that is the next word is removed from next_words.
    """
    for index, letter in enumerate(word[1:], 1):
        name = NAMES.get(f"-{letter}", f"-{letter}")
        if name not in VALUED:
            yield TypedOption(name, value=None, typed_words=(f"-{letter}",))
            continue
        value = word[index + 1 :] or (next_words.pop(0) if next_words else None)
        yield TypedOption(name, value, (f"-{letter}", *([] if value is None else [value])))
        return  # the rest of the word is the value


def to_variables(subcommand: str, words: Sequence[str]) -> list[str]:
    """Return the words of a command line with each option of the subcommand as `-e VARIABLE=VALUE`."""
    options = {option.flag: option for option in SETTING_OPTIONS.get(subcommand, ()) if option.variable}
    remaining_words, playbook_words = list(words), list[str]()
    while remaining_words:
        word = remaining_words.pop(0)
        if option := options.get(word):
            playbook_words += ["-e", _assign(option.variable, remaining_words.pop(0) if option.metavar else True)]
        else:
            playbook_words.append(word)
    return playbook_words


def to_options(subcommand: str, settings: Mapping[str, Any]) -> list[str]:
    """Return the options of the subcommand that set these variables; -e NAME=VALUE for a setting without an option."""
    options = {option.variable: option for option in SETTING_OPTIONS.get(subcommand, ())}
    option_words: list[str] = []
    for name, value in settings.items():
        option = options.get(name)
        if option and option.metavar:
            option_words += [option.flag, _to_text(value)]
        elif option and value is True:
            option_words.append(option.flag)
        else:
            option_words += ["-e", _assign(name, value)]
    return option_words


def _assign(variable: str, value: Any) -> str:
    """Return the argument of -e that sets a variable."""
    text = _to_text(value)
    # Ansible splits VARIABLE=VALUE at spaces and quotes, so a text with them becomes JSON
    return f"{variable}={text}" if shlex.quote(text) == text else json.dumps({variable: text}, ensure_ascii=False)


def _to_text(value: Any) -> str:
    """Return a value as a user types it: true or false, a list with commas, else its text."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
