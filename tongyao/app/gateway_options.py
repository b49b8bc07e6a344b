"""The settings of the gateway, `TONGYAO_GATEWAY__…`: rates, limits, tokens."""

from __future__ import annotations

from decimal import Decimal
from ipaddress import ip_network

from pydantic import BaseModel, ConfigDict, Field, field_validator


class GatewayOptions(BaseModel):
    """The settings `TONGYAO_GATEWAY__…`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    open_registration: bool | None = Field(
        default=None,
        description="Anybody may join by introducing themselves; unset: only if the gateway is reached from this machine alone.",
    )
    rate: str = Field(default="240/minute", description="Requests of one person, or of one address without a token.")
    address_rate: str = Field(default="2400/minute", description="Requests of one address, with and without tokens.")
    join_rate: str = Field(default="20/hour", description="Registrations from one address.")
    read_rate: str = Field(default="12/hour", description="Intents that a paid engine reads for one person beforehand.")
    search_rate: str = Field(
        default="120/hour", description="Searches of one person: each may test a word on private profiles."
    )
    answer_seconds: float = Field(
        default=8.0, gt=0, le=60, description="Seconds that a request waits for the verdict on its message."
    )
    private_addresses: bool = Field(
        default=False, description="Webhooks and people's own agents may be inside this network, and without TLS."
    )
    max_body_bytes: int = Field(
        default=16_000_000,
        ge=1_000,
        description="Longest body with a profile and a token, in bytes. A longer request is refused unread.",
    )
    small_body_bytes: int = Field(
        default=65_536, ge=1_000, description="Longest body of every other request, in bytes."
    )
    most_requests: int = Field(default=32, ge=1, description="Requests of one person or address at a time.")
    most_large: int = Field(default=2, ge=1, description="Long bodies and exports of one person at a time.")
    most_streams: int = Field(default=8, ge=1, description="Open streams of events of one person or address.")
    most_pages: int = Field(
        default=64, ge=1, description="Live pages of the console of one address; of one person, `most_streams`."
    )
    most_connections: int = Field(
        default=1_000, ge=1, description="Open connections of all clients; more are answered 503."
    )
    without_proxy: bool = Field(
        default=False,
        description="The gateway may listen beyond loopback without a reverse proxy (SECURITY.md lists what it then does not withstand).",
    )
    proxies: tuple[str, ...] = Field(
        default=(), description="JSON list of addresses or networks whose X-Forwarded-For is believed."
    )
    most_open_processes: int = Field(default=20, ge=1, description="Open processes of one demander.")
    token_budget: int = Field(
        default=5_000_000,
        ge=1,
        description="Token budget of a process, with its children, that a person starts without one.",
    )
    cost_budget: Decimal = Field(
        default=Decimal(10),
        gt=0,
        description="Budget in US dollars of a process, with its children, that a person starts without one.",
    )
    most_backlog_seconds: float = Field(
        default=900.0, gt=0, description="No process is started while a model step has waited longer for a worker."
    )
    most_versions: int = Field(default=500, ge=1, description="Versions of one profile.")
    most_tokens: int = Field(default=50, ge=1, description="Valid tokens of one person.")
    most_stored_chars: int = Field(default=40_000_000, ge=1, description="Characters kept of one person.")
    session_hours: int = Field(default=24, ge=1, le=24 * 30, description="How long a session of the console lasts.")
    token_days: int | None = Field(
        default=None, ge=1, description="Time after which new owner tokens expire; unset: never."
    )

    @field_validator("proxies")
    @classmethod
    def _are_networks(cls, proxies: tuple[str, ...]) -> tuple[str, ...]:
        for proxy in proxies:
            ip_network(proxy)  # raises ValueError
        return proxies

    @field_validator("rate", "join_rate", "address_rate", "read_rate", "search_rate")
    @classmethod
    def _is_a_rate(cls, rate: str) -> str:
        from limits import parse  # imported late, because the settings of every command contain these options

        parse(rate)  # raises ValueError
        return rate
