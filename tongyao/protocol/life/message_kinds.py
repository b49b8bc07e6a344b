"""Every kind of message: who may send it, whether it may be applied now, and what it does (docs/protocol.md §8.3).

`KINDS` is the one table of them. The workflow makes its updates and reads its signals by it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from tongyao.protocol.life import (
    answering,
    asks,
    clock,
    confirming,
    deciding,
    parking,
    phases,
    refusing,
    residuals,
    rounds,
    seating,
    turns,
)
from tongyao.protocol.life.journal import note
from tongyao.protocol.life.state import State, Words
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.ids import invited_alias
from tongyao.protocol.model.process import DEMANDER, Phase
from tongyao.protocol.rules.refusals import Refusal


@dataclass(frozen=True)
class Kind:
    """One kind of message.

    `by`: whether its author may send it. `refuse`: why it cannot be applied now. `hear`: applies it, and returns the phase that follows.
    `description`: for the Temporal UI. `answers`: the id of what such a message answers now; a message that names another one is refused.
    None: its own fields name it, or it answers nothing.
    """

    type: type[m.Message]
    by: Callable[[m.Message], bool]
    refuse: Callable[[State, Any], Refusal | None]
    hear: Callable[[State, Any, datetime], Phase | None]
    description: str
    answers: Callable[[State, Any], str] | None = None


_IN_A_FORK: Final = m.CONTROL_KINDS | {"upgrade", "call_answered", "set_mandate"}
"""What a fork takes: people's words and decisions in it are those of its origin."""


def refuse(state: State, message: m.Message) -> Refusal | None:
    """Why `message` cannot be applied to `state` now; None when it can. Reads the state only, not the clock."""
    kind = KINDS[message.kind]
    if state.phase.ended:
        return Refusal.ENDED
    if not kind.by(message):
        return Refusal.NOT_YOURS
    if state.start.fork is not None and message.kind not in _IN_A_FORK:
        return Refusal.FORK
    refusal = _too_many(message) or kind.refuse(state, message)
    if refusal is None and isinstance(message, m.Answer) and not _is_open(message.ask, open_ask(state, message)):
        return Refusal.ASK_OVER
    return refusal


def hear(state: State, message: m.Message, now: datetime) -> Phase | None:
    """Apply a message that `refuse` has nothing against. Returns the phase that follows, or None."""
    return KINDS[message.kind].hear(state, message, now)


def open_ask(state: State, message: m.Message) -> str:
    """The id of what a message of this kind would answer now; empty for one that names nothing."""
    answers = KINDS[message.kind].answers
    return answers(state, message) if answers is not None else ""


def open_now(state: State, message: m.Message) -> str:
    """What is open for the author of a refused message, as ids: what a message of this kind answers, and what is asked of them."""
    author = message.author.alias
    asked = [ask.id for ask, _ in phases.open_asks(state) if ask.alias == author]
    return ", ".join(dict.fromkeys(filter(None, [open_ask(state, message), *asked])))


def _is_open(ask: str, open_now: str) -> bool:
    """Whether a message that answers `ask` answers what is open now. An ask without its number holds for the whole phase."""
    return ask in ("", open_now) or open_now.startswith(f"{ask}/")


def _too_many(message: m.Message) -> Refusal | None:
    """The number within its lane is the count: nobody fills a process up. Some are always heard."""
    exempt = message.author.role in m.UNBOUNDED_ROLES or message.kind in m.CONTROL_KINDS
    return Refusal.TOO_MANY_MESSAGES if message.number > m.MAX_MESSAGES and not exempt else None


# ---- who may send it


def _operator(message: m.Message) -> bool:
    return message.author.role == "operator"


def _demander(message: m.Message) -> bool:
    return _operator(message) or (message.author.role == "demander" and message.author.alias == DEMANDER)


def _oneself(message: m.Message) -> bool:
    """A participant for themself, and the demander likewise where they take part."""
    author = message.author
    seated = author.role == "participant" or _demander(message)
    return _operator(message) or (seated and getattr(message, "alias", None) == author.alias)


def _oneself_or_demander(message: m.Message) -> bool:
    return _demander(message) or _oneself(message)


def _invited(message: m.Message) -> bool:
    invitation = message.invitation if isinstance(message, m.Consent) else 0
    author = message.author
    return author.role == "invited" and author.alias == invited_alias(invitation) and m.is_own(message)


def _child(message: m.Message) -> bool:
    child = message.child if isinstance(message, m.ChildEnded) else ""
    return message.author.role == "child" and message.author.alias == child


def _answerer(message: m.Message) -> bool:
    return message.author.role == "answerer"


# ---- what it does


def _submit(state: State, message: m.SubmitProjection, now: datetime) -> None:
    """Words enter the open round. Where its gate is closed they are kept for the next one. The event names the round they enter."""
    said = Words(lane=message.lane, round=message.round, text_id=message.text_id)
    if message.alias == DEMANDER:
        state.demander_asked = 0
    open_now = state.phase is Phase.CRYSTALLIZING and state.gate_open
    entered = state.round if open_now else state.round + 1
    note(state, EventKind.WORDS_ARRIVED, now, urgent=False, alias=message.alias, round=entered)
    if open_now:
        turns.hear_words(state, message.alias, said, now)
    else:
        state.late_words.setdefault(message.alias, []).append(said)


def _extend(state: State, message: m.ExtendDeadline, now: datetime) -> None:
    """Give somebody more time: in a turn, or the demander in a phase that waits for them.

    Where nobody is waited for, nothing changes: the sender cannot tell a proxy from a person by it.
    """
    turn = state.turns.get(message.alias)
    deadline = turn.deadline if turn is not None and turn.waits else None
    if deadline is None and message.alias == DEMANDER:
        deadline = state.deadline
    if deadline is None:
        return
    late = max(timedelta(0), clock.process_time(state, now) - deadline.due)
    deadline.extended += late + timedelta(seconds=message.seconds)
    deadline.passed, deadline.check_at = False, None
    if turn is not None and message.author.role == "participant":
        turn.extended_by_self = True
    due = clock.wall_time(state, deadline.due).isoformat()
    note(state, EventKind.DEADLINE_EXTENDED, now, alias=message.alias, due=due)


def _conclude(state: State, message: m.Conclude, now: datetime) -> Phase | None:
    state.concluded = True
    note(state, EventKind.CONCLUDED, now, round=state.round, phase=state.phase.value)
    return rounds.conclude(state, now) if state.phase is Phase.CRYSTALLIZING else None


def _resume(state: State, message: m.Resume, now: datetime) -> None:
    """Operators' causes are gone; what infrastructure failed is tried again at once."""
    clock.clear(state, [name for name, cause in state.causes.items() if cause.kind == "operator"], now)
    for cause in state.causes.values():
        cause.retry_at = None


def _switch(state: State, message: m.SwitchEndpoint, now: datetime) -> None:
    turns.switch(state, message.alias, message.endpoint, message.fallback, now, own=m.is_own(message))


def _cancel(state: State, message: m.Cancel, now: datetime) -> Phase:
    state.cancel_branch = message.branch
    return Phase.CANCELLED


def _upgrade(state: State, message: m.Upgrade, now: datetime) -> None:
    state.upgrade_wanted = True


def _confirms(state: State, message: m.Message) -> str:
    return asks.confirm_ask(state)


_TABLE: Final = (
    Kind(m.ReviseTension, _demander, refusing.confirmation, confirming.revise,
         "Revise the tension before it is confirmed: {tension, ask}.", _confirms),
    Kind(m.ConfirmTension, _demander, refusing.confirmation, lambda state, _, now: confirming.confirm(state, now),
         "Confirm the tension: {ask}.", _confirms),
    Kind(m.SelectParticipants, _demander, refusing.selection, seating.select,
         "Choose who takes part, and start: {participants, ask}.", lambda state, _: asks.select_ask(state)),
    Kind(m.Consent, _invited, refusing.consent, seating.consent,
         "Somebody who is invited allows a proxy to speak for them, or does not: {invitation, allow}."),
    Kind(m.SubmitProjection, _oneself, refusing.words, _submit,
         "Say something in a turn: {alias, round, text | nothing_new}."),
    Kind(m.SwitchEndpoint, _oneself, refusing.switch, _switch,
         "Change what speaks for a participant: {alias, endpoint}."),
    Kind(m.ExtendDeadline, _oneself_or_demander, refusing.extension, _extend,
         "Give somebody more time: {alias, seconds, ask}.", lambda state, message: asks.extend_ask(state, message.alias)),
    Kind(m.Leave, _oneself, refusing.leaving, lambda state, message, now: turns.leave(state, message.alias, now),
         "A participant leaves: {alias}."),
    Kind(m.Decide, _demander, refusing.decision, deciding.decide,
         "Decide how to go on: {decision, ask}.", lambda state, _: asks.decide_ask(state)),
    Kind(m.Conclude, _demander, refusing.conclusion, _conclude,
         "End the rounds after the present one, or the wait for answers or children: {ask}.", lambda state, _: asks.conclude_ask(state)),
    Kind(m.SetMandate, _oneself, refusing.mandate, lambda state, message, now: note(state, EventKind.MANDATE_CHANGED, now, alias=message.alias),
         "Note that a participant changed their proxy's mandate: {alias}."),
    Kind(m.AnswerPlan, _oneself, refusing.answer, answering.answer,
         "A participant's answer to the plan: {alias, revision, answer, text}."),
    Kind(m.ApproveResidual, _demander, refusing.approval, residuals.approve,
         "Start a child for a residual tension, or do not: {residual, approve}."),
    Kind(m.Replan, _demander, refusing.replan, answering.replan,
         "Make the plan anew, once: {without, proposals, ask}.", lambda state, _: asks.replan_ask(state)),
    Kind(m.ChildEnded, _child, refusing.end_of_child, residuals.ended,
         "A child process has ended: {child, outcome}."),
    Kind(m.CallAnswered, _answerer, refusing.nothing, parking.answered,
         "A model call that waited is answered: {call}."),
    Kind(m.Resume, _demander, refusing.resume, _resume,
         "Go on after a suspension."),
    Kind(m.Upgrade, _operator, refusing.nothing, _upgrade,
         "Continue as new, under the newest rules."),
    Kind(m.Cancel, _demander, refusing.nothing, _cancel,
         "Cancel the process; {branch: true}: with its children."),
)  # fmt: skip

KINDS: Final[dict[str, Kind]] = {kind.type.model_fields["kind"].default: kind for kind in _TABLE}
"""Every kind of message by its name."""
