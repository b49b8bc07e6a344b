"""What somebody leaves who declines a plan is a tension like every other (docs/protocol.md §7.7)."""

from __future__ import annotations

from typing import Literal

import pytest

from tongyao.protocol.model.ids import child_id, hole_id, hole_of
from tongyao.protocol.model.plan import Claim, Plan, PlanRole, Task
from tongyao.protocol.model.tension import TENSION_UNITS, Lineage, Tension
from tongyao.protocol.rules.plans.residuals import duplicate_of, hole

TENSION = Tension(
    transition="from fish sold at the quay to fish sold up the valley",
    initial_state="12 boats, two crates a night",
    barriers=("no cold room",),
    exchange="a share of the catch",
)
LINEAGE = Lineage(root="c-1", parent="c-1", residual="plan/1/hole/P02", depth=1)
PLAN = Plan(
    possible=(Claim(text="Fish goes up the valley.", sources=("T/T",)),),
    roles=(
        PlanRole(
            alias="P02",
            role="driver",
        ),
        PlanRole(alias="P03", role=""),
    ),
    tasks=(
        Task(
            id="T1",
            title="Carry the crates up the valley on Tuesdays",
            assignee="P02",
            sources=("R1/P02/1", "R1/P02/2"),
        ),
        Task(id="T2", title="Open the stall in the market", assignee="P01", prerequisites=("T1",)),
        Task(id="T3", title="Paint the sign", assignee="P01"),
    ),
)


def test_the_hole_is_made_of_what_they_were_to_do() -> None:
    left = hole(PLAN, "P02", TENSION, LINEAGE)
    assert left is not None
    tension = left.tension
    assert left.id == "plan/1/hole/P02"
    assert "Carry the crates up the valley" in tension.transition
    assert "Open the stall in the market" in tension.initial_state, "what waits for it"
    assert "Paint the sign" not in tension.initial_state, "what does not"
    assert "12 boats" in tension.initial_state
    assert "the valley on Tuesdays" in tension.barriers[0]
    assert tension.exchange == "a share of the catch", "as in the process"
    assert left.sources == ("R1/P02/1", "R1/P02/2"), "each source once"
    assert tension.lineage == LINEAGE


def test_a_person_without_a_task_leaves_no_hole() -> None:
    assert hole(PLAN, "P03", TENSION, LINEAGE) is None
    assert hole(PLAN, "P07", TENSION, LINEAGE) is None
    asked = Task(id="T4", title="Say whether the van is free", assignee="P07", question=True)
    assert hole(PLAN.model_copy(update={"tasks": (asked,)}), "P07", TENSION, LINEAGE) is None, "a question is no part"


def test_what_the_plan_does_not_say_is_taken_from_the_tension() -> None:
    bare = PLAN.model_copy(update={"roles": (), "tasks": PLAN.tasks[:1]})
    left = hole(bare, "P02", TENSION, LINEAGE)
    assert left is not None
    assert left.tension.exchange == TENSION.exchange
    assert "Carry the crates" in left.tension.barriers[0]


def test_a_hole_is_a_tension_however_much_somebody_was_to_do() -> None:
    for language, long in (("en", "very long " * 80), ("zh", "把很多箱鱼运到山上去" * 40)):
        tasks = tuple(Task(id=f"T{n}", title=long, assignee="P02") for n in range(9))
        plan = PLAN.model_copy(update={"tasks": tasks, "language": language})
        left = hole(plan, "P02", TENSION.model_copy(update={"initial_state": long[:900]}), LINEAGE)
        assert left is not None and left.tension.units <= TENSION_UNITS


@pytest.mark.parametrize(
    ("language", "one", "other"), [("en", "Drive on Tuesdays", "Paint the sign"), ("zh", "周二开车", "画招牌")]
)
def test_two_holes_are_as_different_as_what_was_to_be_done(language: Literal["en", "zh"], one: str, other: str) -> None:
    asked: dict[str, Tension] = {}
    for alias, title in (("P02", one), ("P03", other)):
        tasks = (Task(id="T1", title=title, assignee=alias),)
        left = hole(Plan(tasks=tasks, language=language), alias, TENSION, LINEAGE)
        assert left is not None
        assert duplicate_of(left.tension, asked) is None
        asked[alias] = left.tension


def test_a_hole_and_its_child_have_ids_of_their_own() -> None:
    assert hole_of(hole_id(1, "P03")) == (1, "P03")
    assert hole_of("plan/1/residual/3") is None
    assert child_id("c-1", hole_id(2, "P03")) == "c-1.2-P03"
    with pytest.raises(ValueError, match="hole/P3"):
        child_id("c-1", "plan/1/hole/P3")
