# Copyright (c) 2026 The hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory plugin hpc.onboard.accounts: it reads the accounts file for Ansible."""

from __future__ import annotations

DOCUMENTATION = r"""
name: accounts
short_description: Your accounts on HPC clusters, one host each
version_added: 0.1.0
author:
  - The hpc.onboard authors (@hpc-onboard)
description:
  - Creates one host, named C(user@cluster), for each account in a YAML file.
  - Adds it to the groups C(accounts), the cluster's name, the family of sites if there is one, such as C(cscs) or
    C(alliance), the container runtime, C(enroot) or C(apptainer), and C(needs_person) if only an interactive login
    works, or the expired certificate or ticket must be renewed.
  - Sets the variables C(cluster), which is the cluster's profile with the account's names filled in, and C(account),
    and those that Ansible needs to connect.
  - A mistake in the file, or a C(--limit) that names nothing in it, is one error with file, line and the nearest known
    word, and ends the run.
  - If C(accounts.yml) does not exist and C(practice.yml) is next to it, as in a checkout, that file is read.
options:
  plugin:
    description: Tells Ansible that this file is for this plugin.
    type: str
    required: true
    choices: [hpc.onboard.accounts]
  sandbox:
    description:
      - The accounts are directories on this machine instead of accounts on clusters.
      - The directories are in C(.sandbox) next to the file. A single account can set it, too.
    type: bool
    default: false
  profiles:
    description:
      - Folders with cluster profiles of your own, relative to the file.
      - A profile there overrides the collection's profile of the same name.
    type: list
    elements: path
    default: []
  defaults:
    description:
      - Settings that all accounts share, in the form of an account's entry.
      - An account's own setting wins. If both are mappings, such as the settings of a role, the keys are merged, one
        level deep, and the account's keys win. Lists and other values replace the default.
      - A default applies only to clusters that can use it - a path under C(storage) if the cluster has an area of that
        name, C(jump_user) if it has a jump host. C(ssh) belongs to one account and is an error here.
    type: dict
    default: {}
  accounts:
    description:
      - One entry for each account, named C(user@cluster). An entry may be empty.
      - C(project) is the project, group or Slurm account whose folders it uses.
      - C(scheduler) selects the Slurm account of your jobs, C(account), if you have several.
      - C(storage) sets paths of storage areas, by name.
      - C(links) creates your own links in the home, such as from C(~/data) to C($SCRATCH/data).
      - C(steps) sets days (C(due)) of manual steps at the site, and adds your own steps (C(text)). C(hpc-onboard
        status) and the audit report a step from 30 days before its day, until C(hpc-onboard done) marks it as done.
      - C(without) lists roles to skip.
      - C(sandbox) is as above, for this account.
      - C(jump_user) is the user name on the jump host, if it differs.
      - C(ssh) is a name in your own ssh settings that connects to the account; host, port and jump host come from
        there.
      - A session that you have opened yourself (C(ssh -MNf narval), with a ControlPath in your settings) is used, for
        the login host and for your own name of that host if it is the cluster's name.
      - C(auth) is C(key) if your key is enough to log in although the cluster's profile says that a code is needed, and
        C(ask) if ssh asks you for something at every connection, such as the passphrase of a key. ssh then asks at the
        terminal before the work begins, and the session stays open for later runs. C(none) means that programs may not
        log in; C(hpc-onboard export-script) writes a file that you run there yourself.
      - C(forward_agent), when true, lets programs on that login node use your ssh agent. Agent, display and ports are
        not forwarded otherwise, whatever your own ssh settings say.
      - C(vars) has variables of Ansible; they override everything else.
      - The name of a role has that role's settings, without the role's prefix.
    type: dict
    required: true
seealso:
  - name: Schema of the accounts file
    description: For editors that check YAML files.
    link: https://github.com/hpc-onboard/hpc.onboard/blob/main/docs/schemas/accounts.schema.json
"""

EXAMPLES = r"""
# accounts.yml
plugin: hpc.onboard.accounts
accounts:
  simone@wilson:
    project: deep_lgt
  go42tum@lrz:
    project: pr12ab
    storage:
      dss: /dss/dssfs04/lwp-dss-0002/pr12ab/pr12ab-dss-0000

# Try everything in a directory of this machine, without a cluster
# plugin: hpc.onboard.accounts
# sandbox: true
# accounts:
#   simone@wilson:
#     project: deep_lgt

# A group's file, with a cluster of its own (our-clusters/attic.yml), words for everybody, and a test server
# plugin: hpc.onboard.accounts
# profiles: [our-clusters]
# defaults:
#   project: lattice
#   links: {~/data: /work1/lattice/data}
# accounts:
#   ada@attic:
#     without: [container_caches]
#   ada@daint:
#     vars:
#       ansible_host: 127.0.0.1
#       ansible_port: 2222
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from ansible import constants, context
from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.accounts_file import AccountsFile
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.host_variables import InventoryHost, build_hosts
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.collection import find_accounts_file
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import (
    Mistakes,
    YamlText,
    display_path,
    nearest,
    read_text,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.role_specs import RoleSpecs

OURS = re.compile(r"^plugin:\s*[\"']?hpc\.onboard\.", re.MULTILINE)
DOCTOR = re.compile(r"(^|[/.])doctor(\.ya?ml)?$")
WRONG = 2  # exit code
NEEDS_PERSON = "needs_person"  # the group of accounts whose session, certificate or ticket only a person can renew
ANY_PLUGIN = re.compile(r"^plugin:", re.MULTILINE)


class InventoryModule(BaseInventoryPlugin):  # type: ignore[misc]  # Ansible is untyped
    """One host for each account of a file."""

    NAME = "hpc.onboard.accounts"

    def verify_file(self, path: str) -> bool:
        """Files that name this plugin, and those called accounts.yml that name none."""
        path = str(find_accounts_file(Path(path)))
        if not super().verify_file(path):
            self._check_readable(path)
            return False
        if not path.endswith((".yml", ".yaml")):
            return False
        text = Path(path).read_text(encoding="utf-8", errors="replace")
        by_name = Path(path).stem == "accounts" and not ANY_PLUGIN.search(text)
        return by_name or bool(OURS.search(text))

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        """Put the accounts into the inventory, or end the run with what is wrong."""
        path = str(find_accounts_file(Path(path)))
        super().parse(inventory, loader, path, cache)
        self._check_tags()
        try:
            made = build_hosts(self._read(path))
        except Mistakes as mistakes:
            if only_doctor(context.CLIARGS.get("args") or ()):
                return  # it tells them, beside all else that it finds
            refuse(self.display, str(mistakes))
        self.inventory.add_group(NEEDS_PERSON)  # Ansible would warn of a play for a group that is not there
        for host in made:
            self._add(host)
            self.inventory.set_variable(host.name, "inventory_file", path)
        self._check_limit(path, made)

    def _read(self, path: str) -> AccountsFile:
        """The file, with Ansible's tags on its values, so that templates in it work."""
        read_text(Path(path))  # before Ansible reads what is not UTF-8 in its own way
        lines = YamlText(Path(path), str(self.loader.get_text_file_contents(path)))
        repeated = lines.duplicates()
        if repeated:  # told now, before Ansible warns of it in its own words
            raise Mistakes(repeated)
        try:
            document = self.loader.load_from_file(path, cache="none", trusted_as_template=True)
        except AnsibleParserError:  # the text is YAML, so what is left is a value that cannot be
            if impossible := lines.impossible_days():
                raise Mistakes(impossible) from None
            raise
        return AccountsFile(lines, document, RoleSpecs())

    def _add(self, host: InventoryHost) -> None:
        self.inventory.add_host(host.name)
        way = self._way(host)
        asks = not {"session", "lapses"}.isdisjoint(way.get("account", ()))
        for group in [*host.groups, *([NEEDS_PERSON] if asks else [])]:
            self.inventory.add_group(group)
            self.inventory.add_child(group, host.name)
        # Ansible walks through every value to tag it with its origin. A profile is plain data and needs none,
        # and the values in it that come from the accounts file are tagged already: 10 ms for 20 accounts.
        untagged: Any = getattr(self.inventory, "__wrapped__", self.inventory)
        for name, value in {**host.variables, **way}.items():
            (untagged if name == "cluster" else self.inventory).set_variable(host.name, name, value)

    def _way(self, host: InventoryHost) -> dict[str, Any]:
        """The variables of an account that is entered by an open session."""
        if host.variables.get("ansible_connection", "ssh") != "ssh":
            return {}
        from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts import open_sessions  # not for sandboxes

        return open_sessions.session_variables(host.variables)

    def _check_readable(self, path: str) -> None:
        """A file that a playbook of ours is to look at and that is not there, or may not be read."""
        called = context.CLIARGS.get("args") or ()
        if "," in path or (only_doctor(called) and not constants.INVENTORY_UNPARSED_IS_FAILED):
            return
        from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.selection import shipped_playbook

        if any(map(shipped_playbook, called)):
            try:
                read_text(Path(path))
            except Mistakes as mistakes:
                refuse(self.display, str(mistakes))

    def _check_tags(self) -> None:
        """--tags and --skip-tags that leave one of our playbooks nothing to do."""
        run, skip = context.CLIARGS.get("tags") or ["all"], context.CLIARGS.get("skip_tags") or []
        if list(run) == ["all"] and not skip:
            return
        from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.selection import (
            describe_wrong_tags,
            shipped_playbook,
        )

        for playbook in filter(None, map(shipped_playbook, context.CLIARGS.get("args") or ())):
            wrong = describe_wrong_tags(playbook, list(run), list(skip), RoleSpecs().names())
            if wrong:
                refuse(self.display, wrong)

    def _check_limit(self, path: str, made: list[InventoryHost]) -> None:
        """A -l that names nothing of this file, when this file is all there is."""
        limit: str | None = context.CLIARGS.get("subset")
        sources: list[str] = list(context.CLIARGS.get("inventory") or ())
        if not limit or len(sources) != 1 or not find_accounts_file(Path(sources[0])).is_file():
            return
        from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.selection import (
            find_unknown_host,  # -l alone
        )

        groups = {group for host in made for group in host.groups}
        known = groups | {host.name for host in made}
        term = find_unknown_host(limit, known)
        if term:
            advice = f'no account and no group "{term}"; {nearest(term, known, groups)}'
            refuse(self.display, f"-l {limit}: {display_path(Path(path))} has {advice}")


def only_doctor(playbooks: Iterable[str]) -> bool:
    """Return True if nothing but doctor.yml is run, which wants a broken file as well."""
    names = list(playbooks)
    return bool(names) and all(DOCTOR.search(str(name)) for name in names)


def refuse(display: Any, text: str) -> NoReturn:
    """End the run with one error. Raised to Ansible's inventory manager, it would become several warnings.

    Ansible's own number for a file that it cannot read is 4, the same as for an account that was not reached.
    """
    if not context.CLIARGS:
        raise AnsibleParserError(text)
    display.error(text)
    raise SystemExit(WRONG)
