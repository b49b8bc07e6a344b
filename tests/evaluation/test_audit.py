"""Each of the 13 measured properties can fail: a record that refutes it is called so; two need several runs and say how."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.evaluation.test_judging import record
from tongyao.evals.measure import evidence_overlap
from tongyao.protocol.model.observation import Gap, GapKind, Observation, Pair, Relation, Verdict
from tongyao.protocol.model.plan import Claim, Plan
from tongyao.protocol.model.projection import Dimension, Item, Outcome, Projection, Span
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.rules.audit import Finding, Result, audit

B = ("B1", "B2", "B3")
TENSION = Tension(
    transition="carry bread uphill", initial_state="nine villages", barriers=("no van", "no list", "no door")
)


def items(round_number: int, alias: str, *claims: str, **changes: Any) -> Projection:
    made = tuple(
        Item(
            id=f"R{round_number}/{alias}/{number}",
            dimension=changes.get("dimension", Dimension.CAPABILITY),
            claim=claim,
            targets=changes.get("targets", ("B1",)),
            spans=(Span(source="profile", start=10 * number, end=10 * number + 5),),
        )
        for number, claim in enumerate(claims, 1)
    )
    outcome = Outcome.REPLIED if made else Outcome.NOTHING_NEW
    return Projection(round=round_number, alias=alias, outcome=outcome, items=made, struck=changes.get("struck", 0))


def seen(number: int, *pairs: tuple[str, str, Relation, str], gaps: tuple[Gap, ...] = ()) -> Observation:
    return Observation(
        round=number,
        verdict=Verdict.MORE,
        pairs=tuple(
            Pair(id=f"R{number}/catalyst/{at}", a=a, b=b, relation=relation, text=text)
            for at, (a, b, relation, text) in enumerate(pairs, 1)
        ),
        gaps=gaps,
    )


def told(*projections: Projection, observations: tuple[Observation, ...] = (), plans: tuple[Plan, ...] = ()) -> Record:
    base = record().model_copy(update={"tension": TENSION})
    return base.model_copy(update={"projections": projections, "observations": observations, "plans": plans})


def finding(number: int, held: Record) -> Finding:
    return audit(held)[number - 1]


ALIGNED, NONE = Relation.ALIGNED, Relation.NONE_FOUND
PAIR = ("P01", "P02")
OPEN = Plan(panorama=(Claim(text="x", sources=("T/T",)),), open_points=("open",))
REFUTED: dict[int, Callable[[], Record]] = {
    2: lambda: told(items(1, "P01", "van"), items(2, "P01", "a", "b", "c", targets=())),
    3: lambda: told(
        items(1, "P01", "van"),
        observations=(seen(1, (*PAIR, ALIGNED, "short"), ("P01", "P03", NONE, "much longer than the other")),),
    ),
    4: lambda: told(items(1, "P01", "van", "list", targets=B)),
    5: lambda: told(items(1, "P01", "van"), observations=tuple(seen(n) for n in range(1, 8)), plans=(OPEN,)),
    6: lambda: told(items(1, "P01", "van"), items(3, "P01", "a", "b", "c"), observations=(seen(1), seen(2), seen(3))),
    7: lambda: told(
        items(1, "P01", "van", dimension=Dimension.BOUNDARY),
        items(2, "P01", "list", dimension=Dimension.BOUNDARY),
        items(1, "P02", "door"),
    ),
    10: lambda: told(
        items(1, "P01", "van"),
        items(2, "P01", "list", struck=2),
        observations=(seen(1, gaps=(Gap(id="R1/catalyst/1", kind=GapKind.ABSENT, target="B1", text="t"),)),),
    ),
    11: lambda: told(items(1, "P01", "the van climbs"), items(2, "P01", "quilts", "embroidery", "poems")),
    12: lambda: told(items(1, "P01", "van"), items(1, "P02", "list"), observations=(seen(1),)),
    13: lambda: told(items(1, "P01", "van"), plans=(Plan(panorama=(Claim(text="x", supported=False),)),)),
}


@pytest.mark.parametrize("number", REFUTED)
def test_a_record_that_refutes_a_property_is_called_so(number: int) -> None:
    found = finding(number, REFUTED[number]())
    assert found.result is Result.FALSIFIED, found.figure
    assert any(character.isdigit() for character in found.figure), "a finding carries its figure"


def test_what_one_record_cannot_show_names_the_command_that_measures_it() -> None:
    held = told(items(1, "P01", "van"))
    for number in (1, 9):
        found = finding(number, held)
        assert found.result is Result.SEVERAL_RUNS
        assert "tongyao eval --" in found.figure
    assert "tongyao eval --json" in finding(8, held).figure


def test_a_framework_that_woke_somebody_is_seen() -> None:
    held = told(items(1, "P01", "van"), items(2, "P01"), items(3, "P01", "list"))
    assert finding(8, held).result is Result.HOLDS
    assert "P01 R3" in finding(8, held).figure


def test_a_fact_without_its_passage_is_no_small_matter() -> None:
    held = told(items(1, "P01", "van").model_copy(update={"items": (Item(id="x", dimension="capability", claim="c"),)}))
    assert finding(14, held).result is Result.FALSIFIED


def test_two_runs_are_compared_by_what_the_same_people_quote() -> None:
    one, other = told(items(1, "P01", "a", "b")), told(items(1, "P02", "a"))
    assert evidence_overlap(one, {"P01": "ada"}, other, {"P02": "ada"}) == 0.5
    assert evidence_overlap(one, {"P01": "ada"}, other, {"P02": "bo"}) is None
    assert evidence_overlap(one, {"P01": "ada"}, one, {"P01": "ada"}) == 1.0


WHOLE = told(
    items(1, "P01", "the van climbs"),
    items(1, "P02", "a list of doors"),
    items(2, "P01", "list"),
    items(2, "P02"),
    items(3, "P02", "door"),
    observations=tuple(
        seen(
            number,
            (*PAIR, ALIGNED, "both carry"),
            ("P01", "P03", NONE, "no"),
            gaps=(Gap(id=f"R{number}/catalyst/9", kind=GapKind.ABSENT, target="B1", text="t"),),
        )
        for number in (1, 2, 3)
    ),
    plans=(OPEN,),
)


@pytest.mark.parametrize("held", [WHOLE, told(), *(made() for made in REFUTED.values())])
def test_the_chinese_figure_of_a_finding_has_no_english_words_but_commands(held: Record) -> None:
    for found in audit(held, guards=[{"reasked": 2, "struck": 1, "repeated": 1}]):
        assert found.figure_zh, found.claim
        plain = re.sub(r"`[^`]*`|\b[PR]\d+\b", "", found.figure_zh)
        assert not re.search("[A-Za-z]", plain), found.figure_zh
