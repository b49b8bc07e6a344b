"""`tongyao doctor --engine`: one small real call for each step, with its cost, and whether the answer is readable."""

from __future__ import annotations

import time
from decimal import Decimal

from tongyao.commands.doctor import CheckRow, CheckState
from tongyao.commands.words import language, say
from tongyao.llm.engine import Call, CallKey, Engine
from tongyao.llm.errors import AnswerPending, EngineError, Transient, Unreadable
from tongyao.llm.example import example_request
from tongyao.protocol.model.settings import ProcessSettings
from tongyao.protocol.model.steps import STEPS
from tongyao.runtime.engines import engines
from tongyao.runtime.settings import Settings


async def check_engines(settings: Settings) -> list[CheckRow]:
    """Send the engine of each step the example of `tongyao prompts show STEP --example`. Returns a row for each step.

    Raises `SettingsError` if an engine cannot be created.
    """
    chosen = engines(settings)
    rows, paid = [], Decimal(0)
    for step, engine in chosen.items():
        row, cost = await _check(step, engine, settings.process)
        rows.append(row)
        paid += cost
    return [
        *rows,
        CheckRow(say("doctor.engine_together"), CheckState.OK, say("doctor.engine_paid", cost=f"{paid:.4f}")),
    ]


async def _check(step: str, engine: Engine, defaults: ProcessSettings) -> tuple[CheckRow, Decimal]:
    named = " ".join(filter(None, (engine.name, engine.model_for(step))))
    if engine.name == "recorded":
        return CheckRow(step, CheckState.OK, say("doctor.engine_recorded", engine=named)), Decimal(0)
    kind, began = STEPS[step], time.monotonic()
    call = Call(CallKey("", step, 1), seconds=kind.call_seconds(defaults.proxy_seconds))
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
        advice = say("doctor.engine_unreadable_advice") if isinstance(error, Unreadable) else ""
        failed = say(key, engine=named, why=str(error), seconds=f"{time.monotonic() - began:.1f}")
        return CheckRow(step, CheckState.FAILED, failed, advice), error.cost
    unknown = "price_unknown" in answer.labels
    used = say(
        "doctor.engine_readable",
        engine=named,
        seconds=f"{time.monotonic() - began:.1f}",
        fresh=f"{answer.usage.total - answer.usage.output_tokens:,}",
        output=f"{answer.usage.output_tokens:,}",
        cost=say("doctor.engine_no_price") if unknown else f"${answer.cost:.4f}",
    )
    return CheckRow(step, CheckState.OK, used), answer.cost
