"""Temporal's time-skipping test server (Java, from Maven Central): a week of deadlines passes in a moment.

Its limits: no ``list_workflows``, no Web UI. Use the real dev server for everything except deadlines.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest
from temporalio.api.testservice.v1 import SleepRequest
from temporalio.testing import WorkflowEnvironment

from tongyao.runtime.local.server_process import file_lock
from tongyao.runtime.local.temporal_binary import cache_directory
from tongyao.runtime.serve_worker import plugin
from tongyao.runtime.temporal.namespaces import INDEXED

START_TIMEOUT = timedelta(seconds=90)
"""The SDK's own 5 s are too short for Java on a busy machine."""

SKIP_TIMEOUT = timedelta(seconds=100)

POM = Path(__file__).with_name("time_skipping_pom.xml")


class TimeSkippingUnavailable(RuntimeError):
    """The server cannot be run here. The message states what must be installed."""


def ensure_wrapper() -> Path:
    """A program that runs the server on the port in its first argument. The jars are fetched once per machine.

    Raises:
        TimeSkippingUnavailable: ``java`` is missing, or the jars are missing and ``mvn`` cannot fetch them.
    """
    java = shutil.which("java")
    if java is None:
        raise TimeSkippingUnavailable("java is missing: install default-jre-headless (Debian) or any JRE >= 11")
    version = hashlib.sha256(POM.read_bytes()).hexdigest()[:12]
    target = cache_directory() / f"time-skipping-{version}"
    with file_lock(target.with_suffix(".lock")):
        if not target.exists():
            _fetch_jars(target)
        wrapper = target / "time-skipping-server"
        wrapper.write_text(
            "#!/bin/sh\n"
            f'exec "{java}" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "{target}/*" '
            'io.temporal.testserver.TestServer "$@"\n'
        )
        wrapper.chmod(0o755)
    return wrapper


def _fetch_jars(target: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise TimeSkippingUnavailable("mvn is missing: install maven, which fetches the time-skipping server")
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        done = subprocess.run(
            [maven, "-q", "-B", "-f", str(POM), "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:"
             "copy-dependencies", f"-DoutputDirectory={scratch}/jars"],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            cwd=scratch,
        )  # fmt: skip
        if done.returncode != 0:
            raise TimeSkippingUnavailable(f"mvn could not fetch the time-skipping server:\n{done.stdout[-2000:]}")
        os.rename(f"{scratch}/jars", target)


@asynccontextmanager
async def time_skipping_environment() -> AsyncIterator[WorkflowEnvironment]:
    """Run a time-skipping server with Tongyao's search attributes registered."""
    environment = await WorkflowEnvironment.start_time_skipping(
        test_server_existing_path=str(ensure_wrapper()),
        test_server_startup_timeout=START_TIMEOUT,
        plugins=[plugin()],
    )
    async with environment:
        await environment.client.operator_service.add_search_attributes(
            AddSearchAttributesRequest(namespace=environment.client.namespace, search_attributes=INDEXED)
        )
        yield environment


async def skip(environment: WorkflowEnvironment, time: timedelta) -> None:
    """Return when this time has passed on the server.

    The server answers when everything that was due then is done. On a busy machine this takes longer than the time-out
    of `environment.sleep`.
    """
    request = SleepRequest()
    request.duration.FromTimedelta(time)
    service = environment.client.test_service
    await service.unlock_time_skipping_with_sleep(request, timeout=SKIP_TIMEOUT)
