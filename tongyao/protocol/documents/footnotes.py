"""Numbers the sources of a page's entries, so that sentences contain no ids. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from tongyao.protocol.documents.page import Footnote, NoteKind, NoteLine
from tongyao.protocol.model.ids import ANY_ID, in_order, speaker_of
from tongyao.protocol.model.plan import Claim, Source
from tongyao.protocol.model.requests import Language
from tongyao.protocol.model.sizes import cut
from tongyao.texts.catalogue import table

SAYS: Final = table("protocol", "notes")
LABELS: Final = table("protocol", "sources")
_NOTE_UNITS: Final = 150
"""Maximum length of a source's text in a note, in units. The plan's references contain the full text."""
_ID: Final = re.compile(rf"(?:(?P<process>.+)/)?(?P<own>{ANY_ID})")


class Footnotes:
    """One note for each distinct set of sources, in the order of first use."""

    def __init__(self, language: Language, references: Iterable[Source], *, reader: str = "") -> None:
        """`reader`: the alias of the person who reads the page and is called "you"."""
        self._language, self._reader = language, reader
        self._texts = {source.id: source.text for source in references}
        self._numbers: dict[tuple[NoteKind, tuple[str, ...], str], int] = {}

    def of_claim(self, claim: Claim) -> int:
        kind: NoteKind = "unsupported" if not claim.sources else "concluded" if claim.concluded else "sources"
        return self.mark(kind, claim.sources, claim.doubt)

    def mark(self, kind: NoteKind, sources: Iterable[str], doubt: str = "") -> int:
        """Return the number of the note, or 0 if no note is needed."""
        named = tuple(sources)
        if kind == "unsupported":
            named, doubt = (), ""
        elif not named:
            return 0
        return self._numbers.setdefault((kind, named, doubt), len(self._numbers) + 1)

    def notes(self) -> tuple[Footnote, ...]:
        says = SAYS[self._language]
        return tuple(
            Footnote(
                number=number,
                kind=kind,
                says=says[kind],
                lines=tuple(
                    NoteLine(id=source, label=self._label(source), text=_shortened(self._texts.get(source, "")))
                    for source in sources
                ),
                doubt="" if not doubt else f"{LABELS[self._language]['doubtful']}{doubt}",
            )
            for (kind, sources, doubt), number in self._numbers.items()
        )

    def _label(self, source: str) -> str:
        words, found = LABELS[self._language], _ID.fullmatch(source)
        if found is None:
            return source
        if found["process"]:
            return words["child"].format(process=found["process"], rest=self._label(found["own"]))
        if source.startswith("T/"):
            return words[source[2]].format(number=source[3:])
        round_number, _, number = in_order(source)
        who = speaker_of(source)
        name = "statement" if not who else "you" if who == self._reader else "item"
        return words[name].format(who=who, round=round_number, number=number)


def _shortened(text: str) -> str:
    short = cut(text, _NOTE_UNITS)
    return short if len(short) == len(text) else f"{short}…"
