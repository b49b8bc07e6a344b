"""Who chooses people sees everybody once, with the reasons of every side."""

from __future__ import annotations

from typing import Any

from tongyao.gateway.console.people import people_found
from tongyao.records.process.seats import CandidateRow

PARTS = {
    "T": "I want the street to keep honey, all of it, from the chapel down to the mill and the two yards behind it.",
    "B1": "Nobody knows bees.",
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
    assert (first.words, second.words) == ("I want the street to keep honey, all of it …", "Nobody knows bees")
