"""The words of an intent behind each part of its tension: the quoted ones, else those that share words with it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tongyao.app.choosing.tension_words import LineWords
from tongyao.gateway.console.texts import Language, say
from tongyao.protocol.model.tension import Lens, Tension
from tongyao.texts.catalogue import in_both

_CLAUSE: Final = re.compile(r"[^,，.。;；!！?？:：\n]+[,，.。;；!！?？:：\n]*\s*")
_WORD: Final = re.compile(r"[a-z0-9£$€]{3,}|[\u4e00-\u9fff]+")
_SHARE: Final = 0.34
"""A clause is taken up by a part that has at least this share of its words."""
_LEAST_SAID: Final = 3
"""Letters of a piece of an intent: what is shorter says nothing that could be lost."""
_BETWEEN: Final = ' \n\t,;:，；：、（）()《》“”"'
"""Punctuation at the ends of a piece between quoted pieces."""
_COMMON: Final = frozenset(
    "the and for with that this have has are was not but our all can will from they you its into what which".split()
)


def pieces(intent: str, tension: Tension, quoted: Sequence[LineWords] = ()) -> list[tuple[str, str]]:
    """The intent in pieces, each with `T`, `I`, `B` or `E`, or with an empty letter where nothing took it up.

    A line over a part, which the help with an intent wrote, is no words of the part: nothing takes it up.
    `quoted`: what the tension rests on. Where it is empty, because the tension came with the intent or was revised, clauses are
    compared with its lines.
    """
    if quoted:
        return _quoted(intent, [word for word in quoted if word.source == "intent"])
    parts = {
        "T": _words(tension.transition),
        "I": _words(tension.initial_state),
        "B": _words(" ".join(tension.barriers)),
        "E": _words(tension.exchange),
    }
    found: list[tuple[str, str]] = []
    for clause in _CLAUSE.findall(intent):
        words = _words(clause)
        shares = {letter: len(words & known) / len(words) if words else 0.0 for letter, known in parts.items()}
        letter, share = max(shares.items(), key=lambda entry: entry[1])
        letter = letter if share >= _SHARE and not _is_heading(clause) else ""
        if found and found[-1][1] == letter and not found[-1][0].endswith("\n"):
            found[-1] = (found[-1][0] + clause, letter)
        else:
            found.append((clause, letter))
    return found


def left_over(shown: Sequence[tuple[str, str]]) -> list[str]:
    """Return the pieces of an intent that no part of the tension took up."""
    own = (
        "\n".join(line for line in text.splitlines() if not _is_heading(line)).strip(_BETWEEN)
        for text, letter in shown
        if not letter
    )
    return [text for text in own if sum(map(str.isalnum, text)) > _LEAST_SAID]


def under(lens: Lens, words: str, language: Language) -> str:
    """`words` as a part of an intent, under the line that says what they are about: whoever formulates the intent keeps it there."""
    return f"{say(language, f'start.part_{lens}')}{'：' if language == 'zh' else ':'}\n\n{words}"


def _is_heading(line: str) -> bool:
    """Whether it is a line that `under` writes."""
    bare = line.strip().partition(": ")[0].strip(" :：").casefold()
    return any(bare == words.casefold() for lens in Lens for words in in_both("console", f"start.part_{lens}"))


def _quoted(intent: str, words: Sequence[LineWords]) -> list[tuple[str, str]]:
    """Return the quoted pieces. If two quotes overlap, the one that begins first has the words of both."""
    found: list[tuple[str, str]] = []
    at = 0
    for word in sorted(words, key=lambda word: (word.start, -word.end)):
        start = max(at, word.start)
        if start >= word.end:
            continue
        if at < start:
            found.append((intent[at:start], ""))
        found.append((intent[start : word.end], word.line[0]))
        at = word.end
    return [*found, (intent[at:], "")] if at < len(intent) else found


def _words(text: str) -> set[str]:
    """Words of three letters or more by their first five letters, and pairs of Chinese characters."""
    found: set[str] = set()
    for run in _WORD.findall(text.lower()):
        if "\u4e00" <= run[0] <= "\u9fff":
            found |= {run[n : n + 2] for n in range(max(1, len(run) - 1))}
        elif run not in _COMMON:
            found.add(run[:5])
    return found
