# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The environment of ansible-playbook, which replaces the ansible.cfg of a checkout everywhere else."""

from __future__ import annotations

import configparser
import locale
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

COLLECTIONS_ROOT = Path(__file__).parents[6]  # the folder with ansible_collections that this collection was loaded from
# the output of hpc-onboard; and an unreadable inventory is an error
CONSOLE = {"ANSIBLE_STDOUT_CALLBACK": "hpc.onboard.console", "ANSIBLE_INVENTORY_UNPARSED_FAILED": "True"}
# for a run without an accounts file
NO_ACCOUNTS = {"ANSIBLE_INVENTORY_UNPARSED_FAILED": "False", "ANSIBLE_INVENTORY_UNPARSED_WARNING": "False"}
UNLESS_SET = (  # variable, section and key in an ansible.cfg, and the default (as in the checkout's own ansible.cfg)
    ("ANSIBLE_FORKS", "defaults", "forks", "20"),
    ("ANSIBLE_PYTHON_INTERPRETER", "defaults", "interpreter_python", "auto_silent"),
    ("ANSIBLE_INJECT_FACT_VARS", "defaults", "inject_facts_as_vars", "False"),
    ("ANSIBLE_LOCALHOST_WARNING", "defaults", "localhost_warning", "False"),
)
LOCALES = ("C.UTF-8", "en_US.UTF-8")  # most systems have one of these
ACCOUNTS = "hpc.onboard.accounts"  # the inventory plugin that reads accounts files
DEFAULT_PLUGINS = "ansible.builtin.yaml,ansible.builtin.ini,ansible.builtin.host_list"
DEFAULT_COLLECTIONS = "~/.ansible/collections:/usr/share/ansible/collections"  # Ansible's default


def build_environment(process_environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for ansible-playbook. process_environment: the environment of this process.

    The defaults of UNLESS_SET apply only if neither the environment nor an ansible.cfg sets them. The console, the
    inventory plugin for accounts, and this collection are always set, because each run needs them.
    """
    file = find_configuration(process_environment)
    configuration = _read_configuration(file)
    defaults = {name: value for name, section, key, value in UNLESS_SET if not configuration.has_option(section, key)}
    environment = {**defaults, **process_environment, **find_locale(), **CONSOLE}
    configured_plugins = configuration.get("inventory", "enable_plugins", fallback=DEFAULT_PLUGINS)
    plugins = map(str.strip, process_environment.get("ANSIBLE_INVENTORY_ENABLED", configured_plugins).split(","))
    environment["ANSIBLE_INVENTORY_ENABLED"] = ",".join(dict.fromkeys([ACCOUNTS, *plugins]))
    other_collections = _find_collections(process_environment, configuration, file)
    environment["ANSIBLE_COLLECTIONS_PATH"] = os.pathsep.join([str(COLLECTIONS_ROOT), other_collections])
    return environment


def find_locale() -> dict[str, str]:
    """Return the variable of a locale with UTF-8, without which Ansible does not start; {} if the user's has UTF-8.

    The user's locale may be C, as in scripts, or unknown on this machine, as after a login with ssh.
    """
    before = locale.setlocale(locale.LC_ALL)
    try:
        for name in ("", *LOCALES):  # "": the user's
            with suppress(locale.Error, ValueError):
                locale.setlocale(locale.LC_ALL, name)
                if (locale.getlocale()[1] or "").lower() in ("utf-8", "utf8"):
                    return {"LC_ALL": name} if name else {}
    finally:
        locale.setlocale(locale.LC_ALL, before)
    return {}  # Ansible reports the problem


def find_configuration(process_environment: Mapping[str, str]) -> Path | None:
    """Return the ansible.cfg that Ansible will read: the first readable one, in Ansible's order; None without one."""
    # without the variable, a path that does not exist
    # os.path.expanduser, unlike Path.expanduser, accepts the name of an unknown user
    file_from_variable = Path(os.path.expanduser(process_environment.get("ANSIBLE_CONFIG") or "/nowhere"))
    candidates = [file_from_variable / "ansible.cfg" if file_from_variable.is_dir() else file_from_variable]
    is_writable_by_all = Path.cwd().stat().st_mode & stat.S_IWOTH
    candidates += [] if is_writable_by_all else [Path("ansible.cfg")]  # any user could have written it
    candidates += [Path(os.path.expanduser("~/.ansible.cfg")), Path("/etc/ansible/ansible.cfg")]
    return next((file for file in candidates if os.access(file, os.R_OK) and file.is_file()), None)


def _read_configuration(file: Path | None) -> configparser.ConfigParser:
    """Return the settings of an ansible.cfg; no settings if the file is invalid, which Ansible itself reports."""
    parser = configparser.ConfigParser(inline_comment_prefixes=(";",), interpolation=None)
    try:
        parser.read([file] if file else [], encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError):
        return configparser.ConfigParser()  # the first parser may contain the settings before the error
    return parser


def _find_collections(
    process_environment: Mapping[str, str], configuration: configparser.ConfigParser, file: Path | None
) -> str:
    """Return the search path of the user's other collections, from the environment or ansible.cfg, or the default.

    file: the ansible.cfg with this configuration; its relative paths begin at its folder.
    """
    from_variable = process_environment.get("ANSIBLE_COLLECTIONS_PATH")
    if from_variable:
        return from_variable
    # the key, and its older name
    keys = [key for key in ("collections_path", "collections_paths") if configuration.has_option("defaults", key)]
    if not keys or not file:
        return DEFAULT_COLLECTIONS
    folder = file.resolve().parent
    paths = configuration.get("defaults", keys[0]).split(os.pathsep)
    return os.pathsep.join(str(folder / os.path.expanduser(path.strip())) for path in paths)
