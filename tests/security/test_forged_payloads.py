"""Whoever reaches Temporal makes up nothing that workflows and steps rely on: what this installation did not encrypt for a process is not taken."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from temporalio import activity, workflow
from temporalio.api.common.v1 import Payload
from temporalio.client import Client, WorkflowFailureError, WorkflowUpdateFailedError
from temporalio.common import RawValue, RetryPolicy
from temporalio.converter import ActivitySerializationContext, DataConverter, WorkflowSerializationContext
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from tests.support.scripted import Script, ScriptedEngine
from tests.support.stack import Stack, open_stack
from tests.support.until import until
from tests.workflows.test_restoring import reset
from tongyao.protocol.contracts.process import (
    CRYSTALLIZATION,
    FORMULATE,
    FREEZE,
    MODELS_QUEUE,
    PROCESS_QUEUE,
    FreezeInput,
)
from tongyao.protocol.model.process import Choice
from tongyao.protocol.model.projection import EndpointKind
from tongyao.records.privacy.keys import Keyring
from tongyao.runtime.local.temporal import LocalTemporal
from tongyao.runtime.serve_worker import plugin
from tongyao.runtime.temporal.payload_codec import PayloadEncryption, converter_with
from tongyao.runtime.temporal.payload_converter import Unsealed
from tongyao.runtime.temporal.workers import Role

TEXT = "I restore wooden boats and can lend a workshop. I want to learn how timetables are made."


@workflow.defn(name="Neighbour")
class Neighbour:
    """A workflow of somebody else, which has a step of ours carried out."""

    @workflow.run
    async def run(self, step: str, what: RawValue) -> None:
        await workflow.execute_activity(
            step,
            what,
            task_queue=PROCESS_QUEUE,
            result_type=RawValue,
            start_to_close_timeout=timedelta(seconds=30),
            retry_policy=RetryPolicy(maximum_attempts=1),
        )


class Attacker:
    """Somebody who reaches Temporal's port and has no key of ours."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def raw(self, value: Any) -> RawValue:
        return RawValue(self.client.data_converter.payload_converter.to_payload(value))

    async def do(self, step: str, what: RawValue) -> None:
        """Have a step of ours carried out. Raises `WorkflowFailureError` where it is not."""
        async with Worker(
            self.client, task_queue="neighbour", workflows=[Neighbour], workflow_runner=UnsandboxedWorkflowRunner()
        ):
            await self.client.execute_workflow(
                Neighbour.run, args=[step, what], id=f"neighbour-{uuid.uuid4().hex}", task_queue="neighbour"
            )

    async def inputs(self, process_id: str, step: str) -> list[Payload]:
        """What a step of a process was given, as it lies in Temporal."""
        history = await self.client.get_workflow_handle(process_id).fetch_history()
        scheduled = [event.activity_task_scheduled_event_attributes for event in history.events]
        return [one.input.payloads[0] for one in scheduled if one.activity_type.name == step]

    async def first_task_fails(self, process_id: str) -> str:
        """Wait for the first failed workflow task; returns why."""

        async def why() -> str:
            history = await self.client.get_workflow_handle(process_id).fetch_history()
            for event in history.events:
                if event.HasField("workflow_task_failed_event_attributes"):
                    return str(event.workflow_task_failed_event_attributes.failure)
            return ""

        return await until(why, "a workflow task that failed")


@asynccontextmanager
async def encrypting(address: str, database_url: str, *, role: Role = "all") -> AsyncIterator[Stack]:
    keys = Keyring(b"k" * 32)
    client = await Client.connect(address, plugins=[plugin(PayloadEncryption(keys))])
    async with open_stack(client, database_url, ScriptedEngine(Script()), keys=keys, role=role) as stack:
        yield stack


@pytest.fixture
async def stack(temporal_server: LocalTemporal, fresh_database_url: str) -> AsyncIterator[Stack]:
    async with encrypting(temporal_server.address, fresh_database_url) as stack:
        yield stack


@pytest.fixture
async def attacker(temporal_server: LocalTemporal) -> Attacker:
    return Attacker(await Client.connect(temporal_server.address))


async def waiting(stack: Stack) -> str:
    """A process that waits for two people."""
    people = await stack.people({"ada": TEXT, "bo": TEXT})
    seats = [Choice(profile_id=one, endpoint=EndpointKind.HUMAN) for one in people]
    pid = await stack.start(seats, auto_confirm=True, residuals="off")
    await stack.until(pid, "crystallizing")
    return pid


async def test_nobody_seats_themself_in_a_process_with_a_forged_step(stack: Stack, attacker: Attacker) -> None:
    pid = await waiting(stack)
    [stranger] = await stack.people({"mal": TEXT})
    seat = {"profile_id": stranger, "endpoint": "human"}
    with pytest.raises(WorkflowFailureError):
        await attacker.do(
            FREEZE.name, attacker.raw({"process_id": pid, "choices": [seat], "aliases": ["P97"], "round": 1})
        )
    assert {one.alias for one in await stack.repositories.seats.seats(pid)} == {"P01", "P02"}


async def test_what_was_encrypted_for_one_process_is_taken_in_no_other_workflow(
    stack: Stack, attacker: Attacker
) -> None:
    [copied] = await attacker.inputs(await waiting(stack), FREEZE.name)
    with pytest.raises(WorkflowFailureError):
        await attacker.do(FREEZE.name, RawValue(copied))
    relabelled = Payload.FromString(copied.SerializeToString())
    relabelled.metadata["workflow-id"] = b"neighbour"
    with pytest.raises(WorkflowFailureError):
        await attacker.do(FREEZE.name, RawValue(relabelled))


async def test_a_forged_start_begins_no_process(stack: Stack, attacker: Attacker) -> None:
    pid = await waiting(stack)
    start = {"process_id": "forged", "root": "forged", "demander": "somebody", "language": "en"}
    history = await attacker.client.get_workflow_handle(pid).fetch_history()
    copied = history.events[0].workflow_execution_started_event_attributes.input.payloads[0]
    for forged in (attacker.raw(start), RawValue(copied)):
        handle = await attacker.client.start_workflow(
            CRYSTALLIZATION, forged, id=f"forged-{uuid.uuid4().hex[:8]}", task_queue=PROCESS_QUEUE
        )
        assert Unsealed.__name__ in await attacker.first_task_fails(handle.id)
        await handle.terminate()


async def test_whoever_poses_as_a_worker_answers_no_step(
    temporal_server: LocalTemporal, fresh_database_url: str, attacker: Attacker
) -> None:
    @activity.defn(name=FORMULATE.name)
    async def formulate(what: RawValue) -> dict[str, Any]:
        return {"tension": {"text_id": str(uuid.uuid4()), "grade": "A", "barriers": 1}, "fallback": False}

    async with encrypting(temporal_server.address, fresh_database_url, role="process") as stack:
        async with Worker(attacker.client, task_queue=MODELS_QUEUE, activities=[formulate]):
            people = await stack.people({"ada": TEXT, "bo": TEXT})
            pid = await stack.start(people, auto_confirm=True)
            assert Unsealed.__name__ in await attacker.first_task_fails(pid)
        assert (await stack.repositories.processes.get(pid)).phase == "formulating"
        await stack.handle(pid).terminate()


async def test_a_forged_message_is_refused_and_harms_nothing(stack: Stack, attacker: Attacker) -> None:
    pid = await waiting(stack)
    with pytest.raises(WorkflowUpdateFailedError):
        await attacker.client.get_workflow_handle(pid).execute_update(
            "leave", {"kind": "leave", "key": "x", "author": {"role": "participant", "alias": "P01"}, "alias": "P01"}
        )
    assert (await stack.say(pid, "cancel", role="operator")).accepted


async def test_a_message_that_was_encrypted_for_one_process_is_applied_in_no_other(
    stack: Stack, attacker: Attacker
) -> None:
    pid, other = await waiting(stack), await waiting(stack)
    assert (await stack.say(other, "cancel", role="operator")).accepted
    history = await attacker.client.get_workflow_handle(other).fetch_history()
    [accepted] = [one for one in history.events if one.HasField("workflow_execution_update_accepted_event_attributes")]
    request = accepted.workflow_execution_update_accepted_event_attributes.accepted_request
    with pytest.raises(WorkflowUpdateFailedError):
        await attacker.client.get_workflow_handle(pid).execute_update(
            "cancel", RawValue(request.input.args.payloads[0])
        )
    assert (await stack.say(pid, "cancel", role="operator")).accepted


async def test_a_signal_in_plain_is_refused_unless_it_resumes(stack: Stack, attacker: Attacker) -> None:
    pid = await waiting(stack)
    await attacker.client.get_workflow_handle(pid).signal("cancel", {})
    await until(lambda: stack.happened(pid, "message_refused"), "a refusal")
    assert (await stack.say(pid, "cancel", role="operator")).accepted


@pytest.mark.parametrize("why", ["changed", "another key"])
async def test_a_signal_that_does_not_open_stops_nothing(stack: Stack, attacker: Attacker, why: str) -> None:
    pid = await waiting(stack)
    [payload] = await attacker.inputs(pid, FREEZE.name)
    if why == "another key":
        payload.metadata["encryption-key-id"] = b"nowhere"
    else:
        payload.data = payload.data[:-1] + bytes([payload.data[-1] ^ 1])
    await attacker.client.get_workflow_handle(pid).signal("resume", RawValue(payload))
    await until(lambda: stack.happened(pid, "message_refused"), "a refusal")
    assert (await stack.say(pid, "cancel", role="operator")).accepted
    await stack.until_ended(pid)


async def test_an_operator_resets_a_process_that_a_reference_has_stopped(stack: Stack, attacker: Attacker) -> None:
    """docs/operations.md §10: the SDK looks for what is stored elsewhere before any codec is asked."""
    pid = await waiting(stack)
    payload = Payload(metadata={"encoding": b"json/external-storage-reference"}, data=b"{}")
    await attacker.client.get_workflow_handle(pid).signal("resume", RawValue(payload))
    await attacker.first_task_fails(pid)
    length = len((await stack.handle(pid).fetch_history()).events)
    await reset(stack, pid, before=length + 1)
    assert (await stack.say(pid, "cancel", role="operator")).accepted
    await stack.until_ended(pid)


async def test_a_forged_answer_is_taken_by_no_client() -> None:
    ours = converter_with(PayloadEncryption(Keyring(b"k" * 32)))
    context = WorkflowSerializationContext(namespace="default", workflow_id="c-1")
    other = WorkflowSerializationContext(namespace="default", workflow_id="c-2")
    plain = await DataConverter.default.encode([{"accepted": True}])
    of_another = await ours.with_context(other).encode([{"accepted": True}])
    within = ours.with_context(context)
    for forged in (plain, of_another):
        with pytest.raises(Unsealed):
            await within.decode(forged)
    assert await within.decode(await within.encode([{"accepted": True}])) == [{"accepted": True}]


@pytest.mark.parametrize("none", ["", None])
async def test_a_step_that_no_workflow_started_takes_nothing(none: str | None) -> None:
    """Temporal servers after 1.29 start steps without a workflow, and whoever poses as the server may leave the workflow out."""
    ours = converter_with(PayloadEncryption(Keyring(b"k" * 32)))
    alone = ours.with_context(
        ActivitySerializationContext(
            namespace="default",
            workflow_id=none,
            workflow_type="",
            activity_type=FREEZE.name,
            activity_id="1",
            activity_task_queue=PROCESS_QUEUE,
            is_local=False,
        )
    )
    made_up = {"process_id": "c-1", "choices": [], "aliases": []}
    of_a_workflow = ours.with_context(WorkflowSerializationContext(namespace="default", workflow_id="c-1"))
    for forged in (
        await DataConverter.default.encode([made_up]),
        await ours.encode([made_up]),
        await alone.encode([made_up]),
        await of_a_workflow.encode([made_up]),
    ):
        with pytest.raises(Unsealed):
            await alone.decode(forged, [FreezeInput])
