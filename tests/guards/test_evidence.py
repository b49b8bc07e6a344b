"""No invention: a fact stands on a verbatim quote, whatever its white space, in a text of any size."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongyao.protocol.guards.evidence import Checked, check_items
from tongyao.protocol.guards.quoting import find_pieces, find_quote
from tongyao.protocol.model.projection import Dimension, ItemDraft

TEXTS = st.text(alphabet=st.sampled_from("ab钟 \n\t.*+(\\"), min_size=1, max_size=80)


def checked(*drafts: ItemDraft, never: tuple[str, ...] = (), language: Literal["zh", "en"] = "en") -> Checked:
    return check_items(
        drafts,
        text="I mend nets\nand own a boat.",
        source="profile",
        round_number=2,
        alias="P01",
        targets=("T", "I", "B1", "E"),
        known_ids=("R1/P01/1",),
        never=never,
        language=language,
    )


def fact(claim: str = "mends nets", *quotes: str) -> ItemDraft:
    return ItemDraft(dimension=Dimension.CAPABILITY, claim=claim, quotes=list(quotes))


@given(TEXTS, st.data())
def test_a_piece_is_found_however_its_white_space_was_folded(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    piece = text[start:end]
    found = find_quote(text, " ".join(piece.split()))
    if not piece.strip():
        assert found is None
    else:
        assert found is not None
        assert text[slice(*found)].split() == piece.split()


@given(TEXTS, TEXTS)
def test_what_is_found_is_what_was_asked_for(text: str, quote: str) -> None:
    found = find_quote(text, quote)

    def bare(said: str) -> str:
        return "".join(said.translate({ord(mark): None for mark in "*_`"}).split())

    assert found is None or bare(text[slice(*found)]).strip(".") == bare(quote).strip(".")


@pytest.mark.parametrize(
    ("source", "quote", "span"),
    [
        ("他说“等最重的那口钟”，就停。", '他说"等最重的那口钟"', "他说“等最重的那口钟”"),
        ("钟敲了\n十二下才停", "钟敲了十二下才停", "钟敲了\n十二下才停"),
        ("We **never** stop before dawn.", "we never stop before dawn", "We **never** stop before dawn"),
        ("from 03:00 – 05:40, empty", "from 03:00 - 05:40", "from 03:00 – 05:40"),
        ("每天（周一除外）十点", "每天(周一除外)十点", "每天（周一除外）十点"),
        ("It is a cold room.", "“a cold room”", "a cold room"),
    ],
)
def test_what_a_pen_changes_is_forgiven_and_the_span_is_the_sources_own(source: str, quote: str, span: str) -> None:
    found = find_quote(source, quote)
    assert found is not None
    assert source[slice(*found)] == span


def test_a_quote_that_leaves_something_out_is_several_spans_all_of_which_stand() -> None:
    source = "I have two boats. They are old. I mend nets in winter."
    assert [source[slice(*one)] for one in find_pieces(source, "I have two boats … mend nets in winter")] == [
        "I have two boats",
        "mend nets in winter",
    ]
    assert find_pieces(source, "I have two boats … and a pier") == ()


def test_one_word_shows_nothing() -> None:
    assert find_pieces("I mend nets", "I") == ()
    assert find_pieces("我补网", "我") == ()


def test_ids_and_targets_are_read_as_what_they_can_only_mean() -> None:
    item = ItemDraft(
        dimension=Dimension.BOUNDARY,
        claim="leaves",
        inferred=True,
        starts_from=["[r1/p01/1], R9/P01/1", "R9/P01/1", "as R1/P01/1 says"],
        targets=["T/B1 (no pier)", "b1", "I, E", "B12", "all but T"],
    )
    found = checked(item).items[0]
    assert (found.starts_from, found.targets) == (("R1/P01/1",), ("B1", "I", "E"))


def test_premise_and_bearing_are_kept_apart_and_only_known_items_are_taken_back() -> None:
    said = fact("three nets a day", "I mend").model_copy(
        update={"premise": " P01 mends nets. ", "withdraws": ["R1/P01/1", "R1/P02/1"]}
    )
    (found,) = checked(said).items
    assert (found.premise, found.claim, found.withdraws) == ("P01 mends nets.", "three nets a day", ("R1/P01/1",))
    assert found.statement == "P01 mends nets: three nets a day"


def test_what_is_complained_of_is_told_whole_and_in_the_language_of_the_request() -> None:
    long = "a quote that is in no profile " * 12
    ((_, told),) = checked(fact("sails", long), language="zh").rejected
    assert told == f"原文里没有这段引文：「{long.strip()}」。照原文逐字抄。"


def test_a_fact_without_a_quote_that_stands_is_rejected_and_an_inference_is_not() -> None:
    result = checked(
        fact("mends nets", "nets and own"),
        fact("sails", "I sail"),
        fact("nothing to show"),
        fact("  ", "I mend"),
        ItemDraft(
            dimension=Dimension.BOUNDARY,
            claim="probably leaves in winter",
            inferred=True,
            quotes=["I sail"],
            starts_from=["R1/P01/1", "R1/P02/1"],
            targets=["B1", "B9", "B1"],
        ),
    )
    assert [item.id for item in result.items] == ["R2/P01/1", "R2/P01/2"]
    inference = result.items[1]
    assert (inference.starts_from, inference.targets, inference.spans) == (("R1/P01/1",), ("B1",), ())
    assert len(result.rejected) == 3
    assert "“I sail”" in result.rejected[0][1]


def test_what_the_owner_never_discloses_is_rejected_also_in_quotes_and_steps() -> None:
    assert not checked(fact("owns a vessel", "a boat"), never=("BOAT",)).items
    step = ItemDraft(dimension=Dimension.DIRECTION, claim="x", inferred=True, mapping=["by boat"])
    assert not checked(step, never=("boat",)).items


def test_hostile_quotes_on_a_text_of_two_million_characters_are_answered() -> None:
    """A backtracking search would not come back: runs of white space, prefixes that nearly fit."""
    blank = " " * 1_000_000 + "a" + "\n" * 1_000_000
    repeated = "a " * 1_000_000
    assert find_quote(blank, "a b") is None
    assert find_quote(blank, "b  a") is None
    assert find_quote(repeated, "a " * 3_000 + "b") is None
    assert find_quote(repeated, "a\n" * 1_000 + "a") == (0, 2_001)
    assert find_quote(repeated, "a  a " * 200_000 + "b") is None
