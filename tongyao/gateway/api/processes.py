"""Routes to start and read processes: views, pictures, messages and their receipts, the inbox, standing tensions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query, Request, Response

from tongyao.app import forks, processes, standing, start
from tongyao.app.action_permissions import Action
from tongyao.app.authorization import authorize_in_process
from tongyao.app.choosing.candidates import FoundCandidate, candidates
from tongyao.app.contacts import ContactGiven, give_contact
from tongyao.app.errors import NotFound
from tongyao.app.feedback import FeedbackGiven, FeedbackReceipt, give_own_feedback
from tongyao.app.messaging import inbox, messages
from tongyao.app.pictures.files import NAMES, pictures
from tongyao.app.why import Why, read_why
from tongyao.gateway.api.common import Caller, Context, Key, rate_limits_of
from tongyao.protocol.documents.plan_machine import Machine, machine_of
from tongyao.protocol.model.ids import Id
from tongyao.protocol.model.messages import MessageBody
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
    """The parts of a process that you may see now. Fields that you may not see are absent."""
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
    """The reason why the process waits, in one sentence. Operators also get each person for whom it waits, with the
    time."""
    return await read_why(context, caller, process_id)


message_routes = APIRouter(tags=["messages"])


@message_routes.post(
    "/processes/{process_id}/messages",
    responses={
        202: {"model": messages.Receipt},
        409: {"description": "The process refuses the message; `code` gives the reason."},
    },
)
async def send_message(
    process_id: Id, message: MessageBody, response: Response, context: Context, caller: Caller, key: Key = None
) -> messages.Receipt:
    """Send a message. 200: applied. 202: stored, and delivered when a worker answers. 409: refused, nothing changed."""
    receipt = await messages.send_message(context, caller, process_id, message, key=key, via="api")
    if receipt.state == "waiting":
        response.status_code = 202
        response.headers["Location"] = f"/messages/{receipt.id}"
    return receipt


@message_routes.get("/messages/{message_id}")
async def read_message(message_id: Id, context: Context, caller: Caller) -> messages.Receipt:
    """The receipt of a message that you sent."""
    return await messages.message_state(context, caller, message_id)


@message_routes.get("/inbox", response_model_exclude_none=True)
async def read_inbox(context: Context, caller: Caller, view: bool = False) -> list[inbox.Ask]:
    """Your open asks, the most urgent first. `view=true`: each with the view of its process that you may see."""
    return await inbox.inbox(context, caller, with_view=view)


standing_routes = APIRouter(tags=["standing tensions"])


@standing_routes.get("/standing", response_model_exclude_none=True)
async def read_standing(request: Request, context: Context, caller: Caller) -> standing.StandingList:
    """Your own standing tensions, and others of your scene that match your profile."""
    await rate_limits_of(request).count_search(caller)
    return await standing.read_standing(context, caller)


@standing_routes.post("/standing/{standing_id}", status_code=204)
async def step_forward(standing_id: Id, request: Request, context: Context, caller: Caller) -> None:
    """Step forward for a standing tension. Its demander is notified once. It takes no key: a repeat has no effect."""
    await rate_limits_of(request).count_search(caller)
    await standing.step_forward(context, caller, standing_id)


@standing_routes.put("/processes/{process_id}/standing", response_model_exclude_none=True)
async def keep_looking(
    process_id: Id, body: standing.KeepLookingBody, context: Context, caller: Caller
) -> standing.StandingView:
    """Let an open point of your process wait in its scene for a suitable person, or end its wait."""
    return await standing.keep_looking(context, caller, process_id, body)


picture_routes = APIRouter(prefix="/processes/{process_id}", tags=["pictures"])
_TYPES: Final = {"svg": "image/svg+xml", "mmd": "text/vnd.mermaid"}


@picture_routes.get("/machine")
async def read_machine(process_id: Id, context: Context, caller: Caller) -> Machine:
    """The plan as a state machine in a neutral format. It is a draft and runs nothing."""
    return machine_of(await processes.read_plan(context.repositories, caller, process_id), process_id)


def _route_for(name: str) -> Callable[..., Awaitable[Response]]:
    async def read_picture(process_id: Id, context: Context, caller: Caller) -> Response:
        """A picture of the parts of the process that you may see now."""
        access = await authorize_in_process(context.repositories, caller, process_id, Action.READ_PLAN)
        view = await processes.party_view(context.repositories, access)
        drawn = pictures(list(view.roster or ()), view.stands, view.plan, language=access.process.language)
        picture = drawn.get(name)
        if picture is None:
            raise NotFound(
                "no_picture_yet", f"{process_id} has nothing to draw (yet): it is in the phase {view.phase.value}"
            )
        return Response(picture, media_type=_TYPES[name.rpartition(".")[2]])

    return read_picture


for _name in NAMES:
    picture_routes.add_api_route(
        f"/pictures/{_name}",
        _route_for(_name),
        name=f"read_{_name.replace('.', '_')}",
        response_class=Response,
        responses={200: {"content": {_TYPES[_name.rpartition(".")[2]]: {}}}},
    )
