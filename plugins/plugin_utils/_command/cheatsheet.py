# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The subcommand cheatsheet: show the facts about a cluster on one screen.

A profile is a file with the facts about a cluster, each with a source and its date. The catalogue contains the profiles
of the user and those of hpc-onboard (SHIPPED).
"""

from __future__ import annotations

import argparse
import datetime
import shlex
import shutil

from .._accounts.facts import count_months, find_old_facts, find_oldest_date, find_unsourced, name_fact
from .._accounts.profiles import SHIPPED, Catalogue, SourcedProfile
from .._input.diagnostics import Mistakes, nearest
from .._terminal.cheatsheet import SourceSummary, build_one_screen, build_sheet
from .._terminal.layout import Terminal, join_lines, limit_width
from .accounts import CommandError, read_folder, read_profile_folders
from .parser import add_inventory, complete_by

OLD_MONTHS = 12  # age from which the cheat sheet marks a fact as old


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the subcommand."""
    cluster = parser.add_argument("cluster", metavar="CLUSTER", help="a cluster, or an account such as ada@wilson")
    complete_by(cluster, "list_clusters")
    parser.add_argument("--all", action="store_true", help="also show all notes, pitfalls, partitions and sources")
    add_inventory(parser)
    parser.add_argument(
        "--profiles",
        metavar="DIR",
        type=read_folder,
        action="append",
        default=[],
        help="a folder with your own profiles",
    )


def run(options: argparse.Namespace) -> int:
    """Show the cluster, and return exit code 0. Raises CommandError for an unknown cluster or an invalid profile."""
    cluster = options.cluster.rpartition("@")[2]  # of USER@CLUSTER
    try:
        catalogue = Catalogue((*options.profiles, *read_profile_folders(options.inventory), SHIPPED))
        sourced = catalogue.sourced_profile(cluster)
    except Mistakes as mistakes:
        raise CommandError(str(mistakes)) from None
    if sourced is None:
        raise CommandError(f'unknown cluster "{cluster}"; {nearest(cluster, catalogue.ids())}')
    terminal = Terminal(width=limit_width(shutil.get_terminal_size().columns))
    sources = summarise_sources(sourced, datetime.date.today().isoformat())
    if options.all:
        lines = build_sheet(sourced.profile, sources, terminal)
    else:
        # the printed command repeats the options that select the profile
        option_words = [word for file in options.inventory for word in ("-i", file)]
        option_words += [word for folder in options.profiles for word in ("--profiles", str(folder))]
        command_for_all = f"{options.prog} {shlex.join([*option_words, cluster, '--all'])}"
        lines = build_one_screen(sourced.profile, command_for_all, sources, terminal)
    print(join_lines(lines), end="")
    return 0


def summarise_sources(sourced: SourcedProfile, today: str) -> SourceSummary:
    """Return the age of the sources of a profile. today: such as 2026-01-31.

    sourced: the profile. Its tree contains each fact together with its source and the date of the source.
    """
    oldest = find_oldest_date(sourced.tree)
    return SourceSummary(
        unsourced=len(find_unsourced(sourced.tree)),
        months=count_months(oldest, today) if oldest else None,
        old=[name_fact(sourced.tree, fact) for fact in find_old_facts(sourced.tree, today, OLD_MONTHS)],
    )
