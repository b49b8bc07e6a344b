"""Read access to events (docs/protocol.md §6.5): one table, role × kind → the keys of `data` that the role may see.

Readers see events of their own seat in full. They see no event of another seat that would distinguish a person from a
proxy, such as who is waited for, who was reminded, or when somebody answered. Of the turns of others, they see only
that the gate closed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tongyao.protocol.model.events import Event, EventKind
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.rules.read_access import PartyRole

K = EventKind
ALL: Final = frozenset({"*"})
_NOTHING: Final[frozenset[str]] = frozenset()


def _keys(*names: str) -> frozenset[str]:
    return frozenset(names)


_OF_THE_ROOM: Final[Mapping[EventKind, frozenset[str]]] = {
    K.PROCESS_STARTED: _keys("depth"),
    K.PHASE_CHANGED: _keys("from", "to"),
    K.PARTICIPANTS_SELECTED: _keys("aliases"),
    K.PARTICIPANT_JOINED: _keys("alias", "round"),
    K.ROUND_OPENED: _keys("round"),  # no aliases: a speaker who was not asked would be known as a person
    K.GATE_COMPLETE: _keys("round"),
    K.OBSERVATION_READY: _keys("round", "verdict", "relations", "notes", "gaps", "items"),
    K.CONVERGED: _keys("round", "reason"),
    K.CONCLUDED: _keys("round", "phase"),
    K.RESUMED: _keys(),  # a cause could reveal that somebody has a proxy
    K.PLAN_READY: _keys("revision", "claims", "supported", "residuals", "reduced"),
    K.PROCESS_ENDED: _keys("outcome"),
}

SHOWN: Final[Mapping[PartyRole, Mapping[EventKind, frozenset[str]]]] = {
    "participant": _OF_THE_ROOM,
    "invited": {},
    "demander": {
        **_OF_THE_ROOM,
        K.PARTICIPANT_LEFT: _keys("alias", "round"),
        K.FORMULATION_READY: ALL,
        K.TENSION_REVISED: ALL,
        K.TENSION_CONFIRMED: ALL,
        K.FIELD_ACTIVATED: ALL,
        K.CONSENT_CLOSED: ALL,
        K.ESCALATED: ALL,
        K.DEMANDER_ASKED: ALL,
        K.DECISION_NEEDED: ALL,
        K.DECIDED: ALL,
        K.BUDGET_WARNING: ALL,
        K.SUSPENDED: ALL,
        K.RESUMED: ALL,
        K.DELIVERY_READY: _keys("alias", "revision"),
        K.ANSWER_RECEIVED: _keys("alias", "decision", "revision"),
        K.RESIDUAL_OPEN: ALL,
        K.RESIDUAL_APPROVED: ALL,
        K.CHILD_STARTED: ALL,
        K.CHILD_REFUSED: ALL,
        K.CHILD_FINISHED: ALL,
    },
    "operator": {**dict.fromkeys(EventKind, ALL), K.FIELD_ACTIVATED: _NOTHING},
}

OWN: Final = frozenset(
    {
        K.TURN_WAITING,
        K.REMINDER,
        K.DEADLINE_EXTENDED,
        K.ESCALATED,
        K.PARTICIPANT_LEFT,
        K.ENDPOINT_SWITCHED,
        K.MANDATE_CHANGED,
        K.WORDS_ARRIVED,
        K.WORDS_UNUSED,
        K.PROJECTION_RECEIVED,
        K.DELIVERY_READY,
        K.ANSWER_RECEIVED,
    }
)
"""Kinds of events that a participant sees in full if the event has their alias, and otherwise not at all."""


NOT_WHO: Final[Mapping[EventKind, frozenset[str]]] = dict.fromkeys((K.ESCALATED, K.PARTICIPANT_LEFT), _keys("round"))
"""Keys that a demander with a seat sees. The alias is hidden, because only people miss deadlines or leave then
(docs/protocol.md §3.10)."""


def event_for_party(event: Event, *, role: PartyRole, alias: str = "", seated: bool = False) -> Event | None:
    """Return the part of the event that this party may see, or None if it may see nothing.

    The caller must not show `seq` (`app/messaging/party_events`). `seated`: whether a demander takes part in rounds.
    """
    own = role != "operator" and event.kind in OWN and event.data.get("alias") == (alias or DEMANDER)
    keys = ALL if own else SHOWN[role].get(event.kind)
    if seated and role == "demander" and not own:
        keys = NOT_WHO.get(event.kind, keys)
    if keys is None:
        return None
    shown = {key: value for key, value in event.data.items() if keys is ALL or key in keys}
    if event.kind is K.FIELD_ACTIVATED and isinstance(found := shown.get("candidates"), list):
        shown["candidates"] = [
            candidate[:2] if isinstance(candidate, list) else candidate for candidate in found
        ]  # without the scores
    return event.model_copy(update={"data": shown})
