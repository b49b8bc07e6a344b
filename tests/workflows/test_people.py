"""People as endpoints: turns, corrections, deadlines' messages, and every refusal (docs/protocol.md §4, §8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.support.scripted import Rule
from tests.support.stack import Stack
from tests.support.until import until
from tests.workflows.conftest import PROFILE, TEXTS, Opened
from tongyao.protocol.model.process import Choice, Phase
from tongyao.protocol.model.projection import EndpointKind, Outcome

HUMAN = EndpointKind.HUMAN


async def with_people(stack: Stack, humans: Sequence[str] = ("bo",), **wish: Any) -> tuple[str, dict[str, str]]:
    """Start with three, of whom `humans` speak for themselves; returns the process and name → alias."""
    people = await stack.people({name: TEXTS[name] for name in ("ada", "bo", "cy")})
    choices = [
        Choice(profile_id=one, endpoint=HUMAN if one.split("-")[0] in humans else EndpointKind.PROXY) for one in people
    ]
    pid = await stack.start(choices, auto_confirm=True, **wish)
    await stack.until(pid, "crystallizing")
    seats = {seat.person.split("-")[0]: seat.alias for seat in await stack.repositories.seats.seats(pid)}
    return pid, seats


async def test_a_person_is_waited_for_and_what_they_say_is_kept_word_for_word(stack: Opened) -> None:
    said = "I can drive on Tuesdays;   but not\nbefore nine. Ask me about the ice."
    async with stack(verdicts=["exhausted"]) as (here, _):
        pid, seats = await with_people(here)
        await here.asked(pid, seats["bo"], 1)
        assert (await here.speak(pid, seats["bo"], 1, said)).accepted
        await here.asked(pid, seats["bo"], 2)
        assert (await here.speak(pid, seats["bo"], 2, None)).accepted
        await here.asked(pid, seats["bo"], 4)  # nothing concerns them in round 3; after its verdict everybody is asked
        assert (await here.speak(pid, seats["bo"], 4, None)).accepted
        await here.until(pid, "answering")
        assert (await here.say(pid, "answer_plan", alias=seats["bo"], revision=1, answer="commit")).accepted
        record = await here.end(pid)

    first = next(one for one in record.projections if one.alias == seats["bo"] and one.round == 1)
    assert first.author is HUMAN
    assert first.text == said
    later = [(one.round, one.outcome) for one in record.projections if one.alias == seats["bo"]][1:]
    assert later == [(2, Outcome.NOTHING_NEW), (4, Outcome.NOTHING_NEW)]
    assert record.answers == {seats["bo"]: "commit"}


async def test_a_correction_before_the_gate_closes_replaces_what_was_said(stack: Opened) -> None:
    async with stack(verdicts=["exhausted"]) as (here, engine):
        pid, seats = await with_people(here, humans=("ada", "bo"))
        await here.asked(pid, seats["bo"], 1)
        await here.speak(pid, seats["bo"], 1, "I can offer a boat.")
        assert (await here.speak(pid, seats["bo"], 1, "I can offer two boats, not one.")).accepted
        await here.speak(pid, seats["ada"], 1, "I will look at the engines.")
        await here.asked(pid, seats["bo"], 2)
        record = await here.repositories.record(pid)
        await here.say(pid, "cancel")
        await here.end(pid)

    spoken = {one.alias: one.text for one in record.projections if one.round == 1}
    assert spoken[seats["bo"]] == "I can offer two boats, not one."
    catalyst = [one for one in engine.received if one.key.step == "observe"]
    assert not any(one.mentions("I can offer a boat.") for one in catalyst)


async def test_an_answer_closes_what_was_asked_before_it_is_taken_down(stack: Opened) -> None:
    slow = Rule(step="project", round=1, alias="P02", seconds=2.0)
    async with stack(verdicts=["exhausted"], rules=[slow]) as (here, _):
        pid, seats = await with_people(here, aliases_as_named=True)
        bo = seats["bo"]
        await here.asked(pid, bo, 1)
        await here.speak(pid, bo, 1, "I can offer the slipway.")

        async def nothing_is_asked() -> bool:
            return not await here.repositories.inbox.of_process(pid, open_only=True)

        await until(nothing_is_asked)
        assert not [row for row in await here.repositories.rounds.projections(pid) if (row.round, row.alias) == (1, bo)]
        record = await here.finish(pid, bo)
        calls = await here.repositories.ledger.calls(pid)

    assert record.phase is Phase.COMPLETED
    assert not [one for one in calls if (one.alias, one.round) == (bo, 1)], "no model reads what people say"


async def test_taking_over_and_handing_back_in_the_middle_of_a_process(stack: Opened) -> None:
    async with stack(verdicts=["more", "more", "exhausted"], seconds=0.05) as (here, _):
        pid, seats = await with_people(here)
        bo = seats["bo"]
        await here.asked(pid, bo, 1)
        await here.speak(pid, bo, 1, "I can offer the slipway.")
        await here.asked(pid, bo, 2)
        assert (await here.say(pid, "switch_endpoint", alias=bo, endpoint="proxy")).accepted
        await here.until(pid, "crystallizing", round_number=3)
        assert (await here.say(pid, "switch_endpoint", alias=bo, endpoint="human")).accepted
        rounds: list[int] = []

        async def asked_again() -> bool:
            open_asks = await here.repositories.inbox.of_process(pid, open_only=True)
            rounds.extend(one.round for one in open_asks if (one.ask, one.alias) == ("projection", bo))
            return bool(rounds)

        await until(asked_again)
        back = rounds[0]
        await here.speak(pid, bo, back, "One more thing: the slipway is free in March only.")
        record = await here.finish(pid, bo)

    authors = {one.round: one.author.value for one in record.projections if one.alias == bo}
    assert authors[1] == "human"
    assert authors[2] == "proxy"
    assert authors[back] == "human", "in the round in which the proxy has not spoken yet, else in the next"


async def test_who_takes_over_while_their_proxy_still_speaks_is_heard(stack: Opened) -> None:
    said = "The slipway is mine, and it is free in March."
    slow = Rule(step="project", round=1, seconds=3.0)
    async with stack(verdicts=["exhausted"], rules=[slow]) as (here, _):
        pid, seats = await with_people(here, humans=())
        bo = seats["bo"]
        await here.until_round(pid, "crystallizing", 1)
        assert (await here.say(pid, "switch_endpoint", alias=bo, endpoint="human")).accepted
        assert (await here.speak(pid, bo, 1, said)).accepted
        record = await here.finish(pid, bo)

    first = next(one for one in record.projections if one.alias == bo and one.round == 1)
    assert (first.author, first.text) == (HUMAN, said)


async def test_a_failure_of_what_was_mended_meanwhile_suspends_no_second_time(stack: Opened) -> None:
    rules = [
        Rule(step="project", alias="P0[13]", do="operator_needed", message="no credit", until="paid", seconds=1.0),
        Rule(step="project", round=1, alias="P02", do="operator_needed", message="late", attempt=1, seconds=3.0),
    ]
    async with stack(verdicts=["exhausted"], rules=rules) as (here, engine):
        pid, seats = await with_people(here, aliases_as_named=True)
        bo = seats["bo"]
        await here.asked(pid, bo, 1)
        assert (await here.speak(pid, bo, 1, "I can offer the slipway.")).accepted
        await here.until_suspended(pid)
        engine.mend("paid")
        assert (await here.say(pid, "resume", role="operator")).accepted
        record = await here.finish(pid, bo)
        kinds = await here.kinds(pid)

    assert record.phase is Phase.COMPLETED
    assert kinds.count("suspended") == 1
    assert len([one for one in record.projections if one.round == 1 and one.outcome.spoken]) == 3


async def test_who_leaves_is_not_waited_for_and_what_they_said_stays(stack: Opened) -> None:
    async with stack(verdicts=["exhausted"]) as (here, _):
        pid, seats = await with_people(here)
        bo = seats["bo"]
        await here.asked(pid, bo, 1)
        await here.speak(pid, bo, 1, "I can offer the slipway.")
        await here.asked(pid, bo, 2)
        assert (await here.say(pid, "leave", alias=bo)).accepted
        record = await here.end(pid)

    assert record.phase is Phase.COMPLETED
    assert not record.participant(bo).active
    assert [one.outcome for one in record.projections if one.alias == bo] == [Outcome.REPLIED, Outcome.LEFT]
    assert bo in record.contributors()


async def test_the_demander_may_have_the_plan_made_once_more_without_those_who_declined(stack: Opened) -> None:
    async with stack(verdicts=["exhausted"]) as (here, _):
        pid, seats = await with_people(here, humans=("bo", "cy"), max_rounds=2, deciding_seconds=1)
        for round_number in (1, 2):
            for name in ("bo", "cy"):
                await here.asked(pid, seats[name], round_number)
                await here.speak(pid, seats[name], round_number, f"I offer what I have: {PROFILE}")
        await here.until(pid, "answering")
        assert not (await here.say(pid, "replan", without=[seats["bo"]])).accepted, "nobody has declined yet"
        await here.say(pid, "answer_plan", alias=seats["bo"], revision=1, answer="decline")
        await here.say(pid, "answer_plan", alias=seats["cy"], revision=1, answer="commit")
        assert (await here.say(pid, "replan", without=[seats["bo"]])).accepted
        await here.asked(pid, seats["cy"], 2, what="answer")
        assert not (await here.say(pid, "answer_plan", alias=seats["cy"], revision=1, answer="commit")).accepted
        await here.say(pid, "answer_plan", alias=seats["cy"], revision=2, answer="commit")
        await here.say(pid, "answer_plan", alias=seats["bo"], revision=2, answer="decline")
        record = await here.end(pid)

    assert [plan.revision for plan in record.plans] == [1, 2], "both plans stay"
    assert seats["bo"] in {role.alias for role in record.plans[0].roles}
    assert seats["bo"] not in {role.alias for role in record.plans[1].roles}


async def test_a_key_sent_twice_is_one_message(stack: Opened) -> None:
    async with stack(verdicts=["exhausted"]) as (here, _):
        pid, seats = await with_people(here, humans=("ada", "bo"))
        bo = seats["bo"]
        await here.asked(pid, bo, 1)
        first = await here.speak(pid, bo, 1, "I can offer the slipway.", key="once")
        second = await here.speak(pid, bo, 1, "I can offer the slipway.", key="once")
        assert first.accepted
        assert second.accepted
        record = await here.repositories.record(pid)
        await here.say(pid, "cancel")
        await here.end(pid)

    assert len([one for one in record.projections if one.alias == bo]) <= 1


async def test_every_message_that_does_not_fit_is_refused_with_its_reason(stack: Opened) -> None:
    async with stack(verdicts=["exhausted"]) as (here, _):
        pid, seats = await with_people(here, humans=("bo",))
        bo, ada = seats["bo"], seats["ada"]
        await here.asked(pid, bo, 1)

        async def refused(code: str, kind: str, **fields: Any) -> None:
            verdict = await here.say(pid, kind, **fields)
            assert (verdict.accepted, verdict.code) == (False, code)
            assert verdict.en
            assert verdict.zh

        await refused("wrong_round", "submit_projection", alias=bo, round=2, nothing_new=True)
        await refused("nothing_said", "submit_projection", alias=bo, round=1)
        proxys = await here.say(pid, "submit_projection", alias=ada, round=1, nothing_new=True)
        assert proxys.code in {"proxy_speaks", "turn_over"}, "before or after the proxy has spoken"
        await refused("already_confirmed", "confirm_tension")
        await refused("not_now", "decide", decision="extend")
        await refused("not_now", "answer_plan", alias=bo, revision=1, answer="commit")
        await refused("not_suspended", "resume", role="operator")
        await refused("unknown_alias", "extend_deadline", whom="P07", seconds=60)
        await refused("unknown_residual", "approve_residual", residual="plan/1/residual/1")
        await here.speak(pid, bo, 1, None)
        await here.asked(pid, bo, 2)
        await refused("round_over", "submit_projection", alias=bo, round=1, nothing_new=True)
        await here.say(pid, "leave", alias=bo)
        await here.end(pid)
        await refused("ended", "leave", alias=bo)


async def test_while_suspended_people_may_go_on_speaking(stack: Opened) -> None:
    rule = Rule(step="project", do="operator_needed", message="no credit", until="paid")
    async with stack(verdicts=["exhausted"], rules=[rule]) as (here, engine):
        pid, seats = await with_people(here)
        bo = seats["bo"]
        await here.until_suspended(pid)
        assert (await here.say(pid, "conclude")).accepted
        assert (await here.speak(pid, bo, 1, None)).accepted
        engine.mend("paid")
        assert (await here.say(pid, "resume", role="operator")).accepted
        record = await here.finish(pid, bo)

    assert record.phase is Phase.COMPLETED
