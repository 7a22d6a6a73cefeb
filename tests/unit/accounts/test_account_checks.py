# SPDX-License-Identifier: GPL-3.0-or-later
"""Words of an account that are nearly Ansible's, or nearly the profile's."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import ansible
import pytest
from ansible import constants
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.account_checks import (
    ANSIBLE_VARIABLES,
    misspelt_areas,
    unknown_variables,
)

FILES = (  # of ansible-core: what an account by ssh, or on this machine, is reached with
    *("config/base.yml", "plugins/doc_fragments/connection_pipelining.py", "plugins/doc_fragments/shell_common.py"),
    *("plugins/connection/ssh.py", "plugins/connection/local.py", "plugins/connection/paramiko_ssh.py"),
    *("plugins/become/sudo.py", "plugins/become/su.py", "plugins/become/runas.py", "plugins/shell/sh.py"),
)
OTHERS = ("ansible_win", "ansible_psrp_", "ansible_docker_")  # which connect to other machines than clusters


def test_every_variable_that_ansible_documents_is_known() -> None:
    core = Path(ansible.__file__).parent
    texts = [(core / file).read_text(encoding="utf-8") for file in FILES if (core / file).exists()]
    documented = {name for text in texts for name in re.findall(r"\bname:\s*[\"']?(ansible_\w+)", text)}
    assert len(documented) > 70
    assert {name for name in documented if not name.startswith(OTHERS)} - ANSIBLE_VARIABLES == set()


def test_every_variable_that_ansible_takes_by_its_former_names_is_known() -> None:
    former = {name for names in constants.MAGIC_VARIABLE_MAPPING.values() for name in names}
    assert {
        name for name in former if name.startswith("ansible_") and not name.startswith(OTHERS)
    } - ANSIBLE_VARIABLES == set()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"ansible_prot": 22},
            {"ansible_prot": 'unknown Ansible variable "ansible_prot"; did you mean "ansible_port"?'},
        ),
        ({"ansible_ssh_comon_args": ""}, {"ansible_ssh_comon_args": 'did you mean "ansible_ssh_common_args"?'}),
        ({"ansible_zzz": ""}, {"ansible_zzz": "known: ansible_connection, ansible_host, ansible_port"}),
        ({"ansible_perl_interpreter": "/usr/bin/perl", "ansible_timeout": 1, "prot": 1, 7: 1}, {}),
        ({"ansible_connection": "ansible.netcommon.libssh", "ansible_libssh_timeout": 1}, {}),
        ({"ansible_connection": "{{ way }}", "ansible_prot": 1}, {}),
        ({"ansible_connection": "ansible.builtin.ssh", "ansible_prot": 1}, {"ansible_prot": "ansible_port"}),
        ({"ansible_become_method": "community.general.doas", "ansible_doas_exe": "doas"}, {}),
    ],
)
def test_a_variable_that_ansible_does_not_know_is_told(given: dict[Any, Any], said: dict[str, str]) -> None:
    found = unknown_variables(given)
    assert set(found) == set(said)
    assert all(said[name] in text for name, text in found.items())


@pytest.mark.parametrize(
    ("given", "near"),
    [
        (["dsss"], "dss"),
        (["ds"], "dss"),
        (["wrok", "home"], "work"),
        (["scratsh"], "scratch"),
        (["scrach"], "scratch"),
        (["scratch2"], None),
        (["work1"], None),
        (["dss", "dsss"], None),
        (["dks"], None),
        (["cratch"], "scratch"),
        (["scrtach"], "scratch"),
        (["srctahc"], None),
        (["scr"], None),
        (["fast", "group_data", "scratch-old"], None),
    ],
)
def test_an_area_that_is_a_slip_away_from_a_known_one_is_told(given: list[str], near: str | None) -> None:
    found = misspelt_areas(given, ["dss", "scratch", "work"])
    assert ([f'did you mean "{near}"?' in text for text in found.values()] == [True]) if near else found == {}
