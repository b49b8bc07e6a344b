"""Rounds: the turns, the closing of the gate, and the next phase (docs/protocol.md §3.2, §3.8, §5, §5.5)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.oracles.base import Frozen, Oracle, check
from tests.simulation.oracles.parking import NOT_ANSWERED
from tongyao.protocol.contracts.process import (
    CheckDeadlineOutput,
    ConsentOutput,
    DiscoverOutput,
    FreezeOutput,
    ObserveOutput,
    ProjectOutput,
)
from tongyao.protocol.life.state import State, StepFailure
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.events import Event, EventKind

if TYPE_CHECKING:
    from tests.simulation.world import Running, World

K = EventKind
SPOKEN: Final = frozenset({"replied", "nothing_new"})
AFTER_ROUNDS: Final = frozenset({"planning", "abandoned", "cancelled", "expired"})
"""Phases that end the rounds."""
ASKED_AGAIN_FROM: Final = 3
"""From this round on, people with `nothing_new` are asked only if something concerns them."""


class Rounds(Oracle):
    def __init__(self) -> None:
        self.granted = 0
        self.late: dict[str, list[str]] = {}
        self.waived = False
        self.verdicts: list[tuple[int, str]] = []
        self.outcomes: dict[str, str] = {}
        self.last: dict[str, str] = {}
        """The last outcome of each alias."""
        self.concerned: set[str] = set()
        self.gap = False
        """Whether a gap asks the demander in the next round."""
        self.uncovered = False
        self.failed: dict[str, str] = {}
        self.warned = False

    def heard(self, world: World, message: m.Message, before: Frozen, events: list[Event]) -> None:
        if isinstance(message, m.SubmitProjection) and not before["gate_open"]:
            self.late.setdefault(message.alias, []).append(message.text_id)
        if isinstance(message, m.Leave):
            self.late.pop(message.alias, None)
        if isinstance(message, m.Decide):
            more = message.decision.value in ("extend", "raise_budget")
            self._goes_on(before, more=more and K.DECISION_NEEDED not in [one.kind for one in events])
            if message.decision.value == "extend":
                self.granted = max(self._limit(world), before["round"]) + 2 - world.state.start.settings.max_rounds
        self._look(world, before, events)

    def _goes_on(self, before: Frozen, *, more: bool) -> None:
        """Note that a process that goes on in spite of too few people needs only one person from then on."""
        if more:
            self.waived = self.waived or before["deciding_cause"] == "quorum"
            self.uncovered = False

    def _limit(self, world: World) -> int:
        return world.state.start.settings.max_rounds + self.granted

    def finished(self, world: World, running: Running, output: Any, before: Frozen, events: list[Event]) -> None:
        state = world.state
        if getattr(output, "out_of_budget", False):
            self.uncovered = True
        self._spent(state, output, before, events)
        opened = [one for one in events if one.kind is K.PARTICIPANTS_SELECTED]
        if isinstance(output, FreezeOutput) and opened:
            check(opened[0].data == {"aliases": [seat.alias for seat in output.seats]}, opened)
            if before["round"]:
                self._goes_on(before, more=True)
                self.granted = max(self._limit(world), before["round"]) + 2 - state.start.settings.max_rounds
            check(state.phase.value in ("crystallizing", "deciding") and state.round == before["round"] + 1, "a round")
        if isinstance(output, ObserveOutput) and before["phase"] == "crystallizing" and not before["gate_open"]:
            self.concerned |= set(output.concerned)
            self.gap = self.gap or output.asks_demander
        if isinstance(output, CheckDeadlineOutput):  # a proxy's call was not answered in time
            ended = [one.data for one in events if one.kind is K.PROJECTION_RECEIVED]
            self.failed |= {str(one["alias"]): NOT_ANSWERED for one in ended if one["outcome"] == "failed"}
        if isinstance(output, ProjectOutput):
            self._taken(running, output, before, events)
        if isinstance(output, ConsentOutput) and before["phase"] == "consenting" and not before["consents_known"]:
            self._consents(state, output, before, events)
        if isinstance(output, DiscoverOutput) and before["phase"] == "discovering":
            self._found(state, output, events)
        if isinstance(output, DiscoverOutput) and running.wanted and before["phase"] == "crystallizing":
            found = [[one.profile_id, one.perspective, round(one.score, 4)] for one in output.candidates]
            told = (K.FIELD_ACTIVATED, {"candidates": found, "round": before["round"]})
            check(told in [(one.kind, one.data) for one in events], "who was found is not told", events)
        stopped = before["deciding_cause"] is not None and before["phase"] == "crystallizing"
        if isinstance(output, DiscoverOutput) and stopped:
            check(state.phase == "deciding", "asked once the field has answered")
        if isinstance(output, StepFailure) and running.step.optional and stopped:
            check(state.phase == "deciding", "a field that cannot be asked keeps nobody from deciding")
        observed = output if isinstance(output, ObserveOutput) and not before["gate_open"] else None
        self._look(world, before, events, observed)

    def ticked(self, world: World, before: Frozen, events: list[Event]) -> None:
        self._look(world, before, events)

    def _spent(self, state: State, output: Any, before: Frozen, events: list[Event]) -> None:
        """Check that all calls count, also those of unwanted steps, and that the demander is warned once at 0.8."""
        if not hasattr(output, "spent"):
            return
        spent, was = output.spent, before["spent"]
        check(state.spent.tokens == max(was["tokens"], spent.tokens), "tokens", state.spent)
        check(
            (state.spent.cost, state.spent.calls) == (max(was["cost"], spent.cost), max(was["calls"], spent.calls)),
            "cost",
        )
        shares = [
            float(used) / float(limit)
            for used, limit in ((state.spent.tokens, before["token_budget"]), (state.spent.cost, before["cost_budget"]))
            if limit
        ]
        warned = [one.data["share"] for one in events if one.kind is K.BUDGET_WARNING]
        due = bool(shares) and max(shares) >= 0.8 and not self.warned and not before["phase"].ended
        self.warned = self.warned or due
        check(warned == ([round(max(shares), 2)] if due else []), "warned", warned, shares)

    def _taken(self, running: Running, output: ProjectOutput, before: Frozen, events: list[Event]) -> None:
        """Check that outcomes end only open turns without newer words."""
        batch = int(running.key.rpartition("/")[2])
        here = running.key.startswith(f"project/{before['round']}/") and before["gate_open"]
        expected = []
        for one in output.turns:
            turn = before["turns"].get(one.alias)
            same = turn is not None and (turn["batch"], turn["revision"]) == (batch, one.revision)
            if here and turn is not None and same and turn["outcome"] is None:
                expected.append((one.alias, one.outcome.value))
                self.failed[one.alias] = one.reason
        told = [(one.data["alias"], one.data["outcome"]) for one in events if one.kind is K.PROJECTION_RECEIVED]
        check(told[: len(expected)] == expected, "outcomes", told, "expected", expected)

    def _consents(self, state: State, output: ConsentOutput, before: Frozen, events: list[Event]) -> None:
        """Check that people who refused get no seat, people to ask are asked, and all others take part."""
        allowed = [one for one in before["selected"] if one.profile_id not in output.refused]
        asked = [one for one in allowed if one.profile_id in output.ask]
        silent = tuple(one for one in allowed if one not in asked)
        told = [one.data["number"] for one in events if one.kind is K.CONSENT_ASKED]
        check(told == [before["invited"] + n + 1 for n in range(len(asked))], "asked", told, asked)
        if asked:
            check(state.phase == "consenting" and state.selected == silent, "who takes part", state.selected, silent)
        else:
            self._enough(state, len(silent), before)

    def _enough(self, state: State, count: int, before: Frozen) -> None:
        """Check the required number of people: the quorum, or one added person, and two present if more were chosen."""
        least = 1 if before["round"] else state.start.settings.quorum
        there = sum(seat["active"] and alias != "P00" for alias, seat in before["seats"].items())
        left_alone = before["others_expected"] >= 2 and there + count < 2
        back = "deciding" if before["round"] else "selecting"
        goes_on = count >= least and not left_alone
        check(state.phase == ("consenting" if goes_on else back), count, "say yes, and then", state.phase)

    def _found(self, state: State, output: DiscoverOutput, events: list[Event]) -> None:
        settings = state.start.settings
        found = [[one.profile_id, one.perspective, round(one.score, 4)] for one in output.candidates]
        check((K.FIELD_ACTIVATED, {"candidates": found}) in [(one.kind, one.data) for one in events], events)
        starts = settings.auto_start and len(found) >= settings.quorum
        check(state.phase == ("consenting" if starts else "selecting"), "found, and then", state.phase)
        nearest = [one.profile_id for one in output.candidates][
            : settings.max_participants - settings.demander_takes_part
        ]
        check(not starts or [one.profile_id for one in state.selected] == nearest, "the nearest", state.selected)

    # ---- gates

    def _look(self, world: World, before: Frozen, events: list[Event], observed: ObserveOutput | None = None) -> None:
        state = world.state
        kinds = [one.kind for one in events]
        closed = K.CONSENT_CLOSED in kinds
        if closed:
            self._closed(state, before, events)
        if K.CONSENT_ANSWERED in kinds:
            open_before = [one for one in before["invitations"] if one["allowed"] is None]
            answered = kinds.count(K.CONSENT_ANSWERED)
            check(
                closed == (len(open_before) == answered), "the question of consent closes with the last answer", events
            )
        for event in events:
            if event.data.get("alias") == "P00" and "P00" not in state.seats:
                continue
            if event.kind is K.PROJECTION_RECEIVED and event.data["round"] == before["round"]:
                self.outcomes[str(event.data["alias"])] = str(event.data["outcome"])
            elif event.kind is K.WORDS_ARRIVED and event.data["round"] == before["round"]:
                self.outcomes.pop(str(event.data["alias"]), None)
            elif event.kind is K.SUSPENDED and event.data["code"] == "endpoints_failed":
                words = [self.failed[alias] for alias, one in self.outcomes.items() if one == "failed"]
                check(len(set(words)) == 1 and words[0] in str(event.data["reason"]), "failed for one cause?", words)
                again = [alias for alias, one in self.outcomes.items() if one == "failed" and state.seats[alias].active]
                self.outcomes = {alias: one for alias, one in self.outcomes.items() if alias not in again}
        if K.GATE_COMPLETE in kinds:
            turns = set(before["turns"]) & set(before["seats"])
            check(turns <= set(self.outcomes) <= set(before["seats"]), "closed before all have spoken", self.outcomes)
            there = {alias: one for alias, one in self.outcomes.items() if one != "left"}
            reasons = {self.failed[alias] for alias, one in there.items() if one == "failed"}
            somebody = any(before["seats"][alias]["active"] and state.seats[alias].active for alias in there)
            one_cause = set(there.values()) == {"failed"} and len(reasons) == 1 and not self._over(state) and somebody
            check(not one_cause, "all failed for one cause, and the round goes on")
            if not any(one in SPOKEN for one in self.outcomes.values()):
                check(state.phase != "crystallizing" or state.deciding_cause is not None, "the catalyst sees emptiness")
                self._ended(world, before, events, "more")
        if observed is not None and before["phase"] == "crystallizing" and before["deciding_cause"] is None:
            self._ended(world, before, events, observed.verdict.value)
        if K.ROUND_OPENED in kinds:
            self._opened(world, before, events)
        if any(one.kind is K.PHASE_CHANGED and one.data["to"] in AFTER_ROUNDS for one in events):
            self._unused(before, events)
        self._waits(world)

    def _unused(self, before: Frozen, events: list[Event]) -> None:
        """Check that people are told at the end of the rounds which of their words were not used."""
        open_turns = {alias for alias, one in before["turns"].items() if one["outcome"] is None and one["words"]}
        ended = {one.data["alias"] for one in events if one.kind is K.PROJECTION_RECEIVED}
        expected = set(self.late) | (open_turns - ended if before["gate_open"] else set())
        told = [(str(one.data["alias"]), one.data["round"]) for one in events if one.kind is K.WORDS_UNUSED]
        check(told == [(alias, before["round"]) for alias in sorted(expected)], "unused words", told, expected)
        self.late = {}

    def _closed(self, state: State, before: Frozen, events: list[Event]) -> None:
        """Check the end of a request for consent: all people have answered, or their deadline has passed."""
        data = next(one.data for one in events if one.kind is K.CONSENT_CLOSED)
        if not before["consents_known"]:
            return  # nobody was asked, because all who need consent always refuse
        check(data["asked"] == len(before["invitations"]) + before["refused"], "asked", data)
        silent = len(before["selected"]) - sum(one["allowed"] is True for one in before["invitations"])
        self._enough(state, silent + int(str(data["allowed"])), before)

    def _ended(self, world: World, before: Frozen, events: list[Event], verdict: str) -> None:
        """Check the end of a round: convergence, a decision of the demander, or another round."""
        state, number = world.state, before["round"]
        self.verdicts.append((number, verdict))
        self.last |= self.outcomes
        result = state.results[-1]
        told = (result.number, result.verdict.value)
        outcomes = {alias: one.value for alias, one in result.outcomes.items()}
        check(told == self.verdicts[-1] and outcomes == self.outcomes, "the result", result, self.outcomes)
        sitting = {alias for alias, seat in before["seats"].items() if seat["active"] and state.seats[alias].active}
        everybody = sitting <= set(self.outcomes)
        check(result.everybody_asked == everybody, "whether everybody was asked", result, sitting)
        there = [one for one in self.outcomes.values() if one != "left"]
        silent = number >= 2 and everybody and bool(there) and all(one == "nothing_new" for one in there)
        exhausted = [nr >= 3 and word == "exhausted" for nr, word in self.verdicts[-2:]]
        converged = silent or (len(exhausted) == 2 and all(exhausted))
        present = [alias for alias, seat in before["seats"].items() if seat["active"]]
        present = [alias for alias in present if state.seats[alias].active]
        quorum = 1 if self.waived else state.start.settings.quorum
        spoke = any(one in SPOKEN for one in self.outcomes.values())
        few = len(present) < quorum or not [one for one in present if one != "P00"] or not spoke
        cause = "budget" if self._over(state) else "quorum" if few else ""
        kinds = [one.kind for one in events]
        if converged and not cause:
            reason = "all_silent" if silent else "converged"
            told_so = [one.data for one in events if one.kind is K.CONVERGED]
            check(state.phase == "planning" and told_so == [{"round": number, "reason": reason}], "converged", events)
            check(not state.unconverged, "converged, and the plan says that it did not")
        elif before["concluded"]:
            check(state.phase == "planning" and state.unconverged, "concluded: it is planned", state.phase)
        elif not cause and number < self._limit(world):
            check(K.ROUND_OPENED in kinds, "rounds go on", events)
        else:
            asked = state.deciding_cause.value if state.deciding_cause else ""
            check(asked == (cause or "limit"), "the demander is asked", asked, "expected", cause or "limit")
            places = state.start.settings.max_participants - state.start.settings.demander_takes_part
            others = [one for one in present if one != "P00"]
            looks = bool(state.start.scene) and len(others) < places
            check(state.phase == ("crystallizing" if looks else "deciding"), "the field is asked first", state.phase)

    def _over(self, state: State) -> bool:
        tokens = state.token_budget is not None and state.spent.tokens >= state.token_budget
        return self.uncovered or tokens or (state.cost_budget is not None and state.spent.cost >= state.cost_budget)

    def _opened(self, world: World, before: Frozen, events: list[Event]) -> None:
        """Check a new round: late words count; people with nothing new are asked only if they are concerned."""
        state = world.state
        check(state.round <= self._limit(world), "more rounds than the limit", state.round, self._limit(world))
        self.outcomes = {}
        waiting = {str(one.data["alias"]) for one in events if one.kind is K.TURN_WAITING}
        sitting = {alias for alias, seat in state.seats.items() if seat.active}
        number, word = self.verdicts[-1] if self.verdicts else (0, "")
        if state.round < ASKED_AGAIN_FROM or (number >= ASKED_AGAIN_FROM and word == "exhausted"):
            asked = sitting
        else:
            silent = {alias for alias in sitting if self.last.get(alias) == "nothing_new"}
            asked = (sitting - silent) | (sitting & (self.concerned | set(self.late))) or sitting
        opened = next(one.data["aliases"] for one in events if one.kind is K.ROUND_OPENED)
        check(opened == sorted(asked), "asked", opened, "expected", sorted(asked))
        for alias, words in self.late.items():
            turn = state.turns[alias]
            found = [one.text_id for one in turn.words]
            check(found == [one for one in words if one] and turn.nothing_new != bool(found), "late words", turn, words)
        for alias in asked:
            in_person = state.seats[alias].endpoint.value != "proxy" and alias not in self.late
            check((alias in waiting) == in_person, "asked in person:", alias)
        self._demander(state, events)
        self.concerned -= asked
        self.late = {}

    def _demander(self, state: State, events: list[Event]) -> None:
        """Check that a demander without a seat is asked gaps once: a proxy in the round, a person beside it."""
        if "P00" not in state.seats:
            proxy = state.start.settings.demander_endpoint.value == "proxy"
            asked = self.gap and proxy and state.start.demander_profile is not None
            check(
                ("P00" in state.turns) == (asked or "P00" in self.late), "whether the demander has a turn", state.turns
            )
            check(proxy or not self.gap or state.demander_asked > 0, "a gap asks the demander, and nobody does")
            told = K.DEMANDER_ASKED in [one.kind for one in events]
            check(not told or (self.gap and not proxy), "the demander is asked, and no gap asks", events)
        self.gap = False

    def _waits(self, world: World) -> None:
        """Check that the gate is open while somebody may speak or correct their words."""
        state = world.state
        if state.phase.value != "crystallizing":
            check(not state.gate_open or state.phase.ended, "a gate is open in", state.phase)
            return
        turns = {alias: one for alias, one in world.frozen["turns"].items() if alias in state.seats}
        found = {alias: one["outcome"].value for alias, one in turns.items() if one["outcome"] is not None}
        check(found == self.outcomes, "outcomes", found, "as told", self.outcomes)
        if not state.gate_open:
            return
        every = world.frozen["turns"].values()
        check(any(one["outcome"] is None for one in every), "all have spoken, and the gate is open")
        for one in every:
            said = one["words"] or one["nothing_new"]
            asked = one["batch"] or one["deadline"] is not None
            check(one["outcome"] is not None or said or asked, "nobody asks, and the gate waits for", one)
        seconds = timedelta(seconds=state.start.settings.correcting_seconds)
        check(state.correcting_until is None or seconds, "corrections where there is no time for them")
