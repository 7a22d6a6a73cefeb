# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The question before a change, and its answer: only a yes counts."""

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
    """Return True if the answer is a yes; every other line is a no."""
    return answer.strip().lower() in YES


def describe_no_answer(nothing: str, again: str) -> str:
    """Return the error without a terminal, at the end of the input and after Ctrl-C.

    nothing: what did not happen then. again: the command that does not ask.
    """
    return f"{nothing}: you did not confirm. To confirm in advance, run: {again}"


class Agreement(NamedTuple):
    """A change to which the user must agree, at the terminal or by a variable.

    whose, readers, words: of the run's settings, see extra_vars.read. sure: the variable by which the user agrees.
    question: for the terminal. nothing: what did not happen without agreement.
    """

    whose: str
    readers: Mapping[str, extra_vars.Reader]
    sure: str
    question: str
    nothing: str
    words: int = 1

    def settings(self, variables: Mapping[str, Any], value: extra_vars.Value) -> dict[str, Any]:
        """Return the settings of the run that are given. Raise AccountError for an unknown one."""
        return extra_vars.read_settings(self.whose, self.readers, variables, value, self.words)

    def check_names(self, variables: Mapping[str, Any]) -> None:
        """Raise AccountError for an unknown setting: a misspelt one would be ignored."""
        self.settings(variables, lambda _name: None)

    def is_needed(self, variables: Mapping[str, Any], value: extra_vars.Value) -> bool:
        """Return True if the user must be asked: not in check mode, nor if the variable is true. Raise AccountError."""
        return not (variables.get("ansible_check_mode") or self.settings(variables, value).get(self.sure))

    def is_given(
        self, answer: str | None, variables: Mapping[str, Any], value: extra_vars.Value, options: Mapping[str, Any]
    ) -> bool:
        """Return True if the answer is yes. Raise AccountError without one, with the command that does not ask.

        options: of Ansible's command line.
        """
        subcommand = self.sure.removesuffix("_sure").replace("_", "-")
        words = ["-l", str(options["subset"])] if options.get("subset") else []
        settings = {**self.settings(variables, value), self.sure: True}
        words += command_line.setting_options(subcommand, settings)
        typed = command_line.repeat_command(options, sys.argv[1:], options.get("args") or ())
        if answer is None:
            raise AccountError(describe_no_answer(self.nothing, f"{typed} {shlex.join(words)}"))
        return is_yes(answer)
