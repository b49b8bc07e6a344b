"""Small requests for each step, told apart only by what a test cares about."""

from __future__ import annotations

from tongyao.llm.engine import Call, CallKey, Reask
from tongyao.protocol.model.observation import Note, NoteKind, Observation, Relation, RelationKind
from tongyao.protocol.model.plan import Claim, Plan, PlanRole
from tongyao.protocol.model.projection import Item, ItemKind, Outcome, Projection
from tongyao.protocol.model.requests import (
    CatalystRequest,
    DeliveryRequest,
    EndpointRequest,
    Exchange,
    FormulationRequest,
    Mandate,
    Material,
    Piece,
    PlannerRequest,
)
from tongyao.protocol.model.tension import Tension

PROFILE = (
    "I have kept the lighthouse register since 2009. Every lamp failure is in it, with the hour. "
    "In winter I cross to the mainland once a week. I will not work on Sundays. "
    "The old foghorn is mine to repair. Two apprentices learned the lens from me. "
    "I own a boat that carries nine. I cannot lift more than ten kilos."
)
TENSION = Tension(
    transition="To turn scattered watching into one picture that everybody trusts.",
    initial_state="Six harbours, no budget until May, two volunteers.",
    barriers=("Logs are kept in four different ways.", "Nobody answers between midnight and four."),
    exchange="Weather data of eleven years.",
)


def call(
    step: str,
    *,
    round: int = 1,
    alias: str = "P01",
    reask: Reask | None = None,
    prompt_override: str | None = None,
) -> Call:
    key = CallKey("process", step, round, alias, reask=int(reask is not None))
    return Call(key, reask=reask, prompt_override=prompt_override)


def material(text: str = PROFILE) -> Material:
    return Material(pieces=(Piece(start=0, text=text),), total_chars=len(text))


def formulation(
    intent: str = "I need an app. Nobody knows who is watching. It has to work by May.",
) -> FormulationRequest:
    return FormulationRequest(language="en", intent=intent, material=material())


def turn(round: int, alias: str, text: str = "keeps a register", outcome: Outcome = Outcome.REPLIED) -> Projection:
    item = Item(
        id=f"R{round}/{alias}/1",
        kind=ItemKind.CAPABILITY,
        text=text,
        quotes=("I have kept the lighthouse register",),
        about=("B1",),
    )
    return Projection(round=round, alias=alias, outcome=outcome, items=(item,) if outcome is Outcome.REPLIED else ())


def seen(round: int, *aliases: str, text: str = "") -> Observation:
    first, second = aliases[:2]
    relation = Relation(
        id=f"R{round}/r1",
        between=(first, second),
        kind=RelationKind.COMPLEMENTARY,
        text=text or "the one has what the other names as missing",
        sources=(f"R{round}/{first}/1", f"R{round}/{second}/1"),
    )
    return Observation(round=round, relations=(relation,))


def gap(id: str = "R1/n1", *, asks: str = "", text: str = "nobody drives at night") -> Note:
    return Note(id=id, kind=NoteKind.GAP, text=text, about=("B2",), asks=asks)


def endpoint(
    round: int = 1,
    alias: str = "P01",
    *,
    profile: str = PROFILE,
    mandate: Mandate | None = None,
) -> EndpointRequest:
    stands = (relation for number in range(1, round) for relation in seen(number, "P01", "P02").statements)
    return EndpointRequest(
        language="en",
        alias=alias,
        round=round,
        tension=TENSION,
        material=material(profile),
        first=round == 1,
        items=tuple(item for number in range(1, round) for item in turn(number, alias).items),
        stands=tuple(relation.model_copy(update={"sources": ()}) for relation in stands),
        words="what became visible" if round > 1 else "",
        mandate=mandate or Mandate(),
    )


def exchange(rounds: int, aliases: tuple[str, ...], *, observed: bool = False) -> tuple[Exchange, ...]:
    """`rounds` rounds of `aliases`; the last without an observation unless `observed`."""
    return tuple(
        Exchange(
            round=number,
            projections=tuple(turn(number, alias) for alias in aliases),
            observation=seen(number, *aliases) if observed or number < rounds else None,
        )
        for number in range(1, rounds + 1)
    )


def catalyst(
    round: int = 1,
    aliases: tuple[str, ...] = ("P01", "P02", "P03"),
    *,
    strategy: str = "",
) -> CatalystRequest:
    return CatalystRequest(
        language="en",
        round=round,
        tension=TENSION,
        exchange=exchange(round, aliases),
        contributors=aliases,
        strategy=strategy,
        verdict_counts=round >= 3,
    )


def planner(aliases: tuple[str, ...] = ("P01", "P02", "P03")) -> PlannerRequest:
    return PlannerRequest(language="en", tension=TENSION, exchange=exchange(2, aliases, observed=True), aliases=aliases)


def delivery() -> DeliveryRequest:
    plan = Plan(
        possible=(Claim(text="one register", sources=("R1/P01/1",)),),
        roles=(PlanRole(alias="P01", role="keeper"), PlanRole(alias="P02", role="reader")),
    )
    return DeliveryRequest(language="en", alias="P01", plan=plan)
