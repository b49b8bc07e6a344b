"""Turns of a round (docs/protocol.md §4): asks proxies, checks their answers, or splits people's words into items."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial

from temporalio import activity

from activities.dependencies import Deps
from activities.llm.model_calls import TIMED_OUT, StepRun, model_step, parks
from activities.record import speaks_for_themselves, turns_of_origin
from tongyao.llm.errors import AnswerPending, DayBudgetUsed, EngineError, OperatorNeeded, OutOfBudget, Transient
from tongyao.protocol.contracts.process import NO_WORDS, PROJECT, ProjectInput, ProjectOutput, TurnInput, TurnOutput
from tongyao.protocol.guards.checks import complaints_of, strike
from tongyao.protocol.guards.items import item_checks, items_of, own_items
from tongyao.protocol.guards.quoting import Shown
from tongyao.protocol.identity.listed import names_of
from tongyao.protocol.identity.marks import Marker
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
from tongyao.protocol.model.tension import NameFound
from tongyao.protocol.rules import request_access
from tongyao.records.privacy.texts import NewText, TextErased, text_id
from tongyao.records.process.rounds import ProjectionRow

ATTEMPTS = 6
"""From this attempt of the activity on, a failing turn is `failed`; after a timeout, from the second attempt on
(docs/protocol.md §4.7)."""


@dataclass(frozen=True)
class _Room:
    """The common input of all turns of one step, read once. Erased profiles have no text.

    `readable`: ids of profiles from which a proxy may speak in this process. `origin`: for a fork, the result of
    `turns_of_origin`.
    """

    run: StepRun[EndpointRequest, ProjectionDraft]
    record: Record
    mandates: Mapping[str, Mandate]
    readable: AbstractSet[str]
    texts: Mapping[ProfileRef, str]
    marker: Marker
    origin: Mapping[str, tuple[ProjectionRow, Projection] | None]

    def owner(self, alias: str) -> str:
        """Return the id of the person to whom the words of a turn belong. Only a demander can have a turn without
        profile."""
        profile = self.record.participant(alias).profile
        return profile.profile_id if profile else self.run.process.demander


@dataclass(frozen=True)
class _EndedTurn:
    """A turn that has ended, with the data of its row. `reason`: why the turn failed. `names`: persons in its items."""

    turn: TurnInput
    projection: Projection
    reason: str
    guards: Counter[str]
    seconds: float
    names: tuple[NameFound, ...] = ()


class Projecting:
    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    @activity.defn(name=PROJECT.name)
    @parks
    async def project(self, what: ProjectInput) -> ProjectOutput:
        """Run turns concurrently, write them to the record, and return their outcomes. No failure cancels others.

        If a turn fails permanently, its outcome is `failed`. If a turn fails temporarily, the activity fails, and its
        next attempt finds the stored answers of the other turns in the ledger.
        """
        calls = self._deps.model_calls
        async with model_step(self._deps.repositories, calls, PROJECT.step, what) as run:
            room = await self._room(what, run)
            turns = (self._turn(what, turn, room) for turn in what.turns)
            ended = await asyncio.gather(*turns, return_exceptions=True)
            outcomes = await self._write(what, room, [turn for turn in ended if isinstance(turn, _EndedTurn)])
            if failed := [error for error in ended if isinstance(error, BaseException)]:
                raise max(failed, key=_weight)
        return ProjectOutput(
            turns=outcomes,
            out_of_budget=any(turn.reason == OutOfBudget.reason for turn in outcomes),
            spent=await calls.spent(what.process_id),
        )

    async def _room(self, what: ProjectInput, run: StepRun[EndpointRequest, ProjectionDraft]) -> _Room:
        repositories = self._deps.repositories
        record = await repositories.record(run.process, own=[turn.alias for turn in what.turns])
        profiles = [profile for turn in what.turns if (profile := record.participant(turn.alias).profile)]
        readable, mandates = await repositories.speaking_in(run.process, [profile.profile_id for profile in profiles])
        return _Room(
            run=run,
            record=record.model_copy(update={"round": what.round}),
            mandates=mandates,
            readable=readable,
            texts=await repositories.profile_texts([one for one in profiles if one.profile_id in readable]),
            marker=await repositories.shared.marker(
                run.process, {one.alias: one.identities for one in record.participants}
            ),
            origin=await turns_of_origin(repositories, run.fork, what.round) if run.fork is not None else {},
        )

    async def _turn(self, what: ProjectInput, turn: TurnInput, room: _Room) -> _EndedTurn:
        """Run one turn, without writing it to the record. Raises errors that can be retried, `OperatorNeeded`,
        `DayBudgetUsed` and `AnswerPending`."""
        guards: Counter[str] = Counter()
        reason, listed = "", list[str]()
        began = time.monotonic()
        try:
            projection = await self._spoken(what, turn, room, guards, listed)
        except (OperatorNeeded, DayBudgetUsed, AnswerPending):
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
        names = names_of(listed, projection.text, *(quote for item in projection.items for quote in item.quotes))
        return _EndedTurn(turn, projection, reason, guards, time.monotonic() - began, names)

    async def _spoken(
        self, what: ProjectInput, turn: TurnInput, room: _Room, guards: Counter[str], listed: list[str]
    ) -> Projection:
        """Return the words of the proxy, the person or their agent. The proxy's list of names is appended to
        `listed`."""
        record, fork = room.record, room.run.fork
        if (found_there := room.origin.get(turn.alias)) is not None:
            row, said = found_there
            guards.update(row.guards)
            return said
        if fork is not None and turn.alias not in room.origin and speaks_for_themselves(fork, turn.alias):
            guards[NO_WORDS] += 1
            lapsed = _silent(what, turn, Outcome.LAPSED)
            return lapsed.model_copy(update={"author": record.participant(turn.alias).endpoint})
        if turn.submissions:
            return await self._submitted(what, turn, room, guards)
        profile = record.participant(turn.alias).profile
        mandate = room.mandates[room.owner(turn.alias)]
        if not mandate.may_speak or (profile is not None and profile.profile_id not in room.readable):
            return _silent(what, turn, Outcome.LAPSED)
        if (found := await self._material(room, turn.alias)) is None:
            return _silent(what, turn, Outcome.LEFT)
        text, material = found
        request = await _request(room, turn.alias, mandate, material)
        question = room.run.question(
            request, owner=room.owner(turn.alias), round=what.round, alias=turn.alias, revision=turn.revision
        )
        source = Shown(text, material.spans)
        answer = await self._deps.model_calls.ask_and_review(question, item_checks(source), guards)
        items = items_of(answer.draft.items, request, source)
        listed += answer.draft.names
        silent = _silent(what, turn, Outcome.REPLIED if items else Outcome.NOTHING_NEW)
        return silent.model_copy(update={"items": items, "struck": guards["struck"]})

    async def _submitted(self, what: ProjectInput, turn: TurnInput, room: _Room, guards: Counter[str]) -> Projection:
        """Return a person's words, split into items, or the valid items of an agent. No model is asked."""
        texts = [await self._deps.repositories.texts.get(id) for id in turn.submissions]
        agent = turn.author == EndpointKind.AGENT
        read = [(text, read_submission(text) if agent else None) for text in texts]
        words = "\n\n".join(text for text, submission in read if submission is None)
        items = list(own_items(words, round_number=what.round, alias=turn.alias))
        if any(submission for _, submission in read):
            request = await _request(room, turn.alias, room.mandates[room.owner(turn.alias)], Material())
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
        """Return the source text of a proxy, and the part of it that the request contains. None if the profile was
        erased.

        None if the profile was erased. For the demander, the text is the intent followed by the profile.
        """
        record = room.record
        profile = record.participant(alias).profile
        if profile is not None and profile not in room.texts:
            return None
        intent = record.intent if alias == DEMANDER else ""
        written = room.texts[profile] if profile is not None else ""
        text = "\n\n".join(filter(None, (intent, written)))
        if profile is None or len(text) <= WHOLE_PROFILE_CHARS:
            return text, Material.whole(text)
        assert record.tension is not None
        focus = await asyncio.to_thread(request_access.focus_of, record, alias)
        found = await self._deps.retriever.retrieve(profile, written, record.tension, focus)
        before = len(text) - len(written)
        pieces = [piece.model_copy(update={"start": piece.start + before}) for piece in found.pieces]
        if intent:
            pieces.insert(0, Piece(start=0, text=intent))
        return text, Material(pieces=tuple(pieces), total_chars=len(text))

    async def _write(self, what: ProjectInput, room: _Room, turns: Sequence[_EndedTurn]) -> tuple[TurnOutput, ...]:
        """Write all turns together. A turn that an earlier attempt wrote is kept.

        The turn of a participant who was erased in the meantime has the outcome `left`.
        """
        if not turns:
            return ()
        repositories, epoch = self._deps.repositories, room.run.process.epoch
        ids = {
            ended.turn.alias: text_id(
                "projection", what.process_id, epoch, what.round, ended.turn.alias, ended.turn.revision
            )
            for ended in turns
            if ended.projection.outcome.spoken
        }
        said = await repositories.shared.put(
            room.run.process,
            [
                NewText(
                    ids[ended.turn.alias],
                    room.owner(ended.turn.alias),
                    "projection",
                    ended.projection.model_dump_json(),
                )
                for ended in turns
                if ended.turn.alias in ids
            ],
            aliases={id: alias for alias, id in ids.items()},
            names={ended.turn.alias: ended.names for ended in turns},
            own={one.alias: one.identities for one in room.record.participants},
        )
        rows, outputs = [], []
        for ended in turns:
            turn, projection = ended.turn, ended.projection
            stored = ids.get(turn.alias)
            if stored is not None and stored in said:
                projection = Projection.model_validate_json(said[stored])
            elif stored is not None:
                stored, projection = None, _silent(what, turn, Outcome.LEFT)
            rows.append(
                ProjectionRow(
                    round=what.round,
                    alias=turn.alias,
                    outcome=projection.outcome,
                    author=projection.author,
                    text_id=stored,
                    items=len(projection.items),
                    chars=len(projection.text),
                    struck=projection.struck,
                    guards={**ended.guards},
                    seconds=ended.seconds,
                )
            )
            outputs.append(
                TurnOutput(
                    alias=turn.alias,
                    revision=turn.revision,
                    outcome=projection.outcome,
                    items=len(projection.items),
                    struck=projection.struck,
                    reason=ended.reason,
                )
            )
        await repositories.rounds.put_projections(
            what.process_id,
            rows,
            revisions={ended.turn.alias: ended.turn.revision for ended in turns},
            run_id=activity.info().workflow_run_id or "",
        )
        return tuple(outputs)


async def _request(room: _Room, alias: str, mandate: Mandate, material: Material) -> EndpointRequest:
    make = partial(request_access.for_endpoint, material=material, mandate=mandate, marker=room.marker)
    return await asyncio.to_thread(make, room.record, alias)


def _silent(what: ProjectInput, turn: TurnInput, outcome: Outcome) -> Projection:
    return Projection(round=what.round, alias=turn.alias, outcome=outcome, author=EndpointKind(turn.author))


def _weight(error: BaseException) -> tuple[int, float]:
    """Sort key of failures; the activity raises the greatest. From the greatest: `OperatorNeeded`, other permanent
    errors, `Transient` by its delay, `AnswerPending`."""
    if isinstance(error, AnswerPending):
        return -1, 0.0
    if isinstance(error, Transient):
        return 0, error.retry_after or 0.0
    return 1 + isinstance(error, OperatorNeeded), 0.0
