"""Strings that may be a person's name, and the forms in which it is recognised (docs/protocol.md §6.3). Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from tongyao.protocol.identity.chinese_names import may_be_named
from tongyao.protocol.identity.english_names import TITLE
from tongyao.protocol.identity.words import (
    ALSO_NAMES,
    CHINESE,
    CONNECTORS,
    ENGLISH,
    FAMILIAR,
    HONORIFICS,
    LANGUAGES,
    SURNAMES,
    TIMES,
)
from tongyao.protocol.model.messages import Decision
from tongyao.protocol.model.observation import NoteKind, RelationKind, Verdict
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.process_settings import Fallback, Residuals
from tongyao.protocol.model.projection import EndpointKind, ItemKind, Outcome
from tongyao.protocol.model.tension import MISSING, Grade
from tongyao.protocol.model.unicode_text import UNSPACED, folded, normalized

MOST_CHARACTERS: Final = 80
_LONGEST_GIVEN: Final = 3
_MOST_PARTS: Final = 4
"""Each word of a name with at most this number of words is recognised alone. Of a longer name, only the first and last
are, so that a sentence as a name does not hide words of others."""

TOKEN: Final = re.compile(rf"[{UNSPACED}]+(?:[·•][{UNSPACED}]+)*|[^\W_{UNSPACED}]+")
"""One word: letters and digits, or an unbroken run of a script without spaces, with points of foreign names."""
_UNSPACED_RUN: Final = re.compile(rf"[{UNSPACED}·]+")
_PROTOCOL_ID: Final = re.compile(
    r"[prbt]\d+|[tieb]|(?:plan|residual|task|child)[-/ ]?\d*|(?:t|r\d+|plan|residual|task|child)/\S*", re.IGNORECASE
)
_HEADING: Final = re.compile(r"^#[ \t]+([^\n]+)", re.MULTILINE)
_TITLE_FOLLOWS: Final = re.compile(r"\s[-–—|·:：]\s?|[,，(（|｜/:：;；“”\"]|——| - ")
_CLOSED: Final = frozenset(
    folded(word.replace("_", " ")).text
    for kind in (NoteKind, RelationKind, Verdict, Phase, ItemKind, EndpointKind, Outcome, Fallback, Residuals, Decision, Grade)
    for word in kind
) | {folded(MISSING).text, "data_insufficient", "data insufficient", "erased", "true", "false", "yes", "no"}  # fmt: skip


def problem_with(name: str) -> str:
    """Return the reason why `name` cannot be a person's name in all texts, with the remedy. Empty if it can."""
    if problem := unfit(name):
        return problem
    if sum(char.isalpha() for char in _bare(name)) < 2:
        return "it has fewer than two letters: give the name that others call them by"
    if _is_common_name(name):
        return "it is an ordinary word, and would be replaced in what others write: add the family name"
    return ""


def unfit(name: str) -> str:
    """Return the reason why `name` cannot be a name, with the remedy. Empty if it can. Ordinary words are permitted."""
    bare = _bare(name)
    plain = folded(bare).text
    if len(bare) > MOST_CHARACTERS:
        return f"it has {len(bare)} characters, at most {MOST_CHARACTERS}: give the name alone"
    if any(unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp", "Cs") for char in bare):
        return "it has invisible characters: type it anew"
    if _PROTOCOL_ID.fullmatch(plain):
        return "aliases and ids of a process look like this: choose another name"
    if not any(char.isalpha() for char in plain):
        return "it has no letters: give the name that others call them by"
    if plain in _CLOSED or plain.replace("-", " ").replace("_", " ") in _CLOSED:
        return "it is a word of the protocol: choose another name"
    return ""


def _is_common_name(name: str) -> bool:
    """Whether the name consists of ordinary words only."""
    words = _words(name)
    return bool(words) and all(_is_common(word) for word in words)


def is_everyday(word: str) -> bool:
    """Whether a folded Latin word, or its stem, is an everyday English word that is not also a name."""
    if word in ALSO_NAMES or len(word) < 3:
        return False
    endings = ("s", "es", "ed", "d", "ing", "er", "ly")
    stems = (word, *(word.removesuffix(ending) for ending in endings if len(word) > len(ending) + 2))
    return any(stem in ENGLISH for stem in stems) or f"{stems[-1]}e" in ENGLISH


def name_in_heading(text: str) -> str:
    """Return the name in a profile's first heading (`# …`), up to a dash, comma or bracket. Empty without a heading."""
    found = _HEADING.search(text)
    return _TITLE_FOLLOWS.split(found.group(1).strip(), maxsplit=1)[0].strip(" #*_`") if found else ""


def identities_of(display_name: str, contact: object) -> tuple[str, ...]:
    """Return the strings that identify a person: the display name, then every string in their contact, each once."""
    return tuple(dict.fromkeys(one for one in (display_name, *_strings(contact)) if one.strip()))


def is_address(identity: str) -> bool:
    """Whether an identity is an address, a number or a handle. These have no parts."""
    return any(sign in identity for sign in ("@", "/")) or any(char.isdigit() for char in identity)


@dataclass(frozen=True)
class Form:
    """One way to write a name: consecutive words in folded form, or a run of a script without spaces."""

    words: tuple[str, ...]
    capital: bool = False
    """Recognised only if it is capitalised in the source, because the word is also an ordinary word, or very short."""
    cased: bool = False
    """A single word in a script with capitals, which may be an ordinary word in some language. It is recognised if it
    is capitalised, or if the whole text has no capitals."""
    ordinary: bool = False
    """An ordinary word that a person confirmed as a name. It is recognised in that person's texts (if `cased`: only
    capitalised), and if `capital`, also in other texts where it is capitalised inside a sentence."""


INITIALS: Final = re.compile(r"(?<![^\W_])([^\W\d_])\.\s?([^\W\d_])\.")
"""Two initials with full stops."""


def _alone(word: str, *, capital: bool = False) -> Form:
    return Form((word,), capital=capital, cased=word.upper() != word)


def confirmed_forms_of(name: str) -> Iterator[Form]:
    """Yield the forms of a name that a person confirmed; `ordinary` forms if a word does not look like a name."""
    bare = _bare(name)
    written = [word for word in TOKEN.findall(normalized("NFKC", bare)) if word.casefold() not in CONNECTORS]
    words, own = _words(name), _words(" ".join(written))
    if unfit(name) or not words:
        return
    if len(own) > 1 and TITLE.match(own[0].capitalize()):
        own = own[1:]
    like = [word for word in own if _looks_like_name(word)]
    capitals = all(word[0].lower() != word[0] or word.upper() == word for word in written)
    if is_address(name) or (capitals and like == list(own) and not _is_common_name(name)):
        yield from forms_of(name)
        return
    for form in dict.fromkeys((words, *((word,) for word in like if len(words) > 1 and len(word) > 2))):
        elsewhere = form[0].upper() != form[0] and form[0] not in TIMES | LANGUAGES
        yield Form(form, capital=elsewhere, cased=name[0].isupper(), ordinary=True)


def _looks_like_name(word: str) -> bool:
    """Whether a confirmed word is hidden in all texts. In a script without spaces it is also found inside words."""
    return "·" in word or may_be_named(word) if _UNSPACED_RUN.fullmatch(word) else not is_everyday(word)


def forms_of(name: str, *, alone: bool = True) -> Iterator[Form]:
    """Yield the forms in which a permitted `name` is recognised. `alone`: whether its parts are recognised alone."""
    if problem_with(name):
        return
    words = _words(name)
    if is_address(name):
        yield Form(words)
        return
    yield _alone(words[0], capital=words[0] in ALSO_NAMES) if len(words) == 1 else Form(words)
    if len(words) > 1:
        yield _alone("".join(words))
        yield Form((*words[-1:], *words[:-1]))
    if len(words) > 2:
        yield Form((words[0], words[-1]))
    if not alone:
        return
    if len(words) > 1 and all(word.isalpha() and not _UNSPACED_RUN.fullmatch(word) for word in words):
        yield from _with_initials(words[0], words[-1])
    for word in words if len(words) <= _MOST_PARTS else (words[0], words[-1]):
        if _UNSPACED_RUN.fullmatch(word):
            yield from _chinese_parts(word, whole=len(words) == 1)
        elif len(words) > 1 and len(word) > 1 and word.isalpha() and not (word in ENGLISH and word not in ALSO_NAMES):
            yield _alone(word, capital=len(word) == 2 or word in ALSO_NAMES)
            if len(word) > 3 and word == words[-1] and f"{word}s" not in ENGLISH | ALSO_NAMES:
                yield _alone(f"{word}s", capital=True)  # the Webers


def _with_initials(first: str, last: str) -> Iterator[Form]:
    """Yield J. Weber, Jana W., J.W.; nothing if the first word is a title."""
    if first in ENGLISH and first not in ALSO_NAMES:
        return
    if len(last) > 1:
        yield Form((first[0], last), capital=True)
    yield Form((first, last[0]), capital=True)
    yield Form((f"{first[0]}.{last[0]}.",), capital=True)


def _chinese_parts(word: str, *, whole: bool) -> Iterator[Form]:
    """Yield the given name, and the surname with titles or prefixes; for a name of several words, each word."""
    if "·" in word:
        parts = word.split("·")
        yield Form(("".join(parts),))
        yield from (Form((part,)) for part in parts if len(part) > 1 and part not in CHINESE)
        return
    if not whole and len(word) > 1 and word not in CHINESE:
        yield Form((word,))
    surname = next((word[:length] for length in (2, 1) if word[:length] in SURNAMES), "")
    given = word[len(surname) :]
    if not surname or not 1 <= len(given) <= _LONGEST_GIVEN:
        return
    if given in HONORIFICS:  # 罗婆婆: another 婆婆 is somebody else
        return
    if len(given) > 1 and given not in CHINESE:
        yield Form((given,))
    called = [surname + title for title in HONORIFICS]
    if len(surname) == 1:
        called += [before + surname for before in FAMILIAR]
    if len(given) == 2:
        called += [before + given[1] for before in "阿小"]
    yield from (Form((word,)) for word in called if word not in CHINESE)


def _is_common(word: str) -> bool:
    if _UNSPACED_RUN.fullmatch(word):
        return word in CHINESE or len(word) < 2
    return word in ENGLISH or len(word) < 2 or not word.isalpha()


def _words(name: str) -> tuple[str, ...]:
    return tuple(word.replace("•", "·") for word in TOKEN.findall(folded(_bare(name)).text))


def _bare(name: str) -> str:
    return " ".join(normalized("NFC", name[:1000]).split())


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner)
