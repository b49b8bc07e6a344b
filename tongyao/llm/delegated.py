"""The delegated engine: an answerer outside Tongyao answers the model calls (docs/models.md, "Delegated").

`answer` stores nothing and does not wait. If there is no reply yet, it raises `AnswerPending` with the request. The
caller stores the request in the ledger, and later calls `answer` again with the reply.
"""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Final

from tongyao.llm import prompts, rendering
from tongyao.llm.engine import Answer, Bound, Call, Usage
from tongyao.llm.errors import AnswerPending, Unreadable
from tongyao.llm.labels import line
from tongyao.llm.prices import estimated_tokens
from tongyao.llm.structured_output.parsing import read
from tongyao.llm.structured_output.schema import schema_of
from tongyao.protocol.model.steps import STEPS, DraftT, RequestT, Step
from tongyao.protocol.model.value import Draft

NAME: Final = "delegated"
ESTIMATED: Final = "tokens_estimated"
"""A label that every answer has, because its usage is estimated: answerers do not report usage."""
MOST_CHARS: Final = 200_000
"""Maximum length of an answer, in characters. A plan for eight people, the longest answer of a model, has about 40,000.
"""
_PROMPT_TOKENS: Final = 5_000
_ANSWER_TOKENS: Final = 8_000


class DelegatedEngine:
    """An `Engine` whose calls are answered by an answerer: an assistant over MCP, a program, or a person."""

    name: str = NAME

    def __init__(self, *, prompts_folder: Path | None = None) -> None:
        self._folder = prompts_folder

    def model_for(self, step: str) -> str:
        """Always empty, because only the answer states its answerer."""
        return ""

    def bound(self, step: str, prompt: str, units: int = 0) -> Bound:
        """Estimated tokens. The cost is 0, because answerers pay for their own models."""
        return Bound(_PROMPT_TOKENS + estimated_tokens(prompt) + _ANSWER_TOKENS, Decimal(0))

    async def answer(self, step: Step[RequestT, DraftT], request: RequestT, call: Call) -> Answer[DraftT]:
        """Read the reply in `call`. Raises `AnswerPending` if there is no reply, `Unreadable` if it cannot be read."""
        asked = self._request(step, request, call)
        tokens = estimated_tokens(asked)
        if call.reply is None:
            raise AnswerPending(asked, tokens=tokens)
        usage = Usage(input_tokens=tokens, output_tokens=estimated_tokens(call.reply.text), requests=1)
        try:
            draft = read(call.reply.text, step.draft)
        except Unreadable as error:
            error.usage, error.model = usage, call.reply.answerer
            raise
        return Answer(
            draft=draft, text=call.reply.text, engine=NAME, model=call.reply.answerer, usage=usage, labels=(ESTIMATED,)
        )

    def _request(self, step: Step[RequestT, DraftT], request: RequestT, call: Call) -> str:
        """Return the request as JSON: `instructions`, `input`, and for a repair also `previous` and `repair`."""
        prompt = prompts.load(step.name, request.language, call.prompt_override, folder=self._folder)
        blocks = rendering.blocks(request, prompt.parts)
        asked = {"instructions": prompt.text, "input": "\n\n".join(block.text for block in blocks)}
        if call.reask is not None:
            told = prompts.reask(step.name, request.language, folder=self._folder)
            asked["previous"] = call.reask.previous
            asked["repair"] = "\n".join((told, "", *(f"- {line(complaint)}" for complaint in call.reask.complaints)))
        return json.dumps(asked, ensure_ascii=False)


class DelegatedAnswers:
    """Checks of answers from outside, for the API, MCP and the command line."""

    def schema(self, step: str) -> dict[str, object]:
        """The JSON schema for answers of a step."""
        draft: type[Draft] = STEPS[step].draft
        return schema_of(draft)

    def problem_with(self, step: str, text: str) -> str:
        """Why `text` is not accepted as an answer of this step; empty if it is. Names fields, never quotes `text`."""
        if len(text) > MOST_CHARS:
            return f"the answer has {len(text):,} characters; at most {MOST_CHARS:,} are accepted"
        try:
            read(text, STEPS[step].draft)
        except Unreadable as error:
            return str(error)
        return ""
