"""Pictures of a process as the caller may see it (relations and tasks, as SVG and Mermaid), and the plan's machine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from fastapi import APIRouter, Response

from tongyao.app import processes
from tongyao.app.action_permissions import Action
from tongyao.app.authorization import authorize_in_process
from tongyao.app.errors import NotFound
from tongyao.app.pictures.files import NAMES, pictures
from tongyao.gateway.api.common import Caller, Context
from tongyao.protocol.documents.plan_machine import Machine, machine_of
from tongyao.protocol.model.ids import Id

router = APIRouter(prefix="/processes/{process_id}", tags=["pictures"])
_TYPES: Final = {"svg": "image/svg+xml", "mmd": "text/vnd.mermaid"}


@router.get("/machine")
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
    router.add_api_route(
        f"/pictures/{_name}",
        _route_for(_name),
        name=f"read_{_name.replace('.', '_')}",
        response_class=Response,
        responses={200: {"content": {_TYPES[_name.rpartition(".")[2]]: {}}}},
    )
