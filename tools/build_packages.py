"""Build the packages of a release, with the same bytes from the same commit, whoever builds them.

    python -m tools.build_packages FOLDER

Hatchling builds the wheel and the source distribution, and respects SOURCE_DATE_EPOCH. The tarball of ansible-galaxy
contains the time, the owner and the order of files on the disk, so it is rewritten without them. The time is that of
the last commit, unless SOURCE_DATE_EPOCH is set.

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
    """Build all packages into the folder, and print their checksums."""
    folder.mkdir(parents=True, exist_ok=True)
    moment = int(os.environ.get("SOURCE_DATE_EPOCH") or read_commit_time(ROOT))
    build(ROOT, folder, moment)
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in list_packages(folder)]
    (folder / "SHA256SUMS").write_text("".join(sums), encoding="ascii")
    print("".join(sums), end="")


def list_packages(folder: Path) -> list[Path]:
    """Return the packages in a folder: wheel, source distribution, collection."""
    return sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])


def read_commit_time(tree: Path) -> int:
    """Return the time of the last commit, in seconds since 1970."""
    command = ["git", "-C", str(tree), "log", "-1", "--format=%ct"]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def build(tree: Path, folder: Path, moment: int) -> None:
    """Build the wheel, the source distribution and the collection of a tree."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(moment)}
    command = [sys.executable, "-m", "build", "--outdir", str(folder), str(tree)]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    galaxy = str(Path(sys.executable).with_name("ansible-galaxy"))
    with tempfile.TemporaryDirectory() as output:
        command = [galaxy, "collection", "build", "--output-path", output, str(tree)]
        subprocess.run(command, check=True, cwd=output, stdout=subprocess.DEVNULL)
        (tarball,) = Path(output).glob("*.tar.gz")
        (folder / tarball.name).write_bytes(normalise_tarball(tarball.read_bytes(), moment))


def normalise_tarball(tarball: bytes, moment: int) -> bytes:
    """Return the tarball with sorted members, without owners, and with this time as the time of all members.

    FILES.json lists the files in the order of the disk, and MANIFEST.json contains its checksum: both are rewritten.
    """
    with tarfile.open(fileobj=io.BytesIO(tarball)) as archive:
        members = {member.name: member for member in archive.getmembers()}
        content = {name: _read_member(archive, member) for name, member in members.items()}
    _sort_files(content)
    uncompressed = io.BytesIO()
    with tarfile.open(fileobj=uncompressed, mode="w", format=tarfile.PAX_FORMAT) as out:
        for name in sorted(members):
            member = tarfile.TarInfo(name)
            member.type, member.linkname, member.mtime = members[name].type, members[name].linkname, moment
            member.mode = 0o755 if member.isdir() or members[name].mode & 0o100 else 0o644
            member.size = len(content[name])
            out.addfile(member, io.BytesIO(content[name]))
    compressed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=compressed, compresslevel=9, mtime=moment) as stream:
        stream.write(uncompressed.getvalue())
    return compressed.getvalue()


def _read_member(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = archive.extractfile(member) if member.isfile() else None
    return stream.read() if stream else b""


def _sort_files(content: dict[str, bytes]) -> None:
    """Sort the list in FILES.json, and update its checksum in MANIFEST.json."""
    files, manifest = json.loads(content["FILES.json"]), json.loads(content["MANIFEST.json"])
    files["files"].sort(key=lambda entry: entry["name"])
    content["FILES.json"] = json.dumps(files, indent=1).encode()
    manifest["file_manifest_file"]["chksum_sha256"] = hashlib.sha256(content["FILES.json"]).hexdigest()
    content["MANIFEST.json"] = json.dumps(manifest, indent=1).encode()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
