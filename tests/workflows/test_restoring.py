"""After a reset, or a restore of either server, records and workflow are brought together again."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any, cast

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType, ResetReapplyExcludeType
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import Client

from tests.support.stack import Stack
from tests.support.until import until
from tests.workflows.conftest import TEXTS, Opened
from tests.workflows.test_children import CRANE, LEDGER, in_scene, left_over
from tongyao.app.action_permissions import Action, Role
from tongyao.app.authorization import Caller, authorize_in_process
from tongyao.app.errors import NotFound
from tongyao.app.operators.project_again import project_again, state_of
from tongyao.app.operators.reconcile import mend_drift, reconcile
from tongyao.app.processes import party_view
from tongyao.protocol.model.process import Choice
from tongyao.protocol.model.projection import EndpointKind
from tongyao.records.database import session
from tongyao.records.process.messages import send_again
from tongyao.records.process.process_rows import NewProcess


async def selecting(here: Stack) -> str:
    """A process whose demander has confirmed and is now to choose people."""
    scene = f"restoring-{uuid.uuid4().hex[:6]}"
    await here.people(TEXTS, scene=scene)
    pid = await here.start([], scene=scene)
    await here.until(pid, "confirming")
    assert (await here.say(pid, "confirm_tension")).accepted
    await here.until(pid, "selecting")
    return pid


async def reset_to_before_the_first_message(here: Stack, pid: str) -> None:
    """As an operator resets a workflow, without what it has heard since."""
    history = await here.handle(pid).fetch_history()
    accepted = next(
        e for e in history.events if e.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED
    )
    await reset(here, pid, before=accepted.event_id - 1)


async def reset(here: Stack, pid: str, *, before: int, reapplied: bool = False) -> None:
    """Back to the last workflow task that was completed before this event. `reapplied`: with later updates and signals,
    which is Temporal's default."""
    history = await here.handle(pid).fetch_history()
    tasks = [e.event_id for e in history.events if e.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED]
    await here.client.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace=here.client.namespace,
            workflow_execution=WorkflowExecution(workflow_id=pid),
            reason="a test",
            workflow_task_finish_event_id=max(one for one in tasks if one < before),
            request_id=uuid.uuid4().hex,
            reset_reapply_exclude_types=[]
            if reapplied
            else [
                ResetReapplyExcludeType.RESET_REAPPLY_EXCLUDE_TYPE_UPDATE,
                ResetReapplyExcludeType.RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL,
            ],
        )
    )


@pytest.mark.parametrize("reapplied", [False, True], ids=["without-updates", "as-temporal-does"])
async def test_after_a_reset_to_the_beginning_everybody_has_said_what_they_had_said(
    stack: Opened, reapplied: bool
) -> None:
    """People get the same aliases again. Their messages wait until the process comes to them again."""
    async with stack() as (here, _):
        people = [Choice(profile_id=one, endpoint=EndpointKind.HUMAN) for one in await here.people(TEXTS)]
        pid = await here.start(people)
        await here.until(pid, "confirming")
        assert (await here.say(pid, "confirm_tension")).accepted
        await here.asked(pid, "P01", 1)
        seats = {seat.alias: seat.person for seat in await here.repositories.seats.seats(pid)}
        for alias in ("P01", "P02"):
            assert (await here.speak(pid, alias, 1, f"I can lend {alias} boats.")).accepted
        await reset(here, pid, before=8, reapplied=reapplied)

        async def said_again() -> bool:
            state, _ = await state_of(here.client, pid)
            return [alias for alias, turn in sorted(state.turns.items()) if turn.words] == ["P01", "P02"]

        await until(said_again, "their words are in the turns", seconds=90)
        again = {seat.alias: seat.person for seat in await here.repositories.seats.seats(pid)}
        await here.asked(pid, "P03", 1)
        for alias in ("P03", "P04", "P01"):
            assert (await here.speak(pid, alias, 1, f"I can lend {alias} nets.")).accepted
        await here.until_round(pid, "crystallizing", 2)
        await here.handle(pid).terminate()
        async with session(here.repositories.pool) as connection:
            rows = await connection.execute(
                "SELECT DISTINCT verdict ->> 'code' AS code FROM messages WHERE process_id = %s", [pid]
            )
            codes = [row["code"] for row in await rows.fetchall()]
    assert again == seats and codes == ["accepted"]


async def test_after_a_reset_words_are_neither_sent_nor_shown_for_another_person_in_the_same_seat(
    stack: Opened,
) -> None:
    """A reset may let the field find other people, who then get the aliases of those who sat there before."""
    async with stack() as (here, _):
        people = [Choice(profile_id=one, endpoint=EndpointKind.HUMAN) for one in await here.people(TEXTS)]
        (newcomer,) = await here.people({"ed": TEXTS["ada"]})
        pid = await here.start(people, auto_confirm=True)
        await here.asked(pid, "P01", 1)
        assert (await here.speak(pid, "P01", 1, "I can lend boats.")).accepted
        async with session(here.repositories.pool) as connection:
            await connection.execute(
                "UPDATE seats SET profile_id = %s WHERE process_id = %s AND alias = 'P01'", [newcomer, pid]
            )
            await send_again(connection, pid, {})

        async def trouble() -> bool:
            async with session(here.repositories.pool) as connection:
                rows = await connection.execute(
                    "SELECT trouble FROM messages WHERE process_id = %s AND lane = 'P01'", [pid]
                )
                return [row["trouble"] for row in await rows.fetchall()] == ["seat_of_another"]

        await until(trouble, "the words wait")
        caller = Caller(Role.PERSON, newcomer)
        access = await authorize_in_process(here.repositories, caller, pid, Action.READ_PROCESS)
        view = await party_view(here.repositories, access)
        await here.handle(pid).terminate()
    assert (view.you, view.said_now) == ("P01", None)


async def test_after_a_reset_what_was_applied_is_applied_again_and_the_process_goes_on(stack: Opened) -> None:
    async with stack() as (here, _):
        pid = await selecting(here)
        before = (await here.repositories.processes.get(pid)).run_id
        await reset_to_before_the_first_message(here, pid)
        assert await project_again(here.repositories, here.client, pid, login="kim", via="test") == 1

        async def chosen_again() -> bool:
            row = await here.repositories.processes.get(pid)
            return row.phase == "selecting" and row.run_id != before

        await until(chosen_again)
        asks = [ask.ask for ask in await here.repositories.inbox.of_process(pid, open_only=True)]
        events = await here.repositories.events.events(pid, limit=500)
        (act,) = await here.repositories.operators.acts(process_id=pid)
        people = [one.profile_id for one in await here.repositories.seats.candidates(pid)][:2]
        choices = [{"profile_id": one} for one in people]
        assert (await here.say(pid, "select_participants", participants=choices)).accepted
        record = await here.end(pid)

    assert asks == ["select_participants"]
    assert [one.seq for one in events] == list(range(1, len(events) + 1)), "one history, without holes"
    assert [one.kind.value for one in events].count("tension_confirmed") == 1
    assert {one.epoch for one in events} > {1}
    assert (act.act, act.login, act.refused) == ("project_again", "kim", "")
    assert record.phase == "completed" and len(record.participants) == 2


async def test_a_parent_that_is_reset_does_not_run_an_ended_child_again(stack: Opened) -> None:
    async with stack(verdicts=["exhausted"], rules=[left_over(CRANE, LEDGER)]) as (here, _):
        pid = await in_scene(here, f"restoring-{uuid.uuid4().hex[:6]}")
        await here.until(pid, "answering")
        assert (await here.say(pid, "approve_residual", residual="plan/1/residual/1")).accepted
        child = await until(lambda: child_of(here, pid), "a child")
        await here.until_ended(child)
        await until(lambda: here.happened(pid, "child_finished"), "the news of the child's end")
        history = await here.handle(pid).fetch_history()
        started = EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED
        (event,) = [event for event in history.events if event.event_type == started]
        run = (await here.handle(child).describe()).run_id
        await reset(here, pid, before=event.event_id)

        async def told_again() -> bool:
            state, _ = await state_of(here.client, pid)
            return state.residuals["plan/1/residual/1"].status in ("started", "ended")

        await until(told_again, "the reset run has started its child")
        await project_again(here.repositories, here.client, pid, login="kim", via="test")
        assert (await here.say(pid, "approve_residual", residual="plan/1/residual/2", approve=False)).accepted
        record = await here.end(pid)
        last = (await here.handle(child).describe()).run_id
    assert last == run
    sources = {source for claim in record.plans[-1].claims() for source in claim.sources}
    assert any(source.startswith(f"{child}/R") for source in sources)


async def child_of(here: Stack, pid: str) -> str:
    """The id of the first child; empty while there is none."""
    children = await here.repositories.lineage.children(pid)
    return children[0].id if children else ""


async def test_a_reset_workflow_that_goes_on_by_itself_takes_the_records_along(stack: Opened) -> None:
    async with stack() as (here, _):
        scene = f"restoring-{uuid.uuid4().hex[:6]}"
        await here.people(TEXTS, scene=scene)
        pid = await here.start([], scene=scene, auto_confirm=True)
        await here.until(pid, "selecting")
        first = await here.repositories.processes.get(pid)
        await reset(here, pid, before=5)

        async def followed() -> bool:
            row = await here.repositories.processes.get(pid)
            return (row.phase, row.went_back) == ("selecting", False) and row.run_id != first.run_id

        await until(followed)
        events = await here.repositories.events.events(pid, limit=500)
        await here.handle(pid).terminate()
    assert [one.seq for one in events] == list(range(1, first.seq + 1))
    assert 1 not in {one.epoch for one in events}, "it began at another time"


async def test_after_a_restore_of_older_records_they_follow_the_workflow(stack: Opened) -> None:
    async with stack() as (here, _):
        pid = await selecting(here)
        whole = await here.repositories.events.events(pid, limit=500)
        async with session(here.repositories.pool) as connection:  # what was written after the backup is gone
            await connection.execute("DELETE FROM events WHERE process_id = %s AND seq > 3", [pid])
            await connection.execute("DELETE FROM messages WHERE process_id = %s", [pid])
            await connection.execute("DELETE FROM lanes WHERE process_id = %s", [pid])
            await connection.execute(
                "UPDATE processes SET phase = 'formulating', seq = 3, tension_text_id = NULL WHERE id = %s", [pid]
            )
        await project_again(here.repositories, here.client, pid, login="kim", via="test")
        row = await here.repositories.processes.get(pid)
        assert (row.phase, row.seq) == ("selecting", whole[-1].seq) and row.tension_text_id is not None
        assert [one.ask for one in await here.repositories.inbox.of_process(pid, open_only=True)] == [
            "select_participants"
        ]
        people = [one.profile_id for one in await here.repositories.seats.candidates(pid)][:2]
        choices = [{"profile_id": one} for one in people]
        assert (await here.say(pid, "select_participants", participants=choices)).accepted, (
            "numbered behind what was lost"
        )
        await here.end(pid)
        after = await here.repositories.events.events(pid, limit=500)
    assert [one.seq for one in after] == [1, 2, 3, *range(whole[-1].seq + 1, after[-1].seq + 1)]


async def test_a_process_without_a_workflow_cannot_be_projected(stack: Opened) -> None:
    async with stack(verdicts=["exhausted"]) as (here, _):
        with pytest.raises(NotFound, match="no workflow"):
            await state_of(here.client, f"nobody-{uuid.uuid4().hex}")


async def test_a_row_is_closed_only_with_its_workflow(stack: Opened) -> None:
    async with stack() as (here, _):
        running, terminated = await selecting(here), await selecting(here)
        await here.handle(terminated).terminate()
        lost = NewProcess(id=f"lost-{uuid.uuid4().hex[:8]}", demander="d", language="en", intent_text_id=None)
        await here.repositories.processes.create(lost)
        await here.repositories.processes.mark_started(lost.id)
        people = await here.people(TEXTS)
        behind = await here.start(people[:2], auto_confirm=True)
        await here.end(behind)
        async with session(here.repositories.pool) as connection:  # the records were restored from a backup
            await connection.execute("DELETE FROM events WHERE process_id = %s AND seq > 5", [behind])
            await connection.execute(
                """UPDATE processes SET phase = 'crystallizing', ended_at = NULL, outcome = NULL, seq = 5
                   WHERE id = %s""",
                [behind],
            )
        report = await reconcile(here.context, older_than=0)
        phases = {
            pid: (await here.repositories.processes.get(pid)).phase for pid in (running, terminated, lost.id, behind)
        }
        await here.handle(running).terminate()

    assert terminated in report.ended_outside and behind in report.projected_again
    assert lost.id in report.without_workflow and running not in report.ended_outside
    assert phases == {running: "selecting", terminated: "cancelled", lost.id: "formulating", behind: "completed"}


class OneBroken:
    """A client that fails for one workflow."""

    def __init__(self, client: Client, broken: str) -> None:
        self._client, self._broken = client, broken

    def get_workflow_handle(self, id: str) -> Any:
        if id == self._broken:
            raise RuntimeError("a corrupt history")
        return self._client.get_workflow_handle(id)


async def test_a_process_that_cannot_be_repaired_holds_up_none_of_those_behind_it(stack: Opened) -> None:
    async with stack() as (here, _):
        broken, terminated = await selecting(here), await selecting(here)
        await here.handle(terminated).terminate()
        context = replace(here.context, client=cast(Client, OneBroken(here.client, broken)))
        with pytest.raises(RuntimeError, match="a corrupt history"):
            await mend_drift(context, older_than=0)
        phase = (await here.repositories.processes.get(terminated)).phase
        await here.handle(broken).terminate()
    assert phase == "cancelled"
