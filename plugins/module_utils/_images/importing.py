# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The import of a container image: shell commands that are the same on a login node and in a Slurm job.

The container tool writes into the job's folder, which is next to the future image. The note about the image is written
first, then one rename moves the complete image to its place. Layers stay in the job's folder until then, so that an
interrupted import can continue. All paths are relative to that folder, because another user may replace a folder
further up. The tool reads the key from its own file, so no argument and no variable contains the key.
"""

import os
import shlex
from typing import List, NamedTuple, Tuple

from .._core.host import Host
from .._jobs.job import write_small_file
from .._jobs.programs import ProgramFailed, ProgramJob, simulate_file
from .._slurm.script import SAY
from .files import DIGEST_FILE, NOTE

IMPORT_SCRIPT = """\
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
[ ! -e {target} ] || {{ echo {name}" was created by another program during the import and was not changed"; exit 1; }}
sync {draft} 2>/dev/null
printf '{{"digest": "%s", "bytes": %s}}' {digest} "$(stat -c %s {draft})" >note.new && mv note.new {note} || exit 1
mv -n {draft} {target} && [ ! -e {draft} ] || exit 1
ln -s {name} link.new && mv -T link.new {link} || exit 1
"""
# the end of an import in a Slurm job, which removes its own folder
CLEANUP = """\
rm -rf cache tmp
rm -f mark.json number
rm -rf ../"${PWD##*/}"
"""


class ImageImport(NamedTuple):
    """The import of one image. The runtime is the container tool."""

    folder: str  # contains the images
    name: str  # of the image's file, with a digest
    link: str  # the name, without a digest, of the link to the file
    digest: str
    address: str  # of the image in its registry, in the form that the runtime accepts
    bytes: int  # of all layers
    runtime: str  # "enroot" or "apptainer"
    module: str  # the environment module that provides the runtime, or ""
    credentials: str  # the path of the runtime's file with the key, or ""
    temporary: str  # the folder for unpacked files, or "" for a folder in the job's folder


def render_commands(order: ImageImport) -> str:
    """Return the shell commands for an import (order), to be run in the job's folder after SAY, which defines say().

    draft: the image's file while the tool writes it. load: the commands that make the tool available.
    """
    quote = shlex.quote
    target = os.path.join(os.pardir, order.name)
    tool = order.runtime
    if tool == "enroot":
        draft, command = "image.sqsh", "enroot import -o"
    else:
        draft, command = "image.sif", "apptainer pull"
    load = ""
    if order.module:  # /etc/profile provides the command "module"
        load = "command -v %s >/dev/null || { . /etc/profile; module load %s; }\n" % (tool, quote(order.module))
    load += 'command -v %s >/dev/null || { echo "%s is not installed on $(hostname)"; exit 127; }\n' % (tool, tool)
    return IMPORT_SCRIPT.format(
        step=quote("importing " + order.link),
        total=order.bytes,
        draft=draft,
        load=load,
        environment="\n".join("export %s=%s" % pair for pair in _list_variables(order)),
        command="%s %s %s" % (command, draft, quote(order.address)),
        tool=tool,
        target=quote(target),
        digest=quote(order.digest),
        note=quote(target + NOTE),
        name=quote(order.name),
        link=quote(os.path.join(os.pardir, order.link)),
    )


def _list_variables(order: ImageImport) -> List[Tuple[str, str]]:
    """Return the environment variables, quoted for the shell, that tell the tool where its key is and where to write.

    enroot mounts the unpacked image in its own namespace, in which paths through /proc cannot be mounted on. So its
    temporary folder is relative. Apptainer mounts nothing, and accepts only absolute paths.
    """
    if order.runtime == "enroot":
        variables = [
            ("ENROOT_CACHE_PATH", '"$here/cache"'),
            ("ENROOT_TEMP_PATH", shlex.quote(order.temporary or "tmp")),
            ("ENROOT_DATA_PATH", '"$here/tmp"'),
            ("ENROOT_RUNTIME_PATH", '"$here/tmp"'),
        ]
        if order.credentials:  # enroot looks for the file by its fixed name, .credentials, in this folder
            variables.append(("ENROOT_CONFIG_PATH", shlex.quote(os.path.dirname(order.credentials))))
        return variables
    scratch = shlex.quote(order.temporary) if order.temporary else '"$here/tmp"'
    return [("APPTAINER_CACHEDIR", '"$here/cache"'), ("APPTAINER_TMPDIR", scratch)]


class ImportJob(ProgramJob):
    """An import on the login node."""

    def __init__(self, folder: str, order: ImageImport) -> None:
        """Store the import (order). folder: the job's private folder, next to the future image."""
        super().__init__(folder)
        self._order = order

    def work(self) -> None:
        """Run the commands of the import to their end. The commands write the progress file themselves."""
        write_small_file(os.path.join(self.folder, DIGEST_FILE), self._order.digest)
        script = "umask 077\n" + SAY + render_commands(self._order)
        # LD_PRELOAD would load a library of the user into the container tool
        environment = self.clean_environment(removed=("LD_PRELOAD",), proxies={})
        try:
            self.run_in_folder(["bash", "-c", script], "the import", environment)
        except ProgramFailed:
            os.unlink(os.path.join(self.folder, DIGEST_FILE))  # the next import may be of another digest
            raise

    def simulate(self, host: Host) -> None:
        """Write an empty image with its note and link, so that inspect() finds the result of an import.

        For a dry run or a sandbox, which simulates an account; also if a Slurm job would import the image.
        """
        order = self._order
        path = os.path.join(order.folder, order.name)
        simulate_file(host, path, "", 0o600)
        simulate_file(host, path + NOTE, '{"digest": "%s", "bytes": 0}' % order.digest, 0o600)
        host.make_link(os.path.join(order.folder, order.link), order.name)
