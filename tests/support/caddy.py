"""Runs a real Caddy with the deployed configuration in front of a test's gateway."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import pytest

from tests.support.until import until
from tongyao.runtime.local.server_process import free_port

CADDYFILE: Final = Path(__file__).parents[2] / "deploy" / "caddy" / "Caddyfile"


@asynccontextmanager
async def caddy_before(gateway: int, **settings: str) -> AsyncIterator[int]:
    """Run Caddy in front of this port of the loopback interface, and yield its own port. `settings`: variables of the
    Caddyfile.

    Without Caddy the test is skipped. If `CI` is set, it fails.
    """
    if shutil.which("caddy") is None:
        if os.environ.get("CI"):
            pytest.fail("caddy is not installed: .ci/run installs it")
        pytest.skip("caddy is not installed (Debian package `caddy`)")
    port = free_port()
    with tempfile.TemporaryDirectory() as home:
        variables = {
            "HOME": home,
            "XDG_DATA_HOME": home,
            "XDG_CONFIG_HOME": home,
            "HTTP_PORT": str(port),
            "HTTPS_PORT": str(free_port()),
            "SITE": f"http://:{port}",
            "GATEWAY": f"127.0.0.1:{gateway}",
            **settings,
        }
        running = await asyncio.create_subprocess_exec(
            "caddy", "run", "--config", str(CADDYFILE), "--adapter", "caddyfile",
            env={**os.environ, **variables}, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            await until(lambda: _accepts(port), "caddy listens")
            yield port
        finally:
            with suppress(ProcessLookupError):
                running.terminate()
            await running.wait()


def _accepts(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False
