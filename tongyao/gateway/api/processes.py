"""Routes to start processes and to read them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from tongyao.app import forks, processes, start
from tongyao.app.choosing.candidate_sentences import FoundCandidate, candidates
from tongyao.app.contacts import ContactGiven, give_contact
from tongyao.app.feedback import FeedbackGiven, FeedbackReceipt, give_own_feedback
from tongyao.app.why import Why, read_why
from tongyao.gateway.api.common import Caller, Context, Key
from tongyao.protocol.model.ids import Id
from tongyao.protocol.model.plan import Delivery, Plan
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules.read_access import PartyView

router = APIRouter(prefix="/processes", tags=["processes"])


class Started(Value):
    id: str


@router.post("", status_code=201)
async def start_process(
    body: start.StartProcessBody, response: Response, context: Context, caller: Caller, key: Key = None
) -> Started:
    """Start a process, and return at once. Its asks to you come into `/inbox`; the first is to confirm the tension."""
    started = Started(id=await start.start_process(context, caller, body, key=key))
    response.headers["Location"] = f"/processes/{started.id}"
    return started


@router.post("/{process_id}/forks", status_code=201)
async def fork(
    process_id: Id, body: forks.ForkBody, response: Response, context: Context, caller: Caller, key: Key = None
) -> forks.Forked:
    """Start a fork of your process: the same process with something changed. Nobody else is told of it, or asked."""
    forked = await forks.fork_process(context, caller, process_id, body, key=key)
    response.headers["Location"] = f"/processes/{forked.id}"
    return forked


@router.get("", response_model_exclude_none=True)
async def list_processes(
    context: Context,
    caller: Caller,
    role: Literal["demander", "participant"] = "demander",
    scene: Annotated[str | None, Query(max_length=200)] = None,
    phase: Annotated[list[Phase] | None, Query(max_length=20)] = None,
    open: bool | None = None,
    parent: Annotated[str | None, Query(max_length=200)] = None,
    person: Annotated[str | None, Query(max_length=200, description="For operators.")] = None,
    since: Annotated[datetime | None, Query(description="Started at this time or later.")] = None,
    until: Annotated[datetime | None, Query(description="Started before this time.")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[str | None, Query(max_length=300)] = None,
) -> processes.ProcessList:
    """Your processes, as demander or as participant, newest first. Operators get all processes."""
    return await processes.list_processes(
        context.repositories, caller, role=role, scene=scene, phase=phase and [phase_name.value for phase_name in phase], open=open,
        parent=parent, person=person, since=since, until=until, limit=limit, cursor=cursor,
    )  # fmt: skip


@router.get("/{process_id}", response_model_exclude_none=True)
async def read_process(process_id: Id, context: Context, caller: Caller) -> PartyView:
    """Everything that you may see of a process now. Other fields are absent."""
    return await processes.read_process(context.repositories, caller, process_id)


@router.get("/{process_id}/candidates")
async def read_candidates(process_id: Id, context: Context, caller: Caller) -> list[FoundCandidate]:
    """The people found before the rounds, each once, with their passages that match parts of the tension."""
    return await candidates(context.repositories, caller, process_id)


@router.get("/{process_id}/plan")
async def read_plan(process_id: Id, context: Context, caller: Caller) -> Plan:
    """The current plan, as data and as `markdown`."""
    return await processes.read_plan(context.repositories, caller, process_id)


@router.put("/{process_id}/feedback")
async def say_what_came_of_it(process_id: Id, body: FeedbackGiven, context: Context, caller: Caller) -> FeedbackReceipt:
    """Give your feedback on the plan, also long after the end. It replaces your earlier feedback on the same plan."""
    return await give_own_feedback(context, caller, process_id, body)


@router.put("/{process_id}/contact", status_code=204)
async def tell_those_who_commit(process_id: Id, body: ContactGiven, context: Context, caller: Caller) -> None:
    """Give your contact and a text to the demander and the people who commit. They can read it once you commit."""
    await give_contact(context, caller, process_id, body)


@router.get("/{process_id}/delivery")
async def read_delivery(process_id: Id, context: Context, caller: Caller) -> Delivery:
    """Your own part of the plan."""
    return await processes.read_delivery(context.repositories, caller, process_id)


@router.get("/{process_id}/why", response_model_exclude_defaults=True)
async def why(process_id: Id, context: Context, caller: Caller) -> Why:
    """The reason why the process waits, in one sentence. Operators also get everybody it waits for, with the times."""
    return await read_why(context, caller, process_id)
