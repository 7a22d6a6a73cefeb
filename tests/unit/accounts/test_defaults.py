# SPDX-License-Identifier: GPL-3.0-or-later
"""What all accounts of a file share: what comes of it for each, and what is said of mistakes in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.accounts_file import AccountsFile
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.defaults import merge_defaults
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.host_variables import InventoryHost, build_hosts
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import SHIPPED
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import Mistakes
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.collect import collect_resources
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import ROLES
from hypothesis import given
from hypothesis import strategies as st

HEAD = "plugin: hpc.onboard.accounts\n"
CLUSTERS = sorted(file.stem for file in SHIPPED.glob("*.yml"))
LINES = st.dictionaries(st.sampled_from("abc"), st.none() | st.integers() | st.lists(st.integers()), max_size=3)
ENTRIES = st.dictionaries(st.sampled_from(["conda", "vars", "auth", "without"]), st.none() | st.integers() | LINES)
BARE: dict[str, Any] = {"login": {"host": "here"}, "storage": []}


def made(text: str) -> dict[str, InventoryHost]:
    """The hosts of an accounts file with these lines, by name."""
    return {host.name: host for host in build_hosts(AccountsFile.parse(Path("accounts.yml"), HEAD + text))}


@given(ENTRIES, ENTRIES)
def test_each_word_is_the_accounts_own_where_it_says_one_and_the_default_elsewhere(
    shared: dict[str, Any], own: dict[str, Any]
) -> None:
    found = merge_defaults(shared, own, BARE)
    assert found.keys() == {key for entry in (shared, own) for key, value in entry.items() if value is not None}
    for key, value in found.items():
        mine, theirs = own.get(key), shared.get(key)
        if isinstance(mine, dict):
            base = theirs if isinstance(theirs, dict) else {}
            assert value == {name: mine[name] if name in mine else base[name] for name in {*base, *mine}}
        else:
            assert value == (theirs if mine is None else mine)
    assert merge_defaults({}, found, BARE) == merge_defaults(found, {}, BARE) == found


def test_settings_of_a_role_are_joined_and_lists_are_not() -> None:
    text = """
defaults:
  project: lattice
  without: [tokens]
  conda: {wanted: true, channels: [conda-forge]}
  links: {~/data: $SCRATCH/data, ~/notes: /work1/notes}
accounts:
  ada@daint:
  ada@wilson: {project: other, without: [path_scripts], conda: {channels: [nvidia]}, links: {~/data: /work1/d}}
"""
    daint, wilson = (host.variables for host in made(text).values())
    assert (daint["account"]["project"], wilson["account"]["project"]) == ("lattice", "other")
    assert (daint["account"]["without"], wilson["account"]["without"]) == (["tokens"], ["path_scripts"])
    assert (daint["conda_wanted"], daint["conda_channels"]) == (True, ["conda-forge"])
    assert (wilson["conda_wanted"], wilson["conda_channels"]) == (True, ["nvidia"])
    assert daint["storage_links_own"] == {"~/data": "$SCRATCH/data", "~/notes": "/work1/notes"}
    assert wilson["storage_links_own"] == {"~/data": "/work1/d", "~/notes": "/work1/notes"}


def test_a_default_path_counts_where_the_cluster_has_that_area() -> None:
    text = (
        "defaults: {project: p, storage: {dss: /dss/ours}, jump_user: b}\naccounts: {a@lrz: , a@wilson: , a@daint: }\n"
    )
    by_name = made(text)
    paths = {
        name: [area.get("path") for area in host.variables["cluster"]["storage"] if area["name"] == "dss"]
        for name, host in by_name.items()
    }
    assert paths == {"a@lrz": ["/dss/ours"], "a@wilson": [], "a@daint": []}
    assert "b@ela.cscs.ch" in by_name["a@daint"].variables["ansible_ssh_common_args"]


def test_what_the_profile_of_an_account_does_not_do_is_not_forced_on_it() -> None:
    """Settings for every role, for accounts on every cluster: each declares the same kinds of thing as without them."""
    shared = """
defaults:
  project: p
  storage: {dss: /dss/p}
  conda: {channels: [conda-forge], wanted: true}
  enroot_credentials: {secret: mine}
  registry_auth: {secret: mine}
  container_caches: {state: present}
"""
    accounts = "accounts:\n" + "".join(f"  a@{name}:\n" for name in CLUSTERS)
    plain = "defaults: {project: p, storage: {dss: /dss/p}, conda: {wanted: true}}\n"
    with_settings, without = made(shared + accounts), made(plain + accounts)

    def declared(host: InventoryHost) -> list[tuple[str, str]]:
        found = collect_resources(ROLES, [], [], host.variables.get)
        return [(one["kind"], one["capability"]) for one in found.resources]

    assert {name: declared(host) for name, host in with_settings.items()} == {
        name: declared(host) for name, host in without.items()
    }
    refusing = {host.name for host in with_settings.values() if host.variables["conda_site"]["policy"] == "refused"}
    assert refusing
    assert {
        name for name, host in with_settings.items() if ("conda_install", "conda") not in declared(host)
    } >= refusing


def test_a_link_of_ones_own_goes_before_the_areas_and_is_there_where_the_site_makes_its_own() -> None:
    text = "defaults: {project: p, links: {~/work: /elsewhere}}\naccounts: {a@wilson: , a@narval: }\n"
    for host in made(text).values():
        declared = collect_resources(["storage_links"], [], [], host.variables.get).resources
        links = {one["options"]["path"]: one["options"]["target"] for one in declared if one["kind"] == "storage_link"}
        assert links.pop("~/work") == "/elsewhere"
        assert set(links) == ({"~/wclustre"} if host.name == "a@wilson" else set())


MISTAKES = [
    ("defaults: [x]\naccounts:\n  a@dfki:\n", 2, ['"defaults" must be a mapping']),
    ("defaults:\n  projct: p\naccounts:\n  a@dfki:\n", 3, ['unknown key "projct"', '"project"?']),
    ("defaults:\n  conda: {wantd: true}\naccounts:\n  a@dfki:\n", 3, ['unknown key "wantd"', '"wanted"?']),
    ("defaults:\n  without: [cnda]\naccounts:\n  a@dfki:\n", 3, ['unknown role "cnda"', '"conda"?']),
    ("defaults:\n  vars: {ansible_prot: 1}\naccounts:\n  a@dfki:\n", 3, ['"ansible_prot"', '"ansible_port"?']),
    ("defaults:\n  ssh: mine\naccounts:\n  a@dfki:\n", 3, ['"ssh" connects to one account']),
    ("defaults:\n  keep: [link ~/w]\naccounts:\n  a@dfki:\n", 3, ['"keep" names resources of one account']),
    ("defaults:\n  jump_user: b\naccounts:\n  a@dfki:\n", 3, ['"jump_user" has no effect']),
    ("defaults:\n  storage: {dsss: /a}\naccounts:\n  a@lrz:\n", 3, ["no cluster of these accounts", '"dss"?']),
    ("defalts:\n  project: p\naccounts:\n  a@dfki:\n", 2, ['unknown key "defalts"', '"defaults"?']),
    ("accounts:\n  a@dfki:\n    links: {data: /a}\n", 4, ['"data" is not a valid name here', "such as ~/data"]),
    ("accounts:\n  a@dfki:\n    links: {~/../data: /a}\n", 4, ['"~/../data" is not a valid name here']),
    ("accounts:\n  a@dfki:\n    links: {~/.ssh/x: /a}\n", 4, ['"~/.ssh/x" is not a valid name here']),
    ("accounts:\n  a@dfki:\n    links: {~/x: data}\n", 4, ['"~/x" is invalid', "$SCRATCH/data"]),
    ("accounts:\n  a@dfki:\n    links: {~/x: /a/../b}\n", 4, ['"~/x" is invalid']),
    ("accounts:\n  a@dfki:\n    links: ~/x\n", 4, ['"links" must be a mapping']),
]


@pytest.mark.parametrize(("text", "line", "words"), MISTAKES)
def test_a_mistake_is_told_once_with_its_line_and_the_nearest_word(text: str, line: int, words: list[str]) -> None:
    with pytest.raises(Mistakes) as caught:
        made(text)
    (only,) = caught.value.found
    assert only.line == line
    assert all(word in only.text for word in words), only.text


def test_a_misspelt_default_is_not_told_for_each_account() -> None:
    with pytest.raises(Mistakes) as caught:
        made("defaults: {projct: p}\naccounts: {a@wilson: , b@wilson: }\n")
    assert len(caught.value.found) == 1


EVERY_CHECK = """\
profiles: [nowhere]
defaults:
  without: [cnda]
accounts:
  a@wilson: {projct: p}
  b@wilson: {conda: {wantd: true}, project: p}
  c@wilsn:
  d:
  e@lrz: {storage: {dsss: /a}, without: [condaa], vars: {ansible_prot: 1}, jump_user: x}
  f@wilson:
  g@lrz: {steps: {nosuch: {due: 2027-03-01}, vpn: 7}}
"""
SAID = [
    (2, 'nowhere" does not exist'),
    (4, 'did you mean "conda"?'),
    (6, 'did you mean "project"?'),
    (7, 'did you mean "wanted"?'),
    (8, 'did you mean "wilson"?'),
    (9, "write USER@CLUSTER"),
    *((10, word) for word in ('mean "dss"?', 'unknown role "condaa"', 'mean "ansible_port"?', "no jump host")),
    (11, '"f@wilson" needs a project; add "project: NAME"'),
    (12, 'unknown step "nosuch"'),
    (12, '"vpn" must be a mapping'),
]


def test_the_mistakes_of_every_check_are_told_together() -> None:
    with pytest.raises(Mistakes) as caught:
        made(EVERY_CHECK)
    found = caught.value.found
    assert [one.line for one in found] == [line for line, _words in SAID]
    for line, words in SAID:
        assert any(one.line == line and words in one.text for one in found), (line, words)
