"""What the rounds and the plan left behind, by ids and counts."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.records.conftest import Announce
from tongyao.protocol.model.events import Event, EventKind, Outbox, Snapshot
from tongyao.protocol.model.observation import Verdict
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.projection import EndpointKind, Outcome
from tongyao.protocol.model.value import Value
from tongyao.records.database import Pool, fetch_all
from tongyao.records.privacy.texts import Texts, text_id
from tongyao.records.process.journal import Journal
from tongyao.records.process.plans import DELIVERIES, DeliveryRow, PlanRow, Plans
from tongyao.records.process.rounds import ObservationRow, ProjectionRow, Rounds


def timeless(row: Value) -> Value:
    return row.model_copy(update={"at": None})


async def text(pool: Pool, process: str, *name: object) -> str:
    return await Texts(pool).put(f"process:{process}", "record", "{}", id=text_id(process, *name))


async def answered(pool: Pool, process: str, *answers: tuple[int, str, str]) -> None:
    """(revision, alias, decision), as the workflow's events tell it."""
    events = tuple(
        Event(
            seq=seq,
            kind=EventKind.ANSWER_RECEIVED,
            at=datetime(2026, 1, 5, tzinfo=UTC),
            data={"revision": revision, "alias": alias, "decision": decision},
        )
        for seq, (revision, alias, decision) in enumerate(answers, 1)
    )
    snapshot = Snapshot(process_id=process, seq=len(events), phase=Phase.ANSWERING, round=3, waiting=True)
    await Journal(pool).write(Outbox(snapshot=snapshot, events=events), "run")


async def test_turns_come_back_in_order_and_a_second_writing_replaces_the_first(pool: Pool, announce: Announce) -> None:
    rounds, process = Rounds(pool), await announce()
    words = await text(pool, process, "R1/P01")
    failed = ProjectionRow(round=1, alias="P01", outcome=Outcome.FAILED)
    replied = ProjectionRow(
        round=1, alias="P01", outcome=Outcome.REPLIED, author=EndpointKind.HUMAN, text_id=words, items=4,
        chars=900, struck=1, guards={"no_such_span": 1}, seconds=1.5,
    )  # fmt: skip
    other = ProjectionRow(round=1, alias="P02", outcome=Outcome.LAPSED)
    later = ProjectionRow(round=2, alias="P01", outcome=Outcome.NOTHING_NEW)
    for row in (later, other, failed, replied):
        await rounds.put_projections(process, [row])
    stored = await rounds.projections(process)
    assert [timeless(row) for row in stored] == [replied, other, later]
    assert stored[0].at is not None
    assert [timeless(row) for row in await rounds.projections(process) if row.round == 2] == [later]


async def test_an_observation_that_is_written_again_replaces_the_first(pool: Pool, announce: Announce) -> None:
    rounds, process = Rounds(pool), await announce()
    stored = await text(pool, process, "R1")
    first = ObservationRow(round=1, verdict=Verdict.MORE, text_id=stored)
    row = ObservationRow(round=1, verdict=Verdict.MORE, text_id=stored, chars=3_000, guards={"advice": 2})
    await rounds.put_observation(process, first)
    await rounds.put_observation(process, row)
    assert [timeless(observation) for observation in await rounds.observations(process)] == [row]


async def test_the_latest_revision_holds(pool: Pool, announce: Announce) -> None:
    plans, process = Plans(pool), await announce()
    assert await plans.latest(process) is None
    for revision in (1, 2):
        await plans.put_plan(
            process,
            PlanRow(
                revision=revision,
                text_id=await text(pool, process, "plan", revision),
                claims=9,
                supported=8,
                markdown_text_id=await text(pool, process, "markdown", revision),
                reduced=revision == 1,
            ),
        )
    latest = await plans.latest(process)
    assert latest is not None
    assert (latest.revision, latest.reduced, latest.claims, latest.supported) == (2, False, 9, 8)
    assert [row.revision for row in await plans.plans(process)] == [1, 2]


async def test_a_delivery_is_replaced_and_the_first_answer_stays(pool: Pool, announce: Announce) -> None:
    plans, process = Plans(pool), await announce()
    for language in ("en", "zh"):
        await plans.put_deliveries(
            process,
            [
                DeliveryRow(
                    revision=1,
                    alias="P01",
                    text_id=await text(pool, process, "delivery", language),
                    language=language,
                )
            ],
        )
    assert [row.language for row in await fetch_all(pool, DeliveryRow, DELIVERIES, {"process": process})] == ["zh"]
    await answered(pool, process, (1, "P01", "commit"), (1, "P01", "decline"))
    assert [row.decision for row in await plans.answers(process)] == ["commit"]


async def test_the_acceptance_rate_counts_the_revision_that_holds(pool: Pool, announce: Announce) -> None:
    plans, process = Plans(pool), await announce()
    words = await text(pool, process, "delivery")
    assert (await plans.acceptance(process_id=process)).rate is None
    for revision in (1, 2):
        await plans.put_plan(process, PlanRow(revision=revision, text_id=words, markdown_text_id=words))
        for alias in ("P01", "P02", "P03"):
            await plans.put_deliveries(
                process, [DeliveryRow(revision=revision, alias=alias, text_id=words, language="en")]
            )
    await answered(pool, process, (1, "P03", "decline"), (2, "P01", "commit"), (2, "P02", "propose"))
    found = await plans.acceptance(process_id=process)
    assert found.model_dump() == {"asked": 3, "commit": 1, "decline": 0, "propose": 1}
    assert found.rate == 0.5
