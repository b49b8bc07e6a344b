"""What is left of an observation and of a turn when one of the room is erased."""

from __future__ import annotations

from tongyao.protocol.model.observation import Ended, Note, NoteKind, Observation, Relation, RelationKind, Verdict
from tongyao.protocol.model.tension import Lineage, Tension
from tongyao.protocol.rules.redaction import ERASED, Erasure
from tongyao.protocol.rules.standing import rounds_of, standing

GONE = Erasure("p", {"p": "P02"})


def relation(number: int, between: tuple[str, str], *sources: str, text: str = "Bread for the ferry.") -> Relation:
    return Relation(
        id=f"R1/r{number}",
        between=between,
        kind=RelationKind.COMPLEMENTARY,
        text=text,
        sources=sources or ("R1/P01/1",),
    )


def note(number: int, *sources: str, text: str = "Nobody has a pier.", **more: object) -> Note:
    return Note.model_validate(
        {"id": f"R1/n{number}", "kind": NoteKind.GAP, "text": text, "sources": sources or ("R1/P01/1",), **more}
    )


SEEN = Observation(
    round=1,
    verdict=Verdict.MORE,
    why="P02 has a zither.",
    relations=(
        relation(1, ("P01", "P03"), "R1/P01/1", "R1/P02/1", "R1/P03/1"),
        relation(2, ("P01", "P02"), "R1/P01/1", "R1/P02/1"),
        relation(3, ("P02", "B1"), "R1/P02/1"),
        relation(4, ("P03", "B1"), "R1/P03/1"),
        relation(5, ("P01", "P03"), text="Both need what P02 has."),
    ),
    none=(("P01", "P03"), ("P02", "P03")),
    notes=(
        note(1, about=("T",)),
        note(2, "R1/P02/1", about=("T",)),
        note(3, about=("T",), asks="P02"),
        note(4, about=("P02",)),
        note(5, text="P02 could say more."),
    ),
    ended=(Ended(id="R1/r9", why="P02 sold it."), Ended(id="R1/r8", why="Bread is baked.")),
    words="P01 and P03: bread.",
)


def test_statements_of_the_erased_go_and_those_of_others_lose_their_items() -> None:
    left = GONE.observation(SEEN)
    assert [one.id for one in left.relations] == ["R1/r1", "R1/r4"]
    assert left.relations[0].sources == ("R1/P01/1", "R1/P03/1")
    assert left.none == (("P01", "P03"),)
    assert [one.id for one in left.notes] == ["R1/n1"]


def test_reasons_with_their_words_and_all_words_for_the_room_are_emptied() -> None:
    left = GONE.observation(SEEN)
    assert (left.why, left.words) == ("", "")
    assert [one.why for one in left.ended] == ["", "Bread is baked."]


def test_what_a_fallen_statement_had_replaced_does_not_hold_again() -> None:
    first = Observation(round=1, relations=(relation(1, ("P01", "P03")),), notes=(note(1),))
    newer = relation(1, ("P01", "P03"), "R2/P02/1").model_copy(update={"id": "R2/r1", "replaces": ("R1/r1",)})
    noted = note(1, "R2/P02/1").model_copy(update={"id": "R2/n1", "replaces": ("R1/n1",)})
    second = Observation(round=2, relations=(newer,), notes=(noted,))
    left = standing(rounds_of([], [GONE.observation(one) for one in (first, second)]))
    assert left.statements == ()


def test_where_they_have_no_seat_nothing_goes_but_what_rests_on_them() -> None:
    left = Erasure("p.1-0", {"p": "P02"}).observation(SEEN)
    assert [one.id for one in left.relations] == ["R1/r1", "R1/r2", "R1/r3", "R1/r4", "R1/r5"]
    assert [one.id for one in left.notes] == ["R1/n1", "R1/n2", "R1/n3", "R1/n4", "R1/n5"]


def test_of_a_demander_what_is_about_the_lines_of_their_tension_goes() -> None:
    left = Erasure("p", {"p": "P00"}).observation(SEEN)
    assert [one.id for one in left.relations] == ["R1/r1", "R1/r2", "R1/r5"]
    assert [one.id for one in left.notes] == ["R1/n4", "R1/n5"]


def test_a_claim_that_rests_on_a_statement_that_fell_goes_with_it() -> None:
    erasure = Erasure("p", {"p": "P02"})
    erasure.observation(SEEN)
    assert erasure.is_theirs("R1/r2") and erasure.is_theirs("R1/n2") and not erasure.is_theirs("R1/r1")


def test_a_residual_that_fell_in_one_process_leaves_the_child_of_another_alone() -> None:
    def child_of(parent: str) -> Tension:
        lineage = Lineage(root="p", parent=parent, residual="plan/1/residual/1", depth=1)
        return Tension(transition="Somebody lifts crates", initial_state="A jetty", lineage=lineage)

    erasure = Erasure("p.1-1", {"f": "P02"}, fallen={"f.1-1"})
    assert erasure.tension(child_of("p")) == child_of("p"), "ids of residuals are the same in a process and its fork"
    assert erasure.tension(child_of("f")).transition == ERASED
