"""Names of persons and firms in Chinese text: jieba's words and tags, surnames, forms of address, and what stands beside a name."""

from __future__ import annotations

import logging
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final, Literal

import jieba.posseg

from tongyao.llm.extractive import chinese_cues as cues
from tongyao.llm.extractive.stretches import Stretches
from tongyao.protocol.rules.identity.common_words import CHINESE, SURNAMES

jieba.setLogLevel(logging.WARNING)

Kind = Literal["person", "firm"]
Found = tuple[int, str, Kind]

_RUN: Final = re.compile(r"[\u4e00-\u9fff]{1,2000}")
"""Longer runs without a sign are read in pieces."""
MOST_SECONDS: Final = 4.0
"""Of processor time for one text; what stands behind is not read. A hundred thousand ordinary characters take less. Runs of words that jieba
does not know take ten times as long."""
_WORK: Final = re.compile(r"《[^》\n]{1,60}》")
"""The title of a work."""
_ONE: Final = "".join(sorted(one for one in SURNAMES if len(one) == 1))
_TWO: Final = "|".join(sorted(one for one in SURNAMES if len(one) == 2))
_SURNAME: Final = rf"(?:{_TWO}|[{_ONE}])"
_FULL_NAME: Final = re.compile(rf"{_SURNAME}[\u4e00-\u9fff]{{1,2}}")
_TITLED: Final = re.compile(rf"(?P<surname>{_SURNAME})(?:{cues.TITLES})")
_NAMED_KIN: Final = re.compile(rf"(?<![\u4e00-\u9fff])(?P<name>[\u4e00-\u9fff](?:{cues.KIN_TITLES}))(?!们)")
_FAMILIAR: Final = re.compile(r"[老小大阿][\u4e00-\u9fff]")
_QUOTED_FIRM: Final = re.compile(
    rf"[“「『\"](?P<name>[\u4e00-\u9fff]{{2,8}})[”」』\"](?=[\u4e00-\u9fff]{{0,3}}(?:{cues.FIRMS}))"
)
_SELF_HEAD: Final = re.compile(
    r"(?:^|\n)[#*\s]{0,8}(?P<name>[\u4e00-\u9fff]{2,4})(?=\s{0,8}[，,｜|（(·—\n]|[*]|\s\s|\u3000|$)"
)
_SHOP_CHARS: Final = 7
"""Of `cues.SHOP_AFTER`."""
_PERSON_TAGS: Final = ("nr", "nrfg", "nrt")


class _Text:
    """A text, and what follows each two characters of it."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def followers(self) -> Mapping[str, set[str]]:
        """For each two characters of the text the characters that stand behind them."""
        found = defaultdict[str, set[str]](set)
        for first, second, third in zip(self.text, self.text[1:], self.text[2:], strict=False):
            found[first + second].add(third)
        return found


class _Words:
    """The words of a run of Chinese characters with their tags and where they begin and end in the text."""

    def __init__(self, whole: _Text, run: re.Match[str]) -> None:
        self.whole, self.text, self.begin, self.end = whole, whole.text, run.start(), run.end()
        cut = [(one.word, one.flag) for one in jieba.posseg.cut(run.group())]
        self.words = [word for word, _ in cut]
        self.tags = [tag for _, tag in cut]
        self.starts: list[int] = []
        at = self.begin
        for word in self.words:
            self.starts.append(at)
            at += len(word)
        self.edges = {*self.starts, self.end}
        self.number = {start: number for number, start in enumerate(self.starts)}
        """Which word begins at a place."""

    def tag_at(self, at: int) -> str:
        """The tag of the word that begins at `at`; empty where none does."""
        return self.tags[self.number[at]] if at in self.number else ""

    def before(self, at: int) -> str:
        """At most six characters before `at`, also those before a blank: 园长　常海燕."""
        return self.text[max(0, at - 8) : at].rstrip(" \u3000\t")[-6:]

    def after(self, at: int) -> str:
        return self.text[at : min(self.end, at + 4)]


def chinese_names(text: str) -> Iterator[Found]:
    """Each name that is found, with its start and kind; the same name may come several times."""
    read = _WORK.sub(lambda hit: " " * len(hit.group()), text)
    for hit in _QUOTED_FIRM.finditer(read):
        if any(_is_known(one) for one in jieba.lcut(hit["name"]) if len(one) > 1):
            continue  # an ordinary word in quotation marks would be a mark wherever it stands
        yield hit.start("name"), hit["name"], "firm"
    for hit in _SELF_HEAD.finditer(read):
        if _FULL_NAME.fullmatch(hit["name"]) and _unknown(hit["name"]) and not _is_place(hit["name"]):
            yield hit.start("name"), hit["name"], "person"
    whole = _Text(read)
    ends = time.thread_time() + MOST_SECONDS
    for run in _RUN.finditer(read):
        if time.thread_time() > ends:
            return
        words = _Words(whole, run)
        firms = list(_firms(words))
        yield from firms
        in_firms = Stretches((begin, begin + len(firm)) for begin, firm, _ in firms)
        for start, name, kind in (*_full_names(words), *_titled(words), *_familiar(words)):
            if start not in in_firms:
                yield start, name, kind


def _full_names(words: _Words) -> Iterator[Found]:
    for number, (start, word, tag) in enumerate(zip(words.starts, words.words, words.tags, strict=True)):
        is_name = tag in _PERSON_TAGS
        if word in SURNAMES and number + 1 < len(words.words):
            given, given_tag = words.words[number + 1], words.tags[number + 1]
            if len(given) <= 2 and _may_be(words, start, word + given):
                sure = len(given) == 2 and given_tag in _PERSON_TAGS and tag not in cues.FUNCTION_TAGS
                if sure or (given not in CHINESE and _told_beside(words, start, start + len(word + given))):
                    yield start, word + given, "person"
            continue
        if not 2 <= len(word) <= 4 or not _FULL_NAME.fullmatch(word):
            continue
        whole = word
        if tag == "nz" and number + 1 < len(words.words) and len(word) == 2 and len(words.words[number + 1]) == 1:
            whole = (
                word + words.words[number + 1]
            )  # jieba took surname and first character for a name of something else
        elif not is_name:
            continue
        if whole[0] in "和同与" and _FULL_NAME.fullmatch(whole[1:]):
            start, whole = start + 1, whole[1:]
        if not _may_be(words, start, whole):
            continue
        beside = _told_beside(words, start, start + len(whole))
        if len(whole) == 2 and whole[0] in cues.NO_SURNAME_ALONE:
            beside = _called(words, start)
        if not beside and _begins_with_a_word(words.whole, whole):
            continue
        if beside or (is_name and len(word) > 2 and _stands_alone(words, start + len(word))):
            yield start, whole, "person"
        elif (
            is_name
            and len(word) == 2
            and word[0] not in cues.NO_SURNAME_ALONE
            and _unknown(word)
            and _acts(words, start, start + 2)
        ):
            yield start, word, "person"


def _may_be(words: _Words, start: int, name: str) -> bool:
    """Whether nothing speaks against a name of a person at `start`."""
    before, after = words.before(start), words.after(start + len(name))
    return (
        name not in CHINESE
        and start + len(name) in words.edges
        and not name.endswith(cues.NO_NAME_END)
        and not _is_place(name)
        and not (name[0] in cues.NO_SURNAME_ALONE and words.tag_at(start) in cues.FUNCTION_TAGS)
        and not (len(name) == 3 and all(one in cues.FOREIGN for one in name))
        and not cues.COUNTED.search(before)
        and not after.startswith(cues.NEVER_AFTER)
        and not (name[0] in "张支班车项段句节席" and before.endswith(tuple("一二两三四五六七八九十百千几半每这那")))
    )


def _stands_alone(words: _Words, end: int) -> bool:
    """Whether a name of three characters or more stands where a person may stand."""
    return not words.after(end).startswith(cues.PLACE_AFTER)


def _begins_with_a_word(text: _Text, name: str) -> bool:
    """Whether it is a place (芦埠, of 芦埠镇), or the first two characters are a word: of jieba's dictionary, or by what follows them elsewhere in the text."""
    if len(name) == 2:
        return not text.followers.get(name, set()).isdisjoint(cues.PLACE_AFTER)
    if len(name) != 3:
        return False
    tag = jieba.posseg.dt.word_tag_tab.get(name[:2])
    if tag is not None and tag not in (*_PERSON_TAGS, "ns") and jieba.dt.FREQ.get(name[:2], 0) >= cues.FREQUENT_WORD:
        return True
    return len(text.followers.get(name[:2], set()) - {"\n", name[0]}) >= cues.FOLLOWERS


def _acts(words: _Words, start: int, end: int) -> bool:
    before, after = words.before(start), words.after(end)
    return (start == words.begin or before.endswith(cues.WITH)) and after.startswith(cues.DOES)


def _told_beside(words: _Words, start: int, end: int) -> bool:
    """Whether the words beside say that a person is meant: a role before, a verb of naming before, of speech after."""
    before, after = words.before(start), words.after(end)
    if _called(words, start):
        return True
    return (start == words.begin or before.endswith(cues.WITH)) and after.startswith(cues.SPEAKS)


def _called(words: _Words, start: int) -> bool:
    before = words.before(start)
    return cues.ROLE_BEFORE.search(before) is not None or before.endswith(cues.CALLED)


def _unknown(word: str) -> bool:
    """Whether jieba's dictionary has the word as a name of a person only, or does not have it."""
    jieba.initialize()
    tag = jieba.posseg.dt.word_tag_tab.get(word)
    return tag is None or (tag in _PERSON_TAGS and jieba.dt.FREQ.get(word, 0) < cues.FREQUENT)


def _is_ordinary(word: str) -> bool:
    """Whether jieba's dictionary has the word as another word than a name, and not a rare one (老周 has the tag of a time)."""
    jieba.initialize()
    tag = jieba.posseg.dt.word_tag_tab.get(word)
    return tag is not None and tag not in (*_PERSON_TAGS, "t") and jieba.dt.FREQ.get(word, 0) >= cues.RARE


def _is_place(word: str) -> bool:
    """Whether the word is a shift (白班), or a noun and where something is in it (车库里)."""
    return word[-1] == "班" or (len(word) == 3 and word[-1] in cues.WHERE and word[:-1] in jieba.dt.FREQ)


def _titled(words: _Words) -> Iterator[Found]:
    run = words.text[words.begin : words.end]
    for hit in _TITLED.finditer(run):
        start, end = words.begin + hit.start(), words.begin + hit.end()
        if (
            start not in words.edges
            or hit.group() in CHINESE
            or cues.SHOP_AFTER.match(words.text[end : min(words.end, end + _SHOP_CHARS)])
        ):
            continue
        surname = hit["surname"]
        number = words.number[start]
        alone = words.words[number] == surname
        if alone and words.tags[number] in cues.FUNCTION_TAGS:
            continue
        if _is_ordinary(hit.group()) or (len(hit.group()) == 2 and surname in cues.NO_SURNAME_ALONE):
            continue
        if words.before(start).endswith(("老", "小", "大")) and not alone:
            continue
        yield start, hit.group(), "person"
    for hit in _NAMED_KIN.finditer(run):
        name, end = hit["name"], words.begin + hit.end()
        if (
            name[0] not in cues.NO_GIVEN
            and end in words.edges
            and _unknown(name)
            and name[0] not in cues.NO_SURNAME_ALONE
        ):
            yield words.begin + hit.start(), name, "person"


def _familiar(words: _Words) -> Iterator[Found]:
    run = words.text[words.begin : words.end]
    for hit in _FAMILIAR.finditer(run):
        start, end, name = words.begin + hit.start(), words.begin + hit.end(), hit.group()
        if start not in words.edges or name in CHINESE or name[1] in cues.NO_FAMILIAR or _is_ordinary(name):
            continue
        ends = end in words.edges or run[hit.end() : hit.end() + 1] == "家"
        if not ends or words.after(end).startswith(cues.TITLE_WORDS):
            continue
        told = _told_beside(words, start, end)
        surname = name[1] in SURNAMES and name[1] not in cues.NO_SURNAME_ALONE
        if told or (name[0] in "老小" and surname and not cues.COUNTED.search(words.before(start))):
            yield start, name, "person"
        elif name[1] in SURNAMES and name[0] == "老" and not words.after(end).startswith(cues.NOUN_AFTER):
            if words.before(start).endswith(("的", *cues.WITH)):
                yield start, name, "person"
        elif name[0] in "阿大" and (name[0] == "阿" or surname) and _acts(words, start, end):
            yield start, name, "person"


def _firms(words: _Words) -> Iterator[Found]:
    """A kind of firm with the nouns before it that name it: one of them is neither a trade nor a place nor a size."""
    for number, (start, word) in enumerate(zip(words.starts, words.words, strict=True)):
        kind = cues.FIRM_END.search(word)
        if kind is None:
            continue
        first = number
        while first and number - first < cues.LONGEST_FIRM and _in_firm(words, first - 1):
            first -= 1
        parts = [*zip(words.words[first:number], words.tags[first:number], strict=True)]
        own = word[: kind.start()]
        if parts and parts[0][0][0] in "不没无未":
            continue
        if (
            own
            and not parts
            and own[0] not in "老大新不没"
            and _unknown(word)
            and own not in cues.TRADES
            and not _is_known(own)
        ):
            yield start, word, "firm"
        elif any(_names_a_firm(one, tag) for one, tag in parts):
            name = "".join([*(one for one, _ in parts), word])
            yield words.starts[first], name, "firm"


def _in_firm(words: _Words, number: int) -> bool:
    word, tag = words.words[number], words.tags[number]
    return tag in cues.IN_FIRM and word not in cues.NOT_IN_FIRM


def _names_a_firm(word: str, tag: str) -> bool:
    if word in cues.TRADES or word in CHINESE or word in SURNAMES:
        return False
    return tag in cues.NAMING_TAGS or not _is_known(word) or (tag in ("n", "nz", "v", "a", "vn") and len(word) > 1)


def _is_known(word: str) -> bool:
    return word in jieba.dt.FREQ and jieba.dt.FREQ[word] > 0
