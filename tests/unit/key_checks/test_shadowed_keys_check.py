# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables that go before a file that a role keeps, with the place where they are set."""

from __future__ import annotations

import pytest
from account_scene import HOME, Folder, Plain, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._core.account import Account
from ansible_collections.hpc.onboard.plugins.module_utils._engine import engine
from ansible_collections.hpc.onboard.plugins.module_utils._key_checks.shadowed_keys import ShadowedKeys
from audit_check_runs import complete_options, run_check

KEPT = {
    "ngc_config": ["~/.ngc/config"],
    "netrc_entry": ["~/.netrc"],
    "token_file": ["~/.cache/huggingface/token"],
    "registry_auth": ["~/.apptainer/docker-config.json"],
    "enroot_credential": ["~/.config/enroot/.credentials"],
}
VALUES = {
    "NGC_API_KEY": "~/.ngc/config",
    "NGC_CLI_API_KEY": "~/.ngc/config",
    "WANDB_API_KEY": "~/.netrc",
    "HF_TOKEN": "~/.cache/huggingface/token",
    "APPTAINER_DOCKER_PASSWORD": "~/.apptainer/docker-config.json",
    "SINGULARITY_DOCKER_USERNAME": "~/.apptainer/docker-config.json",
    "DOCKER_PASSWORD": "~/.apptainer/docker-config.json",
}
PATHS = {
    "NETRC": ("/data/netrc", "~/.netrc", f"{HOME}/.netrc"),
    "HF_HOME": ("/data/hf", "~/.cache/huggingface/token", f"{HOME}/.cache/huggingface"),
    "HF_TOKEN_PATH": ("/data/token", "~/.cache/huggingface/token", f"{HOME}/.cache/huggingface/token"),
    "XDG_CACHE_HOME": ("/data/cache", "~/.cache/huggingface/token", f"{HOME}/.cache/"),
    "APPTAINER_AUTHFILE": ("/data/a", "~/.apptainer/docker-config.json", f"{HOME}/.apptainer/docker-config.json"),
    "APPTAINER_CONFIGDIR": ("/data/a", "~/.apptainer/docker-config.json", f"{HOME}/.apptainer"),
    "ENROOT_CONFIG_PATH": ("/data/e", "~/.config/enroot/.credentials", f"{HOME}/.config/enroot"),
    "XDG_CONFIG_HOME": ("/data/c", "~/.config/enroot/.credentials", f"{HOME}/.config"),
}


@pytest.fixture
def kept(scene: Scene) -> Scene:
    """An account with all the files of keys that roles keep."""
    scene.run(
        {"kind": "enroot_credential", "machine": "nvcr.io", "password": "nvapi-x"},
        {"kind": "registry_auth", "registry": "nvcr.io", "password": "nvapi-x"},
        {"kind": "netrc_entry", "machine": "api.wandb.ai", "password": "x"},
        {"kind": "ngc_config", "password": "nvapi-x"},
        {"kind": "token_file", "password": "hf_x"},
        {"kind": "shell_environment", "section": "own", "variables": {"A": "1"}, "path": ["~/bin"]},
    )
    return scene


def found(scene: Scene, **environment: str) -> dict[str, str]:
    """Return what the check finds where the login shell has this environment."""
    scene.environment = environment
    report = run_check(scene, ShadowedKeys, kept=KEPT)
    assert "geheim" not in str(report.document)
    return report.found


def test_what_our_roles_have_just_set_up_is_no_finding(kept: Scene) -> None:
    assert found(kept) == found(kept, PATH="/bin", HF_HUB_CACHE="/data/x", NGC_API_KEY="") == {}


@pytest.mark.parametrize("name", VALUES)
def test_a_variable_with_a_key_goes_before_the_file(kept: Scene, name: str) -> None:
    ((place, text),) = found(kept, **{name: "geheim"}).items()
    assert place == f"SEC-008 ${name}"
    assert text.startswith(f"{name} overrides {VALUES[name]}")
    assert ("key " in text) == (not name.endswith("USERNAME"))


def test_a_value_that_is_not_utf_8_is_found_like_another(kept: Scene) -> None:
    assert list(found(kept, WANDB_API_KEY="geh\udce9im")) == ["SEC-008 $WANDB_API_KEY"]


@pytest.mark.parametrize("name", PATHS)
def test_a_variable_that_leads_elsewhere_goes_before_the_file(kept: Scene, name: str) -> None:
    elsewhere, file, there = PATHS[name]
    assert found(kept, **{name: elsewhere}) == {f"SEC-008 ${name}": f"{name} points to a different file than {file}"}
    assert found(kept, **{name: there}) == {}


def test_the_first_variable_that_is_set_counts(kept: Scene) -> None:
    assert found(kept, HF_TOKEN_PATH=f"{HOME}/.cache/huggingface/token", HF_HOME="/data/hf") == {}


@pytest.mark.parametrize("value", ["$UNSET/hf", "hf", "~/hf"])
def test_a_value_that_is_no_path_hides_nothing_else(kept: Scene, value: str) -> None:
    assert list(found(kept, HF_HOME=value, NETRC="/data/netrc")) == ["SEC-008 $NETRC"]


def test_a_file_that_cannot_be_looked_at_hides_nothing_else(kept: Scene) -> None:
    kept.environment = {"NETRC": "/data/netrc"}
    report = run_check(kept, ShadowedKeys, kept={**KEPT, "token_file": ["/" + "x" * 300]})
    assert list(report.found) == ["SEC-008 $NETRC"]


def test_a_file_that_is_not_there_is_not_shadowed(scene: Scene) -> None:
    assert found(scene, NGC_API_KEY="geheim", HF_HOME="/data") == {}


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("~/.bashrc", "export NGC_API_KEY=geheim"),
        ("~/.bashrc", "[ -n x ] && export NGC_API_KEY=geheim"),
        ("~/.cshrc", "setenv NGC_API_KEY geheim"),
        ("~/.config/fish/config.fish", "set -gx NGC_API_KEY geheim"),
        ("~/.zshenv", "NGC_API_KEY=''; export NGC_API_KEY"),
        ("~/.config/fish/config.fish", "set --global --export NGC_API_KEY geheim"),
        ("~/.config/fish/config.fish", "test -n x; and set -x NGC_API_KEY geheim"),
        ("~/.pam_environment", "NGC_API_KEY DEFAULT=geheim"),
        ("~/.ssh/environment", "NGC_API_KEY=geheim"),
    ],
)
def test_an_export_that_a_login_shell_does_not_have_counts_with_its_line(kept: Scene, file: str, line: str) -> None:
    kept.make({"~/.config/fish": Folder(), "~/.ssh": Folder(0o700)})
    kept.make({file: Plain(f"# export NGC_API_KEY=no\n{line}\n".encode())})
    assert found(kept) == {f"SEC-008 {file}:2": "NGC_API_KEY overrides ~/.ngc/config"}


def test_an_export_in_a_file_that_a_start_up_file_reads_counts(kept: Scene) -> None:
    kept.make({"~/.bashrc": Plain(b". ~/.keys\n"), "~/.keys": Plain(b"export NGC_API_KEY=geheim\n")})
    assert found(kept) == {"SEC-008 ~/.keys:1": "NGC_API_KEY overrides ~/.ngc/config"}


def test_a_variable_that_is_set_and_not_exported_counts_when_the_environment_has_it(kept: Scene) -> None:
    kept.make({"~/.bashrc": Plain(b"\nHF_TOKEN=geheim\nHF_HOME=/data\n")})
    assert found(kept) == {}
    assert list(found(kept, HF_TOKEN="geheim")) == ["SEC-008 ~/.bashrc:2"]


def test_a_path_that_is_written_out_in_a_start_up_file_is_followed(kept: Scene) -> None:
    kept.make({"~/.bashrc": Plain(b'export HF_HOME="$HOME/hf"\nexport NETRC=$(x)\nexport ENROOT_CONFIG_PATH=$X/y\n')})
    assert found(kept) == {"SEC-008 ~/.bashrc:1": "HF_HOME points to a different file than ~/.cache/huggingface/token"}
    report = run_check(kept, ShadowedKeys, kept=KEPT)
    assert report.document["evidence"]["cases"] == {"SEC-008 ~/.bashrc:1": "leads_past"}


def test_a_login_shell_that_does_not_answer_is_said(kept: Scene) -> None:
    kept.make({"~/.bashrc": Plain(b"export NGC_API_KEY=geheim\n")})
    entry = {"kind": "shadowed_keys", "capability": "watch", "options": complete_options(ShadowedKeys, {"kept": KEPT})}
    plan = {"resources": [entry], "work": "examine", "fingerprint_key": "00" * 32}
    account = Account(str(kept.at("~")), "/no/such/shell")
    document = engine.WORKS["examine"](engine.make_task(plan, {"shadowed_keys": ShadowedKeys}, account)).outcomes[0]
    assert "SEC-008 ~/.bashrc:1" in document["before"]
    assert document["remarks"] == [
        "the login environment was not checked: the login shell /no/such/shell cannot be started."
        " Ask the site to set another login shell"
    ]


@pytest.mark.parametrize(("value", "fixes"), [("geheim-known-to-the-keyring", 1), ("geheim-of-another-issuer", 0)])
def test_only_a_variable_with_a_known_key_is_taken_out(kept: Scene, value: str, fixes: int) -> None:
    kept.make({"~/.bashrc": Plain(f"export WANDB_API_KEY={value}\n".encode())})
    kept.environment = {"WANDB_API_KEY": value}
    known = [kept.host().fingerprint("geheim-known-to-the-keyring")]
    evidence = run_check(kept, ShadowedKeys, kept=KEPT, known=known).document["evidence"]
    assert len(evidence.get("fixes", {})) == fixes
    assert list(evidence.get("cases", {}).values()) == ["unknown_key"] * (1 - fixes)


def test_a_path_with_an_unset_variable_hides_no_other_file(kept: Scene) -> None:
    kept.environment = {"NGC_API_KEY": "nvapi-y"}
    paths = {**KEPT, "token_file": ["$GONE/token"]}
    report = run_check(kept, ShadowedKeys, kept=paths)
    assert list(report.found) == ["SEC-008 $NGC_API_KEY"]
    assert [remark.partition(" (")[0] for remark in report.remarks] == ["not checked: $GONE/token"]
