"""Says what the testbed misses on this machine, by the names that apt knows.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import os
import shutil
from pathlib import Path

LIST = Path(__file__).with_name("debian-packages.txt")

COMMANDS = {
    "bindfs": "bindfs",
    "curl": "curl",
    "dbus-run-session": "dbus",
    "docker-registry": "docker-registry",
    "fail2ban-regex": "fail2ban",
    "fish": "fish",
    "gnome-keyring-daemon": "gnome-keyring",
    "gcc": "gcc",
    "ip": "iproute2",
    "jq": "jq",
    "kadmin.local": "krb5-admin-server",
    "kinit": "krb5-user",
    "krb5kdc": "krb5-kdc",
    "ksh": "ksh",
    "mariadbd": "mariadb-server",
    "mksh": "mksh",
    "munged": "munge",
    "nsenter": "util-linux",
    "setfacl": "acl",
    "setpriv": "util-linux",
    "shellcheck": "shellcheck",
    "ssh": "openssh-client",
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "slurmdbd": "slurmdbd",
    "srun": "slurm-client",
    "sshd": "openssh-server",
    "strace": "strace",
    "tcsh": "tcsh",
    "unshare": "util-linux",
    "zsh": "zsh",
}


def missing() -> list[str]:
    """Give what has to be there before the testbed can come up, each as a short phrase."""
    path = os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin"
    absent = sorted({package for command, package in COMMANDS.items() if not shutil.which(command, path=path)})
    if not Path("/usr/share/lmod").is_dir():
        absent.append("lmod")
    phrases = [f"Debian package {package}" for package in absent]
    if os.geteuid() != 0:
        phrases.insert(0, "root (for namespaces and mounts)")
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        phrases.append("/dev/fuse")
    return phrases
