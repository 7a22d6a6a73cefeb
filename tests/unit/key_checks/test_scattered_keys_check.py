# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys in start-up files, histories, scripts, files under git and copies: found, named, and never shown."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from account_scene import KEY, Folder, Link, Plain, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._core.account import Account
from ansible_collections.hpc.onboard.plugins.module_utils._core.host import Host
from ansible_collections.hpc.onboard.plugins.module_utils._core.values import FORMER
from ansible_collections.hpc.onboard.plugins.module_utils._key_checks.scattered_keys import ScatteredKeys
from ansible_collections.hpc.onboard.plugins.module_utils._scan.misplaced_keys import SHOWN, MisplacedKeys
from ansible_collections.hpc.onboard.plugins.module_utils._scan.search import Search
from audit_check_runs import CheckReport, run_check
from forked import NOBODY, as_nobody

from tests.effort import turns

pytestmark = turns(3)

NVAPI = "nvapi-" + hashlib.sha256(b"one").hexdigest()
OTHER = "nvapi-" + hashlib.sha256(b"other").hexdigest()
HF = "hf_" + hashlib.sha256(b"hf").hexdigest()[:34]
CREDENTIALS = "~/.config/enroot/.credentials"
ENROOT = {"~/.config": Folder(), "~/.config/enroot": Folder(0o700)}


def looked(scene: Scene, **options: Any) -> CheckReport:
    """Return what the check finds; no key is in it."""
    report = run_check(scene, ScatteredKeys, **options)
    for key in (NVAPI, OTHER, HF):
        assert key not in str(report.document)
    return report


def mark(scene: Scene, key: str) -> str:
    """The fingerprint of a key on the account."""
    return scene.host().fingerprint(key)


def line(key: str, name: str = "WANDB_API_KEY") -> Plain:
    """A file with one line of a shell that exports a key."""
    return Plain(f"export {name}={key}\n".encode())


def git(scene: Scene, folder: str, *words: str) -> None:
    """Run git in a folder of the account."""
    identity = ["-c", "user.name=s", "-c", "user.email=s@x", "-c", "safe.directory=*"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(scene.at("~"))}
    subprocess.run(["git", *identity, *words], cwd=scene.at(folder), check=True, capture_output=True, env=environment)


def test_a_key_in_a_start_up_file_is_found_with_its_line(scene: Scene) -> None:
    scene.make({"~/.bashrc": Plain(f"# hi\nexport NGC_API_KEY={NVAPI}\n".encode())})
    report = looked(scene)
    assert report.found == {
        "SEC-004 ~/.bashrc:2": f"an NGC personal or service key is in this file ({mark(scene, NVAPI)})",
    }
    assert report.remarks == []


def test_a_key_in_a_file_that_is_too_large_to_be_edited_is_found_with_all_others(scene: Scene) -> None:
    large = f"export NGC_API_KEY={NVAPI}\n".encode() + b"# padding\n" * 500_000
    scene.make({"~/.bashrc": Plain(large), "~/.profile": line(OTHER)})
    assert list(looked(scene).found) == ["SEC-004 ~/.bashrc:1", "SEC-004 ~/.profile:1"]


def test_what_hpc_onboard_keeps_for_offboarding_is_not_scattered(scene: Scene) -> None:
    folders = {folder: Folder(0o700) for folder in ("~/.config", "~/.config/hpc.onboard", f"~/{FORMER}")}
    scene.make({**folders, f"~/{FORMER}/0123456789abcdef": line(NVAPI), "~/.config/hpc.onboard/mine": line(NVAPI)})
    assert list(looked(scene, known={mark(scene, NVAPI): "The key of 'ngc'"}).found) == [
        "SEC-004 ~/.config/hpc.onboard/mine:1",
    ]


def test_every_place_of_a_home_is_looked_at(scene: Scene) -> None:
    folders = ["~/.config", "~/.config/fish", "~/.config/fish/conf.d", "~/.config/environment.d", "~/jobs"]
    files = {
        "~/.profile": 1,
        "~/.zshrc": 1,
        "~/.cshrc": 1,
        "~/.config/fish/config.fish": 1,
        "~/.config/fish/conf.d/keys.fish": 1,
        "~/.config/environment.d/keys.conf": 1,
        "~/.bash_history": 1,
        "~/.python_history": 1,
        "~/run.sh": 1,
        "~/jobs/train.sbatch": 1,
        "~/jobs/.env": 1,
    }
    scene.make({folder: Folder() for folder in folders} | dict.fromkeys(files, line(NVAPI)))
    assert sorted(looked(scene).found) == sorted(f"SEC-004 {file}:1" for file in files)


def test_a_key_that_is_known_is_called_by_name(scene: Scene) -> None:
    scene.make({"~/.bashrc": line("another-form-of-key-0123")})
    known = {mark(scene, "another-form-of-key-0123"): "a replaced key of 'ngc'"}
    found = looked(scene, known=known).found
    assert list(found) == ["SEC-004 ~/.bashrc:1"]
    assert found["SEC-004 ~/.bashrc:1"].startswith("a replaced key of 'ngc' is in this file (key ")
    assert looked(scene).found == {}


def test_a_key_that_stands_often_is_said_once_for_a_file(scene: Scene) -> None:
    scene.make({"~/.bash_history": Plain(f"ls\nx {NVAPI}\n{NVAPI} {HF}\n{NVAPI}\n".encode())})
    found = looked(scene).found
    assert list(found) == ["SEC-004 ~/.bash_history:2", "SEC-004 ~/.bash_history:3"]
    assert " is on this line and on 2 more lines (key " in found["SEC-004 ~/.bash_history:2"]


def test_two_keys_on_a_line_are_both_said(scene: Scene) -> None:
    scene.make({"~/.bash_history": Plain(f"x {NVAPI} {HF}\n".encode())})
    (text,) = looked(scene).found.values()
    assert mark(scene, NVAPI) in text
    assert mark(scene, HF) in text


def test_what_a_start_up_file_reads_is_looked_at_too(scene: Scene) -> None:
    scene.make(
        {
            "~/.bashrc": Plain(b"[ -f ~/.keys ] && . ~/.keys\nsource $HOME/more # x\nsource /etc/profile\n. $(x)\n"),
            "~/.keys": line(NVAPI),
            "~/more": line(HF),
        }
    )
    assert list(looked(scene).found) == ["SEC-004 ~/.keys:1", "SEC-004 ~/more:1"]


def test_a_start_up_file_that_is_a_link_in_the_home_is_followed_once(scene: Scene) -> None:
    scene.make({"~/dots": Folder(), "~/dots/rc.sh": line(NVAPI), "~/.bashrc": Link("~/dots/rc.sh")})
    assert list(looked(scene).found) == ["SEC-004 ~/.bashrc:1"]


def test_what_lies_outside_of_the_account_is_not_read(scene: Scene) -> None:
    scene.make({"/other": Folder(), "/other/rc.sh": line(NVAPI), "~/.bashrc": Link("/other/rc.sh")})
    scene.make({"~/.zshrc": Plain(b"source /other/rc.sh\n"), "~/dir": Link("/other")})
    assert looked(scene).found == {}


def test_an_area_of_its_own_is_looked_through_for_scripts_and_texts_alone(scene: Scene) -> None:
    scene.make({"/data": Folder(), "/data/job.slurm": line(NVAPI), "/data/x.txt": line(NVAPI)})
    scene.make({"~/.bashrc": line(NVAPI), "/data/x.dat": line(NVAPI), "/data/frames": line(NVAPI)})
    scene.make({"/data/run_a": line(NVAPI), "/data/id_rsa": line(NVAPI)})
    names = ("id_rsa", "job.slurm", "run_a", "x.txt")
    assert list(looked(scene, folder="/data").found) == [f"SEC-004 /data/{name}:1" for name in names]


def test_what_our_roles_have_just_set_up_is_no_finding(scene: Scene) -> None:
    scene.run(
        {"kind": "enroot_credential", "machine": "nvcr.io", "password": NVAPI},
        {"kind": "registry_auth", "registry": "nvcr.io", "password": NVAPI},
        {"kind": "netrc_entry", "machine": "api.wandb.ai", "password": "0123456789" * 4},
        {"kind": "ngc_config", "password": NVAPI},
        {"kind": "token_file", "password": HF},
        {"kind": "shell_environment", "section": "own", "variables": {"HF_HOME": "/data/hf"}, "path": ["~/bin"]},
        {"kind": "path_script", "path": "~/bin/x.sh", "content": "#!/bin/sh\necho hi\n"},
    )
    own = [CREDENTIALS, "~/.apptainer/docker-config.json", "~/.netrc", "~/.ngc/config", "~/.cache/huggingface/token"]
    assert looked(scene, own=own) == ({}, [], looked(scene, own=own).document)
    assert looked(scene).found == {}


# -- any text --------------------------------------------------------------------------------------

KEY_LINE = f"x = '{NVAPI}'\n".encode()
TEXTS = {  # file -> content, and the line of the key
    "~/notes": (b"\n" + KEY_LINE, 2),
    "~/p/explore.ipynb": (b'{"source": ["import x\\n",\n "k = \\"' + NVAPI.encode() + b'\\"\\n"]}', 2),
    "~/p/.git/config": (f"[remote]\n\turl = https://me:{NVAPI}@x/y\n".encode(), 2),
    "~/.local/share/app/deep/cache/state.json": (b'{"t": "' + NVAPI.encode() + b'"}', 1),
    "~/logs/slurm-1.out": (b"+ set -x\r\n+ export " + KEY_LINE, 2),
    "~/odd": (b"\xff\xfe\x80caf\xe9 " + KEY_LINE, 1),
    "~/windows.txt": ("\ufeff\r\n".encode("utf-16-le") + KEY_LINE.decode().encode("utf-16-le"), 2),
    "~/.config/x/history.sqlite": (b"SQLite format 3\0" + b"\0" * 9000 + KEY_LINE, 1),
    "~/p/.main.py.swp": (b"b0VIM 9.0" + b"\0" * 9000 + KEY_LINE, 1),
    "~/p/0001.patch": (b"@@ -1 +1 @@\n-" + KEY_LINE, 2),
}


@pytest.mark.parametrize("path", TEXTS)
def test_a_key_in_any_text_of_the_home_is_found_with_its_line(scene: Scene, path: str) -> None:
    content, number = TEXTS[path]
    scene.at(path).parent.mkdir(parents=True, exist_ok=True)
    scene.make({path: Plain(content)})
    report = looked(scene)
    assert (list(report.found), report.remarks) == ([f"SEC-004 {path}:{number}"], [])
    if path != "~/windows.txt":
        scene.make({path: Plain(content.replace(b"\n", b" # hpc.onboard:allow\n") + b" hpc.onboard:allow")})
        assert looked(scene).found == {}


def test_a_key_of_a_test_or_an_example_is_an_information_unless_it_is_known(scene: Scene) -> None:
    scene.make({folder: Folder() for folder in ("~/p", "~/p/Tests", "~/docs", "~/p/.git")})
    scene.make({"~/p/Tests/a.py": Plain(KEY_LINE), "~/docs/b.md": Plain(KEY_LINE), "~/p/test.py": Plain(KEY_LINE)})
    assert sorted(looked(scene).found) == ["SEC-004 ~/p/test.py:1", "SEC-011 ~/docs/b.md:1", "SEC-011 ~/p/Tests/a.py:1"]
    git(scene, "~/p", "init", "-q")
    git(scene, "~/p", "add", "Tests/a.py")
    assert "SEC-011 ~/p/Tests/a.py:1" in looked(scene).found
    found = looked(scene, known={mark(scene, NVAPI): "the key of 'ngc'"}).found
    assert sorted(found) == ["SEC-004 ~/docs/b.md:1", "SEC-004 ~/p/test.py:1", "SEC-005 ~/p/Tests/a.py:1"]


def test_a_program_keeps_its_keys_and_ssh_its_private_keys_where_they_belong(scene: Scene) -> None:
    scene.make({"~/.ssh": Folder(0o700), "~/.config": Folder(), "~/.config/gh": Folder(), "~/old": Folder()})
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(scene.at("~/.ssh/id"))], check=True)
    scene.make({"~/.config/gh/hosts.yml": Plain(KEY_LINE, 0o600)})
    assert looked(scene).found == {}
    scene.at("~/.ssh/id").rename(scene.at("~/old/id"))
    scene.make({"~/.ssh/config": Plain(b"# " + KEY_LINE)})
    assert list(looked(scene).found) == ["SEC-004 ~/.ssh/config:1", "SEC-004 ~/old/id:1"]


def test_a_file_of_a_role_or_a_program_that_is_a_link_stays_where_it_belongs(scene: Scene) -> None:
    scene.make({"~/dots": Folder(), "~/dots/netrc": Plain(NETRC, 0o600), "~/.netrc": Link("~/dots/netrc")})
    scene.make({"~/dots/npmrc": Plain(KEY_LINE, 0o600), "~/.npmrc": Link("~/dots/npmrc")})
    assert looked(scene, own=["~/.netrc"]).found == {}


def test_many_keys_of_tests_do_not_hide_another(scene: Scene) -> None:
    scene.make({"~/a": Folder(), "~/a/tests": Folder(), "~/z": Folder(), "~/z/z": Folder(), "~/z/z/z": Plain(KEY_LINE)})
    scene.make({f"~/a/tests/{number}.py": Plain(KEY_LINE) for number in range(250)})
    report = looked(scene)
    assert [one for one in report.found if "tests" not in one] == ["SEC-004 ~/z/z/z:1"]
    assert (len(report.found), report.remarks) == (21, ["not checked: ~ (more than 20 keys in tests and examples)"])


def test_many_keys_that_the_user_accepts_do_not_hide_another(scene: Scene) -> None:
    keys = ["nvapi-" + hashlib.sha256(b"%d" % number).hexdigest() for number in range(SHOWN + 1)]
    scene.make({"~/a": Plain("".join(f"{key} # hpc.onboard:allow\n" for key in keys).encode()), "~/b": Plain(KEY_LINE)})
    assert list(looked(scene).found) == ["SEC-004 ~/b:1"]


@pytest.mark.parametrize("name", ["a.py", "a.yml", "run", "notes.md"])
def test_what_is_no_shell_script_is_never_edited(scene: Scene, name: str) -> None:
    scene.make({"~/.netrc": Plain(NETRC, 0o600)})
    assert offered(scene, f"~/jobs/{name}", NVAPI) == ([], [])
    assert offered(scene, f"~/jobs/{name}", OTHER) == ([], ["unknown_key"])


# -- git -------------------------------------------------------------------------------------------


def test_a_key_in_a_file_that_git_keeps_is_worse(scene: Scene) -> None:
    scene.make({"~/p": Folder(), "~/p/a.sh": line(NVAPI), "~/p/b.sh": line(HF), "~/p/conf.yml": line(OTHER)})
    scene.make({"~/p/notes.txt": line(OTHER), "~/p/sub": Folder(), "~/p/sub/t.py": line(HF)})
    git(scene, "~/p", "init", "-q")
    git(scene, "~/p", "add", "a.sh", "conf.yml", "sub/t.py")
    found = looked(scene).found
    assert sorted(found) == [
        "SEC-004 ~/p/b.sh:1",
        "SEC-004 ~/p/notes.txt:1",
        "SEC-005 ~/p/a.sh:1",
        "SEC-005 ~/p/conf.yml:1",
        "SEC-005 ~/p/sub/t.py:1",
    ]
    assert found["SEC-005 ~/p/a.sh:1"].endswith("; Git tracks the file")


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_every_index_of_git_is_read(scene: Scene, version: str) -> None:
    scene.make({"~/p": Folder()} | {f"~/p/{'n' * n}.sh": line(NVAPI) for n in range(1, 20)})
    git(scene, "~/p", "init", "-q")
    git(scene, "~/p", "add", ".")
    if version == "3":
        scene.make({"~/p/later.sh": line(NVAPI)})
        git(scene, "~/p", "add", "-N", "later.sh")
    git(scene, "~/p", "update-index", "--index-version", version)
    assert scene.at("~/p/.git/index").read_bytes()[7] == int(version)
    found = looked(scene).found
    assert len(found) == 20 if version == "3" else 19
    assert all(one.startswith("SEC-005") for one in found)


def test_a_file_of_ours_that_git_keeps_is_said(scene: Scene) -> None:
    scene.make({**ENROOT, CREDENTIALS: Plain(f"machine nvcr.io login $oauthtoken password {NVAPI}\n".encode(), 0o600)})
    git(scene, "~", "init", "-q")
    assert looked(scene, own=[CREDENTIALS]).found == {}
    git(scene, "~", "add", ".config/enroot/.credentials")
    assert list(looked(scene, own=[CREDENTIALS]).found) == [f"SEC-005 {CREDENTIALS}:1"]


def test_a_git_folder_without_a_working_tree_keeps_files_of_the_home(scene: Scene) -> None:
    scene.make({"~/.bashrc": line(NVAPI)})
    git(scene, "~", "init", "-q", "--bare", ".dotfiles")
    git(scene, "~", "--git-dir=.dotfiles", "--work-tree=.", "add", ".bashrc")
    assert list(looked(scene).found) == ["SEC-005 ~/.bashrc:1"]


@pytest.mark.parametrize("content", [b"", b"DIRC\0\0\0\2\0\0\0\xff", b"DIRC\0\0\0\4\0\0\0\2" + b"\xff" * 70])
def test_an_index_that_cannot_be_read_is_said(scene: Scene, content: bytes) -> None:
    scene.make({"~/p": Folder(), "~/p/.git": Folder(), "~/p/.git/index": Plain(content), "~/p/a.sh": line(NVAPI)})
    report = looked(scene)
    assert list(report.found) == ["SEC-004 ~/p/a.sh:1"]
    assert report.remarks == ["not checked: ~/p/.git (the git index cannot be read)"]


# -- replaced keys in key files ----------------------------------------------------------------------


def replaced_key_options(scene: Scene) -> dict[str, Any]:
    """The options of the check after NVAPI was replaced by OTHER."""
    old, new = mark(scene, NVAPI), mark(scene, OTHER)
    known = {old: "a replaced key of 'ngc'", new: "the key of 'ngc'"}
    return {"own": [CREDENTIALS], "known": known, "secrets": dict.fromkeys(known, "ngc"), "replaced": [old]}


def test_a_replaced_key_in_other_lines_of_a_key_file_is_found(scene: Scene) -> None:
    entry = "machine {} login $oauthtoken password {}\n"
    text = entry.format("nvcr.io", OTHER) + entry.format("helm.ngc.nvidia.com", NVAPI) + f"# {NVAPI}\n"
    scene.make({**ENROOT, CREDENTIALS: Plain(text.encode(), 0o600), "~/.docker": Folder(), "~/.ngc": Folder()})
    login = base64.b64encode(f"$oauthtoken:{NVAPI}".encode()).decode()
    scene.make({"~/.docker/config.json": Plain(login.encode(), 0o600), "~/.netrc": Plain(f"# {NVAPI}".encode(), 0o600)})
    scene.make({"~/.ngc/config": Plain(f"# {OTHER}\napikey = {NVAPI}\n".encode(), 0o600)})
    report = looked(scene, **replaced_key_options(scene))
    places = [f"{CREDENTIALS}:2", "~/.docker/config.json:1", "~/.netrc:1", "~/.ngc/config:2"]
    assert list(report.found) == [f"KEY-002 {place}" for place in places]
    assert report.found[f"KEY-002 {CREDENTIALS}:2"].startswith("a replaced key of 'ngc' is on this line and on 1 more")
    assert report.document["evidence"] == {}


@pytest.mark.parametrize("keys", [[NVAPI], [HF], [OTHER, HF], [NVAPI, NVAPI]])
def test_a_key_file_whose_key_was_not_replaced_yet_is_left_to_its_role(scene: Scene, keys: list[str]) -> None:
    text = "".join(f"machine {number}.io login x password {key}\n" for number, key in enumerate(keys))
    scene.make({**ENROOT, CREDENTIALS: Plain(text.encode(), 0o600)})
    assert looked(scene, **replaced_key_options(scene)).found == {}


def test_a_current_key_in_a_key_file_of_a_program_is_at_its_place(scene: Scene) -> None:
    scene.make({"~/.netrc": Plain(f"machine x login y password {OTHER}\n".encode(), 0o600)})
    assert looked(scene, **replaced_key_options(scene)).found == {}


# -- copies and stores -----------------------------------------------------------------------------

COPIES = [
    "~/.config/enroot/.credentials.bak",
    "~/.config/enroot/.credentials~",
    "~/.config/enroot/.credentials.swp",
    "~/.config/enroot/.credentials.orig",
    "~/.bashrc.save",
    "~/.netrc-old",
    "~/netrc.bak",
    "~/old.netrc",
    "~/Copy of .bashrc",
    "~/.netrc.dpkg-old",
    "~/.bashrcOLD",
]


@pytest.mark.parametrize("path", COPIES)
def test_a_copy_with_a_key_is_found(scene: Scene, path: str) -> None:
    scene.make({**ENROOT, path: line(NVAPI)})
    assert list(looked(scene, own=[CREDENTIALS]).found) == [f"SEC-006 {path}:1"]


VARIANTS = ["~/.bashrc-hpc", "~/.bashrc_cluster", "~/.netrc-jobs", "~/.config/enroot/.credentials-mine"]


@pytest.mark.parametrize("path", VARIANTS)
def test_a_file_that_only_begins_like_a_key_file_is_no_copy_and_is_never_changed(scene: Scene, path: str) -> None:
    scene.make({**ENROOT, "~/.netrc": Plain(NETRC, 0o600), path: Plain(NETRC)})
    marks = {mark(scene, NVAPI): "the key of 'wandb'"}
    options = {"own": ["~/.netrc", CREDENTIALS], "kept": KEPT, "known": marks, "secrets": dict.fromkeys(marks, "wandb")}
    report = looked(scene, **options)
    text = f"the key of 'wandb' is in this file ({mark(scene, NVAPI)}); a rotation does not replace it in this file"
    assert report.found == {f"SEC-004 {path}:1": text}
    assert "fixes" not in report.document["evidence"]


def test_a_variant_with_a_password_of_another_kind_is_found(scene: Scene) -> None:
    scene.make({"~/.netrc_work": Plain(b"machine x login me password geheim\n")})
    assert looked(scene).found == {
        "SEC-004 ~/.netrc_work": "this file, named like a key file, contains a password or a login; a rotation does"
        " not replace it in this file"
    }


def test_a_copy_that_a_script_mentions_is_reported_with_the_script_and_not_fixed(scene: Scene) -> None:
    scene.make({"~/.netrc": Plain(NETRC, 0o600), "~/.netrc.old": Plain(NETRC, 0o600), "~/jobs": Folder()})
    marks = {mark(scene, NVAPI): "the key of 'wandb'"}
    options = {"own": ["~/.netrc"], "known": marks, "secrets": dict.fromkeys(marks, "wandb")}
    assert len(looked(scene, **options).document["evidence"]["fixes"]) == 1
    scene.make({"~/jobs/a.sh": Plain(b"export NETRC=~/.netrc.old\n")})
    report = looked(scene, **options)
    (text,) = report.found.values()
    assert text.endswith("; ~/jobs/a.sh mentions ~/.netrc.old, which may be in use")
    assert report.document["evidence"] == {"cases": {"SEC-006 ~/.netrc.old:1": "in_use"}}


def test_a_copy_with_a_password_of_another_kind_is_found(scene: Scene) -> None:
    scene.make({"~/.netrc.bak": Plain(b"machine x login me password geheim\n")})
    scene.make({"~/.bashrc.bak": Plain(b"# the password is: geheim, login me\n")})
    assert list(looked(scene).found) == ["SEC-006 ~/.netrc.bak"]


@pytest.mark.parametrize(
    ("name", "text", "is_found"),
    [
        (".git-credentials.bak", "https://me:geheim@x\n", True),
        (".pgpass~", "db:5432:all:me:geheim\n", True),
        (".my.cnf.old", "[client]\npassword=geheim\n", True),
        (".npmrc.bak", "//x/:_authToken=geheim\n", True),
        (".npmrc.bak", "//x/:_authToken=${TOKEN}\n; _authToken=geheim\n", False),
        (".netrc.bak", "machine x login me password <password>\n", False),
    ],
)
def test_a_copy_of_each_kind_of_key_file_is_read(scene: Scene, name: str, text: str, is_found: bool) -> None:
    scene.make({f"~/{name}": Plain(text.encode())})
    assert list(looked(scene).found) == [f"SEC-006 ~/{name}"] * is_found


def test_a_copy_without_a_key_and_the_copy_that_the_ngc_program_keeps_are_none(scene: Scene) -> None:
    scene.make({"~/.ngc": Folder(0o700), "~/.ngc/config.BAK": line(NVAPI), "~/.bashrc~": Plain(b"ls\n")})
    assert looked(scene, own=["~/.ngc/config", "~/.ngc/config.BAK"]).found == {}
    assert list(looked(scene).found) == ["SEC-006 ~/.ngc/config.BAK:1"]


def test_a_draft_of_a_killed_run_is_called_one(scene: Scene) -> None:
    scene.make({**ENROOT, "~/.config/enroot/..credentials.hpc.onboard-draft": line(NVAPI)})
    found = looked(scene, own=[CREDENTIALS]).found
    place = "SEC-006 ~/.config/enroot/..credentials.hpc.onboard-draft"
    assert found == {place: "a killed run of hpc-onboard left this draft of a file with a key"}


def test_enroots_store_of_tokens_is_found_and_an_empty_one_is_none(scene: Scene) -> None:
    scene.make({"/data": Folder(), "/data/.tokens.1000": Folder(0o700), "/data/.tokens.2": Folder(0o700)})
    scene.make({"/data/.tokens.1000/abc": Plain(b"token", 0o600)})
    assert looked(scene, caches=["/data", "/nowhere"]).found == {}, "it is for the look at that area"
    assert list(looked(scene, folder="/data", caches=["/data"]).found) == ["SEC-009 /data/.tokens.1000"]
    scene.make({"~/.cache": Folder(), "~/.cache/enroot": Folder(), "~/.cache/enroot/.tokens.1000": Folder(0o700)})
    scene.make({"~/.cache/enroot/.tokens.1000/abc": Plain(b"token", 0o600)})
    text = "this folder contains 1 file with tokens from enroot's image pulls"
    assert looked(scene, caches=["~/.cache/enroot"]).found == {"SEC-009 ~/.cache/enroot/.tokens.1000": text}
    assert looked(scene, folder="/data", caches=["~/.cache/enroot"]).found == {}, "it is for the look at the home"


# -- hostile content and limits --------------------------------------------------------------------


def test_pipes_links_in_a_circle_and_binary_files_do_no_harm(scene: Scene) -> None:
    scene.make({"~/.profile": Link("~/.profile"), "~/.zshrc": Folder(), "~/x.sh": Plain(b"\0\xff" * 5000)})
    os.mkfifo(scene.at("~/.bashrc"))
    os.mkfifo(scene.at("~/job.sh"))
    scene.make({"~/.cshrc": Link("/dev/zero"), "~/loop": Link("~")})
    assert looked(scene).found == {}


def test_a_name_with_odd_characters_is_a_name(scene: Scene) -> None:
    os.makedirs(os.fsencode(scene.at("~/d")) + b"\xff\n\x1b[31m")
    with open(os.fsencode(scene.at("~/d")) + b"\xff\n\x1b[31m/a.sh", "wb") as stream:
        stream.write(NVAPI.encode())
    assert len(looked(scene).found) == 1


def test_what_is_larger_than_the_limit_is_read_as_far_as_it_goes(scene: Scene) -> None:
    scene.make({"~/big.log": Plain(f"{NVAPI}\n".encode() + b"#\n" * 2_100_000 + HF.encode())})
    report = looked(scene)
    assert list(report.found) == ["SEC-004 ~/big.log:1"]
    assert report.remarks == ["not checked: ~/big.log (only the first 4096 KiB were checked)"]


def test_a_tree_is_looked_through_to_its_ground_and_one_that_is_too_large_is_said(scene: Scene) -> None:
    deep = "~" + "".join(f"/{number}" for number in range(30))
    scene.at(deep).mkdir(parents=True)
    scene.make({f"{deep}/x.sh": line(NVAPI)})
    report = looked(scene)
    assert (list(report.found), report.remarks) == ([f"SEC-004 {deep}/x.sh:1"], [])
    scene.make({f"~/f{number:02}": Plain(b"") for number in range(20)})
    report = looked(scene, entries=5)
    assert any("too many files" in text for text in report.remarks)


def test_environments_and_caches_are_not_gone_into(scene: Scene) -> None:
    tops = ("mc", "node_modules", ".cache", "hub", "root", "venv", "cache", "p", "p/.git", "p/.git/objects", ".hidden")
    for top in tops:
        scene.make({f"~/{top}": Folder(), f"~/{top}/a.sh": line(NVAPI)})
    inner = ("mc/conda-meta", "hub/blobs", "hub/snapshots", "root/etc", "root/usr", "root/var")
    scene.make({f"~/{folder}": Folder() for folder in inner})
    scene.make({f"~/{name}": Plain(b"") for name in (".env", "venv/pyvenv.cfg", "cache/CACHEDIR.TAG", "p/.git/HEAD")})
    assert list(looked(scene).found) == [f"SEC-004 ~/{top}/a.sh:1" for top in (".hidden", "p/.git", "p")]


def test_of_an_environment_the_files_that_users_edit_are_read(scene: Scene) -> None:
    folders = ("mc", "mc/conda-meta", "mc/etc", "mc/etc/conda", "mc/etc/conda/activate.d", "venv", "venv/bin")
    scene.make({f"~/{folder}": Folder() for folder in folders} | {"~/venv/pyvenv.cfg": Plain(b"")})
    edited = ("mc/conda-meta/state", "mc/etc/conda/activate.d/keys.sh", "venv/bin/activate")
    scene.make({f"~/{name}": line(NVAPI) for name in (*edited, "mc/conda-meta/a.json", "venv/bin/tool")})
    assert list(looked(scene).found) == [f"SEC-004 ~/{name}:1" for name in edited]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be made somebody else's")
def test_a_file_of_somebody_else_is_not_read(scene: Scene) -> None:
    scene.make({"~/a.sh": line(NVAPI)})
    os.chown(scene.at("~/a.sh"), 4242, 4242)
    assert looked(scene).found == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_a_colleagues_own_folder_is_not_this_accounts_to_look_at() -> None:
    """In a project's area everybody has folders that nobody else may enter; a closed one of one's own is said."""
    with tempfile.TemporaryDirectory() as folder:
        area = Path(folder)
        area.chmod(0o755)
        for name, owner in (("colleague", 1), ("mine", NOBODY)):
            (area / name).mkdir(mode=0)
            os.chown(area / name, owner, owner)
        (area / "listed" / "one").mkdir(parents=True)
        (area / "listed").chmod(0o744)

        def look() -> list[Any]:
            host = Host(Account("/nonexistent", "/bin/sh", {}), bytes.fromhex(KEY))
            search = Search(host, [folder])
            listed = [one.folder for one in search.walk_tree(folder)]
            return [len(listed), search.skipped()]

        listed, unseen = as_nobody(look)
        assert listed == 5
        assert unseen == [f"not checked: {folder}/listed/one, {folder}/mine (permission denied)"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can close a folder for itself")
def test_a_sourced_file_in_a_closed_folder_hides_no_key_elsewhere() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        home.chmod(0o755)
        (home / "shut").mkdir(mode=0)
        (home / ".bashrc").write_bytes(f". {folder}/shut/env.sh\n".encode() + line(NVAPI).content)
        os.chown(home / ".bashrc", NOBODY, NOBODY)

        def look() -> list[Any]:
            host = Host(Account(folder, "/bin/sh", {}), bytes.fromhex(KEY))
            search = Search(host, [folder])
            found = [(key.path, key.line) for key in MisplacedKeys(search, [], [], {}).search_home()]
            return [found, search.skipped()]

        found, unseen = as_nobody(look)
        assert [one[0] for one in found] == [f"{folder}/.bashrc"]
        assert any("shut/env.sh" in sentence for sentence in unseen)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can close a folder for itself")
def test_a_closed_key_file_of_a_role_hides_no_key_elsewhere() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        home.chmod(0o755)
        (home / "shut").mkdir(mode=0)
        (home / ".bashrc").write_bytes(line(NVAPI).content)
        os.chown(home / ".bashrc", NOBODY, NOBODY)

        def look() -> list[Any]:
            host = Host(Account(folder, "/bin/sh", {}), bytes.fromhex(KEY))
            search = Search(host, [folder])
            keys = MisplacedKeys(search, [f"{folder}/shut/key"], [], {})
            return [[key.path for key in keys.search_home()], search.skipped()]

        found, unseen = as_nobody(look)
        assert found == [f"{folder}/.bashrc"]
        assert unseen == ["not checked: ~/shut, ~/shut/key (permission denied)"]


# -- what is offered -------------------------------------------------------------------------------

NETRC = f"machine api.wandb.ai login user password {NVAPI}\n".encode()
PLACES = {"jobs": "~/jobs/a.sh", "history": "~/.bash_history", "start-up": "~/.bashrc", "copy": "~/.netrc.bak"}


KEPT = {"netrc_entry": ["~/.netrc"]}


def offered(scene: Scene, path: str, key: str, name: str = "WANDB_API_KEY") -> tuple[list[str], list[str]]:
    """The kinds of the fixes that are offered for a file with this key, and the cases of the others."""
    scene.make({"~/jobs": Folder(), path: line(key, name)})
    marks = {mark(scene, NVAPI): "the key of 'wandb'"}
    report = looked(scene, own=["~/.netrc"], kept=KEPT, known=marks, secrets=dict.fromkeys(marks, "wandb"))
    assert len(report.found) == 1
    evidence = report.document["evidence"]
    return [one["kind"] for one in evidence.get("fixes", {}).values()], list(evidence.get("cases", {}).values())


@pytest.mark.parametrize("place", PLACES)
def test_a_key_that_is_known_is_taken_out_and_one_that_is_not_is_left(scene: Scene, place: str) -> None:
    scene.make({"~/.netrc": Plain(NETRC, 0o600)})
    assert offered(scene, PLACES[place], OTHER) == ([], ["unknown_key"])
    kind = "key_fix" if place in ("history", "copy") else "statement_fix"
    assert offered(scene, PLACES[place], NVAPI) == ([kind], [])


def test_a_key_beside_one_that_is_not_known_is_left(scene: Scene) -> None:
    scene.make({"~/.bash_history": Plain(f"x {NVAPI} {OTHER}\n".encode())})
    marks = {mark(scene, NVAPI): "the key of 'wandb'"}
    report = looked(scene, known=marks, secrets=dict.fromkeys(marks, "wandb"))
    assert list(report.document["evidence"]["cases"].values()) == ["unknown_key"]
    assert "fixes" not in report.document["evidence"]


@pytest.mark.parametrize("name", [".env", "prod.env", ".env.local", ".envrc"])
def test_a_file_of_an_application_is_left(scene: Scene, name: str) -> None:
    scene.make({"~/.netrc": Plain(NETRC, 0o600)})
    assert offered(scene, f"~/jobs/{name}", NVAPI) == ([], ["application"])


def test_a_variable_stays_where_no_file_of_ours_holds_its_key(scene: Scene) -> None:
    assert offered(scene, "~/jobs/a.sh", NVAPI) == ([], ["no_replacement"])
    scene.make({"~/.netrc": Plain(NETRC, 0o600)})
    assert offered(scene, "~/jobs/a.sh", NVAPI) == (["statement_fix"], [])


@pytest.mark.parametrize("name", ["NGC_API_KEY", "APPTAINER_DOCKER_PASSWORD", "HF_TOKEN", "MY_TOKEN", "ENROOT_TOKEN"])
def test_a_variable_stays_where_another_program_reads_it_than_the_file_with_its_key(scene: Scene, name: str) -> None:
    scene.make({"~/.netrc": Plain(NETRC, 0o600)})
    assert offered(scene, "~/jobs/a.sh", NVAPI, name) == ([], ["no_replacement"])


def test_two_variables_with_one_key_go_only_where_both_programs_have_a_file(scene: Scene) -> None:
    both = Plain(f"export WANDB_API_KEY={NVAPI}\nexport NGC_API_KEY={NVAPI}\n".encode())
    scene.make({"~/.netrc": Plain(NETRC, 0o600), "~/run.sh": both})
    marks = {mark(scene, NVAPI): "the key of 'wandb'"}
    common = {"own": ["~/.netrc"], "known": marks, "secrets": dict.fromkeys(marks, "wandb")}
    evidence = looked(scene, **common, kept=KEPT).document["evidence"]
    assert set(evidence["cases"].values()) == {"no_replacement"}
    assert "fixes" not in evidence
    scene.make({"~/.ngc": Folder(0o700), "~/.ngc/config": Plain(f"[CURRENT]\napikey = {NVAPI}\n".encode(), 0o600)})
    kept = {**KEPT, "ngc_config": ["~/.ngc/config"]}
    evidence = looked(scene, **{**common, "own": ["~/.netrc", "~/.ngc/config"]}, kept=kept).document["evidence"]
    assert {one["kind"] for one in evidence["fixes"].values()} == {"statement_fix"}


def test_a_fix_of_a_variable_names_the_file_that_replaces_it(scene: Scene) -> None:
    scene.make({"~/.netrc": Plain(NETRC, 0o600), "~/run.sh": line(NVAPI)})
    marks = {mark(scene, NVAPI): "the key of 'wandb'"}
    common = {"own": ["~/.netrc"], "known": marks, "secrets": dict.fromkeys(marks, "wandb")}
    (text,) = looked(scene, **common, kept=KEPT).found.values()
    assert text.endswith("; ~/.netrc contains the key of 'wandb'")
