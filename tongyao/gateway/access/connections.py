"""What a connection may do before there is a request: how long and how large its head is, and how many connections there are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from uvicorn.protocols.http.h11_impl import H11Protocol


class Connection(Protocol):
    @property
    def waits(self) -> bool:
        """Whether no request of it is being answered."""
        ...

    def abort(self) -> None: ...


class OpenConnections:
    """All open connections, oldest first, with the address of their client.

    Where there are too many, of one address or altogether, the oldest that waits is closed: whoever only holds connections loses them, and
    nobody is kept out by it. Where every one is being answered, the new one is closed.
    """

    def __init__(self, *, most: int, most_of_address: int) -> None:
        self._most, self._most_of_address = most, most_of_address
        self._open: dict[Connection, str] = {}

    def enter(self, connection: Connection, address: str) -> None:
        """`address`: as it is counted; empty for a proxy, whose clients are counted by their requests."""
        self._open[connection] = address
        own = [one for one, its in self._open.items() if its == address] if address else []
        for these, most in ((own, self._most_of_address), (list(self._open), self._most)):
            if len(these) > most and connection in self._open:
                oldest = next((one for one in these if one.waits and one is not connection), connection)
                self.leave(oldest)
                oldest.abort()

    def leave(self, connection: Connection) -> None:
        self._open.pop(connection, None)


def patient_protocol(seconds: float, room: OpenConnections, address_of: Callable[[str], str]) -> type[asyncio.Protocol]:
    """uvicorn's protocol on h11, which takes a head or trailers of 64 KB at most and reads no further request while one is answered.

    uvicorn's other one, on httptools, does neither. A client has `seconds` from connecting, and from the first byte of each request, to the
    end of its head. `address_of`: a peer's address, as it is counted in `room`.
    """

    class Patient(H11Protocol):
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait_for_head()
            room.enter(self, address_of(self.client[0] if self.client else ""))

        def data_received(self, data: bytes) -> None:
            before = self.cycle
            if self._timer is None and self.waits:
                self._wait_for_head()
            super().data_received(data)
            if self.cycle is not before:  # a head has arrived
                self._stop_waiting()

        def connection_lost(self, exc: Exception | None) -> None:
            room.leave(self)
            self._stop_waiting()
            super().connection_lost(exc)

        @property
        def waits(self) -> bool:
            cycle: Any = self.cycle  # None before the first request
            return cycle is None or bool(cycle.response_complete)

        def abort(self) -> None:
            self.transport.abort()

        def _wait_for_head(self) -> None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self.transport.close)

        def _stop_waiting(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return Patient
