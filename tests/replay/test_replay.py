"""A worker of this code goes on with processes that an earlier one began."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from temporalio.client import WorkflowHistory

from tests.replay.record import HISTORIES
from tests.replay.shapes import SHAPES
from tongyao.protocol.life import machine
from tongyao.runtime.temporal.payload_converter import data_converter
from tongyao.runtime.temporal.replay import Replayed, replay
from workflows import crystallization

LESSON = """
The workflow no longer does what it did in this history ({name}).
If no process of the earlier code is running anywhere (before the first release): make the histories anew, `make histories`.
Otherwise put the change behind new rules or `workflow.patched(...)`: see "Change a workflow safely" in CONTRIBUTING.md.
"""


def recorded(name: str) -> dict[str, Any]:
    events: dict[str, Any] = json.loads(gzip.decompress((HISTORIES / f"{name}.json.gz").read_bytes()))
    return events


async def replayed(name: str, events: dict[str, Any]) -> Replayed:
    async def histories() -> AsyncIterator[WorkflowHistory]:
        yield WorkflowHistory.from_json(f"replay-{name}", events)

    [found] = [one async for one in replay(histories(), data_converter)]
    return found


@pytest.mark.parametrize("name", list(SHAPES))
async def test_a_history_of_every_shape_replays_with_the_same_inputs(name: str) -> None:
    found = await replayed(name, recorded(name))
    assert found.fits, LESSON.format(name=name) + "\n".join([found.failure, *found.inputs])


@pytest.mark.parametrize("name", list(SHAPES))
def test_in_a_workflow_task_the_commands_of_the_timer_come_before_those_of_steps(name: str) -> None:
    """A worker without its cache may get the end of a step and a message in one activation. It must not change the order."""
    steps_in = set()
    for event in recorded(name)["events"]:
        for kind, attributes in event.items():
            if kind == "activityTaskScheduledEventAttributes":
                steps_in.add(attributes["workflowTaskCompletedEventId"])
            if kind in ("timerStartedEventAttributes", "timerCanceledEventAttributes"):
                assert attributes["workflowTaskCompletedEventId"] not in steps_in, event["eventId"]


async def test_a_step_that_would_be_asked_something_else_is_found_and_named_by_its_place() -> None:
    events = recorded("people")
    scheduled = [
        event["activityTaskScheduledEventAttributes"]
        for event in events["events"]
        if "activityTaskScheduledEventAttributes" in event
    ]
    project = next(one for one in scheduled if one["activityType"]["name"] == "project")
    [payload] = project["input"]["payloads"]
    asked = json.loads(base64.b64decode(payload["data"]))
    asked["turns"][0]["alias"] = "P09"
    payload["data"] = base64.b64encode(json.dumps(asked).encode()).decode()

    found = await replayed("people", events)

    assert not found.failure
    assert not found.fits
    [line] = found.inputs
    assert line.endswith("project: input[0].turns[0].alias")
    assert "P09" not in line


async def test_other_commands_are_found() -> None:
    events = recorded("cancelled")
    for event in events["events"]:
        if (scheduled := event.get("activityTaskScheduledEventAttributes")) is not None:
            scheduled["activityType"]["name"] = "another"
    found = await replayed("cancelled", events)
    assert found.failure


@pytest.mark.parametrize("name", ["people", "converged"])
async def test_a_build_with_newer_rules_replays_what_began_under_the_first(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crystallization, "LOGIC", 2)
    monkeypatch.setattr(crystallization, "CARRIED_LOGIC", (1, 2))
    followed: list[int] = []
    finish = machine.finish

    def seen(state: Any, *rest: Any) -> None:
        followed.append(state.logic)
        finish(state, *rest)

    monkeypatch.setattr(machine, "finish", seen)
    found = await replayed(name, recorded(name))
    assert found.fits, found
    assert set(followed) == {1}


@pytest.mark.parametrize("name", list(SHAPES))
def test_a_history_holds_no_text(name: str) -> None:
    payloads = [
        base64.b64decode(payload["data"]).decode(errors="replace")
        for event in recorded(name)["events"]
        for payload in _payloads(event)
    ]
    for words in ("tide gauges", "ferry timetable", "slipway", "My name in the harbour"):
        assert not any(words in payload for payload in payloads)


def _payloads(value: object) -> list[dict[str, str]]:
    if isinstance(value, dict):
        found = [value] if "data" in value and "metadata" in value else []
        return found + [one for part in value.values() for one in _payloads(part)]
    return [one for part in value for one in _payloads(part)] if isinstance(value, list) else []
