# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Words of an account that may be anybody's, and that are taken for misspelt: Ansible's variables, and storage areas.

Read by the few accounts that say more than the usual words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .._input.diagnostics import is_day, nearest, no_day

PREFIX = "ansible_"
# What Ansible itself reads for an account that is reached by ssh, or is a folder of this machine. Tests compare it with
# the documentation of ansible-core's own plugins.
WORDS = """
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
ANSIBLES = {f"{PREFIX}{word}" for word in WORDS.split()}
INTERPRETER = re.compile(rf"{PREFIX}\w+_interpreter")
DAY = re.compile(r"\d{4}-\d\d-\d\d")  # in its form; of another one the schema speaks
CONNECTIONS = {"ssh", "smart", "local", "paramiko", "paramiko_ssh"}
BECOME = {"sudo", "su", "runas"}
USUAL = ("ansible_connection", "ansible_host", "ansible_port", "ansible_python_interpreter", "ansible_user")


def unknown_variables(given: Mapping[str, Any]) -> dict[str, str]:
    """What to say of each variable among an account's own that is named like one of Ansible's and is none.

    Where another plugin connects, or becomes another user, there may be any.
    """
    ways = (("ansible_connection", "ssh", CONNECTIONS), ("ansible_become_method", "sudo", BECOME))
    if any(str(given.get(name, usual)).removeprefix("ansible.builtin.") not in known for name, usual, known in ways):
        return {}
    unknown = [name for name in map(str, given) if name.startswith(PREFIX) and name not in ANSIBLES]
    return {
        name: f'Ansible knows no "{name}"; {nearest(name, ANSIBLES, USUAL, PREFIX)}'
        for name in unknown
        if not INTERPRETER.fullmatch(name)
    }


def misspelt_areas(given: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """What to say of each storage area that a cluster's profile does not know and nearly does.

    Another name makes an area of the account's own, so this tells a slip of a finger from a name that was meant: work2
    is another one than work, and where both are given, both were meant.
    """
    names, areas = set(given), set(known)
    found = {}
    for name in sorted(names - areas):
        near = next((area for area in sorted(areas - names) if is_slip(name, area)), None)
        if near:
            found[name] = f'unknown area "{name}"; did you mean "{near}"? One of your own needs a name less like it.'
    return found


def wrong_steps(given: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """What to say of each step of an account that cannot be. known: the site's, by their names."""
    found = {}
    for name, step in given.items():
        if "done" in known.get(name, {}):
            found[name] = f'"{name}" is seen done by itself and takes no words of yours. Give your step another name.'
        elif name not in known and "text" not in step:
            found[name] = f'unknown step "{name}"; {nearest(name, known)} One of your own needs "text: WHAT TO DO".'
        elif DAY.fullmatch(str(step.get("due"))) and not is_day(str(step["due"])):
            found[name] = no_day(str(step["due"]))
    return found


def is_slip(word: str, other: str) -> bool:
    """Whether one letter too many, too few, another or two changed places make one word of the other; digits count."""
    at = next(
        (at for at, pair in enumerate(zip(word, other, strict=False)) if pair[0] != pair[1]), min(len(word), len(other))
    )
    mine, theirs = word[at:], other[at:]
    if any(letter.isdigit() for letter in (mine[:1], theirs[:1])):
        return False
    return bool(mine or theirs) and (
        mine[1:] == theirs
        or mine == theirs[1:]
        or (mine[1:] == theirs[1:] and len(word) > 3)
        or (mine[1::-1] == theirs[:2] and mine[2:] == theirs[2:])
    )
