# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One large file over HTTP from a real server: whole, in parts, cut, wrong, refused."""

from __future__ import annotations

import errno
import hashlib
import socket
import ssl
import time
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._jobs import download
from ansible_collections.hpc.onboard.plugins.module_utils._jobs.job import JobFailed

from tests.effort import turns
from tests.testbed.web import Web

pytestmark = turns(3)

CONTENT = b"".join(b"%d\n" % number for number in range(30_000))
SUM = hashlib.sha256(CONTENT).hexdigest()
Seen = list[tuple[int, int | None]]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the pauses between attempts."""
    monkeypatch.setattr(download, "PAUSE", 0.0)


def fetched(
    web: Web, path: Path, sha256: str = SUM, proxies: dict[str, str] | None = None, host: str = "127.0.0.1"
) -> Seen:
    """Fetch it, and give what was said of the bytes."""
    seen: Seen = []
    url = f"http://{host}:{web.port}/file"
    download.download_file(url, str(path), sha256, proxies or {}, lambda done, total: seen.append((done, total)))
    return seen


def test_it_arrives_and_is_counted(tmp_path: Path) -> None:
    with Web(CONTENT) as web:
        seen = fetched(web, tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == CONTENT
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_one_that_is_there_is_not_fetched_again(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(CONTENT)
    with Web(CONTENT) as web:
        fetched(web, tmp_path / "f")
        assert web.requests == []


def test_it_goes_on_where_it_stopped(tmp_path: Path) -> None:
    (tmp_path / "f.part").write_bytes(CONTENT[:1000])
    with Web(CONTENT) as web:
        fetched(web, tmp_path / "f")
        assert web.requests == ["bytes=1000-"]
    assert (tmp_path / "f").read_bytes() == CONTENT


def test_a_connection_that_is_cut_is_gone_on_with(tmp_path: Path) -> None:
    with Web(CONTENT, cut=len(CONTENT) // 3) as web:
        fetched(web, tmp_path / "f")
        assert len(web.requests) == 4
    assert (tmp_path / "f").read_bytes() == CONTENT


def test_parts_of_two_files_are_fetched_anew(tmp_path: Path) -> None:
    (tmp_path / "f.part").write_bytes(b"of another file")
    with Web(CONTENT) as web:
        fetched(web, tmp_path / "f")
        assert web.requests == ["bytes=15-", "whole"]
    assert (tmp_path / "f").read_bytes() == CONTENT


def test_a_part_that_is_whole_is_taken(tmp_path: Path) -> None:
    (tmp_path / "f.part").write_bytes(CONTENT)
    with Web(CONTENT) as web:
        fetched(web, tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == CONTENT


def test_another_file_is_refused_and_removed(tmp_path: Path) -> None:
    with (
        Web(b"<html>please log in</html>") as web,
        pytest.raises(JobFailed, match="The file was not run"),
    ):
        fetched(web, tmp_path / "f")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("code", [403, 404])
def test_what_the_server_refuses_is_not_asked_for_again(tmp_path: Path, code: int) -> None:
    with Web(CONTENT, code=code) as web:
        with pytest.raises(JobFailed, match=f"the server returned HTTP {code}") as caught:
            fetched(web, tmp_path / "f")
        assert len(web.requests) == 1
    assert caught.value.wants is None


def test_where_there_is_no_way_out_it_is_said_that_it_could_be_brought(tmp_path: Path) -> None:
    with Web(CONTENT) as web:
        pass
    with pytest.raises(JobFailed, match="could not be downloaded") as caught:
        fetched(web, tmp_path / "f")
    assert caught.value.wants == {}


def test_a_name_with_two_dots_is_no_bug(tmp_path: Path) -> None:
    with pytest.raises(JobFailed, match=r"https://example\.\.org/x could not be downloaded"):
        download.download_file("https://example..org/x", str(tmp_path / "f"), SUM, {}, lambda _done, _total: None)


def test_a_proxy_is_asked_in_the_servers_place(tmp_path: Path) -> None:
    with Web(CONTENT) as web, Web(b"") as nobody:
        fetched(nobody, tmp_path / "f", proxies={"http": f"http://127.0.0.1:{web.port}"})
        assert (web.requests, nobody.requests) == (["whole"], [])
    assert (tmp_path / "f").read_bytes() == CONTENT


@pytest.mark.parametrize("no", ["127.0.0.1", "example.org,127.0.0.1", "*"])
def test_a_host_that_needs_no_proxy_is_asked_itself(tmp_path: Path, no: str) -> None:
    with Web(CONTENT) as web, Web(b"") as proxy:
        fetched(web, tmp_path / "f", proxies={"http": f"http://127.0.0.1:{proxy.port}", "no": no})
        assert (web.requests, proxy.requests) == (["whole"], [])
    assert (tmp_path / "f").read_bytes() == CONTENT


INWARDS = ["http://127.0.0.1:{port}/", "https://127.0.0.1:{port}/", "http://localhost:{port}/", "http://[::1]:{port}/"]
INWARDS += ["https://localhost:{port}/", "file:///etc/passwd", "ftp://127.0.0.1:{port}/", "http://example.org/"]
INWARDS += ["https://127%2E0.0.1:{port}/"]


def test_a_server_leads_to_no_place_inside_and_to_none_without_tls(tmp_path: Path) -> None:
    """The server has another name than what it leads to; what nobody has named is asked over TLS, and is public."""
    with Web(CONTENT) as inside, Web(b"") as web:
        for address in INWARDS:
            web.elsewhere = address.format(port=inside.port)
            with pytest.raises(JobFailed, match="Nothing was downloaded") as caught:
                fetched(web, tmp_path / "f", host="127.0.0.2")
            assert inside.requests == []
            assert caught.value.wants is None
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_was_named_may_lead_to_another_of_its_files(tmp_path: Path) -> None:
    with Web(CONTENT) as other, Web(b"", elsewhere=f"http://127.0.0.1:{other.port}/") as web:
        fetched(web, tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == CONTENT


def test_a_ring_of_addresses_ends(tmp_path: Path) -> None:
    with Web(b"") as web:
        web.elsewhere = f"http://127.0.0.1:{web.port}/"
        with pytest.raises(JobFailed, match="Nothing was downloaded"):
            fetched(web, tmp_path / "f")
        assert len(web.requests) < 20


def test_a_proxy_is_not_asked_for_a_place_inside(tmp_path: Path) -> None:
    """The proxy itself may well lie inside: whoever uses it has named it."""
    with Web(b"", elsewhere="https://10.0.0.1/secret") as proxy:
        given = {"http": f"http://127.0.0.1:{proxy.port}", "https": f"http://127.0.0.1:{proxy.port}"}
        with pytest.raises(JobFailed, match="Nothing was downloaded"):
            fetched(proxy, tmp_path / "f", host="files.example.org", proxies=given)
        assert len(proxy.requests) == 1


def test_a_file_without_end_is_not_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "LARGEST", 100_000)
    for length in (True, False):
        with Web(CONTENT, says_length=length) as web, pytest.raises(JobFailed, match="too large for an installer"):
            fetched(web, tmp_path / "f")
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", ["head", "body"])
def test_a_server_that_drips_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    monkeypatch.setattr(download, "LONGEST", 1.0)
    begun = time.monotonic()
    with (
        Web(CONTENT, seconds=50, drips=where == "head") as web,
        pytest.raises(JobFailed, match="the download took more than"),
    ):
        fetched(web, tmp_path / "f")
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (socket.gaierror(-2, "Name or service not known"), "the host name was not found"),
        (TimeoutError("timed out"), "timed out"),
        (ssl.SSLCertVerificationError(1, "self-signed"), "the server's certificate was not accepted"),
        (OSError("Tunnel connection failed: 403 Forbidden"), "no connection"),
        (ConnectionRefusedError(errno.ECONNREFUSED, ""), "ECONNREFUSED"),
    ],
)
def test_the_reason_of_a_lost_connection_is_named(
    error: OSError, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object, **_named: object) -> None:
        raise error

    monkeypatch.setattr("socket.create_connection", fail)
    with pytest.raises(JobFailed) as caught:
        download.download_file("http://127.0.0.1:9/x", str(tmp_path / "f"), SUM, {}, lambda _done, _total: None)
    assert f"could not be downloaded ({why}" in str(caught.value)
