"""The extractive engine: the five steps without a language model. See docs/models.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tongyao import limited_process
from tongyao.llm.engine import Answer, Bound, Call
from tongyao.llm.errors import StepFailed
from tongyao.llm.extractive import steps
from tongyao.protocol.model.steps import DraftT, RequestT, Step

MOST_SECONDS: Final = 60.0
"""Maximum processor time of one step, in seconds."""

LABEL: Final = "extractive"
"""The label of every answer, which shows that no model was asked."""

_ANSWERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "formulate": steps.formulate,
    "project": steps.project,
    "observe": steps.observe,
    "plan": steps.plan,
    "deliver": steps.deliver,
}
"""Step → the function that converts its request to its draft."""


class ExtractiveEngine:
    """An `Engine` that quotes sentences verbatim. It is deterministic: the same request gives the same draft.

    It needs no key and no network. It raises only `StepFailed`, for texts that take too long. Every answer has the
    label `extractive`. It ignores a scene's prompt override. A repair gives the same answer as the first call.
    """

    name: str = "extractive"

    def model_for(self, step: str) -> str:
        """Always empty: there is no model."""
        return ""

    def bound(self, step: str, prompt: str, units: int = 0) -> Bound:
        """Zero, because no service is asked."""
        return Bound()

    async def answer(self, step: Step[RequestT, DraftT], request: RequestT, call: Call) -> Answer[DraftT]:
        """Run the step in a process with limits, because its input may be hostile. Raises `StepFailed`."""
        try:
            draft = await limited_process.run(_answer, step.name, request, seconds=MOST_SECONDS)
        except limited_process.LimitReached as error:
            raise StepFailed(str(error)) from None
        return Answer(draft=draft, text=draft.model_dump_json(), engine=self.name, labels=(LABEL,))


def _answer(step: str, request: Any) -> Any:
    return _ANSWERS[step](request)
