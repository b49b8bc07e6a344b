"""`tongyao doctor --deployment` on a running deployment: healthy, and with one thing broken at a time."""

from __future__ import annotations

import base64
import uuid
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.client import Client

from tests.commands.command_line import tongyao
from tests.commands.conftest import MASTER_KEY
from tests.support.messages_api.server import MessagesServer
from tests.support.openid_provider import openid_provider
from tests.support.scripted import Script, ScriptedEngine
from tests.support.stack import Stack, open_stack
from tests.support.until import until
from tongyao.app.operators.schedules import ensure_schedules
from tongyao.commands.doctor import CheckRow, CheckState, examine_deployment, is_well
from tongyao.protocol.contracts.maintenance import Duty
from tongyao.records.database import session
from tongyao.records.maintenance import DutyLog
from tongyao.records.privacy.keys import Keyring
from tongyao.records.privacy.master_keys import register_master_key
from tongyao.runtime.serve_worker import plugin
from tongyao.runtime.settings import MaintenanceSettings, Settings
from tongyao.runtime.temporal.build import build_id
from tongyao.runtime.temporal.namespaces import ensure_namespace, register_search_attributes
from tongyao.runtime.temporal.payload_codec import PayloadEncryption


@pytest.fixture
async def client(temporal: Client) -> AsyncIterator[Client]:
    """Of a namespace of its own: the server remembers for a while who polled."""
    client = await Client.connect(
        temporal.service_client.config.target_host,
        namespace=f"doctor-{uuid.uuid4().hex[:8]}",
        plugins=[plugin(PayloadEncryption(Keyring.read(MASTER_KEY)))],
    )
    await ensure_namespace(client)
    await register_search_attributes(client)
    await ensure_schedules(client, MaintenanceSettings().every)
    yield client
    await ensure_schedules(client, {})


@pytest.fixture
async def stack(client: Client, fresh_database_url: str) -> AsyncIterator[Stack]:
    keys = Keyring.read(MASTER_KEY)
    async with open_stack(client, fresh_database_url, ScriptedEngine(Script()), keys=keys) as here:
        await register_master_key(here.repositories.pool, keys)
        yield here


@pytest.fixture
def settings(client: Client, fresh_database_url: str, tmp_path: Path) -> Settings:
    return Settings(
        home=tmp_path,
        database_url=fresh_database_url,
        temporal_address=client.service_client.config.target_host,
        temporal_namespace=client.namespace,
        master_key=MASTER_KEY,
    )


def changed(settings: Settings, **fields: object) -> Settings:
    return Settings.model_validate(settings.model_dump() | fields)


def by_subject(rows: list[CheckRow]) -> dict[str, CheckRow]:
    return {row.subject: row for row in rows}


def failed(rows: list[CheckRow]) -> set[str]:
    return {row.subject for row in rows if row.finding is CheckState.FAILED}


async def polled(here: Stack, settings: Settings) -> list[CheckRow]:
    """The report once Temporal knows of the workers."""
    rows: list[CheckRow] = []

    async def known() -> bool:
        rows[:] = await examine_deployment(settings)
        return not any(subject.startswith("Role ") for subject in failed(rows))

    await until(known)
    return rows


async def test_a_healthy_deployment_has_nothing_to_mend(stack: Stack, settings: Settings) -> None:
    for duty in Duty:
        await DutyLog(stack.repositories.pool).succeeded(duty, {"started": 2})
    rows = await polled(stack, settings)
    found = by_subject(rows)
    assert failed(rows) == set() and is_well(rows)
    assert build_id() in found["Role models"].found
    assert "ended processes kept 90 days" in found["Temporal"].found
    assert "not versioned" in found["Versions"].found
    assert found["Search attributes"].found == "all are registered"
    assert "started 2" in found["Duty sweep"].found
    assert Keyring.read(MASTER_KEY).active in found["Master keys"].found
    assert "every 5 min" in found["Schedule sweep"].found


async def test_the_command_prints_lines_without_secrets_and_fails_where_something_is_to_be_mended(
    stack: Stack, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert settings.database_url is not None
    for name, value in {
        "DATABASE_URL": settings.database_url.get_secret_value(),
        "TEMPORAL_ADDRESS": settings.temporal_address or "",
        "TEMPORAL_NAMESPACE": settings.temporal_namespace,
        "TONGYAO_MASTER_KEY": MASTER_KEY,
        "TONGYAO_HOME": str(settings.home),
    }.items():
        monkeypatch.setenv(name, value)
    await polled(stack, settings)
    well = await tongyao("doctor", "--deployment")
    assert well.exit_code == 0, well.output
    monkeypatch.setenv("TONGYAO_MAINTENANCE__BACKUP_HOURS", "1")
    broken = await tongyao("doctor", "--deployment")
    assert broken.exit_code == 1
    assert broken.stdout.splitlines()[0].split() == "failed Backup no backup was noted; expected every 1 h".split()
    for secret in (MASTER_KEY, settings.database_url.get_secret_value()):
        assert secret not in broken.stdout


async def test_of_servers_that_are_away_the_other_is_still_looked_at(stack: Stack, settings: Settings) -> None:
    nowhere = await examine_deployment(changed(settings, temporal_address="127.0.0.1:1"))
    assert "Temporal" in failed(nowhere) and by_subject(nowhere)["Schema"].finding is CheckState.OK
    url = "postgresql://nobody:swordfish@127.0.0.1:1/nothing"
    without = await examine_deployment(changed(settings, database_url=url))
    assert "Database" in failed(without) and by_subject(without)["Search attributes"].finding is CheckState.OK
    assert not any("swordfish" in f"{row.found} {row.advice}" for row in without)


async def test_an_openid_provider_is_asked_for_its_document(stack: Stack, settings: Settings) -> None:
    assert "OpenID provider" not in by_subject(await examine_deployment(settings))
    async with openid_provider() as provider:
        named = changed(settings, openid_issuer=provider.url, openid_client_id="us")
        assert by_subject(await examine_deployment(named))["OpenID provider"].finding is CheckState.OK
        provider.document["jwks_uri"] = "https://keys.example/keys"
        row = by_subject(await examine_deployment(named))["OpenID provider"]
        assert row.finding is CheckState.FAILED and "TONGYAO_OPENID_HOSTS" in row.found


async def test_a_migration_that_is_missing_is_named(stack: Stack, settings: Settings) -> None:
    async with session(stack.repositories.pool) as connection:
        await connection.execute("DELETE FROM _yoyo_migration WHERE migration_id = '0006_maintenance'")
    rows = await examine_deployment(settings)
    assert "0006_maintenance" in by_subject(rows)["Schema"].found and "Schema" in failed(rows)


async def test_a_namespace_without_search_attributes_and_schedules(stack: Stack, settings: Settings) -> None:
    bare = await Client.connect(settings.temporal_address or "", namespace=f"bare-{uuid.uuid4().hex[:8]}")
    await ensure_namespace(bare)
    rows = await examine_deployment(changed(settings, temporal_namespace=bare.namespace))
    assert {"Search attributes", "Schedule sweep", "Role process", "Role models", "Role field"} <= failed(rows)
    assert by_subject(rows)["Role models"].advice == "start a worker with `python worker.py models`"


async def test_a_duty_that_fails_or_is_overdue(stack: Stack, settings: Settings) -> None:
    log = DutyLog(stack.repositories.pool)
    await log.succeeded(Duty.SWEEP, {})
    await log.failed(Duty.RECONCILE, "DatabaseUnreachable")
    async with session(stack.repositories.pool) as connection:
        await connection.execute(
            "UPDATE duties SET succeeded_at = now() - %s WHERE duty = 'sweep'", [timedelta(hours=1)]
        )
    found = by_subject(await examine_deployment(settings))
    assert found["Duty sweep"].finding is CheckState.FAILED and "overdue" in found["Duty sweep"].found
    assert (
        found["Duty reconcile"].finding is CheckState.FAILED and "DatabaseUnreachable" in found["Duty reconcile"].found
    )
    assert found["Duty erasures"].finding is CheckState.ATTENTION, "it may not have been its turn yet"


async def test_a_master_key_that_is_not_the_databases(stack: Stack, settings: Settings, tmp_path: Path) -> None:
    other = base64.b64encode(b"x" * 32).decode()
    assert "Master keys" in failed(await examine_deployment(changed(settings, master_key=other)))
    nothing = await examine_deployment(changed(settings, master_key=None))
    assert "Master keys" in failed(nothing)
    assert not list(tmp_path.glob("master.key")), "it made none"


async def test_a_model_server_is_asked_nothing_that_costs(stack: Stack, settings: Settings) -> None:
    with MessagesServer() as server:
        there = changed(settings, engine="anthropic", anthropic_api_key="any", anthropic_base_url=server.base_url)
        rows = await examine_deployment(there)
        assert by_subject(rows)["Model"].finding is CheckState.OK
        assert server.served == [], "no message was asked for"
    away = changed(settings, engine="anthropic", anthropic_api_key="any", anthropic_base_url="http://127.0.0.1:1")
    assert "Model" in failed(await examine_deployment(away))


async def test_an_engine_of_ones_own_that_cannot_be_made_is_told(stack: Stack, settings: Settings) -> None:
    rows = by_subject(await examine_deployment(changed(settings, engine="collections:OrderedDict")))
    assert rows["Engine"].finding is CheckState.MISSING and "which is no Engine" in rows["Engine"].advice
