"""What a demander is told beside a choice before they take it, and of one that was refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tongyao.app.choosing.choices import Choices, engine_of
from tongyao.app.messaging.messages import in_detail
from tongyao.gateway.console.pages import environment, words
from tongyao.gateway.console.texts import Language, say
from tongyao.protocol.model.messages import DecideBody, SelectParticipantsBody
from tongyao.protocol.rules.refusals import MessageVerdict, Refusal

TAKEN_UP = {
    "en": ("proposed are included", "cannot be included"),
    "zh": ("写进别人提的修改", "写不进去"),
}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("taken_up", [True, False])
def test_beside_the_one_new_plan_it_says_whether_proposals_are_worked_in(language: Language, taken_up: bool) -> None:
    page = "{% import 'parts/macros.html' as m with context %}{{ m.replan_then(choices) }}"
    choices = Choices(options=("replan", "conclude"), takes_up_proposals=taken_up)
    said = environment().from_string(page).render(choices=choices, **words(language))
    assert [one in said for one in TAKEN_UP[language]] == [taken_up, not taken_up]


async def test_the_engine_of_a_step_is_that_of_the_process_and_not_that_of_today() -> None:
    async def manifest(process_id: str) -> dict[str, Any]:
        return {"*": {"engines": {"plan": "extractive", "observe": "anthropic"}}} if process_id == "c-1" else {}

    repositories: Any = SimpleNamespace(seats=SimpleNamespace(manifest=manifest))
    assert await engine_of(repositories, "c-1", "plan") == "extractive"
    assert await engine_of(repositories, "c-2", "plan") == "", "it has not begun"


def test_too_few_participants_are_told_how_many_are_needed_and_what_to_do() -> None:
    process: Any = SimpleNamespace(settings={"quorum": 3})
    few = MessageVerdict.refused(Refusal.NO_PARTICIPANTS)
    selected = SelectParticipantsBody(kind="select_participants", participants=("p-1",))
    told = in_detail(few, selected, process)
    assert told.code == few.code
    assert "1 given, at least 3 needed. Add 2 more" in told.en
    assert "至少要 3 位，现在写了 1 位。请再加 2 位" in told.zh
    nobody = DecideBody.model_validate({"kind": "decide", "decision": "add_participants"})
    assert "0 given, at least 1 needed" in in_detail(few, nobody, process).en


@pytest.mark.parametrize("left", [0, 1, 2])
def test_where_too_few_are_left_the_demander_reads_how_many_a_round_needs(left: int) -> None:
    told = say("en", "ask.stopped_quorum", n=left, needed=3, round=2)
    assert "A round needs at least 3 people" in told
    assert ("nobody is left", "one is left", "2 are left")[left] in told
    assert "至少要 3 个人" in say("zh", "ask.stopped_quorum", n=left, needed=3, round=2)
