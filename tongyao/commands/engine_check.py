"""`tongyao doctor --engine`: one small real call for each step, with its cost, and whether the answer is readable."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Mapping
from decimal import Decimal
from importlib.resources import files
from typing import Final

from tongyao.commands.doctor import CheckRow, CheckState
from tongyao.commands.words import dollars, language, say
from tongyao.llm import prompts, rendering
from tongyao.llm.engine import PRICE_UNKNOWN, Call, CallKey, Engine
from tongyao.llm.errors import AnswerPending, EngineError, Transient, Unreadable
from tongyao.llm.rendering import Block
from tongyao.protocol.model.process_settings import ProcessSettings
from tongyao.protocol.model.requests import Language, Request
from tongyao.protocol.model.steps import STEPS
from tongyao.runtime.engines import engines
from tongyao.runtime.settings import Settings

SLOW_SHARE: Final = 0.5
"""A call of an example is slow above this share of its time limit, because the requests of a process are longer."""
LIMIT_SETTING: Final = "TONGYAO_PROCESS__PROXY_SECONDS"


async def check_engines(settings: Settings) -> AsyncIterator[CheckRow]:
    """Send the engine of each step the example of `tongyao prompts show STEP --example`. Yields a row when a step ends.

    Raises `SettingsError` if an engine cannot be created.
    """
    chosen = engines(settings)
    paid, all_known = Decimal(0), True
    for step, engine in chosen.items():
        row, cost = await _check(step, engine, settings.process)
        yield row
        paid += cost or Decimal(0)
        all_known = all_known and cost is not None
    together = dollars(paid, unknown=not all_known)
    if paid and not all_known:
        together = say("doctor.engine_not_all", cost=together)
    yield CheckRow(say("doctor.engine_together"), CheckState.OK, say("doctor.engine_paid", cost=together))


async def _check(step: str, engine: Engine, defaults: ProcessSettings) -> tuple[CheckRow, Decimal | None]:
    """Return the row, and the cost of the call; None if its price is not known."""
    named = " ".join(filter(None, (engine.name, engine.model_for(step))))
    if engine.name == "recorded":
        return CheckRow(step, CheckState.OK, say("doctor.engine_recorded", engine=named)), Decimal(0)
    kind, began = STEPS[step], time.monotonic()
    limit = kind.call_seconds(defaults.proxy_seconds)
    call = Call(CallKey("", step, 1), seconds=limit)
    request = example_request(step, language())
    try:
        try:
            answer = await engine.answer(kind, request, call)
        except Transient:  # one retry, because a process also retries
            answer = await engine.answer(kind, request, call)
    except AnswerPending:
        return CheckRow(step, CheckState.OK, say("doctor.engine_delegated", engine=named)), Decimal(0)
    except EngineError as error:
        key = "doctor.engine_unreadable" if isinstance(error, Unreadable) else "doctor.engine_failed"
        seconds = time.monotonic() - began
        advice = _slow(seconds, limit, defaults.proxy_seconds)
        if isinstance(error, Unreadable):
            advice = say("doctor.engine_unreadable_advice")
        failed = say(key, engine=named, why=str(error), seconds=f"{seconds:.1f}")
        return CheckRow(step, CheckState.FAILED, failed, advice), error.cost
    seconds = time.monotonic() - began
    unknown = PRICE_UNKNOWN in answer.labels
    used = say(
        "doctor.engine_readable",
        engine=named,
        seconds=f"{seconds:.1f}",
        fresh=f"{answer.usage.total - answer.usage.output_tokens:,}",
        output=f"{answer.usage.output_tokens:,}",
        cost=dollars(answer.cost, unknown=unknown),
    )
    advice = _slow(seconds, limit, defaults.proxy_seconds)
    state = CheckState.ATTENTION if advice else CheckState.OK
    return CheckRow(step, state, used, advice), None if unknown and not answer.cost else answer.cost


def _slow(seconds: float, limit: int, proxy_seconds: int) -> str:
    """Return advice for a call that took more than `SLOW_SHARE` of its time limit; else an empty string."""
    if seconds <= SLOW_SHARE * limit:
        return ""
    return say("doctor.engine_slow", limit=limit, setting=LIMIT_SETTING, value=proxy_seconds)


_CACHED = "⋯ cached up to here ⋯"


def render_example(step: str, language: Language) -> str:
    """The whole prompt of `step` with the example's data. A line marks the end of each cached prefix.

    Raises `ValueError` like `prompts.load`.
    """
    prompt = prompts.load(step, language)
    parts = [f"[system]\n{prompt.text}", _CACHED, "[user]"]
    for block in example_blocks(step, language, prompt.parts):
        parts += [block.text, *([_CACHED] if block.cache else [])]
    return "\n\n".join(parts) + "\n"


def example_blocks(step: str, language: Language, parts: Mapping[str, str] | None = None) -> tuple[Block, ...]:
    """The user's message of the example for `step`."""
    return rendering.blocks(example_request(step, language), parts)


def example_request(step: str, language: Language) -> Request:
    """The request of the example for `step`."""
    stored = json.loads(files("tongyao.llm").joinpath(f"example.{language}.json").read_text("utf-8"))
    request: Request = STEPS[step].request.model_validate(stored[step])
    return request
