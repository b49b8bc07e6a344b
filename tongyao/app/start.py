"""How a process starts (docs/protocol.md §3.1): everything is checked first; then the row, then the workflow."""

from __future__ import annotations

import difflib
import secrets
from contextlib import suppress
from typing import Any, Final

from pydantic import Field, ValidationError
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from tongyao.app.errors import PEOPLE, SCENES, BadInput
from tongyao.protocol.contracts.process import CRYSTALLIZATION, PROCESS_QUEUE, ProcessInput, SearchAttribute
from tongyao.protocol.model.process import Choice, ProfileRef, TensionRef
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.model.settings import ProcessSettings
from tongyao.protocol.model.sizes import language_of
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.model.text_ids import text_id as named_text_id
from tongyao.protocol.model.value import Value
from tongyao.records.library import Library
from tongyao.records.process.announcements import START, NotAnnounced, announce, announce_child

MAX_INTENT_CHARS: Final = 20_000
"""A raw intent is a few sentences; whoever has more to say has a profile."""


class Wish(Value):
    """What somebody asks for. `settings` are changes to the installation's defaults."""

    intent: str
    demander: str
    scene: str = ""
    participants: tuple[Choice, ...] = ()
    settings: dict[str, Any] = Field(default_factory=dict)
    tension: Tension | None = None
    strategy: str = ""


class Starting:
    """Starts processes. `defaults`: the installation's settings for new ones."""

    def __init__(
        self,
        library: Library,
        client: Client,
        defaults: ProcessSettings,
        *,
        remember: bool = False,
    ) -> None:
        self._library = library
        self._client = client
        self._defaults = defaults
        self._remember = remember

    async def start(self, wish: Wish, *, process_id: str | None = None) -> str:
        """Start a process and return its id. The same `process_id` again is the same process.

        Raises `BadInput`; then nothing was stored and nothing started.
        """
        settings = await self._checked(wish)
        library = self._library
        pid = process_id or f"c-{secrets.token_hex(6)}"
        intent_id = await library.texts.put(
            wish.demander, "intent", wish.intent.strip(), id=named_text_id(pid, "intent")
        )
        if wish.strategy:
            strategy = await library.texts.put(
                wish.demander, "strategy", wish.strategy, id=named_text_id(pid, "strategy")
            )
            settings = settings.model_copy(update={"strategy": strategy})
        tension = await self._brought(wish, pid)
        start = ProcessInput(
            process_id=pid,
            scene=wish.scene,
            demander=wish.demander,
            demander_profile=await self._profile(wish.demander),
            intent_text_id=intent_id,
            tension=tension,
            participants=wish.participants,
            settings=settings,
            remember=self._remember,
        )
        await announce(library, start)
        await self.launch(start)
        return pid

    async def branch(self, process_id: str, residual: str) -> str:
        """Start the child for a residual tension of a process that has ended; returns its id. Again is the same child.

        While a process runs, it starts its children itself: send `approve_residual`. Raises `BadInput`.
        """
        try:
            child = await announce_child(self._library, process_id, residual)
        except NotAnnounced as refused:
            raise BadInput(f"no_child_{refused.reason}", str(refused), field="residual") from None
        await self.launch(child)
        return child.process_id

    async def launch(self, start: ProcessInput) -> None:
        """Start the workflow of an announced process; again is harmless."""
        with suppress(WorkflowAlreadyStartedError):
            await self._client.start_workflow(
                CRYSTALLIZATION,
                start,
                id=start.process_id,
                task_queue=PROCESS_QUEUE,
                id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                search_attributes=_search_attributes(start),
                static_summary=start.summary,
            )
        await self._library.processes.mark_started(start.process_id)

    async def sweep(self, *, older_than: float = 0.0) -> list[str]:
        """Start what was announced and never started; returns the ids."""
        from tongyao.records.reconcile import Reconciliation

        swept = []
        for drift in await Reconciliation(self._library.pool).never_started(older_than):
            manifest = await self._library.room.manifest(drift.id)
            if START in manifest:
                await self.launch(ProcessInput.model_validate(manifest[START]))
                swept.append(drift.id)
        return swept

    async def status(self, process_id: str) -> WorkflowExecutionStatus | None:
        """What Temporal says of the workflow; None when it knows none (retention over, or never started)."""
        try:
            return (await self._client.get_workflow_handle(process_id).describe()).status
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise

    async def _checked(self, wish: Wish) -> ProcessSettings:
        intent = wish.intent.strip()
        if not intent:
            raise BadInput("intent_empty", "the intent is empty: say in a sentence what you want", field="intent")
        if len(intent) > MAX_INTENT_CHARS:
            raise BadInput(
                "intent_too_long",
                f"the intent has {len(intent):,} characters; at most {MAX_INTENT_CHARS:,}",
                field="intent",
            )
        settings = self._settings(wish)
        named = [choice.profile_id for choice in wish.participants]
        if not named and not wish.scene:
            raise BadInput("no_participants", "name participants, or a scene to find them in", field="participants")
        if len(named) > settings.max_others:
            besides = " beside the demander" if settings.demander_takes_part else ""
            raise BadInput(
                "too_many_participants",
                f"{len(named)} participants are named; at most {settings.max_others}{besides}. Leave some out",
                field="participants",
            )
        twice = sorted({one for one in named if named.count(one) > 1})
        if twice:
            raise BadInput("named_twice", f"named twice: {', '.join(twice)}", field="participants")
        if wish.demander in named:
            raise BadInput(
                "demander_among_participants",
                f"{wish.demander} brought the intent and is not one of the participants: to sit in the room as P00, "
                "leave them out and set `demander_takes_part`",
                field="participants",
            )
        if named and len(named) < settings.quorum:
            raise BadInput(
                "below_quorum",
                f"{len(named)} participant is named, the quorum is {settings.quorum}: name more, or lower the quorum",
                field="participants",
            )
        known = await self._library.profiles.get_many([*named, wish.demander])
        by_proxy = settings.demander_takes_part and settings.demander_endpoint is EndpointKind.PROXY
        if by_proxy and wish.demander not in known:
            raise BadInput(
                "no_profile",
                f"a proxy speaks from a profile, and {wish.demander} has none: set `demander_endpoint` to human or agent",
                field="demander_endpoint",
            )
        unknown = [one for one in named if one not in known]
        if unknown:
            raise BadInput(
                "unknown_profiles",
                f"there is no profile {', '.join(unknown)}: ids are as `GET /scenes/ID/people` (over MCP `agents`) has them",
                field="participants",
            )
        if wish.scene and wish.scene not in {scene.id for scene in await self._library.profiles.scenes()}:
            raise BadInput("unknown_scene", f"there is no scene {wish.scene!r}: {SCENES}", field="scene")
        if not named and not await self._library.profiles.anybody(wish.scene, beside=wish.demander):
            raise BadInput(
                "empty_scene",
                f"nobody but you is in scene {wish.scene!r}, so nobody can be found there: {PEOPLE}, or name participants",
                field="scene",
            )
        return settings

    def _settings(self, wish: Wish) -> ProcessSettings:
        unknown = sorted(set(wish.settings) - set(ProcessSettings.model_fields))
        if unknown:
            raise BadInput("unknown_setting", _no_setting(unknown), field="settings")
        values = {
            "language": language_of(wish.intent),
            **self._defaults.model_dump(exclude={"language"}),
            **wish.settings,
        }
        try:
            return ProcessSettings.model_validate(values)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in problem["loc"]) or "settings"
            message = problem["msg"].removeprefix("Value error, ")
            raise BadInput("settings", f"{where}: {message}", field=where) from None

    async def _brought(self, wish: Wish, process_id: str) -> TensionRef | None:
        if wish.tension is None:
            return None
        text_id = await self._library.texts.put(
            wish.demander,
            "tension",
            wish.tension.model_dump_json(),
            id=named_text_id(process_id, "tension"),
        )
        return TensionRef(text_id=text_id, grade=wish.tension.grade, barriers=len(wish.tension.barriers))

    async def _profile(self, demander: str) -> ProfileRef | None:
        if demander not in await self._library.profiles.get_many([demander]):
            return None
        version = await self._library.profiles.version(demander)
        return ProfileRef(profile_id=demander, version=version.version)


def _no_setting(unknown: list[str]) -> str:
    near = [one for name in unknown for one in difflib.get_close_matches(name, ProcessSettings.model_fields)]
    meant = f"; did you mean {', '.join(dict.fromkeys(near))}?" if near else ""
    return f"there is no setting {', '.join(unknown)}{meant} docs/protocol.md §10 lists them"


def _search_attributes(start: ProcessInput) -> Any:
    from temporalio.common import SearchAttributeKey as Key
    from temporalio.common import SearchAttributePair as Pair
    from temporalio.common import TypedSearchAttributes

    return TypedSearchAttributes(
        [
            Pair(Key.for_keyword(SearchAttribute.SCENE), start.scene or "-"),
            Pair(Key.for_int(SearchAttribute.DEPTH), start.depth),
            Pair(Key.for_keyword(SearchAttribute.ROOT), start.root),
        ]
    )
