# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person wants to have at hand on a cluster: where to put what, how to run, what is forbidden.

It is made of the cluster's profile alone. One screen has what is needed every day, in a sentence each; the whole sheet
has all that the profile says to people. A fact with a label in the table of facts (_accounts/fields.py) gets a row.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from .._accounts.fields import FIELDS
from .._text.amounts import count
from .layout import Line, Span, Terminal, list_item, table_row, wrap_spans

Part = Mapping[str, Any]
DETAIL = ""


class SheetRow(NamedTuple):
    """A word for the first column, and its text. brief: what one screen says of it; None for its first sentence."""

    word: str
    text: str
    brief: str | None = None


Rows = Iterator[SheetRow]

COLUMN = 10
IN_SIGNING = ("login", "auth", "os", "arch", "python")
IN_PLACES = ("home", "storage", "links", "caches", "quota_command")
LINKS = 2  # on one screen
SIGNING = {
    "key": "SSH key",
    "key_otp": "key or password, and a second factor each time",
    "key_then_otp": "SSH key, and then a second factor each time; passwords are refused",
    "password_otp": "password and a second factor; keys are refused",
    "session": "SSH key, once a second factor has opened a session",
    "certificate": "signed SSH key",
    "agent_certificate": "signed SSH key, which the site puts into your forwarded agent",
    "kerberos": "Kerberos ticket",
    "password": "password",
    "no_automation": "you alone, by hand: no program is let in",
}
CLOCKS = {"atime": "last read", "ctime_and_atime": "last changed and read", "age": "last changed"}
WHOSE = {"group": "for the group", "project": "for the project", "site": "for you on all systems of the site"}
IN_JOBS = {
    "ro": "read-only in jobs",
    "absent": "not there in jobs",
    "ticket": "unreadable in jobs, which have no ticket",
}
KINDS = {"slurm": "Slurm", "pbs": "PBS"}
INTERNET = {"full": "jobs reach the Internet", "proxy": "jobs reach it by a proxy", "none": "jobs have none"}


def cheatsheet(profile: Part, unsourced: int = 0, terminal: Terminal | None = None) -> list[Line]:
    """The lines of a cluster's whole cheat sheet.

    unsourced: how many facts that programs rely on have no source or day.
    """
    terminal = terminal or Terminal()
    lines = _heading(profile, unsourced, terminal)
    for heading, rows in _tables(profile).items():
        lines += _table(heading, ((row.word, row.text) for row in rows), terminal)
    lines += _list("Rules of the site", profile.get("policies", ()), terminal)
    lines += _list("Mind", profile.get("traps", ()), terminal)
    steps = profile.get("human_steps", ())
    lines += _list("Manual steps", (f"{one['text']} {one.get('url', '')}".rstrip() for one in steps), terminal)
    return lines + _list("More", _links(profile), terminal)


def one_screen(profile: Part, command: str, unsourced: int = 0, terminal: Terminal | None = None) -> list[Line]:
    """The lines of what is needed every day. command: shows the whole sheet."""
    terminal = terminal or Terminal()
    lines = _heading(profile, unsourced, terminal)
    for heading, rows in _tables(profile).items():
        brief = ((row.word, _first(row.text) if row.brief is None else row.brief) for row in rows)
        lines += _table(heading, brief, terminal)[1:]
    lines += _list(
        "Rules of the site", (f"{_first(text).rstrip('.')}." for text in profile.get("policies", ())), terminal
    )[1:]
    lines += _list("More", [*_links(profile)[:LINKS], f"{command} (notes, traps, partitions, all sources)"], terminal)[
        1:
    ]
    return lines


def _heading(profile: Part, unsourced: int, terminal: Terminal) -> list[Line]:
    return wrap_spans(
        (Span(profile.get("name", profile["id"]), "bold"), Span("  " + _standing(profile, unsourced), "faint")),
        terminal,
    )


def _tables(profile: Part) -> dict[str, Rows]:
    others = {field.name.partition(".")[0] for field in FIELDS} - {*IN_SIGNING, *IN_PLACES}
    return {
        "Signing in": chain(_signing(profile), _labelled(profile, IN_SIGNING)),
        "Where to put what": chain(_places(profile), _labelled(profile, IN_PLACES)),
        "How to run": chain(_running(profile), _labelled(profile, others)),
    }


def _labelled(profile: Part, sections: Collection[str]) -> Rows:
    """Yield the facts of these sections that have a label, each as a detail."""
    for field in FIELDS:
        section, _dot, key = field.name.partition(".")
        if field.label and section in sections:
            value = profile.get(section, {}).get(key) if key else profile.get(section)
            for number, text in enumerate(value if isinstance(value, list) else [value or ""]):
                yield SheetRow("" if number else field.label, text, DETAIL)


def _table(heading: str, rows: Iterable[tuple[str, str]], terminal: Terminal) -> list[Line]:
    """A blank line, the heading, and what has a text."""
    lines: list[Line] = [(), (Span(heading, "bold"),)]
    for word, text in rows:
        lines += table_row(" ", "", word, _named(text), COLUMN, terminal) if text else []
    return lines


def _list(heading: str, texts: Iterable[str], terminal: Terminal) -> list[Line]:
    """A blank line, the heading, and the texts; nothing where there are none."""
    lines = [line for text in texts for line in list_item("-", _named(text), 2, terminal)]
    return [(), (Span(heading, "bold"),), *lines] if lines else []


def _first(text: str) -> str:
    """The first sentence of a text."""
    return re.split(r"(?<=[a-z0-9)][.;]) ", text, maxsplit=1)[0].rstrip(";")


def _standing(profile: Part, unsourced: int) -> str:
    """How far the profile can be trusted."""
    words = [profile["id"], profile.get("status", "own").replace("own", "a profile of your own")]
    if "verified_on" in profile:
        words.append(f"compared with its sources on {profile['verified_on']}")
    if "closing_on" in profile:
        words.append(f"the site shuts it down on {profile['closing_on']}")
    if unsourced and "sources" in profile:
        words.append(f"{count(unsourced, 'fact')} without source or day")
    return ", ".join(words)


def _signing(profile: Part) -> Rows:
    login, auth = profile["login"], profile.get("auth", {})
    port = f", port {login['port']}" if "port" in login else ""
    jump = f", through {login['jump']['host']}" if "jump" in login else ""
    yield SheetRow("login", login["host"] + port + jump)
    for host in login.get("hosts", ()):
        yield SheetRow("", _joined(host["host"], host.get("arch"), host.get("what")), DETAIL)
    yield SheetRow("network", login.get("network", ""))
    yield SheetRow("", login.get("note", ""), DETAIL)
    hours = f", good for {auth['certificate_hours']} hours" if "certificate_hours" in auth else ""
    session = f", good for {auth['session_hours']} hours" if "session_hours" in auth else ""
    yield SheetRow("with", SIGNING.get(auth.get("archetype", ""), "") + hours + session)
    yield SheetRow("factor", auth.get("second_factor", ""), DETAIL)
    yield SheetRow("command", auth.get("command", ""))
    yield SheetRow("keys", _joined(auth.get("keys_by"), auth.get("keys_url")), DETAIL)
    yield SheetRow("", auth.get("note", ""), DETAIL)
    yield SheetRow("system", _joined(profile.get("os"), *profile.get("arch", ())), DETAIL)


def _places(profile: Part) -> Rows:
    home = profile["home"]
    yield SheetRow("home", _joined(home.get("path"), *_limits(home)))
    yield SheetRow("", home.get("note", ""), DETAIL)
    for area in profile.get("storage", ()):
        facts = _joined(area.get("path") or area.get("variable"), *_limits(area))
        first, *more = [text for text in (facts, area.get("ask"), area.get("note")) if text]
        yield SheetRow(area["name"], first)
        yield from (SheetRow("", text, DETAIL) for text in more)
    yield SheetRow("links", profile.get("links", {}).get("why", ""), DETAIL)
    caches = profile.get("caches", {})
    below = f"{caches['below']} in {caches['area']}" if "below" in caches else ""
    yield SheetRow("caches", caches.get("path") or below or caches.get("why_not", ""))
    yield SheetRow("how full", profile.get("quota_command", ""))


def _limits(place: Part) -> list[str]:
    """What holds of a place: its size, whose that is, backup, purge, jobs."""
    said = [size(place["bytes"])] if "bytes" in place else []
    said += [count(place["files"], "file")] if "files" in place else []
    said += [WHOSE[place["per"]]] if place.get("per") in WHOSE and said else []
    if "backup" in place:
        said.append("backed up" if place["backup"] else "no backup")
    if "purge" in place:
        said.append(f"deleted {place['purge']['days']} days after it was {CLOCKS[place['purge']['clock']]}")
    if place.get("on_compute") in IN_JOBS:
        said.append(IN_JOBS[place["on_compute"]])
    return said


def _running(profile: Part) -> Rows:
    container = profile.get("container", {})
    yield from _scheduling(profile.get("scheduler", {}))
    where = {True: "on login nodes, too", False: "on compute nodes only"}.get(container.get("on_login"), "")
    module = f"module load {container['module']}" if "module" in container else ""
    images = f"images in {container['images']}" if "images" in container else ""
    there = [container.get("runtime", "none"), *container.get("further", ())]
    tools = " and ".join(name for name in there if name != "none")
    yield SheetRow("containers", _joined(tools, where, module, images))
    yield SheetRow("", container.get("uri_note", ""), DETAIL)
    yield SheetRow("", container.get("note", ""), DETAIL)
    for script in profile.get("launchers", ()):
        minutes = f"{script['minutes']} minutes" if "minutes" in script else ""
        yield SheetRow(script["name"], _joined(script.get("image"), minutes) or "starts a command on a compute node")
        yield SheetRow("", script.get("note", ""), DETAIL)
    conda, compute = profile.get("conda", {}), profile.get("compute", {})
    yield SheetRow(
        "conda",
        _sentences(conda.get("policy"), conda.get("why")),
        _first(conda.get("why", "")) and f"{conda['policy']}: {_first(conda['why'])}",
    )
    yield SheetRow("instead", conda.get("instead", ""))
    yield SheetRow("Python", _sentences(*(profile.get("wheels", {}).get(key) for key in ("search", "note"))), DETAIL)
    mirrors = profile.get("mirrors", {})
    yield SheetRow(
        "mirrors", _sentences(_joined(mirrors.get("pypi"), mirrors.get("conda")), mirrors.get("note")), DETAIL
    )
    net = INTERNET.get(compute.get("internet", ""), "")
    opened = f"module load {compute['module']}" if "module" in compute else ""
    yield SheetRow("Internet", _joined(net, opened, compute.get("proxy")))
    yield SheetRow("node disk", compute.get("tmp", ""))
    yield SheetRow("", compute.get("note", ""), DETAIL)
    yield SheetRow("NCCL", ", ".join(f"{name}={value}" for name, value in compute.get("nccl", {}).items()), DETAIL)


def _scheduling(scheduler: Part) -> Rows:
    """How a job is asked for, and what limits it."""
    account = "a job names its account" if scheduler.get("account_required") else ""
    jobs = f"{count(scheduler['jobs'], 'job')} at a time" if "jobs" in scheduler else ""
    yield SheetRow("jobs", _joined(KINDS.get(scheduler.get("kind", "")), _longest(scheduler), jobs, account))
    if scheduler.get("kind") == "slurm":
        yield SheetRow("yours", "squeue --me lists them, scancel JOB ends one, sattach JOB.0 shows its output", DETAIL)
    ends = " and ".join(filter(None, scheduler.get("account_suffixes", {}).values()))
    yield SheetRow("accounts", scheduler.get("accounts_command", ""))
    yield SheetRow("", f"The accounts of a project end in {ends}." if ends else "", DETAIL)
    hours = scheduler.get("partition_hours", {})
    names = (f"{name} ({hours[name]:g} h)" if name in hours else name for name in scheduler.get("partitions", ()))
    yield SheetRow("partitions", ", ".join(names), DETAIL)
    for number, (name, limits) in enumerate(scheduler.get("qos", {}).items()):
        yield SheetRow("" if number else "QOS", f"{name}: {limits}", DETAIL)
    made_by = " (AMD)" if scheduler.get("gpu_vendor") == "amd" else ""
    yield SheetRow("one GPU", scheduler["gpu"] + made_by if "gpu" in scheduler else "")
    yield SheetRow("GPUs", _share(scheduler), DETAIL)
    yield SheetRow("no GPU", scheduler.get("cpu", ""), DETAIL)
    yield from (SheetRow("", text, DETAIL) for text in scheduler.get("notes", ()))


def _longest(scheduler: Part) -> str:
    """How long a job may last in the partition that it gets with a GPU, else anywhere."""
    partition = "".join(re.findall(r"(?:--partition=|-p )(\S+)", scheduler.get("gpu", "")))
    hours = scheduler.get("partition_hours", {}).get(partition, scheduler.get("hours"))
    return f"at most {hours:g} hours" if hours else ""


def _share(scheduler: Part) -> str:
    """What a job with GPUs may have of a node."""
    numbers = scheduler.get("gpus_per_node", [])
    if numbers == [0]:
        return "no node has one"
    is_range = len(numbers) > 2 and numbers == [*range(numbers[0], numbers[-1] + 1)]
    many = f"{numbers[0]} to {numbers[-1]}" if is_range else " or ".join(map(str, numbers))
    processors = count(scheduler["cpus_per_gpu"], "processor") if "cpus_per_gpu" in scheduler else ""
    share = " and ".join(filter(None, (processors, scheduler.get("memory_per_gpu"))))
    whole = "whole nodes are charged" if scheduler.get("whole_nodes") else ""
    return "; ".join(filter(None, (f"{many} on a node" if many else "", f"{share} for each" if share else "", whole)))


def _links(profile: Part) -> list[str]:
    return [source["url"] for source in profile.get("sources", ()) if "url" in source]


def size(number: int) -> str:
    """Bytes as a person says them; in GiB and TiB where the site counts in those."""
    units = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6))
    if number % 2**30 == 0:
        units = (("TiB", 2**40), ("GiB", 2**30), ("MB", 10**6))
    unit, factor = next((one for one in units if number >= one[1]), ("B", 1))
    return f"{number / factor:g} {unit}"


def _joined(*words: str | None) -> str:
    return ", ".join(word.rstrip(".") if at < len(words) - 1 else word for at, word in enumerate(words) if word)


def _sentences(*texts: str | None) -> str:
    said = [text for text in texts if text]
    return ". ".join(text.rstrip(".") for text in said) + ("." if len(said) > 1 else "")


def _named(text: str) -> str:
    """A text whose patterns are words: /scratch/USER."""
    return text.replace("{user[0]}", "U").replace("{user}", "USER").replace("{project}", "PROJECT")


def text_of(lines: Sequence[Line]) -> str:
    """The lines as plain text."""
    return "".join("".join(span.text for span in line) + "\n" for line in lines)
