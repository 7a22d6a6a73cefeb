# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A container image as a file that is named for its digest, and a link to it without the digest.

The note next to an image says that hpc-onboard imported it. If the site has the image itself, the link points to that.
The registry is asked, from the account and with the key of the container tool, for the present digest of the tag; if
it does not answer, the existing image counts as up to date.
"""

import os
from typing import Any, Dict, List, Optional, Tuple

from .._core import files
from .._core.host import Host
from .._core.resource import Resource, State
from .._images.files import ImageFiles, why_too_little_space
from .._options import image_name
from .._options.file_options import fill_options
from .._options.image_name import ImageName
from .._options.image_options import ContainerImageOptions

SPACE_FACTORS = {"enroot": 6, "apptainer": 5}  # of the layers' bytes, for cache, unpacked files and the image
GIVEN = "digest"  # the file in the job's folder on a login node with the digest that is being imported
FOREIGN = "%s is a %s that was not created by hpc-onboard: move it away, then run again"
EXISTS = "%s already exists and was not created by hpc-onboard: move it away, then run again"
_LOOKUPS: Dict[Tuple[str, str], Any] = {}  # the answers of registries to this process, by image and credentials


class ContainerImage(ContainerImageOptions, Resource):
    """An image that is imported once for each digest of its tag, in a Slurm job if only nodes have the tool."""

    def touches(self, host: Host) -> List[str]:
        return [self._link, self._folder]

    # -- names ---------------------------------------------------------------------------------

    @property
    def _image(self) -> ImageName:
        return image_name.read(self.options["image"]) or ImageName("", "", "", "")  # check() has refused all others

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

    def _find_site_image(self, host: Host) -> str:
        folder = self.options.get("site_images")
        return self._files(host).of_site(folder, self.options["packages"]) if folder else ""

    def _is_our_link(self, link: files.FileEntry, host: Host) -> bool:
        """Return True if a link points to a name with a digest, or to an image of the site, as only ours do."""
        if link.kind != "link" or link.is_foreign:
            return False
        site = self.options.get("site_images")
        return self._files(host).is_name(link.target) or (bool(site) and os.path.dirname(link.target) == site)

    # -- states --------------------------------------------------------------------------------

    def desired(self, host: Host) -> State:
        if self.options["state"] == "absent":
            return {}
        site = self._find_site_image(host)
        if site:
            return {"image": site}
        digest = self._digest(host)
        if not digest:
            return {"image": self._image.plain}
        state = {"image": self._image.file(digest, self._ending), "digest": digest}
        return dict(state, old="none") if self.options["old"] == "remove" else state

    def inspect(self, host: Host) -> State:
        found = self._inspect_link(host)
        going = [name for name in self._files(host).ours() if not self._files(host).is_changed(name)]
        if self.options["state"] == "present" or not found or not going:
            return found
        return dict(found, size=self._files(host).size(going))

    def is_unchanged_since_created(self, found: State, host: Host) -> bool:
        """Return the same as for any resource; the size is not in the receipt."""
        recorded = {name: value for name, value in found.items() if name != "size"}
        return super().is_unchanged_since_created(recorded, host)

    def _inspect_link(self, host: Host) -> State:
        """Return the image that the link points to, its digest and older images; only 'is' for a foreign link."""
        link = host.entry(self._link)
        if link is not None and not self._is_our_link(link, host):
            return {"is": link.kind}
        if link is None:
            names = self._files(host).ours()
            if self.options["state"] == "present":
                return {}
            if self._is_working(host):
                return {"image": "unfinished"}
            return {"image": names[0]} if names else {}
        state = {"image": link.target}
        if link.target.startswith("/"):
            return state if host.resolved_kind(self._link) == "file" else {}
        note = self._files(host).note(link.target)
        if note is None:
            return {}
        state["digest"] = str(note["digest"])
        if self._files(host).is_changed(link.target):
            state["digest"] = "changed after the import"
        if self.options["old"] == "remove" and self.options["state"] == "present":
            state["old"] = ", ".join(self._files(host).old(link.target)) or "none"
        return state

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        if "is" in before:
            return FOREIGN % (host.shown(self._link), before["is"])
        if self.options["state"] == "absent":
            if before.get("digest") == "changed after the import":
                place = host.shown(os.path.join(self._folder, before["image"]))
                size = self._files(host).size([before["image"]])
                return "%s (%s) was changed after the import: remove it yourself" % (place, size)
            return None
        if self._find_site_image(host) or self._importing(host):
            return None
        return self._why_not_importable(before, host)

    def _why_not_importable(self, before: State, host: Host) -> Optional[str]:
        """Return why the image cannot be imported, or None."""
        if not self._digest(host):
            looked = self._look_up(host)
            return str(looked.why) + ("" if looked.is_certain else "; run again later")
        wanted = self._image.file(self._digest(host), self._ending)
        if before.get("image") == wanted and before.get("digest") == self._digest(host):
            return None
        root = self.options.get("root") or os.path.dirname(self._folder)
        if host.resolved_kind(root) != "folder":
            return "%s does not exist, and only the site can create it: is the project's name right?" % host.shown(root)
        there = host.resolved_entry(self._folder)
        unsafe = host.why_blocked(self._folder)
        unsafe = unsafe or (files.why_unsafe(there, host.shown(self._folder)) if there else None)
        if unsafe:
            return unsafe
        path = os.path.join(self._folder, wanted)
        if host.entry(path) is not None:
            is_ours = self._files(host).note(wanted) is not None
            return None if is_ours else EXISTS % host.shown(path)
        why = fill_options(self.options["job_options"], host.account.found)[1]
        if why:
            return why
        needed = self._look_up(host).bytes * SPACE_FACTORS[self.options["runtime"]]
        return why_too_little_space(host, self._folder, needed, "importing %s" % self.options["image"])

    def remarks(self, host: Host) -> List[str]:
        if self.options["state"] == "absent":
            text, images = "%s (%s) was changed after the import and is not removed", self._files(host)
            return [text % (name, images.size([name])) for name in images.ours() if images.is_changed(name)]
        link = host.entry(self._link)
        notes = []
        if link is not None and link.kind == "link" and not link.target.startswith("/"):
            old = self._files(host).old(link.target)
            if old and self.options["old"] == "keep":
                notes.append(
                    "older images of %s exist: %s. To remove them, set container_images_old: remove"
                    % (self.options["image"], ", ".join(old))
                )
            if not self._importing(host) and not self._image.digest and not self._look_up(host).digest:
                notes.append("hpc-onboard could not check for a newer image: %s" % self._look_up(host).why)
        return notes

    def _digest(self, host: Host) -> str:
        """Return the desired digest; that of the existing image if the registry does not answer; or ""."""
        if self._image.digest:
            return self._image.digest
        importing = self._importing(host)
        if importing:
            return importing
        looked = self._look_up(host)
        if looked.digest or looked.is_certain:
            return str(looked.digest)
        link = host.entry(self._link)
        note = self._files(host).note(link.target) if link is not None and link.kind == "link" else None
        return str(note["digest"]) if note else ""

    def _look_up(self, host: Host) -> Any:
        """Return the registry's answer, for which it is asked once."""
        from .._registry.image_lookup import ImageLookup, find_login, look_up_image  # not every run asks

        if host.root:  # nothing is downloaded into a sandbox
            from hashlib import sha256

            return ImageLookup("sha256:" + sha256(self.options["image"].encode("utf-8")).hexdigest(), 0)
        key = (self.options["image"], str(self.options.get("credentials")))
        if key not in _LOOKUPS:
            _LOOKUPS[key] = look_up_image(
                self._image,
                find_login(self._credentials(host), self.options["runtime"] == "enroot", self._image.registry),
            )
        return _LOOKUPS[key]

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
        """Return the digest that is being imported, or ""."""
        if not self._is_working(host):
            return ""
        if self.options["by"] == "job":
            return str(self._job.read_details(host).get("digest", ""))
        note = host.entry(os.path.join(self._work, GIVEN))
        return host.read(os.path.join(self._work, GIVEN)).decode("ascii", "replace") if note is not None else ""

    def progress(self, host: Host) -> Optional[Dict[str, Any]]:
        if not self._is_working(host) or self.options["state"] == "absent":
            return None
        if self.options["by"] == "job":
            progress: Optional[Dict[str, Any]] = self._job.progress(host)
            return progress
        from .._jobs.job import read_progress

        return read_progress(host.path_via_handle(self._work))

    def apply(self, host: Host) -> None:
        if self.options["state"] == "absent":
            self._remove(host)
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
        from .._slurm.slurm_job import JobOrder

        digest = wanted["digest"]
        is_enroot = self.options["runtime"] == "enroot"
        one = importing.ImageImport(
            self._folder,
            wanted["image"],
            os.path.basename(self._link),
            digest,
            self._image.for_enroot(digest) if is_enroot else self._image.for_apptainer(digest),
            self._look_up(host).bytes,
            self.options["runtime"],
            self.options["module"],
            self.options.get("credentials") or "",
            self.options.get("temporary") or "",
        )
        if self.options["by"] == "login":
            importing.ImportJob(self._work, one).start(host)
            return
        options, _why = fill_options(self.options["job_options"], host.account.found)
        job = JobOrder("import", importing.render_commands(one) + importing.CLEANUP, options, self.options["minutes"])
        host.start(
            self._work,
            lambda above: self._job.submit(above, job, {"digest": digest}) and None,
            lambda dry: importing.simulate(dry, one),
        )

    def _remove(self, host: Host) -> None:
        if self._is_working(host):
            self._job.cancel(host)
        link = host.entry(self._link)
        if link is not None and link.kind == "link":
            host.remove(self._link)
        for name in self._files(host).ours():
            if not self._files(host).is_changed(name):
                self._files(host).remove(name)
