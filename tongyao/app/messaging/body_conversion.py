"""Conversions of request bodies (`protocol.model.messages`) to the protocol's types, and idempotency keys."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Final

from pydantic import ValidationError

from tongyao.app.errors import BadIdempotencyKey, BadInput, reason
from tongyao.protocol.model.messages import ParticipantBody, Participants, TensionBody
from tongyao.protocol.model.process import Choice
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.model.sizes import language_of
from tongyao.protocol.model.tension import TENSION_CHARS, Tension

_KEY: Final = re.compile(r"[\x21-\x7e]{1,200}")


def checked_key(key: str | None) -> str:
    """Return the Idempotency-Key if it is well-formed. Raises `BadIdempotencyKey`."""
    if not key:
        raise BadIdempotencyKey(
            "key_missing", "send an `Idempotency-Key` that you choose: requests with the same key count as one request"
        )
    if not _KEY.fullmatch(key):
        raise BadIdempotencyKey("bad_key", "an Idempotency-Key has 1 to 200 visible ASCII characters, without spaces")
    return key


def stored_key(key: str) -> str:
    """Return the digest of an Idempotency-Key. It is stored instead of the key, because keys can contain names."""
    return hashlib.sha256(key.encode()).hexdigest()[:40]


def tension_of(body: TensionBody) -> Tension:
    """Return the tension of a body. Raises `BadInput` if a part is blank or the whole is too long."""
    language = language_of(" ".join((body.transition, body.initial_state, *body.barriers, body.exchange)))
    try:
        tension = Tension.model_validate({**body.model_dump(), "names": body.names or (), "language": language})
    except ValidationError as error:
        raise BadInput("not_a_tension", reason(error.errors()[0]), field="tension") from None
    if tension.chars > TENSION_CHARS:
        long = f"the tension has {tension.chars:,} characters; at most {TENSION_CHARS:,}: shorten it"
        raise BadInput("not_a_tension", long, field="tension")
    return tension


def chosen(participants: Participants) -> tuple[Choice, ...]:
    """Return the participants of a body as the protocol's choices."""
    return tuple(
        Choice(profile_id=participant)
        if isinstance(participant, str)
        else Choice.model_validate(participant.model_dump(exclude_none=True))
        for participant in participants
    )


def with_endpoints(participants: Participants, spoke: Mapping[str, EndpointKind]) -> Participants:
    """Return the participants of a body. If no endpoint is given for a person, it is the endpoint in `spoke`."""
    bodies = [
        ParticipantBody(profile_id=participant) if isinstance(participant, str) else participant
        for participant in participants
    ]
    return tuple(
        body.model_copy(update={"endpoint": spoke[body.profile_id]})
        if body.endpoint is None and body.profile_id in spoke
        else body
        for body in bodies
    )
