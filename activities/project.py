"""Turns of a round (docs/protocol.md §4): asks a proxy and checks its answer, or cuts a person's words into items."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from temporalio import activity

from activities.dependencies import Deps
from activities.llm.model_calls import TIMED_OUT, StepRun, model_step
from tongyao.llm.errors import DayBudgetUsed, EngineError, OperatorNeeded, OutOfBudget, Transient
from tongyao.protocol.contracts.process import PROJECT, ProjectInput, ProjectOutput, TurnInput, TurnOutput
from tongyao.protocol.guards.checks import complaints_of, strike
from tongyao.protocol.guards.items import item_checks, items_of, own_items
from tongyao.protocol.guards.quoting import Shown
from tongyao.protocol.model.ids import item_id
from tongyao.protocol.model.process import DEMANDER, ProfileRef
from tongyao.protocol.model.projection import (
    EndpointKind,
    Outcome,
    Projection,
    ProjectionDraft,
    read_submission,
)
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.requests import EndpointRequest, Mandate, Material, Piece
from tongyao.protocol.model.sizes import WHOLE_PROFILE_CHARS
from tongyao.protocol.rules import request_access
from tongyao.records.privacy.texts import TextErased, text_id
from tongyao.records.process.rounds import ProjectionRow

ATTEMPTS = 6
"""The attempt of the activity in which a turn counts as failed; the second, where it timed out (docs/protocol.md §4.7)."""


@dataclass(frozen=True)
class _Room:
    """What the turns of one step are made from, read once for all of them. Erased profiles have no text.

    `readable`: ids of profiles that a proxy may speak from here.
    """

    run: StepRun[EndpointRequest, ProjectionDraft]
    record: Record
    mandates: Mapping[str, Mandate]
    readable: AbstractSet[str]
    texts: Mapping[ProfileRef, str]

    def owner(self, alias: str) -> str:
        """Whose words a turn is made of: the demander's, where they take part without a profile."""
        profile = self.record.participant(alias).profile
        return profile.profile_id if profile else self.run.process.demander


class Projecting:
    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    @activity.defn(name=PROJECT.name)
    async def project(self, what: ProjectInput) -> ProjectOutput:
        """Write turns to the record, side by side, and return their outcomes. One failure does not cancel the others.

        A turn that fails for good is an outcome, not an error. A turn that should be tried again fails the activity; in
        the next attempt the others' settled answers are found in the ledger.
        """
        calls = self._deps.model_calls
        async with model_step(self._deps.repositories, calls, PROJECT.step, what) as run:
            room = await self._room(what, run)
            turns = (self._turn(what, turn, room) for turn in what.turns)
            ended = await asyncio.gather(*turns, return_exceptions=True)
            if failed := [error for error in ended if isinstance(error, BaseException)]:
                raise max(failed, key=_weight)
        outcomes = tuple(turn for turn in ended if isinstance(turn, TurnOutput))
        return ProjectOutput(
            turns=outcomes,
            out_of_budget=any(turn.reason == OutOfBudget.reason for turn in outcomes),
            spent=await calls.spent(what.process_id),
        )

    async def _room(self, what: ProjectInput, run: StepRun[EndpointRequest, ProjectionDraft]) -> _Room:
        repositories = self._deps.repositories
        record = await repositories.record(run.process)
        profiles = [profile for turn in what.turns if (profile := record.participant(turn.alias).profile)]
        readable = await repositories.readable_in(run.process, [profile.profile_id for profile in profiles])
        return _Room(
            run=run,
            record=record.model_copy(update={"round": what.round}),
            mandates=await repositories.mandates_in(
                record.scene, [run.process.demander, *(profile.profile_id for profile in profiles)]
            ),
            readable=readable,
            texts=await repositories.profile_texts([one for one in profiles if one.profile_id in readable]),
        )

    async def _turn(self, what: ProjectInput, turn: TurnInput, room: _Room) -> TurnOutput:
        """Write one turn to the record. Raises what should be tried again, `OperatorNeeded` and `DayBudgetUsed`."""
        guards: Counter[str] = Counter()
        reason = ""
        began = time.monotonic()
        try:
            projection = await self._spoken(what, turn, room, guards)
        except (OperatorNeeded, DayBudgetUsed):
            raise
        except TextErased:
            projection = _silent(what, turn, Outcome.LEFT)
        except EngineError as error:
            enough = 2 if error.reason == TIMED_OUT else ATTEMPTS
            if isinstance(error, Transient) and activity.info().attempt < enough:
                error.args = (f"{turn.alias}: {error}",)
                raise
            reason = error.reason
            projection = _silent(what, turn, Outcome.FAILED)
        try:
            projection = await self._write(what, turn, projection, room, guards, time.monotonic() - began)
        except TextErased:  # the participant was erased while their turn was running
            projection = _silent(what, turn, Outcome.LEFT)
            projection = await self._write(what, turn, projection, room, guards, time.monotonic() - began)
        return TurnOutput(
            alias=turn.alias,
            revision=turn.revision,
            outcome=projection.outcome,
            items=len(projection.items),
            struck=projection.struck,
            reason=reason,
        )

    async def _spoken(self, what: ProjectInput, turn: TurnInput, room: _Room, guards: Counter[str]) -> Projection:
        """What the proxy said, or what the person or their agent said."""
        record = room.record
        if turn.submissions:
            return await self._submitted(what, turn, room, guards)
        profile = record.participant(turn.alias).profile
        mandate = room.mandates[room.owner(turn.alias)]
        if not mandate.may_speak or (profile is not None and profile.profile_id not in room.readable):
            return _silent(what, turn, Outcome.LAPSED)
        if (found := await self._material(room, turn.alias)) is None:
            return _silent(what, turn, Outcome.LEFT)
        text, material = found
        request = await asyncio.to_thread(
            request_access.for_endpoint, record, turn.alias, material=material, mandate=mandate
        )
        question = room.run.question(
            request, owner=room.owner(turn.alias), round=what.round, alias=turn.alias, revision=turn.revision
        )
        source = Shown(text, material.spans)
        answer = await self._deps.model_calls.ask_and_review(question, item_checks(source), guards)
        items = items_of(answer.draft.items, request, source)
        silent = _silent(what, turn, Outcome.REPLIED if items else Outcome.NOTHING_NEW)
        return silent.model_copy(update={"items": items, "struck": guards["struck"]})

    async def _submitted(self, what: ProjectInput, turn: TurnInput, room: _Room, guards: Counter[str]) -> Projection:
        """The words of a person as items, and an agent's items as they hold. No model is asked."""
        texts = [await self._deps.repositories.texts.get(id) for id in turn.submissions]
        agent = turn.author == EndpointKind.AGENT
        read = [(text, read_submission(text) if agent else None) for text in texts]
        words = "\n\n".join(text for text, submission in read if submission is None)
        items = list(own_items(words, round_number=what.round, alias=turn.alias))
        if any(submission for _, submission in read):
            mandate = room.mandates[room.owner(turn.alias)]
            request = await asyncio.to_thread(
                request_access.for_endpoint, room.record, turn.alias, material=Material(), mandate=mandate
            )
            for submission in filter(None, (submission for _, submission in read)):
                source, draft = Shown(submission.shown), ProjectionDraft(items=submission.items)
                complaints = complaints_of(draft, request, item_checks(source))
                draft, struck = strike(draft, complaints)
                guards.update({"struck": struck, **Counter(complaint.reason for complaint in complaints)})
                items += items_of(draft.items, request, source)
        numbered = tuple(
            item.model_copy(update={"id": item_id(what.round, turn.alias, number)})
            for number, item in enumerate(items, 1)
        )
        said = _silent(what, turn, Outcome.REPLIED)
        return said.model_copy(update={"items": numbered, "struck": guards["struck"]})

    async def _material(self, room: _Room, alias: str) -> tuple[str, Material] | None:
        """The text that a proxy speaks from, and what it is shown of it; None if the profile was erased.

        The demander's proxy speaks from the intent as well, which stands before the profile.
        """
        record = room.record
        profile = record.participant(alias).profile
        if profile is not None and profile not in room.texts:
            return None
        intent = record.intent if alias == DEMANDER else ""
        written = room.texts[profile] if profile is not None else ""
        text = "\n\n".join(filter(None, (intent, written)))
        if profile is None or len(text) <= WHOLE_PROFILE_CHARS:
            return text, Material(pieces=(Piece(start=0, text=text),), total_chars=len(text))
        assert record.tension is not None
        focus = await asyncio.to_thread(request_access.focus_of, record, alias)
        found = await self._deps.retriever.retrieve(profile, written, record.tension, focus)
        before = len(text) - len(written)
        pieces = [piece.model_copy(update={"start": piece.start + before}) for piece in found.pieces]
        if intent:
            pieces.insert(0, Piece(start=0, text=intent))
        return text, Material(pieces=tuple(pieces), total_chars=len(text))

    async def _write(
        self,
        what: ProjectInput,
        turn: TurnInput,
        projection: Projection,
        room: _Room,
        guards: Counter[str],
        seconds: float,
    ) -> Projection:
        """Write the turn to the record. Returns the turn that counts: an earlier attempt's, if that one wrote it."""
        repositories = self._deps.repositories
        stored = None
        if projection.outcome.spoken:
            key = (what.process_id, room.run.process.epoch, what.round, turn.alias, turn.revision)
            stored = text_id("projection", *key)
            said = await repositories.texts.first(
                room.owner(turn.alias), "projection", projection.model_dump_json(), id=stored
            )
            projection = Projection.model_validate_json(said)
        await repositories.rounds.put_projection(
            what.process_id,
            ProjectionRow(
                round=what.round,
                alias=turn.alias,
                outcome=projection.outcome,
                author=projection.author,
                text_id=stored,
                items=len(projection.items),
                chars=len(projection.text),
                struck=projection.struck,
                guards={**guards},
                seconds=seconds,
            ),
            revision=turn.revision,
            run_id=activity.info().workflow_run_id or "",
        )
        return projection


def _silent(what: ProjectInput, turn: TurnInput, outcome: Outcome) -> Projection:
    return Projection(round=what.round, alias=turn.alias, outcome=outcome, author=EndpointKind(turn.author))


def _weight(error: BaseException) -> tuple[int, float]:
    """Orders failures by what decides the activity's: one for an operator first, then the longest wait asked for."""
    if isinstance(error, Transient):
        return 0, error.retry_after or 0.0
    return 1 + isinstance(error, OperatorNeeded), 0.0
