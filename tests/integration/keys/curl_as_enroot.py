# SPDX-License-Identifier: GPL-3.0-or-later
"""An independent judge of keys: curl with a credentials file, asked in the way in which enroot asks for an image.

enroot uses the file for a host if a line begins, at column 0, `machine HOST login LOGIN ` for the login of the first
line that begins `machine HOST login`; curl then reads that file as netrc. Otherwise enroot goes on without a key.
Source: github.com/NVIDIA/enroot, src/docker.sh.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import NamedTuple


class Tried(NamedTuple):
    """Where the attempt ended: the status of the token, and of the manifest for who has a token."""

    token: int
    manifest: int | None = None

    @property
    def verdict(self) -> str:
        """The same in the words of our verdicts."""
        if self.manifest == 200:
            return "valid"
        return "invalid" if self.token == 401 else "not_entitled"


def file_is_used(text: str, host: str) -> bool:
    """Whether enroot hands this file to curl for that host."""
    lines = text.split("\n")
    first = next(
        (line for line in lines if re.match(rf"machine[ \t]+{re.escape(host)}[ \t]+login[ \t]+\S", line)), None
    )
    if first is None:
        return False
    login = first.split()[3]
    wanted = re.compile(rf"machine\s+{re.escape(host)}\s+login\s+{re.escape(login)}\s")
    return any(wanted.match(f"{line}\n") for line in lines)


def pull(registry: str, image: str, credentials: Path, ca_file: Path) -> Tried:
    """Ask for the manifest of repository:tag, as far as it goes."""
    repository, _colon, tag = image.rpartition(":")
    manifest = f"https://{registry}/v2/{repository}/manifests/{tag}"
    head = _curl(ca_file, "--head", manifest)
    challenge = re.search(r'(?im)^www-authenticate: *bearer realm="([^"]*)"(.*)$', head)
    assert challenge, head
    parameters = re.findall(r'(\w+)="([^"]*)"', challenge[2])
    host = re.sub(r":\d+$", "", challenge[1].split("/")[2])
    used = file_is_used(credentials.read_text(encoding="latin-1"), host)
    ours = ["--netrc-file", str(credentials)] if used else []
    asked = [word for name, value in parameters for word in ("--data-urlencode", f"{name}={value}")]
    *body, status = _curl(ca_file, *ours, "--get", *asked, "-w", "\n%{http_code}", challenge[1]).split("\n")
    if status != "200":
        return Tried(int(status))
    header = f'header = "Authorization: Bearer {json.loads("".join(body))["token"]}"\n'
    accept = ("-H", "Accept: application/vnd.docker.distribution.manifest.v2+json")
    last = _curl(ca_file, "-K", "-", *accept, "--head", "-o", "/dev/null", "-w", "%{http_code}", manifest, text=header)
    return Tried(200, int(last))


def _curl(ca_file: Path, *arguments: str, text: str = "") -> str:
    command = ["curl", "-q", "-sS", "--max-time", "20", "--cacert", str(ca_file), *arguments]
    done = subprocess.run(
        command, input=text, text=True, capture_output=True, check=True, env={"PATH": "/usr/bin:/bin", "no_proxy": "*"}
    )
    return done.stdout
