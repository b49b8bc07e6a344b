"""Starts forks: processes made from the record of another process, with something changed (docs/forks.md)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pydantic import Field

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, authorize_in_process
from tongyao.app.context import AppContext
from tongyao.app.errors import BadInput
from tongyao.app.messaging.body_conversion import checked_key
from tongyao.app.quotas import check_backlog, check_day_budget, check_open_processes, check_storage
from tongyao.app.start import begin_workflow, open_budget, process_id_of, settings_of
from tongyao.app.writing import writing
from tongyao.protocol.contracts.process import Fork, ForkSeat, ProcessInput
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.ids import next_alias, process_text_id
from tongyao.protocol.model.messages import Decision
from tongyao.protocol.model.process import DEMANDER, Choice, Phase, TensionRef
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.model.value import Body, Value
from tongyao.protocol.rules.read_access import for_party
from tongyao.records.privacy.texts import text_id
from tongyao.records.process.announcements import FORK_ENGINES, PROMPTS, START, announce
from tongyao.records.process.events import RecordedEvent
from tongyao.records.process.process_rows import ProcessRow

_FIXED: Final[dict[str, Any]] = {"auto_confirm": True, "residuals": "off", "depth_limit": 0}
"""Settings of every fork. Its tension is confirmed at once, and no child starts. `open_record` is as in the origin."""


class ForkBody(Body):
    """The changes of a fork. Without changes, the process is repeated."""

    round: int = Field(default=1, ge=1, le=100, description="The first round in which the changes hold.")
    without: tuple[str, ...] = Field(default=(), max_length=20, description="Aliases that are left out.")
    settings: dict[str, Any] = Field(default_factory=dict, max_length=50)


@dataclass(frozen=True)
class LocalChanges:
    """Changes that are permitted only on the machine's command line.

    `added`: profile ids. `replaced`: profile id by alias. `prompts`: by step. `engine`, `models`: the engine and its
    models. `again`: from this step of the first round on, nothing is copied from the origin. `tension`: a new tension;
    local only, because the owners of the proxies consented to another tension.
    """

    added: tuple[str, ...] = ()
    replaced: Mapping[str, str] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)
    engine: str = ""
    models: Mapping[str, str] = field(default_factory=dict)
    again: Literal["", "project", "observe", "plan"] = ""
    tension: Tension | None = None


class Forked(Value):
    """A started fork. `left_out`: aliases of people who were erased or no longer allow their proxy."""

    id: str
    round: int
    left_out: tuple[str, ...] = ()


async def fork_process(
    context: AppContext,
    caller: Caller,
    origin_id: str,
    body: ForkBody,
    *,
    key: str | None,
    local: LocalChanges | None = None,
) -> Forked:
    """Start a fork of a process. The same key returns the same fork.

    Raises `NotFound` if the caller may not see the origin, and `NotAllowed` for its participants. Raises `BadInput`
    also while the demander may not read the origin's plan, because a fork shows the same words as the plan.
    """
    access = await authorize_in_process(context.repositories, caller, origin_id, Action.FORK)
    origin, local = access.process, local or LocalChanges()
    process_id = process_id_of(origin.demander, f"fork/{origin_id}/{checked_key(key)}")
    record = await context.repositories.record(origin, own=(DEMANDER,))
    if for_party(record, role="demander").plan is None or record.own_tension is None:
        raise BadInput.worded("fork_too_early", "refusal.fork_too_early", field="process")
    tension = local.tension or record.own_tension
    fixed = {**_FIXED, "open_record": origin.open_record}
    settings = settings_of(context, caller, {**body.settings, **fixed}, origin.settings)
    happened = await context.repositories.events.of_kind(origin_id, *_HAPPENED)
    seats, left_out = await _seats(context, origin, body, local, _left(happened))
    changed = bool(left_out or body.without or local.added or local.replaced)
    fork = Fork(
        origin=origin_id,
        round=1 if changed else body.round,
        again=local.again,
        seats=seats,
        spoke=_spoke(record, {seat.alias for seat in seats if not seat.replaced} | {DEMANDER}),
        decisions=_decisions(happened),
        concluded=max(
            (
                _round(event)
                for event in happened
                if event.kind is EventKind.CONCLUDED and event.data.get("phase") == Phase.CRYSTALLIZING
            ),
            default=0,
        ),
    )
    at_first = tuple(seat for seat in seats if seat.joined_round == 1 and seat.alias != DEMANDER)
    if len(at_first) < max(1, settings.quorum):
        raise BadInput.worded(
            "fork_too_few", "refusal.fork_too_few", field="without", left=len(at_first), quorum=settings.quorum
        )
    await check_backlog(context, caller)
    await check_day_budget(context, caller, origin.demander)
    manifest = await context.repositories.seats.manifest(origin_id)
    before = ProcessInput.model_validate(manifest[START])
    async with writing(context.repositories, caller, origin.demander):
        await check_open_processes(context, caller, origin.demander)
        await check_storage(context, caller, origin.demander, chars=len(tension.model_dump_json()))
        start = ProcessInput(
            process_id=process_id,
            scene=before.scene,
            demander=origin.demander,
            demander_profile=before.demander_profile,
            intent_text_id=before.intent_text_id,
            tension=await _tension_ref(context, process_id, origin.demander, tension),
            participants=tuple(seat.choice for seat in at_first),
            settings=settings,
            fork=fork,
        )
        await announce(context.repositories, start, origin=origin)
        await _freeze_changes(context, process_id, manifest, local)
        await open_budget(context, caller, start)
    await begin_workflow(context, start)
    return Forked(id=process_id, round=fork.round, left_out=left_out)


async def _tension_ref(context: AppContext, process_id: str, demander: str, tension: Tension) -> TensionRef:
    """Store the tension as a text of the fork, so that it is erased and marked together with the fork."""
    id = process_text_id(process_id, "tension")
    stands = await context.repositories.texts.first(demander, "tension", tension.model_dump_json(), id=id)
    tension = Tension.model_validate_json(stands)
    return TensionRef(text_id=id, grade=tension.grade, barriers=len(tension.barriers))


async def _seats(
    context: AppContext,
    origin: ProcessRow,
    body: ForkBody,
    local: LocalChanges,
    left: Mapping[str, tuple[int, bool]],
) -> tuple[tuple[ForkSeat, ...], tuple[str, ...]]:
    """Return the seats of the fork, and the aliases that are left out. Raises `BadInput` for unknown aliases."""
    repositories = context.repositories
    rows = await repositories.seats.seats(origin.id)
    aliases = {row.alias for row in rows} - {DEMANDER}
    if unknown := sorted({*body.without, *local.replaced} - aliases):
        raise BadInput.worded(
            "fork_unknown_alias", "refusal.fork_unknown_alias", field="without", aliases=", ".join(unknown)
        )
    people = [row.person for row in rows]
    known = await repositories.profiles.known([*people, *local.added, *local.replaced.values()])
    readable, mandates = await repositories.speaking_in(origin, [person for person in people if person in known])
    seats, left_out = [], []
    for row in rows:
        if row.alias in body.without:
            continue
        if (other := local.replaced.get(row.alias)) is not None:
            seats.append(
                ForkSeat(
                    alias=row.alias,
                    choice=Choice(profile_id=other),
                    version=known[other],
                    joined_round=row.joined_round,
                    replaced=True,
                )
            )
            continue
        speaks = row.endpoint != EndpointKind.PROXY or (row.person in readable and mandates[row.person].may_speak)
        if row.alias != DEMANDER and not (row.person in known and speaks):
            left_out.append(row.alias)
            continue
        left_round, left_in_round = left.get(row.alias, (0, False))
        seats.append(
            ForkSeat(
                alias=row.alias,
                choice=Choice(profile_id=row.person, endpoint=EndpointKind(row.endpoint)),
                version=row.profile_version,
                joined_round=row.joined_round,
                left_round=left_round,
                left_in_round=left_in_round,
            )
        )
    for number, person in enumerate(local.added):
        alias, choice = next_alias(len(aliases) + number), Choice(profile_id=person)
        seats.append(ForkSeat(alias=alias, choice=choice, version=known[person]))
    return tuple(seats), tuple(left_out)


def _spoke(record: Record, aliases: Collection[str]) -> dict[int, tuple[str, ...]]:
    """Return for each round those of `aliases` for whom a person or an agent spoke."""
    spoke: dict[int, tuple[str, ...]] = {}
    for said in record.projections:
        if said.alias in aliases and said.author is not EndpointKind.PROXY and said.outcome.spoken:
            spoke[said.round] = (*spoke.get(said.round, ()), said.alias)
    return spoke


_HAPPENED: Final = (
    EventKind.ROUND_OPENED,
    EventKind.GATE_COMPLETE,
    EventKind.OBSERVATION_READY,
    EventKind.PARTICIPANT_LEFT,
    EventKind.DECIDED,
    EventKind.CONCLUDED,
)


def _left(happened: Sequence[RecordedEvent]) -> dict[str, tuple[int, bool]]:
    """Return for each alias that left: the round in or after which it left, and whether that round was still open. A
    round ends with its observation, or with its gate if nobody spoke."""
    over: dict[int, int] = {}
    for event in happened:
        if event.kind in (EventKind.GATE_COMPLETE, EventKind.OBSERVATION_READY):
            over[_round(event)] = event.seq
    return {
        str(event.data["alias"]): (_round(event), event.seq < over.get(_round(event), event.seq + 1))
        for event in happened
        if event.kind is EventKind.PARTICIPANT_LEFT
    }


def _decisions(happened: Sequence[RecordedEvent]) -> dict[int, Decision]:
    """Return for each round the last decision that was made after it."""
    decisions, after = dict[int, Decision](), 0
    for event in happened:
        if event.kind is EventKind.ROUND_OPENED:
            after = _round(event)
        elif event.kind is EventKind.DECIDED and event.data["decision"] != "replan":
            decisions[after] = Decision(str(event.data["decision"]))
    return decisions


def _round(event: RecordedEvent) -> int:
    return int(str(event.data["round"]))


async def _freeze_changes(
    context: AppContext, process_id: str, manifest: Mapping[str, Mapping[str, Any]], local: LocalChanges
) -> None:
    """Freeze the prompts (by default the origin's) and the engines of the fork."""
    prompts = dict(manifest.get(PROMPTS, {}))
    for step, text in local.prompts.items():
        id = text_id("prompt", process_id, "fork", step)
        stored = await context.repositories.texts.put(f"process:{process_id}", "prompt", text, id=id)
        prompts[step] = {"text": stored, "version": "fork"}
    before = manifest.get(FORK_ENGINES, {})
    engines = {
        "engine": local.engine or before.get("engine", ""),
        "models": {**before.get("models", {}), **local.models},
    }
    parts: dict[str, Mapping[str, Any]] = {PROMPTS: prompts}
    if engines["engine"] or engines["models"]:
        parts[FORK_ENGINES] = engines
    await context.repositories.seats.freeze(process_id, parts)
