"""What a process waits for, since when, and how it can continue. Derived from `wanted`, `wake` and the causes of a suspension."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from pydantic import Field

from tongyao.protocol.contracts.process import ROLES, queue_of
from tongyao.protocol.life import deadline_checks
from tongyao.protocol.life.clock import wall_time
from tongyao.protocol.life.machine import wanted
from tongyao.protocol.life.snapshot import open_asks
from tongyao.protocol.life.state import Deadline, State
from tongyao.protocol.life.steps import RECORD_KEY, Step
from tongyao.protocol.model.events import Ask
from tongyao.protocol.model.process import DEMANDER, Phase
from tongyao.protocol.model.value import Value


class Reason(Value):
    """One thing that a process waits for. `sentence` names aliases: it is for operators."""

    waits_for: str
    since: datetime | None = None
    until: datetime | None = None
    left: str = ""
    moved_by: str = ""
    waits_for_zh: str = Field(default="", exclude=True)
    moved_by_zh: str = Field(default="", exclude=True)

    @property
    def sentence_zh(self) -> str:
        """As `sentence`, in Chinese. What has no Chinese stands in English."""
        left = self.left.replace(" d", " 天").replace(" h", " 小时").replace(" min", " 分钟")
        since = f"，从 {self.since:%Y-%m-%d %H:%M} UTC 开始" if self.since else ""
        until = f"，截至 {self.until:%Y-%m-%d %H:%M} UTC" + (f"（还剩 {left}）" if left else "") if self.until else ""
        moved = self.moved_by_zh or self.moved_by
        return f"在等{self.waits_for_zh or self.waits_for}{since}{until}{f'；{moved}' if moved else ''}。"

    @property
    def sentence(self) -> str:
        """For operators, in English."""
        since = f" since {self.since:%Y-%m-%d %H:%M} UTC" if self.since else ""
        left = f" ({self.left} left)" if self.left else ""
        until = f", until {self.until:%Y-%m-%d %H:%M} UTC{left}" if self.until else ""
        moved = f"; {self.moved_by}" if self.moved_by else ""
        return f"Waits for {self.waits_for}{since}{until}{moved}."


def why(state: State, now: datetime) -> list[Reason]:
    """All reasons, those that hold up everything first; empty for a process that has ended and is written."""
    reasons = [*_causes(state), *_people(state), *_calls(state), *_steps(state)] or _nothing(state)
    return [one.model_copy(update={"left": _left(one.until, now)}) if one.until else one for one in reasons]


def _left(until: datetime, now: datetime) -> str:
    hours, rest = divmod(max(0, int((until - now).total_seconds())), 3600)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {rest // 60} min" if hours else f"{rest // 60} min"


def _causes(state: State) -> list[Reason]:
    reasons = []
    for name, cause in sorted(state.causes.items()):
        at = f"{cause.retry_at:%H:%M:%S} UTC" if cause.retry_at else ""
        if cause.kind == "operator":
            who, who_zh = f"an operator ({cause.code})", f"运维人员（{cause.code}）"
            moved, moved_zh = f"`resume` once it is mended: {cause.reason}", f"排除原因后 `resume`：{cause.reason}"
        else:
            who, who_zh = f"step {name} ({cause.code})", f"步骤 {name}（{cause.code}）"
            moved, moved_zh = (f"tried again at {at}", f"{at} 再试") if at else ("it is being tried again", "正在重试")
        if cause.code == "schedule_to_start":
            moved, moved_zh = f"{cause.reason}; {moved}", f"{cause.reason}；{moved_zh}"
        reasons.append(
            Reason(waits_for=who, waits_for_zh=who_zh, since=cause.since, moved_by=moved, moved_by_zh=moved_zh)
        )
    return reasons


def _people(state: State) -> list[Reason]:
    """The asks of the phase; children that run; in a round that waits for nobody, the time to correct."""
    if state.phase is Phase.AWAITING_CHILDREN:
        running = [one.child for one in state.residuals.values() if one.status == "started"]
        until = _until(state, state.deadline)
        reasons = [Reason(waits_for=f"child {name}", waits_for_zh=f"子过程 {name}", until=until) for name in running]
    elif state.correcting_until is not None and not state.waiting_for and not state.suspended:
        until = wall_time(state, state.correcting_until)
        reasons = [Reason(waits_for="corrections of what was said", waits_for_zh="对发言的更正", until=until)]
    else:
        reasons = []
    for ask, deadline in () if state.phase.ended else open_asks(state):
        if state.phase is Phase.ANSWERING and ask.subject:
            continue  # no answer waits for it
        told = _MOVED_BY[ask.ask]
        if ask.ask is Ask.DECISION and state.phase is Phase.ANSWERING:
            told = _REPLAN
        elif ask.ask is Ask.PROJECTION and deadline is None:
            told = _CLOSE_GAP
        moved, moved_zh = (text.format(ask.subject) for text in told)
        since, until = deadline.asked_at if deadline is not None else None, _until(state, deadline)
        reasons.append(Reason(waits_for=ask.alias, since=since, until=until, moved_by=moved, moved_by_zh=moved_zh))
    return reasons


def _calls(state: State) -> list[Reason]:
    """Model calls that wait for an answer from outside."""
    waiting = [parked for parked in state.parked.values() if parked.calls]
    if not (number := sum(len(parked.calls) for parked in waiting)):
        return []
    running = [parked.deadline for parked in waiting if parked.deadline is not None]
    first = min(running, key=lambda deadline: deadline.due, default=None)
    one = number == 1
    return [
        Reason(
            waits_for="an answer to 1 model call" if one else f"answers to {number} model calls",
            waits_for_zh=f" {number} 个模型调用的答复",
            since=min((deadline.asked_at for deadline in running), default=None),
            until=_until(state, first),
            moved_by="an assistant over MCP (prompt `answer_calls`), or `tongyao calls next` and `tongyao calls answer`",
            moved_by_zh="由助手通过 MCP（提示 `answer_calls`）答复，或用 `tongyao calls next` 和 `tongyao calls answer`",
        )
    ]


def _until(state: State, deadline: Deadline | None) -> datetime | None:
    return wall_time(state, deadline.due) if deadline is not None and not state.suspended else None


def _steps(state: State) -> list[Reason]:
    return [
        Reason(
            waits_for=f"step {key} ({step.summary})",
            waits_for_zh=f"步骤 {key}（{step.summary}）",
            moved_by=f"a worker of the role {ROLES[queue_of(step.contract)]}",
            moved_by_zh=f"由角色为 {ROLES[queue_of(step.contract)]} 的 worker 执行",
        )
        for key, step in waited_for(state).items()
        if key != RECORD_KEY and key not in state.causes and not step.held
    ]


def waited_for(state: State) -> dict[str, Step]:
    """Steps that need a worker in this run: a process that is to continue as new starts none."""
    running = state.draining
    return {key: step for key, step in wanted(state).items() if running is None or key in running}


def _nothing(state: State) -> list[Reason]:
    if state.phase.ended:
        return []
    if state.draining is not None:
        return [
            Reason(waits_for="its next run: it continues as new", waits_for_zh="自己的下一次运行（continue-as-new）")
        ]
    return [
        Reason(
            waits_for="its own deadline",
            waits_for_zh="它自己的期限",
            until=wall_time(state, deadline_checks.next_due(state)),
        )
    ]


def why_for_party(state: State, alias: str, language: str) -> str:
    """One sentence for the demander or a participant. It names nobody else: who is waited for tells a person from a proxy."""
    zh = language == "zh"
    if state.phase.ended:
        return "过程已经结束。" if zh else "The process has ended."
    if any(cause.kind == "operator" for cause in state.causes.values()):
        return (
            "过程已暂停，由运维人员处理；期间不计时。"
            if zh
            else "The process is suspended; an operator has to mend it. No deadline runs."
        )
    if state.suspended:
        return (
            "服务暂时不可用，稍后自动继续；期间不计时。"
            if zh
            else "The service is away for a while and goes on by itself. No deadline runs."
        )
    own = [reason for reason in _people(state) if reason.waits_for == alias]
    which = 1 if zh else 0
    if not own:
        said = _GOES_ON.get(state.phase, ("", ""))[which].format(round=state.round)
        if alias == DEMANDER and state.undecided:
            said += _OPEN_POINTS[which]
        return said + ("过程现在没有在等你。" if zh else "The process does not wait for you now.")
    asked = _ASKED_OF_YOU.get(state.phase, ("The process waits for your answer", "这个过程在等你答复"))
    about_gap = state.phase is Phase.CRYSTALLIZING and alias == DEMANDER and state.demander_asked
    what = (_GAP_ASKED if about_gap else asked)[which].format(round=state.round)
    until = min((reason.until for reason in own if reason.until is not None), default=None)
    if until is None:
        return f"{what}。" if zh else f"{what}."
    return f"{what}，截至 {until:%Y-%m-%d %H:%M} UTC。" if zh else f"{what}, until {until:%Y-%m-%d %H:%M} UTC."


def others_are_waited_for_until(state: State, alias: str) -> datetime | None:
    """When the last deadline of others runs out; None where the party is waited for itself, or no deadline runs. It names nobody."""
    waits = [] if state.suspended or state.causes else _people(state)
    if any(reason.waits_for == alias for reason in waits):
        return None
    return max((reason.until for reason in waits if reason.until is not None), default=None)


_RESIDUAL: Final = (
    "whether {0} goes back to the field (`tongyao branch`)",
    "要不要为 {0} 另开过程（`tongyao branch`）",
)
_MOVED_BY: Final[Mapping[Ask, tuple[str, str]]] = {
    Ask.CONFIRM_TENSION: (
        "the tension is to be confirmed or revised (`tongyao confirm`, `tongyao revise`)",
        "张力待确认或修改（`tongyao confirm`、`tongyao revise`）",
    ),
    Ask.SELECT_PARTICIPANTS: ("people are to be chosen (`tongyao select`)", "待选人（`tongyao select`）"),
    Ask.CONSENT: (
        "whether a proxy may speak for them (`tongyao consent`)",
        "代理可不可以替他们发言（`tongyao consent`）",
    ),
    Ask.PROJECTION: ("what they say in this round (`tongyao say`)", "他们这一轮的发言（`tongyao say`）"),
    Ask.DECISION: ("how it goes on is to be decided (`tongyao decide`)", "怎样继续，待决定（`tongyao decide`）"),
    Ask.ANSWER: ("their answer to the plan (`tongyao answer`)", "他们对方案的答复（`tongyao answer`）"),
    Ask.RESIDUAL: _RESIDUAL,
    Ask.HOLE: _RESIDUAL,
}
"""What answers each ask, for operators, in English and in Chinese. `{0}`: the subject of the ask."""
_REPLAN: Final = (
    "somebody declined or proposed a change (`tongyao replan`, `tongyao branch` or `tongyao conclude`)",
    "有人没有接，或者提了修改（`tongyao replan`、`tongyao branch` 或 `tongyao conclude`）",
)
_CLOSE_GAP: Final = ("a gap that they are asked to close (`tongyao say`)", "一个要他们补上的缺口（`tongyao say`）")
_ASKED_OF_YOU: Final[Mapping[Phase, tuple[str, str]]] = {
    Phase.CONFIRMING: ("The process waits for you to confirm or revise the tension", "这个过程在等你确认或修改张力"),
    Phase.SELECTING: ("The process waits for you to choose who takes part", "这个过程在等你选定参与的人"),
    Phase.CRYSTALLIZING: ("The process waits for what you say in round {round}", "这个过程在等你在第 {round} 轮发言"),
    Phase.DECIDING: ("The process waits for you to decide how it goes on", "这个过程在等你决定怎样继续"),
    Phase.ANSWERING: ("The process waits for your answer", "这个过程在等你答复"),
    Phase.AWAITING_CHILDREN: (
        "The process waits for you to say what goes back to the field",
        "这个过程在等你决定哪些问题回到场中",
    ),
}
"""What is asked of a party in each phase, in English and in Chinese."""
_GAP_ASKED: Final = (
    "You are asked about a gap that perhaps only you can close. The rounds do not wait for it",
    "有一个缺口可能只有你能补上。各轮不会等你",
)
_GOES_ON: Final[Mapping[Phase, tuple[str, str]]] = {
    Phase.FORMULATING: ("The intent is being written in four parts. ", "正在把意图写成四小段。"),
    Phase.DISCOVERING: ("People are being looked for. ", "正在找人。"),
    Phase.CONSENTING: ("People are asked whether a proxy may speak for them. ", "正在征询一些人是否允许代理代为发言。"),
    Phase.CRYSTALLIZING: ("Round {round} is under way. ", "第 {round} 轮正在进行。"),
    Phase.DECIDING: (
        "The rounds have stopped. Whoever asked decides how the process goes on. ",
        "各轮已经停下，由提出的人决定接下来怎么办。",
    ),
    Phase.PLANNING: ("The plan is being written. ", "正在写方案。"),
    Phase.DELIVERING: ("Everybody’s part of the plan is being written. ", "正在写每个人的那一份。"),
    Phase.ANSWERING: ("The plan is being answered. ", "正在征求对方案的答复。"),
    Phase.AWAITING_CHILDREN: (
        "Other processes that came out of this one are under way. ",
        "由它产生的其他过程正在进行。",
    ),
}
"""What goes on in each phase, for those of whom nothing is asked. It names nobody."""
_OPEN_POINTS: Final = (
    "Points that stayed open can be taken back to the field (inbox). ",
    "还有未解决的问题可以回到场中（见待办）。",
)
