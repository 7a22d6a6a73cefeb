# SPDX-License-Identifier: GPL-3.0-or-later
"""A process that has the engine loaded and forks one child per order, so that a fault costs milliseconds.

Called as writer.py TREE, it takes one order a line on standard input. The child of a 'work' order makes
exactly the pass that the engine's own child makes (isolation._child_main) and waits, before its first system
call of interest, until strace is attached and 'go' is said. A 'run' order is a whole engine run; one with a
fault counts the calls that change something over all processes of the run, which strace cannot, and has one of them
fail, or ends all processes before it, as a login node does.
"""

import errno
import json
import mmap
import os
import select
import signal
import struct
import sys
from typing import Any, NoReturn

tree = sys.argv[1]
sys.path.insert(0, os.path.join(tree, "plugins"))

import importlib  # noqa: E402  # the path comes first

account = importlib.import_module("module_utils._core.account")
engine = importlib.import_module("module_utils._engine.engine")
hosts = importlib.import_module("module_utils._core.host")
isolation = importlib.import_module("module_utils._engine.isolation")
plans = importlib.import_module("module_utils._engine.plan")
resource = importlib.import_module("module_utils._core.resource")
importlib.import_module("module_utils._engine.lock")  # on an account it comes from memory, not from a file
kinds: dict[str, Any] = {}
for file in sorted(os.listdir(os.path.join(tree, "plugins/module_utils/_resources"))):
    if file.endswith(".py") and not file.startswith("__"):
        name = "module_utils._resources." + file[:-3]
        found = vars(importlib.import_module(name)).values()
        kinds.update((k.KIND, k) for k in found if getattr(k, "KIND", "") and k.__module__ == name)


def work(order: dict[str, Any], writer: int) -> None:
    """The engine's own pass over the resources; never returns."""
    plan = order["plan"]
    sandbox = plan["sandbox"]
    owner = account.Account.of_this_process(sandbox)
    todo = [plans.build_resource(entry, kinds) for entry in plan["resources"]]

    def real() -> Any:
        return hosts.Host(owner, bytes.fromhex(plan["fingerprint_key"]), sandbox["root"])

    loop = resource.examine if order["look"] else resource.reconcile
    step = isolation.Pass(real, loop, not order["look"], 30.0)
    os.access("/hpc.onboard-begin", os.F_OK)
    isolation._child_main(todo, [], step, writer)


CHANGING = (
    "mkdir rmdir rename unlink symlink chmod fchmod fsync ftruncate write pwrite setxattr removexattr open".split()  # noqa: SIM905  # words read better in one text
)


def inject(fault: dict[str, Any]) -> None:
    """Let a fault {at, what} happen at the call of that number, from 1; the calls are counted in a file {counts}."""
    os.setsid()
    handle = os.open(fault["counts"], os.O_RDWR)
    count = mmap.mmap(handle, 8)

    def watched(name: str) -> None:
        real = getattr(os, name)

        def call(*words: Any, **named: Any) -> Any:
            if name == "open" and not words[1] & os.O_CREAT:
                return real(*words, **named)
            number = struct.unpack("q", count[:8])[0] + 1
            count[:8] = struct.pack("q", number)
            if number == fault["at"]:
                if fault["what"] == "KILL":
                    os.killpg(0, signal.SIGKILL)
                raise OSError(getattr(errno, fault["what"]), "")
            return real(*words, **named)

        setattr(os, name, call)

    for name in CHANGING:
        watched(name)


def run(order: dict[str, Any], writer: int) -> NoReturn:
    """A whole run: examined, then put right under the lock."""
    if order.get("fault"):
        inject(order["fault"])
    os.write(writer, (json.dumps(engine.answer(order["plan"], kinds)) + "\n").encode())
    os._exit(0)


def child(order: dict[str, Any]) -> tuple[int, int]:
    """Fork; the child waits for a byte on the pipe."""
    gate, opener = os.pipe()
    ready, tell = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(opener)
        os.close(ready)
        os.umask(order["umask"])
        writer = os.open(order["answer"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.close(tell)
        select.select([gate], [], [])
        (run if order["do"] == "run" else work)(order, writer)
    os.close(gate)
    os.close(tell)
    os.read(ready, 1)
    os.close(ready)
    return process, opener


def main() -> None:
    process, opener = -1, -1
    for line in sys.stdin:
        order = json.loads(line)
        if order["do"] in ("work", "run"):
            process, opener = child(order)
            said = process
        elif order["do"] == "go":
            os.write(opener, b"!")
            os.close(opener)
            said = os.waitpid(process, 0)[1]
        else:
            raise SystemExit("an order that nobody knows: " + order["do"])
        sys.stdout.write(f"{said}\n")
        sys.stdout.flush()


main()
