"""A model judges one run by a written rubric (prompts/*/judge.md). A finding counts if it names a place in the record.

So far no model has judged a run: this code is tested with scripted answers.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Final, Protocol, TypeVar

from pydantic import Field

from tongyao.evals.cases import Case
from tongyao.llm import prompts, rendering
from tongyao.llm.engine import Answer
from tongyao.llm.rendering import plan_text
from tongyao.protocol.documents.markdown import observation_markdown, projection_markdown, tension_markdown
from tongyao.protocol.guards.naming import named_ids
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.value import Draft, Value
from tongyao.protocol.rules import read_access, request_access

DraftT = TypeVar("DraftT", bound=Draft)

SCORES: Final = ("discovery", "offsets", "translation", "restraint", "delta", "plan", "residuals")


class LinkJudged(Draft):
    id: str
    found: bool = False
    where: str = ""


class TrapJudged(Draft):
    id: str
    avoided: bool = True
    where: str = ""


class Scores(Draft):
    discovery: int = 0
    offsets: int = 0
    translation: int = 0
    restraint: int = 0
    delta: int = 0
    plan: int = 0
    residuals: int = 0


class JudgementDraft(Draft):
    """The answer of the judge: findings first, then the scores based on them."""

    links: list[LinkJudged] = Field(default_factory=list)
    traps: list[TrapJudged] = Field(default_factory=list)
    scores: Scores = Scores()
    remarks: str = ""


class Judgement(Value):
    """The judgement after checking. `unplaced`: findings that name no place in the record and therefore do not count."""

    found: dict[str, str] = Field(description="Link → the place in the record that states it.")
    missed: tuple[str, ...]
    fallen: dict[str, str] = Field(description="Trap → the place where the record falls into it.")
    scores: dict[str, int] = Field(description="1 to 5; other scores are left out.")
    unplaced: int = 0
    remarks: str = ""
    model: str = ""
    cost: Decimal = Decimal(0)


class Judge(Protocol):
    async def ask(self, system: str, text: str, draft: type[DraftT]) -> Answer[DraftT]: ...


async def judge_record(judge: Judge, case: Case, record: Record, names: dict[str, str]) -> Judgement:
    """Let the judge judge `record` against its case. `names`: alias → id in the case. Raises the errors of `judge.ask`."""
    answer = await judge.ask(
        prompts.judging(case.language, JudgementDraft), judge_prompt(case, record, names), JudgementDraft
    )
    draft, known = answer.draft, record.item_ids()
    said = [(link.id, link.where) for link in draft.links] + [(trap.id, trap.where) for trap in draft.traps]
    places = {name: named_ids([where], known) for name, where in said}
    links = [link.id for link in case.expected.links]
    traps = {trap.id for trap in case.expected.traps}
    found = {link.id: places[link.id][0] for link in draft.links if link.found and link.id in links and places[link.id]}
    fallen = {
        trap.id: places[trap.id][0] for trap in draft.traps if not trap.avoided and trap.id in traps and places[trap.id]
    }
    claimed = sum(link.found for link in draft.links) + sum(not trap.avoided for trap in draft.traps)
    return Judgement(
        found=found,
        missed=tuple(link for link in links if link not in found),
        fallen=fallen,
        scores={name: value for name in SCORES if 1 <= (value := getattr(draft.scores, name)) <= 5},
        unplaced=claimed - len(found) - len(fallen),
        remarks=draft.remarks,
        model=answer.model,
        cost=answer.cost,
    )


def judge_prompt(case: Case, record: Record, names: dict[str, str]) -> str:
    """The prompt of the judge: the people and the expected findings of the case, and the record with aliases."""
    language = record.language
    rounds = request_access.exchange(record, until=record.round)
    parts = [
        rendering.data("people", "\n".join(f"{alias}: {name}" for alias, name in sorted(names.items()))),
        rendering.data("answer", json.dumps(_answer_of(case), ensure_ascii=False, indent=1), by="author"),
        rendering.data("tension", tension_markdown(read_access.shown_tension(record), language)),
    ]
    for exchange in rounds:
        told = [projection_markdown(said, language) for said in exchange.projections]
        told += [] if exchange.observation is None else [observation_markdown(exchange.observation, language)]
        parts.append(rendering.data("round", "\n".join(told), number=exchange.round))
    if record.plans:
        parts.append(rendering.data("plan", plan_text(record.plans[0], language)))
    return "\n\n".join((*parts, '<task step="judge" />'))


def _answer_of(case: Case) -> dict[str, object]:
    return {
        "links": [
            {"id": link.id, "kind": link.kind, "between": link.between, "by_round": link.by_round, "about": link.about}
            for link in case.expected.links
        ],
        "traps": [
            {"id": trap.id, "kind": trap.kind, "between": trap.between, "about": trap.about}
            for trap in case.expected.traps
        ],
    }
