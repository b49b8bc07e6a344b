"""Changes of a new plan for one participant. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tongyao.protocol.model.plan import Delivery
from tongyao.protocol.model.value import Value


class DeliveryChanges(Value):
    """Sentences of the last delivery that the one before did not have, and the other way round: what is asked, gained, and on which conditions."""

    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


def delivery_changes(deliveries: Sequence[Delivery], alias: str) -> DeliveryChanges | None:
    """Return the changes; None if this participant has no delivery of an earlier plan. `deliveries`: of all revisions, the first one first."""
    mine = [_sentences(delivery) for delivery in deliveries if delivery.alias == alias]
    if len(mine) < 2:
        return None
    before, now = mine[-2:]
    return DeliveryChanges(
        added=tuple(sentence for sentence in now if sentence not in before),
        dropped=tuple(sentence for sentence in before if sentence not in now),
    )


def _sentences(delivery: Delivery) -> tuple[str, ...]:
    claims = (*delivery.asked, *delivery.gains, *delivery.conditions)
    return tuple(dict.fromkeys(claim.text for claim in claims if claim.text.strip()))
