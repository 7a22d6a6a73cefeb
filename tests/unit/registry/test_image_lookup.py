# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an account asks a registry of an image: its digest and its size, and what comes of odd answers."""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._options.image_name import parse
from ansible_collections.hpc.onboard.plugins.module_utils._registry.image_lookup import (
    ARCHITECTURES,
    ImageLookup,
    look_up_image,
)

from tests.testbed.registry import Authority

LAYERS = json.dumps({"layers": [{"size": 20}, {"size": 22}]}).encode()
OURS = {"digest": "sha256:ours", "platform": {"architecture": ARCHITECTURES[os.uname().machine]}}
INDEX = json.dumps({"manifests": [{"digest": "sha256:other"}, OURS]}).encode()
STRANGE = "the registry's response is not an image manifest: check whether a proxy answers instead"
Answers = dict[str, tuple[int, bytes]]


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Answers]:
    """What a registry answers for a tag, a digest, or "token"; "image" is the name of an image there."""
    given: Answers = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            code, body = given.get(self.path.partition("?")[0].rpartition("/")[2], (404, b""))
            self.send_response(code)
            if code == 401:
                realm = f"https://localhost:{server.server_address[1]}/token"
                self.send_header("WWW-Authenticate", f'Bearer realm="{realm}"')
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    authority = Authority("authority of images")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.write_server(tmp_path / "server.pem", ["localhost"]))
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.write(tmp_path / "ca.pem")))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        monkeypatch.setenv("no_proxy", "localhost")
        given["image"] = (0, f"localhost:{server.server_address[1]}/uni/pytorch:1".encode())
        yield given
        server.shutdown()


def looked_up(answers: Answers) -> ImageLookup:
    """What is found of the image."""
    image = parse(answers["image"][1].decode())
    assert image is not None
    return look_up_image(image, ("", ""))


@pytest.mark.parametrize("body", [LAYERS, INDEX], ids=["manifest", "index"])
def test_the_digest_is_that_of_the_tag_and_the_size_that_of_the_layers_for_this_machine(
    answers: Answers, body: bytes
) -> None:
    answers.update({"1": (200, body), "sha256:ours": (200, LAYERS)})
    assert looked_up(answers) == ImageLookup(f"sha256:{hashlib.sha256(body).hexdigest()}", 42)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"1": 404}, "has no image uni/pytorch:1: check its name and tag"),
        ({"1": 403}, "requires a key for uni/pytorch:1, but"),
        ({"1": 401, "token": 401}, "requires a key for uni/pytorch:1, but"),
        ({"1": 500}, "returned HTTP status 500"),
        ({"1": 401, "token": 503}, "returned HTTP status 503"),
        ({"1": 401, "token": 429}, "returned HTTP status 429"),
    ],
)
def test_only_a_refusal_is_certain(answers: Answers, given: dict[str, int], why: str) -> None:
    answers.update({name: (code, b"") for name, code in given.items()})
    found = looked_up(answers)
    assert found.why.partition(" ")[2].startswith(why), "after the registry's name"
    assert (found.digest, found.is_certain) == ("", "returned" not in why)


def test_a_missing_digest_is_named_as_the_user_wrote_it(answers: Answers) -> None:
    host, digest = answers["image"][1].decode().partition("/")[0], "sha256:" + "0" * 64
    image = parse(f"{host}/uni/pytorch@{digest}")
    assert image is not None
    assert look_up_image(image, ("", "")).why == f"{host} has no image uni/pytorch@{digest}: check its name and digest"


@pytest.mark.parametrize(
    "body", [b"<html>", b"\xff", b"[]", b'{"layers": 7}', b'{"layers": [{"size": Infinity}]}', b"[" * 100_000]
)
def test_what_is_no_manifest_is_said(answers: Answers, body: bytes) -> None:
    answers["1"] = (200, body)
    assert looked_up(answers) == ImageLookup("", 0, STRANGE)
