"""The profiles of clusters: where they lie, reading them, and filling in an account's names.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._input.collection import COLLECTION
from .._input.diagnostics import Mistake, Mistakes, Place, YamlText, nearest, read_text
from .._input.json_schema import Checker, Schema
from .cluster_schema import build_cluster_schema
from .facts import ProfileFile, Tree, bare_values, find_written_place, spread_sources, strip_sources
from .source_checks import MistakeAt, check_references, check_sources, check_wrappers

SHIPPED = COLLECTION / "inventory" / "clusters"

# Parts of a profile whose strings may hold {user} and {project}.
PATTERNS = ("storage", "home", "caches", "conda", "launchers", "sandbox_environment")

NO_MIRRORS = (
    '"mirrors" is not supported in your own profile, because packages are programs.'
    " Set your index in accounts.yml, in the entry of the account:  python_envs: {index: https://...}"
)
LONG_OPTIONS = {  # of sbatch
    **{"A": "account", "C": "constraint", "G": "gpus", "L": "licenses", "N": "nodes", "c": "cpus-per-task"},
    **{"n": "ntasks", "p": "partition", "q": "qos", "t": "time"},
}
SHORT_OPTION = re.compile(r"(?<!\S)-([A-Za-z]) ")
Profile = dict[str, Any]
ASSUMED: Profile = {  # of a cluster whose profile does not say it
    **{"status": "own", "auth": {"archetype": "key"}, "storage": [], "links": {"by": "us"}},
    **{"container": {"runtime": "none"}, "conda": {"policy": "allowed"}},
}


@functools.cache
def schema(name: str) -> Schema:
    """Return the schema of plain values (cluster), of a profile as it is written (profile), or of an accounts file."""
    if name == "cluster":
        return build_cluster_schema()
    text = (COLLECTION / "docs" / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8")
    loaded: Schema = json.loads(text)
    return loaded


@dataclass(frozen=True)
class SourcedProfile:
    """What is known about one cluster: the plain values, and the same with their sources."""

    profile: Profile
    tree: Tree


@dataclass
class Catalogue:
    """All profiles that can be used: those in a group's own folders, then those that ship."""

    folders: tuple[Path, ...] = (SHIPPED,)
    _read: dict[str, SourcedProfile | Mistakes] = field(default_factory=dict, init=False)

    def ids(self) -> set[str]:
        """Names of all clusters that have a profile."""
        return {file.stem for folder in self.folders for file in folder.glob("*.yml")}

    def profile(self, cluster: str) -> Profile | None:
        """The whole profile of a cluster, or None when there is none. A bad file raises Mistakes."""
        known = self.known(cluster)
        return fill_assumed(known.profile) if known else None

    def known(self, cluster: str) -> SourcedProfile | None:
        """The profile of a cluster with its sources, or None when there is none. A bad file raises Mistakes."""
        if cluster not in self._read:
            files = (folder / f"{cluster}.yml" for folder in self.folders)
            file = next((file for file in files if file.is_file()), None)
            if file is None:
                return None
            try:
                self._read[cluster] = read_sourced(file)
            except Mistakes as mistakes:  # many accounts may be on that cluster
                self._read[cluster] = mistakes
        found = self._read[cluster]
        if isinstance(found, Mistakes):
            raise found
        return found


def expand_options(profile: Profile) -> Profile:
    """Return a profile whose job options have their long form, each one word.

    >>> expand_options({"scheduler": {"kind": "slurm", "gpu": "-p gpu -G 1"}})["scheduler"]["gpu"]
    '--partition=gpu --gpus=1'
    """
    scheduler = dict(profile.get("scheduler", {}))
    for name in scheduler.keys() & {"gpu", "cpu", "test"}:
        scheduler[name] = SHORT_OPTION.sub(lambda option: f"--{LONG_OPTIONS[option[1]]}=", scheduler[name])
    return {**profile, "scheduler": scheduler} if scheduler else dict(profile)


def read_profile(file: Path) -> Profile:
    """The profile in this file, whole and without its sources; everything that is wrong is raised as one Mistakes."""
    return fill_assumed(read_sourced(file).profile)


def fill_assumed(profile: Profile) -> Profile:
    """A profile with what is assumed of a cluster where it says nothing; how to get in is all that it must say."""
    return expand_options({**ASSUMED, "name": profile["id"], **profile})


def read_sourced(file: Path) -> SourcedProfile:
    """The profile in this file with that of its family; everything that is wrong is raised as one Mistakes."""
    own = parse_profile(file)
    found = check_form(own)
    if found:
        from .sound_part import sound_part

        mistakes, places = [locate_mistake for _place, locate_mistake in found], [place for place, _mistake in found]
        if "extends" in own.document or "format" not in own.document or ("format",) in places:
            raise Mistakes(mistakes)  # neither what it says with its family nor its sources can be judged
        try:
            files, tree = join_family(sound_part(own, places))
            mistakes += check_together(files, tree)
        except Mistakes as more:
            mistakes += more.found
        raise Mistakes(mistakes)
    files, tree = join_family(own)
    profile: Profile = bare_values(tree)
    mistakes = []
    if len(files) > 1:  # each file has the right form; together they must be whole
        whole_form = Checker(schema("cluster")).violations(profile)
        mistakes = [locate_in(files, tree)(one.place, one.text, one.at_key) for one in whole_form]
    mistakes = mistakes or check_together(files, tree)
    if mistakes:
        raise Mistakes(mistakes)
    return SourcedProfile(profile, tree)


def join_family(own: ProfileFile) -> tuple[list[ProfileFile], Tree]:
    """The files of a profile, its own first, and what they say together. Raises Mistakes of its family."""
    tree = spread_sources(own.document)
    if "extends" not in own.document:
        return [own], tree
    from .families import merge_family

    family = read_family(own)
    return [own, family], merge_family(drop_excluded(spread_sources(family.document), own), tree)


def check_together(files: list[ProfileFile], tree: Tree) -> list[Mistake]:
    """Return what does not fit together in files of the right form."""
    wrong = locate_in(files, tree)
    return [*check_references(bare_values(tree), files[0].lines.file.stem, wrong), *check_sources(files, tree, wrong)]


def locate_in(files: list[ProfileFile], tree: Tree) -> MistakeAt:
    """Return what makes a mistake of a place of the whole profile: it finds the file and the line."""

    def wrong(place: Place, text: str, at_key: bool = False) -> Mistake:
        from .families import locate_mistake

        return locate_mistake(files, tree, place, text, at_key)

    return wrong


def parse_profile(file: Path) -> ProfileFile:
    """A file that holds a mapping. Raises Mistakes."""
    lines = YamlText(file, read_text(file))
    document = lines.document()
    if not isinstance(document, dict):
        form = "id: attic, login: {host: login.example.org}, home: {path: '/home/{user}'}"
        text = f"is not a profile; a profile is a mapping (key: value), with one key per line, such as:  {form}"
        raise Mistakes([*lines.duplicates(), Mistake(file, 0, text)])
    return ProfileFile(lines, document)


def check_form(file: ProfileFile, part: bool = False) -> list[tuple[Place, Mistake]]:
    """Return what has not the right form, each with its place as written; what is the matter with it is in or at that.

    part: one that needs another file to be whole, as does one that extends a family.
    """
    lines, document = file.lines, file.document
    found: list[tuple[Place, Mistake]] = [((), locate_mistake) for locate_mistake in lines.duplicates()]
    checker = Checker(_partial_schema() if part or "extends" in document else schema("cluster"))
    for each in checker.violations(strip_sources(document)):
        place = find_written_place(document, each.place)
        if each.at_key:  # of a key whose value is wrapped, too
            place = (*find_written_place(document, each.place[:-1]), *each.place[-1:])
        found.append((place, lines.mistake(place, each.text, each.at_key)))
    found += [(place[:-1], lines.mistake(place, text, at_key)) for place, text, at_key in check_wrappers(document)]
    if "mirrors" in document and lines.file.resolve().parent not in (SHIPPED.resolve(), SHIPPED.resolve() / "families"):
        found.append((("mirrors",), lines.mistake(("mirrors",), NO_MIRRORS, at_key=True)))
    return found


def read_family_file(file: Path) -> ProfileFile:
    """A file that makes others whole. Raises Mistakes where it has not the right form."""
    read = parse_profile(file)
    found = [locate_mistake for _place, locate_mistake in check_form(read, part=True)]
    if found:
        raise Mistakes(found)
    return read


@functools.cache
def _partial_schema() -> Schema:
    """The schema of a file that another one makes whole."""
    from .families import loosen_schema

    return loosen_schema(schema("cluster"))


def drop_excluded(base: Tree, own: ProfileFile) -> Tree:
    """The facts of a family but for those that a profile says do not hold for it."""
    from .families import list_places, remove_fact

    known = set(list_places(base))
    words = list(own.document.get("without", []))
    unknown = [(index, word) for index, word in enumerate(words) if word not in known]
    if unknown:
        advice = [(index, f'the family has no fact "{word}"; {nearest(word, known, ())}') for index, word in unknown]
        raise Mistakes(own.lines.mistake(("without", index), text) for index, text in advice)
    for word in words:
        base = remove_fact(base, word)
    return base


def read_family(own: ProfileFile) -> ProfileFile:
    """The family that a profile names: from the folder families beside it, else one that ships."""
    name = own.document["extends"]
    folders = dict.fromkeys((own.lines.file.parent / "families", SHIPPED / "families"))
    file = next((folder / f"{name}.yml" for folder in folders if (folder / f"{name}.yml").is_file()), None)
    if file is None:
        known = {file.stem for folder in folders for file in folder.glob("*.yml")}
        raise Mistakes([own.lines.mistake(("extends",), f'unknown family "{name}"; {nearest(name, known)}')])
    return read_family_file(file)


def render(profile: Profile, names: dict[str, str], own: dict[str, str]) -> Profile:
    """A profile with {user} and {project} filled in, and with an account's own storage paths."""
    rendered = {key: fill_names(value, names) if key in PATTERNS else value for key, value in profile.items()}
    areas = [
        move_area(area, own[area["name"]]) if area["name"] in own else resolve_variable(area)
        for area in rendered["storage"]
    ]
    further = own.keys() - {area["name"] for area in areas}
    areas += [{"name": name, "path": own[name], "create": False, "link": name} for name in sorted(further)]
    return {**rendered, "storage": areas, **add_cache_root(rendered.get("caches"), areas)}


def add_cache_root(caches: dict[str, Any] | None, areas: list[dict[str, Any]]) -> dict[str, Any]:
    """The caches with the folder that must be there before theirs: what the site has made of their area."""
    if not caches or "area" not in caches:
        return {}
    area = next(area for area in areas if area["name"] == caches["area"])
    root = area["root"] if area.get("create") else area.get("path")
    below = {"path": f"{area['path']}/{caches['below']}"} if "below" in caches and "path" in area else {}
    return {"caches": {**caches, **below, "root": root}} if root else {}


def resolve_variable(area: dict[str, Any]) -> dict[str, Any]:
    """An area with a path even if it is known by a variable."""
    return {**area, "path": area["variable"]} if "variable" in area else area


def move_area(area: dict[str, Any], path: str) -> dict[str, Any]:
    """An area at the path that the account gives; the site's root stays if the path lies below it."""
    gone = {"ask", "variable"}
    if not str(path).startswith(str(area.get("root", "\0")).rstrip("/") + "/"):
        gone |= {"root", "create"}
    return {**{key: value for key, value in area.items() if key not in gone}, "path": path}


def fill_names(value: Any, names: dict[str, str]) -> Any:
    """A value with {name} replaced in all its strings."""
    if isinstance(value, str):
        for name, word in names.items():
            value = value.replace("{" + name + "}", word).replace("{" + name + "[0]}", word[:1])
        return value
    if isinstance(value, dict):
        return {fill_names(key, names): fill_names(item, names) for key, item in value.items()}
    return [fill_names(item, names) for item in value] if isinstance(value, list) else value


def find_placeholder(value: Any, name: str) -> str | None:
    """The first string in a value that still holds {name}."""
    if isinstance(value, str):
        return value if "{" + name + "}" in value else None
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((found for item in items if (found := find_placeholder(item, name))), None)
