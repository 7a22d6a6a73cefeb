"""Fermilab's door: a real Kerberos realm, an sshd that takes its tickets, and homes that only a forwarded one opens.

The servers are Debian's krb5-kdc and OpenSSH with GSSAPI; all of it lies in the cluster's world.
SPDX-License-Identifier: GPL-3.0-or-later
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.testbed.account import Account
from tests.testbed.cluster import Cluster
from tests.testbed.further_sshd import FurtherSshd

PORT = 2226
REALM = "FNAL.GOV"
PASSWORD = "correct-horse"

_FOLDER = "/etc/krb5testbed"
_CONFIG = """\
[libdefaults]
    default_realm = {realm}
    dns_lookup_kdc = false
    dns_lookup_realm = false
    dns_canonicalize_hostname = false
    rdns = false
    udp_preference_limit = 1
[realms]
    {realm} = {{
        kdc = {host}:88
    }}
"""
_KDC = """\
[kdcdefaults]
    kdc_listen = {host}:88
    kdc_tcp_listen = {host}:88
[realms]
    {realm} = {{
        database_name = {folder}/principal
        key_stash_file = {folder}/stash
        acl_file = {folder}/acl
        max_life = 24h
    }}
"""
_GATE = """\
#!/bin/sh
# Run by PAM as root: the home is its owner's while a session has a forwarded ticket, and nobody's otherwise.
home=$(getent passwd "$PAM_USER" | cut -d: -f6)
cache=${{KRB5CCNAME#FILE:}}
if [ "$PAM_TYPE" = open_session ] && [ -n "$cache" ] && klist -s -c "$cache"; then
    chown "$PAM_USER" "$home"
else
    chown root "$home"
fi
exit 0
"""


class Realm:
    """One realm, and the door of one cluster that takes its tickets and nothing else."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        """folder: of the person: their krb5.conf and their tickets."""
        self._world, self._folder = cluster.world, folder
        words = {"realm": REALM, "host": cluster.host, "folder": _FOLDER}
        root = self._world.root
        (root / _FOLDER[1:]).mkdir(exist_ok=True)
        for path in (root / _FOLDER[1:] / "krb5.conf", folder / "krb5.conf"):
            path.write_text(_CONFIG.format(**words), encoding="ascii")
        (root / _FOLDER[1:] / "kdc.conf").write_text(_KDC.format(**words), encoding="ascii")
        (root / _FOLDER[1:] / "acl").touch()
        new = root / _FOLDER[1:] / "gate.new"  # another test's login may be running the one that is there
        new.write_text(_GATE.format(), encoding="ascii")
        new.chmod(0o755)
        new.rename(root / _FOLDER[1:] / "gate")
        rules = [
            "auth required pam_deny.so\n",
            "account required pam_permit.so\n",
            f"session required pam_exec.so quiet {_FOLDER}/gate\n",
        ]
        (root / "etc/pam.d/sshd").write_text("".join(rules), encoding="ascii")
        if not (root / _FOLDER[1:] / "principal").exists():
            self._begin(cluster.host)
        settings = {
            "UsePAM": "yes",
            "AuthenticationMethods": "gssapi-with-mic",
            "GSSAPIAuthentication": "yes",
            "GSSAPICleanupCredentials": "yes",
            "GSSAPIStrictAcceptorCheck": "no",
        }
        self.door = FurtherSshd(cluster, "ticket", PORT, settings, self._own)
        self.environment = {"KRB5_CONFIG": str(folder / "krb5.conf"), "KRB5CCNAME": f"FILE:{folder}/tickets"}

    def admit(self, account: Account) -> None:
        """Know this user by the password, and shut their home."""
        self._kadmin(f"addprinc -pw {PASSWORD} {account.user}")
        self._world.run("chown", "root", account.home)
        self._world.run("chmod", "700", account.home)

    def ticket(self, account: Account, *options: str) -> None:
        """Get the user a ticket; options: of kinit."""
        order = ["kinit", *options, f"{account.user}@{REALM}"]
        self._run(order, f"{PASSWORD}\n")

    def forget(self) -> None:
        """Leave the person without a ticket."""
        (self._folder / "tickets").unlink(missing_ok=True)

    @property
    def _own(self) -> dict[str, str]:
        return {
            "KRB5_CONFIG": f"{_FOLDER}/krb5.conf",
            "KRB5_KDC_PROFILE": f"{_FOLDER}/kdc.conf",
            "KRB5_KTNAME": f"FILE:{_FOLDER}/keytab",
        }

    def _begin(self, host: str) -> None:
        """Make the realm's database and start its KDC."""
        self._in_world("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")
        self._kadmin(f"addprinc -randkey host/{host}")
        self._kadmin(f"ktadd -k {_FOLDER}/keytab host/{host}")
        self._in_world("krb5kdc", "-P", "/run/kdc.pid")

    def _kadmin(self, order: str) -> None:
        self._in_world("kadmin.local", "-r", REALM, "-q", order)

    def _in_world(self, *command: str) -> None:
        path = "PATH=/usr/sbin:/usr/bin:/sbin:/bin"
        self._world.run("env", path, *(f"{name}={value}" for name, value in self._own.items()), *command)

    def _run(self, command: Sequence[str], text: str) -> None:
        environment = {**self.environment, "PATH": "/usr/bin:/bin"}
        subprocess.run(command, input=text, env=environment, text=True, check=True, capture_output=True)
