"""CSCS' certificates: an authority whose signatures open a login node and the jump host before it, and no key alone.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import shlex
import subprocess
from pathlib import Path

from tests.testbed.account import Account
from tests.testbed.bed import Testbed
from tests.testbed.client import new_key
from tests.testbed.further_sshd import FurtherSshd

PORT = 2225
CODE = "246810"

RENEWER = """\
#!/bin/sh
# Stands in for cscs-key 1.1 (github.com/eth-cscs/cscs-key): 'cscs-key sign [-f KEY] [-d 1d|1min]' signs KEY.pub.
set -eu
[ "$1" = sign ] || { echo "error: unrecognized subcommand '$1'" >&2; exit 2; }
shift
key=$HOME/.ssh/cscs-key
while [ $# -gt 0 ]; do
    case $1 in
    -f | --file) key=$2; shift 2 ;;
    -d | --duration) shift 2 ;;
    *) echo "error: unexpected argument '$1' found" >&2; exit 2 ;;
    esac
done
printf 'Open https://auth.cscs.ch in a browser. Code shown there: ' >/dev/tty
read -r code </dev/tty
[ "$code" = @CODE@ ] || { echo 'Error: the code was not taken' >&2; exit 1; }
ssh-keygen -q -s @AUTHORITY@ -I "$USER" -n @PRINCIPAL@ -V -1m:+1d "$key.pub"
echo "Saved $key-cert.pub"
"""


class Signing:
    """The authority, the two doors that trust it, and a person with a key that it signs."""

    def __init__(self, bed: Testbed, account: Account, folder: Path) -> None:
        """account: on daint. folder: of the person."""
        self.account = account
        self._authority, self.key = new_key(folder / "authority"), new_key(folder / "cscs-key")
        public = self._authority.with_suffix(".pub").read_bytes()
        trusts = {"TrustedUserCAKeys": "/etc/ssh/authority.pub", "AuthorizedKeysFile": "none"}
        self.doors = []
        for name in ("ela", "daint"):
            (bed.cluster(name).world.root / "etc/ssh/authority.pub").write_bytes(public)
            self.doors.append(FurtherSshd(bed.cluster(name), "signed", PORT, trusts))
        self.config = folder / "ssh_config"
        usual = Path(bed.ssh_config).read_text(encoding="ascii").replace(str(bed.key), str(self.key))
        self.config.write_text(f"Host ela\n    Port {PORT}\n{usual}", encoding="ascii")
        self.programs = folder / "programs"
        self.programs.mkdir()
        words = {"CODE": CODE, "AUTHORITY": shlex.quote(str(self._authority)), "PRINCIPAL": account.user}
        text = RENEWER
        for word, value in words.items():
            text = text.replace(f"@{word}@", value)
        (self.programs / "cscs-key").write_text(text, encoding="ascii")
        (self.programs / "cscs-key").chmod(0o755)

    @property
    def settings(self) -> dict[str, object]:
        """What the accounts file says of the account."""
        own = {"ansible_port": PORT, "ansible_ssh_private_key_file": str(self.key)}
        return {"auth": None, "vars": {**own, "ansible_ssh_common_args": f"-F {self.config}"}}

    @property
    def connections(self) -> int:
        """How many came to either door."""
        return sum(door.connections for door in self.doors)

    def sign(self, validity: str, principal: str = "") -> None:
        """Sign the key; validity: as ssh-keygen -V takes it. principal: whom for; the account's user if not given."""
        name = principal or self.account.user
        order = ["ssh-keygen", "-q", "-s", str(self._authority), "-I", "day", "-n", name, "-V", validity]
        subprocess.run([*order, f"{self.key}.pub"], check=True, stdin=subprocess.DEVNULL)
