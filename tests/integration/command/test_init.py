# SPDX-License-Identifier: GPL-3.0-or-later
"""hpc-onboard init over real ssh settings: an empty home but for .ssh becomes an accounts file that every run takes."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pexpect
import pytest
import yaml

from tests.effort import turns
from tests.integration.command.person import Person
from tests.integration.onboard.test_code_login import ended
from tests.integration.runs import BACKEND, FileRing

pytestmark = [pytest.mark.testbed, turns(3)]


@pytest.fixture
def person(bed: Any, tmp_path: Path) -> Person:
    return Person(bed, tmp_path)


def entries(file: Path) -> Any:
    """What an accounts file says."""
    return yaml.safe_load(file.read_text(encoding="utf-8"))["accounts"]


def answer(run: pexpect.spawn[str], question: str, words: str) -> str:
    """Type words at a question; what stood before it."""
    run.expect(question)
    before = str(run.before) + str(run.after)
    run.expect_exact("> ")
    run.sendline(words)
    return before


def test_two_accounts_from_an_empty_home_to_an_onboarded_one(bed: Any, person: Person) -> None:
    dfki, lrz = bed.new_account("dfki"), bed.new_account("lrz")
    (person.ssh / "config").write_text("Include more/*\n", encoding="ascii")
    person.knows("serv-6404.kl.dfki.de", "dfki", f"User {dfki.user}", hashed=True)
    person.met("daint.alps.cscs.ch", "daint", hashed=True)
    (person.ssh / "more").mkdir()
    (person.ssh / "more" / "ai").write_text(
        f"Host ai-login\n  HostName {lrz.host}\n  User {lrz.user}\n  HostKeyAlias login.ai.lrz.de\n"
        f"Host lrz\n  HostName {lrz.host}\n  User {lrz.user}\n  HostKeyAlias login.ai.lrz.de\n",
        encoding="ascii",
    )
    person.met("login.ai.lrz.de", "lrz")
    area = f"/dss/dssfs04/lwp-dss-0002/{lrz.project}/{lrz.project}-dss-0000"
    run = person.at_terminal("init", **person.with_key())
    seen = answer(run, "Where do you have accounts", "2 3")
    assert "1  ?@daint " in seen
    assert "(daint.alps.cscs.ch in your known hosts)" in seen
    assert f"2  {dfki.name} " in seen
    assert f"3  {lrz.name} " in seen
    assert "(lrz in your ssh settings)" in seen
    assert "user name" not in seen, "ssh knows them"
    assert "dssusrinfo all" in answer(run, "storage area 'dss'(?s:.*)Press Enter to skip", "dss/x")
    answer(run, "is invalid(?s:.*)Press Enter to skip", area)
    answer(run, "Write this to ~/.config/hpc.onboard/accounts.yml", "")
    answer(run, "Check the login of each account now", "y")
    code, said = ended(run)
    assert code == 2, f"both sites ask the user for something: {said}"
    for one in (dfki, lrz):
        assert f"✗ {one.name} needs an interactive login" in said
    assert person.accounts.stat().st_mode & 0o777 == 0o600
    assert entries(person.accounts) == {
        lrz.name: {"ssh": "lrz", "storage": {"dss": area}},
        dfki.name: None,
    }
    assert max(map(len, seen.splitlines())) <= 80
    text = person.accounts.read_text()
    assert f"{dfki.name}:\n" in text
    person.accounts.write_text(text.replace(f"{dfki.name}:\n", f"{dfki.name}: {{auth: key}}\n"))
    onboarded = person.types("dfki", **person.with_key())
    assert onboarded.returncode == 0, onboarded.stdout + onboarded.stderr
    assert dfki.exists("data")


def test_what_is_there_already_is_offered_once_the_account_can_be_entered(bed: Any, person: Person) -> None:
    dfki = bed.new_account("dfki")
    person.knows("serv-6404.kl.dfki.de", "dfki")
    dfki.ssh(f"mkdir -p /data/{dfki.user}/hf/hub; echo export HF_HOME=/data/{dfki.user}/hf >> .bashrc")
    run = person.at_terminal("init", "--account", dfki.name, "--auth", "key", **person.with_key())
    answer(run, "Write this to", "")
    answer(run, "Check the login of each account now", "y")
    answer(run, "Check what you have already set up on the accounts", "y")
    run.expect_exact("stay unchanged. [y/N] ")
    run.sendline("y")
    assert ended(run)[0] == 0
    paths = {"huggingface": f"/data/{dfki.user}/hf"}
    assert entries(person.accounts) == {dfki.name: {"auth": "key", "tool_caches": {"paths": paths}}}


def test_all_answers_can_be_options_and_what_is_missing_is_said_at_once(bed: Any, person: Person) -> None:
    wilson = bed.new_account("wilson")
    person.knows("wc.fnal.gov", "wilson", f"User {wilson.user}")
    said = person.types("init").stderr
    assert wilson.name in said
    assert "Name each account with --account USER@CLUSTER" in said
    missing = person.types("init", "--account", "wilson", "--account", "lrz")
    assert missing.returncode == 2
    assert "--project NAME" in missing.stderr
    assert "--account USER@lrz" in missing.stderr
    assert not person.accounts.exists()
    ran = person.types(
        *("init", "--account", "wilson", "--project", "deep_lgt", "--account", "ada@dfki", "--without", "conda"),
        *("--auth", "ask", "--account", "ada@dfki_pegasus", "--jump-user", "ada01"),
        **person.with_key(),
    )
    assert ran.returncode == 2, ran.stdout + ran.stderr
    assert "the host name serv-6404.kl.dfki.de cannot be resolved" in " ".join(ran.stdout.split())
    assert wilson.logins() == 0, "nobody agreed to connect"
    assert entries(person.accounts) == {
        wilson.name: {"project": "deep_lgt"},
        "ada@dfki": {"without": ["conda"], "auth": "ask"},
        "ada@dfki_pegasus": {"jump_user": "ada01"},
    }


def test_what_is_there_is_added_to_and_never_written_over(bed: Any, person: Person) -> None:
    person.accounts.parent.mkdir(parents=True)
    person.accounts.write_text("plugin: hpc.onboard.accounts\naccounts:\n  ada@dfki:   # mine\n", encoding="utf-8")
    before = person.accounts.read_text(encoding="utf-8")
    for words in (["init"], ["init", "--account", "ada@lumi", "--project", "p"]):
        ran = person.types(*words)
        assert ran.returncode == 2
        assert "already exists" in ran.stderr
        assert "use --add" in ran.stderr
    twice = person.types("init", "--add", "--account", "ada@dfki")
    assert "is already in the accounts file" in twice.stderr
    assert person.accounts.read_text(encoding="utf-8") == before
    ran = person.types("init", "--add", "--account", "ada@lumi", "--project", "p", **person.with_key())
    assert person.accounts.read_text(encoding="utf-8").startswith(before), ran.stderr
    assert entries(person.accounts) == {"ada@dfki": None, "ada@lumi": {"project": "p"}}
    person.accounts.write_text("plugin: hpc.onboard.accounts\naccounts: {ada@dfki: }\n", encoding="utf-8")
    flat = person.types("init", "--add", "--account", "ada@lumi", "--project", "p")
    assert flat.returncode == 2
    assert "ada@lumi:\n    project: p" in flat.stderr
    broken = person.accounts.write_text("accounts: [", encoding="utf-8")
    assert broken
    assert (
        "accounts.yml:2: this is not valid YAML"
        in person.types("init", "--add", "--account", "ada@lumi", "--project", "p").stderr
    )


def test_no_repository_gets_it(bed: Any, person: Person) -> None:
    person.knows("serv-6404.kl.dfki.de", "dfki")
    tree = person.home / "tree"
    subprocess.run(["git", "init", "-q", str(tree)], check=True)
    words = ("init", "--account", "ada@dfki", "-o")
    ran = person.types(*words, str(tree / "my" / "accounts.yml"))
    assert ran.returncode == 2
    assert "would be in the git repository ~/tree" in ran.stderr
    assert not (tree / "my").exists()
    (tree / ".gitignore").write_text("accounts.yml\n")
    done = person.types(*words, str(tree / "accounts.yml"), **person.with_key())
    assert entries(tree / "accounts.yml") == {"ada@dfki": None}, done.stderr


QUESTIONS = ["Where do you have accounts", "user name on the cluster", "project, which is part of", "Write this to"]


@pytest.mark.parametrize("end", [3, pytest.param(4, marks=pytest.mark.exhaustive)])
def test_who_stops_anywhere_leaves_nothing_behind(bed: Any, person: Person, end: int) -> None:
    """end: the character that is typed, of Ctrl-C and Ctrl-D."""
    person.knows("wc.fnal.gov", "wilson")
    for number, _question in enumerate(QUESTIONS):
        run = person.at_terminal("init")
        for question, words in zip(QUESTIONS[:number], ("1", "ada", "deep_lgt", ""), strict=False):
            answer(run, question, words)
        run.expect(QUESTIONS[number])
        run.expect_exact("> ")
        run.send(chr(end))
        run.expect_exact("Nothing was written.")
        run.expect(pexpect.EOF)
        run.close()
        assert (run.exitstatus, run.signalstatus) in ((2, None), (None, 2), (130, None))
        assert sorted(one.name for one in person.home.iterdir()) == [".ssh"]
    run = person.at_terminal("init", **person.with_key())
    for question, words in zip(QUESTIONS, ("1", "ada", "deep_lgt", ""), strict=True):
        answer(run, question, words)
    run.expect("Check the login of each account now")
    run.expect_exact("> ")
    run.send(chr(end))
    run.expect_exact("was written. Continue with: ")
    run.expect(pexpect.EOF)
    assert entries(person.accounts) == {"ada@wilson": {"project": "deep_lgt"}}


def test_a_key_is_offered_where_a_cluster_takes_one_and_none_is_there(bed: Any, person: Person, tmp_path: Path) -> None:
    person.knows("serv-6404.kl.dfki.de", "dfki")
    person.knows("fir.alliancecan.ca", "dfki")
    (tmp_path / "key").mkdir()
    ring = FileRing(tmp_path / "key")
    missing = {**ring.env, "KEYRING_PROPERTY_FILE": str(tmp_path / "none")}
    for cluster, env, offered in (("dfki", missing, True), ("dfki", ring.env, False), ("fir", missing, False)):
        ran = person.types("init", "-o", str(tmp_path / f"{cluster}{offered}.yml"), "--account", f"a@{cluster}", **env)
        assert ("keyring set hpc.onboard ngc" in ran.stdout.partition("Checking this machine:")[0]) is offered, ran
        assert KEYS not in ran.stdout + ran.stderr


KEYS = "nvapi-"


def test_the_first_key_is_asked_for_unseen_and_a_slip_is_said_in_a_line(bed: Any, person: Person) -> None:
    person.knows("serv-6404.kl.dfki.de", "dfki", "User ada")
    ring = {"PYTHON_KEYRING_BACKEND": BACKEND, "KEYRING_PROPERTY_FILE": str(person.folder / "ring")}
    run = person.at_terminal("init", "--account", "dfki", **ring)
    answer(run, "Write this to", "")
    answer(run, r"Store\s+the\s+key\s+now", "y")
    typed = (("Your NGC key: ", f"{KEYS}short"), ("too short(?s:.*)Your NGC key: ", KEYS + "k" * 64))
    for question, words in (*typed, ("New passphrase.*: ", "correct horse"), ("Repeat the passphrase: ", "another")):
        run.expect(question)
        run.sendline(words)
    run.expect(r"not\s+stored: .*the\s+passphrases\s+differ")
    seen = str(run.before)
    assert "Traceback" not in seen
    assert KEYS not in seen
    assert "keyring set hpc.onboard ngc" in answer(run, "Check the login of each account now", "n")
    assert ended(run)[0] == 0
