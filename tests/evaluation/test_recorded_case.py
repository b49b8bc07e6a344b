"""The shipped recording, played through a whole process: everything behind the model, without one."""

from __future__ import annotations

from pathlib import Path

from temporalio.client import Client

from tests.support.stack import open_stack
from tongyao.evals.cases import load, only
from tongyao.evals.measure import measure
from tongyao.llm.recorded import RecordedEngine
from tongyao.protocol.documents.plan_page import body_limit
from tongyao.protocol.model.process import Phase
from tongyao.protocol.rules import audit

EXAMPLES = Path(__file__).parents[2] / "examples"
RECORDING = EXAMPLES / "recorded" / "zh-medicine-mountain.jsonl"


async def test_the_recorded_case_plays_and_says_that_it_was_written_by_hand(
    temporal: Client, fresh_database_url: str
) -> None:
    engine = RecordedEngine(RECORDING)
    case = only(load(EXAMPLES / "zh-medicine-mountain"), engine.header.seats)
    async with open_stack(temporal, fresh_database_url, engine) as stack:
        people = await stack.people(case.profiles)
        (demander,) = await stack.people({"demander": case.demander_text})
        process = await stack.start(
            people, demander=demander, intent=case.intent, auto_confirm=True, aliases_as_named=True
        )
        record = await stack.end(process)
        calls = await stack.repositories.ledger.calls(process)
        used = await stack.repositories.ledger.usage(process)

    assert record.phase is Phase.COMPLETED
    assert engine.header.authored
    assert all("authored" in call.labels for call in calls if call.state == "settled")
    assert used.calls == len(calls) == 21, "nothing was sent back: the checks have nothing against it"

    names = {f"P{number:02}": name for number, name in enumerate(engine.header.seats, 1)}
    ran = measure(case, record, names, engine="recorded")
    assert [link.id for link in ran.links if not link.in_time] == []
    assert (ran.false_relations, ran.struck, ran.rounds, ran.converged) == ((), 0, 3, True)
    assert (ran.coverage, ran.traceable, ran.delta) == (1.0, 1.0, 1.0)
    assert ran.plan_units <= body_limit("zh", ran.contributors)
    falsified = [found.number for found in audit.audit(record) if found.result is audit.Result.FALSIFIED]
    assert falsified == []
