"""What each stand-in cluster looks like: its file systems, homes, Python and login environment.

The places are those that the sites document; sizes and machines are not imitated.
SPDX-License-Identifier: GPL-3.0-or-later
"""

from dataclasses import dataclass, field

_SCRATCH = "/capstor/scratch/cscs"
_STORE = "/capstor/store/cscs/userlab"


@dataclass(frozen=True)
class Folder:
    """A site folder that an account finds ready. Placeholders: user, project."""

    path: str
    mode: int
    owner: str = "root"
    """The account's own when it says "user"; the group is always the project's."""


@dataclass(frozen=True)
class Site:
    """One stand-in cluster. In paths stand {user}, {initial} (its first letter) and {project}."""

    name: str
    home: str
    mounts: tuple[str, ...] = ()
    """Each is a file system of its own, so that a rename between two of them fails as on the cluster."""
    folders: tuple[Folder, ...] = ()
    python: str = "system"
    """system: the host's /usr/bin/python3; old: 3.6 as /usr/libexec/platform-python alone; none."""
    profile: str = ""
    """The cluster's name in an accounts file, where it is not this one's."""
    behind: str = ""
    """The jump host, without which it cannot be reached."""
    forwards: bool = False
    login_environment: dict[str, str] = field(default_factory=dict)
    storage: dict[str, str] = field(default_factory=dict)
    """What the user of this site has to write into the accounts file."""


_DFKI = Site(
    "dfki",
    home="/home/{user}",
    mounts=("/home", "/data"),
    folders=(Folder("/data", 0o1777), Folder("/data/enroot", 0o1777)),
)

SITES = (
    Site(
        "lrz",
        home="/dss/dsshome1/0D/{user}",
        mounts=("/dss/dsshome1", "/dss/dssfs04"),
        folders=(Folder("/dss/dssfs04/lwp-dss-0002/{project}/{project}-dss-0000", 0o2770),),
        storage={"dss": "/dss/dssfs04/lwp-dss-0002/{project}/{project}-dss-0000"},
    ),
    _DFKI,
    Site(
        "bare",
        home=_DFKI.home,
        mounts=_DFKI.mounts,
        folders=_DFKI.folders,
        python="none",
        profile="dfki",
    ),
    Site(
        "wilson",
        home="/nashome/{initial}/{user}",
        mounts=("/nashome", "/work1", "/wclustre"),
        folders=(Folder("/work1/{project}", 0o2775), Folder("/wclustre/{project}", 0o2775)),
        python="old",
    ),
    Site(
        "pegasus",
        home="/home/{user}",
        mounts=("/home", "/netscratch"),
        folders=(Folder("/netscratch", 0o1777),),
        profile="dfki_pegasus",
    ),
    Site(
        "narval",
        home="/home/{user}",
        mounts=("/home", "/scratch", "/project"),
        folders=(Folder("/scratch/{user}", 0o700, "user"), Folder("/project/{project}", 0o2770)),
    ),
    Site("ela", home="/home/{user}", mounts=("/home",), forwards=True),
    Site(
        "daint",
        home="/users/{user}",
        mounts=("/users", "/capstor/scratch", "/capstor/store"),
        folders=(Folder(_SCRATCH + "/{user}", 0o700, "user"), Folder(_STORE + "/{project}", 0o2770)),
        behind="ela",
        login_environment={"SCRATCH": _SCRATCH + "/$USER", "STORE": _STORE + "/$GROUP"},
    ),
)
