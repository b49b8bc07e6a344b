"""The scripted engine does what its script says, and something short and valid where it says nothing."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.scripted import Rule, Script, ScriptedEngine, ScriptError, journal_of, read_calls
from tongyao.llm.engine import Call, CallKey, Engine, Reask
from tongyao.llm.errors import Cut, EngineError, ModelRefused, OperatorNeeded, StepFailed, Transient, Unreadable
from tongyao.protocol.guards.checks import complaints_of
from tongyao.protocol.guards.items import item_checks
from tongyao.protocol.guards.observations import coverage
from tongyao.protocol.guards.plans import settle_plan
from tongyao.protocol.guards.quoting import Shown
from tongyao.protocol.model import steps
from tongyao.protocol.model.observation import RelationKind, Verdict
from tongyao.protocol.model.projection import Item, ItemKind, Outcome, Projection
from tongyao.protocol.model.requests import (
    CatalystRequest,
    EndpointRequest,
    Exchange,
    FormulationRequest,
    Material,
    Piece,
    PlannerRequest,
)
from tongyao.protocol.model.tension import Grade, Lineage, Tension, from_draft

PROFILE = "I mend clocks that nobody else will open, and have done so for thirty years. I keep a shop by the quay."
TENSION = Tension(
    transition="from a stopped tower clock to one the town can hear",
    initial_state="a clock of 1888 without its striking train",
    barriers=("nobody here has ever taken such a train apart",),
    exchange="the key of the tower and a winter of evenings",
)
ALIASES = ("P01", "P02", "P03")


def call(step: str, *, round: int = 0, alias: str = "", reask: int = 0, process: str = "p1") -> Call:
    key = CallKey(process, step, round=round, alias=alias, reask=reask)
    return Call(key, reask=Reask(previous="{}", complaints=("mend it",)) if reask else None)


def turn(alias: str = "P01", round: int = 1, text: str = PROFILE) -> EndpointRequest:
    material = Material(pieces=(Piece(start=0, text=text),) if text else (), total_chars=len(text))
    return EndpointRequest(language="en", alias=alias, round=round, tension=TENSION, material=material)


def heard(round: int = 1) -> CatalystRequest:
    projections = tuple(
        Projection(
            round=1,
            alias=alias,
            outcome=Outcome.REPLIED,
            items=(
                Item(
                    id=f"R1/{alias}/1",
                    kind=ItemKind.CAPABILITY,
                    text="mends clocks",
                    quotes=("I mend clocks",),
                ),
            ),
        )
        for alias in ALIASES
    )
    return CatalystRequest(
        language="en",
        round=round,
        tension=TENSION,
        exchange=(Exchange(round=1, projections=projections),),
        contributors=ALIASES,
        verdict_counts=round > 2,
    )


def written() -> PlannerRequest:
    return PlannerRequest(language="en", tension=TENSION, exchange=heard().exchange, aliases=ALIASES)


def engine(*rules: Rule, verdicts: list[Verdict] | None = None) -> ScriptedEngine:
    return ScriptedEngine(Script(rules=list(rules), **({"verdicts": verdicts} if verdicts else {})))


def test_it_is_an_engine() -> None:
    one: Engine = ScriptedEngine()
    assert one.name == "scripted"
    assert one.model_for("plan") == "script"


async def test_without_a_script_a_tension_is_complete() -> None:
    request = FormulationRequest(language="en", intent="I want our tower clock to strike again.")
    answer = await engine().answer(steps.FORMULATE, request, call("formulate"))
    assert from_draft(answer.draft, language="en").grade is Grade.A
    assert answer.labels == ("scripted",)


async def test_without_a_script_a_turn_quotes_the_material_and_passes_the_guard() -> None:
    for round in (1, 2, 9):
        request = turn(round=round)
        answer = await engine().answer(steps.PROJECT, request, call("project", round=round, alias="P01"))
        assert len(answer.draft.items) == 1
        assert not complaints_of(answer.draft, request, item_checks(Shown(PROFILE)))


async def test_an_empty_profile_says_nothing_new() -> None:
    silent = await engine().answer(steps.PROJECT, turn(text=""), call("project", round=1, alias="P01"))
    assert not silent.draft.items


async def test_without_a_script_every_pair_is_examined_and_the_verdict_is_the_rounds() -> None:
    one = engine(verdicts=[Verdict.MORE, Verdict.EXHAUSTED])
    verdicts = [(await one.answer(steps.OBSERVE, heard(n), call("observe", round=n))).draft.verdict for n in (1, 2, 3)]
    assert verdicts == ["more", "exhausted", "exhausted"]
    draft = (await one.answer(steps.OBSERVE, heard(), call("observe", round=1))).draft
    assert not list(coverage(draft, heard()))
    assert (len(draft.none), draft.relations) == (3, [])


async def test_a_rule_relates_a_pair_and_its_sources_are_items() -> None:
    one = engine(Rule(step="observe", relate={"P01-P03": RelationKind.ALIGNED}))
    (related,) = (await one.answer(steps.OBSERVE, heard(), call("observe", round=1))).draft.relations
    assert (related.between, related.sources) == (["P01", "P03"], ["R1/P01/1", "R1/P03/1"])


@pytest.mark.parametrize(
    ("do", "error"),
    [
        ("cut", Cut),
        ("unreadable", Unreadable),
        ("refused", ModelRefused),
        ("transient", Transient),
        ("operator_needed", OperatorNeeded),
        ("step_failed", StepFailed),
    ],
)
async def test_every_failure_can_be_had(do: str, error: type[EngineError]) -> None:
    one = engine(Rule.model_validate({"do": do, "message": "as scripted"}))
    with pytest.raises(error, match="as scripted") as raised:
        await one.answer(steps.PLAN, written(), call("plan"))
    assert type(raised.value) is error
    assert raised.value.usage.total > 0, "a failed call is paid for as well"


async def test_the_first_rule_that_fits_decides_and_the_others_are_left_alone() -> None:
    one = engine(
        Rule(step="project", round=2, alias="P0[12]", do="refused"),
        Rule(step="project", round=[2, 3], do="step_failed"),
    )
    with pytest.raises(ModelRefused):
        await one.answer(steps.PROJECT, turn("P02", 2), call("project", round=2, alias="P02"))
    with pytest.raises(StepFailed) as raised:
        await one.answer(steps.PROJECT, turn("P03", 3), call("project", round=3, alias="P03"))
    assert not isinstance(raised.value, ModelRefused)
    assert (await one.answer(steps.PROJECT, turn("P02", 1), call("project", round=1, alias="P02"))).draft.items


async def test_transient_twice_then_answered() -> None:
    one = engine(Rule(step="observe", attempt=[1, 2], do="transient", retry_after=1.5))
    for _ in range(2):
        with pytest.raises(Transient) as raised:
            await one.answer(steps.OBSERVE, heard(), call("observe", round=1))
        assert raised.value.retry_after == 1.5
    assert (await one.answer(steps.OBSERVE, heard(), call("observe", round=1))).draft.none
    assert [received.attempt for received in one.received] == [1, 2, 3]


async def test_a_rule_holds_until_it_is_mended_by_word_or_by_file(tmp_path: Path) -> None:
    flag = tmp_path / "key"
    by_word, by_file = (
        engine(Rule(do="operator_needed", until="key")),
        engine(Rule(do="refused", until=str(flag))),
    )
    for one in (by_word, by_file):
        with pytest.raises(EngineError):
            await one.answer(steps.PLAN, written(), call("plan"))
    by_word.mend("key")
    flag.touch()
    for one in (by_word, by_file):
        assert (await one.answer(steps.PLAN, written(), call("plan"))).draft.possible


async def test_silent_answers_to_nothing_but_cancellation() -> None:
    waiting = asyncio.create_task(engine(Rule(do="silent")).answer(steps.PLAN, written(), call("plan")))
    done, _ = await asyncio.wait([waiting], timeout=0.05)
    assert not done
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


@pytest.mark.parametrize("spoil", ["invented_quote", "unquoted"])
async def test_items_without_evidence_are_found_by_the_guard(spoil: str) -> None:
    one = engine(Rule.model_validate({"step": "project", "reask": 0, "spoil": [spoil]}))
    draft = (await one.answer(steps.PROJECT, turn(), call("project", round=1, alias="P01"))).draft
    assert len(complaints_of(draft, turn(), item_checks(Shown(PROFILE)))) == 1
    mended = (await one.answer(steps.PROJECT, turn(), call("project", round=1, alias="P01", reask=1))).draft
    assert len(mended.items) == 1


async def test_a_missing_pair_is_found_by_the_guard() -> None:
    draft = (await engine(Rule(spoil=["missing_pair"])).answer(steps.OBSERVE, heard(), call("observe", round=1))).draft
    (missing,) = coverage(draft, heard())
    assert "P01-P02" in missing.text


async def test_an_unknown_source_and_a_cycle_are_found_by_the_guard() -> None:
    one = engine(Rule(step="plan", spoil=["unknown_source", "cycle"]))
    draft = (await one.answer(steps.PLAN, written(), call("plan"))).draft
    plan = settle_plan(draft, written(), lineage=Lineage(root="p1", parent="p1", residual="-", depth=1))
    assert [claim.supported for claim in plan.possible] == [True, False]
    assert sum(len(task.prerequisites) for task in draft.tasks) == 3
    assert sum(len(task.prerequisites) for task in plan.tasks) == 2


async def test_a_fault_that_does_not_fit_its_step_is_refused() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        await engine(Rule(spoil=["cycle"])).answer(steps.OBSERVE, heard(), call("observe", round=1))


async def test_a_draft_of_the_wrong_structure_is_unreadable_with_what_came() -> None:
    with pytest.raises(Unreadable) as raised:
        await engine(Rule(draft={"relations": "all of them"})).answer(steps.OBSERVE, heard(), call("observe", round=1))
    assert "all of them" in raised.value.text


async def test_fields_of_a_rule_stand_in_the_draft_beside_the_defaults() -> None:
    rule = Rule(step="observe", draft={"notes": [{"kind": "gap", "about": ["B1"], "text": "nobody"}]})
    draft = (await engine(rule).answer(steps.OBSERVE, heard(), call("observe", round=1))).draft
    assert [note.about for note in draft.notes] == [["B1"]]
    assert len(draft.none) == 3


async def test_calls_are_kept_so_that_a_canary_can_be_looked_for() -> None:
    one = engine()
    await one.answer(
        steps.PROJECT, turn(text='the canary says "tweet"\nand more of it'), call("project", round=1, alias="P01")
    )
    await one.answer(steps.OBSERVE, heard(), call("observe", round=1))
    assert [received.mentions('canary says "tweet"\nand') for received in one.received] == [True, False]


def test_a_script_that_is_wrong_names_file_and_place(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text('{"rules": [{"step": "project", "do": "dance"}]}')
    with pytest.raises(ScriptError, match=r"script\.json: rules\.0\.do"):
        Script.load(path)
    with pytest.raises(ScriptError, match="cannot be read"):
        Script.load(tmp_path / "none.json")


def test_yaml_and_json_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("verdicts: [exhausted]\nrules:\n  - {step: [plan, deliver], do: silent}\n")
    (tmp_path / "a.json").write_text(
        '{"verdicts": ["exhausted"], "rules": [{"step": ["plan", "deliver"], "do": "silent"}]}'
    )
    assert Script.load(tmp_path / "a.yaml") == Script.load(tmp_path / "a.json")


_WORKER = """
import asyncio, sys
from pathlib import Path
from tests.llm.test_scripted import call, written
from tests.support.scripted import ScriptedEngine
from tongyao.protocol.model.steps import PLAN

engine = ScriptedEngine.from_file(Path(sys.argv[1]))
print(asyncio.run(engine.answer(PLAN, written(), call("plan"))).draft.possible[0].text)
"""


def test_a_worker_that_is_killed_at_its_first_attempt_answers_at_its_second(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"rules": [{"step": "plan", "attempt": 1, "do": "crash"}]}))
    runs = [
        subprocess.run([sys.executable, "-c", _WORKER, str(script)], capture_output=True, text=True, check=False)
        for _ in range(2)
    ]
    assert [run.returncode for run in runs] == [-9, 0], runs[1].stderr
    assert runs[1].stdout.strip()
    calls = read_calls(journal_of(script))
    assert [one["attempt"] for one in calls] == [1, 2]
    assert len({one["pid"] for one in calls}) == 2
    assert calls[0]["request"]["tension"]["transition"] == TENSION.transition
