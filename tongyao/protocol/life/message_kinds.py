"""Every kind of message: its permitted senders, the reasons to refuse it, and its effect (docs/protocol.md §8.3).

The table `KINDS` has all kinds. The workflow registers its updates and reads its signals from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from tongyao.protocol.life import (
    after_rounds,
    asks,
    before_rounds,
    clock,
    parking,
    phases,
    rounds,
    turns,
)
from tongyao.protocol.life.journal import note
from tongyao.protocol.life.state import State, Words
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.ids import invited_alias
from tongyao.protocol.model.process import DEMANDER, Choice, Phase
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.model.settings import to_proxy
from tongyao.protocol.rules.refusals import Refusal


@dataclass(frozen=True)
class Kind:
    """One kind of message.

    `by`: the permitted senders (`_sends_as`). `refuse`: returns the reason why it cannot be applied now. `hear`:
    applies it, and returns the next phase, or None. `description`: for the Temporal UI.
    """

    type: type[m.Message]
    by: frozenset[str]
    refuse: Callable[[State, Any], Refusal | None]
    hear: Callable[[State, Any, datetime], Phase | None]
    description: str


_IN_A_FORK: Final = m.CONTROL_KINDS | {"upgrade", "call_answered", "set_mandate"}
"""Kinds that a fork accepts. People's words and decisions in a fork come from its origin."""


def refuse(state: State, message: m.Message) -> Refusal | None:
    """Return the reason why `message` cannot be applied to `state` now, or None. Does not read the clock."""
    kind = KINDS[message.kind]
    if state.phase.ended:
        return Refusal.ENDED
    if kind.by.isdisjoint(_sends_as(message)):
        return Refusal.NOT_YOURS
    if state.start.fork is not None and message.kind not in _IN_A_FORK:
        return Refusal.FORK
    refusal = _too_many(message) or kind.refuse(state, message)
    if refusal is None and isinstance(message, m.AnswerToAsk) and not _is_open(message.ask, open_ask(state, message)):
        return Refusal.ASK_OVER
    return refusal


def hear(state: State, message: m.Message, now: datetime) -> Phase | None:
    """Apply a message that `refuse` accepts. Returns the next phase, or None."""
    return KINDS[message.kind].hear(state, message, now)


def open_ask(state: State, message: m.Message) -> str:
    """Return the id of the ask that a message of this kind would answer now. Empty if there is none."""
    if isinstance(message, m.Conclude | m.ExtendDeadline):
        alias = message.alias if isinstance(message, m.ExtendDeadline) else ""
        return asks.moment(message.kind, state.phase, state.round, state.plan_revision, alias)
    answered = asks.answered_by(message.kind) if isinstance(message, m.AnswerToAsk) else ()
    return next((ask.id for ask, _ in phases.open_asks(state) if ask.ask in answered), "")


def open_now(state: State, message: m.Message) -> str:
    """Return the ids of the asks that are open for the author of a refused message, the one it could answer first."""
    author = message.author.alias
    asked = [ask.id for ask, _ in phases.open_asks(state) if ask.alias == author]
    return ", ".join(dict.fromkeys(filter(None, [open_ask(state, message), *asked])))


def _is_open(ask: str, open_now: str) -> bool:
    """Whether `ask`, which the message answers, is still open. Without its number it matches its phase; empty, all."""
    return ask in ("", open_now) or open_now.startswith(f"{ask}/")


def _too_many(message: m.Message) -> Refusal | None:
    """Limit the messages of a lane by the message's number in it. Control messages and some roles are exempt."""
    exempt = message.author.role in m.UNBOUNDED_ROLES or message.kind in m.CONTROL_KINDS
    return Refusal.TOO_MANY_MESSAGES if message.number > m.MAX_MESSAGES and not exempt else None


# ---- permitted senders


def _sends_as(message: m.Message) -> frozenset[str]:
    """Return the capacities in which its author may send the message. An operator may send the messages of people.
    `oneself`: a participant, or a demander who takes part, for themselves."""
    author, alias = message.author, getattr(message, "alias", None)
    if author.role == "operator":
        return frozenset({"operator", "demander", "oneself"})
    demander = author.role == "demander" and author.alias == DEMANDER
    held = {
        "demander": demander,
        "oneself": alias == author.alias and (demander or author.role == "participant"),
        "invited": m.is_own(message) and author.alias == invited_alias(getattr(message, "invitation", 0)),
        "child": author.alias == getattr(message, "child", None),
        "answerer": True,
    }
    return frozenset(name for name, holds in held.items() if holds and name in (author.role, "demander", "oneself"))


_DEMANDER: Final = frozenset({"demander"})
_ONESELF: Final = frozenset({"oneself"})


# ---- reasons to refuse: first the phase is checked, then the completeness of the message


_CONCLUDABLE: Final = frozenset({Phase.CRYSTALLIZING, Phase.ANSWERING, Phase.AWAITING_CHILDREN})
"""Phases in which the demander may end the waiting: for more rounds, for answers, for children."""


def _refuse_nothing(state: State, message: m.Message) -> Refusal | None:
    """Accept the message in every open phase."""
    return None


def _refuse_resume(state: State, message: m.Resume) -> Refusal | None:
    return None if state.suspended else Refusal.NOT_SUSPENDED


def _refuse_mandate(state: State, message: m.SetMandate) -> Refusal | None:
    return None if message.alias in state.seats else _nobody(state, message.alias)


def _refuse_selection(state: State, message: m.SelectParticipants) -> Refusal | None:
    return _people(state, message.participants) if state.phase is Phase.SELECTING else Refusal.NOT_NOW


def _refuse_leaving(state: State, message: m.Leave) -> Refusal | None:
    alone = message.alias == DEMANDER and not state.others
    return _seat(state, message.alias) or (Refusal.DEMANDER_ALONE if alone else None)


def _refuse_conclusion(state: State, message: m.Conclude) -> Refusal | None:
    return None if state.phase in _CONCLUDABLE and not state.concluded else Refusal.NOT_NOW


def _refuse_approval(state: State, message: m.ApproveResidual) -> Refusal | None:
    return None if message.residual in state.undecided else Refusal.UNKNOWN_RESIDUAL


def _refuse_end_of_child(state: State, message: m.ChildEnded) -> Refusal | None:
    return None if after_rounds.residual_of(state, message.child) is not None else Refusal.UNKNOWN_CHILD


def _nobody(state: State, alias: str) -> Refusal:
    if not state.seats:
        return Refusal.NO_SEATS_YET
    return Refusal.DEMANDER_APART if alias == DEMANDER else Refusal.UNKNOWN_ALIAS


def _seat(state: State, alias: str) -> Refusal | None:
    seat = state.seats.get(alias)
    if seat is None:
        return _nobody(state, alias)
    return None if seat.active else Refusal.HAS_LEFT


def _refuse_confirmation(state: State, message: m.ReviseTension | m.ConfirmTension) -> Refusal | None:
    if state.phase is Phase.CONFIRMING:
        return None
    return Refusal.NOT_NOW if state.phase is Phase.FORMULATING else Refusal.ALREADY_CONFIRMED


def _people(state: State, choices: tuple[Choice, ...]) -> Refusal | None:
    settings = state.start.settings
    named = [choice.profile_id for choice in choices]
    seated = {seat.profile.profile_id for seat in state.seats.values() if seat.profile}
    if len(set(named)) < len(named) or seated & set(named):
        return Refusal.TWICE
    profile = state.start.demander_profile
    if state.start.demander in named or (profile is not None and profile.profile_id in named):
        return Refusal.HIMSELF
    if len(named) + len(state.others) > settings.max_others:
        return Refusal.TOO_MANY
    return None if before_rounds.enough(state, len(named)) else Refusal.NO_PARTICIPANTS


def _refuse_consent(state: State, message: m.ConsentAnswer) -> Refusal | None:
    waits = any(one.number == message.invitation and one.waits for one in state.invitations)
    return None if waits else Refusal.UNKNOWN_INVITATION


def _refuse_words(state: State, message: m.SubmitProjection) -> Refusal | None:
    answers_gaps = message.alias == DEMANDER and DEMANDER not in state.seats
    if answers_gaps and not (state.demander_asked or DEMANDER in state.turns):
        return Refusal.DEMANDER_APART if state.seats else Refusal.NO_SEATS_YET
    if not answers_gaps and (refusal := _seat(state, message.alias)) is not None:
        return refusal
    if message.nothing_new and message.text_id:
        return Refusal.TWO_ANSWERS
    if not message.nothing_new and not message.text_id:
        return Refusal.NOTHING_SAID
    if message.round > state.round:
        return Refusal.WRONG_ROUND
    if state.phase not in (Phase.CRYSTALLIZING, Phase.DECIDING, Phase.CONSENTING):
        return Refusal.ROUND_OVER
    counts_in = turns.counts_in(state)
    if message.nothing_new and message.round < counts_in and not answers_gaps:
        return Refusal.ROUND_OVER
    if state.endpoint_of(message.alias) is EndpointKind.PROXY:
        return Refusal.PROXY_SPEAKS
    turn = state.turns.get(message.alias) if counts_in == state.round else None
    if turn is not None and turn.author is EndpointKind.PROXY and turn.outcome is not None and turn.outcome.spoken:
        return Refusal.TURN_OVER  # the words of a proxy are not corrected
    often = turn.revision if turn is not None else len(state.late_words.get(message.alias, ()))
    return Refusal.CORRECTED_ENOUGH if message.text_id and often >= m.MAX_SAID else None


def _refuse_switch(state: State, message: m.SwitchEndpoint) -> Refusal | None:
    if (refusal := _seat(state, message.alias)) is not None:
        return refusal
    seat = state.seats[message.alias]
    proxy = to_proxy(message.endpoint, message.fallback)
    if proxy and seat.profile is None:
        return Refusal.NO_PROFILE
    if proxy and not seat.consented:
        return None if m.is_own(message) else Refusal.NO_CONSENT
    same = message.endpoint is seat.endpoint and message.fallback in (None, seat.fallback)
    if same:
        return Refusal.NO_CHANGE
    turn = state.turns.get(message.alias)
    takes_over = seat.endpoint is EndpointKind.PROXY and message.endpoint is not EndpointKind.PROXY
    if takes_over and m.is_own(message) and turn is not None and turn.open and turn.batch:
        return Refusal.TAKEN_OVER_OFTEN if turn.taken_back >= m.MAX_TAKEN_BACK else None
    return None


def _refuse_extension(state: State, message: m.ExtendDeadline) -> Refusal | None:
    """Return why an extension is refused. It does not show who is waited for (docs/protocol.md §3.3)."""
    turn = state.turns.get(message.alias)
    if message.author.role == "participant":
        if turn is None or not turn.waits:
            return Refusal.NOTHING_TO_EXTEND
        if turn.extended_by_self:
            return Refusal.EXTENDED_ALREADY
        return Refusal.TOO_LONG if message.seconds > state.start.settings.turn_seconds else None
    if message.alias == DEMANDER and (state.deadline is not None or DEMANDER not in state.seats):
        return None if state.deadline is not None else Refusal.NOTHING_TO_EXTEND
    if (refusal := _seat(state, message.alias)) is not None:
        return refusal
    return None if state.phase is Phase.CRYSTALLIZING and state.gate_open else Refusal.NOTHING_TO_EXTEND


def _refuse_decision(state: State, message: m.Decide) -> Refusal | None:
    if state.phase is not Phase.DECIDING:
        return Refusal.NOT_NOW
    if message.decision is m.Decision.ADD_PARTICIPANTS:
        return _people(state, message.participants)
    if message.decision in m.GOING_ON and not state.others:
        return Refusal.DEMANDER_ALONE
    return _limit(state, message) if message.decision is m.Decision.RAISE_BUDGET else None


def _limit(state: State, message: m.Decide) -> Refusal | None:
    if state.start.lineage is not None:
        return Refusal.BUDGET_OF_ROOT
    if message.tokens is None and message.cost is None:
        return Refusal.NO_LIMIT
    too_low = (message.tokens is not None and message.tokens <= state.spent.tokens) or (
        message.cost is not None and float(message.cost) <= float(state.spent.cost)
    )
    return Refusal.LIMIT_TOO_LOW if too_low else None


def _refuse_answer(state: State, message: m.AnswerPlan) -> Refusal | None:
    if (refusal := _seat(state, message.alias)) is not None:
        return refusal
    if state.phase is not Phase.ANSWERING:
        return Refusal.NOT_NOW
    if message.alias in state.left_out:
        return Refusal.NOT_ASKED
    if message.revision != state.plan_revision:
        return Refusal.WRONG_REVISION
    return Refusal.ALREADY_ANSWERED if message.alias in state.answers else None


def _refuse_replan(state: State, message: m.Replan) -> Refusal | None:
    if state.phase is not Phase.ANSWERING:
        return Refusal.NOT_NOW
    if state.replanned:
        return Refusal.ALREADY_REPLANNED
    if not message.without and not message.proposals:
        return Refusal.NOTHING_TO_REPLAN
    if any(state.answers.get(alias) != "decline" for alias in message.without):
        return Refusal.NO_ONE_DECLINED
    if any(state.answers.get(alias) != "propose" for alias in message.proposals):
        return Refusal.NO_ONE_PROPOSED
    return Refusal.NOBODY_LEFT if set(state.others) <= set(message.without) else None


# ---- effects


def _submit(state: State, message: m.SubmitProjection, now: datetime) -> None:
    """Add words to the open round, or keep them for the next round if the gate is closed. The event names the round."""
    said = Words(lane=message.lane, round=message.round, text_id=message.text_id)
    if message.alias == DEMANDER:
        state.demander_asked = 0
    entered = turns.counts_in(state)
    note(state, EventKind.WORDS_ARRIVED, now, alias=message.alias, round=entered)
    if entered == state.round:
        turns.hear_words(state, message.alias, said, now)
    else:
        state.late_words.setdefault(message.alias, []).append(said)


def _extend(state: State, message: m.ExtendDeadline, now: datetime) -> None:
    """Give more time: to a participant in a turn, or to the demander in a phase that waits for them.

    If the process does not wait for that person, nothing changes, so the sender cannot distinguish proxies.
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
    if state.phase is not Phase.CRYSTALLIZING or state.deciding_cause is None:
        return None
    state.unconverged = True  # the rounds have already stopped
    return Phase.PLANNING


def _resume(state: State, message: m.Resume, now: datetime) -> None:
    """Remove operators' causes, and retry steps that failed for infrastructure at once."""
    clock.clear(state, [name for name, cause in state.causes.items() if cause.kind == "operator"], now)
    for cause in state.causes.values():
        cause.retry_at = None


def _cancel(state: State, message: m.Cancel, now: datetime) -> Phase:
    state.cancel_branch = message.branch
    return Phase.CANCELLED


def _upgrade(state: State, message: m.Upgrade, now: datetime) -> None:
    state.upgrade_wanted = True


_TABLE: Final = (
    Kind(m.ReviseTension, _DEMANDER, _refuse_confirmation, before_rounds.revise,
         "Revise the tension before it is confirmed: {tension, ask}."),
    Kind(m.ConfirmTension, _DEMANDER, _refuse_confirmation, lambda state, _, now: before_rounds.confirm(state, "person", now),
         "Confirm the tension: {ask}."),
    Kind(m.SelectParticipants, _DEMANDER, _refuse_selection, before_rounds.select,
         "Choose who takes part, and start: {participants, ask}."),
    Kind(m.ConsentAnswer, frozenset({"invited"}), _refuse_consent, before_rounds.consent,
         "Somebody who is invited allows a proxy to speak for them, or does not: {invitation, allow}."),
    Kind(m.SubmitProjection, _ONESELF, _refuse_words, _submit,
         "Say something in a turn: {alias, round, text | nothing_new}."),
    Kind(m.SwitchEndpoint, _ONESELF, _refuse_switch, turns.switch,
         "Change what speaks for a participant: {alias, endpoint}."),
    Kind(m.ExtendDeadline, _ONESELF | _DEMANDER, _refuse_extension, _extend,
         "Give somebody more time: {alias, seconds, ask}."),
    Kind(m.Leave, _ONESELF, _refuse_leaving, lambda state, message, now: turns.leave(state, message.alias, now),
         "A participant leaves: {alias}."),
    Kind(m.Decide, _DEMANDER, _refuse_decision, rounds.decide,
         "Decide how to go on: {decision, ask}."),
    Kind(m.Conclude, _DEMANDER, _refuse_conclusion, _conclude,
         "End the rounds after the present one, or the wait for answers or children: {ask}."),
    Kind(m.SetMandate, _ONESELF, _refuse_mandate, lambda state, message, now: note(state, EventKind.MANDATE_CHANGED, now, alias=message.alias),
         "Note that a participant changed their proxy's mandate: {alias}."),
    Kind(m.AnswerPlan, _ONESELF, _refuse_answer, after_rounds.answer,
         "A participant's answer to the plan: {alias, revision, answer, text}."),
    Kind(m.ApproveResidual, _DEMANDER, _refuse_approval, after_rounds.approve,
         "Start a child for a residual tension, or do not: {residual, approve}."),
    Kind(m.Replan, _DEMANDER, _refuse_replan, after_rounds.replan,
         "Make the plan anew, once: {without, proposals, ask}."),
    Kind(m.ChildEnded, frozenset({"child"}), _refuse_end_of_child, after_rounds.child_ended,
         "A child process has ended: {child, outcome}."),
    Kind(m.CallAnswered, frozenset({"answerer"}), _refuse_nothing, parking.answered,
         "A model call that waited is answered: {call}."),
    Kind(m.Resume, _DEMANDER, _refuse_resume, _resume,
         "Go on after a suspension."),
    Kind(m.Upgrade, frozenset({"operator"}), _refuse_nothing, _upgrade,
         "Continue as new, under the newest rules."),
    Kind(m.Cancel, _DEMANDER, _refuse_nothing, _cancel,
         "Cancel the process; {branch: true}: with its children."),
)  # fmt: skip

KINDS: Final[dict[str, Kind]] = {kind.type.model_fields["kind"].default: kind for kind in _TABLE}
"""Every kind of message by its name."""
