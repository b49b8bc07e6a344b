"""How a process is announced (docs/protocol.md §3.1, §3.6): its row, and the input it is to be started with."""

from __future__ import annotations

from typing import Final, Literal

from tongyao.protocol import effects
from tongyao.protocol.contracts import ProcessInput
from tongyao.protocol.lineage import child_id, duplicate_of
from tongyao.protocol.plan import Residual
from tongyao.protocol.process import TensionRef
from tongyao.protocol.settings import ProcessSettings, Residuals
from tongyao.protocol.tension import Lineage
from tongyao.records.library import Library
from tongyao.records.processes import NewProcess

START: Final = "start"
"""The part of the manifest that holds the workflow's input, so that an orphan can be started later."""

Reason = Literal["depth", "duplicate", "unknown", "nobody"]


class NotAnnounced(Exception):
    """No child for this residual. `reason`: `depth` (limit reached), `duplicate` (asked in this lineage before),
    `unknown` (no such residual), `nobody` (there is no scene to find anybody in).
    """

    def __init__(self, reason: Reason, other: str = "") -> None:
        super().__init__(f"no child process: {reason}" + (f" of {other}" if other else ""))
        self.reason = reason
        self.other = other


async def announce(library: Library, start: ProcessInput) -> None:
    """Announce a process; the same once more changes nothing. Raises as `Processes.create`."""
    lineage, settings = start.lineage, start.settings
    await library.processes.create(
        NewProcess(
            id=start.process_id,
            demander=start.demander,
            language=settings.language,
            intent_text_id=start.intent_text_id,
            scene_id=start.scene or None,
            root_id=start.root,
            parent_id=lineage.parent if lineage else None,
            depth=start.depth,
            tension_text_id=start.tension.text_id if start.tension else None,
            grade=start.tension.grade.value if start.tension else None,
            settings=settings.model_dump(mode="json"),
            open_record=settings.open_record,
        )
    )
    await library.room.freeze(start.process_id, START, start.model_dump(mode="json"))


async def announce_child(library: Library, parent_id: str, residual_id: str) -> ProcessInput:
    """Announce the child for one residual of a parent's plan, with what it is to be started with.

    It belongs to the same demander and looks for its people in the field; the parent's are proposed again or left out, as
    the parent's settings say. Raises `NotAnnounced`.
    """
    parent = ProcessInput.model_validate((await library.room.manifest(parent_id))[START])
    residual = await _residual(library, parent_id, residual_id)
    depth = parent.depth + 1
    if depth > parent.settings.depth_limit:
        raise NotAnnounced("depth")
    pid = child_id(parent_id, residual_id)
    lineage = Lineage(root=parent.root, parent=parent_id, residual=residual_id, depth=depth)
    tension = residual.tension.model_copy(update={"lineage": lineage})
    asked = {name: one for name, one in (await library.lineage.tensions(parent.root)).items() if name != pid}
    if (same := duplicate_of(tension, asked)) is not None:
        raise NotAnnounced("duplicate", same)
    room = [seat.person for seat in await library.room.seats(parent_id)]
    scene = parent.scene or await _scene_of(library, room)
    if not scene:
        raise NotAnnounced("nobody")
    text_id = await library.texts.put(
        parent.demander, "tension", tension.model_dump_json(), id=effects.text_id(pid, "tension")
    )
    child = ProcessInput(
        process_id=pid,
        scene=scene,
        demander=parent.demander,
        demander_profile=parent.demander_profile,
        intent_text_id=parent.intent_text_id,
        tension=TensionRef(text_id=text_id, grade=tension.grade, barriers=len(tension.barriers)),
        excluded=() if parent.settings.propose_parents_participants else tuple(room),
        settings=_settings(parent.settings),
        lineage=lineage,
        models_queue=parent.models_queue,
        remember=parent.remember,
    )
    await announce(library, child)
    return child


def _settings(parent: ProcessSettings) -> ProcessSettings:
    """Those of the parent. What goes to the field by itself also starts by itself with whom the field finds."""
    by_itself = parent.residuals is Residuals.AUTO
    return parent.model_copy(update={"auto_confirm": False, "auto_start": parent.auto_start or by_itself})


async def _residual(library: Library, parent_id: str, residual_id: str) -> Residual:
    record = await library.record(parent_id)
    for plan in record.plans:
        for residual in plan.residuals:
            if residual.id == residual_id:
                return residual
    raise NotAnnounced("unknown")


async def _scene_of(library: Library, people: list[str]) -> str:
    """Where the parent's participants are known from, when it was not started in a scene."""
    known = await library.profiles.get_many(people)
    scenes = sorted({profile.scene_id for profile in known.values() if profile.scene_id})
    return scenes[0] if scenes else ""
