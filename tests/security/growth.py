"""Measuring how the time of a call grows with the size of its input, and inputs that make matching slow."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from re import _constants as constants  # type: ignore[attr-defined]  # isort: skip  # reason: the only parser of patterns
from re import _parser as parser  # type: ignore[attr-defined]  # isort: skip  # reason: the same

MEASURABLE: Final = 0.004
"""Seconds below which a ratio of two times says nothing."""
TOLERANCE: Final = 3.2
"""Most that four times the input may cost per character, against the smaller input. Quadratic matching gives 4."""
HARMLESS: Final = 0.000_001
"""Seconds per character that need no comparison: linear for whatever reason, and fast."""

_TAILS: Final = ("", "!", "\x00", "\n\n")
_REPRESENTATIVES: Final = {
    constants.CATEGORY_DIGIT: "1",
    constants.CATEGORY_NOT_DIGIT: "a",
    constants.CATEGORY_SPACE: " ",
    constants.CATEGORY_NOT_SPACE: "a",
    constants.CATEGORY_WORD: "a",
    constants.CATEGORY_NOT_WORD: " ",
}
_REPEATS: Final = (constants.MAX_REPEAT, constants.MIN_REPEAT, constants.POSSESSIVE_REPEAT)
_OTHERS: Final = "a1 .-_\n\t<中，"


class Superlinear(AssertionError):
    """Four times the input took clearly more than four times as long."""


@contextmanager
def at_most(seconds: int, what: str) -> Iterator[None]:
    """Interrupts matching that would not end in reasonable time."""

    def stop(*_: object) -> None:
        raise Superlinear(f"{what}: stopped after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def hold_linear(call: Callable[[str], object], make: Callable[[int], str], what: str, *, largest: int) -> None:
    """Call with inputs that grow up to `largest` characters, as long as they are cheap, and compare n with 2n and 4n.

    Raises `Superlinear` when the time per character grows at two successive doublings.
    """
    size = min(500, largest)
    with at_most(60, what):
        while True:
            seconds = _seconds(call, make(size))
            if seconds > MEASURABLE and seconds > HARMLESS * size:
                break
            if size == largest:
                return
            size = min(size * 8, largest)
        small = max(size // 4, 100)
        for _ in range(3):  # other work on the machine disturbs a measurement, but not three in a row
            costs = [_best(call, make(n)) / len(make(n)) for n in (small, 2 * small, 4 * small)]
            if costs[2] < TOLERANCE * costs[0] or costs[2] < 2 * HARMLESS:
                return
        raise Superlinear(f"{what}: {[f'{cost * 1e6:.2f} µs' for cost in costs]} per character at {small}, ×2, ×4")


def _best(call: Callable[[str], object], text: str) -> float:
    return min(_seconds(call, text) for _ in range(3))


def _seconds(call: Callable[[str], object], text: str) -> float:
    started = time.thread_time()
    call(text)
    return time.thread_time() - started


def attacks(pattern: re.Pattern[str]) -> list[tuple[str, str, str]]:
    """(before, repeated, after): inputs that are made of what `pattern` repeats, and then do not match."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    bodies, prefixes = _repeated(tree, "")
    wholes = [_sample(tree, which) for which in range(3)]
    characters = sorted(set(_characters(tree)) | set(_OTHERS))[:40]
    units = dict.fromkeys([*bodies, *characters, *wholes])
    pairs = [a + b for a in list(bodies)[:8] for b in characters[:12]] + [a + b for a in wholes for b in _OTHERS]
    openings = [before + body for before, body in prefixes] + [before for before, _ in prefixes]
    found = [("", unit, tail) for unit in (*units, *pairs, *openings) if unit for tail in _TAILS[:2]]
    found += [(before, unit, tail) for before, unit in prefixes if before and unit for tail in _TAILS]
    found += [(before, unit, "") for before, _ in prefixes if before for unit in _OTHERS]
    return list(dict.fromkeys(found))


def _repeated(tree: Any, before: str, shortest: str = "") -> tuple[dict[str, None], list[tuple[str, str]]]:
    """What stands under the repetitions of `tree`, alone and with what must stand before it."""
    bodies: dict[str, None] = {}
    prefixes: list[tuple[str, str]] = []
    for code, value in tree:
        if code in _REPEATS and value[1] > 1:
            for which in range(3):
                bodies[_sample(value[2], which)] = None
                prefixes.append((before, _sample(value[2], which)))
                prefixes.append((shortest, _sample(value[2], which)))
        for part in _parts(code, value):
            inner, more = _repeated(part, before, shortest)
            bodies |= inner
            prefixes += more
        before += _node(code, value, 0)
        if not (code in _REPEATS and value[0] == 0):
            shortest += _node(code, value, 0)
    return bodies, prefixes


def _parts(code: Any, value: Any) -> list[Any]:
    if code in _REPEATS:
        return [value[2]]
    if code is constants.SUBPATTERN:
        return [value[3]]
    if code is constants.ATOMIC_GROUP:
        return [value]
    if code is constants.BRANCH:
        return list(value[1])
    if code in (constants.ASSERT, constants.ASSERT_NOT):
        return [value[1]]
    return []


def _sample(tree: Any, which: int) -> str:
    """A text that `tree` matches; `which` chooses among alternatives."""
    return "".join(_node(code, value, which) for code, value in tree)


def _node(code: Any, value: Any, which: int) -> str:
    if code is constants.LITERAL:
        return chr(value)
    if code is constants.NOT_LITERAL:
        return "a" if value != ord("a") else "b"
    if code is constants.ANY:
        return "a"
    if code is constants.IN:
        members = _members(value)
        return members[which % len(members)] if members else ""
    if code in _REPEATS:
        return _sample(value[2], which) * int(min(max(value[0], 1), 20))
    if code is constants.BRANCH:
        return _sample(value[1][which % len(value[1])], which)
    if code is constants.SUBPATTERN:
        return _sample(value[3], which)
    if code is constants.ATOMIC_GROUP:
        return _sample(value, which)
    return ""


def _members(value: Any) -> list[str]:
    """A few characters of a class."""
    if value and value[0][0] is constants.NEGATE:
        pattern = re.compile("[^" + "".join(_class(code, one) for code, one in value[1:]) + "]")
        return [one for one in "a 1中.\n-_,“" if pattern.match(one)]
    found = []
    for code, one in value:
        if code is constants.LITERAL:
            found.append(chr(one))
        elif code is constants.RANGE:
            found.append(chr(one[0]))
        elif code is constants.CATEGORY:
            found.append(_REPRESENTATIVES[one])
    return found


def _class(code: Any, one: Any) -> str:
    if code is constants.LITERAL:
        return re.escape(chr(one))
    if code is constants.RANGE:
        return f"{re.escape(chr(one[0]))}-{re.escape(chr(one[1]))}"
    classes: dict[Any, str] = {
        constants.CATEGORY_DIGIT: r"\d", constants.CATEGORY_NOT_DIGIT: r"\D", constants.CATEGORY_SPACE: r"\s",
        constants.CATEGORY_NOT_SPACE: r"\S", constants.CATEGORY_WORD: r"\w", constants.CATEGORY_NOT_WORD: r"\W",
    }  # fmt: skip
    return classes[one]


def _characters(tree: Any) -> Iterator[str]:
    for code, value in tree:
        if code is constants.LITERAL:
            yield chr(value)
        elif code is constants.IN:
            yield from _members(value)
        for part in _parts(code, value):
            yield from _characters(part)
