"""The room in which the extractive engine is tried step by step: a tension, a profile, and requests made of them."""

from __future__ import annotations

from tests.llm.extractive.extractive_process import ENGINE, call, whole
from tongyao.protocol.model import steps
from tongyao.protocol.model.observation import ObservationDraft
from tongyao.protocol.model.projection import Dimension, Item, Outcome, Projection, ProjectionDraft, Span
from tongyao.protocol.model.requests import CatalystRequest, EndpointRequest, Exchange
from tongyao.protocol.model.tension import Tension

TENSION = Tension(
    transition="From scattered bee losses in the valley to a map of them that beekeepers trust",
    initial_state="Forty hives along the river lost half of their colonies last spring.",
    barriers=(
        "Nobody in the valley can tell pesticide damage from mites under a microscope.",
        "The farmers do not say when they spray the orchards.",
    ),
    exchange="We can give honey, wax and a shed with electricity by the river.",
)
PROFILE = """# About
I teach biology at the valley school.

## What I can offer
I can tell mites from pesticide damage under a microscope. I have a microscope with a camera.
I can play the accordion at weddings.

## What I need
I need a shed with electricity for my incubator.

## Limits
I won't collect samples in orchards on the day when farmers spray. I never talk to newspapers.
"""


def turn(profile: str = PROFILE, **changes: object) -> EndpointRequest:
    request = EndpointRequest(language="en", alias="P01", round=1, tension=TENSION, material=whole(profile))
    return request.model_copy(update=changes)


async def projected(request: EndpointRequest) -> ProjectionDraft:
    return (await ENGINE.answer(steps.PROJECT, request, call())).draft


def said(alias: str, number: int, claim: str, dimension: str = "capability", targets: tuple[str, ...] = ()) -> Item:
    return Item(
        id=f"R1/{alias}/{number}",
        dimension=Dimension(dimension),
        claim=claim,
        targets=targets,
        spans=(Span(source="words", start=0, end=len(claim)),),
    )


def room(*items: Item) -> CatalystRequest:
    """The first round, in which these were said."""
    aliases = tuple(sorted({item.id.split("/")[1] for item in items}))
    projections = tuple(
        Projection(
            round=1,
            alias=alias,
            outcome=Outcome.REPLIED,
            items=tuple(item for item in items if f"/{alias}/" in item.id),
        )
        for alias in aliases
    )
    return CatalystRequest(
        language="en",
        round=1,
        tension=TENSION,
        exchange=(Exchange(round=1, projections=projections),),
        contributors=aliases,
        verdict_counts=False,
    )


async def observed(request: CatalystRequest) -> ObservationDraft:
    return (await ENGINE.answer(steps.OBSERVE, request, call("observe"))).draft
