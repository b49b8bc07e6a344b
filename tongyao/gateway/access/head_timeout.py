"""Closes connections whose request head does not arrive in time: uvicorn waits for it without end."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol


def patient_protocol(seconds: float) -> type[asyncio.Protocol]:
    """uvicorn's own protocol, which gives a client `seconds` from connecting, and from the first byte of each request, to its end."""

    class Patient(AutoHTTPProtocol):  # type: ignore[misc, valid-type]  # uvicorn chooses the class at import
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait_for_head()

        def data_received(self, data: bytes) -> None:
            before = self.cycle
            if self._timer is None and (before is None or before.response_complete):
                self._wait_for_head()
            super().data_received(data)
            if self.cycle is not before:  # a head has arrived
                self._stop_waiting()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def _wait_for_head(self) -> None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self.transport.close)

        def _stop_waiting(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return Patient
