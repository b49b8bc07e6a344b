"""The arithmetic of cost, and what happens to a model that the table does not know."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

from tongyao.llm.anthropic.step_settings import DEFAULTS
from tongyao.llm.engine import Usage
from tongyao.llm.prices import load, shipped


def test_each_kind_of_token_has_its_rate() -> None:
    usage = Usage(input_tokens=1_000, cache_write_tokens=2_000, cache_read_tokens=10_000, output_tokens=500)
    assert shipped().cost("claude-opus-5-5", usage) == Decimal("0.004") + Decimal("0.010") + Decimal("0.002") + Decimal(
        "0.010"
    )


def test_a_snapshot_is_priced_as_its_model() -> None:
    usage = Usage(input_tokens=1_000_000)
    assert shipped().cost("claude-haiku-4-5-20251001", usage) == shipped().cost("claude-haiku-4-5", usage) == Decimal(1)


def test_an_unknown_model_has_no_price_rather_than_none_to_pay() -> None:
    assert shipped().cost("a-model-of-tomorrow", Usage(input_tokens=1)) is None
    assert shipped().largest_cost("a-model-of-tomorrow", 1, 1) is None


def test_long_prompts_have_their_own_rate_where_a_model_has_one() -> None:
    short = shipped().cost("claude-haiku-5-5", Usage(input_tokens=60_000, cache_read_tokens=40_000))
    long = shipped().cost("claude-haiku-5-5", Usage(input_tokens=60_001, cache_read_tokens=40_000))
    assert short == Decimal("0.0064")
    assert long == Decimal("0.0320005")


def test_the_largest_cost_bounds_the_cost() -> None:
    largest = shipped().largest_cost("claude-sonnet-5-5", 10_000, 4_000)
    assert largest == Decimal("0.025") + Decimal("0.04")
    for usage in (Usage(10_000, 0, 0, 4_000), Usage(0, 10_000, 0, 4_000), Usage(0, 0, 10_000, 4_000)):
        cost = shipped().cost("claude-sonnet-5-5", usage)
        assert cost is not None
        assert cost <= largest


def test_every_default_model_has_a_price() -> None:
    assert all(shipped().rates(step.model) for step in DEFAULTS.values())


def test_an_operator_lays_their_own_prices_over_it(tmp_path: Path) -> None:
    rates = {"input": "1", "output": "2", "cache_write": "1", "cache_read": "0"}
    own = tmp_path / "prices.json"
    own.write_text(json.dumps({"as_of": "2026-11-01", "models": {"house-model": rates, "claude-opus-5-5": rates}}))
    table = load(own)
    million = Usage(input_tokens=1_000_000)
    assert table.cost("house-model", million) == table.cost("claude-opus-5-5", million) == 1
    assert table.cost("claude-sonnet-5-5", million) == 2
    assert table.as_of.isoformat() == "2026-11-01"


@pytest.mark.parametrize("content", ["not json", "{}", '{"as_of": "2026-11-01", "models": {"m": {"input": "-1"}}}'])
def test_a_table_that_cannot_be_read_is_refused_by_name(tmp_path: Path, content: str) -> None:
    own = tmp_path / "mine.json"
    own.write_text(content)
    with pytest.raises(ValueError, match=r"mine\.json is not a price table"):
        load(own)
