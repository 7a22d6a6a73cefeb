# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One large file over HTTP from a real server: whole, in parts, cut, wrong, refused."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._jobs import download
from ansible_collections.hpc.onboard.plugins.module_utils._jobs.job import Failed

from tests.testbed.web import Web

CONTENT = b"".join(b"%d\n" % number for number in range(30_000))
SUM = hashlib.sha256(CONTENT).hexdigest()
Seen = list[tuple[int, int | None]]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the pauses between attempts."""
    monkeypatch.setattr(download, "PAUSE", 0.0)


def fetched(web: Web, path: Path, sha256: str = SUM, proxies: dict[str, str] | None = None) -> Seen:
    """Fetch it, and give what was said of the bytes."""
    seen: Seen = []
    url = f"http://127.0.0.1:{web.port}/file"
    download.fetch(url, str(path), sha256, proxies or {}, lambda done, total: seen.append((done, total)))
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
    with Web(b"<html>please log in</html>") as web, pytest.raises(Failed, match="is pinned: it was not run"):
        fetched(web, tmp_path / "f")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("code", [403, 404])
def test_what_the_server_refuses_is_not_asked_for_again(tmp_path: Path, code: int) -> None:
    with Web(CONTENT, code=code) as web:
        with pytest.raises(Failed, match=f"the server answered {code}") as caught:
            fetched(web, tmp_path / "f")
        assert len(web.requests) == 1
    assert caught.value.wants is None


def test_where_there_is_no_way_out_it_is_said_that_it_could_be_brought(tmp_path: Path) -> None:
    with Web(CONTENT) as web:
        pass
    with pytest.raises(Failed, match="cannot be fetched") as caught:
        fetched(web, tmp_path / "f")
    assert caught.value.wants == {}


def test_a_proxy_is_asked_in_the_servers_place(tmp_path: Path) -> None:
    with Web(CONTENT) as web, Web(b"") as nobody:
        fetched(nobody, tmp_path / "f", proxies={"http": f"http://127.0.0.1:{web.port}"})
        assert (web.requests, nobody.requests) == (["whole"], [])
    assert (tmp_path / "f").read_bytes() == CONTENT
