"""The scheduled search for standing tensions: stores the tensions that wait, and compares new people with them
(docs/protocol.md §7.8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from tongyao.app.choosing.open_residuals import left_open
from tongyao.app.context import AppContext, StandingSearch
from tongyao.app.standing import in_words_that_may_leave, waiting_in, words_of
from tongyao.app.try_each import try_each
from tongyao.protocol.model.plan import Residual
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.process_settings import ProcessSettings, Residuals
from tongyao.protocol.rules.consent import Consent
from tongyao.records.process.process_rows import ProcessRow
from tongyao.records.process.standing import StandingMatch, StandingTension
from tongyao.records.repositories import Repositories


async def look(context: AppContext, *, now: datetime | None = None) -> dict[str, int]:
    """Store new standing tensions, find candidates among new people, and open asks. Idempotent. Returns counts."""
    now = now or datetime.now(UTC)
    repositories, search = context.repositories, context.people_search
    counts = {"standing": 0, "people": 0, "asked": 0}

    async def stand(process_id: str) -> None:
        left = await _what_stays(repositories, await repositories.processes.get(process_id), now)
        counts["standing"] += await repositories.standing.stand(process_id, left)

    async def hold(scene: str) -> None:
        assert search is not None
        tensions = await waiting_in(repositories, scene, now)
        people = await repositories.standing.newcomers(scene, [row.id for row in tensions])
        found = await _candidates(repositories, search, scene, tensions, people) if tensions and people else []
        counts["asked"] += await repositories.standing.settle(scene, found, now, people=people, tensions=tensions)
        counts["people"] += len(people)

    await try_each(await repositories.standing.not_looked_through(), stand, what="what stays of a process")
    await repositories.standing.close_those_over(now)
    if search is not None:
        await try_each(await repositories.standing.scenes(), hold, what="a scene held against its standing tensions")
    counts["asked"] += await repositories.standing.ask(now)
    return counts


async def _what_stays(repositories: Repositories, row: ProcessRow, now: datetime) -> list[StandingTension]:
    """Return the tensions of a process that wait by default: residuals that nobody took up or refused, or the tension
    for which too few people were found."""
    settings = ProcessSettings.model_validate(row.settings)
    if row.scene_id is None or settings.residuals is Residuals.OFF or row.outcome in (Phase.CANCELLED, Phase.FAILED):
        return []
    residuals: list[Residual | None] = []
    if row.phase == Phase.COMPLETED:
        refused = await repositories.messages.refused_residuals(row.id)
        residuals += [one for one in await left_open(repositories, row) if one.id not in refused]
    elif row.phase in (Phase.SELECTING, Phase.EXPIRED):
        residuals.append(None)
    found = [await in_words_that_may_leave(repositories, row, one, now) for one in residuals]
    return [one for one in found if one is not None]


async def _candidates(
    repositories: Repositories,
    search: StandingSearch,
    scene: str,
    tensions: Sequence[StandingTension],
    people: Mapping[str, int],
) -> list[StandingMatch]:
    """Return for each person the match with the best score, if a standing tension fits the person. People whose consent
    is `never` are left out."""
    near = await search.tensions_near({row.id: row.text_id for row in tensions}, scene=scene, people=people)
    wanted = [row for row in tensions if row.id in near]
    words, best = await words_of(repositories, wanted), dict[str, StandingMatch]()
    for row in wanted:
        if row.id not in words:
            continue
        excluded = sorted({row.demander, *await repositories.lineage.asked_in(row.process_id)})
        found = await search.answered_by(words[row.id], scene=scene, people=near[row.id], excluded=excluded)
        for one in found:
            if one.profile_id not in best or best[one.profile_id].score < one.score:
                best[one.profile_id] = StandingMatch(
                    standing_id=row.id,
                    profile_id=one.profile_id,
                    version=people[one.profile_id],
                    perspective=one.perspective,
                    score=one.score,
                    reasons=list(one.reasons),
                )
    known = await repositories.consents.standing(list(best), scene)
    return [one for id, one in best.items() if id in known and known[id].consent is not Consent.NEVER]
