# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""conda's settings: a generated file, which conda reads in addition to the user's .condarc, and the lists in .condarc.

The generated file is in the prefix, the folder of a conda installation. The file has a mark: a comment line with a
hash, which shows whether the user has edited the file.
"""

import re
from typing import List, NamedTuple, Optional, Sequence

from .lines import split_lines
from .origin_mark import add_mark

PLACE = "condarc.d/hpc.onboard.yml"  # of the generated file, below the prefix
# names and addresses of the channels that Anaconda operates
ANACONDA_CHANNELS = ("defaults", "main", "r", "anaconda", "msys2", "pkgs/main", "pkgs/r", "pkgs/msys2")
ANACONDA_URL = re.compile(
    r"repo\.anaconda\.com|repo\.continuum\.io|//conda\.anaconda\.org/(?:anaconda|main|r|msys2)(?:/|\Z)"
)
SETTINGS = (
    ".condarc",
    ".conda/.condarc",
    ".conda/condarc",
    ".config/conda/.condarc",
    ".config/conda/condarc",
    ".mambarc",
)
"""The user's settings files of conda and mamba, below the home."""

COMMENT = "# hpc-onboard's settings for this conda. Put your own settings into ~/.condarc: they take precedence.\n"


class Item(NamedTuple):
    """An item of a list, and its line number."""

    line: int
    value: str


def render(prefix: str, channels: Sequence[str], version: str) -> str:
    """Return the text of the generated file, which keeps packages and environments in the prefix.

    The base environment is not activated automatically. channels: where packages come from. version: of conda's
    installer.
    """
    lists = (("pkgs_dirs", [prefix + "/pkgs"]), ("envs_dirs", [prefix + "/envs"]), ("channels", list(channels)))
    settings = ["%s:\n%s" % (name, "".join('  - "%s"\n' % item for item in items)) for name, items in lists]
    return add_mark(COMMENT + "".join(settings) + "%s: false\n" % choose_activation_setting(version))


def choose_activation_setting(version: str) -> str:
    """Return the name of the setting for automatic activation of the base environment, which conda 25 renamed."""
    # conda 25 accepts both names, so the new one is used from conda 26 on
    return "auto_activate" if parse_version(version)[:1] >= [26] else "auto_activate_base"


def parse_version(version: str) -> List[int]:
    """Return an installer's version for comparison, such as [26, 1, 1, 3] for 26.1.1-3 and for py313_26.1.1-3."""
    return [int(number) for number in re.findall(r"[0-9]+", version.rpartition("_")[2])]


def is_explicit(content: str) -> bool:
    """Return True if a file that lists conda packages is an explicit lock file (@EXPLICIT), not an environment.yml."""
    return re.search(r"^@EXPLICIT\s*$", content, re.MULTILINE) is not None


def read_list(text: str, setting: str) -> Optional[List[Item]]:
    """Return the items of a list in a settings file, with their line numbers; None if the list is not set.

    text: of the file. setting: the name of the list, such as "channels". The parser supports the usual forms of YAML:
    a list in brackets on one line, or one item per line after a dash.
    """
    items: Optional[List[Item]] = None
    for number, line in enumerate(split_lines(text), 1):
        code = re.sub(r"(^|\s)#.*", "", line.rstrip())  # without a comment
        key = re.match(r"^([A-Za-z_]+)\s*:\s*(.*)", code)
        if key:
            if items is not None:  # the next setting begins
                return items
            if key.group(1) == setting:
                inside = key.group(2).strip("[] ")  # empty if the items are on the next lines
                items = [Item(number, _unquote(value)) for value in inside.split(",") if _unquote(value)]
        elif items is not None:
            item_line = re.match(r"^\s*-\s*(.*)", code)
            if item_line and _unquote(item_line.group(1)):
                items.append(Item(number, _unquote(item_line.group(1))))
    return items


def is_anaconda_channel(channel: str) -> bool:
    """Return True if Anaconda operates the channel, so that its terms of service apply."""
    return channel in ANACONDA_CHANNELS or ANACONDA_URL.search(channel) is not None


def _unquote(item: str) -> str:
    """Return an item without quotes and white space around it."""
    return item.strip(" \t'\"")
