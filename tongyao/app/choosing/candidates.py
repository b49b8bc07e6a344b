"""The people the field found for a tension, with its reasons, as whoever chooses among them reads it."""

from __future__ import annotations

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, authorize_in_process
from tongyao.app.choosing.candidate_sentences import matching_sentences
from tongyao.app.choosing.nearest_first import nearest_first
from tongyao.app.reading import Reading
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.settings import ProcessSettings
from tongyao.protocol.model.value import Value


class Because(Value):
    """`part` of the tension (T, B1, E …), in its words, is near what this side of the person says.

    `facet`: `offers`, `moves` or `needs`. `sentence`: theirs, where they allow it to be read (`matching_sentences`); else None.
    """

    part: str
    part_text: str
    facet: str
    sentence: str | None = None


class FoundCandidate(Value):
    """One person that was found. `taken`: whether they would take part if the demander chose nobody (`auto_start`)."""

    profile_id: str
    taken: bool
    perspectives: tuple[str, ...]
    because: tuple[Because, ...]


async def candidates(context: Reading, caller: Caller, process_id: str) -> list[FoundCandidate]:
    """Each person once, those who would be taken first, in the order in which the field names them. Raises `NotFound`."""
    access = await authorize_in_process(context.repositories, caller, process_id, Action.READ_CANDIDATES)
    repositories, row = context.repositories, access.process
    found = await repositories.seats.candidates(process_id, round_number=0)
    order = await nearest_first(repositories, process_id)
    nearest = order[: ProcessSettings.model_validate(row.settings).max_others]
    tension = (await repositories.record(row, own=(DEMANDER,))).demanders_tension
    parts = tension.targets() if tension is not None else {}
    sentences = await matching_sentences(context, caller, process_id, found, parts)
    shown = []
    for person in order:
        rows = [candidate for candidate in found if candidate.profile_id == person]
        because = {
            (reason["part"], reason["facet"]): Because(
                part=reason["part"],
                part_text=parts.get(reason["part"], ""),
                facet=reason["facet"],
                sentence=sentences.get((person, int(reason["start"]), int(reason["end"]), str(reason["part"]))),
            )
            for row in rows
            for reason in row.reasons
        }
        shown.append(
            FoundCandidate(
                profile_id=person,
                taken=person in nearest,
                perspectives=tuple(row.perspective for row in rows),
                because=tuple(because.values()),
            )
        )
    return shown
