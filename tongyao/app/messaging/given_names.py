"""Which names a demander may have hidden besides those that were found (docs/protocol.md §6.3).

A name in the list of a tension is replaced in everything that others say. So that nobody hides ordinary words of others by it, a
name that the finder did not find must stand in the demander's own texts, and must look like a name.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from typing import Final

from tongyao.app.errors import BadInput
from tongyao.protocol.model.tension import NameFound, Tension
from tongyao.protocol.model.unicode_text import UNSPACED, normalized
from tongyao.protocol.rules.identity.common_words import ALSO_NAMES, ENGLISH, HONORIFICS, SURNAMES
from tongyao.protocol.rules.identity.names import problem_with

MOST_GIVEN: Final = 20
"""Names that a demander adds to those that were found."""
_MOST_WORDS: Final = 4
_LONGEST_CHINESE_FIRM: Final = 14
_USUAL: Final = 500
"""Occurrences in jieba's list from which a Chinese word is ordinary even if it may be a name (高峰)."""
_USUAL_PART: Final = 100
"""Likewise of a part of a name (价格 in 高价格)."""
_TITLES: Final = frozenset(
    "mr mrs ms miss dr doctor prof professor sir lady madam father sister brother captain uncle aunt auntie grandmother grandfather".split()
)
_PARTICLES: Final = frozenset(
    "de der den van von da di du la le el al bin ibn ben del della dos das and & of the".split()
)
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
_NOT_IN_A_FIRM: Final = frozenset("c d p r u y e o zg uj ul uz ud".split())
"""jieba's tags of adverbs, conjunctions, prepositions, pronouns and particles."""
_FAMILIAR: Final = re.compile(rf"[老小阿大][{''.join(one for one in SURNAMES if len(one) == 1)}]")
_HONOURED: Final = re.compile(
    rf".{{1,3}}(?:{'|'.join(HONORIFICS)}|婶|嫂|姐|哥|叔|伯|姨|爷爷|奶奶|大爷|大妈|大姐|大哥|经理|老板|主任|书记|校长|律师|护士)"
)


async def check_names(
    names: Sequence[NameFound], *, found: Iterable[NameFound], texts: Iterable[str], tension: Tension
) -> None:
    """Refuse a name that was not found, and is no name or stands nowhere in what the demander wrote or was shown.

    Args:
        names: what the demander wants to have hidden.
        found: names that the tension had before. They stand.
        texts: the intent and what the demander was shown of it.
        tension: the tension that brings the names.

    Raises `BadInput`, which says which name it is and what to do.
    """
    known = {one.name for one in found}
    given = [(number, one) for number, one in enumerate(names) if one.name not in known]
    if len(given) > MOST_GIVEN:
        raise BadInput(
            "too_many_names",
            f"{len(given)} names besides those that were found: at most {MOST_GIVEN}",
            field="tension.names",
        )
    read = "\n".join(normalized("NFC", text) for text in (*texts, *tension.lines()))
    for number, one in given:
        problem = await asyncio.to_thread(problem_with_given, one, read)
        if problem:
            raise BadInput(
                "not_a_name", f"`{one.name}` cannot be hidden as a name: {problem}", field=f"tension.names[{number}]"
            )


def problem_with_given(name: NameFound, text: str) -> str:
    """Why a demander cannot have `name` hidden, and what to do about it; empty when they can. `text`: where it must stand."""
    whole = " ".join(normalized("NFC", name.name).split())
    if problem := problem_with(whole):
        return problem
    if not _stands_in(whole, text):
        return "it stands neither in your intent nor in the tension: write it as it stands there"
    spaced = [
        word
        for part in _HAN.split(whole)
        for word in part.split()
        if any(char.isalnum() or char == "&" for char in word)
    ]
    if len(spaced) > _MOST_WORDS:
        return f"it has more than {_MOST_WORDS} words: give the name alone"
    for word in spaced:
        if word.casefold() not in _PARTICLES and word[0].lower() != word[0].upper() and not word[0].isupper():
            return f"`{word}` has no capital: a name is written with capitals"
    if problem := _problem_with_words(spaced, firm=name.kind == "firm"):
        return problem
    return next(filter(None, (_problem_with_chinese(run, firm=name.kind == "firm") for run in _HAN.findall(whole))), "")


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
    plain = [word for word in letters if word and word not in _PARTICLES]
    if not firm and len(plain) > 1 and plain[0] in _TITLES:
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
    import jieba.posseg  # imported late: its dictionary takes a second

    words = [(one.word, one.flag) for one in jieba.posseg.cut(name)]
    usual: dict[str, int] = jieba.dt.FREQ
    if firm:
        fits = len(name) <= _LONGEST_CHINESE_FIRM and _CHINESE_FIRM.search(name) and usual.get(name, 0) < _USUAL_PART
        if not fits or any(flag in _NOT_IN_A_FIRM for _, flag in words):
            return "a firm's name ends with its kind, such as 公司, 店 or 学校, and has its own name before it"
        return ""
    if not 2 <= len(name) <= _MOST_WORDS or usual.get(name, 0) >= _USUAL:
        return "a person's name has 2 to 4 characters and is no ordinary word: give the name alone, or say that it is a firm"
    if _FAMILIAR.fullmatch(name) or _HONOURED.fullmatch(name) or (len(words) == 1 and words[0][1].startswith("nr")):
        return ""
    if len(name) == 3 and any(len(word) > 1 and flag.startswith("nr") for word, flag in words):
        return ""
    surname = next((name[:length] for length in (2, 1) if name[:length] in (*SURNAMES, "阿")), "")
    rest = len(name) - len(surname)
    plain = [
        word
        for word, flag in words
        if len(word) > 1 and word != surname and not flag.startswith("nr") and usual.get(word, 0) >= _USUAL_PART
    ]
    if len(words) == 1 and usual.get(name, 0) > 2:
        plain = [name]
    if not surname or not 1 <= rest <= 2 or plain:
        return "it does not look like a name: begin with the family name, or with 老, 小 or 阿"
    return ""
