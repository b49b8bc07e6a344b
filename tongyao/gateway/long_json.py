"""JSON answers of many millions of characters, encoded and sent in pieces. Other tasks run between two pieces."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Final

from fastapi.encoders import jsonable_encoder
from fastapi.responses import StreamingResponse

_PIECE: Final = 65_536
"""Characters of a piece. A single string is one piece, however long it is."""


def long_json(
    value: object, *, indent: int | None = None, headers: Mapping[str, str] | None = None
) -> StreamingResponse:
    """Return an answer with `value` as its body, encoded as FastAPI encodes it."""
    return StreamingResponse(_pieces(value, indent), media_type="application/json", headers=headers)


async def _pieces(value: object, indent: int | None) -> AsyncIterator[bytes]:
    encoder = json.JSONEncoder(ensure_ascii=False, indent=indent)
    held: list[str] = []
    length = 0
    for token in encoder.iterencode(jsonable_encoder(value)):
        held.append(token)
        length += len(token)
        if length >= _PIECE:
            yield "".join(held).encode()
            await asyncio.sleep(0)
            held, length = [], 0
    yield "".join(held).encode()
