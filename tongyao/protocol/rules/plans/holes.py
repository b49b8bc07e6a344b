"""The hole that somebody leaves who declines a plan: a residual like every other (docs/protocol.md §7.7). Pure."""

from __future__ import annotations

from typing import Final

from tongyao.protocol.documents.texts import table
from tongyao.protocol.model.plan import Plan, Residual
from tongyao.protocol.model.tension import MISSING, Lineage, Tension, TensionDraft, from_draft, within_limits

WORDS: Final = table("hole")


def hole_title(alias: str, language: str) -> str:
    return WORDS["zh" if language == "zh" else "en"]["title"].format(alias=alias)


def hole(plan: Plan, alias: str, tension: Tension, lineage: Lineage) -> Residual | None:
    """Return the part of `alias` in `plan` as a tension: T and B their tasks, I the tasks that wait for these, E what they would
    have gained. None where the plan has no task of theirs.

    `tension`: of the process, for what the plan does not say.
    """
    words = WORDS["zh" if plan.language == "zh" else "en"]
    mine = [task for task in plan.tasks if task.assignee == alias and not task.question]
    if not mine:
        return None
    ids = {task.id for task in mine}
    waiting = [task.title for task in plan.tasks if task.assignee != alias and ids & set(task.prerequisites)]
    stands = [words["stands"]] + ([words["waits"].format(tasks=words["between"].join(waiting))] if waiting else [])
    stands += [tension.initial_state] if tension.initial_state != MISSING else []
    gains = [claim.text for role in plan.roles if role.alias == alias for claim in role.benefits]
    draft = TensionDraft(
        transition=words["change"].format(what=words["between"].join(task.title for task in mine)),
        initial_state=" ".join(stands),
        barriers=[words["gone"].format(what=task.title) for task in mine[:2]],
        exchange=words["between"].join(gains) or tension.exchange,
    )
    left = from_draft(within_limits(draft), language=tension.language)
    return Residual(
        id=lineage.residual,
        title=hole_title(alias, plan.language),
        tension=left.model_copy(update={"lineage": lineage}),
        sources=tuple(dict.fromkeys(source for task in mine for source in task.sources)),
    )
