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

from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.facts import (
    Tree,
    Written,
    place_as_written,
    plain,
    spread,
    unwrapped,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.source_checks import (
    Wrong,
    source_checks,
    wrapper_advice,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.collection import COLLECTION
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import (
    Lines,
    Mistake,
    Mistakes,
    Place,
    nearest,
    read_text,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.json_schema import Checker, Schema

SHIPPED = COLLECTION / "inventory" / "clusters"

# Parts of a profile whose strings may hold {user} and {project}.
PATTERNS = ("storage", "home", "caches", "conda", "launchers", "sandbox_environment")

Profile = dict[str, Any]


@functools.cache
def schema(name: str) -> Schema:
    """A schema that ships: cluster, profile or accounts."""
    text = (COLLECTION / "docs" / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8")
    loaded: Schema = json.loads(text)
    return loaded


@dataclass(frozen=True)
class Known:
    """What is known about one cluster: the plain values, and the same with their sources."""

    profile: Profile
    tree: Tree


@dataclass
class Catalogue:
    """All profiles that can be used: those in a group's own folders, then those that ship."""

    folders: tuple[Path, ...] = (SHIPPED,)
    _read: dict[str, Known] = field(default_factory=dict, init=False)

    def ids(self) -> set[str]:
        """Names of all clusters that have a profile."""
        return {file.stem for folder in self.folders for file in folder.glob("*.yml")}

    def profile(self, cluster: str) -> Profile | None:
        """The profile of a cluster, or None when there is none. A bad file raises Mistakes."""
        known = self.known(cluster)
        return known.profile if known else None

    def known(self, cluster: str) -> Known | None:
        """The profile of a cluster with its sources, or None when there is none. A bad file raises Mistakes."""
        if cluster not in self._read:
            files = (folder / f"{cluster}.yml" for folder in self.folders)
            file = next((file for file in files if file.is_file()), None)
            if file is None:
                return None
            self._read[cluster] = read_known(file)
        return self._read[cluster]


def read_profile(file: Path) -> Profile:
    """The profile in this file, without its sources; everything that is wrong with it is raised as one Mistakes."""
    return read_known(file).profile


def read_known(file: Path) -> Known:
    """The profile in this file with that of its family; everything that is wrong is raised as one Mistakes."""
    own = read_file(file)
    files = [own]
    tree = spread(own.document)
    if "extends" in own.document:
        from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.families import merged

        files.append(read_family(own))
        tree = merged(lessened(spread(files[1].document), own), tree)
    profile: Profile = plain(tree)

    def wrong(place: Place, text: str, at_key: bool = False) -> Mistake:
        from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.families import mistake

        return mistake(files, tree, place, text, at_key)

    found = []
    if len(files) > 1:  # each file has the right form; together they must be whole
        found = [wrong(one.place, one.text, one.at_key) for one in Checker(schema("cluster")).violations(profile)]
    found = found or [*cross_checks(profile, file.stem, wrong), *source_checks(files, tree, wrong)]
    if found:
        raise Mistakes(found)
    return Known(profile, tree)


def read_file(file: Path, part: bool = False) -> Written:
    """One file, of the right form; part: one that needs another to be whole, as does one that extends a family."""
    lines = Lines(file, read_text(file))
    found = lines.duplicates()
    document = lines.document()
    part = part or (isinstance(document, dict) and "extends" in document)
    for each in Checker(_schema_of_a_part() if part else schema("cluster")).violations(unwrapped(document)):
        found.append(lines.mistake(place_as_written(document, each.place), each.text, each.at_key))
    for place, text, at_key in wrapper_advice(document):
        found.append(lines.mistake(place, text, at_key))
    if found:
        raise Mistakes(found)
    return Written(lines, document)


@functools.cache
def _schema_of_a_part() -> Schema:
    """The schema of a file that another one makes whole."""
    from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.families import loosened

    return loosened(schema("cluster"))


def lessened(base: Tree, own: Written) -> Tree:
    """The facts of a family but for those that a profile says do not hold for it."""
    from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.families import places_by_name, taken_out

    known = set(places_by_name(base))
    words = list(own.document.get("without", []))
    unknown = [(index, word) for index, word in enumerate(words) if word not in known]
    if unknown:
        advice = [
            (index, f'the family says nothing of "{word}"; {nearest(word, known, ())}') for index, word in unknown
        ]
        raise Mistakes(own.lines.mistake(("without", index), text) for index, text in advice)
    for word in words:
        base = taken_out(base, word)
    return base


def read_family(own: Written) -> Written:
    """The family that a profile names: from the folder families beside it, else one that ships."""
    name = own.document["extends"]
    folders = dict.fromkeys((own.lines.file.parent / "families", SHIPPED / "families"))
    file = next((folder / f"{name}.yml" for folder in folders if (folder / f"{name}.yml").is_file()), None)
    if file is None:
        known = {file.stem for folder in folders for file in folder.glob("*.yml")}
        raise Mistakes([own.lines.mistake(("extends",), f'unknown family "{name}"; {nearest(name, known)}')])
    return read_file(file, part=True)


def cross_checks(profile: Profile, name: str, wrong: Wrong) -> Iterator[Mistake]:
    """What a schema cannot say: names that must agree, and areas that say where they are."""
    if profile["id"] != name:
        yield wrong(("id",), f'"id" must be "{name}", the name of the file.')
    areas = [area["name"] for area in profile["storage"]]
    for index, area in enumerate(profile["storage"]):
        text = area_advice(area, areas[:index])
        if text:
            yield wrong(("storage", index, "name"), f'area "{area["name"]}" {text}')
    for index, step in enumerate(profile.get("human_steps", [])):
        area = step.get("area")
        if "secret" in step and step.get("done") != "key":
            yield wrong(("human_steps", index), '"secret" goes with "done: key": the key that is to be made.')
        if (step.get("done") == "link") != (area is not None):
            yield wrong(("human_steps", index), '"done: link" and "area" go together: the storage area it is.')
        elif area is not None and area not in areas:
            text = f'unknown storage area "{area}"; {nearest(area, areas)}'
            yield wrong(("human_steps", index, "area"), text)
    for part, key in (("caches", "area"), ("caches", "off_home"), ("conda", "area")):
        area = profile.get(part, {}).get(key, areas[0])
        if area not in areas:
            yield wrong((part, key), f'unknown storage area "{area}"; {nearest(area, areas)}')


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
    below = {"path": f"{area['path']}/{caches['below']}"} if "below" in caches and "path" in area else {}
    return {"caches": {**caches, **below, "root": root}} if root else {}


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
