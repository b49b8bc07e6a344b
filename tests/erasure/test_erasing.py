"""Somebody who has themselves erased is gone from where their words, and what quotes them, could be found."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from tests.erasure.quoting import QuotingEngine
from tests.support.scan import find_in_database
from tests.support.scripted import Rule
from tests.support.stack import OPERATOR, Stack, open_stack
from tests.support.until import until
from tongyao.app.choosing.candidates import found_before_rounds, nearest_first
from tongyao.app.choosing.choices import choices_of
from tongyao.app.people import erasure
from tongyao.app.people.erasure import Erased
from tongyao.app.start import start_child
from tongyao.protocol.model.messages import MESSAGE, Author
from tongyao.protocol.model.process import Choice, Phase
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.rules import read_access
from tongyao.records.people.profiles import ProfileUnknown
from tongyao.records.privacy.erasure import Erasing, PersonUnknown
from tongyao.records.privacy.texts import TextErased

CANARY = "Quillfeather"
CANARY_ZH = "鹳嘴冷库"
TEXTS = {
    "ada": f"I keep the {CANARY} cold room of 43 square metres by the harbour. I can lend the {CANARY} cold room on two "
    f"nights a week for a ferry timetable trial. I will not lend it in August. 我管着{CANARY_ZH}的钥匙。",
    "bo": "I drive a refrigerated van up the valley on Tuesdays. I can carry crates for a ferry timetable trial. "
    "I do not drive at night.",
    "cy": "I teach volunteers to read temperature loggers. I want to learn how a ferry timetable follows the tides. "
    "I cannot come on Sundays.",
}
INTENT = "I want to learn whether a cold room by the harbour makes my ferry timetable work; I have two crates a night."


async def three(stack: Stack, **more: Any) -> tuple[str, dict[str, str]]:
    """A process of ada, bo and cy; returns its id, and each one's profile id."""
    texts = more.pop("texts", TEXTS)
    people = dict(zip(texts, await stack.people(texts), strict=True))
    kinds = more.pop("kinds", {})
    choices = [Choice(profile_id=id, endpoint=kinds.get(name, EndpointKind.PROXY)) for name, id in people.items()]
    return await stack.start(choices, intent=INTENT, auto_confirm=True, residuals="off", **more), people


async def alias_of(stack: Stack, process: str, person: str) -> str:
    return next(seat.alias for seat in await stack.repositories.seats.seats(process) if seat.profile_id == person)


async def send(stack: Stack, process: str, alias: str, **fields: Any) -> None:
    """A message of a participant, whether it is taken or refused."""
    author = Author(role="participant", alias=alias)
    message = MESSAGE.validate_python({"key": uuid.uuid4().hex, "author": author, "alias": alias, **fields})
    await stack.relay.send(process, message, author_id=alias, via="test")


def everything_shown(record: Record) -> str:
    """Whatever any party gets of a record, and the record itself."""
    shown = [read_access.for_party(record, role="demander"), read_access.for_party(record, role="operator")]
    shown += [read_access.for_party(record, role="participant", alias=one.alias) for one in record.participants]
    return record.model_dump_json() + "".join(view.model_dump_json() for view in shown)


async def erase(stack: Stack, person: str) -> Erased:
    return await erasure.erase(stack.context, OPERATOR, person, patience=20)


async def test_the_words_of_somebody_erased_are_nowhere_any_more(temporal: Client, fresh_database_url: str) -> None:
    async with open_stack(temporal, fresh_database_url, QuotingEngine()) as here:
        process, people = await three(here)
        before = await here.end(process)
        other = [said for said in before.projections if said.alias != await alias_of(here, process, people["ada"])]
        assert CANARY in before.observations[0].model_dump_json(), "the catalyst quoted them"
        assert CANARY in before.plans[0].model_dump_json(), "the plan quoted them"
        assert any(CANARY in delivery.markdown for delivery in before.deliveries)
        done = await erase(here, people["ada"])
        after = await here.repositories.record(process)
        alias = await alias_of(here, process, people["ada"])

        for canary in (CANARY, CANARY_ZH, "Ada Example"):
            assert find_in_database(fresh_database_url, canary) == []
            assert canary not in everything_shown(after)
        assert not await readable_with(here, CANARY)
        assert done.texts > 0 and done.rewritten > 0
        gone = next(one for one in after.participants if one.alias == alias)
        assert not gone.active and gone.identities in ((), ("",)), "the alias stays, nothing else"
        assert after.plans[-1].removed == (alias,)
        assert {said.alias for said in after.projections if said.items} == {said.alias for said in other if said.items}
        assert any(after.plans[-1].claims()), "the others keep their plan"
        assert {role.alias for role in after.plans[-1].roles} == {one.alias for one in after.participants} - {alias}
        assert alias not in {task.assignee for task in after.plans[-1].tasks}
        assert (await erase(here, people["ada"])).texts == done.texts, "again is harmless"


async def test_everybody_of_one_process_can_be_erased_one_after_the_other(
    temporal: Client, fresh_database_url: str
) -> None:
    async with open_stack(temporal, fresh_database_url, QuotingEngine()) as here:
        process, people = await three(here)
        await here.end(process)
        demander = (await here.repositories.processes.get(process)).demander
        for person in (people["ada"], demander, people["bo"], people["cy"]):
            await erase(here, person)
        assert await erasure.finish_erasures(here.context) == ([], [])
        for words in (CANARY, CANARY_ZH, "refrigerated van", "temperature loggers", "ferry timetable"):
            assert find_in_database(fresh_database_url, words) == []


async def test_somebody_is_erased_while_the_erasure_of_another_waits_to_be_finished(
    temporal: Client, fresh_database_url: str
) -> None:
    async with open_stack(temporal, fresh_database_url, QuotingEngine()) as here:
        process, people = await three(here)
        await here.end(process)
        await Erasing(here.repositories.pool).begin(people["ada"])  # and here the power fails
        await erase(here, people["bo"])
        assert await erasure.finish_erasures(here.context) == ([people["ada"]], [])
        for words in (CANARY, "refrigerated van"):
            assert find_in_database(fresh_database_url, words) == []


async def test_a_label_of_the_program_costs_nobody_their_line_of_the_plan(
    temporal: Client, fresh_database_url: str
) -> None:
    """Words of a sentence of the program's own stand in the profile of the erased person, and with nobody else."""
    tension = Tension(
        transition="A ferry runs by a timetable of the tides.",
        initial_state="There are two crates a night by the harbour.",
        barriers=("Nobody has a cold room.",),
        exchange="I give a place on the pier.",
        language="en",
    )
    said = "Participants contributed, what follows is taken from the record. I carry them upstairs for a reason."
    async with open_stack(temporal, fresh_database_url, QuotingEngine(Rule(step="plan", do="unreadable"))) as here:
        process, people = await three(here, texts={**TEXTS, "ada": said}, tension=tension)
        before = (await here.end(process)).plans[-1]
        assert before.reduced and "upstairs" in before.model_dump_json()
        await erase(here, people["ada"])
        after = (await here.repositories.record(process)).plans[-1]
        assert [claim.text for claim in after.possible] == [claim.text for claim in before.possible]
        assert "upstairs" not in after.model_dump_json()


async def test_what_the_demander_wrote_stays_in_a_childs_tension_and_who_is_erased_is_no_candidate_of_it(
    temporal: Client, fresh_database_url: str
) -> None:
    """The barrier is the demander's own sentence. The erased person has it in their profile as well."""
    barrier = "Old clocks get soaked outdoors because nobody stores anything underneath awnings."
    tension = Tension(
        transition="A ferry runs by a timetable of the tides.",
        initial_state="There are two crates a night by the harbour.",
        barriers=(barrier,),
        exchange="I give a place on the pier.",
        language="en",
    )
    left_over = {
        "title": "A dry place",
        "transition": barrier,
        "initial_state": "Awnings hang over the market square.",
        "barriers": ["No shop has a spare shelf."],
        "exchange": "Whoever stores a clock may wind it.",
        "sources": ["T/B1"],
    }
    texts = {**TEXTS, "ada": f"{barrier} I drive a tricycle."}
    async with open_stack(
        temporal, fresh_database_url, QuotingEngine(Rule(step="plan", draft={"residuals": [left_over]}))
    ) as here:
        people = await here.people(texts)
        scene = (await here.repositories.profiles.get_many(people[:1]))[people[0]].scene_id
        settings: dict[str, Any] = {"residuals": "ask", "auto_confirm": True}
        process = await here.start(people, intent=INTENT, scene=scene, tension=tension, **settings)
        [residual] = (await here.end(process)).plans[-1].residuals
        row = await here.repositories.processes.get(await start_child(here.context, process, residual.id))
        await here.until(row.id, "selecting")
        assert people[0] in await nearest_first(here.repositories, row.id)
        before = await here.repositories.record(row.id)
        assert before.tension is not None
        assert barrier.removesuffix(".") in before.tension.transition
        await erase(here, people[0])
        assert (await here.repositories.record(row.id)).tension == before.tension
        assert [one.profile_id for one in await found_before_rounds(here.repositories, row)] == people[1:]
        [ask] = await here.repositories.inbox.of_process(row.id, open_only=True)
        choices = await choices_of(here.repositories, ask)
        assert choices is not None and [one.profile_id for one in choices.proposals] == people[1:]
        await here.handle(row.id).cancel()


async def test_who_is_erased_is_shown_to_nobody_by_name_or_id(temporal: Client, fresh_database_url: str) -> None:
    async with open_stack(temporal, fresh_database_url, QuotingEngine()) as here:
        process, people = await three(here, kinds={"ada": EndpointKind.HUMAN})
        await here.until_round(process, "crystallizing", 1)
        seats = {name: await alias_of(here, process, id) for name, id in people.items()}
        assert (await here.say(process, "conclude")).accepted
        assert (await here.speak(process, seats["ada"], 1, "I can lend a cold room.")).accepted
        await here.until(process, "answering")
        for name in ("bo", "cy", "ada"):  # only ada is waited for
            assert (await here.say(process, "answer_plan", alias=seats[name], revision=1, answer="commit")).accepted
        await here.end(process)

        async def shown() -> list[read_access.PartyView]:
            record = await here.repositories.record(process)
            other = read_access.for_party(record, role="participant", alias=seats["bo"])
            return [read_access.for_party(record, role="demander"), other]

        for view in await shown():
            assert (view.identities or {})[seats["ada"]] == "Ada Example"
        await Erasing(here.repositories.pool).begin(people["ada"])
        for when in ("as soon as it is asked for", "when it is done"):
            for view in await shown():
                assert seats["ada"] not in (view.identities or {}), when
                assert (view.identities or {})[seats["bo"]] == "Bo Example"
                told = view.model_dump_json()
                assert people["ada"] not in told and "Ada Example" not in told, when
            await erase(here, people["ada"])


async def readable_with(stack: Stack, canary: str) -> list[str]:
    """Ids of texts that can still be opened and hold the canary, whatever refers to them."""
    async with stack.repositories.pool.connection() as connection:
        cursor = await connection.execute("SELECT id FROM texts")
        ids = [row["id"] for row in await cursor.fetchall()]
    texts = await stack.repositories.texts.get_many(ids, erased="")
    return [id for id, text in texts.items() if canary in text]


async def test_nothing_of_them_is_found_told_or_stored_any_more(temporal: Client, fresh_database_url: str) -> None:
    async with open_stack(temporal, fresh_database_url, QuotingEngine()) as here:
        people = dict(zip(TEXTS, await here.people(TEXTS), strict=True))
        ada, repositories = people["ada"], here.repositories
        issued = await repositories.tokens.issue("person", person=ada)
        version = await repositories.profiles.version(ada)
        await erase(here, ada)
        found = await repositories.tokens.find(issued.secret)
        assert found is not None and found.revoked_at is not None
        with pytest.raises(ProfileUnknown):
            await repositories.profiles.get(ada)
        with pytest.raises(TextErased):
            await repositories.texts.get(version.text_id)
        with pytest.raises(TextErased):
            await repositories.texts.put(ada, "words", "something said too late")
        assert not (await repositories.mandate_rows.get_many([ada]))[ada].may_speak


async def test_a_running_process_sees_that_they_left(temporal: Client, fresh_database_url: str) -> None:
    async with open_stack(temporal, fresh_database_url, QuotingEngine()) as here:
        process, people = await three(here, kinds={"bo": EndpointKind.HUMAN}, answering_seconds=1)
        await here.until_round(process, "crystallizing", 1)
        done = await erase(here, people["ada"])
        assert done.left == (process,)
        alias, bo = await alias_of(here, process, people["ada"]), await alias_of(here, process, people["bo"])
        answered = 0

        async def bo_has_answered_every_round() -> bool:
            nonlocal answered
            row = await here.repositories.processes.get(process)
            asks = await here.repositories.inbox.of_process(process, open_only=True)
            if row.round > answered and any((ask.alias, ask.ask) == (bo, "projection") for ask in asks):
                answered = row.round
                await send(here, process, bo, kind="submit_projection", round=answered, nothing_new=True)
            return row.phase not in (Phase.CRYSTALLIZING, Phase.PLANNING)

        await until(bo_has_answered_every_round, seconds=100)
        record = await here.end(process)
        assert record.phase is Phase.COMPLETED
        assert not any(said.items for said in record.projections if said.alias == alias)
        assert CANARY not in everything_shown(record)
        assert find_in_database(fresh_database_url, CANARY) == []
        assert not await readable_with(here, CANARY)


async def test_the_demander_goes_and_their_open_process_with_them(temporal: Client, fresh_database_url: str) -> None:
    async with open_stack(temporal, fresh_database_url, QuotingEngine()) as here:
        process, _ = await three(here, kinds={"bo": EndpointKind.HUMAN}, demander="person-dee")

        async def only_bo_is_waited_for() -> bool:
            return len(await here.repositories.rounds.projections(process)) >= 2

        await until(only_bo_is_waited_for)
        done = await erase(here, "person-dee")
        await here.end(process)
        record = await here.repositories.record(process, own=["P00"])
        assert done.cancelled == (process,)
        assert record.phase is Phase.CANCELLED
        assert record.tension is None and record.intent == "[erased]"
        assert not await readable_with(here, "makes my ferry timetable work")


async def test_a_history_with_a_signal_into_which_an_operator_typed_their_words_is_deleted(
    temporal: Client, fresh_database_url: str
) -> None:
    async with open_stack(temporal, fresh_database_url, QuotingEngine()) as here:
        people_by_hand = {"ada": EndpointKind.HUMAN, "bo": EndpointKind.HUMAN}
        process, people = await three(here, kinds=people_by_hand, max_rounds=2, deciding_seconds=1)
        await here.until_round(process, "crystallizing", 1)
        alias, bo = [await alias_of(here, process, people[name]) for name in people_by_hand]
        await send(here, process, bo, kind="submit_projection", round=1, nothing_new=True)
        words = {"alias": alias, "round": 1, "text": f"The {CANARY} cold room is free on Mondays."}
        await here.handle(process).signal("submit_projection", words)
        await until(lambda: here.happened(process, "message_refused"), "a refusal")
        history = await here.handle(process).fetch_history()
        assert any(CANARY.encode() in event.SerializeToString() for event in history.events), "signals carry text"
        done = await erase(here, people["ada"])
        assert done.histories == () and done.histories_later == 1, "the process goes on: its history goes at its end"
        await here.say(process, "cancel")  # it waited for bo
        await here.handle(process).result()
        people_now, histories = await erasure.finish_erasures(here.context)
        assert people_now == [] and histories == [process]
        assert await is_gone(here, process)
        assert CANARY not in everything_shown(await here.repositories.record(process))
        assert not await readable_with(here, CANARY)


async def is_gone(stack: Stack, process: str) -> bool:
    async def gone() -> bool:
        try:
            await stack.handle(process).describe()
        except RPCError as error:
            return error.status is RPCStatusCode.NOT_FOUND
        return False

    return await until(gone, f"the history of {process} is deleted", seconds=90)


async def test_who_was_never_here_cannot_be_erased(temporal: Client, fresh_database_url: str) -> None:
    async with open_stack(temporal, fresh_database_url, QuotingEngine(), workers_run=False) as here:
        with pytest.raises(PersonUnknown, match="nobody"):
            await erase(here, f"nobody-{uuid.uuid4().hex}")


async def test_an_interrupted_erasure_is_finished_later(temporal: Client, fresh_database_url: str) -> None:
    async with open_stack(temporal, fresh_database_url, QuotingEngine(), workers_run=False) as here:
        people = await here.people(TEXTS)
        await Erasing(here.repositories.pool).begin(people[0])  # and here the power fails
        assert await readable_with(here, CANARY) == [], "nothing of theirs is read from the first moment on"
        assert find_in_database(fresh_database_url, CANARY) == ["texts.body"]
        assert await erasure.finish_erasures(here.context) == ([people[0]], [])
        assert find_in_database(fresh_database_url, CANARY) == []
        assert await erasure.finish_erasures(here.context) == ([], [])


async def test_an_erasure_that_fails_holds_up_none_of_those_behind_it(
    temporal: Client, fresh_database_url: str
) -> None:
    class Broken:
        async def forget(self, owner: str) -> None:
            if owner == first:
                raise OSError("the store is broken for this one")

    async with open_stack(temporal, fresh_database_url, QuotingEngine(), workers_run=False) as here:
        first, second = (await here.people(TEXTS))[:2]
        for person in (first, second):
            await Erasing(here.repositories.pool).begin(person)
        broken = replace(here.context, personal_data_stores=(Broken(),))
        with pytest.raises(OSError, match="broken"):
            await erasure.finish_erasures(broken, most=1)
        assert await Erasing(here.repositories.pool).unfinished() == [second, first], "the next run begins with another"
        with pytest.raises(OSError, match="broken"):
            await erasure.finish_erasures(broken)
        assert await Erasing(here.repositories.pool).unfinished() == [first]
        assert await erasure.finish_erasures(here.context) == ([first], [])
