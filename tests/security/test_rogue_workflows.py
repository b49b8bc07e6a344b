"""Whoever can start workflows on Temporal has nobody's profile read that did not consent: the records say who did, not the workflow."""

from __future__ import annotations

import uuid

from temporalio.client import WorkflowUpdateFailedError
from temporalio.common import WorkflowIDReusePolicy

from tests.gateway.conftest import GatewayHarness
from tests.gateway.test_api import asked
from tests.security.test_consent import Room
from tests.support.until import until
from tongyao.protocol.contracts.process import CRYSTALLIZATION, PROCESS_QUEUE, ProcessInput
from tongyao.protocol.model.messages import MESSAGE, Author
from tongyao.protocol.model.process import Choice
from tongyao.records.process.announcements import START


async def test_a_consent_that_only_a_forged_workflow_knows_of_has_nobody_read(gateway: GatewayHarness) -> None:
    """A neighbour ends the workflow of a process of their own, starts it again with an input of theirs, and answers for the victim."""
    room = await Room.open(gateway)
    victim, accomplice = await room.person(), await room.person("allow")
    pid = await room.demand(victim, accomplice)
    await asked(gateway, victim["token"], "consent")
    announced = ProcessInput.model_validate((await gateway.context.repositories.seats.manifest(pid))[START])
    await gateway.stack.handle(pid).terminate()

    people = tuple(Choice(profile_id=one["profile_id"]) for one in (victim, accomplice))
    forged = announced.model_copy(update={"participants": people})
    handle = await gateway.context.client.start_workflow(
        CRYSTALLIZATION, forged, id=pid, task_queue=PROCESS_QUEUE, id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE
    )
    author = Author(role="invited", alias="invited/1")
    yes = MESSAGE.validate_python(
        {"kind": "consent", "key": "forged", "author": author, "invitation": 1, "allow": True, "number": 1}
    )

    async def answered() -> bool:
        try:
            await handle.execute_update("consent", yes, id=str(uuid.uuid4()))
        except WorkflowUpdateFailedError:  # the workflow does not ask yet
            return False
        return True

    await until(answered)
    await gateway.stack.until(
        pid, "selecting"
    )  # the records know of no yes: the victim is not seated, and one is too few
    assert not room.read(victim)
    assert not [call for call in gateway.engine.received if (call.key.process, call.key.step) == (pid, "project")]
    await handle.terminate()
