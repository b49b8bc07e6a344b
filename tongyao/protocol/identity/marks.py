"""Replaces names, contacts and markup in every text that others read (docs/protocol.md §6.3). Pure.

The forms of the names that are hidden in a tree of processes are kept as keyed digests, each with its mark. A digest
reveals no name, so it is kept when the person is erased. A name that was hidden once is never shown again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import Any, Final, Literal, NamedTuple, TypeVar

from pydantic import BaseModel

from tongyao.protocol.identity.contacts import contacts
from tongyao.protocol.identity.english_names import begins_sentence
from tongyao.protocol.identity.names import INITIALS, TOKEN, confirmed_forms_of, forms_of, is_everyday
from tongyao.protocol.identity.words import CONNECTORS
from tongyao.protocol.model.requests import Material, Piece
from tongyao.protocol.model.rewrite import map_texts
from tongyao.protocol.model.tension import NameFound
from tongyao.protocol.model.unicode_text import Folded, folded, for_others

ModelT = TypeVar("ModelT", bound=BaseModel)
Kind = Literal["person", "firm"]

HIDDEN: Final = "[…]"
"""Replaces an address, a telephone number, or a text of which nothing is left."""
MARKED: Final = re.compile(r"\[(?:person|firm|某人|某单位) (\d+)\]")
"""A mark in place of a name."""
_WORDS: Final = {"person": ("person", "某人"), "firm": ("firm", "某单位")}

_LONGEST_GAP: Final = 3
"""Maximum number of characters between two words of a name."""
_LONGEST_PART: Final = 6
"""Maximum length of the part of a name in two scripts that is written without spaces, in characters."""


class HiddenForm(NamedTuple):
    """One form of a hidden name. `words`: number of words; 0 for a run of `length` characters of an unspaced script.

    `whole`: whether it is the whole name. `number`, `kind`: of its mark. `capital`, `cased`, `ordinary`: as in
    `names.Form`. `authors`: for an ordinary form the seats that confirmed it (`seat`), separated by spaces.
    """

    digest: bytes
    words: int
    length: int
    whole: bool
    capital: bool
    cased: bool
    ordinary: bool
    number: int
    kind: Kind
    authors: str = ""


class Hidden(NamedTuple):
    """All hidden forms in a tree of processes, and the key of the digests."""

    key: bytes = b"-"
    forms: tuple[HiddenForm, ...] = ()

    def with_forms(self, added: Iterable[HiddenForm]) -> Hidden:
        """Return a copy with more forms. A form with the same digest is replaced."""
        return self._replace(forms=tuple({form.digest: form for form in (*self.forms, *added)}.values()))


def seat(process_id: str, alias: str) -> str:
    """Return the seat of this alias in a process, as it is written in `HiddenForm.authors`."""
    return f"{process_id}/{alias}"


def mark(number: int, kind: Kind, *, chinese: bool) -> str:
    """Return the mark: `[person 3]`, `[某单位 3]`."""
    return f"[{_WORDS[kind][chinese]} {number}]"


def forms_to_hide(
    hidden: Hidden, names: Iterable[Sequence[NameFound]], *, identities: bool = False, authors: Iterable[str] = ()
) -> tuple[HiddenForm, ...]:
    """Return the forms to add or to replace. All names of a group get the same number.

    `identities`: whether people joined under these names (`names.forms_of`). Otherwise `authors` (see `seat`) confirmed
    them (`names.confirmed_forms_of`). A group that shares a form with a hidden name takes the number of that name,
    otherwise the next free number.
    """
    known = {form.digest: form for form in hidden.forms}
    highest = max((form.number for form in hidden.forms), default=0)
    added: list[HiddenForm] = []
    for group in names:
        made = [form for name in group for form in _hidden_forms(hidden.key, name, identity=identities)]
        same = next((it for one in made if (it := known.get(one.digest)) and (it.whole or one.whole)), None)
        number = same.number if same else highest + 1
        kind: Kind = same.kind if same else made[0].kind if made else "person"
        highest = max(highest, number if made else 0)
        for form in sorted(made, key=lambda form: not form.whole):
            there = known.get(form.digest)
            by = " ".join(sorted({*(there.authors.split() if there else ()), *(authors if form.ordinary else ())}))
            if there is not None and there.ordinary and form.ordinary and by != there.authors:
                known[form.digest] = there._replace(authors=by)
            elif there is None or (there.ordinary and not form.ordinary):
                known[form.digest] = form._replace(number=there.number if there else number, kind=kind, authors=by)
            else:
                continue
            added.append(known[form.digest])
    return tuple(added)


def _hidden_forms(key: bytes, name: NameFound, *, identity: bool) -> Iterator[HiddenForm]:
    whole = frozenset(forms_of(name.name, alone=False))
    of_person = forms_of(name.name) if identity else confirmed_forms_of(name.name)
    for form in dict.fromkeys(whole if name.kind == "firm" else of_person):
        run = len(form.words) == 1 and _is_unspaced(form.words[0])
        yield HiddenForm(
            _digest(key, form.words),
            0 if run else len(form.words),
            len(form.words[0]) if run else 0,
            form in whole or form.ordinary,
            form.capital,
            form.cased or (identity and _is_phrase(form.words)),
            form.ordinary,
            0,
            name.kind,
        )


def _is_phrase(words: Sequence[str]) -> bool:
    """Whether `words` are several words with an everyday word among them, such as "lend two oxen"."""
    return len(words) > 1 and any(word not in CONNECTORS and is_everyday(word) for word in words)


def _digest(key: bytes, words: Sequence[str]) -> bytes:
    return blake2b("\x1f".join(words).encode(), key=key, digest_size=16).digest()


class Marker:
    """Makes the text that others may read."""

    def __init__(
        self,
        hidden: Hidden | None = None,
        own: Mapping[str, Iterable[str]] | None = None,
        process_id: str = "",
    ) -> None:
        """
        Args:
            hidden: the hidden names of the process.
            own: alias → strings that identify its owner: names, addresses, handles. In the owner's texts these become
                the alias. A string that is not permitted as a name (`names.problem_with`) is ignored.
            process_id: the process to which the texts belong.
        """
        hidden = hidden or Hidden()
        self._key = hidden.key
        self._known = {form.digest: form for form in hidden.forms}
        self._process = process_id
        self._own: dict[bytes, set[str]] = {}
        forms = list(hidden.forms)
        for alias, names in (own or {}).items():
            for name in names:
                for form in _hidden_forms(
                    self._key, NameFound.model_construct(name=name, kind="person"), identity=True
                ):
                    self._own.setdefault(form.digest, set()).add(alias)
                    forms.append(form)
        self._shape = {form.digest: form for form in reversed(forms)}
        self._counts = sorted({form.words for form in forms if form.words}, reverse=True)
        self._lengths = sorted({form.length for form in forms if form.length}, reverse=True)
        self._initials = any(form.words == 1 for form in forms)

    def text(self, text: str, *, author: str = "") -> str:
        """Return `text` without names, addresses, HTML, images and link targets. `author`: the alias of its author."""
        bare = for_others(text)
        form = folded(bare)
        found = [(start, end, HIDDEN) for start, end in contacts(form.text)]
        if self._shape:
            found += self._names_in(form, author)
        if found:
            bare = _replaced(form, found)
        return bare if bare.strip() or not text.strip() else HIDDEN

    def with_marks(self, text: str, *, author: str = "") -> str:
        """Return `text` as its author's proxy reads it: unchanged except for the names of others."""
        if not self._known:
            return text
        form = folded(text)
        found = [one for one in self._names_in(form, author) if MARKED.fullmatch(one[2])]
        return _replaced(form, found) if found else text

    def marked(self, material: Material, *, author: str = "") -> Material:
        """Return `material` as its owner's proxy reads it."""
        pieces = tuple(
            piece.model_copy(update={"text": self.with_marks(piece.text, author=author)}) for piece in material.pieces
        )
        return _with_pieces(material, pieces)

    def model(self, model: ModelT, *, author: str = "") -> ModelT:
        """Return `model` with `text` applied to each free text; the same object if nothing changes."""
        new = map_texts(model, lambda text: self.text(text, author=author))
        if isinstance(model, Material) and isinstance(new, Material) and new is not model:
            return _with_pieces(model, new.pieces)  # type: ignore[return-value]  # ModelT is Material here
        return new

    def _names_in(self, form: Folded, author: str) -> Iterator[tuple[int, int, str]]:
        digests: dict[tuple[str, ...], bytes] = {}

        def known(words: tuple[str, ...]) -> HiddenForm | None:
            if (digest := digests.get(words)) is None:
                digest = digests[words] = _digest(self._key, words)
            found = self._shape.get(digest)
            if found is None or digest in self._known or author in self._own[digest]:
                return found
            return None

        tokens = [(match.group(), match.start(), match.end()) for match in TOKEN.finditer(form.text)]
        if self._initials:
            for match in INITIALS.finditer(form.text):
                if (name := known((f"{match[1]}.{match[2]}.",))) and _begins_capital(form, match.start()):
                    yield match.start(), match.end(), self._mark(match[1], author, name)
        at = 0
        while at < len(tokens):
            word, start, _ = tokens[at]
            taken = 1
            if _is_unspaced(word):
                yield from self._runs_in(form, word, start, author, known)
            for count in self._counts:
                words = tokens[at : at + count]
                if len(words) < count or any(right[1] - left[2] > _LONGEST_GAP for left, right in pairwise(words)):
                    continue
                if (name := known(tuple(token[0] for token in words))) is not None and self._is_written(
                    form, start, name, author
                ):
                    yield start, words[-1][2], self._mark(word, author, name)
                    taken = count
                    break
                if count > 1 and (_is_unspaced(word) or _is_unspaced(words[-1][0])):
                    yield from self._mixed_in(form, words, author, known)
            at += taken

    def _runs_in(self, form: Folded, run: str, start: int, author: str, known: Any) -> Iterator[tuple[int, int, str]]:
        run = run.replace("•", "·")
        at = 0
        while at < len(run):
            for length in self._lengths:
                if (
                    at + length <= len(run)
                    and (name := known((run[at : at + length],))) is not None
                    and self._is_written(form, start + at, name, author)
                ):
                    yield start + at, start + at + length, self._mark(run, author, name)
                    at += length - 1
                    break
            at += 1

    def _mixed_in(
        self, form: Folded, words: Sequence[tuple[str, int, int]], author: str, known: Any
    ) -> Iterator[tuple[int, int, str]]:
        """Yield a name of several words whose first or last word is part of a run: 阿May, Lisa姐."""
        (first, start, end), *middle, (last, last_start, last_end) = words
        heads = range(max(start, end - _LONGEST_PART), end) if _is_unspaced(first) else (start,)
        tails = range(min(last_end, last_start + _LONGEST_PART), last_start, -1) if _is_unspaced(last) else (last_end,)
        for head in heads:
            for tail in tails:
                name = known((first[head - start :], *(word[0] for word in middle), last[: tail - last_start]))
                if name is not None and self._is_written(form, head, name, author):
                    yield head, tail, self._mark(first[head - start :], author, name)
                    return

    def _is_written(self, form: Folded, start: int, name: HiddenForm, author: str) -> bool:
        """Whether the word at `start` has the capitals that the name requires."""
        if name.ordinary and seat(self._process, author) in name.authors.split():
            return not name.cased or _begins_capital(form, start)
        if name.ordinary:
            return (
                name.capital and (at := _capital_at(form, start)) is not None and not begins_sentence(form.source, at)
            )
        if not (name.capital or name.cased) or _begins_capital(form, start):
            return True
        return not name.capital and not form.has_capitals

    def _mark(self, word: str, author: str, name: HiddenForm) -> str:
        if author and author in self._own.get(name.digest, ()):
            return author
        return mark(name.number, name.kind, chinese=_is_unspaced(word))


def _with_pieces(material: Material, pieces: tuple[Piece, ...]) -> Material:
    """Return `material` with other pieces. The difference between total and shown characters stays the same."""
    shown = sum(len(piece.text) for piece in pieces)
    total = material.total_chars + shown - material.shown_chars
    return material.model_copy(update={"pieces": pieces, "total_chars": total})


def _capital_at(form: Folded, start: int) -> int | None:
    """Return the position in the source of the capital letter at `start`; None if there is none."""
    (first, _), *_ = form.spans([(start, start + 1)])
    return first if form.source[first].isupper() else None


def _begins_capital(form: Folded, start: int) -> bool:
    return _capital_at(form, start) is not None


def _is_unspaced(word: str) -> bool:
    return word[0] > "\u303f" and not word.isascii()


def _replaced(form: Folded, found: list[tuple[int, int, str]]) -> str:
    """Return the source with these spans of the folded text replaced. Of overlapping spans the first is used."""
    chosen: list[tuple[int, int, str]] = []
    for start, end, put in sorted(found, key=lambda one: (one[0], -one[1])):
        if not chosen or start >= chosen[-1][1]:
            chosen.append((start, end, put))
    parts, at = [], 0
    for (start, end), (_, _, put) in zip(form.spans([one[:2] for one in chosen]), chosen, strict=True):
        parts += [form.source[at:start], put]
        at = end
    return "".join([*parts, form.source[at:]])
