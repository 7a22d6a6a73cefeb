# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one command that runs on the account, and what goes into its standard input.

The command finds a Python from 3.6 up by running the candidates, since shims of pyenv and modules
are there without working. It holds no secret, and only characters that every login shell keeps
inside single quotes. The input begins with lines that end a shell which reads it by mistake (a
start-up file that runs 'exec zsh'), so that nothing behind them is ever taken for commands; what
is behind them is a comment, for fish parses all of its input before it runs the first line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from ...module_utils._core.errors import AccountError
from . import engine_parts

FRAME = "hpc.onboard-answer"
START = "hpc.onboard-payload"
BEGUN = "hpc.onboard-begun"
"""What the command prints before it reads its input, on standard error, too: Ansible tells that when the line drops."""
TOO_OLD = 95  # exit code of a Python before 3.6; the next candidate is tried
BROKEN = 96  # exit code: the engine itself could not start
NO_PYTHON = "hpc.onboard-no-python"
CUT = 93  # exit code: the input did not arrive whole
EATEN = 91  # exit code: a shell read the input

USUAL = (
    "python3",
    "/usr/bin/python3",
    "/usr/libexec/platform-python",
    *(f"python3.{minor}" for minor in range(14, 5, -1)),
    "python",
)
INTERPRETER = re.compile(r"^[A-Za-z0-9_./+~-]+\Z")

# In one line, without quotes, dollar signs, backslashes, exclamation marks.
_READ = (
    f"import sys;sys.version_info<(3,6) and sys.exit({TOO_OLD});"
    "import json,zlib,binascii;r=sys.stdin.buffer;k=sys.argv[1].encode();"
    "n=next((l.split()[1:] for l in r if l.startswith(k)),());d=[r.read(int(i)) for i in n];"
    f"n and [len(i) for i in d]==[int(i) for i in n] or sys.exit({CUT});p=dict();"
    "[p.update(json.loads(zlib.decompress(binascii.a2b_base64(i)).decode())) for i in d];"
    "exec(p[sys.argv[2]],dict(payload=p))"
)

_OWN = (  # a path without links, and each folder above it: of root or the user, and nobody else may write
    'u=$(id -u); own() { o=$1; [ "$o" ] || return 1; while :; do set -- $(ls -ldn "${o:-/}") - - -;'
    " case $3 in 0|$u) ;; *) return 1;; esac; case $1 in ?????w*|????????w*) return 1;; esac;"
    ' [ "$o" ] || return 0; o=${o%/*}; done; };'
)
_TELL = 'tell() { echo "$1: $("$2" -V </dev/null 2>&1 | head -n 1)"; };'
_NOT_OWN = "not started, because another user can change it or a folder above it"

LOADER = """
import gc, sys
from _frozen_importlib import ModuleSpec  # the package importlib loads more, and every account would wait for it
def record(*names, **given):
    from collections import namedtuple  # json has loaded it
    made = namedtuple("record", names + tuple(given))
    made.__new__.__defaults__ = tuple(given.values())
    return made
class Sent:
    def find_spec(self, name, path=None, target=None):
        if name in payload:
            return ModuleSpec(name, self, is_package=payload[name] is None)
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        source = payload[module.__name__]
        if source is not None:
            module.record = record
            exec(compile(source, module.__name__ + ".py", "exec"), module.__dict__)
sys.meta_path.insert(0, Sent())
def kinds_of(entries):
    kinds = {}
    for kind in sorted({entry["kind"] for entry in entries}):
        module, _dot, name = payload["places"][kind].rpartition(".")
        kinds[kind] = getattr(__import__("hpc_onboard." + module, fromlist=[name]), name)
    return kinds
"""
_BOOT = (
    LOADER
    + """
gc.disable()  # it lives for one answer
try:
    kinds = kinds_of(payload["plan"]["resources"])
    __import__("hpc_onboard._engine.engine", fromlist=["main"]).main(payload, kinds)
except Exception:
    import traceback
    traceback.print_exc()
    sys.exit(payload["broken"])
"""
)


def command(preferred: str | None, candidates: Iterable[str]) -> str:
    """The shell command: run the first Python from 3.6 up among the candidates, or say what was tried.

    A candidate that is no working Python ends before it reads the input, which the next one then finds whole.

    preferred is the user's own choice (ansible_python_interpreter); then no other is tried. candidates are named by the
    profile, so each is started only if nobody but root and the user can change it, by the path that links lead to.
    """
    sites = [] if preferred else list(dict.fromkeys(candidates))
    usual = [preferred] if preferred else USUAL
    bad = [name for name in (*sites, *usual) if not INTERPRETER.match(name)]
    if bad:
        raise AccountError(f"{bad[0]!r} cannot be the path of a Python interpreter: see ansible_python_interpreter")
    begun = f'{BEGUN[:-3]}"{BEGUN[-3:]}"'  # never in one piece in the command, which ssh -v repeats
    run = (
        f'run() {{ "$1" -I -S -c "{_READ}" {START} boot; r=$?; case $r in 0|{CUT}|{BROKEN}) exit $r;; esac; }};'
        f" {_TELL} {_OWN if sites else ''}"
    )
    first, last = (f"for p in {' '.join(names)}; do " if names else "" for names in (sites, usual))
    real = 'q=$(readlink -f "$p");'
    return (
        f"echo {begun}; echo {begun} >&2; {run} "
        + (first and f'{first}{real} own "$q" && run "$q"; done; ')
        + f'{last}run "$p"; done; echo; echo {NO_PYTHON}; '
        + (first and f'{first}{real} if own "$q"; then tell "$p" "$q"; else echo "$p: {_NOT_OWN}"; fi; done; ')
        + f'{last}tell "$p" "$p"; done; exit 94'
    )


def places(kinds: Mapping[str, type]) -> dict[str, str]:
    """Where the class of each kind is, below module_utils: _resources.storage_link.StorageLink."""
    return {name: ".".join([*kind.__module__.split(".")[-2:], kind.__name__]) for name, kind in kinds.items()}


def payload(plan: Mapping[str, Any], kinds: Mapping[str, str]) -> bytes:
    """What goes into standard input: the engine, the kinds that the plan names, and the plan.

    plan: see _engine/engine.py. kinds: the places of all that there are.
    """
    words = {"boot": _BOOT, "frame": FRAME, "broken": BROKEN, "plan": plan}
    blocks = program(plan["resources"], kinds, words)
    lengths = " ".join(str(len(block)) for block in blocks)
    return "".join([f"exit {EATEN}\n" * 3, f"{START} {lengths}\n", *blocks]).encode()


def program(
    entries: Iterable[Mapping[str, Any]], kinds: Mapping[str, str], words: Mapping[str, Any], *further: str
) -> list[str]:
    """The engine, the kinds of these entries, further modules of it, and words, each a line."""
    engine = parts()
    places = {entry["kind"]: kinds[entry["kind"]] for entry in entries}
    modules = [*map(_module, sorted(places.values())), *further]
    needed = dict.fromkeys(name for module in modules for name in engine["needs"][module])
    last = engine_parts.packed({**words, "places": places})
    return [engine["engine"], *(engine["modules"][name] for name in needed), last]


@lru_cache
def parts() -> engine_parts.Parts:
    """The parts of the engine. Call it before the forks, one for each account: making them takes half a second."""
    seal = engine_parts.seal_of_sources()
    kept = engine_parts.kept(seal)
    if kept:
        return kept
    from . import packing  # once, when sources change

    made = packing.parts(engine_parts.MODULE_UTILS)
    packing.keep(engine_parts.file(), engine_parts.sealed(seal, json.dumps(made).encode()))
    return made


def _module(place: str) -> str:
    return place.rpartition(".")[0]
