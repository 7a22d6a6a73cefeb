# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run that keeps the names of all accounts for ssh: what it would write is shown and asked for, and written.

All accounts of the inventory count, whatever the run is limited to: a name tells one account from the others. Sections
of accounts files that this run does not read stay as they are, unless the file is gone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ...module_utils._core import edited_file
from ...module_utils._core.account import Account
from ...module_utils._core.dry_run import DryRunHost
from ...module_utils._core.errors import AccountError, printable
from ...module_utils._core.host import Host
from ...module_utils._core.resource import CHANGES, reconcile
from .._input import extra_vars
from .._input.agreement import Agreement
from .._input.extra_vars import Value
from .._state.fingerprint_key import make_private, state_folder
from . import entries, texts
from .kept import SshNames
from .person import ANYBODY, Person, check, person

if TYPE_CHECKING:
    from .._documents.result import SshConfigPart, SshConfigResult, SshName

Variables = Mapping[str, Any]  # Ansible's, of the host that the part is run for

AGREEMENT = Agreement(
    "the names for ssh",
    {"ssh_config_state": extra_vars.one_of("present", "absent"), "ssh_config_sure": extra_vars.truth},
    "ssh_config_sure",
    "Write this? [y/N] ",
    "nothing was written",
    words=2,
)
DONE: SshConfigPart = {"kind": "ssh_config_part", "changed": False}


class Wish(NamedTuple):
    """What is to be kept. sections: account -> body; names: what is told of each account; gone: sections that go."""

    sections: dict[str, str]
    names: list[SshName]
    gone: list[str]


def kept(variables: Variables, value: Value, state: str | None, foresees: bool) -> SshConfigResult:
    """Keep the names, or say what that would do. state: present or absent, where the task says one.

    Raises AccountError.
    """
    state = state or str(AGREEMENT.settings(variables, value).get("ssh_config_state", "present"))
    host = Host(Account.of_this_process(None), b"")
    config, ours = (edited_file.read_edited_file(host, host.expand(path)).text for path in (texts.CONFIG, texts.FILE))
    found = texts.sections(ours)
    wish = Wish({}, [], list(found)) if state == "absent" else _wish(variables, found, config)
    return _carried_out(host, wish, foresees, config)


def without(variables: Variables, value: Value, foresees: bool) -> SshConfigResult | SshConfigPart:
    """Take out the names of the accounts of this run that are taken out as a whole; most have none.

    Raises AccountError.
    """
    wanted = (value("offboard_only") or "everything", value("offboard_capabilities"))
    tags = [list(value(f"ansible_{one}_tags") or ()) for one in ("run", "skip")]
    if wanted != ("everything", None) or tags not in ([["all"], []], [[], []]):
        return DONE
    host = Host(Account.of_this_process(None), b"")
    config, ours = (edited_file.read_edited_file(host, host.expand(path)).text for path in (texts.CONFIG, texts.FILE))
    gone = [name for name in variables["ansible_play_hosts"] if name in texts.sections(ours)]
    return _carried_out(host, Wish({}, [], gone), foresees, config) if gone else DONE


def _carried_out(host: Host, wish: Wish, foresees: bool, config: str) -> SshConfigResult:
    """Bring it about, or foresee it, and say so."""
    names = SshNames({"sections": wish.sections, "gone": wish.gone})
    if wish.sections and not foresees:
        make_private(state_folder() / "ssh")  # where the entries say that sessions lie: ssh makes no folder
    outcome = reconcile(names, DryRunHost(host) if foresees else host).document()
    told = _mind_others(wish, outcome["after"].get(texts.FILE, ""), config)
    return {
        "kind": "ssh_config",
        "changed": outcome["status"] in CHANGES,
        "failed": bool(outcome["reason"]),
        "msg": str(outcome["reason"] or ""),
        "foreseen": foresees,
        "outcome": cast(Any, {**outcome, "capability": "ssh_config"}),
        "names": told,
    }


def _mind_others(wish: Wish, ours: str, config: str) -> list[SshName]:
    """What is told of each account, and of a name that leads elsewhere since the person's own settings win."""
    if not wish.sections:
        return wish.names
    with person(config, ours) as own:
        elsewhere = {
            one.account: f"leads to {one.found}, not to {one.wanted}: your own settings say so, and win"
            for one in own.ways({name: found for name, found in texts.sections(ours).items() if name in wish.sections})
            if one.wanted != one.found
        }
    return [{**one, "text": elsewhere.get(one["account"], one["text"])} for one in wish.names]


def _wish(variables: Variables, found: Mapping[str, texts.Found], config: str) -> Wish:
    """What all accounts of the inventory are to have. Raises AccountError where none can have anything."""
    hosts = {str(name): variables["hostvars"][name] for name in variables["groups"].get("accounts", ())}
    ours = {name: one for name, one in hosts.items() if "account" in one and "cluster" in one}
    real = {name: one for name, one in ours.items() if one.get("ansible_connection", "ssh") == "ssh"}
    files = {_bytes(_shown(one.get("inventory_file"))) for one in hosts.values()}
    gone = [name for name, one in found.items() if name not in real and (one.source in files or not _is_there(one))]
    others = [one for name, one in found.items() if name not in real and name not in gone]
    if not real and not gone:
        raise AccountError("no account of the inventory is entered by ssh: sandboxes are folders of this machine")
    with person(config) as own:
        own.says(ANYBODY)  # where ssh does not take them at all, that is no account's fault
        made, why = _entries(real, own)
        taken = {name for one in others for name in one.names}

        def is_free(name: str) -> bool:
            return name not in taken and not own.of_its_own(name)

        clusters = [str(one["account"]["cluster"]) for one in real.values()]
        names, jump_users = entries.named(made, clusters, is_free), entries.jumps(made, is_free)
    sections = {one.account: _bytes(entries.body(one, names[one.account], jump_users)) for one in made
                if one.account in names}  # fmt: skip
    gone += [name for name in found if name in real and name not in sections]
    return Wish(sections, [_told(one, names, own_name(one, why)) for one in real], gone)


def own_name(account: str, why: Mapping[str, str]) -> str:
    """Why an account has no entry."""
    user, _at, cluster = account.rpartition("@")
    taken = f"has no entry: {cluster} and {user}-{cluster} are names of your own, which stay as they are"
    return f"has no entry: {why[account]}" if account in why else taken


def _entries(real: Mapping[str, Variables], own: Person) -> tuple[list[entries.Entry], dict[str, str]]:
    """The entries, and why an account has none."""
    made: list[entries.Entry] = []
    why: dict[str, str] = {}
    for name, one in real.items():
        try:
            found = entries.entry(one, _shown(one.get("inventory_file")), own.said_of)
            check(_bytes(entries.body(found, found.long, {})))
            made.append(found)
        except AccountError as error:
            why[name] = str(error)
    return made, why


def _told(account: str, names: Mapping[str, str], why: str) -> SshName:
    return {"account": account, "name": names.get(account, ""), "text": "" if account in names else why}


def _bytes(text: str) -> str:
    """A text as the files are read."""
    return text.encode("utf-8", "surrogateescape").decode("latin-1")


def _shown(file: object) -> str:
    """The accounts file, as it stands in a section."""
    return printable(str(file or "an inventory"), 1000)


def _is_there(one: texts.Found) -> bool:
    """Whether the accounts file of a section still is."""
    return os.path.exists(one.source.encode("latin-1", "replace"))
