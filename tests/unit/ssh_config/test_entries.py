# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An account's entry says what runs say to ssh, and nothing else; ssh itself is the judge."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.accounts_file import AccountsFile
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.host_variables import build_hosts
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.open_sessions import socket_path
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import SHIPPED, Catalogue
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.ssh_arguments import parse_settings, ssh_arguments
from ansible_collections.hpc.onboard.plugins.plugin_utils._ssh_config import entries, texts
from ansible_collections.hpc.onboard.plugins.plugin_utils._ssh_config.user_settings import (
    SshSettings,
    open_settings,
    require_valid,
)

from tests.effort import turns

pytestmark = turns(3)

CLUSTERS = sorted(Catalogue((SHIPPED,)).ids())
FOR_RUNS = {"controlmaster", "controlpath", "controlpersist", "clearallforwardings", "forwardx11", "host"}
HOSTILE = (
    "-oProxyCommand=touch /tmp/x",
    "a\n    ProxyCommand touch /tmp/x",
    "a\r    ProxyCommand x",
    "a ProxyCommand x",
    'a" ProxyCommand "x',
    "a'b",
    "a\\",
    "a #b",
    "${HOME}",
    "`id`",
    "$(id)",
    "=a",
    "a,-oProxyCommand=x",
    "a@-oProxyCommand=x",
    "\x85a",
    "\u2028a",
    "a\0b",
    " ",
    "%h%p;x",
    "*",
    "none",
)


def variables(entry: str, tmp_path: Path, top: str = "") -> dict[str, Any]:
    """The variables of one account of a file, as its run has them."""
    text = f"plugin: hpc.onboard.accounts\n{top}accounts:\n  {entry}\n"
    (host,) = build_hosts(AccountsFile.parse(tmp_path / "accounts.yml", text))
    return host.variables


def plain(host: str, _user: str = "") -> dict[str, list[str]]:
    """A person who says nothing of any host."""
    return {"hostname": [host]}


def lines_of(found: dict[str, Any], own: Any = plain) -> str:
    one = entries.make_entry(found, "/a", own)
    return entries.render_section(one, "here", entries.choose_jump_users([one], lambda _name: True))


def says(text: str, name: str, folder: Path) -> dict[str, list[str]]:
    """What ssh makes of a text."""
    file = folder / "config"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    done = subprocess.run(["ssh", "-F", str(file), "-G", name], capture_output=True, check=True, timeout=30)
    return parse_settings(done.stdout.decode("utf-8", "replace"))


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_an_entry_leads_where_runs_go(cluster: str, tmp_path: Path) -> None:
    found = variables(f"ada@{cluster}: {{project: pr12}}", tmp_path)
    mine = says(lines_of(found), "here", tmp_path)
    empty = tmp_path / "empty"
    empty.write_text("")
    words = ssh_arguments({name: str(value) for name, value in found.items() if value is not None}, "")
    runs = subprocess.run(
        ["ssh", "-F", str(empty), "-G", *words], capture_output=True, text=True, check=True, timeout=30
    )
    theirs = parse_settings(runs.stdout)
    differ = {word for word in mine.keys() | theirs.keys() if mine.get(word) != theirs.get(word)}
    assert differ <= FOR_RUNS
    if (found["cluster"].get("auth") or {}).get("multiplexing") == "forbidden":
        assert "controlpath" not in mine or mine["controlpath"] == ["none"]
    else:
        assert mine["controlpath"] == [str(socket_path(words))]
        assert mine["controlmaster"] == ["auto"]
    assert mine["forwardagent"] == ["no"]


def test_a_site_without_shared_sessions_gets_none() -> None:
    def shared(socket: str, door: str = "ask", **auth: Any) -> dict[str, str]:
        return dict(entries.sharing_options({"account": {"auth": door}, "cluster": {"auth": auth}}, socket))

    assert shared("/home/a/s", multiplexing="forbidden") == {"ControlMaster": "no", "ControlPath": "none"}
    assert shared("/home/a/" + "s" * 90) == {}
    assert shared("/s%h")["ControlPath"] == "/s%%h"
    assert shared("/s", session_hours=2)["ControlPersist"] == "7200"
    assert shared("/s", "key", session_hours=2)["ControlPersist"] == "600"


def test_a_forwarded_agent_is_the_accounts_own_word(tmp_path: Path) -> None:
    found = variables("ada@wilson: {project: p, forward_agent: true}", tmp_path)
    assert says(lines_of(found), "here", tmp_path)["forwardagent"] == ["yes"]


def test_the_jump_host_has_its_own_user(tmp_path: Path) -> None:
    text = lines_of(variables("ada@daint: {jump_user: jane}", tmp_path))
    assert says(text, "here", tmp_path)["proxyjump"] == ["jane@ela.cscs.ch"]
    assert says(text, "ela.cscs.ch", tmp_path)["user"] == ["jane"]


@pytest.mark.parametrize("word", HOSTILE)
@pytest.mark.parametrize(
    "where",
    [
        *("ansible_host", "ansible_port", "ansible_user", "ansible_ssh_private_key_file"),
        *("-o ProxyJump={}", "-o IdentityFile={}", "-o UserKnownHostsFile={}", "-o HostKeyAlias={}", "-o {}", "-J{}"),
        *("-o Ciphers={}", "-o User={}", "-oForwardAgent={}", "{}"),
    ],
)
def test_no_value_becomes_an_option_or_a_line(where: str, word: str, tmp_path: Path) -> None:
    found = variables("ada@wilson: {project: p}", tmp_path)
    value = {"ansible_ssh_common_args": where.replace("{}", entries_quoted(word))} if "{}" in where else {where: word}
    judged({**found, **value}, plain, tmp_path)


@pytest.mark.parametrize("word", HOSTILE)
def test_no_value_of_the_persons_own_settings_does_either(word: str, tmp_path: Path) -> None:
    found = variables("ada@wilson: {project: p}", tmp_path)
    for option in ("hostname", "identityfile", "proxyjump", "userknownhostsfile", "proxycommand", "hostkeyalias"):
        judged(found, lambda host, option=option: {"hostname": [host], option: [word]}, tmp_path)


def entries_quoted(word: str) -> str:
    """The word as one word of a command line."""
    return "'" + word.replace("'", "'\\''") + "'"


def judged(found: dict[str, Any], own: Any, folder: Path) -> None:
    """Either there is no entry, or all that differs for ssh are words that an entry may have."""
    try:
        text = lines_of(found, own)
        require_valid(text)
    except AccountError:
        return
    mine, anybodys = says(text, "here", folder), says("", "here", folder)
    differ = {word for word in mine.keys() | anybodys.keys() if mine.get(word) != anybodys.get(word)}
    assert differ <= {*entries.KEYWORDS, "hostname", "controlmaster", "controlpath", "controlpersist", "updatehostkeys"}
    assert "touch" not in str(mine)
    assert [line for line in text.splitlines() if line.startswith("Host ")] in (
        ["Host here"],
        ["Host here", f"Host {mine.get('proxyjump', ['@'])[0].rpartition('@')[2]}"],
    )


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("-F /dev/null", "contain -F"),
        ("-o ProxyCommand=nc", "set ProxyCommand"),
        ("-o LocalCommand=x", "set LocalCommand"),
        ("-o 'IdentityFile=a", "quot"),
        ("-A", "contain -A"),
    ],
)
def test_what_an_entry_cannot_say_is_said(arguments: str, why: str, tmp_path: Path) -> None:
    found = {**variables("ada@wilson: {project: p}", tmp_path), "ansible_ssh_common_args": arguments}
    with pytest.raises(AccountError, match=why):
        entries.make_entry(found, "/a", plain)


def entry(account: str, jump: tuple[str, str] | None = None) -> entries.HostEntry:
    user, _at, cluster = account.partition("@")
    return entries.HostEntry(account, "/a", cluster, f"{user}-{cluster}", [], jump)


def test_two_accounts_of_a_cluster_are_told_apart() -> None:
    made = [entry("a@x"), entry("b@x"), entry("a@y")]
    named = entries.choose_names(made, ["x", "x", "y"], lambda _name: True)
    assert named == {"a@x": "a-x", "b@x": "b-x", "a@y": "y"}
    assert entries.choose_names(made[:1], ["x", "x"], lambda _name: True) == {"a@x": "a-x"}, (
        "the other one has no entry"
    )


def test_a_name_of_the_persons_own_stays_theirs() -> None:
    assert entries.choose_names([entry("a@x")], ["x"], lambda name: name != "x") == {"a@x": "a-x"}
    assert entries.choose_names([entry("a@x")], ["x"], lambda _name: False) == {}


def test_a_jump_host_with_two_users_has_none() -> None:
    made = [entry("a@x", ("a", "j")), entry("a@y", ("a", "j")), entry("a@z", ("a", "k")), entry("b@z", ("b", "k"))]
    assert entries.choose_jump_users(made, lambda _name: True) == {"j": "a"}
    assert entries.choose_jump_users(made, lambda _name: False) == {}


OWN = """\
Host *
    ControlPath ~/.ssh/cm-%C
    User me
    IdentityFile ~/.ssh/wilson
Host wilson
    Port 23
Host wc.fnal.gov fnal
    HostName wc.fnal.gov
    IdentityFile ~/.ssh/fnal
    ProxyJump %r@gate
Host l*
    Compression yes
"""


def test_what_a_person_says_of_a_name_makes_it_theirs() -> None:
    with open_settings(OWN) as own:
        theirs = {name for name in ("wilson", "simone-wilson", "lrz", "daint", "me") if own.own_options(name)}
    assert theirs == {"wilson", "lrz"}


@pytest.mark.parametrize("host", ["wc.fnal.gov", "fnal"])
def test_what_a_person_says_of_the_login_host_holds_for_the_name(host: str, tmp_path: Path) -> None:
    found = {**variables("ada@wilson: {project: p}", tmp_path), "ansible_host": host}
    with open_settings(OWN) as own:
        mine = says(lines_of(found, own.options_for_host), "here", tmp_path)
    assert mine["hostname"] == ["wc.fnal.gov"]
    assert "~/.ssh/fnal" in mine["identityfile"]
    assert mine["proxyjump"] == ["%r@gate"]
    assert mine["user"] == ["ada"], "who the account is says the accounts file"


def test_settings_for_one_user_of_a_host_hold_for_the_name_of_that_account(tmp_path: Path) -> None:
    config = "Match host h.example.org user ada\n  IdentityFile ~/.ssh/ada\nHost h.*\n  IdentityAgent /run/a.sock\n"
    for user, has_key in (("ada", True), ("bob", False)):
        found = {**variables(f"{user}@wilson: {{project: p}}", tmp_path), "ansible_host": "h.example.org"}
        with open_settings(config) as own:
            mine = says(lines_of(found, own.options_for_host), "here", tmp_path)
        assert ("~/.ssh/ada" in mine["identityfile"]) is has_key
        assert mine["identityagent"] == ["/run/a.sock"]


def test_no_name_goes_past_a_proxy_command_of_the_user(tmp_path: Path) -> None:
    config = "Host h.example.org\n    ProxyCommand ssh -W %h:%p gate\n"
    found = {**variables("ada@wilson: {project: p}", tmp_path), "ansible_host": "h.example.org"}
    with (
        open_settings(config) as own,
        pytest.raises(AccountError, match=r"set ProxyCommand.*'Host h\.example\.org wils"),
    ):
        entries.make_entry(found, "/a", own.options_for_host)
    jumping = {**found, "ansible_ssh_common_args": "-J gate"}
    with open_settings(config) as own:
        assert entries.make_entry(jumping, "/a", own.options_for_host)


def test_a_jump_host_for_all_hosts_overrides_no_entry() -> None:
    body = "# of /a\nHost x\n    HostName h.example.org\n    User ada\n"
    ours = texts.edit_sections("", {"ada@x": body}, [], "")
    with open_settings("Host * !gate\n    ProxyJump gate\n", ours) as own:
        (one,) = own.list_targets(texts.read_sections(ours))
    assert one.desired == one.actual == "ada@h.example.org through gate"


def test_settings_that_ssh_does_not_take_are_said() -> None:
    with (
        open_settings("Hosts a\n") as own,
        pytest.raises(AccountError, match=r"~/\.ssh/config: line 1: Bad configuration"),
    ):
        own.resolve("a")


def test_where_a_name_leads_is_compared_with_where_it_should() -> None:
    body = "# of /a\nHost x\n    HostName h.example.org\n    User ada\n    ProxyJump %r@j\nHost j\n    User b\n"
    ours = texts.edit_sections("", {"ada@x": body}, [], "")
    found = texts.read_sections(ours)
    for config, same in (("", True), ("Host *\n    User root2\n", False), ("Host y\n    User z\n", True)):
        with open_settings(config, ours) as own:
            (one,) = own.list_targets(found)
        assert (one.desired == one.actual) is same, one
    with open_settings("Host *\n    Port 24\n", ours) as own:
        (one,) = own.list_targets(found)
    assert one.actual == "ada@h.example.org port 24 through ada@j"
    assert isinstance(own, SshSettings)
