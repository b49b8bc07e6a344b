"""One endpoint's turn (docs/protocol.md §4): a proxy is asked, or what a person said is taken down; then checked."""

from __future__ import annotations

import time
from collections import Counter

from temporalio import activity

from activities import prompting
from activities.deps import Deps
from activities.settling import TIMED_OUT, last_attempt, model_step
from tongyao.llm.engine import CallKey, Reask
from tongyao.llm.errors import EngineError, OperatorNeeded, OutOfBudget, StepFailed, Transient, Unreadable
from tongyao.protocol import views
from tongyao.protocol.contracts import PROJECT, ProjectInput, ProjectOutput
from tongyao.protocol.guards.evidence import Checked, check_items
from tongyao.protocol.process import ProfileRef
from tongyao.protocol.projection import EndpointKind, Item, Outcome, Projection, ProjectionDraft
from tongyao.protocol.record import Record
from tongyao.protocol.requests import EndpointRequest, Mandate, Material, Piece
from tongyao.protocol.settings import ProcessSettings
from tongyao.protocol.sizes import WHOLE_PROFILE_CHARS
from tongyao.records.rounds import ProjectionRow
from tongyao.records.texts import TextErased, text_id

ATTEMPTS = 6
"""How often a turn is tried before it counts as failed; one that ran out of time, twice (docs/protocol.md §4.7)."""


class Projecting:
    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    @activity.defn(name=PROJECT.name)
    async def project(self, what: ProjectInput) -> ProjectOutput:
        """Bring one turn into the record and return its outcome. A turn that cannot be had is an outcome, not an error."""
        library = self._deps.library
        guards: Counter[str] = Counter()
        reason = owner = ""
        async with model_step(library, self._deps.settling, what):
            began = time.monotonic()
            if what.outcome is not None:
                projection = Projection(round=what.round, alias=what.alias, outcome=what.outcome)
            else:
                try:
                    projection, owner = await self._turn(what, guards)
                except OperatorNeeded:
                    raise
                except TextErased:
                    projection = _gone(what)
                except EngineError as error:
                    enough = 2 if error.reason == TIMED_OUT else ATTEMPTS
                    if isinstance(error, Transient) and not last_attempt(enough):
                        raise
                    reason = error.reason
                    projection = Projection(round=what.round, alias=what.alias, outcome=Outcome.FAILED)
            try:
                projection = await self._write(what, projection, owner, guards, time.monotonic() - began)
            except TextErased:
                projection = _gone(what)
                projection = await self._write(what, projection, owner, guards, time.monotonic() - began)
        return ProjectOutput(
            outcome=projection.outcome,
            items=len(projection.items),
            struck=projection.struck,
            reason=reason,
            out_of_budget=reason == OutOfBudget.reason,
            spent=await self._deps.settling.spent(what.process_id),
        )

    async def _turn(self, what: ProjectInput, guards: Counter[str]) -> tuple[Projection, str]:
        """The turn, and whose words it is made of."""
        library = self._deps.library
        if what.nothing_new:
            seats = await library.room.seats(what.process_id)
            owner = next(seat.person for seat in seats if seat.alias == what.alias)
            return _silent(what, Outcome.NOTHING_NEW), owner
        row = await library.processes.get(what.process_id)
        record = await library.record(row, turn_of=what.alias)
        record = record.model_copy(update={"round": what.round})
        seated = record.participant(what.alias)
        owner = seated.profile.profile_id if seated.profile else row.demander
        mandate = await library.mandate(owner)
        words = await library.texts.get(what.submission) if what.submission else None
        if words is None and not mandate.may_speak:
            return _silent(what, Outcome.LAPSED), owner
        if words is not None:
            material, source_text = Material(), words
        else:
            assert seated.profile is not None  # only the demander may have none, and then nobody is their proxy
            source_text = await library.profile_text(seated.profile)
            material = await self._material(record, seated.profile, source_text)
        request = views.for_endpoint(record, what.alias, material=material, mandate=mandate, words=words)
        seconds = ProcessSettings.model_validate(row.settings).proxy_seconds
        projection = await self._asked(what, request, source_text, owner, seconds, mandate, guards)
        return (projection if words is None else projection.model_copy(update={"markdown": words})), owner

    async def _asked(
        self,
        what: ProjectInput,
        request: EndpointRequest,
        source_text: str,
        owner: str,
        seconds: float,
        mandate: Mandate,
        guards: Counter[str],
    ) -> Projection:
        """Ask, check, send back once what does not stand, and strike what still does not."""
        key = CallKey(what.process_id, "project", round=what.round, alias=what.alias, revision=what.revision)
        settling = self._deps.settling
        prompt = await prompting.override(self._deps.library, what.process_id, "project")
        settled, mended = await settling.readable(
            key,
            lambda engine, call: engine.project(request, call),
            ProjectionDraft,
            request=request,
            owner=owner,
            seconds=seconds,
            prompt_override=prompt,
        )

        def check(draft: ProjectionDraft, first_number: int) -> Checked:
            return check_items(
                draft.items,
                text=source_text,
                source="profile" if request.words is None else "words",
                round_number=what.round,
                alias=what.alias,
                targets=request.tension.target_names(),
                known_ids=[item.id for projection in request.own for item in projection.items],
                never=mandate.never if request.words is None else (),
                first_number=first_number,
            )

        checked = check(settled.draft, 1)
        items: tuple[Item, ...] = checked.items
        rejected, struck = checked.rejected, len(checked.rejected)
        if rejected and not mended:
            guards["reasked"] += 1
            complaints = tuple(f"{draft.claim[:80]!r}: {problem}" for draft, problem in rejected)
            try:
                again = await settling.answer(
                    key,
                    lambda engine, call: engine.project(request, call),
                    ProjectionDraft,
                    request=request,
                    owner=owner,
                    seconds=seconds,
                    reask=Reask(previous=settled.text, complaints=complaints),
                    prompt_override=prompt,
                )
            except (StepFailed, Unreadable, OutOfBudget) as error:
                guards[error.reason] += 1  # what stood of the first answer stands
            else:
                mending = check(again.draft, len(items) + 1)
                items, struck = (*items, *mending.items), max(0, struck - len(mending.items))
        guards["struck"] += struck
        silent = not items and (settled.draft.nothing_new or request.words is None)
        return Projection(
            round=what.round,
            alias=what.alias,
            outcome=Outcome.NOTHING_NEW if silent else Outcome.REPLIED,
            items=items,
            markdown=_shown(settled.draft.markdown, items, bool(checked.rejected), mandate) if items or silent else "",
            struck=struck,
            author=EndpointKind(what.author),
        )

    async def _material(self, record: Record, profile: ProfileRef, text: str) -> Material:
        if len(text) <= WHOLE_PROFILE_CHARS:
            return Material(pieces=(Piece(start=0, text=text),), total_chars=len(text))
        assert record.tension is not None
        return await self._deps.retriever.retrieve(profile, text, record.tension)

    async def _write(
        self, what: ProjectInput, projection: Projection, owner: str, guards: Counter[str], seconds: float
    ) -> Projection:
        """Write the turn down; returns the one that counts, which is an earlier attempt's if that came so far."""
        library = self._deps.library
        stored = None
        if projection.outcome.spoken:
            stored = text_id("projection", what.process_id, what.round, what.alias, what.revision)
            said = await library.texts.first(owner, "projection", projection.model_dump_json(), id=stored)
            projection = Projection.model_validate_json(said)
        await library.rounds.put_projection(
            what.process_id,
            ProjectionRow(
                round=what.round,
                alias=what.alias,
                outcome=projection.outcome,
                author=projection.author,
                text_id=stored,
                items=len(projection.items),
                chars=len(projection.markdown),
                struck=projection.struck,
                guards={**guards},
                seconds=seconds,
            ),
        )
        return projection


def _gone(what: ProjectInput) -> Projection:
    """Somebody who had themselves erased while their turn was under way."""
    return Projection(round=what.round, alias=what.alias, outcome=Outcome.LEFT)


def _silent(what: ProjectInput, outcome: Outcome) -> Projection:
    return Projection(round=what.round, alias=what.alias, outcome=outcome, author=EndpointKind(what.author))


def _shown(markdown: str, items: tuple[Item, ...], mended: bool, mandate: Mandate) -> str:
    """The words for people. Where anything did not stand, or is never to be disclosed, they are made of what stands."""
    said = markdown.casefold()
    if mended or any(phrase.strip().casefold() in said for phrase in mandate.never if phrase.strip()):
        return "\n".join(f"- {item.claim}" for item in items)
    return markdown
