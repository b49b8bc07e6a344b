"""Nobody may stop the service for the others with a text that makes matching slow (quadratic or worse).

Every regular expression of the product is collected from its modules, and fed with texts that are made of what it repeats.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

from tests.security.growth import attacks, hold_linear
from tongyao.protocol.guards import advice

ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = ("tongyao", "crystalline_highway", "activities", "workflows")
LARGEST: Final = 16_000
"""Characters of the longest attack on a pattern. Quadratic matching of as many takes a second and more."""
READ_IN_PIECES: Final = "tongyao.protocol.guards.advice._LANGUAGES"
"""Patterns that read a sentence in pieces of `advice._WINDOW` characters, but for those of reports, which read it whole."""
NOT_FOR_TEXTS: Final = ("tongyao.runtime", "tongyao.commands.service")
"""Where patterns read settings and outputs of programs on the machine, and nobody's text arrives."""


def _sources() -> dict[str, str]:
    """Name → source of every module that uses regular expressions where texts of people or models arrive."""
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            source = path.read_text(encoding="utf-8")
            if re.search(r"^(?:import re|from re import.*)$", source, re.MULTILINE) and not name.startswith(
                NOT_FOR_TEXTS
            ):
                found[name] = source
    return found


def _patterns(value: Any, seen: set[int], depth: int = 0) -> Iterator[re.Pattern[str]]:
    """Every compiled pattern in `value`: in collections, and in the attributes of the product's own objects.

    `seen`: the ids of objects that have attributes and were visited before. Every module refers to many of them.
    """
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield value
    elif depth > 4 or isinstance(value, type | ModuleType):
        return
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _patterns(inner, seen, depth + 1)
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            yield from _patterns(inner, seen, depth + 1)
    elif type(value).__module__.startswith(PACKAGES) and id(value) not in seen:
        seen.add(id(value))
        for name in dir(type(value)):  # also what is compiled at first use
            if isinstance(inspect.getattr_static(type(value), name), property) or name.startswith("__"):
                continue
            inner = getattr(value, name, None)
            if not callable(inner):
                yield from _patterns(inner, seen, depth + 1)
        for inner in getattr(value, "__dict__", {}).values():
            yield from _patterns(inner, seen, depth + 1)


def _collected() -> dict[str, tuple[re.Pattern[str], Callable[[str], object]]]:
    found: dict[str, tuple[re.Pattern[str], Callable[[str], object]]] = {}
    known: set[re.Pattern[str]] = set()
    seen: set[int] = set()
    for module, source in SOURCES.items():
        for name, value in vars(importlib.import_module(module)).items():
            for number, pattern in enumerate(_patterns(value, seen)):
                if pattern not in known:
                    known.add(pattern)
                    label = f"{module}.{name}" + (f"[{number}]" if number else "")
                    found[label] = (pattern, _use(pattern, name, source))
    return found


def _use(pattern: re.Pattern[str], name: str, source: str) -> Callable[[str], object]:
    """How the pattern is used: one that only ever matches from the start is tried from there, any other everywhere."""
    uses = set(re.findall(rf"\b{re.escape(name)}\.(\w+)\(", source))
    if uses and uses <= {"fullmatch"}:
        return pattern.fullmatch
    if uses and uses <= {"match", "fullmatch"}:
        return pattern.match
    return lambda text: sum(1 for _ in pattern.finditer(text))


SOURCES: Final = _sources()
COLLECTED: Final = _collected()


@pytest.mark.slow
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("name", COLLECTED)
def test_no_text_makes_a_pattern_slow(name: str) -> None:
    """All attacks on the longest patterns, thousands of them, take minutes."""
    pattern, use = COLLECTED[name]
    in_pieces = name.startswith(READ_IN_PIECES) and "said" not in pattern.groupindex
    largest = advice._WINDOW if in_pieces else LARGEST
    for before, unit, after in attacks(pattern):

        def make(size: int, before: str = before, unit: str = unit, after: str = after) -> str:
            return before + unit * (size // len(unit)) + after

        hold_linear(use, make, f"{name} on {before!r} + {unit!r}… + {after!r}", largest=largest)


def test_every_pattern_is_collected() -> None:
    """A pattern that stands inside a function would escape the test above."""
    inside = [
        f"{module}:{call.lineno}"
        for module, source in SOURCES.items()
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == "re"
        and call.args
        and isinstance(call.args[0], ast.Constant | ast.JoinedStr)
    ]
    assert inside == []
