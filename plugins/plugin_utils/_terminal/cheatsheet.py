# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cheat sheet of a cluster: login, storage, jobs, rules of the site and links.

Its only source is the cluster's profile. The short form fits one screen, with one sentence for each fact; the whole
sheet contains all facts and notes. A fact with a label in the table of facts (_accounts/fields.py) gets a row. The
first line shows the age of the oldest source; facts from sources older than a year have a mark.
A profile has sections, such as login, with facts, such as login.host. A site is the centre that runs the cluster.
LOGIN_METHODS, SCHEDULERS and INTERNET contain the texts for the values of some facts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from .._accounts.fields import FIELDS
from .._text.amounts import count
from .._text.profile_words import (
    INTERNET,
    LOGIN_METHODS,
    SCHEDULERS,
    describe_longest_job,
    describe_share,
    first_clause,
    join_phrases,
    join_sentences,
    list_limits,
    list_partitions,
    shorten,
)
from .layout import Line, Span, Terminal, list_item, table_row, wrap_spans

Part = Mapping[str, Any]  # a profile, or a section of it
DETAIL = ""  # brief text of a row that only the whole sheet contains


class SheetRow(NamedTuple):
    """A row: a label (word) and a text. brief: the text on one screen; None for the first sentence of the text."""

    word: str
    text: str
    brief: str | None = None


class SourceSummary(NamedTuple):
    """The age of the sources of a profile.

    unsourced: number of facts without a source or date. months: the age of the oldest source, if known. old: names of
    facts whose source is older than a year, such as storage.scratch.bytes.
    """

    unsourced: int = 0
    months: int | None = None
    old: Collection[str] = ()


Rows = Iterator[SheetRow]
COLUMN = 10  # cells for the word of a row
LOGIN_SECTIONS = ("login", "auth", "os", "arch", "python")
STORAGE_SECTIONS = ("home", "storage", "links", "caches", "quota_command")
LINES, LINKS = 25, 2  # of one screen
PARTITION_CELLS = 125  # for the names of partitions on one screen
OLD_MARK = " *"  # after a fact from an old source
FACTS = {  # word of a row -> its facts in the profile; other rows are storage areas
    **{"login": "login.host", "key": "login.host_keys", "network": "login.network", "with": "auth.archetype"},
    **{"command": "auth.command", "home": "home", "caches": "caches", "how full": "quota_command"},
    **{"jobs": "scheduler.hours", "partitions": "scheduler.partitions", "one GPU": "scheduler.gpu"},
    **{"accounts": "scheduler.accounts_command", "containers": "container", "conda": "conda", "instead": "conda"},
    **{"Internet": "compute.internet", "node disk": "compute.tmp"},
}
LEAST_NEEDED = (  # rows to remove until the sheet fits one screen, in this order
    *("instead", "script", "node disk", "accounts", "link", "caches", "command", "Internet", "conda", "containers"),
    *("how full", "rule"),
)


def build_sheet(profile: Part, sources: SourceSummary, terminal: Terminal) -> list[Line]:
    """Return the lines of the whole cheat sheet of a cluster (its profile), with marks for facts from old sources."""
    lines = _heading(profile, sources, terminal)
    for heading, rows in _build_tables(profile).items():
        lines += [(), (Span(heading, "bold"),)]
        lines += [line for row in rows for line in _row_lines(row, row.text, sources, terminal)]
    lists = {
        "Rules of the site": profile.get("policies", ()),
        "Pitfalls": profile.get("traps", ()),
        "Manual steps": [f"{step['text']} {step.get('url', '')}".rstrip() for step in profile.get("human_steps", ())],
        "More": _list_links(profile),
    }
    for heading, texts in lists.items():
        lines += [(), (Span(heading, "bold"),)] if texts else []
        lines += [line for text in texts for line in _list_item(text, terminal)]
    return lines


def build_one_screen(profile: Part, command: str, sources: SourceSummary, terminal: Terminal) -> list[Line]:
    """Return the lines of a cheat sheet that fits one screen. command: shows the whole sheet."""
    blocks = [("", _heading(profile, sources, terminal))]  # word of a row ("": always shown), and its lines
    for heading, rows in _build_tables(profile).items():
        blocks.append(("", [(Span(heading, "bold"),)]))
        for row in rows:
            brief = first_clause(row.text) if row.brief is None else row.brief
            word = "script" if row.word.endswith(".sh") else row.word
            blocks.append((word, _row_lines(row, brief, sources, terminal)))
    rules = [f"{first_clause(text).rstrip('.')}." for text in profile.get("policies", ())]
    blocks += [("", [(Span("Rules of the site", "bold"),)])] if rules else []
    # the first rule is always shown
    blocks += [("rule" if number else "", _list_item(text, terminal)) for number, text in enumerate(rules)]
    blocks.append(("", [(Span("More", "bold"),)]))
    blocks += [("link", _list_item(link, terminal)) for link in _list_links(profile)[:LINKS]]
    blocks.append(("", _list_item(f"{command} (notes, pitfalls, all sources)", terminal)))
    return [line for _word, lines in _fit_screen(blocks) for line in lines]


def _fit_screen(blocks: Sequence[tuple[str, list[Line]]]) -> list[tuple[str, list[Line]]]:
    """Return the blocks that fit one screen.

    blocks: word of a row (empty for a line that is always needed), and its lines. Blocks with a word of LEAST_NEEDED
    are removed in the order of that table, and from the end for the same word.
    """
    kept_blocks = list(blocks)
    for word in LEAST_NEEDED:
        for index in range(len(kept_blocks) - 1, -1, -1):
            if sum(len(lines) for _word, lines in kept_blocks) <= LINES:
                return kept_blocks
            if kept_blocks[index][0] == word:
                del kept_blocks[index]
    return kept_blocks


def _heading(profile: Part, sources: SourceSummary, terminal: Terminal) -> list[Line]:
    """Return the first line: the cluster's name, and the status of its profile."""
    name, status = profile.get("name", profile["id"]), _describe_status(profile, sources)
    return wrap_spans((Span(name, "bold"), Span(f"  {status}", "faint")), terminal)


def _build_tables(profile: Part) -> dict[str, Rows]:
    """Return the rows of each table, by the table's heading."""
    job_sections = {field.name.partition(".")[0] for field in FIELDS} - {*LOGIN_SECTIONS, *STORAGE_SECTIONS}
    return {
        "Login": chain(_login_rows(profile), _labelled_rows(profile, LOGIN_SECTIONS)),
        "Storage": chain(_storage_rows(profile), _labelled_rows(profile, STORAGE_SECTIONS)),
        "Running jobs": chain(_job_rows(profile), _labelled_rows(profile, job_sections)),
    }


def _labelled_rows(profile: Part, sections: Collection[str]) -> Rows:
    """Yield the facts of these sections that have a label in FIELDS, the table of facts; for the whole sheet only."""
    for field in FIELDS:
        section, _dot, key = field.name.partition(".")
        if field.label and section in sections:
            value = profile.get(section, {}).get(key) if key else profile.get(section)
            for number, text in enumerate(value if isinstance(value, list) else [value or ""]):
                yield SheetRow("" if number else field.label, text, DETAIL)  # the label only in the first row


def _row_lines(row: SheetRow, text: str, sources: SourceSummary, terminal: Terminal) -> list[Line]:
    """Return a row with this text, its own or the brief one, and a mark if its source is old; no lines without text."""
    name = FACTS.get(row.word, f"storage.{row.word}")  # of the fact; home.bytes is a part of home, but homes is not
    mark = OLD_MARK if row.word and any(f"{fact}.".startswith(f"{name}.") for fact in sources.old) else ""
    return table_row(" ", "", row.word, _expand_patterns(text) + mark, COLUMN, terminal) if text else []


def _list_item(text: str, terminal: Terminal) -> list[Line]:
    """Return the lines of a list item (text), such as a rule of the site."""
    return list_item("-", _expand_patterns(text), 2, terminal)


def _describe_status(profile: Part, sources: SourceSummary) -> str:
    """Return the id and status of the profile, and the age of its sources."""
    status = profile.get("status", "own")
    parts = [profile["id"], "your own profile" if status == "own" else status]
    if sources.months is not None:
        parts.append(f"oldest source {count(sources.months, 'month')} old")
    if "verified_on" in profile:
        parts.append(f"checked {profile['verified_on']}")
    if "closing_on" in profile:
        parts.append(f"the site will shut down the cluster on {profile['closing_on']}")
    if sources.unsourced and "sources" in profile:
        parts.append(f"{count(sources.unsourced, 'fact')} without a source or date")
    return ", ".join(parts) + (f";{OLD_MARK} older than a year" if sources.old else "")  # the meaning of the mark


def _login_rows(profile: Part) -> Rows:
    """Yield the rows about login nodes, networks and authentication; a row without text is not shown."""
    login, auth = profile["login"], profile.get("auth", {})
    port = f"port {login['port']}" if "port" in login else ""
    jump = f"via the jump host {login['jump']['host']}" if "jump" in login else ""
    yield SheetRow("login", join_phrases(login["host"], port, jump))
    host_keys = ", ".join(login.get("host_keys", ()))
    yield SheetRow("key", host_keys, brief=host_keys)  # a fingerprint is never shortened
    for host in login.get("hosts", ()):
        yield SheetRow("", join_phrases(host["host"], host.get("arch"), host.get("what")), DETAIL)
    yield SheetRow("network", login.get("network", ""))
    yield SheetRow("", login.get("note", ""), DETAIL)
    hours = f", valid for {count(auth['certificate_hours'], 'hour')}" if "certificate_hours" in auth else ""
    session = f", valid for {count(auth['session_hours'], 'hour')}" if "session_hours" in auth else ""
    yield SheetRow("with", LOGIN_METHODS.get(auth.get("archetype", ""), "") + hours + session)
    yield SheetRow("factor", auth.get("second_factor", ""), DETAIL)
    yield SheetRow("command", auth.get("command", ""))
    yield SheetRow("keys", join_phrases(auth.get("keys_by"), auth.get("keys_url")), DETAIL)
    yield SheetRow("", auth.get("note", ""), DETAIL)
    yield SheetRow("system", join_phrases(profile.get("os"), *profile.get("arch", ())), DETAIL)


def _storage_rows(profile: Part) -> Rows:
    """Yield the rows about the home directory, the storage areas and caches; a row without text is not shown."""
    home = profile["home"]
    yield SheetRow("home", join_phrases(home.get("path"), *list_limits(home)))
    yield SheetRow("", home.get("note", ""), DETAIL)
    for area in profile.get("storage", ()):
        ask = area.get("ask", "")  # how the user finds the path, if it differs for each account
        facts = join_phrases(area.get("path") or area.get("variable"), *list_limits(area))
        brief = join_phrases(first_clause(ask), *list_limits(area)) if ask else None
        first, *others = [text for text in (facts, ask, area.get("note")) if text]
        yield SheetRow(area["name"], first, brief)
        yield from (SheetRow("", text, DETAIL) for text in others)
    yield SheetRow("links", profile.get("links", {}).get("why", ""), DETAIL)
    caches = profile.get("caches", {})
    below = f"{caches['below']} in {caches['area']}" if "below" in caches else ""  # a folder in a storage area
    yield SheetRow("caches", caches.get("path") or below or caches.get("why_not", ""))
    yield SheetRow("how full", profile.get("quota_command", ""))


def _job_rows(profile: Part) -> Rows:
    """Yield the rows about jobs, containers, conda and compute nodes; a row without text is not shown."""
    yield from _scheduler_rows(profile.get("scheduler", {}))
    yield from _container_rows(profile.get("container", {}), profile.get("launchers", ()))
    conda, compute = profile.get("conda", {}), profile.get("compute", {})
    reason = first_clause(conda.get("why", ""))
    brief = f"{conda['policy']}: {reason}" if reason else ""  # without a reason, only the whole sheet has this row
    yield SheetRow("conda", join_sentences(conda.get("policy"), conda.get("why")), brief)
    yield SheetRow("instead", conda.get("instead", ""))
    wheels = profile.get("wheels", {})
    yield SheetRow("Python", join_sentences(wheels.get("search"), wheels.get("note")), DETAIL)
    mirrors = profile.get("mirrors", {})
    addresses = join_phrases(mirrors.get("pypi"), mirrors.get("conda"))
    yield SheetRow("mirrors", join_sentences(addresses, mirrors.get("note")), DETAIL)
    access = INTERNET.get(compute.get("internet", ""), "")
    module = f"module load {compute['module']}" if "module" in compute else ""
    yield SheetRow("Internet", join_phrases(access, module, compute.get("proxy")))
    yield SheetRow("node disk", compute.get("tmp", ""))
    yield SheetRow("", compute.get("note", ""), DETAIL)
    yield SheetRow("NCCL", ", ".join(f"{name}={value}" for name, value in compute.get("nccl", {}).items()), DETAIL)


def _container_rows(container: Part, launchers: Sequence[Part]) -> Rows:
    """Yield the rows about containers and the site's scripts that start jobs. Both are sections of the profile."""
    places: dict[object, str] = {True: "also on login nodes", False: "only on compute nodes"}
    where = places.get(container.get("on_login"), "")
    module = f"module load {container['module']}" if "module" in container else ""
    images = f"images in {container['images']}" if "images" in container else ""
    runtimes = [container.get("runtime", "none"), *container.get("further", ())]
    tools = " and ".join(name for name in runtimes if name != "none")
    yield SheetRow("containers", join_phrases(tools, where, module, images))
    yield SheetRow("", container.get("uri_note", ""), DETAIL)
    yield SheetRow("", container.get("note", ""), DETAIL)
    for script in launchers:
        minutes = count(script["minutes"], "minute") if "minutes" in script else ""
        text = join_phrases(script.get("image"), minutes) or "starts a command on a compute node"
        yield SheetRow(script["name"], text)
        yield SheetRow("", script.get("note", ""), DETAIL)


def _scheduler_rows(scheduler: Part) -> Rows:
    """Yield the rows about submitting jobs and their limits. scheduler: this section of the profile."""
    kind = scheduler.get("kind", "")
    account = "each job must name a Slurm account" if scheduler.get("account_required") else ""
    jobs = f"{count(scheduler['jobs'], 'job')} at a time" if "jobs" in scheduler else ""
    yield SheetRow("jobs", join_phrases(SCHEDULERS.get(kind), describe_longest_job(scheduler), jobs, account))
    if kind == "slurm":
        yield SheetRow(
            "yours", "squeue --me lists your jobs, scancel JOB cancels a job, sattach JOB.0 shows its output", DETAIL
        )
    ends = " and ".join(filter(None, scheduler.get("account_suffixes", {}).values()))  # of names of Slurm accounts
    yield SheetRow("accounts", scheduler.get("accounts_command", ""))
    yield SheetRow("", f"The name of each of a project's Slurm accounts ends in {ends}." if ends else "", DETAIL)
    names = list_partitions(scheduler)
    yield SheetRow("partitions", names, shorten(names, PARTITION_CELLS))
    for number, (name, limits) in enumerate(scheduler.get("qos", {}).items()):
        yield SheetRow("" if number else "QOS", f"{name}: {limits}", DETAIL)
    vendor = " (AMD)" if scheduler.get("gpu_vendor") == "amd" else ""
    no_gpu = "no node has a GPU" if scheduler.get("gpus_per_node") == [0] else ""
    gpu = scheduler["gpu"] + vendor if "gpu" in scheduler else no_gpu  # the options that request one GPU
    yield SheetRow("one GPU", gpu, brief=gpu)  # options and commands are never shortened
    yield SheetRow("a job", scheduler.get("submit", ""), brief=scheduler.get("submit", ""))
    yield SheetRow("GPUs", describe_share(scheduler), DETAIL)
    yield SheetRow("no GPU", scheduler.get("cpu", ""), DETAIL)
    yield from (SheetRow("", text, DETAIL) for text in scheduler.get("notes", ()))


def _list_links(profile: Part) -> list[str]:
    """Return the URLs of the profile's sources."""
    return [source["url"] for source in profile.get("sources", ()) if "url" in source]


def _expand_patterns(text: str) -> str:
    """Return the text with words in place of patterns, such as /scratch/USER."""
    return text.replace("{user[0]}", "U").replace("{user}", "USER").replace("{project}", "PROJECT")
