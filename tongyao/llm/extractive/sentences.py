"""A Markdown text as sentences with exact offsets, so that what is picked can be quoted verbatim.

Blocks are found by markdown-it: soft line breaks are joined, list items and table rows stand for themselves. What people
use as a heading without a `#` counts as one: a line in bold, and a short line before a list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tongyao.llm.extractive import english_ends
from tongyao.llm.extractive.cues import Cue, cues_in, cues_of_heading, strength
from tongyao.llm.extractive.tables import tables_are_bounded
from tongyao.protocol.model.sizes import units

WINDOW: Final = 4_000
"""Characters that the splitter sees at once."""

SHORTEST: Final = 3
"""A sentence with fewer units says nothing that can be aligned with anything."""

LONG: Final = 24
"""A sentence with more units is read in parts, where it has any."""

PART: Final = 6
"""Units of the shortest part."""

HEADING_UNITS: Final = 12
"""A line in bold, or before a list, with more units is a sentence and no heading."""

_CJK = r"\u3400-\u9fff"
_LINE_END = re.compile("\n")
_NEWLINE = re.compile(r"\r\n?|\n")
_OWN_BULLET = re.compile(r"\s*(?:[•·・]|\d{1,3}、|[（(]\d{1,3}[)）]|[一二三四五六七八九十]{1,2}[、，])\s*")
_MARK = re.compile(r"\*\*|__|`|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)")
_BOLD = re.compile(r"(\*\*|__)(?P<title>[^*_]+?)\1\s*[:：]?\s*$")
_BOLD_LEAD = re.compile(r"(\*\*|__)(?P<title>[^*_]+?)(?:[:：]\1|\1\s*[:：])\s*(?=\S)")
_LABEL = re.compile(r"(?P<title>[^。，,.;；：:!?！？]{2,30})[：:]\s*(?=\S)")
_FIELD = re.compile(r"(?P<title>[^。，,.;；：:!?！？\n]{1,30})：[ \t]*(?=\S)")
"""Of a profile made of fields (`tongyao.field.profile_import`): each stands on a line of its own, after its name."""
_TURN = re.compile(
    r"[；;]|[，,]\s*(?=但|可是|不过|就是|所以|只是|另外|我们?(?:也|还))",
    re.IGNORECASE,
)
_CLOSERS = "”’」』）)》】\"'"
_CJK_END = re.compile(r"[。！？]")
_CJK_ENDS = re.compile(r"[。！？!?…]+")
_END = re.compile(r"[。！？.!?…]")
_JOINED_WITHOUT_SPACE = re.compile(rf"[{_CJK}，。！？；：、”’）》]")


@dataclass(frozen=True)
class Sentence:
    """`text` is `source[start:end]` on one line, without Markdown's marks. `heading`: what it stands under."""

    start: int
    end: int
    text: str
    heading: str = ""

    @cached_property
    def cues(self) -> frozenset[Cue]:
        """What its own words show."""
        return cues_in(self.text)

    @cached_property
    def cues_above(self) -> frozenset[Cue]:
        """What its heading shows."""
        return cues_of_heading(self.heading)

    def weight(self, cue: Cue) -> float:
        """How strongly it shows `cue`."""
        return strength(cue, self.cues, self.cues_above)


@dataclass(frozen=True)
class _Block:
    """A stretch of prose: `text[n]` stands at `places[n]` of the source. `field`: the name of the field whose value it is."""

    text: str
    places: tuple[int, ...]
    listed: bool = False
    heading: bool = False
    field: str = ""

    def since(self, at: int) -> _Block:
        return replace(self, text=self.text[at:], places=self.places[at:])


def split(text: str, *, offset: int = 0) -> list[Sentence]:
    """The sentences of `text` in order, headings, bullets and fragments left out; starts are shifted by `offset`."""
    found: list[Sentence] = []
    chapter = section = ""
    over_list = False  # the section's heading stands over a list, and ends with it
    blocks = list(_blocks(text))
    for number, block in enumerate(blocks):
        following = blocks[number + 1] if number + 1 < len(blocks) else None
        title = _title(block, following) if not block.field else ""
        if title:
            section = title
            chapter = title if block.heading else chapter
            over_list = not block.heading and following is not None and following.listed
            continue
        if over_list and not block.listed:
            section, over_list = chapter, False
        heading = section
        lead = _BOLD_LEAD.match(block.text)
        if lead and units(lead["title"]) <= HEADING_UNITS:
            heading, block = lead["title"].strip(), block.since(lead.end())
        elif block.field:
            heading = f"{section}: {block.field}" if section else block.field
        elif label := _LABEL.match(block.text):
            heading = f"{section}: {label['title'].strip()}" if section else label["title"].strip()
        found += _sentences(_plain(block), heading, offset)
    return found


def single(text: str) -> Sentence:
    """All of `text` as one sentence, without the white space around it."""
    start = len(text) - len(text.lstrip())
    return Sentence(start, start + len(text.strip()), text.strip())


def _title(block: _Block, following: _Block | None) -> str:
    """What `block` says as a heading; empty when it is none."""
    if block.heading:
        return block.text
    bold = _BOLD.match(block.text)
    if bold and units(bold["title"]) <= HEADING_UNITS:
        return bold["title"].strip()
    short = units(block.text) <= HEADING_UNITS and not block.listed and not _END.search(block.text)
    before_list = following is not None and following.listed
    return block.text.strip(" :：") if short and (before_list or block.text.rstrip().endswith((":", "："))) else ""


def _blocks(text: str) -> Iterator[_Block]:
    markdown = MarkdownIt("commonmark").disable(["code", "fence", "html_block", "reference"])
    if tables_are_bounded(text):
        markdown.enable("table")
    starts = [0, *(match.end() for match in _NEWLINE.finditer(text)), len(text) + 1]
    cursors: dict[int, int] = {}
    depth = 0
    row: list[_Block] = []
    kind = ""
    for token in markdown.parse(text):
        depth += token.nesting * token.type.startswith("list_item")
        if token.type.endswith("_open"):
            kind = token.type
        if token.type == "inline":
            block = _placed(token, text, starts, cursors)
            if kind in ("td_open", "th_open"):
                row.append(block)
            elif kind == "heading_open" and units(block.text) <= 2 * HEADING_UNITS:
                yield replace(block, heading=True)
            else:
                yield from (replace(part, listed=part.listed or depth > 0) for part in _parts(block))
        elif token.type == "tr_close":
            cells = [cell for cell in row if cell.places]
            if cells:
                start, end = cells[0].places[0], cells[-1].places[-1] + 1
                yield _Block(text[start:end], tuple(range(start, end)), listed=True)
            row = []


def _placed(token: Token, text: str, starts: list[int], cursors: dict[int, int]) -> _Block:
    """The token's content with the place of each character; its line breaks stay."""
    first = token.map[0] if token.map else 0
    lines, places = list[str](), list[int]()
    for number, line in enumerate(token.content.split("\n"), first):
        begin = max(starts[number], cursors.get(number, 0))
        at = text.find(line, begin, starts[number + 1])
        if at < 0:  # markdown-it rewrote the line (a tab, an escape): nothing could be quoted of it
            continue
        cursors[number] = at + len(line)
        if places:
            places.append(places[-1] + 1)
        lines.append(line)
        places += range(at, at + len(line))
    return _Block("\n".join(lines), tuple(places))


def _parts(block: _Block) -> Iterator[_Block]:
    """A paragraph, cut before lines that begin with a bullet of no Markdown, and after a first line in bold; or the values of its fields."""
    lines = [0, *(match.end() for match in _LINE_END.finditer(block.text)), len(block.text) + 1]
    fields = [match for start in lines[:-1] if (match := _FIELD.match(block.text, start))]
    if len(fields) > 1 and fields[0].start() == 0:
        for field, end in zip(fields, [*(one.start() - 1 for one in fields[1:]), len(block.text)], strict=True):
            start = field.end()
            value = replace(block, text=block.text[start:end], places=block.places[start:end])
            yield from (replace(part, field=field["title"].strip()) for part in _parts(value))
        return
    begin, listed = 0, False
    for start, end in pairwise(lines):
        line = block.text[start : end - 1]
        bullet = _OWN_BULLET.match(line)
        if bullet and start > begin:
            yield replace(block.since(begin), text=block.text[begin : start - 1], listed=listed)
        if bullet:
            begin, listed = start + bullet.end(), True
        elif start == begin and _BOLD.match(line) and units(line) <= HEADING_UNITS:
            yield replace(block.since(begin), text=line)
            begin, listed = min(end, len(block.text)), False
    if begin < len(block.text):
        yield replace(block.since(begin), listed=listed)


def _plain(block: _Block) -> _Block:
    """`block` on one line and without marks of emphasis."""
    marks = {at for match in _MARK.finditer(block.text) for at in range(*match.span())}
    characters: list[str] = []
    places: list[int] = []
    for at, character in enumerate(block.text):
        if at in marks:
            continue
        if character == "\n":
            around = block.text[at - 1 : at] + block.text[at + 1 : at + 2]
            if len(_JOINED_WITHOUT_SPACE.findall(around)) == 2:
                continue
            character = " "
        characters.append(character)
        places.append(block.places[at])
    return _Block("".join(characters), tuple(places))


def _sentences(block: _Block, heading: str, offset: int) -> Iterator[Sentence]:
    for start, end in (part for span in _spans(block.text) for part in _halves(block.text, *span)):
        piece = block.text[start:end]
        start += len(piece) - len(piece.lstrip())
        piece = piece.strip()
        if units(piece) >= SHORTEST:
            first, last = block.places[start], block.places[start + len(piece) - 1]
            yield Sentence(offset + first, offset + last + 1, piece, heading)


def _halves(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A long Chinese sentence at its semicolons and before its "but": each part says something of its own.

    Not in English, where the part after the "but" mostly needs the words before it.
    """
    if units(text[start:end]) > LONG and _CJK_END.search(text):
        for turn in _TURN.finditer(text, start, end):
            at = turn.end()
            if units(text[start:at]) >= PART and units(text[at:end]) >= PART:
                yield start, at
                start = at
    yield start, end


def _spans(line: str) -> Iterator[tuple[int, int]]:
    for base, window in _windows(line):
        start = 0
        for end in (*_ends(window), len(window)):
            # A full stop inside quotation marks: the closing mark belongs to the sentence it ends.
            while end < len(window) and window[end] in _CLOSERS and window[end - 1] in "。！？!?.…”’":
                end += 1
            if end > start:
                yield base + start, base + end
                start = end


def _ends(window: str) -> Iterator[int]:
    """Where sentences of `window` end; the end of the window itself may be missing."""
    if _CJK_END.search(window):
        yield from (match.end() for match in _CJK_ENDS.finditer(window))
    elif _END.search(window):
        yield from english_ends.ends(window)


def _windows(line: str) -> Iterator[tuple[int, str]]:
    start = 0
    while len(line) - start > WINDOW:
        piece = line[start : start + WINDOW]
        cut = max(piece.rfind(mark) for mark in "。！？；.!?; ") + 1 or WINDOW
        yield start, piece[:cut]
        start += cut
    yield start, line[start:]
