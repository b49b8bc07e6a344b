"""Addresses of the servers of a home, and the file in which other commands find them."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

import psutil
from pydantic import BaseModel, ConfigDict, ValidationError

from tongyao.runtime.local.server_process import accepts_connections

FILE = "service.json"
GATEWAY_FILE = "gateway.url"
"""The file of a home with the address of its running gateway."""


class ServiceAddresses(BaseModel):
    """The addresses of the servers of a home. ``<home>/service.json`` contains them while the servers run."""

    model_config = ConfigDict(frozen=True)

    database_url: str
    temporal_address: str
    temporal_namespace: str
    temporal_ui: str | None = None  # unknown for a server in the settings
    owner_pid: int
    owner_started: float  # start of the owner process, seconds since the epoch; needed because pids are reused
    postgres_pid: int | None = None
    temporal_pid: int | None = None
    engine: str = ""  # of its worker; the settings of another shell may choose another
    started_at: datetime

    def environment(self) -> dict[str, str]:
        """Return the environment with which a child process finds the same servers.

        In it, settings for starting a Temporal server are empty: they contradict the address of a running server.
        """
        return {
            **dict.fromkeys(("TONGYAO_TEMPORAL_PORT", "TONGYAO_TEMPORAL_UI_PORT", "TONGYAO_TEMPORAL_BINARY"), ""),
            "DATABASE_URL": self.database_url,
            "TEMPORAL_ADDRESS": self.temporal_address,
            "TEMPORAL_NAMESPACE": self.temporal_namespace,
        }


def find_running(home: Path) -> ServiceAddresses | None:
    """Return the running service of ``home``, or None. Its owner must live, and its Temporal server must answer."""
    try:
        service = ServiceAddresses.model_validate_json((home / FILE).read_text(encoding="utf-8"))
        owner = psutil.Process(service.owner_pid)
        if abs(owner.create_time() - service.owner_started) > 2 or owner.status() == psutil.STATUS_ZOMBIE:
            return None
    except (OSError, ValidationError, psutil.Error):
        return None
    temporal = urlsplit(f"//{service.temporal_address}")
    if temporal.port is None or not accepts_connections(temporal.port, temporal.hostname or "127.0.0.1"):
        return None
    return service
