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

import binascii
import json
import re
import zlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError

MODULE_UTILS = Path(__file__).parents[2] / "module_utils"
PACKAGE = "hpc_onboard"
FRAME = "hpc.onboard-answer"
START = "hpc.onboard-payload"
BEGUN = "hpc.onboard-begun"
"""What the command says on standard error before it reads its input: ssh's own words hold it when the line drops."""
TOO_OLD = 95  # exit code of a Python before 3.6; the next candidate is tried
BROKEN = 96  # exit code: the engine itself could not start
NO_PYTHON = "hpc.onboard-no-python"
CUT = 93  # exit code: the input did not arrive whole
EATEN = 91  # exit code: a shell read the input

FOLDERS = tuple(sorted(folder.name for folder in MODULE_UTILS.glob("_[a-z]*") if folder.is_dir()))
ENGINE = f"{PACKAGE}._engine.engine"
IMPORTS = re.compile(  # begins with a word, which makes it quick, and reads what any form of an import may hold
    r"from[ \t]+(\.+)[ \t]*([\w.]*)[ \t]+import[ \t]*(\((?:[^)#]|#[^\n]*)*\)|(?:[^#;\n\\]|\\\n)*)"
)
NAME = re.compile(r"(?:^|[(,\\\n])\s*(\w+)")
COMMENT = re.compile(r"#[^\n]*")
FOR_TYPES = re.compile(r"^if TYPE_CHECKING:.*\n(?:    .*\n|\n)+", re.MULTILINE)

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

_BOOT = """
import gc, sys
from _frozen_importlib import ModuleSpec  # the package importlib loads more, and every account would wait for it
gc.disable()  # it lives for one answer
class Sent:
    def find_spec(self, name, path=None, target=None):
        if name in payload:
            return ModuleSpec(name, self, is_package=payload[name] is None)
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        source = payload[module.__name__]
        if source is not None:
            exec(compile(source, module.__name__ + ".py", "exec"), module.__dict__)
try:
    sys.meta_path.insert(0, Sent())
    kinds = {}
    for kind in sorted({entry["kind"] for entry in payload["plan"]["resources"]}):
        module, _dot, name = payload["places"][kind].rpartition(".")
        kinds[kind] = getattr(__import__("hpc_onboard." + module, fromlist=[name]), name)
    __import__("hpc_onboard._engine.engine", fromlist=["main"]).main(payload, kinds)
except Exception:
    import traceback
    traceback.print_exc()
    sys.exit(payload["broken"])
"""


def command(preferred: str | None, candidates: Iterable[str]) -> str:
    """The shell command: run the first Python from 3.6 up among the candidates, or say what was tried.

    A candidate that is no working Python ends before it reads the input, which the next one then finds whole.

    preferred is the user's own choice (ansible_python_interpreter); then no other is tried.
    """
    names = [preferred] if preferred else [*candidates, *USUAL]
    bad = [name for name in names if not INTERPRETER.match(name)]
    if bad:
        raise AccountError(f"{bad[0]!r} cannot be the path of a Python interpreter: see ansible_python_interpreter")
    tried = " ".join(dict.fromkeys(names))
    begun = f'{BEGUN[:-3]}"{BEGUN[-3:]}"'  # never in one piece in the command, which ssh -v repeats
    return (
        f"echo {begun} >&2;"
        f' for p in {tried}; do "$p" -I -S -c "{_READ}" {START} boot; r=$?;'
        f" case $r in 0|{CUT}|{BROKEN}) exit $r;; esac; done;"
        f" echo; echo {NO_PYTHON}; for p in {tried}; do"
        ' echo "$p: $("$p" -V </dev/null 2>&1 | head -n 1)"; done; exit 94'
    )


def places(kinds: Mapping[str, type]) -> dict[str, str]:
    """Where the class of each kind is, below module_utils: _resources.storage_link.StorageLink."""
    return {name: ".".join([*kind.__module__.split(".")[-2:], kind.__name__]) for name, kind in kinds.items()}


def payload(plan: Mapping[str, Any], kinds: Mapping[str, str]) -> bytes:
    """What goes into standard input: the engine, the kinds that the plan names, and the plan.

    plan: see _engine/engine.py. kinds: the places of all that there are.
    """
    named = sorted({kinds[entry["kind"]] for entry in plan["resources"]})
    blocks = [block for place in named for block in kind(_module(place))]
    blocks = [engine(tuple(sorted(kinds.items()))), *dict.fromkeys(blocks), _packed({"plan": plan})]
    lengths = " ".join(str(len(block)) for block in blocks)
    return f"exit {EATEN}\n".encode() * 3 + f"{START} {lengths}\n".encode() + b"".join(blocks)


def prepare(kinds: Mapping[str, str], usual: Iterable[str]) -> None:
    """Pack the engine, and of the kinds those that most plans hold, once a run: call it before the forks.

    It takes 12 ms. Packed files kept on the disk would have to be proved to be ours and of these very sources by
    reading all of them again, and would save less than 10 ms.
    """
    engine(tuple(sorted(kinds.items())))
    for name in usual:
        kind(_module(kinds[name]))


def _module(place: str) -> str:
    return f"{PACKAGE}.{place.rpartition('.')[0]}"


@lru_cache
def engine(kinds: tuple[tuple[str, str], ...]) -> bytes:
    """What every plan needs, packed."""
    packages = [PACKAGE, *(f"{PACKAGE}.{folder}" for folder in FOLDERS)]
    words = {"boot": _BOOT, "places": dict(kinds), "frame": FRAME, "broken": BROKEN}
    return _packed({**words, **dict.fromkeys(packages), **{name: _source(name) for name in reached(ENGINE)}})


@lru_cache
def kind(module: str) -> list[bytes]:
    """What a kind of resource needs beyond that, module by module, packed."""
    return [_packed_module(name) for name in reached(module) if name not in reached(ENGINE)]


@lru_cache
def reached(module: str) -> tuple[str, ...]:
    """A module of the account, and all those that it cannot do without."""
    found: dict[str, None] = {}
    to_do = [module]
    while to_do:
        name = to_do.pop()
        if name not in found:
            found[name] = None
            to_do += _imported(name)
    return tuple(found)


@lru_cache
def _imported(module: str) -> tuple[str, ...]:
    return imports_of(module, _source(module))


def imports_of(module: str, source: str) -> tuple[str, ...]:
    """The modules that this source of a module imports, wherever it does so; "from . import x" names one, too.

    Python's own parser would take a hundred times as long, before every run. It is the judge in the tests, which hold
    that nothing is found otherwise in any of our sources.
    """
    folders = module.split(".")[:-1]
    found: dict[str, None] = {}
    if "TYPE_CHECKING" in source:
        source = FOR_TYPES.sub("", source)
    for dots, path, names in IMPORTS.findall(source):
        whole = [*folders[: len(folders) + 1 - len(dots)], *filter(None, path.split("."))]
        inside = whole[-1] in (PACKAGE, *FOLDERS)  # then the names are modules
        modules = [[*whole, name] for name in NAME.findall(COMMENT.sub("", names))] if inside else [whole]
        found.update(dict.fromkeys(".".join(one) for one in modules))
    return tuple(found)


@lru_cache
def _packed_module(name: str) -> bytes:
    return _packed({name: _source(name)})


def _packed(document: Mapping[str, Any]) -> bytes:
    """The document in a line that any shell takes for a comment: fish reads all its input before it runs a line.

    Pressed harder, it would take a third more time and be 0.5 % smaller.
    """
    return b"#" + binascii.b2a_base64(zlib.compress(json.dumps(document).encode(), 6))


@lru_cache
def _source(module: str) -> str:
    """The source of a module, by the name that it has on the account; without what it says of itself, line for line."""
    source = (MODULE_UTILS / (module.partition(".")[2].replace(".", "/") + ".py")).read_text(encoding="utf-8")
    before, _quotes, rest = source.partition('"""')
    said, _quotes, code = rest.partition('"""')
    return before + "\n" * said.count("\n") + code
