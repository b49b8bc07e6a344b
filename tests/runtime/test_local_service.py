"""The local service keeps what it was told, says why it cannot start, and never outlives its owner."""

from __future__ import annotations

import asyncio
import os
import pwd
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
import pytest
from temporalio.client import Client
from temporalio.service import RPCError

from tests.runtime.conftest import StartOwner
from tests.support.until import until
from tongyao.commands.doctor import CheckState, examine
from tongyao.records.migrate import migrate
from tongyao.runtime.errors import LocalServiceError
from tongyao.runtime.local.addresses import FILE, find_running
from tongyao.runtime.local.postgres import LocalPostgres
from tongyao.runtime.local.server_process import ServerProcess
from tongyao.runtime.local.service import LocalService
from tongyao.runtime.local.temporal import LocalTemporal
from tongyao.runtime.settings import Settings
from tongyao.runtime.temporal.namespaces import missing_search_attributes

STOP_SECONDS = 25  # the supervisor's grace before SIGKILL, and a little


def wait_until_gone(*pids: int | None) -> None:
    """Waits for the end of processes that are not our children; fails when one lives on."""
    processes = [psutil.Process(pid) for pid in pids if pid is not None and psutil.pid_exists(pid)]
    _, alive = psutil.wait_procs(processes, timeout=STOP_SECONDS)
    assert alive == []


async def test_a_second_start_finds_earlier_data_and_earlier_processes(home: Path) -> None:
    async with LocalService(Settings(home=home)) as first:
        with psycopg.connect(first.database_url) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
        client = await Client.connect(first.temporal_address)
        await client.start_workflow("Crystallization", id="kept", task_queue="nobody-listens")
    assert find_running(home) is None
    async with LocalService(Settings(home=home)) as second:
        with psycopg.connect(second.database_url) as connection:
            assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)
        client = await Client.connect(second.temporal_address)
        assert (await client.get_workflow_handle("kept").describe()).id == "kept"
        assert await missing_search_attributes(client) == []


@pytest.mark.slow
async def test_the_web_ui_keeps_its_address_and_gives_way_where_its_port_is_taken(home: Path) -> None:
    addresses = []
    for _ in range(2):
        temporal = LocalTemporal(home)
        await temporal.start()
        addresses.append((temporal.ui_host, temporal.ui_port))
        await asyncio.to_thread(temporal.stop)
    assert addresses[0] == addresses[1]
    host, port = addresses[0]
    with socket.socket() as other:
        other.bind((host, port))
        other.listen()
        temporal = LocalTemporal(home)
        await temporal.start()
        assert temporal.ui_host == host and temporal.ui_port > port
        await asyncio.to_thread(temporal.stop)


@pytest.mark.parametrize(
    "ending",
    [
        signal.SIGKILL,
        pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, marks=pytest.mark.slow),
    ],
)
def test_the_death_of_the_owner_ends_the_servers(start_owner: StartOwner, ending: signal.Signals) -> None:
    owner, service = start_owner()
    owner.send_signal(ending)
    owner.wait()
    wait_until_gone(service.postgres_pid, service.temporal_pid)


@pytest.mark.slow
async def test_after_a_crash_of_the_owner_the_next_start_finds_what_was_committed(
    home: Path, start_owner: StartOwner
) -> None:
    owner, service = start_owner()
    with psycopg.connect(service.database_url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    owner.kill()
    owner.wait()
    async with LocalService(Settings(home=home)) as again:
        with psycopg.connect(again.database_url) as connection:
            assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)


def test_the_death_of_the_supervisor_ends_the_server_too(home: Path) -> None:
    server = LocalPostgres(home, durable=False)
    server.start()
    postmaster = server.pid
    assert postmaster is not None
    supervisor = psutil.Process(postmaster).parent()
    assert supervisor is not None
    supervisor.kill()
    wait_until_gone(postmaster)
    server.stop()
    assert server.start()  # and the next start is not put off by what was left
    server.stop()


def test_a_lock_file_whose_pid_now_belongs_to_another_program_does_not_stop_postgres(home: Path) -> None:
    server = LocalPostgres(home, durable=False)
    server.start()
    lock = (server.data / "postmaster.pid").read_text()
    server.stop()
    stale = "\n".join([str(os.getpid()), *lock.split("\n")[1:]])
    (server.data / "postmaster.pid").write_text(stale)
    assert server.start()
    server.stop()


async def test_a_server_that_is_killed_comes_back_at_the_same_address_with_its_data(home: Path) -> None:
    server = LocalPostgres(home)
    url = server.start()
    killed = server.pid
    assert killed is not None
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    os.kill(killed, signal.SIGKILL)
    wait_until_gone(killed)

    def kept() -> tuple[int, ...] | None:
        with suppress(psycopg.OperationalError), psycopg.connect(url) as connection:
            return connection.execute("SELECT answer FROM kept").fetchone()
        return None

    assert await until(kept) == (42,)
    assert server.pid != killed
    server.stop()


@pytest.mark.slow
async def test_a_temporal_server_that_is_killed_comes_back_at_the_same_address_with_its_processes(
    home: Path,
) -> None:
    server = LocalTemporal(home)
    client = await Client.connect(await server.start())
    handle = await client.start_workflow("Crystallization", id="kept", task_queue="nobody-listens")
    killed = server.pid
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    wait_until_gone(killed)

    async def kept() -> str:
        with suppress(RPCError):
            return (await handle.describe()).id
        return ""

    assert await until(kept) == "kept"
    assert server.pid != killed
    await asyncio.to_thread(server.stop)


async def test_a_fixed_port_that_is_taken_is_named_with_its_setting(home: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(LocalServiceError, match=rf"Port {port} \(TONGYAO_TEMPORAL_PORT\) is taken"):
            await LocalTemporal(home, port=port).start()
        with pytest.raises(LocalServiceError, match=r"TONGYAO_TEMPORAL_UI_PORT\) is taken"):
            async with LocalService(Settings(home=home, temporal_ui_port=port)):
                raise AssertionError("it started")
    assert find_running(home) is None
    postgres = LocalPostgres(home)
    postgres.start()  # the half that did start was stopped again: nobody holds its lock
    postgres.stop()


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts PostgreSQL as another user")
def test_first_starts_at_once_as_root_share_the_user_that_one_of_them_adds() -> None:
    name = f"tongyao-{os.getpid()}"
    start = (
        f"from tongyao.runtime.local import postgres; postgres.SYSTEM_USER = {name!r}; print(postgres.server_user()[0])"
    )
    try:
        starts = [subprocess.Popen([sys.executable, "-c", start], stdout=subprocess.PIPE, text=True) for _ in range(6)]
        assert [one.communicate()[0].strip() for one in starts] == [str(pwd.getpwnam(name).pw_uid)] * 6
    finally:
        subprocess.run(["userdel", name], check=True)


@pytest.mark.slow
async def test_two_homes_run_side_by_side(home: Path) -> None:
    async with (
        LocalService(Settings(home=home / "a")) as one,
        LocalService(Settings(home=home / "b")) as other,
    ):
        assert one.temporal_address != other.temporal_address
        assert one.database_url != other.database_url
        running = find_running(home / "a")
        assert running is not None
        assert running.temporal_address == one.temporal_address


async def test_a_running_service_is_joined_and_left_running(home: Path, start_owner: StartOwner) -> None:
    _, service = start_owner()
    joining = LocalService(Settings(home=home))
    async with joining as joined:
        assert joining.joined
        assert joined == service
    assert find_running(home) == service
    assert (home / FILE).stat().st_mode & 0o777 == 0o600


async def test_the_doctor_names_the_engine_of_the_running_service(home: Path, start_owner: StartOwner) -> None:
    start_owner()
    same, other = (examine(Settings(home=home, engine=name)) for name in ("extractive", "delegated"))
    [service] = [row for row in same if row.subject == "Local service"]
    assert service.finding is CheckState.OK and service.found.endswith("engine extractive")
    [service] = [row for row in other if row.subject == "Local service"]
    assert service.finding is CheckState.ATTENTION and "the running service answers with extractive" in service.advice


@pytest.mark.slow
async def test_joining_with_the_address_of_another_server_is_refused(home: Path, start_owner: StartOwner) -> None:
    start_owner()
    with pytest.raises(LocalServiceError, match="another TEMPORAL_ADDRESS runs in"):
        async with LocalService(Settings(home=home, temporal_address="elsewhere:7233")):
            raise AssertionError("it joined")


@pytest.mark.slow
async def test_of_two_starts_at_once_in_one_home_the_second_joins_the_first(home: Path) -> None:
    first, second = LocalService(Settings(home=home)), LocalService(Settings(home=home))
    try:
        one, other = await asyncio.gather(first.__aenter__(), second.__aenter__())
        assert one == other
        assert sorted([first.joined, second.joined]) == [False, True]
    finally:
        await asyncio.gather(first.__aexit__(None, None, None), second.__aexit__(None, None, None))


@pytest.mark.slow
async def test_a_service_file_without_its_owner_is_not_a_running_service(home: Path, start_owner: StartOwner) -> None:
    owner, service = start_owner()
    owner.kill()
    owner.wait()
    assert (home / FILE).exists()
    assert find_running(home) is None
    wait_until_gone(service.postgres_pid, service.temporal_pid)


def test_a_server_that_cannot_start_is_reported_with_the_end_of_its_log(home: Path) -> None:
    server = LocalPostgres(home, durable=False)
    server.start()
    server.stop()
    (server.data / "postgresql.conf").write_text("no_such_setting = 1\n")
    with pytest.raises(LocalServiceError, match="no_such_setting"):
        server.start()


@pytest.mark.parametrize("log", ["logs/server.log", pytest.param("/dev/full", id="while the disk of its log is full")])
async def test_a_server_that_is_killed_often_comes_back_each_time(home: Path, log: str) -> None:
    server = ServerProcess(
        name="A server", command=["sleep", "1000"], lock=home / "run" / "server.lock", log=home / log
    )
    server.start()
    server.is_ready()
    try:
        killed: set[int] = set()

        def another() -> int | None:
            assert server.exit_code is None, "the supervisor has given up"
            return server.pid if server.pid not in killed else None

        for _ in range(5):
            pid = await until(another, "it has been started again")
            assert pid is not None
            killed.add(pid)
            os.kill(pid, signal.SIGKILL)
    finally:
        server.stop()


def test_one_server_has_one_supervisor(home: Path) -> None:
    def sleeper() -> ServerProcess:
        return ServerProcess("Sleep", ["sleep", "60"], lock=home / "run" / "x.lock", log=home / "logs" / "x.log")

    first = sleeper()
    first.start()
    with pytest.raises(LocalServiceError, match="already run by another process"):
        sleeper().start(lock_wait=0)
    first.stop()
    second = sleeper()
    second.start(lock_wait=0)
    second.stop()


def test_variables_meant_for_another_postgres_do_not_touch_ours(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "PGPORT": "6543",
        "PGDATA": "/nowhere",
        "PGUSER": "else",
        "PGHOST": "elsewhere",
    }.items():
        monkeypatch.setenv(name, value)
    server = LocalPostgres(home, durable=False)
    url = server.start()
    assert migrate(url)
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("postgres",)
    server.stop()


def test_a_long_path_to_the_home_is_no_obstacle(home: Path) -> None:
    server = LocalPostgres(home / ("long-" * 20), durable=False)
    with psycopg.connect(server.start()) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    server.stop()
