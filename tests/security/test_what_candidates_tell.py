"""Whoever looks for people may not test words on the profiles of those who let nobody speak for them."""

from __future__ import annotations

from datetime import UTC, datetime

from tongyao.app.choosing.choices import Near, Proposal
from tongyao.protocol.model.events import Event, EventKind
from tongyao.protocol.rules.event_read_access import event_for_party
from tongyao.records.process.seats import CandidateRow


def test_a_proposal_tells_neither_where_in_a_profile_a_word_stands_nor_how_well_it_matches() -> None:
    reason = {"part": "B1", "facet": "offers", "score": 1.0, "start": 120, "end": 180}
    row = CandidateRow(perspective="complement", rank=1, profile_id="p-1", score=1.0, reasons=[reason])
    told = Proposal.of(row)
    assert told.reasons == (Near(part="B1", facet="offers"),)
    assert not {"score", "start", "end"} & set(told.model_dump())


def test_the_event_of_the_search_tells_whom_it_found_and_not_how_well_they_match() -> None:
    at = datetime(2026, 1, 5, tzinfo=UTC)
    found = Event(seq=4, kind=EventKind.FIELD_ACTIVATED, at=at, data={"candidates": [["p-1", "complement", 6.22]]})
    told = event_for_party(found, role="demander")
    assert told is not None and told.data["candidates"] == [["p-1", "complement"]]
