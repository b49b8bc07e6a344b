"""A small invented process for `tongyao prompts show STEP --example` and `tongyao doctor --engine`.

`example.<language>.json` contains the request of each step.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files

from tongyao.llm import prompts, rendering
from tongyao.llm.rendering import Block
from tongyao.protocol.model.requests import Language, Request
from tongyao.protocol.model.steps import STEPS

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
