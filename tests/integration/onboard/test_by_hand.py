# SPDX-License-Identifier: GPL-3.0-or-later
"""An account that no program may enter: a file is run there by hand, and its answer is brought back."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pexpect
import pytest

from tests.effort import sample, turns
from tests.integration.command.test_command import Desk
from tests.integration.runs import KEY

pytestmark = [pytest.mark.testbed, turns(3)]

BY_HAND = {"auth": "none"}
ANSWER = "hpc-onboard-{}-{}.json"
SCHEMAS = Path(__file__).parents[3] / "docs" / "schemas"


class Node(NamedTuple):
    """A person who sits at the login node of an account, with a file that they have brought there."""

    account: Any
    program: str

    def runs(self, *words: str, python: str = "python3", keys: tuple[str, ...] = (KEY,)) -> tuple[int, str]:
        """Run the file at a terminal of the node and type the keys that it asks for; exit code, and what was shown."""
        line = self.account.ssh_command("-tt")
        command = f"stty cols 80; {python} {self.program} {' '.join(words)}; echo ended $?"
        shown = pexpect.spawn(line[0], [*line[1:], command], encoding="utf-8", timeout=120, dimensions=(24, 80))
        said = ""
        for key in keys:
            at = shown.expect([r"Enter to skip\): ", r"\[y/N\] ", r"ended \d+"])
            said += str(shown.before) + str(shown.after)
            if at == 2:
                break
            shown.sendline(key)
        if not said.rstrip().endswith(tuple(f"ended {code}" for code in (0, 2, 130))):
            shown.expect(r"ended \d+")
            said += str(shown.before) + str(shown.after)
        shown.close()
        return int(said.rsplit("ended ", 1)[1]), said.replace("\r", "")

    def answer(self, part: str) -> Path:
        """Where the answer lies that it has left, as this machine sees it."""
        name = ANSWER.format(self.account.name.partition("@")[2], part)
        found: Path = self.account.path(name)
        return found


def exported(desk: Desk, account: Any, *words: str) -> Node:
    """Write the file, and bring it there."""
    done = desk.types("export-script", account.name, "-o", "set up.py", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    target = account.path("set-up.py")
    shutil.copyfile(desk.folder / "set up.py", target)
    return Node(account, "set-up.py")


def brought(desk: Desk, node: Node, part: str) -> subprocess.CompletedProcess[str]:
    """Copy the answer here and take it in."""
    shutil.copyfile(node.answer(part), desk.folder / "answer.json")
    found: subprocess.CompletedProcess[str] = desk.types("import-result", "answer.json")
    return found


def made(account: Any) -> dict[str, tuple[str, int, bytes]]:
    """The account's tree: kind, mode and content of all but the file, its answers, what a login leaves and the engine.

    Of the receipt what was made by us; of a file of sections these, whatever the order is that they were added in.
    """
    beside = (".bash_history", ".cache", "set-up.py", ".hpc.onboard.lock")
    mine, all_users = account.user.encode(), b"USER"
    found = {}
    for path, entry in account.tree().items():
        if "hpc-onboard-" not in path and "/engine-" not in path and not path.endswith(beside):
            content = account.read(path) if entry.kind == "file" else entry.content.encode()
            if path.endswith("/receipt.json"):
                noted = json.loads(content)["resources"]
                content = json.dumps({key: note["made"] for key, note in noted.items()}, sort_keys=True).encode()
            content = b"".join(sorted(re.split(rb"(?m)^(?=# >>> )", content)))
            found[path.replace(account.user, "USER")] = (entry.kind, entry.mode, content.replace(mine, all_users))
    return found


def test_no_program_enters_and_the_one_command_is_told(bed: Any) -> None:
    account = bed.new_account("lrz")
    desk = Desk(bed, account, settings={account.name: BY_HAND})
    for verb, code in (("onboard", 4), ("audit", 2), ("preflight", 2), ("offboard", 4), ("connect", 2)):
        more = ("-e", "offboard_sure=true") if verb == "offboard" else ()
        done = desk.types(verb, *more)
        said = " ".join((done.stdout + done.stderr).split())
        assert done.returncode == code, said
        assert f"hpc-onboard export-script -l {account.name}" in said, said
    assert f"hpc-onboard export-script -l {account.name}" in " ".join(desk.types("doctor").stdout.split())
    assert account.logins() == 0


def test_a_file_run_by_hand_leaves_what_a_run_over_ssh_leaves(bed: Any) -> None:
    account = bed.new_account("lrz")
    fresh = made(account)
    by_ssh = Desk(bed, account)
    assert by_ssh.types("onboard").returncode == 0
    over_ssh = made(account)
    assert by_ssh.types("offboard", "-e", "offboard_sure=true").returncode == 0
    assert made(account) == fresh
    desk = Desk(bed, account, settings={account.name: BY_HAND})
    node = exported(desk, account)
    text = (desk.folder / "set up.py").read_text(encoding="ascii")
    assert KEY not in text
    assert (desk.folder / "set up.py").stat().st_mode & 0o777 == 0o600

    code, said = node.runs("--check")
    assert code == 0, said
    assert "to create" in said
    assert made(account) == fresh
    code, said = node.runs()
    assert code == 0, said
    prose = [line for line in said.splitlines() if not line.startswith("  scp ")]  # a command to copy is one line
    assert max(map(len, prose)) <= 80
    assert len(prose) == len(said.splitlines()) - 1
    assert KEY not in said
    assert made(account) == over_ssh
    there = made(account)
    code, said = node.runs()
    assert code == 0, said
    assert "unchanged" in said
    assert "made" not in said.replace("set up", "")
    assert made(account) == there

    answer = node.answer("onboard")
    assert answer.stat().st_mode & 0o777 == 0o600
    assert KEY not in answer.read_text(encoding="ascii")
    jsonschema.validate(json.loads(answer.read_text()), json.loads((SCHEMAS / "script-result.schema.json").read_text()))
    done = brought(desk, node, "onboard")
    assert done.returncode == 0, done.stdout + done.stderr
    again = brought(desk, node, "onboard")
    assert again.returncode == 2
    assert "already imported" in " ".join((again.stdout + again.stderr).split())

    code, said = node.runs("--audit")
    assert code == 0, said
    done = brought(desk, node, "audit")
    assert done.returncode == 0, done.stdout + done.stderr
    account.path("dss", follow=False).unlink()
    code, said = node.runs("--audit")
    assert code == 2, said
    done = brought(desk, node, "audit")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "LNK-" in done.stdout

    assert node.runs()[0] == 0
    assert brought(desk, node, "onboard").returncode == 0
    node = exported(desk, account)
    code, said = node.runs("--offboard", keys=("yes",))
    assert code == 0, said
    assert made(account) == fresh
    done = brought(desk, node, "offboard")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_forged_or_foreign_answer_is_refused(bed: Any) -> None:
    account, other = bed.new_account("lrz"), bed.new_account("lrz")
    desk = Desk(bed, account, other, settings={account.name: BY_HAND, other.name: BY_HAND})
    node = exported(desk, account)
    assert node.runs()[0] == 0
    good = node.answer("onboard").read_bytes()
    document = json.loads(good)
    forged = {
        "changed": good.replace(b'"missing"', b'"ok"', 1),
        "of another account": json.dumps({**document, "account": other.name}).encode(),
        "of an unknown file": json.dumps({**document, "script": "0" * 16}).encode(),
        "with lines": json.dumps({**document, "when": document["when"] + "\nevil"}).encode(),
        "not JSON": b"[" * 100_000,
        "huge": good + b" " * (6 * 1024 * 1024),
    }
    before = sorted(Path(bed.client.home).rglob("receipts/*"))
    for what, content in forged.items():
        (desk.folder / "answer.json").write_bytes(content)
        done = desk.types("import-result", "answer.json")
        said = " ".join((done.stdout + done.stderr).split())
        assert done.returncode == 2, f"{what}: {said}"
        assert "nothing was imported" in said.lower(), f"{what}: {said}"
    (desk.folder / "answer.json").write_bytes(good)
    (desk.folder / "link.json").symlink_to("answer.json")
    assert desk.types("import-result", "link.json").returncode == 2
    assert sorted(Path(bed.client.home).rglob("receipts/*")) == before
    assert desk.types("import-result", "answer.json").returncode == 0


@pytest.mark.parametrize(("cluster", "python"), [("wilson", "/usr/libexec/platform-python"), ("lrz", "python3")])
def test_what_was_cut_off_goes_on_under_an_old_and_a_new_python(bed: Any, cluster: str, python: str) -> None:
    there = bed.cluster(cluster).python
    if cluster == "wilson" and there != (3, 6):
        print(f"no Python 3.6 was found on this machine: wilson has {there}")
        python = "python3"
    account = bed.new_account(cluster)
    desk = Desk(bed, account, settings={account.name: BY_HAND})
    fresh = made(account)
    node = exported(desk, account)
    line = account.ssh_command("-tt")
    shown = pexpect.spawn(line[0], [*line[1:], f"{python} {node.program}"], encoding="utf-8", timeout=60)
    shown.expect(r"Enter to skip\): ")
    held = "".join(hidden(number) for number in account.processes())
    shown.sendline(KEY)
    shown.expect("\n")
    held += "".join(hidden(number) for number in account.processes())
    shown.close(force=True)  # the line drops
    assert python in held
    assert KEY not in held
    code, said = node.runs(python=python)
    assert code == 0, said
    assert brought(desk, node, "onboard").returncode == 0
    node = exported(desk, account)
    code, said = node.runs("--offboard", "--sure", python=python, keys=())
    assert code == 0, said
    assert made(account) == fresh


def hidden(number: int) -> str:
    """What others can see of a process: its words; and its environment."""
    try:
        return "".join(Path(f"/proc/{number}/{part}").read_text(errors="replace") for part in ("cmdline", "environ"))
    except OSError:
        return ""  # it has ended


def test_without_a_terminal_or_a_key_it_says_what_to_do(bed: Any) -> None:
    account = bed.new_account("lrz")
    desk = Desk(bed, account, settings={account.name: BY_HAND})
    node = exported(desk, account)
    fresh = made(account)
    done = account.ssh(f"python3 {node.program}", text=KEY + "\n")
    assert done.returncode == 2
    assert "needs a terminal" in " ".join(done.stderr.split())
    assert made(account) == fresh
    code, said = node.runs(keys=("",))
    assert code == 2
    assert "the key 'ngc' was not entered" in " ".join(said.split())


CHANGING = "write,fsync,fchmod,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,symlink,symlinkat"
NO_KEYS = {**BY_HAND, "without": ["enroot_credentials", "registry_auth", "tokens"]}


def runs_under_strace(node: Node, *more: str) -> tuple[str, list[str]]:
    """Run the file there as its user, traced; what it said, and the names of the calls that change something."""
    log = f"{node.account.home}/calls"
    trace = ["strace", "-f", "-qq", "-o", log, "-e", f"trace={CHANGING}", *more]
    done = node.account.ssh(" ".join([*trace, "$(command -v python3)", node.program]), timeout=120)
    text = node.account.path(log).read_text(errors="replace")
    node.account.path(log).unlink()
    return f"{done.stdout}{done.stderr}exit {done.returncode}", re.findall(r"(?m)^\d+ +(\w+)\(", text)


def test_a_file_that_is_killed_at_any_call_is_made_good_by_the_next_run_and_leaves_nothing_after_offboarding(
    bed: Any, count: Callable[[str, int, int], None]
) -> None:
    account = bed.new_account("lrz")
    fresh = made(account)
    desk = Desk(bed, account, settings={account.name: NO_KEYS})
    node = exported(desk, account)
    said, calls = runs_under_strace(node)
    assert said.endswith("exit 0"), said
    whole = made(account)
    assert brought(desk, node, "onboard").returncode == 0
    (desk.folder / "set up.py").unlink()
    node = exported(desk, account)  # it knows by the answer what is to be taken out
    assert node.runs("--offboard", "--sure", keys=())[0] == 0
    assert made(account) == fresh
    moments = [(name, number) for name, most in Counter(calls).items() for number in range(1, most + 1)]
    chosen = sample(moments, 4, "by hand")
    for name, number in chosen:
        at = f"{name} {number}"
        runs_under_strace(node, "-e", f"inject={name}:signal=KILL:when={number}")
        code, said = node.runs(keys=())
        assert (code, made(account)) == (0, whole), f"{at}: {said}"
        code, said = node.runs("--offboard", "--sure", keys=())
        assert (code, made(account)) == (0, fresh), f"{at}: {said}"
    count("kills of a file run by hand", len(chosen), 0)
