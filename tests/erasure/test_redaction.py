"""What is left of an observation and of a turn when one of the room is erased."""

from __future__ import annotations

from tongyao.protocol.model.observation import Ended, Note, NoteKind, Observation, Relation, RelationKind, Verdict
from tongyao.protocol.model.projection import Item, Outcome, Projection
from tongyao.protocol.rules.identity.redaction import Erasure
from tongyao.protocol.rules.standing import rounds_of, standing

GONE = Erasure("p", seats={"p": "P02"}, words=["I play the zither."], elsewhere=["I bake bread and I weave."])


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
    why="The zither came up.",
    relations=(
        relation(1, ("P01", "P03"), "R1/P01/1", "R1/P02/1", "R1/P03/1"),
        relation(2, ("P01", "P02"), "R1/P01/1", "R1/P02/1"),
        relation(3, ("P02", "B1"), "R1/P02/1"),
        relation(4, ("P03", "B1"), "R1/P03/1"),
        relation(5, ("P01", "P03"), text="Both like a zither."),
    ),
    none=(("P01", "P03"), ("P02", "P03")),
    notes=(
        note(1, about=("T",)),
        note(2, "R1/P02/1", about=("T",)),
        note(3, about=("T",), asks="P02"),
        note(4, about=("P02",)),
        note(5, text="P02 could say more."),
    ),
    ended=(Ended(id="R1/r9", why="The zither is sold."), Ended(id="R1/r8", why="Bread is baked.")),
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


def test_what_a_fallen_statement_or_item_had_replaced_does_not_hold_again() -> None:
    said = [
        Projection(round=1, alias="P03", outcome=Outcome.REPLIED, items=(Item(id="R1/P03/1", text="I bring looms."),)),
        Projection(
            round=2,
            alias="P03",
            outcome=Outcome.REPLIED,
            items=(Item(id="R2/P03/1", text="I would sell a zither.", replaces=("R1/P03/1",)),),
        ),
    ]
    first = Observation(round=1, relations=(relation(1, ("P01", "P03")),), notes=(note(1),))
    taken_over = {
        "relations": (relation(1, ("P01", "P03"), text="A zither for both.").model_copy(update={"id": "R2/r1"}),),
        "notes": (note(1, text="Nobody tunes the zither.").model_copy(update={"id": "R2/n1"}),),
    }
    second = Observation(
        round=2,
        relations=tuple(one.model_copy(update={"replaces": ("R1/r1",)}) for one in taken_over["relations"]),
        notes=tuple(one.model_copy(update={"replaces": ("R1/n1",)}) for one in taken_over["notes"]),
    )
    left = standing(
        rounds_of(
            [GONE.projection(one, independent=False) for one in said],
            [GONE.observation(one) for one in (first, second)],
        )
    )
    assert left.statements == ()
    assert [(item.id, item.text) for item in left.valid_items] == [("R2/P03/1", "[erased]")]


def test_where_they_have_no_seat_nothing_goes_but_what_repeats_them() -> None:
    child = Erasure("p.1-0", seats={"p": "P02"}, words=["I play the zither."], elsewhere=[])
    left = child.observation(SEEN)
    assert [one.id for one in left.relations] == ["R1/r1", "R1/r2", "R1/r3", "R1/r4"]
    assert [one.id for one in left.notes] == ["R1/n1", "R1/n2", "R1/n3", "R1/n4", "R1/n5"]


def test_an_item_that_repeats_them_goes_unless_it_was_said_before_they_were_heard() -> None:
    said = Projection(
        round=1,
        alias="P03",
        outcome=Outcome.REPLIED,
        items=(
            Item(id="R1/P03/1", text="I weave."),
            Item(id="R1/P03/2", text="I would hear a zither."),
            Item(id="R1/P03/3", text="I weave.", quotes=("a zither by the loom",)),
            Item(id="R1/P03/4", text="P02 may come."),
        ),
    )
    kept = {
        independent: [item.id for item in GONE.projection(said, independent=independent).items]
        for independent in (False, True)
    }
    assert kept == {False: ["R1/P03/1"], True: ["R1/P03/1", "R1/P03/2", "R1/P03/3"]}
