"""The reasons why a process waits, the time since when, and the ways to continue. They are derived from the state.

The sentences are in `tongyao/texts/protocol/why.toml`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from pydantic import Field

from tongyao.protocol.contracts.process import ROLES, queue_of
from tongyao.protocol.life import passed_deadlines
from tongyao.protocol.life.asks import does, whom, words
from tongyao.protocol.life.clock import wall_time
from tongyao.protocol.life.machine import wanted
from tongyao.protocol.life.phases import open_asks
from tongyao.protocol.life.state import RECORD_KEY, Deadline, State, WantedStep
from tongyao.protocol.model.events import AskName, Waiting
from tongyao.protocol.model.process import DEMANDER, ENDED, Phase
from tongyao.protocol.model.requests import Language
from tongyao.protocol.model.value import Value


class WaitReason(Value):
    """One reason why a process waits, in the requested language. It contains aliases, so only operators may read it."""

    waits_for: str
    since: datetime | None = None
    until: datetime | None = None
    left: str = ""
    moved_by: str = ""
    holds_up: bool = Field(
        default=True, description="False for a question that is open and for whose answer nothing waits."
    )
    language: Language = Field(default="en", exclude=True)

    @property
    def sentence(self) -> str:
        """The reason as one sentence."""
        parts: list[tuple[str, dict[str, Any]]] = [
            ("waits_for" if self.holds_up else "open_question", {"whom": self.waits_for})
        ]
        parts += [("since", {"since": self.since})] * bool(self.since)
        parts += [("until_left", {"until": self.until, "left": self.left})] * bool(self.until)
        parts += [("moved_by", {"moved": self.moved_by})] * bool(self.moved_by)
        return "".join(_say(key, self.language, **values) for key, values in [*parts, ("stop", {})])


def _say(key: str, language: str, /, **values: Any) -> str:
    return words(f"why.{key}", language, **values)


def why(state: State, now: datetime, language: Language = "en") -> list[WaitReason]:
    """Return all reasons. Reasons that stop the whole process come first. Empty after the end if all events are
    written."""
    found = [*_causes(state, language), *_people(state, language), *_steps(state, language)] or _nothing(
        state, language
    )
    return [
        one.model_copy(update={"left": _left(one.until, now, language) if one.until else "", "language": language})
        for one in found
    ]


def _left(until: datetime, now: datetime, language: Language) -> str:
    hours, rest = divmod(max(0, int((until - now).total_seconds())), 3600)
    days, hours = divmod(hours, 24)
    key = "days" if days else "hours" if hours else "minutes"
    return _say(key, language, days=days, hours=hours, minutes=rest // 60)


def _causes(state: State, language: Language) -> Iterator[WaitReason]:
    for name, cause in sorted(state.causes.items()):
        if cause.kind == "operator":
            who = _say("operator", language, code=cause.code)
            moved = _say("mend", language, reason=cause.reason)
        else:
            who = _say("step_failed", language, name=name, code=cause.code)
            moved = _say("tried_at" if cause.retry_at else "being_tried", language, at=cause.retry_at)
        if cause.code == "schedule_to_start":
            moved = _say("no_worker", language, reason=cause.reason, moved=moved)
        yield WaitReason(waits_for=who, since=cause.since, moved_by=moved)


def _people(state: State, language: Language) -> list[WaitReason]:
    """Return the asks of the phase. Before them: the running children, or the time for corrections if no turn is open."""
    reasons = []
    if state.phase is Phase.AWAITING_CHILDREN:
        running = [one.child for one in state.residuals.values() if one.status == "started"]
        until = _until(state, state.deadline)
        reasons = [WaitReason(waits_for=_say("child", language, child=name), until=until) for name in running]
    elif state.correcting_until is not None and not state.waiting_for and not state.suspended:
        reasons = [WaitReason(waits_for=_say("corrections", language), until=wall_time(state, state.correcting_until))]
    for ask, deadline in _asked_of_people(state):
        since = deadline.asked_at if deadline is not None else None
        moved = does(ask, language)
        reasons.append(
            WaitReason(
                waits_for=whom(ask.ask, ask.alias, language),
                since=since,
                until=_until(state, deadline),
                moved_by=moved,
                holds_up=ask.ask is not AskName.GAP,
            )
        )
    return reasons


def _asked_of_people(state: State) -> Iterator[tuple[Waiting, Deadline | None]]:
    """Yield the asks for which the process waits: not `resume`, and not residuals while answers are awaited."""
    for ask, deadline in open_asks(state):
        beside = (
            state.phase is Phase.ANSWERING and not state.only_residuals and ask.ask in (AskName.RESIDUAL, AskName.HOLE)
        )
        if ask.ask is not AskName.RESUME and not beside:
            yield ask, deadline


def _until(state: State, deadline: Deadline | None) -> datetime | None:
    return wall_time(state, deadline.due) if deadline is not None and not state.suspended else None


def _steps(state: State, language: Language) -> Iterator[WaitReason]:
    for key, step in waited_for(state).items():
        if key != RECORD_KEY and key not in state.causes and not step.held:
            role = _say("role", language, role=ROLES[queue_of(step.contract)])
            yield WaitReason(waits_for=_say("step", language, key=key, summary=step.summary), moved_by=role)


def waited_for(state: State) -> dict[str, WantedStep]:
    """Return the steps that need a worker in this run. Before continue-as-new, these are only the running steps."""
    running = state.draining
    return {key: step for key, step in wanted(state).items() if running is None or key in running}


def _nothing(state: State, language: Language) -> list[WaitReason]:
    if state.phase.ended:
        return []
    if state.draining is not None:
        return [WaitReason(waits_for=_say("next_run", language))]
    return [
        WaitReason(waits_for=_say("own_deadline", language), until=wall_time(state, passed_deadlines.next_due(state)))
    ]


def why_for_party(state: State, alias: str, language: str) -> str:
    """Return one sentence for a demander or participant. It does not name others, which would distinguish proxies."""
    if state.phase.ended:
        return _say("ended", language)
    if any(cause.kind == "operator" for cause in state.causes.values()):
        return _say("suspended", language)
    if state.suspended:
        return _say("away", language)
    own = [(ask, deadline) for ask, deadline in _asked_of_people(state) if ask.alias == alias]
    if not own:
        said = _say(state.phase, language, round=state.round) if state.phase in _GOES_ON else ""
        said += _say("open_points", language) if alias == DEMANDER and state.undecided else ""
        return f"{said}{_say('not_you', language)}"
    ask, deadline = min(own, key=lambda one: (one[1] is None, one[1].due if one[1] is not None else None))
    what = does(ask, language)
    key = "gap_waits" if ask.ask is AskName.GAP else "process_waits"
    until = _until(state, deadline)
    at = _say("until", language, until=f"{until:%Y-%m-%d %H:%M} UTC") if until is not None else ""
    return f"{_say(key, language, what=what)}{at}{_say('stop', language)}"


_GOES_ON: Final = frozenset(Phase) - ENDED - {Phase.CONFIRMING, Phase.SELECTING}
"""Phases with a sentence for a party who is not asked anything."""


def others_are_waited_for_until(state: State, alias: str) -> datetime | None:
    """Return the latest deadline of other people; None if the process waits for `alias`, or if no deadline runs."""
    waits = [] if state.suspended else _people(state, "en")
    if any(reason.waits_for == alias for reason in waits):
        return None
    return max((reason.until for reason in waits if reason.until is not None), default=None)
