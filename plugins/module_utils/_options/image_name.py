# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The names of a container image: as written by users, for registries, for enroot, for Apptainer, and as a file.

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
DIGITS = 12
"""The number of hexadecimal digits of the digest in a file name."""
DOCKER_HUB = "registry-1.docker.io"
"""The host that serves images of docker.io."""


class ImageName(NamedTuple):
    """The name of an image in a registry."""

    registry: str  # the registry's host, with its port if the user named one
    repository: str
    tag: str
    digest: str  # sha256:... if the user named a digest, else ""

    @property
    def plain(self) -> str:
        """Return the name of the image's file without digest and ending, such as nvcr.io+nvidia+pytorch+24.03-py3."""
        host = "docker.io" if self.registry == DOCKER_HUB else self.registry
        return "+".join([host.replace(":", "+"), self.repository.replace("/", "+"), self.tag])

    def file(self, digest: str, ending: str) -> str:
        """Return the file name for the image with this digest, such as nvcr.io+...+24.03-py3+DIGITS.sqsh."""
        return "%s+%s.%s" % (self.plain, digest.partition(":")[2][:DIGITS], ending)

    def for_enroot(self, digest: str) -> str:
        """Return the address for enroot 3.2 and newer, with # after the registry and the digest in place of a tag."""
        return "docker://%s#%s:%s" % (self.registry, self.repository, digest)

    def for_apptainer(self, digest: str) -> str:
        """Return the address for Apptainer."""
        return "docker://%s/%s@%s" % (self.registry, self.repository, digest)


def parse(text: str) -> Optional[ImageName]:
    """Return the image that a user named, or None if the name is not valid.

    docker:// before the name is optional. The registry may be followed by / or, as in names for enroot, by #. As in
    Docker, the first part is a registry only if this part contains a dot or a colon, or is localhost.

    >>> parse("docker://nvcr.io#nvidia/pytorch:24.03-py3").plain
    'nvcr.io+nvidia+pytorch+24.03-py3'
    >>> parse("alpine").repository
    'library/alpine'
    """
    name = text[len("docker://") :] if text.startswith("docker://") else text
    match = _IMAGE.fullmatch(name.replace("#", "/", 1))
    if not match:
        return None
    registry, repository = match.group("registry") or "", match.group("repository")
    is_host = re.search(r"[.:]", registry) or registry == "localhost"
    if registry and not is_host:  # a user or an organisation at Docker Hub
        registry, repository = "", "%s/%s" % (registry, repository)
    if registry in ("", "docker.io", "index.docker.io", DOCKER_HUB):
        registry, repository = DOCKER_HUB, repository if "/" in repository else "library/" + repository
    return ImageName(registry, repository, match.group("tag") or "latest", match.group("digest") or "")


def site_names(image: ImageName) -> List[str]:
    """Return the names, without ending, that the file of this image may have in a folder of the site."""
    without_registry = "%s/%s" % (image.repository, image.tag)
    with_registry = "%s/%s" % (image.registry, without_registry)
    return [name.replace("/", separator) for name in (with_registry, without_registry) for separator in ("+", "_")]
