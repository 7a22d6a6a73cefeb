"""The stand-in for conda's installer, and for what it installs: the one thing that cannot be had here.

It is a self-extracting shell archive with the options and traps of the real kind. It leaves a journal beside its
prefix, and every file that it unpacks names the run that did it, so that two runs would be seen.
SPDX-License-Identifier: GPL-3.0-or-later
"""

import hashlib
import io
import tarfile
from pathlib import Path

JOURNAL = "journal-of-the-installer"
_HERE = Path(__file__).parent
_SCRIPTS = {
    "etc/profile.d/conda.sh": 'conda() { echo "conda in sh: $*"; }\n',
    "etc/profile.d/conda.csh": "alias conda 'echo conda in csh: \\!*'\n",
    "etc/fish/conf.d/conda.fish": "function conda; echo conda in fish: $argv; end\n",
}


def installer(files: int = 4, pause: float = 0.05, ballast: int = 0) -> bytes:
    """An installer that takes files x pause seconds; ballast: so many bytes more, which do not compress."""
    program = (_HERE / "conda.sh").read_text(encoding="ascii").replace("@PAUSE@", str(pause))
    payload = _packed({"bin/conda": program, **_SCRIPTS, "lib/ballast": _noise(ballast)})
    header = (_HERE / "header.sh").read_text(encoding="ascii")
    words = {
        "LINES": header.count("\n") + 1,
        "MD5": hashlib.md5(payload, usedforsecurity=False).hexdigest(),
        "JOURNAL": JOURNAL,
        "FILES": files,
        "PAUSE": pause,
    }
    for word, value in words.items():
        header = header.replace(f"@{word}@", str(value))
    return header.encode("ascii") + payload


def _packed(files: dict[str, str | bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in files.items():
            data = content if isinstance(content, bytes) else content.encode("ascii")
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o755 if name.startswith("bin/") else 0o644
            archive.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


def _noise(size: int) -> bytes:
    return b"".join(hashlib.sha256(str(number).encode()).digest() for number in range(size // 32))
