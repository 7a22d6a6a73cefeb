# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What runs on the account: a plan comes in, one answer goes out.

First everything is examined. Only when something may be changed is the lock taken, and everything
examined again under it, for then the answer of the first look is stale. So a run that has nothing
to do writes nothing, not even a lock.
"""

import json
import os
import sys
import time
from typing import Any, Callable, List, Mapping

from .account import Account
from .dry import DryHost
from .errors import AccountError, explained, located
from .host import Host
from .isolation import Document, Step, run_isolated
from .lock import Lock
from .plan import Kinds, build
from .resource import CHANGES, Resource, examine, reconcile

SCHEMA = "hpc.onboard/answer/1.1"
SECONDS = 30.0
LOOK_SECONDS = 0.5


def answer(plan: Mapping[str, Any], kinds: Kinds) -> Document:
    """Carry out a plan and say what came of it; an error that stops the whole plan is its 'error'.

    plan: resources [{kind, capability, options}], work, fingerprint_key (hex), and where given sandbox
    {root, home, shell, environment, folders}, seconds for one resource. work is one of WORKS: reconcile
    puts right; foresee says what that would do; examine only looks; follow looks, for follow_seconds at
    most, how far the work is that goes on by itself.
    """
    started = time.time()
    said: Document = {"schema": SCHEMA, "outcomes": [], "error": None}
    try:
        account = Account.of_this_process(plan.get("sandbox"))
        said["account"] = {"home": account.home, "shell": account.shell}
        said["outcomes"] = _outcomes(plan, kinds, account)
    except AccountError as error:
        said["error"] = str(error)
    except OSError as error:
        said["error"] = str(explained(error, "starting the work on the account"))
    except Exception as error:
        said["error"] = located(error)
    said["python"] = "%d.%d.%d" % sys.version_info[:3]
    said["host"] = os.uname().nodename
    said["seconds"] = round(time.time() - started, 3)
    return said


def _outcomes(plan: Mapping[str, Any], kinds: Kinds, account: Account) -> List[Document]:
    declared = plan["resources"]
    resources = [build(entry, kinds) for entry in declared]
    root = str((plan.get("sandbox") or {}).get("root", ""))
    key = bytes.fromhex(plan["fingerprint_key"])
    if root:
        lay_out(root, plan["sandbox"])

    def real() -> Host:
        return Host(account, key, root)

    _learn(resources, real())
    seconds = float(plan.get("seconds") or SECONDS)
    documents = WORKS[plan["work"]](resources, real, seconds, plan)
    return [dict(document, capability=entry["capability"]) for entry, document in zip(declared, documents)]


Real = Callable[[], Host]


def _examined(resources: List[Resource], real: Real, seconds: float, _plan: Mapping[str, Any]) -> List[Document]:
    return run_isolated(resources, Step(real, examine, False, seconds), {})


def _foreseen(resources: List[Resource], real: Real, seconds: float, _plan: Mapping[str, Any]) -> List[Document]:
    return run_isolated(resources, Step(lambda: DryHost(real()), reconcile, False, seconds), {})


def _reconciled(resources: List[Resource], real: Real, seconds: float, plan: Mapping[str, Any]) -> List[Document]:
    seen = _examined(resources, real, seconds, plan)
    if not any(one["status"] in CHANGES for one in seen) and not Lock.left_behind(real()):
        return seen
    hung = {position: one for position, one in enumerate(seen) if one["status"] == "not_measured"}
    return run_isolated(resources, Step(real, reconcile, True, seconds), hung)


def _followed(resources: List[Resource], real: Real, seconds: float, plan: Mapping[str, Any]) -> List[Document]:
    """Look until a step is done, nothing is under way any more, or the patience ends."""
    deadline = time.time() + float(plan["follow_seconds"])
    first = seen = _examined(resources, real, seconds, plan)
    while time.time() < deadline and _steps(seen) == _steps(first) and any(_steps(seen)):
        time.sleep(LOOK_SECONDS)
        seen = _examined(resources, real, seconds, plan)
    return seen


WORKS = {"reconcile": _reconciled, "foresee": _foreseen, "examine": _examined, "follow": _followed}


def _steps(documents: List[Document]) -> List[Any]:
    """The step that each resource's work is at; None where nothing is under way."""
    return [one["progress"] and one["progress"].get("step") for one in documents]


def _learn(resources: List[Resource], host: Host) -> None:
    """Resolve the site's variables here, once, for every child inherits what this process knows."""
    for resource in resources:
        try:
            resource.bound(host)
        except AccountError:
            pass  # it is the resource's own outcome, and is said there


def lay_out(root: str, sandbox: Mapping[str, Any]) -> None:
    """Make the pretended cluster below root: what the site itself would have made, home and areas."""
    for folder in [sandbox["home"], *sandbox.get("folders", [])]:
        if not os.path.isdir(root + folder):
            os.makedirs(root + folder, 0o755)


def main(payload: Mapping[str, Any], kinds: Kinds) -> None:
    """Print the framed answer. A child that hangs in a file system is not waited for."""
    text = json.dumps(answer(payload["plan"], kinds))
    frame = payload["frame"]
    sys.stdout.write("\n%s %d\n%s\n%s\n" % (frame, len(text), text, frame))
    sys.stdout.flush()
    os._exit(0)
