"""Tokens and cost of whole processes, with and without prompt caching: `python -m bench.cost_bench`.

The real engine sends every request of a process, including its prompts, to the local Messages API of the tests. This
API counts tokens (estimated from characters) and applies the published rules of the prompt cache. No model answers. The
answers are filler of the sizes in docs/protocol.md §9, without thinking. So the input costs show the effect of the
order and the stability of the prompts. The output costs are a lower bound: the costs of answers of these sizes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from activities.formulate import PROFILE_CHARS as FORMULATION_CHARS
from activities.plan import PROFILE_CHARS as PLAN_PROFILE_CHARS
from tests.support.messages_api.responder import Responder
from tests.support.messages_api.server import MessagesServer
from tongyao.llm.anthropic.engine import AnthropicEngine
from tongyao.llm.anthropic.step_settings import DEFAULTS
from tongyao.llm.engine import Answer, Call, CallKey, Usage
from tongyao.llm.prices import shipped
from tongyao.protocol.guards.items import items_of
from tongyao.protocol.guards.observations import observation_of
from tongyao.protocol.guards.plans import settle_plan
from tongyao.protocol.guards.quoting import Shown
from tongyao.protocol.model import steps
from tongyao.protocol.model.ids import speaker_of
from tongyao.protocol.model.projection import Outcome, Projection, ProjectionDraft
from tongyao.protocol.model.requests import (
    CatalystRequest,
    DeliveryRequest,
    EndpointRequest,
    Exchange,
    FormulationRequest,
    Language,
    Material,
    Piece,
    PlannerRequest,
)
from tongyao.protocol.model.tension import Tension, from_draft
from tongyao.protocol.rules.standing import standing

ROUNDS: Final = 5
SEED_MODEL: Final = {3: "$1.10–2.05", 5: "$1.65–3.30"}
"""The cost of a 5-round process in seed 000's cost model, by number of participants."""
INTENT: Final[Mapping[Language, str]] = {
    "en": "I want to keep the winter crossing open without a second crew. We tried it with volunteers. " * 4,
    "zh": "我想让冬天的渡船不停，又不再添一班人手。试过请人义务来做，没有做成。" * 4,
}
SIZES: Final = {3: {"observe": 1_900, "plan": 5_000}, 5: {"observe": 2_300, "plan": 7_000}}
"""Bytes of Markdown per answer with which whole answers have the protocol's sizes."""


@dataclass(frozen=True)
class Sum:
    """The tokens, US dollars and mean answer size in bytes of a step or a process."""

    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    input_cost: Decimal = Decimal(0)
    output_cost: Decimal = Decimal(0)
    answer_bytes: int = 0

    @property
    def prompt_tokens(self) -> int:
        return self.usage.total - self.usage.output_tokens

    @property
    def read_share(self) -> float:
        return self.usage.cache_read_tokens / self.prompt_tokens

    def plus(self, answer: Answer[Any]) -> Sum:
        output = shipped().cost(answer.model, Usage(output_tokens=answer.usage.output_tokens)) or Decimal(0)
        return Sum(
            self.calls + 1,
            self.usage + answer.usage,
            self.input_cost + answer.cost - output,
            self.output_cost + output,
            self.answer_bytes + len(answer.text.encode()),
        )

    def and_(self, other: Sum) -> Sum:
        return Sum(
            self.calls + other.calls,
            self.usage + other.usage,
            self.input_cost + other.input_cost,
            self.output_cost + other.output_cost,
            self.answer_bytes + other.answer_bytes,
        )


def profiles(language: Language, people: int, characters: int) -> list[str]:
    """Profiles of exactly `characters` characters each, cut from the joined example profiles of the language."""
    texts = [path.read_text("utf-8") for path in sorted(Path("examples").glob(f"**/{language}-*/profiles/*.md"))]
    if not texts:
        raise SystemExit("no example profiles found: run this in the repository's root")
    whole = "\n\n".join(texts)
    step = len(whole) // people
    shifted = (whole[number * step :] + whole[: number * step] for number in range(people))
    return [(text * (characters // len(text) + 1))[:characters] for text in shifted]


@dataclass(frozen=True)
class Case:
    """A process to count. `characters`: length of each profile. `plan_characters`: the part of it that the plan reads."""

    language: Language
    people: int
    characters: int
    plan_characters: int


async def one_process(case: Case, *, cache: bool) -> dict[str, Sum]:
    """Send all requests of a process with five rounds. Returns the sums by step."""
    responder = Responder(
        rounds=ROUNDS,
        exhausted_from=4,
        items=5,
        detail=230 if case.language == "en" else 80,
        sizes={"project": 900, "deliver": 1_800, **SIZES[case.people]},
    )
    texts = profiles(case.language, case.people, case.characters)
    sums: dict[str, Sum] = defaultdict(Sum)
    with MessagesServer(respond=responder, deltas=10) as server:
        engine = AnthropicEngine(api_key="local", base_url=server.base_url, cache=cache)
        materials = {f"P{number:02}": _material(text) for number, text in enumerate(texts, 1)}
        aliases = tuple(materials)
        demander = _material(profiles(case.language, 7, case.characters)[6][:FORMULATION_CHARS])
        intent = INTENT[case.language]
        formulated = await engine.answer(
            steps.FORMULATE,
            FormulationRequest(language=case.language, intent=intent, material=demander),
            _call("formulate"),
        )
        sums["formulate"] = sums["formulate"].plus(formulated)
        tension = from_draft(formulated.draft, language=case.language)
        exchange: tuple[Exchange, ...] = ()
        for number in range(1, ROUNDS + 1):
            asked = [_turn(case, number, alias, tension, materials[alias], exchange) for alias in aliases]
            turns = await asyncio.gather(
                *(engine.answer(steps.PROJECT, request, _call("project", number, request.alias)) for request in asked)
            )
            for turn in turns:
                sums["project"] = sums["project"].plus(turn)
            projections = tuple(_projection(request, turn.draft) for request, turn in zip(asked, turns, strict=True))
            exchange = (*exchange, Exchange(round=number, projections=projections))
            heard = CatalystRequest(
                language=case.language,
                round=number,
                tension=tension,
                exchange=exchange,
                contributors=aliases,
                verdict_counts=number >= 3,
            )
            observed = await engine.answer(steps.OBSERVE, heard, _call("observe", number))
            sums["observe"] = sums["observe"].plus(observed)
            seen = exchange[-1].model_copy(update={"observation": observation_of(observed.draft, heard)})
            exchange = (*exchange[:-1], seen)
        wanted = PlannerRequest(
            language=case.language,
            tension=tension,
            exchange=exchange,
            aliases=aliases,
            materials={alias: _material(of.text[: case.plan_characters]) for alias, of in materials.items()},
        )
        planned = await engine.answer(steps.PLAN, wanted, _call("plan"))
        sums["plan"] = sums["plan"].plus(planned)
        plan = settle_plan(planned.draft, wanted)
        for together in (aliases[:1], aliases[1:]):
            for delivered in await asyncio.gather(
                *(
                    engine.answer(
                        steps.DELIVER,
                        DeliveryRequest(language=case.language, alias=alias, plan=plan),
                        _call("deliver", alias=alias),
                    )
                    for alias in together
                )
            ):
                sums["deliver"] = sums["deliver"].plus(delivered)
        await engine.aclose()
    return dict(sums)


def total(sums: Iterable[Sum]) -> Sum:
    whole = Sum()
    for one in sums:
        whole = whole.and_(one)
    return whole


def _call(step: str, round: int = 0, alias: str = "") -> Call:
    return Call(CallKey("bench", step, round, alias))


def _material(text: str) -> Material:
    return Material(pieces=(Piece(start=0, text=text),), total_chars=len(text))


def _turn(
    case: Case, number: int, alias: str, tension: Tension, material: Material, exchange: tuple[Exchange, ...]
) -> EndpointRequest:
    state = standing(exchange)
    seen = exchange[-1].observation if exchange else None
    return EndpointRequest(
        language=case.language,
        alias=alias,
        round=number,
        tension=tension,
        material=material,
        first=number == 1,
        items=tuple(item for item in state.valid_items if speaker_of(item.id) == alias),
        stands=tuple(statement.model_copy(update={"sources": ()}) for statement in state.statements),
        words=seen.words if seen else "",
    )


def _projection(request: EndpointRequest, draft: ProjectionDraft) -> Projection:
    items = items_of(draft.items, request, Shown(request.material.text))
    outcome = Outcome.REPLIED if items else Outcome.NOTHING_NEW
    return Projection(round=request.round, alias=request.alias, outcome=outcome, items=items)


def _row(case: Case, cached: Sum, bare: Sum) -> str:
    whole = cached.input_cost + cached.output_cost
    return (
        f"| {case.language} | {case.people} | {case.characters // 1000} K | {cached.prompt_tokens:,} "
        f"| {cached.read_share:.0%} | ${cached.input_cost:.3f} | ${bare.input_cost:.3f} "
        f"| {cached.input_cost / bare.input_cost:.2f} | {cached.usage.output_tokens:,} "
        f"| ${cached.output_cost:.3f} | ${whole:.2f} | {SEED_MODEL[case.people]} |"
    )


def _steps(sums: Mapping[str, Sum]) -> Iterable[str]:
    yield "| step | model | calls | input tokens | cached | input | output tokens | output | KB per answer |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|"
    for step, one in sums.items():
        yield (
            f"| {step} | {DEFAULTS[step].model} | {one.calls} | {one.prompt_tokens:,} | {one.read_share:.0%} "
            f"| ${one.input_cost:.3f} | {one.usage.output_tokens:,} | ${one.output_cost:.3f} "
            f"| {one.answer_bytes / one.calls / 1000:.1f} |"
        )


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", action="store_true", help="also a table by step for each case")
    parser.add_argument("--json", action="store_true", help="the sums as JSON instead of tables")
    parser.add_argument(
        "--plan-chars",
        type=int,
        default=PLAN_PROFILE_CHARS,
        help="the most characters of each profile that the plan reads",
    )
    options = parser.parse_args()
    languages: tuple[Language, ...] = ("en", "zh")
    cases = [
        Case(language, people, characters, options.plan_chars)
        for language in languages
        for people in (3, 5)
        for characters in (4_000, 40_000)
    ]
    runs = [(case, await one_process(case, cache=True), await one_process(case, cache=False)) for case in cases]
    if options.json:
        told = [{"case": asdict(case), "cached": _plain(cached), "bare": _plain(bare)} for case, cached, bare in runs]
        print(json.dumps(told, default=str))
        return
    print(
        f"prices of {shipped().as_of}; {ROUNDS} rounds; token counts estimated; no thinking; "
        f"the plan reads {options.plan_chars:,} characters of each profile\n"
    )
    print(
        "| language | people | profile | input tokens | from cache | input | without cache | ratio "
        "| output tokens | output | total | seed 000 |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for case, cached, bare in runs:
        print(_row(case, total(cached.values()), total(bare.values())))
    if options.steps:
        for case, cached, _ in runs:
            print(f"\n{case.language}, {case.people} people, profiles of {case.characters:,} characters\n")
            print("\n".join(_steps(cached)))


def _plain(sums: Mapping[str, Sum]) -> dict[str, Any]:
    return {step: asdict(one) for step, one in sums.items()}


if __name__ == "__main__":
    asyncio.run(main())
