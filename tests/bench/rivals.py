# SPDX-License-Identifier: GPL-3.0-or-later
"""The same end state by other means: plain builtin tasks, and pyinfra. Written as their users would write it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

KEY = "nvapi-" + "k" * 64
MACHINES = ("nvcr.io", "authn.nvidia.com")
ENTRY = "machine {machine} login $oauthtoken password {key}"
LINE = 'if [ -r "$HOME/.config/plain/env.sh" ]; then . "$HOME/.config/plain/env.sh"; fi'
SCRIPT = '#!/bin/sh\nexec srun "$@"\n'


def _folders(account: Any) -> list[str]:
    data = f"/data/{account.user}"
    return [data, f"{data}/plain/cache", f"{data}/plain/data", f"{data}/plain/tmp"]


def builtin_tasks(account: Any) -> list[dict[str, Any]]:
    """Folders, a link, two lines of credentials, an environment file per dialect, a start-up line, a script."""
    home = account.home
    made = [f"{home}/plain", f"{home}/plain/bin", f"{home}/.config/plain"]
    tasks: list[dict[str, Any]] = [
        {"ansible.builtin.file": {"path": path, "state": "directory"}} for path in [*_folders(account), *made]
    ]
    tasks.append({"ansible.builtin.file": {"src": _folders(account)[0], "dest": f"{home}/plain/data", "state": "link"}})
    tasks += [
        {
            "no_log": True,
            "ansible.builtin.lineinfile": {
                "path": f"{home}/plain/.credentials",
                "regexp": f"^machine {machine} ",
                "line": ENTRY.format(machine=machine, key=KEY),
                "create": True,
                "mode": "0600",
            },
        }
        for machine in MACHINES
    ]
    tasks += [
        {"ansible.builtin.copy": {"dest": f"{home}/.config/plain/env.{dialect}", "content": "# settings\n"}}
        for dialect in ("sh", "csh", "fish")
    ]
    tasks.append({"ansible.builtin.lineinfile": {"path": f"{home}/.bashrc", "line": LINE, "create": True}})
    tasks.append({"ansible.builtin.copy": {"dest": f"{home}/plain/bin/usrun.sh", "content": SCRIPT, "mode": "0755"}})
    return tasks


def builtin_playbook(folder: Path, account: Any) -> Path:
    """A playbook of builtin tasks for one account."""
    file = folder / "builtin.yml"
    file.write_text(json.dumps([{"hosts": "accounts", "gather_facts": False, "tasks": builtin_tasks(account)}]))
    return file


PYINFRA = """
from io import StringIO
from pyinfra.operations import files

for path in {folders!r}:
    files.directory(path=path)
files.link(path={link!r}, target={target!r})
for line in {entries!r}:
    files.line(path={credentials!r}, line=line)
for path in {texts!r}:
    files.put(src=StringIO("# settings\\n"), dest=path)
files.line(path={bashrc!r}, line={line!r})
files.put(src=StringIO({script!r}), dest={usrun!r}, mode="755")
"""


def pyinfra_files(folder: Path, account: Any, key: Path, known_hosts: Path) -> list[str]:
    """An inventory and a deploy for one account; returns pyinfra's arguments."""
    home = account.home + "/pyinfra"
    deploy = folder / "deploy.py"
    deploy.write_text(
        PYINFRA.format(
            folders=[*_folders(account), home, f"{home}/bin", f"{home}/env"],
            link=f"{home}/data",
            target=_folders(account)[0],
            entries=[ENTRY.format(machine=machine, key=KEY) for machine in MACHINES],
            credentials=f"{home}/.credentials",
            texts=[f"{home}/env/env.{dialect}" for dialect in ("sh", "csh", "fish")],
            bashrc=f"{account.home}/.bashrc",
            line=LINE,
            script=SCRIPT,
            usrun=f"{home}/bin/usrun.sh",
        )
    )
    inventory = folder / "hosts.py"
    data = {
        "ssh_hostname": account.host,
        "ssh_port": account.port,
        "ssh_user": account.user,
        "ssh_key": str(key),
        "ssh_known_hosts_file": str(known_hosts),
        "ssh_strict_host_key_checking": "accept-new",
    }
    inventory.write_text(f"hosts = [('account', {data!r})]\n")
    return [str(inventory), str(deploy), "-y"]
