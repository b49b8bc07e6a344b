"""The Temporal dev server of one home, with a database file, so that processes survive a restart."""

from __future__ import annotations

import asyncio
import secrets
import time
from pathlib import Path

from temporalio.api.namespace.v1 import NamespaceConfig
from temporalio.api.workflowservice.v1 import UpdateNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError

from tongyao.runtime.errors import LocalServiceError
from tongyao.runtime.local.server_process import (
    ServerProcess,
    free_port,
    in_thread,
    listens,
    loopback_address,
    port_is_taken,
)
from tongyao.runtime.local.temporal_binary import ensure_binary
from tongyao.runtime.temporal.namespaces import register_search_attributes, retention

FAIRNESS = "matching.enableFairness=true"  # task queues use priorities and fairness keys
EAGER_ACTIVITIES = "system.enableActivityEagerExecution=true"  # a worker may at once run activities that it schedules
UI_PORTS_TRIED = 20
PORT_ATTEMPTS = 3  # another program may take a free port before the server binds it


class LocalTemporal:
    """The dev server of one home: database ``<home>/temporal.db``, log in ``<home>/logs/temporal.log``.

    `binary`: the `temporal` program; by default the one that `temporal_binary` finds. `port`: of the gRPC front end;
    None means any free port. `ui_port`: of the Web UI at 127.0.0.1. If it is None, the UI gets a random loopback
    address, because it has no login and accepts every host name. This address and its port are stored in
    `<home>/run/temporal-ui` and reused; if the port is taken, the next free port is used. `namespace`: created at the
    start if it is missing. `persistent`: False in tests, to keep everything in memory.
    """

    def __init__(
        self,
        home: Path,
        *,
        binary: Path | None = None,
        port: int | None = None,
        ui_port: int | None = None,
        namespace: str = "default",
        persistent: bool = True,
    ) -> None:
        self.home = home.expanduser().resolve()
        self.namespace = namespace
        self._binary = binary
        self._fixed_port, self._fixed_ui_port = port, ui_port
        self._persistent = persistent
        self._server: ServerProcess | None = None
        self.port = 0
        self.ui_port = 0
        self.ui_host = "127.0.0.1"

    @property
    def address(self) -> str:
        """``host:port`` of the front end."""
        return f"127.0.0.1:{self.port}"

    @property
    def ui_url(self) -> str:
        """Return the address of the Web UI for this namespace's workflows."""
        return f"http://{self.ui_host}:{self.ui_port}/namespaces/{self.namespace}/workflows"

    @property
    def pid(self) -> int | None:
        """The server's current pid, or None."""
        return None if self._server is None else self._server.pid

    async def start(self, timeout: float = 600.0) -> str:
        """Starts the server, registers the search attributes, and returns its address.

        The first start on a machine may take minutes if the server must be built. Raises `LocalServiceError` if there
        is no server program, a fixed port is taken, another process runs this server, or the server is not ready within
        `timeout` seconds after the build.
        """
        binary = await in_thread(ensure_binary, self.home, self._binary)
        for attempt in range(1, PORT_ATTEMPTS + 1):
            server = self._choose_ports(binary)
            self._server = server
            try:
                await in_thread(server.start)
                await self._wait_until_ready(server, time.monotonic() + timeout)
                server.is_ready()
                return self.address
            except BaseException as error:
                lost_a_port = server.exit_code is not None and "address already in use" in server.log_tail()
                await in_thread(self.stop)
                if not (lost_a_port and isinstance(error, LocalServiceError)) or attempt == PORT_ATTEMPTS:
                    raise
        raise AssertionError("unreachable")

    def stop(self) -> None:
        """Stops the server and waits for its end. Does nothing if it is not running."""
        server, self._server = self._server, None
        if server is not None:
            server.stop()

    def _choose_ports(self, binary: Path) -> ServerProcess:
        for port, setting in [
            (self._fixed_port, "TONGYAO_TEMPORAL_PORT"),
            (self._fixed_ui_port, "TONGYAO_TEMPORAL_UI_PORT"),
        ]:
            if port is not None and port_is_taken(port):
                raise LocalServiceError(
                    f"Port {port} ({setting}) is taken by another program. "
                    f"Stop that one, choose another port, or unset {setting} to have a free port chosen."
                )
        self.port = self._fixed_port or free_port()
        self.ui_host, self.ui_port = ("127.0.0.1", self._fixed_ui_port) if self._fixed_ui_port else self._kept_ui()
        command = [str(binary), "server", "start-dev", "--ip", "127.0.0.1", "--port", str(self.port)]
        command += [
            "--ui-ip",
            self.ui_host,
            "--ui-port",
            str(self.ui_port),
            "--log-level",
            "warn",
            "--namespace",
            self.namespace,
        ]
        # The HTTP API is limited to a random host name. Programs use gRPC, which web pages cannot use.
        no_http_api = f'frontend.httpAllowedHosts=["{secrets.token_hex(16)}.invalid"]'
        for setting in (EAGER_ACTIVITIES, FAIRNESS, no_http_api):
            command += ["--dynamic-config-value", setting]
        if self._persistent:
            command += ["--db-filename", str(self.home / "temporal.db")]
        return ServerProcess(
            name="The Temporal server",
            command=command,
            lock=self.home / "run" / "temporal.lock",
            log=self.home / "logs" / "temporal.log",
        )

    def _kept_ui(self) -> tuple[str, int]:
        """Returns the host and port of the Web UI, if possible those of the last start, so that bookmarks work."""
        kept = self.home / "run" / "temporal-ui"
        try:
            host, _, known = kept.read_text(encoding="utf-8").strip().partition(":")
            candidates = [port for port in range(int(known), int(known) + UI_PORTS_TRIED) if port < 65536]
        except (OSError, ValueError):
            host, candidates = loopback_address(), []
        port = next((candidate for candidate in candidates if not port_is_taken(candidate, host)), None)
        if port is None:
            host = loopback_address()
            port = free_port(host)
        if self._persistent:
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(f"{host}:{port}\n", encoding="utf-8")
        return host, port

    async def _wait_until_ready(self, server: ServerProcess, until: float) -> None:
        while True:
            try:
                client = await Client.connect(self.address, namespace=self.namespace)
                if not listens(server.pid, self.port):  # other users see the port in the command line and may bind it
                    raise RuntimeError("another program answers on its port")
                await register_search_attributes(client)
                await _keep_ended_workflows(client)
                return
            except (RPCError, RuntimeError) as error:  # the SDK raises these until the server listens
                server.still_starting(error, until)
                await asyncio.sleep(0.05)


async def _keep_ended_workflows(client: Client) -> None:
    await client.workflow_service.update_namespace(
        UpdateNamespaceRequest(
            namespace=client.namespace, config=NamespaceConfig(workflow_execution_retention_ttl=retention())
        )
    )
