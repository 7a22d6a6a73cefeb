"""A profile and an accounts file are data: no text in them becomes an option of ssh, a program or a file.

Every text field of both schemas is given hostile words, in a document that has every field. What is refused is refused
by name; what is accepted is carried as far as the words that ssh and the login shell are given, while all that Python
starts or opens is watched.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts import open_sessions
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.facts import is_wrapped
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.host_variables import (
    DELEGATE,
    KEEPALIVE,
    NO_FORWARDING,
    InventoryHost,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import schema
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.audit_checks import plan_checks
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import payload
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import Plan
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.collection import ROLES_FOLDER
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import Mistakes
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.ssh_arguments import ssh_arguments
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles import launchers
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.collect import collect_resources
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import ROLES
from ansible_collections.hpc.onboard.plugins.plugin_utils._ssh_config import entries

from tests.effort import sample, turns
from tests.hostile_documents import accounts, changed, documents, hosts_of, laid, profile, texts, with_sources

pytestmark = turns(3)

USRUN = yaml.safe_load((ROLES_FOLDER / "launchers/defaults/main.yml").read_text())
USRUN = {name.removeprefix("launchers_"): value for name, value in USRUN.items()}
PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]*")
JUMP = re.compile(r"ProxyJump=[A-Za-z0-9_][A-Za-z0-9_.@-]*@[A-Za-z0-9][A-Za-z0-9.-]*")
AGENT = NO_FORWARDING.replace("ForwardAgent=no", "ForwardAgent=yes")  # where an account asks for it
OURS = [
    f"{KEEPALIVE} {alone} {DELEGATE}".split() for alone in (NO_FORWARDING, AGENT)
]  # every field is there, that of tickets too
ENTRY = re.compile(rf"    (?:{'|'.join(entries.ORDER)}) [\w/@.:+-]+")
READS = re.compile(r"quota|(my|show|get|l|disk-|sh_|hpc|check_)quota|diskusage_report|df|dssusrinfo|lfs|jutil")
OPTION = re.compile(r"--(exclusive|(partition|gres|gpus|[a-z-]+)=[A-Za-z0-9_][A-Za-z0-9_.:,+-]*)")
STARTING = ("wrap", "export", "prolog", "epilog", "bcast", "chdir", "container", "output", "get-user-env")
WATCHED = ("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.posix_spawn", "socket.connect", "os.remove")

started: list[str] = []
watching = False


def watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Note every program, connection and file that is written while a document is looked at."""
    if watching and (event in WATCHED or (event == "open" and any(mode in str(arguments[1]) for mode in "wax+"))):
        started.append(f"{event} {arguments}")


sys.addaudithook(watch)


def looked_at(own: dict[str, Any], file: dict[str, Any], folder: Path) -> list[InventoryHost] | None:
    """The hosts that come of both documents, read from files; None where they are refused."""
    lines = laid(own, file, folder)
    global watching  # a hook of Python's can never be taken out again
    watching, made = True, []
    try:
        made = hosts_of(lines)
        for host in made:
            innocent(host, "ssh" in (file["accounts"].get(host.name) or {}))
    except Mistakes as refused:
        assert all(one.line for one in refused.found)  # noqa: PT017  # it is the refusal that is looked at
        return None
    finally:
        watching = False
    return made


def innocent(host: InventoryHost, has_alias: bool) -> None:
    """What ssh and the login shell are given has the options of ours, and words that are names and paths.

    has_alias: the entry of the account has the setting ssh, which may have come of another one's name.
    """
    variables = host.variables
    words = shlex.split(variables["ansible_ssh_common_args"])
    if not words:  # an alias, or the setting for it: a person's own ssh_config says how it is reached
        is_alias = has_alias or "v" in host.name.partition("@")[0]  # eve, whatever was put into her name
        assert is_alias or host.variables["account"].get("auth") == "ssh"
    else:
        option, jump = words
        assert option == "-o"
        assert JUMP.fullmatch(jump)
    extra = shlex.split(variables["ansible_ssh_extra_args"])
    assert extra in OURS
    words += extra
    given = ssh_arguments(open_sessions.plain_variables(host.variables), host.name)
    assert [one for one in given[len(words) :][0::2] if one != "-p"] == ["-l", given[-1]]
    for word in (variables["ansible_user"], variables["ansible_host"]):
        assert PLAIN.fullmatch(word)
    cluster = variables["cluster"]
    assert all(payload.INTERPRETER.fullmatch(one) for one in cluster["python"])
    command = cluster["quota_command"]
    assert READS.fullmatch(command.split()[0])
    assert not re.search(r"[;&|<>`()\"'\\\n*?!]", command)
    for word in " ".join(cluster["scheduler"][name] for name in ("gpu", "cpu", "test")).split():
        assert OPTION.fullmatch(word)
        assert not any(name in word.partition("=")[0] for name in STARTING)
    assert all(one["name"].endswith(".sh") for one in cluster["launchers"])
    assert "mirrors" not in cluster
    assert cluster["name"].isprintable()
    for url in cluster["proxies"].values():
        assert re.fullmatch(r"[A-Za-z0-9_.:/,*-]+", url)
    start = "launchers_"
    site = {name[len(start) :]: value for name, value in variables.items() if name.startswith(start)}
    with suppress(AccountError):  # a launcher is checked once more where it is written
        for name, value in launchers.script_variables({**USRUN, **site}).items():
            assert len(shlex.split(launchers.quote_for_shell("usrun.sh", name, value))) == 1
    with suppress(AccountError):  # of a name for ssh too
        own = entries.make_entry(variables, "/a", lambda name, _user: {"hostname": [name]})
        assert all(map(ENTRY.fullmatch, entries.render_section(own, "name", {}).splitlines()[2:]))
    for area in cluster["storage"]:
        for key in ("path", "root", "link"):
            assert not re.search(r"[\0-\x1f\x7f`;|&<>\"'\\!*?()]", re.sub(r"\{\{.*?\}\}", "", area.get(key, "")))


def enumerated(node: dict[str, Any], document: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Yield the way to each enumerated field of a document that has every field, with each word that it may be."""
    root = schema("cluster")
    node = {**root["$defs"][node["$ref"].rpartition("/")[2]], **node} if "$ref" in node else node
    if is_wrapped(document):
        document, way = document["value"], (*way, "value")
    yield from ((way, word) for word in node.get("enum", ()))
    if isinstance(document, dict):
        for name in document.keys() & node.get("properties", {}).keys():
            yield from enumerated(node["properties"][name], document[name], (*way, name))
    elif isinstance(document, list):
        for at, item in enumerate(document):
            yield from enumerated(node["items"], item, (*way, at))


EVERY_WORD = sorted({one for one in enumerated(schema("cluster"), profile()) if one[0][0] != "human_steps"}, key=str)
"""Without those of manual steps, whose words hang together."""


@pytest.mark.parametrize(("way", "word"), EVERY_WORD)
def test_every_word_of_the_schema_is_known_to_all_roles_and_to_the_audit(tmp_path: Path, way: Any, word: Any) -> None:
    """A word that a profile may say breaks no run: the roles declare, and the audit has its checks."""
    found = looked_at(changed(profile(), way, word), accounts(), tmp_path)
    for host in found or ():
        partition = host.variables["job_scripts_limits"].get("partitions", [""])[0]  # as a user names it
        own = {"job_scripts_partition": partition, "job_scripts_cpu_partition": partition}
        variables = {**host.variables, **own, "job_scripts_templates": ["all"], "conda_state": "present"}
        listed = collect_resources(ROLES, [], [], variables.get).resources
        Plan.of(listed, lambda _name: "nvapi-" + "k" * 64)
        plan_checks(host.variables["cluster"], host.variables["account"], listed, {})
    assert found is not None, "the schema takes it, so the accounts file does"


@pytest.mark.parametrize("part", range(2))
def test_no_text_of_a_profile_or_an_accounts_file_becomes_an_option_a_program_or_a_file(tmp_path, count, part):
    own, sourced, file = profile(), with_sources(), accounts()
    mark = str(tmp_path / "mark-of-the-attack")
    assert looked_at(own, file, tmp_path) is not None
    assert looked_at(sourced, file, tmp_path) is not None
    del started[:]
    accepted = 0
    every = list(documents(own, sourced, file, mark))
    taken = sample(every, 400, "hostile documents")[part::2]
    for whole, way, word in taken:
        made = changed(whole, way, word)
        try:
            found = looked_at(*(own, made) if whole is file else (made, file), tmp_path)
        except AssertionError as error:
            raise AssertionError(f"{way}: {word[:80]!r}: {error}") from None
        accepted += found is not None
    count("hostile documents", len(taken), len(started))
    assert not started
    assert 0 < accepted < len(taken) / 2, "words that people read may be any, and nothing else"
    assert not Path(mark).exists()


@pytest.mark.parametrize(
    ("name", "made", "apart"),
    [("cluster", profile, {"extends", "without", "read", "pypi", "conda"}), ("accounts", accounts, {"ansible_port"})],
)
def test_every_text_of_both_schemas_is_tried(name: str, made: Callable[[], dict[str, Any]], apart: set[str]) -> None:
    """The document that is changed has every field, so a field that comes is tried as well."""
    ways = [tuple(step for step in way if step != "value") for way in texts(made())]
    fields = {step for way in ways for step in way}
    fields_named = set()

    def collect(node: Any) -> None:
        for field, value in node.get("properties", {}).items() if isinstance(node, dict) else ():
            kind = value.get("type", "string") if "enum" not in value else "enum"
            if "string" in kind:
                fields_named.add(field)
            collect(value.get("items", value))

    whole = schema(name)
    for node in (whole, *whole.get("$defs", {}).values()):
        collect(node)
    assert fields_named
    assert fields_named <= fields | apart


def test_there_are_fifty_thousand_documents() -> None:
    assert sum(1 for _one in documents(profile(), with_sources(), accounts(), "mark")) > 50_000
