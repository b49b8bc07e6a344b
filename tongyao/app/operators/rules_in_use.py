"""Versions of the rules of the state machine that open processes follow (docs/operations.md §5)."""

from __future__ import annotations

from collections import Counter
from typing import Final

from temporalio.client import Client

from tongyao.protocol.contracts.process import CRYSTALLIZATION, rules_marker
from tongyao.protocol.life.state import CARRIED_LOGIC
from tongyao.protocol.model.value import Value

_OPEN: Final = f'WorkflowType="{CRYSTALLIZATION}" AND ExecutionStatus="Running"'


class Rules(Value):
    """A version of the rules. `logic`: its number. `processes`: open ones. `carried`: whether this build knows it."""

    logic: int
    processes: int
    carried: bool


async def read_rules(client: Client) -> list[Rules]:
    """Count the open processes by rules version, up to the version after the newest that this build knows.

    Raises `RPCError`.
    """
    found: Counter[int] = Counter()
    for logic in range(2, max(CARRIED_LOGIC) + 2):
        query = f'{_OPEN} AND TemporalChangeVersion="{rules_marker(logic)}"'
        found[logic] = (await client.count_workflows(query)).count
    found[1] = (await client.count_workflows(_OPEN)).count - found.total()
    return [
        Rules(logic=logic, processes=count, carried=logic in CARRIED_LOGIC)
        for logic, count in sorted(found.items())
        if count or logic in CARRIED_LOGIC
    ]
