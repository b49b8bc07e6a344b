"""Notifier of those who have no channel, and of the operators: a line in the log, with ids alone."""

from __future__ import annotations

import structlog

from tongyao.app.notifier import Outgoing

log = structlog.get_logger()


class LogNotifier:
    async def send(self, outgoing: Outgoing) -> None:
        log.info("notification", id=outgoing.id, **outgoing.data)
