"""Pictures of a process, made of what the caller may see of it: relations and tasks, as SVG and as Mermaid; the machine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from fastapi import APIRouter, Response

from tongyao.app import processes
from tongyao.app.authorization import in_process
from tongyao.app.permissions import Action
from tongyao.app.pictures.files import NAMES, pictures
from tongyao.app.problems import NotFound
from tongyao.app.wire import Id
from tongyao.gateway.api.common import Here, Who, action
from tongyao.protocol.documents.machine import Machine, machine_of

router = APIRouter(prefix="/processes/{process_id}", tags=["pictures"])
_TYPES: Final = {"svg": "image/svg+xml", "mmd": "text/vnd.mermaid"}


@router.get("/machine", openapi_extra=action(Action.READ_PLAN))
async def read_machine(process_id: Id, here: Here, who: Who) -> Machine:
    """The plan as a neutral workflow machine; a draft, which runs nothing."""
    return machine_of(await processes.plan(here, who, process_id), process_id)


def _reading(name: str) -> Callable[..., Awaitable[Response]]:
    async def read_picture(process_id: Id, here: Here, who: Who) -> Response:
        """A picture, of as much as you may see now."""
        standing = await in_process(here.library, who, process_id, Action.READ_PLAN)
        view = await processes.read(here, who, process_id)
        aliases, seen = list(view.roster or ()), list(view.observations or ())
        picture = pictures(aliases, seen, view.plan, language=standing.process.language).get(name)
        if picture is None:
            raise NotFound(
                "no_picture_yet", f"there is nothing to draw of {process_id} (yet): it is {view.phase.value}"
            )
        return Response(picture, media_type=_TYPES[name.rpartition(".")[2]])

    return read_picture


for _name in NAMES:
    router.add_api_route(
        f"/pictures/{_name}",
        _reading(_name),
        name=f"read_{_name.replace('.', '_')}",
        openapi_extra=action(Action.READ_PLAN),
        response_class=Response,
        responses={200: {"content": {_TYPES[_name.rpartition(".")[2]]: {}}}},
    )
