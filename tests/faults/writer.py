# SPDX-License-Identifier: GPL-3.0-or-later
"""A process that has the engine loaded and forks one child per order, so that a fault costs milliseconds.

Called as writer.py TREE, it takes one order a line on standard input. The child of a 'work' order makes
exactly the pass that the engine's own child makes (isolation._work) and waits, before its first system
call of interest, until strace is attached and 'go' is said. A 'run' order is a whole engine run.
"""

import json
import os
import select
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
    todo = [plans.build(entry, kinds) for entry in plan["resources"]]

    def real() -> Any:
        return hosts.Host(owner, bytes.fromhex(plan["fingerprint_key"]), sandbox["root"])

    loop = resource.examine if order["look"] else resource.reconcile
    step = isolation.Step(real, loop, not order["look"], 30.0)
    os.access("/hpc.onboard-begin", os.F_OK)
    isolation._work(todo, step, writer)


def run(order: dict[str, Any], writer: int) -> NoReturn:
    """A whole run: examined, then put right under the lock."""
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
