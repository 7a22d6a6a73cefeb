# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What may go to an account, and what may not."""

from __future__ import annotations

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core import values
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._options import shell_options
from hypothesis import given
from hypothesis import strategies as st

GOOD_PATHS = ["/", "~", "~/work", "/dss/dssfs04/lwp-dss-0002/pr12ab", "$SCRATCH", "$WORK/a b", "/a@b/c%d+e=f:g,h.i_j-k"]
# fmt: off
BAD_PATHS = [
    "", "work", "./work", "../x", "~simone/x", "~root", "/a/../b", "~/..", "$SCRATCH/../other", "${WORK}/x",
    "/a\n", "/a\nb", "/a\0", "/a\x1b[31m", "/a'b", '/a"b', "/a\\b", "/a`id`", "/a$(id)", "/a$b", "/a;b", "/a*",
    "~/.ssh", "~/.ssh/authorized_keys", "/home/x/.gnupg/y", "~/.forward", "~/.k5login", "/a\u2028b", "/a\u0660", "/é",
    "/a!b", "/a|b", "/a~", "/a\tb", "/a\rb", "/a#b", "$1/x", "$/x",
]
GOOD_VALUES = [
    "", "1", "a b", "$HOME", "${X}", "*", "?", "~", "{a,b}", "[x]", "a;b|c&d<e>f", "#", "^", "-n", "a=b:c,d%e@f",
]
BAD_VALUES = [
    "'", '"', "`", "\\", "!", "\n", "a\n", "\r", "\0", "\x1b", "\x7f", "\t", "é", "\u2028", "\u0660", "\x85", "\xa0",
]
# fmt: on
BAD_NAMES = ["", "1A", "A-B", "A B", "A\n", "A=B", "É", "A.B", "$A", "A\0"]


@pytest.mark.parametrize("path", GOOD_PATHS)
def test_an_ordinary_path_passes(path: str) -> None:
    values.check_path("path", path)


@pytest.mark.parametrize("path", [*BAD_PATHS, None, 7, ["/a"]])
def test_a_hostile_path_is_refused(path: object) -> None:
    with pytest.raises(AccountError, match=r"^path: "):
        values.check_path("path", path)


@pytest.mark.parametrize("value", GOOD_VALUES)
def test_a_value_that_every_shell_keeps_passes(value: str) -> None:
    shell_options.check_variable("NAME", value)


@pytest.mark.parametrize("value", [*BAD_VALUES, None, 1, ["x"]])
def test_a_value_that_some_shell_changes_is_refused(value: object) -> None:
    with pytest.raises(AccountError, match="the value of NAME"):
        shell_options.check_variable("NAME", value)


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_variable_with_an_odd_name_is_refused(name: str) -> None:
    with pytest.raises(AccountError, match="is not a valid name of an environment variable"):
        shell_options.check_variable(name, "x")


@pytest.mark.parametrize("name", ["PATH", "HOME", "IFS", "UID", "SHELLOPTS", "PPID", "status", "path", "_", "PWD"])
def test_a_variable_that_belongs_to_the_shell_is_refused(name: str) -> None:
    with pytest.raises(AccountError, match="is a variable of the shell itself"):
        shell_options.check_variable(name, "x")


@pytest.mark.parametrize("word", ["", "a\n", "-a", ".a", "a b", "a/b", "é", "a\0", None, 3])
def test_a_name_that_is_not_one_plain_word_is_refused(word: object) -> None:
    with pytest.raises(AccountError, match="is not a valid name"):
        values.check_word("section", word)


# fmt: off
BAD_KEYS = [
    "", " k", "kk ", "kk\n", "ka kb", "ka\tkb", "k\0", "k\x1b", "$HOME", "$(id)", '"k"', "'k'", "#k", "ké", "k\u2028",
    None, 5,
]
# fmt: on


@pytest.mark.parametrize("key", BAD_KEYS)
def test_a_damaged_key_is_refused_and_not_shown(key: object) -> None:
    with pytest.raises(AccountError) as refused:
        values.check_secret(key)
    assert not key or str(key) not in str(refused.value).replace("the key", "")


def test_an_ordinary_key_passes() -> None:
    values.check_secret("nvapi-abc_DEF-123$pa#ss\"'\\")


@given(st.text(max_size=40))
def test_what_passes_holds_no_control_character_and_no_quote(text: str) -> None:
    checks = (values.check_path, values.check_word, shell_options.check_variable)
    for check in checks:
        try:
            check("A", text)
        except AccountError:
            continue
        assert text.isascii()
        assert all(c.isprintable() and c not in "'\"\\!`" for c in text)
