"""A program that sends traces: `python -m tests.support.traced TEMPORAL DATABASE COLLECTOR`.

It prints the ids of a process and of a message. It is a separate program because a tracer provider can be set only once
per process.
"""

from __future__ import annotations

import asyncio
import json
import sys

from temporalio.client import Client

from tests.gateway.conftest import GatewayHarness
from tests.support.scripted import Script, ScriptedEngine
from tests.support.stack import open_stack
from tongyao.gateway.server import application
from tongyao.protocol.model.observation import Verdict
from tongyao.protocol.model.process import Choice
from tongyao.protocol.model.projection import EndpointKind
from tongyao.runtime.observability.instrumentation import Measured
from tongyao.runtime.observability.traces import Tracing, start_traces
from tongyao.runtime.serve_worker import plugin

LINK = "a-secret-that-opens-a-session"
SAID = "the tide was a violet ledger that night"


async def main(temporal: str, database: str, collector: str) -> None:
    provider = start_traces(collector, "test")
    client = await Client.connect(temporal, plugins=[plugin()], interceptors=[Tracing()])
    engine = ScriptedEngine(Script(verdicts=[Verdict.EXHAUSTED]))
    async with open_stack(client, database, Measured(engine)) as stack:
        gateway = GatewayHarness(stack, stack.context, application(stack.context), engine)
        people = await stack.people({"ada": "I keep tide tables.", "bo": "I print posters.", "cy": "I repair clocks."})
        choices = [
            Choice(profile_id=people[0], endpoint=EndpointKind.HUMAN),
            *(Choice(profile_id=one) for one in people[1:]),
        ]
        pid = await stack.start(choices, auto_confirm=True, max_rounds=2, aliases_as_named=True)
        await stack.asked(pid, "P01", 1)
        body = {"kind": "submit_projection", "round": 1, "text": SAID}
        answer = await gateway.ask("POST", f"/processes/{pid}/messages", await gateway.person(people[0]), json=body)
        assert answer.status_code in (200, 202), answer.text
        await gateway.ask("GET", f"/console/enter?link={LINK}")
        await stack.until_round(pid, "crystallizing", 2)
    provider.shutdown()
    print(json.dumps({"process": pid, "message": answer.json()["id"]}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
