"""Checks names that a person wants to hide (docs/protocol.md §6.3). Pure.

A hidden name is replaced in the texts of all other people. To protect ordinary words, the name must occur in a text
that its author wrote or was shown. A word that does not look like a name is hidden mainly in the texts of the person
who confirmed it (`names.confirmed_forms_of`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tongyao.protocol.identity.chinese_names import is_phrase
from tongyao.protocol.identity.marks import MARKED
from tongyao.protocol.identity.names import is_everyday, problem_with, unfit
from tongyao.protocol.identity.words import ALSO_NAMES, CHINESE, CONNECTORS
from tongyao.protocol.model.tension import NameFound
from tongyao.protocol.model.unicode_text import UNSPACED, normalized

_MOST_WORDS: Final = 5
_LONGEST_CHINESE: Final = 8
_LONGEST_CHINESE_FIRM: Final = 14
_SENTENCE_WORDS: Final = frozenset(
    "no not never nobody none nothing without only must cannot can may want wants need needs have has is are was were do does did "
    "when if but because on at for with from by we you they he she it i my our your".split()
)
"""Words that occur in sentences but not in names of firms."""
_HAN: Final = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+")
_CHINESE_FIRM: Final = re.compile(
    r".(?:公司|集团|工作室|事务所|商行|饭店|酒店|餐厅|餐馆|面馆|茶馆|超市|书店|药店|商店|小店|店|铺|厂|银行|诊所|医院|学校|幼儿园|大学|中学|小学|剧团|剧院|"
    r"合作社|农场|基金会|协会|中心|研究所|出版社|俱乐部)$"
)


def names_of(listed: Sequence[str], *texts: str) -> tuple[NameFound, ...]:
    """Return the names that a model listed, occur in `texts` and may be hidden, without repeats. Ordinary words are
    kept only if they are also names."""
    there = "\n".join(texts)
    names = dict.fromkeys(name.strip() for name in listed)
    return tuple(
        NameFound(name=name)
        for name in names
        if name and name in there and not MARKED.search(name) and (not problem_with(name) or _is_also_name(name))
    )


def _is_also_name(name: str) -> bool:
    return name[:1].isupper() and name.casefold() in ALSO_NAMES


def problem_with_listed(name: NameFound, text: str) -> str:
    """Return why `name` cannot be hidden, with the remedy. Empty if it can be hidden. `text` must contain the name."""
    whole = " ".join(normalized("NFC", name.name).split())
    if problem := unfit(whole):
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
    if name.kind == "firm":
        return _problem_with_firm(spaced, _HAN.findall(whole))
    if any(len(run) > _LONGEST_CHINESE for run in _HAN.findall(whole)):
        return f"it has more than {_LONGEST_CHINESE} characters: give the name alone"
    return ""


def parts_of_line(line: str) -> dict[str, str]:
    """Return `name` and `kind` of a line in a list of names. `(firm)` or `（单位）` at its end marks a firm."""
    bare = line.strip().removesuffix("(firm)").removesuffix("（单位）").strip()
    return {"name": bare, "kind": "person" if bare == line.strip() else "firm"}


def _stands_in(name: str, text: str) -> bool:
    """Whether `name` occurs in `text`; as whole words in scripts that separate words."""
    inside = rf"[^\W_{UNSPACED}]"
    begins, ends = (
        rf"(?<!{inside})" if re.match(inside, name) else "",
        rf"(?!{inside})" if re.match(inside, name[-1]) else "",
    )
    pattern = begins + r"\s{1,9}".join(map(re.escape, name.split(" "))) + ends
    return re.search(pattern, text) is not None


def _problem_with_firm(spaced: Sequence[str], chinese: Sequence[str]) -> str:
    for word in spaced:
        if word.casefold() not in CONNECTORS and word[0].lower() != word[0].upper() and not word[0].isupper():
            return f"`{word}` has no capital: the name of a firm is written with capitals"
    letters = ("".join(char for char in word.casefold() if char.isalpha()) for word in spaced)
    plain = [word for word in letters if word and word not in CONNECTORS]
    if sentence := next((word for word in plain if word in _SENTENCE_WORDS), ""):
        return f"`{sentence}` is a word of a sentence: give the name alone"
    if plain and all(map(is_everyday, plain)):
        return "all its words are ordinary, and would be replaced in what others write"
    for run in chinese:
        if len(run) > _LONGEST_CHINESE_FIRM or not _CHINESE_FIRM.search(run) or run in CHINESE or is_phrase(run[:-2]):
            return "a firm's name ends with its kind, such as 公司, 店 or 学校, and has its own name before it"
    return ""
