"""A gap that only the demander can close is asked of the demander, who has no seat (docs/protocol.md §5.3)."""

from __future__ import annotations

from typing import Any

from tests.support.scripted import Rule
from tests.support.stack import Stack
from tests.support.waiting_tensions import context_of
from tests.workflows.conftest import TEXTS, Opened
from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.messaging.inbox import inbox
from tongyao.commands.process_view import asks_of
from tongyao.protocol.model.process import DEMANDER, Choice, Phase
from tongyao.protocol.model.projection import EndpointKind, Outcome
from tongyao.protocol.model.record import Record
from tongyao.protocol.rules.standing import rounds_of, standing

ASKS: dict[str, Any] = {
    "verdicts": ["more", "more", "exhausted"],
    "rules": [Rule(step="observe", round=1, gaps=["P00"])],
}
HUMAN = EndpointKind.HUMAN


async def started(here: Stack, *, humans: bool = False, **wish: Any) -> str:
    demander, *people = await here.people({name: TEXTS[name] for name in ("di", "ada", "bo")})
    choices = [Choice(profile_id=one, endpoint=HUMAN if humans else EndpointKind.PROXY) for one in people]
    return await here.start(choices, demander=demander, auto_confirm=True, **wish)


def outcome_of_the_gap(record: Record) -> str:
    (asked,) = standing(rounds_of(record.projections, record.observations)).asked.values()
    assert (asked.alias, asked.round) == (DEMANDER, 2)
    return asked.outcome


async def test_the_demanders_proxy_answers_in_the_next_round_and_has_no_turn_of_the_room(stack: Opened) -> None:
    async with stack(**ASKS) as (here, engine):
        pid = await started(here, demander_endpoint="proxy")
        record = await here.end(pid)

    said = [(one.round, one.outcome) for one in record.projections if one.alias == DEMANDER]
    assert said == [(2, Outcome.REPLIED)]
    assert outcome_of_the_gap(record) == "answered"
    (call,) = [one for one in engine.received if (one.key.step, one.key.alias) == ("project", DEMANDER)]
    assert call.mentions("ferry timetable") and call.mentions("My name in the harbour is di")
    assert record.phase is Phase.COMPLETED
    assert DEMANDER not in {one.alias for one in record.deliveries if one.alias != DEMANDER}
    assert {alias for seen in record.observations for pair in seen.none for alias in pair} == {"P01", "P02"}


async def test_a_demander_in_person_has_an_ask_for_which_no_round_waits(stack: Opened) -> None:
    async with stack(**ASKS) as (here, _):
        record = await here.end(await started(here))

    assert record.phase is Phase.COMPLETED
    assert DEMANDER not in {one.alias for one in record.projections}
    assert outcome_of_the_gap(record) == "open"


async def test_what_a_demander_answers_in_person_is_in_the_record_of_the_round_that_is_open(stack: Opened) -> None:
    async with stack(**ASKS) as (here, _):
        pid = await started(here, humans=True)
        for alias in ("P01", "P02"):
            await here.asked(pid, alias, 1)
            await here.speak(pid, alias, 1, "I can offer the slipway.")
        await here.asked(pid, DEMANDER, 2, what="gap")
        row = await here.repositories.processes.get(pid)
        person = row.demander
        asks = await inbox(context_of(here.repositories), Caller(Role.PERSON, person))
        assert [len(ask.gaps) for ask in asks if ask.ask == "gap"] == [1], (
            "the question is in the list without the view"
        )
        assert all(ask.view is None for ask in asks)
        [question] = [ask.gaps[0].text for ask in asks if ask.ask == "gap"]
        shown = await asks_of(here.repositories, row, alias=DEMANDER)
        assert shown[0].startswith("open question to P00 (the demander), nothing waits for the answer: ")
        assert shown[1] == f"  ? {question}"
        assert (await here.speak(pid, DEMANDER, 2, "The timetable is for the winter.")).accepted
        assert not (await here.speak(pid, DEMANDER, 9, "Too early.")).accepted
        record = await here.finish(pid, "P01", "P02")

    (answer,) = [one for one in record.projections if one.alias == DEMANDER]
    assert (answer.round, answer.author, answer.text) == (2, HUMAN, "The timetable is for the winter.")
    assert record.phase is Phase.COMPLETED
    assert outcome_of_the_gap(record) == "replied", "own words name no gap: the catalyst judges"
