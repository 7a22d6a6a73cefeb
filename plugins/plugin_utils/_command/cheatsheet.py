# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The subcommand cheatsheet: a cluster on one screen."""

from __future__ import annotations

import argparse
import datetime
import shlex
import shutil
from pathlib import Path

from .._accounts.facts import count_months, find_oldest, find_unsourced, list_old, name_fact
from .._accounts.profiles import SHIPPED, Catalogue, SourcedProfile
from .._input.diagnostics import Mistakes, nearest
from .._terminal.cheatsheet import Texts, cheatsheet, one_screen, text_of
from .._terminal.layout import Terminal, limit_width
from .accounts import CommandError, read_profile_folders
from .parser import add_inventory, complete_by


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the subcommand."""
    cluster = parser.add_argument("cluster", metavar="CLUSTER", help="a cluster, or an account on it")
    complete_by(cluster, "list_clusters")
    parser.add_argument("--all", action="store_true", help="also show all notes, traps, partitions and sources")
    add_inventory(parser)
    parser.add_argument(
        "--profiles", metavar="DIR", type=Path, action="append", default=[], help="a folder with your own profiles"
    )


def run(options: argparse.Namespace) -> int:
    """Show the cluster. Raises CommandError if it is unknown or its profile has a mistake."""
    cluster = options.cluster.rpartition("@")[2]
    try:
        catalogue = Catalogue((*options.profiles, *read_profile_folders(options.inventory), SHIPPED))
        known = catalogue.known(cluster)
    except Mistakes as mistakes:
        raise CommandError(str(mistakes)) from None
    if known is None:
        raise CommandError(f'unknown cluster "{cluster}"; {nearest(cluster, catalogue.ids())}')
    terminal = Terminal(width=limit_width(shutil.get_terminal_size().columns))
    texts = describe_texts(known, datetime.date.today().isoformat())
    if options.all:
        print(text_of(cheatsheet(known.profile, texts, terminal)), end="")
        return 0
    typed = [("-i", file) for file in options.inventory] + [("--profiles", str(one)) for one in options.profiles]
    whole = f"{options.prog} {shlex.join([*(word for pair in typed for word in pair), cluster, '--all'])}"
    print(text_of(one_screen(known.profile, whole, texts, terminal)), end="")
    return 0


def describe_texts(known: SourcedProfile, today: str) -> Texts:
    """Return how old the texts behind a profile are on a day."""
    oldest = find_oldest(known.tree)
    return Texts(
        unsourced=len(find_unsourced(known.tree)),
        months=count_months(oldest, today) if oldest else None,
        old=[name_fact(known.tree, fact) for fact in list_old(known.tree, today, 12)],
    )
