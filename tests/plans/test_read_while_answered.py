"""What is read of a plan while it is answered, and while another one is written in its place (docs/protocol.md §6.1)."""

from __future__ import annotations

import pytest

from tests.plans.test_documents import TENSION, settled
from tongyao.protocol.model.plan import Delivery
from tongyao.protocol.model.process import DEMANDER, Phase
from tongyao.protocol.model.record import Participant, Record
from tongyao.protocol.rules import read_access


def record(phase: Phase, *seated: str, answers: dict[str, str] | None = None) -> Record:
    return Record(
        process_id="p",
        phase=phase,
        round=2,
        tension=TENSION,
        demander=Participant(alias=DEMANDER),
        participants=tuple(Participant(alias=alias) for alias in seated),
        plans=(settled(),),
        deliveries=tuple(Delivery(alias=alias, plan_revision=1, language="en") for alias in seated),
        answers=answers or {},
    )


def test_a_demander_who_takes_part_stands_among_those_who_answer() -> None:
    view = read_access.for_party(
        record(Phase.ANSWERING, DEMANDER, "P01", "P02", answers={DEMANDER: "commit"}), role="demander"
    )
    assert view.asked == (DEMANDER, "P01", "P02")
    assert view.plan is not None
    agreed = view.plan.markdown.split("What is agreed so far")[1]
    assert DEMANDER in agreed.split("Committed")[1].split("No answer")[0]


def test_a_demander_who_takes_no_part_does_not() -> None:
    assert read_access.for_party(record(Phase.ANSWERING, "P01", "P02"), role="demander").asked == ("P01", "P02")


@pytest.mark.parametrize("role", ["demander", "participant"])
def test_while_a_plan_is_written_anew_the_one_before_it_stays_readable(role: read_access.PartyRole) -> None:
    again = record(Phase.PLANNING, "P01", "P02")
    view = read_access.for_party(again, role=role, alias="P01" if role == "participant" else "")
    assert view.plan is not None and view.plan.revision == 1
    assert (view.delivery is not None) == (role == "participant")


def test_before_the_first_plan_there_is_none_to_read() -> None:
    first = record(Phase.PLANNING, "P01", "P02").model_copy(update={"plans": (), "deliveries": ()})
    view = read_access.for_party(first, role="demander")
    assert (view.plan, view.deliveries, view.projections) == (None, None, None)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_whoever_was_erased_since_is_not_listed_as_having_committed(language: str) -> None:
    left = record(Phase.COMPLETED, "P01", "P02", answers={"P01": "commit", "P02": "commit"})
    gone = tuple(one.model_copy(update={"erased": one.alias == "P02"}) for one in left.participants)
    plans = tuple(one.model_copy(update={"language": language}) for one in left.plans)
    view = read_access.for_party(left.model_copy(update={"participants": gone, "plans": plans}), role="demander")
    assert view.answers == {"P01": "commit", "P02": "erased"}
    assert view.plan is not None
    heading, erased = ("### Committed", "### Erased") if language == "en" else ("### 接下的", "### 已抹去的")
    committed = view.plan.markdown.split(heading)[1].split(erased)[0]
    assert "P01" in committed and "P02" not in committed
