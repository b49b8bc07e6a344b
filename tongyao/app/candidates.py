"""The people the field found for a tension, with its reasons, as whoever chooses among them reads it."""

from __future__ import annotations

from typing import Any, Final

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, authorize_in_process
from tongyao.app.context import AppContext
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.settings import ProcessSettings
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules import read_access
from tongyao.protocol.rules.consent import Consent
from tongyao.records.privacy.texts import TextErased
from tongyao.records.repositories import Repositories

MOST_CHARACTERS: Final = 200


class Because(Value):
    """`part` of the tension (T, B1, E …), in its words, is near what this side of the person says.

    `facet`: `offers`, `moves` or `needs`. `sentence`: theirs, where they let a proxy speak for them in the scene; else None.
    """

    part: str
    part_text: str
    facet: str
    sentence: str | None = None


class Candidate(Value):
    """One person that was found. `taken`: whether they would take part if the demander chose nobody (`auto_start`)."""

    profile_id: str
    taken: bool
    perspectives: tuple[str, ...]
    because: tuple[Because, ...]


async def candidates(context: AppContext, caller: Caller, process_id: str) -> list[Candidate]:
    """Each person once, those who would be taken first, in the order in which the field names them. Raises `NotFound`."""
    access = await authorize_in_process(context.repositories, caller, process_id, Action.READ_CANDIDATES)
    repositories, row = context.repositories, access.process
    found = await repositories.seats.candidates(process_id, round_number=0)
    order = await nearest_first(repositories, process_id)
    nearest = order[: ProcessSettings.model_validate(row.settings).max_others]
    known = await repositories.consents.standing(order, row.scene_id or "")
    record = await repositories.record(row)
    names = read_access.anonymizer(record)
    parts = record.tension.targets() if record.tension is not None else {}
    shown = []
    for person in order:
        rows = [one for one in found if one.profile_id == person]
        text = ""
        if person in known and known[person].consent is Consent.ALLOW:
            text = await _text_of(context, person)
        because = {
            (reason["part"], reason["facet"]): Because(
                part=reason["part"],
                part_text=parts.get(reason["part"], ""),
                facet=reason["facet"],
                sentence=names.text(_cut(text[reason["start"] : reason["end"]])) if text else None,
            )
            for one in rows
            for reason in one.reasons
        }
        shown.append(
            Candidate(
                profile_id=person,
                taken=person in nearest,
                perspectives=tuple(one.perspective for one in rows),
                because=tuple(because.values()),
            )
        )
    return shown


async def _text_of(context: AppContext, person: str) -> str:
    version = await context.repositories.profiles.version(person)
    try:
        return await context.repositories.texts.get(version.text_id)
    except TextErased:
        return ""


def _cut(sentence: str) -> str:
    whole = " ".join(sentence.split())
    return whole if len(whole) <= MOST_CHARACTERS else whole[: MOST_CHARACTERS - 1] + "…"


async def nearest_first(repositories: Repositories, process_id: str) -> list[str]:
    """The people that were found before the rounds, in the order in which they would be taken."""
    events = await repositories.events.of_kind(process_id, EventKind.FIELD_ACTIVATED)
    found: Any = events[0].data.get("candidates", ()) if events else ()
    return list(dict.fromkeys(str(one[0]) for one in found))
