"""A plan as Markdown, for when its author wrote none; and what readers must be told of one that did. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from tongyao.protocol.model.plan import Claim, Plan

_WORDS = {
    "en": {
        "panorama": "Panorama", "roles": "Who brings what", "tasks": "Tasks", "order": "Order and nodes",
        "offsets": "Offsets and dissent", "residuals": "Residual tensions", "open": "Open points",
        "contributions": "gives", "benefits": "gains", "costs": "gives up", "dependencies": "depends on",
        "after": "after", "nobody": "nobody yet", "offer": "offered by one side", "unsupported": "no source",
        "doubtful": "source doubtful", "notes": "Notes on sources", "standing": "What is not agreed yet",
        "offers": "Offered by one side, and not agreed until the others say so: {tasks}.",
        "nobodys": "Nobody does these yet: {tasks}.", "reduced": "Assembled from the record: no plan could be "
        "read from the engine's answer.",
        "removed": "Parts of this plan were removed at the request of",
    },
    "zh": {
        "panorama": "协作全景", "roles": "各方角色", "tasks": "任务", "order": "顺序与节点", "offsets": "对冲与分歧",
        "residuals": "残余张力", "open": "未决之处", "contributions": "付出", "benefits": "得到", "costs": "让出",
        "dependencies": "依赖", "after": "在其后", "nobody": "尚无人", "offer": "单方提出", "unsupported": "无出处",
        "doubtful": "出处存疑", "notes": "出处说明", "standing": "尚未谈定",
        "offers": "由一方提出，其他人答应之前不算谈定：{tasks}。", "nobodys": "还没有人做：{tasks}。", "reduced": "由记录直接拼成：引擎的回答无法读取。",
        "removed": "应当事人要求，本方案中的部分内容已被移除：",
    },
}  # fmt: skip


def plan_markdown(plan: Plan) -> str:
    """The whole plan; every claim with its sources, unsupported and doubtful ones marked."""
    words = _words(plan)
    lines = [f"## {words['panorama']}", "", *_claims(plan.panorama, words), "", f"## {words['roles']}", ""]
    if plan.reduced:
        lines.insert(0, f"> {words['reduced']}\n")
    if plan.removed:
        lines.insert(0, f"> {words['removed']} {', '.join(plan.removed)}\n")
    for role in plan.roles:
        title = f"{role.alias} · {role.role}" if role.role else role.alias
        lines += [f"### {title}" + (f" ({role.tier})" if role.tier else ""), ""]
        for name in ("contributions", "benefits", "costs", "dependencies"):
            lines += [f"- **{words[name]}**: {_cite(claim, words)}" for claim in getattr(role, name)]
        lines.append("")
    lines += [f"## {words['tasks']}", ""]
    for task in plan.tasks:
        after = f" · {words['after']} {', '.join(task.prerequisites)}" if task.prerequisites else ""
        offer = "" if task.agreed else f" · {words['offer']}"
        lines.append(
            f"- **{task.id}** {task.title} — {task.assignee or words['nobody']}{after}{offer}{_ids(task.sources)}"
        )
    for name, claims in (("order", plan.order), ("offsets", plan.offsets)):
        if claims:
            lines += ["", f"## {words[name]}", "", *(f"- {_cite(claim, words)}" for claim in claims)]
    if plan.residuals:
        lines += ["", f"## {words['residuals']}", ""]
        for residual in plan.residuals:
            tension = residual.tension
            lines += [f"### {residual.title}", "", f"- T: {tension.transition}", f"- I: {tension.initial_state}"]
            lines += [f"- B{number}: {barrier}" for number, barrier in enumerate(tension.barriers, 1)]
            lines += [f"- E: {tension.exchange}{_ids(residual.sources)}", ""]
    if plan.open_points:
        lines += ["", f"## {words['open']}", "", *(f"- {point}" for point in plan.open_points)]
    return "\n".join(lines).strip() + "\n"


def with_notes(plan: Plan) -> str:
    """The Markdown its author wrote, and below it what it must not keep quiet about; written from the structure if empty.

    That is: which tasks nobody agreed to, or nobody does (docs/protocol.md §7.4), and every claim whose source is missing or
    doubtful.
    """
    if not plan.markdown.strip():
        return plan_markdown(plan)
    words = _words(plan)
    offers = [task.id for task in plan.tasks if task.assignee and not task.agreed]
    nobodys = [task.id for task in plan.tasks if not task.assignee]
    standing = [
        f"- {words[kind].format(tasks=', '.join(tasks))}"
        for kind, tasks in (("offers", offers), ("nobodys", nobodys))
        if tasks
    ]
    notes = [f"- {_cite(claim, words)}" for claim in plan.claims() if not claim.supported or claim.doubt]
    added = [
        f"\n## {words[title]}\n\n" + "\n".join(lines) + "\n"
        for title, lines in (("standing", standing), ("notes", notes))
        if lines
    ]
    return "\n".join([plan.markdown.rstrip(), *added]) if added else plan.markdown


def _words(plan: Plan) -> dict[str, str]:
    return _WORDS["zh" if plan.language == "zh" else "en"]


def _claims(claims: Iterable[Claim], words: dict[str, str]) -> list[str]:
    return [_cite(claim, words) for claim in claims]


def _cite(claim: Claim, words: dict[str, str]) -> str:
    if not claim.supported:
        return f"{claim.text} [{words['unsupported']}]"
    doubtful = f" [{words['doubtful']}: {claim.doubt}]" if claim.doubt else ""
    return f"{claim.text}{_ids(claim.sources)}{doubtful}"


def _ids(sources: Iterable[str]) -> str:
    named = ", ".join(sources)
    return f" ({named})" if named else ""
