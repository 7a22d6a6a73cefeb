# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person wants to have at hand on a cluster: where to put what, how to run, what is forbidden.

It is made of the cluster's profile alone. One screen has what a newcomer needs first, in a sentence each; what does not
fit is in the whole sheet, with all that the profile says to people. A fact with a label in the table of facts
(_accounts/fields.py) gets a row. The first line says how old the oldest text is; what is older than a year has a mark.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from .._accounts.fields import FIELDS
from .._text.amounts import count
from .._text.profile_words import (
    INTERNET,
    KINDS,
    SIGNING,
    describe_longest,
    describe_share,
    first_sentence,
    join_phrases,
    join_sentences,
    list_limits,
    list_partitions,
    shorten,
)
from .layout import Line, Span, Terminal, list_item, table_row, wrap_spans

Part = Mapping[str, Any]
DETAIL = ""


class SheetRow(NamedTuple):
    """A word for the first column, and its text. brief: what one screen says of it; None for its first sentence."""

    word: str
    text: str
    brief: str | None = None


class Texts(NamedTuple):
    """What is known of the texts behind a profile.

    unsourced: how many facts of programs have no source or day. months: the age of the oldest text, or None. old: the
    names of facts whose texts are older than a year, such as storage.scratch.bytes.
    """

    unsourced: int = 0
    months: int | None = None
    old: Collection[str] = ()


Rows = Iterator[SheetRow]

COLUMN = 10
IN_SIGNING = ("login", "auth", "os", "arch", "python")
IN_PLACES = ("home", "storage", "links", "caches", "quota_command")
LINES = 25  # of one screen
LINKS = 2  # on one screen
PARTITION_CELLS = 125
OLD = " *"
RESTS_ON = {  # the facts of a row; those of an area are named after it
    **{"login": "login.host", "key": "login.host_keys", "network": "login.network", "with": "auth.archetype"},
    **{"command": "auth.command", "home": "home", "caches": "caches", "how full": "quota_command"},
    **{"jobs": "scheduler.hours", "partitions": "scheduler.partitions", "one GPU": "scheduler.gpu"},
    **{"accounts": "scheduler.accounts_command", "containers": "container", "conda": "conda", "instead": "conda"},
    **{"Internet": "compute.internet", "node disk": "compute.tmp"},
}
LEAST_NEEDED = (  # where one screen is too small, from what is taken out first
    *("instead", "script", "node disk", "accounts", "link", "caches", "command", "Internet", "conda", "containers"),
    *("how full", "rule"),
)


def cheatsheet(profile: Part, texts: Texts | None = None, terminal: Terminal | None = None) -> list[Line]:
    """The lines of a cluster's whole cheat sheet."""
    texts, terminal = texts or Texts(), terminal or Terminal()
    lines = _heading(profile, texts, terminal)
    for heading, rows in _tables(profile).items():
        lines += _titled(heading, [line for row in rows for line in _row(row, row.text, texts, terminal)])
    lines += _list("Rules of the site", profile.get("policies", ()), terminal)
    lines += _list("Mind", profile.get("traps", ()), terminal)
    steps = profile.get("human_steps", ())
    lines += _list("Manual steps", (f"{one['text']} {one.get('url', '')}".rstrip() for one in steps), terminal)
    return lines + _list("More", _links(profile), terminal)


def one_screen(profile: Part, command: str, texts: Texts | None = None, terminal: Terminal | None = None) -> list[Line]:
    """The lines of what a newcomer needs first. command: shows the whole sheet."""
    texts, terminal = texts or Texts(), terminal or Terminal()
    blocks = [("", _heading(profile, texts, terminal))]
    for heading, rows in _tables(profile).items():
        blocks.append(("", [(Span(heading, "bold"),)]))
        for row in rows:
            brief = first_sentence(row.text) if row.brief is None else row.brief
            blocks.append(("script" if row.word.endswith(".sh") else row.word, _row(row, brief, texts, terminal)))
    rules = [f"{first_sentence(text).rstrip('.')}." for text in profile.get("policies", ())]
    blocks += [("", [(Span("Rules of the site", "bold"),)])] if rules else []
    blocks += [("rule" if number else "", _item(text, terminal)) for number, text in enumerate(rules)]
    blocks.append(("", [(Span("More", "bold"),)]))
    blocks += [("link", _item(link, terminal)) for link in _links(profile)[:LINKS]]
    blocks.append(("", _item(f"{command} (notes, traps, all sources)", terminal)))
    return [line for _word, lines in _fitting(blocks) for line in lines]


def _fitting(blocks: Sequence[tuple[str, list[Line]]]) -> list[tuple[str, list[Line]]]:
    """Return the blocks that one screen has room for: without the least needed, from the end."""
    left = list(blocks)
    for word in LEAST_NEEDED:
        for at in range(len(left) - 1, -1, -1):
            if sum(len(lines) for _word, lines in left) <= LINES:
                return left
            if left[at][0] == word:
                del left[at]
    return left


def _heading(profile: Part, texts: Texts, terminal: Terminal) -> list[Line]:
    return wrap_spans(
        (Span(profile.get("name", profile["id"]), "bold"), Span("  " + _standing(profile, texts), "faint")), terminal
    )


def _tables(profile: Part) -> dict[str, Rows]:
    others = {field.name.partition(".")[0] for field in FIELDS} - {*IN_SIGNING, *IN_PLACES}
    return {
        "Login": chain(_signing(profile), _labelled(profile, IN_SIGNING)),
        "Storage": chain(_places(profile), _labelled(profile, IN_PLACES)),
        "Running jobs": chain(_running(profile), _labelled(profile, others)),
    }


def _labelled(profile: Part, sections: Collection[str]) -> Rows:
    """Yield the facts of these sections that have a label, each as a detail."""
    for field in FIELDS:
        section, _dot, key = field.name.partition(".")
        if field.label and section in sections:
            value = profile.get(section, {}).get(key) if key else profile.get(section)
            for number, text in enumerate(value if isinstance(value, list) else [value or ""]):
                yield SheetRow("" if number else field.label, text, DETAIL)


def _row(row: SheetRow, text: str, texts: Texts, terminal: Terminal) -> list[Line]:
    """A row of a table, where it has a text; with the mark where that rests on an old one."""
    name = RESTS_ON.get(row.word, f"storage.{row.word}")
    mark = OLD if row.word and any(f"{fact}.".startswith(f"{name}.") for fact in texts.old) else ""
    return table_row(" ", "", row.word, _named(text) + mark, COLUMN, terminal) if text else []


def _titled(heading: str, lines: list[Line]) -> list[Line]:
    """A blank line, the heading, and the lines."""
    return [(), (Span(heading, "bold"),), *lines]


def _item(text: str, terminal: Terminal) -> list[Line]:
    return list_item("-", _named(text), 2, terminal)


def _list(heading: str, texts: Iterable[str], terminal: Terminal) -> list[Line]:
    """A blank line, the heading, and the texts; nothing where there are none."""
    lines = [line for text in texts for line in _item(text, terminal)]
    return _titled(heading, lines) if lines else []


def _standing(profile: Part, texts: Texts) -> str:
    """Return how far the profile can be trusted."""
    words = [profile["id"], profile.get("status", "own").replace("own", "your own profile")]
    if texts.months is not None:
        words.append(f"oldest source {count(texts.months, 'month')} old")
    if "verified_on" in profile:
        words.append(f"read {profile['verified_on']}")
    if "closing_on" in profile:
        words.append(f"the site shuts it down on {profile['closing_on']}")
    if texts.unsourced and "sources" in profile:
        words.append(f"{count(texts.unsourced, 'fact')} without source or date")
    return ", ".join(words) + (f";{OLD} older than a year" if texts.old else "")


def _signing(profile: Part) -> Rows:
    login, auth = profile["login"], profile.get("auth", {})
    port = f", port {login['port']}" if "port" in login else ""
    jump = f", via the jump host {login['jump']['host']}" if "jump" in login else ""
    yield SheetRow("login", login["host"] + port + jump)
    yield SheetRow("key", ", ".join(login.get("host_keys", ())), ", ".join(login.get("host_keys", ())))
    for host in login.get("hosts", ()):
        yield SheetRow("", join_phrases(host["host"], host.get("arch"), host.get("what")), DETAIL)
    yield SheetRow("network", login.get("network", ""))
    yield SheetRow("", login.get("note", ""), DETAIL)
    hours = f", valid for {auth['certificate_hours']} hours" if "certificate_hours" in auth else ""
    session = f", valid for {auth['session_hours']} hours" if "session_hours" in auth else ""
    yield SheetRow("with", SIGNING.get(auth.get("archetype", ""), "") + hours + session)
    yield SheetRow("factor", auth.get("second_factor", ""), DETAIL)
    yield SheetRow("command", auth.get("command", ""))
    yield SheetRow("keys", join_phrases(auth.get("keys_by"), auth.get("keys_url")), DETAIL)
    yield SheetRow("", auth.get("note", ""), DETAIL)
    yield SheetRow("system", join_phrases(profile.get("os"), *profile.get("arch", ())), DETAIL)


def _places(profile: Part) -> Rows:
    home = profile["home"]
    yield SheetRow("home", join_phrases(home.get("path"), *list_limits(home)))
    yield SheetRow("", home.get("note", ""), DETAIL)
    for area in profile.get("storage", ()):
        ask = area.get("ask", "")
        facts = join_phrases(area.get("path") or area.get("variable"), *list_limits(area))
        brief = join_phrases(first_sentence(ask), *list_limits(area)) if ask else None
        first, *more = [text for text in (facts, ask, area.get("note")) if text]
        yield SheetRow(area["name"], first, brief)
        yield from (SheetRow("", text, DETAIL) for text in more)
    yield SheetRow("links", profile.get("links", {}).get("why", ""), DETAIL)
    caches = profile.get("caches", {})
    below = f"{caches['below']} in {caches['area']}" if "below" in caches else ""
    yield SheetRow("caches", caches.get("path") or below or caches.get("why_not", ""))
    yield SheetRow("how full", profile.get("quota_command", ""))


def _running(profile: Part) -> Rows:
    container = profile.get("container", {})
    yield from _scheduling(profile.get("scheduler", {}))
    where = {True: "on login nodes, too", False: "on compute nodes only"}.get(container.get("on_login"), "")
    module = f"module load {container['module']}" if "module" in container else ""
    images = f"images in {container['images']}" if "images" in container else ""
    there = [container.get("runtime", "none"), *container.get("further", ())]
    tools = " and ".join(name for name in there if name != "none")
    yield SheetRow("containers", join_phrases(tools, where, module, images))
    yield SheetRow("", container.get("uri_note", ""), DETAIL)
    yield SheetRow("", container.get("note", ""), DETAIL)
    for script in profile.get("launchers", ()):
        minutes = f"{script['minutes']} minutes" if "minutes" in script else ""
        yield SheetRow(
            script["name"], join_phrases(script.get("image"), minutes) or "starts a command on a compute node"
        )
        yield SheetRow("", script.get("note", ""), DETAIL)
    conda, compute = profile.get("conda", {}), profile.get("compute", {})
    yield SheetRow(
        "conda",
        join_sentences(conda.get("policy"), conda.get("why")),
        first_sentence(conda.get("why", "")) and f"{conda['policy']}: {first_sentence(conda['why'])}",
    )
    yield SheetRow("instead", conda.get("instead", ""))
    yield SheetRow(
        "Python", join_sentences(*(profile.get("wheels", {}).get(key) for key in ("search", "note"))), DETAIL
    )
    mirrors = profile.get("mirrors", {})
    yield SheetRow(
        "mirrors", join_sentences(join_phrases(mirrors.get("pypi"), mirrors.get("conda")), mirrors.get("note")), DETAIL
    )
    net = INTERNET.get(compute.get("internet", ""), "")
    opened = f"module load {compute['module']}" if "module" in compute else ""
    yield SheetRow("Internet", join_phrases(net, opened, compute.get("proxy")))
    yield SheetRow("node disk", compute.get("tmp", ""))
    yield SheetRow("", compute.get("note", ""), DETAIL)
    yield SheetRow("NCCL", ", ".join(f"{name}={value}" for name, value in compute.get("nccl", {}).items()), DETAIL)


def _scheduling(scheduler: Part) -> Rows:
    """Yield how a job is asked for, and what limits it."""
    account = "a job must name its Slurm account" if scheduler.get("account_required") else ""
    jobs = f"{count(scheduler['jobs'], 'job')} at a time" if "jobs" in scheduler else ""
    yield SheetRow(
        "jobs", join_phrases(KINDS.get(scheduler.get("kind", "")), describe_longest(scheduler), jobs, account)
    )
    if scheduler.get("kind") == "slurm":
        yield SheetRow(
            "yours", "squeue --me lists your jobs, scancel JOB ends a job, sattach JOB.0 shows its output", DETAIL
        )
    ends = " and ".join(filter(None, scheduler.get("account_suffixes", {}).values()))
    yield SheetRow("accounts", scheduler.get("accounts_command", ""))
    yield SheetRow("", f"The Slurm accounts of a project end in {ends}." if ends else "", DETAIL)
    names = list_partitions(scheduler)
    yield SheetRow("partitions", names, shorten(names, PARTITION_CELLS))
    for number, (name, limits) in enumerate(scheduler.get("qos", {}).items()):
        yield SheetRow("" if number else "QOS", f"{name}: {limits}", DETAIL)
    made_by = " (AMD)" if scheduler.get("gpu_vendor") == "amd" else ""
    none = "no node has a GPU" if scheduler.get("gpus_per_node") == [0] else ""
    gpu = scheduler["gpu"] + made_by if "gpu" in scheduler else none
    yield SheetRow("one GPU", gpu, gpu)
    yield SheetRow("a job", scheduler.get("submit", ""), scheduler.get("submit", ""))
    yield SheetRow("GPUs", describe_share(scheduler), DETAIL)
    yield SheetRow("no GPU", scheduler.get("cpu", ""), DETAIL)
    yield from (SheetRow("", text, DETAIL) for text in scheduler.get("notes", ()))


def _links(profile: Part) -> list[str]:
    return [source["url"] for source in profile.get("sources", ()) if "url" in source]


def _named(text: str) -> str:
    """A text whose patterns are words: /scratch/USER."""
    return text.replace("{user[0]}", "U").replace("{user}", "USER").replace("{project}", "PROJECT")


def text_of(lines: Sequence[Line]) -> str:
    """The lines as plain text."""
    return "".join("".join(span.text for span in line) + "\n" for line in lines)
