# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sections, start-up lines and stamps come out of a text as they went in, whatever else it holds."""

from __future__ import annotations

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._formats import environment, origin_mark, section, startup
from ansible_collections.hpc.onboard.plugins.module_utils._formats.lines import split_lines
from hypothesis import assume, example, given
from hypothesis import strategies as st

LINE = environment.source_line("sh", ".config/hpc.onboard/env.sh", startup.MARK)
pieces = st.sampled_from(
    ["#!/bin/sh", "\n", "\r\n", "\r", "export A=1", "# hpc.onboard", LINE, "\x85", "\xa0", "\x1c", "\0", " "]
)
texts = st.one_of(
    st.binary(max_size=80).map(lambda raw: raw.decode("latin-1")), st.lists(pieces, max_size=9).map("".join)
)
names = st.sampled_from(["own", "path_scripts", "container_caches", "a.b-c"])
bodies = st.lists(st.sampled_from(["export A='1'\n", "setenv B '# >>> own >>>'\n", "x <<< own <<<\n"]), max_size=4).map(
    "".join
)


@given(texts)
@example("")
@example("#!/bin/sh")
@example("#!/bin/sh\r\nexport A=1\r\n")
@example("case $- in *i*) ;; *) return;; esac\n")
def test_removing_our_line_is_the_exact_inverse_of_inserting_it(text: str) -> None:
    assume(startup.find_our_line(text) is None)
    new = startup.insert(text, LINE)
    assert startup.find_our_line(new) == LINE
    assert startup.remove(new, LINE) == text


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        (f"a\n{LINE}", "a\n"),  # moved to the end of a file without a final line end
        (LINE, ""),
        (f"{LINE}\na\n{LINE}\nb", "a\nb"),  # a file that was copied into itself
        (f"a # {LINE}\n{LINE} x\n", f"a # {LINE}\n{LINE} x\n"),  # parts of other lines
    ],
)
def test_a_line_that_was_moved_or_copied_is_removed_too(text: str, rest: str) -> None:
    assert startup.remove(text, LINE) == rest


@given(texts)
def test_our_line_stands_above_everything_but_an_interpreter_line(text: str) -> None:
    every = split_lines(startup.insert(text, LINE))
    place = 1 if text.startswith("#!") and "\n" in text else 0
    assert every[place].rstrip("\r\n") == LINE


def test_our_line_ends_as_the_text_ends_its_lines() -> None:
    assert startup.insert("a\r\nb\r\n", LINE) == LINE + "\r\na\r\nb\r\n"
    assert startup.insert("a\nb\r\n", LINE) == LINE + "\na\nb\r\n"


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ('if [ -f "$HOME/.bashrc" ]; then . "$HOME/.bashrc"; fi\n', True),
        ("  . ~/.bashrc\n", True),
        ("x\n. ~/.bashrc; y", True),
        ("for f in ~/.bashrc.d/* ~/.bashrc\n", True),
        ("source ~/.bashrc_private\n. ~/.bashrc.local\n. ~/.bashrc-x\n. ~/.bashrc~\n", False),
        ("alias rc='vim ~/.bashrc'\n", False),
        ("# see .bashrc\n", False),
        ("\t# . ~/.bashrc\n", False),
        ("", False),
    ],
)
def test_a_comment_an_alias_and_a_longer_name_do_not_read_a_start_up_file(text: str, reads: bool) -> None:
    assert startup.refers_to(text, ".bashrc") is reads


@given(texts, names, bodies)
def test_a_section_is_found_as_it_was_put(text: str, name: str, body: str) -> None:
    new = section.put(text, name, body)
    found = section.find(new, name)
    assert found is not None
    assert (found.body, found.untouched) == (body, True)
    assert section.put(new, name, body) == new


@given(texts, names, bodies)
def test_the_text_around_a_section_survives(text: str, name: str, body: str) -> None:
    assume(section.find(text, name) is None)
    left = section.without(section.put(text, name, body), name)
    assert left == (text if text.endswith("\n") or not text else text + "\n")


@given(st.lists(st.tuples(names, bodies), min_size=1, max_size=6))
def test_sections_do_not_disturb_each_other(puts: list[tuple[str, str]]) -> None:
    text, wanted = "# head\n", {}
    for name, body in puts:
        text, wanted[name] = section.put(text, name, body), body
    for name, body in wanted.items():
        found = section.find(text, name)
        assert found is not None
        assert (found.body, found.untouched) == (body, True)
    for name in wanted:
        text = section.without(text, name)
    assert text == "# head\n"
    assert not section.has_any(text)


def test_a_copy_of_a_section_is_removed_with_it() -> None:
    text = section.put("a\n", "own", "x\n")
    assert section.without(text + text, "own") == "a\na\n"


def test_a_section_changed_by_hand_is_seen() -> None:
    text = section.put("", "own", "export A='1'\n")
    for changed in (text.replace("'1'", "'2'"), text.replace("# <<< own <<<\n", ""), text.rstrip("\n")):
        found = section.find(changed, "own")
        assert found is not None
        assert not found.untouched


def test_a_section_that_lost_its_end_does_not_swallow_the_next() -> None:
    text = section.put(section.put("", "own", "a\n"), "other", "b\n")
    found = section.find(text.replace("# <<< own <<<\n", ""), "own")
    assert found is not None
    assert (found.body, found.untouched) == ("a\n", False)


def test_a_line_outside_of_all_sections_is_found_and_an_indented_comment_is_none() -> None:
    text = section.put("# head\n\n  # mine\n", "own", "export A='1'\n")
    assert section.first_line_outside(text) == 0
    assert section.first_line_outside(text + "\t# mine\n export B=1 # mine\n") == 8


scripts = st.tuples(st.sampled_from(["#!/bin/sh\n", "#!/bin/sh\r\n"]), st.text(max_size=60)).map("".join)


@given(scripts)
@example(origin_mark.add_mark("#!/bin/sh\necho\n"))
def test_a_stamped_script_is_ours_and_untouched(script: str) -> None:
    text = origin_mark.add_mark(script)
    assert origin_mark.has_mark(text)
    assert origin_mark.is_unchanged(text)
    assert text.partition("\n")[0] == script.partition("\n")[0]


@given(scripts, st.data())
def test_a_script_changed_anywhere_but_in_our_line_is_no_longer_untouched(script: str, data: st.DataObject) -> None:
    first, line, rest = origin_mark.add_mark(script).split("\n", 2)
    at = data.draw(st.integers(0, len(rest)))
    added = data.draw(st.sampled_from("xy"))
    assert not origin_mark.is_unchanged("\n".join([first, line, rest[:at] + added + rest[at:]]))
    assert not origin_mark.is_unchanged("\n".join([first + added, line, rest]))


@given(st.text(max_size=80))
def test_a_script_without_our_stamp_is_not_ours(text: str) -> None:
    assume("hpc.onboard" not in text)
    assert not origin_mark.has_mark(text)
    assert not origin_mark.is_unchanged(text)
