# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of a new profile: what was answered, and in comments what could be said further, each with an example."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from .._input.json_schema import matches, write_yaml
from .profiles import schema

USUAL_FOLDER = "our-clusters"  # for profiles of the user's own, next to the accounts file
NAME = re.compile(r"[a-z][a-z0-9_-]*")


class ProfileQuestion(NamedTuple):
    """What is asked of a cluster. place: where the answer goes; its form is the schema's."""

    name: str
    text: str
    place: tuple[str, ...]
    example: str
    is_needed: bool = False

    @property
    def hint(self) -> str:
        """Return what stands behind the question."""
        return f"such as {self.example}" + ("" if self.is_needed else "; Enter: not said")

    @property
    def form(self) -> str:
        """Return what an answer must be."""
        return str(self._schema()["description"]).rstrip(".")

    def fits(self, answer: str) -> bool:
        """Return True if an answer has the form that a profile needs."""
        asked = self._schema()
        allowed = not asked.get("enum") or answer in asked["enum"]
        return (
            allowed
            and matches(str(asked.get("pattern", "")), answer)
            and (asked.get("type") != "integer" or answer.isdigit())
        )

    def _schema(self) -> dict[str, Any]:
        node: dict[str, Any] = schema("cluster")
        for step in self.place:
            node = node["properties"][step]
        reference = node.get("$ref", "")
        beyond = schema("cluster")["$defs"][reference.rpartition("/")[2]] if reference else {}
        return {**beyond, **node}


QUESTIONS = (
    ProfileQuestion("title", "the full name of the cluster", ("name",), "Cluster of our institute"),
    ProfileQuestion("host", "its login node", ("login", "host"), "login.example.org", is_needed=True),
    ProfileQuestion("jump", "the jump host in front of it", ("login", "jump", "host"), "gate.example.org"),
    ProfileQuestion("home", "the path of the home directories", ("home", "path"), "/home/{user}"),
    ProfileQuestion("runtime", "the container runtime of jobs", ("container", "runtime"), "apptainer"),
)
HEAD = """\
# {name}: a cluster of our own. Format: docs/schemas/profile.schema.json
#
# Needed are id, login and home. Every other line is a fact that you may add: take out its # and put in your own.
# {{user}} and {{project}} in a path are filled in for each account. Is it right?  hpc-onboard profile check FILE
---
format: 2
id: {name}
"""
FURTHER = """\

# Storage beside the home: an area gets a link in the home. create: whether you may make your folder below root.
# storage:
#   - name: scratch
#     path: /scratch/{user}
#     root: /scratch
#     create: true
#     link: scratch
#     bytes: 10000000000000
#     purge: {days: 30, clock: atime}
#   - name: project
#     variable: $PROJECT
#     link: project
# links: {by: us}          # site, where the site makes them itself

# Where caches of containers belong, and where everything does that grows.
# caches: {area: scratch, below: apptainer, off_home: scratch}

# conda of one's own: allowed, discouraged or refused; and the area that it goes to.
# conda: {policy: allowed, area: project, below: conda}

# How one gets in: key, key_otp, key_then_otp, password_otp, session, certificate, kerberos or password.
# auth: {archetype: key}

# scheduler: {kind: slurm, partitions: [gpu], gpu: --gres=gpu:1}
# quota_command: quota -s

# What only a person can do, and what surprises people there.
# human_steps:
#   - {id: account, text: Ask for an account., url: "https://example.org/account", done: reached}
# traps:
#   - The home cannot be written to in jobs.

# Who says all this, and when it was last compared. Once there are sources, each fact needs one (docs/clusters.md).
# status: documented
# verified_on: 2026-11-22
# sources:
#   - {id: manual, url: "https://example.org/manual", what: storage, read: 2026-11-22}
"""


def render_profile(name: str, answers: Mapping[str, str], model: tuple[str, str] | None = None) -> str:
    """The text of a profile of that name. model: name and text of the one that it is made from, which it follows."""
    return _render_copy(name, answers, *model) if model else _render_new(name, answers)


def _render_new(name: str, answers: Mapping[str, str]) -> str:
    """A profile that says what was answered, and what else could be said."""
    jump, home, runtime = (answers.get(word) for word in ("jump", "home", "runtime"))
    lines = [
        write_yaml("name", answers["title"]) if "title" in answers else "# name: Cluster of our institute",
        "",
        "login:",
        f"  {write_yaml('host', answers['host'])}",
        "  # port: 22",
        f"  {write_yaml('jump', {'host': jump})}" if jump else "  # jump: {host: gate.example.org}",
        "",
        f"home:\n  {write_yaml('path', home)}" if home else "home: {}  # or, each on a line below: path: /home/{user}",
        "  # bytes: 50000000000" if home else "# bytes: 50000000000",
        "",
        f"# The container tool that jobs use: {', '.join(_list_runtimes())}.",
        write_yaml("container", {"runtime": runtime})
        if runtime
        else "# container: {runtime: apptainer, on_login: true}",
    ]
    return HEAD.format(name=name) + "\n".join(lines) + "\n" + FURTHER


def _list_runtimes() -> list[str]:
    """Return the container tools that a profile may name."""
    words: list[str] = schema("cluster")["properties"]["container"]["properties"]["runtime"]["enum"]
    return words


def _render_copy(name: str, answers: Mapping[str, str], model: str, written: str) -> str:
    """The text of another profile with these answers in it; what it says of itself is not said of the new one."""
    body = written.partition("\n---\n")[2] or written
    body = re.sub(r"(?m)^(verified_on|closing_on|formerly):.*\n", "", body)
    for key, value in {"id": name, "name": answers.get("title", name), "status": "own"}.items():
        body = re.sub(rf"(?m)^{key}:.*$", write_yaml(key, value).replace("\\", r"\\"), body, count=1)
    if "host" in answers:
        body = _replace_fact(body, "login", "host", answers["host"])
    if "home" in answers:
        body = _replace_fact(body, "home", "path", answers["home"])
    if "jump" in answers:
        body = _replace_fact(body, "login", "jump", {"host": answers["jump"]})
    if "runtime" in answers:
        body = _replace_fact(body, "container", "runtime", answers["runtime"])
    head = f"# {name}: made from the profile of {model}. All that it says is true of that one: compare each fact.\n"
    return f"{head}# Format: docs/schemas/profile.schema.json\n---\n{body}"


def _replace_fact(body: str, section: str, key: str, value: Any) -> str:
    """The text with a key of a section said anew; what the section said of it goes, with all that was below it."""
    found = re.search(rf"(?m)^{section}:[ \t]*(\n(?:[ \t#].*\n|\n(?=[ \t]))*|\S.*\n)", body)
    line = f"  {write_yaml(key, value)}\n"
    if found is None:
        return f"{body.rstrip()}\n\n{section}:\n{line}"
    if not found[1].startswith("\n"):  # written in one line
        return body[: found.start()] + f"{section}:\n{line}" + body[found.end() :]
    rest = re.sub(rf"(?m)^  {key}:.*\n(?:^   .*\n)*", "", found[1])
    return body[: found.start()] + f"{section}:\n{line}" + rest[1:] + body[found.end() :]
