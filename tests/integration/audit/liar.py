#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Python that lies: it lets the real one do what was sent, and changes the answer as the file 'lie' beside it says.

It runs on an account of the testbed, where it is found first on PATH.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

FRAME = b"hpc.onboard-answer"
TEMPLATE = "{{ lookup('pipe', 'touch CANARY') }}{% for a in range(9) %}x{% endfor %}"
SHELL = "x; touch CANARY; $(touch CANARY) `touch CANARY` ' \" \\ (mv ~/a$(touch${IFS}CANARY) ~/b)"
ESCAPES = "x\n\nPLAY RECAP *****\nu001@lrz : ok=9\n  touch CANARY\n\x1b]0;owned\x07\x1b[2J\r\x9b31m\u202e\u200bu001@lrz"


def words(answer, text):
    """Every word of every outcome is this text."""
    for outcome in answer["outcomes"]:
        outcome.update(identity=text, capability=text, status="different", reason=None, remarks=[text] * 30)
        outcome.update(fields=[text, "password"], before={text: text, "password": text, "is": text}, after={"x": text})
    return answer


def other(answer):
    """Everything is said of another account, and all is well here."""
    for outcome in answer["outcomes"]:
        outcome.update(identity="u001@lrz", status="ok", fields=[], before={}, after={}, reason=None)
    return {**answer, "name": "u001@lrz", "audit": {"name": "u001@lrz", "findings": []}, "host": "u001@lrz"}


def huge(answer):
    """States that are as large as an answer may be, in many fields."""
    for outcome in answer["outcomes"]:
        outcome.update(status="different", before={f"f{n}": "y" * 30000 for n in range(4)}, after={})
        outcome["fields"] = sorted(outcome["before"])
    return answer


def many(answer):
    """Findings without end."""
    for outcome in answer["outcomes"]:
        outcome.update(status="different", before={f"n{n}": "y" for n in range(300)}, after={})
        outcome["fields"] = sorted(outcome["before"])
    return answer


def rules(answer):
    """Rules that there are not, and places that lead away, from every resource."""
    for outcome in answer["outcomes"]:
        fields = {"EVIL-999 ~/x": "no such rule", "SEC-001 ../../etc/passwd": "x", "LNK-003 ~/a;touch CANARY": SHELL}
        outcome.update(status="different", before=fields, after={}, fields=sorted(fields))
    return answer


def receipts(answer):
    """Notes that name paths and kinds of the controller's."""
    note = {"kind": "storage_link", "capability": SHELL, "identity": "../../../etc", "state": "done", "for": ""}
    note.update(hashes={}, keyed={}, clusters=[], made=True)
    note.update(options={"path": "/etc/passwd", "target": "../../CANARY"})
    wrong = dict(note, kind="os.system", options={"touch CANARY": 1})
    broken = dict(note, options={"path": 5, "target": [None]})
    notes = {"../../CANARY": note, "b": wrong, "c": broken, TEMPLATE: note}
    answer["receipt"] = {"notes": {name: json.dumps(one) for name, one in notes.items()}, "problem": None}
    return answer


LIES = {
    "templates": lambda answer: words(answer, TEMPLATE),
    "shell": lambda answer: words(answer, SHELL),
    "escapes": lambda answer: words(answer, ESCAPES),
    "other": other,
    "huge": huge,
    "many": many,
    "rules": rules,
    "receipts": receipts,
    "fewer": lambda answer: {**answer, "outcomes": answer["outcomes"][:-1]},
    "more": lambda answer: {**answer, "outcomes": answer["outcomes"] * 2},
    "none": lambda answer: {**answer, "outcomes": []},
    "types": lambda answer: {**answer, "outcomes": [[1], {"a": None}], "seconds": "nan", "account": 7},
    "infinite": lambda answer: {**answer, "seconds": float("inf")},
    "list": lambda answer: [answer],
    "error": lambda answer: {**answer, "error": TEMPLATE + SHELL + ESCAPES},
}


def main():
    """Run the real Python, and print what the lie makes of its answer."""
    here = Path(sys.argv[0]).parent
    lie, _blank, canary = (here / "lie").read_text().partition(" ")
    done = subprocess.run(["/usr/bin/python3", *sys.argv[1:]], stdin=sys.stdin, stdout=subprocess.PIPE, check=False)
    found = re.search(rb"\n%s ([0-9]+)\n" % FRAME, done.stdout)
    if not found:
        sys.stdout.buffer.write(done.stdout)
        sys.exit(done.returncode)
    if lie == "deep":
        text = "[" * 200000
    else:
        text = json.dumps(LIES[lie](json.loads(done.stdout[found.end() :][: int(found[1])])))
    text = text.replace("CANARY", canary)
    sys.stdout.write(f"\n{FRAME.decode()} {len(text)}\n{text}\n{FRAME.decode()}\n")


if __name__ == "__main__":
    main()
