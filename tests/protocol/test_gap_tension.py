"""What a room lacks is what the field is asked with when the rounds stand still (docs/protocol.md §3.8)."""

from __future__ import annotations

from tongyao.protocol.model.observation import Note, NoteKind, Observation, Relation, RelationKind
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.projection import Item, Outcome, Projection
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.tension import MISSING, TENSION_UNITS, Tension
from tongyao.protocol.rules.gap_tension import lacking

TENSION = Tension(
    transition="from a ferry timetable made by hand to one that follows the tides",
    initial_state="an island of 300 people, 2 ferries, one berth",
    barriers=("nobody has the tide readings of the winter", "no berth is free at dawn", "the crew has no reserve"),
    exchange="a cabin for visiting crews",
)


def record(*observations: Observation, tension: Tension | None = TENSION, said: tuple[Projection, ...] = ()) -> Record:
    return Record(process_id="c-1", phase=Phase.DECIDING, tension=tension, observations=observations, projections=said)


def seen(number: int, *gaps: Note, met: tuple[tuple[str, RelationKind], ...] = ()) -> Observation:
    relations = tuple(
        Relation(id=f"R{number}/r{place}", between=("P01", line), kind=kind, text="t", sources=("R1/P01/1",))
        for place, (line, kind) in enumerate(met, 1)
    )
    return Observation(round=number, notes=gaps, relations=relations)


def gap(id: str, about: str, text: str, asks: str = "") -> Note:
    return Note(id=id, kind=NoteKind.GAP, about=(about,), text=text, asks=asks)


COMPLEMENTARY, OFFSETTING = RelationKind.COMPLEMENTARY, RelationKind.OFFSETTING


def test_a_gap_for_nobody_here_comes_before_a_bare_barrier_and_a_gap_that_asks_somebody_comes_last() -> None:
    asked = gap("R2/n1", "E", "who would sleep in the cabin", asks="P01")
    absent = gap("R2/n2", "B1", "a tide gauge that is read in winter")
    lack = lacking(record(seen(1, met=(("B3", COMPLEMENTARY),)), seen(2, asked, absent)))
    assert lack is not None
    assert list(lack.open.values()) == ["R2/n2", "B2", "R2/n1"]
    assert lack.tension.barriers == (absent.text, TENSION.barriers[1], asked.text)
    assert (lack.tension.transition, lack.tension.exchange) == (TENSION.transition, TENSION.exchange)


def test_an_answered_gap_is_closed_and_only_a_fit_covers_a_barrier() -> None:
    first = seen(1, gap("R1/n1", "B1", "a gauge", asks="P01"), met=(("B2", OFFSETTING), ("B1", COMPLEMENTARY)))
    answer = Item(id="R2/P01/1", text="P01 reads the gauge.", about=("R1/n1",))
    said = (Projection(round=2, alias="P01", outcome=Outcome.REPLIED, items=(answer,)),)
    lack = lacking(record(first, seen(2), said=said))
    assert lack is not None
    assert dict(lack.open) == {"B1": "B2", "B2": "B3"}


def test_where_nothing_is_open_or_nobody_spoke_the_field_is_asked_with_the_whole() -> None:
    everything = seen(1, met=tuple((line, RelationKind.COMPLEMENTARY) for line in ("B1", "B2", "B3")))
    for lack in (lacking(record(everything)), lacking(record())):
        assert lack is not None
        assert lack.tension.barriers == TENSION.barriers
        assert list(lack.open.values()) == ["B1", "B2", "B3"]


def test_it_is_a_tension_like_every_other_however_much_is_open() -> None:
    gaps = [gap(f"R1/n{n}", "T", f"gap {n} " + "word " * 200) for n in range(1, 12)]
    lack = lacking(record(seen(1, *gaps), tension=TENSION.model_copy(update={"barriers": (MISSING,)})))
    assert lack is not None
    assert lack.tension.units <= TENSION_UNITS
    assert list(lack.open.values()) == [f"R1/n{n}" for n in range(1, 7)]
    bare = lacking(record(tension=Tension(transition="dry the nets")))
    assert bare is not None and bare.tension.barriers == (MISSING,) and not bare.open


def test_before_there_is_a_tension_nothing_is_lacking() -> None:
    assert lacking(record(tension=None)) is None
