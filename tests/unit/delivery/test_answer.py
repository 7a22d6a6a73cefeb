# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an account answers: found between noise, typed, bounded, harmless; and refused when it is not that."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._core.resource import STATUSES
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import answer as _answer
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import payload
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import Plan
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.session import MissingKey
from ansible_collections.hpc.onboard.plugins.plugin_utils._text.amounts import format_progress
from hypothesis import given
from hypothesis import strategies as st

ANSWER = json.loads((Path(__file__).parents[3] / "docs" / "schemas" / "answer.schema.json").read_text(encoding="utf-8"))
OUTCOME = {
    "identity": "link ~/work",
    "capability": "storage_links",
    "status": "missing",
    "fields": ["target"],
    "before": {},
    "after": {"target": "/work"},
    "reason": None,
    "seconds": 0.01,
    "progress": {"step": "downloading", "done": 5, "total": None, "unit": "bytes"},
    "remarks": ["look at ~/.bashrc"],
    "evidence": {
        "verdict": "valid",
        "leftovers": 2,
        "severities": {"USE-001 ~": "high"},
        "theirs": True,
        "adopted": "equal",
        "environments": ["demo"],
        "in_use": {"ENROOT_DATA_PATH": "~/.local/share/enroot"},
        "existing": [
            {"what": "conda", "path": "/d/mc", "shown": "/d/mc", "name": "", "at": "", "in_home": False, "words": []}
        ],
    },
    "was": {"mode": "0644"},
}
DOCUMENT: dict[str, Any] = {
    "schema": "hpc.onboard/answer/1.0",
    "outcomes": [OUTCOME],
    "error": None,
    "account": {"home": "/home/simone", "shell": "/bin/bash"},
    "receipt": None,
    "engine": {"python": "cpython-36", "digest": "0" * 64},
    "python": "3.6.8",
    "host": "wilson1",
    "seconds": 0.2,
}


def framed(text: str, length: int | None = None) -> str:
    """The text as the engine prints it."""
    return f"\n{payload.FRAME} {len(text) if length is None else length}\n{text}\n{payload.FRAME}\n"


def parsed(stdout: str) -> dict[str, Any]:
    """The answer of simone@wilson."""
    return _answer.parse(stdout, "", 0, "simone@wilson")


noise = st.text(max_size=60).filter(lambda text: payload.FRAME not in text)


@given(noise, noise)
def test_noise_before_and_after_the_answer_does_no_harm(before: str, after: str) -> None:
    assert parsed(before + framed(json.dumps(DOCUMENT)) + after) == {k: v for k, v in DOCUMENT.items() if k != "schema"}


def test_the_last_of_two_answers_counts() -> None:
    first = framed(json.dumps({**DOCUMENT, "host": "old"}))
    assert parsed(first + framed(json.dumps(DOCUMENT)))["host"] == "wilson1"


@pytest.mark.parametrize(
    "stdout",
    [
        framed(json.dumps(DOCUMENT), 10**6),
        framed(json.dumps(DOCUMENT))[:-80],
        framed("{}", -1),
        f"\n{payload.FRAME} x\n{{}}",
        f"\n{payload.FRAME} \u00b2\n{{}}",
        f"\n{payload.FRAME} \u0663\n{{}}",
        f"\n{payload.FRAME} " + "9" * 10_000,
        f"\n{payload.FRAME} ",
    ],
)
def test_an_answer_that_is_cut_is_unknown_and_says_to_run_again(stdout: str) -> None:
    with pytest.raises(_answer.NoAnswer, match="Run hpc-onboard again to check and continue"):
        parsed(stdout)


OLDER = ("evidence", "progress", "remarks", "was")  # members that the schema's first version does not ask for
HOSTILE: list[Any] = [
    *([], "x", 7, None, True, {}),
    {**DOCUMENT, "outcomes": 7},
    {**DOCUMENT, "outcomes": ["x"]},
    {**DOCUMENT, "outcomes": [[]]},
    {**DOCUMENT, "outcomes": None},
    {**DOCUMENT, "account": ["x"]},
    {**DOCUMENT, "account": "x"},
    {**DOCUMENT, "seconds": "long"},
    {**DOCUMENT, "seconds": None},
    {**DOCUMENT, "seconds": float("inf")},
    {**DOCUMENT, "seconds": float("nan")},
    {**DOCUMENT, "seconds": 10**400},
    *({**DOCUMENT, "outcomes": [{**OUTCOME, "status": status}]} for status in ("splendid", ["missing"], {}, None)),
    *({**DOCUMENT, "outcomes": [{**OUTCOME, "before": state}]} for state in (["x"], "x", 7, None)),
    *({**DOCUMENT, "outcomes": [{**OUTCOME, "fields": fields}]} for fields in (7, None)),
    *(
        {**DOCUMENT, "outcomes": [{k: v for k, v in OUTCOME.items() if k != key}]}
        for key in OUTCOME
        if key not in OLDER
    ),
    *(
        {**DOCUMENT, "outcomes": [{**OUTCOME, "evidence": one}]}
        for one in (
            7,
            None,
            {"verdict": "splendid"},
            {"verdict": []},
            {"leftovers": "many"},
            {"adopted": "so"},
            {"existing": [{"what": "program"}]},
            {"existing": {"what": "conda"}},
            {"severities": ["x"]},
        )
    ),
]


@pytest.mark.parametrize("missing", [*((name,) for name in OLDER), OLDER])
def test_an_answer_of_an_engine_that_told_less_is_read(missing: tuple[str, ...]) -> None:
    outcome = {name: value for name, value in OUTCOME.items() if name not in missing}
    jsonschema.validate({**DOCUMENT, "outcomes": [outcome]}, ANSWER)
    (read,) = parsed(framed(json.dumps({**DOCUMENT, "outcomes": [outcome]})))["outcomes"]
    assert read == {**outcome, **{name: EMPTY[name] for name in missing}}


EMPTY: dict[str, Any] = {"evidence": {}, "progress": None, "remarks": [], "was": {}}


def test_a_severity_that_is_none_is_left_out() -> None:
    severities = {"ENV-001 ~/a": "critical", "ENV-001 ~/b": "dreadful", "ENV-001 ~/c": []}
    outcome = {**OUTCOME, "evidence": {"severities": severities}}
    (read,) = parsed(framed(json.dumps({**DOCUMENT, "outcomes": [outcome]})))["outcomes"]
    assert read["evidence"] == {"severities": {"ENV-001 ~/a": "critical"}}


@pytest.mark.parametrize("document", HOSTILE)
def test_an_answer_of_another_shape_is_refused(document: Any) -> None:
    with pytest.raises(_answer.NoAnswer):
        parsed(framed(json.dumps(document)))


def test_the_mark_of_a_command_that_began_is_first_on_both_outputs_and_not_in_the_command() -> None:
    command = payload.build_command(None, [])
    assert payload.BEGUN not in command
    done = subprocess.run(["sh", "-c", command], input=b"", capture_output=True, check=False)
    assert [one.decode().splitlines()[0] for one in (done.stdout, done.stderr)] == [payload.BEGUN] * 2


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 100_000, "9" * 100_000, "", "\0", "nul"])
def test_an_answer_that_is_no_document_is_refused(text: str) -> None:
    with pytest.raises(_answer.NoAnswer):
        parsed(framed(text))


anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from([*DOCUMENT, *OUTCOME, "x"]), inner, max_size=8),
    ),
    max_leaves=20,
)


@given(
    st.one_of(
        anything,
        st.tuples(st.sampled_from(sorted(DOCUMENT)), anything),
        st.tuples(st.sampled_from(sorted(OUTCOME)), anything),
    )
)
def test_whatever_is_answered_is_harmless_or_refused(hostile: Any) -> None:
    document = hostile
    if isinstance(hostile, tuple):
        key, value = hostile
        document = {**DOCUMENT, key: value} if key in DOCUMENT else {**DOCUMENT, "outcomes": [{**OUTCOME, key: value}]}
    try:
        answer = parsed(framed(json.dumps(document)))
    except _answer.NoAnswer:
        return
    harmless(answer)
    for outcome in answer["outcomes"]:
        assert outcome["status"] in STATUSES
        assert isinstance(outcome["seconds"], float)
    json.dumps(answer, allow_nan=False)


def harmless(value: Any) -> None:
    """Assert that no text in the value holds what a terminal obeys."""
    if isinstance(value, str):
        assert all(c.isprintable() or c == "\n" for c in value)
    elif isinstance(value, dict):
        for key, item in value.items():
            harmless(key)
            harmless(item)
    elif isinstance(value, list):
        for item in value:
            harmless(item)


def test_control_characters_and_endless_texts_reach_nobody() -> None:
    evil = "\x1b]0;owned\x07\u202e\x9b31m\ud800" + "x" * 50_000
    outcome = {**OUTCOME, "reason": evil, "identity": evil, "before": {evil: evil}, "status": "failed"}
    answer = parsed(framed(json.dumps({**DOCUMENT, "outcomes": [outcome], "error": evil, "host": evil})))
    harmless(answer)
    assert len(json.dumps(answer)) < 120_000


NOTE = {
    "kind": "conda_install", "capability": "conda", "identity": "conda /c", "state": "done", "for": "", "made": True,
    "options": {}, "hashes": {}, "keyed": {}, "clusters": ["lrz"],
}  # fmt: skip


def noted(options: object) -> dict[str, Any]:
    """The options of the one note that an answer tells."""
    receipt = {"notes": {"conda_install conda /c": json.dumps({**NOTE, "options": options})}, "problem": None}
    found: dict[str, Any] = parsed(framed(json.dumps({**DOCUMENT, "receipt": receipt})))["receipt"]["notes"]
    return found["conda_install conda /c"]["options"]  # type: ignore[no-any-return]


def test_the_options_of_a_note_are_harmless_whatever_an_account_has_noted() -> None:
    evil = "a\x1b]0;owned\x07\u202e\r\nb"
    found = noted({"prefix": evil, evil: [evil, {"url": evil, "files": 3}], "none": None, "on": True})
    harmless(found)
    assert (found["none"], found["on"], found["prefix"]) == (None, True, "a?]0;owned???\nb")


@pytest.mark.parametrize("options", [{"x": 10**400}, {"x": float("nan")}, {"x": float("inf")}, [], "x", None, 7])
def test_options_of_a_note_that_nobody_declares_are_no_answer(options: object) -> None:
    with pytest.raises(_answer.NoAnswer, match="the answer from the account is invalid"):
        noted(options)


def test_a_note_of_a_long_file_is_read() -> None:
    content = "https://conda.example/package-1.0.conda#0123456789abcdef\n" * 1000
    assert noted({"environments": [{"name": "x", "content": content}]})["environments"][0]["content"] == content


@pytest.mark.parametrize("number", [10**400, -(10**400), 2**70])
def test_a_number_that_nobody_can_show_is_cut(number: int) -> None:
    progress = {"step": "x", "done": number, "total": number, "unit": "bytes"}
    outcome = {**OUTCOME, "progress": progress, "evidence": {"leftovers": number}}
    (read,) = parsed(framed(json.dumps({**DOCUMENT, "outcomes": [outcome]})))["outcomes"]
    format_progress(read["progress"])
    assert len(str(read["evidence"]["leftovers"])) < 20


@pytest.mark.parametrize(
    ("stdout", "stderr", "code", "said"),
    [
        ("", "", payload.READ_BY_SHELL, "starts another shell"),
        ("", "", payload.INCOMPLETE, "the input was incomplete"),
        (
            f"\n{payload.NO_PYTHON}\npython3: Python 2.7.5\nx: not found\n",
            "",
            94,
            "Tried: python3: Python 2.7.5; x: not found",
        ),
        (
            "Account expired\x1b[2J",
            "",
            1,
            "(exit code 1). A start-up file of the login shell ends the shell",
        ),
        ("Welcome\n", "", 0, "so that only interactive shells run it. Output: Welcome"),
        ("", f"debug1: {'x' * 400}\r\ndebug1: channel 0\r\n", 0, "(exit code 0). A start-up file"),
        (
            f"{payload.BEGUN}\n",
            f"{payload.BEGUN}\n",
            0,
            "(exit code 0). Check the account's start-up files: 'ssh simone@w",
        ),
        ("", "Permission\ndenied", 255, "Output: Permission | denied"),
        (f"\n{payload.FRAME} {5 * 2**20}\n{{}}", "", 0, "the answer is larger than 4 MiB: declare fewer resources"),
        (f"\n{payload.FRAME} 5\n{{}}", "", 0, "the answer is incomplete"),
        (f"\n{payload.FRAME} \n{{}}", "", 0, "the answer is incomplete"),
    ],
)
def test_what_came_instead_of_an_answer_is_said_with_the_next_step(
    stdout: str, stderr: str, code: int, said: str
) -> None:
    with pytest.raises(_answer.NoAnswer) as refused:
        _answer.parse(stdout, stderr, code, "simone@wilson")
    assert said in str(refused.value)
    assert "debug1" not in str(refused.value)
    harmless(str(refused.value))


def declared(kind: str, **options: Any) -> dict[str, Any]:
    """A declaration of the tests' capability."""
    return {"kind": kind, "capability": "test", "options": options}


def keys(name: str) -> str:
    """A keyring that has one key."""
    if name != "ngc":
        raise MissingKey(f"the key '{name}' is not here. Store it with:  keyring set hpc.onboard {name}")
    return "nvapi-x"


def test_a_missing_key_costs_only_the_resources_that_need_it() -> None:
    plan = Plan.of(
        [
            declared("directory", path="/a"),
            declared("enroot_credential", machine="a.io", secret="gone"),
            declared("enroot_credential", machine="b.io", secret="ngc"),
        ],
        keys,
    )
    assert [entry["options"].get("machine") for entry in plan.entries] == [None, "b.io"]
    merged = plan.add_unmet([{"identity": "first"}, {"identity": "third"}])
    assert [one["identity"] for one in merged] == ["first", "credentials ~/.config/enroot/.credentials: a.io", "third"]
    assert "keyring set hpc.onboard gone" in merged[1]["reason"]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_an_account_that_answers_for_more_or_fewer_resources_is_not_believed(count: int) -> None:
    plan = Plan.of([declared("directory", path="/a"), declared("directory", path="/b")], keys)
    with pytest.raises(AccountError, match=f"returned {count} of 2"):
        plan.add_unmet([OUTCOME] * count)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (declared("symlink", path="/a"), "unknown resource type 'symlink'; available: conda_install, container_image"),
        (declared(None), "unknown resource type None"),  # type: ignore[arg-type]  # wrong on purpose
        (declared("directory", pth="/a"), "directory has no option 'pth'"),
        (declared("directory"), "directory requires path"),
        (declared("directory", path="/a", mode="0777"), "mode is '0777'; expected one of 0700"),
        (declared("directory", path="/a", mode=448), "mode of directory must be of type str"),
        (declared("directory", path=["/a"]), "path of directory must be of type str"),
        (declared("directory", path="a"), "test: path: 'a' is not a valid path"),
        (
            declared("storage_link", path="~/a", target="/b", state="gone"),
            "state is 'gone'; expected one of present, absent",
        ),
        (declared("shell_environment", variables=["A=1"]), "variables of shell_environment must be of type dict"),
        (declared("shell_environment", path="~/bin"), "path of shell_environment must be of type list"),
        (declared("enroot_credential", machine="nvcr.io"), "the key is empty"),
        (declared("enroot_credential", machine="nvcr.io\n", password="k"), "is not a valid host name"),
        (declared("enroot_credential", machine="nvcr.io", login="a\n", password="k"), "expected a user name"),
        (
            declared("enroot_credential", machine="nvcr.io", password=["canary"]),
            "password of enroot_credential must be of type str",
        ),
        (declared("enroot_credential", machine="nvcr.io", password="canary canary"), "contains white space"),
        (declared("path_script", path="~/x", content="echo"), "must begin with #!"),
    ],
)
def test_a_wrong_declaration_is_one_error_before_anything_is_sent(entry: dict[str, Any], said: str) -> None:
    with pytest.raises(AccountError) as refused:
        Plan.of([entry], keys)
    assert said in str(refused.value)
    assert "canary" not in str(refused.value)
