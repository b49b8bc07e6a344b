"""Who chooses people sees everybody once, with the reasons of every side."""

from __future__ import annotations

from typing import Any

import pytest

from tongyao.gateway.console.candidates import Person, people_found, telling_words_in_common, ticked
from tongyao.records.process.seats import CandidateRow

PARTS = {
    "T": "I want the street to keep honey, all of it, from the chapel down to the mill and the two yards behind it.",
    "B1": "Nobody knows bees, hives or honey.",
}
BEES: dict[str, Any] = {"part": "B1", "facet": "offers", "start": 0, "end": 30}
HONEY: dict[str, Any] = {"part": "T", "facet": "moves", "start": 0, "end": 30}


def row(person: str, perspective: str, *reasons: dict[str, Any]) -> CandidateRow:
    return CandidateRow.model_validate(
        {"profile_id": person, "perspective": perspective, "rank": 1, "score": 1.0, "reasons": list(reasons)}
    )


def test_everybody_stands_once_with_the_reasons_of_each_side() -> None:
    found = [
        row("p-ada", "resonance", HONEY),
        row("p-bo", "complement", BEES),
        row("p-ada", "complement", BEES),
        row("p-ada", "interference", BEES),
    ]
    ada, bo = people_found(found, PARTS, {})
    assert (ada.number, ada.id, bo.number, bo.id) == (1, "p-ada", 2, "p-bo")
    assert [len(one) for one in ada.sides.values()] == [1, 1, 1]
    assert [len(one) for one in bo.sides.values()] == [0, 1, 0]
    assert not ada.open


def test_a_sentence_of_theirs_stands_once_and_a_part_is_named_by_its_first_words() -> None:
    said = "I have kept bees for thirty years."
    quotes = {("p-ada", 0, 30, "T"): said, ("p-ada", 0, 30, "B1"): said}
    [ada] = people_found([row("p-ada", "resonance", HONEY), row("p-ada", "complement", BEES)], PARTS, quotes)
    [first], [second] = ada.sides["resonance"], ada.sides["complement"]
    assert ada.open
    assert (first.quote, second.quote) == (said, "")
    assert (first.words, second.words) == (
        "I want the street to keep honey, all of it …",
        "Nobody knows bees, hives or honey",
    )


def found_by_words() -> list[Person]:
    """The first in the field's order shares no word, the second a few, the third may not be read."""
    quotes = {
        ("p-none", 0, 30, "B1"): "A choir is a table of who turns up.",
        ("p-share", 0, 30, "B1"): "Nobody here knows bees, hives and honey like my mother.",
    }
    return people_found([row(one, "complement", BEES) for one in ("p-none", "p-share", "p-closed")], PARTS, quotes)


def test_a_reason_names_the_words_that_its_sentence_shares_with_the_part_it_is_found_by() -> None:
    none, share, closed = found_by_words()
    assert [one.shared for one in (*none.sides["complement"], *share.sides["complement"])] == [
        (),
        ("bees", "hives", "honey"),
    ]
    assert (none.weak, share.weak, closed.weak) == (True, False, False), "nothing is said of words that may not be read"


def test_without_a_model_who_shares_no_word_is_not_ticked_where_others_do() -> None:
    found = found_by_words()
    assert ticked(found, most=8, by_words=True) == ["p-share", "p-closed"]
    assert ticked(found, most=1, by_words=True) == ["p-share"]
    assert ticked(found[:1], most=8, by_words=True) == ["p-none"], "nobody else is there"
    quote = {("p-none", 0, 30, "B1"): "Nobody turns up for choir.", ("p-share", 0, 30, "B1"): "I play cards."}
    people = people_found([row(one, "complement", BEES) for one in ("p-none", "p-share")], PARTS, quote)
    assert not people[0].shared, "an ordinary word explains nothing"
    assert [one.touches for one in people] == [True, False]
    assert ticked(found, most=2, by_words=False) == ["p-none", "p-share"], "a model compares meanings"


@pytest.mark.parametrize(
    ("text", "other", "words"),
    [
        (
            "The children swim in moving water.",
            "Moving water frightens a child; they swim.",
            ("swim", "moving", "water"),
        ),
        ("我会修水表，也能看水表。", "没有人会看水表", ("水表", "看水表")),
        ("I knit.", "The canal is cold.", ()),
        ("I want more time for it next year.", "We want a ferry this year; time is short.", ()),
        ("今年下午都行。", "今年下午常下雨。", ()),
        ("", "water", ()),
    ],
)
def test_telling_words_in_common_are_named_as_they_stand(text: str, other: str, words: tuple[str, ...]) -> None:
    assert telling_words_in_common(text, other) == words
