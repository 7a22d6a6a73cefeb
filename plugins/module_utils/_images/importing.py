# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The import of a container image: shell commands that are the same on a login node and in a job on a compute node.

The container tool writes into the folder of the job, next to the image. The note about the image is written first, then
one rename moves the complete image to its place. Layers stay in the folder until then, so that an interrupted import
can continue. All paths are relative to the folder, because another user may replace a folder above it. The tool reads
the key from its own file: it is in no argument and in no variable.
"""

import os
import shlex
import subprocess
from typing import Any, Dict, List, NamedTuple, Tuple

from .._core.errors import AccountError
from .._core.host import Host
from .._jobs.job import MARK, Job, write_small_file
from .._jobs.programs import create_new, read_last_lines
from .._slurm.script import SAY
from .files import NOTE

GIVEN = "digest"  # the file in the job's folder with the digest that is being imported
WORK = """\
step={step} total={total}
here=/proc/$$/cwd
say "$step" 0 "$total" bytes
rm -rf tmp {draft}
mkdir -p cache tmp || exit 1
(
    while sleep 2; do
        done=$(du -sb cache 2>/dev/null | cut -f1)
        [ "${{done:-0}}" -le "$total" ] || done=$total
        say "$step" "${{done:-0}}" "$total" bytes
    done
) &
watch=$!
trap 'kill $watch 2>/dev/null' EXIT
{load}{environment}
{command}
code=$?
kill "$watch" 2>/dev/null
wait "$watch" 2>/dev/null
[ "$code" = 0 ] || exit "$code"
[ -s {draft} ] || {{ echo "{tool} ended without an error, but created no image"; exit 1; }}
[ ! -e {target} ] || {{ echo {name}" was created by another program during the import and is not changed"; exit 1; }}
sync {draft} 2>/dev/null
printf '{{"digest": "%s", "bytes": %s}}' {digest} "$(stat -c %s {draft})" >note.new && mv note.new {note} || exit 1
mv -n {draft} {target} && [ ! -e {draft} ] || exit 1
ln -s {name} link.new && mv -T link.new {link} || exit 1
"""
CLEANUP = """\
rm -rf cache tmp
rm -f mark.json number
rm -rf ../"${PWD##*/}"
"""


class ImageImport(NamedTuple):
    """One import. folder: of images; name: of the file; link: the name without a digest that points to it."""

    folder: str
    name: str
    link: str
    digest: str
    address: str
    bytes: int
    runtime: str
    module: str
    credentials: str
    temporary: str


def render_commands(wanted: ImageImport) -> str:
    """Return the shell commands for an import, to be run in the job's folder."""
    draft = "image.sqsh" if wanted.runtime == "enroot" else "image.sif"
    target = os.path.join(os.pardir, wanted.name)
    quote = shlex.quote
    if wanted.runtime == "enroot":
        command = "enroot import -o %s %s" % (draft, quote(wanted.address))
    else:
        command = "apptainer pull %s %s" % (draft, quote(wanted.address))
    load = ""
    if wanted.module:
        load = "command -v %s >/dev/null || { . /etc/profile; module load %s; }\n" % (
            wanted.runtime,
            quote(wanted.module),
        )
    load += 'command -v %s >/dev/null || { echo "%s is not installed on $(hostname)"; exit 127; }\n' % (
        (wanted.runtime,) * 2
    )
    return WORK.format(
        step=quote("importing " + wanted.link),
        total=wanted.bytes,
        draft=draft,
        load=load,
        environment="\n".join("export %s=%s" % pair for pair in _environment(wanted)),
        command=command,
        tool=wanted.runtime,
        target=quote(target),
        digest=quote(wanted.digest),
        note=quote(target + NOTE),
        name=quote(wanted.name),
        link=quote(os.path.join(os.pardir, wanted.link)),
    )


def _environment(wanted: ImageImport) -> List[Tuple[str, str]]:
    """Return the variables that tell the tool where its key is and where it may write.

    enroot mounts what it has unpacked in a namespace of its own, which cannot mount on paths through /proc: so its
    temporary folder is relative. Apptainer mounts nothing, and accepts only absolute paths.
    """
    if wanted.runtime == "enroot":
        own = [
            ("ENROOT_CACHE_PATH", '"$here/cache"'),
            ("ENROOT_TEMP_PATH", shlex.quote(wanted.temporary or "tmp")),
            ("ENROOT_DATA_PATH", '"$here/tmp"'),
            ("ENROOT_RUNTIME_PATH", '"$here/tmp"'),
        ]
        if wanted.credentials:
            own.append(("ENROOT_CONFIG_PATH", shlex.quote(os.path.dirname(wanted.credentials))))
        return own
    scratch = shlex.quote(wanted.temporary) if wanted.temporary else '"$here/tmp"'
    return [("APPTAINER_CACHEDIR", '"$here/cache"'), ("APPTAINER_TMPDIR", scratch)]


class ImportJob(Job):
    """An import on the login node."""

    def __init__(self, folder: str, wanted: ImageImport) -> None:
        super().__init__(folder)
        self._wanted = wanted

    def work(self) -> None:
        """Run the commands to their end. They write the progress themselves."""
        write_small_file(os.path.join(self.folder, GIVEN), self._wanted.digest)
        text = "umask 077\n" + SAY + render_commands(self._wanted)
        log = os.path.join(self.folder, "log")
        kept = dict({name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}, **{MARK: self.mark})
        with open(log, "wb", opener=create_new) as stream:
            code = subprocess.call(
                ["bash", "-c", text], stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, cwd=self.folder, env=kept
            )
        if code:
            os.unlink(os.path.join(self.folder, GIVEN))
            said = read_last_lines(log)
            raise AccountError(
                "the import ended with exit code %d%s" % (code, ". Its output ends with: " + said if said else "")
            )

    def simulate(self, host: Host) -> None:
        simulate(host, self._wanted)


def simulate(host: Host, wanted: ImageImport) -> None:
    """Write an empty image with its note and link, so that inspect() finds the result."""
    path = os.path.join(wanted.folder, wanted.name)
    note: Dict[str, Any] = {"digest": wanted.digest, "bytes": 0}
    for place, content in ((path, b""), (path + NOTE, render_note(note))):
        found = host.entry(place)
        host.write(place, host.read(place) if found else None, content, 0o600)
    host.make_link(os.path.join(wanted.folder, wanted.link), wanted.name)


def render_note(note: Dict[str, Any]) -> bytes:
    """Return the content of the note about an image."""
    return ('{"digest": "%s", "bytes": %d}' % (note["digest"], note["bytes"])).encode("ascii")
