# Copyright (c) 2026 The hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory plugin hpc.onboard.accounts, which reads the accounts file."""

from __future__ import annotations

DOCUMENTATION = r"""
name: accounts
short_description: Your accounts on HPC clusters, one host each
version_added: 0.1.0
author:
  - The hpc.onboard authors (@hpc-onboard)
description:
  - Creates one host, named C(user@cluster), for each account in a YAML file.
  - Adds the host to the group C(accounts), and to groups named after the cluster, the family of sites such as C(cscs)
    or C(alliance), and the container runtime, C(enroot) or C(apptainer). Hosts in the group C(needs_person) need an
    interactive login, or the renewal of an expired certificate or ticket.
  - Sets the variables C(cluster) (the cluster's profile, with the account's names filled in) and C(account), and the
    variables with which Ansible connects.
  - A mistake in the file, or a C(--limit) that matches nothing, ends the run with one error. The error names the file,
    the line and the nearest known word.
  - If C(accounts.yml) does not exist, C(practice.yml) in the same folder is read instead. Every checkout has this file.
options:
  plugin:
    description: Selects this plugin for the file.
    type: str
    required: true
    choices: [hpc.onboard.accounts]
  sandbox:
    description:
      - If true, the accounts are directories on this machine instead of accounts on clusters.
      - The directories are in C(.sandbox) next to the file. A single account can have this option, too.
    type: bool
    default: false
  profiles:
    description:
      - Folders with your own cluster profiles, relative to the file.
      - A profile in such a folder overrides the collection's profile of the same name.
    type: list
    elements: path
    default: []
  defaults:
    description:
      - Settings for all accounts, in the form of an account's entry.
      - An account's own setting takes precedence. If both are mappings, such as the settings of a role, their keys are
        merged, one level deep. Lists and other values replace the default.
      - A default applies only to clusters that can use it. A path in C(storage) applies to clusters with a storage area
        of that name, and C(jump_user) to clusters with a jump host. C(ssh) is an error in C(defaults), because it is
        for one account.
    type: dict
    default: {}
  accounts:
    description:
      - One entry for each account, named C(user@cluster). An entry may be empty.
      - C(project) is the project, group or Slurm account whose folders the account uses.
      - C(scheduler) has the key C(account), which selects the Slurm account for your jobs if you have several.
      - C(storage) sets paths of storage areas, by name.
      - C(links) creates your own links in the home directory, such as from C(~/data) to C($SCRATCH/data).
      - C(steps) sets dates (C(due)) for manual steps at the site, and adds your own steps (C(text)). C(hpc-onboard
        status) and the audit report a step from 30 days before its date until C(hpc-onboard done) marks it as done.
      - C(without) lists roles to skip.
      - C(sandbox) makes this account a directory on this machine.
      - C(jump_user) is the user name on the jump host, if this name is different.
      - C(ssh) is a host name in your own ssh_config that connects to the account, with the host, port and jump host of
        that entry.
      - If you have opened a session yourself (C(ssh -MNf narval), with a ControlPath in your ssh_config), hpc-onboard
        uses that session. The session may be to the login host, or to a host in your ssh_config that has the name of
        the cluster.
      - C(auth) is C(key) if your key is sufficient to log in, although the cluster's profile requires a code. It is
        C(ask) if ssh prompts you at every connection, such as for the passphrase of a key. ssh then prompts at the
        terminal before the work begins, and the session stays open for later runs. C(none) means that programs may not
        log in; C(hpc-onboard export-script) writes a script that you run on the account yourself.
      - C(forward_agent), if true, lets programs on the login node use your ssh agent. Otherwise, no agent, display or
        port is forwarded, regardless of your ssh_config.
      - C(vars) sets Ansible variables, which override everything else.
      - The name of a role, as a key, sets the options of that role. Their names are without the role's prefix.
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

# Try everything in a directory on this machine, without a cluster
# plugin: hpc.onboard.accounts
# sandbox: true
# accounts:
#   simone@wilson:
#     project: deep_lgt

# The file of a group, with its own cluster (our-clusters/attic.yml), defaults for all accounts, and a test server
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
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.role_specs import role_names

OWN_PLUGIN = re.compile(r"^plugin:\s*[\"']?hpc\.onboard\.", re.MULTILINE)
DOCTOR = re.compile(r"(^|[/.])doctor(\.ya?ml)?$")
REMOVED_ENTRY = "this machine has set up this account; to use or offboard it, add its entry to the file again"
USAGE_ERROR = 2  # exit code
NEEDS_PERSON = "needs_person"  # group of accounts whose session, certificate or ticket only the user can renew
ANY_PLUGIN = re.compile(r"^plugin:", re.MULTILINE)


class InventoryModule(BaseInventoryPlugin):  # type: ignore[misc]  # Ansible is untyped
    """Creates one host for each account of a file."""

    NAME = "hpc.onboard.accounts"

    def verify_file(self, path: str) -> bool:
        """Return True for a file that names this plugin, and for accounts.yml if it names no plugin.

        path: a source of the inventory. If it is missing, practice.yml in the same folder can replace accounts.yml.
        """
        path = str(find_accounts_file(Path(path)))
        if not super().verify_file(path):  # not a readable file
            self._check_readable(path)  # ends the run if the file is for a playbook of hpc-onboard
            return False
        if not path.endswith((".yml", ".yaml")):
            return False
        text = Path(path).read_text(encoding="utf-8-sig", errors="replace")  # a byte order mark may come first
        is_default = Path(path).stem == "accounts" and not ANY_PLUGIN.search(text)
        return is_default or bool(OWN_PLUGIN.search(text))

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        """Add the accounts to the inventory, or end the run with the mistakes in the file.

        path: of the file. The other parameters are Ansible's; loader reads files.
        """
        path = str(find_accounts_file(Path(path)))
        super().parse(inventory, loader, path, cache)
        self._check_tags()  # before the file is read: wrong tags end the run, too
        try:
            hosts = build_hosts(self._read(path))
        except Mistakes as mistakes:
            if only_doctor(context.CLIARGS.get("args") or ()):
                return  # doctor reports the mistakes itself
            refuse(self.display, str(mistakes))
        self.inventory.add_group(NEEDS_PERSON)  # without the group, Ansible would warn about plays for it
        for host in hosts:
            self._add_host(host)
            self.inventory.set_variable(host.name, "inventory_file", path)
        self._check_limit(path, hosts)

    def _read(self, path: str) -> AccountsFile:
        """Return the accounts file at the path, with Ansible's tags on its values, so that templates work.

        Raise Mistakes, or AnsibleParserError for an invalid value of another kind.
        """
        read_text(Path(path))  # reports text that is not UTF-8, which Ansible would read differently
        yaml_text = YamlText(Path(path), str(self.loader.get_text_file_contents(path)))
        repeated_keys = yaml_text.duplicates()
        if repeated_keys:  # before Ansible, which only warns
            raise Mistakes(repeated_keys)
        try:
            document = self.loader.load_from_file(path, cache="none", trusted_as_template=True)
        except AnsibleParserError:  # the text is valid YAML, so a value is invalid, such as a date
            if impossible_days := yaml_text.impossible_days():
                raise Mistakes(impossible_days) from None
            raise
        return AccountsFile(yaml_text, document)

    def _add_host(self, host: InventoryHost) -> None:
        """Add an account with its groups and variables, including those about its open or missing session."""
        self.inventory.add_host(host.name)
        session_variables = self._read_session_variables(host)
        # "session": the login needs an open session; "lapses": a certificate or ticket has expired, or expires soon
        needs_person = not {"session", "lapses"}.isdisjoint(session_variables.get("account", ()))
        for group in [*host.groups, *([NEEDS_PERSON] if needs_person else [])]:
            self.inventory.add_group(group)
            self.inventory.add_child(group, host.name)
        # Ansible tags every value with its origin. A profile needs no tags, and its values from the accounts file
        # have tags already, so the profile is added without tagging: this saves 10 ms for 20 accounts.
        untagged: Any = getattr(self.inventory, "__wrapped__", self.inventory)
        for name, value in {**host.variables, **session_variables}.items():
            (untagged if name == "cluster" else self.inventory).set_variable(host.name, name, value)

    def _read_session_variables(self, host: InventoryHost) -> dict[str, Any]:
        """Return the variables that describe an account's open or missing session; {} if the login needs no session."""
        if host.variables.get("ansible_connection", "ssh") != "ssh":  # a sandbox on this machine
            return {}
        # imported late: sandboxes need no session
        from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts import open_sessions

        return open_sessions.session_variables(host.variables)

    def _check_readable(self, path: str) -> None:
        """End the run if an inventory file for a playbook of hpc-onboard is missing or cannot be read.

        path: a source of the inventory, which Ansible cannot use as a file.
        """
        playbooks = context.CLIARGS.get("args") or ()
        is_list_of_hosts = "," in path  # such as -i host1,host2, which is no file
        may_be_unreadable = only_doctor(playbooks) and not constants.INVENTORY_UNPARSED_IS_FAILED  # doctor reports this
        if is_list_of_hosts or may_be_unreadable:
            return
        from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.selection import shipped_playbook

        if any(map(shipped_playbook, playbooks)):
            try:
                read_text(Path(path))
            except Mistakes as mistakes:
                refuse(self.display, str(mistakes))

    def _check_tags(self) -> None:
        """End the run if --tags or --skip-tags leave a playbook of hpc-onboard without any task."""
        run_tags, skip_tags = context.CLIARGS.get("tags") or ["all"], context.CLIARGS.get("skip_tags") or []
        if list(run_tags) == ["all"] and not skip_tags:  # neither option is set
            return
        from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.selection import (
            describe_wrong_tags,
            shipped_playbook,
        )

        for playbook in filter(None, map(shipped_playbook, context.CLIARGS.get("args") or ())):
            error = describe_wrong_tags(playbook, list(run_tags), list(skip_tags), role_names())
            if error:
                refuse(self.display, error)

    def _check_limit(self, path: str, hosts: list[InventoryHost]) -> None:
        """End the run if -l matches nothing in this file, and the file is the only source of the inventory.

        path: of the file. hosts: the accounts in the file.
        """
        limit: str | None = context.CLIARGS.get("subset")
        sources: list[str] = list(context.CLIARGS.get("inventory") or ())
        if not limit or len(sources) != 1 or not find_accounts_file(Path(sources[0])).is_file():
            return  # other sources, or other files of a folder, may have the host
        from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.selection import find_unknown_host
        from ansible_collections.hpc.onboard.plugins.plugin_utils._state.receipts import has_resources

        groups = {group for host in hosts for group in host.groups}
        known = groups | {host.name for host in hosts} | {NEEDS_PERSON}
        term = find_unknown_host(limit, known)  # the first name in -l that matches nothing, or None
        if term:
            advice = REMOVED_ENTRY if has_resources(term, is_sandbox=False) else nearest(term, known, groups)
            problem = f'no account or group "{term}"; {advice}'
            refuse(self.display, f"-l {limit}: {display_path(Path(path))} has {problem}")


def only_doctor(playbooks: Iterable[str]) -> bool:
    """Return True if only doctor.yml is run, which also accepts a file with mistakes. playbooks: paths or names.

    Without playbooks, Ansible's other programs use the inventory.
    """
    names = list(playbooks)
    return bool(names) and all(DOCTOR.search(str(name)) for name in names)


def refuse(display: Any, text: str) -> NoReturn:
    """End the run with this text as its only error. display: Ansible's, which prints the error.

    Ansible would turn an exception into several warnings, and would end with code 4, as for an unreachable account.
    """
    if not context.CLIARGS:  # not run by a program of Ansible, but as a library
        raise AnsibleParserError(text)
    display.error(text)
    raise SystemExit(USAGE_ERROR)
