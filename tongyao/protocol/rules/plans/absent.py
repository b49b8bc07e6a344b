"""What nobody in the room has, each thing once over all rounds (docs/protocol.md §7.7). Pure."""

from __future__ import annotations

from collections.abc import Iterable

from tongyao.protocol.guards.support import terms
from tongyao.protocol.model.observation import Gap, GapKind, Observation, round_of
from tongyao.protocol.model.plan import Absence
from tongyao.protocol.model.projection import Item

ALIKE = 0.5
"""Two gaps on one target with at least this overlap of terms (of the shorter one's) are the same gap, said again."""


def absences(observations: Iterable[Observation], items: Iterable[Item] = ()) -> tuple[Absence, ...]:
    """Every gap that was last called `absent`, repeats merged, in the order in which they were first stated.

    A gap is no longer absent when a stated item (no inference) answers it by id after it was last called so. What the
    catalyst calls absent once more, knowing the answers, is absent.
    """
    stated = [item for item in items if not item.inferred]
    groups: list[list[Gap]] = []
    for seen in observations:
        for gap in seen.gaps:
            same = next((group for group in groups if _same(group[-1], gap)), None)
            if same is None:
                groups.append([gap])
            else:
                same.append(gap)
    return tuple(
        Absence(gaps=tuple(gap.id for gap in group), target=group[-1].target, text=group[-1].text)
        for group in groups
        if group[-1].kind is GapKind.ABSENT and not any(_answers(item, group) for item in stated)
    )


def _answers(item: Item, group: list[Gap]) -> bool:
    """Whether `item` was said after the gap was last stated, and answers it."""
    return round_of(item.id) > round_of(group[-1].id) and any(gap.id in item.answers for gap in group)


def _same(one: Gap, other: Gap) -> bool:
    if one.target != other.target:
        return False
    a, b = terms(one.text), terms(other.text)
    return one.text.strip() == other.text.strip() or (bool(a and b) and len(a & b) / min(len(a), len(b)) >= ALIKE)
