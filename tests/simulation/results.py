"""Results of steps in a simulation. They are drawn as small decisions, from which outputs of the contract are built."""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

from tongyao.protocol.contracts.process import (
    BranchOutput,
    Candidate,
    CheckDeadlineOutput,
    ConsentInput,
    ConsentOutput,
    DeliverInput,
    DeliverOutput,
    DiscoverInput,
    DiscoverOutput,
    FormulateOutput,
    FreezeInput,
    FreezeOutput,
    ModelActivity,
    ObserveOutput,
    Pending,
    PlanInput,
    PlanOutput,
    ProcessInput,
    ProjectInput,
    ProjectOutput,
    ProposeInput,
    TurnOutput,
)
from tongyao.protocol.life.state import WantedStep
from tongyao.protocol.model.ids import child_id
from tongyao.protocol.model.observation import Verdict
from tongyao.protocol.model.process import DEMANDER, ProfileRef, Seat, Spent, TensionRef
from tongyao.protocol.model.projection import EndpointKind, Outcome
from tongyao.protocol.model.tension import Grade, Lineage

Decisions = dict[str, Any]
EARLY_CALLS = 4
"""Calls with so small numbers are often answered before a step waits for them."""
NO_CHILD = ("depth", "duplicate", "budget", "unknown", "nobody", "nothing")


def decide(rng: Random, step: WantedStep, *, talkative: float, delegated: bool = False) -> Decisions:
    """Draw the decisions of a successful step. `talkative`: the share of turns with words.

    `delegated`: people answer model calls from outside, so most model steps return calls that wait.
    """
    drawn: Decisions = {}
    if delegated and isinstance(step.contract, ModelActivity) and rng.random() < 0.6:
        return {
            "calls": [
                f"call-{rng.randrange(EARLY_CALLS if rng.random() < 0.1 else 10**6)}"
                for _ in range(rng.choice((1, 1, 2)))
            ]
        }
    match step.input:
        case ProjectInput(turns=turns):
            outcomes = {}
            for turn in turns:
                said = rng.random() < talkative
                outcomes[turn.alias] = rng.choice(
                    ("replied", "replied", "nothing_new") if said else ("failed", "lapsed")
                )
            if rng.random() < 0.08:
                outcomes = dict.fromkeys(outcomes, "failed")
            drawn = {
                "outcomes": outcomes,
                "reason": rng.choice(("timeout", "timeout", "refused")),
                "items": rng.randrange(4),
            }
        case DiscoverInput() | ProposeInput():
            drawn = {"found": [f"q{n}" for n in rng.sample(range(12), rng.choice((0, 1, 2, 3, 3, 4, 9)))]}
        case ConsentInput(choices=choices):
            names = [choice.profile_id for choice in choices]
            asked = [name for name in names if rng.random() < 0.4]
            refused = [name for name in names if name not in asked and rng.random() < 0.06]
            by_person = [choice.profile_id for choice in choices if choice.endpoint is not EndpointKind.PROXY]
            silent = [name for name in by_person if name not in (*asked, *refused) and rng.random() < 0.5]
            drawn = {"ask": asked, "refused": refused, "without_proxy": silent}
        case FreezeInput(aliases=aliases):
            drawn = {"long": [alias for alias in aliases if rng.random() < 0.2]}
    match step.contract.name:
        case "formulate":
            drawn = {"grade": rng.choice("AABC"), "fallback": rng.random() < 0.1}
        case "observe":
            drawn = {
                "verdict": rng.choice(("more", "more", "exhausted")),
                "asks_demander": rng.random() < 0.3,
                "concerned": rng.sample(("P00", "P01", "P02", "P03", "P04"), rng.randrange(3)),
            }
        case "plan":
            drawn = {"residuals": rng.randrange(3)}
        case "check_deadline":
            drawn = {"shut": rng.choice((0, 0, 0, 0, 30, 3600, 40_000))}
        case "branch":
            drawn = {"reason": rng.choice(NO_CHILD) if rng.random() < 0.35 else ""}
    if step.contract.name in ("formulate", "project", "observe", "plan", "deliver"):
        drawn["tokens"] = rng.choice((0, 10, 100, 400))
        drawn["out"] = rng.random() < 0.02
    return drawn


def build(step: WantedStep, drawn: Decisions, *, spent: Spent, undelivered: bool) -> Any:
    """Return the output of a step. The default without a decision is success: words were said, nothing is missing."""
    used: dict[str, Any] = {"spent": spent, "out_of_budget": drawn.get("out", False)}
    given = step.input
    if calls := drawn.get("calls"):
        return Pending(waiting_calls=tuple(dict.fromkeys(calls)))
    match step.contract.name:
        case "formulate":
            tension = TensionRef(text_id="tension", grade=Grade(drawn.get("grade", "A")), barriers=2)
            return FormulateOutput(tension=tension, fallback=drawn.get("fallback", False), **used)
        case "discover" | "propose":
            return _found(given, drawn.get("found", ["q1", "q2", "q3"]))
        case "consent":
            return _consents(given, drawn)
        case "freeze":
            return _seats(given, set(drawn.get("long", ())))
        case "project":
            return _turns(given, drawn, used)
        case "observe":
            return ObserveOutput(
                verdict=Verdict(drawn.get("verdict", "exhausted")),
                relations=5,
                notes=4,
                gaps=2,
                items=6,
                struck=3,
                asks_demander=drawn.get("asks_demander", False),
                concerned=tuple(drawn.get("concerned", ())),
                **used,
            )
        case "plan":
            assert isinstance(given, PlanInput)
            names = tuple(f"plan/{given.revision}/residual/{n + 1}" for n in range(drawn.get("residuals", 0)))
            return PlanOutput(claims=5, supported=4, residuals=names, reduced=False, **used)
        case "deliver":
            assert isinstance(given, DeliverInput)
            return DeliverOutput(delivered=given.aliases, **used)
        case "check_deadline":
            return CheckDeadlineOutput(undelivered=undelivered, shut_seconds=drawn.get("shut", 0))
        case "branch":
            return _branch(given, drawn.get("reason", ""))
        case _:
            return None


def _found(given: Any, names: list[str]) -> DiscoverOutput:
    found = [name for name in names if name not in given.excluded][: given.limit]
    perspectives = ("resonance", "complement", "interference")
    return DiscoverOutput(
        candidates=tuple(
            Candidate(profile_id=name, perspective=perspectives[n % 3], score=1 / (n + 2))
            for n, name in enumerate(found)
        )
    )


def _consents(given: Any, drawn: Decisions) -> ConsentOutput:
    names = [choice.profile_id for choice in given.choices]
    return ConsentOutput(
        ask=tuple(name for name in names if name in drawn.get("ask", ())),
        refused=tuple(name for name in names if name in drawn.get("refused", ())),
        without_proxy=tuple(name for name in names if name in drawn.get("without_proxy", ())),
    )


def _seats(given: Any, long: set[str]) -> FreezeOutput:
    return FreezeOutput(
        seats=tuple(
            Seat(
                alias=alias,
                profile=None if alias == DEMANDER else ProfileRef(profile_id=choice.profile_id, version=1),
                endpoint=choice.endpoint,
                fallback=choice.fallback or given.fallback,
                joined_round=given.round,
                long=alias in long,
            )
            for choice, alias in zip(given.choices, given.aliases, strict=True)
        )
    )


def _turns(given: Any, drawn: Decisions, used: dict[str, Any]) -> ProjectOutput:
    turns = []
    for turn in given.turns:
        outcome = Outcome(drawn.get("outcomes", {}).get(turn.alias, "replied"))
        if turn.submissions and outcome is Outcome.LAPSED:
            outcome = Outcome.REPLIED  # a turn with submitted words cannot lapse
        turns.append(
            TurnOutput(
                alias=turn.alias,
                revision=turn.revision,
                outcome=outcome,
                items=drawn.get("items", 2),
                struck=drawn.get("items", 2) // 2,
                reason=drawn.get("reason", "timeout") if outcome is Outcome.FAILED else "",
            )
        )
    return ProjectOutput(turns=tuple(turns), **used)


def _branch(given: Any, reason: str) -> BranchOutput:
    if reason:
        return BranchOutput(reason=reason)
    parent = given.process_id
    child = ProcessInput(
        process_id=child_id(parent, given.residual),
        demander="d",
        intent_text_id="intent",
        tension=TensionRef(text_id="residual", grade=Grade.A, barriers=1),
        lineage=Lineage(root=parent, parent=parent, residual=given.residual, depth=1),
    )
    return BranchOutput(child=child)


def spent_of(tokens: int) -> Spent:
    return Spent(tokens=tokens, cost=Decimal(tokens) / 1000, calls=tokens // 10)
