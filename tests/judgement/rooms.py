"""Rounds made of ids: the two recorded rooms of `data/two_rooms.json`, and hand-made ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tongyao.protocol.model.observation import Contribution, Gap, GapKind, Note, Observation, Pair, Verdict
from tongyao.protocol.model.projection import Dimension, Item, Outcome, Projection, Span
from tongyao.protocol.model.requests import CatalystRequest, Exchange
from tongyao.protocol.model.tension import Tension

DATA: Final = json.loads((Path(__file__).parent / "data" / "two_rooms.json").read_text(encoding="utf-8"))
ROOMS: Final = tuple(DATA)


def item(
    item_id: str,
    *,
    quote: tuple[int, int] | None = None,
    targets: tuple[str, ...] = (),
    answers: tuple[str, ...] = (),
    dimension: Dimension = Dimension.CAPABILITY,
    inferred: bool = False,
) -> Item:
    """`quote`: start and end of its one span in the profile."""
    spans = (Span(source="profile", start=quote[0], end=quote[1]),) if quote else ()
    return Item(
        id=item_id, dimension=dimension, claim=item_id, targets=targets, spans=spans, answers=answers, inferred=inferred
    )


def gap(gap_id: str, target: str, kind: GapKind = GapKind.OVERLOOKED) -> Gap:
    return Gap(id=gap_id, kind=kind, target=target, text="…")


def seen(round_number: int, **changes: Any) -> Observation:
    return Observation.model_validate({"round": round_number, "verdict": Verdict.MORE, **changes})


def exchange(round_number: int, items: Sequence[Item], observation: Observation | None = None) -> Exchange:
    """One round in which everybody who has an item replied."""
    aliases = sorted({one.id.split("/")[1] for one in items})
    said = tuple(
        Projection(
            round=round_number,
            alias=alias,
            outcome=Outcome.REPLIED,
            items=tuple(one for one in items if one.id.split("/")[1] == alias),
        )
        for alias in aliases
    )
    return Exchange(round=round_number, projections=said, observation=observation)


def room(name: str) -> tuple[Exchange, ...]:
    """A recorded room. Each of its quotes is a span of its own; there were no answers."""
    return tuple(_recorded(one) for one in DATA[name])


def _recorded(one: dict[str, Any]) -> Exchange:
    number = one["round"]
    items = [
        Item(
            id=said["id"],
            dimension=said["dimension"],
            claim=said["id"],
            targets=tuple(said["targets"]),
            spans=tuple(_span(quote) for quote in said["quotes"]),
            inferred=said["inferred"],
            starts_from=tuple(said["starts_from"]),
        )
        for said in one["items"]
    ]
    pairs = tuple(Pair(id=f"R{number}/catalyst/{at}", **pair) for at, pair in enumerate(one["pairs"], 1))
    made = tuple(
        Contribution(id=f"R{number}/catalyst/{at}", **made) for at, made in enumerate(one["contributions"], 100)
    )
    gaps = tuple(Gap(id=f"R{number}/catalyst/{at}", text="", **said) for at, said in enumerate(one["gaps"], 200))
    notes = tuple(Note(id=f"R{number}/catalyst/{at}", text="") for at in range(300, 300 + one["frameworks"]))
    observation = Observation(
        round=number, verdict=one["verdict"], pairs=pairs, contributions=made, gaps=gaps, frameworks=notes
    )
    spoke = exchange(number, items, observation)
    silent = tuple(Projection(round=number, alias=alias, outcome=Outcome.NOTHING_NEW) for alias in one["nothing_new"])
    return spoke.model_copy(update={"projections": (*spoke.projections, *silent)})


def _span(quote: str) -> Span:
    """`P01/q16` → characters 160 to 169 of the profile of P01."""
    number = int(quote.partition("/q")[2])
    return Span(source="profile", start=10 * number, end=10 * number + 9)


def tension(barriers: int = 4) -> Tension:
    names = tuple(f"barrier {number}" for number in range(1, barriers + 1))
    return Tension(transition="T", initial_state="I", barriers=names, exchange="E", language="en")


def request(rounds: Sequence[Exchange], barriers: int = 4) -> CatalystRequest:
    """The catalyst's request for the last of `rounds`; the tension has so many barriers."""
    contributors = {said.alias for one in rounds for said in one.projections if said.items}
    return CatalystRequest(
        language="en",
        round=len(rounds),
        tension=tension(barriers),
        exchange=tuple(rounds),
        contributors=tuple(sorted(contributors)),
        verdict_counts=len(rounds) >= 3,
    )
