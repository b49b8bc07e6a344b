"""Standing tensions: unresolved tensions that wait in their scene for a suitable person (docs/protocol.md §7.8).

The demander decides which tensions wait and with which words, and answers candidates with an `approve_residual` that
names the ask. People of the scene may read visible standing tensions that match their profile, and step forward.
`standing_look` finds candidates.
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
from tongyao.app.context import AppContext
from tongyao.app.errors import BadInput, NotAllowed, NotFound, QuotaReached
from tongyao.app.messaging.body_conversion import tension_of
from tongyao.app.messaging.given_names import check_names
from tongyao.app.quotas import check_storage
from tongyao.app.start import StartProcessBody, start_child, start_process
from tongyao.app.writing import writing
from tongyao.heavy_work import READINGS
from tongyao.protocol.model.ids import OWN_TENSION, Id, hole_of, speaker_of
from tongyao.protocol.model.messages import SelectParticipantsBody, TensionBody
from tongyao.protocol.model.plan import Residual
from tongyao.protocol.model.process import DEMANDER, Choice, Phase
from tongyao.protocol.model.process_settings import ProcessSettings
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.model.value import Body, Value
from tongyao.protocol.rules.consent import Consent
from tongyao.records.people.profiles import Profile
from tongyao.records.privacy.shared_texts import shared_text_id
from tongyao.records.privacy.texts import NewText, text_id
from tongyao.records.process.announcements import NotAnnounced, residual_of
from tongyao.records.process.process_rows import ProcessRow
from tongyao.records.process.standing import DAYS, MOST_STANDING, PER_WEEK, StandingMatch, StandingTension, standing_id
from tongyao.records.repositories import Repositories

MOST_SHOWN: Final = 20
"""Most standing tensions that a person is shown as matches."""


class KeepLookingBody(Body):
    """Whether a tension waits in the scene: a tension of an ended process, or one for which too few people were found.

    Omitted fields keep their values.
    """

    residual: Id = Field(
        default=OWN_TENSION,
        description="Id of an open point of the plan, or `tension`, the tension of the process itself.",
    )
    looking: bool = Field(default=True, description="False: it waits no longer.")
    visible: bool | None = Field(
        default=None, description="The people of the scene may read it, without your name. At first they may not."
    )
    days: int | None = Field(
        default=None, ge=1, le=365, description=f"How long it waits from now. At first {DAYS} days."
    )
    per_week: int | None = Field(
        default=None, ge=1, le=20, description=f"How many candidates you are told of in a week. At first {PER_WEEK}."
    )
    tension: TensionBody | None = Field(
        default=None,
        description="The tension in your own words. Needed if the residual contains words of a person who does not let them leave the room.",
    )


class StandingView(Value):
    """Your standing tension. `tension`: as others read it. `process_id`: its origin. `child`: the process with it."""

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
    """A standing tension that matches your profile. `sentence`: your sentence nearest to `part` of the tension."""

    id: str
    scene: str
    tension: Tension
    part: str
    sentence: str


class StandingList(Value):
    own: tuple[StandingView, ...]
    answerable: tuple[AnswerableView, ...]


# ---- the text of a standing tension


async def in_words_that_may_leave(
    repositories: Repositories, row: ProcessRow, residual: Residual | None, now: datetime
) -> StandingTension | None:
    """Return a residual as a standing tension, or if the owner of an item forbids this, the process's own tension.

    So no words leave the room without consent. `residual` None means the process's own tension. Returns None if that
    tension was never confirmed.
    """
    people = await _owners(repositories, row, residual) if residual is not None else []
    if residual is None or not await _all_allow(repositories, row.scene_id or "", people):
        id = shared_text_id(row.tension_text_id) if row.tension_text_id else ""
        standing = _standing(row, OWN_TENSION, id, now)
    else:
        words = residual.tension.model_dump_json()
        id = text_id("standing", row.id, residual.id, hashlib.sha256(words.encode()).hexdigest())
        await repositories.shared.hide_people(row, [row.demander])
        await repositories.shared.put_marked(row, [NewText(id, f"process:{row.id}", "shared/standing", words)])
        standing = _standing(row, residual.id, id, now, people)
    return standing if id and id in await repositories.texts.get_many([], known=[id]) else None


def _standing(row: ProcessRow, residual: str, text: str, now: datetime, people: Sequence[str] = ()) -> StandingTension:
    return StandingTension(
        id=standing_id(row.id, residual),
        scene_id=row.scene_id or "",
        process_id=row.id,
        residual=residual,
        demander=row.demander,
        text_id=text,
        people=list(people),
        until=now + timedelta(days=DAYS),
        created_at=now,
    )


async def _owners(repositories: Repositories, row: ProcessRow, residual: Residual) -> list[str]:
    """Return the people on whose items a residual rests. If a source is no item, these are all participants."""
    seats = {seat.alias: seat.person for seat in await repositories.seats.seats(row.id) if seat.alias != DEMANDER}
    cited = {speaker_of(source) for source in residual.sources if not source.startswith("T/")}
    everybody = not residual.sources or "" in cited
    return sorted({person for alias, person in seats.items() if everybody or alias in cited})


async def _all_allow(repositories: Repositories, scene: str, people: Sequence[str]) -> bool:
    """Whether all these people allow their proxy in this scene, so that the scene may read words said for them."""
    known = await repositories.consents.standing(people, scene) if people else {}
    return all(person in known and known[person].consent is Consent.ALLOW for person in people)


async def waiting_in(repositories: Repositories, scene: str, now: datetime) -> list[StandingTension]:
    """Return the standing tensions of a scene that may be read in it, oldest first."""
    rows = await repositories.standing.waiting(scene, now)
    known = await repositories.consents.standing(sorted({person for row in rows for person in row.people}), scene)
    allow = {person for person, consent in known.items() if consent.consent is Consent.ALLOW}
    return [row for row in rows if allow.issuperset(row.people)]


async def words_of(repositories: Repositories, rows: Sequence[StandingTension]) -> dict[str, Tension]:
    """Return the tensions by id, without lineage, because a process id would show that two belong together."""
    texts = await repositories.texts.get_many([], known=[row.text_id for row in rows])
    return {
        row.id: Tension.model_validate_json(words).model_copy(update={"lineage": None})
        for row in rows
        if (words := texts.get(row.text_id))
    }


# ---- reading standing tensions


async def read_standing(context: AppContext, caller: Caller) -> StandingList:
    """Return the caller's own standing tensions, and others of their scene that match their profile alone."""
    permit(caller, Action.READ_STANDING)
    repositories, search = context.repositories, context.people_search
    own = [await _view(repositories, row) for row in await repositories.standing.of_demander(caller.person)]
    profile, there = await _visible_to(repositories, caller.person)
    if profile is None or search is None:
        return StandingList(own=tuple(own), answerable=())
    shown = await words_of(repositories, there)
    text = await repositories.texts.get((await repositories.profiles.version(profile.id)).text_id)
    answerable = []
    for one in await READINGS.run(lambda: search.own_words(text, shown)[:MOST_SHOWN], person=caller.person):
        begin, stop = whole_sentences(text, one.start, one.end)
        tension = shown[one.tension]
        sentence = nearest_sentence(text[begin:stop], tension.targets()[one.part])
        answerable.append(
            AnswerableView(id=one.tension, scene=profile.scene_id, tension=tension, part=one.part, sentence=sentence)
        )
    return StandingList(own=tuple(own), answerable=tuple(answerable))


async def _visible_to(repositories: Repositories, person: str) -> tuple[Profile | None, list[StandingTension]]:
    """Return a person's profile, and the standing tensions of others that they may read; none without a profile."""
    profile = (await repositories.profiles.get_many([person])).get(person)
    rows = [] if profile is None else await waiting_in(repositories, profile.scene_id, datetime.now(UTC))
    return profile, [row for row in rows if row.visible and row.demander != person]


async def step_forward(context: AppContext, caller: Caller, id: str) -> None:
    """Make the caller a candidate for a visible standing tension of their scene. Idempotent. The reply does not show
    whether the caller was a candidate already.

    Raises `NotFound` if the standing tension does not exist, and also if the caller may not see it.
    """
    permit(caller, Action.STEP_FORWARD)
    repositories = context.repositories
    profile, there = await _visible_to(repositories, caller.person)
    if profile is None or id not in await words_of(repositories, [row for row in there if row.id == id]):
        raise NotFound("no_such_standing_tension", f"no standing tension {id!r} waits in your scene")
    match = StandingMatch(standing_id=id, profile_id=profile.id, version=profile.current_version)
    async with writing(repositories, caller):
        await repositories.standing.settle(profile.scene_id, [match], datetime.now(UTC))


async def _view(repositories: Repositories, row: StandingTension) -> StandingView:
    words = (await repositories.texts.get_many([], known=[row.text_id])).get(row.text_id)
    return StandingView(
        **row.model_dump(include=set(StandingView.model_fields) & set(StandingTension.model_fields)),
        scene=row.scene_id,
        found=sum(one.asked_at is not None for one in await repositories.standing.matches(row.id)),
        tension=Tension.model_validate_json(words) if words else None,
    )


# ---- decisions of the demander


async def keep_looking(context: AppContext, caller: Caller, process_id: str, body: KeepLookingBody) -> StandingView:
    """Let a tension of the caller's process wait, or stop its waiting.

    Raises `BadInput`, `QuotaReached`, `NotFound`. Raises `NotAllowed` if an operator gives a text.
    """
    access = await authorize_in_process(context.repositories, caller, process_id, Action.KEEP_LOOKING)
    repositories, row, now = context.repositories, access.process, datetime.now(UTC)
    there = await repositories.standing.get(standing_id(process_id, body.residual))
    if not body.looking:
        if there is None:
            raise NotFound("no_such_standing_tension", f"{body.residual!r} of {process_id} does not wait")
        async with writing(repositories, caller, row.demander):
            await repositories.standing.close(there.id, now)
        return await _view(repositories, there)
    if row.scene_id is None:
        raise BadInput("no_scene", "this process has no scene in which somebody could come: start one in a scene")
    if row.ended_at is None and row.phase != Phase.SELECTING:
        raise BadInput("still_running", "the process still runs: what stays open in it can wait once it has ended")
    if body.tension is not None and caller.operator:
        raise NotAllowed("the words of a standing tension are its demander's: an operator keeps it as it is")
    waits = there if there is not None and there.closed_at is None else None
    text, people = await _words_to_wait_in(context, access, body, waits, now)
    kept = (waits or _standing(row, body.residual, text, now)).model_copy(
        update={
            "text_id": text,
            "people": people,
            **body.model_dump(include={"visible", "per_week"}, exclude_none=True),
        }
    )
    if body.days is not None:
        kept = kept.model_copy(update={"until": now + timedelta(days=body.days)})
    async with writing(repositories, caller, row.demander):
        if not await repositories.standing.keep(kept):
            raise QuotaReached("too_many_standing", f"you have {MOST_STANDING} standing tensions: close one first")
    return await _view(repositories, kept)


async def _words_to_wait_in(
    context: AppContext, access: ProcessAccess, body: KeepLookingBody, waits: StandingTension | None, now: datetime
) -> tuple[str, list[str]]:
    """Return the id of the text that waits, and the owners of items in the text. The text is the first that exists of:
    the demander's new words, the demander's current words, the residual."""
    repositories, row, residual = context.repositories, access.process, None
    if body.residual != OWN_TENSION:
        try:
            residual = await residual_of(repositories, row.id, body.residual)
        except NotAnnounced as refused:
            raise BadInput(f"no_child_{refused.reason}", str(refused), field="residual") from None
    if body.tension is not None:
        return await _own_words(context, access, body.residual, tension_of(body.tension)), []
    if waits is not None and not waits.people:
        return waits.text_id, []
    found = await in_words_that_may_leave(repositories, row, residual, now)
    if found is None:
        code, because = "not_confirmed", "the tension was never confirmed"
    elif found.residual != body.residual:
        code, because = "said_in_the_room", "it holds what somebody said who does not let it leave the room"
    else:
        return found.text_id, found.people
    raise BadInput(code, f"{because}: say it in your own words", field="tension")


async def _own_words(context: AppContext, access: ProcessAccess, residual: str, tension: Tension) -> str:
    """Store a tension in its demander's words. Returns the id of the text that others read."""
    repositories, row = context.repositories, access.process
    await check_names(tension.names, found=(), texts=tension.lines(), tension=tension)
    words = tension.model_dump_json()
    original = text_id("standing", row.id, residual, "own", hashlib.sha256(words.encode()).hexdigest())
    new = NewText(original, row.demander, "tension", words)
    async with writing(repositories, access.caller, row.demander):
        await check_storage(context, access.caller, row.demander, chars=len(words))
        await repositories.shared.hide_people(row, [row.demander])
        await repositories.shared.put(row, [new], aliases={original: DEMANDER}, names={DEMANDER: tension.names})
    return shared_text_id(original)


async def answer_candidate(
    context: AppContext, access: ProcessAccess, ask: str, *, begin: bool
) -> str | SelectParticipantsBody:
    """Start a process with a candidate and the earlier candidates. If `begin` is false, refuse this candidate.

    Returns the id of the process, or an empty string after a refusal. If the process itself is in `selecting`, returns
    the message that selects the people; the caller then calls `taken_up` after it was applied. A repeated call returns
    the same process. Raises `NotFound`, `BadInput`.
    """
    repositories, row = context.repositories, access.process
    found = await repositories.standing.match(row.id, ask)
    if begin and found is not None and found[1].begun and found[0].child:
        return found[0].child
    over = found is None or found[0].closed_at is not None or found[1].asked_at is None or found[1].begun is not None
    if found is None or over or (row.ended_at is None and row.phase != Phase.SELECTING):
        raise NotFound("not_waiting", "this does not wait for you, or no longer")
    standing, match = found
    if not begin:
        async with writing(repositories, access.caller, row.demander):
            await repositories.standing.answer(match, datetime.now(UTC), begun=False)
        return ""
    people = await _found_so_far(repositories, row, standing, match)
    settings = ProcessSettings.model_validate(row.settings)
    named = people[: settings.max_others] if len(people) >= settings.quorum else []
    if row.phase != Phase.SELECTING:
        child = await _begin(context, access, standing, named)
        await taken_up(repositories, row.id, ask, child)
        return child
    if not named:
        few = f"a process needs {settings.quorum} people: this stays open until somebody else comes too"
        raise BadInput("too_few_yet", few)
    return SelectParticipantsBody(kind="select_participants", participants=tuple(named))


async def taken_up(repositories: Repositories, process_id: str, ask: str, by: str) -> None:
    """Record which process was started with a candidate, and close the standing tension."""
    found, now = await repositories.standing.match(process_id, ask), datetime.now(UTC)
    if found is not None:
        async with writing(repositories, Caller(), found[0].demander):
            await repositories.standing.answer(found[1], now, begun=True)
            await repositories.standing.close(found[0].id, now, child=by)


async def _found_so_far(
    repositories: Repositories, row: ProcessRow, standing: StandingTension, match: StandingMatch
) -> list[str]:
    """Return the candidate, the earlier candidates that the demander did not refuse, and the people who were in the
    room or were found for it."""
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
    """Start the child of a residual. For the process's own tension, or if depth or budget permit no child, start a new
    process."""
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
