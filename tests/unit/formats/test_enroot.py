# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge the edits of enroot's credentials file by the programs that read it."""

from __future__ import annotations

import base64
import http.server
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import netrc_readers
import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._formats import enroot
from hypothesis import assume, example, given
from hypothesis import strategies as st

MACHINE, LOGIN, KEY = "nvcr.io", "$oauthtoken", "nvapi-new"
OURS = f"machine {MACHINE} login {LOGIN} password {KEY}"

words = st.sampled_from(
    [
        *("machine", "MACHINE", "nvcr.io", "NVCR.io", "authn.nvidia.com", "login", "password", "account", "default"),
        *("macdef", LOGIN, "somebody", "nvapi-old", '"quoted"', "#", "# note", "\xff", "\x85", "\xa0", "x"),
    ]
)
blanks = st.sampled_from([" ", "  ", "\t", "\v", "\f"])
ends = st.sampled_from(["\n", "\r\n", "\n\n", "\r", "", " \n"])
whole = st.sampled_from(
    [
        f"machine {MACHINE} login {LOGIN} password nvapi-old",
        f"  machine {MACHINE} login {LOGIN} password nvapi-indented",
        f"machine {MACHINE} password nvapi-reversed login {LOGIN}",
        f"machine {MACHINE} login somebody password theirs",
        "machine registry.example login me password mine",
        "default login anonymous password guest",
        "# a comment about machine nvcr.io login",
        "machine authn.nvidia.com login $oauthtoken password $(cat ~/key)",
        "\tpassword nvapi-below",
        "login $oauthtoken",
    ]
)
scrambled = st.lists(st.tuples(words, blanks).map("".join), max_size=9).map("".join)
files = st.lists(st.tuples(st.one_of(whole, scrambled), ends).map("".join), max_size=7).map("".join)
wild = st.binary(max_size=120).map(lambda raw: raw.decode("latin-1"))


def without_ours(text: str) -> list[str]:
    """The foreign lines, as split by newlines alone."""
    return [line for line in text.split("\n") if not enroot.is_entry_for(line, MACHINE, LOGIN)]


@given(st.one_of(files, wild))
@example("machine other login a password b")
@example("\x85\n\xa0machine nvcr.io login x password y\r\n")
def test_foreign_lines_survive_byte_for_byte_and_in_order(text: str) -> None:
    new = enroot.put(text, MACHINE, LOGIN, KEY)
    before, after = "\n".join(without_ours(text)), "\n".join(without_ours(new))
    assert after in (before, before + "\n", before + "\r\n")  # an unterminated line is ended


@given(st.one_of(files, wild))
def test_there_is_exactly_one_line_of_ours_afterwards(text: str) -> None:
    new = enroot.put(text, MACHINE, LOGIN, KEY)
    assert [line.rstrip("\r") for line in new.split("\n") if enroot.is_entry_for(line, MACHINE, LOGIN)] == [OURS]


@given(st.one_of(files, wild))
def test_putting_a_line_twice_is_putting_it_once(text: str) -> None:
    once = enroot.put(text, MACHINE, LOGIN, KEY)
    assert enroot.put(once, MACHINE, LOGIN, KEY) == once


@given(st.one_of(files, wild))
def test_taking_out_what_was_put_in_leaves_the_foreign_lines(text: str) -> None:
    assume(not any(enroot.is_entry_for(line, MACHINE, LOGIN) for line in text.split("\n")))
    left = enroot.without(enroot.put(text, MACHINE, LOGIN, KEY), MACHINE, LOGIN)
    assert left in (text, text + "\n", text + "\r\n")


@given(st.one_of(files, wild))
def test_taking_out_leaves_no_line_of_ours_and_every_other(text: str) -> None:
    left = enroot.without(text, MACHINE, LOGIN)
    assert enroot.find(left, MACHINE, LOGIN) is None
    assert [line for line in left.split("\n") if line] == [line for line in without_ours(text) if line]


def accepted(text: str) -> str | None:
    """The new text where we would write it, else None: the checks of the resource that writes."""
    new = enroot.put(text, MACHINE, LOGIN, KEY)
    if enroot.find_problem(text, MACHINE) or enroot.find(new, MACHINE, LOGIN) != enroot.EnrootEntry([KEY], True, True):
        return None
    return new


@given(files)
@example("MACHINE nvcr.io login somebody password theirs\n")
@example("machine other login a password b machine nvcr.io login c password d\n")
@example("machine nvcr.io login $oauthtoken password a machine other login b password c\n")
@example("macdef init\nmachine x\n")
@example("machine other login")
@example("default login anonymous password guest\nmachine nvcr.io login $oauthtoken password old\n")
@example("login machine\nmachine")
@example("default login\n")
def test_what_we_write_is_what_enroot_and_curl_use(text: str) -> None:
    new = accepted(text)
    if new is None:
        return
    raw = new.encode("latin-1")
    assert netrc_readers.enroot_user(raw, MACHINE) == LOGIN.encode()
    assert netrc_readers.enroot_uses_the_file(raw, MACHINE, LOGIN.encode())
    assert netrc_readers.curl_sends(raw, MACHINE) == (LOGIN.encode(), KEY.encode())


@given(files)
def test_a_file_that_is_called_in_order_is_read_so(text: str) -> None:
    found = enroot.find(text, MACHINE, LOGIN)
    if found is None or not (found.well_formed and found.foremost) or enroot.find_problem(text, MACHINE):
        return
    raw = text.encode("latin-1")
    assert netrc_readers.enroot_uses_the_file(raw, MACHINE, LOGIN.encode())
    assert netrc_readers.curl_sends(raw, MACHINE) == (LOGIN.encode(), found.passwords[0].encode("latin-1"))


TABLE = [
    ("machine nvcr.io login $oauthtoken password old\nmachine nvcr.io login $oauthtoken password nvapi-new\n", False),
    ("machine nvcr.io login $oauthtoken password nvapi-new\r\n", True),
    ("  machine nvcr.io login $oauthtoken password nvapi-new\n", False),
    ("default login a password b\nmachine nvcr.io login $oauthtoken password nvapi-new\n", False),
    ("machine nvcr.io login $oauthtoken password nvapi-new", True),
    ("machine\tnvcr.io\tlogin\t$oauthtoken\tpassword\tnvapi-new # mine\n", True),
    ("machine nvcr.io password nvapi-new login $oauthtoken\n", False),
    ("machine nvcr.io login x password y\nmachine nvcr.io login $oauthtoken password nvapi-new\n", False),
]


@pytest.mark.parametrize(("text", "in_order"), TABLE)
def test_the_forms_seen_in_the_wild_are_told_apart(text: str, in_order: bool) -> None:
    assert (enroot.find(text, MACHINE, LOGIN) == enroot.EnrootEntry([KEY], True, True)) is in_order
    assert accepted(text) is not None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\xef\xbb\xbfmachine nvcr.io login a password b\n", "byte-order mark"),
        ("machine nvcr.io\nlogin $oauthtoken\npassword old\n", "several lines"),
        ("# note\nmachine\nnvcr.io login a password b\n", "line 2 contains only 'machine'"),
        ("machine nvcr.io login a password b machine other login c password d\n", "several entries"),
        ("machine x login a\0\n", "NUL"),
    ],
)
def test_a_file_that_cannot_be_edited_by_lines_is_refused_in_words(text: str, words: str) -> None:
    assert words in (enroot.find_problem(text, MACHINE) or "")


@pytest.mark.parametrize("login", ["password", "login", "machine", "account"])
def test_a_login_that_looks_like_a_keyword_is_a_login(login: str) -> None:
    text = enroot.put("", MACHINE, login, KEY)
    found = enroot.find(text, MACHINE, login)
    assert found is not None
    assert found.passwords == [KEY]


class Registry(http.server.BaseHTTPRequestHandler):
    """Asks for nothing and notes what it is sent."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.headers.get("Authorization", "").encode())

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def registry() -> Iterator[int]:
    """A web server on loopback; its port."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


SAMPLES = [
    "",
    "machine registry.example login me password mine",
    "default login anonymous password guest\n",
    "default login anonymous password guest\nmachine nvcr.io login $oauthtoken password old\n",
    "machine nvcr.io login $oauthtoken password old\r\nmachine x login y password z\r\n",
    "machine nvcr.io login $oauthtoken password old\nmachine nvcr.io login $oauthtoken password older\n",
    "  machine nvcr.io login $oauthtoken password old\n",
    "machine nvcr.io login somebody password theirs\n",
    "MACHINE nvcr.io login somebody password theirs\n",
    "machine other login a password b machine nvcr.io login c password d\n",
    "macdef init\nmachine x\n",
    "macdef init\nput x\n\nmachine y login z password w\n",
    "machine other login",
    "default login\n",
    "# comment \xe9\x85\nmachine other\n\tlogin a\n\tpassword b\n",
    'machine nvcr.io login $oauthtoken password "old key"\n',
    "machine nvcr.io password old login $oauthtoken\nmachine nvcr.io login $oauthtoken password older\n",
]


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
@pytest.mark.parametrize("text", SAMPLES)
def test_curl_sends_our_key(text: str, registry: int, tmp_path: Path) -> None:
    new = accepted(text)
    if new is None:
        return
    file = tmp_path / "credentials"
    file.write_bytes(new.encode("latin-1"))
    address = ["--resolve", f"{MACHINE}:{registry}:127.0.0.1", f"http://{MACHINE}:{registry}/"]
    command = ["curl", "-q", "-sS", "--noproxy", "*", "--netrc-file", str(file), *address]
    sent = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    assert base64.b64decode(sent.removeprefix("Basic ")).decode() == f"{LOGIN}:{KEY}"


def test_most_of_the_samples_are_judged_by_curl() -> None:
    assert sum(accepted(text) is not None for text in SAMPLES) >= 12


@given(
    st.permutations(["nvcr.io", "authn.nvidia.com", "registry.example.org"]),
    st.sampled_from(["", "machine a login b\n"]),
)
def test_our_lines_have_one_order_whichever_was_written_first(machines: list[str], text: str) -> None:
    whole = text
    for machine in machines:
        whole = enroot.put(whole, machine, LOGIN, KEY)
    placed = [line.split()[1] for line in whole.removeprefix(text).splitlines()]
    assert placed == ["registry.example.org", "nvcr.io", "authn.nvidia.com"]


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize(
    ("now", "after"),
    [
        ("machine x login y password z", "machine x login y password z\nFORMER"),  # the user has deleted our line
        ("OURS\nmachine x login y password z", "FORMER\nmachine x login y password z"),
        ("# mine\nOURS", "# mine\nFORMER"),
    ],
)
def test_a_former_line_is_put_on_a_line_of_its_own(now: str, after: str, end: str) -> None:
    ours, former = (enroot.format_entry(MACHINE, LOGIN, password) for password in (KEY, "former"))
    text = now.replace("OURS", ours)
    restored = enroot.restore_former(text, MACHINE, LOGIN, f"# former\n{former}{end}")
    assert restored.rstrip("\n") == after.replace("FORMER", former)
