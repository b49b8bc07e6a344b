"""A second account of deadlines: start, term, extensions and effects (docs/protocol.md §3.3, §3.7, §3.9).

Process time is the time since the start without suspensions. `due` is asked + term + extended + given back. Only a step
that began at or after `due` ends a person's time, and only if no message of this person is undelivered.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.oracles.base import Frozen, Oracle, check
from tests.simulation.oracles.parking import parking
from tongyao.protocol.contracts.process import CheckDeadlineOutput
from tongyao.protocol.life import machine
from tongyao.protocol.life.snapshot import snapshot
from tongyao.protocol.life.state import Deadline, StepFailure
from tongyao.protocol.model.events import Event, EventKind
from tongyao.protocol.model.messages import ExtendDeadline, Message
from tongyao.protocol.model.process import DEMANDER, Phase

if TYPE_CHECKING:
    from tests.simulation.world import Running, World

K = EventKind
ZERO: Final = timedelta(0)
LOOK_AGAIN: Final = timedelta(seconds=60)
SNAPSHOT_EVERY: Final = 7


@dataclass
class Question:
    """An ask with a deadline. All times except `term` are process time."""

    asked: timedelta
    term: timedelta
    reminds: bool
    extended: timedelta = ZERO
    given_back: timedelta = ZERO
    again_at: timedelta = ZERO
    over: bool = False
    reminded: int = 0
    check: str = ""

    @property
    def due(self) -> timedelta:
        return self.asked + self.term + self.extended + self.given_back

    @property
    def reminders(self) -> tuple[timedelta, timedelta]:
        length = self.due - self.asked
        return self.asked + length * 0.5, self.asked + length * 0.9


class Time(Oracle):
    def __init__(self) -> None:
        self.questions: dict[str, Question] = {}
        self.stood = ZERO
        self.stands_since: datetime | None = None
        self.resumed: datetime | None = None
        self.began: datetime | None = None

    def at(self, now: datetime) -> timedelta:
        assert self.began is not None
        return (self.stands_since or now) - self.began - self.stood

    # ---- changes of asks

    def begun(self, world: World, events: list[Event]) -> None:
        self.began = world.now
        self._note(world, events, folded=False)

    def heard(self, world: World, message: Message, before: Frozen, events: list[Event]) -> None:
        if isinstance(message, ExtendDeadline):
            self._extend(world, message)
        self._clock(world, before, world.now)
        self._note(world, events, folded=before["folded"])
        self._nobody_was_timed_out(events)
        self._told_of_extensions(before, events)
        self._corrections(world, before, events)

    def _told_of_extensions(self, before: Frozen, events: list[Event]) -> None:
        """Check that an extension is reported with the new deadline. In a suspended process, nobody knows it yet."""
        assert self.began is not None
        if before["causes"]:
            return
        for event in events:
            if event.kind is K.DEADLINE_EXTENDED:
                alias = event.data["alias"]
                names = (f"turn/{alias}", str(alias), "phase")
                due = [self.began + self.stood + one.due for name, one in self.questions.items() if name in names]
                check(event.data.get("due") in [one.isoformat() for one in due], "extended until", event, due)

    def _corrections(self, world: World, before: Frozen, events: list[Event]) -> None:
        """Check that the gate closes only after the time for corrections that follows a person's last words."""
        seconds = timedelta(seconds=world.state.start.settings.correcting_seconds)
        until, was = world.state.correcting_until, before["correcting_until"]
        kinds = [event.kind for event in events]
        if seconds and K.GATE_COMPLETE in kinds and K.ROUND_OPENED not in kinds:
            check(was is None or self.at(world.now) >= was, "the gate closes, and corrections are still taken")
            check(until is None, "the gate is closed, and corrections are taken")
        if K.WORDS_ARRIVED in kinds and world.state.gate_open and world.state.phase.value == "crystallizing":
            check((until is not None) == bool(seconds), "words came, and may not be corrected", until)
        if until is not None and until != was:
            check(until == self.at(world.now) + seconds, "corrections until", until)

    def _extend(self, world: World, message: ExtendDeadline) -> None:
        """Extend a turn, or for a demander without a waiting turn the deadline of the phase."""
        question = self.questions.get(f"turn/{message.alias}")
        if question is None and message.alias == DEMANDER:
            question = self.questions.get("phase")
        if question is not None:
            late = max(ZERO, self.at(world.now) - question.due)
            question.extended += late + timedelta(seconds=message.seconds)
            question.over, question.again_at = False, ZERO

    def finished(self, world: World, running: Running, output: Any, before: Frozen, events: list[Event]) -> None:
        since = running.began if isinstance(output, StepFailure) else world.now
        who = next((name for name, one in self.questions.items() if one.check == running.key), "")
        checks = bool(who) and isinstance(output, CheckDeadlineOutput) and self.questions[who].over
        ended = checks and self._checked(world, self.questions[who], output)
        self._clock(world, before, since)
        if ended:
            self._over(world, who, before, events)
        else:
            self._nobody_was_timed_out(events)
        self._note(world, events, folded=before["folded"])
        self._told_of_extensions(before, events)
        self._corrections(world, before, events)

    def _checked(self, world: World, question: Question, output: CheckDeadlineOutput) -> bool:
        """Return whether the time is over. Otherwise time is given back, or there is a later check."""
        at = self.at(world.now)
        check(at >= question.due, "checked before it was due", question)
        question.given_back = max(question.given_back, timedelta(seconds=output.shut_seconds))
        if question.due > at:
            question.over, question.again_at = False, ZERO
        elif output.undelivered:
            question.over, question.again_at = False, at + LOOK_AGAIN
        else:
            return True
        return False

    def _over(self, world: World, who: str, before: Frozen, events: list[Event]) -> None:
        """Check the effects of a passed deadline. No message is undelivered."""
        kinds = [(event.kind, event.data) for event in events]
        del self.questions[who]
        if who == "phase" and before["phase"] is Phase.CONFIRMING:
            check((K.TENSION_CONFIRMED, {"by": "timer"}) in kinds, "it does not confirm itself", events)
        elif who == "phase" and before["phase"] is Phase.DECIDING:
            check((K.DECIDED, {"decision": "accept_as_is", "by": "timer"}) in kinds, "silence accepts", events)
            check(world.state.phase is Phase.PLANNING, "and is planned")
        elif who == "phase":
            starting = any(one["status"] == "approved" for one in before["residuals"].values())
            moved = any(kind is K.PHASE_CHANGED for kind, _ in kinds)
            check(moved or starting, "answers and children are waited for no longer", events)
        elif who.startswith("calls/"):
            check(who.removeprefix("calls/") not in self._waiting(world), "calls are waited for no longer", who)
        elif who.startswith("turn/"):
            self._fell_back(world, who.removeprefix("turn/"), before, events)
        else:
            number = int(who.rpartition("/")[2])
            kept = {one.number: one.allowed for one in world.state.invitations}
            check(kept.get(number, False) is False, "silence is taken for consent")

    def _fell_back(self, world: World, alias: str, before: Frozen, events: list[Event]) -> None:
        seat = before["seats"][alias]
        escalated = [event for event in events if event.kind is K.ESCALATED]
        check([event.data["alias"] for event in escalated] == [alias], "escalated:", escalated, "expected", alias)
        fallback = seat["fallback"].value
        if fallback == "proxy" and seat["consented"]:
            check((K.ENDPOINT_SWITCHED, alias) in _who(events), "the proxy does not take over", events)
        elif fallback == "leave":
            check((K.PARTICIPANT_LEFT, alias) in _who(events), "whose fallback is to leave stays", events)
        else:
            lapsed = [one for one in events if one.kind is K.PROJECTION_RECEIVED and one.data["alias"] == alias]
            check(lapsed and lapsed[0].data["outcome"] == "lapsed", "the turn does not lapse", events)

    def _nobody_was_timed_out(self, events: list[Event]) -> None:
        for event in events:
            by_timer = event.data.get("by") == "timer"
            check(event.kind is not K.ESCALATED and not by_timer, "nobody checked it:", event)

    def ticked(self, world: World, before: Frozen, events: list[Event]) -> None:
        state, at = world.state, self.at(world.now)
        expected: list[tuple[str, float]] = []
        if not before["causes"] and not before["phase"].ended:
            if at.total_seconds() >= state.start.settings.process_seconds:
                check(state.phase is Phase.EXPIRED, "it outlives its own deadline")
            else:
                check(state.phase is not Phase.EXPIRED, "expires too early")
                expected = self._remind(at)
                for question in self.questions.values():
                    question.over = question.over or at >= max(question.due, question.again_at)
        else:
            check(state.phase is before["phase"], "the phase changes while the clock stands")
        given = [
            (f"turn/{one.data['alias']}" if "alias" in one.data else f"invited/{one.data['number']}", one.data["share"])
            for one in events
            if one.kind is K.REMINDER
        ]
        check(sorted(map(str, given)) == sorted(map(str, expected)), "reminders", given, "expected", expected)
        self._nobody_was_timed_out(events)
        self._clock(world, before, world.now)
        self._note(world, events, folded=before["folded"])
        self._corrections(world, before, events)

    def _remind(self, at: timedelta) -> list[tuple[str, float]]:
        """Return the due reminders, at 0.5 and 0.9 of the time. If both are due at once, only the later counts."""
        given = []
        for name, question in self.questions.items():
            passed = sum(at >= reminder for reminder in question.reminders)
            if question.reminds and passed > question.reminded:
                question.reminded = passed
                if at < question.due:
                    given.append((name, (0.5, 0.9)[passed - 1]))
        return given

    def _clock(self, world: World, before: Frozen, since: datetime) -> None:
        """Stop the clock at the first cause of a suspension, and start it after the last cause."""
        assert self.began is not None
        if world.state.phase.ended:
            return
        if world.state.causes and not before["causes"]:
            self.stands_since = max(since, self.resumed or self.began)
            for question in self.questions.values():
                question.over = question.over and self.at(world.now) >= question.due
        elif before["causes"] and not world.state.causes:
            assert self.stands_since is not None
            self.stood += world.now - self.stands_since
            self.stands_since, self.resumed = None, world.now

    def _note(self, world: World, events: list[Event], *, folded: bool) -> None:
        """Add and remove asks according to events."""
        settings = world.state.start.settings
        at = self.at(world.now)

        def ask(name: str, seconds: int) -> None:
            reminds = name.startswith(("turn/", "invited/"))
            self.questions[name] = Question(at, timedelta(seconds=seconds), reminds=reminds)

        for event in events:
            data = event.data
            match event.kind:
                case K.PHASE_CHANGED:
                    self.questions.clear()
                    assert world.state.tension is not None or data["to"] in ("cancelled", "expired")
                    match data["to"]:
                        case "confirming" if world.state.tension and world.state.tension.grade.value != "C":
                            ask("phase", settings.confirm_seconds)
                        case "deciding":
                            seats = world.state.seats.values()
                            person = any(
                                one.active and one.alias != "P00" and one.endpoint.value != "proxy" for one in seats
                            )
                            ask("phase", settings.deciding_seconds if person else min(settings.deciding_seconds, 3600))
                        case "answering":
                            ask("phase", settings.answering_seconds)
                        case "awaiting_children" if settings.wait_for_children and not folded:
                            ask("phase", settings.children_seconds)
                case K.SUSPENDED if (
                    world.state.suspended and not world.state.phase.ended
                ):  # otherwise the cause ended at once, because its step is not wanted
                    assert self.stands_since is not None
                    stopped = (self.stands_since.isoformat(), world.now.isoformat())
                    check(data["since"] in stopped, "process time stands since", data, "expected", stopped)
                case K.TENSION_REVISED:
                    if data["grade"] == "C":
                        self.questions.pop("phase", None)
                    elif "phase" not in self.questions or self.questions["phase"].due - at < timedelta(
                        seconds=settings.confirm_seconds
                    ):  # the whole time again, but never less than the rest
                        ask("phase", settings.confirm_seconds)
                case K.TURN_WAITING:
                    ask(f"turn/{data['alias']}", settings.turn_seconds)
                case K.WORDS_ARRIVED | K.PROJECTION_RECEIVED:
                    self.questions.pop(f"turn/{data['alias']}", None)
                case K.ENDPOINT_SWITCHED if data["to"] == "proxy":
                    self.questions.pop(f"turn/{data['alias']}", None)
                case K.CONSENT_ASKED:
                    ask(f"invited/{data['number']}", settings.turn_seconds)
                case K.CONSENT_ANSWERED:
                    self.questions.pop(f"invited/{data['number']}", None)
                case K.CALLS_WAITING:
                    ask(f"calls/{data['step']}", settings.delegated_seconds)
        waiting = self._waiting(world)
        for name in [name for name in self.questions if name.startswith("calls/")]:
            if name.removeprefix("calls/") not in waiting:
                del self.questions[name]

    def _waiting(self, world: World) -> set[str]:
        """Return the parked steps whose time has not passed."""
        return {key for key, one in parking(world).steps.items() if one.waits}

    # ---- comparison with the state

    def started(self, world: World, running: Running) -> None:
        if running.step.contract.name != "check_deadline":
            return
        lanes = running.step.input.lanes  # type: ignore[attr-defined]  # a CheckDeadlineInput
        names = {"crystallizing": f"turn/{lanes[0]}", "consenting": lanes[0]}
        who = names.get(world.state.phase.value, "phase")
        if lanes == ("calls",):
            who = f"calls/{parking(world).checks[running.key]}"
        check(who in self.questions, "nobody is asked whose time could be over:", who)
        question = self.questions[who]
        check(question.over and self.at(world.now) >= question.due, "checked before it is due:", who, question)
        question.check = running.key

    def settled(self, world: World, events: list[Event]) -> None:
        state = world.state
        if state.causes:
            tries = [one.retry_at for one in state.causes.values() if one.retry_at is not None]
            check(machine.wake(state) == min(tries, default=None), "wakes", machine.wake(state), "for tries at", tries)
        if state.phase.ended:
            return
        found = _deadlines(world)
        expected = {name: one.due for name, one in self.questions.items()}
        check({name: one.due for name, one in found.items()} == expected, "due:", found, "expected", self.questions)
        for name, question in self.questions.items():
            checking = question.check in world.running and question.over
            check(checking or not question.over or state.causes, "the time is over, and nothing checks it:", name)
        if not state.causes:
            check(machine.wake(state) == self._wake(world), "wakes", machine.wake(state), "expected", self._wake(world))
        if world.inputs % SNAPSHOT_EVERY == 0:
            self._shown(world)

    def _wake(self, world: World) -> datetime:
        assert self.began is not None
        times = [timedelta(seconds=world.state.start.settings.process_seconds)]
        for question in self.questions.values():
            if not question.over:
                times.append(max(question.due, question.again_at))
                if question.reminds:
                    times += question.reminders[question.reminded :]
        if world.state.correcting_until is not None:
            times.append(world.state.correcting_until)
        return self.began + self.stood + min(times)

    def _shown(self, world: World) -> None:
        """Check the deadlines that people see, or the remaining time while the process is suspended."""
        assert self.began is not None
        shown = snapshot(world.state, world.now)
        for ask in shown.inbox:
            name = {"projection": f"turn/{ask.alias}", "consent": ask.alias}.get(ask.ask.value, "phase")
            question = self.questions.get(name)
            if ask.ask.value == "calls":  # one ask for all calls, with the deadline of the first
                calls = [one for key, one in self.questions.items() if key.startswith("calls/")]
                question = min(calls, key=lambda one: one.due, default=None)
            if question is None or ask.ask.value in ("residual", "hole", "resume"):
                check(ask.due is None and ask.remaining_seconds is None, "an ask without a deadline has one", ask)
            elif world.state.causes:
                left = max(0, round((question.due - self.at(world.now)).total_seconds()))
                check(ask.due is None and ask.remaining_seconds == left, "time left", ask, left)
            else:
                due = self.began + self.stood + question.due
                check(ask.due == due and ask.remaining_seconds is None, "shown", ask, "expected", due)
        phase = self.questions.get("phase")
        due_then = None if phase is None or world.state.causes else self.began + self.stood + phase.due
        check(shown.deadline == due_then, "the row's deadline", shown.deadline, due_then)


def _who(events: list[Event]) -> list[tuple[EventKind, Any]]:
    return [(event.kind, event.data.get("alias")) for event in events]


def _deadlines(world: World) -> dict[str, Deadline]:
    """Return the deadlines in the state by name."""
    state = world.state
    found = {"phase": state.deadline} if state.deadline is not None else {}
    for turn in state.waiting_for:
        assert turn.deadline is not None
        found[f"turn/{turn.alias}"] = turn.deadline
    for one in state.invitations:
        if one.waits and one.deadline is not None:
            found[f"invited/{one.number}"] = one.deadline
    for key, parked in state.parked.items():
        if parked.deadline is not None:
            found[f"calls/{key}"] = parked.deadline
    return found
