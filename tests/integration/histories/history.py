# SPDX-License-Identifier: GPL-3.0-or-later
"""A history: steps as plain words, lived through in a lab, with the invariants looked at after each of them.

I1 offboard(onboard(x)) = x, or what is left is named and the code is 2. I2 Nothing of the user's is harmed. I3 A second
run changes nothing, and --check previews exactly. I4 Keys are in their own private files only. I5 Exit code and last
line are true. I6 A rotation ends everywhere, or commands say where not. I7 Two at once corrupt nothing. I8 A fix
removes only what it showed.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from .home import SHARED, Home, Thing, keyed, look
from .lab import Ended, Lab
from .steps import EDITS, FOREIGN, LAID, Step

PRINT = 300
CODES = (0, 2, 4)
KEY_FILES = ("credentials", "docker-config.json", ".ngc/config", "former/")
RECEIPT = (".config", ".config/hpc.onboard", ".config/hpc.onboard/receipt.json")  # stays while a created folder does


class Violation(AssertionError):
    """An invariant that does not hold, with the steps that led there."""


class History:
    """Steps in a lab. `live` raises Violation at the first invariant that does not hold."""

    def __init__(self, lab: Lab) -> None:
        """Begin with what the accounts have."""
        self.lab = lab
        self.homes = {account.name: Home(account) for account in lab.accounts}
        self.steps: list[str] = []
        self.codes = Counter[int]()  # how the commands ended
        self.copies: dict[str, set[int]] = {name: set() for name in self.homes}  # machines with a copy of the receipt
        self.forgotten: set[str] = set()  # accounts whose receipt is gone
        self.adopted: set[str] = set()  # of these, where a machine without a copy took what is there for the user's

    def live(self, steps: list[Step]) -> None:
        """Take the steps, then leave every account: whatever happened, it ends as it began."""
        for step in [*steps, *END]:
            self.steps.append(str(step))
            try:
                getattr(self, "_" + str(step[0]).replace(" ", "_"))(*step[1:])
                for home in self.homes.values():
                    self._hold(home.harm(look(home.account), self.lab.keys, False))
                    self._keys_are_private(home)
            except AssertionError as error:
                raise Violation("\n".join([*self.steps, str(error)])) from error

    def _hold(self, violations: Any) -> None:
        found = list(violations)
        assert not found, found

    # -- commands ------------------------------------------------------------------------------

    def _run(self, machine: int, *order: str) -> Ended:
        here = self.lab.machines[machine]
        return self._judged(here.end(here.begin(*order)), self.lab.closed)

    def _judged(self, ended: Ended, closed: set[str]) -> Ended:
        """Check what holds of the end of any command; `closed` are those of its accounts that cannot be reached."""
        print(self.steps[-1], ended.code, ended.text[-PRINT:], flush=True)
        self.codes[ended.code] += 1
        assert ended.code in CODES, ended.text
        assert "accounts.yml:" not in ended.text, f"the accounts file was refused: {ended.text}"
        assert "Traceback" not in ended.text, ended.text
        assert "a bug in hpc.onboard" not in ended.text, ended.text
        assert ended.code != 4 or closed, f"exit 4, and every account can be reached: {ended.text}"
        is_about_keys = "nothing is left to do" in ended.text or "on this machine" in ended.text
        assert not closed or ended.code != 0 or is_about_keys, f"exit 0, and {closed} cannot be reached: {ended.text}"
        assert not [key for key in [*self.lab.keys, FOREIGN] if key in ended.text], "a key was printed"
        return ended

    def _onboard(self, machine: int) -> Ended:
        ended = self._run(machine, *self.lab.order("onboard"))
        for name in set(self.homes) - self.lab.closed:
            if name in self.forgotten and machine not in self.copies[name]:
                self.adopted.add(name)
            self.copies[name].add(machine)
        if ended.code == 0:
            self._is_set_up(ended)
        return ended

    def _is_set_up(self, ended: Ended) -> None:
        """I5, I6: after a green onboarding accounts hold one known key, or it says that a rotation is open."""
        held = set().union(*(set().union(*self._held(home).values(), set()) for home in self.homes.values()))
        assert len(held & set(self.lab.keys)) <= 1 or "rotat" in ended.text, f"two keys are in use: {ended.text}"

    def _held(self, home: Home) -> dict[str, set[str]]:
        mine = {path for path, one in home.mine.items() if keyed({path: one}, self.lab.keys)}
        return {
            path: keys for path, keys in keyed(look(home.account), self.lab.keys).items()
            if path not in mine and "/former/" not in path
        }  # fmt: skip

    def _check(self, machine: int) -> None:
        """I3: --check changes nothing, and previews what the run does."""
        before = {name: look(home.account) for name, home in self.homes.items()}
        preview = self._run(machine, *self.lab.order("onboard"), "--check")
        assert {name: look(home.account) for name, home in self.homes.items()} == before, "--check changed something"
        done = self._onboard(machine)
        for name in self.homes:
            assert preview.statuses(name) == done.statuses(name), f"--check previewed another thing for {name}"

    def _again(self, machine: int) -> None:
        """I3: a second run changes nothing."""
        if self._onboard(machine).code != 0:
            return
        before = {name: look(home.account) for name, home in self.homes.items()}
        again = self._onboard(machine)
        assert {name: look(home.account) for name, home in self.homes.items()} == before, "the second run wrote"
        for name in self.homes:
            odd = {what: one for what, one in again.statuses(name).items() if one not in ("ok", "not_applicable")}
            assert not odd, f"the second run found {odd}"

    def _audit(self, machine: int) -> None:
        before = {name: look(home.account) for name, home in self.homes.items()}
        self._run(machine, *self.lab.order("audit"))
        assert {name: look(home.account) for name, home in self.homes.items()} == before, "the audit changed something"

    def _fix(self, machine: int) -> None:
        """I8: what it changed is named in what it printed, and no key that only this account has is gone."""
        self._run(machine, *self.lab.order("audit"))
        before = {name: look(home.account) for name, home in self.homes.items()}
        ended = self._run(machine, *self.lab.order("fix"))
        for name, home in self.homes.items():
            here = look(home.account)
            for path, was in before[name].items():
                if here.get(path) != was:
                    assert path.rpartition("/")[2] in ended.text, f"{path} was changed, and not named: {ended.text}"
            was_foreign = keyed(before[name], [FOREIGN])
            assert not was_foreign or keyed(here, [FOREIGN]), "the only copy of a key is gone"

    def _offboard(self, machine: int, only: int | None) -> None:
        names = [self.lab.accounts[only].name] if only is not None else list(self.homes)
        here = self.lab.machines[machine]
        run = here.begin(*self.lab.order("offboard", ",".join(names)))
        self._is_left(names, self._judged(here.end(run), self.lab.closed & set(names)), machine)

    def _is_left(self, names: list[str], ended: Ended, machine: int) -> None:
        """I1, I5: a green end leaves the user's own alone there; else what is left is named."""
        for name in set(names) - self.lab.closed:
            home = self.homes[name]
            here = look(home.account)
            left = home.left(here)
            if ended.code == 0:
                self._hold(home.harm(here, self.lab.keys, name not in self.forgotten))
                held = [path for path in self._held(home) if not self._is_unknown(name, path, ended, machine)]
                assert not held, f"exit 0 beside a live key in {held}: {ended.text}"
                excused = "is not removed, because it is not empty" in ended.text or self._has_forgotten(name, machine)
                noted = set(RECEIPT) if excused else set[str]()
                if self._has_forgotten(name, machine) and "the receipt does not show" in ended.text:
                    noted |= {path for path in left if here[path].kind == "folder" or path in SHARED}
                unsaid = {path for path in left - noted if not _is_named(path, ended.text)}
                assert not unsaid, f"left and not named, exit 0: {unsaid}: {ended.text}"
            for path in self._held(home):
                assert _is_named(path, ended.text), f"a key is left in {path} of {name}, and not named: {ended.text}"

    def _is_unknown(self, name: str, path: str, ended: Ended, machine: int) -> bool:
        """Return True if this machine cannot know any more that hpc-onboard wrote this, and it says that it stays."""
        says_so = "existed before hpc-onboard" in ended.text or "the receipt does not show" in ended.text
        return self._has_forgotten(name, machine) and _is_named(path, ended.text) and says_so

    def _has_forgotten(self, name: str, machine: int) -> bool:
        """Return True if neither the account nor this machine has a record of what hpc-onboard created there."""
        return name in self.adopted or (name in self.forgotten and machine not in self.copies[name])

    # -- keys ----------------------------------------------------------------------------------

    def _rotate(self, machine: int) -> None:
        before = {name: self._held(home) for name, home in self.homes.items()}
        ended = self._run(machine, *self.lab.rotation(key=self.lab.another_key()))
        self._is_rotated(ended)
        for name, home in self.homes.items():
            assert before[name] or not self._held(home), f"a rotation brought a key to {name}, which held none"

    def _resume(self, machine: int) -> None:
        self._is_rotated(self._run(machine, *self.lab.rotation(rotate_resume=True)))

    def _retire(self, machine: int) -> None:
        self._is_rotated(self._run(machine, *self.lab.rotation(rotate_resume=True, rotate_retired=True)))

    def _give_up(self, machine: int) -> None:
        self._is_rotated(self._run(machine, *self.lab.rotation(rotate_give_up=True)))

    def _is_rotated(self, ended: Ended) -> None:
        """I5, I6: after a green end accounts hold the same key, or it says that it only knows of this machine."""
        for home in self.homes.values():
            home.accept_modes(look(home.account), ended.text)
        held = set().union(*(keys for home in self.homes.values() for keys in self._held(home).values()))
        assert ended.code != 0 or len(held) <= 1 or "on this machine" in ended.text, f"two keys are used: {ended.text}"

    # -- trouble -------------------------------------------------------------------------------

    def _kill(self, machine: int, what: str, seconds: float) -> None:
        here = self.lab.machines[machine]
        ended = here.end(here.begin(*self._words(what)), seconds)
        print(self.steps[-1], ended.code)
        self.lab.quiet()
        assert "Traceback" not in ended.text, ended.text

    def _words(self, what: str) -> tuple[str, ...]:
        if what == "rotate":
            return self.lab.rotation(key=self.lab.another_key())
        if what == "resume":
            return self.lab.rotation(rotate_resume=True)
        return self.lab.order(what)

    def _both(self, first: str, second: str) -> None:
        """I7: two machines at once."""
        machines = self.lab.machines
        runs = [machine.begin(*self._words(what)) for machine, what in zip(machines, (first, second), strict=True)]
        for machine, run in zip(machines, runs, strict=True):
            self._judged(machine.end(run), self.lab.closed)

    def _carry(self, machine: int) -> None:
        """Take what a machine remembers to the other one."""
        file = self.lab.folder / f"carried{len(self.steps)}"
        for here, words in ((machine, "export"), (1 - machine, "import")):
            ended = self.lab.machines[here].local("state", words, str(file))
            assert ended.code in CODES, ended.text

    def _close(self, account: int) -> None:
        self.lab.closed.add(self.lab.accounts[account].name)

    def _open(self, account: int) -> None:
        self.lab.closed.discard(self.lab.accounts[account].name)

    def _declare(self, account: int, chosen: str) -> None:
        self.lab.declared[self.lab.accounts[account].name] = chosen

    def _lay(self, account: int, what: str) -> None:
        LAID[what](self.homes[self.lab.accounts[account].name], self.lab.keys[0])

    def _edit(self, account: int, what: str) -> None:
        home = self.homes[self.lab.accounts[account].name]
        if what in ("receipt removed", "configuration removed"):
            home.lose_moved()
            self.forgotten.add(home.account.name)
        EDITS[what](home, self.lab.keys[0])

    # -- what holds always ---------------------------------------------------------------------

    def _keys_are_private(self, home: Home) -> None:
        """I4: a key is in a file of its own that nobody else reads, and in nothing that a machine remembers."""
        here = look(home.account)
        for path in keyed(here, [*self.lab.keys, FOREIGN]):
            if path in home.mine:
                continue
            assert any(name in path for name in KEY_FILES), f"a key is in {path}"
            assert not here[path].mode & 0o077 or path in home.contested, f"others may read the key in {path}"
        for machine in self.lab.machines:
            kept = {str(file): Thing("file", 0, file.read_bytes()) for file in machine.files()}
            assert not keyed(kept, self.lab.keys), f"a machine remembers a key in {list(keyed(kept, self.lab.keys))}"


END: list[Step] = [["open", 0], ["open", 1], ["resume", 0], ["offboard", 0, None], ["offboard", 1, None]]
"""How each history ends: everything can be reached, what was begun is ended, and every account is left."""


def _is_named(path: str, text: str) -> bool:
    """Return True if a text names a path, or a folder above it."""
    parts = path.split("/")
    return any("/".join(parts[:count]) in text for count in range(len(parts), 1 if path.startswith("/") else 0, -1))
