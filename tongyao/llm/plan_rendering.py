"""Renders a plan as text for a model: in the request for a delivery, in a parent's planning, and for a judge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from tongyao.llm.labels import label, line, with_sources
from tongyao.protocol.model.plan import Claim, Plan, Task, TaskStanding
from tongyao.protocol.model.requests import Language


def plan_text(plan: Plan, language: Language) -> str:
    """The structure of a plan. Its Markdown has the same content for people, so it is not sent too."""
    lines = _claims("date", (plan.date,) if plan.date else (), language) + _claims("possible", plan.possible, language)
    for role in plan.roles:
        lines.append(f"{label('role', language)} {role.alias}: {line(role.role)}")
        lines += _claims("conditions", role.conditions, language, before=f"  {role.alias} ")
    lines += [_task_of_plan(task, language) for task in plan.tasks]
    lines += _claims("against", plan.offsets, language)
    for residual in plan.residuals:
        tension = residual.tension
        told = f"T {line(tension.transition)} I {line(tension.initial_state)} "
        told += f"B {line('; '.join(tension.barriers))} E {line(tension.exchange)}"
        title = f"{residual.id} {label('residual', language)} {line(residual.title)}"
        lines.append(f"{title}: {with_sources(told, residual.sources)}")
    return "\n".join(lines)


_STANDING: Final[Mapping[TaskStanding, str]] = {
    "agreed": "agreed",
    "decides": "for whoever brought this to decide",
    "asked": "a question to them",
    "offered": "offered by one side",
    "unasked": "offered by nobody",
}


def _task_of_plan(task: Task, language: Language) -> str:
    after = f" {label('after', language)} {', '.join(task.prerequisites)}" if task.prerequisites else ""
    who = f"{task.assignee} ({line(task.outside)})" if task.outside else task.assignee
    when = f" {label('when', language)} {line(task.when)}" if task.when else ""
    said = with_sources(task.title, task.sources)
    return (
        f"{label('task', language)} {task.id} [{who}; {label(_STANDING[task.standing], language)}]{after}{when}: {said}"
    )


def _claims(name: str, claims: Iterable[Claim], language: Language, before: str = "") -> list[str]:
    title = f"{before}{label(name, language)}"
    return [f"{title}{_standing_of(claim, language)}: {with_sources(claim.text, claim.sources)}" for claim in claims]


def _standing_of(claim: Claim, language: Language) -> str:
    word = "unsupported" if not claim.supported else "concluded" if claim.concluded else ""
    return f" ({label(word, language)})" if word else ""
