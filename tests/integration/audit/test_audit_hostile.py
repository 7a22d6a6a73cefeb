# SPDX-License-Identifier: GPL-3.0-or-later
"""Accounts that lie, flood and lay traps: the controller stays as it was, and so does what is said of the others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.fix import local_words

from .audit_scene import Audit, Scene, at, known
from .liar import LIES

pytestmark = pytest.mark.testbed

LIAR = Path(__file__).with_name("liar.py")
WITHOUT_ROW = ("fewer", "more", "none", "types", "infinite", "list", "deep", "error")
START_UP = {
    "functions": "for name in printf echo exec test command python3 cat sh head env for; do"
    ' eval "$name() { touch {canary}; builtin printf owned; }"; done 2>/dev/null',
    "aliases": "shopt -s expand_aliases; alias for='touch {canary};' echo='touch {canary};' case='touch {canary};'",
    "flood before": "head -c 100000000 /dev/zero | tr '\\0' 'x'",
    "flood instead": "head -c 20000000 /dev/zero | tr '\\0' '\\n'; exit 0",
    "flood of frames": "yes 'hpc.onboard-answer 9' | head -c 5000000; exit 0",
}
TRAPS = {
    "a file without end": "rm enroot/.credentials; ln -s /dev/zero enroot/.credentials; ln -sf /dev/zero .bash_profile",
    "pipes": "rm enroot/.credentials .config/hpc.onboard/*; mkfifo enroot/.credentials .config/hpc.onboard/receipt.json"
    " .config/hpc.onboard/env.fish .netrc",
    "another's memory": "rm .config/hpc.onboard/receipt.json; ln -s /proc/self/mem .config/hpc.onboard/receipt.json;"
    " ln -s /proc/self/environ .netrc; ln -sfn /proc/self/root data",
    "a terminal": "rm .config/hpc.onboard/receipt.json; ln -s /dev/tty .config/hpc.onboard/receipt.json;"
    " rm enroot/.credentials; ln -s /dev/stdin enroot/.credentials",
    "a deep receipt": "{python} -c 'print(\"[\" * 100000)' > .config/hpc.onboard/receipt.json",
    "a large receipt": "head -c 9000000 /dev/zero > .config/hpc.onboard/receipt.json",
}


class Seen(NamedTuple):
    """An audit without what is hostile, and one with it; written: the paths on the controller that this one changed."""

    scene: Scene
    good: list[Any]
    hostile: dict[str, Any]
    before: Audit
    after: Audit
    canary: Path
    written: set[str]


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, but for what audits write and onboarding keeps."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and "report-" not in str(path)}


@pytest.fixture(scope="module")
def seen(bed: Any, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    names = [*LIES, "deep", *START_UP, *TRAPS]
    good = [bed.new_account("lrz"), bed.new_account("dfki")]
    hostile = {name: bed.new_account("dfki", files={".bashrc": b""}) for name in names}
    scene = Scene(bed, tmp_path_factory.mktemp("hostile"), [*good, *hostile.values()])
    ran = scene.onboard()
    assert ran.code == 0, ran.text
    at(good[0], "ln -sfn / dss")
    before = scene.audit("-l", ",".join(one.name for one in good))
    canary = scene.folder / "canary"
    for name, account in hostile.items():
        _make_hostile(name, account, canary)
    liars = [account.name for name, account in hostile.items() if name not in TRAPS and name not in START_UP]
    scene.declare({name: {"vars": {"ansible_python_interpreter": "~/fake/python3"}} for name in liars})
    known = files(scene.folder)
    after = scene.audit(timeout=600)
    now = files(scene.folder)
    written = {path for path in known.keys() | now.keys() if known.get(path) != now.get(path)}
    return Seen(scene, good, hostile, before, after, canary, written)


def _make_hostile(name: str, account: Any, canary: Path) -> None:
    if name in TRAPS:
        at(account, TRAPS[name].replace("{python}", "python3"))
        return
    if name not in START_UP:
        at(account, "mkdir fake")
        for file, content in (("python3", LIAR.read_bytes()), ("lie", f"{name} {canary}".encode())):
            account.path(f"fake/{file}").write_bytes(content)
            account.path(f"fake/{file}").chmod(0o755)
        return
    line = START_UP[name].replace("{canary}", str(canary))
    at(account, f"cat > more <<'END'\n{line}\nEND\ncat .bashrc >> more; cat more > .bashrc; rm more")


def test_the_report_is_there_and_has_a_row_for_each(seen: Seen) -> None:
    assert seen.after.ran.code == 2, seen.after.ran.text[-3000:]
    assert {one["name"] for one in seen.after.report["accounts"]} == {one.name for one in seen.scene.accounts}


def test_what_is_said_of_the_others_is_the_same(seen: Seen) -> None:
    for account in seen.good:
        assert known(seen.after.of(account)) == known(seen.before.of(account))
        assert seen.after.row(account) == seen.before.row(account)
    assert len(seen.before.of(seen.good[0])) == 1


def test_nothing_was_run_and_nothing_was_written_on_the_controller(seen: Seen) -> None:
    for folder in (seen.canary.parent, Path("/"), Path("/tmp"), Path.home(), Path.cwd()):
        assert not (folder / "canary").exists()
        assert not list(folder.glob("*CANARY*"))
    state = seen.scene.folder / "state" / "hpc.onboard"
    ours = (str(state / "audit"), str(state / "engines"), str(state / "runs.jsonl"))
    assert all(path.startswith(ours) for path in seen.written), seen.written


def test_an_answer_that_is_none_costs_its_account_alone_and_says_what_to_do(seen: Seen) -> None:
    for name in WITHOUT_ROW:
        row = seen.after.row(seen.hostile[name])
        assert row["state"] == "unknown", name
        assert row["reason"]
        assert "Traceback" not in row["reason"]
        assert "Error" not in row["reason"], (name, row["reason"])


def test_a_lie_is_told_of_the_liar_alone_and_stays_a_word(seen: Seen) -> None:
    assert len(seen.after.of(seen.hostile["many"])) == 301, seen.after.row(seen.hostile["many"])
    for name in ("templates", "shell", "escapes", "rules", "huge", "many"):
        found = seen.after.of(seen.hostile[name])
        assert found, name
        text = "".join(one["text"] + one["resource"] for one in found)
        assert text.isprintable(), name
    assert any("{{ lookup(" in str(one) for one in seen.after.of(seen.hostile["templates"])), "it was templated"


def test_no_word_of_a_liar_begins_a_line(seen: Seen) -> None:
    assert "touch" in seen.after.ran.text
    forged = re.findall(r"^\s{0,3}(?:PLAY RECAP|touch).*", seen.after.ran.text, re.MULTILINE)
    assert forged == []


def test_no_command_holds_a_word_of_a_liar(seen: Seen) -> None:
    for account in seen.hostile.values():
        for one in seen.after.of(account):
            for words in filter(None, map(local_words, one["fix"])):
                assert words[0] in ("ansible", "ansible-playbook"), words
                assert not [word for word in words if re.search(r"[$`;<>|&\n]|CANARY", word)], words
                assert str(seen.canary) not in " ".join(words)


def test_traps_are_seen_for_what_they_are(seen: Seen) -> None:
    for name in TRAPS:
        assert seen.after.row(seen.hostile[name])["state"] == "measured", (name, seen.after.of(seen.hostile[name]))
    kinds = {"a file without end": "a link", "pipes": "a pipe", "a terminal": "a link"}
    for name, word in kinds.items():
        found = [one for one in seen.after.of(seen.hostile[name]) if one["rule"] == "KEY-004"]
        assert found, name
        assert all(word in one["text"] for one in found), (name, [one["text"] for one in found])


def test_the_run_after_it_is_as_good_for_the_others(seen: Seen) -> None:
    """What liars left in this machine's memory harms nobody: also not after an onboarding that believed them."""
    seen.scene.onboard("-l", seen.hostile["receipts"].name)
    again = seen.scene.audit("-l", ",".join(one.name for one in [*seen.good, seen.hostile["receipts"]]))
    for account in seen.good:
        assert again.row(account) == seen.before.row(account)
    row = again.row(seen.hostile["receipts"])
    assert row["state"] == "measured", row
    assert not seen.canary.exists()
