# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line of hpc-onboard: an argparse parser that is built for the subcommand in the line.

Some subcommands run a module; the others start ansible-playbook. Their own options (SETTING_OPTIONS) become Ansible
variables. A flag is the long form of an option. The short form of onboard has no subcommand: `hpc-onboard wilson`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, NoReturn

from .._input.playbook_options import FLAGS, NAMES, SETTING_OPTIONS, VALUED, SettingOption, read_options
from .accounts import CommandError, read_path, suggest_subcommand
from .subcommands import SUBCOMMANDS

PACKAGE = "ansible_collections.hpc.onboard.plugins.plugin_utils."  # of the modules that are imported only if needed
ANSIBLE_HELP = {  # option of ansible-playbook -> its help; other options work, too, but are not listed
    "--tags": "run only these roles",
    "--skip-tags": "skip these roles",
    "--check": "show the changes, but do not make them",
    "--diff": "show the changed lines of files",
    "--extra-vars": "set an Ansible variable",
    "--forks": "number of accounts to process in parallel; default: 20",
    "--verbose": "show more details; up to -vvvv",
}
ALWAYS_LISTED = ("--extra-vars", "--forks", "--verbose")
METAVARS = {"--tags": "ROLE", "--skip-tags": "ROLE", "--extra-vars": "NAME=VALUE", "--forks": "NUMBER"}
NUMBERS = ("NUMBER", "SECONDS", "DAYS")  # metavars of options whose value is a number
PATHS = ("FILE", "DIR")
NAME_HELP = "an account, a cluster or a pattern such as 'simone@*'; default: all"


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Format the help for terminals of 80 columns."""

    def __init__(self, prog: str, **options: Any) -> None:
        """Fix the width. prog: the command. options: of argparse's own formatter."""
        super().__init__(prog, **{**options, "width": 80, "max_help_position": 30})

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Wrap the sentences of a description. Lines that begin with a space, such as commands, are unchanged."""
        import textwrap  # only the help needs it

        lines = [
            [line] if line[:1] in ("", " ") else textwrap.wrap(line, width, break_on_hyphens=False)
            for line in text.split("\n")
        ]
        return "\n".join(f"{indent}{line}" for wrapped in lines for line in wrapped)


class CommandParser(argparse.ArgumentParser):
    """A parser that raises each mistake as a CommandError of one sentence."""

    has_parts = False  # True after add_subparsers()

    def error(self, message: str) -> NoReturn:
        """Raise CommandError with the message of argparse, and the command for help."""
        raise CommandError(f"{message}\nRun: {self.prog} --help")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Exit, as argparse does after the help. Flush first, so that main() handles the error of a closed pipe."""
        sys.stdout.flush()
        super().exit(status, message)

    def add_subparsers(self, **options: Any) -> Any:
        """Let the subcommand have parts, such as `verify` of `ledger`."""
        self.has_parts = True
        return super().add_subparsers(**options)

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """Return the options. Names and options may be mixed. Raises CommandError for unknown words."""
        # argparse cannot mix names and options in a parser with parts
        parse_words = self.parse_known_args if self.has_parts else self.parse_known_intermixed_args
        options, unknown_words = parse_words(words)
        if unknown_words:
            raise CommandError(f"{self._describe_unknown(unknown_words[0], words)}\nRun: {self.prog} --help")
        return options

    def _describe_unknown(self, word: str, words: Sequence[str]) -> str:
        """Return why a word is not accepted, with a suggestion if a valid word is similar. words: of the whole line."""
        import difflib  # only a mistake needs these
        import re

        first_word = find_first_word(words)  # in the place of a subcommand
        if first_word not in SUBCOMMANDS and (similar_word := suggest_subcommand(first_word)):
            return f'"{first_word}" is not a subcommand; did you mean "{similar_word}"?'
        if not word.startswith("-"):
            return f'unexpected word "{word}"'
        flag = word.partition("=")[0]
        names = [name for name, options in SETTING_OPTIONS.items() if flag in [option.flag for option in options]]
        if names:  # the subcommands with this option
            return f"{flag} is available only with {', '.join(names)}"
        help_options = re.findall(r"(?<!\w)--[a-z][a-z-]+", self.format_help())  # the long options of this subcommand
        similar_words = difflib.get_close_matches(flag, [*help_options, *([] if self.has_parts else NAMES)], 1)
        return f"unknown option {flag}" + (f'; did you mean "{similar_words[0]}"?' if similar_words else "")


class StoreSetting(argparse.Action):
    """Store an option of SETTING_OPTIONS in `given`, by its flag. Repeated lists are joined."""

    is_list = False  # the value is a list: set by _add_setting()

    def __call__(self, _parser: Any, namespace: Any, value: Any, option: str | None = None) -> None:
        """Store the value by the option's long form, which is the last of its strings; True without a value."""
        flag = self.option_strings[-1]
        if self.is_list:
            value = [*namespace.given.get(flag, ()), *value]
        namespace.given = {**namespace.given, flag: True if self.nargs == 0 else value}


class PassOption(argparse.Action):
    """Append an option of ansible-playbook to `passed`, as typed, with its value unless it is a flag (nargs=0)."""

    def __call__(self, _parser: Any, namespace: Any, value: Any, option: str | None = None) -> None:
        namespace.passed = [*namespace.passed, option, *([] if self.nargs == 0 else [str(value)])]


def find_first_word(words: Sequence[str]) -> str:
    """Return the first word that is neither an option nor the value of an option; empty if there is none."""
    return next((str(option.value) for option in read_options(words) if not option.name), "")  # a word has no name


def parse(words: Sequence[str], program: str) -> argparse.Namespace:
    """Return the parsed line: `subcommand` (empty for the short form of onboard), `prog` and the subcommand's options.

    program: the words that start hpc-onboard. `prog` contains the words that start the subcommand. A subcommand with a
    playbook has the options names, inventory, given (its own options by flag) and passed (those of ansible-playbook).
    Raises CommandError.
    """
    first_word = find_first_word(words)
    name = first_word if first_word in SUBCOMMANDS else ""
    parser = build_parser(name, program, has_word=bool(name))
    options = parser.parse(words)
    options.subcommand, options.prog = name, parser.prog
    if not SUBCOMMANDS[name or "onboard"].module:
        options.names = [*options.limits, *getattr(options, "names", [])]  # -l NAME is the same as NAME
        if not name and not options.names:
            raise CommandError(f"expected a subcommand, an account or a cluster\nRun: {program} --help")
    return options


def build_parser(name: str, program: str, has_word: bool = True) -> CommandParser:
    """Return the parser of a subcommand; name is empty for the short form of onboard.

    program: the words that start hpc-onboard. has_word: the line contains the name of the subcommand.
    """
    name = name or "onboard"
    subcommand = SUBCOMMANDS[name]
    parser = CommandParser(
        prog=f"{program} {name}",
        description=f"{subcommand.summary[0].upper()}{subcommand.summary[1:]}.\n{subcommand.more}".rstrip(),
        epilog=_render_epilog(name),
        formatter_class=HelpFormatter,
    )
    if has_word:
        complete_by(parser.add_argument("subcommand", help=argparse.SUPPRESS), "list_first_words")
    if subcommand.module:
        import_module(f"{PACKAGE}{subcommand.module}").add_options(parser)
    else:
        _add_playbook_options(parser, name)
        parser.usage = f"{program} {name} {_name_arguments(name)}[OPTION...]".replace("%", "%%")
    return parser


def add_inventory(parser: argparse.ArgumentParser, default: object = None) -> None:
    """Add the option -i. default: None for an empty list, or argparse.SUPPRESS to set nothing without the option."""
    parser.add_argument(
        "-i", "--inventory", action="append", default=default or [], metavar="FILE", help="the accounts file"
    )


def to_playbook_words(options: argparse.Namespace) -> list[str]:
    """Return the words for ansible-playbook, without -i.

    The subcommand's own options become variables, except --secret, which selects the playbook (playbook_command()).
    """
    name = options.subcommand or "onboard"
    given = dict(options.given)
    secret = ["--secret", given.pop("--secret")] if "--secret" in given else []
    variables = {option.flag: option.variable for option in SETTING_OPTIONS.get(name, ()) if option.variable}
    settings = {variables[flag]: value for flag, value in given.items() if flag in variables}
    names = list(options.names)
    if name == "import-result":
        settings["import_result_file"], names = options.file, [options.account]
    settings_words = ["-e", json.dumps(settings, default=str)] if settings else []
    return [*secret, *settings_words, *options.passed, *(["-l", ",".join(names)] if names else [])]


def _name_arguments(name: str) -> str:
    """Return the positional arguments of the subcommand name for its usage line, with a space at the end, or ""."""
    return {"doctor": "", "import-result": "FILE "}.get(name, "[NAME...] ")


def _render_epilog(name: str) -> str:
    """Return the end of the help of the subcommand name: examples and exit codes. For argparse, % is written as %%."""
    subcommand = SUBCOMMANDS[name]
    codes = [f"  {code}  {text}" for code, text in zip((0, 2, 4), subcommand.exits, strict=False)]  # 4: not for all
    width = max((len(command) for command, _text in subcommand.examples), default=0)
    examples = [f"  {command:{width}}  {text}" for command, text in subcommand.examples]
    return "\n".join([*(["examples:", *examples, ""] if examples else []), "exit codes:", *codes]).replace("%", "%%")


def _add_playbook_options(parser: CommandParser, name: str) -> None:
    """Add the names, the own options of the subcommand (name), and all of ansible-playbook's, some without help."""
    parser.set_defaults(given={}, passed=[], limits=[])
    if name == "import-result":
        parser.add_argument("file", metavar="FILE", type=read_path, help="the file with the result of the script")
    elif name != "doctor":
        complete_by(parser.add_argument("names", nargs="*", metavar="NAME", help=NAME_HELP), "list_names")
    add_inventory(parser)
    for option in SETTING_OPTIONS.get(name, ()):
        _add_setting(parser, option)
    group = parser.add_argument_group("options of ansible-playbook (all its other options also work)")
    flags_with_help = (*SUBCOMMANDS[name].ansible, *ALWAYS_LISTED)
    defined = {"--help", "--version", "--inventory", "--key-file"}  # by hpc-onboard itself
    defined |= {option.flag for option in SETTING_OPTIONS.get(name, ())}
    for table, has_value in ((FLAGS, False), (VALUED, True)):  # option of ansible-playbook -> its other names
        for flag, other_names in table.items():
            if flag in defined:  # such as --help, which argparse adds
                continue
            names = [option for option in (*other_names, flag) if option not in defined]
            text = ANSIBLE_HELP[flag] if flag in flags_with_help else argparse.SUPPRESS
            if flag == "--limit":
                action: Any = group.add_argument(*names, action="append", dest="limits", help=text)
            else:
                metavar = METAVARS.get(flag, "VALUE")
                read_value = _read_number if metavar in NUMBERS else str
                value: Any = {"metavar": metavar, "type": read_value} if has_value else {"nargs": 0}
                action = group.add_argument(*names, action=PassOption, dest="passed", help=text, **value)
            if flag in ("--limit", "--tags", "--skip-tags"):
                complete_by(action, "list_names" if flag == "--limit" else "list_roles")


def _add_setting(parser: argparse.ArgumentParser, option: SettingOption) -> None:
    """Add an option of the subcommand itself, with the function that reads its value, and its completion."""
    names = [*([option.short] if option.short else []), option.flag]
    value: Any = {"metavar": option.metavar, "type": _choose_reader(option)} if option.metavar else {"nargs": 0}
    choices_text = f" ({', '.join(option.choices)})" if option.is_list and option.choices else ""
    action: Any = parser.add_argument(
        *names, action=StoreSetting, dest="given", default={}, help=f"{option.help}{choices_text}", **value
    )
    action.is_list = option.is_list
    if option.choices:
        action.completer = lambda **_context: option.choices
    elif option.flag == "--secret":
        action.completer = lambda **_context: ("ngc", "wandb", "hf")  # the usual names of keys


def _choose_reader(option: SettingOption) -> Callable[[str], Any]:
    """Return the function that converts the text of an option's value."""
    if option.is_list:

        def read_list(text: str) -> list[str]:
            return [_check_choice(word, option.choices) for word in text.split(",") if word]

        return read_list
    if option.choices:
        return lambda text: _check_choice(text, option.choices)
    return _read_number if option.metavar in NUMBERS else read_path if option.metavar in PATHS else str


def _check_choice(text: str, choices: Iterable[str]) -> str:
    """Return the text, or raise ArgumentTypeError if it is not one of the choices. Without choices, all are valid."""
    if choices and text not in choices:
        from .._input.diagnostics import nearest  # only a mistake needs it

        raise argparse.ArgumentTypeError(f'invalid value "{text}"; {nearest(text, choices)}')
    return text


def _read_number(text: str) -> int:
    """Return the whole number in the text. Raise ArgumentTypeError for any other text."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f'invalid value "{text}"; expected a whole number')
    return int(text)


def complete_by(action: Any, function: str) -> None:
    """Let Tab complete an argument (action) by a function of completion.py, which is imported only for a completion."""

    def complete(**context: Any) -> Any:
        return getattr(import_module(f"{PACKAGE}_command.completion"), function)(**context)

    action.completer = complete
