"""`healthy`: whether the process beside this one is ready; what a container's health check runs."""

from __future__ import annotations

import httpx
import typer

from tongyao.commands.common import EXIT_BAD_INPUT, EXIT_UNREACHABLE, fail, settings

TIMEOUT_SECONDS = 4.0


def add_to(app: typer.Typer) -> None:
    app.command()(healthy)


def healthy() -> None:
    """Ask the worker or gateway of this machine (TONGYAO_METRICS_PORT) whether it is ready: exit code 0, else 3."""
    port = settings().metrics_port
    if port is None:
        fail("set TONGYAO_METRICS_PORT: without it nothing answers for its health", EXIT_BAD_INPUT)
    try:
        answer = httpx.get(f"http://127.0.0.1:{port}/ready", timeout=TIMEOUT_SECONDS, trust_env=False)
    except httpx.HTTPError as error:
        fail(f"nothing answers on port {port}: {type(error).__name__}", EXIT_UNREACHABLE)
    if answer.status_code != httpx.codes.OK:
        fail(answer.text.strip(), EXIT_UNREACHABLE)
    typer.echo(answer.text.strip())
