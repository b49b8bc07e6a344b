"""The deployment, run: the commands of docker-compose.yml on a real Temporal server over PostgreSQL that is killed.

Slow: the first run on a machine builds the Temporal server from its Go module, which takes minutes.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psycopg
import pytest
from temporalio.client import Client

from tests.deploy.compose import read_compose
from tests.deploy.real_server import REPOSITORY, Deployment, deployed
from tests.support.stack import Stack
from tests.support.until import until
from tongyao.app.context import AppContext
from tongyao.protocol.model.process import Choice, Phase
from tongyao.protocol.model.projection import EndpointKind
from tongyao.records.database import open_pool
from tongyao.records.privacy.keys import Keyring
from tongyao.records.repositories import Repositories
from tongyao.runtime.local.postgres import binaries
from tongyao.runtime.local.server_process import free_port
from tongyao.runtime.serve_worker import plugin
from tongyao.runtime.temporal.payload_codec import PayloadEncryption

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

SERVED_SECONDS = 240
PROFILES = {
    "ada": "I repair tide gauges in four harbours. I can offer ten years of readings to whoever needs them. "
    "I will not travel in winter. I want to learn how boats are scheduled around the tide.",
    "bo": "I write timetables for a bus company. I can offer two evenings a week for a pilot. "
    "I do not work without written agreements. I want to move from buses to ferries.",
}


class Parts:
    """The services of docker-compose.yml as processes of this machine: their commands, their environments."""

    def __init__(self, deployment: Deployment) -> None:
        self._services = read_compose()["services"]
        self._deployment = deployment
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.metrics_ports: dict[str, int] = {}

    def run(self, name: str) -> None:
        """A job: to its end."""
        subprocess.run(self._command(name), env=self._environment(name), cwd=REPOSITORY, check=True, timeout=120)

    def start(self, name: str) -> None:
        with (self._deployment.home / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(
                self._command(name),
                env=self._environment(name),
                cwd=REPOSITORY,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )

    async def until_healthy(self, name: str) -> None:
        """Return when the container's own health check passes."""
        command = self._translated(self._services[name]["healthcheck"]["test"][1:])
        environment = self._environment(name)

        def healthy() -> bool:
            return not subprocess.run(command, env=environment, capture_output=True).returncode

        try:
            await until(healthy, seconds=SERVED_SECONDS)
        except AssertionError:
            raise AssertionError(f"{name}: {self.log(name)[-3_000:]}") from None

    def stop(self) -> None:
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            process.wait(40)

    def log(self, name: str) -> str:
        return (self._deployment.home / f"{name}.log").read_text()

    def _command(self, name: str) -> list[str]:
        return self._translated(self._services[name]["command"])

    def _translated(self, command: list[str]) -> list[str]:
        """What stands in the image, where it is on this machine: the interpreter, the command, the worker's file."""
        here = {
            "python": sys.executable,
            "tongyao": str(Path(sys.executable).parent / "tongyao"),
            "/opt/tongyao/worker.py": str(REPOSITORY / "worker.py"),
        }
        return [here.get(word, word) for word in command]

    def _environment(self, name: str) -> dict[str, str]:
        """As in the file; only the addresses are those of this machine, where one port is not enough for all."""
        port = self.metrics_ports.setdefault(name, free_port())
        secrets = self._deployment.home / "secrets"
        (secrets / "database_url").chmod(0o644)
        (secrets / "database_url").write_text(self._deployment.database_url)
        given = {
            variable: value.replace("/run/secrets", str(secrets))
            for variable, value in self._services[name]["environment"].items()
        }
        here = {
            "TEMPORAL_ADDRESS": self._deployment.address,
            "TONGYAO_METRICS_PORT": str(port),
            "TONGYAO_METRICS_HOST": "127.0.0.1",
            "TONGYAO_HOME": str(self._deployment.home / name),
            "PYTHONPATH": str(REPOSITORY),
        }
        if "TONGYAO_GATEWAY_PORT" in given:
            here |= {"TONGYAO_GATEWAY_PORT": str(free_port()), "TONGYAO_GATEWAY_HOST": "127.0.0.1"}
        return {**os.environ, **given, **here}


@contextmanager
def home() -> Iterator[Path]:
    """Short enough for sockets, and for the server's user to enter."""
    with tempfile.TemporaryDirectory(prefix="tongyao-d-", ignore_cleanup_errors=True) as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


@pytest.fixture(scope="module")
async def deployment() -> AsyncIterator[Deployment]:
    with home() as directory, deployed(directory) as made:
        made.start()
        await made.connected()
        yield made


@pytest.fixture(scope="module")
async def parts(deployment: Deployment) -> AsyncIterator[Parts]:
    made = Parts(deployment)
    made.run("prepare")
    for name in ("process-worker", "model-worker", "gateway"):
        made.start(name)
    try:
        for name in ("process-worker", "model-worker", "gateway"):
            await made.until_healthy(name)
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="module")
async def stack(deployment: Deployment, parts: Parts) -> AsyncIterator[Stack]:
    keys = Keyring.read((deployment.home / "secrets" / "master_key").read_text())
    pool = await open_pool(deployment.database_url, keys=keys)
    client = await Client.connect(deployment.address, namespace="tongyao", plugins=[plugin(PayloadEncryption(keys))])
    yield Stack(AppContext(Repositories(pool), client))
    await pool.close()


def test_bringing_the_schema_up_again_changes_nothing(deployment: Deployment) -> None:
    deployment.schema()


def test_each_role_enters_its_own_databases_only(deployment: Deployment) -> None:
    psycopg.connect(deployment.database_url).close()
    psycopg.connect(deployment.url_of("temporal", "temporal")).close()
    for role, database in (("tongyao", "temporal"), ("tongyao", "temporal_visibility"), ("temporal", "tongyao")):
        with pytest.raises(psycopg.OperationalError, match="permission denied"):
            psycopg.connect(deployment.url_of(role, database))


async def test_a_process_goes_on_after_the_server_is_killed(deployment: Deployment, parts: Parts, stack: Stack) -> None:
    """One proxy, one person: killed while it waits for the person, and again on its way to the plan."""
    people = await stack.people(PROFILES)
    choices = [Choice(profile_id=people[0]), Choice(profile_id=people[1], endpoint=EndpointKind.HUMAN)]
    process_id = await stack.start(choices, auto_confirm=True, max_rounds=2, deciding_seconds=1, correcting_seconds=0)

    async def only_the_person_is_waited_for() -> bool:
        asks = await stack.repositories.inbox.of_process(process_id, open_only=True)
        return [ask.ask for ask in asks] == ["projection"]

    await until(only_the_person_is_waited_for)
    deployment.kill()
    deployment.start()
    await deployment.connected()

    await stack.answer_all(process_id, seconds=240)
    record = await stack.repositories.record(process_id)
    assert record.phase is Phase.COMPLETED
    assert record.plans and record.deliveries


async def test_the_temporal_ui_finds_it_by_the_search_attributes(stack: Stack) -> None:
    """Visibility is written a moment after the workflow: the query is asked until it knows."""
    completed = "TongyaoPhase = 'completed' AND TongyaoWaiting = false"
    await until(lambda: found(stack.client, completed), "it is found by its phase")
    assert await found(stack.client, "TongyaoSuspended IS NOT NULL") == 0


async def found(client: Client, query: str) -> int:
    return (await client.count_workflows(query)).count


async def test_one_port_tells_how_each_part_and_the_whole_stand(parts: Parts, stack: Stack) -> None:
    """After the process above: turns and steps in the worker that did them, the whole at the gateway."""
    async with httpx.AsyncClient(trust_env=False) as client:

        async def metrics(name: str) -> str:
            return (await client.get(f"http://127.0.0.1:{parts.metrics_ports[name]}/metrics")).text

        models, gateway, process = (
            await metrics("model-worker"),
            await metrics("gateway"),
            await metrics("process-worker"),
        )
    assert re.search(r'tongyao_turns_total\{author="proxy",outcome="\w+"\} [1-9]', models)
    assert re.search(r'tongyao_model_calls_total\{end="answered",.*step="plan"\} 1', models)
    assert re.search(r'tongyao_model_call_seconds_count\{.*step="observe"\} [1-9]', models)
    assert 'tongyao_open_processes{phase="crystallizing"} 0.0' in gateway
    assert "tongyao_undelivered_messages 0.0" in gateway
    assert "temporal_workflow_completed" in process and "temporal_activity_execution_latency" in models


def test_logs_are_json_with_the_process_and_without_a_word_of_anybody(parts: Parts) -> None:
    for name in ("process-worker", "model-worker", "gateway"):
        for line in parts.log(name).splitlines():
            assert json.loads(line)["level"], line
        said = parts.log(name)
        for profile in PROFILES.values():
            assert not [
                sentence for sentence in re.split(r"[.。\n]", profile) if len(sentence) > 30 and sentence in said
            ]


async def test_both_databases_come_back_from_a_backup(deployment: Deployment, stack: Stack, parts: Parts) -> None:
    """The commands of docs/operations.md §7, into databases of another name."""
    before = await stack.repositories.processes.list(limit=10)
    texts = len((await stack.repositories.record(before.rows[0].id)).intent)
    for database, role in (("tongyao", "tongyao"), ("temporal", "temporal"), ("temporal_visibility", "temporal")):
        await asyncio.to_thread(back_up_and_restore, deployment, database, role)

    pool = await open_pool(
        deployment.url_of("tongyao", "tongyao_restored"),
        keys=Keyring.read((deployment.home / "secrets" / "master_key").read_text()),
    )
    try:
        repositories = Repositories(pool)
        after = await repositories.processes.list(limit=10)
        assert after == before
        assert len((await repositories.record(after.rows[0].id)).intent) == texts
    finally:
        await pool.close()
    counted = "SELECT count(*) FROM executions"
    assert deployment.count("temporal_restored", counted) == deployment.count("temporal", counted) > 0


def back_up_and_restore(deployment: Deployment, database: str, role: str) -> None:
    dump, target = str(deployment.home / f"{database}.dump"), f"{database}_restored"
    backup = ["--format=custom", "--no-owner", "--exclude-extension=vector", "--file", dump]
    subprocess.run([str(binaries() / "pg_dump"), *backup, deployment.url_of(role, database)], check=True)
    deployment.make_database(target, role)
    if database == "tongyao":
        deployment.make_extension(target, "vector")
    restore = ["--no-owner", "--no-comments", "--exit-on-error", "--dbname", deployment.url_of(role, target), dump]
    subprocess.run([str(binaries() / "pg_restore"), *restore], check=True)
