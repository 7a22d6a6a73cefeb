"""The measures of the house: how large its rooms and functions are, and who imports whom.

    python tools/measures.py [--graph] [FOLDER]

FOLDER is the checkout to measure, another commit's say; this one, unless given. --graph draws the rooms in layers,
each of which needs only those below it. Nothing of ours is run, and nothing but Python is needed.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import statistics
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import wrap

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import rooms  # noqa: E402  # the checkout comes first
from tools.calls import Calls, Function  # noqa: E402

LONG = 30  # lines of a function that are a question
NO_REASON = re.compile(r"#\s*(Copyright|SPDX|GNU|type:|noqa|!)")  # comments that are for tools and lawyers


def main(arguments: Sequence[str]) -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description="Measure the rooms and the functions of plugins/.")
    parser.add_argument("--graph", action="store_true", help="draw the rooms in layers")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT, help="the checkout to measure")
    asked = parser.parse_args(arguments)
    sources = rooms.read(asked.folder.resolve())
    if not sources:
        parser.error(f"there is no Python below {asked.folder}/plugins")
    print("\n".join(drawn(sources) if asked.graph else [*listed(sources), "", *measured(sources)]))


def listed(sources: Mapping[str, rooms.Source]) -> Iterator[str]:
    """A line for each room: files, lines, and the rooms that it imports with the number of arrows between files."""
    files = Counter(source.room for source in sources.values())
    lines: Counter[str] = Counter()
    for source in sources.values():
        lines[source.room] += len(source.text.splitlines())
    yield f"{'room':16} {'files':>5} {'lines':>6}  imports (arrows between files)"
    for room, arrows in sorted(rooms.room_graph(sources).items()):
        said = ", ".join(f"{other} {number}" for other, number in sorted(arrows.items()))
        first, *more = wrap(said, 80) or [""]
        yield f"{room:16} {files[room]:5} {lines[room]:6}  {first}".rstrip()
        yield from (" " * 31 + part for part in more)


def measured(sources: Mapping[str, rooms.Source]) -> Iterator[str]:
    """Name and value of each measure."""
    yield from (f"{name:40} {value}" for name, value in measures(sources))


def measures(sources: Mapping[str, rooms.Source]) -> Iterator[tuple[str, str]]:
    """The measures of all files together. A function's length is from its def to its end, docstring included."""
    calls = Calls(sources)
    functions = [scope.node for scope in calls.scopes.values()]
    lengths = [length(node) for node in functions]
    files = [len(source.text.splitlines()) for source in sources.values()]
    graph = rooms.room_graph(sources)
    yield "files, rooms", f"{len(files)}, {len(graph)}"
    yield "lines", f"{sum(files):,}"
    yield "lines of code", f"{sum(lines_of_code(source) for source in sources.values()):,}"
    yield "file: median / p90 / max", spread(files)
    yield "most files in one room", "{1} ({0})".format(*most_files(sources))
    yield "arrows between rooms", str(sum(map(len, graph.values())))
    yield "circles between rooms", circles_said({room: {*arrows} for room, arrows in graph.items()})
    yield "circles between files", circles_said(rooms.file_graph(sources))
    yield "functions", f"{len(functions):,}"
    yield "function: median / mean / p90 / max", spread(lengths, mean=True)
    yield f"functions of more than {LONG} lines", share([number for number in lengths if number > LONG], lengths)
    yield "functions of one statement", share([node for node in functions if len(body(node)) == 1], functions)
    yield (
        "functions called from one place",
        share([name for name in calls.scopes if calls.callers[name] == 1], functions),
    )
    yield "static call depth: p90 / max", "{1} / {2}".format(*three(list(calls.depths.values())))
    yield "functions with all type hints", share([node for node in functions if is_hinted(node)], functions)
    public = [node for node in documented(sources) if not node.name.startswith("_")]
    yield "public names with a docstring", share([node for node in public if ast.get_docstring(node)], public)
    every = list(documented(sources))
    yield "all names with a docstring", share([node for node in every if ast.get_docstring(node)], every)
    private = [node for node in every if node.name.startswith("_") and not node.name.startswith("__")]
    yield "private names", share(private, every)
    comments = sum(comment_lines(source.text) for source in sources.values())
    yield "lines with a comment", f"{comments:,} ({comments / sum(files):.1%})"


def most_files(sources: Mapping[str, rooms.Source]) -> tuple[str, int]:
    """The fullest room. That of the modules holds one file for each module, and counts like any other."""
    return Counter(source.room for source in sources.values()).most_common(1)[0]


def circles_said(graph: Mapping[str, set[str]]) -> str:
    """How many groups reach each other, and who is in them."""
    found = rooms.circles(graph)
    names = "; ".join(", ".join(group) for group in found)
    return f"{len(found)} ({names})" if found else "none"


def documented(sources: Mapping[str, rooms.Source]) -> Iterator[Function | ast.ClassDef]:
    """Every function, method and class that could have a docstring."""
    for source in sources.values():
        for node in ast.walk(source.tree):
            if isinstance(node, Function | ast.ClassDef):
                yield node


def length(node: Function) -> int:
    """The lines of a function."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


def body(node: Function) -> list[ast.stmt]:
    """The statements of a function without its docstring."""
    return node.body[1:] if ast.get_docstring(node) else node.body


def is_hinted(node: Function) -> bool:
    """Whether the result and every argument but self or cls have a type."""
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
    named = [one for one in given if one and one.arg not in ("self", "cls")]
    return node.returns is not None and all(one.annotation for one in named)


def comment_lines(text: str) -> int:
    """The lines that carry a comment for people."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(one.type == tokenize.COMMENT and not NO_REASON.match(one.string) for one in tokens)


def lines_of_code(source: rooms.Source) -> int:
    """The lines that are neither empty, nor a comment alone, nor a docstring."""
    docs = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Module | ast.ClassDef | Function) and ast.get_docstring(node):
            docs |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines = enumerate(source.text.splitlines(), 1)
    return sum(bool(line.strip()) and not line.strip().startswith("#") and at not in docs for at, line in lines)


def three(numbers: Sequence[int]) -> tuple[int, int, int]:
    """Median, ninth decile, and the largest."""
    ordered = sorted(numbers) or [0]
    return round(statistics.median(ordered)), ordered[min(len(ordered) - 1, len(ordered) * 9 // 10)], ordered[-1]


def spread(numbers: Sequence[int], mean: bool = False) -> str:
    """'8 / 21 / 46', with the mean behind the median where it is asked for."""
    median, ninth, largest = three(numbers)
    return " / ".join(
        [str(median), *([f"{statistics.mean(numbers or [0]):.1f}"] if mean else []), str(ninth), str(largest)]
    )


def share(some: Sequence[object], every: Sequence[object]) -> str:
    """'12 (3.4%)'."""
    return f"{len(some):,} ({len(some) / len(every):.1%})" if every else "0"


def drawn(sources: Mapping[str, rooms.Source]) -> Iterator[str]:
    """The rooms in layers, the top first. Under each room the ones that it imports and reaches by no other way."""
    graph = {room: {*arrows} for room, arrows in rooms.room_graph(sources).items()}
    together = {name: group for group in rooms.circles(graph) for name in group}
    height = heights(graph, together)
    for layer in range(max(height.values()), -1, -1):
        yield f"{layer:2} {'─' * 76}"
        for room in sorted(one for one in graph if height[one] == layer):
            near = sorted(direct(graph, room, together))
            circle = f"   ⟲ circle with {', '.join(sorted({*together[room]} - {room}))}" if room in together else ""
            yield f"   {room:16}{' → ' + ', '.join(near) if near else ''}{circle}".rstrip()


def heights(graph: Mapping[str, set[str]], together: Mapping[str, list[str]]) -> dict[str, int]:
    """Room -> its layer, 0 at the ground: one above the highest room that it needs. A circle stands in one layer."""
    height: dict[str, int] = {}

    def of(room: str) -> int:
        if room not in height:
            mine = together.get(room, [room])
            below = {other for one in mine for other in graph[one]} - {*mine}
            height.update(dict.fromkeys(mine, 1 + max(map(of, sorted(below)), default=-1)))
        return height[room]

    for room in graph:
        of(room)
    return height


def direct(graph: Mapping[str, set[str]], room: str, together: Mapping[str, list[str]]) -> set[str]:
    """The rooms that a room needs, without those that one of them needs, too; in a circle none goes before another."""
    spared: set[str] = set()
    for one in graph[room] - {*together.get(room, ())}:
        reached: set[str] = set()
        to_do = [one]
        while to_do:
            for other in graph[to_do.pop()] - reached - {room}:
                reached.add(other)
                to_do.append(other)
        spared |= reached - {one, *together.get(one, ())}
    return graph[room] - spared


if __name__ == "__main__":
    main(sys.argv[1:])
