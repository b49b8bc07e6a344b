"""The people whom the field found, with the reasons, and who of them is preselected. Every door shows this view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, authorize_in_process
from tongyao.app.choosing.candidate_sentences import Reason, matching_sentences
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.process_settings import ProcessSettings
from tongyao.protocol.model.value import Value
from tongyao.records.process.process_rows import ProcessRow
from tongyao.records.process.seats import CandidateRow
from tongyao.records.repositories import Repositories


class Because(Value):
    """A reason for a candidate: a part of the tension (T, B1, E …) or an open point matches a facet of the person.

    `part_text`: the words of `part`, empty if unknown. `facet`: `offers`, `moves` or `needs`. `sentence`: of the
    profile, if its owner allows it (`matching_sentences`).
    """

    perspective: str
    part: str
    part_text: str
    facet: str
    sentence: str | None = None


class FoundCandidate(Value):
    """A person whom the field found or proposes. Scores and spans are left out, because they reveal profile content.

    `taken`: whether the person is preselected. `asked_before`: whether the parent process asked them to take part.
    `perspectives`: empty for a person who stepped forward.
    """

    profile_id: str
    taken: bool = False
    asked_before: bool = False
    perspectives: tuple[str, ...]
    because: tuple[Because, ...]

    @property
    def quoted(self) -> bool:
        """Whether a sentence of the person is shown."""
        return any(reason.sentence for reason in self.because)


async def candidates(repositories: Repositories, caller: Caller, process_id: str) -> list[FoundCandidate]:
    """Return the people found before the rounds, with the sentences that they allow. Raises `NotFound`."""
    access = await authorize_in_process(repositories, caller, process_id, Action.READ_CANDIDATES)
    return await found_before_rounds(repositories, access.process, quoted_to=caller)


async def found_before_rounds(
    repositories: Repositories, row: ProcessRow, *, quoted_to: Caller | None = None
) -> list[FoundCandidate]:
    """Return each person once, the nearest first, and last those whom the parent process asked to take part.

    The first people are preselected (`taken`), as many as can take part, without those whom the parent asked.
    Sentences are included only for the caller `quoted_to`.
    """
    found = await repositories.seats.candidates(row.id, round_number=0)
    tension = (await repositories.record(row, own=(DEMANDER,))).demanders_tension
    parts = tension.targets() if tension is not None else {}
    sentences = await matching_sentences(repositories, quoted_to, row.id, found, parts) if quoted_to else {}
    people = {one.profile_id: one for one in found_people(found, parts, sentences)}
    before = await repositories.lineage.asked_in(row.parent_id) if row.parent_id else frozenset[str]()
    order = [person for person in await nearest_first(repositories, row.id) if person in people]
    new = [person for person in order if person not in before]
    taken = new[: ProcessSettings.model_validate(row.settings).max_others]
    return [
        people[person].model_copy(update={"taken": person in taken, "asked_before": person in before})
        for person in (*new, *(person for person in order if person in before))
    ]


def found_people(
    rows: Sequence[CandidateRow], parts: Mapping[str, str], sentences: Mapping[Reason, str] | None = None
) -> list[FoundCandidate]:
    """Return each person of the rows once, in the order of their first row. `parts`: the words of parts or points."""
    people = []
    for person in dict.fromkeys(row.profile_id for row in rows):
        mine = [row for row in rows if row.profile_id == person]
        because: dict[tuple[str, str, str], Because] = {}
        for row in mine:
            for reason in row.reasons:
                part, facet = str(reason["part"]), str(reason["facet"])
                span = (person, int(reason["start"]), int(reason["end"]), part)
                found = Because(
                    perspective=row.perspective,
                    part=part,
                    part_text=parts.get(part, ""),
                    facet=facet,
                    sentence=(sentences or {}).get(span),
                )
                because.setdefault((row.perspective, part, facet), found)
        sides = tuple(row.perspective for row in mine if row.perspective)
        people.append(FoundCandidate(profile_id=person, perspectives=sides, because=tuple(because.values())))
    return people


async def nearest_first(repositories: Repositories, process_id: str) -> list[str]:
    """Return the people who were found before the rounds, in the field's order, also those who were erased since."""
    events = await repositories.events.of_kind(process_id, EventKind.FIELD_ACTIVATED)
    found: Any = events[0].data.get("candidates", ()) if events else ()
    return list(dict.fromkeys(str(row[0]) for row in found))
