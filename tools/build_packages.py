"""Build what a release consists of, the same bytes from the same commit, whoever builds it.

    python -m tools.build_packages FOLDER

The wheel and the source distribution are hatchling's, which heeds SOURCE_DATE_EPOCH. ansible-galaxy's tarball holds the
moment, the owner and the order of the disk: it is written anew without them. The moment is that of the last commit,
unless SOURCE_DATE_EPOCH says another one.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(folder: Path) -> None:
    """Build all of them, and list their sums."""
    folder.mkdir(parents=True, exist_ok=True)
    moment = int(os.environ.get("SOURCE_DATE_EPOCH") or last_commit(ROOT))
    build(ROOT, folder, moment)
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in packages(folder)]
    (folder / "SHA256SUMS").write_text("".join(sums), encoding="ascii")
    print("".join(sums), end="")


def packages(folder: Path) -> list[Path]:
    """The packages in a folder: wheel, source distribution, collection."""
    return sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])


def last_commit(tree: Path) -> int:
    """The moment of the last commit, in seconds since 1970."""
    order = ["git", "-C", str(tree), "log", "-1", "--format=%ct"]
    return int(subprocess.run(order, check=True, capture_output=True, text=True).stdout)


def build(tree: Path, folder: Path, moment: int) -> None:
    """Build the wheel, the source distribution and the collection of a tree."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(moment)}
    order = [sys.executable, "-m", "build", "--outdir", str(folder), str(tree)]
    subprocess.run(order, check=True, env=environment, stdout=subprocess.DEVNULL)
    galaxy = str(Path(sys.executable).with_name("ansible-galaxy"))
    with tempfile.TemporaryDirectory() as made:
        order = [galaxy, "collection", "build", "--output-path", made, str(tree)]
        subprocess.run(order, check=True, cwd=made, stdout=subprocess.DEVNULL)
        (tarball,) = Path(made).glob("*.tar.gz")
        (folder / tarball.name).write_bytes(reproducible(tarball.read_bytes(), moment))


def reproducible(tarball: bytes, moment: int) -> bytes:
    """The tarball with its members in the order of their names, of nobody, made at that moment.

    FILES.json lists the files in the order of the disk, and MANIFEST.json holds its sum: both are written anew.
    """
    with tarfile.open(fileobj=io.BytesIO(tarball)) as given:
        members = {one.name: one for one in given.getmembers()}
        content = {name: _content(given, one) for name, one in members.items()}
    _sort_files(content)
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as out:
        for name in sorted(members):
            one = tarfile.TarInfo(name)
            one.type, one.linkname, one.mtime = members[name].type, members[name].linkname, moment
            one.mode = 0o755 if one.isdir() or members[name].mode & 0o100 else 0o644
            one.size = len(content[name])
            out.addfile(one, io.BytesIO(content[name]))
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, compresslevel=9, mtime=moment) as stream:
        stream.write(plain.getvalue())
    return packed.getvalue()


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = archive.extractfile(member) if member.isfile() else None
    return stream.read() if stream else b""


def _sort_files(content: dict[str, bytes]) -> None:
    """Sort the list of files, and put its sum where it is looked for."""
    files, manifest = json.loads(content["FILES.json"]), json.loads(content["MANIFEST.json"])
    files["files"].sort(key=lambda one: one["name"])
    content["FILES.json"] = json.dumps(files, indent=1).encode()
    manifest["file_manifest_file"]["chksum_sha256"] = hashlib.sha256(content["FILES.json"]).hexdigest()
    content["MANIFEST.json"] = json.dumps(manifest, indent=1).encode()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
