# SPDX-License-Identifier: GPL-3.0-or-later
"""What a fix takes away, what it leaves, and when it refuses: on a real folder, by the engine, previewed and taken."""

from __future__ import annotations

import os
from typing import Any

import pytest
from account_scene import HOME, KEY, Folder, Link, Plain, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._engine.engine import answer
from ansible_collections.hpc.onboard.plugins.module_utils._fixes.leftover_fix import mark_target
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.offered_fixes import KINDS
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import plan

from tests.effort import turns

pytestmark = turns(3)

SECRET = "nvapi-" + "s" * 64
RC = "~/.bashrc"
FOLDERS = ("~/jobs", "/data", "/data/jobs", "~/.config", "~/.config/environment.d")


def fix(scene: Scene, kind: str, preview: bool = False, **options: Any) -> dict[str, Any]:
    """The outcome of one fix."""
    whole = KINDS[kind].with_defaults(options)
    document = {
        "resources": [{"kind": kind, "capability": "watch", "options": whole}],
        "work": "examine",
        "fixes": 1,
        "fixes_work": "preview" if preview else "reconcile",
        "fingerprint_key": KEY,
        "sandbox": {"root": str(scene.root), "home": HOME, "shell": "/bin/bash", "environment": {}},
    }
    said = answer(document, KINDS)
    assert said["error"] is None
    outcome: dict[str, Any] = said["outcomes"][0]
    return outcome


def life(scene: Scene, kind: str, **options: Any) -> str:
    """Preview, take, take again: what was previewed comes, and the second time there is nothing to do."""
    untouched = scene.footprints()
    preview = fix(scene, kind, preview=True, **options)
    assert scene.footprints() == untouched
    taken = fix(scene, kind, **options)
    assert {**taken, "seconds": 0} == {**preview, "seconds": 0}
    settled = scene.footprints()
    again = fix(scene, kind, **options)
    assert again["status"] == ("ok" if taken["status"] == "extra" else taken["status"])
    assert scene.footprints() == settled
    return str(taken["status"])


def mark(scene: Scene, text: str) -> str:
    """The fingerprint of a text on this account."""
    return scene.host().fingerprint(text)


def test_two_fixes_of_one_file_take_what_was_found_whatever_the_lines_are_by_then(scene: Scene) -> None:
    scene.make({RC: Plain(f"export A={SECRET}\nalias ll='ls -l'\nexport B={SECRET}x\nlast=1\n".encode(), 0o640)})
    for name, value in (("A", SECRET), ("B", SECRET + "x")):
        assert life(scene, "statement_fix", path=RC, marks=[mark(scene, f"{name}={value}")]) == "extra"
    assert scene.tree()[f"{HOME}/.bashrc"] == Plain(b"alias ll='ls -l'\nlast=1\n", 0o640)


def test_a_start_up_file_that_is_a_link_stays_one(scene: Scene) -> None:
    scene.make({"~/dotfiles": Folder(), "~/dotfiles/bashrc": Plain(b"K=v\n\xff\xfe=1\n", 0o600)})
    scene.make({RC: Link("dotfiles/bashrc")})
    assert life(scene, "statement_fix", path=RC, marks=[mark(scene, "K=v")]) == "extra"
    assert scene.tree()[f"{HOME}/.bashrc"] == Link("dotfiles/bashrc")
    assert scene.tree()[f"{HOME}/dotfiles/bashrc"] == Plain(b"\xff\xfe=1\n", 0o600)


@pytest.mark.parametrize("text", ["if true; then\nK=v\nfi\n", "true && K=v\n", "K=v\necho $K\n"])
def test_what_would_mean_something_else_is_left_to_a_person(scene: Scene, text: str) -> None:
    scene.make({RC: Plain(text.encode())})
    assert life(scene, "statement_fix", path=RC, marks=[mark(scene, "K=v")]) == "blocked"
    assert scene.tree()[f"{HOME}/.bashrc"] == Plain(text.encode())


OTHER_USES = {
    "~/jobs/train.sbatch": "wandb login $K",
    "~/jobs/run.py": "wandb.login(key=os.environ['K'])",
    "/data/jobs/a.sh": "docker run -e K image",
    "~/.mine": "alias train='srun --export=K train'",
}


@pytest.mark.parametrize("path", OTHER_USES)
def test_a_variable_that_another_file_uses_stays(scene: Scene, path: str) -> None:
    scene.make({folder: Folder() for folder in FOLDERS} | {RC: Plain(b"source ~/.mine\nexport K=v\n")})
    scene.make({path: Plain(f"# a job\n{OTHER_USES[path]}\n".encode())})
    before, areas = scene.tree(), [str(scene.at("/data"))[len(str(scene.root)) :]]
    outcome = fix(scene, "statement_fix", path=RC, marks=[mark(scene, "K=v")], areas=areas)
    assert (outcome["status"], f"line 2 of {path} uses $K" in outcome["reason"]) == ("blocked", True)
    assert scene.tree() == before
    scene.make({"~/.config/hpc.onboard": Folder(), "~/.config/hpc.onboard/env.sh": Plain(b"export K=w\n")})
    assert fix(scene, "statement_fix", path=RC, marks=[mark(scene, "K=v")], areas=areas)["status"] == "extra"


@pytest.mark.parametrize("text", ["# wandb login $K", "export K=other", "K=other train", "train $KEY"])
def test_a_variable_that_another_file_only_sets_or_speaks_of_goes(scene: Scene, text: str) -> None:
    scene.make({RC: Plain(b"export K=v\n"), "~/.profile": Plain(text.encode())})
    assert life(scene, "statement_fix", path=RC, marks=[mark(scene, "K=v")]) == "extra"


def test_what_was_changed_meanwhile_is_left(scene: Scene) -> None:
    scene.make({RC: Plain(b"K=w\n"), "~/copy": Plain(b"new"), "~/link": Link("/now")})
    assert life(scene, "statement_fix", path=RC, marks=[mark(scene, "K=v")]) == "ok"
    assert life(scene, "leftover_fix", path="~/copy", what="draft", mark=mark(scene, "old")) == "ok"
    assert life(scene, "leftover_fix", path="~/link", what="link", mark=mark(scene, "/then")) == "ok"


def test_a_file_with_two_names_keeps_both(scene: Scene) -> None:
    scene.make({RC: Plain(b"K=v\n")})
    os.link(scene.at(RC), scene.at("~/other"))
    assert life(scene, "statement_fix", path=RC, marks=[mark(scene, "K=v")]) == "blocked"


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give a file to any group")
def test_a_file_keeps_its_group(scene: Scene) -> None:
    scene.make({RC: Plain(b"K=v\n", 0o640)})
    os.chown(scene.at(RC), -1, 4242)
    assert life(scene, "statement_fix", path=RC, marks=[mark(scene, "K=v")]) == "extra"
    assert scene.at(RC).stat().st_gid == 4242
    assert scene.tree()[f"{HOME}/.bashrc"] == Plain(b"", 0o640)


def test_of_a_history_the_key_alone_goes(scene: Scene) -> None:
    scene.make({"~/.bash_history": Plain(f"#17\nlogin --key {SECRET} now\nls\n".encode(), 0o600)})
    assert life(scene, "key_fix", path="~/.bash_history", marks=[mark(scene, SECRET)]) == "extra"
    left = b"#17\nlogin --key removed-by-hpc.onboard now\nls\n"
    assert scene.tree()[f"{HOME}/.bash_history"] == Plain(left, 0o600)


def test_access_is_shut_and_nothing_else_changes(scene: Scene) -> None:
    scene.make({"~/.netrc": Plain(b"k", 0o644), "~/shared": Folder(0o2777)})
    assert life(scene, "access_fix", path="~/.netrc", way="mode") == "extra"
    assert life(scene, "access_fix", path="~/shared", way="folder") == "extra"
    assert scene.tree()[f"{HOME}/.netrc"] == Plain(b"k", 0o600)
    assert scene.tree()[f"{HOME}/shared"] == Folder(0o2755)


def test_a_copy_goes_when_its_original_has_every_line(scene: Scene) -> None:
    scene.make({"~/.netrc": Plain(b"a\nb\nc\n"), "~/.netrc.bak": Plain(b"c\na\n"), "~/.netrc.old": Plain(b"d\n")})
    common = {"what": "copy", "of": ".netrc"}
    assert life(scene, "leftover_fix", path="~/.netrc.bak", mark=mark(scene, "c\na\n"), **common) == "extra"
    assert life(scene, "leftover_fix", path="~/.netrc.old", mark=mark(scene, "d\n"), **common) == "blocked"
    assert {*scene.tree()} >= {f"{HOME}/.netrc", f"{HOME}/.netrc.old"}
    assert f"{HOME}/.netrc.bak" not in scene.tree()


USES = {
    "a start-up file": (RC, "export NETRC=$HOME/.netrc.bak"),
    "a pattern": (RC, "for f in ~/.netrc*; do . $f; done"),
    "a variable": (RC, "export NETRC=~/.netrc.$(hostname)"),
    "a file that a start-up file reads": ("~/.mine", "export NETRC=~/.netrc.bak"),
    "a job script": ("~/jobs/train.sbatch", "#SBATCH --export=NETRC=/home/ada/.netrc.bak"),
    "a launcher": ("~/jobs/run.py", "os.environ['NETRC'] = os.path.expanduser('~/.netrc.bak')"),
    "a job script on storage": ("/data/jobs/a.sh", "cp ~/.netrc.bak $TMPDIR"),
    "a crontab": ("~/crontab", "0 3 * * * NETRC=~/.netrc.bak sync"),
    "settings": ("~/.config/environment.d/a.conf", "NETRC=~/.netrc.bak"),
}


@pytest.mark.parametrize("use", USES)
def test_a_copy_that_another_file_mentions_stays(scene: Scene, use: str) -> None:
    path, text = USES[use]
    scene.make({folder: Folder() for folder in FOLDERS} | {RC: Plain(b"source ~/.mine\n")})
    scene.make({"~/.netrc": Plain(SECRET.encode()), "~/.netrc.bak": Plain(SECRET.encode()), path: Plain(text.encode())})
    before, areas = scene.tree(), [str(scene.at("/data"))[len(str(scene.root)) :]]
    copy = {"what": "copy", "of": ".netrc", "mark": mark(scene, SECRET)}
    outcome = fix(scene, "leftover_fix", path="~/.netrc.bak", areas=areas, **copy)
    assert outcome["status"] == "blocked"
    assert outcome["reason"].startswith(f"{path} mentions ~/.netrc.bak")
    assert fix(scene, "key_fix", path="~/.netrc.bak", areas=areas, marks=[mark(scene, SECRET)])["status"] == "blocked"
    assert scene.tree() == before


@pytest.mark.parametrize("text", ["# ~/.netrc.bak", "rm -f ~/.netrc.bak2", "cat ~/.netrc.baker ~/my.netrc.bak"])
def test_a_copy_that_is_mentioned_only_in_comments_or_as_part_of_a_name_goes(scene: Scene, text: str) -> None:
    scene.make({"~/.netrc": Plain(b"a\n"), "~/.netrc.bak": Plain(b"a\n"), RC: Plain(text.encode())})
    scene.make({"~/.bash_history": Plain(b"cp .netrc .netrc.bak\n")})
    copy = {"what": "copy", "of": ".netrc", "mark": mark(scene, "a\n")}
    assert life(scene, "leftover_fix", path="~/.netrc.bak", **copy) == "extra"


def test_a_file_that_is_no_copy_by_its_name_stays_even_if_a_plan_names_it(scene: Scene) -> None:
    scene.make({"~/.netrc": Plain(b"a\n"), "~/.netrc_wandb": Plain(b"a\n")})
    copy = {"what": "copy", "of": ".netrc", "mark": mark(scene, "a\n")}
    assert life(scene, "leftover_fix", path="~/.netrc_wandb", **copy) == "blocked"


def test_a_link_goes_while_nothing_is_behind_it(scene: Scene) -> None:
    targets = {"dead": "/gone", "loop": "loop", "alive": ".", "odd": os.fsdecode(b"\xe9")}
    for name, target in targets.items():
        scene.make({f"~/{name}": Link(target)})
        found = life(scene, "leftover_fix", path=f"~/{name}", what="link", mark=mark_target(scene.host(), target))
        assert found == ("ok" if name == "alive" else "extra")


CACHE = {"~/.cache": Folder(), "~/.cache/hf": Folder(), "~/.cache/hf/hub": Folder(), "~/.cache/hf/hub/m": Plain(b"m")}
CACHE |= {"~/.cache/hf/token": Plain(b"t"), "~/.cache/hf/mine.yaml": Plain(b"y"), "~/.cache/hf/hub/l": Link("../token")}


def test_of_a_cache_its_programs_own_goes_and_the_token_stays(scene: Scene) -> None:
    scene.make(CACHE)
    options = {"path": "~/.cache/hf", "what": "cache", "names": ["hub", "token"], "variable": "HF_HOME"}
    assert life(scene, "leftover_fix", **options) == "extra"
    left = {path for path in scene.tree() if path.startswith(f"{HOME}/.cache/hf/")}
    assert left == {f"{HOME}/.cache/hf/token", f"{HOME}/.cache/hf/mine.yaml"}


@pytest.mark.parametrize("line", ["export HF_HOME=/elsewhere", "cd ~/.cache/hf", "export X=$HOME/.cache/hf/hub"])
def test_a_cache_that_a_start_up_file_speaks_of_stays(scene: Scene, line: str) -> None:
    scene.make({**CACHE, RC: Plain(f'[ -z "$PS1" ] && return\n{line}\n'.encode())})
    options = {"path": "~/.cache/hf", "what": "cache", "names": [], "variable": "HF_HOME"}
    assert life(scene, "leftover_fix", **options) == "blocked"


def test_what_the_receipt_says_is_ours_stays(scene: Scene) -> None:
    scene.make(CACHE)
    made = scene.plan([{"kind": "directory", "path": "~/.cache/hf/hub/ours", "mode": "0700"}])
    assert answer({**made, "receipt": True}, plan.KINDS)["receipt"]["problem"] is None
    options = {"path": "~/.cache/hf", "what": "cache", "names": [], "variable": ""}
    assert life(scene, "leftover_fix", **options) == "blocked"
