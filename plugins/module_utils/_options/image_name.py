# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a container image is called: by people, by registries, by enroot, by Apptainer, and as a file.

Sources: https://distribution.github.io/distribution/spec/manifest-v2-2/,
https://github.com/NVIDIA/enroot (src/docker.sh), https://apptainer.org/docs/user/latest/docker_and_oci.html
"""

import re
from typing import List, NamedTuple, Optional

_IMAGE = re.compile(
    r"(?:(?P<registry>[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?)/)?"
    r"(?P<repository>[a-z0-9]+(?:(?:[._]|__|-+|/)[a-z0-9]+)*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9._-]{0,127}))?"
    r"(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)
DIGITS = 12  # of a digest, in the name of a file
DOCKER_HUB = "registry-1.docker.io"


class ImageName(NamedTuple):
    """An image: its registry as a host, its repository, the tag, and the digest sha256:... where one is named."""

    registry: str
    repository: str
    tag: str
    digest: str

    @property
    def plain(self) -> str:
        """The name of a file for it without digest and ending: nvcr.io+nvidia+pytorch+24.03-py3."""
        host = "docker.io" if self.registry == DOCKER_HUB else self.registry
        return "+".join([host.replace(":", "+"), self.repository.replace("/", "+"), self.tag])

    def file(self, digest: str, ending: str) -> str:
        """The name of the file that holds what has this digest."""
        return "%s+%s.%s" % (self.plain, digest.partition(":")[2][:DIGITS], ending)

    def for_enroot(self, digest: str) -> str:
        """The address for enroot from 3.2 up: # behind the registry, and the digest in the tag's place."""
        return "docker://%s#%s:%s" % (self.registry, self.repository, digest)

    def for_apptainer(self, digest: str) -> str:
        """The address for Apptainer."""
        return "docker://%s/%s@%s" % (self.registry, self.repository, digest)


def read(text: str) -> Optional[ImageName]:
    """The image that is meant, with or without docker:// before it, # for the registry's slash; None for no name.

    >>> read("docker://nvcr.io#nvidia/pytorch:24.03-py3").plain
    'nvcr.io+nvidia+pytorch+24.03-py3'
    >>> read("alpine").repository
    'library/alpine'
    """
    plain = text[len("docker://") :] if text.startswith("docker://") else text
    found = _IMAGE.fullmatch(plain.replace("#", "/", 1))
    if not found:
        return None
    registry, repository = found.group("registry") or "", found.group("repository")
    if registry and not re.search(r"[.:]", registry) and registry != "localhost":
        registry, repository = "", "%s/%s" % (registry, repository)
    if registry in ("", "docker.io", "index.docker.io", DOCKER_HUB):
        registry, repository = DOCKER_HUB, repository if "/" in repository else "library/" + repository
    return ImageName(registry, repository, found.group("tag") or "latest", found.group("digest") or "")


def site_names(image: ImageName) -> List[str]:
    """The names without ending under which sites lay such an image down."""
    tagged = "%s/%s" % (image.repository, image.tag)
    whole = "%s/%s" % (image.registry, tagged)
    return [text.replace("/", sign) for text in (whole, tagged) for sign in ("+", "_")]
