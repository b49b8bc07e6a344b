"""Children have ids that any retry finds again, and a lineage does not ask the same thing twice."""

from __future__ import annotations

import pytest

from tongyao.protocol.model.ids import child_id
from tongyao.protocol.model.tension import MISSING, TENSION_UNITS, Lineage, Tension
from tongyao.protocol.rules.plans.residuals import NEAR, duplicate_of, for_another_room, likeness

ASKED = {
    "root": Tension(
        transition="from a ferry timetable made by hand to one that follows the tides and the school day",
        barriers=("nobody on the island has the tide readings of the winter months", "no berth is free at dawn"),
        exchange="a cabin for visiting crews",
    ),
    "root.1-1": Tension(
        transition="get the tide readings of the winter months into hands on the island",
        barriers=("the only gauge stands on the mainland pier",),
        exchange="a cabin for visiting crews",
    ),
    "root.1-2": Tension(
        transition="从没有冷库的渔村到每周两个晚上有一间零下十八度的冷间",
        barriers=("变压器夜里带不动压缩机",),
        language="zh",
    ),
}
AGAIN = [
    ("root.1-1", "Get the winter months' tide readings into hands on the island", ("the one gauge is on the pier",)),
    ("root.1-1", "to get the TIDE READINGS of the winter months into hands on this island!", (MISSING,)),
    ("root", "From a ferry timetable made by hand, to one following the tides and the school day", (MISSING,)),
    ("root.1-2", "从没有冷库的渔村，到每周两个夜晚有一间零下十八度的冷间", ("夜里变压器带不动压缩机",)),
    ("root.1-2", "渔村从没有冷库，到每周有两个晚上有一间零下十八度的冷间", (MISSING,)),
]
NEW = [
    ("find somebody who may moor a second boat at the pier before six", ("the harbour master gives no dawn berths",)),
    ("teach two islanders to read the gauge and to keep its log through the winter", ("no one has been trained",)),
    ("a school day on the island that begins when the ferry lands", ("the school answers to the mainland",)),
    ("让渔村夜里的变压器带得动两台机器", ("增容要等供电所排期",)),
    ("把冷间里的鱼在两天之内卖到山上", ("山路冬天封闭",)),
]


@pytest.mark.parametrize(("asked", "transition", "barriers"), AGAIN)
def test_what_was_asked_in_the_lineage_is_found_again(asked: str, transition: str, barriers: tuple[str, ...]) -> None:
    assert duplicate_of(Tension(transition=transition, barriers=barriers), ASKED) == asked


@pytest.mark.parametrize(("transition", "barriers"), NEW)
def test_what_is_new_in_the_lineage_is_let_through(transition: str, barriers: tuple[str, ...]) -> None:
    new = Tension(transition=transition, barriers=barriers, exchange="a cabin for visiting crews")
    assert duplicate_of(new, ASKED) is None
    assert max(likeness(new, asked) for asked in ASKED.values()) < NEAR - 0.1, "well away from the threshold"


def test_what_a_child_inherits_does_not_make_it_like_its_parent() -> None:
    facts = {"initial_state": "an island of 300 people, 2 ferries, one berth", "exchange": "a cabin for visiting crews"}
    one = Tension(transition="dry the nets indoors", barriers=("the loft leaks",), **facts)
    other = Tension(transition="a doctor twice a month", barriers=("the fare is too dear",), **facts)
    assert likeness(one, other) < 0.4
    assert likeness(one, one) == pytest.approx(1.0)


def test_in_another_room_aliases_are_nobodys() -> None:
    residual = Tension(
        transition="Another way, in which the conditions of P02 and of P01 both hold",
        initial_state="P00 has two crates a night; R2/P02/1 is a source",
        barriers=("P01 says “I won't scan”, P03 keeps a P02-free list, APP01 is no alias",),
        lineage=Lineage(root="c-1", parent="c-1", residual="plan/1/residual/1", depth=1),
    )
    there = for_another_room(residual)
    assert (
        there.transition
        == "Another way, in which the conditions of one participant and of another participant both hold"
    )
    assert there.initial_state == "the demander has two crates a night; R2/P02/1 is a source"
    assert there.barriers == (
        "another participant says “I won't scan”, a third participant keeps a one participant-free list, APP01 is no alias",
    )
    assert (there.exchange, there.lineage) == (MISSING, residual.lineage)
    zh = Tension(transition="让 P01 与 P05 的条件都成立", barriers=("P05 只在周四有船",), language="zh")
    assert for_another_room(zh).transition == "让 一位参与者 与 另一位参与者 的条件都成立"


def test_a_tension_of_any_length_still_is_one_in_another_room() -> None:
    long = Tension(
        transition="P01 " * 90, initial_state="P02 " * 90, barriers=("P03 " * 90, "P04 " * 90), exchange="P05 " * 90
    )
    assert for_another_room(long).units <= TENSION_UNITS


def test_nothing_of_a_tension_is_cut_in_another_room() -> None:
    tension = Tension(transition="word " * 100, initial_state="fact " * 200, barriers=("one", "two", "three"))
    assert for_another_room(tension) == tension.model_copy(
        update={"transition": ("word " * 100).strip(), "initial_state": ("fact " * 200).strip()}
    )


def test_a_lineage_without_tensions_refuses_nothing() -> None:
    assert duplicate_of(ASKED["root"], {}) is None


def test_the_id_of_a_child_is_made_of_parent_and_residual() -> None:
    assert child_id("c-1", "plan/2/residual/3") == "c-1.2-3"
    assert child_id(child_id("c-1", "plan/1/residual/1"), "plan/1/residual/1") == "c-1.1-1.1-1"
    with pytest.raises(ValueError, match="residual/3"):
        child_id("c-1", "residual/3")
