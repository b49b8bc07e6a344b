"""No invention: a fact stands on a verbatim quote, whatever its white space, in a text of any size."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tongyao.protocol.guards.evidence import Checked, check_items, find_quote
from tongyao.protocol.projection import Dimension, ItemDraft

TEXTS = st.text(alphabet=st.sampled_from("ab钟 \n\t.*+(\\"), min_size=1, max_size=80)


def checked(*drafts: ItemDraft, never: tuple[str, ...] = ()) -> Checked:
    return check_items(
        drafts,
        text="I mend nets\nand own a boat.",
        source="profile",
        round_number=2,
        alias="P01",
        targets=("T", "I", "B1", "E"),
        known_ids=("R1/P01/1",),
        never=never,
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
    assert found is None or text[slice(*found)].split() == quote.split()


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
    assert "'I sail'" in result.rejected[0][1]


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
