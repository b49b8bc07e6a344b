"""Standing tensions: what stayed unresolved waits in its scene until somebody comes for it (docs/protocol.md §7.8).

`look` makes them of what ended, holds who is new against them and asks their demanders. A demander answers with `approve_residual` that
names the ask. Whoever is in the scene may read the visible ones that they might answer, and step forward.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from pydantic import Field

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, ProcessAccess, authorize_in_process, permit
from tongyao.app.choosing.candidate_sentences import nearest_sentence, whole_sentences
from tongyao.app.choosing.open_residuals import left_open
from tongyao.app.context import AppContext
from tongyao.app.errors import BadInput, NotAllowed, NotFound, QuotaReached
from tongyao.app.messaging.given_names import check_names
from tongyao.app.messaging.wire import Body, Id, SelectParticipantsBody, TensionBody
from tongyao.app.quotas import check_storage
from tongyao.app.start import StartProcessBody, start_child, start_process
from tongyao.app.try_each import try_each
from tongyao.app.writing import writing
from tongyao.heavy_work import READINGS
from tongyao.protocol.model.ids import OWN_TENSION, hole_of, speaker_of
from tongyao.protocol.model.plan import Residual
from tongyao.protocol.model.process import DEMANDER, Choice, Phase
from tongyao.protocol.model.settings import ProcessSettings, Residuals
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules.consent import Consent
from tongyao.records.privacy.shared_texts import shared_text_id
from tongyao.records.privacy.texts import NewText, text_id
from tongyao.records.process.announcements import NotAnnounced, residual_of
from tongyao.records.process.processes import ProcessRow
from tongyao.records.process.standing import StandingMatch, StandingTension, standing_id
from tongyao.records.repositories import Repositories

DAYS: Final = 90
PER_WEEK: Final = 3
MOST_STANDING: Final = 50
"""Standing tensions of one demander that wait at a time."""

MOST_SHOWN: Final = 20
"""Standing tensions that somebody is shown because they might answer them."""


class KeepLookingBody(Body):
    """Whether a tension of an ended process, or one for which too few were found, waits in the scene for somebody to come."""

    residual: Id = Field(
        default=OWN_TENSION,
        description="Id of an open point of the plan, or `tension`, the tension of the process itself.",
    )
    looking: bool = Field(default=True, description="False: it waits no longer.")
    visible: bool = Field(default=False, description="The people of the scene may read it, without your name.")
    days: int = Field(default=DAYS, ge=1, le=365, description="Days for which it waits.")
    per_week: int = Field(
        default=PER_WEEK, ge=1, le=20, description="The largest number of candidates that you are told of in a week."
    )
    tension: TensionBody | None = Field(
        default=None,
        description="The tension in your own words. Needed if the residual contains words of a person who does not let them leave the room.",
    )


class StandingView(Value):
    """A standing tension of yours. `tension`: as others may read it; `process_id`: in which it stayed open; `child`: what took it up."""

    id: str
    process_id: str
    residual: str
    scene: str
    visible: bool
    per_week: int
    until: datetime
    child: str | None
    found: int = Field(description="How many candidates you were told of.")
    tension: Tension | None


class AnswerableView(Value):
    """A standing tension that you might answer. Whose it is, is not told. `sentence`: your own, near `part` of the tension."""

    id: str
    scene: str
    tension: Tension
    part: str
    sentence: str


class StandingList(Value):
    own: tuple[StandingView, ...]
    answerable: tuple[AnswerableView, ...]


# ---- what waits


async def look(context: AppContext, *, now: datetime | None = None) -> dict[str, int]:
    """Bring everything up to date: what waits, who is new, whom to ask. Repeating it changes nothing. Returns counts."""
    now = now or datetime.now(UTC)
    repositories = context.repositories
    counts = {"standing": 0, "people": 0, "asked": 0}

    async def stand(process_id: str) -> None:
        left = await _what_stays(repositories, await repositories.processes.get(process_id), now)
        await repositories.standing.stand(process_id, left)
        counts["standing"] += len(left)

    await try_each(await repositories.standing.not_looked_through(), stand, what="what stays of a process")
    await repositories.standing.close_those_over(now)

    async def hold(scene: str) -> None:
        people, asked = await _hold(context, scene, now)
        counts["people"], counts["asked"] = counts["people"] + people, counts["asked"] + asked

    if context.people_search is not None:
        await try_each(await repositories.standing.scenes(), hold, what="a scene held against its standing tensions")
    counts["asked"] += await repositories.standing.ask(now)
    return counts


async def _what_stays(repositories: Repositories, row: ProcessRow, now: datetime) -> list[StandingTension]:
    """What of a process waits without being told to: what nobody took up or refused, or what too few were found for."""
    settings = ProcessSettings.model_validate(row.settings)
    if row.scene_id is None or settings.residuals is Residuals.OFF or row.outcome in (Phase.CANCELLED, Phase.FAILED):
        return []
    room = MOST_STANDING - sum(one.closed_at is None for one in await repositories.standing.of_demander(row.demander))
    residuals: list[Residual | None] = []
    if row.phase == Phase.COMPLETED:
        refused = await repositories.messages.refused_residuals(row.id)
        residuals += [one for one in await left_open(repositories, row) if one.id not in refused]
    elif row.phase in (Phase.SELECTING, Phase.EXPIRED):
        residuals.append(None)
    found = [await _standing(repositories, row, one, now) for one in residuals]
    return list({one.id: one for one in found if one is not None}.values())[: max(0, room)]


async def _standing(
    repositories: Repositories,
    row: ProcessRow,
    residual: Residual | None,
    now: datetime,
    *,
    given: KeepLookingBody | None = None,
) -> StandingTension | None:
    """A residual as it waits; in its place what the process itself asked, where it holds items of people who do not allow that.

    What others said in a closed room does not leave it. None where the tension was never confirmed.
    """
    given = given or KeepLookingBody()
    own, people = OWN_TENSION, tuple[str, ...]()
    if residual is not None:
        people = await _owners(repositories, row, residual)
        if await _all_allow(repositories, row.scene_id or "", people):
            own = residual.id
    id = shared_text_id(row.tension_text_id) if row.tension_text_id else ""
    if own != OWN_TENSION and residual is not None:
        words = residual.tension.model_dump_json()
        id = text_id("standing", row.id, own, hashlib.sha256(words.encode()).hexdigest())
        await repositories.shared.hide_people(row, [row.demander])
        await repositories.shared.put_marked(row, [NewText(id, f"process:{row.id}", "shared/standing", words)])
    if not id or id not in await repositories.texts.get_many([], known=[id]):
        return None
    return StandingTension(
        id=standing_id(row.id, own),
        scene_id=row.scene_id or "",
        process_id=row.id,
        residual=own,
        demander=row.demander,
        text_id=id,
        people=list(people) if own != OWN_TENSION else [],
        visible=given.visible,
        per_week=given.per_week,
        until=now + timedelta(days=given.days),
        created_at=now,
    )


async def _owners(repositories: Repositories, row: ProcessRow, residual: Residual) -> tuple[str, ...]:
    """Whose items a residual rests on. Where a source is no item, that may be everybody in the room."""
    seats = {seat.alias: seat.person for seat in await repositories.seats.seats(row.id) if seat.alias != DEMANDER}
    cited = [speaker_of(source) for source in residual.sources if not source.startswith("T/")]
    if not residual.sources or "" in cited:
        return tuple(sorted(seats.values()))
    return tuple(sorted({seats[alias] for alias in cited if alias in seats}))


async def _all_allow(repositories: Repositories, scene: str, people: Sequence[str]) -> bool:
    """Whether all of these let their proxy speak in this scene: what was said for them may then be read in it."""
    known = await repositories.consents.standing(people, scene) if people else {}
    return all(person in known and known[person].consent is Consent.ALLOW for person in people)


async def _readable(
    repositories: Repositories, scene: str, now: datetime
) -> dict[str, tuple[StandingTension, Tension]]:
    """The standing tensions of a scene whose words may be read, by id."""
    rows = await repositories.standing.waiting(scene, now)
    known = await repositories.consents.standing(sorted({person for row in rows for person in row.people}), scene)
    allow = {person for person, consent in known.items() if consent.consent is Consent.ALLOW}
    rows = [row for row in rows if allow.issuperset(row.people)]
    texts = await repositories.texts.get_many([], known=[row.text_id for row in rows])
    return {row.id: (row, _shown(texts[row.text_id])) for row in rows if texts.get(row.text_id)}


def _shown(words: str) -> Tension:
    """A stored tension without where it came from: the id of the process tells that two belong together."""
    return Tension.model_validate_json(words).model_copy(update={"lineage": None})


# ---- who comes


async def _hold(context: AppContext, scene: str, now: datetime) -> tuple[int, int]:
    """Hold everybody who is new in a scene against its standing tensions; returns how many people, and how many asks."""
    repositories, search = context.repositories, context.people_search
    assert search is not None
    people = await repositories.standing.newcomers(scene)
    tensions = await _readable(repositories, scene, now)
    if tensions:
        await search.take_in(scene)
    shown = {id: tension for id, (_, tension) in tensions.items()}
    near_to = await search.tensions_near(shown, scene=scene, people=people) if people else {}
    found: list[StandingMatch] = []
    for id, (row, tension) in tensions.items():
        new = {person: people[person] for person in near_to.get(id, ())}
        if not row.searched:
            new |= await repositories.standing.came_since(scene, row.process_id)
        if not new:
            continue
        excluded = sorted({row.demander, *await repositories.lineage.asked_in(row.process_id)})
        near = await search.answered_by(tension, scene=scene, people=new, excluded=excluded)
        found += [
            StandingMatch(
                standing_id=row.id,
                profile_id=one.profile_id,
                version=new[one.profile_id],
                perspective=one.perspective,
                score=one.score,
                reasons=list(one.reasons),
            )
            for one in near
        ]
    nearest = {one.profile_id: one for one in sorted(found, key=lambda one: one.score)}  # of each person their best
    found = list(nearest.values())
    known = await repositories.consents.standing(list(nearest), scene)
    found = [one for one in found if one.profile_id in known and known[one.profile_id].consent is not Consent.NEVER]
    asked = await repositories.standing.settle(scene, found, now, people=people, tensions=list(tensions))
    return len(people), asked


async def read_standing(context: AppContext, caller: Caller) -> StandingList:
    """The caller's own standing tensions, and those of their scene that they might answer, by their own profile alone."""
    permit(caller, Action.READ_STANDING)
    repositories, now = context.repositories, datetime.now(UTC)
    rows = await repositories.standing.of_demander(caller.person)
    own = [await _view(repositories, row) for row in rows]
    return StandingList(own=tuple(own), answerable=tuple(await _answerable(context, caller, now)))


async def _answerable(context: AppContext, caller: Caller, now: datetime) -> list[AnswerableView]:
    repositories, search = context.repositories, context.people_search
    profile = (await repositories.profiles.get_many([caller.person])).get(caller.person)
    if profile is None or search is None:
        return []
    there = await _readable(repositories, profile.scene_id, now)
    shown = {id: tension for id, (row, tension) in there.items() if row.visible and row.demander != caller.person}
    version = await repositories.profiles.version(profile.id)
    text = await repositories.texts.get(version.text_id)
    found = await READINGS.run(lambda: search.own_words(text, shown)[:MOST_SHOWN], person=caller.person)
    views = []
    for one in found:
        begin, stop = whole_sentences(text, one.start, one.end)
        sentence = nearest_sentence(text[begin:stop], shown[one.tension].targets()[one.part])
        views.append(
            AnswerableView(
                id=one.tension, scene=profile.scene_id, tension=shown[one.tension], part=one.part, sentence=sentence
            )
        )
    return views


async def step_forward(context: AppContext, caller: Caller, id: str) -> None:
    """Be a candidate for a visible standing tension of one's scene. Repeating it changes nothing, and nobody is told whether it did.

    Raises `NotFound` for one that is not visible to the caller, as for one that does not exist.
    """
    permit(caller, Action.STEP_FORWARD)
    repositories, now = context.repositories, datetime.now(UTC)
    profile = (await repositories.profiles.get_many([caller.person])).get(caller.person)
    there = await _readable(repositories, profile.scene_id, now) if profile is not None else {}
    row = there[id][0] if id in there else None
    if profile is None or row is None or not row.visible or row.demander == caller.person:
        raise NotFound("no_such_standing_tension", f"no standing tension {id!r} waits in your scene")
    match = StandingMatch(standing_id=id, profile_id=profile.id, version=profile.current_version)
    async with writing(repositories, caller):
        await repositories.standing.settle(profile.scene_id, [match], now, people={}, tensions=[])


# ---- what its demander decides


async def keep_looking(context: AppContext, caller: Caller, process_id: str, body: KeepLookingBody) -> StandingView:
    """Have a tension of one's process wait, as the body says, or no longer.

    Raises `BadInput`, `QuotaReached`, `NotFound`; `NotAllowed` where an operator brings words.
    """
    access = await authorize_in_process(context.repositories, caller, process_id, Action.KEEP_LOOKING)
    repositories, row, now = context.repositories, access.process, datetime.now(UTC)
    if not body.looking:
        standing = await repositories.standing.get(standing_id(process_id, body.residual))
        if standing is None:
            raise NotFound("no_such_standing_tension", f"{body.residual!r} of {process_id} does not wait")
        async with writing(repositories, caller, row.demander):
            await repositories.standing.close(standing.id, now)
        return await _view(repositories, standing)
    if row.scene_id is None:
        raise BadInput("no_scene", "this process has no scene in which somebody could come: start one in a scene")
    if row.ended_at is None and row.phase != Phase.SELECTING:
        raise BadInput("still_running", "the process still runs: its open points can wait after it has ended")
    if body.tension is not None and caller.operator:
        raise NotAllowed("the words of a standing tension are its demander's: an operator keeps it as it is")
    kept = await _kept(context, access, body, now)
    async with writing(repositories, caller, row.demander):
        others = [one for one in await repositories.standing.of_demander(row.demander) if one.id != kept.id]
        if sum(one.closed_at is None for one in others) >= MOST_STANDING:
            raise QuotaReached("too_many_standing", f"you have {MOST_STANDING} standing tensions: close one first")
        await repositories.standing.keep(kept)
    return await _view(repositories, kept)


async def _kept(context: AppContext, access: ProcessAccess, body: KeepLookingBody, now: datetime) -> StandingTension:
    repositories, row = context.repositories, access.process
    residual = None
    if body.residual != OWN_TENSION:
        try:
            residual = await residual_of(repositories, row.id, body.residual)
        except NotAnnounced as refused:
            raise BadInput(f"no_child_{refused.reason}", str(refused), field="residual") from None
    waits = await repositories.standing.get(standing_id(row.id, body.residual))
    if body.tension is None and waits is not None and waits.closed_at is None and not waits.people:
        until = now + timedelta(days=body.days)  # in the words in which it waits: they may be the demander's own
        return waits.model_copy(update={"visible": body.visible, "per_week": body.per_week, "until": until})
    if body.tension is None:
        kept = await _standing(repositories, row, residual, now, given=body)
        if kept is None:
            raise BadInput(
                "not_confirmed", "the tension was never confirmed: write it in your own words", field="tension"
            )
        if kept.residual != body.residual:
            raise BadInput(
                "said_in_the_room",
                "it contains words of a person who does not let them leave the room: write it in your own words",
                field="tension",
            )
        return kept
    tension = body.tension.tension()
    await check_names(tension.names, found=(), texts=tension.lines(), tension=tension)
    words = tension.model_dump_json()
    original = text_id("standing", row.id, body.residual, "own", hashlib.sha256(words.encode()).hexdigest())
    new = NewText(original, row.demander, "tension", words)
    async with writing(repositories, access.caller, row.demander):
        await check_storage(context, access.caller, row.demander, chars=len(words))
        await repositories.shared.hide_people(row, [row.demander])
        await repositories.shared.put(row, [new], aliases={original: DEMANDER}, names={DEMANDER: tension.names})
    return StandingTension(
        id=standing_id(row.id, body.residual),
        scene_id=row.scene_id or "",
        process_id=row.id,
        residual=body.residual,
        demander=row.demander,
        text_id=shared_text_id(original),
        visible=body.visible,
        per_week=body.per_week,
        until=now + timedelta(days=body.days),
        created_at=now,
    )


async def _view(repositories: Repositories, row: StandingTension) -> StandingView:
    words = (await repositories.texts.get_many([], known=[row.text_id])).get(row.text_id)
    return StandingView(
        **row.model_dump(include=set(StandingView.model_fields) & set(StandingTension.model_fields)),
        scene=row.scene_id,
        found=sum(one.asked_at is not None for one in await repositories.standing.matches(row.id)),
        tension=Tension.model_validate_json(words) if words else None,
    )


async def answer_candidate(
    context: AppContext, access: ProcessAccess, ask: str, *, begin: bool
) -> str | SelectParticipantsBody:
    """Begin a process with a candidate and those who were found before, or not with this one.

    Returns the id of the process; empty for a no; or, where the process itself still waits for people, the message that selects them.
    A repetition begins the same process. Raises `NotFound`, `BadInput`.
    """
    repositories, row, now = context.repositories, access.process, datetime.now(UTC)
    found = await repositories.standing.match(row.id, ask)
    if found is None or found[1].asked_at is None:
        raise NotFound("not_waiting", "this question is not open for you, or no longer")
    standing, match = found
    if match.begun is not None or standing.closed_at is not None:
        if begin and match.begun and standing.child:
            return standing.child
        raise NotFound("not_waiting", "this question is not open for you, or no longer")
    if not begin:
        async with writing(repositories, access.caller, row.demander):
            await repositories.standing.answer(match, now, begun=False)
        return ""
    people = await _found_so_far(repositories, row, standing, match)
    settings = ProcessSettings.model_validate(row.settings)
    named = people[: settings.max_others] if len(people) >= settings.quorum else []
    if row.phase == Phase.SELECTING:
        if not named:
            raise BadInput(
                "too_few_yet",
                f"a process needs {settings.quorum} people: this stays open until another person comes",
            )
        return SelectParticipantsBody(kind="select_participants", participants=tuple(named))
    child = await _begin(context, access, standing, named)
    await _begun(context, standing, match, child)
    return child


async def _begun(context: AppContext, standing: StandingTension, match: StandingMatch, child: str) -> None:
    """Note that a process was begun with a candidate: the standing tension waits no longer."""
    now = datetime.now(UTC)
    async with writing(context.repositories, Caller(), standing.demander):
        await context.repositories.standing.answer(match, now, begun=True)
        await context.repositories.standing.close(standing.id, now, child=child)


async def _found_so_far(
    repositories: Repositories, row: ProcessRow, standing: StandingTension, match: StandingMatch
) -> list[str]:
    """The candidate; those of whom the demander was told before and did not refuse; who was in the room, or was found for it."""
    told = [one for one in await repositories.standing.matches(standing.id) if one.asked_at and one.begun is not False]
    if standing.residual == OWN_TENSION:
        before = [one.profile_id for one in await repositories.seats.candidates(row.id, round_number=0)]
    else:
        again = ProcessSettings.model_validate(row.settings).propose_parents_participants
        left = hole_of(standing.residual)
        room = await repositories.seats.seats(row.id) if again else []
        before = [seat.person for seat in room if seat.active and seat.alias not in (DEMANDER, left and left[1])]
    found = list(dict.fromkeys([match.profile_id, *(one.profile_id for one in told), *before]))
    there = await repositories.profiles.known(found)
    return [person for person in found if person in there]


async def _begin(context: AppContext, access: ProcessAccess, standing: StandingTension, named: Sequence[str]) -> str:
    """The child for a residual; a process of its own for what the process itself asked, and where the tree has no room for a child."""
    repositories, row = context.repositories, access.process
    if standing.residual != OWN_TENSION:
        people = tuple(Choice(profile_id=person) for person in named)
        try:
            return await start_child(context, row.id, standing.residual, caller=access.caller, participants=people)
        except BadInput as refused:
            if refused.code not in ("no_child_depth", "no_child_budget"):
                raise
    own = row.tension_text_id is not None and standing.text_id == shared_text_id(row.tension_text_id)
    words = await repositories.texts.get(row.tension_text_id if own and row.tension_text_id else standing.text_id)
    tension = Tension.model_validate_json(words)
    intent = await repositories.texts.get(row.intent_text_id) if row.intent_text_id else tension.transition
    there = "\n".join((intent, *tension.lines()))
    body = StartProcessBody(
        intent=intent,
        scene=standing.scene_id,
        participants=tuple(named),
        tension=TensionBody(
            **tension.model_dump(include={"transition", "initial_state", "barriers", "exchange"}),
            names=tuple(name for name in tension.names if name.name in there),
        ),
        demander=row.demander if access.caller.operator else None,
    )
    return await start_process(context, access.caller, body, key=f"standing/{standing.id}")
