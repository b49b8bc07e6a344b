"""Homes for servers, and processes that own them and can be killed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tongyao.runtime.local.addresses import ServiceAddresses
from tongyao.runtime.settings import Settings, variable_names

REPOSITORY = Path(__file__).parents[2]
StartOwner = Callable[[], tuple["subprocess.Popen[str]", ServiceAddresses]]


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings of whoever runs the tests stay out of them."""
    for name in list(os.environ):
        if name.startswith(("TONGYAO_", "TEMPORAL_")):
            monkeypatch.delenv(name)
    for field_name, field in Settings.model_fields.items():
        for name in variable_names(field_name, field):
            monkeypatch.delenv(name, raising=False)
            monkeypatch.delenv(f"{name}_FILE", raising=False)


@pytest.fixture
def start_owner(home: Path) -> Iterator[StartOwner]:
    """Starts a process that brings the service of ``home`` up and keeps it."""
    owners: list[subprocess.Popen[str]] = []

    def start() -> tuple[subprocess.Popen[str], ServiceAddresses]:
        owner = subprocess.Popen(
            [sys.executable, "-m", "tests.support.owner", str(home)],
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            text=True,
        )
        owners.append(owner)
        assert owner.stdout is not None
        return owner, ServiceAddresses.model_validate_json(owner.stdout.readline())

    yield start
    for owner in owners:
        owner.kill()
        owner.wait()
        if owner.stdout is not None:
            owner.stdout.close()
