# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Imports a container image: shell commands that are the same on a login node and in a job on a compute node.

The container tool writes into the folder of the work, beside the place of the image; there it is put when it is whole,
by one rename, and noted as ours before. What was fetched stays in that folder until then, so that one that was ended
goes on with it. All goes by the folder as it was entered, for others may make its path lead elsewhere. The key is read
by the tool from its own file: it is in no argument and in no variable.
"""

import os
import shlex
import subprocess
from typing import Any, Dict, List, NamedTuple, Tuple

from .._core.errors import AccountError
from .._core.host import Host
from .._jobs.job import MARK, Job, put
from .._jobs.programs import anew, last_words
from .._slurm.script import SAY
from .files import NOTE

GIVEN = "digest"  # in the folder of the work: what is being imported
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
[ -s {draft} ] || {{ echo "{tool} ended well, but has made no image"; exit 1; }}
[ ! -e {target} ] || {{ echo {name}" is there meanwhile, and was not made by us: it stays"; exit 1; }}
sync {draft} 2>/dev/null
printf '{{"digest": "%s", "bytes": %s}}' {digest} "$(stat -c %s {draft})" >note.new && mv note.new {note} || exit 1
mv -n {draft} {target} && [ ! -e {draft} ] || exit 1
ln -s {name} link.new && mv -T link.new {link} || exit 1
"""
AWAY = """\
rm -rf cache tmp
rm -f mark.json number
rm -rf ../"${PWD##*/}"
"""


class Import(NamedTuple):
    """One import. folder: where images lie; name: of the file; link: the name without a digest that leads to it."""

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


def commands(wanted: Import) -> str:
    """The shell commands for an import, to be run in the folder of the work."""
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
    load += 'command -v %s >/dev/null || { echo "%s is not on $(hostname)"; exit 127; }\n' % ((wanted.runtime,) * 2)
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


def _environment(wanted: Import) -> List[Tuple[str, str]]:
    """What tells the tool where its key lies, and where it may write.

    enroot mounts what it has unpacked, in a namespace of its own, where no path by way of /proc can be mounted on: so
    that place is said from the folder that was entered. It makes a folder of a random name there. Apptainer mounts
    nothing, and takes no place but one that begins with /.
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
    """The import on the login node."""

    def __init__(self, folder: str, wanted: Import) -> None:
        super().__init__(folder)
        self._wanted = wanted

    def work(self) -> None:
        """Run the commands to their end; they say themselves how far they are."""
        put(os.path.join(self.folder, GIVEN), self._wanted.digest)
        text = "umask 077\n" + SAY + commands(self._wanted)
        log = os.path.join(self.folder, "log")
        kept = dict({name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}, **{MARK: self.mark})
        with open(log, "wb", opener=anew) as stream:
            code = subprocess.call(
                ["bash", "-c", text], stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, cwd=self.folder, env=kept
            )
        if code:
            os.unlink(os.path.join(self.folder, GIVEN))
            said = last_words(log)
            raise AccountError("it ended with exit code %d%s" % (code, ". It said: " + said if said else ""))

    def pretend(self, host: Host) -> None:
        pretend(host, self._wanted)


def pretend(host: Host, wanted: Import) -> None:
    """Leave what a look at the result will find: no image, but what says so."""
    path = os.path.join(wanted.folder, wanted.name)
    note: Dict[str, Any] = {"digest": wanted.digest, "bytes": 0}
    for place, content in ((path, b""), (path + NOTE, note_of(note))):
        found = host.entry(place)
        host.write(place, host.read(place) if found else None, content, 0o600)
    host.make_link(os.path.join(wanted.folder, wanted.link), wanted.name)


def note_of(note: Dict[str, Any]) -> bytes:
    """The file that says what an image is."""
    return ('{"digest": "%s", "bytes": %d}' % (note["digest"], note["bytes"])).encode("ascii")
