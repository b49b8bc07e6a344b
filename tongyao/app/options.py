"""What an installation decides about its doors: handed in by whoever wires it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, field_validator


class GatewayOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    open_registration: bool = Field(default=True, description="Anybody may join by introducing themselves.")
    rate: str = Field(default="240/minute", description="Requests of one token, or of one address without a token.")
    join_rate: str = Field(default="20/hour", description="Registrations from one address.")
    answer_seconds: float = Field(default=8.0, gt=0, le=60, description="How long a message waits for its verdict.")
    private_addresses: bool = Field(
        default=False, description="Webhooks and people's own agents may be inside this network, and without TLS."
    )
    max_body_bytes: int = Field(default=16_000_000, ge=1_000, description="A longer request is refused unread.")
    token_days: int | None = Field(default=None, ge=1, description="New owner tokens expire after; unset: never.")

    @field_validator("rate", "join_rate")
    @classmethod
    def _is_a_rate(cls, rate: str) -> str:
        from limits import parse  # imported where it is needed: the settings of every command hold these options

        parse(rate)  # raises ValueError
        return rate
