# SPDX-License-Identifier: GPL-3.0-or-later
"""The tokens of wandb and Hugging Face, rotated over real accounts and judged by services that speak as theirs do."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.effort import turns
from tests.integration.runs import FileRing, Ran, onboard, play, seen_from
from tests.testbed.registry import Registry

pytestmark = [pytest.mark.testbed, turns(2)]
NETRC = (
    b"# mine\nmachine  a.example.org\tlogin ada\n\tpassword p-w   # of the lab\n\n\nmachine b.org login x password y\n"
)
SERVICES = {
    "wandb": (lambda: secrets.token_hex(20), "graphql", ".netrc", "https://wandb.ai/authorize"),
    "huggingface": (
        lambda: "hf_" + secrets.token_hex(17),
        "api/whoami-v2",
        ".cache/huggingface/token",
        "https://huggingface.co/settings/tokens",
    ),
}


STORED = ".cache/huggingface/stored_tokens"


def stored(token: str) -> str:
    """Tokens by name, as Hugging Face's program keeps them: this one, and another."""
    return f"[other]\nhf_token = hf_{'o' * 34}\n\n[work]\nhf_token = {token}\n"


def named_by_hugging_face(account: Any) -> str:
    """What Hugging Face's own program lists of the account's tokens, with a mark before the one in use."""
    own = {"HF_HOME": str(account.path(".cache/huggingface")), "PATH": "/usr/bin:/bin", "HF_HUB_OFFLINE": "1"}
    program = [str(Path(sys.executable).with_name("hf")), "auth", "list"]
    done = subprocess.run(program, env=own, text=True, capture_output=True, check=True)
    return " ".join(done.stdout.replace("|", " ").split())


@pytest.fixture
def registry(accounts: list[Any]) -> Iterator[Registry]:
    """The issuers, where this machine reaches them."""
    with Registry((seen_from(accounts[0]), "localhost"), listen="0.0.0.0") as made:
        yield made


@pytest.fixture
def accounts(bed: Any) -> list[Any]:
    """Two accounts of two clusters."""
    return [bed.new_account("lrz"), bed.new_account("dfki")]


@pytest.mark.parametrize("secret", SERVICES)
def test_a_token_is_rotated_and_all_else_in_its_file_stays(
    bed: Any, accounts: list[Any], registry: Registry, tmp_path: Path, secret: str
) -> None:
    make, question, file, page = SERVICES[secret]
    old, new = make(), make()
    for key in (old, new):
        registry.allow(key)
    ring = FileRing(tmp_path)
    assert ring.keyring("set", "hpc.onboard", secret, value=old).returncode == 0
    state = {"KEYRING_PROPERTY_PASSPHRASE_FILE": str(ring.passphrase_file), "XDG_STATE_HOME": str(tmp_path / "state")}
    environment = {**ring.env, **state}
    settings = {account.name: {"tokens": {"programs": [{"program": secret}]}} for account in accounts}
    for account in accounts:
        account.ssh("cat > ~/.netrc && chmod 600 ~/.netrc", text=NETRC.decode())
        if secret == "huggingface":
            account.ssh(f"mkdir -p -m 700 .cache/huggingface && cat > {STORED} && chmod 600 {STORED}", text=stored(old))
    assert onboard(bed, *accounts, settings=settings, environment=environment).code == 0
    assert all(old.encode() in account.read(file) for account in accounts)

    def rotate(**wishes: Any) -> Ran:
        given = {
            "secret": secret,
            "rotate_issuer": f"https://{registry.address}/{question}",
            "rotate_ca_file": str(registry.ca_file),
            **wishes,
        }
        order = ["-i", str(bed.accounts_file(accounts, settings=settings)), "-e", json.dumps(given)]
        return play(bed, *order, playbook="rotate.yml", environment=environment)

    key_file = tmp_path / "new"
    key_file.touch(0o600)
    key_file.write_text(make())
    bad = rotate(rotate_key_file=str(key_file))
    assert bad.code == 2
    assert "does not accept the key" in " ".join(bad.text.split())
    key_file.write_text(new)
    ran = rotate(rotate_key_file=str(key_file))
    print(ran.text)
    assert ran.code == 0, ran.text
    assert page in ran.text
    assert f"rotate.yml -e secret={secret} -e rotate_retired=true" in " ".join(ran.text.replace("\\\n", "").split())
    for account in accounts:
        assert new.encode() in account.read(file)
        assert old.encode() not in account.read(file)
        assert NETRC in account.read(".netrc")
    if secret == "huggingface":
        assert all(account.read(STORED).decode() == stored(new) for account in accounts)
        assert all("* work" in named_by_hugging_face(account) for account in accounts)
    registry.revoke(old)
    ended = rotate(rotate_retired=True)
    print(ended.text)
    assert ended.code == 0, ended.text
    assert "nothing is left to do" in " ".join(ended.text.split())
    assert ring.keyring("get", "hpc.onboard", secret).stdout.strip() == ""
    if secret == "huggingface":
        order = ("-i", str(bed.accounts_file(accounts, settings=settings)), "-e", "offboard_sure=true")
        gone = play(bed, *order, playbook="offboard.yml", environment=environment)
        assert gone.code == 0, gone.text
        assert all(account.read(STORED).decode() == stored("") for account in accounts)
        assert all("other" in named_by_hugging_face(account) for account in accounts), "the program reads the rest"
    assert not any(key in ran.text + ended.text + bad.text for key in (old, new))
