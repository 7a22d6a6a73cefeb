# SPDX-License-Identifier: GPL-3.0-or-later
"""Something else lies where our notes go, or where we read: refused at once, said, and the rest is as it would be."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.resource import hash_fields
from ansible_collections.hpc.onboard.plugins.module_utils._formats.origin_mark import add_mark

from tests.effort import exhaustive, turns
from tests.integration.audit.audit_scene import by_root
from tests.integration.runs import Ran, play

pytestmark = [pytest.mark.testbed, turns(2)]

FOLDER = ".config/hpc.onboard"
RECEIPT = f"{FOLDER}/receipt.json"
SECONDS = 5.0
"""That the engine takes at the most here: it hangs for thirty where it waits for a pipe."""

SQUATTED = {  # a shell's words, in the home of the account, and what is said
    "a pipe": (
        f"rm {RECEIPT}; mkfifo {RECEIPT}",
        "is not a regular file that you own with a single hard link; rename it, then run hpc-onboard again",
    ),
    "a socket": (
        f"rm {RECEIPT}; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"{RECEIPT}\")'",
        "is not a regular file that you own",
    ),
    "a link": (f"mv {RECEIPT} elsewhere; ln -s ~/elsewhere {RECEIPT}", "is not a regular file that you own"),
    "another name": (f"ln {RECEIPT} second", "is not a regular file that you own"),
    "a folder": (f"rm {RECEIPT}; mkdir {RECEIPT}", "is not a regular file that you own"),
    "five MiB": (f"truncate -s 5M {RECEIPT}", "is larger than 4 MiB"),
    "deep": (
        f'python3 -c \'print("[" * 100000 + "]" * 100000)\' > {RECEIPT}',
        "the record of what hpc-onboard created on this account, is damaged",
    ),
}


PIPES = (
    ".netrc", "enroot/.credentials", ".config/enroot/.credentials", ".docker/config.json",
    ".apptainer/docker-config.json", ".condarc", ".conda/environments.txt", "old/conda-meta/history", ".zshrc",
    ".tcshrc", ".cshrc", ".config/fish/config.fish", ".config/hpc.onboard/env.sh", ".config/ngc",
    ".ngc/config", ".ngc/config.json", ".cache/huggingface/token", ".git-credentials", ".ssh/authorized_keys",
)  # fmt: skip
"""What we read or an audit looks into, but for what bash reads itself when it starts: that would wait."""
TOKENS = {"tokens_programs": [{"program": one} for one in ("huggingface", "ngc")]}
MOUNTED = {"the receipt": RECEIPT, "a key": "enroot/.credentials", "its own folder": "enroot"}


def run(bed: Any, playbook: str, accounts: list[Any], settings: Any = None) -> Ran:
    """A run over all the accounts."""
    order = ("-i", str(bed.accounts_file(accounts, settings=settings)), "-e", "offboard_sure=true")
    ran = play(bed, *order, playbook=playbook)
    assert "a bug in hpc.onboard" not in ran.text, ran.text
    assert "Traceback" not in ran.text, ran.text
    return ran


def seconds(ran: Ran) -> dict[str, float]:
    """How long the engine took on each account: it says so to an audit."""
    rows = [one["result"]["audit"] for one in ran.results if one["result"].get("kind") == "audit_account"]
    return {row["name"]: row["seconds"] for row in rows}


def reasons(ran: Ran, account: Any) -> str:
    """Why things of an account were not done; no thing took long."""
    outcomes = ran.of(account.name)["outcomes"]
    assert sum(one["seconds"] for one in outcomes) < SECONDS, outcomes
    return " ".join(str(one["reason"]) for one in outcomes if one["reason"])


def said_of_offboarding(ran: Ran, account: Any) -> str:
    """Why things of an account were not taken out."""
    mine = [one for one in ran.results if one["host"] == account.name and one["action"] == "hpc.onboard.offboard"]
    return " ".join(str(one["reason"]) for one in mine[-1]["result"]["outcomes"] if one["reason"])


def test_beside_what_lies_where_the_receipt_belongs_nothing_is_made_or_taken_out(bed: Any) -> None:
    accounts = {what: bed.new_account("lrz") for what in SQUATTED}
    every = list(accounts.values())
    assert run(bed, "onboard.yml", every).code == 0
    for what, account in accounts.items():
        by_root(account, f"cd {account.home}; rm dss; {SQUATTED[what][0]}")
    before = {what: account.tree() for what, account in accounts.items()}
    onboarded, audited, offboarded = (run(bed, f"{name}.yml", every) for name in ("onboard", "audit", "offboard"))
    assert (onboarded.code, audited.code, offboarded.code) == (2, 2, 2)
    for what, account in accounts.items():
        for said in (reasons(onboarded, account), said_of_offboarding(offboarded, account)):
            assert SQUATTED[what][1] in said, what
            assert "waits for: receipt" in said, what
    assert audited.text.count("RUN-003") >= 1
    assert max(seconds(audited).values()) < SECONDS
    assert len(seconds(audited)) == len(every)
    assert {what: account.tree() for what, account in accounts.items()} == before


def test_no_pipe_is_waited_for_whatever_it_takes_the_place_of(bed: Any) -> None:
    account = bed.new_account("lrz")
    account.ssh("; ".join(f"mkdir -p $(dirname {one}); rm -f {one}; mkfifo {one}" for one in PIPES))
    settings = {account.name: {"vars": TOKENS}}
    ran = run(bed, "onboard.yml", [account], settings)
    assert ran.code == 2, ran.text
    assert "~/enroot/.credentials is a pipe, but keys are stored only in regular files" in reasons(ran, account)
    assert "~/.config/hpc.onboard/env.sh is a pipe" in reasons(ran, account)
    assert ran.statuses(account.name)["link ~/dss"] == "missing", "the rest is made"
    assert account.exists("dss")
    audit = run(bed, "audit.yml", [account], settings)
    assert audit.code == 2, audit.text
    assert "KEY-004" in audit.text
    assert seconds(audit)[account.name] < SECONDS


def test_a_mount_right_there_is_said_and_costs_its_own_only(bed: Any) -> None:
    accounts = {what: bed.new_account("lrz") for what in MOUNTED}
    every = list(accounts.values())
    assert run(bed, "onboard.yml", every).code == 0
    for what, account in accounts.items():
        by_root(account, f"cd {account.home}; mount --bind {MOUNTED[what]} {MOUNTED[what]}; rm dss")
    try:
        onboarded, offboarded = run(bed, "onboard.yml", every), run(bed, "offboard.yml", every)
        for what, account in accounts.items():
            said = said_of_offboarding(offboarded, account)
            assert "EBUSY): the path is in use" in said, what
            assert account.exists(MOUNTED[what]), what
            assert not account.exists("dss") or what == "the receipt", what
        assert "EBUSY): the path is in use" not in reasons(onboarded, accounts["its own folder"])
    finally:
        for what, account in accounts.items():
            by_root(account, f"umount {account.home}/{MOUNTED[what]}")
    again = run(bed, "offboard.yml", [accounts["the receipt"], accounts["a key"]])
    assert again.code == 0, again.text
    assert not accounts["the receipt"].exists(".config")
    assert not accounts["a key"].exists("enroot")


def contents(account: Any) -> dict[str, tuple[str, str]]:
    """What lies on an account, whenever it was last touched: a lock comes and goes."""
    return {path: (one.kind, one.content) for path, one in account.tree().items()}


def test_a_start_up_file_that_is_a_pipe_costs_what_needs_the_login_shell(bed: Any) -> None:
    account = bed.new_account("daint", files={".profile": b"", ".bash_profile": b""})
    account.ssh("rm -f .profile .bash_profile .bash_login; mkfifo .profile")
    ran = run(bed, "onboard.yml", [account])
    assert ran.code == 2, ran.text
    why = "the login shell would never end, because ~/.profile is a pipe. Rename this file, then run hpc-onboard again"
    assert why in reasons(ran, account)
    assert "ok" in ran.statuses(account.name).values() or "missing" in ran.statuses(account.name).values()
    audit = run(bed, "audit.yml", [account])
    assert audit.code == 2, audit.text
    assert "ENV-004" in audit.text
    assert seconds(audit)[account.name] < SECONDS


DEVICES = (RECEIPT, ".hpc.onboard.lock", "enroot/.credentials", ".netrc", ".profile")
"""Where we read or write, but for what bash reads itself when it starts; only root can make devices."""


@exhaustive  # ten accounts, onboarded twice
def test_no_device_is_read_whatever_it_takes_the_place_of(bed: Any) -> None:
    accounts = {kind: {place: bed.new_account("lrz") for place in DEVICES} for kind in ("c 1 5", "b 7 0")}
    every = [account for those in accounts.values() for account in those.values()]
    assert run(bed, "onboard.yml", every).code == 0
    for kind, those in accounts.items():
        for place, account in those.items():
            laid = f"rm -f {place}; mknod -m 666 {place} {kind}; chown {account.user} {place}"
            by_root(account, f"cd {account.home}; rm dss; {laid}")
    ran, audit = run(bed, "onboard.yml", every), run(bed, "audit.yml", every)
    assert ran.code == 2, ran.text
    assert max(seconds(audit).values()) < SECONDS
    assert len(seconds(audit)) == len(every)
    for those in accounts.values():
        for place, account in those.items():
            said = reasons(ran, account)
            assert place in (".netrc", ".profile") or place.split("/")[-1] in said, (place, said)
            holds_all = place in (RECEIPT, ".hpc.onboard.lock")  # nothing is made without them
            assert account.exists("dss") is not holds_all, (place, said)
            assert account.path(place, follow=False).lstat().st_rdev, "the device itself stays"


def test_a_foreign_folder_that_is_mounted_over_the_receipt_s_is_refused(bed: Any) -> None:
    """Empty, and with a receipt in it that somebody else has written."""
    accounts = {what: bed.new_account("lrz") for what in ("empty", "forged")}
    every = list(accounts.values())
    assert run(bed, "onboard.yml", every).code == 0
    for what, account in accounts.items():
        forged = f"echo '{{}}' > {account.home}/theirs/receipt.json" if what == "forged" else ":"
        theirs = f"mkdir theirs; {forged}; chown -R 4321 theirs; chmod 777 theirs; rm dss"
        by_root(account, f"cd {account.home}; {theirs}; mount --bind theirs {FOLDER}")
    try:
        before = {what: contents(account) for what, account in accounts.items()}
        onboarded, audited, offboarded = (run(bed, f"{name}.yml", every) for name in ("onboard", "audit", "offboard"))
        assert (onboarded.code, offboarded.code) == (2, 2)
        assert max(seconds(audited).values()) < SECONDS
        said = {"empty": "belongs to another user", "forged": "is not a regular file that you own"}
        for what, account in accounts.items():
            assert said[what] in reasons(onboarded, account), what
            assert "waits for: receipt" in reasons(onboarded, account), what
        assert {what: contents(account) for what, account in accounts.items()} == before
    finally:
        for account in every:
            by_root(account, f"umount {account.home}/{FOLDER}")
    assert run(bed, "offboard.yml", every).code == 0


def test_a_forged_note_takes_out_nothing_of_the_users(bed: Any) -> None:
    """What a note claims is compared with what is there, kind by kind."""
    files = {"mine": b"#!/bin/sh\n", ".netrc": b"machine a.io login me password mine\n"}
    account = bed.new_account("lrz", files=files)
    account.ssh("chmod 600 .netrc; mkdir -m 700 full; touch full/thesis; ln -s full link")
    assert run(bed, "onboard.yml", [account]).code == 0
    document = json.loads(account.read(RECEIPT))
    forged = {
        **{f"path_script script {path}": ("path_script", {"path": path}) for path in ("~/mine", "/etc/passwd")},
        "path_script script ~/../../etc/passwd": ("path_script", {"path": "~/../../etc/passwd"}),
        "storage_link link ~/link": ("storage_link", {"path": "~/link", "target": "/elsewhere"}),
        "netrc_entry netrc ~/.netrc: a.io": ("netrc_entry", {"path": "~/.netrc", "machine": "a.io"}),
        "directory folder ~/full": ("directory", {"path": "~/full"}),
        "conda_install conda ~/full": ("conda_install", {"prefix": "~/full", "distribution": "miniforge"}),
        "command rm ~/full": ("command", {"path": "~/full"}),
    }
    for key, (kind, options) in forged.items():
        identity = key.partition(" ")[2]
        note = {"kind": kind, "capability": "forged", "identity": identity, "options": options, "hashes": {"x": "y"}}
        note = {**note, "keyed": {}, "clusters": ["lrz"], "made": True, "state": "done", "for": ""}
        document["resources"][key] = note
    account.path(RECEIPT).write_text(json.dumps(document))
    audit = run(bed, "audit.yml", [account])
    assert "RUN-004" in audit.text, audit.text
    own = ("mine", ".netrc", "full", "link")
    before = {path: entry for path, entry in account.tree().items() if path.startswith(own)}
    ran = run(bed, "offboard.yml", [account])
    after = account.tree()
    assert {path: after.get(path) for path in before} == before, ran.text
    assert not account.exists("dss"), "what is ours has gone"


def test_a_forged_note_takes_out_nothing_of_another_user(bed: Any) -> None:
    """Start-up files by their absolute paths, and what lies in a folder where a group may write."""
    account = bed.new_account("lrz")
    shared, script = f"/var/tmp/{account.user}-group", "#!/bin/sh\n"
    texts = {"team.sh": "export TEAM=1\n", "run.sh": add_mark(script), "other/.bashrc": "export OTHER=1\n"}
    by_root(account, f"mkdir -p {shared}/other {shared}/empty; ln -s /tmp {shared}/link")
    for name, text in texts.items():
        by_root(
            account,
            f"cat > {shared}/{name} <<'END'\n{text}END\nchmod {755 if name == 'run.sh' else 644} {shared}/{name}",
        )
    by_root(account, f"chown -hR 4321 {shared}; chgrp -hR $(id -g {account.user}) {shared}")
    by_root(account, f"chown 0 {shared} {shared}/other; chmod 2775 {shared} {shared}/other {shared}/empty")
    assert run(bed, "onboard.yml", [account]).code == 0
    texts = {f"{shared}/{name}": text for name, text in texts.items()}
    texts["/etc/profile"] = account.ssh("cat /etc/profile").stdout
    document, notes = json.loads(account.read(RECEIPT)), []
    for path, text in texts.items():
        for kind, title in (("own_file", "file"), ("path_script", "script")):
            notes.append((kind, f"{title} {path}", {"path": path}, {"content": text, "mode": "0644"}))
    notes[3] = (*notes[3][:3], {"content": texts[f"{shared}/run.sh"], "mode": "0755"})
    place = {"path": f"{shared}/link", "target": "/tmp"}
    notes.append(("storage_link", f"link {shared}/link", place, {"target": "/tmp", "points to": "folder"}))
    notes.append(("directory", f"folder {shared}/empty", {"path": f"{shared}/empty"}, {"is": "folder"}))
    for kind, identity, options, left in notes:
        note = {
            "kind": kind,
            "capability": "forged",
            "identity": identity,
            "options": options,
            "hashes": hash_fields(left),
        }
        note = {**note, "keyed": {}, "clusters": ["lrz"], "made": True, "state": "done", "for": ""}
        document["resources"][f"{kind} {identity}"] = note
    account.path(RECEIPT).write_text(json.dumps(document))

    def there() -> str:
        return str(account.cluster.world.run("sh", "-ec", f"ls -lR {shared} /etc/profile; cat {' '.join(texts)}"))

    before = there()
    ran = run(bed, "offboard.yml", [account])
    assert there() == before, ran.text
    assert ran.code == 0, ran.text
    assert "because this resource has been changed since hpc-onboard wrote it" in " ".join(ran.text.split())
    assert not account.exists("dss"), "what is ours has gone"
