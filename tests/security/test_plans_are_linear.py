"""A plan of a hostile server is settled and drawn in a moment: a worker, or the gateway, does nothing else meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest

from tests.llm.requests import planner
from tests.security.growth import at_most
from tongyao.llm.structured_output.parsing import read
from tongyao.protocol.documents.plan_page import plan_markdown
from tongyao.protocol.guards.plans import settle_plan
from tongyao.protocol.model.plan import Plan, PlanDraft
from tongyao.protocol.model.tension import Lineage

LINEAGE: Final = Lineage(root="p", parent="p", residual="plan/1/residual/0", depth=1)


def _tasks(many: int, before: Callable[[int], Sequence[int]]) -> list[dict[str, Any]]:
    return [
        {"id": f"t{n}", "title": f"Bring {n}", "assignee": "P01", "prerequisites": [f"t{one}" for one in before(n)]}
        for n in range(many)
    ]


PARTS: Final[dict[str, Callable[[int], dict[str, Any]]]] = {
    "each task waits for the one before": lambda many: {"tasks": _tasks(many, lambda n: [n - 1])},
    "each task waits for the one after": lambda many: {"tasks": _tasks(many, lambda n: [n + 1])},
    "every task waits for every task": lambda many: {"tasks": _tasks(int(many**0.5) * 4, lambda n: range(int(many**0.5) * 4))},
    "no two residuals are alike": lambda many: {
        "residuals": [{"transition": f"{n * 7919} word{n * 31} again {n * 17}"} for n in range(many)]
    },
}  # fmt: skip


def _settled(answer: str) -> Plan:
    return settle_plan(read(answer, PlanDraft), planner(), lineage=LINEAGE)


@pytest.mark.parametrize("name", PARTS)
def test_no_answer_takes_a_worker_or_a_page_for_long(name: str) -> None:
    """A fraction of a second each; comparing all with all takes half a minute and more."""
    with at_most(10, name):
        plan_markdown(_settled(json.dumps(PARTS[name](2_000))))
