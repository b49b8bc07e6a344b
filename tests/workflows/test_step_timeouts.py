"""The time-out of a model step's activity is long enough for every call that the step may make in a row.

Where it was shorter, an activity whose first answer came late and could not be read was ended by the server during the
repair, and the first answer was asked and paid for again in every attempt.
"""

from __future__ import annotations

from collections import defaultdict

from tests.support.stack import Stack
from tests.workflows.conftest import TEXTS, Opened
from tongyao.protocol.contracts.process import DELIVER

EVERY_FIRST_ANSWER_IS_UNREADABLE = [{"reask": 0, "do": "unreadable"}]


async def test_an_activity_may_last_as_long_as_its_calls_in_a_row(stack: Opened) -> None:
    async with stack(rules=EVERY_FIRST_ANSWER_IS_UNREADABLE, verdicts=["exhausted"]) as (here, engine):
        people = await here.people({name: TEXTS[name] for name in ("ada", "bo", "cy")})
        pid = await here.start(people, auto_confirm=True)
        await here.end(pid)
        allowed = await _start_to_close(here, pid)

    in_a_row: dict[tuple[str, int, str], float] = defaultdict(float)
    calls: dict[tuple[str, int, str], int] = defaultdict(int)
    for one in engine.received:
        assert one.seconds is not None
        in_a_row[one.key.step, one.key.round, one.key.alias] += one.seconds
        calls[one.key.step, one.key.round, one.key.alias] += 1
    assert set(calls.values()) == {2}, "an answer and its repair"
    assert {step for step, _, _ in calls} == {"formulate", "project", "observe", "plan", "deliver"}
    for (step, _, _), seconds in in_a_row.items():
        # The first delivery goes ahead of the others, which are asked for side by side.
        assert allowed[step] > (2 * seconds if step == DELIVER.name else seconds), step


async def _start_to_close(here: Stack, process_id: str) -> dict[str, float]:
    """Activity → the shortest start-to-close time-out that was set for it, in seconds."""
    allowed: dict[str, float] = {}
    history = await here.handle(process_id).fetch_history()
    for event in history.events:
        if event.HasField("activity_task_scheduled_event_attributes"):
            scheduled = event.activity_task_scheduled_event_attributes
            name, seconds = scheduled.activity_type.name, scheduled.start_to_close_timeout.ToTimedelta().total_seconds()
            allowed[name] = min(seconds, allowed.get(name, seconds))
    return allowed
