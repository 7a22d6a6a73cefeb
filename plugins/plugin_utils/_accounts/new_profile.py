# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the text of a new profile: the answers of the user, and all other facts as comments with an example."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import yaml

from .._input.diagnostics import find_child
from .._input.json_schema import matches, write_yaml
from .._input.yaml_loader import Loader
from .field_types import RUNTIME
from .profiles import schema

USUAL_FOLDER = "our-clusters"  # for the user's own profiles, next to the accounts file
NAME = re.compile(r"[a-z][a-z0-9_]*")


class ProfileQuestion(NamedTuple):
    """A question about a cluster. name: the key of its answer. text: what it asks for, such as the jump host.

    place: of the answer in the profile, whose schema defines the answer's form.
    """

    name: str
    text: str
    place: tuple[str, ...]
    example: str
    is_needed: bool = False

    @property
    def hint(self) -> str:
        """Return the words in parentheses after the question."""
        return f"such as {self.example}" + ("" if self.is_needed else "; press Enter to skip")

    @property
    def form(self) -> str:
        """Return the description of a valid answer, without a full stop."""
        return str(self._schema()["description"]).rstrip(".")

    def fits(self, answer: str) -> bool:
        """Return True if an answer is valid in a profile."""
        field = self._schema()
        is_allowed_word = "enum" not in field or answer in field["enum"]
        has_type = field.get("type") != "integer" or answer.isdigit()
        return is_allowed_word and has_type and matches(str(field.get("pattern", "")), answer)

    def _schema(self) -> dict[str, Any]:
        """Return the schema of the answer, with the definition that its $ref names."""
        node: dict[str, Any] = schema("cluster")
        for key in self.place:
            node = node["properties"][key]
        reference = node.get("$ref", "")
        definition = schema("cluster")["$defs"][reference.rpartition("/")[2]] if reference else {}
        return {**definition, **node}


QUESTIONS = (
    ProfileQuestion("title", "the full name of the cluster", ("name",), "Our institute's cluster"),
    ProfileQuestion("host", "the host name of the login node", ("login", "host"), "login.example.org", is_needed=True),
    ProfileQuestion("jump", "the jump host for the login node", ("login", "jump", "host"), "gate.example.org"),
    ProfileQuestion("home", "the path of a home directory", ("home", "path"), "/home/{user}"),
    ProfileQuestion("runtime", "the container runtime for jobs", ("container", "runtime"), "apptainer"),
)
HEAD = """\
# {name}: your own profile of a cluster. Format: docs/schemas/profile.schema.json
#
# id, login and home are required. Every other line is an optional fact: remove its # and change its value.
# {{user}} and {{project}} in paths are replaced for each account. To check this file:  hpc-onboard profile check FILE
---
format: 2
id: {name}
"""
NO_HOME = 'home: {}  # optional facts, in the braces:  path: "/home/{user}", bytes: 50000000000'
OPTIONAL_FACTS = """\

# Storage areas, each with a link in the home. create: true if you may create your own folder below root.
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
# links: {by: us}          # by: site if the site creates them

# The storage area for container caches; off_home: the area in which the site wants the caches of all tools.
# caches: {area: scratch, below: apptainer, off_home: scratch}

# Your own conda: allowed, discouraged or refused; and the storage area for it.
# conda: {policy: allowed, area: project, below: conda}

# Login method: key, key_otp, key_then_otp, password_otp, session, certificate, kerberos or password.
# auth: {archetype: key}

# scheduler: {kind: slurm, partitions: [gpu], gpu: --gres=gpu:1}
# quota_command: quota -s

# Manual steps that only you can do, and pitfalls.
# human_steps:
#   - {id: account, text: Ask for an account., url: "https://example.org/account", done: reached}
# traps:
#   - The home cannot be written to in jobs.

# Sources of these facts, and the day of the last comparison. With sources, each fact needs one (docs/clusters.md).
# status: documented
# verified_on: 2026-11-22
# sources:
#   - {id: manual, url: "https://example.org/manual", what: storage, read: 2026-11-22}
"""


def render_profile(name: str, answers: Mapping[str, str], model: tuple[str, str] | None = None) -> str:
    """Return the text of a new profile. name: its id. answers: by the names of QUESTIONS, without skipped ones.

    model: name and text of an existing profile to copy; None for a profile with the answers alone.
    """
    return _render_copy(name, answers, *model) if model else _render_new(name, answers)


def _render_new(name: str, answers: Mapping[str, str]) -> str:
    """Return a profile with the answers, and with all other facts as comments. Parameters: as in render_profile."""
    jump, home, runtime = (answers.get(question) for question in ("jump", "home", "runtime"))
    lines = [
        write_yaml("name", answers["title"]) if "title" in answers else "# name: Our institute's cluster",
        "",
        "login:",
        f"  {write_yaml('host', answers['host'])}",
        "  # port: 22",
        f"  {write_yaml('jump', {'host': jump})}" if jump else "  # jump: {host: gate.example.org}",
        "",
        f"home:\n  {write_yaml('path', home)}\n  # bytes: 50000000000" if home else NO_HOME,
        "",
        f"# Container runtime for jobs. Allowed values: {', '.join(RUNTIME['enum'])}.",
        write_yaml("container", {"runtime": runtime})
        if runtime
        else "# container: {runtime: apptainer, on_login: true}",
    ]
    return HEAD.format(name=name) + "\n".join(lines) + "\n" + OPTIONAL_FACTS


def _render_copy(name: str, answers: Mapping[str, str], model: str, model_text: str) -> str:
    """Return a copy of another profile with these answers. model, model_text: name and text of the other profile.

    name, answers: as in render_profile. Facts about the other profile itself, such as the day of its last comparison,
    are not copied.
    """
    text = model_text.removeprefix("\ufeff").replace("\r\n", "\n")  # as an editor on Windows may write them
    root: Any = yaml.compose(text, Loader)  # a mapping: the model is a valid profile
    body = text[root.start_mark.index :].rstrip() + "\n"  # without the comments at the beginning, and without ---
    if root.flow_style:  # the whole profile is in braces, as in JSON
        body = yaml.safe_dump(yaml.safe_load(body), sort_keys=False, allow_unicode=True)
    for key in ("verified_on", "closing_on", "formerly"):
        if span := _find_entry(body, (key,)):
            body = body[: span.start] + body[span.stop :].partition("\n")[2]
    about_profile = {"id": name, "name": answers.get("title", name), "status": "own"}
    facts: dict[tuple[str, ...], Any] = {
        (key,): value for key, value in about_profile.items() if _find_entry(body, (key,))
    }
    facts |= {question.place: answers[question.name] for question in QUESTIONS if question.name in answers}
    if "jump" in answers:  # another user name or other host keys belong to the old jump host
        facts["login", "jump"] = {"host": answers["jump"]}
        del facts["login", "jump", "host"]
    for place, value in facts.items():
        body = _replace_fact(body, place, value)
    head = f"# {name}: copied from the profile of {model}. Check that each fact also applies to this cluster.\n"
    return f"{head}# Format: docs/schemas/profile.schema.json\n---\n{body}"


def _replace_fact(body: str, place: tuple[str, ...], value: Any) -> str:
    """Return the text of a profile with a new value of a fact. place: a top-level key, or a section and its key."""
    line = write_yaml(place[-1], value)
    if span := _find_entry(body, place):
        return body[: span.start] + line + body[span.stop :]
    if len(place) == 1:
        return f"{body}\n{line}\n"
    section = _find_value(body, place[:-1])
    if not isinstance(section, yaml.MappingNode):  # the section is missing or empty
        return _replace_fact(body, place[:-1], {place[-1]: value})
    if not section.value:  # {}
        return body[: section.start_mark.index] + f"{{{line}}}" + body[section.end_mark.index :]
    first = section.value[0][0].start_mark
    separator = ", " if section.flow_style else "\n" + " " * first.column
    return body[: first.index] + line + separator + body[first.index :]


def _find_entry(body: str, place: tuple[str, ...]) -> slice | None:
    """Return where a key and its value are in the text of a profile; None if the profile lacks the key."""
    key, value = find_child(_find_value(body, place[:-1]), place[-1])
    if key is None or value is None:
        return None
    start, end = key.start_mark.index, value.end_mark.index
    below = re.search(r"(\n[ \t]*(#.*)?)+\Z", body[start:end])  # empty lines and comments below a nested value
    return slice(start, start + below.start() if below else end)


def _find_value(body: str, place: tuple[str, ...]) -> yaml.Node | None:
    """Return the node of the value at a place in the text of a profile; None if the profile lacks the place."""
    node: yaml.Node | None = yaml.compose(body, Loader)
    for key in place:
        node = find_child(node, key)[1]
    return node
