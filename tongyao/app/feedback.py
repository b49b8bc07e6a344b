"""Feedback of a party on the result of a plan, also long after the end of the process (docs/plans.md)."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from tongyao.app.action_permissions import Action, Role
from tongyao.app.authorization import Caller, authorize_in_process
from tongyao.app.context import AppContext
from tongyao.app.errors import BadInput, NotAllowed, NotFound
from tongyao.app.people.profile_versions import register_profile
from tongyao.app.quotas import check_storage
from tongyao.app.writing import writing
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.value import Body, Value
from tongyao.records.people.profiles import ProfileUnknown
from tongyao.records.privacy.texts import NewText
from tongyao.records.process.plans import FeedbackRow, NothingToJudge, Result

MOST_CHARS: Final = 100_000


class FeedbackGiven(Body):
    """`revision`: of the plan, by default the latest. `to_profile`: also add `text` to the author's profile."""

    usefulness: int | None = Field(default=None, ge=1, le=5)
    outcome: Result | None = None
    text: str = Field(default="", max_length=MOST_CHARS)
    revision: int | None = None
    to_profile: bool = False


class FeedbackBody(FeedbackGiven):
    """Feedback with the alias of its author."""

    alias: str = DEMANDER


class FeedbackReceipt(Value):
    """The stored feedback. `profile`: id and version of the profile to which the text was added."""

    revision: int
    profile: tuple[str, int] | None = None


async def read_feedback(context: AppContext, process_id: str, alias: str) -> tuple[FeedbackRow, str] | None:
    """Return the last feedback of a party with its text; None if the party gave none."""
    rows = [
        feedback for feedback in await context.repositories.feedback.of_process(process_id) if feedback.alias == alias
    ]
    if not rows:
        return None
    return rows[-1], await context.repositories.feedback.words(process_id, alias, rows[-1].revision)


async def give_feedback(context: AppContext, caller: Caller, process_id: str, body: FeedbackBody) -> FeedbackReceipt:
    """Store feedback on a plan, in place of earlier feedback of the same party on it.

    Raises `BadInput`, `QuotaReached`, and `NotFound` without a plan.
    """
    if body.usefulness is None and body.outcome is None and not body.text.strip():
        raise BadInput("feedback_empty", "give at least one of usefulness, outcome or text")
    if body.to_profile and not body.text.strip():
        raise BadInput("text_missing", "only your own words are added to a profile: give them as text", field="text")
    plan = await context.repositories.plans.latest(process_id)
    if plan is None:
        raise NotFound("no_plan_yet", f"{process_id} has no plan (yet)")
    row = FeedbackRow(
        alias=body.alias,
        usefulness=body.usefulness,
        outcome=body.outcome,
        revision=body.revision or plan.revision,
    )
    try:
        async with writing(context.repositories, caller):
            await check_storage(context, caller, caller.person, chars=len(body.text))
            stored = await context.repositories.feedback.put(process_id, row, words=body.text)
            if stored.text_id is not None:
                await _share(context, process_id, stored, body.text)
    except NothingToJudge as error:
        raise BadInput("nothing_to_judge", str(error)) from None
    profile = await _add_to_profile(context, caller, process_id, stored) if body.to_profile else None
    return FeedbackReceipt(revision=stored.revision, profile=profile)


async def _share(context: AppContext, process_id: str, row: FeedbackRow, words: str) -> None:
    """Store the copy of the feedback for others. Only in it, words that look like names are replaced by `[…]`."""
    new = NewText(row.text_id or "", row.person, "feedback", words)
    process = await context.repositories.processes.get(process_id)
    await context.repositories.shared.put(process, [new], aliases={new.id: row.alias})


async def give_own_feedback(
    context: AppContext, caller: Caller, process_id: str, body: FeedbackGiven
) -> FeedbackReceipt:
    """Like `give_feedback`, by a party for themselves. A token for one process cannot add text to a profile."""
    access = await authorize_in_process(context.repositories, caller, process_id, Action.GIVE_FEEDBACK)
    if body.to_profile and caller.role is not Role.PERSON:
        raise NotAllowed("this token is for one process: use a token of the person to add words to their profile")
    return await give_feedback(context, caller, process_id, FeedbackBody(alias=access.alias, **body.model_dump()))


async def _add_to_profile(context: AppContext, caller: Caller, process_id: str, row: FeedbackRow) -> tuple[str, int]:
    """Add the author's text to their profile, unless the profile contains it. Returns profile id and (new) version."""
    repositories = context.repositories
    seats = {seat.alias: seat.person for seat in await repositories.seats.seats(process_id)}
    person = seats.get(row.alias) or (await repositories.processes.get(process_id)).demander
    try:
        profile = await repositories.profiles.get(person)
        version = await repositories.profiles.version(person)
    except ProfileUnknown:
        raise BadInput("no_profile", f"{row.alias} has no profile to add it to; the feedback itself is kept") from None
    before = await repositories.texts.get(version.text_id)
    words = (await repositories.feedback.words(process_id, row.alias, row.revision)).strip()
    if words in before:
        return person, version.version
    day = f"{row.at:%Y-%m-%d}" if row.at else ""
    text = f"{before.rstrip()}\n\n## {day}\n\n{words}\n"
    new = await register_profile(
        context,
        person,
        scene=profile.scene_id,
        name=profile.display_name,
        contact=profile.contact,
        text=text,
        caller=caller,
    )
    return person, new.version
