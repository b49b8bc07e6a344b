"""Addresses of the servers of a home, and the file by which other commands find them."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

import psutil
from pydantic import BaseModel, ConfigDict, ValidationError

from tongyao.runtime.local.processes import accepts_connections

FILE = "service.json"
GATEWAY_FILE = "gateway.url"
"""File of a home with the address of its running gateway."""


class ServiceAddresses(BaseModel):
    """The addresses of the servers of a home; what ``<home>/service.json`` holds while they run."""

    model_config = ConfigDict(frozen=True)

    database_url: str
    temporal_address: str
    temporal_namespace: str
    temporal_ui: str | None = None  # unknown for a server of the user's own
    owner_pid: int
    owner_started: float  # seconds since the epoch, as the kernel has it: a pid alone may have been taken again
    postgres_pid: int | None = None
    temporal_pid: int | None = None
    engine: str = ""  # of its worker; the settings of another shell may choose another
    started_at: datetime

    def environment(self) -> dict[str, str]:
        """Return the environment by which a child process (a worker, the gateway) finds the same servers.

        Settings of the Temporal server that `up` starts are unset in it: they contradict the address of a running one.
        """
        return {
            **dict.fromkeys(("TONGYAO_TEMPORAL_PORT", "TONGYAO_TEMPORAL_UI_PORT", "TONGYAO_TEMPORAL_BINARY"), ""),
            "DATABASE_URL": self.database_url,
            "TEMPORAL_ADDRESS": self.temporal_address,
            "TEMPORAL_NAMESPACE": self.temporal_namespace,
        }


def find_running(home: Path) -> ServiceAddresses | None:
    """The service that runs in ``home`` now, or None: its owner must live, its Temporal server answer."""
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
