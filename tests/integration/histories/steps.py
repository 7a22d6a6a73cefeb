# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a history, as plain words, and how likely each is in a random one."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from typing import Any

from ansible_collections.hpc.onboard.plugins.module_utils._formats.origin_mark import add_mark

from .home import Home
from .lab import MENU, SCRIPT_TEXT

Step = list[Any]
FOREIGN = "nvapi-" + hashlib.sha256(b"foreign").hexdigest()
KEY_LINE = "machine nvcr.io login $oauthtoken password {}"
OWN_LINE = "machine registry.example.org login me password word"
WEIGHTS = {
    "onboard": 6, "check": 2, "again": 2, "audit": 1, "fix": 2, "offboard": 3, "declare": 3, "edit": 6,
    "rotate": 2, "resume": 2, "retire": 1, "give up": 1, "close": 1, "open": 2, "kill": 2, "both": 1, "carry": 1,
}  # fmt: skip
OPENED = ("enroot/.credentials",)
EDITS: dict[str, Callable[[Home, str], None]] = {
    "foreign line": lambda home, _key: home.add("enroot/.credentials", OWN_LINE),
    "own key line": lambda home, key: home.add("enroot/.credentials", KEY_LINE.format(key)),
    "start-up line": lambda home, _key: home.add(".bashrc", "export MINE=1"),
    "own file in a folder": lambda home, _key: home.put("bin/own", "#!/bin/sh\n", 0o755),
    "own file": lambda home, _key: home.put("notes/today", "words\n"),
    "open mode": lambda home, _key: home.change("chmod 644 enroot/.credentials 2>/dev/null; true", *OPENED),
    "script changed": lambda home, _key: home.change("test ! -f bin/s1.sh || echo '# mine' >> bin/s1.sh", "bin/s1.sh"),
    "script removed": lambda home, _key: home.drop("bin/s1.sh"),
    "keys removed": lambda home, _key: home.remove("enroot"),
    "receipt removed": lambda home, _key: home.change("rm -rf .config/hpc.onboard"),
    "configuration removed": lambda home, _key: home.remove(".config"),
    "own folder for a link": lambda home, _key: home.put("dss.mine/data", "numbers\n"),
}
"""What a user does in a home, by name. A step names the account by its position."""
LAID: dict[str, Callable[[Home, str], None]] = {
    "the key": lambda home, key: home.add("enroot/.credentials", KEY_LINE.format(key)),
    "an equal script": lambda home, _key: home.lay("bin/s1.sh", add_mark(SCRIPT_TEXT), 0o700),
    "another script": lambda home, _key: home.lay("bin/s1.sh", "#!/bin/sh\n# mine\n", 0o750),
    "a folder for the script": lambda home, _key: home.lay("bin/s1.sh/notes", "words\n", 0o600),
    "a link above the area": lambda home, _key: home.link("work", home.account.folders[0]),
    "another link": lambda home, _key: home.link("work", "/etc"),
}
"""What a user had before hpc-onboard, by name: equal, equivalent or different. Steps of the beginning."""


def random_steps(seed: int, number: int) -> list[Step]:
    """Return so many random steps after what the accounts begin with: the same ones for the same seed."""
    chance = random.Random(seed)
    laid = [["lay", account, what] for account in (0, 1) for what in chance.sample(list(LAID), 2)]
    return laid + [_random_step(chance) for _ in range(number)]


def _random_step(chance: random.Random) -> Step:
    what = chance.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    machine, account = int(chance.random() < 0.2), chance.randrange(2)
    if what == "declare":
        return [what, account, chance.choice(list(MENU))]
    if what == "edit":
        return [what, account, chance.choice(list(EDITS))]
    if what in ("close", "open"):
        return [what, account]
    if what == "offboard":
        return [what, machine, chance.choice((None, None, account))]
    if what == "kill":
        whole = ["onboard", "offboard", "rotate", "resume"]
        return [what, machine, chance.choice(whole), round(chance.uniform(0.5, 5), 2)]
    if what == "both":
        return [what, chance.choice(["onboard", "offboard", "rotate"]), chance.choice(["onboard", "audit", "offboard"])]
    return [what, machine]
