# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""conda's settings, as a file of our own in the folder that conda reads beside the user's .condarc."""

import re
from typing import List, Sequence

from .stamp import stamped

PLACE = "condarc.d/hpc.onboard.yml"
FIRST = "# Settings of this conda. Put yours into .condarc beside this folder, or into ~/.condarc.\n"


def render(prefix: str, channels: Sequence[str], version: str) -> str:
    """Packages and environments below the prefix, these channels, and nothing activated by itself."""
    lists = (("pkgs_dirs", [prefix + "/pkgs"]), ("envs_dirs", [prefix + "/envs"]), ("channels", list(channels)))
    lines = ["%s:\n%s" % (name, "".join('  - "%s"\n' % item for item in items)) for name, items in lists]
    return stamped(FIRST + "".join(lines) + "%s: false\n" % activation(version))


def activation(version: str) -> str:
    """The name of the setting that activates the base environment by itself, which conda 25 renamed."""
    return "auto_activate" if numbers(version)[:1] >= [26] else "auto_activate_base"  # 25 knows both


def numbers(version: str) -> List[int]:
    """The numbers of an installer's version, to be compared: of 26.1.1-3 and of py313_26.1.1-1."""
    return [int(number) for number in re.findall(r"[0-9]+", version.rpartition("_")[2])]


def is_explicit(content: str) -> bool:
    """Whether a file of packages is an explicit lock and not an environment.yml."""
    return re.search(r"^@EXPLICIT\s*$", content, re.MULTILINE) is not None
