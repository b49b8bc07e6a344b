"""The base classes of the protocol's models.

Validation errors do not contain the input (`hide_input_in_errors`): values are people's texts, and errors are logged.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """An immutable model without undeclared fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Draft(BaseModel):
    """An answer of an engine, before any guard has checked it.

    Unknown fields are dropped instead of refused, so that extra fields in a model's answer do not invalidate its other fields.
    """

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)
