# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find out if a file of the home is in use: a start-up file, job script, crontab or settings file mentions it."""

import functools
import os
import re
from contextlib import suppress
from typing import Dict, Iterator, List, NamedTuple, Optional, Pattern, Tuple

from .._core.errors import AccountError
from .._core.host import Host
from .._formats import key_files
from .job_files import ALIASES, COMMENT, may_request
from .named_paths import CRONTABS, SETTINGS_LINES
from .search import TOO_MUCH, Search
from .tool_places import FILES
from .walk import Limits

LIMITS = Limits(entries=20000, seconds=5.0, depth=4)  # of the search for scripts in one tree
MOST_BYTES = 32 * 1024 * 1024  # of the texts of one tree, which are kept in memory
SETTINGS_ENDINGS = (".conf", ".ini", ".service", ".timer", ".desktop")  # in addition to those of job_files
_STEM = re.compile(r"[#.]*[^._~ #-]+")  # of the name of a copy: .netrc of .netrc.bak


class Texts(NamedTuple):
    """The texts that may mention a file or variable, by path. is_complete: all those of the home could be read."""

    texts: Dict[str, str]
    is_complete: bool


def why_in_use(path: str, areas: List[str], host: Host) -> Optional[str]:
    """Return why the file at a path may be in use, as a clause; None if no file mentions its name.

    areas: absolute paths of storage areas whose scripts are read, too. A pattern or a variable that may stand for the
    name, such as ~/.netrc*, mentions the file as well.
    """
    pattern, read = _build_mention_pattern(path, host), read_texts(host, tuple(areas))
    for file, text in read.texts.items():
        if file != path and pattern.search(text):
            return "%s mentions %s, which may be in use" % (host.shown(file), host.shown(path))
    return (
        None if read.is_complete else "hpc-onboard cannot read all scripts, one of which may use %s" % host.shown(path)
    )


def _build_mention_pattern(path: str, host: Host) -> Pattern[str]:
    """Return the pattern of a text that mentions a file by its name, or by a wildcard or variable."""
    folder, name = os.path.split(path)
    stem = _STEM.match(name)
    patterns = [r"(?<![\w.-])%s(?![\w-]|\.\w)" % re.escape(name)]
    patterns += [r"/%s[\w.~-]*[*?$\[{]" % re.escape(stem.group())] if stem else []
    if folder != host.home:  # a loop over all files of the folder
        patterns.append(r"(?<![\w.-])%s/[*?$]" % re.escape(os.path.basename(folder)))
    return re.compile("|".join(patterns))


@functools.lru_cache(maxsize=1)
def read_texts(host: Host, areas: Tuple[str, ...]) -> Texts:
    """Return the texts that may mention files or variables, without comments: those that the audit reads as well.

    areas: absolute paths of storage areas whose scripts are read, too.
    """
    home = host.home + "/"
    search = Search(host, [host.home], LIMITS)
    settings = [home + name for name in (*ALIASES, *CRONTABS, *SETTINGS_LINES)] + [home + file.path for file in FILES]
    texts = {path: search.read_text(path) for path in search.startup_files() + settings}
    for text in list(texts.values()):
        for path in key_files.find_sourced_files(text, host.home):
            texts.setdefault(path, search.read_text(path))
    texts.update(_read_tree(search, host.home))
    for area in areas:  # often too large, so that only its upper folders are read
        with suppress(AccountError):  # its file system hangs
            texts.update(_read_tree(Search(host, [area], LIMITS), area))
    without_comments = {path: COMMENT.sub("", text) for path, text in texts.items() if text}
    return Texts(without_comments, search.is_complete())


def _read_tree(search: Search, folder: str) -> Iterator[Tuple[str, str]]:
    """Yield (path, text) of the scripts and settings files in a tree."""
    left = MOST_BYTES
    for path, content in search.read_texts(folder, _may_mention):
        left -= len(content)
        if left < 0:
            search.skip(TOO_MUCH, folder)
            return
        yield path, content.decode("latin-1")


def _may_mention(name: str) -> bool:
    """Return True if a file with this name may be a job script, a launcher, or a settings file."""
    return may_request(name, "") or key_files.is_script(name) or name.endswith(SETTINGS_ENDINGS)
