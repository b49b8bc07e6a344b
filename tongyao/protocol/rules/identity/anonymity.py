"""Names and addresses out of what others read (docs/protocol.md §6.3). The record stays verbatim; only views pass through here.

In a text of a known author their own names become their alias. The names of all others, in the room or not, become one neutral
mark: an alias in their place would tell the author who sits under it, and a mark of its own for people outside the room would tell
who is in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

from pydantic import BaseModel

from tongyao.protocol.model.requests import Material
from tongyao.protocol.model.unicode_text import Folded, folded
from tongyao.protocol.rules.identity.contacts import contacts
from tongyao.protocol.rules.identity.markup import for_others
from tongyao.protocol.rules.identity.names import TOKEN, Form, all_forms

ModelT = TypeVar("ModelT", bound=BaseModel)

HIDDEN: Final = "[…]"
"""In the place of an address or a telephone number, and of a text that nothing is left of."""
SOMEBODY: Final = "[somebody]"
SOMEBODY_ZH: Final = "[某人]"
"""In the place of a name in Latin or Chinese script that is not the author's."""

FREE_TEXT: Final = frozenset(
    "transition initial_state barriers exchange premise claim mapping markdown text a_words b_words name title role tier doubt "
    "open_points when outside remarks".split()
)
"""Names of the fields that hold people's or models' words. No other string of a model is ever touched: enumerations, ids, aliases."""

_LONGEST_GAP: Final = 3
"""Characters between two words of a name."""


class Anonymizer:
    """Makes of a text what others may read of it."""

    def __init__(self, identities: Mapping[str, Iterable[str]], others: Iterable[str] = ()) -> None:
        """
        Args:
            identities: alias → the strings that name its owner: names, also by their parts, addresses, handles. A string that may
                not be a name (`names.problem_with`) is left alone.
            others: names of known people who are not in the room; recognised in full only.
        """
        owners: dict[Form, set[str]] = {}
        for alias, names in identities.items():
            for form in all_forms(names):
                owners.setdefault(form, set()).add(alias)
        for form in all_forms(others, alone=False):
            owners.setdefault(form, set())
        self._spaced: dict[str, list[tuple[Form, frozenset[str]]]] = {}
        self._runs: dict[str, frozenset[str]] = {}
        for form, aliases in sorted(owners.items(), key=lambda one: -len(one[0].words)):
            if len(form.words) == 1 and _is_unspaced(form.words[0]):
                self._runs[form.words[0]] = frozenset(aliases)
            else:
                self._spaced.setdefault(form.words[0], []).append((form, frozenset(aliases)))
        self._lengths = sorted({len(run) for run in self._runs}, reverse=True)
        self._hints = (*self._spaced, *self._runs)

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

    def model(self, model: ModelT, *, author: str = "") -> ModelT:
        """`model` with every free text in it passed through `text`; the same object where nothing changes."""
        changed = {name: self._field(name, getattr(model, name), author) for name in type(model).model_fields}
        changed = {name: value for name, value in changed.items() if value is not getattr(model, name)}
        if isinstance(model, Material) and changed:
            kept = sum(len(piece.text) for piece in changed["pieces"]) - model.shown_chars
            changed["total_chars"] = model.total_chars + kept  # whether the whole is shown must not depend on its names
        return model.model_copy(update=changed) if changed else model

    def _field(self, name: str, value: Any, author: str) -> Any:
        if isinstance(value, BaseModel):
            return self.model(value, author=author)
        if type(value) is str and name in FREE_TEXT:
            new = self.text(value, author=author)
            return value if new == value else new
        if isinstance(value, tuple):
            parts = tuple(self._field(name, part, author) for part in value)
            return value if all(new is old for new, old in zip(parts, value, strict=True)) else parts
        return value

    def _names_in(self, form: Folded, author: str) -> Iterator[tuple[int, int, str]]:
        tokens = [(match.group(), match.start(), match.end()) for match in TOKEN.finditer(form.text)]
        at = 0
        while at < len(tokens):
            word, start, _ = tokens[at]
            taken = 1
            if _is_unspaced(word):
                yield from self._runs_in(word, start, author)
            for known, owners in self._spaced.get(word, ()):
                count = len(known.words)
                if not _follows(tokens, at, known) or (known.capital and not _capital(form, start)):
                    continue
                yield start, tokens[at + count - 1][2], _mark(word, author, owners)
                taken = count
                break
            at += taken

    def _runs_in(self, run: str, start: int, author: str) -> Iterator[tuple[int, int, str]]:
        at = 0
        while at < len(run):
            length = next(
                (one for one in self._lengths if at + one <= len(run) and run[at : at + one] in self._runs), 0
            )
            if length:
                owners = self._runs[run[at : at + length]]
                yield start + at, start + at + length, _mark(run, author, owners)
            at += max(1, length)


def _mark(word: str, author: str, owners: frozenset[str]) -> str:
    if author and author in owners:
        return author
    return SOMEBODY_ZH if _is_unspaced(word) else SOMEBODY


def _follows(tokens: list[tuple[str, int, int]], at: int, form: Form) -> bool:
    """Whether the words of `form` stand at `at`, with little between them."""
    last = at
    for number, word in enumerate(form.words):
        here = at + number
        if here >= len(tokens) or tokens[here][0] != word or tokens[here][1] - tokens[last][2] > _LONGEST_GAP:
            return False
        last = here
    return True


def _capital(form: Folded, start: int) -> bool:
    (first, _), *_ = form.spans([(start, start + 1)])
    return form.source[first].isupper()


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
