# SPDX-License-Identifier: GPL-3.0-or-later
"""The module of a kind in anybody's playbook: Ansible's own keywords mean what they mean for any module."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.vault import VaultLib, VaultSecret

from tests.integration.runs import KEY, Ran, play

pytestmark = pytest.mark.testbed

DAMAGED = "nvapi-CaN4rY damaged"
ENTRY = "hpc.onboard.netrc_entry"


def played(bed: Any, account: Any, tasks: list[dict[str, Any]], folder: Path, *more: Any, **keywords: Any) -> Ran:
    """Run these tasks on an account; each goes on after a failure."""
    playbook = folder / "mine.yml"
    every = [{"ignore_errors": True, **task} for task in tasks]
    plays = [{"hosts": account.name, "gather_facts": False, "tasks": every, **keywords}]
    playbook.write_text(yaml.safe_dump(plays, sort_keys=False))
    return play(bed, "-i", str(bed.accounts_file([account, *more])), playbook=str(playbook))


def test_keywords_of_a_task_mean_what_they_mean_for_any_module(bed: Any, tmp_path: Path) -> None:
    """On a cluster whose only Python is too old for modules."""
    account, other = (bed.new_account("wilson") for _ in range(2))
    password = {"password": "{{ my_key }}"}
    tasks = [
        {ENTRY: {"machine": "one.org"}, "check_mode": True, "diff": True},
        {ENTRY: {"machine": "{{ item }}"}, "loop": ["one.org", "two.org"]},
        {ENTRY: {"machine": "other.org"}, "delegate_to": other.name},
        {ENTRY: {"machine": "unseen.org"}, "no_log": True},
        {"hpc.onboard.directory": {"path": "~/b/c"}},
        {"hpc.onboard.directory": {"path": "~/made"}, "become": True},
        {"hpc.onboard.directory": {"path": "~/made"}, "delegate_to": "localhost"},
        {ENTRY: {"machine": "late.org"}, "async": 60, "poll": 0},
    ]
    ran = played(bed, account, tasks, tmp_path, other, vars={"my_key": KEY}, module_defaults={ENTRY: password})
    preview, looped, delegated, unseen, below, become, here, late = (one["result"] for one in ran.results)
    assert preview["changed"]
    assert "one.org" in preview["diff"][0]["before_header"]
    assert [one["changed"] for one in looped["results"]] == [True, True]
    assert b"one.org" in account.read(".netrc")
    assert b"two.org" in account.read(".netrc")
    assert delegated["changed"]
    assert b"other.org" in other.read(".netrc")
    assert b"other.org" not in account.read(".netrc")
    assert unseen["censored"]
    assert b"unseen.org" in account.read(".netrc")
    assert below["changed"]
    assert account.path(f"{account.home}/b/c").is_dir()
    assert become["msg"].startswith("hpc.onboard runs as the account's own user")
    assert here["msg"].startswith("delegate_to names this machine (localhost)")
    assert not account.path(f"{account.home}/made").exists()
    assert late["msg"] == f"This action ({ENTRY}) does not support async."
    assert KEY not in ran.text


def test_a_key_may_come_from_a_vault(bed: Any, tmp_path: Path) -> None:
    account = bed.new_account("dfki")
    secret = tmp_path / "vault-password"
    secret.write_text("open sesame")
    sealed = VaultLib([("default", VaultSecret(b"open sesame"))]).encrypt(KEY.encode()).decode()
    playbook = tmp_path / "mine.yml"
    playbook.write_text(
        "- hosts: accounts\n  gather_facts: false\n  tasks:\n    - hpc.onboard.token_file:\n"
        f"        password: !vault |\n{textwrap.indent(sealed, ' ' * 10)}\n"
    )
    files = str(bed.accounts_file([account]))
    ran = play(bed, "-i", files, "--vault-password-file", str(secret), "-vvv", playbook=str(playbook))
    assert ran.code == 0, ran.text[-2000:]
    assert KEY.encode() in account.read(".cache/huggingface/token")
    assert KEY not in ran.text


def test_what_is_wrong_with_an_argument_is_said_before_anything_is_sent(bed: Any, tmp_path: Path) -> None:
    account = bed.new_account("dfki")
    tasks: list[dict[str, Any]] = [
        {ENTRY: {"machine": "one.org", "pasword": "x"}},
        {ENTRY: {"password": "x"}},
        {ENTRY: {"machine": "one.org", "password": "x", "state": "here"}},
        {ENTRY: {"machine": "one.org", "password": "{{ damaged }}"}},
        {ENTRY: {"machine": "one.org", "password": "x", "fingerprint_key": "xyz"}},
        {"hpc.onboard.directory": {"path": "~/.ssh/x"}},
    ]
    before = account.sessions()
    ran = played(bed, account, tasks, tmp_path, vars={"damaged": DAMAGED})
    assert [one["result"]["msg"] for one in ran.results] == [
        'unknown key "pasword"; did you mean "password"?',
        "machine is missing; add it",
        "state must be one of present, absent; got here",
        "the key contains white space, such as a line break; copy and store the key again",
        "fingerprint_key is not hexadecimal. Write each byte as two digits (0-9, a-f)",
        "path: '~/.ssh/x' is not allowed, because hpc-onboard does not change .ssh",
    ]
    assert DAMAGED not in ran.text
    assert account.sessions() == before


def test_what_a_module_has_made_it_changes_and_what_a_hand_has_changed_it_leaves(bed: Any, tmp_path: Path) -> None:
    account = bed.new_account("dfki")
    file, link = "hpc.onboard.own_file", "hpc.onboard.storage_link"

    def results(content: str, target: str) -> list[Any]:
        tasks = [{file: {"path": "~/mine", "content": content}}, {link: {"path": "~/link", "target": target}}]
        return [one["result"] for one in played(bed, account, tasks, tmp_path).results]

    for content, target in (("one\n", "/usr"), ("two\n", "/var")):
        assert [one["changed"] for one in results(content, target)] == [True, True]
        assert account.read("mine").decode() == content
        assert account.ssh("readlink link").stdout.strip() == target
    account.ssh("echo by hand >> mine; ln -sfn /tmp link")
    assert [one["outcome"]["status"] for one in results("three\n", "/usr")] == ["blocked", "blocked"]
    assert account.read("mine") == b"two\nby hand\n"
    assert account.ssh("readlink link").stdout.strip() == "/tmp"


OTHERS, SECOND = "nvapi-" + "o" * 64, "nvapi-" + "s" * 64
KEY_MODULES: dict[str, tuple[dict[str, str], str, str]] = {  # options, the file, and its text around a key
    "netrc_entry": ({"machine": "one.org"}, ".netrc", "machine one.org login me password {}\n"),
    "enroot_credential": (
        {"machine": "nvcr.io", "path": "~/enroot/.credentials"},
        "enroot/.credentials",
        "machine nvcr.io login $oauthtoken password {}\n",
    ),
    "token_file": ({}, ".cache/huggingface/token", "{}"),
    "ngc_config": ({}, ".ngc/config", "[CURRENT]\napikey = {}\n"),
    "registry_auth": (
        {"registry": "nvcr.io", "path": "~/.docker/config.json"},
        ".docker/config.json",
        '{{"auths": {{"nvcr.io": {{"username": "$oauthtoken", "password": "{}"}}}}}}',
    ),
}


@pytest.mark.parametrize("kind", sorted(KEY_MODULES))
def test_a_key_that_is_not_its_own_a_module_replaces_by_consent_and_offboarding_puts_it_back(
    bed: Any, tmp_path: Path, kind: str
) -> None:
    options, file, text = KEY_MODULES[kind]
    account = bed.new_account("dfki")
    account.ssh(f"umask 077; mkdir -p $(dirname {file}); cat > {file}", text=text.format(OTHERS))
    before = account.read(file)

    def task(key: str, **more: Any) -> dict[str, Any]:
        return {f"hpc.onboard.{kind}": {**options, "password": key, **more}}

    tasks = [task(KEY), {**task(KEY), "check_mode": True}]
    refused, preview = (one["result"] for one in played(bed, account, tasks, tmp_path).results)
    assert refused["outcome"]["status"] == preview["outcome"]["status"] == "blocked"
    assert refused["outcome"]["evidence"]["unknown_key"]
    assert "To replace the key, set replace: true in the task" in refused["msg"]
    assert account.read(file) == before

    tasks = [task(KEY, replace=True), task(KEY), task(SECOND)]
    results = [one["result"] for one in played(bed, account, tasks, tmp_path).results]
    assert [one.get("changed") for one in results] == [True, False, True], results
    assert OTHERS not in account.ssh(f"cat {file}").stdout
    gone = play(bed, "-i", str(bed.accounts_file([account])), "-e", "offboard_sure=true", playbook="offboard.yml")
    assert gone.code == 0, gone.text
    assert account.read(file) == before
    assert OTHERS not in gone.text
