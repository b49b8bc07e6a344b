"""All pictures of a process, by file name."""

from __future__ import annotations

from tongyao.app.pictures.relations import relation_mermaid, relation_svg
from tongyao.app.pictures.tasks import task_mermaid, task_svg
from tongyao.protocol.model.plan import Plan
from tongyao.protocol.rules.read_access import Stands

NAMES = ("relations.svg", "relations.mmd", "tasks.svg", "tasks.mmd")


def pictures(aliases: list[str], stands: Stands | None, plan: Plan | None, *, language: str) -> dict[str, str]:
    """Return pictures by file name: relations after the first observation, and tasks if there is a plan."""
    drawn = {}
    if stands is not None:
        drawn["relations.svg"] = relation_svg(aliases, stands.relations, language=language)
        drawn["relations.mmd"] = relation_mermaid(aliases, stands.relations, language=language)
    if plan is not None:
        drawn["tasks.svg"] = task_svg(plan)
        drawn["tasks.mmd"] = task_mermaid(plan)
    return drawn
