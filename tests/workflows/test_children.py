"""Residual tensions go back to the field in children of the process (docs/protocol.md §3.6)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from temporalio.client import Client

from tests.support.scripted import Rule, Script, ScriptedEngine
from tests.support.stack import Stack, open_stack
from tests.support.until import until
from tests.workflows.conftest import TEXTS, Opened
from tongyao.app.choosing.candidates import found_before_rounds
from tongyao.app.errors import BadInput
from tongyao.app.start import start_child
from tongyao.llm.engine import Bound
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.process import Phase

CRANE = {
    "title": "Nobody runs a crane",
    "transition": "From lifting by hand to lifting with a machine that somebody here understands.",
    "initial_state": "Two jetties, a hand winch from 1961, and crates of ninety kilograms.",
    "barriers": ["No one in the room has a licence for a crane."],
}
LEDGER = {
    "title": "Nobody keeps the ledger",
    "transition": "From receipts in a biscuit tin to figures that the members' meeting can argue about.",
    "initial_state": "Forty receipts of last summer; the meeting is in March.",
    "barriers": ["The treasurer left and took the habit with her."],
}


def left_over(*residuals: Mapping[str, object]) -> Rule:
    """The first plan of a root process leaves these unresolved."""
    return Rule(
        step="plan", process="c-????????????????", revision=1, draft={"residuals": [dict(one) for one in residuals]}
    )


async def in_scene(stack: Stack, scene: str, **wish: Any) -> str:
    await stack.people(TEXTS, scene=scene)
    wish = {"auto_confirm": True, "auto_start": True, "max_participants": 3} | wish
    return await stack.start([], scene=scene, **wish)


async def concluded(here: Stack, pid: str) -> None:
    """The demander says nothing of the residuals, and ends the process."""
    await here.until(pid, "answering")
    assert (await here.say(pid, "conclude")).accepted
    await here.end(pid)


async def test_an_approved_residual_comes_back_as_a_part_of_the_last_plan(stack: Opened) -> None:
    async with stack(verdicts=["exhausted"], rules=[left_over(CRANE, LEDGER)]) as (here, _):
        pid = await in_scene(here, "children-ask")
        await here.until(pid, "answering")
        asked = [row.round for row in await here.repositories.inbox.of_process(pid, open_only=True)]
        assert asked == [1, 2], "both residuals wait in the demander's inbox"
        assert (await here.say(pid, "approve_residual", residual="plan/1/residual/1")).accepted
        assert (await here.say(pid, "approve_residual", residual="plan/1/residual/2", approve=False)).accepted
        record = await here.end(pid)
        events = await here.repositories.events.events(pid, limit=500)
        child = (await here.repositories.lineage.children(pid))[0]
        childs = await here.repositories.record(child.id)

    assert record.phase is Phase.COMPLETED
    refused = [event.data for event in events if event.kind is EventKind.CHILD_REFUSED]
    assert refused == [{"residual": "plan/1/residual/2", "reason": "declined"}], "a reason, and not an alias"
    assert (child.parent_id, child.root_id, child.depth, child.phase) == (pid, pid, 1, "completed")
    assert childs.tension is not None
    assert childs.tension.transition == CRANE["transition"]
    assert len(record.plans) == 2, "both plans stay"
    sources = {source for claim in record.plans[-1].claims() for source in claim.sources}
    assert any(source.startswith(f"{child.id}/R") for source in sources), "what came from the child is named"
    assert {delivery.plan_revision for delivery in record.deliveries} == {1, 2}


async def test_a_child_asks_others_first_under_its_own_title_after_the_demander_has_read_its_words(
    stack: Opened,
) -> None:
    async with stack(verdicts=["exhausted"], rules=[left_over(CRANE)]) as (here, _):
        scene = "children-others"
        await here.people({"dee": "I drive a crane."}, scene=scene)
        pid = await in_scene(here, scene, confirm_children=True)
        await here.until(pid, "answering")
        before = await here.repositories.lineage.asked_in(pid)
        assert (await here.say(pid, "approve_residual", residual="plan/1/residual/1")).accepted
        await until(lambda: here.repositories.lineage.children(pid), "a child")
        [child] = await here.repositories.lineage.children(pid)
        await here.until(child.id, "confirming")
        assert (await here.repositories.record(child.id, own={"P00"})).title == CRANE["title"]
        assert (await here.say(child.id, "confirm_tension")).accepted
        await here.end(pid)
        people = await found_before_rounds(here.repositories, child)
        found = [one.profile_id for one in people]

    others = [one for one in found if one not in before]
    assert len(before) == 3 and len(others) == 2, "the two who were not asked for the parent"
    assert found[:2] == others and set(found[2:]) <= before, "they come first, and the others fill what room is left"
    assert [one.profile_id for one in people if one.taken] == others, "nobody is preselected who was asked before"
    assert {one.profile_id for one in people if one.asked_before} == set(found[2:])


async def test_what_goes_to_the_field_by_itself_stops_at_the_depth_limit(stack: Opened) -> None:
    rules = [Rule(step="plan", revision=1, process="c-????????????????.1-1", draft={"residuals": [LEDGER]})]
    async with stack(verdicts=["exhausted"], rules=[left_over(CRANE), *rules]) as (here, _):
        pid = await in_scene(here, "children-auto", residuals="auto", depth_limit=2, wait_for_children=True)
        await here.end(pid)
        tree = (await here.repositories.lineage.tree(pid)).all()

    assert [(row.id, row.depth, row.phase) for row in tree] == [
        (pid, 0, "completed"),
        (f"{pid}.1-1", 1, "completed"),
        (f"{pid}.1-1.1-1", 2, "completed"),
    ]


async def test_a_residual_that_was_asked_before_in_its_lineage_is_refused_with_the_reason(stack: Opened) -> None:
    again = Rule(step="plan", revision=1, process="c-????????????????.1-1", draft={"residuals": [CRANE]})
    async with stack(verdicts=["exhausted"], rules=[left_over(CRANE), again]) as (here, _):
        pid = await in_scene(here, "children-twice", residuals="auto", depth_limit=2, wait_for_children=True)
        await here.end(pid)
        events = await here.repositories.events.events(f"{pid}.1-1", limit=500)
        tree = (await here.repositories.lineage.tree(pid)).all()

    refused = [event.data for event in events if event.kind is EventKind.CHILD_REFUSED]
    assert refused == [{"residual": "plan/1/residual/1", "reason": "duplicate"}]
    assert len(tree) == 2


class Dear(ScriptedEngine):
    """An engine each of whose calls may cost up to 40 cents."""

    def bound(self, step: str, prompt: str, units: int = 0) -> Bound:
        return Bound(cost=Decimal("0.40"))


@pytest.mark.parametrize(("spent", "reason"), [("1.00", "budget"), ("0.30", "budget"), ("0.10", None)])
async def test_a_child_that_the_trees_budget_cannot_begin_is_refused_as_data(
    temporal: Client, database_url: str, spent: str, reason: str | None
) -> None:
    """A turn and the plan that is kept for its end must fit into what is left: 80 cents."""
    rules = [left_over(CRANE).model_copy(update={"cost": Decimal(spent)})]
    engine = Dear(Script.model_validate({"verdicts": ["exhausted"], "rules": rules}))
    async with open_stack(temporal, database_url, engine) as here:
        pid = await in_scene(
            here, f"children-budget-{spent}", residuals="auto", cost_budget="1.00", wait_for_children=False
        )
        record = await here.end(pid)
        events = await here.repositories.events.events(pid, limit=500)
        children = [row.id for row in await here.repositories.lineage.children(pid)]
        for child in children:
            await here.say(child, "cancel")
            await here.end(child)

    assert record.phase is Phase.COMPLETED, "a refusal is no failure"
    refused = [event.data["reason"] for event in events if event.kind is EventKind.CHILD_REFUSED]
    assert refused == ([reason] if reason else [])
    assert len(children) == (0 if reason else 1)


async def test_after_the_end_too_a_used_up_budget_starts_nothing(stack: Opened) -> None:
    rules = [left_over(CRANE).model_copy(update={"cost": Decimal("1.00")})]
    async with stack(verdicts=["exhausted"], rules=rules) as (here, _):
        pid = await in_scene(here, "children-budget-later", cost_budget="1.00")
        await concluded(here, pid)
        with pytest.raises(BadInput, match="budget"):
            await start_child(here.context, pid, "plan/1/residual/1")
        assert await here.repositories.lineage.children(pid) == []


async def test_a_child_outlives_its_parent(stack: Opened) -> None:
    held = Rule(step="observe", process="c-????????????????.1-1", do="operator_needed", message="wait", until="go")
    async with stack(verdicts=["exhausted"], rules=[left_over(CRANE), held]) as (here, engine):
        pid = await in_scene(here, "children-outlive", residuals="auto", wait_for_children=False)
        await here.end(pid)
        child = f"{pid}.1-1"
        await here.until_suspended(child)
        engine.mend("go")
        await here.say(child, "resume", role="operator")
        assert (await here.end(child)).phase is Phase.COMPLETED


async def test_a_tree_is_cancelled_as_a_whole(stack: Opened) -> None:
    held = Rule(step="observe", process="c-????????????????.1-1", do="operator_needed", message="wait", until="never")
    async with stack(verdicts=["exhausted"], rules=[left_over(CRANE), held]) as (here, _):
        pid = await in_scene(here, "children-cancel", residuals="auto", wait_for_children=True)
        child = f"{pid}.1-1"
        await here.until(pid, "awaiting_children")
        await until(lambda: here.repositories.lineage.children(pid), "a child")
        await here.until_suspended(child)
        assert (await here.say(pid, "cancel", branch=True)).accepted
        assert (await here.end(pid)).phase is Phase.CANCELLED
        assert (await here.end(child)).phase is Phase.CANCELLED


async def test_the_demander_of_an_ended_process_may_still_send_a_residual_to_the_field(stack: Opened) -> None:
    async with stack(verdicts=["exhausted"], rules=[left_over(CRANE)]) as (here, _):
        pid = await in_scene(here, "children-later")
        await concluded(here, pid)
        child = await start_child(here.context, pid, "plan/1/residual/1")
        assert child == await start_child(here.context, pid, "plan/1/residual/1")
        assert (await here.end(child)).phase is Phase.COMPLETED
