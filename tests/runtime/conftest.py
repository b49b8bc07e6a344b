"""Homes for servers, and processes that own them and can be killed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tongyao.runtime.local.addresses import ServiceAddresses

REPOSITORY = Path(__file__).parents[2]
StartOwner = Callable[[], tuple["subprocess.Popen[str]", ServiceAddresses]]


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
