"""What a connection may do before there is a request: how long and how large its head is, and how many connections there are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, Protocol

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_BYTES: Final = 64 * 1024
"""Of a head, and of the trailers of a chunked body."""
HEAD_LINES: Final = 200
_PIECE: Final = 4096
"""Bytes that are parsed before it is asked whether the connection may go on: a quarter of a megabyte may arrive at once. What arrives behind a
request waits until that one is answered, and is then parsed in the same way."""
_SMALL_CHUNKS: Final = 200
_CHUNK_BYTES: Final = 16
"""A chunked body has at most so many chunks, and one more for so many bytes: each takes as long to parse as a thousand bytes."""
_CHUNK_HEAD_BYTES: Final = 10
_TRAILER_BYTES: Final = 1024
"""Around the bytes of a chunked body so many for each chunk, and so many more, for trailers and extensions: 64 KB of trailers may be 16,000
lines, and take a third of a second to parse."""


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


class _Chunked(h11.Connection):
    """Counts the chunks, the bytes of the body that is being received, and the bytes around them."""

    def __init__(self) -> None:
        super().__init__(h11.SERVER, HEAD_BYTES)
        self._received = self._chunks = self._bytes = 0

    def receive_data(self, data: bytes) -> None:
        self._received += len(data)
        super().receive_data(data)

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._received = len(self.trailing_data[0])  # what came behind the head
            self._chunks = self._bytes = 0
        elif isinstance(event, h11.Data):
            self._chunks += event.chunk_end  # h11 forgets the start where nothing of the chunk is here yet
            self._bytes += len(event.data)
        return event

    @property
    def is_chopped_up(self) -> bool:
        """Whether the body that is being received has too many chunks, or too much stands around them."""
        around = self._received - self._bytes if self.their_state is h11.SEND_BODY else 0
        return (
            self._chunks > _SMALL_CHUNKS + self._bytes // _CHUNK_BYTES
            or around > _TRAILER_BYTES + _CHUNK_HEAD_BYTES * self._chunks
        )


def patient_protocol(seconds: float, room: OpenConnections, address_of: Callable[[str], str]) -> type[asyncio.Protocol]:
    """uvicorn's protocol on h11, which takes a head or trailers of 64 KB at most and reads no further request while one is answered.

    uvicorn's other one, on httptools, does neither. A head of too many lines is answered `400`, and a connection whose body comes in too many
    chunks, or with long trailers, is closed. A client has `seconds` from connecting, and from the first byte of each request, to the
    end of its head. `address_of`: a peer's address, as it is counted in `room`.
    """

    class Patient(H11Protocol):
        _timer: asyncio.TimerHandle | None = None
        _lines = 0

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.conn = self._counted = _Chunked()
            self._unread = bytearray()

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait_for_head()
            room.enter(self, address_of(self.client[0] if self.client else ""))

        def data_received(self, data: bytes) -> None:
            self._unread += data
            self._read_on()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._read_on()

        def _read_on(self) -> None:
            """Parse what has arrived, to the end of the request that is to be answered next: until then the client's state is one of these two."""
            while self._unread and not self.transport.is_closing():
                if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
                    self.flow.pause_reading()
                    return
                piece = bytes(self._unread[:_PIECE])
                del self._unread[:_PIECE]
                self._piece_received(piece)

        def _piece_received(self, piece: bytes) -> None:
            before = self.cycle
            if self._timer is None and self.waits:
                self._wait_for_head()
            if self.conn.their_state is h11.IDLE:
                self._lines += piece.partition(b"\n\r\n")[0].count(b"\n")
                if self._lines > HEAD_LINES:
                    self.send_400_response(f"The head of a request has at most {HEAD_LINES} lines.")
                    return
            super().data_received(piece)
            if self.cycle is not before:  # a head has arrived
                self._stop_waiting()
                self._lines = 0
            if self._counted.is_chopped_up:
                self.abort()

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
