"""Find, read and check the profiles of clusters, and fill in the names of an account.

A place is the path of a value in a profile (keys, indexes). A tree is a profile with the source of each value.
SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import functools
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._input.collection import COLLECTION
from .._input.diagnostics import Mistake, Mistakes, Place, YamlText, nearest, read_text
from .._input.json_schema import Checker, Schema
from .cluster_schema import build_cluster_schema
from .facts import ProfileFile, Tree, bare_values, find_written_place, spread_sources, strip_sources
from .source_checks import MistakeLocator, check_references, check_sources, check_wrappers

SHIPPED = COLLECTION / "inventory" / "clusters"
# Parts of a profile whose strings may contain {user} and {project}.
RENDERED_PARTS = ("storage", "home", "caches", "conda", "launchers", "sandbox_environment")
NO_MIRRORS = (
    '"mirrors" is not supported in your own profile, because a package index supplies programs.'
    " Set your index in accounts.yml, in the entry of the account:  python_envs: {index: https://...}"
)
LONG_OPTIONS = {  # the long form of each short option of sbatch
    **{"A": "account", "C": "constraint", "G": "gpus", "L": "licenses", "N": "nodes", "c": "cpus-per-task"},
    **{"n": "ntasks", "p": "partition", "q": "qos", "t": "time"},
}
SHORT_OPTION = re.compile(r"(?<!\S)-([A-Za-z]) ")  # with the space before its value: "-G "
Profile = dict[str, Any]
DEFAULTS: Profile = {  # for facts that a profile omits
    **{"status": "own", "auth": {"archetype": "key"}, "storage": [], "links": {"by": "us"}},
    **{"container": {"runtime": "none"}, "conda": {"policy": "allowed"}},
}


@functools.cache
def schema(name: str) -> Schema:
    """Return a schema by its name.

    cluster: the plain values of a profile. profile: a profile with sources. accounts: an accounts file.
    """
    if name == "cluster":
        return build_cluster_schema()
    loaded: Schema = json.loads((COLLECTION / "docs" / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8"))
    return loaded


@dataclass(frozen=True)
class SourcedProfile:
    """The facts about one cluster: as plain values, and as a tree with their sources."""

    profile: Profile
    tree: Tree


@dataclass
class Catalogue:
    """The profiles of all clusters. If several folders have a profile of the same name, the first folder wins."""

    folders: tuple[Path, ...] = (SHIPPED,)
    _loaded: dict[str, SourcedProfile | Mistakes] = field(default_factory=dict, init=False)

    def ids(self) -> set[str]:
        """Return the names of all clusters that have a profile."""
        return {file.stem for folder in self.folders for file in folder.glob("*.yml")}

    def profile(self, cluster: str) -> Profile | None:
        """Return the profile of a cluster with defaults, or None if there is no profile. Raises Mistakes."""
        sourced = self.sourced_profile(cluster)
        return fill_defaults(sourced.profile) if sourced else None

    def sourced_profile(self, cluster: str) -> SourcedProfile | None:
        """Return the profile of a cluster with its sources, or None if there is no profile. Raises Mistakes."""
        if cluster not in self._loaded:
            files = (folder / f"{cluster}.yml" for folder in self.folders)
            file = next((file for file in files if os.path.isfile(file)), None)  # is_file raises for a name too long
            if file is None:
                return None
            try:
                self._loaded[cluster] = read_sourced(file)
            except Mistakes as mistakes:  # stored, too: many accounts may be on that cluster
                self._loaded[cluster] = mistakes
        loaded = self._loaded[cluster]
        if isinstance(loaded, Mistakes):
            raise loaded
        return loaded


def expand_options(profile: Profile) -> Profile:
    """Return a profile with the long form of all job options, so that each option is one word.

    >>> expand_options({"scheduler": {"kind": "slurm", "gpu": "-p gpu -G 1"}})["scheduler"]["gpu"]
    '--partition=gpu --gpus=1'
    """
    scheduler = dict(profile.get("scheduler", {}))
    for name in scheduler.keys() & {"gpu", "cpu", "test"}:
        scheduler[name] = SHORT_OPTION.sub(lambda option: f"--{LONG_OPTIONS[option[1]]}=", scheduler[name])
    return {**profile, "scheduler": scheduler} if scheduler else dict(profile)


def read_profile(file: Path) -> Profile:
    """Return the profile in a file, with defaults and without sources. Raises Mistakes with all mistakes in it."""
    return fill_defaults(read_sourced(file).profile)


def fill_defaults(profile: Profile) -> Profile:
    """Return a profile with defaults for the facts that it omits: all except id, login and home are optional."""
    return expand_options({**DEFAULTS, "name": profile["id"], **profile})


def read_sourced(file: Path) -> SourcedProfile:
    """Return the profile in a file, merged with its family, with sources. Raises Mistakes with all mistakes in it."""
    own = parse_profile(file)
    if violations := check_schema(own):
        other_mistakes = _check_valid_parts(own, [place for place, _mistake in violations])
        raise Mistakes([*(mistake for _place, mistake in violations), *other_mistakes])
    files, tree = join_family(own)
    profile: Profile = bare_values(tree)
    # With a family, each file is valid, but the merged profile may lack a required field.
    merge_violations = Checker(schema("cluster")).violations(profile) if len(files) > 1 else ()
    mistakes = [mistake_locator(files, tree)(each.place, each.text, each.at_key) for each in merge_violations]
    mistakes = mistakes or check_consistency(files, tree)
    if mistakes:
        raise Mistakes(mistakes)
    return SourcedProfile(profile, tree)


def _check_valid_parts(own: ProfileFile, invalid_places: list[Place]) -> list[Mistake]:
    """Return the mistakes that the schema cannot find in the valid parts of a profile (own)."""
    if "extends" in own.document or "format" not in own.document or ("format",) in invalid_places:
        return []  # neither the merged profile nor its sources can be checked
    from .sound_part import remove_invalid_parts  # imported late: most profiles are valid

    return check_consistency(*join_family(remove_invalid_parts(own, invalid_places)))


def join_family(own: ProfileFile) -> tuple[list[ProfileFile], Tree]:
    """Return the files of a profile and of its family, in this order, and their merged tree. Raises Mistakes."""
    tree = spread_sources(own.document)
    if "extends" not in own.document:
        return [own], tree
    from .families import merge_family

    family = read_family(own)
    return [own, family], merge_family(drop_excluded(spread_sources(family.document), own), tree)


def check_consistency(files: list[ProfileFile], tree: Tree) -> list[Mistake]:
    """Return the mistakes that the schema cannot find: wrong references, missing sources. files, tree: as joined."""
    locate = mistake_locator(files, tree)
    return [*check_references(bare_values(tree), files[0].lines.file.stem, locate), *check_sources(files, tree, locate)]


def mistake_locator(files: list[ProfileFile], tree: Tree) -> MistakeLocator:
    """Return a function that adds file and line to a mistake, given its place in the merged profile."""

    def locate(place: Place, text: str, at_key: bool = False) -> Mistake:
        from .families import locate_mistake  # imported late: most profiles have no mistake

        return locate_mistake(files, tree, place, text, at_key)

    return locate


def parse_profile(file: Path) -> ProfileFile:
    """Return the lines and the document of a file. Raises Mistakes unless the file is valid YAML with a mapping."""
    lines = YamlText(file, read_text(file))
    document = lines.document()
    if not isinstance(document, dict):
        example = "id: attic, login: {host: login.example.org}, home: {path: '/home/{user}'}"
        text = f"this is not a profile; a profile is a mapping (key: value), with one key per line, such as:  {example}"
        raise Mistakes([*lines.duplicates(), Mistake(file, line=0, text=text)])
    return ProfileFile(lines, document)


def check_schema(file: ProfileFile, is_family: bool = False) -> list[tuple[Place, Mistake]]:
    """Return the mistakes that the schema finds in one file, each with its place as written; () for a repeated key."""
    lines, document = file.lines, file.document
    mistakes: list[tuple[Place, Mistake]] = [((), mistake) for mistake in lines.duplicates()]
    # A family, and a profile that extends one, may lack required fields.
    checker = Checker(_partial_schema() if is_family or "extends" in document else schema("cluster"))
    for each in checker.violations(strip_sources(document)):
        place = find_written_place(document, each.place)
        if each.at_key:  # the key itself, not the value in its wrapper
            place = (*find_written_place(document, each.place[:-1]), *each.place[-1:])
        mistakes.append((place, lines.mistake(place, each.text, each.at_key)))
    # place[:-1]: of the whole wrapper
    mistakes += [(place[:-1], lines.mistake(place, text, at_key)) for place, text, at_key in check_wrappers(document)]
    if "mirrors" in document and lines.file.resolve().parent not in (SHIPPED.resolve(), SHIPPED.resolve() / "families"):
        mistakes.append((("mirrors",), lines.mistake(("mirrors",), NO_MIRRORS, at_key=True)))
    return mistakes


@functools.cache
def _partial_schema() -> Schema:
    """Return the schema of a file that is a part of a profile: a family, or a profile that extends one."""
    from .families import loosen_schema

    return loosen_schema(schema("cluster"))


def drop_excluded(base: Tree, own: ProfileFile) -> Tree:
    """Return the facts of a family (base) without those that a profile (own) lists under "without". Raises Mistakes."""
    from .families import list_fact_names, remove_fact

    facts, excluded = set(list_fact_names(base)), list(own.document.get("without", []))
    mistakes = [  # listed=(): the family has too many facts to list them
        own.lines.mistake(("without", index), f'the family has no fact "{name}"; {nearest(name, facts, listed=())}')
        for index, name in enumerate(excluded)
        if name not in facts
    ]
    if mistakes:
        raise Mistakes(mistakes)
    for name in excluded:
        base = remove_fact(base, name)
    return base


def read_family(own: ProfileFile) -> ProfileFile:
    """Return the family that a profile extends, from the folder families next to it, or else a shipped one.

    Raises Mistakes if the family is unknown or invalid.
    """
    name = own.document["extends"]
    folders = dict.fromkeys((own.lines.file.parent / "families", SHIPPED / "families"))
    file = next((folder / f"{name}.yml" for folder in folders if os.path.isfile(folder / f"{name}.yml")), None)
    if file is None:
        names = {file.stem for folder in folders for file in folder.glob("*.yml")}
        raise Mistakes([own.lines.mistake(("extends",), f'unknown family "{name}"; {nearest(name, names)}')])
    family = parse_profile(file)
    mistakes = [mistake for _place, mistake in check_schema(family, is_family=True)]
    if mistakes:
        raise Mistakes(mistakes)
    return family


def render(profile: Profile, names: dict[str, str], paths: dict[str, str]) -> Profile:
    """Return an account's profile. names: the values of {user} and {project}. paths: of areas, set by the account."""
    rendered = {key: fill_names(value, names) if key in RENDERED_PARTS else value for key, value in profile.items()}
    areas = [
        move_area(area, paths[area["name"]]) if area["name"] in paths else resolve_variable(area)
        for area in rendered["storage"]
    ]
    own_areas = paths.keys() - {area["name"] for area in areas}  # which only the account has
    areas += [{"name": name, "path": paths[name], "create": False, "link": name} for name in sorted(own_areas)]
    return {**rendered, "storage": areas, **resolve_caches(rendered.get("caches"), areas)}


def resolve_caches(caches: dict[str, Any] | None, areas: list[dict[str, Any]]) -> dict[str, Any]:
    """Return {"caches": ...} with the path of the caches, and with root: the existing folder around that path.

    areas: resolved. Return {} if the caches have no area, or if the path of the area is unknown.
    """
    if not caches or "area" not in caches:
        return {}
    # check_references has made sure that the area exists
    area = next(area for area in areas if area["name"] == caches["area"])
    # create: the account creates the area; until then, only the area's root exists
    root = area["root"] if area.get("create") else area.get("path")
    below = {"path": f"{area['path']}/{caches['below']}"} if "below" in caches and "path" in area else {}
    return {"caches": {**caches, **below, "root": root}} if root else {}


def resolve_variable(area: dict[str, Any]) -> dict[str, Any]:
    """Return an area with its environment variable, if it has one, as its path."""
    return {**area, "path": area["variable"]} if "variable" in area else area


def move_area(area: dict[str, Any], path: str) -> dict[str, Any]:
    """Return an area with the path that the account sets. root and create apply only to a path below root."""
    obsolete = {"ask", "variable"}
    if not str(path).startswith(str(area.get("root", "\0")).rstrip("/") + "/"):  # \0: no path starts with it
        obsolete |= {"root", "create"}
    return {**{key: value for key, value in area.items() if key not in obsolete}, "path": path}


def fill_names(value: Any, names: dict[str, str]) -> Any:
    """Return a value with {name} replaced in all its strings, and {name[0]} by the first letter. names: the values."""
    if isinstance(value, str):
        for name, text in names.items():
            value = value.replace("{" + name + "}", text).replace("{" + name + "[0]}", text[:1])
        return value
    if isinstance(value, dict):
        return {fill_names(key, names): fill_names(item, names) for key, item in value.items()}
    return [fill_names(item, names) for item in value] if isinstance(value, list) else value


def find_placeholder(value: Any, name: str) -> str | None:
    """Return the first string in a value that contains {name}; None if no string does."""
    if isinstance(value, str):
        return value if "{" + name + "}" in value else None
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((found for item in items if (found := find_placeholder(item, name))), None)
