"""A step whose outcome was written and never heard of is made again: it asks no model anew, and says the same (docs/protocol.md §8.1)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from temporalio import activity
from temporalio import client as client_side
from temporalio import worker as worker_side
from temporalio.client import Client

from tests.support.scripted import Script, ScriptedEngine
from tests.support.stack import Stack, open_stack
from tests.support.until import until
from tests.workflows.test_declines import planned
from tongyao.protocol.contracts.process import ModelOutput
from tongyao.protocol.model.messages import AnswerPlanBody
from tongyao.protocol.model.process import Spent
from tongyao.runtime.serve_worker import plugin


class EachStepTwice(client_side.Interceptor, worker_side.Interceptor):
    """Runs every activity again after it has succeeded, as Temporal does with one whose worker died before it could say so."""

    def __init__(self) -> None:
        self.ran: Counter[str] = Counter()
        self.otherwise: list[tuple[str, Any, Any]] = []
        """Steps that said something else the second time: name, first output, second."""

    def intercept_activity(
        self, next: worker_side.ActivityInboundInterceptor
    ) -> worker_side.ActivityInboundInterceptor:
        return _Twice(next, self)


class _Twice(worker_side.ActivityInboundInterceptor):
    def __init__(self, next: worker_side.ActivityInboundInterceptor, seen: EachStepTwice) -> None:
        super().__init__(next)
        self._seen = seen

    async def execute_activity(self, input: worker_side.ExecuteActivityInput) -> Any:
        first = await self.next.execute_activity(input)
        again = await self.next.execute_activity(input)
        name = activity.info().activity_type
        self._seen.ran[name] += 1
        if _said(again) != _said(first):
            self._seen.otherwise.append((name, first, again))
        return again


def _said(output: Any) -> Any:
    """Without what the whole process has used, since other steps run beside it."""
    return output.model_copy(update={"spent": Spent()}) if isinstance(output, ModelOutput) else output


async def _answered(here: Stack, pid: str, revision: int) -> None:
    """Return when the plan of this revision waits for answers."""

    async def waits() -> bool:
        rows = await here.repositories.inbox.of_process(pid, open_only=True)
        return ("answer", revision) in {(row.ask, row.round) for row in rows}

    await until(waits)


async def test_steps_that_are_made_again_ask_no_model_anew(temporal: Client, database_url: str) -> None:
    twice = EachStepTwice()
    address = temporal.service_client.config.target_host
    client = await Client.connect(address, namespace=temporal.namespace, plugins=[plugin()], interceptors=[twice])
    engine = ScriptedEngine(Script(verdicts=["more"]))
    async with open_stack(client, database_url, engine) as here:
        pid, seats = await planned(here, "steps-again", intent="I want Rosa Lund to read what I have read.")
        ada, bo = seats["ada"].alias, seats["bo"].alias
        proposal = AnswerPlanBody(kind="answer_plan", revision=1, answer="propose", text="Start with the slipway.")
        assert (await here.send(pid, ada, proposal)).accepted
        assert (await here.say(pid, "answer_plan", alias=bo, revision=1, answer="decline")).accepted
        assert (await here.say(pid, "replan", without=[bo], proposals=[ada])).accepted
        await _answered(here, pid, 2)
        assert (await here.say(pid, "answer_plan", alias=ada, revision=2, answer="commit")).accepted
        await here.end(pid)
        calls = await here.repositories.ledger.calls(pid)

    keys = Counter((one.step, one.round, one.alias, one.revision, one.reask) for one in calls)
    assert {key: count for key, count in keys.items() if count > 1} == {}
    assert len(engine.received) == len(calls)
    assert twice.otherwise == []
    assert {"formulate", "project", "observe", "plan", "deliver"} <= set(twice.ran)
