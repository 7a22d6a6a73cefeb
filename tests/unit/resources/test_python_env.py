# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Python environment as it is found, wanted, refused and previewed. The work itself is in tests/integration."""

from __future__ import annotations

import json
from typing import Any

import pytest
from account_scene import HOME, Folder, Link, Plain, Scene, Thing
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._jobs.env_spec import EnvSpec
from ansible_collections.hpc.onboard.plugins.module_utils._resources.python_env import PythonEnv
from resource_tables import Case, judge, table

BELOW: dict[str, Any] = {"path": "/data/ada/envs/ml", "packages": ["numpy"]}
ML: dict[str, Any] = {"path": "/data/ada/ml", "root": "/data", "packages": ["numpy"]}
OTHER = {**ML, "packages": ["numpy<2"]}
GONE = {**ML, "state": "absent"}
WHOLE = PythonEnv.with_defaults(ML)
MARK = EnvSpec(WHOLE).render_mark(["numpy==2.1"])
VERSION = "/data/ada/.ml.versions/one"
SITE = f"{VERSION}/lib/python3.11/site-packages"
AREA: dict[str, Thing] = {"/data": Folder(), "/data/ada": Folder(0o700)}
RESULT: dict[str, Thing] = {
    "/data/ada/ml": Link(".ml.versions/one"),
    "/data/ada/.ml.versions": Folder(),
    "/data/ada/.ml.versions/.hpc.onboard": Plain(b"ours\n"),
    VERSION: Folder(),
    f"{VERSION}/.hpc.onboard": Plain(MARK.encode()),
    f"{VERSION}/bin": Folder(),
    f"{VERSION}/bin/python": Plain(b""),
    f"{VERSION}/lib": Folder(),
    f"{VERSION}/lib/python3.11": Folder(),
    SITE: Folder(),
    f"{SITE}/numpy-2.1.dist-info": Folder(),
    f"{SITE}/pip-25.0.dist-info": Folder(),
}
THERE: dict[str, Thing] = {**AREA, **RESULT}


def without(*names: str) -> dict[str, Thing]:
    """What is there when these are not."""
    return {path: thing for path, thing in THERE.items() if path not in names}


def made(options: dict[str, Any]) -> dict[str, Thing]:
    """What a run leaves that only previews the work."""
    wanted = EnvSpec(PythonEnv.with_defaults(options))
    name = wanted.version_names()[0]
    link = options["path"]
    versions = link.replace("/ml", "/.ml.versions")
    place = f"{versions}/{name}"
    return {
        link: Link(f".ml.versions/{name}"),
        versions: Folder(),
        f"{versions}/.hpc.onboard": Plain(wanted.render_folder_mark().encode()),
        place: Folder(),
        f"{place}/.hpc.onboard": Plain(wanted.render_mark([]).encode()),
        **{f"{place}/{one}": Folder() for one in ("bin", "lib", "lib/python3", "lib/python3/site-packages")},
        f"{place}/bin/python": Plain(b""),
    }


@table(
    Case("a missing one is made", AREA, ML, "missing", left=made(ML)),
    Case("one that is there stays", THERE, ML, "ok"),
    Case("one with other packages is made anew", THERE, OTHER, "different", left=made(OTHER)),
    Case(
        "one whose files were purged is made anew", without(f"{VERSION}/.hpc.onboard"), ML, "different", left=made(ML)
    ),
    Case("one whose Python is gone is made anew", without(f"{VERSION}/bin/python"), ML, "different", left=made(ML)),
    Case(
        "one that was begun is made", without("/data/ada/ml", f"{VERSION}/.hpc.onboard"), ML, "different", left=made(ML)
    ),
    Case(
        "packages by hand stay",
        {**THERE, f"{SITE}/torch-2.4.dist-info": Folder()},
        ML,
        "blocked",
        "by hand (+torch==2.4)",
    ),
    Case("packages by hand are not taken out", without(f"{SITE}/numpy-2.1.dist-info"), GONE, "blocked", "-numpy==2.1"),
    Case("a newer pip is nobody's business", {**THERE, f"{SITE}/pip-26.0.dist-info": Folder()}, ML, "ok"),
    Case(
        "a folder in the way is kept",
        {**AREA, "/data/ada/ml": Folder()},
        ML,
        "blocked",
        "was not created by hpc-onboard",
    ),
    Case(
        "a link of the user's is kept",
        {**AREA, "/data/ada/x": Folder(), "/data/ada/ml": Link("x")},
        ML,
        "blocked",
        "was not created by hpc-onboard",
    ),
    Case(
        "a folder of versions that is not ours is kept",
        {**AREA, "/data/ada/.ml.versions": Folder()},
        ML,
        "blocked",
        ".ml.versions already exists and was not created by hpc-onboard",
    ),
    Case(
        "folders in an area of the user's own are made",
        AREA,
        BELOW,
        "missing",
        left={"/data/ada/envs": Folder(0o700), **made(BELOW)},
    ),
    Case("the site's area is not made", {}, ML, "blocked", "only the site can create it"),
    Case("what is absent stays so", AREA, GONE, "ok"),
    Case("one of ours is taken out", THERE, GONE, "extra", left=dict.fromkeys(RESULT)),
)
def test_python_env(scene: Scene, case: Case) -> None:
    judge(scene, "python_env", case)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"packages": ["--index-url=http://x"]}, "expected a package"),
        ({"packages": ["$(id)"]}, "expected a package"),
        ({"modules": ["python/3.11; id"]}, "is not valid; expected the name of a module"),
        ({"python": "sh"}, "is not valid; expected the name or path of a Python"),
        ({"index": "file:///etc"}, "is not valid; expected the https:"),
        ({"in_job": "$(id)"}, "is not valid; expected a variable"),
        ({"path": "~/a b"}, "contains a space"),
    ],
)
def test_what_a_shell_or_pip_would_take_for_more_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(AccountError, match=said):
        PythonEnv(PythonEnv.with_defaults({**ML, **wrong}))


def test_folders_with_wheels_may_begin_with_the_home(scene: Scene) -> None:
    scene.make(AREA)
    outcome = scene.run({"kind": "python_env", **ML, "wheels": ["~/wheels", "/data/wheels"]})[0]
    assert outcome["after"]["from"] == f"folder {HOME}/wheels, folder /data/wheels, PyPI"


def test_a_mark_says_what_an_environment_was_made_from() -> None:
    assert json.loads(MARK)["locked"] == ["numpy==2.1"]
