# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said with one account about one plan, and how long an account is waited for that says nothing.

The engine bounds its own work and its answer, but what goes before it does not: a start-up file that waits or prints
without end, a home that hangs. Ansible reads all that a command prints, and ends when that does. The command's first
word (payload.BEGUN) tells whether the account has come as far as to run it.
"""

from __future__ import annotations

import hashlib
import random
import re
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from ...module_utils._core.errors import AccountError
from .._secrets.backends import MissingKey
from .._state import slurm_offers
from .._state.fingerprint_key import account_key, shown_by, state_folder
from .._state.run_memory import BOARD
from .._text.sanitise import harmless
from . import payload
from .answer import LARGEST, NoAnswer

if TYPE_CHECKING:
    import subprocess
    from types import FrameType

    from .._documents.answer import Answer, Receipt, Rotations
    from .._documents.declaration import PlanEntry
    from .._documents.outcome import Outcome, UnderWay

Message = Mapping[str, Any]  # a plan as it is sent, or parts of it: docs/schemas/plan.schema.json

ROOM = 16 * LARGEST
"""Bytes by which this process may grow meanwhile: an answer is read, decoded and parsed, and noise may stand before."""
OFTEN = 0.1  # seconds between two looks at it
AGAIN = "Log in as you do by hand, and look; then run again: it reads back what was done"
SILENT = "no answer in {seconds:.0f} s: does a start-up file wait for something, or the home hang? " + AGAIN
UNBEGUN = (
    "the home hangs, or a start-up file waits: the login node accepted the connection, but no command began in"
    " {seconds:.0f} s. Try 'ssh {way} true': run again when that ends at once, and ask the site if it does not"
)
FLOODED = (
    f"more than {LARGEST // 2**20} MB were printed instead of an answer, and it was cut: does a start-up file print"
    f" without end? {AGAIN}"
)

PATIENCE = 600.0
"""Seconds that one command on an account is waited for. Each file system that hangs costs half a minute of them."""
SECONDS = 30.0  # for one resource, where the plan does not say (_engine/engine.py)
PAUSES = (2.0, 6.0)
"""Seconds before a connection that was dropped before the login is tried again, plus or minus half, by chance."""

Said = TypeVar("Said")

ASK_SLURM = ("scheduler", "slurm_rights")  # kinds
NOT_REPLACED = {"rotated", "unknown_key"}  # evidence of keys that stay
PLAIN_PATH = re.compile(r"/[A-Za-z0-9_@%+=:,./-]+")  # sftp would run what stands behind a line end


class Session(Protocol):
    """What a conversation needs of the session with an account."""

    name: str
    cluster: str
    sandbox: dict[str, Any] | None

    def key(self, name: str) -> str:
        """The value of a key. Raises MissingKey."""

    def ask(self, document: Message) -> Answer:
        """Send a plan, and give its answer. Raises NoAnswer."""

    def take(self, local: str, remote: str) -> None:
        """Take a file of this machine to the account."""


class Conversation:
    """What is said with one account: the plan once, and then questions for as long as work goes on there."""

    def __init__(self, session: Session, entries: list[PlanEntry], wishes: Message) -> None:
        """wishes: the work, the seconds for one resource, and whether there is a receipt (see _engine/engine.py)."""
        self.receipt: Receipt | None = None
        self.seconds = 0.0  # that the account worked on it
        self._session = session
        self._entries = entries
        self._plan = {
            "schema": "hpc.onboard/plan/1.3",
            "fingerprint_key": account_key(session.name),
            "cluster": session.cluster,
            "sandbox": session.sandbox,
            "keys": _keys(session, entries),
            **wishes,
        }
        self._asks_slurm = not session.sandbox and any(one["kind"] in ASK_SLURM for one in entries)
        if self._asks_slurm:
            self._plan["found"] = slurm_offers.plan_part(session.name, self._plan["work"] == "examine")

    def outcomes(self, wait: int) -> list[Outcome]:
        """Return what came of the plan, when nothing of it is under way any more.

        An empty plan is sent, too: only the account itself shows that it can be reached.
        """
        outcomes = self._asked(range(len(self._entries)))
        if self._plan["work"] != "reconcile" or not any(outcome["progress"] for outcome in outcomes):
            return outcomes
        from .job_wait import settled  # few runs wait

        ended = settled(outcomes, wait, self._asked, self._bring, self._show)
        gone = [position for position, one in enumerate(outcomes) if one["progress"] and not one["after"]]
        if gone:  # so that it is noted no more; and the folders that it lay in may be empty by now
            self._asked([*gone, *(at for at, one in enumerate(self._entries) if _is_folder_to_go(one))])
        return ended

    def _show(self, progress: UnderWay | None) -> None:
        BOARD.put(self._session.name, progress)

    def _asked(self, positions: Iterable[int], follow: float = 0) -> list[Outcome]:
        document = {**self._plan, "resources": [self._entries[position] for position in positions]}
        if follow:
            document = {**document, "work": "follow", "follow_seconds": follow}
        answer = self._session.ask(document)
        self.receipt = answer["receipt"] or self.receipt
        self.seconds += answer["seconds"]
        if self._asks_slurm and self._plan["work"] != "foresee":
            self._keep_offers(answer["outcomes"])
        return [
            outcome if NOT_REPLACED.isdisjoint(outcome["evidence"]) else _explained(outcome, self._session.name)
            for outcome in answer["outcomes"]
        ]

    def _keep_offers(self, outcomes: Iterable[Outcome]) -> None:
        """Keep here what Slurm has said, so that it is not asked again today."""
        said = [one["evidence"]["slurm"] for one in outcomes if "slurm" in one["evidence"]]
        if said:
            slurm_offers.keep_offers(self._session.name, said[0])

    def _bring(self, position: int, wants: Mapping[str, str]) -> Outcome:
        """Fetch on this machine what the account cannot, take it there, and start the work anew.

        What is taken out is known from what the account has noted, which may name any address.
        """
        options = self._entries[position]["options"]
        if options.get("state") == "absent":
            raise AccountError("no file is brought for what is taken out")
        installer = options.get("installers", {}).values()
        if not any((wants["url"], wants["sha256"]) == (one["url"], one["sha256"]) for one in installer):
            raise AccountError("the account asks for a file that it was not sent for: it was not brought")
        from .job_wait import fetched

        if not PLAIN_PATH.fullmatch(wants["path"]):
            raise AccountError("the account names a path that no file can be taken to: it was not brought")
        step: UnderWay = {"step": "fetching the installer for it", "done": None, "total": None, "unit": "bytes"}
        file = fetched(
            wants["url"], wants["sha256"], lambda done, total: self._show({**step, "done": done, "total": total})
        )
        self._show({"step": "taking the installer there", "done": None, "total": None, "unit": "steps"})
        try:
            self._session.take(str(file), wants["path"])
        except Exception as error:  # Ansible's, which this room does not know, with the account's own words
            raise AccountError(f"the file could not be taken there: {harmless(error, 2000)}") from None
        return self._asked([position])[0]


def _keys(session: Session, entries: Iterable[PlanEntry]) -> dict[str, Rotations]:
    """What is sent of the rotations of the keys in a plan, by name. Raises AccountError."""
    return {name: {**one, "held": _held(session, name)} for name, one in _rotations(session, entries).items()}


def _held(session: Session, name: str) -> list[str]:
    """The fingerprint of the key that is current here."""
    try:
        return [shown_by(session.name, hashlib.sha256(session.key(name).encode()).digest())]
    except MissingKey:
        return []


def _rotations(session: Session, entries: Iterable[PlanEntry]) -> dict[str, Rotations]:
    """What this machine knows of the rotations of the keys in a plan, by name. Raises AccountError."""
    users = {one["key"] for one in entries if "key" in one}
    if session.sandbox or not (state_folder() / "secrets").is_dir():
        return {user: {"sequence": 0, "known": [], "mark": None} for user in users}
    from .key_rotations import known  # few rotate

    return {user.partition("@")[0]: known(user, session.name) for user in users}


def _explained(outcome: Outcome, account: str) -> Outcome:
    from .key_rotations import explained  # few are behind

    return explained(outcome, account)


def tried(send: Callable[[], Said], pauses: Iterable[float], was_dropped: Callable[[Exception], bool]) -> Said:
    """What comes of sending a command, which is sent again after each pause where the connection was dropped.

    Login nodes drop connections when many come at once (MaxStartups); a refusal stays one. Chance keeps accounts of
    one run from coming back all at once.
    """
    for pause in pauses:
        try:
            return send()
        except Exception as error:  # Ansible's, which this room does not know
            if not was_dropped(error):
                raise
        time.sleep(pause * random.uniform(0.5, 1.5))
    return send()


class StartLimit(NamedTuple):
    """How long a command of ssh may take to begin on the account, and what to type behind ssh to get there."""

    seconds: float
    way: Callable[[], str]


def start_limit(
    connection: Any, document: Message, account: Mapping[str, Any], way: Callable[[], str]
) -> StartLimit | None:
    """Return how long a command may take to begin: as long as one resource may, and twice what a connection may."""
    if connection.transport != "ssh" or "asks_each_time" in account:
        return None
    return StartLimit(max(document.get("seconds") or SECONDS, 2.0 * connection.get_option("timeout")), way)


@contextmanager
def awaited(seconds: float, start: StartLimit | None = None) -> Iterator[None]:
    """Raise NoAnswer when what is done within takes longer, or more memory, or no command of ssh begins.

    Ansible's limit for the task counts, too: it must leave room for an installation of an hour. start: None where the
    command may wait for the user first, or is not sent by ssh.
    """
    if threading.current_thread() is not threading.main_thread():  # signals are not ours there
        yield
        return
    began, largest = time.monotonic(), most_memory() + ROOM
    left = signal.getitimer(signal.ITIMER_REAL)[0]
    limit = min(seconds, left or seconds)
    unbegun, since = 0, began  # the process of ssh whose command has not begun, and when it was first seen

    def look(_number: int, frame: FrameType | None) -> None:
        nonlocal left, unbegun, since
        now = time.monotonic()
        process = _unbegun(frame) if start else None
        if process and process.pid != unbegun:
            unbegun, since = process.pid, now
        if start and process and now - since >= start.seconds:
            process.terminate()  # it would wait on
            raise NoAnswer(UNBEGUN.format(seconds=start.seconds, way=start.way()))
        if now - began >= limit:
            left = 0.0
            raise NoAnswer(SILENT.format(seconds=limit))
        if most_memory() > largest:
            raise NoAnswer(FLOODED)

    theirs = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, OFTEN, OFTEN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, max(0.1, left - (time.monotonic() - began)) if left else 0)
        signal.signal(signal.SIGALRM, theirs)


def _unbegun(frame: FrameType | None) -> subprocess.Popen[bytes] | None:
    """Return the process of ssh that Ansible is reading, unless its command has begun.

    Ansible hands out what ssh prints at the end only; until then it is in the frame of its loop.
    """
    while frame and frame.f_code.co_name != "_bare_run":
        frame = frame.f_back
    held = frame.f_locals if frame else {}
    printed = [held.get(name, b"") for name in ("b_stderr", "b_stdout")]  # a start-up file may redirect one of them
    return None if any(payload.BEGUN.encode() in one for one in printed) else held.get("p")


def most_memory() -> int:
    """The most bytes of memory that this process has had at once."""
    found = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return found if sys.platform == "darwin" else found * 1024


def _is_folder_to_go(entry: PlanEntry) -> bool:
    """Whether an entry is a folder that goes when it is empty."""
    return entry["kind"] == "directory" and entry["options"].get("state") == "absent"
