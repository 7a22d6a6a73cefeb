"""The registry as a whole: Debian's docker-registry, the front before it, and two small images, for one `with`.

docker-registry keeps everything in memory and is told by the kernel to end with the process that started it.
SPDX-License-Identifier: GPL-3.0-or-later
"""

import base64
import contextlib
import hashlib
import http.client
import json
import secrets
import shutil
import socket
import string
import subprocess
import tempfile
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from urllib.parse import urlsplit

from tests.testbed.registry.certificates import Authority
from tests.testbed.registry.front import PARTS, Front, Seen, until
from tests.testbed.registry.keys import Doorkeeper

PUBLIC = "nvidia/tiny"
PRIVATE = "uni-muster/secret"
TAG = "1.0"
NAMES = ("127.0.0.1", "localhost")
MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"

_SERVICE = "registry.of-a-test"
_CONFIGURATION = """
version: 0.1
log: {{level: info, formatter: text}}
storage: {{inmemory: {{}}}}
http: {{addr: "127.0.0.1:{port}", host: "https://{host}", relativeurls: true}}
auth: {{token: {{realm: "{realm}", service: "{service}", issuer: test, rootcertbundle: "{bundle}"}}}}
"""


def new_key() -> str:
    """Give a random key of the form of a personal NGC key."""
    return "nvapi-" + "".join(secrets.choice(string.ascii_letters + string.digits + "_-") for _ in range(64))


def new_legacy_key() -> str:
    """Give a random key of the form of a legacy NGC key."""
    client = "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(26))
    return base64.b64encode(f"{client}:{uuid.uuid4()}".encode()).decode()


class Registry:
    """A context manager. Images: PUBLIC:TAG for anybody, PRIVATE:TAG for the keys that are allowed to pull it.

    `address` is host:port of the registry, its realm and its issuers; `ca_file` is who signed its certificate;
    `requests` is what was asked, with fingerprints in place of keys. `mode` is how all of it answers, `modes` how
    each part does (registry, token, issuer): well, slow, drip, broken, busy, garbage, huge, cut, elsewhere, forbidden.
    `failures`: how many of the next requests find it busy. `doorkeeper`: `lenient`, `refuses`, `public`.
    """

    def __init__(
        self,
        names: Sequence[str] = NAMES,
        listen: str = "127.0.0.1",
        port: int = 0,
        realm: str | None = None,
        authority: Authority | None = None,
    ) -> None:
        """names: hosts and addresses in the certificate, the first of which is used here.

        listen: "0.0.0.0" lets other network namespaces reach it. realm: where the registry sends for a token, an
        address or the name of a host of this server, in place of the first name.
        authority: who signs its certificate, for servers that trust each other. To be entered in a thread that lives
        as long as the registry is wanted: the kernel ends docker-registry with that thread.
        """
        self._authority = authority or Authority("authority of a test")
        self._names, self._listen, self._port, self._realm = tuple(names), listen, port, realm
        self._process: subprocess.Popen[bytes] | None = None
        self.doorkeeper = Doorkeeper(_SERVICE, [PUBLIC])

    def __enter__(self) -> "Registry":
        """Bring it up, with its images."""
        self.folder = Path(tempfile.mkdtemp(prefix="hob-registry-"))
        try:
            self.ca_file = self._authority.write(self.folder / "ca.pem")
            certificate = self._authority.write_server(self.folder / "server.pem", self._names)
            self._front = Front(self.doorkeeper, certificate, self._listen, self._port)
            self.port = self._front.port
            self._front.serve(self._start())
        except BaseException:
            self.close()
            raise
        for repository in (PUBLIC, PRIVATE):
            self.push(repository)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take it down."""
        self.close()

    @property
    def address(self) -> str:
        """Give host:port, without a port where that is the one of https."""
        return self._names[0] if self.port == 443 else f"{self._names[0]}:{self.port}"

    @property
    def requests(self) -> list[Seen]:
        """Give what was asked so far."""
        return self._front.requests

    @property
    def basic(self) -> bool:
        """Tell whether it takes user and key itself, without tokens."""
        return self._front.basic

    @basic.setter
    def basic(self, basic: bool) -> None:
        self._front.basic = basic

    @property
    def modes(self) -> dict[str, str]:
        """Give how each part answers, for changing."""
        return self._front.modes

    @property
    def mode(self) -> str:
        """Give how it answers: the one mode of all parts, or their modes."""
        return " ".join(sorted(set(self.modes.values())))

    @mode.setter
    def mode(self, mode: str) -> None:
        self.modes.update(dict.fromkeys(PARTS, mode))

    @property
    def log(self) -> str:
        """Give what docker-registry wrote."""
        return (self.folder / "registry.log").read_text(encoding="utf-8", errors="replace")

    def allow(self, key: str, repositories: Iterable[str] = ()) -> None:
        """Make the key valid, and let it pull these repositories."""
        self.doorkeeper.allow(key, repositories)

    def revoke(self, key: str, only: str | None = None) -> None:
        """Make the key invalid; only: at that service alone ("issuer" or "token")."""
        self.doorkeeper.revoke(key, only)

    def succeed(self, key: str, repositories: Iterable[str] = ()) -> str:
        """Make a legacy key as the page does: the one before is dead from then on."""
        self.doorkeeper.revoke(key)
        new = new_legacy_key()
        self.allow(new, repositories)
        return new

    def fail_next(self, requests: int) -> None:
        """Be busy for so many requests, then well again."""
        self._front.failures = requests

    def send_elsewhere(self, address: str) -> None:
        """Name the address that the mode 'elsewhere' redirects to."""
        self._front.elsewhere = address

    def close(self) -> None:
        """Take everything away. A second call does nothing."""
        if hasattr(self, "_front"):
            self._front.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self) -> int:
        """Start docker-registry and give its port."""
        self.doorkeeper.signer.write(self.folder / "tokens.pem")
        for _attempt in range(3):
            port = _free_port()
            self._write_configuration(port)
            with (self.folder / "registry.log").open("ab") as log:
                self._process = subprocess.Popen(
                    ["setpriv", "--pdeathsig", "KILL", "docker-registry", "serve", str(self.folder / "registry.yml")],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={"PATH": "/usr/bin:/bin"},
                )  # fmt: skip
            until(lambda port=port: self._ended or _answers(port), 20, "docker-registry does not answer")  # type: ignore[misc]  # mypy infers no default of a lambda
            if not self._ended:
                return port
        raise RuntimeError(f"docker-registry ended at once: {self.log[-2000:]}")

    @property
    def _ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def _write_configuration(self, port: int) -> None:
        realm = self._realm or self._names[0]
        if "://" not in realm:
            realm = f"https://{realm}/proxy_auth" if self.port == 443 else f"https://{realm}:{self.port}/proxy_auth"
        text = _CONFIGURATION.format(
            port=port, host=self.address, realm=realm, service=_SERVICE, bundle=self.folder / "tokens.pem"
        )
        (self.folder / "registry.yml").write_text(text, encoding="utf-8")

    def push(self, repository: str, tag: str = TAG, layer: bytes = b"a layer") -> str:
        """Put a small image into the registry behind, with a token of our own; gives its digest."""
        rights: dict[str, object] = {"type": "repository", "name": repository, "actions": ["pull", "push"]}
        token = self.doorkeeper.issue([rights])
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self._front.backend, timeout=20)) as line:
            described = [_blob(line, repository, token, blob) for blob in (b'{"architecture": "amd64"}', layer)]
            kinds = ("container.image.v1+json", "image.rootfs.diff.tar.gzip")
            parts = [
                {"mediaType": f"application/vnd.docker.{kind}", **one}
                for kind, one in zip(kinds, described, strict=True)
            ]
            document = {"schemaVersion": 2, "mediaType": MANIFEST, "config": parts[0], "layers": parts[1:]}
            path = f"/v2/{repository}/manifests/{tag}"
            body = json.dumps(document).encode()
            _ask(line, "PUT", path, token, body, 201, {"Content-Type": MANIFEST})
        return f"sha256:{hashlib.sha256(body).hexdigest()}"


def _blob(line: http.client.HTTPConnection, repository: str, token: str, blob: bytes) -> dict[str, object]:
    digest = f"sha256:{hashlib.sha256(blob).hexdigest()}"
    begun = _ask(line, "POST", f"/v2/{repository}/blobs/uploads/", token, b"", 202)
    place = urlsplit(begun)
    _ask(line, "PUT", f"{place.path}?{place.query}&digest={digest}", token, blob, 201)
    return {"size": len(blob), "digest": digest}


def _ask(
    line: http.client.HTTPConnection,
    method: str,
    path: str,
    token: str,
    body: bytes,
    wanted: int,
    headers: dict[str, str] | None = None,
) -> str:
    """Ask, insist on that status, and give the Location."""
    line.request(method, path, body, {"Authorization": f"Bearer {token}", **(headers or {})})
    answer = line.getresponse()
    said = answer.read()
    if answer.status != wanted:
        raise RuntimeError(f"{method} {path}: HTTP {answer.status} {said[:500]!r}")
    return answer.headers.get("Location", "")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(port: int) -> bool:
    try:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as line:
            line.request("GET", "/v2/")
            return line.getresponse().status == 401
    except OSError:
        return False
