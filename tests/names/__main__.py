"""How many names of persons are marked: `python -m tests.names FILE.jsonl …`, each line `{"language", "text", "names": [...]}`.

`names`: the strings that name persons, as they stand in the text. Measured are mentions: every place of the text where one of them
stands. *Alone*: what the proposer proposes is hidden. *Confirmed*: its author takes out what is no name and adds the names that are
missing, as far as they are not refused. Other words: of the words (or Chinese characters) outside the names, how many became a mark.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.support.marking import hiding
from tongyao.protocol.identity.listed import problem_with_listed
from tongyao.protocol.identity.marks import MARKED
from tongyao.protocol.identity.proposer import proposed_names
from tongyao.protocol.model.tension import NameFound

DATA: Final = Path(__file__).parent / "data"
_WORD: Final = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+")
_FENCE: Final = "\ue000"


class Score(NamedTuple):
    """`marked` of `mentions`, and `other` of `words` that are no names. `seconds`: of processor time for the text that took longest."""

    mentions: int = 0
    marked: int = 0
    words: int = 0
    other: int = 0
    seconds: float = 0.0
    missed: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()

    def and_of(self, more: Score) -> Score:
        return Score(
            self.mentions + more.mentions,
            self.marked + more.marked,
            self.words + more.words,
            self.other + more.other,
            max(self.seconds, more.seconds),
            self.missed + more.missed,
            self.wrong + more.wrong,
        )

    @property
    def recall(self) -> float:
        return self.marked / max(1, self.mentions)

    @property
    def harm(self) -> float:
        return self.other / max(1, self.words)


def score(text: str, names: Sequence[str], *, confirmed: bool) -> Score:
    began = time.thread_time()
    proposed = [name.name for name in proposed_names(text)]
    seconds = time.thread_time() - began
    if confirmed:
        right = [one for one in proposed if any(one in name or name in one for name in names)]
        allowed = [name for name in names if not problem_with_listed(NameFound(name=name), text)]
        proposed = list(dict.fromkeys((*right, *allowed)))
    marker = hiding(*proposed, confirmed=proposed)
    mentions = list(_mentions(text, names))
    missed = [text[start:end] for start, end in mentions if not _is_gone(marker.text(text), text, start, end)]
    rest = text
    for start, end in reversed(mentions):
        rest = f"{rest[:start]}{_FENCE}{rest[end:]}"
    left = marker.text(rest)
    kept = len(_WORD.findall(MARKED.sub("", left)))
    words = len(_WORD.findall(rest))
    wrong = tuple(one for one in proposed if one in rest)
    return Score(len(mentions), len(mentions) - len(missed), words, words - kept, seconds, tuple(missed), wrong)


def _mentions(text: str, names: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Where the names stand, the longest first, none inside another and none inside a word."""
    longest = sorted((name for name in names if name), key=len, reverse=True)
    pattern = "|".join(rf"(?<![A-Za-z]){re.escape(name)}(?![A-Za-z])" for name in longest)
    return (found.span() for found in re.finditer(pattern, text)) if longest else iter(())


def _is_gone(shown: str, text: str, start: int, end: int) -> bool:
    """Whether a mark stands in the place of the whole mention: nothing of it is left between what stands before and behind it."""
    before, after = text[:start], text[end:]
    count = shown.count(text[start:end])
    return count == 0 or count < _outside(text, start, end, shown) if before or after else count == 0


def _outside(text: str, start: int, end: int, shown: str) -> int:
    """How often the string of the mention stands in the text up to it: so many may be left that stand inside other words."""
    found = re.findall(rf"[A-Za-z]{re.escape(text[start:end])}|{re.escape(text[start:end])}[A-Za-z]", shown)
    return len(found) + (1 if found else 0)


def total(rows: Iterable[dict[str, Any]], *, confirmed: bool) -> Score:
    scores = [score(row["text"], row["names"], confirmed=confirmed) for row in rows]
    return reduce(Score.and_of, scores, Score())


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def report(paths: Sequence[Path]) -> str:
    lines = []
    for path in paths:
        rows = rows_of(path)
        for language in sorted({row["language"] for row in rows}):
            of_language = [row for row in rows if row["language"] == language]
            for confirmed in (False, True):
                one = total(of_language, confirmed=confirmed)
                lines.append(
                    f"{path.name} {language} {'confirmed' if confirmed else 'alone':<9} {len(of_language)} texts: names marked "
                    f"{one.marked}/{one.mentions} = {one.recall:.1%}, other words {one.other}/{one.words} = {one.harm:.2%}, "
                    f"longest {one.seconds * 1000:.1f} ms"
                )
                if one.missed:
                    lines.append(f"  missed: {', '.join(one.missed[:40])}")
                if one.wrong and not confirmed:
                    lines.append(f"  also proposed: {', '.join(one.wrong[:40])}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(report([Path(name) for name in sys.argv[1:]] or [DATA / "development.jsonl"]))
