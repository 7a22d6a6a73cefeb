# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The question before a change, and its answer: only "y" or "yes" agrees."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...module_utils._core.errors import AccountError
from . import command_line, extra_vars

YES = ("y", "yes")
CANCELLED = "Cancelled. Nothing was changed."


def is_yes(answer: str) -> bool:
    """Return True if the answer agrees; any other text declines."""
    return answer.strip().lower() in YES


def describe_no_answer(not_done: str, unattended_command: str) -> str:
    """Return the error for a question without an answer: no terminal, end of input, or Ctrl-C.

    not_done: such as "nothing was written". unattended_command: the command that does not ask.
    """
    return f"{not_done}: you did not confirm. To confirm in advance, run: {unattended_command}"


class Agreement(NamedTuple):
    """A change to which the user must agree, at the terminal or by a variable.

    owner: what the settings belong to, for errors. readers: by the name of a setting, the function that converts it.
    prefix_words: the number of words with which the names of all settings begin. sure: the setting by which the user
    agrees in advance, such as fix_sure. question: for the terminal. not_done: for the error without agreement, such as
    "nothing was written".

    The methods get all variables of the run, and read_variable, which returns the value of a variable, or None.
    """

    owner: str
    readers: Mapping[str, extra_vars.Reader]
    sure: str
    question: str
    not_done: str
    prefix_words: int = 1

    def settings(self, variables: Mapping[str, Any], read_variable: extra_vars.ReadVariable) -> dict[str, Any]:
        """Return the given settings of this run, converted. Raise AccountError for an unknown name or invalid value."""
        return extra_vars.read_settings(self.owner, self.readers, variables, read_variable, self.prefix_words)

    def check_names(self, variables: Mapping[str, Any]) -> None:
        """Raise AccountError for an unknown setting: Ansible would ignore a misspelt name."""
        self.settings(variables, read_variable=lambda _name: None)  # without values, only the names are checked

    def is_needed(self, variables: Mapping[str, Any], read_variable: extra_vars.ReadVariable) -> bool:
        """Return True if the user must be asked: not in check mode, and not if the user has agreed in advance."""
        return not (variables.get("ansible_check_mode") or self.settings(variables, read_variable).get(self.sure))

    def is_given(
        self,
        answer: str | None,
        variables: Mapping[str, Any],
        read_variable: extra_vars.ReadVariable,
        options: Mapping[str, Any],
    ) -> bool:
        """Return True if the answer agrees. Without an answer, raise AccountError with the command that does not ask.

        answer: None if the user did not answer. options: of Ansible's command line, as parsed by Ansible.
        """
        if answer is not None:
            return is_yes(answer)
        subcommand = self.sure.removesuffix("_sure").replace("_", "-")  # ssh_config_sure belongs to ssh-config
        limit = ["-l", str(options["subset"])] if options.get("subset") else []  # "subset" is Ansible's name of --limit
        settings = {**self.settings(variables, read_variable), self.sure: True}
        playbooks = options.get("args") or ()  # "args" is Ansible's name of the other words
        command = command_line.repeat_command(options, sys.argv[1:], playbooks, repeated={})
        command += f" {shlex.join([*limit, *command_line.setting_options(subcommand, settings)])}"
        raise AccountError(describe_no_answer(self.not_done, command))
