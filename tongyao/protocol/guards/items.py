"""Checks of a proxy's items, and splitting of people's own words into items (docs/protocol.md §4.3, §4.4). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tongyao.protocol.guards.checks import Check, Complaint, complaint
from tongyao.protocol.guards.forbidden import Forbidden
from tongyao.protocol.guards.naming import named_ids, named_targets
from tongyao.protocol.guards.quoting import Shown, find_pieces
from tongyao.protocol.model.ids import item_id
from tongyao.protocol.model.projection import (
    MAX_FIRST_ITEMS,
    MAX_LATER_ITEMS,
    MAX_OWN_PIECES,
    Item,
    ItemDraft,
    ProjectionDraft,
)
from tongyao.protocol.model.requests import EndpointRequest

_STREET: Final = (
    r"(?:Street|St|Road|Rd|Lane|Ln|Avenue|Ave|Drive|Close|Court|Crescent|Terrace|Row|Gardens|Mews|Alley|Way)"
)
_NUMBER: Final = r"(?!(?:19|20)\d\d\b)\d{1,4}[A-Za-z]?\b"
_NO_THING: Final = r"(?! (?:bus|tram|line|train|route|boat|buoy|pump|well|gate|field|plot|platform|boiler|shed))"
_ADDRESS: Final = re.compile(
    rf"\b{_NUMBER},? (?:[A-Z][\w'’-]{{1,20}} ){{1,3}}{_STREET}\b"
    rf"|\b(?:Street|Lane|Avenue|Crescent|Terrace),? (?:[Nn]umber |[Nn]o\.? ?|#)?{_NUMBER}(?! ?(?:[ap]\.?m|km|metres|miles|min|hours|people)\b)"
    rf"|\b(?i:live[sd]?|living|house|flat|apartment|resid(?:es?|ing)|address)\b[^.;\n]{{0,16}}?\b(?i:number|no\.|nr\.|flat|apartment|#) ?{_NUMBER}{_NO_THING}"
    rf"|\bat (?:house number|number|no\.) ?{_NUMBER}(?=\s*(?:[.,;:)]|$))"
    r"|(?<![这那]条)(?<![上修通])(?:路|街|大道|胡同|巷|弄)\s?(?:\d{1,5}|[一二三四五六七八九十百]{1,5})\s?(?:弄|号)(?![线车起早晚上下开封通出到])"
    r"|(?:\d{1,4}|[一二三四五六七八九十]{1,3})\s?(?:号楼|号院)|\d{1,4}\s?[幢栋]\s?\d{1,4}\s?(?:单元|室|号|层|楼)"
    r"|门牌号?(?:是|为|：)?\s?(?:\d{1,5}|[一二三四五六七八九十]{1,4})|住(?!院)在?[^，。；\n]{0,12}?\d{1,4}\s?[号室](?!线)"
)
"""A street with a number, or a house number. Every repetition is bounded."""
_ALLOWS_ADDRESS: Final = re.compile(r"\baddress|\bhouse number|地址|住址|门牌", re.IGNORECASE)

_LIST_MARK: Final = re.compile(
    r"\s{0,40}(?:[-*+•·●○▪–—]\s|\(?(?:\d{1,3}|[a-zA-Z])[.)]\s|\d{1,3}[、．]|[（(][\d一二三四五六七八九十]{1,3}[)）]|"
    r"[一二三四五六七八九十]{1,3}、|[①-⑳])"
)
"""The beginning of a list item."""
_ENDS_SENTENCE: Final = re.compile(r"[.!?。！？…][\"'”’」』)）]{0,4}\s*$")
_SAYS_SOMETHING: Final = re.compile(r"[^\W_]")

_PRIVATE_WORDS: Final = (
    r"(?:private(?: notes?)?|confidential|not public|not for others|(?:do not|don['’]t) (?:share|tell|publish)(?: this)?"
    r"|私密|私人|私下|隐私|保密|不公开|不对外|不要(?:说|讲)出去|别(?:说|讲)出去|仅自己可见)"
)
_HEADING: Final = re.compile(r"^(#{1,6})[ \t]+(.{0,80})$", re.M)
_IS_PRIVATE: Final = re.compile(rf"[\W_]*{_PRIVATE_WORDS}[\W_]*", re.IGNORECASE)
_LABEL: Final = re.compile(
    rf"^[ \t]*(?:[-*][ \t]+)?[\[(（【]?{_PRIVATE_WORDS}[\])）】]?[ \t]*[:：]", re.IGNORECASE | re.M
)
_PARAGRAPH_END: Final = re.compile(r"\n[ \t]*\n|\n(?=[ \t]*(?:[-*][ \t]|#))")


def item_checks(source: Shown) -> tuple[Check[ProjectionDraft, EndpointRequest], ...]:
    """Return the checks of a proxy's answer, or of an agent's items. `source`: the text that must contain quotes."""

    def quoted(draft: ProjectionDraft, request: EndpointRequest) -> Iterator[Complaint]:
        """Each item has a text, and at least one quote that occurs in the source."""
        for number, item in enumerate(draft.items):
            if not item.text.strip():
                yield _complaint(request, number, item, "empty_text")
            elif not item.quotes:
                yield _complaint(request, number, item, "no_quote")
            elif not any(map(source.find_pieces, item.quotes)):
                yield _complaint(request, number, item, "quote_not_found", quote=item.quotes[0].strip())

    private = private_sections(source.text)

    def marked_private(draft: ProjectionDraft, request: EndpointRequest) -> Iterator[Complaint]:
        """No item quotes a part of the profile that its owner marked as private."""
        for number, item in enumerate(draft.items) if private else ():
            spans = [span for quote in item.quotes for span in find_pieces(source.text, quote)]
            if any(start < stop and end > begin for start, end in spans for begin, stop in private):
                yield _complaint(request, number, item, "disclosed")

    return (quoted, disclosed, marked_private, addresses, too_many)


def disclosed(draft: ProjectionDraft, request: EndpointRequest) -> Iterator[Complaint]:
    """No text or quote of an item contains a phrase that the mandate forbids."""
    never = Forbidden(request.mandate.never)
    for number, item in enumerate(draft.items):
        if never.stands_in(item.text) or never.stands_in(*item.quotes):
            yield _complaint(request, number, item, "disclosed")


def addresses(draft: ProjectionDraft, request: EndpointRequest) -> Iterator[Complaint]:
    """No item's text has a street address or a house number, unless the mandate mentions the address."""
    if any(_ALLOWS_ADDRESS.search(said) for said in (*request.mandate.topics, request.mandate.addition)):
        return
    for number, item in enumerate(draft.items):
        if found := _ADDRESS.search(item.text):
            yield _complaint(request, number, item, "address", words=found.group().strip())


def too_many(draft: ProjectionDraft, request: EndpointRequest) -> Iterator[Complaint]:
    """At most 10 items in the first turn and 4 in a later turn. Further items are struck without asking again."""
    limit = MAX_FIRST_ITEMS if request.first else MAX_LATER_ITEMS
    for number in range(limit, len(draft.items)):
        yield Complaint(text="", reason="too_many_items", fields=("items",), entry=number)


def private_sections(text: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of `text` that the owner of a profile marked as private. Takes linear time.

    A span is a section whose heading only states that it is private, up to the next heading of its level, or a
    paragraph or list item that begins with such words and a colon.
    """
    found, level, begin = [], 0, 0
    for heading in _HEADING.finditer(text):
        if level and len(heading[1]) <= level:
            found.append((begin, heading.start()))
            level = 0
        if not level and _IS_PRIVATE.fullmatch(heading[2]):
            level, begin = len(heading[1]), heading.start()
    if level:
        found.append((begin, len(text)))
    for label in _LABEL.finditer(text):
        end = _PARAGRAPH_END.search(text, label.end())
        found.append((label.start(), end.start() if end else len(text)))
    return tuple(found)


def items_of(drafts: Sequence[ItemDraft], request: EndpointRequest, source: Shown) -> tuple[Item, ...]:
    """Return checked drafts as items, numbered from 1.

    `quotes` are passages of the source. `about` keeps lines of the tension and ids of valid relations and notes.
    `replaces` keeps ids of the participant's own valid items.
    """
    lines, own = request.tension.target_names(), [item.id for item in request.items]
    stands = [statement.id for statement in request.stands]
    return tuple(
        Item(
            id=item_id(request.round, request.alias, number),
            kind=draft.kind,
            text=draft.text.strip(),
            quotes=tuple(dict.fromkeys(passage for quote in draft.quotes for passage in source.passages(quote))),
            inferred=draft.inferred,
            about=(*named_targets(draft.about, lines), *named_ids(draft.about, stands)),
            replaces=named_ids(draft.replaces, own),
        )
        for number, draft in enumerate(drafts, 1)
    )


def own_items(text: str, *, round_number: int, alias: str) -> tuple[Item, ...]:
    """Return the items of a person's own words, which have only a text."""
    return tuple(
        Item(id=item_id(round_number, alias, number), text=piece) for number, piece in enumerate(own_pieces(text), 1)
    )


def own_pieces(text: str, *, limit: int = MAX_OWN_PIECES) -> tuple[str, ...]:
    """Split `text` into its paragraphs and list items, in order, each verbatim without surrounding white space.

    A paragraph ends at a blank line, and at a line break after the end of a sentence. A piece without a letter or
    digit, such as a rule of dashes, is joined to the piece before it; at the beginning, to the piece after it. Text
    after `limit` pieces belongs to the last piece. Takes time linear in the length of `text`.
    """
    begins = list(_begins(text))
    if not begins:
        return (text.strip(),) if text.strip() else ()
    ends = [*begins[1:limit], len(text)]
    return tuple(text[start:end].strip() for start, end in zip(begins[:limit], ends, strict=True))


def _begins(text: str) -> Iterator[int]:
    """Yield the start of each piece of `text`. Each piece has a letter or a digit."""
    at = first = 0
    opens, any_said, piece_says = True, False, False
    for line in text.splitlines(keepends=True):
        if not line.strip():
            opens = True
        else:
            if opens or _LIST_MARK.match(line):
                first, piece_says = at, False
            if not piece_says and _SAYS_SOMETHING.search(line):
                piece_says = True
                yield first if any_said else 0
                any_said = True
            opens = _ENDS_SENTENCE.search(line[-80:]) is not None
        at += len(line)


def _complaint(request: EndpointRequest, number: int, item: ItemDraft, fault: str, **named: object) -> Complaint:
    what = complaint(request.language, fault, **named)
    told = complaint(request.language, "item", text=item.text.strip(), what=what)
    return Complaint(text=told, reason=fault, fields=("items", "names"), entry=number)
