"""An answer that a guard complains of is sent back once; what comes back is merged with what stood of the first answer."""

from __future__ import annotations

from typing import Any

from tests.support.scripted import Rule, ScriptedEngine
from tests.support.scripted_drafts import INVENTED
from tests.support.stack import Stack
from tests.workflows.conftest import TEXTS, Opened
from tongyao.protocol.model.ids import Pair
from tongyao.protocol.model.observation import Verdict
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.tension import TENSION_UNITS
from tongyao.protocol.rules.standing import not_examined, rounds_of, standing

LONG = {"transition": "many words about one change " * 100, "barriers": ["a gauge that lies"]}


async def played(stack: Stack) -> tuple[str, Record]:
    people = await stack.people({name: TEXTS[name] for name in ("ada", "bo", "cy")})
    pid = await stack.start(people, auto_confirm=True, aliases_as_named=True)
    return pid, await stack.end(pid)


def calls_of(engine: ScriptedEngine, step: str, **key: Any) -> list[int]:
    """The re-ask numbers of the calls that were made, in their order."""
    wanted = (one.key for one in engine.received if one.key.step == step)
    return [one.reask for one in wanted if all(getattr(one, name) == value for name, value in key.items())]


def open_pairs(record: Record, after: int) -> tuple[Pair, ...]:
    """The pairs that nobody had looked at after a round."""
    rounds = rounds_of(record.projections, record.observations)[:after]
    return not_examined(standing(rounds), record.contributors())


async def guards_of(stack: Stack, pid: str, alias: str) -> dict[str, int]:
    row = next(row for row in await stack.repositories.rounds.projections(pid) if (row.round, row.alias) == (1, alias))
    return dict(row.guards)


async def test_an_invented_item_is_sent_back_and_the_correction_stands_beside_the_first_items(stack: Opened) -> None:
    mended = {"kind": "boundary", "text": "P01 says it honestly.", "quotes": [TEXTS["ada"][:30]]}
    rules = [
        Rule(step="project", round=1, alias="P01", reask=1, draft={"items": [mended]}),
        Rule(step="project", round=1, alias="P01", reask=0, spoil=["invented_quote"]),
    ]
    async with stack(verdicts=["exhausted"], rules=rules) as (here, engine):
        pid, record = await played(here)
        guards = await guards_of(here, pid, "P01")
    said = next(one for one in record.projections if (one.round, one.alias) == (1, "P01"))
    assert [item.id for item in said.items] == ["R1/P01/1", "R1/P01/2"]
    assert INVENTED not in said.text
    assert (said.struck, guards) == (0, {"reasked": 1, "struck": 0})
    assert calls_of(engine, "project", round=1, alias="P01") == [0, 1]


async def test_an_item_that_is_invented_again_is_struck_and_not_asked_for_a_third_time(stack: Opened) -> None:
    invented = {"kind": "capability", "text": INVENTED, "quotes": [INVENTED]}
    rules = [
        Rule(step="project", round=1, alias="P01", reask=1, draft={"items": [invented]}),
        Rule(step="project", round=1, alias="P01", spoil=["invented_quote"]),
    ]
    async with stack(verdicts=["exhausted"], rules=rules) as (here, engine):
        pid, record = await played(here)
        guards = await guards_of(here, pid, "P01")
    said = next(one for one in record.projections if (one.round, one.alias) == (1, "P01"))
    assert [item.id for item in said.items] == ["R1/P01/1"]
    assert (said.struck, guards) == (1, {"reasked": 1, "struck": 1, "quote_not_found": 1})
    assert calls_of(engine, "project", round=1, alias="P01") == [0, 1]


async def test_a_missing_pair_alone_is_asked_for_again_and_the_verdict_stays_the_first(stack: Opened) -> None:
    again = {"verdict": Verdict.EXHAUSTED}
    rules = [
        Rule(step="observe", reask=1, draft=again),
        Rule(step="observe", round=1, reask=0, spoil=["missing_pair"]),
    ]
    async with stack(verdicts=["more", "more", "more", "exhausted"], rules=rules) as (here, engine):
        _, record = await played(here)
    first = record.observations[0]
    assert open_pairs(record, 1) == ()
    assert first.verdict is Verdict.MORE
    repair = next(one for one in engine.received if one.key.step == "observe" and one.key.reask)
    (told,) = repair.complaints
    assert told.endswith("stands neither in `relations` nor in `none`.")


async def test_where_the_repair_cannot_be_had_the_first_answer_stands_and_the_reason_is_counted(stack: Opened) -> None:
    rules = [
        Rule(step="observe", round=1, reask=0, spoil=["missing_pair"]),
        Rule(step="observe", round=1, reask=1, do="step_failed"),
        Rule(step="project", round=1, alias="P01", reask=0, spoil=["invented_quote"]),
        Rule(step="project", round=1, alias="P01", reask=1, do="cut"),
    ]
    async with stack(verdicts=["exhausted"], rules=rules) as (here, _):
        pid, record = await played(here)
        said = await guards_of(here, pid, "P01")
        observed = next(row for row in await here.repositories.rounds.observations(pid) if row.round == 1)
    assert record.phase is Phase.COMPLETED
    assert len(open_pairs(record, 1)) == 1
    assert open_pairs(record, 2) == (), "it is looked at in the next round"
    assert observed.guards == {"reasked": 1, "step_failed": 1, "missing_pair": 1, "struck": 0}
    assert said == {"reasked": 1, "cut": 1, "struck": 1, "quote_not_found": 1}


async def test_an_unreadable_answer_uses_up_the_repair(stack: Opened) -> None:
    rules = [
        Rule(step="observe", round=1, reask=0, do="unreadable"),
        Rule(step="observe", round=1, reask=1, spoil=["missing_pair"]),
    ]
    async with stack(verdicts=["exhausted"], rules=rules) as (here, engine):
        _, record = await played(here)
    assert calls_of(engine, "observe", round=1) == [0, 1]
    assert len(open_pairs(record, 1)) == 1


async def test_a_tension_that_is_too_long_is_sent_back_and_shortened_where_it_is_too_long_again(stack: Opened) -> None:
    async with stack(verdicts=["exhausted"], rules=[Rule(step="formulate", reask=0, draft=LONG)]) as (here, engine):
        _, shorter = await played(here)
        assert calls_of(engine, "formulate") == [0, 1]
    async with stack(verdicts=["exhausted"], rules=[Rule(step="formulate", draft=LONG)]) as (here, engine):
        _, cut = await played(here)
        assert calls_of(engine, "formulate") == [0, 1]
    assert shorter.tension is not None
    assert cut.tension is not None
    assert "many words" not in shorter.tension.transition
    assert cut.tension.transition.startswith("many words about one change")
    assert cut.tension.units <= TENSION_UNITS
