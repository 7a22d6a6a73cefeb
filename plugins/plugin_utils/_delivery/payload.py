# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command that runs on the account, and its standard input: the engine and the plan.

The engine is hpc-onboard's program for accounts; a plan lists the resources that the account shall have. An account may
keep the engine of an earlier session in a file. Then only the plan is sent.

The command finds a Python 3.6 or newer by running the candidates, since shims of pyenv and modules may exist but not
work. It contains no secret, and only characters that every login shell keeps inside single quotes.

A shell may read the input by mistake, if a start-up file runs 'exec zsh'. So the input begins with lines that end a
shell. All other lines are comments, because fish parses its whole input before it runs the first line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from ...module_utils._core.errors import AccountError
from ...module_utils._core.values import KEPT_ENGINE
from . import engine_parts

FRAME = "hpc.onboard-answer"  # printed before the answer and after it
START = "hpc.onboard-payload"  # in the input, before the lengths of its blocks
BEGUN = "hpc.onboard-begun"
"""Text that the command prints before its input, also on standard error, which Ansible reports after a failure."""
TOO_OLD = 95  # exit code of a Python before 3.6; the next candidate is tried
BROKEN = 96  # exit code: the engine itself could not start
NOT_KEPT = 97  # exit code: the account does not have the engine with one of the digests
NO_PYTHON = "hpc.onboard-no-python"  # printed if no candidate works
INCOMPLETE = 93  # exit code: the input is incomplete
NOT_FOUND = 94  # exit code: no candidate works
READ_BY_SHELL = 91  # exit code: a shell read the input

USUAL = (  # paths of the system first, because a search in PATH waits for each folder whose file system hangs
    "/usr/bin/python3",
    "/usr/libexec/platform-python",
    "python3",
    *(f"python3.{minor}" for minor in range(14, 5, -1)),
    "python",
)
INTERPRETER = re.compile(r"^[A-Za-z0-9_./+~-]+\Z")

# In one line, without quotes, dollar signs, backslashes, exclamation marks.
_READ = (
    f"import sys;sys.version_info<(3,6) and sys.exit({TOO_OLD});"
    "import json,zlib,binascii;r=sys.stdin.buffer;k=sys.argv[1].encode();"
    "n=next((l.split()[1:] for l in r if l.startswith(k)),());d=[r.read(int(i)) for i in n];"
    f"n and [len(i) for i in d]==[int(i) for i in n] or sys.exit({INCOMPLETE});p=dict();"
    "d=[binascii.a2b_base64(i) for i in d];z=zlib.decompress(d[0]);"  # the engine is the dictionary of its modules
    "[p.update(json.loads(zlib.decompressobj(zdict=z).decompress(i).decode())) for i in d];"
    "exec(p[sys.argv[2]],dict(payload=p))"
)

# own PATH: true if root or the user owns a path without links and each folder above it, and only they may write
_OWN = (
    'u=$(id -u); own() { o=$1; [ "$o" ] || return 1; while :; do set -- $(ls -ldn "${o:-/}") - - -;'
    " case $3 in 0|$u) ;; *) return 1;; esac; case $1 in ?????w*|????????w*) return 1;; esac;"
    ' [ "$o" ] || return 0; o=${o%/*}; done; };'
)
# tell NAME PATH: print the version of the program at this path, below the name that the user knows
_TELL = 'tell() { echo "$1: $("$2" -V </dev/null 2>&1 | head -n 1)"; };'
_NOT_OWN = "not started, because another user can change this program or a folder above it"

LOADER = """
import gc, sys
from _frozen_importlib import ModuleSpec  # importlib would load more modules on every account
def record(*names, **given):
    from collections import namedtuple  # json has loaded it
    base = namedtuple("record", names + tuple(given))
    base.__new__.__defaults__ = tuple(given.values())
    return base
class pattern:
    def __init__(self, pattern, flags=0):
        self.pattern, self.given = pattern, flags
    def __getattr__(self, name):
        import re
        compiled = re.compile(self.pattern, self.given)
        for method in ("finditer", "fullmatch", "match", "search", "split", "sub"):
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)
def code_of(name, source):
    return compile(source, name + ".py", "exec")
class Sent:
    def find_spec(self, name, path=None, target=None):
        if name in payload:
            return ModuleSpec(name, self, is_package=payload[name] is None)
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        source = payload[module.__name__]
        if source is not None:
            module.record_, module.pattern_ = record, pattern
            exec(code_of(module.__name__, source), module.__dict__)
sys.meta_path.insert(0, Sent())
def kinds_of(entries):
    kinds = {}
    for kind in sorted({entry["kind"] for entry in entries}):
        module, _dot, name = payload["places"][kind].rpartition(".")
        kinds[kind] = getattr(__import__("hpc_onboard." + module, fromlist=[name]), name)
    return kinds
"""
_KEPT = r"""
import json, os, select
from marshal import loads
try:
    from _blake2 import blake2b as hash_of
    hash_of()
except (ImportError, ValueError):
    from hashlib import sha256 as hash_of
def is_answered(path):
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            for descriptor in (0, 1, 2, reader):
                os.close(descriptor)
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW))
        finally:
            os._exit(0)
    os.close(writer)
    ended = select.select([reader], [], [], payload["seconds"])[0]
    if ended:
        os.waitpid(child, 0)
    else:
        os.kill(child, 9)
    return ended
def take(payload):
    digest = payload["digests"].get(sys.implementation.cache_tag, "")
    path = os.path.join(os.environ.get("HOME", ""), payload["place"] + digest[:16])
    if not is_answered(path):
        raise OSError
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW), "rb", 0) as stream:
        content = stream.read(1 << 23)  # whole: work of minutes closes what is open
    end = content.find(b"\n") + 1
    if hash_of(content[:end - 1]).hexdigest()[:64] != digest:
        raise OSError
    payload.update(json.loads(content[1:end].decode()))
    def code_of(name, place):
        part = content[end + place[0]:end + place[0] + place[1]]
        if hash_of(part).hexdigest()[:64] != place[2]:
            raise ImportError(path + " is damaged: remove it, then run hpc-onboard again")
        return loads(part)
    return code_of
try:
    code_of = take(payload)
except OSError:
    os._exit(payload["not kept"])
"""
_START = """
gc.disable()  # the process ends after one answer
try:
    kinds = kinds_of(payload["plan"]["resources"])
    __import__("hpc_onboard._engine.engine", fromlist=["main"]).main(payload, kinds)
except Exception:
    import traceback
    traceback.print_exc()
    sys.exit(payload["broken"])
"""
_SECONDS = 10  # for the home directory to respond; if it hangs, the whole engine is sent, and reports what hangs


def build_command(preferred: str | None, candidates: Iterable[str]) -> str:
    """Return the shell command that runs the first working Python 3.6 or newer. Raise AccountError for an invalid path.

    A candidate that does not work ends before it reads the input, so that the next one finds all of the input. If no
    candidate works, the command prints the version of each.

    preferred: the user's choice (ansible_python_interpreter), which is then the only candidate; or None. candidates:
    paths in the cluster's profile. Each of these is started by its path without links, and only if no other user than
    root can change it.
    """
    site_candidates = [] if preferred else list(dict.fromkeys(candidates))
    others = [preferred] if preferred else USUAL
    invalid = [name for name in (*site_candidates, *others) if not INTERPRETER.match(name)]
    if invalid:
        raise AccountError(
            f"{invalid[0]!r} is not a valid path to a Python interpreter: check ansible_python_interpreter"
        )
    mark = f'{BEGUN[:-3]}"{BEGUN[-3:]}"'  # in two pieces, because ssh -v prints the command
    final_codes = f"0|{INCOMPLETE}|{BROKEN}|{NOT_KEPT}"  # exit codes after which no other candidate is started
    functions = (
        f'run() {{ "$1" -I -S -c "{_READ}" {START} boot; r=$?; case $r in {final_codes}) exit $r;; esac; }};'
        f" {_TELL} {_OWN if site_candidates else ''}"
    )
    loop_site, loop_others = (f"for p in {' '.join(names)}; do " for names in (site_candidates, others))
    run_site = tell_site = ""
    if site_candidates:
        loop_site += 'q=$(readlink -f "$p");'
        run_site = f'{loop_site} own "$q" && run "$q"; done; '
        tell_site = f'{loop_site} if own "$q"; then tell "$p" "$q"; else echo "$p: {_NOT_OWN}"; fi; done; '
    # If no candidate works, a second loop prints the version of each, or why the candidate was not started.
    return (
        f"echo {mark}; echo {mark} >&2; {functions} {run_site}"
        f'{loop_others}run "$p"; done; echo; echo {NO_PYTHON}; '
        f'{tell_site}{loop_others}tell "$p" "$p"; done; exit {NOT_FOUND}'
    )


def build_payload(plan: Mapping[str, Any], places: Mapping[str, str]) -> bytes:
    """Return the standard input: the engine, the resource types of the plan, and the plan.

    plan: the document for the engine (docs/schemas/plan.schema.json). places: the import paths of all resource types,
    by name.
    """
    all_modules = load_engine()["modules"] if plan.get("engine") == "keep" else ()  # the account keeps all of them
    data = {"boot": LOADER + _START, "frame": FRAME, "broken": BROKEN, "plan": plan}
    return _frame_input(build_blocks(plan["resources"], places, data, *all_modules))


def build_short_payload(plan: Mapping[str, Any], places: Mapping[str, str], digests: Mapping[str, str]) -> bytes:
    """Return the standard input for an account that keeps the engine: the plan alone.

    places: as for build_payload. digests: of the kept file's index, by the version of Python (_engine/kept_engine.py).
    """
    kept = {"digests": digests, "place": KEPT_ENGINE, "seconds": _SECONDS, "not kept": NOT_KEPT}
    data = {"boot": LOADER + _KEPT + _START, "frame": FRAME, "broken": BROKEN, "plan": plan, **kept}
    used = {entry["kind"]: places[entry["kind"]] for entry in plan["resources"]}
    return _frame_input([engine_parts.pack({**data, "places": used})])


def _frame_input(blocks: list[str]) -> bytes:
    """Return the standard input with these blocks, after lines that end a shell, and the lengths of the blocks."""
    lengths = " ".join(str(len(block)) for block in blocks)
    return "".join([f"exit {READ_BY_SHELL}\n" * 3, f"{START} {lengths}\n", *blocks]).encode()


def build_blocks(
    entries: Iterable[Mapping[str, Any]], places: Mapping[str, str], data: Mapping[str, Any], *further_modules: str
) -> list[str]:
    """Return one line each for the engine, the modules of the entries, further modules, and the loader's data.

    places: the import paths of all resource types, by name. data: values for the program that starts the engine.
    """
    engine = load_engine()
    used = {entry["kind"]: places[entry["kind"]] for entry in entries}
    modules = [*(place.rpartition(".")[0] for place in sorted(used.values())), *further_modules]
    needed = dict.fromkeys(name for module in modules for name in engine["needs"][module])
    data_line = engine_parts.pack({**data, "places": used})
    return [engine["engine"], *(engine["modules"][name] for name in needed), data_line]


@lru_cache
def load_engine() -> engine_parts.EngineParts:
    """Return the packed engine. Called before Ansible forks a process for each account: packing takes half a second."""
    digest = engine_parts.hash_sources()
    cached = engine_parts.read_cache(digest)
    if cached:
        return cached
    from . import packing  # needed only once for each version of the engine, and slow to import

    parts = packing.pack_engine(engine_parts.MODULE_UTILS, digest.decode())
    packing.write_cache(engine_parts.cache_file(), engine_parts.add_digests(digest, json.dumps(parts).encode()))
    return parts
