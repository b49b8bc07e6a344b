"""Which names a person may have hidden (docs/protocol.md §6.3). Pure.

A name that is hidden is replaced in everything that others say. So that nobody hides ordinary words of others by it, it must stand in
what its author wrote or was shown, and must look like a name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tongyao.protocol.identity import english_words as cues
from tongyao.protocol.identity.chinese_names import is_phrase, may_be_named
from tongyao.protocol.identity.common_words import ALSO_NAMES, CHINESE, ENGLISH
from tongyao.protocol.identity.marks import MARKED
from tongyao.protocol.identity.names import problem_with
from tongyao.protocol.model.tension import NameFound
from tongyao.protocol.model.unicode_text import UNSPACED, normalized

_MOST_WORDS: Final = 4
_LONGEST_CHINESE_FIRM: Final = 14
_SENTENCE_WORDS: Final = frozenset(
    "no not never nobody none nothing without only must cannot can may want wants need needs have has is are was were do does did "
    "when if but because on at for with from by we you they he she it i my our your".split()
)
"""Words that stand in sentences and not in the name of a firm."""
_HAN: Final = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+")
_CHINESE_FIRM: Final = re.compile(
    r".(?:公司|集团|工作室|事务所|商行|饭店|酒店|餐厅|餐馆|面馆|茶馆|超市|书店|药店|商店|小店|店|铺|厂|银行|诊所|医院|学校|幼儿园|大学|中学|小学|剧团|剧院|"
    r"合作社|农场|基金会|协会|中心|研究所|出版社|俱乐部)$"
)


def names_of(listed: Sequence[str], *texts: str) -> tuple[NameFound, ...]:
    """Names that a model listed: those that stand in `texts` and may be hidden, without repeats."""
    there = "\n".join(texts)
    names = dict.fromkeys(name.strip() for name in listed)
    return tuple(
        NameFound(name=name)
        for name in names
        if name and name in there and not problem_with(name) and not MARKED.search(name) and len(name) > 1
    )


def problem_with_listed(name: NameFound, text: str) -> str:
    """Why `name` cannot be hidden, and what to do about it; empty when it can. `text`: where it must stand."""
    whole = " ".join(normalized("NFC", name.name).split())
    if problem := problem_with(whole):
        return problem
    if not _stands_in(whole, text):
        return "it stands nowhere in what you wrote: write it as it stands there"
    spaced = [
        word
        for part in _HAN.split(whole)
        for word in part.split()
        if any(char.isalnum() or char == "&" for char in word)
    ]
    if len(spaced) > _MOST_WORDS:
        return f"it has more than {_MOST_WORDS} words: give the name alone"
    for word in spaced:
        if word.casefold() not in cues.CONNECTORS and word[0].lower() != word[0].upper() and not word[0].isupper():
            return f"`{word}` has no capital: a name is written with capitals"
    firm = name.kind == "firm"
    if problem := _problem_with_words(spaced, firm=firm):
        return problem
    return next(filter(None, (_problem_with_chinese(run, firm=firm) for run in _HAN.findall(whole))), "")


def parts_of_line(line: str) -> dict[str, str]:
    """`name` and `kind` of a name as people write it in a list; `(firm)` or `（单位）` behind it says that it is a firm's."""
    bare = line.strip().removesuffix("(firm)").removesuffix("（单位）").strip()
    return {"name": bare, "kind": "person" if bare == line.strip() else "firm"}


def _stands_in(name: str, text: str) -> bool:
    """Whether `name` stands in `text`, as whole words where its script has words."""
    inside = rf"[^\W_{UNSPACED}]"
    begins, ends = (
        rf"(?<!{inside})" if re.match(inside, name) else "",
        rf"(?!{inside})" if re.match(inside, name[-1]) else "",
    )
    pattern = begins + r"\s{1,9}".join(map(re.escape, name.split(" "))) + ends
    return re.search(pattern, text) is not None


def _problem_with_words(words: Sequence[str], *, firm: bool) -> str:
    letters = ("".join(char for char in word.casefold() if char.isalpha()) for word in words)
    plain = [word for word in letters if word and word not in cues.CONNECTORS]
    if not firm and len(plain) > 1 and cues.TITLE.match(plain[0].capitalize()):
        plain = plain[1:]
    ordinary = [word for word in plain if word not in ALSO_NAMES and _is_ordinary(word, alone=len(plain) == 1)]
    if firm:
        sentence = next((word for word in plain if word in _SENTENCE_WORDS), "")
        if sentence:
            return f"`{sentence}` is a word of a sentence: give the name alone"
        if plain and all(word in ordinary for word in plain):
            return "all its words are ordinary, and would be replaced in what others write"
    elif ordinary:
        return f"`{ordinary[0]}` is an ordinary word, and would be replaced in what others write: leave it out, or say that it is a firm"
    return ""


def _is_ordinary(word: str, *, alone: bool) -> bool:
    """Whether it, or what it is a form of, is an everyday English word. Two letters are, `alone`: An, Do and My are names too."""
    if len(word) < 3:
        return alone and word in ENGLISH
    stems = (
        word,
        *(
            word.removesuffix(ending)
            for ending in ("s", "es", "ed", "d", "ing", "er", "ly")
            if len(word) > len(ending) + 2
        ),
    )
    return any(stem in ENGLISH for stem in stems) or f"{stems[-1]}e" in ENGLISH


def _problem_with_chinese(name: str, *, firm: bool) -> str:
    if firm:
        if (
            len(name) <= _LONGEST_CHINESE_FIRM
            and _CHINESE_FIRM.search(name)
            and name not in CHINESE
            and not is_phrase(name[:-2])
        ):
            return ""
        return "a firm's name ends with its kind, such as 公司, 店 or 学校, and has its own name before it"
    if not may_be_named(name):
        return "it does not look like a name of 2 to 4 characters: begin with the family name, or with 老, 小 or 阿"
    return ""
