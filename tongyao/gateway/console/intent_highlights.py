"""Finds the words of an intent from which each part of its tension was made: quotes, else clauses that share words."""

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
"""A clause belongs to a part of the tension if the part contains at least this share of the clause's words."""
_LEAST_SAID: Final = 3
"""A piece of an intent with at most this many letters and digits is not listed as left over."""
_BETWEEN: Final = ' \n\t,;:，；：、（）()《》“”"'
"""Punctuation that is stripped from the ends of a piece between quoted pieces."""
_COMMON: Final = frozenset(
    "the and for with that this have has are was not but our all can will from they you its into what which".split()
)


def pieces(intent: str, tension: Tension, quoted: Sequence[LineWords] = ()) -> list[tuple[str, str]]:
    """Return the intent in pieces, each with `T`, `I`, `B` or `E`, or with an empty letter if it belongs to no part.

    A heading that `under` wrote above a part belongs to no part. `quoted`: the passages on which the tension rests. It
    is empty if the tension came with the intent or was revised. Then clauses are compared with the tension's lines.
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
    """Return the pieces of an intent that belong to no part of the tension, without headings and very short pieces."""
    own = (
        "\n".join(line for line in text.splitlines() if not _is_heading(line)).strip(_BETWEEN)
        for text, letter in shown
        if not letter
    )
    return [text for text in own if sum(map(str.isalnum, text)) > _LEAST_SAID]


def under(lens: Lens, words: str, language: Language) -> str:
    """Return `words` under a heading that names the lens, so that formulation assigns them to this lens."""
    return f"{say(language, f'start.part_{lens}')}{'：' if language == 'zh' else ':'}\n\n{words}"


def _is_heading(line: str) -> bool:
    """Return whether `under` wrote this line."""
    bare = line.strip().partition(": ")[0].strip(" :：").casefold()
    return any(bare == words.casefold() for lens in Lens for words in in_both("console", f"start.part_{lens}"))


def _quoted(intent: str, words: Sequence[LineWords]) -> list[tuple[str, str]]:
    """Return the intent cut at the quotes. If two quotes overlap, their common words belong to the earlier quote."""
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
    """Return the first five letters of each word of three or more letters, and each pair of Chinese characters."""
    found: set[str] = set()
    for run in _WORD.findall(text.lower()):
        if "\u4e00" <= run[0] <= "\u9fff":
            found |= {run[n : n + 2] for n in range(max(1, len(run) - 1))}
        elif run not in _COMMON:
            found.add(run[:5])
    return found
