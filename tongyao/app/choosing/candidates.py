"""Candidates that the field found for a tension, with the reasons, as the demander reads them."""

from __future__ import annotations

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, authorize_in_process
from tongyao.app.choosing.candidate_sentences import matching_sentences
from tongyao.app.choosing.nearest_first import nearest_first
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.settings import ProcessSettings
from tongyao.protocol.model.value import Value
from tongyao.records.repositories import Repositories


class Because(Value):
    """The reason for a candidate: `part` of the tension (T, B1, E …), in words `part_text`, matches a facet.

    `facet`: `offers`, `moves` or `needs`. `sentence`: of the profile, if its owner allows it (`matching_sentences`).
    """

    part: str
    part_text: str
    facet: str
    sentence: str | None = None


class FoundCandidate(Value):
    """A person whom the field found. `taken`: whether `auto_start` would choose this person."""

    profile_id: str
    taken: bool
    perspectives: tuple[str, ...]
    because: tuple[Because, ...]


async def candidates(repositories: Repositories, caller: Caller, process_id: str) -> list[FoundCandidate]:
    """Return each person once, in the field's order; the choice of `auto_start` comes first. Raises `NotFound`."""
    access = await authorize_in_process(repositories, caller, process_id, Action.READ_CANDIDATES)
    row = access.process
    found = await repositories.seats.candidates(process_id, round_number=0)
    order = await nearest_first(repositories, process_id)
    nearest = order[: ProcessSettings.model_validate(row.settings).max_others]
    tension = (await repositories.record(row, own=(DEMANDER,))).demanders_tension
    parts = tension.targets() if tension is not None else {}
    sentences = await matching_sentences(repositories, caller, process_id, found, parts)
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
