"""A process in memory with the extractive engine and the real guards: what the tests of the engine look at.

`python -m tests.llm.extractive.extractive_process [FOLDER …]` prints the figures of docs/extractive.md: numbers only, no text of a
case. Without folders: the examples that are not held out, and the cases under `tests/llm/data/everyday`.
"""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tongyao.evals.cases import Case, load
from tongyao.evals.measure import Measures, measure
from tongyao.llm.engine import Call, CallKey
from tongyao.llm.extractive.engine import ExtractiveEngine
from tongyao.protocol.guards.evidence import check_items
from tongyao.protocol.guards.observation_review import settle_observation
from tongyao.protocol.guards.plans import settle_plan
from tongyao.protocol.model import steps
from tongyao.protocol.model.observation import Observation, Verdict
from tongyao.protocol.model.plan import PlanDraft
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.projection import Outcome, Projection
from tongyao.protocol.model.record import Participant, Record
from tongyao.protocol.model.requests import (
    CatalystRequest,
    EndpointRequest,
    Exchange,
    FormulationRequest,
    Language,
    Material,
    Piece,
    PlannerRequest,
)
from tongyao.protocol.model.tension import Lineage, Tension, from_draft

EXAMPLES = Path(__file__).parents[3] / "examples"
EVERYDAY = Path(__file__).parents[1] / "data" / "everyday"
ENGINE = ExtractiveEngine()


def call(step: str = "project") -> Call:
    return Call(CallKey("p1", step))


def whole(text: str) -> Material:
    return Material(pieces=(Piece(start=0, text=text),), total_chars=len(text))


@dataclass(frozen=True)
class Ran:
    """What came of a process: its rounds in order, the plan, and the profiles by alias."""

    tension: Tension
    rounds: tuple[Exchange, ...]
    plan: PlanDraft
    profiles: dict[str, str]

    @property
    def last(self) -> Observation:
        observation = self.rounds[-1].observation
        assert observation is not None
        return observation

    def said(self) -> dict[str, str]:
        """Item ids with their statements."""
        return {item.id: item.statement for turn in self.rounds for one in turn.projections for item in one.items}

    def known(self) -> dict[str, str]:
        """Every id that a source of the plan may name, with its text."""
        known = self.said() | {f"T/{name}": text for name, text in self.tension.targets().items()}
        for turn in self.rounds:
            known |= turn.observation.texts() if turn.observation else {}
        return known

    def selected(self) -> set[tuple[str, int]]:
        """The sentences that were picked, as (alias, start)."""
        return {
            (one.alias, span.start)
            for turn in self.rounds
            for one in turn.projections
            for item in one.items
            for span in item.spans
        }


def cases() -> list[Case]:
    """The example cases, without the held-out ones."""
    folders = sorted(path.parent for path in EXAMPLES.glob("**/case.json"))
    return [load(folder) for folder in folders if "held-out" not in folder.parts]


def everyday() -> list[Case]:
    """Small cases in the Markdown that people type, on which the engine is developed."""
    return [load(path.parent) for path in sorted(EVERYDAY.glob("*/case.json"))]


async def formulated(language: Language, intent: str, demander: str) -> Tension:
    request = FormulationRequest(language=language, intent=intent, material=whole(demander) if demander else None)
    return from_draft((await ENGINE.answer(steps.FORMULATE, request, call("formulate"))).draft, language=language)


async def process(language: Language, tension: Tension, profiles: dict[str, str]) -> Ran:
    """Rounds as the protocol runs them: until all say `nothing_new`, or two verdicts in a row from round 3,
    or 7."""
    aliases = {f"P{number:02d}": text for number, text in enumerate(profiles.values(), 1)}
    rounds: list[Exchange] = []
    verdicts: list[Verdict] = []
    for number in range(1, 8):
        turns = tuple([await _turn(language, tension, alias, text, rounds) for alias, text in aliases.items()])
        rounds.append(Exchange(round=number, projections=turns))
        contributors = _contributors(rounds)
        request = CatalystRequest(
            language=language,
            round=number,
            tension=tension,
            exchange=tuple(rounds),
            contributors=contributors,
            verdict_counts=number >= 3,
        )
        draft = (await ENGINE.answer(steps.OBSERVE, request, call("observe"))).draft
        observation = settle_observation(draft, request)
        rounds[-1] = rounds[-1].model_copy(update={"observation": observation})
        verdicts.append(draft.verdict)
        if number >= 2 and all(turn.outcome is Outcome.NOTHING_NEW for turn in turns):
            break
        if number >= 4 and verdicts[-2:] == [Verdict.EXHAUSTED, Verdict.EXHAUSTED]:
            break
    request_of_plan = PlannerRequest(
        language=language, tension=tension, exchange=tuple(rounds), aliases=_contributors(rounds)
    )
    plan = (await ENGINE.answer(steps.PLAN, request_of_plan, call("plan"))).draft
    return Ran(tension, tuple(rounds), plan, aliases)


async def _turn(language: Language, tension: Tension, alias: str, text: str, rounds: list[Exchange]) -> Projection:
    own = tuple(one for turn in rounds for one in turn.projections if one.alias == alias)
    request = EndpointRequest(
        language=language,
        alias=alias,
        round=len(rounds) + 1,
        tension=tension,
        material=whole(text),
        own=own,
        observations=tuple(turn.observation for turn in rounds if turn.observation),
    )
    draft = (await ENGINE.answer(steps.PROJECT, request, call())).draft
    checked = check_items(
        draft.items,
        text=text,
        source="profile",
        round_number=request.round,
        alias=alias,
        targets=tension.target_names(),
    )
    assert not checked.rejected, checked.rejected
    outcome = Outcome.NOTHING_NEW if draft.nothing_new else Outcome.REPLIED
    return Projection(round=request.round, alias=alias, outcome=outcome, items=checked.items)


def relations(case: Case, ran: Ran) -> tuple[int, int]:
    """Of the related pairs of the last observation: those with an expected link of that kind between them, and the others."""
    names = dict(zip(ran.profiles, case.profiles, strict=True))
    expected = {(frozenset(link.between), link.kind) for link in case.expected.links}
    stated = [pair for pair in ran.last.pairs if pair.relation.related]
    true = sum((frozenset((names[pair.a], names[pair.b])), pair.relation.value) in expected for pair in stated)
    return true, len(stated) - true


def _contributors(rounds: list[Exchange]) -> tuple[str, ...]:
    return tuple(sorted({one.alias for turn in rounds for one in turn.projections if one.items}))


async def measured(case: Case, ran: Ran) -> Measures:
    """What the run found of what the case expects, counted as `tongyao eval` counts it."""
    plan = settle_plan(
        ran.plan,
        revision=1,
        language=case.language,
        contributors=_contributors(list(ran.rounds)),
        known=ran.known(),
        lineage=Lineage(root="p1", parent="p1", residual="-", depth=1),
    )
    record = Record(
        process_id="p1",
        language=case.language,
        phase=Phase.COMPLETED,
        tension=ran.tension,
        participants=tuple(Participant(alias=alias) for alias in ran.profiles),
        projections=tuple(one for turn in ran.rounds for one in turn.projections),
        observations=tuple(turn.observation for turn in ran.rounds if turn.observation),
        plans=(plan,),
    )
    names = dict(zip(ran.profiles, case.profiles, strict=True))
    return measure(case, record, names, ran.profiles, engine=ENGINE.name)


async def run_case(case: Case) -> Ran:
    return await process(case.language, await formulated(case.language, case.intent, case.demander_text), case.profiles)


async def _report(folders: list[Path]) -> None:
    print("case | people | grade | rounds | items | pairs | links found | relations true | false | CPU s")
    for case in [load(folder) for folder in folders] or [*cases(), *everyday()]:
        before = time.process_time()
        ran = await run_case(case)
        spent = time.process_time() - before
        row = await measured(case, ran)
        found, there = row.found()
        true, false = relations(case, ran)
        print(
            f"{case.id} | {row.people} | {row.grade} | {row.rounds} | {len(ran.said())} | {len(ran.last.pairs)} | "
            f"{found} of {there} | {true} | {false} | {spent:.1f}"
        )


if __name__ == "__main__":
    asyncio.run(_report([Path(name) for name in sys.argv[1:]]))
