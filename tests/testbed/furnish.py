"""Furnishes a world: sshd's settings, its Python, what login shells are given; and a new account in it.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.testbed.pythons import Version
from tests.testbed.sites import Site
from tests.testbed.users import User, make_folder
from tests.testbed.world import World

_BIN = ("usr/bin", "usr/local/bin", "usr/libexec", "usr/sbin", "usr/local/sbin")


def furnish_ssh(root: Path, site: Site, host_key: Path, client_key: Path) -> None:
    """Write sshd's settings and keys. The one client key opens every account and lies outside of all homes."""
    ssh = root / "etc/ssh"
    shutil.copy(host_key, ssh / "testbed_host_key")
    shutil.copy(client_key.with_suffix(".pub"), ssh / "testbed_authorized_keys")
    (ssh / "testbed_authorized_keys").chmod(0o644)
    settings = {
        "ListenAddress": "0.0.0.0:22",
        "HostKey": "/etc/ssh/testbed_host_key",
        "AuthorizedKeysFile": "/etc/ssh/testbed_authorized_keys",
        "AuthenticationMethods": "publickey",
        "AllowTcpForwarding": "yes" if site.forwards else "no",
        "LogLevel": "VERBOSE",
        "MaxSessions": "200",
        "MaxStartups": "500",
        "PidFile": "none",
        "PrintLastLog": "no",
        "PrintMotd": "no",
        "UseDNS": "no",
        "UsePAM": "no",
        "Subsystem": "sftp internal-sftp",
    }
    lines = "".join(f"{name} {value}\n" for name, value in settings.items())
    (ssh / "testbed_config").write_text(lines, encoding="ascii")
    (root / "var/log/sshd.log").write_bytes(b"")


def furnish_python(root: Path, site: Site, old: Path | None) -> None:
    """Leave the world the Pythons that the site has; those of the host are only hidden.

    Without an old one on this machine, wilson keeps the host's: `Cluster.python` tells, and tests say so.
    """
    if site.python == "system" or (site.python == "old" and old is None):
        return
    for folder in _BIN:
        for path in (root / folder).glob("p*"):
            if path.name.startswith(("python", "pypy", "platform-python")):
                path.unlink()
    if old is not None and site.python == "old":
        (root / "usr/libexec").mkdir(exist_ok=True)
        (root / "usr/libexec/platform-python").symlink_to(f"/opt/python/bin/{old.name}")
        # Where it was built to look for its library is, for a user of the world, a closed door.
        for library in (old.parent.parent / "lib").glob("libpython3*.so*"):
            shutil.copy(library, root / "usr/lib" / library.name)


def furnish_login(root: Path, site: Site) -> None:
    """Set the site's variables for login shells of every kind, and for no others."""
    (root / "etc/profile.d/lmod.sh").unlink(missing_ok=True)  # Debian's own: sites without modules have no such command
    sh, csh, fish = [], [], ["status is-login; or exit"]
    for name, value in site.login_environment.items():
        plain = value.replace("$GROUP", "`id -gn`").replace("$USER", "`id -un`")
        sh.append(f'export {name}="{plain}"')
        csh.append(f'setenv {name} "{plain}"')
        fish.append(f"set -gx {name} {value.replace('$GROUP', '(id -gn)').replace('$USER', '(id -un)')}")
    # An interactive zsh without start-up files opens a questionnaire; sites switch it off.
    for script in (root / "usr/share/zsh").glob("*/scripts/newuser"):
        script.unlink()
    if site.login_environment:
        _append(root / "etc/profile.d/site.sh", sh)
        _append(root / "etc/zsh/zprofile", sh)
        _append(root / "etc/csh.login", csh)
        _append(root / "etc/fish/conf.d/site.fish", fish)


def python_of(site: Site, world: World) -> Version | None:
    """Ask the Python that the users of a world find for its version."""
    if site.python == "none":
        return None
    where = "/usr/libexec/platform-python" if site.python == "old" else "/usr/bin/python3"
    if not world.path(where).exists():
        where = "/usr/bin/python3"
    major, minor = world.run(where, "-c", "import sys; print(*sys.version_info[:2])").split()
    return int(major), int(minor)


def site_folders(site: Site, root: Path, login: User, words: Mapping[str, str]) -> list[str]:
    """Make the site's folders for a new account, and give their paths in the world."""
    paths = []
    for folder in site.folders:
        path = folder.path.format_map(words)
        make_folder(root / path[1:], login.uid if folder.owner == "user" else 0, login.gid, folder.mode)
        paths.append(path)
    return paths


def fill_home(world: World, login: User, files: Mapping[str, bytes], skel: bool) -> None:
    """Lay files into a new home; skel: also those that the world gives to every new user."""
    home = world.root / login.home[1:]
    content = {path.name: path.read_bytes() for path in (world.root / "etc/skel").iterdir()} if skel else {}
    for name, data in {**content, **files}.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(data)
    if content or files:
        world.run("chown", "-R", f"{login.uid}:{login.gid}", login.home)


def _append(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
