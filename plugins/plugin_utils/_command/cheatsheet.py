# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb cheatsheet: what to know of a cluster, on one screen."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from .._accounts.facts import unsourced
from .._accounts.profiles import SHIPPED, Catalogue
from .._input.diagnostics import Mistakes, nearest
from .._terminal.cheatsheet import cheatsheet, one_screen, text_of
from .._terminal.layout import Look, width_of
from . import accounts
from .refused import Refused


def main(arguments: Sequence[str], program: str) -> int:
    """Run the verb. 0 shown, 2 where the cluster is not known or its profile has a mistake."""
    parser = argparse.ArgumentParser(
        prog=program,
        description="Show where to put what on a cluster, its limits, how to run, what is forbidden, and links.",
    )
    parser.add_argument("cluster", help="a cluster, or an account on it: wilson, simone@wilson")
    parser.add_argument("-i", "--inventory", metavar="FILE", action="append", default=[], help="the accounts file")
    parser.add_argument(
        "--profiles", metavar="FOLDER", type=Path, action="append", default=[], help="one with profiles of your own"
    )
    parser.add_argument("--all", action="store_true", help="with all notes, traps, partitions and sources")
    wish = parser.parse_args(arguments)
    cluster = wish.cluster.rpartition("@")[2]
    try:
        catalogue = Catalogue((*wish.profiles, *accounts.own_folders(wish.inventory), SHIPPED))
        known = catalogue.known(cluster)
    except (Refused, Mistakes) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    if known is None:
        print(f'{program}: unknown cluster "{cluster}"; {nearest(cluster, catalogue.ids())}', file=sys.stderr)
        return 2
    look = Look(width=width_of(shutil.get_terminal_size().columns))
    facts = len(unsourced(known.tree))
    typed = [("-i", file) for file in wish.inventory] + [("--profiles", str(folder)) for folder in wish.profiles]
    whole = f"{program} {shlex.join([*(word for pair in typed for word in pair), cluster, '--all'])}"
    lines = cheatsheet(known.profile, facts, look) if wish.all else one_screen(known.profile, whole, facts, look)
    print(text_of(lines), end="")
    return 0
