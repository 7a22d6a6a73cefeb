"""The testbed: real OpenSSH servers in namespaces, made for the tests and gone after them.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import atexit
import itertools
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType

from tests.testbed.account import Account
from tests.testbed.client import Client, new_key, write_accounts, write_ssh_config
from tests.testbed.cluster import Cluster
from tests.testbed.furnish import fill_home, furnish_login, furnish_python, furnish_ssh, python_of, site_folders
from tests.testbed.modules import Modules
from tests.testbed.network import Network
from tests.testbed.pythons import Version, python
from tests.testbed.sites import SITES
from tests.testbed.slurm import Slurm
from tests.testbed.users import add_user, make_folder, remove_user
from tests.testbed.world import World

OLD: Version = (3, 6)


class Testbed:
    """All clusters. A context manager; whatever happens, it comes down with this process."""

    __test__ = False

    def __init__(self) -> None:
        """Nothing is made yet."""
        self._worlds: dict[str, World] = {}
        self._clusters: dict[str, Cluster] = {}
        self._slurms: dict[str, Slurm] = {}
        self._modules: dict[str, Modules] = {}
        self._accounts: dict[tuple[str, str], Account] = {}
        self._network = Network()
        self._names = (f"u{number:03d}" for number in itertools.count(1))
        self._files = itertools.count(1)

    def up(self) -> None:
        """Bring it up; on failure nothing is left."""
        self.folder = Path(tempfile.mkdtemp(prefix="hob-", dir="/tmp"))  # short: socket paths end at 104 bytes
        atexit.register(self.down)
        try:
            self._up()
        except BaseException:
            self.down()
            raise

    def down(self) -> None:
        """Take everything away. A second call does nothing."""
        atexit.unregister(self.down)
        if not hasattr(self, "folder") or not self.folder.exists():
            return
        if hasattr(self, "client"):
            self.client.disconnect()
        for world in self._worlds.values():
            world.stop()
        self._network.down()
        self._accounts.clear()
        shutil.rmtree(self.folder)

    def cluster(self, name: str) -> Cluster:
        """Give a cluster, by its profile's name or short; bare is dfki without Python, ela daint's jump host."""
        return self._clusters[name]

    def slurm(self, cluster: str) -> Slurm:
        """Give a cluster's Slurm; it is started by the first who asks, and there until `hide_slurms`."""
        if cluster not in self._slurms:
            self._slurms[cluster] = Slurm(self._clusters[cluster], self.folder)
        self._slurms[cluster].show()
        return self._slurms[cluster]

    def modules(self, cluster: str) -> Modules:
        """Give a cluster's environment modules; they are made for the first who asks."""
        if cluster not in self._modules:
            self._modules[cluster] = Modules(self._clusters[cluster])
        return self._modules[cluster]

    def hide_slurms(self) -> None:
        """Let all clusters look as if there were no Slurm."""
        for slurm in self._slurms.values():
            slurm.hide()

    @property
    def clusters(self) -> list[str]:
        """The names of all clusters."""
        return list(self._clusters)

    def new_account(
        self,
        cluster: str,
        shell: str = "/bin/bash",
        user: str | None = None,
        project: str = "deep_lgt",
        files: Mapping[str, bytes] | None = None,
        skel: bool = False,
    ) -> Account:
        """Make a user with an empty home, with these files (path below the home -> bytes), or with the site's own.

        A name that an earlier account of the testbed had is taken from it, with all its files.
        """
        here = self._clusters[cluster]
        name = user or next(self._names)
        if (cluster, name) in self._accounts:
            self._accounts.pop((cluster, name)).remove()
        words = {"user": name, "initial": name[0], "project": project}
        root = here.world.root
        login = add_user(root, name, project, here.site.home.format_map(words), shell)
        make_folder(root / login.home[1:], login.uid, login.gid, 0o700)
        folders = site_folders(here.site, root, login, words)
        if here.site.behind:
            self._jump_user(here.site.behind, name)
        account = Account(here, login, project, folders, self.ssh_config)
        fill_home(here.world, login, files or {}, skel)
        self._accounts[cluster, name] = account
        return account

    def accounts_file(
        self,
        accounts: Iterable[Account],
        extra: Mapping[str, object] | None = None,
        settings: Mapping[str, Mapping[str, object]] | None = None,
    ) -> Path:
        """Write an accounts.yml for these accounts.

        extra: more keys at its top. settings: by account name, more keys of that account; its `vars` are merged.
        """
        written: dict[str, object] = {}
        for account in accounts:
            more = dict((settings or {}).get(account.name, {}))
            variables = {**self._variables(account), **_mapping(more.pop("vars", {}))}
            storage = {key: path.format(project=account.project) for key, path in account.cluster.site.storage.items()}
            entry: dict[str, object] = {"project": account.project, "auth": "key", "vars": variables}
            whole = {**entry, **({"storage": storage} if storage else {}), **more}
            written[account.name] = {key: value for key, value in whole.items() if value is not None}
        folder = self.folder / f"inventory{next(self._files)}"
        return write_accounts(folder / "accounts.yml", written, extra or {})

    def ansible(
        self,
        *arguments: str,
        program: str = "ansible-playbook",
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        programs: Path | None = None,
        timeout: float = 180,
        keep_connections: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        """Run Ansible in a clean environment of its own; ansible.cfg is that of cwd, or what env names.

        Its ssh connections are closed afterwards, unless told to keep them for the next run.
        """
        done = self.client.run(program, *arguments, cwd=cwd, env=env, programs=programs, timeout=timeout)
        if not keep_connections:
            self.client.disconnect()
        return done

    def __enter__(self) -> "Testbed":
        """Bring it up."""
        self.up()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take it down."""
        self.down()

    def _up(self) -> None:
        old = python(*OLD)
        for site in SITES:
            bound = old.parent.parent if old and site.python == "old" else None
            self._worlds[site.name] = World(self.folder / site.name, site.mounts, bound)
        self.client = Client(self.folder)
        self.key = new_key(self.folder / "id_ed25519")
        for site in SITES:
            world = self._worlds[site.name]
            host_key = new_key(self.folder / f"{site.name}.key")
            world.wait_ready()
            furnish_ssh(world.root, site, host_key, self.key)
            furnish_python(world.root, site, old)
            furnish_login(world.root, site)
            world.serve()
        self._network.up(self._worlds)
        for site in SITES:
            world, host = self._worlds[site.name], self._network.host(site.name)
            self._clusters[site.name] = Cluster(site, world, host, python_of(site, world))
        hosts = {name: (here.host, here.site.behind) for name, here in self._clusters.items()}
        self.ssh_config = write_ssh_config(self.folder, self.key, hosts)

    def _jump_user(self, jump: str, name: str) -> None:
        """The jump host knows every user of what lies behind it."""
        root = self._clusters[jump].world.root
        remove_user(root, name)
        login = add_user(root, name, "users", f"/home/{name}", "/bin/bash")
        make_folder(root / login.home[1:], login.uid, login.gid, 0o700)

    def _variables(self, account: Account) -> dict[str, object]:
        return {
            "ansible_host": account.host,
            "ansible_port": account.port,
            "ansible_ssh_private_key_file": str(self.key),
            "ansible_ssh_common_args": f"-F {self.ssh_config}",
        }


def _mapping(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise TypeError("vars: a mapping is wanted")
    return value
