"""Mistakes in a YAML file of the user, each with its line and a suggestion.

A place is the path of a value in the file, a tuple of keys and indexes.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from .._text.sanitise import visible
from .yaml_loader import Loader, TolerantLoader, find_excess

Place = tuple[str | int, ...]
SECOND_DOCUMENT = "but found another document"  # PyYAML's description of this error


@dataclass(frozen=True)
class Mistake:
    """A mistake in a file, with what to do. line: 0 if the mistake has no line."""

    file: Path
    line: int
    text: str

    def __str__(self) -> str:
        """Return the mistake as one line: FILE:LINE: text."""
        place = f"{display_path(self.file)}:{self.line}" if self.line else display_path(self.file)
        return f"{visible(place)}: {visible(self.text)}"


class Mistakes(Exception):
    """All mistakes of some files, in the order of their lines."""

    def __init__(self, found: Iterable[Mistake]):
        """Store the mistakes, each once. The text of the error has a line for each, below their number if several."""
        self.found = sorted(dict.fromkeys(found), key=lambda mistake: (str(mistake.file), mistake.line))
        heading = [f"{len(self.found)} mistakes, one per line:"] if len(self.found) > 1 else []
        super().__init__("\n".join([*heading, *map(str, self.found)]))


def display_path(file: Path) -> str:
    """Return a path below the working directory relative to it; any other path unchanged."""
    try:
        return str(file.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(file)


def nearest(word: str, known: Iterable[str], listed: Iterable[str] | None = None, prefix: str = "") -> str:
    """Return a suggestion: the known word that is most similar, else the list of known words.

    listed: the words to list, if not all; () to suggest only a similar word. prefix: common to all known words, and
    ignored by the comparison.
    """
    import difflib  # imported late: most runs find no mistake

    words = sorted(known)
    by_lower = {known_word.removeprefix(prefix).lower(): known_word for known_word in words}
    close = difflib.get_close_matches(word.removeprefix(prefix).lower(), by_lower, n=1, cutoff=0.6)
    if close:
        return f'did you mean "{by_lower[close[0]]}"?'
    names = ", ".join(words if listed is None else sorted(listed))
    if names:
        return f"known: {names}."
    return "no known name is similar." if words else "the list of valid names is empty."


def read_text(file: Path) -> str:
    """Return the text of a file. Raise Mistakes if it cannot be read or is not UTF-8."""
    content = b""
    try:
        content = file.read_bytes()
        return content.decode("utf-8")
    except FileNotFoundError:
        mistake = Mistake(file, line=0, text="file not found.")
    except IsADirectoryError:
        mistake = Mistake(file, line=0, text="this is a folder; give the path of a file.")
    except OSError as error:
        from ...module_utils._core.errors import errno_name

        command = shlex.join(["ls", "-ld", str(file)])
        text = f"the file cannot be read: {errno_name(error)}. To check permissions, run:  {command}"
        mistake = Mistake(file, line=0, text=text)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = f"0x{content[error.start]:02x}"
        mistake = Mistake(file, line, f"the file is not UTF-8: invalid byte {byte}. Save the file as UTF-8.")
    raise Mistakes([mistake])


def load_document(file: Path) -> Any:
    """Return the content of a YAML file, which may contain Ansible's tags. Raise Mistakes if the file is not valid."""
    text = read_text(file)
    check_bounds(file, text)
    try:
        return yaml.load(text, TolerantLoader)
    except yaml.YAMLError as error:
        raise Mistakes([describe_yaml_error(file, text, error)]) from None


@dataclass
class YamlText:
    """A YAML text, with the line of each of its keys and values."""

    file: Path
    text: str
    _root: yaml.Node | None = field(default=None, init=False)
    _composed: bool = field(default=False, init=False)  # True if _root is known; the root of an empty text is None

    def root(self) -> yaml.Node | None:
        """Return the root node of the text. Raise Mistakes for a syntax error."""
        if not self._composed:
            self._root, self._composed = compose_nodes(self.file, self.text), True
        return self._root

    def line_of(self, place: Place, at_key: bool = False) -> int:
        """Return the line of the value at this place, or of its key if at_key is True.

        If the document has no such place, return the line of the nearest value around the place.
        """
        node, line = self.root(), 1
        for depth, step in enumerate(place, 1):
            key, value = find_child(node, step)
            if value is None:
                break
            is_key_meant = at_key and depth == len(place)
            located_node = key if is_key_meant and key is not None else value
            node, line = value, located_node.start_mark.line + 1
        return line

    def mistake(self, place: Place, text: str, at_key: bool = False) -> Mistake:
        """Return a mistake at this place of the file. at_key: True if the key is wrong, not its value."""
        return Mistake(self.file, self.line_of(place, at_key), text)

    def document(self, loader: Any = Loader) -> Any:
        """Return the content as plain data. Raise Mistakes for a value that is not plain.

        loader: TolerantLoader to accept values with Ansible's tags, too.
        """
        root = self.root()
        if root is None:
            return None
        try:
            return loader("").construct_document(root)  # "": the text was parsed by root()
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 0
            raise Mistakes(
                [
                    Mistake(
                        self.file,
                        line,
                        f"this value must be text, a number, a date, a list or a mapping: {error.problem}.",
                    )
                ]
            ) from None

    def duplicates(self) -> list[Mistake]:
        """Return a mistake for each duplicate key of a mapping: YAML would use the last one."""
        text = 'duplicate key "{}"; the first one is on line {}. Remove one of the two.'
        return [
            Mistake(self.file, line, text.format(key, first)) for key, first, line in find_repeated_keys(self.root())
        ]

    def impossible_days(self) -> list[Mistake]:
        """Return a mistake for each date that does not exist, such as 2027-02-30."""
        mistakes = []
        for number, line in enumerate(self.text.splitlines(), 1):
            days = re.findall(r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}\b", line)
            mistakes += [Mistake(self.file, number, describe_impossible_day(day)) for day in days if not is_day(day)]
        return mistakes


@dataclass
class MistakeList:
    """The mistakes of one YAML file, and of the files that it uses, collected to be raised together."""

    lines: YamlText
    found: list[Mistake] = field(default_factory=list)

    def add(self, place: Place, text: str, at_key: bool = False) -> None:
        """Add a mistake at this place of the file. at_key: True if the key is wrong, not its value."""
        self.found.append(self.lines.mistake(place, text, at_key))

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Add the Mistakes that the block raises, instead of raising them."""
        try:
            yield
        except Mistakes as mistakes:
            self.found += mistakes.found

    def raise_any(self) -> None:
        """Raise Mistakes if any were added."""
        if self.found:
            raise Mistakes(self.found)


def is_day(word: str) -> bool:
    """Return True if the word is an existing date in the form 2027-03-31."""
    try:
        return date.fromisoformat(word).isoformat() == word
    except ValueError:
        return False


def describe_impossible_day(word: str) -> str:
    """Return the error text for a word that is not a date."""
    return f'"{word}" is not a valid date; write the date as YYYY-MM-DD, such as 2027-03-31.'


def compose_nodes(file: Path, text: str) -> yaml.Node | None:
    """Return the root node of a YAML text; None if it is empty. Raise Mistakes for a syntax error or exceeded limit.

    file: the path for the error.
    """
    check_bounds(file, text)
    try:
        root: yaml.Node | None = yaml.compose(text, Loader=Loader)
    except yaml.YAMLError as error:
        raise Mistakes([describe_yaml_error(file, text, error)]) from None
    return root


def describe_yaml_error(file: Path, text: str, error: yaml.YAMLError) -> Mistake:
    """Return the parser's error about the text of a file as a mistake with its line."""
    if not isinstance(error, yaml.MarkedYAMLError):  # yaml.reader.ReaderError, which has no line
        message = "this is not valid YAML: the file contains control characters. Save it as plain text."
        return Mistake(file, line=0, text=message)
    mark = error.problem_mark or error.context_mark
    message = f"this is not valid YAML: {error.problem}. Check the indentation, colons and quotes near this line."
    if error.problem == SECOND_DOCUMENT:
        message = "a second YAML document begins here. Remove the line ---, or move the text below it to another file."
    elif mark and is_tab_indented(text, mark.line):
        message = "this is not valid YAML: the line is indented with a tab. Use spaces instead."
    return Mistake(file, mark.line + 1 if mark else 0, message)


def check_bounds(file: Path, text: str) -> None:
    """Raise Mistakes if the text of a file exceeds a limit of yaml_loader."""
    if excess := find_excess(text):
        line, message = excess
        raise Mistakes([Mistake(file, line, message)])


def is_tab_indented(text: str, line: int) -> bool:
    """Return True if this line of the text, counted from 0, is indented with a tab."""
    lines = text.splitlines()[line : line + 1]  # empty if the error is at the end of the file
    return any("\t" in content[: len(content) - len(content.lstrip())] for content in lines)


def find_child(node: yaml.Node | None, step: str | int) -> tuple[yaml.Node | None, yaml.Node | None]:
    """Return the nodes of key and value of a mapping's entry, or of a list's item, which has no key.

    step: the key or index. None stands for a node that does not exist.
    """
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(step):
                return key, value
    elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return None, node.value[step]
    return None, None


def find_repeated_keys(node: yaml.Node | None) -> Iterator[tuple[str, int, int]]:
    """Yield (key, line of its first use, line of a repeated use) for all mappings below a node."""
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from find_repeated_keys(item)
    elif isinstance(node, yaml.MappingNode):
        first_lines: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if isinstance(key, yaml.ScalarNode):
                if key.value in first_lines:
                    yield key.value, first_lines[key.value], line
                first_lines.setdefault(key.value, line)
            yield from find_repeated_keys(value)
