"""Announces a process (docs/protocol.md §3.1, §3.6): stores its row and the input for its start."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Final, Literal

from tongyao.protocol.contracts.process import ProcessInput
from tongyao.protocol.model.ids import child_id, hole_of, process_text_id
from tongyao.protocol.model.plan import Residual
from tongyao.protocol.model.process import Choice, TensionRef
from tongyao.protocol.model.process_settings import ProcessSettings, Residuals
from tongyao.protocol.model.tension import Lineage
from tongyao.protocol.rules import read_access
from tongyao.protocol.rules.plans.residuals import duplicate_of, for_another_room, title_for_another_room
from tongyao.protocol.rules.plans.residuals import hole as plan_hole
from tongyao.records.process.process_rows import BranchCancelled, NewProcess, ProcessRow
from tongyao.records.repositories import Repositories

START: Final = "start"
"""The part of the manifest with the workflow's input. With it a process that was never started can be started later."""

PROMPTS: Final = "prompts"
"""The part of the manifest with a process's own prompts: step → id of the text, its version, and the hash of the whole prompt."""

FORK_ENGINES: Final = "fork_engines"
"""The part of a fork's manifest that states who answers its model calls: `engine`, and `models` by step."""

_SMALLEST: Final = Decimal("0.00000001")
"""The smallest amount of US dollars that the records distinguish."""

Reason = Literal["depth", "duplicate", "budget", "unknown", "nothing", "nobody", "cancelled"]


_SAID: Final[dict[Reason, str]] = {
    "depth": "the limit of generations is reached (the setting depth_limit)",
    "duplicate": "this tree already has a process for the same tension",
    "budget": "the budget of the tree does not have enough left for it",
    "unknown": "the plan has no such residual tension, and no participant with this alias declined it",
    "nothing": "the participant who declined had no part in the plan",
    "nobody": "there is no scene in which to search for people",
    "cancelled": "its parent process was cancelled together with everything below it",
}


class NotAnnounced(Exception):
    """No child is announced for this residual.

    `reason`: `depth` (limit reached), `duplicate` (the same was asked in this lineage before), `budget` (the tree has
    not enough left for a child), `unknown` (there is no such residual, or nobody declined), `nothing` (the person who
    declined had no part in the plan), `nobody` (there is no scene in which to find people), `cancelled` (the parent was
    cancelled together with everything below it).
    """

    def __init__(self, reason: Reason, other: str = "") -> None:
        super().__init__(f"no process was started: {_SAID[reason]}" + (f" ({other})" if other else ""))
        self.reason = reason
        self.other = other


async def announce(repositories: Repositories, start: ProcessInput, *, origin: ProcessRow | None = None) -> None:
    """Announce a process. A repetition changes nothing. `origin`: the origin of a fork. Raises the same errors as `Processes.create`."""
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
    """Announce the child for one residual of a parent's plan. Returns the input with which it is to be started.

    The child has the same demander. Its people are searched in the field unless `participants` are given. The parent's
    settings decide whether the parent's participants are proposed again or left out. Participants who declined are
    never asked to fill the hole that they left. `tokens`, `cost` (US dollars): the amount that the tree's budget must
    have left. Raises `NotAnnounced`. Announcing the same child again succeeds.
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
    )  # the title is only in the stored text: the input of a workflow contains no words
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
    )
    try:
        await announce(repositories, child)
    except BranchCancelled:
        raise NotAnnounced("cancelled") from None
    return child


def _settings(parent: ProcessSettings) -> ProcessSettings:
    """The parent's settings. A child for a residual that starts automatically also selects its participants automatically."""
    by_itself = parent.residuals is Residuals.AUTO
    return parent.model_copy(
        update={
            "auto_confirm": False,
            "auto_start": parent.auto_start or by_itself,
            "confirm_children": parent.confirm_children and not by_itself,
        }
    )


async def residual_of(repositories: Repositories, process_id: str, residual_id: str) -> Residual:
    """A residual of a plan, or the hole of a person who declined it, in the form for the field: without names.

    Another process does not know the names that are hidden in this one. Raises `NotAnnounced`: `unknown`, `nothing`.
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
    """The residuals of a process for which no child was started."""
    taken = await taken_up(repositories, process_id, residuals)
    return [one for one in residuals if one.id not in taken]


async def taken_up(repositories: Repositories, process_id: str, residuals: Sequence[Residual]) -> dict[str, str]:
    """Residual id → the child that was started with it, or with nearly the same tension of an earlier plan."""
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
    """The residual without the aliases of its process. Its title keeps its wording."""
    tension = for_another_room(residual.tension)
    if tension.lineage is not None:
        titled = tension.lineage.model_copy(update={"title": _title(residual)})
        tension = tension.model_copy(update={"lineage": titled})
    return residual.model_copy(update={"tension": tension})


def _title(residual: Residual) -> str:
    return title_for_another_room(residual.title, residual.tension.language)


async def _left_out(repositories: Repositories, parent_id: str, residual_id: str, *, again: bool) -> tuple[str, ...]:
    """The people whom the field does not propose.

    They are the parent's people, unless they may be proposed `again`. Participants who declined are always left out for
    a hole.
    """
    seats = await repositories.seats.seats(parent_id)
    if hole_of(residual_id) is None:
        return () if again else tuple(seat.profile_id for seat in seats if seat.profile_id)
    gone = {one.alias for one in await repositories.plans.answers(parent_id) if one.decision == "decline"}
    return tuple(seat.profile_id for seat in seats if seat.profile_id and (not again or seat.alias in gone))


async def has_room_for_child(
    repositories: Repositories, root: str, tokens: int = 0, cost: Decimal = Decimal(0)
) -> bool:
    """Whether the tree has no budget, or a budget with this amount, and some, left. Reservations count as unspent."""
    budget = await repositories.budgets.of_process(root)
    return budget is None or budget.has_room(max(1, tokens), max(_SMALLEST, cost), beside_reserved=False)


async def _scene_of(repositories: Repositories, people: list[str]) -> str:
    """The scene of the parent's participants, if the parent was started without a scene."""
    known = await repositories.profiles.get_many(people)
    scenes = sorted({profile.scene_id for profile in known.values() if profile.scene_id})
    return scenes[0] if scenes else ""
