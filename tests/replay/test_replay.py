"""A worker of this code goes on with processes that an earlier one began."""

from __future__ import annotations

import base64
import gzip
import json

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from tests.replay.record import HISTORIES
from tests.replay.shapes import SHAPES
from tongyao.runtime.temporal.worker_plugin import plugin
from workflows.crystallization import Crystallization

LESSON = """
The workflow no longer does what it did in this history ({name}).
If no process of the earlier code is running anywhere (before the first release): make the histories anew, `make histories`.
Otherwise put the change behind `workflow.patched(...)`: see "Change a workflow safely" in CONTRIBUTING.md.
"""


@pytest.mark.parametrize("name", list(SHAPES))
async def test_a_history_of_every_shape_replays(name: str) -> None:
    history = WorkflowHistory.from_json(
        f"replay-{name}", gzip.decompress((HISTORIES / f"{name}.json.gz").read_bytes()).decode()
    )
    replayer = Replayer(workflows=[Crystallization], plugins=[plugin()])
    result = await replayer.replay_workflow(history, raise_on_replay_failure=False)
    assert result.replay_failure is None, LESSON.format(name=name) + str(result.replay_failure)


@pytest.mark.parametrize("name", list(SHAPES))
def test_a_history_holds_no_text(name: str) -> None:
    history = gzip.decompress((HISTORIES / f"{name}.json.gz").read_bytes()).decode()
    payloads = [
        base64.b64decode(payload["data"]).decode(errors="replace")
        for event in json.loads(history)["events"]
        for payload in _payloads(event)
    ]
    for words in ("tide gauges", "ferry timetable", "slipway", "My name in the harbour"):
        assert not any(words in payload for payload in payloads)


def _payloads(value: object) -> list[dict[str, str]]:
    if isinstance(value, dict):
        found = [value] if "data" in value and "metadata" in value else []
        return found + [one for part in value.values() for one in _payloads(part)]
    return [one for part in value for one in _payloads(part)] if isinstance(value, list) else []
