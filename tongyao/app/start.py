"""Starts processes (docs/protocol.md §3.1): checks all input, then writes the row, then starts the workflow."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any, Final
from uuid import UUID, uuid5

from pydantic import Field, ValidationError
from temporalio.client import WorkflowExecutionStatus
from temporalio.common import (
    Priority,
    SearchAttributeKey,
    SearchAttributePair,
    TypedSearchAttributes,
    WorkflowIDConflictPolicy,
    WorkflowIDReusePolicy,
)
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import ANONYMOUS, Caller, permit
from tongyao.app.context import AppContext
from tongyao.app.errors import (
    ADD_PEOPLE,
    LIST_SCENES,
    BadInput,
    NotAllowed,
    NotFound,
    Unavailable,
    location,
    reason,
    refuse_file,
)
from tongyao.app.messaging.body_conversion import checked_key, chosen, tension_of
from tongyao.app.messaging.given_names import check_names
from tongyao.app.people.acting import tell_acted_for
from tongyao.app.quotas import (
    check_backlog,
    check_chosen,
    check_day_budget,
    check_open_processes,
    check_storage,
)
from tongyao.app.temporal_answers import if_known
from tongyao.app.try_each import try_each
from tongyao.app.writing import writing
from tongyao.protocol.contracts.process import CRYSTALLIZATION, PROCESS_QUEUE, ProcessInput, Readable, SearchAttribute
from tongyao.protocol.model.ids import Id, process_text_id
from tongyao.protocol.model.messages import Participants, TensionBody
from tongyao.protocol.model.process import Choice, ProfileRef, TensionRef
from tongyao.protocol.model.process_settings import ProcessSettings
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.model.sizes import language_of
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.model.value import Body
from tongyao.records.process.announcements import START, NotAnnounced, announce, announce_child
from tongyao.records.process.process_rows import ProcessUnknown
from tongyao.records.reconcile import Reconciliation
from tongyao.texts.catalogue import in_both

MAX_INTENT_CHARS: Final = 20_000
"""Longest intent, in characters. Longer descriptions belong in a profile."""
_NAMESPACE: Final = UUID("b6a4f2a8-6f0f-5b5f-8f6b-1a2d3c4e5f60")
_MAX_SECONDS: Final = 366 * 24 * 3600
_MAX_NUMBER: Final = 10**12
_ON_THE_MACHINE_ONLY: Final = frozenset({"proxy_seconds", "aliases_as_named"})
_NOT_SETTABLE: Final = frozenset({"strategy"})
"""`strategy` in the settings is the id of a text. Callers send a text, so nobody can name another person's text."""


class StartProcessBody(Body):
    """Start of a process: your intent in one or a few sentences, with the people to ask, or the scene to search."""

    intent: str = Field(min_length=1, max_length=MAX_INTENT_CHARS)
    scene: Id | None = None
    participants: Participants = Field(default=(), max_length=20)
    tension: TensionBody | None = Field(
        default=None, description="The tension, if you or your own agent formulated it already."
    )
    strategy: str = Field(default="", max_length=2_000, description="Text that directs the catalyst's attention.")
    settings: dict[str, Any] = Field(default_factory=dict, max_length=50)
    demander: Id | None = Field(default=None, description="The demander; for operators only.")


async def start_process(context: AppContext, caller: Caller, body: StartProcessBody, *, key: str | None) -> str:
    """Start a process and return its id. The same key of the same demander returns the same process.

    Raises `BadInput` and other `Problem`s; then nothing was stored or started.
    """
    permit(caller, Action.START_PROCESS)
    if not caller.operator and body.demander not in (None, caller.person):
        raise NotAllowed("you can start processes for yourself only")
    demander = body.demander if caller.operator else caller.person
    if not demander:
        raise BadInput("demander_missing", "give the person for whom it is started: `demander`", field="demander")
    process_id = process_id_of(demander, checked_key(key))
    settings = _settings(context, caller, body)
    await _check_people(context, body, demander, settings)
    if not await _is_announced(context, process_id):
        await check_backlog(context, caller)
        await check_day_budget(context, caller, demander)
        await check_chosen(context, caller, demander, chosen(body.participants))
    tension = tension_of(body.tension) if body.tension else None
    if tension is not None:
        await check_names(tension.names, found=(), texts=(body.intent,), tension=tension)
    async with writing(context.repositories, caller, demander):
        if not await _is_announced(context, process_id):
            await check_open_processes(context, caller, demander)
            await check_storage(context, caller, demander, chars=len(body.intent) + len(body.strategy))
        start = await _announce(context, caller, body, process_id, demander, settings, tension)
    await begin_workflow(context, start)
    return process_id


async def _announce(
    context: AppContext,
    caller: Caller,
    body: StartProcessBody,
    process_id: str,
    demander: str,
    settings: ProcessSettings,
    tension: Tension | None,
) -> ProcessInput:
    """Store the texts, the row and the budget of a process. Returns the input of its workflow."""
    texts = context.repositories.texts
    intent_id = await texts.put(demander, "intent", body.intent.strip(), id=process_text_id(process_id, "intent"))
    if strategy := body.strategy.strip():
        strategy_id = await texts.put(demander, "strategy", strategy, id=process_text_id(process_id, "strategy"))
        settings = settings.model_copy(update={"strategy": strategy_id})
    tension_ref = None
    if tension is not None:
        tension_id = process_text_id(process_id, "tension")
        await texts.put(demander, "tension", tension.model_dump_json(), id=tension_id)
        tension_ref = TensionRef(text_id=tension_id, grade=tension.grade, barriers=len(tension.barriers))
    start = ProcessInput(
        process_id=process_id,
        scene=body.scene or "",
        demander=demander,
        demander_profile=await _latest_profile(context, demander),
        intent_text_id=intent_id,
        tension=tension_ref,
        participants=chosen(body.participants),
        settings=settings,
        remember=context.remember,
    )
    await announce(context.repositories, start)
    await open_budget(context, caller, start)
    await tell_acted_for(context, caller, demander, "demanded", process_id=process_id)
    return start


async def open_budget(context: AppContext, caller: Caller, start: ProcessInput) -> None:
    """Open the budget of a process. It counts towards the demander's day unless it is started on the machine."""
    person, settings = None if caller.on_the_machine else start.demander, start.settings
    await context.repositories.budgets.open(
        start.process_id, tokens=settings.token_budget, cost=settings.cost_budget, person=person
    )


async def _is_announced(context: AppContext, process_id: str) -> bool:
    try:
        await context.repositories.processes.get(process_id)
    except ProcessUnknown:
        return False
    return True


def process_id_of(demander: str, key: str) -> str:
    """Return the id of the process that this demander starts with this key."""
    return "c-" + uuid5(_NAMESPACE, "\x1f".join((demander, key))).hex[:16]


async def start_child(
    context: AppContext,
    process_id: str,
    residual: str,
    *,
    caller: Caller = ANONYMOUS,
    participants: Sequence[Choice] = (),
) -> str:
    """Start the child for a residual tension of an ended process, and return its id. A repeated call returns the same
    child.

    `caller`: the authorized demander, or an operator. `participants`: named people; if empty, the field searches for
    people. A running process starts its children itself, after `approve_residual`. Raises `BadInput`.
    """
    try:
        async with writing(context.repositories, caller):
            child = await announce_child(context.repositories, process_id, residual, participants=participants)
    except NotAnnounced as refused:
        raise BadInput(f"no_child_{refused.reason}", str(refused), field="residual") from None
    await begin_workflow(context, child)
    return child.process_id


async def start_announced(context: AppContext, *, older_than: float = 0.0) -> list[str]:
    """Start the workflows of processes that were announced at least `older_than` seconds ago and never started. Returns
    their ids.

    If a start fails, its error is raised after all were tried.
    """

    async def start(process_id: str) -> None:
        await begin_workflow(context, ProcessInput.model_validate(manifests[process_id][START]))

    waiting = await Reconciliation(context.repositories.pool).never_started(older_than)
    manifests = {drift.id: await context.repositories.seats.manifest(drift.id) for drift in waiting}
    announced = [id for id, manifest in manifests.items() if START in manifest]
    return await try_each(announced, start, what="the start of a process")


async def workflow_status(context: AppContext, process_id: str) -> WorkflowExecutionStatus | None:
    """Return the status of the workflow; None if the server does not know it (never started, or expired)."""
    described = await if_known(context.client.get_workflow_handle(process_id).describe())
    return described.status if described is not None else None


async def begin_workflow(context: AppContext, start: ProcessInput) -> None:
    """Start the workflow of an announced process. Idempotent. Raises `Unavailable` if the server does not answer."""
    attributes = TypedSearchAttributes(
        [
            SearchAttributePair(SearchAttributeKey.for_keyword(SearchAttribute.SCENE), start.scene or "-"),
            SearchAttributePair(SearchAttributeKey.for_int(SearchAttribute.DEPTH), start.depth),
            SearchAttributePair(SearchAttributeKey.for_keyword(SearchAttribute.ROOT), start.root),
        ]
    )
    try:
        await context.client.start_workflow(
            CRYSTALLIZATION,
            start,
            id=start.process_id,
            task_queue=PROCESS_QUEUE,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
            search_attributes=attributes,
            memo={"fork_of": start.fork.origin} if start.fork is not None else None,
            static_summary=Readable(start.summary),
            priority=Priority(fairness_key=start.fairness_key(context.fair_by, context.fair_salt)),
        )
    except WorkflowAlreadyStartedError:
        pass  # an earlier attempt started it
    except RPCError as error:
        if error.status is RPCStatusCode.INVALID_ARGUMENT:
            raise
        raise Unavailable(
            "temporal_away",
            "the process is stored and has not begun: the workflow server cannot be reached now. "
            "Send the same request under the same key in a moment",
        ) from error
    await context.repositories.processes.mark_started(start.process_id)


def _settings(context: AppContext, caller: Caller, body: StartProcessBody) -> ProcessSettings:
    """Return the installation's defaults with the changes of the body. Raises `BadInput`."""
    usual = {"language": language_of(body.intent), **context.process_defaults.model_dump(exclude={"language"})}
    return settings_of(context, caller, body.settings, usual)


def settings_of(
    context: AppContext, caller: Caller, given: Mapping[str, Any], usual: Mapping[str, Any]
) -> ProcessSettings:
    """Return the `usual` settings, changed by `given`. A process that is started over the network also gets budgets.
    Raises `BadInput`."""
    unknown = sorted(set(given) - set(ProcessSettings.model_fields))
    if unknown:
        near = [
            setting for name in unknown for setting in difflib.get_close_matches(name, ProcessSettings.model_fields)
        ]
        meant = f"; did you mean {', '.join(dict.fromkeys(near))}?" if near else ""
        raise BadInput(
            "unknown_setting",
            f"there is no setting {', '.join(unknown)}{meant} docs/protocol.md §10 lists them",
            field="settings",
        )
    for name, value in given.items():
        _check_setting(name, value)
        if not caller.on_the_machine:
            _check_ceiling(context, name, value)
    values = {**usual, **given}
    if not caller.on_the_machine:
        _fill_budgets(context, values)
    try:
        return ProcessSettings.model_validate(values)
    except ValidationError as error:
        wrong = error.errors()[0]
        where = location(wrong) or "settings"
        raise BadInput("settings", f"{where}: {reason(wrong)}", field=where) from None


def _check_setting(name: str, value: object) -> None:
    """Refuse settings that a caller may not set, and numbers too large for a calendar, a budget or the database."""
    if name in _NOT_SETTABLE:
        raise BadInput("unknown_setting", f"{name} is not a setting: send it as a field of its own", field=name)
    try:
        number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else 0.0
    except (ValueError, OverflowError):
        number = float("inf") if isinstance(value, int) else 0.0
    most = _MAX_SECONDS if name.endswith("_seconds") else _MAX_NUMBER
    if not -most <= number <= most:
        raise BadInput("settings", f"{name}: at most {most:,}", field=name)


def _fill_budgets(context: AppContext, values: dict[str, Any]) -> None:
    """Set missing budgets. A process that is started over the network always has both."""
    for name, usual in (("token_budget", context.options.token_budget), ("cost_budget", context.options.cost_budget)):
        if values.get(name) is None:
            values[name] = min(usual, context.ceilings.of(name) or usual)


def _check_ceiling(context: AppContext, name: str, value: object) -> None:
    """Refuse settings that only the machine's command line may set, and values above a limit. Raises `BadInput`."""
    if name in _ON_THE_MACHINE_ONLY:
        raise BadInput("not_settable", f"{name} is set for the whole installation: leave it out", field=name)
    check_ceiling(context, name, value, field=name)


def check_ceiling(context: AppContext, name: str, value: object, *, field: str) -> None:
    """Refuse a value above the installation's limit for the setting `name`. Raises `BadInput`."""
    most = context.ceilings.of(name)
    if most is None or not isinstance(value, int | float | str | Decimal):
        return
    with suppress(ArithmeticError, ValueError):  # a value that is no number is refused later
        if Decimal(str(value)) > most:
            en, zh = in_both("app", "refusal.above_ceiling", field=field, most=f"{most:,}")
            raise BadInput("above_ceiling", en, field=field, zh=zh, most=f"{most:,}")


async def _check_people(context: AppContext, body: StartProcessBody, demander: str, settings: ProcessSettings) -> None:
    """Raise `BadInput` or `NotFound` unless there is an intent, with valid participants or a scene to search."""
    refuse_file(body.intent, field="intent")
    if not body.intent.strip():
        raise BadInput.worded("intent_empty", "refusal.intent_empty", field="intent")
    named = [choice.profile_id for choice in chosen(body.participants)]
    if not named and not body.scene:
        raise BadInput.worded("no_participants", "refusal.no_participants", field="participants")
    if len(named) > settings.max_others:
        key = "refusal.too_many_beside" if settings.demander_takes_part else "refusal.too_many"
        counts = {"named": len(named), "most": settings.max_others}
        raise BadInput.worded("too_many_participants", key, field="participants", **counts)
    if twice := sorted({id for id in named if named.count(id) > 1}):
        raise BadInput.worded("named_twice", "refusal.named_twice", field="participants", ids=", ".join(twice))
    if demander in named:
        key = "refusal.demander_named"
        raise BadInput.worded("demander_among_participants", key, field="participants", demander=demander)
    if named and len(named) < settings.quorum:
        counts = {"named": len(named), "quorum": settings.quorum}
        raise BadInput.worded("below_quorum", "refusal.below_quorum", field="participants", **counts)
    profiles = context.repositories.profiles
    known = await profiles.known([*named, demander])
    by_proxy = settings.demander_takes_part and settings.demander_endpoint is EndpointKind.PROXY
    if by_proxy and demander not in known:
        raise BadInput.worded("no_profile", "refusal.no_profile", field="demander_endpoint", demander=demander)
    if unknown := [id for id in named if id not in known]:
        raise BadInput.worded("unknown_profiles", "refusal.unknown", field="participants", ids=", ".join(unknown))
    if body.scene and body.scene not in {scene.id for scene in await context.repositories.scenes.all()}:
        raise NotFound("no_such_scene", f"there is no scene {body.scene!r}: {LIST_SCENES}", field="scene")
    if not named and body.scene and not await profiles.anybody(body.scene, beside=demander):
        raise BadInput(
            "empty_scene",
            f"nobody but you is in scene {body.scene!r}, so nobody can be found there: {ADD_PEOPLE}, or name participants",
            field="scene",
        )


async def _latest_profile(context: AppContext, person: str) -> ProfileRef | None:
    known = await context.repositories.profiles.known([person])
    return ProfileRef(profile_id=person, version=known[person]) if person in known else None
