"""The words of an assembled plan and of a delivery, and their Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from tongyao.llm.extractive import wording
from tongyao.protocol.model.plan import Claim, ClaimDraft, PlanDraft
from tongyao.protocol.model.requests import DeliveryRequest, Language, PlannerRequest

PLAN: Final[dict[Language, dict[str, str]]] = {
    "zh": {
        "and": "、",
        "about": "这份方案围绕的变化是{t}。",
        "faced": "阻碍 {target}{b}：{who} 对它有话说。",
        "child": "子过程“{title}”的结果：{text}",
        "role": "所说的对着 {targets}",
        "no_role": "在场，没有说出对着阻碍的东西",
        "sought": "自己在找：{said}",
        "limit": "限制：{said}",
        "waits": "在等 {other}：{text}",
        "give": "拿出自己那一份：{said}",
        "after": "{task} 在 {before} 之后。",
        "mutual": "{a} 与 {b} 互相等着对方的一份，谁先谁后记录里没有说。",
        "residual": "{target} 还没有人对着：{said}",
        "remove": "有人能对付：{said}",
        "offset": "{a} 与 {b} 的条件合不到一起",
        "hold_both": "从只能成一边，到两边都成：{both}",
    },
    "en": {
        "and": ", ",
        "about": "The change this plan is about: {t}.",
        "faced": "Barrier {target}, {b}: {who} said something that bears on it.",
        "child": "From the child process “{title}”: {text}",
        "role": "speaks to {targets}",
        "no_role": "present, and said nothing that faces a barrier",
        "sought": "Seeks: {said}",
        "limit": "Limit: {said}",
        "waits": "Waits for {other}: {text}",
        "give": "Bring their own share: {said}",
        "after": "{task} comes after {before}.",
        "mutual": "{a} and {b} each wait for the other's share; the record does not say who is first.",
        "residual": "Nobody faces {target} yet: {said}",
        "remove": "Somebody who can deal with this: {said}",
        "offset": "The conditions of {a} and {b} do not fit together",
        "hold_both": "From one or the other to both: {both}",
    },
}

TITLES: Final[dict[Language, dict[str, str]]] = {
    "zh": {
        "panorama": "协作全景",
        "roles": "各人",
        "tasks": "任务",
        "order": "先后",
        "offsets": "保留的对冲",
        "residuals": "残余张力",
        "open": "未决的点",
        "contributions": "拿出",
        "benefits": "得到",
        "costs": "代价与限制",
        "dependencies": "依赖",
        "tension": "所为何事",
        "after": "在 {before} 之后",
        "yours": "你的部分",
        "terms": "以上取自各人说过的话，没有替你答应任何事：任务是你这一方提出的，到你答复为止都未谈定。收到询问时，"
        "可以承诺（commit）、谢绝（decline）或提出改动（propose）。",
        "your_tasks": "你的任务",
        "you_said": "你说过的",
        "none": "方案里没有分到你的任务。",
    },
    "en": {
        "panorama": "The whole",
        "roles": "Each one",
        "tasks": "Tasks",
        "order": "Order",
        "offsets": "Offsets kept",
        "residuals": "Residual tensions",
        "open": "Open points",
        "contributions": "Gives",
        "benefits": "Gains",
        "costs": "Costs and limits",
        "dependencies": "Depends on",
        "tension": "What it is about",
        "after": "after {before}",
        "yours": "Your part",
        "terms": "All of this is taken from what was said; nothing was promised for you. Your tasks are offers of your side, "
        "and not agreed until you say so: when you are asked, commit, decline, or propose a change.",
        "your_tasks": "Your tasks",
        "you_said": "What you said",
        "none": "The plan holds no task of yours.",
    },
}

GROUPS: Final = ("contributions", "benefits", "costs", "dependencies")


def plan_markdown(draft: PlanDraft, request: PlannerRequest) -> str:
    titles = TITLES[request.language]
    lines = [wording.NOTICE[request.language], "", f"## {titles['tension']}", ""]
    lines += [f"- **{name}** {text}" for name, text in request.tension.targets().items()]
    lines += ["", f"## {titles['panorama']}", "", *_bullets(draft.panorama)]
    lines += ["", f"## {titles['roles']}"]
    for role in draft.roles:
        lines += ["", f"### {role.alias} · {role.role}"]
        for group in GROUPS:
            claims: list[ClaimDraft] = getattr(role, group)
            if claims:
                lines += ["", f"**{titles[group]}**", "", *_bullets(claims)]
    if draft.tasks:
        lines += ["", f"## {titles['tasks']}", ""]
        lines += [
            f"- `{task.id}` {task.assignee} · {task.title}{_after(task.prerequisites, titles)}{_sources(task.sources)}"
            for task in draft.tasks
        ]
    for name, claims in (("order", draft.order), ("offsets", draft.offsets)):
        if claims:
            lines += ["", f"## {titles[name]}", "", *_bullets(claims)]
    if draft.residuals:
        lines += ["", f"## {titles['residuals']}"]
    for residual in draft.residuals:
        lines += ["", f"### {residual.title}{_sources(residual.sources)}", "", f"- T: {residual.transition}"]
        lines += [f"- I: {residual.initial_state}"] if residual.initial_state else []
        lines += [f"- B{number}: {barrier}" for number, barrier in enumerate(residual.barriers, 1)]
        lines += [f"- E: {residual.exchange}"] if residual.exchange else []
    if request.open_points:
        lines += ["", f"## {titles['open']}", "", *(f"- {point}" for point in request.open_points)]
    return "\n".join(lines)


def delivery_markdown(request: DeliveryRequest) -> str:
    titles = TITLES[request.language]
    lines = [wording.NOTICE[request.language], "", f"## {titles['tension']}", "", *_bullets(request.plan.panorama)]
    lines += ["", f"## {titles['yours']} · {request.alias}"]
    for role in request.plan.roles:
        if role.alias == request.alias:
            lines += ["", role.role]
            for group in GROUPS:
                claims: tuple[Claim, ...] = getattr(role, group)
                if claims:
                    lines += ["", f"**{titles[group]}**", "", *_bullets(claims)]
    tasks = [task for task in request.plan.tasks if task.assignee == request.alias]
    lines += ["", f"**{titles['your_tasks']}**", ""]
    whose = {task.id: task.assignee for task in request.plan.tasks}
    lines += [
        f"- `{task.id}` {task.title}{_after([f'{one} ({whose.get(one)})' for one in task.prerequisites], titles)}"
        for task in tasks
    ]
    lines += [] if tasks else [titles["none"]]
    lines += ["", titles["terms"]]
    offsets = [claim for claim in request.plan.offsets if request.alias in claim.text]
    if offsets:
        lines += ["", f"**{titles['offsets']}**", "", *_bullets(offsets)]
    items = [item for turn in request.own for item in turn.items]
    if items:
        lines += ["", f"**{titles['you_said']}**", ""]
        lines += [f"- {wording.repeated(wording.said_in(item.claim), request.language)} ({item.id})" for item in items]
    return "\n".join(lines)


def _after(before: Sequence[str], titles: Mapping[str, str]) -> str:
    return f" · {titles['after'].format(before=', '.join(before))}" if before else ""


def _bullets(claims: Iterable[Claim | ClaimDraft]) -> list[str]:
    return [f"- {claim.text}{_sources(claim.sources)}" for claim in claims]


def _sources(sources: Iterable[str]) -> str:
    named = ", ".join(sources)
    return f" ({named})" if named else ""
