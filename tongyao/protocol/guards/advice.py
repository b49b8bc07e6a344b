"""Finds sentences that the catalyst may not say: recommendations, proposals of a private talk, judgements. Pure.

See docs/protocol.md §5.4 and docs/guards.md. The patterns are data: `wordings.en.toml` and `wordings.zh.toml`. The
catalyst may quote somebody's recommendation, but may not make a recommendation itself. So quotations and reports such
as "P02 said …" are removed before a sentence is checked. They are kept and checked if they name another participant,
because "P01 and P03 should talk" remains a recommendation when it is attributed to somebody. Words copied from the
tension count as a report of P00's words.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final, Literal, NamedTuple

from tongyao.protocol.guards.checks import Complaint, complaint, sentences
from tongyao.protocol.model.observation import ObservationDraft
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.requests import CatalystRequest

Reason = Literal["recommendation", "private_talk", "judgement"]

_ALIAS: Final = r"(?<![A-Za-z0-9])P\d{2}(?!\d)"
_ANY_ALIAS: Final = re.compile(_ALIAS)
_QUOTED: Final = re.compile(r"“[^“”\n]{0,400}”|「[^「」\n]{0,400}」|『[^『』\n]{0,400}』|\"[^\"\n]{0,400}\"")
_NEAR: Final = 40
"""The speaker of a quotation is looked for within this number of characters before and after it."""
_WINDOW: Final = 600
_OVERLAP: Final = 200
"""Longer sentences than `_WINDOW` are checked in pieces of that length with this overlap, so the time stays linear."""
_SPEAKS_BEFORE: Final = re.compile(rf"{_ALIAS}[^。；.;“”「」\"\n]{{0,24}}$")
_SPEAKS_AFTER: Final = re.compile(
    rf"\s{{0,4}}+(?:[,，。]\s{{0,4}}+)?(?:(?:\w{{1,24}} )?{_ALIAS}|(?:is|was|are) (?:how|what) {_ALIAS})"
)
"""Patterns of the alias of a quotation's speaker: shortly before the quotation, or right after it."""
_BESIDE_CHINESE: Final = re.compile(
    r"(?<=[\u3400-\u9fff，。；：、！？]) (?=[A-Za-z0-9])|(?<=[A-Za-z0-9]) (?=[\u3400-\u9fff])"
)
"""A space between Chinese and Latin letters or digits. Some writers set it, and it does not change the meaning."""
_WORD: Final = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+(?:['’]\w+)?")
_COPIED: Final = {"en": 5, "zh": 8}
"""Least number of consecutive words (or Chinese characters) with which a passage counts as copied from the tension."""
_EDGES: Final = " .。!！?？;；,，:：、\n"
"""Characters that are removed from both ends of quoted words."""


_FRAGMENT: Final = re.compile(r"\{([A-Z][A-Z_]*)\}")
"""The placeholder of a fragment in a pattern of the tables."""


class Breach(NamedTuple):
    """The reason why the catalyst may not say a sentence, and the words that show it."""

    reason: Reason
    words: str


class _Wordings:
    """The patterns of one language, compiled at first use. This takes a second, and only observations need them."""

    def __init__(self, language: str, present: str) -> None:
        """`present`: a pattern for a quick test. If it does not match a text, no pattern of the language matches."""
        self._path = Path(__file__).with_name(f"wordings.{language}.toml")
        self.present: Final = re.compile(present)

    @cached_property
    def _groups(self) -> dict[str, list[re.Pattern[str]]]:
        groups = tomllib.loads(self._path.read_text(encoding="utf-8"))
        fragments: dict[str, str] = groups.pop("fragments")

        def whole(pattern: str) -> str:
            return _FRAGMENT.sub(lambda name: whole(fragments[name[1]]), pattern)

        joined = {
            name: patterns if name == "reports" else ["|".join(f"(?:{pattern})" for pattern in patterns)]
            for name, patterns in groups.items()
        }
        return {
            name: [re.compile(whole(pattern), re.IGNORECASE) for pattern in patterns]
            for name, patterns in joined.items()
        }

    def reports(self) -> list[re.Pattern[str]]:
        """Return patterns of reports about a person's words, wishes or lacks, each with the groups `who` and `said`."""
        return self._groups["reports"]

    def find(self, group: str, text: str) -> re.Match[str] | None:
        return self._groups[group][0].search(text) if self.present.search(text) else None


_LANGUAGES: Final = (_Wordings("en", r"[A-Za-z]{2}|1[:-]1"), _Wordings("zh", r"[\u4e00-\u9fff]"))


def visibility(draft: ObservationDraft, request: CatalystRequest) -> Iterator[Complaint]:
    """Yield a complaint for each sentence that recommends, judges, or proposes that some participants talk alone."""
    entries = [("relations", number, entry.text) for number, entry in enumerate(draft.relations)]
    entries += [("notes", number, entry.text) for number, entry in enumerate(draft.notes)]
    entries += [("ended", number, entry.why) for number, entry in enumerate(draft.ended)]
    for field, number, text in (*entries, ("why", None, draft.why), ("words", None, draft.words)):
        for sentence in sentences(text):
            if (breach := breach_of(sentence)) and (breach := breach_of(_without_copied(sentence, breach, request))):
                what = complaint(request.language, breach.reason)
                told = complaint(request.language, "sentence", sentence=sentence.strip(), words=breach.words, what=what)
                yield Complaint(text=told, reason=breach.reason, fields=(field,), entry=number, sentence=sentence)


def _without_copied(sentence: str, breach: Breach, request: CatalystRequest) -> str:
    """Return `sentence` without the passage around the words of `breach` if that passage is copied from the tension.

    A passage that names a participant is kept, because P00 wrote the tension before anybody had a seat.
    """
    length = _COPIED[request.language]
    runs = {run for text in request.tension.lines() for run in _runs(_WORD.findall(text.casefold()), length)}
    words = list(_WORD.finditer(sentence))
    copied: set[int] = set()
    for number, run in enumerate(_runs([word.group().casefold() for word in words], length)):
        copied.update(range(number, number + length) if run in runs else ())
    begins = sentence.find(breach.words)
    if begins < 0:
        return sentence
    meant = [n for n, word in enumerate(words) if word.end() > begins and word.start() < begins + len(breach.words)]
    if not meant or not copied.issuperset(meant):
        return sentence
    first, last = meant[0], meant[-1]
    while first - 1 in copied:
        first -= 1
    while last + 1 in copied:
        last += 1
    start, end = words[first].start(), words[last].end()
    names_others = set(_ANY_ALIAS.findall(sentence[start:end])) - {DEMANDER}
    return sentence if names_others else f"{sentence[:start]}…{sentence[end:]}"


def _runs(words: Sequence[str], length: int) -> Iterator[tuple[str, ...]]:
    """Yield all runs of `length` consecutive words."""
    return (tuple(words[at : at + length]) for at in range(len(words) - length + 1))


@lru_cache(maxsize=1024)  # an answer is checked before and after its repair
def breach_of(sentence: str) -> Breach | None:
    """Return the reason why the catalyst may not say `sentence`; None if it may, or if code cannot be sure."""
    for part in _parts(_own_words(sentence)):
        if not _find("neutral", part) and (found := _goes_beyond(part)):
            return found
    return None


def _goes_beyond(own: str) -> Breach | None:
    groups: tuple[tuple[str, Reason], ...] = (
        ("alone", "private_talk"),
        ("recommends", "recommendation"),
        ("judges", "judgement"),
    )
    for group, reason in groups:
        if (found := _find(group, own)) and not (group == "alone" and _find("talked", own)):
            words = found.group().strip()
            return Breach(reason, words.strip(_EDGES) or words)
    return None


def _find(group: str, text: str) -> re.Match[str] | None:
    return next((found for language in _LANGUAGES if (found := language.find(group, text))), None)


def _parts(own: str) -> list[str]:
    """Return `own` itself, or overlapping pieces of a very long sentence."""
    if len(own) <= _WINDOW:
        return [own]
    return [own[start : start + _WINDOW] for start in range(0, len(own), _WINDOW - _OVERLAP)]


def _own_words(sentence: str) -> str:
    """Return `sentence` without quotations and reports, and without spaces between Chinese and Latin letters."""
    sentence = _BESIDE_CHINESE.sub("", sentence)

    def unless_it_names_somebody(match: re.Match[str]) -> str:
        named = len(set(_ANY_ALIAS.findall(match.group())))
        before = sentence[max(0, match.start() - _NEAR) : match.start()]
        after = sentence[match.end() : match.end() + _NEAR]
        attributed = _SPEAKS_BEFORE.search(before) is not None or _SPEAKS_AFTER.match(after) is not None
        return match.group() if named > attributed else " "

    def to_the_verb(match: re.Match[str]) -> str:
        return match.group() if _ANY_ALIAS.search(match.group("said")) else match.group("who") + "…"

    bare = _QUOTED.sub(unless_it_names_somebody, sentence)
    if not bare.strip(_EDGES):
        bare = sentence  # only a quotation, without a speaker
    for language in reversed(_LANGUAGES):  # the data lists wishes and reports in this order
        for pattern in language.reports():
            bare = pattern.sub(to_the_verb, bare)
    return bare
