"""Three weeks without a word from one person: what they, the demander and the operators are told meanwhile, once each."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import structlog
from temporalio.api.sdk.v1 import WorkflowMetadata
from temporalio.testing import WorkflowEnvironment

from tests.gateway.outbound.test_notifiers import Postbox, hook, mailer, postbox
from tests.support.scripted import Script, ScriptedEngine
from tests.support.stack import Stack, open_stack
from tests.support.until import until
from tests.workflows.conftest import TEXTS
from tongyao.app.notifications.notifier import LogNotifier, Notifier, new_secret, verify
from tongyao.gateway.outbound.notifications import NotificationSender, WebhookNotifier
from tongyao.protocol.model.process import Choice
from tongyao.protocol.model.process_settings import DAY
from tongyao.protocol.model.projection import EndpointKind
from tongyao.records.people.notifications import Channel

__all__ = ["postbox"]
SECRET = new_secret()


@asynccontextmanager
async def receiver(heard: list[Any]) -> AsyncIterator[str]:
    def take(request: Any, body: bytes) -> int:
        verify(SECRET, dict(request.headers), body)
        heard.append(json.loads(body))
        return 204

    async with hook(take) as url:
        yield url


async def details(here: Stack, pid: str) -> str:
    """What the Temporal UI shows of the process now."""
    shown = await here.handle(pid).query("__temporal_workflow_metadata", result_type=WorkflowMetadata)
    return str(shown.current_details)


@pytest.mark.parametrize(
    ("fallback", "happens", "shown"),
    [
        ("lapse", "projection_received", "lapsed"),
        ("proxy", "endpoint_switched", "replied"),
        ("leave", "participant_left", "left"),
    ],
)
async def test_a_silent_person_is_asked_reminded_twice_and_then_done_without(
    time_skipping: WorkflowEnvironment,
    fresh_database_url: str,
    postbox: Postbox,
    fallback: str,
    happens: str,
    shown: str,
) -> None:
    heard: list[Any] = []
    engine = ScriptedEngine(Script.model_validate({"verdicts": ["more"]}))
    async with (
        receiver(heard) as url,
        open_stack(time_skipping.client, fresh_database_url, engine, environment=time_skipping) as here,
    ):
        ada, bo, cy, demander = await here.people(TEXTS)
        for kind, address in (("mail", "bo@example.org"), ("webhook", url)):
            channel = {"person": bo, "kind": kind, "address": address, "secret": SECRET, "confirmed": True}
            await here.repositories.notifications.set_channel(Channel.model_validate(channel))
        notifiers: dict[str, Notifier] = {
            "mail": mailer(postbox),
            "webhook": WebhookNotifier(private_allowed=True),
            "log": LogNotifier(),
        }
        notifying = NotificationSender(here.repositories, notifiers, public_url="https://example.org")

        async def told() -> list[tuple[str, int]]:
            """What the log was told since, everything due having been sent; nothing is left to send then."""
            with structlog.testing.capture_logs() as logs:
                while await notifying.once():
                    pass
            lines = [one for one in logs if one["event"] == "notification" and one["process"] == pid]
            return [(one["what"], one["round"]) for one in lines]

        pid = await here.start(
            [ada, Choice(profile_id=bo, endpoint=EndpointKind.HUMAN), cy],
            demander=demander, auto_confirm=True, turn_seconds=21 * DAY, process_seconds=200 * DAY, fallback=fallback,
            max_rounds=2,
        )  # fmt: skip
        await until(lambda: here.happened(pid, "turn_waiting"), "a turn that waits")
        (alias,) = [seat.alias for seat in await here.repositories.seats.seats(pid) if seat.endpoint == "human"]
        await here.asked(pid, alias, 1)
        assert await told() == []
        assert f"Waits for {alias} since" in await details(here, pid)
        assert "(20 d 23 h left)" in await details(here, pid) or "(21 d 0 h left)" in await details(here, pid)

        for number, days in ((1, 10.6), (2, 8.4)):  # half and nine tenths of 21 days
            await here.pass_time(days=days)

            async def reminded(times: int = number) -> bool:
                return (await here.kinds(pid)).count("reminder") == times

            await until(reminded)
            await here.asked(pid, alias, 1)
            assert await told() == [], "a reminder is for the one who is late"
        assert f"Waits for {alias} since" in await details(here, pid)

        await here.pass_time(days=2.1)
        await until(lambda: here.happened(pid, happens), happens)
        await until(lambda: here.happened(pid, "observation_ready"), "an observation")
        late = [one for one in await told() if one[0] == "escalated"]
        assert late == [("escalated", 1)], "the demander, who has no channel, is told by the log"
        (ask,) = [one for one in await here.repositories.inbox.of_process(pid) if (one.alias, one.round) == (alias, 1)]
        assert ask.closed_at is not None and ask.person == bo
        rows = [line for line in (await details(here, pid)).splitlines() if line.startswith("| R1 ")]
        place = sorted(seat.alias for seat in await here.repositories.seats.seats(pid)).index(alias) + 2
        assert rows[0].split("|")[place].strip() == shown

        told_bo = ["projection", "reminder", "reminder"] + ["projection"] * (fallback == "lapse")
        if fallback == "lapse":
            await here.asked(pid, alias, 2)
            await told()
        about_turns = [one for one in heard if one["what"] != "delivery_ready"]  # the process may have ended already
        mails = postbox.mails[: len(told_bo)]
        assert [one["what"] for one in about_turns] == told_bo
        assert [one["round"] for one in about_turns] == [1, 1, 1] + [2] * (fallback == "lapse")
        subjects = {"projection": "Say what is new from you in round", "reminder": "Reminder"}
        assert all(subjects[what] in mail["Subject"] for what, mail in zip(told_bo, mails, strict=True))
        assert len({mail["Message-ID"] for mail in mails}) == len(told_bo)
        kinds = await here.kinds(pid)
        assert (kinds.count("reminder"), kinds.count("escalated"), kinds.count(happens) >= 1) == (2, 1, True)
        await here.handle(pid).cancel()
        await here.end(pid)
