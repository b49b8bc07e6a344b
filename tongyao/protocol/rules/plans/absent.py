"""What nobody in the room has, each thing once over all rounds (docs/protocol.md §7.7). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tongyao.protocol.model.observation import Gap, GapKind, Observation, round_of
from tongyao.protocol.model.plan import Absence
from tongyao.protocol.model.projection import Item


def absences(observations: Iterable[Observation], items: Iterable[Item] = ()) -> tuple[Absence, ...]:
    """Every gap that the last observation calls `absent`, with the earlier gaps that it says again.

    - Gaps are one thing by id (`Gap.same_as`), and in one observation by the same words on the same part. Wording is not
      compared otherwise.
    - A gap that the last observation does not hold is closed. An observation that states nothing closes nothing.
    - A gap that a stated item (no inference) answers by id is no longer absent, unless it was called absent again after the
      answer.
    """
    said = [seen for seen in observations if seen.states_something]
    if not said:
        return ()
    answers = [(round_of(item.id), set(item.answers)) for item in items if not item.inferred]
    earlier = {gap.id: gap for seen in said for gap in seen.gaps}
    groups: dict[tuple[str, str], list[Gap]] = {}
    for gap in said[-1].gaps:
        if gap.kind is GapKind.ABSENT:
            groups.setdefault((gap.target, gap.text.strip()), []).append(gap)
    found = []
    for group in groups.values():
        ids = tuple(sorted({one for gap in group for one in _line(gap, earlier)}, key=_order))
        if not _is_answered(ids, round_of(group[-1].id), answers):
            found.append(Absence(gaps=ids, target=group[-1].target, text=group[-1].text))
    return tuple(found)


def same_as(target: str, text: str, named: Sequence[str], earlier: Sequence[Observation]) -> tuple[str, ...]:
    """Ids of the gaps of `earlier` observations (oldest first) that a gap on `target` says again.

    They are those of `named` on the same part. If it names none: those of the last observation that has the same words on the
    same part.
    """
    found = [gap.id for seen in earlier for gap in seen.gaps if gap.id in named and gap.target == target]
    for seen in reversed(earlier):
        if found:
            break
        found = [gap.id for gap in seen.gaps if gap.target == target and gap.text.strip() == text.strip()]
    return tuple(found)


def _line(gap: Gap, earlier: Mapping[str, Gap]) -> set[str]:
    """The ids of `gap` and of every gap that it says again, directly or through another."""
    found: set[str] = set()
    left = [gap.id]
    while left:
        at = left.pop()
        if at not in found:
            found.add(at)
            left += [one for one in earlier[at].same_as if one in earlier]
    return found


def _order(gap_id: str) -> tuple[int, int]:
    """The round of a gap and its number in it."""
    return round_of(gap_id), int(gap_id.rpartition("/")[2])


def _is_answered(ids: Iterable[str], last: int, answers: Iterable[tuple[int, set[str]]]) -> bool:
    """Whether an item said after round `last` answers one of these gaps. `answers`: the round of an item, what it answers."""
    named = set(ids)
    return any(number > last and named & told for number, told in answers)
