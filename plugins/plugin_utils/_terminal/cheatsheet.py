# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person wants to have at hand on a cluster, on one screen: where to put what, how to run, what is forbidden.

It is made of the cluster's profile alone, and shows every word of it that no program reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.layout import Line, Look, Span, broken, item, row
from ansible_collections.hpc.onboard.plugins.plugin_utils._text.amounts import count

Part = Mapping[str, Any]
Rows = Iterator[tuple[str, str]]  # a word for the first column, and its text

COLUMN = 10
SIGNING = {
    "key": "SSH key",
    "key_otp": "key or password, and a second factor each time",
    "password_otp": "password and a second factor; keys are refused",
    "session": "SSH key, once a second factor has opened a session",
    "certificate": "signed SSH key",
    "agent_certificate": "signed SSH key, which the site puts into your forwarded agent",
    "kerberos": "Kerberos ticket",
    "password": "password",
}
CLOCKS = {"atime": "last read", "ctime_and_atime": "last changed and read", "age": "last changed"}
WHOSE = {"group": "for the group", "project": "for the project", "site": "for you on all systems of the site"}
IN_JOBS = {
    "ro": "read-only in jobs",
    "absent": "not there in jobs",
    "ticket": "unreadable in jobs, which have no ticket",
}
INTERNET = {"full": "jobs reach the Internet", "proxy": "jobs reach it by a proxy", "none": "jobs have none"}


def cheatsheet(profile: Part, unsourced: int = 0, look: Look | None = None) -> list[Line]:
    """The lines of a cluster's cheat sheet. unsourced: how many facts that programs rely on have no source or day."""
    look = look or Look()
    tables = {"Signing in": _signing(profile), "Where to put what": _places(profile), "How to run": _running(profile)}
    lists = {
        "Rules of the site": profile.get("policies", ()),
        "Mind": profile.get("traps", ()),
        "More": _links(profile),
    }
    lines = broken((Span(profile["name"], "bold"), Span("  " + _standing(profile, unsourced), "faint")), look)
    for heading, rows in tables.items():
        lines += [(), (Span(heading, "bold"),)]
        for word, text in rows:
            lines += row(" ", "", word, _named(text), COLUMN, look) if text else []
    for heading, texts in lists.items():
        if texts:
            lines += [(), (Span(heading, "bold"),)]
            lines += [line for text in texts for line in item("-", _named(text), 2, look)]
    return lines


def _standing(profile: Part, unsourced: int) -> str:
    """How far the profile can be trusted."""
    words = [profile["id"], profile["status"], f"compared with its sources on {profile['verified_on']}"]
    if "closing_on" in profile:
        words.append(f"the site shuts it down on {profile['closing_on']}")
    if unsourced:
        words.append(f"{count(unsourced, 'fact')} without source or day")
    return ", ".join(words)


def _signing(profile: Part) -> Rows:
    login, auth = profile["login"], profile["auth"]
    port = f", port {login['port']}" if "port" in login else ""
    jump = f", through {login['jump']['host']}" if "jump" in login else ""
    yield "login", login["host"] + port + jump
    for host in login.get("hosts", ()):
        yield "", _joined(host["host"], host.get("arch"), host.get("what"))
    yield "network", login.get("network", "")
    yield "", login.get("note", "")
    hours = f", good for {auth['certificate_hours']} hours" if "certificate_hours" in auth else ""
    session = f", good for {auth['session_hours']} hours" if "session_hours" in auth else ""
    yield "with", SIGNING[auth["archetype"]] + hours + session
    yield "factor", auth.get("second_factor", "")
    yield "command", auth.get("command", "")
    yield "keys", _joined(auth.get("keys_by"), auth.get("keys_url"))
    yield "", auth.get("note", "")
    yield "system", _joined(profile.get("os"), *profile.get("arch", ()))


def _places(profile: Part) -> Rows:
    home = profile["home"]
    yield "home", _joined(home.get("path"), *_limits(home))
    yield "", home.get("note", "")
    for area in profile["storage"]:
        facts = _joined(area.get("path") or area.get("variable"), *_limits(area))
        first, *more = [text for text in (facts, area.get("ask"), area.get("note")) if text]
        yield area["name"], first
        yield from (("", text) for text in more)
    yield "links", profile["links"].get("why", "")
    caches = profile.get("caches", {})
    below = f"{caches['below']} in {caches['area']}" if "below" in caches else ""
    yield "caches", caches.get("path") or below or caches.get("why_not", "")
    yield "how full", profile.get("quota_command", "")


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
    scheduler, container = profile["scheduler"], profile["container"]
    account = "a job names its account" if scheduler.get("account_required") else ""
    longest = f"at most {scheduler['hours']} hours" if "hours" in scheduler else ""
    jobs = f"{count(scheduler['jobs'], 'job')} at a time" if "jobs" in scheduler else ""
    yield "jobs", _joined(scheduler["kind"].replace("slurm", "Slurm").replace("pbs", "PBS"), longest, jobs, account)
    yield "accounts", scheduler.get("accounts_command", "")
    yield "partitions", ", ".join(scheduler.get("partitions", ()))
    yield "one GPU", scheduler.get("gpu", "")
    yield from (("", text) for text in scheduler.get("notes", ()))
    where = {True: "on login nodes, too", False: "on compute nodes only"}.get(container.get("on_login"), "")
    module = f"module load {container['module']}" if "module" in container else ""
    images = f"images in {container['images']}" if "images" in container else ""
    tools = " and ".join([container["runtime"], *container.get("further", ())])
    yield "containers", _joined(tools, where, module, images)
    yield "", container.get("uri_note", "")
    yield "", container.get("note", "")
    for script in profile.get("launchers", ()):
        yield script["name"], _joined(script["image"], f"{script['minutes']} minutes")
        yield "", script.get("note", "")
    conda, compute = profile["conda"], profile.get("compute", {})
    yield "conda", _sentences(conda["policy"], conda.get("why"))
    yield "instead", conda.get("instead", "")
    yield "Python", _sentences(*(profile.get("wheels", {}).get(key) for key in ("search", "note")))
    mirrors = profile.get("mirrors", {})
    yield "mirrors", _sentences(_joined(mirrors.get("pypi"), mirrors.get("conda")), mirrors.get("note"))
    net = INTERNET.get(compute.get("internet", ""), "")
    opened = f"module load {compute['module']}" if "module" in compute else ""
    yield "Internet", _joined(net, opened, compute.get("proxy"))
    yield "node disk", compute.get("tmp", "")
    yield "", compute.get("note", "")


def _links(profile: Part) -> list[str]:
    return [source["url"] for source in profile["sources"] if "url" in source]


def size(number: int) -> str:
    """Bytes as a person says them."""
    unit, factor = next((one for one in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6)) if number >= one[1]), ("B", 1))
    return f"{number / factor:g} {unit}"


def _joined(*words: str | None) -> str:
    return ", ".join(word.rstrip(".") if at < len(words) - 1 else word for at, word in enumerate(words) if word)


def _sentences(*texts: str | None) -> str:
    said = [text for text in texts if text]
    return ". ".join(text.rstrip(".") for text in said) + ("." if len(said) > 1 else "")


def _named(text: str) -> str:
    """A text whose patterns are words: /scratch/USER."""
    return text.replace("{user}", "USER").replace("{project}", "PROJECT")


def text_of(lines: Sequence[Line]) -> str:
    """The lines as plain text."""
    return "".join("".join(span.text for span in line) + "\n" for line in lines)
