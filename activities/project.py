"""Turns of a round (docs/protocol.md §4): asks a proxy, or sorts a person's words into items, and checks the answer."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial

from temporalio import activity

from activities.dependencies import Deps
from activities.llm.model_calls import TIMED_OUT, Repair, StepRun, model_step
from tongyao.llm.errors import DayBudgetUsed, EngineError, OperatorNeeded, OutOfBudget, Transient
from tongyao.protocol.contracts.process import PROJECT, ProjectInput, ProjectOutput, TurnInput, TurnOutput
from tongyao.protocol.documents.markdown import items_markdown
from tongyao.protocol.guards.complaints import complaint
from tongyao.protocol.guards.evidence import Checked, check_items
from tongyao.protocol.model.process import ProfileRef
from tongyao.protocol.model.projection import (
    EndpointKind,
    Item,
    ItemDraft,
    Outcome,
    Projection,
    ProjectionDraft,
    item_id,
)
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.requests import EndpointRequest, Mandate, Material, Piece
from tongyao.protocol.model.sizes import WHOLE_PROFILE_CHARS
from tongyao.protocol.rules import request_access
from tongyao.protocol.rules.news import REPEATS_FROM_ROUND, answerable, is_repeated
from tongyao.records.privacy.texts import NewText, TextErased, text_id
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


@dataclass(frozen=True)
class _Ended:
    """A turn that has ended, with what goes into its row. `reason`: why it failed."""

    turn: TurnInput
    projection: Projection
    reason: str
    guards: Counter[str]
    seconds: float


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
            outcomes = await self._write(what, room, [turn for turn in ended if isinstance(turn, _Ended)])
            if failed := [error for error in ended if isinstance(error, BaseException)]:
                raise max(failed, key=_weight)
        return ProjectOutput(
            turns=outcomes,
            out_of_budget=any(turn.reason == OutOfBudget.reason for turn in outcomes),
            spent=await calls.spent(what.process_id),
        )

    async def _room(self, what: ProjectInput, run: StepRun[EndpointRequest, ProjectionDraft]) -> _Room:
        repositories = self._deps.repositories
        record = await repositories.record(run.process, turns_of=[turn.alias for turn in what.turns])
        profiles = [profile for turn in what.turns if (profile := record.participant(turn.alias).profile)]
        readable, mandates = await repositories.speaking_in(run.process, [profile.profile_id for profile in profiles])
        return _Room(
            run=run,
            record=record.model_copy(update={"round": what.round}),
            mandates=mandates,
            readable=readable,
            texts=await repositories.profile_texts([one for one in profiles if one.profile_id in readable]),
        )

    async def _turn(self, what: ProjectInput, turn: TurnInput, room: _Room) -> _Ended:
        """One turn, not written yet. Raises what should be tried again, `OperatorNeeded` and `DayBudgetUsed`."""
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
        return _Ended(turn, projection, reason, guards, time.monotonic() - began)

    async def _spoken(self, what: ProjectInput, turn: TurnInput, room: _Room, guards: Counter[str]) -> Projection:
        """What the proxy said, or the person's own words sorted."""
        repositories, record = self._deps.repositories, room.record
        profile = record.participant(turn.alias).profile
        mandate = room.mandates[room.owner(turn.alias)]
        words = await repositories.texts.get(turn.submission) if turn.submission else None
        consents = profile is None or profile.profile_id in room.readable
        if words is None and not (mandate.may_speak and consents):
            return _silent(what, turn, Outcome.LAPSED)
        if words is not None:
            material, source_text = Material(), words
        elif profile is not None and profile in room.texts:
            source_text = room.texts[profile]
            material = await self._material(record, profile, source_text)
        else:  # erased: only the demander may have no profile, and then nobody is their proxy
            return _silent(what, turn, Outcome.LEFT)
        request = await asyncio.to_thread(
            request_access.for_endpoint,
            record,
            turn.alias,
            material=material,
            mandate=mandate,
            words=words,
            round_limit=what.round_limit,
        )
        question = room.run.question(
            request, owner=room.owner(turn.alias), round=what.round, alias=turn.alias, revision=turn.revision
        )
        review = partial(_review, request, source_text, material.spans, EndpointKind(turn.author))
        projection = await self._deps.model_calls.ask_and_review(question, review, guards)
        guards["struck"] += projection.struck
        if repeated := len(projection.items) - _fresh(projection):
            guards["repeated"] += repeated
        return projection if words is None else projection.model_copy(update={"markdown": words})

    async def _material(self, record: Record, profile: ProfileRef, text: str) -> Material:
        if len(text) <= WHOLE_PROFILE_CHARS:
            return Material(pieces=(Piece(start=0, text=text),), total_chars=len(text))
        assert record.tension is not None
        return await self._deps.retriever.retrieve(profile, text, record.tension)

    async def _write(self, what: ProjectInput, room: _Room, turns: Sequence[_Ended]) -> tuple[TurnOutput, ...]:
        """Write turns to the record, all at once. Of each that turn counts which an earlier attempt wrote, if one did.

        A participant who was erased while their turn was running has left.
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
        said = await repositories.texts.first_of_those_left(
            [
                NewText(
                    ids[ended.turn.alias],
                    room.owner(ended.turn.alias),
                    "projection",
                    ended.projection.model_dump_json(),
                )
                for ended in turns
                if ended.turn.alias in ids
            ]
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
                    items=_fresh(projection),
                    chars=len(projection.markdown),
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
                    items=_fresh(projection),
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


def _review(
    request: EndpointRequest,
    source_text: str,
    shown: Sequence[tuple[int, int]],
    author: EndpointKind,
    draft: ProjectionDraft,
) -> tuple[Projection, Repair[EndpointRequest, ProjectionDraft, Projection] | None]:
    """The projection of the items that stand; complains of the others, which are struck unless the repair corrects them."""

    def check(items: Sequence[ItemDraft], first_number: int) -> Checked:
        return check_items(
            items,
            text=source_text,
            shown=shown,
            source="profile" if request.words is None else "words",
            round_number=request.round,
            alias=request.alias,
            targets=request.tension.target_names(),
            known_ids=[item.id for projection in request.own for item in projection.items],
            answerable=answerable(request.observations[-1] if request.observations else None),
            never=request.mandate.never if request.words is None else (),
            language=request.language,
            first_number=first_number,
        )

    def marked(items: Sequence[Item]) -> tuple[Item, ...]:
        """A proxy's items with those marked that only repeat. Own texts of people and agents are never marked.

        Items that were taken back do not count as said: what still holds of them is said again.
        """
        if request.words is not None or request.round < REPEATS_FROM_ROUND:
            return tuple(items)
        earlier = [item for before in request.own for item in before.items]
        back = {one for item in (*earlier, *checked.items, *items) for one in item.withdraws}
        said = [item for item in earlier if item.id not in back]
        return tuple(item.model_copy(update={"repeated": is_repeated(item, said)}) for item in items)

    checked = check(draft.items, 1)
    rejected = checked.rejected
    items = marked(checked.items)
    repeated = [item for item in items if item.repeated]

    def projection(items: Iterable[Item], struck: int) -> Projection:
        """Items that only repeat come last: others do not get them, and a gap in the numbers would tell that a proxy speaks."""
        ordered = tuple(
            item.model_copy(update={"id": item_id(request.round, request.alias, number)})
            for number, item in enumerate(sorted(items, key=lambda one: one.repeated), 1)
        )
        fresh = tuple(item for item in ordered if not item.repeated)
        silent = not fresh and (draft.nothing_new or request.words is None)
        return Projection(
            round=request.round,
            alias=request.alias,
            outcome=Outcome.NOTHING_NEW if silent else Outcome.REPLIED,
            items=ordered,
            markdown=items_markdown(fresh, request.language) if fresh or silent else "",
            struck=struck,
            author=author,
        )

    def merge(again: ProjectionDraft) -> Projection:
        """The items that stood, and those of the second answer.

        On one matter an item that says something new takes the place of one that repeats, and a second repetition is left out.
        """
        second = marked(check(again.items, len(checked.items) + 1).items)
        mended = [item for item in second if any(_on_same_matter(item, other) for other in repeated)]
        replaced = [
            item for item in repeated if any(_on_same_matter(item, other) for other in mended if not other.repeated)
        ]
        kept = [item for item in items if item not in replaced]
        added = [item for item in second if not (item in mended and item.repeated)]
        return projection((*kept, *added), max(0, len(rejected) - (len(second) - len(mended))))

    as_it_stands = projection(items, len(rejected))
    if not (rejected or repeated):
        return as_it_stands, None
    nothing_new = complaint(request.language, "nothing_new")
    faults = [(draft.claim, fault) for draft, fault in rejected] + [(item.claim, nothing_new) for item in repeated]
    complaints = [complaint(request.language, "item", claim=claim, what=fault) for claim, fault in faults]
    return as_it_stands, Repair(tuple(complaints), merge, counts={"reasked": 1})


def _on_same_matter(item: Item, other: Item) -> bool:
    """Whether two items of one turn word the same thing: one dimension, and a quote or a starting point in common."""
    if item.dimension is not other.dimension:
        return False
    overlap = any(one.start < two.end and two.start < one.end for one in item.spans for two in other.spans)
    return overlap or bool(set(item.starts_from) & set(other.starts_from))


def _fresh(projection: Projection) -> int:
    """How many items say something new."""
    return sum(not item.repeated for item in projection.items)


def _silent(what: ProjectInput, turn: TurnInput, outcome: Outcome) -> Projection:
    return Projection(round=what.round, alias=turn.alias, outcome=outcome, author=EndpointKind(turn.author))


def _weight(error: BaseException) -> tuple[int, float]:
    """Orders failures by what decides the activity's: one for an operator first, then the longest wait asked for."""
    if isinstance(error, Transient):
        return 0, error.retry_after or 0.0
    return 1 + isinstance(error, OperatorNeeded), 0.0
