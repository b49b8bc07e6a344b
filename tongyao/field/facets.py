"""Assigns the parts of a profile to facets (offers, moves, needs) by field names, or in prose by rules (docs/field.md
§2). Also splits a text into sentences, and into windows of whole sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple


class Facet(StrEnum):
    """The facets of a profile. Parts of the facet `identity` (names, ages) are never searched."""

    OFFERS = "offers"
    MOVES = "moves"
    NEEDS = "needs"
    IDENTITY = "identity"


class Chunk(NamedTuple):
    """Characters `start` to `end` of a profile, all of the same facet."""

    facet: Facet
    start: int
    end: int


_FIELDS: Final = {
    Facet.IDENTITY: "name|display_?name|nick(name)?|alias|age|gender|pronouns?|email|contact|phone|id|handle|"
    "姓名|名字|昵称|绰号|称呼|年龄|年纪|性别|联系方式|邮箱|电话|微信",
    Facet.NEEDS: "looking[_ -]?for|seek(s|ing)?|wants?|needs?|limits?|limitations?|constraints?|boundar(y|ies)|wont|"
    "won't|refuses?|not|availability|requirements?|expectations?|deal[_ -]?breakers?|"
    "在?找|在找.*|想找.*|寻找|寻求|需要.*|需求|诉求|想要.*|希望得到.*|期待.*|缺.*|限制|约束|边界|底线|条件|时间|可用时间|"
    "不|不[做干弄接来去行要能参愿会擅].*|唔做|拒绝|限|找|求",
    Facet.MOVES: "interests?|goals?|aims?|direction|vision|mission|passions?|dreams?|values?|motivations?|why.*|learning|"
    "wants?_to_.*|aspirations?|curious.*|next|future|"
    "兴趣.*|爱好|方向|目标|愿景|使命|愿望|梦想|价值观?|动机|想|想做.*|想学.*|想往.*|想走.*|最近在想|未来.*|关注.*|理念|参加原因|初心",
    Facet.OFFERS: "role|title|job|occupation|position|skills?|abilit(y|ies)|strengths?|expertise|experience|background|"
    "works?|projects?|portfolio|education|can|offers?|brings?|services?|tags?|industry|"
    "角色|职业|职务|职位|身份|行当|岗位|行业|技能.*|特长|擅长.*|能力|专长|经验|经历|背景|学历|教育|项目.*|作品.*|成就|"
    "会|会做|能|能做.*|能带.*|能提供.*|能教.*|能干|可以.*|提供.*|标签|工作.*|简历",
}  # fmt: skip
_PROSE: Final = re.compile(
    r"bio|about( ?me)?|summary|intro(duction)?|description|profile|notes?|简介|自述|介绍|自我介绍|关于我|个人简介|说明|独白",
    re.I,
)
"""Names of fields whose sentences are assigned one by one. Other unlisted field names count as the person's own words.
"""

_FIELD: Final = {facet: re.compile(names, re.I) for facet, names in _FIELDS.items()}

_MARKERS: Final = {
    Facet.NEEDS: re.compile(
        r"(在|想|要|来|求|急|正)找|寻找|寻求|招募|缺(一|个|人|少|的)|需要|希望(有人|能有|对方|遇|找|认识|你)|最好(是|有|能)|"
        r"(我|绝|坚决|一律|暂|都)?不(做|接|碰|干|要|去|来|收|参加|考虑|喝|熬夜|出差|加班|写|教|卖|拍|聊|见|谈|借|租|外借|外租|出借|出租|对外|给(别|外|旁|任何)?人|让)|"
        r"拒绝|谢绝|别(找|来|叫|问)|"
        r"只(能|接|做|有周|在周)|不能|没法|受不了|不擅长|不会|"
        r"\b(looking for|seek(ing)?|need(s|ed)?|want(ed)? (someone|people|a |an )|would love (to meet|someone)|"
        r"won't|will not|don't|do not|can't|cannot|not available|no longer|never (lend|rent|hire|give|sell|share|let)|refuse|only (on|available)|"
        r"not for (lending|hire|rent|sale|loan)|(lends?|rents?|hires?|gives?|sells?|shares?)( \w+){0,3} (no|nobody|no one))\b",
        re.I,
    ),
    Facet.MOVES: re.compile(
        r"我?(一直|很|特别|还|最|更|总|也|正|就|真|其实)?(想|希望|打算|计划|梦想|向往|渴望|期待|盼)|正在(学|转|试|研究|做|写)|"
        r"(开始|在)学|感兴趣|兴趣|好奇|着迷|热爱|喜欢|关心|关注|相信|目标|未来|方向|梦|"
        r"\b(want(s)? to|hope(s|d)? to|dream|plan(s|ning)? to|learning|trying to|curious|interested|passion|love|"
        r"believe|goal|moving (to|toward)|exploring|fascinated)\b",
        re.I,
    ),
}  # fmt: skip

_MARKS = re.compile(r"[\s*#]+")
_LABEL = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]+(?P<heading>[^\n]+)$|(?:[-*•][ \t]*)?\**(?P<key>[^\s：:。，,;；!?#*|][^：:。，,;；\n]{0,23}?)\**[ \t]*[：:]\**)",
    re.M,
)  # fmt: skip


def facet_of_field(name: str) -> Facet | None:
    """Return the facet of a field with this name; None if the name implies no facet (`bio`, `简介`)."""
    plain = _MARKS.sub(" ", name).strip().replace(" ", "_") if name.isascii() else name.strip(" *#\t")
    return next((facet for facet, known in _FIELD.items() if known.fullmatch(plain)), None)


def split(text: str) -> list[Chunk]:
    """Cut a profile into chunks, in text order. Fields (`name: …` lines, headings) are assigned to facets by name, and
    prose by sentence.

    No chunk contains a field name that is known. Each sentence belongs to one facet: to `needs` if it has a marker of
    needs, else to `moves` if it has a marker of moves, else to `offers`.
    """
    chunks: list[Chunk] = []
    for facet, start, end in _sections(text):
        runs = [(facet, start, end)] if facet is not None else list(_prose(text, start, end))
        for side, first, last in runs:
            for window in windows(text, first, last):
                begin, stop = trimmed(text, *window)
                if begin < stop:
                    chunks.append(Chunk(side, begin, stop))
    return chunks


def _sections(text: str) -> Iterator[tuple[Facet | None, int, int]]:
    """Sections of `text` with the facet of their field name; None if the sentences are to be assigned one by one."""
    facet: Facet | None = None
    begun = 0
    for match in _LABEL.finditer(text):
        name = match.group("heading") or match.group("key")
        named = facet_of_field(name)
        own_words = named is None and not _PROSE.fullmatch(name.strip())
        if text[begun : match.start()].strip():
            yield facet, begun, match.start()
        facet, begun = named, match.start() if own_words else match.end()
    if text[begun:].strip():
        yield facet, begun, len(text)


def _prose(text: str, start: int, end: int) -> Iterator[tuple[Facet, int, int]]:
    """Join consecutive sentences of the same facet."""
    current: tuple[Facet, int, int] | None = None
    for first, last in sentences(text, start, end):
        sentence = text[first:last]
        side = next((facet for facet, marker in _MARKERS.items() if marker.search(sentence)), Facet.OFFERS)
        if current is not None and current[0] is side:
            current = (side, current[1], last)
            continue
        if current is not None:
            yield current
        current = (side, first, last)
    if current is not None:
        yield current


CHUNK_CHARS: Final = 160
"""Maximum length of a chunk, in characters: two or three Chinese sentences, mostly on one subject (docs/field.md §2).
"""

_SENTENCE = re.compile(r"[^。！？!?；;\n]*(?:[。！？!?；;\n]+|\.(?=\s)|$)[”’」』）)\"']*\s*")
_SOFT = re.compile(r"[，,、：:\s]")


def sentences(text: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """Yield the spans of the sentences of `text[start:end]`, without gaps. A blank sentence is joined to the next
    one."""
    stop = len(text) if end is None else end
    begun = start
    for match in _SENTENCE.finditer(text, start, stop):
        if text[begun : match.end()].strip() and match.end() > begun:
            yield begun, match.end()
            begun = match.end()
    if text[begun:stop].strip():
        yield begun, stop


def windows(
    text: str, start: int = 0, end: int | None = None, *, chars: int = CHUNK_CHARS
) -> Iterator[tuple[int, int]]:
    """Yield spans of whole sentences with at most `chars` characters. A longer sentence is cut at a comma or a
    space."""
    begun: int | None = None
    reached = start
    for first, last in sentences(text, start, end):
        if begun is not None and last - begun > chars:
            yield begun, reached
            begun = None
        if begun is None:
            begun = first
        while last - begun > chars:
            cut = _soft_cut(text, begun, begun + chars)
            yield begun, cut
            begun = cut
        reached = last
    if begun is not None and begun < reached:
        yield begun, reached


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without white space at its ends."""
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), end - (len(piece) - len(piece.rstrip()))


def _soft_cut(text: str, start: int, limit: int) -> int:
    """Return the position of a cut: after the last comma or space of the second half, else at `limit`."""
    middle = start + (limit - start) // 2
    found = [match.end() for match in _SOFT.finditer(text, middle, limit)]
    return found[-1] if found else limit
