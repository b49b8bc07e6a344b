"""Estimates the cost of a process before it starts (docs/models.md, estimate)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from tongyao.llm import prompts
from tongyao.llm.anthropic.step_settings import DEFAULTS
from tongyao.llm.engine import Usage
from tongyao.llm.prices import PriceTable, estimated_tokens
from tongyao.protocol.model.requests import Language
from tongyao.protocol.model.sizes import WHOLE_PROFILE_CHARS
from tongyao.protocol.model.value import Value

TENSION: Final = 450
TURN: Final = (1_000, 500, 150)
"""Tokens of one participant's items in round 1, in round 2, and in each later round. Measured on answers that were
written with care."""
OBSERVATION: Final = (500, 260)
"""Tokens of an observation: the minimum, and the addition per examined pair."""
PLAN: Final = (1_500, 1_300)
"""Tokens of a plan: the minimum, and the addition per participant."""
DELIVERY: Final = 1_300
THINKING: Final = Decimal("2.0")
"""Output tokens, including thinking, per token of an answer. The number is assumed: it was never measured on Claude."""


class StepEstimate(Value):
    """The calls of one step. `fresh`: prompt tokens that are not read from a cache; they are priced as cache writes."""

    step: str
    model: str
    calls: int
    fresh: int
    cached: int
    output: int
    cost: Decimal | None


def estimate(
    *, language: Language, people: int, profile_chars: int, rounds: int, models: Mapping[str, str], prices: PriceTable
) -> tuple[StepEstimate, ...]:
    """Estimate the steps of a process in which all participants have proxies and no answer needs a repair.

    `profile_chars`: length of one profile. `cost` is None if the price is unknown. The estimate assumes that the first
    request of a step writes its prompt to the cache, and that each round reads from the cache what the last round
    wrote.
    """
    wide = 1 if language == "zh" else 3
    profile = min(profile_chars, WHOLE_PROFILE_CHARS) // wide
    system = {step: estimated_tokens(prompts.load(step, language).text) for step in DEFAULTS}
    said = [people * TURN[min(number, 2)] for number in range(rounds)]
    pairs = people * (people - 1) // 2
    seen = [OBSERVATION[0] + OBSERVATION[1] * (pairs if number < 2 else pairs // 3) for number in range(rounds)]
    record = TENSION + sum(said) + sum(seen)
    plan = PLAN[0] + PLAN[1] * people
    own = [said[number] // people + seen[number] for number in range(rounds - 1)]

    def step(name: str, calls: int, fresh: int, cached: int, answers: int) -> StepEstimate:
        output = int(answers * THINKING)
        used = Usage(cache_write_tokens=fresh, cache_read_tokens=cached, output_tokens=output)
        cost = prices.cost(models[name], used)
        return StepEstimate(
            step=name, model=models[name], calls=calls, fresh=fresh, cached=cached, output=output, cost=cost
        )

    first_turn = system["project"] + profile + TENSION
    turns_read = sum(first_turn + sum(own[:number]) for number in range(rounds - 1))
    rounds_read = sum(system["observe"] + TENSION + sum(said[:at]) + sum(seen[: at - 1]) for at in range(1, rounds))
    shared = system["deliver"] + record // 2 + plan
    return (
        step("formulate", 1, system["formulate"] + profile, 0, TENSION),
        step("project", people * rounds, people * (first_turn + sum(own)), people * turns_read, sum(said)),
        step("observe", rounds, system["observe"] + record, rounds_read, sum(seen)),
        step("plan", 1, system["plan"] + record + people * min(profile, 3_000 // wide), 0, plan),
        step("deliver", people, shared, (people - 1) * shared, people * DELIVERY),
    )
