"""What is wrong in a file that a person wrote: where it stands, and the nearest word that is known.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from .._text.sanitise import visible
from .yaml_loader import Loader, find_excess

Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Mistake:
    """One mistake: the file and line (0 when it has none), what was found and what to do."""

    file: Path
    line: int
    text: str

    def __str__(self) -> str:
        place = f"{display_path(self.file)}:{self.line}" if self.line else display_path(self.file)
        return f"{visible(place)}: {visible(self.text)}"


class Mistakes(Exception):
    """All mistakes that were found, in the order of their lines."""

    def __init__(self, found: Iterable[Mistake]):
        self.found = sorted(dict.fromkeys(found), key=lambda mistake: (str(mistake.file), mistake.line))
        heading = [f"{len(self.found)} mistakes, one per line:"] if len(self.found) > 1 else []
        super().__init__("\n".join([*heading, *map(str, self.found)]))


def display_path(file: Path) -> str:
    """The path as a person would type it from here."""
    try:
        return str(file.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(file)


def nearest(word: str, known: Iterable[str], listed: Iterable[str] | None = None, prefix: str = "") -> str:
    """Advice that names the nearest known word; when none is near, those that are worth listing, or all.

    prefix: what all of them begin with, which makes no two of them alike.
    """
    import difflib  # here, since a run without mistakes need not wait for it

    words = sorted(known)
    by_lower = {each.removeprefix(prefix).lower(): each for each in words}
    close = difflib.get_close_matches(word.removeprefix(prefix).lower(), by_lower, 1, 0.6)
    if close:
        return f'did you mean "{by_lower[close[0]]}"?'
    names = ", ".join(words if listed is None else sorted(listed))
    return f"known: {names}." if names else "there are no valid names here."


def read_text(file: Path) -> str:
    """Return what the file says. Raises Mistakes for one that cannot be read, or that is not UTF-8."""
    content = b""
    try:
        content = file.read_bytes()
        return content.decode("utf-8")
    except FileNotFoundError:
        found = Mistake(file, 0, "file not found.")
    except OSError as error:
        from ...module_utils._core.errors import errno_name

        found = Mistake(file, 0, f"cannot be read: {errno_name(error)}. To see who may read it, run:  ls -ld {file}")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        found = Mistake(file, line, f"is not UTF-8: invalid byte 0x{content[error.start]:02x}. Save the file as UTF-8.")
    raise Mistakes([found])


@dataclass
class YamlText:
    """A YAML text, with the line of each of its keys and values."""

    file: Path
    text: str
    _root: yaml.Node | None = field(default=None, init=False)
    _composed: bool = field(default=False, init=False)

    def root(self) -> yaml.Node | None:
        """The text as nodes; a syntax error is a mistake."""
        if not self._composed:
            self._root, self._composed = compose_nodes(self.file, self.text), True
        return self._root

    def of(self, place: Place, at_key: bool = False) -> int:
        """Line of the value at this place (or of its key), or of the nearest thing around it."""
        node, line = self.root(), 1
        for depth, step in enumerate(place):
            key, value = find_child(node, step)
            if value is None:
                break
            last = depth == len(place) - 1
            mark = key if last and at_key and key is not None else value
            node, line = value, mark.start_mark.line + 1
        return line

    def mistake(self, place: Place, text: str, at_key: bool = False) -> Mistake:
        """A mistake at that place of this file."""
        return Mistake(self.file, self.of(place, at_key), text)

    def document(self) -> Any:
        """Return what the text says, as plain data."""
        root = self.root()
        if root is None:
            return None
        try:
            return Loader("").construct_document(root)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 0
            raise Mistakes(
                [Mistake(self.file, line, f"only plain values are allowed here: {error.problem}.")]
            ) from None

    def duplicates(self) -> list[Mistake]:
        """One mistake for each key that stands twice in a mapping; YAML would let the last one win."""
        advice = '"{}" is a duplicate; the first one is on line {}. Remove one of the two.'
        return [Mistake(self.file, line, advice.format(key, first)) for key, first, line in repeated_keys(self.root())]

    def impossible_days(self) -> list[Mistake]:
        """One mistake for each day that no calendar has, such as 2027-02-30."""
        found = []
        for number, line in enumerate(self.text.splitlines(), 1):
            words = re.findall(r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}\b", line)
            found += [Mistake(self.file, number, describe_impossible_day(word)) for word in words if not is_day(word)]
        return found


@dataclass
class MistakeList:
    """All mistakes of one YAML file, and of the files that it uses, until they are raised together."""

    lines: YamlText
    found: list[Mistake] = field(default_factory=list)

    def add(self, place: Place, text: str, at_key: bool = False) -> None:
        """Add a mistake at that place of the file."""
        self.found.append(self.lines.mistake(place, text, at_key))

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Add the Mistakes that are raised within."""
        try:
            yield
        except Mistakes as mistakes:
            self.found += mistakes.found

    def raise_any(self) -> None:
        """Raise Mistakes if there is a mistake."""
        if self.found:
            raise Mistakes(self.found)


def is_day(word: str) -> bool:
    """Return True if the calendar has such a day: 2027-03-31."""
    try:
        return date.fromisoformat(word).isoformat() == word
    except ValueError:
        return False


def describe_impossible_day(word: str) -> str:
    """Return the advice for a word that should be a day and is none."""
    return f'"{word}" is not a valid date; write the date as YYYY-MM-DD, such as 2027-03-31.'


def compose_nodes(file: Path, text: str) -> yaml.Node | None:
    """The nodes of a YAML text, within its bounds."""
    check_bounds(file, text)
    try:
        root: yaml.Node | None = yaml.compose(text, Loader=Loader)
    except yaml.YAMLError as error:
        raise Mistakes([describe_yaml_error(file, text, error)]) from None
    return root


def describe_yaml_error(file: Path, text: str, error: yaml.YAMLError) -> Mistake:
    """Return the mistake that the parser found in a text, with its line."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return Mistake(
            file,
            0,
            "this is not valid YAML: the file contains characters that a text file cannot have. Save it as plain text.",
        )
    mark = error.problem_mark or error.context_mark
    said = f"this is not valid YAML: {error.problem}. Check the indentation, colons and quotes near this line."
    if mark and has_tab(text, mark.line):
        said = "this is not valid YAML: the line is indented with a tab. Use spaces instead."
    return Mistake(file, mark.line + 1 if mark else 0, said)


def check_bounds(file: Path, text: str) -> None:
    """Raise Mistakes if the text holds more than a document of a person does: see yaml_loader."""
    if found := find_excess(text):
        raise Mistakes([Mistake(file, *found)])


def has_tab(text: str, line: int) -> bool:
    """Return True if that line of the text, counted from 0, is indented by a tab."""
    there = text.splitlines()[line : line + 1]
    return any("\t" in one[: len(one) - len(one.lstrip())] for one in there)


def find_child(node: yaml.Node | None, step: str | int) -> tuple[yaml.Node | None, yaml.Node | None]:
    """Key and value node below a node; None where there is nothing of that name."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(step):
                return key, value
    elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return None, node.value[step]
    return None, None


def repeated_keys(node: yaml.Node | None) -> Iterator[tuple[str, int, int]]:
    """Key, line of its first and line of each further mention, in all mappings below a node."""
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from repeated_keys(item)
    elif isinstance(node, yaml.MappingNode):
        first: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if isinstance(key, yaml.ScalarNode) and first.setdefault(key.value, line) != line:
                yield key.value, first[key.value], line
            yield from repeated_keys(value)
