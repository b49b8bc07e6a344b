"""The judge on scripted answers: what counts is what has a place in the record. No model has judged anything yet."""

from __future__ import annotations

from typing import Any, TypeVar

import pytest

from tests.support.messages_api.fixtures import Serve
from tests.support.messages_api.server import MessagesServer
from tongyao.evals.anthropic_judge import AnthropicJudge
from tongyao.evals.cases import Case, Expected, Link, Trap
from tongyao.evals.judge import JudgementDraft, judge_prompt, judge_record
from tongyao.llm import prompts
from tongyao.llm.engine import Answer
from tongyao.protocol.model.observation import Observation, Relation, RelationKind
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.projection import Item, ItemKind, Outcome, Projection
from tongyao.protocol.model.record import Participant, Record
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.model.value import Draft

DraftT = TypeVar("DraftT", bound=Draft)
CASE = Case(
    id="c",
    language="en",
    intent="i",
    profiles={"ada": "I keep ice.", "bo": "I need ice."},
    expected=Expected(
        links=(
            Link(id="L1", kind="complementary", between=("ada", "bo"), a_terms=("ice",), b_terms=("ice",)),
            Link(id="L2", kind="offsetting", between=("ada", "bo")),
        ),
        traps=(Trap(id="T1", kind="false_relation", between=("ada", "bo")),),
    ),
)
NAMES = {"P01": "ada", "P02": "bo"}


def record() -> Record:
    items = {alias: Item(id=f"R1/{alias}/1", kind=ItemKind.CAPABILITY, text="ice") for alias in NAMES}
    return Record(
        process_id="p",
        phase=Phase.COMPLETED,
        round=1,
        tension=Tension(transition="from thaw to frost"),
        participants=tuple(Participant(alias=alias) for alias in NAMES),
        projections=tuple(
            Projection(round=1, alias=alias, outcome=Outcome.REPLIED, items=(item,)) for alias, item in items.items()
        ),
        observations=(
            Observation(
                round=1,
                relations=(
                    Relation(
                        id="R1/r1",
                        between=("P01", "P02"),
                        kind=RelationKind.COMPLEMENTARY,
                        text="one keeps what the other needs",
                        sources=("R1/P01/1", "R1/P02/1"),
                    ),
                ),
            ),
        ),
    )


class Scripted:
    def __init__(self, **said: Any) -> None:
        self.said = said

    async def ask(self, system: str, text: str, draft: type[DraftT]) -> Answer[DraftT]:
        return Answer(draft=draft.model_validate(self.said), text="", engine="scripted", model="script")


async def test_a_finding_counts_only_with_its_place_in_the_record() -> None:
    judge = Scripted(
        links=[
            {"id": "L1", "found": True, "where": "[R1/r1]"},
            {"id": "L2", "found": True, "where": "it is obvious"},
            {"id": "L9", "found": True, "where": "R1/r1"},
        ],
        traps=[{"id": "T1", "avoided": False, "where": "R7/r1"}],
        scores={"discovery": 4, "offsets": 9, "restraint": 5},
        remarks="R1/r1 is the best.",
    )
    judgement = await judge_record(judge, CASE, record(), NAMES)
    assert judgement.found == {"L1": "R1/r1"}
    assert judgement.missed == ("L2",)
    assert judgement.fallen == {}
    assert judgement.unplaced == 3
    assert judgement.scores == {"discovery": 4, "restraint": 5}


def test_the_judge_reads_the_answer_the_record_and_who_is_who() -> None:
    told = judge_prompt(CASE, record(), NAMES)
    for part in ("P01: ada", '"id": "L2"', "`R1/P02/1` **capability** ice", "`R1/r1` **complementary** P01 – P02"):
        assert part in told


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_rubric_names_every_score_and_level(language: Any) -> None:
    rubric = prompts.judging(language, JudgementDraft)
    for name in ("discovery", "offsets", "translation", "restraint", "delta", "plan", "residuals", "where"):
        assert f"`{name}`" in rubric
    assert '"scores"' in rubric


async def test_a_model_behind_the_messages_api_judges_in_the_wanted_shape(serve: Serve) -> None:
    said = '```json\n{"links": [{"id": "L1", "found": "yes", "where": "R1/r1"}], "scores": {"plan": "3"}}\n```'
    server: MessagesServer = serve(respond=lambda request: said, knows=frozenset())
    judge = AnthropicJudge(api_key="k", base_url=server.base_url, model="claude-opus-5-5")
    judgement = await judge_record(judge, CASE, record(), NAMES)
    await judge.aclose()
    assert (judgement.found, judgement.scores) == ({"L1": "R1/r1"}, {"plan": 3})
    assert judgement.cost > 0
