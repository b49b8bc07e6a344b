"""When somebody declines, the demander sends the hole back to the field, plans without them, or leaves it (docs/protocol.md §7.5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.stack import Stack
from tests.support.until import until
from tests.workflows.conftest import TEXTS, Opened
from tongyao.app.choosing.choices import choices_of
from tongyao.app.errors import BadInput
from tongyao.app.start import start_child
from tongyao.protocol.model.process import Choice, Phase
from tongyao.protocol.model.projection import EndpointKind
from tongyao.records.process.seats import SeatRow

WORDS = "I can offer the slipway of four metres. I will not travel in winter."


async def planned(
    stack: Stack, scene: str, humans: Sequence[str] = ("ada", "bo"), **wish: Any
) -> tuple[str, dict[str, SeatRow]]:
    """A process of three, of whom `humans` speak for themselves, with a plan that waits for their answers."""
    people = await stack.people(TEXTS, scene=scene)
    choices = [
        Choice(profile_id=one, endpoint=EndpointKind.HUMAN if one.split("-")[0] in humans else EndpointKind.PROXY)
        for one in people[:3]
    ]
    settings: dict[str, Any] = {"scene": scene, "auto_confirm": True, "max_rounds": 2}
    pid = await stack.start(choices, **settings | wish)
    await stack.until(pid, "crystallizing")
    seats = {one.alias: one for one in await stack.repositories.seats.seats(pid)}
    aliases = [alias for alias, one in seats.items() if one.endpoint == "human"]
    for number in (1, 2):
        for alias in aliases:
            await stack.asked(pid, alias, number)
            await stack.speak(pid, alias, number, WORDS)
    await stack.until(pid, "deciding")
    await stack.say(pid, "decide", decision="accept_as_is")
    await stack.until(pid, "answering")
    names = {one.profile_id.split("-")[0]: one for one in seats.values() if one.profile_id}
    return pid, names


async def answer(stack: Stack, pid: str, alias: str, decision: str, revision: int = 1) -> None:
    assert (await stack.say(pid, "answer_plan", alias=alias, revision=revision, answer=decision)).accepted


async def waits(stack: Stack, pid: str) -> dict[str, str]:
    """What waits for the demander: ask → subject."""
    rows = await stack.repositories.inbox.of_process(pid, open_only=True)
    return {row.ask: row.subject for row in rows if row.alias == "P00"}


async def test_a_child_fills_the_hole_and_the_last_plan_does_without_who_declined(stack: Opened) -> None:
    async with stack(verdicts=["more"]) as (here, _):
        pid, seats = await planned(here, "declines-child", wait_for_children=True)
        bo = seats["bo"].alias
        hole = f"plan/1/hole/{bo}"
        await answer(here, pid, bo, "decline")
        await answer(here, pid, seats["ada"].alias, "commit")
        await here.asked(pid, "P00", int(bo[1:]), what="hole")
        assert await waits(here, pid) == {"replan": "", "hole": hole}
        ask = next(row for row in await here.repositories.inbox.of_process(pid, open_only=True) if row.ask == "hole")
        shown = await choices_of(here.repositories, ask)
        assert shown is not None and shown.residual is not None
        assert shown.options == ("approve_residual", "replan")
        assert (await here.say(pid, "approve_residual", residual=hole)).accepted
        await until(lambda: here.repositories.lineage.children(pid), "a child")
        child = f"{pid}.1-{bo}"
        await here.until(child, "selecting")
        found = [one.profile_id for one in await here.repositories.seats.candidates(child)]
        assert seats["bo"].profile_id not in found, "who declined is not asked to fill the hole they left"
        assert seats["ada"].profile_id in found, "the others may be"
        await here.say(child, "select_participants", participants=[{"profile_id": one} for one in found[:2]])
        await here.until(child, "deciding")
        await here.say(child, "decide", decision="accept_as_is")
        record, below = await here.end(pid), await here.repositories.record(child)

    assert (record.phase, below.phase) == (Phase.COMPLETED, Phase.COMPLETED)
    assert below.tension is not None
    assert below.tension == shown.residual.tension
    assert [bo in {role.alias for role in plan.roles} for plan in record.plans] == [True, False]
    sources = {source for claim in record.plans[-1].claims() for source in claim.sources}
    assert any(source.startswith(f"{child}/R") for source in sources), "what came from the child is named"
    assert f"from What {bo} was to give" in {claim.text for claim in record.plans[-1].claims()}


async def test_the_hole_may_be_left(stack: Opened) -> None:
    async with stack(verdicts=["more"]) as (here, _):
        pid, seats = await planned(here, "declines-left")
        bo = seats["bo"].alias
        await answer(here, pid, bo, "decline")
        await answer(here, pid, seats["ada"].alias, "commit")
        assert (await here.repositories.processes.get(pid)).phase == "answering", "the demander has a word to say"
        assert (await here.say(pid, "approve_residual", residual=f"plan/1/hole/{bo}", approve=False)).accepted
        record = await here.end(pid)

    assert record.phase is Phase.COMPLETED
    assert len(record.plans) == 1


async def test_a_plan_without_them_leaves_no_hole_of_theirs(stack: Opened) -> None:
    async with stack(verdicts=["more"]) as (here, _):
        pid, seats = await planned(here, "declines-replan")
        bo, ada = seats["bo"].alias, seats["ada"].alias
        await answer(here, pid, bo, "decline")
        assert (await here.say(pid, "replan", without=[bo])).accepted
        await here.asked(pid, ada, 2, what="answer")
        assert await waits(here, pid) == {}
        assert (await here.say(pid, "approve_residual", residual=f"plan/1/hole/{bo}")).code == "unknown_residual"
        left_out = await here.say(pid, "answer_plan", alias=bo, revision=2, answer="decline")
        assert left_out.code == "not_asked"
        await answer(here, pid, ada, "commit", 2)
        record = await here.end(pid)

    assert len(record.plans) == 2


async def test_after_the_end_a_hole_may_still_go_to_the_field_and_only_a_hole(stack: Opened) -> None:
    async with stack(verdicts=["more"]) as (here, _):
        pid, seats = await planned(here, "declines-later", auto_start=True)
        bo, ada, cy = (seats[name].alias for name in ("bo", "ada", "cy"))
        await answer(here, pid, bo, "decline")
        await answer(here, pid, ada, "commit")
        await here.say(pid, "conclude")
        await here.end(pid)
        for nobody in (ada, cy, "P09"):
            with pytest.raises(BadInput, match="no participant with this alias declined"):
                await start_child(here.context, pid, f"plan/1/hole/{nobody}")
        child = await start_child(here.context, pid, f"plan/1/hole/{bo}")
        assert child == await start_child(here.context, pid, f"plan/1/hole/{bo}")
        await here.until_round(child, "crystallizing", 1)
        again = {seat.person: seat.endpoint for seat in await here.repositories.seats.seats(child)}
        assert again[seats["ada"].person] == "human", "ada spoke for herself before"
        assert again[seats["cy"].person] == "proxy" and seats["bo"].person not in again
        await here.say(child, "cancel")
        await here.end(child)


async def test_without_children_a_decline_asks_for_a_decision_only(stack: Opened) -> None:
    async with stack(verdicts=["more"]) as (here, _):
        pid, seats = await planned(here, "declines-off", residuals="off")
        await answer(here, pid, seats["bo"].alias, "decline")
        await here.asked(pid, "P00", 1, what="replan")
        assert await waits(here, pid) == {"replan": ""}
        await here.say(pid, "conclude")
        await here.end(pid)
