"""The hole that somebody leaves who declines a plan: a residual like every other (docs/protocol.md §7.7). Pure."""

from __future__ import annotations

from typing import Final

from tongyao.protocol.model.plan import Plan, Residual
from tongyao.protocol.model.sizes import cut
from tongyao.protocol.model.tension import MISSING, Lineage, Tension
from tongyao.protocol.rules.plans.lineage import LENS_UNITS

# Few words of its own: what two holes share would make them look alike (docs/plans.md, "Children").
WORDS: Final = {
    "en": {
        "title": "What {alias} was to give",
        "change": "Somebody who does this: {what}",
        "stands": "The rest of the plan stands.",
        "waits": "What waits for it: {tasks}.",
        "gone": "Missing: {what}",
        "between": "; ",
    },
    "zh": {
        "title": "{alias} 原定的那一份",
        "change": "有人来做：{what}",
        "stands": "方案的其余部分已经成立。",
        "waits": "等着它的有：{tasks}。",
        "gone": "缺：{what}",
        "between": "；",
    },
}


def hole_title(alias: str, language: str) -> str:
    return WORDS["zh" if language == "zh" else "en"]["title"].format(alias=alias)


def hole(plan: Plan, alias: str, tension: Tension, lineage: Lineage) -> Residual | None:
    """What `alias` was to do and give in `plan`, as a tension: T their tasks, I what waits for them, B what they were to
    give, E what they would have gained. None where the plan has no part of theirs.

    `tension`: of the process, for what the plan does not say.
    """
    words = WORDS["zh" if plan.language == "zh" else "en"]
    mine = [task for task in plan.tasks if task.assignee == alias]
    role = next((role for role in plan.roles if role.alias == alias), None)
    gives = role.contributions if role else ()
    gains = role.benefits if role else ()
    if not mine and not gives:
        return None
    ids = {task.id for task in mine}
    waiting = [task.title for task in plan.tasks if task.assignee != alias and ids & set(task.prerequisites)]
    todo = [task.title for task in mine] or [claim.text for claim in gives]
    stands = [words["stands"]] + ([words["waits"].format(tasks=words["between"].join(waiting))] if waiting else [])
    stands += [tension.initial_state] if tension.initial_state != MISSING else []
    each = words["between"]

    def shortened(text: str) -> str:
        return cut(text, LENS_UNITS)

    named = [*(task.sources for task in mine), *(claim.sources for claim in gives)]
    return Residual(
        id=lineage.residual,
        title=hole_title(alias, plan.language),
        tension=Tension(
            transition=shortened(words["change"].format(what=each.join(todo))),
            initial_state=shortened(" ".join(stands)),
            barriers=tuple(
                shortened(words["gone"].format(what=what)) for what in ([claim.text for claim in gives] or todo)[:2]
            ),
            exchange=shortened(each.join(claim.text for claim in gains) or tension.exchange),
            language=tension.language,
            lineage=lineage,
        ),
        sources=tuple(dict.fromkeys(source for sources in named for source in sources)),
    )
