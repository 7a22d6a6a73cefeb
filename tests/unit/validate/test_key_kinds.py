# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which texts are taken for keys, what is said of the others, and that neither shows the text."""

from __future__ import annotations

import base64
import copy
import pickle
import string

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._formats.key_forms import LEGACY
from ansible_collections.hpc.onboard.plugins.plugin_utils._validate.key_kinds import (
    CheckedKey,
    MalformedKey,
    check_key,
    random_key_like,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._validate.validate import ValidationSettings, judge_key
from hypothesis import given
from hypothesis import strategies as st

CLIENT = "a1b2c3d4e5f6g7h8i9j0k1l2m3"
UUID = "01234567-89ab-cdef-0123-456789abcdef"
OLD = base64.b64encode(f"{CLIENT}:{UUID}".encode()).decode()
NEW = "nvapi-" + "aZ0_-" * 12 + "abcd"
WANDB_OLD = "0123456789abcdef" * 2 + "01234567"
WANDB_NOW = "wandb_v1_" + "Ab0_" * 19
HF = "hf_" + "aB" * 17

KEYS = [
    (NEW, "ngc", "NGC personal or service key"),
    (OLD, "ngc", "NGC legacy key"),
    (WANDB_OLD, "wandb", "wandb key in the old format"),
    (f"local-{WANDB_OLD}", "wandb", "wandb key in the old format"),
    (WANDB_NOW, "wandb", "wandb key"),
    (HF, "huggingface", "Hugging Face token"),
]

OTHERS = [
    ("empty", "", "ngc", "is empty"),
    ("none", None, "ngc", "is empty"),
    ("bytes", NEW.encode(), "ngc", "is empty"),
    ("line end", NEW + "\n", "ngc", "white space"),
    ("line end of Windows", NEW + "\r", "ngc", "white space"),
    ("blank within", NEW[:30] + " " + NEW[31:], "ngc", "white space"),
    ("no-break space", "\u00a0" + NEW, "ngc", "white space"),
    ("zero-width space", NEW[:-1] + "\u200b", "ngc", "non-ASCII"),
    ("look-alike letter", NEW[:-1] + "\u0430", "ngc", "non-ASCII"),
    ("control character", NEW[:-1] + "\0", "ngc", "control"),
    ("bell", NEW[:-1] + "\x07", "ngc", "control"),
    ("variable", "$NGC_API_KEY", "ngc", "begins with $"),
    ("quoted", f'"{NEW}"', "ngc", 'begins with "'),
    ("quote behind", NEW[:-1] + "'", "ngc", "quote"),
    ("too short", NEW[:-1], "ngc", "too short"),
    ("prefix alone", "nvapi-", "ngc", "too short"),
    ("too long", NEW + "a", "ngc", "too long"),
    ("twice", NEW + NEW, "ngc", "too long"),
    ("slash", NEW[:-1] + "/", "ngc", "contains a character"),
    ("other case of the prefix", "NVAPI-" + NEW[6:], "ngc", "this does not look like a key: an NGC key"),
    ("assignment", f"NGC_API_KEY={NEW}", "ngc", "this does not look like a key: an NGC key"),
    ("legacy cut", OLD[:-4], "ngc", "this does not look like a key: an NGC key"),
    (
        "base64 of something else",
        base64.b64encode(b"x" * 63).decode(),
        "ngc",
        "this does not look like a key: an NGC key",
    ),
    ("base64 of control characters", base64.b64encode(b"\r\n" * 31 + b"x").decode(), "ngc", "does not look like a key"),
    ("a password", "correct-horse-battery", "ngc", "this does not look like a key: an NGC key"),
    ("wandb's for NGC", WANDB_OLD, "ngc", "for wandb, not for NGC"),
    ("Hugging Face's for NGC", HF, "ngc", "for Hugging Face, not for NGC"),
    ("NGC's for wandb", NEW, "wandb", "for NGC, not for wandb"),
    ("legacy for Hugging Face", OLD, "huggingface", "for NGC, not for Hugging Face"),
    ("wandb's cut", WANDB_OLD[:-1], "wandb", "40 characters"),
    ("wandb's now cut", WANDB_NOW[:40], "wandb", "too short"),
    ("Hugging Face's cut", HF[:-1], "huggingface", "too short"),
    ("Hugging Face's with a dash", HF[:-1] + "-", "huggingface", "contains a character"),
    ("another word", "hello", "huggingface", "begins with hf_"),
]


@pytest.mark.parametrize(("text", "service", "kind"), KEYS, ids=[row[2] for row in KEYS])
def test_a_key_is_recognised_by_its_form(text: str, service: str, kind: str) -> None:
    key = check_key(text, service)
    assert (key.value, key.service, key.kind) == (text, service, kind)
    assert key.is_legacy == (kind == "NGC legacy key")


@pytest.mark.parametrize(("text", "service", "why"), [row[1:] for row in OTHERS], ids=[row[0] for row in OTHERS])
def test_anything_else_is_refused_in_words_that_do_not_hold_it(text: object, service: str, why: str) -> None:
    with pytest.raises(MalformedKey) as refusal:
        check_key(text, service)
    said = str(refusal.value)
    assert why in said
    assert not text or str(text) not in said or text in ("hello", "nvapi-")


@given(st.text(max_size=100), st.sampled_from(["ngc", "wandb", "huggingface"]))
def test_what_is_said_of_any_text_is_one_of_a_few_sentences(text: str, service: str) -> None:
    with pytest.raises(MalformedKey) as refusal:
        check_key(text, service)
    said = str(refusal.value)
    assert said.startswith(("the key ", "this does not look like a key: ", "this key is for "))
    assert not set(said) - set(string.printable)


@given(st.text(alphabet=string.printable + "é\u200b", max_size=6), st.integers(0, 70))
def test_what_is_put_into_a_key_makes_it_another_key_or_none(inserted: str, at: int) -> None:
    text = NEW[:at] + inserted + NEW[at:]
    if text == NEW:
        return
    with pytest.raises(MalformedKey):
        check_key(text, "ngc")


@given(st.binary(min_size=63, max_size=63))
def test_84_letters_are_a_legacy_key_only_if_they_name_a_client(raw: bytes) -> None:
    with pytest.raises(MalformedKey):
        check_key(base64.b64encode(raw).decode(), "ngc")


@pytest.mark.parametrize(("text", "service"), [row[:2] for row in KEYS])
def test_a_stranger_has_the_same_form_and_is_another_key(text: str, service: str) -> None:
    key = check_key(text, service)
    other, third = random_key_like(key), random_key_like(key)
    assert check_key(other.value, service).kind == key.kind
    assert len({key.value, other.value, third.value}) == 3


def test_a_key_shows_its_kind_only_and_cannot_be_written() -> None:
    key = check_key(OLD, "ngc")
    for shown in (repr(key), str(key), f"{key}", f"{[key]}", "%s" % key):  # noqa: UP031  # the ways to show it
        assert OLD[:8] not in shown
        assert "NGC legacy key" in shown
    for write in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            write(key)


def test_a_key_is_not_made_of_another_text() -> None:
    with pytest.raises(ValueError, match="form"):
        CheckedKey("whatever", LEGACY)


@pytest.mark.parametrize("text", [NEW, None, 7, ["nvapi-"]])
def test_what_is_no_key_is_not_judged(text: object) -> None:
    with pytest.raises(TypeError) as refusal:
        judge_key(text, ValidationSettings())  # type: ignore[arg-type]  # wrong on purpose
    assert NEW not in str(refusal.value)
