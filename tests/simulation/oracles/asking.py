"""The wanted steps and their inputs: no unneeded data, nobody who must not be asked, nothing twice."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from tests.simulation.oracles.base import Oracle, check
from tests.simulation.oracles.parking import Parking, parking
from tongyao.protocol.contracts.process import (
    ActivityInput,
    BranchInput,
    CancelChildrenInput,
    CheckDeadlineInput,
    ConsentInput,
    DeliverInput,
    DiscoverInput,
    FormulateInput,
    FreezeInput,
    ObserveInput,
    PlanInput,
    PlanOutput,
    ProjectInput,
    ProjectOutput,
    ProposeInput,
    RecordInput,
    RememberInput,
)
from tongyao.protocol.life.state import RECORD_KEY, State, StepFailure
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.events import Event
from tongyao.protocol.model.ids import hole_of
from tongyao.protocol.model.process import Choice

if TYPE_CHECKING:
    from tests.simulation.oracles.base import Frozen
    from tests.simulation.world import Running, World


class Asking(Oracle):
    def __init__(self) -> None:
        self.said: dict[str, set[str]] = {}
        self.answered: set[tuple[int, str, int]] = set()
        self.consents: dict[int, bool] = {}
        self.proposals: tuple[str, ...] = ()

    def heard(self, world: World, message: m.Message, before: Frozen, events: list[Event]) -> None:
        if isinstance(message, m.SubmitProjection):
            self.said.setdefault(message.alias, {""}).add(message.text_id)
        if isinstance(message, m.ConsentAnswer):
            self.consents[message.invitation] = message.allow
        if isinstance(message, m.Replan):
            self.proposals = message.proposals

    def finished(self, world: World, running: Running, output: Any, before: Frozen, events: list[Event]) -> None:
        """Check that an accepted outcome is final: only a failed turn is taken again."""
        if isinstance(output, PlanOutput) and before["phase"] == "planning":
            self.proposals = ()
        if isinstance(output, StepFailure) or not isinstance(output, ProjectOutput):
            return
        given = running.step.input
        assert isinstance(given, ProjectInput)
        for one in output.turns:
            turn = before["turns"].get(one.alias)
            taken = (
                given.round == before["round"]
                and before["gate_open"]
                and turn is not None
                and turn["outcome"] is None
                and turn["revision"] == one.revision
                and running.key == f"project/{given.round}/{turn['batch']}"
            )
            if taken and one.outcome.value != "failed":
                self.answered.add((given.round, one.alias, one.revision))

    def started(self, world: World, running: Running) -> None:
        given, state = running.step.input, world.state
        if not isinstance(given, ProjectInput):
            return
        for turn in given.turns:
            asked = (given.round, turn.alias, turn.revision)
            check(asked not in self.answered, "asked again for what was answered:", asked)
            said = self.said.get(turn.alias, set())
            check(set(turn.submissions) <= said, "given the words of somebody else:", turn)
            if turn.alias in state.seats:
                check(turn.submissions or state.seats[turn.alias].active, "asked, and has left:", turn)
            else:
                check(turn.alias == "P00", "asked, and has no seat:", turn)

    def settled(self, world: World, events: list[Event]) -> None:
        state = world.state
        found = {key: step.input for key, step in world.wanted.items() if key != RECORD_KEY}
        waiting = parking(world)
        parked = {type(one.input) for one in waiting.steps.values() if one.waits} | {ProjectInput}
        expected = [one for one in self._expected(state) if type(one) not in parked]
        projects = [one for one in found.values() if isinstance(one, ProjectInput)]
        others = [one for one in found.values() if not isinstance(one, (ProjectInput, CheckDeadlineInput))]
        check(_sorted(others) == _sorted(expected), "wanted", others, "expected", expected)
        self._turns(state, projects, waiting)
        for one in found.values():
            if isinstance(one, CheckDeadlineInput):
                self._lanes(state, one)
        if RECORD_KEY in world.wanted:
            check(state.outbox, "writes an empty outbox")
            check(world.wanted[RECORD_KEY].input == RecordInput(process_id="c-1"), "record")

    def _turns(self, state: State, projects: list[ProjectInput], waiting: Parking) -> None:
        """Check the steps of turns: proxies at once and together; people's words when all have spoken and the time for
        corrections is over."""
        due: dict[str, tuple[tuple[str, ...], str, int]] = {}
        missing = [
            turn for turn in state.turns.values() if turn.outcome is None and not turn.words and not turn.nothing_new
        ]
        taken = not missing and state.correcting_until is None
        for alias, turn in state.turns.items():
            if not (state.phase.value == "crystallizing" and state.gate_open) or turn.outcome is not None:
                continue
            step = waiting.steps.get(f"project/{state.round}/{turn.batch}")
            if step is not None and step.waits:
                continue
            if turn in missing and turn.deadline is None:
                due[alias] = ((), "proxy", turn.revision)
            elif turn.words and (taken or turn.batch):  # words in a step stay there, also while others correct theirs
                words = tuple(one.text_id for one in turn.words)
                due[alias] = (words, turn.author.value if turn.author else "", turn.revision)
        asked = {one.alias: (one.submissions, one.author, one.revision) for given in projects for one in given.turns}
        check(asked == due, "turns asked", asked, "expected", due)
        for given in projects:
            check(given.round == state.round, "of which round?", given)
            check(len({bool(one.submissions) for one in given.turns}) == 1, "words beside proxies", given)

    def _lanes(self, state: State, given: CheckDeadlineInput) -> None:
        """Check the lanes of a check of a deadline: only those of the people asked, and of the demander."""
        whose = given.lanes[0]
        if whose == "calls":
            asked = [one.deadline.asked_at for one in state.parked.values() if one.deadline is not None]
            check(given.lanes == ("calls",) and given.since in asked, "a check of waiting calls", given, asked)
            return
        if state.phase.value in ("crystallizing", "consenting"):
            expected = {whose, f"{whose}/agent", f"{whose}/control", "P00"}
            check(given.since == _asked_at(state, whose), "since", given)
        else:
            names = ["P00", *_answering(state)] if state.phase.value == "answering" else ["P00"]
            expected = {lane for name in names for lane in (name, f"{name}/agent", f"{name}/control")}
            expected |= {one.child for one in state.residuals.values() if one.status == "started"}
            check(state.deadline is not None and given.since == state.deadline.asked_at, "since", given)
        check(set(given.lanes) == expected and given.process_id == "c-1", "lanes", given.lanes, expected)

    def _expected(self, state: State) -> list[ActivityInput]:
        phase, start = state.phase.value, state.start
        pid = {"process_id": "c-1"}
        left_out = (*start.excluded, *([start.demander_profile.profile_id] if start.demander_profile else []))
        steps: list[ActivityInput] = []
        if not state.phase.ended:
            steps += [
                BranchInput(**pid, residual=name) for name, one in state.residuals.items() if one.status == "approved"
            ]
        match phase:
            case "formulating":
                check(start.tension is None, "a tension was brought, and another one is formulated")
                steps.append(FormulateInput(**pid))
            case "discovering":
                assert state.tension is not None
                places = start.settings.max_participants - start.settings.demander_takes_part
                steps.append(
                    DiscoverInput(
                        **pid,
                        scene=start.scene,
                        tension_text_id=state.tension.text_id,
                        limit=places,
                        excluded=left_out,
                    )
                )
            case "consenting" if not state.consents_known:
                steps.append(ConsentInput(**pid, choices=state.selected, others_expected=state.others_expected))
            case "consenting" if all(one.allowed is not None for one in state.invitations):
                steps.append(self._seating(state))
            case "crystallizing" if not state.gate_open and state.deciding_cause is not None:
                sitting = tuple(seat.profile.profile_id for seat in state.seats.values() if seat.profile)
                places = start.settings.max_participants - start.settings.demander_takes_part - len(_others(state))
                excluded = (*start.excluded, *sitting, *left_out[len(start.excluded) :])
                steps.append(ProposeInput(**pid, scene=start.scene, round=state.round, limit=places, excluded=excluded))
            case "crystallizing" if not state.gate_open:
                steps.append(ObserveInput(**pid, round=state.round))
            case "planning":
                steps.append(self._plan(state))
            case "delivering":
                aliases = [alias for alias, seat in state.seats.items() if seat.active and alias not in state.left_out]
                steps.append(DeliverInput(**pid, revision=state.plan_revision, aliases=tuple(sorted(aliases))))
            case "completed":
                starting = [name for name, one in state.residuals.items() if one.status == "approved"]
                check(not starting, "completed before every approved child was started:", starting)
                long = tuple(sorted(alias for alias, seat in state.seats.items() if seat.long))
                if long and start.remember and "remember" not in state.closed:
                    steps.append(RememberInput(**pid, aliases=long))
            case "cancelled" if state.cancel_branch and "cancel_children" not in state.closed:
                steps.append(CancelChildrenInput(**pid))
        return steps

    def _seating(self, state: State) -> FreezeInput:
        """Return the expected seating: people who agreed or were not asked, under unique aliases in random order."""
        settings = state.start.settings
        for one in state.invitations:
            check((one.choice in state.selected) == one.allowed, "seated without a yes, or not in spite of it", one)
            check(one.allowed is False or self.consents.get(one.number) is True, "nobody said yes:", one)
        choices = list(state.selected)
        if not settings.aliases_as_named:
            choices.sort(key=lambda one: sha256(f"{state.seed}/{one.profile_id}".encode()).digest())
        taken = len([alias for alias in state.seats if alias != "P00"])
        aliases = [f"P{taken + number:02d}" for number in range(1, len(choices) + 1)]
        if settings.demander_takes_part and "P00" not in state.seats:
            choices.insert(0, Choice(profile_id=state.start.demander, endpoint=settings.demander_endpoint))
            aliases.insert(0, "P00")
        return FreezeInput(
            process_id="c-1",
            choices=tuple(choices),
            aliases=tuple(aliases),
            round=state.round + 1,
            fallback=settings.fallback,
        )

    def _plan(self, state: State) -> PlanInput:
        """Return the expected input of a plan. A plan with folded children lacks people whose hole was filled."""
        completed = {name: one.child for name, one in state.residuals.items() if one.outcome == "completed"}
        filled = {hole[1] for name in completed if (hole := hole_of(name)) is not None}
        without = tuple(sorted({*state.left_out, *filled})) if state.folded else state.left_out
        return PlanInput(
            process_id="c-1",
            revision=state.plan_revision + 1,
            unconverged=state.unconverged,
            without=without,
            proposals=self.proposals,
            readable=tuple(sorted(alias for alias, seat in state.seats.items() if seat.consented)),
            children=tuple(sorted(completed.values())) if state.folded else (),
        )


def _others(state: State) -> list[str]:
    return [alias for alias, seat in state.seats.items() if seat.active and alias != "P00"]


def _answering(state: State) -> list[str]:
    people = [alias for alias, seat in state.seats.items() if seat.active and seat.endpoint.value != "proxy"]
    return [alias for alias in people if alias not in state.left_out]


def _asked_at(state: State, whose: str) -> Any:
    if whose in state.turns:
        deadline = state.turns[whose].deadline
    else:
        deadline = next(one.deadline for one in state.invitations if f"invited/{one.number}" == whose)
    return deadline.asked_at if deadline is not None else None


def _sorted(inputs: list[Any]) -> list[Any]:
    return sorted(inputs, key=lambda one: (type(one).__name__, getattr(one, "residual", "")))
