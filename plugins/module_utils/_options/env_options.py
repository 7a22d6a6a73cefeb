# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of a Python environment. The class's docstring is the module's documentation (tools/module_pages.py).

KIND is the resource type, TITLE the name of a resource, and OPTIONS the spec of its options. check() is called for each
resource before its options are sent to an account. self.options: these options, with defaults for missing ones. The
first argument of check_path() and similar functions is the name of the option in the error message.
"""

import re
from typing import Any, Dict, List

from .._core.errors import AccountError
from .._core.values import STATE, Options, check_path, check_proxies

MODULE = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._+/-]*\Z")
PROGRAM = re.compile(r"^(?:/[A-Za-z0-9_./+-]*/)?python[0-9.]*\Z")
VERSION = r"(?:===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+"
REQUIREMENT = re.compile(
    r"^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?:\[[A-Za-z0-9,._ -]*\])?\s*(?:{v}(?:\s*,\s*{v})*)?"
    r"(?:\s*;[A-Za-z0-9_.<>=!~()'\" -]+)?\Z".format(v=VERSION)
)
ADDRESS = re.compile(r"^https://[A-Za-z0-9._~:/?#@%+=,&;-]+\Z")
VARIABLE_OR_EMPTY = re.compile(r"^(?:\$[A-Za-z_][A-Za-z0-9_]*)?\Z")


class PythonEnvOptions(Options):
    """Keep a Python environment with a lock file.

    Creates a Python environment from the site's modules and wheels, or from a package index, and a lock file that lists
    the installed packages. If the modules or packages change, a new environment is created next to the old one;
    O(path) is a link to the environment in use. The link changes when the new environment is complete.

    If packages come from the site's own wheels, the task reports missing packages and the available versions before it
    creates anything.

    The work continues on its own if the connection drops, and is never started twice. Environments that hpc-onboard
    did not create, and packages that were installed by hand, are not changed.

    Options:
        path: The link to the environment. It may begin with C(~) or with a variable of the site such as C($SCRATCH).
        root: The folder that must exist already. Defaults to the folder above O(path).
        modules: The environment modules to load, in this order.
        python: The Python program for the environment, such as V(python3.11).
        maker: The program that creates the environment. V(any) is uv if the account has it, else venv.
        packages: Packages in the syntax of pip, such as V(numpy) or V(torch==2.4.0).
        offline: Whether packages come only from the wheels of the site and from O(wheels).
        wheels: Folders with wheels, in addition to those in the configuration of the site's pip.
        index: The address of a package index. If empty, PyPI is used.
        search: The command that lists the site's wheels. It is printed, never run.
        proxies: The proxies. C(http) and C(https) are the addresses of proxies, and C(no) lists hosts that need no
            proxy.
        in_job: The variable that contains the path of a node's local disk in a job, such as V($SLURM_TMPDIR). If set,
            the script C(activate-in-job) is written, which creates the environment on that disk from the lock file.
        state: Whether the environment exists. C(absent) removes what hpc-onboard created, unless its
            packages were changed by hand.

    Example: Keep an environment from the site's wheels
        path: ~/envs/ml
        root: "~"
        modules: [StdEnv/2023, python/3.11]
        maker: virtualenv
        packages: [numpy, torch]
        offline: true
        in_job: $SLURM_TMPDIR
    """

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
        """Raise AccountError for an option that must not reach the account."""
        for name in ("path", "root"):
            if self.options.get(name):
                check_path(name, self.options[name])
        if " " in self.options["path"]:
            raise AccountError("path: %r contains a space, which Python environments do not support" % self.path)
        _check_each("modules", self.options["modules"], MODULE, "the name of a module, such as python/3.11")
        _check_each("packages", self.options["packages"], REQUIREMENT, "a package, such as numpy or numpy==1.26.4")
        for folder in self.options["wheels"]:
            check_path("wheels", folder)
        if not PROGRAM.match(self.options["python"]):
            raise AccountError(
                "python: %r is not valid; expected the name or path of a Python program, such as python3.11"
                % self.options["python"]
            )
        if self.options["index"] and not ADDRESS.match(self.options["index"]):
            raise AccountError(
                "index: %r is not valid; expected the https:// address of a package index" % self.options["index"]
            )
        if not VARIABLE_OR_EMPTY.match(self.options["in_job"]):
            raise AccountError(
                "in_job: %r is not valid; expected a variable, such as $SLURM_TMPDIR" % self.options["in_job"]
            )
        check_proxies(self.options["proxies"])

    @property
    def path(self) -> str:
        """Return the path of the environment, a link to the version that was created last."""
        return str(self.options["path"])


def _check_each(name: str, values: List[Any], pattern: Any, expected: str) -> None:
    """Raise AccountError if one of an option's values does not match the pattern, a regular expression.

    name: of the option. expected: a description of valid values.
    """
    for value in values:
        if not isinstance(value, str) or not pattern.match(value):
            raise AccountError("%s: %r is not valid; expected %s" % (name, value, expected))
