# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A container image as a file in a folder of the account's, named for its digest, and a link to it without one.

An image is ours by the note that lies beside it. Where the site has the image itself, the link leads to that. What the
tag stands for by now is asked of the registry, from here and with the key in the container tool's own file; where that
cannot be asked, the image that is there is as good as wanted.
"""

import os
from typing import Any, Dict, List, Optional, Tuple

from .._core import files
from .._core.host import Host
from .._core.resource import Resource, State
from .._images.files import ImageFiles, too_little_room
from .._options import image_name
from .._options.image_name import ImageName
from .._options.image_options import ContainerImageOptions

TIMES = {"enroot": 6, "apptainer": 5}  # the bytes of the layers that the cache, what is unpacked and the image take
GIVEN = "digest"  # in the folder of the work on a login node: what is being imported
_LOOKED: Dict[Tuple[str, str], Any] = {}  # what registries have said to this process


class ContainerImage(ContainerImageOptions, Resource):
    """An image that is imported once for each digest of its tag, by a job where the container tool is on nodes only."""

    def touches(self, host: Host) -> List[str]:
        return [self._link, self._folder]

    # -- names ---------------------------------------------------------------------------------

    @property
    def _image(self) -> ImageName:
        return image_name.read(self.options["image"]) or ImageName("", "", "", "")  # it was checked

    @property
    def _folder(self) -> str:
        return str(self.options["folder"])

    @property
    def _ending(self) -> str:
        return "sqsh" if self.options["runtime"] == "enroot" else "sif"

    @property
    def _link(self) -> str:
        return os.path.join(self._folder, "%s.%s" % (self._image.plain, self._ending))

    @property
    def _work(self) -> str:
        return os.path.join(self._folder, ".%s.import" % self._image.plain)

    def _files(self, host: Host) -> ImageFiles:
        return ImageFiles(host, self._folder, self._image, self._ending)

    def _of_site(self, host: Host) -> str:
        folder = self.options.get("site_images")
        return self._files(host).of_site(folder, self.options["packages"]) if folder else ""

    def _is_our_link(self, link: files.FileEntry, host: Host) -> bool:
        """Whether a link leads where only ours do: to a name with a digest, or to an image of the site's."""
        if link.kind != "link" or link.is_foreign:
            return False
        site = self.options.get("site_images")
        return self._files(host).is_name(link.target) or (bool(site) and os.path.dirname(link.target) == site)

    # -- states --------------------------------------------------------------------------------

    def desired(self, host: Host) -> State:
        if self.options["state"] == "absent":
            return {}
        site = self._of_site(host)
        if site:
            return {"image": site}
        digest = self._digest(host)
        if not digest:
            return {"image": self._image.plain}
        state = {"image": self._image.file(digest, self._ending), "digest": digest}
        return dict(state, old="none") if self.options["old"] == "remove" else state

    def inspect(self, host: Host) -> State:
        found = self._inspected(host)
        going = [name for name in self._files(host).ours() if not self._files(host).is_changed(name)]
        if self.options["state"] == "present" or not found or not going:
            return found
        return dict(found, size=self._files(host).size(going))

    def is_unchanged_since_created(self, found: State, host: Host) -> bool:
        """Return the same as for any resource; the size is not in the receipt."""
        recorded = {name: value for name, value in found.items() if name != "size"}
        return super().is_unchanged_since_created(recorded, host)

    def _inspected(self, host: Host) -> State:
        link = host.entry(self._link)
        if link is not None and not self._is_our_link(link, host):
            return {"is": link.kind}
        if link is None:
            names = self._files(host).ours()
            if self.options["state"] == "present":
                return {}
            if self._is_working(host):
                return {"image": "half made"}
            return {"image": names[0]} if names else {}
        state = {"image": link.target}
        if link.target.startswith("/"):
            return state if host.resolved_kind(self._link) == "file" else {}
        note = self._files(host).note(link.target)
        if note is None:
            return {}
        state["digest"] = str(note["digest"])
        if self._files(host).is_changed(link.target):
            state["digest"] = "changed by somebody"
        if self.options["old"] == "remove" and self.options["state"] == "present":
            state["old"] = ", ".join(self._files(host).old(link.target)) or "none"
        return state

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        if "is" in before:
            return "%s is a %s that was not made by us: move it away, then run again" % (
                host.shown(self._link),
                before["is"],
            )
        if self.options["state"] == "absent":
            if before.get("digest") == "changed by somebody":
                place = host.shown(os.path.join(self._folder, before["image"]))
                return "%s was changed by somebody: it stays, with %s" % (
                    place,
                    self._files(host).size([before["image"]]),
                )
            return None
        if self._of_site(host) or self._importing(host):
            return None
        return self._not_to_be_had(before, host)

    def _not_to_be_had(self, before: State, host: Host) -> Optional[str]:
        """Why the image cannot be imported."""
        if not self._digest(host):
            looked = self._looked(host)
            return str(looked.why) + ("" if looked.is_certain else "; run again later")
        wanted = self._image.file(self._digest(host), self._ending)
        if before.get("image") == wanted and before.get("digest") == self._digest(host):
            return None
        root = self.options.get("root") or os.path.dirname(self._folder)
        if host.resolved_kind(root) != "folder":
            return "%s is not there, and only the site can make it: is the project's name right?" % host.shown(root)
        there = host.resolved_entry(self._folder)
        unsafe = host.why_blocked(self._folder) or (
            files.why_unsafe(there, host.shown(self._folder)) if there else None
        )
        if unsafe:
            return unsafe
        if host.entry(os.path.join(self._folder, wanted)) is not None:
            if self._files(host).note(wanted) is not None:
                return None
            return "%s is there and was not made by us: move it away, then run again" % host.shown(
                os.path.join(self._folder, wanted)
            )
        needed = self._looked(host).bytes * TIMES[self.options["runtime"]]
        return too_little_room(host, self._folder, needed, "importing %s" % self.options["image"])

    def remarks(self, host: Host) -> List[str]:
        if self.options["state"] == "absent":
            staying = [name for name in self._files(host).ours() if self._files(host).is_changed(name)]
            return [
                "%s stays, with %s: changed by somebody" % (name, self._files(host).size([name])) for name in staying
            ]
        link = host.entry(self._link)
        told = []
        if link is not None and link.kind == "link" and not link.target.startswith("/"):
            old = self._files(host).old(link.target)
            if old and self.options["old"] == "keep":
                told.append(
                    "older ones of %s lie beside it: %s; container_images_old: remove takes them out"
                    % (self.options["image"], ", ".join(old))
                )
            if not self._importing(host) and not self._image.digest and not self._looked(host).digest:
                told.append("whether there is a newer one is not known: %s" % self._looked(host).why)
        return told

    def _digest(self, host: Host) -> str:
        """The digest that is wanted; where the registry cannot be asked, that of what is there; or empty."""
        if self._image.digest:
            return self._image.digest
        importing = self._importing(host)
        if importing:
            return importing
        looked = self._looked(host)
        if looked.digest or looked.is_certain:
            return str(looked.digest)
        link = host.entry(self._link)
        note = self._files(host).note(link.target) if link is not None and link.kind == "link" else None
        return str(note["digest"]) if note else ""

    def _looked(self, host: Host) -> Any:
        """What the registry says; it is asked once."""
        from .._registry.image_lookup import Looked, login_in, looked_up  # here: not every run has to ask

        if host.root:  # nothing is downloaded into a sandbox
            from hashlib import sha256

            return Looked("sha256:" + sha256(self.options["image"].encode("utf-8")).hexdigest(), 0)
        key = (self.options["image"], str(self.options.get("credentials")))
        if key not in _LOOKED:
            _LOOKED[key] = looked_up(
                self._image,
                login_in(self._credentials(host), self.options["runtime"] == "enroot", self._image.registry),
            )
        return _LOOKED[key]

    def _credentials(self, host: Host) -> Optional[str]:
        path = self.options.get("credentials")
        if not path or host.resolved_kind(path) != "file":
            return None
        return host.read(host.resolve(path) or path).decode("utf-8", "replace")

    # -- the work ------------------------------------------------------------------------------

    @property
    def _job(self) -> Any:
        from .._slurm.slurm_job import SlurmJob

        return SlurmJob(self._work)

    def _is_working(self, host: Host) -> bool:
        found = host.entry(self._work)
        return found is not None and found.is_private

    def _importing(self, host: Host) -> str:
        """The digest that is being imported; empty where none is."""
        if not self._is_working(host):
            return ""
        if self.options["by"] == "job":
            return str(self._job.given(host).get("digest", ""))
        note = host.entry(os.path.join(self._work, GIVEN))
        return host.read(os.path.join(self._work, GIVEN)).decode("ascii", "replace") if note is not None else ""

    def progress(self, host: Host) -> Optional[Dict[str, Any]]:
        if not self._is_working(host) or self.options["state"] == "absent":
            return None
        if self.options["by"] == "job":
            progress: Optional[Dict[str, Any]] = self._job.progress(host)
            return progress
        from .._jobs.job import progress_of

        return progress_of(host.path_via_handle(self._work))

    def apply(self, host: Host) -> None:
        if self.options["state"] == "absent":
            self._take_out(host)
            return
        host.make_folders(self._folder, 0o700, self.options.get("root"))
        wanted = self.desired(host)
        link = host.entry(self._link)
        current = link.target if link is not None else ""
        if not (wanted["image"].startswith("/") or self._files(host).note(wanted["image"])):
            self._import(host, wanted)
            return
        if wanted["image"] != current:
            host.make_link(self._link, wanted["image"])
        if wanted.get("old") == "none":
            for name in self._files(host).old(wanted["image"]):
                self._files(host).remove(name)

    def _import(self, host: Host, wanted: State) -> None:
        from .._images import importing
        from .._slurm.slurm_job import JobRequest

        digest = wanted["digest"]
        is_enroot = self.options["runtime"] == "enroot"
        one = importing.Import(
            self._folder,
            wanted["image"],
            os.path.basename(self._link),
            digest,
            self._image.for_enroot(digest) if is_enroot else self._image.for_apptainer(digest),
            self._looked(host).bytes,
            self.options["runtime"],
            self.options["module"],
            self.options.get("credentials") or "",
            self.options.get("temporary") or "",
        )
        if self.options["by"] == "login":
            importing.ImportJob(self._work, one).start(host)
            return
        work = importing.commands(one) + importing.AWAY
        job = JobRequest("import", work, self.options["job_options"], self.options["minutes"])
        host.start(
            self._work,
            lambda above: self._job.submit(above, job, {"digest": digest}) and None,
            lambda dry: importing.pretend(dry, one),
        )

    def _take_out(self, host: Host) -> None:
        if self._is_working(host):
            self._job.cancel(host)
        link = host.entry(self._link)
        if link is not None and link.kind == "link":
            host.remove(self._link)
        for name in self._files(host).ours():
            if not self._files(host).is_changed(name):
                self._files(host).remove(name)
