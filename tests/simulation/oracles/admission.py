"""Admission (docs/protocol.md §3, §8.3): a message is refused exactly if there is a reason, and with a reason."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.oracles.base import Frozen, Oracle, check
from tongyao.protocol.life.state import State
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.events import Event, EventKind
from tongyao.protocol.model.ids import child_id
from tongyao.protocol.model.process import Choice

if TYPE_CHECKING:
    from tests.simulation.world import Running, World

DEMANDERS_ONLY: Final = frozenset(
    "revise_tension confirm_tension select_participants decide conclude approve_residual replan cancel resume".split()
)
NEVER_TOO_MANY: Final = frozenset({"cancel", "leave", "resume"})
ONLY_IN: Final = {
    "select_participants": ("selecting",),
    "decide": ("deciding",),
    "conclude": ("crystallizing", "answering", "awaiting_children"),
    "answer_plan": ("answering",),
    "replan": ("answering",),
}


class Admission(Oracle):
    def __init__(self) -> None:
        self.reasons: set[str] = set()
        self.extended: set[tuple[int, str]] = set()
        self.counted: Counter[str] = Counter()
        self.taken_over: Counter[str] = Counter()
        """How often a person took over in this round while their proxy's call ran, by alias."""

    def begun(self, world: World, events: list[Event]) -> None:
        self._count(events)

    def finished(self, world: World, running: Running, output: Any, before: Frozen, events: list[Event]) -> None:
        self._count(events)

    def ticked(self, world: World, before: Frozen, events: list[Event]) -> None:
        self._count(events)

    def _count(self, events: list[Event]) -> None:
        """Count revisions, choices of people, decisions and plans, from which the numbers of asks are made.

        This is called after each call of the state machine, because a workflow task may contain several messages.
        """
        for event in events:
            counted = event.kind.value
            if event.kind is EventKind.PHASE_CHANGED:
                counted = str(event.data["to"])
            if event.kind is EventKind.ROUND_OPENED:
                self.taken_over.clear()
            self.counted[counted] += 1

    def offered(self, world: World, message: m.Message) -> None:
        self.reasons = self._reasons(world.state, message) or self._over(world.state, message)

    def _over(self, state: State, message: m.Message) -> set[str]:
        """Return the reason if a message names an ask that is not open. Such a message is refused."""
        if not isinstance(message, m.AnswerToAsk) or not message.ask:
            return set()
        number = (
            state.round if state.phase.value not in ("answering", "awaiting_children") else self.counted["plan_ready"]
        )
        moment = f"{message.kind}/{state.phase.value}/{number}"
        open_now = {
            "revise_tension": f"confirm/{self.counted['tension_revised'] + 1}",
            "confirm_tension": f"confirm/{self.counted['tension_revised'] + 1}",
            "select_participants": f"select/{self.counted['consenting'] + 1}",
            "decide": f"decide/{self.counted['decision_needed']}",
            "replan": f"replan/{self.counted['plan_ready']}" if self._points(state) else "",
            "conclude": moment,
            "extend_deadline": f"{moment}/{message.alias}" if isinstance(message, m.ExtendDeadline) else "",
        }[message.kind]
        return set() if message.ask == open_now or open_now.startswith(f"{message.ask}/") else {"ask_over"}

    def _points(self, state: State) -> bool:
        """Return whether there is a decline or a proposal to which the demander has not reacted otherwise."""
        revision = self.counted["plan_ready"]
        holes = {alias: state.residuals.get(f"plan/{revision}/hole/{alias}") for alias in state.answers}
        decided = {alias for alias, hole in holes.items() if hole is not None and hole.status != "open"}
        left = {alias for alias, given in state.answers.items() if given == "decline"} - decided
        return not state.replanned and (bool(left) or "propose" in state.answers.values())

    def refused(self, world: World, message: m.Message, code: str) -> None:
        check(code in self.reasons, f"refused as {code}, expected", self.reasons or "acceptance", message)

    def heard(self, world: World, message: m.Message, before: Frozen, events: list[Event]) -> None:
        check(not self.reasons, "accepted in spite of", self.reasons, message)
        self._count(events)
        if isinstance(message, m.ExtendDeadline) and message.author.role == "participant":
            self.extended.add((world.state.round, message.alias))
        if isinstance(message, m.SwitchEndpoint) and message.endpoint.value != "proxy":
            turn = before["turns"].get(message.alias)
            runs = turn is not None and turn["outcome"] is None and turn["batch"] > 0
            was_proxy = before["seats"][message.alias]["endpoint"].value == "proxy"
            self.taken_over[message.alias] += runs and was_proxy and not turn["words"]

    def _reasons(self, state: State, message: m.Message) -> set[str]:
        """Return every reason to refuse a message. An early reason is returned without the later ones."""
        if state.phase.value in ("completed", "abandoned", "cancelled", "expired", "failed"):
            return {"ended"}
        if not self._theirs(message):
            return {"not_yours"}
        bounded = message.author.role not in ("operator", "child", "answerer") and message.kind not in NEVER_TOO_MANY
        if bounded and message.number > 1000:
            return {"too_many_messages"}
        if message.kind in ONLY_IN and state.phase.value not in ONLY_IN[message.kind]:
            return {"not_now"} | (self._seat(state, message.alias) if isinstance(message, m.AnswerPlan) else set())
        match message:
            case m.ReviseTension() | m.ConfirmTension():
                return {"formulating": {"not_now"}, "confirming": set[str]()}.get(
                    state.phase.value, {"already_confirmed"}
                )
            case m.SelectParticipants():
                return self._people(state, message.participants)
            case m.ConsentAnswer():
                known = [one.number for one in state.invitations if one.allowed is None]
                return set() if message.invitation in known else {"unknown_invitation"}
            case m.SubmitProjection():
                return self._words(state, message)
            case m.SwitchEndpoint():
                return self._seat(state, message.alias) or self._switch(state, message)
            case m.Leave():
                alone = message.alias == "P00" and not _others(state)
                return self._seat(state, message.alias) or ({"demander_alone"} if alone else set())
            case m.SetMandate():
                return self._seat(state, message.alias) - {"has_left"}
            case m.ExtendDeadline():
                return self._extend(state, message)
            case m.Decide():
                return self._decide(state, message)
            case m.Conclude():
                return {"not_now"} if state.concluded else set()
            case m.AnswerPlan():
                return self._seat(state, message.alias) | self._answer(state, message)
            case m.ApproveResidual():
                one = state.residuals.get(message.residual)
                return set() if one is not None and one.status == "open" else {"unknown_residual"}
            case m.Replan():
                return self._replan(state, message)
            case m.ChildEnded():
                running = [
                    child_id(state.process_id, name)
                    for name, one in state.residuals.items()
                    if one.status in ("approved", "started")
                ]
                return set() if message.child in running else {"unknown_child"}
            case m.Resume():
                return set() if state.causes else {"not_suspended"}
            case _:
                return set()

    def _theirs(self, message: m.Message) -> bool:
        role, alias = message.author.role, message.author.alias
        if isinstance(message, m.ChildEnded):
            return role == "child" and alias == message.child
        if isinstance(message, m.ConsentAnswer):
            return role == "invited" and alias == f"invited/{message.invitation}" and message.number > 0
        if isinstance(message, m.CallAnswered):
            return role == "answerer"
        if role in ("child", "invited"):
            return False
        if role == "operator":
            return True
        if message.kind == "upgrade" or (role == "demander" and alias != "P00"):
            return False
        if message.kind in DEMANDERS_ONLY:
            return role == "demander"
        if message.kind == "extend_deadline" and role == "demander":
            return True
        return bool(message.alias == alias)  # type: ignore[union-attr]  # what is left speaks for a seat

    def _seat(self, state: State, alias: str) -> set[str]:
        seat = state.seats.get(alias)
        if not state.seats:
            return {"no_seats_yet"}
        if seat is None:
            return {"demander_takes_no_part" if alias == "P00" else "unknown_alias"}
        return set() if seat.active else {"has_left"}

    def _people(self, state: State, choices: tuple[Choice, ...]) -> set[str]:
        settings = state.start.settings
        names = [choice.profile_id for choice in choices]
        sitting = [seat.profile.profile_id for seat in state.seats.values() if seat.profile is not None]
        own = [
            state.start.demander,
            *([state.start.demander_profile.profile_id] if state.start.demander_profile else []),
        ]
        places = settings.max_participants - settings.demander_takes_part - len(_others(state))
        least = 1 if state.round else settings.quorum
        found = {
            "twice": len(names) > len(set(names)) or bool(set(names) & set(sitting)),
            "demander_among_participants": bool(set(names) & set(own)),
            "too_many": len(names) > places,
            "no_participants": len(names) < least,
        }
        return {name for name, holds in found.items() if holds}

    def _words(self, state: State, message: m.SubmitProjection) -> set[str]:
        asked = message.alias == "P00" and "P00" not in state.seats
        if asked and (state.demander_asked or "P00" in state.turns):
            reasons = set[str]()
        else:
            asked, reasons = False, self._seat(state, message.alias)
        if message.nothing_new and message.text_id:
            reasons |= {"two_answers"}
        if not message.nothing_new and not message.text_id:
            reasons |= {"nothing_said"}
        if message.round > state.round:
            reasons |= {"wrong_round"}
        open_gate = state.phase.value == "crystallizing" and state.gate_open
        rounds_go_on = state.phase.value in ("crystallizing", "deciding", "consenting")
        kept_for_later = (bool(message.text_id) or asked) and rounds_go_on
        if not (open_gate and message.round == state.round) and not kept_for_later:
            reasons |= {"round_over"}
        if reasons:
            return reasons
        kind = state.start.settings.demander_endpoint if asked else state.seats[message.alias].endpoint
        if kind.value == "proxy":
            return {"proxy_speaks"}
        turn = state.turns.get(message.alias)
        if not open_gate or turn is None:
            late = 0 if open_gate else len(state.late_words.get(message.alias, ()))
            return {"corrected_enough"} if message.text_id and late >= 10 else set()
        spoken = turn.outcome is not None and turn.outcome.value in ("replied", "nothing_new")
        if spoken and turn.author is not None and turn.author.value == "proxy":
            return {"turn_over"}
        return {"corrected_enough"} if message.text_id and turn.revision >= 10 else set()

    def _switch(self, state: State, message: m.SwitchEndpoint) -> set[str]:
        seat = state.seats[message.alias]
        wants_proxy = "proxy" in (message.endpoint.value, message.fallback.value if message.fallback else "")
        if wants_proxy and seat.profile is None:
            return {"no_profile"}
        if wants_proxy and not seat.consented:
            return {"no_consent"} if message.author.role == "operator" or not message.number else set()
        same = message.endpoint == seat.endpoint and (message.fallback is None or message.fallback == seat.fallback)
        if same:
            return {"no_change"}
        turn = state.turns.get(message.alias)
        runs = turn is not None and turn.outcome is None and turn.batch > 0
        takes_over = seat.endpoint.value == "proxy" and message.endpoint.value != "proxy"
        own = message.author.role != "operator" and bool(message.number)
        often = self.taken_over[message.alias] >= 3
        return {"taken_over_often"} if runs and takes_over and own and often else set()

    def _extend(self, state: State, message: m.ExtendDeadline) -> set[str]:
        turn = state.turns.get(message.alias)
        waited_for = turn is not None and turn.outcome is None and turn.deadline is not None
        waited_for = waited_for and turn is not None and not turn.words and not turn.nothing_new
        if message.author.role == "participant":
            found = {
                "nothing_to_extend": not waited_for,
                "extended_already": (state.round, message.alias) in self.extended,
                "too_long": message.seconds > state.start.settings.turn_seconds,
            }
            return {name for name, holds in found.items() if holds}
        if message.alias == "P00" and state.deadline is not None:
            return set()
        if message.alias == "P00" and "P00" not in state.seats:
            return {"nothing_to_extend"}
        in_the_room = state.phase.value == "crystallizing" and state.gate_open
        return self._seat(state, message.alias) | (set() if in_the_room else {"nothing_to_extend"})

    def _decide(self, state: State, message: m.Decide) -> set[str]:
        decision = message.decision.value
        if decision == "add_participants":
            return self._people(state, message.participants)
        reasons = set()
        if decision in ("extend", "raise_budget") and not _others(state):
            reasons.add("demander_alone")
        if decision == "raise_budget":
            if state.start.lineage is not None:
                reasons.add("budget_of_root")
            if message.tokens is None and message.cost is None:
                reasons.add("no_limit")
            low_tokens = message.tokens is not None and message.tokens <= state.spent.tokens
            if low_tokens or (message.cost is not None and Decimal(message.cost) <= state.spent.cost):
                reasons.add("limit_too_low")
        return reasons

    def _answer(self, state: State, message: m.AnswerPlan) -> set[str]:
        found = {
            "not_asked": message.alias in state.left_out,
            "wrong_revision": message.revision != state.plan_revision,
            "already_answered": message.alias in state.answers,
        }
        return {name for name, holds in found.items() if holds}

    def _replan(self, state: State, message: m.Replan) -> set[str]:
        found = {
            "already_replanned": state.replanned,
            "nothing_to_replan": not message.without and not message.proposals,
            "no_one_declined": any(state.answers.get(one) != "decline" for one in message.without),
            "no_one_proposed": any(state.answers.get(one) != "propose" for one in message.proposals),
            "nobody_left": all(alias in message.without or alias == "P00" for alias in state.present),
        }
        return {name for name, holds in found.items() if holds}


def _others(state: State) -> list[str]:
    return [alias for alias, seat in state.seats.items() if seat.active and alias != "P00"]
