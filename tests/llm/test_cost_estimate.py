"""The estimate of a process before it starts, and what a prompt reads from the cache of the one before."""

from __future__ import annotations

from decimal import Decimal

from tongyao.llm.anthropic.step_settings import DEFAULTS
from tongyao.llm.cost_estimate import StepEstimate, estimate
from tongyao.llm.engine import Usage
from tongyao.llm.prices import estimated_tokens, shipped
from tongyao.llm.rendering import Block

MODELS = {step: settings.model for step, settings in DEFAULTS.items()}


def computed_usage(system: str, before: tuple[Block, ...], now: tuple[Block, ...]) -> Usage:
    """Cache reads, cache writes and fresh tokens of the prompt `now`, when `before` was the prompt of the call before it."""
    blocks = [Block(system, cache=True), *now]
    earlier = [system, *(block.text for block in before)] if before else []
    common = 0
    while common < min(len(blocks), len(earlier)) and blocks[common].text == earlier[common]:
        common += 1
    marked = [at for at, block in enumerate(blocks, 1) if block.cache]
    written = [1, *(at for at, block in enumerate(before, 2) if block.cache)] if before else []
    read = max((at for at in written if at <= common), default=0)
    last = max(marked, default=0)
    tokens = [estimated_tokens(block.text) for block in blocks]
    return Usage(
        input_tokens=sum(tokens[max(last, read) :]),
        cache_write_tokens=sum(tokens[read:last]),
        cache_read_tokens=sum(tokens[:read]),
    )


def estimated(*, people: int = 3, rounds: int = 3, models: dict[str, str] = MODELS) -> tuple[StepEstimate, ...]:
    return estimate(language="en", people=people, profile_chars=3_000, rounds=rounds, models=models, prices=shipped())


def total(rows: tuple[StepEstimate, ...]) -> Decimal:
    return sum((row.cost for row in rows if row.cost is not None), Decimal(0))


def test_more_people_and_more_rounds_cost_more() -> None:
    assert total(estimated()) < total(estimated(people=5)) < total(estimated(people=5, rounds=5))
    calls = {row.step: row.calls for row in estimated(people=5, rounds=4)}
    assert calls == {"formulate": 1, "project": 20, "observe": 4, "plan": 1, "deliver": 5}


def test_a_model_without_a_price_has_no_cost() -> None:
    rows = estimated(models=MODELS | {"plan": "a-model-of-ones-own"})
    assert [row.step for row in rows if row.cost is None] == ["plan"]


def test_a_later_round_reads_what_the_round_before_wrote() -> None:
    tension, first, second = Block("tension"), Block("round one", cache=True), Block("round two", cache=True)
    task = Block("the task of this round")
    used = computed_usage("system", (tension, first, task), (tension, first, second, task))
    assert used.cache_read_tokens == sum(map(estimated_tokens, ("system", "tension", "round one")))
    assert used.cache_write_tokens == estimated_tokens("round two")
    assert used.input_tokens == estimated_tokens(task.text)


def test_an_exchange_that_was_cut_reads_nothing_but_what_comes_before_the_cut() -> None:
    tension, first, second = Block("tension"), Block("round one", cache=True), Block("round two", cache=True)
    used = computed_usage("system", (tension, first), (tension, second))
    assert used.cache_read_tokens == estimated_tokens("system")
