# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ansible-playbook is told by its environment, so that it does everywhere what it does in a checkout."""

from __future__ import annotations

import configparser
import os
import stat
from collections.abc import Mapping
from pathlib import Path

TOP = Path(__file__).parents[6]  # the folder with ansible_collections that this collection was loaded from
CONSOLE = {"ANSIBLE_STDOUT_CALLBACK": "hpc.onboard.console", "ANSIBLE_INVENTORY_UNPARSED_FAILED": "True"}
NO_ACCOUNTS = {"ANSIBLE_INVENTORY_UNPARSED_FAILED": "False", "ANSIBLE_INVENTORY_UNPARSED_WARNING": "False"}
UNLESS_SET = (  # variable, section and key of ansible.cfg, and what the checkout's own ansible.cfg says
    ("ANSIBLE_FORKS", "defaults", "forks", "20"),
    ("ANSIBLE_PYTHON_INTERPRETER", "defaults", "interpreter_python", "auto_silent"),
    ("ANSIBLE_INJECT_FACT_VARS", "defaults", "inject_facts_as_vars", "False"),
    ("ANSIBLE_LOCALHOST_WARNING", "defaults", "localhost_warning", "False"),
)
ACCOUNTS = "hpc.onboard.accounts"
PLUGINS = "ansible.builtin.yaml,ansible.builtin.ini,ansible.builtin.host_list"
COLLECTIONS = "~/.ansible/collections:/usr/share/ansible/collections"  # Ansible's own


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """The environment for ansible-playbook: the given one, and what is missing there and in the user's ansible.cfg.

    The console, the plugin that reads accounts, and this very collection are not for anybody to choose.
    """
    file = configuration(given)
    own = _read(file)
    missing = {name: value for name, section, key, value in UNLESS_SET if not own.has_option(section, key)}
    made = {**missing, **given, **CONSOLE}
    plugins = given.get("ANSIBLE_INVENTORY_ENABLED", own.get("inventory", "enable_plugins", fallback=PLUGINS))
    made["ANSIBLE_INVENTORY_ENABLED"] = ",".join(dict.fromkeys([ACCOUNTS, *map(str.strip, plugins.split(","))]))
    made["ANSIBLE_COLLECTIONS_PATH"] = os.pathsep.join([str(TOP), _collections(given, own, file)])
    return made


def configuration(given: Mapping[str, str]) -> Path | None:
    """The ansible.cfg that Ansible will read, by its own rules: the first that is there."""
    named = Path(given.get("ANSIBLE_CONFIG") or "/nowhere").expanduser()
    here = Path("ansible.cfg")
    candidates = [named / "ansible.cfg" if named.is_dir() else named]
    candidates += [] if Path.cwd().stat().st_mode & stat.S_IWOTH else [here]  # anybody could have put it there
    candidates += [Path("~/.ansible.cfg").expanduser(), Path("/etc/ansible/ansible.cfg")]
    return next((file for file in candidates if os.access(file, os.R_OK) and file.is_file()), None)


def _read(file: Path | None) -> configparser.ConfigParser:
    """Its settings; of a broken one, none: Ansible itself says what is wrong with it."""
    parser = configparser.ConfigParser(inline_comment_prefixes=(";",), interpolation=None)
    try:
        parser.read([file] if file else [], encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError):
        return configparser.ConfigParser()
    return parser


def _collections(given: Mapping[str, str], own: configparser.ConfigParser, file: Path | None) -> str:
    """Return where the user keeps other collections. A path in ansible.cfg starts at its folder."""
    named = given.get("ANSIBLE_COLLECTIONS_PATH")
    keys = [key for key in ("collections_path", "collections_paths") if own.has_option("defaults", key)]
    if named or not keys or not file:
        return named or COLLECTIONS
    folder = file.resolve().parent
    paths = own.get("defaults", keys[0]).split(os.pathsep)
    return os.pathsep.join(str(folder / Path(path.strip()).expanduser()) for path in paths)
