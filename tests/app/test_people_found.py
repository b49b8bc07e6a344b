"""Who chooses people sees everybody once, with the reasons of every perspective."""

from __future__ import annotations

from typing import Any

from tongyao.app.choosing.candidates import found_people
from tongyao.records.process.seats import CandidateRow

PARTS = {"T": "I want the street to keep honey.", "B1": "Nobody knows bees, hives or honey."}
BEES: dict[str, Any] = {"part": "B1", "facet": "offers", "start": 0, "end": 30, "score": 2.0}
HONEY: dict[str, Any] = {"part": "T", "facet": "moves", "start": 0, "end": 30, "score": 1.0}


def row(person: str, perspective: str, *reasons: dict[str, Any]) -> CandidateRow:
    return CandidateRow.model_validate(
        {"profile_id": person, "perspective": perspective, "rank": 1, "score": 1.0, "reasons": list(reasons)}
    )


def test_everybody_stands_once_with_the_reasons_of_each_perspective() -> None:
    found = [
        row("p-ada", "resonance", HONEY),
        row("p-bo", "complement", BEES),
        row("p-ada", "complement", BEES),
        row("p-ada", "interference", BEES),
    ]
    ada, bo = found_people(found, PARTS)
    assert (ada.profile_id, bo.profile_id) == ("p-ada", "p-bo")
    assert [(one.perspective, one.part) for one in ada.because] == [
        ("resonance", "T"),
        ("complement", "B1"),
        ("interference", "B1"),
    ]
    assert [(one.perspective, one.part_text) for one in bo.because] == [("complement", PARTS["B1"])]
    assert not ada.quoted


def test_of_several_passages_that_match_a_part_the_nearest_is_quoted() -> None:
    further = {**BEES, "start": 40, "end": 60, "score": 1.0}
    sentences = {("p-ada", 0, 30, "B1"): "I have kept bees.", ("p-ada", 40, 60, "B1"): "I eat honey."}
    [ada] = found_people([row("p-ada", "complement", BEES, further)], PARTS, sentences)
    assert ada.quoted
    assert [one.sentence for one in ada.because] == ["I have kept bees."]


def test_who_was_found_without_a_reason_that_may_be_told_is_shown_with_the_perspective() -> None:
    [closed] = found_people([row("p-closed", "complement")], PARTS)
    assert (closed.perspectives, closed.because) == (("complement",), ())
    [forward] = found_people([row("p-forward", "")], PARTS)
    assert forward.perspectives == ()
