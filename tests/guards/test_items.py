"""What is said for a participant: a proxy's items rest on quotes, a person's words are cut and stay as they are."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongyao.protocol.guards.checks import complaints_of, strike
from tongyao.protocol.guards.items import addresses, item_checks, items_of, own_items, own_pieces
from tongyao.protocol.guards.quoting import Shown
from tongyao.protocol.model.observation import Note, NoteKind, Relation, RelationKind
from tongyao.protocol.model.projection import Item, ItemDraft, ItemKind, ProjectionDraft, read_submission
from tongyao.protocol.model.requests import EndpointRequest, Mandate
from tongyao.protocol.model.tension import Tension

PROFILE = Shown("I mend nets\nand own a boat. My brother keeps the shed.")


def asked(**changes: Any) -> EndpointRequest:
    fields: dict[str, Any] = {
        "language": "en",
        "alias": "P01",
        "round": 2,
        "tension": Tension(transition="t", initial_state="i", barriers=("b",), exchange="e"),
        "first": False,
        "items": (Item(id="R1/P01/1", text="owns a boat"),),
        "stands": (
            Relation(id="R1/r1", between=("P01", "P02"), kind=RelationKind.ALIGNED, text="…", sources=()),
            Note(id="R1/n1", kind=NoteKind.GAP, text="…"),
        ),
    }
    return EndpointRequest.model_validate(fields | changes)


def said(text: str, *quotes: str, **fields: Any) -> ItemDraft:
    return ItemDraft(kind=ItemKind.CAPABILITY, text=text, quotes=list(quotes), **fields)


def reasons(request: EndpointRequest, *drafts: ItemDraft) -> list[tuple[str, int | None]]:
    found = complaints_of(ProjectionDraft(items=list(drafts)), request, item_checks(PROFILE))
    return [(one.reason, one.entry) for one in found]


def kept(request: EndpointRequest, *drafts: ItemDraft) -> tuple[Item, ...]:
    """What stands where no second answer comes."""
    draft = ProjectionDraft(items=list(drafts))
    draft, _ = strike(draft, complaints_of(draft, request, item_checks(PROFILE)))
    return items_of(draft.items, request, PROFILE)


def test_every_item_rests_on_a_quote_that_stands_inferred_or_not() -> None:
    drafts = (
        said("mends", "I mend nets", "I sail"),
        said("sails", "I sail"),
        said("bakes"),
        said(" ", "I mend nets"),
        said("leaves in winter", "I sail", inferred=True),
    )
    assert reasons(asked(first=True), *drafts) == [
        ("quote_not_found", 1),
        ("no_quote", 2),
        ("empty_text", 3),
        ("quote_not_found", 4),
    ]
    (item,) = kept(asked(first=True), *drafts)
    assert (item.id, item.text, item.quotes) == ("R2/P01/1", "mends", ("I mend nets",))


def test_the_stored_quote_is_the_sources_own_text() -> None:
    (item,) = kept(asked(), said("mends", "i mend nets and own a boat"))
    assert item.quotes == ("I mend nets\nand own a boat",)


def test_a_complaint_tells_the_item_and_the_quote_in_the_language_of_the_request() -> None:
    draft = ProjectionDraft(items=[said("sails", "I sail")])
    (english,) = complaints_of(draft, asked(), item_checks(PROFILE))
    (chinese,) = complaints_of(draft, asked(language="zh"), item_checks(PROFILE))
    assert "sails" in english.text
    assert "“I sail”" in english.text
    assert "条目「sails」：原文里没有这段引文：「I sail」" in chinese.text


def test_what_the_mandate_forbids_stands_in_no_text_and_no_quote() -> None:
    never = asked(mandate=Mandate(never=("BOAT",)))
    assert reasons(
        never, said("owns a boat", "I mend nets"), said("sails", "own a boat"), said("m", "I mend nets")
    ) == [
        ("disclosed", 0),
        ("disclosed", 1),
    ]


@pytest.mark.parametrize(("first", "limit"), [(True, 10), (False, 4)])
def test_what_is_over_the_limit_is_dropped_without_asking(first: bool, limit: int) -> None:
    drafts = [said(f"mends {number}", "I mend nets") for number in range(12)]
    found = complaints_of(ProjectionDraft(items=drafts), asked(first=first), item_checks(PROFILE))
    assert not any(one.text for one in found)
    assert [item.text for item in kept(asked(first=first), *drafts)] == [f"mends {number}" for number in range(limit)]


def test_an_item_is_about_lines_and_what_stands_and_replaces_its_speakers_own_items() -> None:
    draft = said(
        "mends",
        "I mend nets",
        about=["T/B1 (no pier)", "[r1/N1]", "R1/r1", "R1/r9", "B7", "all but T", "R1/P01/1"],
        replaces=["R1/P01/1", "R1/P02/1"],
    )
    (item,) = kept(asked(), draft)
    assert (item.about, item.replaces) == (("B1", "R1/n1", "R1/r1"), ("R1/P01/1",))


@pytest.mark.parametrize(
    "text",
    [
        "P01 says: I live at number 9.",
        "P01 lives at 14 Mill Lane.",
        "The loft is 3a St Anne's Road, behind the church.",
        "P01's flat, no. 12, has a balcony.",
        "P01住在三里街12号。",
        "P01 住3号楼502室，白天在家。",
        "院子在柳树胡同7号。",
        "P01家的门牌是二十六号。",
    ],
)
def test_where_somebody_lives_is_complained_of_unless_the_mandate_says_so(text: str) -> None:
    draft = ProjectionDraft(items=[said(text, "I mend nets")])
    assert [one.reason for one in addresses(draft, asked())] == ["address"]
    assert not list(addresses(draft, asked(mandate=Mandate(addition="You may give my address."))))
    assert not list(addresses(draft, asked(mandate=Mandate(topics=("地址",)))))


@pytest.mark.parametrize(
    "text",
    [
        "P01 lives in the valley and has three houses to look after.",
        "The number 5 bus stops there at 9.30.",
        "P01 has worked on County Road 12 since 2019.",
        "P01 lives 3 km off, and the house has 2 rooms.",
        "A house with number 3 boiler stands empty.",
        "P01有三栋大棚，9号开工。",
        "这条路9号封，住院3天。",
        "坐12路车到街口，走三十步。",
    ],
)
def test_a_number_that_is_no_address_is_not_complained_of(text: str) -> None:
    assert not list(addresses(ProjectionDraft(items=[said(text, "I mend nets")]), asked()))


def test_words_are_cut_at_paragraphs_and_list_items() -> None:
    text = "I have:\n- a boat\n- a truck of\n  the firm\n\nA line\nthat goes on.\nNext sentence.\n1. one\n2) two\n一、船\n（二）车"
    assert own_pieces(text) == (
        "I have:",
        "- a boat",
        "- a truck of\n  the firm",
        "A line\nthat goes on.",
        "Next sentence.",
        "1. one",
        "2) two",
        "一、船",
        "（二）车",
    )


def test_a_person_s_item_is_text_alone() -> None:
    (item, _) = own_items("A boat.\n\nNo time on Mondays.", round_number=3, alias="P02")
    assert item == Item(id="R3/P02/1", text="A boat.")


def test_what_is_over_the_limit_is_joined_to_the_last_piece() -> None:
    assert own_pieces("a\n\nb\n\nc\n\nd", limit=2) == ("a", "b\n\nc\n\nd")
    assert len(own_pieces("\n\n".join(map(str, range(100))))) == 40


def test_a_piece_without_words_belongs_to_its_neighbour() -> None:
    assert own_pieces("---\n\nText.\n\n***\n\n- \n\nMore.") == ("---\n\nText.\n\n***\n\n-", "More.")
    assert own_pieces("!!!") == ("!!!",)
    assert own_pieces(" \n\t\n") == ()


@given(st.text(alphabet=st.sampled_from("ab1钟-*.。)(\n\r \t\u2028\x0b、一"), max_size=120), st.integers(1, 5))
def test_no_piece_is_empty_and_nothing_is_lost_or_changed(text: str, limit: int) -> None:
    pieces = own_pieces(text, limit=limit)
    assert len(pieces) <= limit
    assert all(piece.strip() for piece in pieces)
    at = 0
    for piece in pieces:
        found = text.index(piece, at)
        assert not text[at:found].strip()
        at = found + len(piece)
    assert not text[at:].strip()


@pytest.mark.parametrize("piece", ["- ", "\n", "a\n", "。\n", " " * 50 + "\n", "1. ", "路1", "lives at ", "\u2028x"])
def test_long_hostile_texts_are_cut_and_checked_in_time(piece: str) -> None:
    text = piece * (400_000 // len(piece))
    began = time.process_time()
    own_pieces(text)
    list(addresses(ProjectionDraft(items=[said(text)]), asked()))
    assert time.process_time() - began < 5


def test_an_agent_s_submission_is_json_of_its_shape_and_anything_else_is_text() -> None:
    read = read_submission('{"shown": "I mend.", "items": [{"kind": "boundary", "text": "x", "quotes": ["I mend"]}]}')
    assert read is not None
    assert (read.shown, read.items[0].quotes) == ("I mend.", ["I mend"])
    for text in ("I mend.", "{", '{"shown": "x"}', '{"shown": "x", "items": []}', '["x"]', "{" * 100_000):
        assert read_submission(text) is None
