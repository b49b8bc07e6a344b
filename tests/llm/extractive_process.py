"""A process in memory with the extractive engine and the real guards: what the tests of the engine look at.

`python -m tests.llm.extractive_process` prints the figures of docs/extractive.md.
"""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from pathlib import Path

from tongyao.llm.engine import Call, CallKey
from tongyao.llm.extractive.engine import ExtractiveEngine
from tongyao.llm.extractive.sentences import split
from tongyao.protocol.guards.evidence import check_items
from tongyao.protocol.guards.settling import settle_observation
from tongyao.protocol.model import steps
from tongyao.protocol.model.observation import Observation, Relation, Verdict
from tongyao.protocol.model.plan import PlanDraft
from tongyao.protocol.model.projection import Outcome, Projection
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
from tongyao.protocol.model.tension import Tension, from_draft

EXAMPLES = Path(__file__).parents[2] / "examples"
ENGINE = ExtractiveEngine()


def call(step: str = "project") -> Call:
    return Call(CallKey("p1", step))


def whole(text: str) -> Material:
    return Material(pieces=(Piece(start=0, text=text),), total_chars=len(text))


@dataclass(frozen=True)
class Case:
    id: str
    language: Language
    intent: str
    demander: str
    profiles: dict[str, str]
    links: tuple[tuple[frozenset[str], str], ...]
    """What a careful reader expects between two people: who, and which relation."""


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
        """Item ids with their claims."""
        return {item.id: item.claim for turn in self.rounds for one in turn.projections for item in one.items}

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
    """All the example cases but the held-out ones, of which only scores are looked at."""
    found = []
    for path in sorted(one for one in EXAMPLES.glob("**/case.json") if "held-out" not in one.parts):
        case = json.loads(path.read_text(encoding="utf-8"))
        demander = path.parent / case["demander"] if case["demander"] else None
        profiles = {
            name: (path.parent / "profiles" / f"{name}.md").read_text(encoding="utf-8") for name in case["participants"]
        }
        found.append(
            Case(
                id=case["id"],
                language=case["language"],
                intent=case["intent"],
                demander=demander.read_text(encoding="utf-8") if demander else "",
                profiles=profiles,
                links=_links(path.with_name("expected.json")),
            )
        )
    return found


def _links(path: Path) -> tuple[tuple[frozenset[str], str], ...]:
    links = json.loads(path.read_text(encoding="utf-8"))["links"]
    return tuple((frozenset(one["between"]), one["kind"]) for one in links if len(one["between"]) == 2)


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


def _contributors(rounds: list[Exchange]) -> tuple[str, ...]:
    return tuple(sorted({one.alias for turn in rounds for one in turn.projections if one.items}))


async def _report() -> None:
    print("case  people  grade  rounds  items  pairs  none_found  links found  unexpected  cpu s")
    for case in cases():
        before = time.process_time()
        tension = await formulated(case.language, case.intent, case.demander)
        ran = await process(case.language, tension, case.profiles)
        spent = time.process_time() - before
        names = dict(zip(ran.profiles, case.profiles, strict=True))
        seen = {frozenset((names[pair.a], names[pair.b])): pair.relation for pair in ran.last.pairs}
        none = sum(relation is Relation.NONE_FOUND for relation in seen.values())
        hits = sum(seen.get(who) == kind for who, kind in case.links)
        expected = {who for who, _ in case.links}
        stray = sum(relation.related and who not in expected for who, relation in seen.items())
        print(
            f"{case.id} | {len(case.profiles)} | {tension.grade} | {len(ran.rounds)} | {len(ran.said())} | "
            f"{len(seen)} | {none} | {hits} of {len(case.links)} | {stray} | {spent:.1f}"
        )
    ferry = next(case for case in cases() if "oysters" in case.profiles)
    for characters in (5_000, 50_000, 2_000_000):
        text = (ferry.profiles["oysters"] * (characters // 2_000))[:characters]
        before = time.process_time()
        split(text)
        print(f"splitting {characters} characters: {time.process_time() - before:.2f} s")


if __name__ == "__main__":
    asyncio.run(_report())
