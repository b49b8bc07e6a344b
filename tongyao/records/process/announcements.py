"""How a process is announced (docs/protocol.md §3.1, §3.6): its row, and the input it is to be started with."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Final, Literal

from tongyao.protocol.contracts.process import ProcessInput
from tongyao.protocol.model.ids import child_id, hole_of, process_text_id
from tongyao.protocol.model.plan import Residual
from tongyao.protocol.model.process import Choice, TensionRef
from tongyao.protocol.model.settings import ProcessSettings, Residuals
from tongyao.protocol.model.tension import Lineage
from tongyao.protocol.rules import read_access
from tongyao.protocol.rules.plans.residuals import duplicate_of, for_another_room, title_for_another_room
from tongyao.protocol.rules.plans.residuals import hole as plan_hole
from tongyao.records.process.processes import BranchCancelled, NewProcess, ProcessRow
from tongyao.records.repositories import Repositories

START: Final = "start"
"""The part of the manifest that holds the workflow's input, so that an orphan can be started later."""

PROMPTS: Final = "prompts"
"""The part that holds a process's own prompts: step → id of the text, its version, and the hash of the whole prompt."""

FORK_ENGINES: Final = "fork_engines"
"""The part of a fork that names who answers it: `engine`, and `models` by step."""

_SMALLEST: Final = Decimal("0.00000001")
"""US dollars, as the records count them."""

Reason = Literal["depth", "duplicate", "budget", "unknown", "nothing", "nobody", "cancelled"]


_SAID: Final[dict[Reason, str]] = {
    "depth": "the limit of generations is reached (the setting depth_limit)",
    "duplicate": "the same was asked in this tree before",
    "budget": "the budget of the tree has not enough left for it",
    "unknown": "the plan has no such residual tension, and nobody of this alias declined it",
    "nothing": "who declined had no part in the plan",
    "nobody": "there is no scene in which people could be looked for",
    "cancelled": "the process it belongs to was cancelled with everything below it",
}


class NotAnnounced(Exception):
    """No child for this residual. `reason`: `depth` (limit reached), `duplicate` (asked in this lineage before),
    `budget` (what the tree has left is not enough for one), `unknown` (no such residual, or nobody declined), `nothing`
    (who declined had no part in the plan), `nobody` (there is no scene to find anybody in), `cancelled` (the parent was, with
    everything below it).
    """

    def __init__(self, reason: Reason, other: str = "") -> None:
        super().__init__(f"no process was started: {_SAID[reason]}" + (f" ({other})" if other else ""))
        self.reason = reason
        self.other = other


async def announce(repositories: Repositories, start: ProcessInput, *, origin: ProcessRow | None = None) -> None:
    """Announce a process; the same once more changes nothing. `origin`: of a fork. Raises as `Processes.create`."""
    lineage, settings = start.lineage, start.settings
    await repositories.processes.create(
        NewProcess(
            id=start.process_id,
            demander=start.demander,
            language=settings.language,
            intent_text_id=start.intent_text_id,
            scene_id=start.scene or None,
            root_id=origin.root_id if origin else start.root,
            parent_id=lineage.parent if lineage else None,
            depth=origin.depth if origin else start.depth,
            tension_text_id=start.tension.text_id if start.tension else None,
            grade=start.tension.grade.value if start.tension else None,
            settings=settings.model_dump(mode="json"),
            open_record=settings.open_record,
            forked_from=origin.id if origin else None,
            first_origin=origin.first if origin else None,
            fork_round=start.fork.round if start.fork else 0,
            began_at=origin.began_at if origin else None,
        )
    )
    await repositories.seats.freeze(start.process_id, {START: start.model_dump(mode="json")})


async def announce_child(
    repositories: Repositories,
    parent_id: str,
    residual_id: str,
    *,
    tokens: int = 0,
    cost: Decimal = Decimal(0),
    participants: Sequence[Choice] = (),
) -> ProcessInput:
    """Announce the child for one residual of a parent's plan, with what it is to be started with.

    It belongs to the same demander and looks for its people in the field, unless `participants` are named; the parent's are proposed again or left out, as
    the parent's settings say, and nobody is asked to fill the hole they left. `tokens`, `cost` (US dollars): what
    the tree's budget must have left for it. Raises `NotAnnounced`; what was announced before is so again.
    """
    parent = ProcessInput.model_validate((await repositories.seats.manifest(parent_id))[START])
    residual = await residual_of(repositories, parent_id, residual_id)
    depth = parent.depth + 1
    if depth > parent.settings.depth_limit:
        raise NotAnnounced("depth")
    pid = child_id(parent_id, residual_id)
    lineage = Lineage(root=parent.root, parent=parent_id, residual=residual_id, depth=depth)
    titled = lineage.model_copy(
        update={"title": _title(residual)}
    )  # in the text alone: a workflow is started without words
    tension = residual.tension.model_copy(update={"lineage": titled})
    asked = await repositories.lineage.tensions(parent.root)
    announced = asked.pop(pid, None) is not None
    if (same := duplicate_of(tension, asked)) is not None:
        raise NotAnnounced("duplicate", same)
    room = [seat.person for seat in await repositories.seats.seats(parent_id)]
    scene = parent.scene or await _scene_of(repositories, room)
    if not scene:
        raise NotAnnounced("nobody")
    if not announced and not await has_room_for_child(repositories, parent.root, tokens, cost):
        raise NotAnnounced("budget")
    text_id = await repositories.texts.put(
        parent.demander, "tension", tension.model_dump_json(), id=process_text_id(pid, "tension")
    )
    child = ProcessInput(
        process_id=pid,
        scene=scene,
        demander=parent.demander,
        demander_profile=parent.demander_profile,
        intent_text_id=parent.intent_text_id,
        tension=TensionRef(text_id=text_id, grade=tension.grade, barriers=len(tension.barriers)),
        participants=tuple(participants),
        excluded=await _left_out(
            repositories, parent_id, residual_id, again=parent.settings.propose_parents_participants
        ),
        settings=_settings(parent.settings),
        lineage=lineage,
        remember=parent.remember,
        signal_key=parent.signal_key,
    )
    try:
        await announce(repositories, child)
    except BranchCancelled:
        raise NotAnnounced("cancelled") from None
    return child


def _settings(parent: ProcessSettings) -> ProcessSettings:
    """Those of the parent. What goes to the field by itself also starts by itself with whom the field finds."""
    by_itself = parent.residuals is Residuals.AUTO
    return parent.model_copy(
        update={
            "auto_confirm": False,
            "auto_start": parent.auto_start or by_itself,
            "confirm_children": parent.confirm_children and not by_itself,
        }
    )


async def residual_of(repositories: Repositories, process_id: str, residual_id: str) -> Residual:
    """A residual of a plan, or the hole of somebody who declined it, as it would go to the field: without names.

    What is hidden in the process is not known in another one. Raises `NotAnnounced`: `unknown`, `nothing`.
    """
    record = await repositories.record(process_id)
    hole = hole_of(residual_id)
    if hole is None:
        for plan in record.plans:
            for residual in plan.residuals:
                if residual.id == residual_id:
                    return _for_another_room(residual)
        raise NotAnnounced("unknown")
    revision, alias = hole
    declined = {
        (one.revision, one.alias) for one in await repositories.plans.answers(process_id) if one.decision == "decline"
    }
    plans = [plan for plan in record.plans if plan.revision == revision]
    if hole not in declined or not plans or record.tension is None:
        raise NotAnnounced("unknown")
    row = await repositories.processes.get(process_id)
    lineage = Lineage(root=row.root_id, parent=process_id, residual=residual_id, depth=row.depth + 1)
    found = plan_hole(plans[0], alias, read_access.shown_tension(record), lineage)
    if found is None:
        raise NotAnnounced("nothing")
    return _for_another_room(found)


async def not_asked_before(
    repositories: Repositories, process_id: str, residuals: Sequence[Residual]
) -> list[Residual]:
    """Those of a process's residuals that no child has taken up."""
    taken = await taken_up(repositories, process_id, residuals)
    return [one for one in residuals if one.id not in taken]


async def taken_up(repositories: Repositories, process_id: str, residuals: Sequence[Residual]) -> dict[str, str]:
    """By the id of a residual the child that began with it, or with nearly the same tension of an earlier plan."""
    row = await repositories.processes.get(process_id)
    started = {child.id for child in await repositories.lineage.children(process_id)}
    asked = {id: one for id, one in (await repositories.lineage.tensions(row.root_id)).items() if id in started}
    found = {}
    for one in residuals:
        own = child_id(process_id, one.id)
        child = own if own in started else duplicate_of(_for_another_room(one).tension, asked)
        if child is not None:
            found[one.id] = child
    return found


def _for_another_room(residual: Residual) -> Residual:
    """Without the aliases of the process it comes from; its title stays as it reads there."""
    tension = for_another_room(residual.tension)
    if tension.lineage is not None:
        titled = tension.lineage.model_copy(update={"title": _title(residual)})
        tension = tension.model_copy(update={"lineage": titled})
    return residual.model_copy(update={"tension": tension})


def _title(residual: Residual) -> str:
    return title_for_another_room(residual.title, residual.tension.language)


async def _left_out(repositories: Repositories, parent_id: str, residual_id: str, *, again: bool) -> tuple[str, ...]:
    """Whom the field does not propose: the parent's people, unless they may be asked `again`; whoever left the hole never."""
    seats = await repositories.seats.seats(parent_id)
    if hole_of(residual_id) is None:
        return () if again else tuple(seat.profile_id for seat in seats if seat.profile_id)
    gone = {one.alias for one in await repositories.plans.answers(parent_id) if one.decision == "decline"}
    return tuple(seat.profile_id for seat in seats if seat.profile_id and (not again or seat.alias in gone))


async def has_room_for_child(
    repositories: Repositories, root: str, tokens: int = 0, cost: Decimal = Decimal(0)
) -> bool:
    """Whether the tree's budget, if it has one, leaves so much, and anything at all; what is reserved may come back."""
    budget = await repositories.budgets.of_process(root)
    return budget is None or budget.has_room(max(1, tokens), max(_SMALLEST, cost), beside_reserved=False)


async def _scene_of(repositories: Repositories, people: list[str]) -> str:
    """Where the parent's participants are known from, when it was not started in a scene."""
    known = await repositories.profiles.get_many(people)
    scenes = sorted({profile.scene_id for profile in known.values() if profile.scene_id})
    return scenes[0] if scenes else ""
