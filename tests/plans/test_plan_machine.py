"""A plan as a machine: everything that is to be done can be reached, by whom the plan says, and the end from there."""

from __future__ import annotations

import json

import jsonschema
from hypothesis import given
from hypothesis import strategies as st

from tests.guards.test_plans import DRAFTS, settle
from tongyao.protocol.documents.plan_machine import END, START, Machine, machine_of, machine_schema
from tongyao.protocol.model.plan import NOBODY, Claim, Plan, PlanDraft, PlanRole, Task
from tongyao.protocol.model.process import DEMANDER

PLAN = Plan(
    possible=(Claim(text="a cold room and a van meet", sources=("R1/P01/1",)),),
    roles=(PlanRole(alias="P01", role="host"), PlanRole(alias="P02", role="driver")),
    tasks=(
        Task(id="a", title="clear the room", assignee="P01", agreed=True, sources=("R1/P01/1",)),
        Task(id="b", title="buy crates", assignee=NOBODY),
        Task(id="c", title="drive", assignee="P02", prerequisites=("a", "b")),
    ),
)


def forward(machine: Machine, origin: str, target: str) -> dict[str, object]:
    node = next(node for node in machine.nodes if node.name == origin)
    return next(one for one in node.forwards if one.to == target).model_dump(mode="json")


def test_a_task_is_left_by_its_doer_once_the_others_are_done_and_the_next_one_confirms() -> None:
    machine = machine_of(PLAN, "c-1")
    assert forward(machine, "task-1", "task-3") == {
        "name": "hand over to task-3",
        "to": "task-3",
        "permission": "do task-1",
        "guards": [
            {"kind": "done", "aliases": [], "nodes": ["task-2"]},
            {"kind": "committed", "aliases": ["P02"], "nodes": []},
            {"kind": "confirmed", "aliases": ["P02"], "nodes": []},
        ],
    }
    assert forward(machine, START, "task-1")["guards"] == [], "agreed by both sides"
    assert forward(machine, "task-3", END)["guards"] == [{"kind": "confirmed", "aliases": [DEMANDER], "nodes": []}]
    assert {one.name: one.aliases for one in machine.permissions} == {
        "begin": (DEMANDER,), "do task-1": ("P01",), "do task-2": (), "do task-3": ("P02",),
    }  # fmt: skip
    assert machine.missing == ("task-2",)


def reached(start: str, edges: list[tuple[str, str]]) -> set[str]:
    """The nodes on a way from `start`, itself included."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        found.add(node := waiting.pop())
        waiting += [after for before, after in edges if before == node and after not in found]
    return found


@given(DRAFTS)
def test_every_machine_fits_its_schema_and_every_node_is_on_a_way_to_the_end(draft: PlanDraft) -> None:
    machine = machine_of(settle(draft), "c-1")
    jsonschema.Draft202012Validator(machine_schema()).validate(json.loads(machine.model_dump_json()))
    edges = [(node.name, forward.to) for node in machine.nodes for forward in node.forwards]
    names = {node.name for node in machine.nodes}
    assert {name for edge in edges for name in edge} <= names, "forwards lead to nodes that are there"
    assert names <= reached(START, edges)
    assert names <= reached(END, [(after, before) for before, after in edges])
    permissions = {one.name for one in machine.permissions}
    assert all(one.permission in permissions for node in machine.nodes for one in node.forwards)


@given(st.just(Plan()))
def test_a_plan_without_tasks_goes_straight_to_its_end(plan: Plan) -> None:
    assert forward(machine_of(plan, "c-1"), START, END)["permission"] == "begin"
