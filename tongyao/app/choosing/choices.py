"""The options of a demander who is asked for a decision, and what the rounds found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import Field

from tongyao.app.choosing.candidates import FoundCandidate, found_before_rounds, found_people
from tongyao.protocol.model.messages import GOING_ON, Decision
from tongyao.protocol.model.plan import Residual
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.process_settings import ProcessSettings
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules.gap_tension import lacking
from tongyao.records.process.announcements import NotAnnounced, residual_of
from tongyao.records.process.inbox import InboxRow
from tongyao.records.process.process_rows import ProcessRow
from tongyao.records.process.seats import CandidateRow
from tongyao.records.repositories import Repositories
from tongyao.texts.catalogue import catalogue, worded

NO_SCENE: Final = "this process has no scene in which people could be found: name any profile you know"
FULL: Final = "nobody can be added: the room is full"
NOBODY: Final = "nobody was found: name any profile you know"


class OpenPoint(Value):
    """An open point that no participant covers. `id`: a barrier of the tension, or a gap of the last observation."""

    id: str
    text: str


class Choices(Value):
    """The options of a choice.

    `proposals`: people whom the field found before the rounds, or proposes for the points in `open`, with reasons
    but without sentences. The demander may also name anybody else with a profile. `residual`: the tension for which the field would be searched.
    """

    options: tuple[str, ...]
    open: tuple[OpenPoint, ...] = ()
    proposals: tuple[FoundCandidate, ...] = ()
    note: str = Field(default="", description="Why there are no proposals.")
    residual: Residual | None = None
    needed: int | None = Field(default=None, description="How many people a round needs, if the rounds have stopped.")
    present: int | None = Field(
        default=None,
        description="How many people are in the room, if the rounds have stopped; 0 if only the demander is left.",
    )
    takes_up_proposals: bool = Field(
        default=True,
        description="Of `replan`: whether the new plan includes the proposed changes. The engine without a model cannot include them.",
    )


async def choices_of(repositories: Repositories, ask: InboxRow) -> Choices | None:
    """Return the choices of an ask, or None if the ask has none."""
    if ask.alias != DEMANDER:
        return None
    if ask.ask == "candidate":
        return await _of_candidate(repositories, ask)
    if ask.ask in ("residual", "hole"):
        return await _of_residual(repositories, ask)
    if ask.ask == "select_participants":
        return await _of_the_field(repositories, ask)
    if ask.ask == "replan":
        takes_up = await takes_up_proposals(repositories, ask.process_id)
        return Choices(options=("replan", "conclude"), takes_up_proposals=takes_up)
    if ask.ask != "decision":
        return None
    row = await repositories.processes.get(ask.process_id)
    record = await repositories.record(ask.process_id)
    lack = lacking(record)
    opened = dict(zip(lack.open.values(), lack.tension.barriers, strict=False)) if lack else {}
    settings = ProcessSettings.model_validate(row.settings)
    present = [participant.alias for participant in record.participants if participant.active]
    others = sum(alias != DEMANDER for alias in present)
    free = settings.max_others - others
    refused = {Decision.ADD_PARTICIPANTS} if free < 1 else set()
    if settings.demander_takes_part and not others:
        refused |= GOING_ON
    if row.parent_id is not None:  # the budget of a tree is that of its root
        refused.add(Decision.RAISE_BUDGET)
    found = await repositories.seats.candidates(ask.process_id, round_number=ask.round)
    return Choices(
        options=tuple(one.value for one in Decision if one not in refused),
        open=tuple(OpenPoint(id=id, text=text) for id, text in opened.items()),
        proposals=tuple(found_people(found, opened)),
        note=FULL if free < 1 else NO_SCENE if not row.scene_id else "" if found else NOBODY,
        needed=settings.quorum,
        present=len(present) if others else 0,
    )


async def _of_residual(repositories: Repositories, ask: InboxRow) -> Choices | None:
    plan = await repositories.plans.latest(ask.process_id)
    may_replan = ask.ask == "hole" and (plan is None or plan.revision == 1)  # a process has at most one re-plan
    options = ("approve_residual", "replan") if may_replan else ("approve_residual",)
    taken_up = not may_replan or await takes_up_proposals(repositories, ask.process_id)
    try:
        residual = await residual_of(repositories, ask.process_id, ask.subject)
    except NotAnnounced:
        residual = None
    return Choices(options=options, residual=residual, takes_up_proposals=taken_up)


async def _of_candidate(repositories: Repositories, ask: InboxRow) -> Choices | None:
    """Return the standing tension of the ask, and the candidate for it."""
    found = await repositories.standing.match(ask.process_id, ask.ask_id)
    if found is None:
        return None
    standing, match = found
    words = (await repositories.texts.get_many([], known=[standing.text_id])).get(standing.text_id)
    tension = Tension.model_validate_json(words) if words else None
    title = tension.lineage.title if tension and tension.lineage else tension.transition if tension else ""
    residual = Residual(id=standing.residual, title=title, tension=tension) if tension else None
    near = CandidateRow(
        perspective=match.perspective, rank=1, profile_id=match.profile_id, score=0, reasons=match.reasons
    )
    return Choices(
        options=("approve_residual",),
        proposals=tuple(found_people([near], tension.targets() if tension else {})),
        residual=residual,
    )


async def takes_up_proposals(repositories: Repositories, process_id: str) -> bool:
    """Whether a new plan can include proposals. It cannot if the process's plans are made without a model."""
    return await engine_of(repositories, process_id, "plan") != "extractive"


async def _of_the_field(repositories: Repositories, ask: InboxRow) -> Choices:
    """Return the people who were found before the rounds."""
    found = await found_before_rounds(repositories, await repositories.processes.get(ask.process_id))
    return Choices(options=("select_participants",), proposals=tuple(found), note="" if found else NOBODY)


async def nothing_found(repositories: Repositories, row: ProcessRow) -> str:
    """Return a sentence in the process's language if rounds have ended without any relation. Otherwise empty."""
    observed = (await repositories.record(row)).observations
    if not observed or any(relation.of_participants for seen in observed for relation in seen.relations):
        return ""
    said = worded(catalogue("app"), row.language, "findings.nothing", n=len(observed))
    if await engine_of(repositories, row.id, "observe") != "extractive":
        return said
    return f"{said} {worded(catalogue('app'), row.language, 'findings.without_model')}"


async def engine_of(repositories: Repositories, process_id: str, step: str) -> str:
    """Return the name of the engine for a step (`observe`, `plan` …) of a process. Empty before the start."""
    manifest = await repositories.seats.manifest(process_id)
    engines: Mapping[str, str] = manifest.get("*", {}).get("engines") or {}
    return engines.get(step, "")
