"""Workers on the servers that the environment names to the commands."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from temporalio.client import Client

from tests.support.scripted import Script, ScriptedEngine
from tests.support.stack import Stack, open_stack
from tongyao.records.privacy.keys import Keyring
from tongyao.runtime.serve_worker import plugin
from tongyao.runtime.temporal.payload_codec import PayloadEncryption

MASTER_KEY = base64.b64encode(b"k" * 32).decode()


async def encrypting(temporal: Client) -> Client:
    """A client for workers that read what commands encrypt with `MASTER_KEY`."""
    codec = PayloadEncryption(Keyring.read(MASTER_KEY))
    return await Client.connect(temporal.service_client.config.target_host, plugins=[plugin(codec)])


@pytest.fixture
def named_database(temporal: Client, fresh_database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The environment names these servers, a home and the master key to commands; returns the address of the database."""
    monkeypatch.setenv("DATABASE_URL", fresh_database_url)
    monkeypatch.setenv("TEMPORAL_ADDRESS", temporal.service_client.config.target_host)
    monkeypatch.setenv("TONGYAO_HOME", str(tmp_path))
    monkeypatch.setenv("TONGYAO_MASTER_KEY", MASTER_KEY)
    return fresh_database_url


@asynccontextmanager
async def working(temporal: Client, database_url: str, engine: ScriptedEngine) -> AsyncIterator[Stack]:
    """Workers whose models `engine` answers for, on the servers that the commands are named."""
    async with open_stack(await encrypting(temporal), database_url, engine, keys=Keyring.read(MASTER_KEY)) as here:
        yield here


@pytest.fixture
async def stack(temporal: Client, named_database: str) -> AsyncIterator[Stack]:
    async with working(temporal, named_database, ScriptedEngine(Script())) as here:
        yield here
