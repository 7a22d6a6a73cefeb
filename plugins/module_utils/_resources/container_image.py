# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A container image: a file that is named after its digest, and a link to the file, named without the digest.

A note, a file next to an image, records that hpc-onboard imported it. If the site has the image, the link points to the
site's file. The account asks the registry, with the container tool's key, for the tag's current digest. If the registry
does not answer, the image is treated as up to date. A Host changes the account's files; a sandbox simulates an account.
A run compares the states from inspect() and desired(); an empty state means that the resource is absent. If the states
differ and obstacle() returns None, it calls apply(). before: the state from inspect(). touches() returns its paths.
"""

import os
from typing import Any, Dict, List, Optional, Tuple

from .._core.edited_file import read_edited_file
from .._core.files import FileEntry, why_unsafe
from .._core.host import Host
from .._core.resource import State
from .._formats import hashes
from .._images.files import DIGEST_FILE, ImageFiles, why_too_little_space
from .._jobs.made import JobResource, read_text
from .._options import image_name
from .._options.file_options import fill_options
from .._options.image_name import ImageName
from .._options.image_options import ContainerImageOptions

SPACE_FACTORS = {"enroot": 6, "apptainer": 5}  # bytes needed for each byte of a layer: cache, unpacked files and image
CHANGED = "changed after the import"  # the value of the field "digest" for such an image
FOREIGN_TEXT = "%s is a %s that was not created by hpc-onboard: rename or move it, then run hpc-onboard again"
EXISTS_TEXT = "%s already exists and was not created by hpc-onboard: rename or move it, then run hpc-onboard again"
_LOOKUPS: Dict[Tuple[str, str], Any] = {}  # ImageLookup, by image and credentials: each registry is asked once


class ContainerImage(ContainerImageOptions, JobResource):
    """An image that is imported once for each digest of its tag, on the login node or in a Slurm job."""

    def touches(self, host: Host) -> List[str]:
        return [self._link, self._folder]

    @property
    def _image(self) -> ImageName:
        return image_name.parse(self.options["image"]) or ImageName("", "", "", "")  # check() refuses an invalid name

    @property
    def _folder(self) -> str:  # contains the images and the link
        return str(self.options["folder"])

    @property
    def _ending(self) -> str:  # the suffix of the image's file
        return "sqsh" if self.options["runtime"] == "enroot" else "sif"

    @property
    def _link(self) -> str:  # the path of the link
        return os.path.join(self._folder, "%s.%s" % (self._image.plain, self._ending))  # plain: without a digest

    @property
    def job_folder(self) -> str:  # of an import that is running or has failed
        return os.path.join(self._folder, ".%s.import" % self._image.plain)

    def _files(self, host: Host) -> ImageFiles:  # the files of this image, one for each digest
        return ImageFiles(host, self._folder, self._image, self._ending)

    def _find_site_image(self, host: Host) -> str:
        """Return the path of the site's own file of this image, with the packages that the options require, or ""."""
        folder = self.options.get("site_images")
        return self._files(host).find_site_file(folder, self.options["packages"]) if folder else ""

    def _is_our_link(self, link: FileEntry, host: Host) -> bool:
        """Return True for a link to a name with a digest, or to a site image, as only hpc-onboard creates them."""
        if link.kind != "link" or link.is_foreign:
            return False
        site = self.options.get("site_images")  # the folder with images of the site, or None
        return self._files(host).is_file_name(link.target) or (bool(site) and os.path.dirname(link.target) == site)

    def desired(self, host: Host) -> State:
        """Return the link's target, the image's digest, and old: "none" if older images are to be removed."""
        if self.options["state"] == "absent":
            return {}
        site_image = self._find_site_image(host)
        if site_image:
            return {"image": site_image}  # not imported, so no digest is known
        digest = self._find_digest(host)
        if not digest:
            return {"image": self._image.plain}  # obstacle() returns why no digest is known
        state = {"image": self._image.file(digest, self._ending), "digest": digest}
        return dict(state, old="none") if self.options["old"] == "remove" else state

    def inspect(self, host: Host) -> State:
        """Return the same fields as desired(); before a removal, also the size of the images to be removed."""
        state = self._inspect_link(host)
        removable = self._files(host).list_removable()
        if self.options["state"] == "present" or not state or not removable:
            return state
        return dict(state, size=self._files(host).format_total_size(removable))

    def is_unchanged_since_created(self, found: State, host: Host) -> bool:
        """Return True if the present state, found, is as hpc-onboard created it. The size is not recorded."""
        recorded = {name: value for name, value in found.items() if name != "size"}
        return super().is_unchanged_since_created(recorded, host)

    def _inspect_link(self, host: Host) -> State:
        """Return the link's image, its digest, and older images; for the user's own entry at that path only "is"."""
        link = host.entry(self._link)
        if link is not None and not self._is_our_link(link, host):
            return {"is": link.kind}
        if link is None and self.options["state"] == "present":
            return {}
        if link is None and self.has_job_folder(host):  # an import that is to be removed
            return {"image": "unfinished"}
        if link is None:
            names = self._files(host).list_imported()
            return {"image": names[0]} if names else {}  # images without a link are still to be removed
        state = {"image": link.target}
        if link.target.startswith("/"):  # an image of the site, which the site may have removed
            return state if host.resolved_kind(self._link) == "file" else {}
        note = self._files(host).read_note(link.target)
        if note is None:  # the image is missing, or its import was not finished
            return {}
        state["digest"] = CHANGED if self._files(host).is_changed(link.target) else note["digest"]
        if self.options["old"] == "remove" and self.options["state"] == "present":
            state["old"] = ", ".join(self._files(host).list_older(link.target)) or "none"
        return state

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why the link must not be changed, or the image cannot be imported or removed; else None."""
        if "is" in before:
            return FOREIGN_TEXT % (host.shown(self._link), before["is"])
        if self.options["state"] == "absent":
            if before.get("digest") == CHANGED:
                place = host.shown(os.path.join(self._folder, before["image"]))
                size = self._files(host).format_total_size([before["image"]])
                return "%s (%s) was changed after the import: remove it yourself" % (place, size)
            return None
        if self._find_site_image(host) or self._digest_in_import(host):
            return None  # no import is to be started: the site has the image, or an import is running
        return self._why_not_importable(before, host)

    def _why_not_importable(self, before: State, host: Host) -> Optional[str]:
        """Return why the image cannot be imported, or None."""
        digest = self._find_digest(host)
        if not digest:
            lookup = self._look_up(host)
            return str(lookup.why) if lookup.is_certain else "%s; run hpc-onboard again later" % lookup.why
        name = self._image.file(digest, self._ending)
        if before.get("image") == name and before.get("digest") == digest:  # only older images are to be removed
            return None
        root = self.options.get("root") or os.path.dirname(self._folder)  # must exist already
        if host.resolved_kind(root) != "folder":
            return "%s does not exist, and only the site can create it: check the project name" % host.shown(root)
        folder = host.resolved_entry(self._folder)
        problem = host.why_blocked(self._folder) or (why_unsafe(folder, host.shown(self._folder)) if folder else None)
        if problem:
            return problem
        path = os.path.join(self._folder, name)
        if host.entry(path) is not None:  # read_note() returns None for an image that hpc-onboard did not import
            return None if self._files(host).read_note(name) else EXISTS_TEXT % host.shown(path)
        _options, why_no_slurm_account = fill_options(self.options["job_options"], host.account.facts)
        needed = self._look_up(host).bytes * SPACE_FACTORS[self.options["runtime"]]
        action = "importing %s" % self.options["image"]
        return why_no_slurm_account or why_too_little_space(host, self._folder, needed, action)

    def remarks(self, host: Host) -> List[str]:
        """Return notes about images that stay, and about a registry that does not answer."""
        if self.options["state"] == "absent":
            text = "%s (%s) was changed after the import, so it is not removed"
            images = self._files(host)
            changed = [name for name in images.list_imported() if images.is_changed(name)]
            return [text % (name, images.format_total_size([name])) for name in changed]
        link = host.entry(self._link)
        notes = []
        if link is not None and link.kind == "link" and not link.target.startswith("/"):
            old = self._files(host).list_older(link.target)
            if old and self.options["old"] == "keep":
                text = "older images of %s exist: %s. To remove them, set container_images_old: remove"
                notes.append(text % (self.options["image"], ", ".join(old)))
            is_digest_known = self._digest_in_import(host) or self._image.digest or self._look_up(host).digest
            if not is_digest_known:  # the existing image is kept without a check
                notes.append("hpc-onboard could not check for a newer image: %s" % self._look_up(host).why)
        return notes

    def _find_digest(self, host: Host) -> str:
        """Return the desired digest: from the options, a running import, the registry or the existing image; or ""."""
        digest = self._image.digest or self._digest_in_import(host)
        if digest:
            return digest
        lookup = self._look_up(host)
        if lookup.digest or lookup.is_certain:  # is_certain: the registry refused the image
            return str(lookup.digest)
        link = host.entry(self._link)
        note = self._files(host).read_note(link.target) if link is not None and link.kind == "link" else None
        return str(note["digest"]) if note else ""

    def _look_up(self, host: Host) -> Any:
        """Return the ImageLookup with the registry's digest, or why there is none; each registry is asked once."""
        from .._registry.image_lookup import ImageLookup, find_login, look_up_image  # not every run asks a registry

        if host.root:  # a sandbox asks no registry: a made-up digest, and no bytes to download
            return ImageLookup("sha256:" + hashes.digest(self.options["image"].encode("utf-8")).hex(), bytes=0)
        key = (self.options["image"], str(self.options.get("credentials")))
        if key not in _LOOKUPS:
            path, is_enroot = self.options.get("credentials"), self.options["runtime"] == "enroot"
            credentials = read_edited_file(host, path).text if path else ""  # "" without a file
            _LOOKUPS[key] = look_up_image(self._image, find_login(credentials, is_enroot, self._image.registry))
        return _LOOKUPS[key]

    @property
    def _job(self) -> Any:  # the Slurm job that imports the image
        from .._slurm.slurm_job import SlurmJob

        return SlurmJob(self.job_folder)

    def _digest_in_import(self, host: Host) -> str:
        """Return the digest of the image that is being imported, or ""."""
        if not self.has_job_folder(host):
            return ""
        if self.options["by"] == "job":
            return str(self._job.read_details(host).get("digest", ""))
        return read_text(host, os.path.join(self.job_folder, DIGEST_FILE)) or ""

    def progress(self, host: Host) -> Optional[Dict[str, Any]]:
        """Return the progress of the import, or why it failed; None without an import, and before a removal."""
        if not self.has_job_folder(host) or self.options["state"] == "absent":
            return None
        if self.options["by"] == "job":
            progress: Optional[Dict[str, Any]] = self._job.progress(host)
            return progress
        return super().progress(host)

    def apply(self, host: Host) -> None:
        """Remove all, or start the import; if the image exists already, set the link and remove older images."""
        if self.options["state"] == "absent":
            self._remove(host)
            return
        host.make_folders(self._folder, 0o700, area=self.options.get("root"))  # area: other users may own this folder
        desired = self.desired(host)
        image = desired["image"]
        is_available = image.startswith("/") or self._files(host).read_note(image)  # of the site, or imported
        if not is_available:
            self._start_import(host, desired)
            return
        link = host.entry(self._link)
        if link is None or link.target != image:
            host.make_link(self._link, image)
        if desired.get("old") == "none":
            for name in self._files(host).list_older(image):
                self._files(host).remove(name)

    def _start_import(self, host: Host, desired: State) -> None:
        """Start to import the image, on the login node or in a Slurm job. In a sandbox, only simulate the import."""
        from .._images import importing
        from .._slurm.slurm_job import JobOrder

        digest, image = desired["digest"], self._image
        image_import = importing.ImageImport(
            folder=self._folder,
            name=desired["image"],
            link=os.path.basename(self._link),
            digest=digest,
            address=image.for_enroot(digest) if self.options["runtime"] == "enroot" else image.for_apptainer(digest),
            bytes=self._look_up(host).bytes,
            runtime=self.options["runtime"],
            module=self.options["module"],
            credentials=self.options.get("credentials") or "",
            temporary=self.options.get("temporary") or "",
        )
        import_job = importing.ImportJob(self.job_folder, image_import)
        if self.options["by"] == "login":
            import_job.start(host)
            return
        options, _why_missing = fill_options(self.options["job_options"], host.account.facts)  # see obstacle()
        commands = importing.render_commands(image_import) + importing.CLEANUP
        job = JobOrder(purpose="import", work=commands, options=options, minutes=self.options["minutes"])

        def submit(parent: int) -> None:  # parent: the open folder of the images
            self._job.submit(parent, job, details={"digest": digest})

        host.start_job(self.job_folder, detach=submit, pretend=import_job.simulate)

    def _remove(self, host: Host) -> None:
        """Cancel the import, and remove the link and all images that were not changed after the import."""
        if self.has_job_folder(host):
            self._job.cancel(host)  # also ends an import on this login node
        link = host.entry(self._link)
        if link is not None and link.kind == "link":
            host.remove(self._link)
        for name in self._files(host).list_removable():
            self._files(host).remove(name)
