"""What an installation decides about its doors: `TONGYAO_GATEWAY__…` in the environment."""

from __future__ import annotations

from limits import parse
from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator


class GatewayOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    open_registration: bool = Field(default=True, description="Anybody may join by introducing themselves.")
    rate: str = Field(default="240/minute", description="Requests of one token, or of one address without a token.")
    join_rate: str = Field(default="20/hour", description="Registrations from one address.")
    answer_seconds: float = Field(default=8.0, gt=0, le=60, description="How long a message waits for its verdict.")
    token_days: int | None = Field(default=None, ge=1, description="New owner tokens expire after; unset: never.")
    public_url: str = Field(default="", description="Where people reach this gateway; used in notifications.")

    smtp_host: str = Field(default="", description="Mail server for notifications; empty: no mail is sent.")
    smtp_port: int = Field(default=587, ge=1, le=65535)
    smtp_user: str = ""
    smtp_password: SecretStr | None = None
    smtp_starttls: bool | None = Field(default=None, description="Unset: when the server offers it.")
    mail_from: str = Field(default="", description="Sender of notifications, e.g. tongyao@example.org.")
    private_webhooks: bool = Field(
        default=False, description="Let webhooks and agents of people lie in private networks (for trials at home)."
    )

    @field_validator("rate", "join_rate")
    @classmethod
    def _is_a_rate(cls, rate: str) -> str:
        parse(rate)  # raises ValueError
        return rate
