"""What nobody in the room has, each thing once over all rounds (docs/protocol.md §7.7). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tongyao.protocol.guards.support import terms
from tongyao.protocol.model.observation import Gap, GapKind, Observation, round_of
from tongyao.protocol.model.plan import Absence
from tongyao.protocol.model.projection import Item

ALIKE = 0.5
"""Two gaps on one target with at least this overlap of terms (of the shorter one's) are the same gap, said again."""


def absences(observations: Iterable[Observation], items: Iterable[Item] = ()) -> tuple[Absence, ...]:
    """Every gap that was last called `absent`, repeats merged, in the order in which they were first stated.

    A gap that a stated item (no inference) answers by id is no longer absent, unless it was called absent again after the answer.
    """
    answers = [(round_of(item.id), set(item.answers)) for item in items if not item.inferred]
    groups: list[list[Gap]] = []
    for seen in observations:
        for gap in seen.gaps:
            same = next((group for group in groups if same_gap(group[-1].target, group[-1].text, gap)), None)
            if same is None:
                groups.append([gap])
            else:
                same.append(gap)
    return tuple(
        Absence(gaps=tuple(gap.id for gap in group), target=group[-1].target, text=group[-1].text)
        for group in groups
        if group[-1].kind is GapKind.ABSENT and not _is_answered(group, answers)
    )


def _is_answered(group: Sequence[Gap], answers: Iterable[tuple[int, set[str]]]) -> bool:
    """Whether an item said after the last of these gaps answers one of them. `answers`: the round of an item, what it answers."""
    ids, last = {gap.id for gap in group}, round_of(group[-1].id)
    return any(number > last and ids & named for number, named in answers)


def same_gap(target: str, text: str, other: Gap) -> bool:
    """Whether `other` says the same of the same part of the tension."""
    if target != other.target:
        return False
    a, b = terms(text), terms(other.text)
    return text.strip() == other.text.strip() or (bool(a and b) and len(a & b) / min(len(a), len(b)) >= ALIKE)
