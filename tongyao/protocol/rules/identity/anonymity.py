"""Names and addresses out of what others read (docs/protocol.md §6.3). The record stays verbatim; only views pass through here.

In a text of a known author their own names become their alias. A name that was found in the texts of the process becomes a
numbered mark, the same for people in the room and outside. All other names of people become one neutral mark: an alias in their
place would tell the author who sits under it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeVar

from pydantic import BaseModel

from tongyao.protocol.model.requests import Material
from tongyao.protocol.model.rewrite import map_texts
from tongyao.protocol.model.tension import NumberedName
from tongyao.protocol.model.unicode_text import Folded, folded
from tongyao.protocol.rules.identity.common_words import ALSO_NAMES, PLACE_WORDS
from tongyao.protocol.rules.identity.contacts import contacts
from tongyao.protocol.rules.identity.markup import for_others
from tongyao.protocol.rules.identity.names import TOKEN, Form, all_forms, forms_of
from tongyao.protocol.rules.identity.pseudonyms import MARKED
from tongyao.protocol.rules.identity.pseudonyms import mark as numbered_mark
from tongyao.protocol.rules.identity.sentence_start import begins_sentence

ModelT = TypeVar("ModelT", bound=BaseModel)

HIDDEN: Final = "[…]"
"""In the place of an address or a telephone number, and of a text that nothing is left of."""
SOMEBODY: Final = "[somebody]"
SOMEBODY_ZH: Final = "[某人]"
"""In the place of a name in Latin or Chinese script that is not the author's."""

_LONGEST_GAP: Final = 3
"""Characters between two words of a name."""


class Anonymizer:
    """Makes of a text what others may read of it."""

    def __init__(
        self, identities: Mapping[str, Iterable[str]], others: Iterable[str] = (), numbered: Iterable[NumberedName] = ()
    ) -> None:
        """
        Args:
            identities: alias → the strings that name its owner: names, also by their parts, addresses, handles. A string that may
                not be a name (`names.problem_with`) is left alone.
            others: names of known people who are not in the room; recognised in full only.
            numbered: names found in the texts of the process, recognised in full only. Each has a mark of its own, the same in
                every text, whether its owner is in the room or not.
        """
        owners: dict[Form, set[str]] = {}
        for alias, names in identities.items():
            for form in all_forms(names):
                owners.setdefault(form, set()).add(alias)
        for form in all_forms(others, alone=False):
            owners.setdefault(form, set())
        marks = _marks(owners, numbered)
        self._spaced: dict[tuple[str, ...], list[tuple[Form, _Known]]] = {}
        self._runs: dict[str, _Known] = {}
        counts: dict[str, set[int]] = {}
        for form in {**owners, **marks}:
            known = _Known(frozenset(owners.get(form, ())), marks.get(form), proper=form not in owners)
            if len(form.words) == 1 and _is_unspaced(form.words[0]):
                self._runs[form.words[0]] = known
            else:
                self._spaced.setdefault(form.words, []).append((form, known))
                counts.setdefault(form.words[0], set()).add(len(form.words))
        self._counts = {first: sorted(found, reverse=True) for first, found in counts.items()}
        """How many words the forms have that begin with this one, the longest first."""
        self._lengths = sorted({len(run) for run in self._runs}, reverse=True)
        self._hints = (*self._counts, *self._runs)

    def text(self, text: str, *, author: str = "") -> str:
        """`text` without names, addresses, HTML, images and link targets. `author`: the alias of whoever wrote it, if anybody."""
        bare = for_others(text)
        form = folded(bare)
        found = [(start, end, HIDDEN) for start, end in contacts(form.text)]
        if any(hint in form.text for hint in self._hints):
            found += self._names_in(form, author)
        if found:
            bare = _replaced(form, found)
        return bare if bare.strip() or not text.strip() else HIDDEN

    def marked(self, material: Material) -> Material:
        """`material` as its owner's proxy reads it: verbatim, but for numbered names, which the tension shows as marks as well."""
        pieces = tuple(piece.model_copy(update={"text": self.with_marks(piece.text)}) for piece in material.pieces)
        shown = sum(len(piece.text) for piece in pieces)
        return material.model_copy(
            update={"pieces": pieces, "total_chars": material.total_chars + shown - material.shown_chars}
        )

    def with_marks(self, text: str) -> str:
        """`text` as it is, but for numbered names."""
        form = folded(text)
        if not any(hint in form.text for hint in self._hints):
            return text
        found = [one for one in self._names_in(form, "") if MARKED.fullmatch(one[2])]
        return _replaced(form, found) if found else text

    def model(self, model: ModelT, *, author: str = "") -> ModelT:
        """`model` with every free text in it passed through `text`; the same object where nothing changes."""
        new = map_texts(model, lambda text: self.text(text, author=author))
        if isinstance(model, Material) and isinstance(new, Material) and new is not model:
            kept = new.shown_chars - model.shown_chars  # whether the whole is shown must not depend on its names
            return new.model_copy(update={"total_chars": model.total_chars + kept})
        return new

    def _names_in(self, form: Folded, author: str) -> Iterator[tuple[int, int, str]]:
        tokens = [(match.group(), match.start(), match.end()) for match in TOKEN.finditer(form.text)]
        written_small = {word for word, start, _ in tokens if (word,) in self._spaced and not _capital(form, start)}
        at = 0
        while at < len(tokens):
            word, start, _ = tokens[at]
            taken = 1
            if _is_unspaced(word):
                yield from self._runs_in(word, start, author)
            for count in self._counts.get(word, ()):
                if (whose := self._known_at(form, tokens, at, count, written_small)) is not None:
                    yield start, tokens[at + count - 1][2], _mark(word, author, whose)
                    taken = count
                    break
            at += taken

    def _known_at(
        self, form: Folded, tokens: list[tuple[str, int, int]], at: int, count: int, written_small: Collection[str]
    ) -> _Known | None:
        """Whose name the `count` words at `at` are; None where they are nobody's."""
        words = tokens[at : at + count]
        if len(words) < count:
            return None
        for known, whose in self._spaced.get(tuple(word for word, _, _ in words), ()):
            if any(start - end > _LONGEST_GAP for (_, _, end), (_, start, _) in pairwise(words)):
                return None
            if known.cased and not whose.written_small and not _capital(form, words[0][1]) and form.has_capitals:
                continue
            if known.capital and not _capital(form, words[0][1]):
                continue
            if count == 1 and whose.needs_capital and not _stands_as_name(form, tokens, at, written_small):
                continue
            return whose
        return None

    def _runs_in(self, run: str, start: int, author: str) -> Iterator[tuple[int, int, str]]:
        at = 0
        while at < len(run):
            length = next(
                (one for one in self._lengths if at + one <= len(run) and run[at : at + one] in self._runs), 0
            )
            if length:
                yield start + at, start + at + length, _mark(run, author, self._runs[run[at : at + length]])
            at += max(1, length)


@dataclass(frozen=True)
class _Known:
    """Whose name it is (aliases of this process; empty for others), and the number of its mark, if it has one."""

    aliases: frozenset[str]
    numbered: NumberedName | None
    proper: bool = False
    """Known from texts only: nobody registered under it."""

    @property
    def written_small(self) -> bool:
        """Whether a text has the name without capitals."""
        return self.numbered is not None and self.numbered.name.islower()

    @property
    def needs_capital(self) -> bool:
        """A single word that was found in a text with a capital may be an ordinary word elsewhere."""
        if not self.proper or self.numbered is None:
            return False
        return " " not in self.numbered.name and not self.written_small


def _marks(owners: Mapping[Form, set[str]], numbered: Iterable[NumberedName]) -> dict[Form, NumberedName]:
    """The number of every form that has one. All names of somebody in the room have the number of the one that was found."""
    marks: dict[Form, NumberedName] = {}
    for one in numbered:
        for form in forms_of(one.name, alone=False):
            marks.setdefault(form, one)
    of_alias: dict[str, NumberedName] = {}
    for form, one in marks.items():
        for alias in owners.get(form, ()):
            if one.kind == "person" and (alias not in of_alias or one.number < of_alias[alias].number):
                of_alias[alias] = one
    for form, aliases in owners.items():
        if named := [of_alias[alias] for alias in sorted(aliases) if alias in of_alias]:
            marks.setdefault(form, named[0])
    return marks


def _mark(word: str, author: str, whose: _Known) -> str:
    if author and author in whose.aliases:
        return author
    if whose.numbered is not None:
        return numbered_mark(whose.numbered.number, whose.numbered.kind, chinese=_is_unspaced(word))
    return SOMEBODY_ZH if _is_unspaced(word) else SOMEBODY


def _capital(form: Folded, start: int) -> bool:
    return form.source[_in_source(form, start)].isupper()


def _in_source(form: Folded, start: int) -> int:
    (first, _), *_ = form.spans([(start, start + 1)])
    return first


def _stands_as_name(form: Folded, tokens: list[tuple[str, int, int]], at: int, written_small: Collection[str]) -> bool:
    """Whether the word has a capital, and one that does not come from the beginning of a sentence if it may be an ordinary word.

    `written_small`: words that the same text has without a capital.
    """
    word, start, _ = tokens[at]
    if not _capital(form, start) or _makes_a_place(form, tokens, at):
        return False
    if not begins_sentence(form.source, _in_source(form, start)):
        return True
    return word not in ALSO_NAMES and word not in written_small


def _makes_a_place(form: Folded, tokens: list[tuple[str, int, int]], at: int) -> bool:
    """Whether a word for a place follows with a capital: Fenner's Hill, and not Fenner's house."""
    following = tokens[at + 1 : at + 3]
    if following and following[0][0] == "s":
        following = following[1:]
    if not following or following[0][0] not in PLACE_WORDS or following[0][1] - tokens[at][2] > _LONGEST_GAP:
        return False
    return _capital(form, following[0][1])


def _is_unspaced(word: str) -> bool:
    return word[0] > "\u303f" and not word.isascii()


def _replaced(form: Folded, found: list[tuple[int, int, str]]) -> str:
    """The source with these spans of the folded text replaced; of two that overlap the one that begins first, then the longer."""
    chosen: list[tuple[int, int, str]] = []
    for start, end, mark in sorted(found, key=lambda one: (one[0], -one[1])):
        if not chosen or start >= chosen[-1][1]:
            chosen.append((start, end, mark))
    parts, at = [], 0
    for (start, end), (_, _, mark) in zip(form.spans([one[:2] for one in chosen]), chosen, strict=True):
        parts += [form.source[at:start], mark]
        at = end
    return "".join([*parts, form.source[at:]])
