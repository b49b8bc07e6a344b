"""Faults between the engine and a model, by plan, or by probability with a seed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from hashlib import blake2b
from typing import Any


class Fault(StrEnum):
    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    SERVER_ERROR = "server_error"
    CUT_STREAM = "cut_stream"
    STALLED_STREAM = "stalled_stream"
    ERROR_IN_STREAM = "error_in_stream"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    NO_CREDIT = "no_credit"
    BAD_REQUEST = "bad_request"
    TOO_LARGE = "too_large"
    REFUSAL = "refusal"
    TRUNCATION = "truncation"
    INVALID_JSON = "invalid_json"
    WRONG_SCHEMA = "wrong_schema"
    MISSING_PAIR = "missing_pair"
    INVENTED_QUOTE = "invented_quote"
    RECOMMENDATION = "recommendation"


STATUS: dict[Fault, tuple[int, str, str]] = {
    Fault.RATE_LIMITED: (
        429,
        "rate_limit_error",
        "This request would exceed your organization's rate limit.",
    ),
    Fault.OVERLOADED: (529, "overloaded_error", "Overloaded"),
    Fault.SERVER_ERROR: (500, "api_error", "Internal server error"),
    Fault.UNAUTHORIZED: (401, "authentication_error", "invalid x-api-key"),
    Fault.FORBIDDEN: (
        403,
        "permission_error",
        "Your API key does not have permission to use the specified resource.",
    ),
    Fault.NO_CREDIT: (
        400,
        "invalid_request_error",
        "Your credit balance is too low to access the Claude API.",
    ),
    Fault.BAD_REQUEST: (400, "invalid_request_error", "messages: at least one message is required"),
    Fault.TOO_LARGE: (413, "request_too_large", "Request exceeds the maximum size"),
}
"""Faults that are answered in place of the model: status, type, message."""

Choose = Callable[[Mapping[str, Any], int], Fault | None]
"""(request, number of earlier occurrences of the same request) → the fault to produce, or None."""


def planned(faults: Iterable[Fault | None]) -> Choose:
    """The n-th request gets the n-th of `faults`. After the last one there are no faults."""
    rest = iter(faults)

    def choose(request: Mapping[str, Any], attempt: int) -> Fault | None:
        return next(rest, None)

    return choose


def always(fault: Fault) -> Choose:
    return lambda request, attempt: fault


def storm(rates: Mapping[Fault, float], *, seed: int) -> Choose:
    """Each request gets each fault with its rate (the rates sum to at most 1).

    The draw depends only on the request and its attempt. So it does not depend on the order of requests.
    """

    def choose(request: Mapping[str, Any], attempt: int) -> Fault | None:
        draw = random.Random(f"{seed}:{digest(request)}:{attempt}").random()
        for fault, rate in rates.items():
            draw -= rate
            if draw < 0:
                return fault
        return None

    return choose


def digest(request: Mapping[str, Any]) -> str:
    told = json.dumps([request.get("system"), request["messages"]], ensure_ascii=False, sort_keys=True)
    return blake2b(told.encode(), digest_size=8).hexdigest()


def spoiled(text: str, fault: Fault) -> str:
    """A valid answer `text` after a fault of content. It is unchanged if the fault does not apply to it."""
    if fault is Fault.INVALID_JSON:
        return text[: len(text) * 2 // 3].rstrip("}]") + ', "and so on'
    if fault is Fault.WRONG_SCHEMA:
        return json.dumps({"result": {"summary": text[:200]}}, ensure_ascii=False)
    answer = json.loads(text)
    match fault:
        case Fault.MISSING_PAIR if answer.get("pairs"):
            answer["pairs"].pop()
        case Fault.INVENTED_QUOTE if answer.get("items"):
            fact = next((item for item in answer["items"] if not item["inferred"]), answer["items"][0])
            fact["quotes"] = ["a sentence that nobody has written anywhere 从来没有人写过的一句话"]
        case Fault.RECOMMENDATION if answer.get("pairs"):
            pair = answer["pairs"][0]
            a, b = pair["a"], pair["b"]
            pair["text"] = f"I recommend that {a} and {b} work together. 建议{a}与{b}合作。"
    return json.dumps(answer, ensure_ascii=False)
