# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One account, as an action works with it: its settings, its keys, and one command session at a time.

The only place where a secret's name becomes its value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._roles.collect import Declared, Tolerated, collect, prepare_settings, refuse_unknown, selected
from .._roles.table import PLACES
from .._secrets.session import SESSION, current_version
from .._state import receipts
from . import answer as _answer
from . import payload
from .connection import AccountConnection, Action
from .conversation import Conversation, Message
from .plan import Plan, left_out, sound
from .result import CHANGES, both, diffs, of_things, result, spoken_of, unnoted

if TYPE_CHECKING:
    from .._documents.answer import Answer, Notes, Receipt
    from .._documents.declaration import PlanEntry
    from .._documents.outcome import Outcome
    from .._documents.result import AccountResult, Introduction, ManualStep, Unreached

Variables = Mapping[str, Any]  # Ansible's, of one account

EMPTY = {False: "no resources declared", True: "nothing to remove"}  # whether things are removed -> of an empty plan


def prepare() -> None:
    """Make once what every session needs: call it before the forks, one for each account."""
    prepare_settings()
    payload.parts()


class AccountSession:
    """One account and the way there. With delegate_to, the way leads to that host, and the settings stay."""

    def __init__(
        self,
        action: Action,
        variables: Variables | None,
        places: Mapping[str, str] = PLACES,
        become: bool = False,
        foresees: bool = False,
    ) -> None:
        """variables: those that Ansible gives the task. places: of the kinds that may be sent (_delivery/plan.py).

        become: whether become is heeded; what a whole account is set up with is run by nobody but its owner.
        foresees: nothing is to be changed, as in a check run.
        """
        self.variables: Variables = variables or {}
        delegated = self.variables.get("ansible_delegated_vars") or {}
        self._reached: Variables = delegated.get(action._task.delegate_to) or self.variables
        self.name = str(self._reached.get("inventory_hostname", "it"))
        self.sandbox: dict[str, Any] | None = (self._reached.get("account") or {}).get("sandbox")
        """The folder that stands for the account's cluster, and what is pretended there; None for a real account."""
        self.cluster = str((self._reached.get("cluster") or {}).get("id", ""))
        self.is_check_run = foresees or bool(action._task.check_mode)
        self._action = action
        self._places = places
        self.connection = AccountConnection(action, self._reached, self.name, become)

    # What the account is to have

    def value(self, name: str) -> Any:
        """The value of a variable of this account; None where it has none."""
        return self._action._templar.template(self.variables[name]) if name in self.variables else None

    def select(self, names: list[str]) -> list[str]:
        """What --tags and --skip-tags leave of these, in a task that is always run."""
        if "always" not in self._action._task.tags:
            return names
        run, skip = self.variables.get("ansible_run_tags", ["all"]), self.variables.get("ansible_skip_tags", [])
        return selected(names, run, skip)

    def collect(self, names: list[str], resources: Sequence[object], tolerated: Tolerated = ()) -> Declared:
        """All that these capabilities declare, and the resources that the task names itself. Raises AccountError."""
        refuse_unknown(self.variables)
        without = (self.variables.get("account") or {}).get("without", [])
        return sound(collect(names, without, resources, self.value, tolerated), tolerated)

    def key(self, name: str) -> str:
        """The value of a key, from the keyring; a sandbox has a pretended one. Raises MissingKey."""
        if self.sandbox:
            return f"nvapi-not-a-real-key-{name}-of-the-sandbox"
        value, warnings = SESSION.sound(current_version(name))
        for warning in warnings:
            self._action._display.warning(warning)
        return value

    # The way there

    def ask(self, document: Message) -> Answer:
        """Send a plan in one command over the connection, and give its answer. Raises NoAnswer."""
        wanted = str(self._action._templar.template(self._reached.get("ansible_python_interpreter")) or "auto")
        site = (self._reached.get("cluster") or {}) if self._reached.get("account") else {}
        ticket = {"ticket": True} if (site.get("auth") or {}).get("delegate") else {}
        command = payload.command(None if wanted.startswith("auto") else wanted, site.get("python", []))
        said = self.connection.send(command, payload.payload({**document, **ticket}, self._places), document)
        answer = _answer.parse(said["stdout"], said["stderr"], said["rc"], self.connection.typed)
        if answer["error"]:
            raise _answer.NoAnswer(answer["error"])
        return answer

    def take(self, local: str, remote: str) -> None:
        """Take a file of this machine to the account."""
        self._action._connection.put_file(local, remote)

    def carry_out(
        self, declared: Declared, wait: int, wishes: Message, rest: Callable[[Notes], list[PlanEntry]] | None = None
    ) -> AccountResult:
        """Make the account hold what is declared, or foresee it in a check run, and give the result of the task.

        wait: seconds for work of minutes. wishes: see Conversation. rest: the plan that follows, once the receipt is
        known; empty where none is. Raises AccountError and NoAnswer.
        """
        declared = left_out(declared, self.key)
        wait = 0 if "asks_each_time" in (self._reached.get("account") or ()) else wait  # each look would ask again
        outcomes, receipt = self._done(declared.resources, wait, wishes)
        if lost := {} if rest or self.is_check_run else receipts.find_lost_notes(self.name, self.sandbox, receipt):
            _outcomes, receipt = self._done(declared.resources, wait, {**wishes, "notes": lost})
        more = rest(receipt["notes"]) if rest and receipt else []
        if more:
            further, receipt = self._done(more, wait, wishes)
            outcomes = both(outcomes, further)
        outcomes = spoken_of(outcomes) if rest else of_things(outcomes)
        introduction = None if rest else self._introduction(outcomes)  # asks for the last copy of the receipt
        found = result([*outcomes, *self._keep(receipt)], declared, self.is_check_run, EMPTY[rest is not None])
        found.update({"introduction": introduction} if introduction else {})
        if SESSION.source:
            found["keyring"] = SESSION.source
        found.update({"human_steps": steps} if (steps := self._manual_steps(found)) else {})
        if self.sandbox:
            found["sandbox"] = self.sandbox["root"]
        return {**found, "diff": diffs(found["outcomes"])} if self._action._task.diff else found

    def _done(self, entries: list[PlanEntry], wait: int, wishes: Message) -> tuple[list[Outcome], Receipt | None]:
        """Return what came of one plan, and what is noted on the account then."""
        plan = Plan.of(entries, self.key)
        conversation = Conversation(self, plan.entries, {"work": self.work, "receipt": True, **wishes})
        return plan.merged(conversation.outcomes(wait)), conversation.receipt

    def unreached(self, error: Exception) -> Unreached:
        """The result of a task whose account was not reached. error: the connection's."""
        missed: Unreached = {"kind": "account", "unreachable": True, "msg": self.connection.failure(error).text}
        return {**missed, "human_steps": steps} if (steps := self._manual_steps(missed)) else missed

    @property
    def work(self) -> str:
        """What the engine is asked to do: nothing but foresee it in a check run."""
        return "foresee" if self.is_check_run else "reconcile"

    def _manual_steps(self, found: AccountResult | Unreached) -> list[ManualStep]:
        """What only a person can do: where the account was not reached, a thing failed, or an area is not known."""
        if self.connection.shut or not (
            "unreachable" in found or found["failed"] or any(note["code"] == "path_unknown" for note in found["notes"])
        ):
            return []
        from .._state import last_runs
        from . import manual_steps  # few are open

        if "unreachable" in found and last_runs.was_reached(self.name):
            return []  # what must be done before the first login is done
        return manual_steps.of_account(self.variables, found)

    def _introduction(self, outcomes: list[Outcome]) -> Introduction | None:
        """What is told of the site where this is the first time that anything was made on the account."""
        if self.is_check_run or self.sandbox or not any(one["status"] in CHANGES for one in outcomes):
            return None
        from . import introduction  # few change

        return introduction.of_first_time(self.variables, self.name)

    def _keep(self, receipt: Receipt | None) -> list[Outcome]:
        """Keep what is noted on the account here, too; the outcome of a receipt that cannot be kept there."""
        if receipt is None:
            return []
        if receipt["problem"]:
            return [unnoted(receipt["problem"])]
        if not self.is_check_run and (problem := receipts.keep_receipt(self.name, bool(self.sandbox), receipt)):
            self._action._display.warning(problem)
        return []
