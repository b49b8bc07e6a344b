"""Each property that one record can refute: a record that refutes it is called so."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.evaluation.test_judging import record
from tongyao.evals.measure import evidence_overlap
from tongyao.protocol.model.observation import Observation, Relation, RelationKind, Verdict
from tongyao.protocol.model.plan import Claim, Plan
from tongyao.protocol.model.projection import Item, ItemKind, Outcome, Projection
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.rules.audit import AuditFinding, Result, audit

B = ("B1", "B2", "B3")
TENSION = Tension(
    transition="carry bread uphill", initial_state="nine villages", barriers=("no van", "no list", "no door")
)


def items(
    number: int, alias: str, *texts: str, kind: ItemKind | None = ItemKind.CAPABILITY, about: tuple[str, ...] = ("B1",)
) -> Projection:
    made = tuple(
        Item(id=f"R{number}/{alias}/{at}", kind=kind, text=text, about=about, quotes=(text,))
        for at, text in enumerate(texts, 1)
    )
    outcome = Outcome.REPLIED if made else Outcome.NOTHING_NEW
    return Projection(round=number, alias=alias, outcome=outcome, items=made)


def seen(number: int, *pairs: tuple[str, str], **changes: Any) -> Observation:
    relations = tuple(
        Relation(id=f"R{number}/r{at}", between=pair, kind=RelationKind.ALIGNED, text="both carry", sources=())
        for at, pair in enumerate(pairs, 1)
    )
    return Observation(round=number, relations=relations, **changes)


def told(*projections: Projection, observations: tuple[Observation, ...] = (), plans: tuple[Plan, ...] = ()) -> Record:
    base = record().model_copy(update={"tension": TENSION})
    return base.model_copy(update={"projections": projections, "observations": observations, "plans": plans})


def finding(number: int, held: Record) -> AuditFinding:
    return next(found for found in audit(held) if found.number == number)


REFUTED: dict[int, Callable[[], Record]] = {
    4: lambda: told(items(1, "P01", "van", "list", about=B)),
    5: lambda: told(items(1, "P01", "van"), items(7, "P01", "x"), observations=tuple(seen(n) for n in range(1, 8))),
    6: lambda: told(items(1, "P01", "van"), items(3, "P01", "a", "b", "c"), observations=(seen(1), seen(2), seen(3))),
    7: lambda: told(
        items(1, "P01", "van", kind=ItemKind.BOUNDARY),
        items(2, "P01", "list", kind=ItemKind.BOUNDARY),
        items(1, "P02", "door"),
    ),
    11: lambda: told(items(1, "P01", "the van climbs"), items(2, "P01", "quilts", "embroidery", "poems")),
    12: lambda: told(items(1, "P01", "van"), items(1, "P02", "list"), observations=(seen(1),)),
    13: lambda: told(items(1, "P01", "van"), plans=(Plan(possible=(Claim(text="x", supported=False),)),)),
}


@pytest.mark.parametrize("number", REFUTED)
def test_a_record_that_refutes_a_property_is_called_so(number: int) -> None:
    found = finding(number, REFUTED[number]())
    assert found.result is Result.FALSIFIED, found.figure
    assert any(character.isdigit() for character in found.figure), "a finding carries its figure"


def test_a_record_that_holds_is_not_refuted() -> None:
    held = told(
        items(1, "P01", "the van climbs", kind=ItemKind.BOUNDARY),
        items(1, "P02", "a list of doors"),
        items(2, "P02", "the van and the list"),
        items(3, "P02"),
        observations=(seen(1, ("P01", "P02")), seen(2), seen(3, verdict=Verdict.EXHAUSTED)),
        plans=(Plan(possible=(Claim(text="x", sources=("T/T",)),)),),
    )
    assert {found.result for found in audit(held)} == {Result.HOLDS, Result.NO_MATERIAL, Result.BY_CONSTRUCTION}
    assert finding(8, held).result is Result.NO_MATERIAL, "nobody spoke again"


def test_seven_rounds_that_ended_by_themselves_refute_nothing() -> None:
    rounds = [*(seen(n) for n in range(1, 7)), seen(7, verdict=Verdict.EXHAUSTED)]
    assert finding(5, told(items(1, "P01", "van"), observations=tuple(rounds))).result is Result.HOLDS


def test_a_pair_without_a_relation_was_covered_too() -> None:
    held = told(items(1, "P01", "van"), items(1, "P02", "list"), observations=(seen(1, none=(("P01", "P02"),)),))
    assert finding(12, held).result is Result.BY_CONSTRUCTION


def test_fewer_items_than_in_the_first_round_show_nothing_since_more_are_allowed_in_it() -> None:
    said = [items(1, "P01", *"abcdefgh"), items(2, "P01", "i"), items(3, "P01", "j", "k")]
    held = told(*said, observations=(seen(1), seen(2), seen(3)))
    assert finding(6, held).result is Result.FALSIFIED


def test_words_of_a_person_have_no_kind_and_count_for_no_share() -> None:
    held = told(items(1, "P01", "van"), items(1, "P02", "list", kind=None), items(2, "P02", "door", kind=None))
    assert finding(7, held).result is Result.NO_MATERIAL


def test_a_framework_that_woke_somebody_is_seen() -> None:
    held = told(items(1, "P01", "van"), items(2, "P01"), items(3, "P01", "list"))
    assert finding(8, held).result is Result.HOLDS
    assert "P01 R3" in finding(8, held).figure


def test_two_runs_are_compared_by_what_the_same_people_quote() -> None:
    one, other = told(items(1, "P01", "van", "list")), told(items(1, "P02", "van"))
    assert evidence_overlap(one, {"P01": "ada"}, other, {"P02": "ada"}) == 0.5
    assert evidence_overlap(one, {"P01": "ada"}, other, {"P02": "bo"}) is None
    assert evidence_overlap(one, {"P01": "ada"}, one, {"P01": "ada"}) == 1.0


@pytest.mark.parametrize("held", [told(), *(made() for made in REFUTED.values())])
def test_the_chinese_figure_of_a_finding_has_no_english_words_but_commands(held: Record) -> None:
    for found in audit(held, guards=[{"reasked": 2, "struck": 1, "struck_by_catalyst": 1}]):
        assert found.figure_zh, found.number
        plain = re.sub(r"`[^`]*`|\b[PR]\d+\b", "", found.figure_zh)
        assert not re.search("[A-Za-z]", plain), found.figure_zh
