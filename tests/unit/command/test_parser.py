# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a command line means, and what is refused before anything is touched."""

from __future__ import annotations

import importlib
import json

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._adoption import adopt_run
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit import fix_run
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit import run as audit_run
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.accounts import CommandError
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.parser import (
    PACKAGE,
    build_parser,
    parse,
    to_playbook_words,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.subcommands import SUBCOMMANDS
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import offboarding
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.playbook_options import SETTING_OPTIONS
from ansible_collections.hpc.onboard.plugins.plugin_utils._readiness import preflight, test_job_report
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation import options as rotation_options
from ansible_collections.hpc.onboard.plugins.plugin_utils._ssh_config import run as ssh_config_run


def settings(**values: object) -> list[str]:
    """The words that set variables of a playbook."""
    return ["-e", json.dumps(values)]


LINES = [
    ("wilson", "", ["-l", "wilson"]),
    ("onboard", "onboard", []),
    ("onboard wilson simone@*", "onboard", ["-l", "wilson,simone@*"]),
    ("wilson lrz --check", "", ["--check", "-l", "wilson,lrz"]),
    ("audit -l wilson !a@wilson", "audit", ["-l", "wilson,!a@wilson"]),
    ("audit --limit=wilson", "audit", ["-l", "wilson"]),
    ("-f 3 audit -vv wilson", "audit", ["-f", "3", "-v", "-v", "-l", "wilson"]),
    ("plan -e a=1 -e b=2 --tags conda", "plan", ["-e", "a=1", "-e", "b=2", "--tags", "conda"]),
    ("rotate --secret wandb --resume", "rotate", ["--secret", "wandb", *settings(rotate_resume=True)]),
    ("-e x=1 rotate --secret=wandb", "rotate", ["--secret", "wandb", "-e", "x=1"]),
    ("rotate --key-file - --excuse a,b --excuse c", "rotate",
     settings(rotate_key_file="-", rotate_excuse=["a", "b", "c"])),
    ("offboard audit", "offboard", ["-l", "audit"]),  # only the first word is the subcommand
    ("-i x.yml doctor", "doctor", []),
    ("onboard wilson -C lrz", "onboard", ["-C", "-l", "wilson,lrz"]),
    ("onboard --start-at-task x", "onboard", ["--start-at-task", "x"]),
    ("plan --yes wilson", "plan", ["-l", "wilson"]),
    ("fix --yes", "fix", settings(fix_sure=True)),
    ("offboard wilson --yes --tags conda", "offboard",
     [*settings(offboard_sure=True), "--tags", "conda", "-l", "wilson"]),
    ("audit --output out --format html,json --fail-on medium --max-age 9 -e x=1", "audit",
     [*settings(audit_output="out", audit_formats=["html", "json"], audit_fail_on="medium", audit_max_age=9),
      "-e", "x=1"]),
    ("export-script a@lrz -o f.py", "export-script", [*settings(export_script_output="f.py"), "-l", "a@lrz"]),
    ("onboard --replace", "onboard", settings(onboard_replace=True)),
]  # fmt: skip


@pytest.mark.parametrize(("line", "subcommand", "words"), LINES)
def test_a_line_has_a_subcommand_names_and_options_in_any_order(line: str, subcommand: str, words: list[str]) -> None:
    options = parse(line.split(), "hpc-onboard")
    assert (options.subcommand, to_playbook_words(options)) == (subcommand, words)


def test_accounts_files_are_kept_apart() -> None:
    assert parse(["-i", "a.yml", "audit", "--inventory=b,"], "hpc-onboard").inventory == ["a.yml", "b,"]


REFUSED = [
    ("-v", "expected a subcommand, an account"),
    ("onboard -l", "argument -l/--limit: expected one argument"),
    ("onboard --limti wilson", 'unknown option --limti; did you mean "--limit"?'),
    ("audit --waviers x", 'unknown option --waviers; did you mean "--waivers"?'),
    ("audit --fail-on hihg", 'argument --fail-on: invalid value "hihg"; did you mean "high"?'),
    ("audit --format html,pdf", 'argument --format: invalid value "pdf"'),
    ("onboard --forks many", 'argument -f/--forks: invalid value "many"; expected a whole number'),
    ("rotate --secret -v", "argument --secret: expected one argument"),
    ("onboard --secret wandb", "--secret is available only with rotate"),
    ("wilson --yes", "--yes is available only with plan, fix, adopt, offboard, ssh-config"),
    ("plan --yess", 'unknown option --yess; did you mean "--yes"?'),
    ("audti --fail-on high", '"audti" is not a subcommand; did you mean "audit"?'),
    ("fir --yes", "--yes is available only with plan"),
    ("doctor wilson", 'unexpected word "wilson"'),
    ("ledger", "the following arguments are required: verify|who-has"),
    ("status --jsn", 'unknown option --jsn; did you mean "--json"?'),
]


@pytest.mark.parametrize(("line", "text"), REFUSED)
def test_what_cannot_be_meant_is_refused(line: str, text: str) -> None:
    with pytest.raises(CommandError) as refused:
        parse(line.split(), "hpc-onboard")
    assert str(refused.value).startswith(text)
    assert "\nRun: hpc-onboard" in str(refused.value)


READERS = {
    "adopt": adopt_run.AGREEMENT.readers,
    "audit": {**audit_run.SETTINGS},
    "fix": {**audit_run.SETTINGS, **fix_run.AGREEMENT.readers},
    "offboard": {
        one: reader for one, reader in offboarding.AGREEMENT.readers.items() if one != "offboard_capabilities"
    },
    "ssh-config": ssh_config_run.AGREEMENT.readers,
    "rotate": rotation_options.SETTINGS,
    "test-job": test_job_report.SETTINGS,
    "preflight": preflight.SETTINGS,
}


@pytest.mark.parametrize("name", READERS)
def test_every_setting_of_a_playbook_has_an_option_and_its_values_are_valid(name: str) -> None:
    """--tags chooses what offboard_capabilities would."""
    prefixes = {one.partition("_")[0] for one in READERS[name]}
    options = {one.variable: one for one in SETTING_OPTIONS[name] if one.variable.partition("_")[0] in prefixes}
    assert set(options) == set(READERS[name])
    for variable, option in options.items():
        for value in option.choices:
            READERS[name][variable](variable, value)


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_help_has_examples_or_parts_exit_codes_and_eighty_columns(name: str) -> None:
    text = build_parser(name, "hpc-onboard").format_help()
    assert [line for line in text.splitlines() if len(line) > 80] == []
    assert "exit codes:\n  0  " in text
    assert ("  4  " in text) == (len(SUBCOMMANDS[name].exits) == 3)
    if SUBCOMMANDS[name].module:
        assert callable(importlib.import_module(PACKAGE + SUBCOMMANDS[name].module).run)
