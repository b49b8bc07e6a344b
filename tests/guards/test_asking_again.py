"""The loop of all model steps: ask, check, ask once more for what was complained of, strike what is still wrong, count it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from activities.llm.model_calls import ModelCalls, Question, Settled
from tongyao.llm.engine import CallKey, Reask
from tongyao.llm.errors import EngineError, ModelRefused, OutOfBudget, Transient, Unreadable
from tongyao.protocol.guards.checks import Complaint
from tongyao.protocol.model import steps
from tongyao.protocol.model.projection import ItemDraft, ItemKind, ProjectionDraft
from tongyao.protocol.model.requests import EndpointRequest
from tongyao.protocol.model.tension import Tension

REQUEST = EndpointRequest(language="en", alias="P01", round=1, tension=Tension(transition="t"))
QUESTION = Question(steps.PROJECT, CallKey("p", "project", round=1, alias="P01"), REQUEST, "o", 1.0)


class Calls(ModelCalls):
    """Answers with `first`, which took the repair of an unreadable answer or not, then with `second` or an error."""

    def __init__(
        self, first: ProjectionDraft, second: ProjectionDraft | EngineError, *, repaired: bool = False
    ) -> None:
        self.first, self.second, self.repaired = first, second, repaired
        self.reasks: list[Reask] = []

    async def ask(self, question: Any) -> Any:
        return Settled(self.first, "the first answer"), self.repaired

    async def call(self, question: Any, reask: Reask | None = None) -> Any:
        assert reask is not None
        self.reasks.append(reask)
        if isinstance(self.second, EngineError):
            raise self.second
        return Settled(self.second, "the second answer")


def items(*texts: str) -> ProjectionDraft:
    return ProjectionDraft(items=[ItemDraft(kind=ItemKind.CAPABILITY, text=text) for text in texts])


def no_bad(draft: ProjectionDraft, request: EndpointRequest) -> Iterator[Complaint]:
    for number, item in enumerate(draft.items):
        if item.text.startswith("bad"):
            yield Complaint(text=f"{request.alias}: {item.text}", reason="bad", fields=("items",), entry=number)


def at_most_three(draft: ProjectionDraft, request: EndpointRequest) -> Iterator[Complaint]:
    for number in range(3, len(draft.items)):
        yield Complaint(text="", reason="too_many", fields=("items",), entry=number)


async def asked(calls: Calls) -> tuple[list[str], Counter[str]]:
    guards = Counter[str]()
    settled = await calls.ask_and_review(QUESTION, (no_bad, at_most_three), guards)
    return [item.text for item in settled.draft.items], +guards


async def test_an_answer_without_fault_is_asked_for_once() -> None:
    calls = Calls(items("a"), ModelRefused("never called"))
    assert await asked(calls) == (["a"], Counter())
    assert calls.reasks == []


async def test_only_what_is_still_wrong_after_the_second_answer_is_struck() -> None:
    calls = Calls(items("a", "bad 1", "bad 2"), items("mended", "bad again"))
    assert await asked(calls) == (["a", "mended"], Counter(reasked=2, struck=1, bad=1))
    assert [(one.previous, one.complaints) for one in calls.reasks] == [
        ("the first answer", ("P01: bad 1", "P01: bad 2"))
    ]


async def test_what_is_struck_without_asking_is_counted() -> None:
    calls = Calls(items("a", "b", "c", "d", "e"), ModelRefused("never called"))
    assert await asked(calls) == (["a", "b", "c"], Counter(struck=2, too_many=2))
    assert calls.reasks == []


@pytest.mark.parametrize("error", [ModelRefused("no"), Unreadable("no", text="{"), OutOfBudget("no")])
async def test_where_no_second_answer_can_be_had_the_first_is_struck(error: EngineError) -> None:
    kept, guards = await asked(Calls(items("a", "bad"), error))
    assert kept == ["a"]
    assert guards == Counter({"reasked": 1, "struck": 1, "bad": 1, error.reason: 1})


async def test_a_repair_of_an_unreadable_answer_is_the_only_one() -> None:
    calls = Calls(items("a", "bad"), items("mended"), repaired=True)
    assert await asked(calls) == (["a"], Counter(struck=1, bad=1))
    assert calls.reasks == []


async def test_a_second_call_that_may_succeed_later_fails_the_step() -> None:
    with pytest.raises(Transient):
        await asked(Calls(items("bad"), Transient("overloaded")))
