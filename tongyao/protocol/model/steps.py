"""The five model steps, defined in one place: request, answer and timeouts of each.

Timeouts, budgets, prompts, recordings, metrics and settings use these definitions. Workflows may import this module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeVar

from tongyao.protocol.model.ids import all_pairs
from tongyao.protocol.model.observation import ObservationDraft
from tongyao.protocol.model.plan import DeliveryDraft, PlanDraft
from tongyao.protocol.model.projection import ProjectionDraft
from tongyao.protocol.model.requests import (
    CatalystRequest,
    DeliveryRequest,
    EndpointRequest,
    FormulationRequest,
    PlannerRequest,
    Request,
)
from tongyao.protocol.model.tension import TensionDraft
from tongyao.protocol.model.value import Draft

RequestT = TypeVar("RequestT", bound=Request)
DraftT = TypeVar("DraftT", bound=Draft)
StepName = Literal["formulate", "project", "observe", "plan", "deliver"]

OVERHEAD_SECONDS: Final = 30
"""Seconds of an activity for reading and writing the records, in addition to its model calls."""


@dataclass(frozen=True)
class Step(Generic[RequestT, DraftT]):
    """One kind of model step.

    `time_factor`: timeout of one call, as a multiple of the setting `proxy_seconds`. `calls`: maximum number of
    consecutive model calls in one activity: an answer and its repair, for each group of concurrent answers. `units`:
    the number on which the length of an answer depends, for token limits: pairs (observe) or participants (plan).
    `concludes`: whether the step belongs to the end of a process, so that no budget is kept for a later plan.
    """

    name: StepName
    request: type[RequestT]
    draft: type[DraftT]
    time_factor: int = 1
    calls: int = 2
    units: Callable[[RequestT], int] = lambda request: 0
    concludes: bool = False

    def call_seconds(self, proxy_seconds: int) -> int:
        """Return the timeout of one call, in seconds."""
        return self.time_factor * proxy_seconds

    def activity_seconds(self, proxy_seconds: int) -> int:
        """Return the start-to-close timeout of the step's activity, in seconds: all sequential calls and the overhead.

        The time of each call is doubled, because the call may wait that long until concurrent calls release budget.
        """
        return 2 * self.calls * self.call_seconds(proxy_seconds) + OVERHEAD_SECONDS


def _pairs(request: CatalystRequest) -> int:
    return len(all_pairs(request.contributors))


def _participants(request: PlannerRequest) -> int:
    return len(request.aliases)


FORMULATE: Final = Step("formulate", FormulationRequest, TensionDraft)
PROJECT: Final = Step("project", EndpointRequest, ProjectionDraft)
OBSERVE: Final = Step("observe", CatalystRequest, ObservationDraft, time_factor=4, units=_pairs)
PLAN: Final = Step("plan", PlannerRequest, PlanDraft, time_factor=5, units=_participants, concludes=True)
DELIVER: Final = Step("deliver", DeliveryRequest, DeliveryDraft, calls=4, concludes=True)
"""The first delivery runs alone and the others follow concurrently: two groups, each with an answer and its repair."""

STEPS: Final[Mapping[str, Step[Any, Any]]] = {step.name: step for step in (FORMULATE, PROJECT, OBSERVE, PLAN, DELIVER)}
