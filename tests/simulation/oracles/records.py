"""The records are computed from events alone: the row, the seats, the answers and the inbox (docs/protocol.md §11)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.oracles.base import Frozen, Oracle, check
from tests.simulation.oracles.parking import parking
from tongyao.protocol.contracts.process import (
    FormulateOutput,
    FreezeOutput,
    ObserveOutput,
    Pending,
    PlanOutput,
    ProjectOutput,
)
from tongyao.protocol.life import machine
from tongyao.protocol.life.snapshot import snapshot
from tongyao.protocol.life.state import RECORD_KEY, StepFailure
from tongyao.protocol.life.why import why
from tongyao.protocol.model.events import Event, EventKind, Snapshot, Waiting
from tongyao.protocol.model.messages import Message

if TYPE_CHECKING:
    from tests.simulation.world import Running, World

K = EventKind
AT_ONCE: Final = frozenset(
    {
        K.TURN_WAITING,
        K.DEMANDER_ASKED,
        K.REMINDER,
        K.CALLS_WAITING,
        K.CONSENT_ASKED,
        K.DECISION_NEEDED,
        K.DEADLINE_EXTENDED,
        K.SUSPENDED,
        K.PROCESS_ENDED,
    }
)
TOLD: Final = {
    "formulate": K.FORMULATION_READY,
    "discover": K.FIELD_ACTIVATED,
    "freeze": K.PARTICIPANTS_SELECTED,
    "observe": K.OBSERVATION_READY,
    "plan": K.PLAN_READY,
    "deliver": K.DELIVERY_READY,
}
"""The event after a successful step."""

AFTER_THE_END: Final = frozenset({K.SUSPENDED, K.RESUMED, K.STEP_SKIPPED, K.MESSAGE_REFUSED})
WAITED_IN: Final = frozenset({"confirming", "selecting", "deciding", "answering", "awaiting_children"})
EVERY: Final = 5


class Records(Oracle):
    """Computes a state from events, as their readers do, and compares it with the state of the process."""

    def __init__(self) -> None:
        self.phase = "formulating"
        self.round = 0
        self.endpoints: dict[str, str] = {}
        self.fallbacks: dict[str, str] = {}
        self.gone: set[str] = set()
        self.asked: dict[str, int] = {}
        self.demander = 0
        self.invited: set[int] = set()
        self.deciding = False
        self.answers: dict[str, str] = {}
        self.without: set[str] = set()
        self.replanned = False
        self.revision = 0
        self.folded = False
        self.residuals: dict[str, str] = {}
        self.suspended: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.ended = False
        self.shown: Any = None
        self.shown_at = 0

    def begun(self, world: World, events: list[Event]) -> None:
        check(events[0].kind is K.PROCESS_STARTED and events[0].data == {"depth": world.state.start.depth}, events)

    def finished(self, world: World, running: Running, output: Any, before: Frozen, events: list[Event]) -> None:
        """Check that the events of a wanted step contain the counts that the step returned."""
        kinds = [event.kind for event in events]
        if running.wanted and running.step.contract.name in TOLD:
            told_of = TOLD[running.step.contract.name] in kinds or isinstance(output, (StepFailure, Pending))
            check(told_of, "a step ended well, and nobody is told", events)
        if isinstance(output, FreezeOutput) and K.PARTICIPANTS_SELECTED in kinds:
            for seat in output.seats:
                self.endpoints[seat.alias] = seat.endpoint.value
                self.fallbacks[seat.alias] = seat.fallback.value
                joined = (K.PARTICIPANT_JOINED, {"alias": seat.alias, "round": before["round"] + 1})
                check(((joined[0], joined[1]) in _data(events)) == bool(before["round"]), "joined", seat.alias, events)
        if isinstance(output, FormulateOutput) and before["phase"].value == "formulating":
            told = {
                "grade": output.tension.grade.value,
                "barriers": output.tension.barriers,
                "fallback": output.fallback,
            }
            check((K.FORMULATION_READY, told) in _data(events), "formulated", events)
        if isinstance(output, ObserveOutput) and K.OBSERVATION_READY in kinds:
            data = next(event.data for event in events if event.kind is K.OBSERVATION_READY)
            counts = ("relations", "notes", "gaps", "items", "struck")
            told = {"verdict": output.verdict.value, **{name: getattr(output, name) for name in counts}}
            check({name: data[name] for name in told} == told and data["round"] == before["round"], "observed", data)
        if isinstance(output, PlanOutput) and K.PLAN_READY in kinds:
            told = {
                "revision": before["plan_revision"] + 1,
                "claims": output.claims,
                "supported": output.supported,
                "residuals": len(output.residuals),
                "reduced": output.reduced,
            }
            check((K.PLAN_READY, told) in _data(events), "planned", events)
        if isinstance(output, ProjectOutput):
            batch = int(running.key.rpartition("/")[2])
            stand = {alias: (one["batch"], one["revision"]) for alias, one in before["turns"].items()}
            given = {one.alias: one for one in output.turns if stand.get(one.alias) == (batch, one.revision)}
            for event in events:
                if event.kind is K.PROJECTION_RECEIVED and event.data["alias"] in given:
                    one = given[event.data["alias"]]
                    same = (event.data["outcome"], event.data["items"], event.data["struck"]) == (
                        one.outcome.value,
                        one.items,
                        one.struck,
                    )
                    check(same or world.state.round > before["round"], "projected", event, one)

    def heard(self, world: World, message: Message, before: Frozen, events: list[Event]) -> None:
        kinds = [event.kind for event in events]
        if message.kind == "set_mandate":
            check(_data(events)[0] == (K.MANDATE_CHANGED, {"alias": message.alias}), events)
        if message.kind == "conclude":
            told = {"round": before["round"], "phase": before["phase"].value}
            check((K.CONCLUDED, told) in _data(events), events)
        if message.kind == "decide":
            told = {"decision": message.decision.value, "by": "person"}
            check((K.DECIDED, told) in _data(events), events)
        if message.kind == "confirm_tension":
            check((K.TENSION_CONFIRMED, {"by": "person"}) in _data(events), events)
        if message.kind == "extend_deadline" and before["phase"].value == "crystallizing":
            waited = any(one.waits and one.alias == message.alias for one in world.state.waiting_for)
            check((K.DEADLINE_EXTENDED in kinds) == waited, "extended", events)

    # ---- computation from events

    def settled(self, world: World, events: list[Event]) -> None:
        for event in events:
            check(not self.ended or event.kind in AFTER_THE_END, "after the end:", event)
            self.kinds[event.kind.value] += 1
            self._fold(event)
        self._compare(world)
        self._row(world)
        self._nothing_is_kept_back(world)

    def _fold(self, event: Event) -> None:
        data: Any = event.data
        match event.kind:
            case K.PHASE_CHANGED:
                check(data["from"] == self.phase, "from where?", event, self.phase)
                self.phase = data["to"]
                self.deciding = False
                self.asked, self.invited = {}, set()
            case K.DECISION_NEEDED:
                self.deciding = True
            case K.PARTICIPANTS_SELECTED:
                for alias in data["aliases"]:
                    check(alias in self.endpoints, "selected and never seated", alias)
            case K.ROUND_OPENED:
                check(data["round"] == self.round + 1, "rounds follow each other", event)
                self.round = data["round"]
                sitting = sorted(set(self.endpoints) - self.gone)
                asked = data["aliases"]
                check(asked and set(asked) <= set(sitting), "a round opens for some in the room", asked, sitting)
            case K.DEMANDER_ASKED:
                self.demander = data["round"]
            case K.TURN_WAITING:
                self.asked[data["alias"]] = data["round"]
            case K.WORDS_ARRIVED | K.PROJECTION_RECEIVED:
                self.asked.pop(data["alias"], None)
                late = event.kind is K.WORDS_ARRIVED and data["round"] == self.round + 1
                check(data["round"] == self.round or late, event)
                if event.kind is K.WORDS_ARRIVED and data["alias"] == "P00":
                    self.demander = 0
            case K.ENDPOINT_SWITCHED:
                self.endpoints[data["alias"]] = data["to"]
                self.fallbacks[data["alias"]] = data["fallback"]
                if data["to"] == "proxy":
                    self.asked.pop(data["alias"], None)
            case K.PARTICIPANT_LEFT:
                self.gone.add(data["alias"])
            case K.CONSENT_ASKED:
                self.invited.add(data["number"])
            case K.CONSENT_ANSWERED:
                self.invited.remove(data["number"])
            case K.PLAN_READY:
                self.revision, self.answers = data["revision"], {}
                self.residuals = {name: one for name, one in self.residuals.items() if one != "open" or self.folded}
            case K.ANSWER_RECEIVED:
                self.answers[data["alias"]] = data["decision"]
            case K.DECIDED if data["decision"] == "replan":
                self.without, self.replanned = set(data["without"]), True
            case K.RESIDUAL_OPEN:
                self.residuals[data["residual"]] = "open"
            case K.RESIDUAL_APPROVED:
                self.residuals[data["residual"]] = "approved"
            case K.CHILD_STARTED | K.CHILD_REFUSED | K.CHILD_FINISHED:
                self.residuals[data["residual"]] = event.kind.value.removeprefix("child_")
                check(event.kind is not K.CHILD_REFUSED or data["reason"], "refused without a reason", event)
            case K.SUSPENDED:
                self.suspended[data["code"]] += 1
            case K.RESUMED:
                self.suspended[data["code"]] -= 1
            case K.PROCESS_ENDED:
                self.ended = True
                self.suspended.clear()
                check(data["outcome"] == self.phase, event)

    def _compare(self, world: World) -> None:
        state = world.state
        check(state.phase.value == self.phase and state.round == self.round, "row", state.phase, self.phase)
        present = {alias: seat.endpoint.value for alias, seat in state.seats.items() if seat.active}
        sitting = {alias: kind for alias, kind in self.endpoints.items() if alias not in self.gone}
        check(present == sitting, "seats", present, "from events", sitting)
        fallbacks = {alias: seat.fallback.value for alias, seat in state.seats.items()}
        check(fallbacks == self.fallbacks, "fallbacks", fallbacks, "from events", self.fallbacks)
        check(
            state.plan_revision == self.revision and state.answers == self.answers,
            "answers",
            state.answers,
            self.answers,
        )
        check(set(state.left_out) == self.without and state.replanned == self.replanned, "left out", state.left_out)
        codes = Counter(code for _, code in {(cause.kind, cause.code) for cause in state.causes.values()})
        check(codes == +self.suspended, "causes", codes, "from events", self.suspended)
        self.folded = state.folded

    def _row(self, world: World) -> None:
        shown = snapshot(world.state, world.now)
        codes = tuple(sorted({cause.code for cause in world.state.causes.values()}))
        reasons = shown.suspended_reason.split("; ") if shown.suspended_reason else []
        check(shown.suspended == codes and bool(reasons) == bool(codes), "row", shown)
        check(len(reasons) <= len(codes), "reasons tell how many causes there are", reasons, "of", codes)
        check((shown.phase.value, shown.round, shown.seq) == (self.phase, self.round, world.state.seq), "row", shown)
        tension = world.state.tension
        named = (tension.grade.value, tension.text_id) if tension else ("", "")
        check((shown.grade, shown.tension_text_id) == named, "row", shown)
        spent = world.state.spent
        check((shown.tokens, shown.cost) == (spent.tokens, str(spent.cost)), "cost", shown)
        inbox = Counter((one.ask.value, one.alias, one.round, one.subject) for one in shown.inbox)
        expected = Counter(self._inbox(world))
        check(inbox == expected, "inbox", inbox - expected, "from events also", expected - inbox)
        waits = (
            bool(set(shown.inbox) - self._gaps(shown))
            if self.phase not in ("answering", "completed")
            else self.phase == "answering"
        )
        check(shown.waiting == (waits and not self.ended), "waiting", shown.waiting, shown.inbox)
        seen = (shown.phase, shown.round, shown.waiting, codes, named, inbox)
        check(
            self.shown in (None, seen) or world.state.seq > self.shown_at, "changed without an event", self.shown, seen
        )
        self.shown, self.shown_at = seen, world.state.seq
        if world.inputs % EVERY == 0:
            self._why(world)

    def _gaps(self, shown: Snapshot) -> set[Waiting]:
        """Return the asks to the demander about gaps. The process does not wait for them."""
        return {one for one in shown.inbox if one.ask.value == "gap"}

    def _why(self, world: World) -> None:
        told = why(world.state, world.now)
        reasons = [one.sentence for one in told]
        chinese = [bool(one.moved_by) for one in why(world.state, world.now, "zh")]
        check(chinese == [bool(one.moved_by) for one in told], "not told in Chinese:", told)
        check(reasons or self.ended, "nobody can say why it waits")
        for cause in world.state.causes.values():
            check(any(cause.code in one for one in reasons), "a cause is not told:", cause.code, reasons)
        check(not reasons or not self.ended or machine.wanted(world.state), "it is over, and waits for", reasons)

    def _inbox(self, world: World) -> list[tuple[str, str, int, str]]:
        """Return the asks of the inbox, computed from events alone, with the round numbers of the rows."""
        if self.ended:
            return []
        asks = []
        if any(one.kind == "operator" for one in world.state.causes.values()):
            asks.append(("resume", "", 0, ""))
        if calls := sorted(call for step in parking(world).steps.values() for call in step.calls):
            asks.append(("calls", "", 0, " ".join(calls)))
        open_ones = [name for name, one in self.residuals.items() if one == "open"]
        residuals = [
            ("hole" if "hole" in name else "residual", "P00", int(name.rpartition("/")[2].lstrip("P")), name)
            for name in open_ones
        ]
        match self.phase:
            case "confirming":
                asks.append(("confirm_tension", "P00", 0, ""))
            case "selecting":
                asks.append(("select_participants", "P00", 0, ""))
            case "consenting":
                names = {one.number: one.choice.profile_id for one in world.state.invitations}
                asks += [("consent", f"invited/{number}", number, names[number]) for number in self.invited]
            case "crystallizing":
                asks += [("projection", alias, number, "") for alias, number in self.asked.items()]
                asks += [("gap", "P00", self.demander, "")] * bool(self.demander)
            case "deciding":
                check(self.deciding, "nobody was told what is to be decided")
                asks.append(("decision", "P00", self.round, ""))
            case "answering":
                people = [alias for alias, kind in self.endpoints.items() if kind != "proxy" and alias not in self.gone]
                missing = set(people) - self.without - set(self.answers)
                asks += [*residuals, *(("answer", alias, self.revision, "") for alias in missing)]
                if not self.replanned and any(self._unanswered(alias) for alias in self.answers):
                    asks.append(("replan", "P00", self.revision, ""))
            case "awaiting_children":
                asks += residuals
        return asks

    def _unanswered(self, alias: str) -> bool:
        """Return whether the demander must still react to an answer."""
        hole = self.residuals.get(f"plan/{self.revision}/hole/{alias}", "open")
        given = self.answers[alias]
        return given == "propose" or (given == "decline" and hole == "open")

    def _nothing_is_kept_back(self, world: World) -> None:
        """Check that events are written at once if no running step writes them."""
        carried = {number for running in world.running.values() for number in running.events}
        for event in world.state.outbox:
            waits = event.kind is K.PHASE_CHANGED and event.data["to"] in WAITED_IN
            if (waits or event.kind in AT_ONCE) and event.seq not in carried:
                check(RECORD_KEY in world.wanted, "somebody is asked, and the records are not told:", event)
        if world.state.outbox and not world.running:
            held = RECORD_KEY in world.state.causes
            check(held, "events that nothing carries to the records:", world.state.outbox)


def _data(events: list[Event]) -> list[tuple[EventKind, Any]]:
    return [(event.kind, event.data) for event in events]
