"""Nobody else on the machine, and no web page, may reach the local servers by their host name, their HTTP or their files."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from tongyao.runtime.errors import LocalServiceError
from tongyao.runtime.local import postgres, temporal
from tongyao.runtime.local.postgres import LocalPostgres
from tongyao.runtime.local.server_process import free_port, make_private
from tongyao.runtime.local.temporal import LocalTemporal


def test_the_home_directory_is_closed_to_others(tmp_path: Path) -> None:
    for home in (tmp_path / "new" / "home", tmp_path / "open"):
        if home.name == "open":
            home.mkdir()
            home.chmod(0o750)
        make_private(home)
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
    if os.geteuid() == 0:
        home.chmod(0o777)
        make_private(home)
        assert stat.S_IMODE(home.stat().st_mode) == 0o701, "PostgreSQL, which does not run as root, may pass through"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root could change them")
def test_permissions_above_the_home_directory_stay_as_they_are(tmp_path: Path) -> None:
    above = tmp_path / "above"
    home = above / "home"
    home.mkdir(parents=True)
    above.chmod(0o700)
    with pytest.raises(LocalServiceError, match="cannot pass through"):
        postgres._open_the_way_to(home / "postgres", within=home)
    assert stat.S_IMODE(above.stat().st_mode) == 0o700


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the loopback network has one address")
def test_the_address_of_the_temporal_ui_cannot_be_guessed_by_a_web_page(temporal_server: LocalTemporal) -> None:
    assert temporal_server.ui_host.startswith("127.")
    assert temporal_server.ui_host != "127.0.0.1"
    assert httpx.get(temporal_server.ui_url).is_success
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{temporal_server.ui_port}/")


def test_the_http_api_of_temporal_answers_no_host_name(temporal_server: LocalTemporal) -> None:
    assert temporal_server.pid is not None
    listening = [
        one.laddr for one in psutil.Process(temporal_server.pid).net_connections("inet") if one.status == "LISTEN"
    ]
    assert len(listening) > 2
    answered = []
    for ip, port in listening:
        if port == temporal_server.ui_port:
            continue
        for host in ("localhost", f"127.0.0.1:{port}", "rebound.example", ""):
            try:
                answer = httpx.get(f"http://{ip}:{port}/api/v1/namespaces", headers={"Host": host}, timeout=2)
            except httpx.HTTPError:  # gRPC does not speak HTTP/1
                continue
            if "namespaces" in answer.text or answer.is_success:
                answered.append((port, host))
            elif answer.status_code == 403:
                assert "Host not allowed" in answer.text
    assert answered == []


async def test_who_sits_down_on_the_port_of_temporal_is_not_taken_for_it(
    temporal_server: LocalTemporal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody on the machine reads the port in the command line before the server listens there."""
    chosen = iter([temporal_server.port])

    def port(host: str = "127.0.0.1") -> int:
        return next(chosen, 0) or free_port(host) if host == "127.0.0.1" else free_port(host)

    monkeypatch.setattr(temporal, "free_port", port)
    server = LocalTemporal(tmp_path, persistent=False)
    try:
        assert await server.start() != temporal_server.address
    finally:
        server.stop()


def test_the_socket_of_postgresql_is_its_users_alone(postgres_server: LocalPostgres) -> None:
    socket = postgres_server.socket_directory / f".s.PGSQL.{postgres.PORT}"
    assert stat.S_IMODE(socket.stat().st_mode) == 0o700


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """What stands for /tmp: PostgreSQL's user passes through, also where it is another one."""
    directory = Path(tempfile.mkdtemp())
    directory.chmod(0o711)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(directory))
    yield directory
    shutil.rmtree(directory)


def far_home(shared: Path) -> LocalPostgres:
    """A server whose home's path is too long for a socket, so that the socket stands in `shared`."""
    home = shared / ("h" * 100)
    home.mkdir(mode=0o711)
    return LocalPostgres(home, durable=False)


@pytest.mark.parametrize("left", ["a link", "a file"])
def test_what_somebody_else_left_where_the_socket_goes_is_not_used(shared: Path, left: str) -> None:
    """The name of the directory in /tmp can be computed by anybody, and a link may lead to a directory that is ours."""
    server = far_home(shared)
    ours = shared / "ours"
    ours.mkdir(mode=0o755)
    before = ours.stat()
    if left == "a link":
        server.socket_directory.symlink_to(ours)
    else:
        server.socket_directory.write_text("")
    try:
        with pytest.raises((LocalServiceError, FileExistsError)):
            server.start()
    finally:
        server.stop()
    assert (ours.stat().st_uid, ours.stat().st_mode) == (before.st_uid, before.st_mode)
    assert list(ours.iterdir()) == []


def test_a_directory_of_the_socket_that_others_may_enter_is_closed(shared: Path) -> None:
    server = far_home(shared)
    server.socket_directory.mkdir(mode=0o777)
    try:
        server.start()
        assert stat.S_IMODE(server.socket_directory.stat().st_mode) == 0o700
    finally:
        server.stop()
