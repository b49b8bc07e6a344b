"""Writes the open points of a room as a tension, with which the field searches for people (docs/protocol.md §3.8).
Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tongyao.protocol.model.observation import RelationKind
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.tension import MAX_BARRIERS, Tension, TensionDraft, from_draft, within_limits
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules.standing import rounds_of, standing

_HELPFUL: Final = (RelationKind.COMPLEMENTARY, RelationKind.ALIGNED)


class Lack(Value):
    """Open points as a tension. T, I and E are those of `tension`. The barriers are the open points.

    `open` maps a barrier of `tension` to a barrier of the process or to a gap: `B1` → `B3`, `B2` → `R7/n4`.
    """

    tension: Tension
    open: Mapping[str, str]


def lacking(record: Record) -> Lack | None:
    """Return the points that nobody in the room covers, the most important first. None if there is no tension yet.

    The order: open gaps that ask nobody; barriers without a gap and without a complementary or aligned relation to a
    participant; open gaps that ask somebody. If nothing is open, the points are the barriers of the process's tension.
    """
    if record.tension is None:
        return None
    tension = record.tension
    barriers = {name: text for name, text in tension.targets().items() if name.startswith("B")}
    state = standing(rounds_of(record.projections, record.observations))
    gaps = [gap for gap in state.open_gaps if gap.text.strip()]
    met = {relation.between[1] for relation in state.relations if relation.kind in _HELPFUL}
    met |= {line for gap in gaps for line in gap.about}
    found = {gap.id: gap.text for gap in gaps if not gap.asks}
    found |= {name: text for name, text in barriers.items() if name not in met}
    found |= {gap.id: gap.text for gap in gaps if gap.asks}
    named = dict(list((found or barriers).items())[:MAX_BARRIERS])
    draft = TensionDraft(
        transition=tension.transition,
        initial_state=tension.initial_state,
        barriers=list(named.values()),
        exchange=tension.exchange,
    )
    return Lack(
        tension=from_draft(within_limits(draft), language=tension.language),
        open={f"B{number}": name for number, name in enumerate(named, 1)},
    )
