"""The profiles of clusters: where they lie, reading them, and filling in an account's names.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_collections.hpc.onboard.plugins.plugin_utils._input.collection import COLLECTION
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import Lines, Mistake, Mistakes, nearest
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.json_schema import Checker, Schema

SHIPPED = COLLECTION / "inventory" / "clusters"

# Parts of a profile whose strings may hold {user} and {project}.
PATTERNS = ("storage", "home", "caches", "conda", "launchers", "sandbox_environment")

Profile = dict[str, Any]


@functools.cache
def schema(name: str) -> Schema:
    """A schema that ships: profile or accounts."""
    text = (COLLECTION / "docs" / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8")
    loaded: Schema = json.loads(text)
    return loaded


@dataclass
class Catalogue:
    """All profiles that can be used: those in a group's own folders, then those that ship."""

    folders: tuple[Path, ...] = (SHIPPED,)
    _read: dict[str, Profile] = field(default_factory=dict, init=False)

    def ids(self) -> set[str]:
        """Names of all clusters that have a profile."""
        return {file.stem for folder in self.folders for file in folder.glob("*.yml")}

    def profile(self, cluster: str) -> Profile | None:
        """The profile of a cluster, or None when there is none. A bad file raises Mistakes."""
        if cluster not in self._read:
            files = (folder / f"{cluster}.yml" for folder in self.folders)
            file = next((file for file in files if file.is_file()), None)
            if file is None:
                return None
            self._read[cluster] = read_profile(file)
        return self._read[cluster]


def read_profile(file: Path) -> Profile:
    """One profile, checked against the schema."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Mistakes([Mistake(file, 0, f"cannot be read as text: {error}.")]) from None
    lines = Lines(file, text)
    found = lines.duplicates()
    profile: Profile = lines.document()
    for each in Checker(schema("profile")).violations(profile):
        found.append(lines.mistake(each.place, each.text, each.at_key))
    if found or (found := list(cross_checks(profile, lines))):
        raise Mistakes(found)
    return profile


def cross_checks(profile: Profile, lines: Lines) -> Iterator[Mistake]:
    """What a schema cannot say: names that must agree, and areas that say where they are."""
    if profile["id"] != lines.file.stem:
        yield lines.mistake(("id",), f'"id" must be "{lines.file.stem}", the name of the file.')
    areas = [area["name"] for area in profile["storage"]]
    for index, area in enumerate(profile["storage"]):
        text = area_advice(area, areas[:index])
        if text:
            yield lines.mistake(("storage", index, "name"), f'area "{area["name"]}" {text}')
    for index, step in enumerate(profile.get("human_steps", [])):
        area = step.get("area")
        if (step.get("done") == "link") != (area is not None):
            yield lines.mistake(("human_steps", index), '"done: link" and "area" go together: the storage area it is.')
        elif area is not None and area not in areas:
            text = f'unknown storage area "{area}"; {nearest(area, areas)}'
            yield lines.mistake(("human_steps", index, "area"), text)
    for part, key in (("caches", "area"), ("caches", "off_home"), ("conda", "area")):
        area = profile.get(part, {}).get(key, areas[0])
        if area not in areas:
            yield lines.mistake((part, key), f'unknown storage area "{area}"; {nearest(area, areas)}')


def area_advice(area: dict[str, Any], before: list[str]) -> str | None:
    """What is wrong with an area of a profile, given the names of those before it."""
    if area["name"] in before:
        return "stands here again."
    if len({"path", "variable", "ask"} & area.keys()) != 1:
        return 'needs one of "path", "variable" and "ask".'
    if area.get("create") and "root" not in area:
        return 'has "create", so it needs "root", the folder that the site has made.'
    return None


def render(profile: Profile, names: dict[str, str], own: dict[str, str]) -> Profile:
    """A profile with {user} and {project} filled in, and with an account's own storage paths."""
    rendered = {key: fill(value, names) if key in PATTERNS else value for key, value in profile.items()}
    areas = [moved(area, own[area["name"]]) if area["name"] in own else located(area) for area in rendered["storage"]]
    further = own.keys() - {area["name"] for area in areas}
    areas += [{"name": name, "path": own[name], "create": False, "link": name} for name in sorted(further)]
    return {**rendered, "storage": areas, **rooted(rendered.get("caches"), areas)}


def rooted(caches: dict[str, Any] | None, areas: list[dict[str, Any]]) -> dict[str, Any]:
    """The caches with the folder that must be there before theirs: what the site has made of their area."""
    if not caches or "area" not in caches:
        return {}
    area = next(area for area in areas if area["name"] == caches["area"])
    root = area["root"] if area.get("create") else area.get("path")
    return {"caches": {**caches, "root": root}} if root else {}


def located(area: dict[str, Any]) -> dict[str, Any]:
    """An area with a path even if it is known by a variable."""
    return {**area, "path": area["variable"]} if "variable" in area else area


def moved(area: dict[str, Any], path: str) -> dict[str, Any]:
    """An area at the path that the account gives; the site's root stays if the path lies below it."""
    gone = {"ask", "variable"}
    if not str(path).startswith(str(area.get("root", "\0")).rstrip("/") + "/"):
        gone |= {"root", "create"}
    return {**{key: value for key, value in area.items() if key not in gone}, "path": path}


def fill(value: Any, names: dict[str, str]) -> Any:
    """A value with {name} replaced in all its strings."""
    if isinstance(value, str):
        for name, word in names.items():
            value = value.replace("{" + name + "}", word)
        return value
    if isinstance(value, dict):
        return {key: fill(item, names) for key, item in value.items()}
    return [fill(item, names) for item in value] if isinstance(value, list) else value


def mentions(value: Any, name: str) -> str | None:
    """The first string in a value that still holds {name}."""
    if isinstance(value, str):
        return value if "{" + name + "}" in value else None
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((found for item in items if (found := mentions(item, name))), None)
