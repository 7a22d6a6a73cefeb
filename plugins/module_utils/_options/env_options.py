# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is asked of a Python environment, and what must not reach an account; loaded for accounts that have one."""

import re
from typing import Any, Dict, List

from .._core.errors import AccountError
from .._core.values import STATE, Options, check_path

MODULE = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._+/-]*\Z")
PROGRAM = re.compile(r"^(?:/[A-Za-z0-9_./+-]*/)?python[0-9.]*\Z")
VERSION = r"(?:===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+"
REQUIREMENT = re.compile(
    r"^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?:\[[A-Za-z0-9,._ -]*\])?\s*(?:{v}(?:\s*,\s*{v})*)?"
    r"(?:\s*;[A-Za-z0-9_.<>=!~()'\" -]+)?\Z".format(v=VERSION)
)
ADDRESS = re.compile(r"^https://[A-Za-z0-9._~:/?#@%+=,&;-]+\Z")
TMP = re.compile(r"^(?:\$[A-Za-z_][A-Za-z0-9_]*)?\Z")


class PythonEnvOptions(Options):
    """What is asked of a Python environment."""

    KIND = "python_env"
    TITLE = "Python environment %(path)s"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "path": {"type": "path", "required": True},
        "root": {"type": "path"},
        "modules": {"type": "list", "elements": "str", "default": []},
        "python": {"type": "str", "default": "python3"},
        "maker": {"type": "str", "default": "any", "choices": ["virtualenv", "venv", "uv", "any"]},
        "packages": {"type": "list", "elements": "str", "default": []},
        "offline": {"type": "bool", "default": False},
        "wheels": {"type": "list", "elements": "str", "default": []},
        "index": {"type": "str", "default": ""},
        "search": {"type": "str", "default": ""},
        "proxies": {"type": "dict", "default": {}},
        "in_job": {"type": "str", "default": ""},
        "state": STATE,
    }

    def check(self) -> None:
        for name in ("path", "root"):
            if self.options.get(name):
                check_path(name, self.options[name])
        if " " in self.options["path"]:
            raise AccountError("path: %r holds a blank, which the programs of an environment cannot bear" % self.path)
        _check_each("modules", self.options["modules"], MODULE, "the name of a module, such as python/3.11")
        _check_each("packages", self.options["packages"], REQUIREMENT, "a package, such as numpy or numpy==1.26.4")
        for folder in self.options["wheels"]:
            check_path("wheels", folder)
        if not PROGRAM.match(self.options["python"]):
            raise AccountError("python: %r is not the name of a Python, such as python3.11" % self.options["python"])
        if self.options["index"] and not ADDRESS.match(self.options["index"]):
            raise AccountError("index: %r is not the https:// address of a package index" % self.options["index"])
        if not TMP.match(self.options["in_job"]):
            raise AccountError("in_job: %r is not a variable, such as $SLURM_TMPDIR" % self.options["in_job"])
        for name, proxy in self.options["proxies"].items():
            if name not in ("http", "https", "no") or not isinstance(proxy, str) or re.search(r"[\s'\"]", proxy):
                raise AccountError("proxies: %s: %r is no proxy (http, https, or no)" % (name, proxy))

    @property
    def path(self) -> str:
        """Where it is found: a link, which leads to the one that was made last."""
        return str(self.options["path"])


def _check_each(name: str, values: List[Any], form: Any, what: str) -> None:
    for value in values:
        if not isinstance(value, str) or not form.match(value):
            raise AccountError("%s: %r is not %s" % (name, value, what))
