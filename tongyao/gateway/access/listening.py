"""The socket on which the gateway listens, and its server.

The socket closes connections of an address that makes too many, before they cost anything more.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import uvicorn

_REFUSED_AT_ONCE: Final = 50
"""After so many others have their turn."""
_AT_ONCE: Final = struct.pack("ii", 1, 0)
"""For SO_LINGER: closed without waiting for the other side."""


class ListeningSocket(socket.socket):
    """`admits`: whether one more connection of this peer's address is taken; None: every one is.

    asyncio calls `accept` until nothing waits. Accepting a connection and closing it takes a fiftieth of the time that it takes to begin
    to read from it.
    """

    admits: Callable[[str], bool] | None = None

    def accept(self) -> tuple[socket.socket, Any]:
        """Raises `BlockingIOError` where nobody waits who may come in."""
        for _ in range(_REFUSED_AT_ONCE):
            connection, address = super().accept()
            if self.admits is None or self.admits(address[0]):
                return connection, address
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
            connection.close()
        raise BlockingIOError


class ServerWithoutSignals(uvicorn.Server):
    """Leaves signals to the program that runs it; uvicorn would install handlers of its own."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
