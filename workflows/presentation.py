"""A state in the Temporal UI: search attributes and details, without people's texts (docs/operations.md §2)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from temporalio import workflow
from temporalio.common import SearchAttributeKey, SearchAttributeUpdate

from tongyao.protocol.contracts.process import SearchAttribute
from tongyao.protocol.documents.process_details import details
from tongyao.protocol.life.snapshot import suspended_codes, waiting
from tongyao.protocol.life.state import State

_PHASE = SearchAttributeKey.for_keyword(SearchAttribute.PHASE)
_ROUND = SearchAttributeKey.for_int(SearchAttribute.ROUND)
_WAITING = SearchAttributeKey.for_bool(SearchAttribute.WAITING)
_SUSPENDED = SearchAttributeKey.for_keyword_list(SearchAttribute.SUSPENDED)


class Shown:
    """Publishes a process in the UI: search attributes are sent when they change, details are kept up to date."""

    def __init__(self) -> None:
        self._attributes: dict[SearchAttributeKey[Any], object] = {_SUSPENDED: ()}

    def update(self, state: State, now: datetime) -> None:
        attributes: dict[SearchAttributeKey[Any], object] = {
            _PHASE: state.phase.value,
            _ROUND: state.round,
            _WAITING: waiting(state),
            _SUSPENDED: suspended_codes(state),
        }
        changed = [key for key, value in attributes.items() if self._attributes.get(key) != value]
        if changed:
            workflow.upsert_search_attributes([_set(key, attributes[key]) for key in changed])
            self._attributes = attributes
        workflow.set_current_details(details(state, now))


def _set(key: SearchAttributeKey[Any], value: object) -> SearchAttributeUpdate[Any]:
    if isinstance(value, tuple):
        return key.value_set(list(value)) if value else key.value_unset()
    return key.value_set(value)
