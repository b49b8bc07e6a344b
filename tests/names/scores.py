"""Found, missed and false names on written texts; the held-out sets are scored and were not looked at while mending."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Final, Literal, NamedTuple

from tongyao.llm.extractive.names_in_text import names_in_text
from tongyao.protocol.rules.identity.anonymity import Anonymizer
from tongyao.protocol.rules.identity.pseudonyms import MARKED, numbered

DATA: Final = Path(__file__).parent / "data"
Half = Literal["dev", "held_out", "held_out_2"]
HALVES: Final[tuple[Half, ...]] = ("dev", "held_out", "held_out_2")


class Text(NamedTuple):
    """A written text, its names with their kind, and what must stay: places, titles of works, languages, months, products."""

    text: str
    names: dict[str, str]
    others: dict[str, str]


class Score(NamedTuple):
    """`there`, `found`: names by kind. `false`: found strings that are no name, by what they are (`word`: any other word).

    `masked`, `words`: the names found in all texts of the half are numbered together as in one process, and every text is read
    with them; `masked` is how many marks stand where no name is, `words` how many words or CJK characters are no names.
    """

    there: Counter[str]
    found: Counter[str]
    false: Counter[str]
    masked: int
    words: int

    @property
    def recall(self) -> float:
        return self.found.total() / self.there.total()

    @property
    def precision(self) -> float:
        return self.found.total() / (self.found.total() + self.false.total())


def texts(lang: str, half: Half) -> list[Text]:
    lines = (DATA / f"{lang}.{half}.jsonl").read_text(encoding="utf-8").splitlines()
    return [Text(row["text"], row["names"], row.get("others", {})) for row in map(json.loads, lines)]


def score(lang: str, half: Half) -> Score:
    there, found, false = Counter[str](), Counter[str](), Counter[str]()
    for text, names, others in texts(lang, half):
        seen = {one.name for one in names_in_text(text)}
        there.update(names.values())
        found.update(kind for name, kind in names.items() if name in seen)
        for one in seen - set(names):
            kinds = [kind for other, kind in others.items() if one in other or other in one]
            false[
                "part of a name" if any(one in name or name in one for name in names) else (kinds or ["word"])[0]
            ] += 1
    masked, words = _masked(lang, half)
    return Score(there, found, false, masked, words)


def _masked(lang: str, half: Half) -> tuple[int, int]:
    """Marks in what is left of the texts of a half when the names are cut out of them, and the words of what is left."""
    all_texts = texts(lang, half)
    found = numbered([one for text in all_texts for one in names_in_text(text.text)])
    reader = Anonymizer({}, numbered=found)
    masked = words = 0
    for text, names, _ in all_texts:
        rest = text
        for name in sorted(names, key=len, reverse=True):
            rest = rest.replace(name, "#")
        masked += len(MARKED.findall(reader.text(rest)))
        words += sum(one > "\u3fff" for one in rest) if lang == "zh" else len(rest.split())
    return masked, words


def table() -> str:
    lines = [
        f"{'half':<11} {'lang':<5} {'persons':>8} {'firms':>8} {'recall':>7} {'precision':>10} {'marks/words':>12}  false"
    ]
    for half in HALVES:
        for lang in ("en", "zh"):
            one = score(lang, half)
            persons, firms = (f"{one.found[kind]}/{one.there[kind]}" for kind in ("person", "firm"))
            false = ", ".join(f"{count} {what}" for what, count in one.false.most_common())
            lines.append(
                f"{half:<11} {lang:<5} {persons:>8} {firms:>8} {one.recall:>7.2f} {one.precision:>10.2f} "
                f"{f'{one.masked}/{one.words}':>12}  {false}"
            )
    return "\n".join(lines)
