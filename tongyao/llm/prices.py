"""Computes costs of calls from a dated table of prices, which an operator may replace (docs/models.md, prices)."""

from __future__ import annotations

import json
import re
from datetime import date
from decimal import Decimal
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import Field

from tongyao.llm.engine import Usage
from tongyao.protocol.model.value import Value

_WIDE = re.compile(r"[\u2e80-\u9fff\uf900-\uffef]+")
_SNAPSHOT = re.compile(r"[-@]\d{8}$")


class Rates(Value):
    """US dollars per `PriceTable.per_tokens` tokens of each kind. Cache writes are writes with a lifetime of five
    minutes."""

    input: Decimal = Field(ge=0)
    output: Decimal = Field(ge=0)
    cache_write: Decimal = Field(ge=0)
    cache_read: Decimal = Field(ge=0)


class LongPromptRates(Rates):
    """Other rates for requests whose whole prompt, cached or not, is longer than `prompt_tokens`."""

    prompt_tokens: int = Field(gt=0)


class ModelRates(Rates):
    above: LongPromptRates | None = None

    def for_prompt(self, tokens: int) -> Rates:
        return self.above if self.above and tokens > self.above.prompt_tokens else self


class PriceTable(Value):
    """A table in the form of `prices.json`: the prices of each model on the day `as_of`."""

    as_of: date
    currency: Literal["USD"] = "USD"
    per_tokens: int = Field(default=1_000_000, gt=0)
    source: str = ""
    models: dict[str, ModelRates]

    def rates(self, model: str) -> ModelRates | None:
        """The rates of `model`; of a dated snapshot, those of its model. None for a model that is not in the table."""
        return self.models.get(model) or self.models.get(_SNAPSHOT.sub("", model))

    def cost(self, model: str, usage: Usage) -> Decimal | None:
        """Return the cost of one request in US dollars; None (never 0) if the table does not have the model.

        `usage`: the usage of one request only, because some models have other rates for long prompts.
        """
        rates = self.rates(model)
        if rates is None:
            return None
        prompt = usage.input_tokens + usage.cache_write_tokens + usage.cache_read_tokens
        rate = rates.for_prompt(prompt)
        return (
            rate.input * usage.input_tokens
            + rate.cache_write * usage.cache_write_tokens
            + rate.cache_read * usage.cache_read_tokens
            + rate.output * usage.output_tokens
        ) / self.per_tokens

    def largest_cost(self, model: str, prompt_tokens: int, output_limit: int) -> Decimal | None:
        """The maximum cost of a request, for a reservation. The limit is used up, and the prompt has the higher of two
        rates: for new input, or for cache writes."""
        counted = (
            self.cost(model, Usage(input_tokens=prompt_tokens, output_tokens=output_limit)),
            self.cost(model, Usage(cache_write_tokens=prompt_tokens, output_tokens=output_limit)),
        )
        return max((cost for cost in counted if cost is not None), default=None)


def estimated_tokens(text: str) -> int:
    """A rough estimate for reservations: one token per wide (CJK) character and per three other characters."""
    wide = sum(map(len, _WIDE.findall(text)))
    return wide + -(-(len(text) - wide) // 3)


@cache
def shipped() -> PriceTable:
    """The table of this version."""
    return PriceTable.model_validate(json.loads(files("tongyao.llm").joinpath("prices.json").read_text("utf-8")))


def load(override: Path | None = None) -> PriceTable:
    """The shipped table. The models of `override` are added or replace shipped models; its date and source are used.

    Raises `ValueError` with the file's name if the file is not a price table.
    """
    if override is None:
        return shipped()
    try:
        given = PriceTable.model_validate(json.loads(override.read_text("utf-8")))
    except (OSError, ValueError) as error:
        raise ValueError(f"{override} is not a price table like tongyao/llm/prices.json: {error}") from error
    if given.per_tokens != shipped().per_tokens:
        raise ValueError(f"{override}: per_tokens must be {shipped().per_tokens}, as in the shipped table")
    return given.model_copy(update={"models": {**shipped().models, **given.models}})
