"""The demander's actions on a plan: their own steps, residuals, and feedback."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from starlette.datastructures import FormData

from tongyao.app.action_permissions import Role
from tongyao.app.authorization import ProcessAccess
from tongyao.app.choosing.open_residuals import ChildCost, Closed, child_cost, closed_because, holes, open_residuals
from tongyao.app.contacts import ContactGiven, give_contact
from tongyao.app.errors import validated
from tongyao.app.feedback import FeedbackGiven, give_own_feedback, read_feedback
from tongyao.gateway.console.visit import Visit, text_in
from tongyao.protocol.model.plan import Plan, Residual
from tongyao.protocol.model.process import DEMANDER, Phase
from tongyao.protocol.rules.read_access import PartyView
from tongyao.records.process.announcements import taken_up
from tongyao.records.process.plans import FeedbackRow

_OWN_TO_ANSWER: Final = ("decides", "asked")
_BEFORE_THE_END: Final = (Phase.PLANNING, Phase.DELIVERING, Phase.ANSWERING)


@dataclass(frozen=True)
class ResidualState:
    """State of a residual. `ask`: its id, if it can be taken up now. `child`: the process that took it up."""

    ask: str = ""
    child: str = ""


@dataclass(frozen=True)
class OwnStep:
    """A task of the plan that waits for the demander. `number`: its position in the plan's list, from 1."""

    number: int
    text: str


@dataclass(frozen=True)
class Afterwards:
    """The demander's actions on a plan.

    `steps`: the tasks that wait for the demander. `states`: by id of the residual or hole. `holes`: of the people who
    declined. `last`: the hole whose decision ends the phase of answers; empty if there is none. `closed`: the reason
    why nothing can go back to the field. `named`: the number of people who committed; their names are visible.
    `may_commit`: whether more people can commit. `unasked`: nobody was or will be asked about the plan. `told`: the
    demander's feedback and its text.
    """

    steps: tuple[OwnStep, ...]
    states: Mapping[str, ResidualState]
    holes: tuple[Residual, ...]
    last: str
    closed: Closed
    cost: ChildCost | None
    named: int
    may_commit: bool
    unasked: bool
    told: tuple[FeedbackRow, str] | None

    @property
    def open(self) -> int:
        """The number of residuals that can go back to the field now."""
        return sum(bool(state.ask) for state in self.states.values())

    @property
    def numbers(self) -> list[int]:
        return [step.number for step in self.steps]

    @property
    def may_tell(self) -> bool:
        """Whether a contact of the demander reaches somebody who committed, or who may still commit."""
        return bool(self.named) or self.may_commit


async def afterwards(visit: Visit, access: ProcessAccess, view: PartyView) -> Afterwards | None:
    """Return the demander's actions. None if there is no plan, or if the visitor is not the demander."""
    plan = view.plan
    if plan is None or access.role is not Role.DEMANDER:
        return None
    repositories, row = visit.context.repositories, access.process
    ever = await repositories.inbox.of_process(row.id)
    waiting = await repositories.inbox.of_process(row.id, open_only=True)
    asked = [ask.subject for ask in waiting if ask.ask in ("residual", "hole")]
    asked += [residual.id for residual in await open_residuals(repositories, row)]
    closed = await closed_because(repositories, row)
    left = await holes(repositories, row)
    points = [*plan.residuals, *left]
    return Afterwards(
        steps=own_steps(plan),
        states=residual_states(
            [ask.id for ask in points],
            asked=[] if closed else asked,
            taken=await taken_up(repositories, row.id, points),
        ),
        holes=tuple(left),
        last=next((ask.subject for ask in waiting if ask.ends_answers), ""),
        closed=closed,
        cost=await child_cost(visit.context, access) if asked else None,
        named=sum(answer == "commit" for answer in (view.answers or {}).values()),
        may_commit=view.phase in _BEFORE_THE_END,
        unasked=view.phase not in _BEFORE_THE_END
        and not view.answers
        and not any(answer.ask == "answer" for answer in ever),
        told=await read_feedback(visit.context, row.id, access.alias),
    )


def own_steps(plan: Plan) -> tuple[OwnStep, ...]:
    """Return the tasks that wait for a decision or an answer of the demander."""
    return tuple(
        OwnStep(number, task.title)
        for number, task in enumerate(plan.tasks, 1)
        if task.assignee == DEMANDER and task.standing in _OWN_TO_ANSWER
    )


def residual_states(
    residuals: Sequence[str], *, asked: Sequence[str], taken: Mapping[str, str]
) -> Mapping[str, ResidualState]:
    """Return the states of residuals by id. `asked`: ids that can be taken up. `taken`: child process by id."""
    return {
        residual: ResidualState(
            ask=residual if residual in asked and residual not in taken else "", child=taken.get(residual, "")
        )
        for residual in residuals
    }


async def answered_until(visit: Visit, process_id: str) -> datetime | None:
    """Return the latest deadline of the open asks about the plan, or None if there are none."""
    waiting = await visit.context.repositories.inbox.of_process(process_id, open_only=True)
    return max((ask.due_at for ask in waiting if ask.ask == "answer" and ask.due_at), default=None)


async def tell_those_who_commit(visit: Visit, process_id: str, form: FormData) -> None:
    """Store the visitor's contact for the people who commit. Raises `BadInput` and other `Problem`s."""
    body = validated(ContactGiven, {"text": text_in(form, "contact")})
    await give_contact(visit.context, visit.caller, process_id, body)


async def say_what_came(visit: Visit, process_id: str, form: FormData) -> None:
    """Store the form's feedback on the plan. Raises `BadInput` and other `Problem`s."""
    words = text_in(form, "words")
    given = {
        "outcome": text_in(form, "outcome") or None,
        "text": words,
        "to_profile": text_in(form, "to_profile") == "yes" and bool(words.strip()),
    }
    await give_own_feedback(visit.context, visit.caller, process_id, validated(FeedbackGiven, given))
