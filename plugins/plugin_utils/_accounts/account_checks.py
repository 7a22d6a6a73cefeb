# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check what the schema of the accounts file cannot: names that must exist in a profile, in Ansible or among the roles.

accounts_file.py calls the checks, which add all mistakes to one list. An entry is the settings of one account, or the
defaults of all accounts. A place is the path of a value in the file, a tuple of keys and indexes; with at_key, the
mistake is at the key, not at its value. An area is a storage area of a cluster. A step is something to do by hand.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._input.diagnostics import MistakeList, Place, describe_impossible_day, is_day, nearest
from .._input.json_schema import as_mapping, is_template
from .._input.role_specs import role_names
from .defaults import Entry
from .profiles import Catalogue, Profile

# Settings that defaults cannot contain, each with the reason for its message.
SETTINGS_OF_ONE_ACCOUNT = {
    "ssh": "connects to one account",
    "keep": "names resources of one account",
    "replace": "names resources of one account",
}
USER_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
PREFIX = "ansible_"
# The variables of ansible-core for connections by ssh and to this machine, without their prefix. A test compares them
# with the documentation of ansible-core's plugins.
NAMES_WITHOUT_PREFIX = """
admin_users async_dir become become_exe become_flags become_method become_pass become_password become_user
common_remote_group connection connection_user control_path control_path_dir deprecation_warnings facts_modules host
host_key_checking inject_invocation interpreter_python_fallback local_become_strip_preamble
local_become_success_timeout module_compression network_os no_target_syslog paramiko_host paramiko_host_key_checking
paramiko_pass paramiko_password paramiko_port paramiko_private_key_file paramiko_proxy_command paramiko_timeout
paramiko_use_rsa_sha2_algorithms paramiko_user password pipelining port private_key private_key_file
private_key_passphrase python_interpreter python_module_rlimit_nofile remote_tmp runas_flags runas_pass runas_user
scp_executable scp_extra_args sftp_batch_mode sftp_executable sftp_extra_args shell_allow_world_readable_temp
shell_executable shell_type ssh_args ssh_common_args ssh_executable ssh_extra_args ssh_host ssh_host_key_checking
ssh_pass ssh_password ssh_password_mechanism ssh_pipelining ssh_pkcs11_provider ssh_port ssh_private_key
ssh_private_key_file ssh_private_key_passphrase ssh_retries ssh_timeout ssh_transfer_method ssh_use_tty ssh_user
ssh_verbosity sshpass_prompt su_exe su_flags su_pass su_prompt_l10n su_user sudo_chdir sudo_exe sudo_flags sudo_pass
sudo_user system_tmpdirs target_log_info timeout user worker_session_isolation
"""
ANSIBLE_VARIABLES = {f"{PREFIX}{word}" for word in NAMES_WITHOUT_PREFIX.split()}
SSH_OPTIONS = {"ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args"}
INTERPRETER = re.compile(rf"{PREFIX}\w+_interpreter")  # of modules in any language: ansible_perl_interpreter
DAY = re.compile(r"\d{4}-\d\d-\d\d")  # the schema reports values of any other form
# The connection and become plugins of ansible-core, which read no other variables.
CONNECTIONS = {"ssh", "smart", "local", "paramiko", "paramiko_ssh"}
BECOME = {"sudo", "su", "runas"}
COMMON_VARIABLES = ("ansible_connection", "ansible_host", "ansible_port", "ansible_python_interpreter", "ansible_user")


def find_profile(mistakes: MistakeList, account_name: str, catalogue: Catalogue) -> Profile | None:
    """Return the profile of an account's cluster. For an invalid name, cluster or profile, add a mistake, return None.

    catalogue: the profiles of all clusters.
    """
    user, _at, cluster = account_name.rpartition("@")
    if not USER_NAME.fullmatch(user):
        if is_template(account_name):
            text = f'"{account_name}" is a template; write the account name itself, as USER@CLUSTER.'
        elif "@" in account_name:
            text = (
                f'"{account_name}" is not a valid account name; write USER@CLUSTER, with a single @. USER may contain '
                "only letters, digits, dots, hyphens and underscores."
            )
        else:
            example = f"{account_name}@{min(catalogue.ids(), default='cluster')}"
            text = f'"{account_name}" is not a valid account name; write USER@CLUSTER, such as {example}.'
        mistakes.add(("accounts", account_name), text, at_key=True)
        return None
    profile = None
    with mistakes.collecting():  # adds the mistakes in the profile, too
        profile = catalogue.profile(cluster)
        if profile is None:
            text = (
                f'unknown cluster "{cluster}"; {nearest(cluster, catalogue.ids())}'
                f' To define your own cluster, put a file {cluster}.yml in a folder that "profiles:" lists.'
            )
            mistakes.add(("accounts", account_name), text, at_key=True)
    return profile


def check_entry(mistakes: MistakeList, place: Place, entry: Entry) -> None:
    """Add the mistakes in an entry that do not depend on the cluster. place: of the entry in the file.

    entry: the settings of an account, or the defaults.
    """
    excluded = entry.get("without")
    for index, role in enumerate(excluded if isinstance(excluded, list) else ()):
        if isinstance(role, str) and role not in role_names():
            text = f'unknown role "{role}" in "without"; {nearest(role, role_names())}'
            mistakes.add((*place, "without", index), text)
    for key, reason in SETTINGS_OF_ONE_ACCOUNT.items():
        if place == ("defaults",) and entry.get(key):
            text = f'"{key}" {reason}, so it cannot be a default; move it to the entry of that account.'
            mistakes.add((*place, key), text, at_key=True)
    variables = as_mapping(entry.get("vars"))
    for name, text in unknown_variables(variables).items():
        mistakes.add((*place, "vars", name), text, at_key=True)
    for name in SSH_OPTIONS & variables.keys():
        try:
            shlex.split("" if is_template(variables[name]) else str(variables[name]))
        except ValueError:
            text = f'"{name}" has an unclosed quote, or ends with a backslash. Correct the options of ssh.'
            mistakes.add((*place, "vars", name), text)


def check_for_cluster(mistakes: MistakeList, place: Place, entry: Entry, profile: Profile) -> None:
    """Add a mistake for each setting in an account's entry that does not fit the profile of its cluster.

    place: of the entry in the file.
    """
    if "jump_user" in entry and (entry.get("ssh") or "jump" not in profile["login"]):
        reason = '"ssh" selects the jump host' if entry.get("ssh") else f"{profile['id']} has no jump host"
        text = f'"jump_user" has no effect, because {reason}. Remove "jump_user".'
        mistakes.add((*place, "jump_user"), text, at_key=True)
    areas = {area["name"] for area in profile["storage"]}
    for name, text in misspelt_areas(as_mapping(entry.get("storage")), areas).items():
        mistakes.add((*place, "storage", name), text, at_key=True)
    _check_steps(mistakes, place, entry, [profile])


def check_defaults(mistakes: MistakeList, entry: Entry, clusters: Sequence[Profile]) -> None:
    """Add a mistake for each setting of the defaults that applies to none of the clusters.

    entry: the defaults. clusters: the profiles of the clusters of all accounts.
    """
    if "jump_user" in entry and not any("jump" in profile["login"] for profile in clusters):
        text = '"jump_user" has no effect, because no cluster of these accounts has a jump host. Remove "jump_user".'
        mistakes.add(("defaults", "jump_user"), text, at_key=True)
    areas = {area["name"] for profile in clusters for area in profile["storage"]}
    for name in as_mapping(entry.get("storage")).keys() - areas:
        advice = nearest(str(name), areas)
        text = (
            f'no cluster of these accounts has a storage area "{name}"; {advice} To link to another folder, use '
            f'"links".'
        )
        mistakes.add(("defaults", "storage", name), text, at_key=True)
    _check_steps(mistakes, ("defaults",), entry, clusters)


def _check_steps(mistakes: MistakeList, place: Place, entry: Entry, clusters: Sequence[Profile]) -> None:
    """Add the mistakes in the setting "steps", which changes manual steps of the clusters or adds the user's own.

    place: of the entry in the file. entry: an account's settings, or the defaults. clusters: profiles of its clusters.
    """
    site_steps = {step["id"]: step for profile in clusters for step in profile.get("human_steps", ())}
    for name, step in as_mapping(entry.get("steps")).items():
        text = ""
        due = str(as_mapping(step).get("due"))
        if "done" in site_steps.get(name, {}):  # the field that makes hpc-onboard check the step
            text = (
                f'hpc-onboard checks step "{name}" automatically, so the step cannot be changed here. '
                "To add your own step, use a different name."
            )
        elif name not in site_steps and "text" not in as_mapping(step):
            text = (
                f'unknown step "{name}"; {nearest(name, site_steps)} To add your own step, give it "text: WHAT TO DO".'
            )
        elif DAY.fullmatch(due) and not is_day(due):
            text = describe_impossible_day(due)
        if text:
            mistakes.add((*place, "steps", name), text, at_key=True)


def unknown_variables(variables: Mapping[str, Any]) -> dict[str, str]:
    """Return variable -> message for each variable that starts with ansible_ but is unknown to Ansible.

    Connection and become plugins of other collections read variables of their own. If variables selects such a plugin,
    return {}.
    """
    selections = (("ansible_connection", "ssh", CONNECTIONS), ("ansible_become_method", "sudo", BECOME))
    for selecting_variable, default, known_plugins in selections:
        plugin = str(variables.get(selecting_variable, default)).removeprefix("ansible.builtin.")
        if plugin not in known_plugins:
            return {}
    unknown = [name for name in map(str, variables) if name.startswith(PREFIX) and name not in ANSIBLE_VARIABLES]
    return {
        name: f'unknown Ansible variable "{name}"; '
        + nearest(name, ANSIBLE_VARIABLES, listed=COMMON_VARIABLES, prefix=PREFIX)
        for name in unknown
        if not INTERPRETER.fullmatch(name)
    }


def misspelt_areas(names: Iterable[str], profile_areas: Iterable[str]) -> dict[str, str]:
    """Return area -> message for each name that is one typo away from an area of the profile.

    names: the areas that the account sets. A name is not a typo of an area that the account also sets. Any other
    name defines a new area of the account.
    """
    set_names, areas = set(names), set(profile_areas)
    messages = {}
    for name in sorted(set_names - areas):
        similar = next((area for area in sorted(areas - set_names) if is_typo(name, area)), None)
        if similar:
            messages[name] = (
                f'unknown area "{name}"; did you mean "{similar}"? If not, give your area a less similar name.'
            )
    return messages


def is_typo(word: str, other: str) -> bool:
    """Return True if the words differ by one added, missing or different letter, or by two swapped letters.

    Words that differ in a digit are different names: work1 is not a typo of work2.
    """
    start = 0  # of the difference
    while start < min(len(word), len(other)) and word[start] == other[start]:
        start += 1
    left, right = word[start:], other[start:]
    if word == other or left[:1].isdigit() or right[:1].isdigit():
        return False
    is_added_or_missing = left[1:] == right or left == right[1:]
    is_different = left[1:] == right[1:] and len(word) > 3  # in a shorter word, a different letter makes another word
    is_swapped = left[1::-1] == right[:2] and left[2:] == right[2:]  # left[1::-1]: its first two letters, reversed
    return is_added_or_missing or is_different or is_swapped
