"""Pictures of a plan and of relations: whole XML, everybody and everything in them, nobody's words as markup."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given

from tests.guards.test_plans import DRAFTS, settle
from tongyao.app.pictures.files import relation_mermaid, relation_svg, task_mermaid, task_svg
from tongyao.app.pictures.svg import wrapped
from tongyao.protocol.model.observation import Relation, RelationKind
from tongyao.protocol.model.plan import NOBODY, Plan, PlanDraft, Task

SVG = "{http://www.w3.org/2000/svg}"
ALIASES = ["P01", "P02", "P03"]


def relation(number: int, a: str, b: str, kind: RelationKind) -> Relation:
    return Relation(id=f"R1/r{number}", between=(a, b), kind=kind, text="t", sources=(f"R1/{a}/1", f"R1/{b}/1"))


HELD = [
    relation(1, "P01", "P02", RelationKind.OFFSETTING),
    relation(2, "P01", "P02", RelationKind.ALIGNED),
    relation(3, "P02", "P03", RelationKind.COMPLEMENTARY),
    Relation(id="R1/r4", between=("P01", "B1"), kind=RelationKind.COMPLEMENTARY, text="t", sources=("R1/P01/1",)),
]


def words(svg: str) -> list[str]:
    return [one.text or "" for one in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_a_pair_has_a_line_for_each_kind_of_its_relations_and_lines_of_the_tension_have_none() -> None:
    svg = relation_svg(ALIASES, HELD)
    assert {*ALIASES, "offsetting · 1", "complementary · 1", "aligned · 1"} <= set(words(svg))
    assert "P01 – P02: offsetting (R1/P01/1, R1/P02/1)" in svg
    assert "对冲 · 1" in words(relation_svg(ALIASES, HELD, language="zh"))
    drawn = relation_mermaid(ALIASES, HELD).splitlines()
    assert "    P01 ===|offsetting| P02" in drawn and "    P01 -.-|aligned| P02" in drawn
    assert not any("B1" in line for line in drawn)


def test_tasks_are_in_the_columns_in_which_they_can_begin() -> None:
    plan = Plan(
        tasks=(
            Task(id="a", title="clear <b>the</b> room & more", assignee="P01", agreed=True),
            Task(id="b", title='say "go"', assignee=NOBODY, prerequisites=("a",)),
            Task(id="c", title="unrelated", assignee="P00"),
        ),
    )
    drawn = ElementTree.fromstring(task_svg(plan))
    at = {one.text: float(one.attrib["x"]) for one in drawn.iter(f"{SVG}text")}
    assert at["a"] == at["c"] < at["b"]
    assert "nobody yet" in at
    assert len(list(drawn.iter(f"{SVG}path"))) == 2, "the arrow's head, and one arrow"
    dashed = [one for one in drawn.iter(f"{SVG}rect") if "stroke-dasharray" in one.attrib]
    assert len(dashed) == 2, "offered by one side"
    mermaid = task_mermaid(plan)
    assert "#lt;b#gt;" in mermaid and "#quot;go#quot;" in mermaid and "    t1 --> t2" in mermaid


@given(DRAFTS)
def test_any_plan_can_be_drawn(draft: PlanDraft) -> None:
    plan = settle(draft)
    drawn = words(task_svg(plan))
    assert all(task.id in drawn for task in plan.tasks)
    assert task_mermaid(plan).startswith("flowchart LR\n")


def test_long_words_are_wrapped_and_cut() -> None:
    assert wrapped("one two three", 6, 3) == ["one two", "three"]
    assert wrapped("很" * 30, 10, 2) == ["很" * 10, "很" * 9 + "…"]
    assert wrapped("x" * 40, 10, 9) == ["x" * 17, "x" * 17, "x" * 6]
    assert wrapped("", 10, 2) == []
