"""A recording plays back what was settled, and says by name what it does not hold."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.llm.test_scripted import call, heard, turn, written
from tests.support.scripted import Rule, Script, ScriptedEngine, TokenCounts
from tongyao.llm.engine import Answer, Call, CallKey, Engine, Usage
from tongyao.llm.errors import StepFailed
from tongyao.llm.recorded import RecordedEngine, RecordedRow, RecordedTokens, RecordingError, write_recording
from tongyao.protocol.model import steps
from tongyao.protocol.model.requests import FormulationRequest

SOURCE = ScriptedEngine(
    Script(
        model="m-1",
        rules=[Rule(step="plan", usage=TokenCounts(input_tokens=7, cache_read_tokens=5), cost=Decimal("0.25"))],
    )
)


def row_of(key: CallKey, answer: Answer[Any], *, input_hash: str = "") -> RecordedRow:
    """A settled answer as a row of a recording."""
    return RecordedRow(
        step=key.step,  # pydantic refuses any other
        round=key.round,
        alias=key.alias,
        revision=key.revision,
        reask=key.reask,
        input_hash=input_hash,
        draft=answer.draft.model_dump(mode="json"),
        text=answer.text,
        engine=answer.engine,
        model=answer.model,
        usage=RecordedTokens(
            input_tokens=answer.usage.input_tokens,
            cache_write_tokens=answer.usage.cache_write_tokens,
            cache_read_tokens=answer.usage.cache_read_tokens,
            output_tokens=answer.usage.output_tokens,
        ),
        cost=answer.cost,
        labels=answer.labels,
    )


async def rows() -> list[RecordedRow]:
    plan, project = call("plan"), call("project", round=1, alias="P01")
    return [
        row_of(plan.key, await SOURCE.answer(steps.PLAN, written(), plan), input_hash="abc"),
        row_of(project.key, await SOURCE.answer(steps.PROJECT, turn(), project)),
    ]


async def recording(tmp_path: Path, *, authored: bool = False) -> Path:
    path = tmp_path / "case.jsonl"
    assert write_recording(await rows(), path, title="a case", authored=authored) == 2
    return path


async def test_what_was_settled_is_played_back_whole_in_any_process(tmp_path: Path) -> None:
    engine: Engine = RecordedEngine(await recording(tmp_path))
    settled = await SOURCE.answer(steps.PLAN, written(), call("plan"))
    played = await engine.answer(steps.PLAN, written(), call("plan", process="another"))
    assert (played.draft, played.text, played.model) == (settled.draft, settled.text, "m-1")
    assert played.usage == Usage(input_tokens=7, cache_read_tokens=5)
    assert played.cost == 0
    assert played.engine == "recorded"
    assert played.labels == ("scripted", "recorded")
    assert engine.model_for("plan") == "m-1"
    assert engine.model_for("deliver") == ""
    assert (await engine.answer(steps.PROJECT, turn(), call("project", round=1, alias="P01"))).draft.items


@pytest.mark.parametrize(
    ("key", "named"),
    [
        (call("project", round=2, alias="P01"), "project, round 2, P01"),
        (call("project", round=1, alias="P01", reask=1), "project, round 1, P01, re-ask"),
    ],
)
async def test_a_missing_answer_fails_the_step_and_names_key_and_file(tmp_path: Path, key: Call, named: str) -> None:
    engine = RecordedEngine(await recording(tmp_path))
    with pytest.raises(StepFailed, match=rf"no recorded answer for {named} in .*case\.jsonl"):
        await engine.answer(steps.PROJECT, turn(), key)
    with pytest.raises(StepFailed, match="formulate in"):
        await engine.answer(steps.FORMULATE, FormulationRequest(language="en", intent="x"), call("formulate"))
    with pytest.raises(StepFailed, match="observe, round 1"):
        await engine.answer(steps.OBSERVE, heard(), call("observe", round=1))


async def test_authored_answers_say_so(tmp_path: Path) -> None:
    engine = RecordedEngine(await recording(tmp_path, authored=True))
    assert "authored" in (await engine.answer(steps.PLAN, written(), call("plan"))).labels


async def test_the_same_answers_give_the_same_file_whatever_their_order(tmp_path: Path) -> None:
    settled = await rows()
    write_recording(settled, tmp_path / "a.jsonl")
    write_recording(reversed(settled), tmp_path / "b.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


async def test_two_answers_for_one_key_are_refused(tmp_path: Path) -> None:
    settled = await rows()
    with pytest.raises(ValueError, match="two answers for plan"):
        write_recording([*settled, settled[0]], tmp_path / "case.jsonl")
    assert not (tmp_path / "case.jsonl").exists()


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("", "is empty"),
        ('{"recording": 2}\n', r"case\.jsonl:1: recording"),
        ('{"recording": 1}\n{"step": "dance", "draft": {}}\n', r"case\.jsonl:2: step"),
        ('{"recording": 1}\nnot json\n', r"case\.jsonl:2: line"),
        (
            '{"recording": 1}\n{"step": "plan", "draft": {}}\n{"step": "plan", "draft": {}}\n',
            r"case\.jsonl:3: a second answer",
        ),
    ],
)
def test_a_file_that_is_no_recording_is_refused_with_its_line(tmp_path: Path, lines: str, problem: str) -> None:
    path = tmp_path / "case.jsonl"
    path.write_text(lines)
    with pytest.raises(RecordingError, match=problem):
        RecordedEngine(path)


async def test_a_draft_that_does_not_fit_its_step_fails_it(tmp_path: Path) -> None:
    path = tmp_path / "case.jsonl"
    write_recording([RecordedRow(step="plan", draft={"possible": "everything"})], path)
    with pytest.raises(StepFailed, match="not a PlanDraft"):
        await RecordedEngine(path).answer(steps.PLAN, written(), call("plan"))


def test_the_key_of_a_row_is_that_of_the_call_less_its_process() -> None:
    key = CallKey("p9", "observe", round=3, reask=1)
    row = RecordedRow(step="observe", round=3, reask=1, draft={})
    assert row.key == replace(key, process="")
