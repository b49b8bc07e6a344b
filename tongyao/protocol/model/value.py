"""The base classes of the protocol's models.

Validation errors do not contain the input (`hide_input_in_errors`), because they are logged and inputs are private.
"""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel, ConfigDict, model_validator

from tongyao.protocol.model.unicode_text import without_controls

_DEEPEST: Final = 50
"""Maximum number of levels of nested lists and objects in a body. Each level is one recursive call."""


class Value(BaseModel):
    """An immutable model without undeclared fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Draft(BaseModel):
    """An answer of an engine, before any guard has checked it.

    Unknown fields are dropped instead of refused, so that they do not invalidate the rest of a model's answer.
    """

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)


class Body(Value):
    """A request body. Lone surrogates, which UTF-8 cannot encode, are refused. Control characters are removed."""

    @model_validator(mode="before")
    @classmethod
    def _reads_as_text(cls, data: Any) -> Any:
        return _as_text(data)


def _as_text(data: Any, depth: int = 0) -> Any:
    if depth > _DEEPEST:
        raise ValueError(f"lists and objects may be nested {_DEEPEST} levels deep")
    match data:
        case str():
            try:
                data.encode("utf-8")
            except UnicodeEncodeError:
                raise ValueError("this text contains half of a character (a lone surrogate)") from None
            return without_controls(data)
        case dict():
            return {_as_text(key): _as_text(value, depth + 1) for key, value in data.items()}
        case list() | tuple():
            return [_as_text(value, depth + 1) for value in data]
        case _:
            return data
