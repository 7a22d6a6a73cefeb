"""From an accounts file to hosts: groups, variables, sandbox; and what is said of mistakes.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.accounts_file import AccountsFile
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.host_variables import InventoryHost, build_hosts
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.selection import find_unknown_host
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import Mistakes

HEAD = "plugin: hpc.onboard.accounts\n"


def made(text: str, tmp_path: Path) -> dict[str, InventoryHost]:
    """The hosts of an accounts file with this text, by name."""
    return {host.name: host for host in build_hosts(AccountsFile.parse(tmp_path / "accounts.yml", text))}


def one(entry: str, tmp_path: Path, name: str = "simone@wilson", top: str = "") -> InventoryHost:
    """The host of one account with this entry, written in one line."""
    return made(f"{HEAD}{top}accounts:\n  {name}: {entry}\n", tmp_path)[name]


def area(host: InventoryHost, name: str) -> dict:
    return next(each for each in host.variables["cluster"]["storage"] if each["name"] == name)


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("a@lrz", ["accounts", "lrz", "enroot"]),
        ("a@dfki", ["accounts", "dfki", "enroot"]),
        ("a@wilson", ["accounts", "wilson", "apptainer"]),
        ("a@narval", ["accounts", "narval", "alliance", "apptainer"]),
        ("a@daint", ["accounts", "daint", "cscs", "enroot"]),
    ],
)
def test_groups(name, groups, tmp_path):
    assert one("{project: p}", tmp_path, name).groups == groups


def test_an_account_may_be_empty(tmp_path):
    host = one("", tmp_path, "ada@dfki")
    assert host.variables["account"] == {"name": "ada@dfki", "user": "ada", "cluster": "dfki", "without": []}
    assert host.variables["ansible_user"] == "ada"
    assert host.variables["ansible_host"] == "serv-6404.kl.dfki.de"
    assert "ansible_port" not in host.variables
    assert "ansible_connection" not in host.variables


def test_user_and_project_are_filled_in(tmp_path):
    host = one("{project: deep_lgt}", tmp_path)
    assert area(host, "work1")["path"] == "/work1/deep_lgt/simone"
    assert area(host, "work1")["root"] == "/work1/deep_lgt"
    assert host.variables["cluster"]["caches"]["path"] == "/wclustre/deep_lgt/simone/apptainer"
    assert host.variables["account"]["project"] == "deep_lgt"


def test_two_accounts_of_one_cluster_do_not_share_paths(tmp_path):
    both = made(HEAD + "accounts:\n  a@dfki:\n  b@dfki:\n", tmp_path)
    assert [area(host, "data")["path"] for host in both.values()] == ["/data/a", "/data/b"]


def test_a_variable_of_the_site_is_the_path(tmp_path):
    assert area(one("", tmp_path, "a@daint"), "scratch")["path"] == "$SCRATCH"


def test_own_storage_replaces_the_path_and_the_question(tmp_path):
    host = one("{storage: {dss: /dss/x/y}}", tmp_path, "go42tum@lrz")
    assert area(host, "dss")["path"] == "/dss/x/y"
    assert area(host, "dss")["link"] == "dss"
    assert "ask" not in area(host, "dss")


def test_own_storage_keeps_the_root_only_if_it_lies_below(tmp_path):
    below = area(one("{project: p, storage: {work1: /work1/p/else}}", tmp_path), "work1")
    away = area(one("{project: p, storage: {work1: /work2/p/else}}", tmp_path), "work1")
    assert below["root"] == "/work1/p"
    assert below["create"]
    assert "root" not in away
    assert "create" not in away


def test_further_storage_gets_a_link_of_its_name(tmp_path):
    host = one("{storage: {fast: $FAST/x}}", tmp_path, "a@dfki")
    assert area(host, "fast") == {"name": "fast", "path": "$FAST/x", "create": False, "link": "fast"}


def test_the_jump_host_is_used_with_its_own_user_name(tmp_path):
    def arguments(entry: str, name: str) -> str:
        return one(entry, tmp_path, name).variables["ansible_ssh_common_args"]

    assert "ProxyJump" not in arguments("", "a@dfki")
    assert "ProxyJump" not in arguments("{ssh: mine}", "a@daint")
    assert "-o ProxyJump=a@ela.cscs.ch" in arguments("", "a@daint")
    assert "-o ProxyJump=b@sshgate.sb.dfki.de" in arguments("{jump_user: b}", "a@dfki_pegasus")


def test_every_account_has_a_keepalive_and_forwards_nothing_unless_it_says_so(tmp_path):
    def arguments(entry: str) -> list[str]:
        return one(entry, tmp_path, "a@dfki").variables["ansible_ssh_extra_args"].split()

    assert "ServerAliveInterval=15" in arguments("")
    assert {"ForwardAgent=no", "ForwardX11=no", "ClearAllForwardings=yes"} <= set(arguments(""))
    assert "ForwardAgent=yes" in arguments("{forward_agent: true}")
    assert "ForwardAgent=no" not in arguments("{forward_agent: true}")
    own = arguments("{vars: {ansible_ssh_extra_args: -o ServerAliveInterval=2}}")
    assert own.index("ServerAliveInterval=2") < own.index("ServerAliveInterval=15")
    assert "ForwardAgent=no" in own
    both = one("{vars: {ansible_ssh_common_args: -F mine}}", tmp_path, "a@dfki").variables
    assert both["ansible_ssh_common_args"] == "-F mine"
    assert {"ForwardAgent=no", "ServerAliveInterval=15"} <= set(both["ansible_ssh_extra_args"].split())


def test_a_ticket_goes_along_where_the_home_cannot_be_read_without_one(tmp_path):
    """ssh itself is the judge of what its options come to."""

    def settings(name: str) -> str:
        options = one("{project: p}", tmp_path, name).variables["ansible_ssh_extra_args"].split()
        order = ["ssh", "-F", "/dev/null", *options, "-G", "somewhere"]
        return subprocess.run(order, check=True, capture_output=True, text=True).stdout

    assert "gssapidelegatecredentials yes" in settings("a@wilson")
    assert "gssapidelegatecredentials no" in settings("a@dfki")


def test_sandbox(tmp_path):
    host = one("{project: p}", tmp_path, top="sandbox: true\n")
    assert host.variables["ansible_connection"] == "local"
    assert host.variables["account"]["sandbox"] == {
        "root": str(tmp_path / ".sandbox" / "simone@wilson"),
        "home": "/home/simone",
        "environment": {},
        "folders": ["/wclustre/p", "/work1/p"],
    }


def test_sandbox_of_a_site_with_variables(tmp_path):
    sandbox = one("{sandbox: true, storage: {fast: $SCRATCH/fast}}", tmp_path, "a@daint").variables["account"][
        "sandbox"
    ]
    assert sandbox["home"] == "/users/a"
    assert sandbox["environment"]["SCRATCH"] == "/capstor/scratch/cscs/a"
    assert "/capstor/scratch/cscs/a" in sandbox["folders"]
    assert "/capstor/scratch/cscs/a/fast" in sandbox["folders"]
    assert all(path.startswith("/") for path in sandbox["folders"])


def test_settings_of_roles_get_their_prefix_and_vars_win(tmp_path):
    entry = "{conda: {wanted: true, channels: '{{ n }}'}, vars: {conda_wanted: 7, ansible_host: here}}"
    variables = one(entry, tmp_path, "a@dfki").variables
    assert variables["conda_channels"] == "{{ n }}"
    assert variables["conda_wanted"] == 7
    assert variables["ansible_host"] == "here"


@pytest.mark.parametrize(
    ("entry", "wanted"),
    [("{conda: {distribution: miniforge}}", True), ("{conda: {wanted: false}}", False), ("{}", False)],
)
def test_settings_of_conda_are_the_wish_for_a_conda(entry, wanted, tmp_path):
    assert one(entry, tmp_path, "a@lrz").variables["conda_wanted"] is wanted


def test_without(tmp_path):
    assert one("{without: [conda]}", tmp_path, "a@dfki").variables["account"]["without"] == ["conda"]
    assert one("{keep: [link ~/w]}", tmp_path, "a@dfki").variables["account"]["keep"] == ["link ~/w"]


def test_own_profiles_go_before_those_that_ship(tmp_path):
    shipped = Path(__file__).parents[3] / "inventory" / "clusters" / "dfki.yml"
    own = tmp_path / "ours"
    own.mkdir()
    (own / "attic.yml").write_text(shipped.read_text().replace("id: dfki", "id: attic"))
    (own / "dfki.yml").write_text(shipped.read_text().replace("serv-6404.kl", "other"))
    both = made(HEAD + "profiles: [ours]\naccounts:\n  a@attic:\n  a@dfki:\n", tmp_path)
    assert both["a@attic"].groups == ["accounts", "attic", "enroot"]
    assert both["a@dfki"].variables["ansible_host"] == "other.dfki.de"


MISTAKES = [
    ("", None, ["is empty", '"plugin" and "accounts"']),
    ("- a\n", 1, ["the file must be a mapping (key: value), not a list"]),
    ("accounts:\n  a@dfki:\n", 1, ['no "plugin"', "plugin: hpc.onboard.accounts"]),
    ("plugin: hpc.onboard.acounts\naccounts:\n  a@dfki:\n", 1, ['did you mean "hpc.onboard.accounts"?']),
    (HEAD, 1, ['the file has no "accounts"']),
    (HEAD + "accounts:\n", 2, ['"accounts" must be a mapping', "not empty"]),
    (HEAD + "accounts: {}\n", 2, ['"accounts" is empty']),
    (HEAD + "acounts:\n  a@dfki:\n", 2, ['unknown key "acounts"', 'did you mean "accounts"?']),
    (HEAD + "accounts:\n  a@wilsn:\n", 3, ['unknown cluster "wilsn"', 'did you mean "wilson"?', "profiles:"]),
    (HEAD + "accounts:\n  a@xyz:\n", 3, ['unknown cluster "xyz"', "known: "]),
    (HEAD + "accounts:\n  simone:\n", 3, ['"simone" is not a valid account name', "USER@CLUSTER"]),
    (HEAD + "accounts:\n  a@b@dfki:\n", 3, ['"a@b@dfki" is not a valid account name', "a single @"]),
    (HEAD + "accounts:\n  ../x@dfki:\n", 3, ["is not a valid account name"]),
    (HEAD + "accounts:\n  a@dfki:\n    projct: p\n", 4, ['unknown key "projct"', 'did you mean "project"?']),
    (HEAD + "accounts:\n  a@dfki:\n    storage_link: {}\n", 4, ['did you mean "storage_links"?']),
    (
        HEAD + "accounts:\n  a@dfki:\n    project: 7\n",
        4,
        ['"project" must be text, not a whole number. Write the value in quotes.'],
    ),
    (HEAD + "accounts:\n  a@dfki:\n    project: '{{ p }}'\n", 4, ['"project" is invalid']),
    (HEAD + "accounts:\n  a@dfki:\n    conda: '{{ c }}'\n", 4, ['"conda" must be a mapping']),
    (HEAD + "accounts:\n  a@dfki:\n    vars: '{{ v }}'\n", 4, ['"vars" must be a mapping']),
    (HEAD + "accounts:\n  a@dfki:\n    without: '{{ w }}'\n", 4, ['"without" must be a list']),
    (HEAD + "accounts:\n  a@dfki: '{{ a }}'\n", 3, ['"a@dfki" must be a mapping']),
    (HEAD + "defaults: {vars: '{{ v }}'}\naccounts: {a@dfki: }\n", 2, ['"vars" must be a mapping']),
    (HEAD + "sandbox: '{{ s }}'\naccounts: {a@dfki: }\n", 2, ['"sandbox" must be true or false']),
    (HEAD + "accounts:\n  a@dfki: text\n", 3, ['"a@dfki" must be a mapping', "not text"]),
    (HEAD + "accounts:\n  a@lrz:\n    storage:\n      dsss: /dss/x\n", 5, ['unknown area "dsss"', 'mean "dss"?']),
    (HEAD + "accounts:\n  a@lrz:\n    vars:\n      x: 1\n      ansible_prot: 1\n", 6, ['mean "ansible_port"?']),
    (HEAD + "accounts:\n  a@dfki:\n    storage: /x\n", 4, ['"storage" must be a mapping']),
    (
        HEAD + "accounts:\n  a@dfki:\n    storage:\n      data: x/y\n",
        5,
        ['"data" is invalid', "Absolute path"],
    ),
    (HEAD + "accounts:\n  a@dfki:\n  a@dfki:\n", 4, ['duplicate key "a@dfki"', "line 3"]),
    (HEAD + "accounts:\n  a@wilson:\n", 3, ['"a@wilson" needs a project; add "project: NAME"', "{project}"]),
    (
        HEAD + "accounts:\n  a@dfki:\n    without: [conda, storage_lynx]\n",
        4,
        ['"storage_lynx"', '"storage_links"?'],
    ),
    (
        HEAD + "accounts:\n  a@dfki:\n    without: conda\n",
        4,
        ['"without" must be a list, not text. Write the value in square brackets'],
    ),
    (HEAD + "accounts:\n  a@dfki:\n    replace: link ~/w\n", 4, ['"replace" must be a list, not text']),
    (HEAD + "accounts:\n  a@dfki:\n    keep:\n      - [x]\n", 5, ["must be text"]),
    (HEAD + "accounts:\n  a@dfki:\n    jump_user: b\n", 4, ['"jump_user" has no effect', "no jump host"]),
    (HEAD + "accounts:\n  a@dfki_pegasus:\n    ssh: dfki\n    jump_user: b\n", 5, ['because "ssh" selects the jump']),
    (HEAD + "accounts:\n  a@dfki:\n    sandbox: maybe\n", 4, ['"sandbox" must be true or false, not text']),
    (HEAD + "profiles: [nowhere]\naccounts:\n  a@dfki:\n", 2, ['nowhere" does not exist']),
    (HEAD + "accounts:\n  a@dfki: {x\n", 4, ["this is not valid YAML"]),
    (HEAD + "accounts:\n\ta@dfki:\n", 3, ["this is not valid YAML"]),
    (
        HEAD + "accounts:\n  a@dfki:\n    conda:\n      wantd: true\n",
        5,
        ['unknown key "wantd"', '"wanted"?'],
    ),
    (
        HEAD + "accounts:\n  a@dfki:\n    conda:\n      wanted: perhaps\n",
        5,
        ['"wanted"', "true or false"],
    ),
    (
        HEAD + "accounts:\n  a@dfki:\n    job_scripts:\n      minutes: long\n",
        5,
        ['"minutes"', "a whole number"],
    ),
    (HEAD + "accounts:\n  a@dfki:\n    tokens:\n      programs: [{progam: x}]\n", 5, ['"progam"', '"program"?']),
    (
        HEAD + "accounts:\n  a@dfki:\n    tokens:\n      programs:\n      - secret: x\n        program: wandbb\n",
        7,
        ['"program" cannot be "wandbb"', '"wandb"?'],
    ),
    (HEAD + "accounts:\n  a@dfki: {ssh: a, ssh: b}\n", 3, ['duplicate key "ssh"', "line 3"]),
]


@pytest.mark.parametrize(("text", "line", "words"), MISTAKES)
def test_a_mistake_is_told_with_its_line_and_the_nearest_word(text, line, words, tmp_path):
    with pytest.raises(Mistakes) as caught:
        made(text, tmp_path)
    told = str(caught.value)
    place = "accounts.yml" + (f":{line}: " if line else ": ")
    assert any(place in row and all(word in row for word in words) for row in told.splitlines()), told


def test_all_mistakes_are_told_one_line_each_in_order(tmp_path):
    text = HEAD + "accounts:\n  a@wilsn:\n  a@dfki:\n    projct: p\n  a@narval:\n    sandbox: 3\n"
    with pytest.raises(Mistakes) as caught:
        made(text, tmp_path)
    heading, *rows = str(caught.value).splitlines()
    assert heading.startswith("3 mistakes")
    assert [int(re.search(r":(\d+): ", row)[1]) for row in rows] == [3, 5, 7]


def test_a_bad_profile_is_told_once_for_all_accounts(tmp_path):
    own = tmp_path / "ours"
    own.mkdir()
    (own / "attic.yml").write_text("id: attic\nname: 3\n")
    with pytest.raises(Mistakes) as caught:
        made(HEAD + "profiles: [ours]\naccounts:\n  a@attic:\n  b@attic:\n", tmp_path)
    assert len(str(caught.value).splitlines()) == len(set(str(caught.value).splitlines()))
    assert f'{own / "attic.yml"}:2: "name" must be text' in str(caught.value)


def test_values_of_vars_are_never_shown(tmp_path):
    with pytest.raises(Mistakes) as caught:
        one("{projct: p, vars: {token: CANARY}}", tmp_path)
    assert "CANARY" not in str(caught.value)
    with pytest.raises(Mistakes) as caught:
        one("{vars: CANARY}", tmp_path, "a@dfki")
    assert "CANARY" not in str(caught.value)


KNOWN = {"accounts", "wilson", "lrz", "simone@wilson"}


@pytest.mark.parametrize(
    ("limit", "term"),
    [
        ("wilson", None),
        ("wilsn", "wilsn"),
        ("simone@wilson", None),
        ("simone@wilsn", "simone@wilsn"),
        ("wilson,lrz", None),
        ("wilson:!lrz", None),
        ("wilson:!lrs", "lrs"),
        ("wilson:&nope", "nope"),
        ("all,localhost,ungrouped", None),
        ("simone@*", None),
        ("~wil.*", None),
        ("wilson[0]", None),
        ("@retry_file", None),
        ("", None),
    ],
)
def test_limit(limit, term):
    assert find_unknown_host(limit, KNOWN) == term
