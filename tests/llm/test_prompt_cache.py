"""Round n+1 reads from the cache what round n wrote, by the published rules, over whole prompts of the real
engine.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.llm import requests
from tests.support.messages_api.accounting import Count, PromptCache, estimate_tokens
from tests.support.messages_api.fixtures import Engines, Serve
from tests.support.messages_api.server import MessagesServer
from tongyao.llm.engine import Reask
from tongyao.protocol.model import steps
from tongyao.protocol.model.requests import Request

LONG = requests.PROFILE * 20


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def counts(server: MessagesServer) -> list[Count]:
    return [served.count for served in server.served if served.count is not None]


async def test_each_round_reads_all_that_the_round_before_wrote_or_read(serve: Serve, engine_at: Engines) -> None:
    server = serve()
    engine = engine_at(server)
    for number in range(1, 6):
        await engine.answer(
            steps.PROJECT, requests.endpoint(number, profile=LONG), requests.call("project", round=number)
        )
    seen = counts(server)
    assert seen[0].read == 0
    for before, after in pairwise(seen):
        assert after.read == before.read + before.written
        assert after.written < before.written or before.read, "only the round's own growth is written anew"
        assert after.fresh < 600, (
            "what is neither read nor written is the turn's own line, and what the prompt says of such turns"
        )


async def test_the_catalyst_reads_its_whole_exchange_again(serve: Serve, engine_at: Engines) -> None:
    server = serve()
    engine = engine_at(server)
    for number in range(1, 8):
        await engine.answer(steps.OBSERVE, requests.catalyst(number), requests.call("observe", round=number))
    seen = counts(server)
    assert all(after.read == before.read + before.written for before, after in pairwise(seen))


async def test_participants_share_the_system_prompt_and_nothing_of_each_other(serve: Serve, engine_at: Engines) -> None:
    server = serve()
    engine = engine_at(server)
    await engine.answer(steps.PROJECT, requests.endpoint(1, "P01", profile=LONG), requests.call("project", alias="P01"))
    await engine.answer(
        steps.PROJECT, requests.endpoint(1, "P02", profile=f"Another. {LONG}"), requests.call("project", alias="P02")
    )
    first, second = counts(server)
    assert second.read > 0
    assert first.written - second.read >= estimate_tokens(LONG)


async def test_a_reask_reads_the_whole_conversation_before_it(serve: Serve, engine_at: Engines) -> None:
    server = serve()
    engine = engine_at(server)
    answer = await engine.answer(steps.OBSERVE, requests.catalyst(2), requests.call("observe", round=2))
    reask = Reask(previous=answer.text, complaints=("P01-P02 is missing",))
    await engine.answer(steps.OBSERVE, requests.catalyst(2), requests.call("observe", round=2, reask=reask))
    first, second = counts(server)
    assert second.read == first.written


async def test_after_five_minutes_it_is_written_again(serve: Serve, engine_at: Engines) -> None:
    clock = Clock()
    server = serve(cache=PromptCache(clock=clock))
    engine = engine_at(server)
    for minutes in (0, 4, 8, 14):
        clock.now = minutes * 60.0
        await engine.answer(steps.PROJECT, requests.endpoint(profile=LONG), requests.call("project"))
    read = [count.read > 0 for count in counts(server)]
    assert read == [False, True, True, False], "every use renews the lifetime; six minutes of silence end it"


async def test_a_model_does_not_read_what_another_wrote(serve: Serve, engine_at: Engines) -> None:
    server = serve()
    await engine_at(server).answer(steps.PROJECT, requests.endpoint(profile=LONG), requests.call("project"))
    other = engine_at(server, models={"project": "claude-opus-5-5"})
    await other.answer(steps.PROJECT, requests.endpoint(profile=LONG), requests.call("project"))
    assert [count.read for count in counts(server)] == [0, 0]


async def test_without_caching_nothing_is_written_or_read(serve: Serve, engine_at: Engines) -> None:
    server = serve()
    engine = engine_at(server, cache=False)
    for number in (1, 2):
        await engine.answer(
            steps.PROJECT, requests.endpoint(number, profile=LONG), requests.call("project", round=number)
        )
    assert [(count.written, count.read) for count in counts(server)] == [(0, 0), (0, 0)]


@pytest.mark.parametrize(("step", "request_"), [("formulate", requests.formulation()), ("plan", requests.planner())])
async def test_what_is_read_once_is_not_written_beyond_the_system_prompt(
    serve: Serve, engine_at: Engines, step: str, request_: Request
) -> None:
    server = serve()
    await engine_at(server).answer(steps.STEPS[step], request_, requests.call(step))
    marked = [block for message in server.served[0].request["messages"] for block in message["content"]]
    assert not any("cache_control" in block for block in marked)
