"""How a running deployment stands: `tongyao doctor --deployment`. It changes nothing, asks no model anything, and prints no secret."""

from __future__ import annotations

import base64
import secrets
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, TypeVar

from pydantic import SecretStr
from temporalio.api.workflowservice.v1 import (
    DescribeNamespaceRequest,
    DescribeWorkerDeploymentRequest,
    GetSystemInfoRequest,
)
from temporalio.service import RPCError, RPCStatusCode

from tongyao.app.operators.roles import RoleState, read_roles
from tongyao.app.operators.schedules import ScheduleLine, read_schedules
from tongyao.protocol.contracts.maintenance import Duty
from tongyao.records import migrate
from tongyao.records.backlog import read_backlog
from tongyao.records.database import Pool, open_pool, session
from tongyao.records.maintenance import Backups, DutyLog
from tongyao.records.privacy import master_keys
from tongyao.runtime.doctor import Finding, Row
from tongyao.runtime.local.addresses import find_running
from tongyao.runtime.master_key import key_file, keyring
from tongyao.runtime.settings import Settings, SettingsError
from tongyao.runtime.temporal.build import build_id
from tongyao.runtime.temporal.connection import connect
from tongyao.runtime.temporal.search_attributes import missing_search_attributes
from tongyao.runtime.temporal.workers import DEPLOYMENT

if TYPE_CHECKING:
    from temporalio.client import Client

SKEW_SECONDS: Final = 2.0
"""Deadlines are in Temporal's time, tokens and leases in the database's: more than this between two clocks is worth mending."""
RETENTION_DAYS: Final = 30
WAITING_SECONDS: Final = 900.0
"""As the gateway's `most_backlog_seconds` by default: then no process is started any more."""
UNDELIVERED_SECONDS: Final = 60.0
DISK_FREE: Final = 0.1
"""Share of a disk that should be free."""
OVERDUE: Final = 3
"""Intervals after which a duty that has not succeeded is overdue."""

Check = Callable[[], AsyncIterator[Row]]
T = TypeVar("T")


async def examine_deployment(settings: Settings) -> list[Row]:
    """The report on the servers that the settings name, or on the service of this home. Each check stands for itself."""
    running = find_running(settings.home)
    database_url = settings.database_url.get_secret_value() if settings.database_url else ""
    database_url = database_url or (running.database_url if running else "")
    address = settings.temporal_address or (running.temporal_address if running else None)
    rows = [Row("This build", Finding.OK, build_id())]
    async with AsyncExitStack() as stack:
        pool = await _opened(rows, "Database", _pool(database_url), "Is it running? Check DATABASE_URL.")
        if pool is not None:
            stack.push_async_callback(pool.close)
        client = await _opened(
            rows, "Temporal", connect(_with_a_key(settings), address=address), "See docs/temporal.md §1."
        )
        checks: list[tuple[str, Check]] = [
            ("Disk", lambda: _disk(settings)),
            ("Model", lambda: _model(settings)),
        ]
        if pool is not None:
            checks += [
                ("Database", lambda: _database(pool)),
                ("Schema", lambda: _schema(pool)),
                ("Clocks", lambda: _clocks(pool)),
                ("Master keys", lambda: _keys(settings, pool)),
                ("Backlog", lambda: _backlog(pool)),
                ("Backup", lambda: _backup(settings, pool)),
                ("Duties", lambda: _duties(settings, pool)),
            ]
        if client is not None:
            checks += [
                ("Temporal", lambda: _temporal(client)),
                ("Search attributes", lambda: _search_attributes(client)),
                ("Workers", lambda: _roles(client)),
                ("Versions", lambda: versions_row(client)),
                ("Schedules", lambda: _schedules(settings, client)),
            ]
        for subject, check in checks:
            try:
                rows += [row async for row in check()]
            except (
                Exception
            ) as error:  # whatever it is, the other checks go on; its message may hold an address with a password
                rows.append(Row(subject, Finding.FAILED, f"could not be looked at: {type(error).__name__}"))
    return rows


async def _opened(rows: list[Row], subject: str, opening: Awaitable[T], advice: str) -> T | None:
    try:
        return await opening
    except Exception as error:
        rows.append(Row(subject, Finding.FAILED, f"not reached: {type(error).__name__}", advice))
        return None


def _with_a_key(settings: Settings) -> Settings:
    """Settings for a connection that decrypts nothing: where no master key is here, none is made in the home."""
    if settings.master_key is not None or key_file(settings).exists():
        return settings
    return settings.model_copy(update={"master_key": SecretStr(base64.b64encode(secrets.token_bytes(32)).decode())})


async def _pool(url: str) -> Pool:
    if not url:
        raise SettingsError("no database is named")
    return await open_pool(url, max_size=2, application_name="tongyao-doctor")


async def _database(pool: Pool) -> AsyncIterator[Row]:
    async with session(pool) as connection:
        cursor = await connection.execute(
            """SELECT current_setting('server_version') AS version, pg_database_size(current_database()) AS size,
                      (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS used,
                      current_setting('max_connections')::int AS most"""
        )
        found = await cursor.fetchone()
    assert found is not None
    text = (
        f"PostgreSQL {found['version']}, {found['size'] / 1e6:,.0f} MB, {found['used']} of {found['most']} connections"
    )
    if found["used"] > 0.9 * found["most"]:
        yield Row("Database", Finding.ATTENTION, text, "Raise max_connections, or lower TONGYAO_DATABASE_POOL.")
    else:
        yield Row("Database", Finding.OK, text)


async def _schema(pool: Pool) -> AsyncIterator[Row]:
    applied, known = await migrate.applied(pool), migrate.names()
    pending, ahead = sorted(known - applied), sorted(applied - known)
    if pending:
        yield Row("Schema", Finding.FAILED, f"not applied: {', '.join(pending)}", "Run `tongyao prepare`.")
    elif ahead:
        yield Row(
            "Schema", Finding.ATTENTION, f"this build does not know {', '.join(ahead)}", "A newer build was here."
        )
    else:
        yield Row("Schema", Finding.OK, f"{len(applied)} migrations, up to date")


async def _clocks(pool: Pool) -> AsyncIterator[Row]:
    before = datetime.now(UTC)
    async with session(pool) as connection:
        cursor = await connection.execute("SELECT clock_timestamp() AS now")
        found = await cursor.fetchone()
    after = datetime.now(UTC)
    assert found is not None
    apart = abs((found["now"] - (before + (after - before) / 2)).total_seconds())
    known_to = (after - before).total_seconds() / 2
    text = f"the database's is {apart:.2f} s from this machine's (known to {known_to:.2f} s)"
    if apart - known_to > SKEW_SECONDS:
        yield Row(
            "Clocks", Finding.FAILED, text, "Set both by NTP: deadlines and leases end at other times than is said."
        )
    else:
        yield Row("Clocks", Finding.OK, text)


async def _keys(settings: Settings, pool: Pool) -> AsyncIterator[Row]:
    encrypts = "Temporal's payloads are encrypted" if settings.temporal_encryption else "Temporal's payloads are plain"
    if settings.master_key is None and not key_file(settings).exists():
        yield Row("Master keys", Finding.FAILED, "none is here", "Give TONGYAO_MASTER_KEY_FILE as the workers have it.")
        return
    keys = keyring(settings)
    async with session(pool) as connection:
        cursor = await connection.execute("SELECT id FROM master_keys ORDER BY first_used, id")
        known = [row["id"] for row in await cursor.fetchall()]
    uses = await master_keys.uses(pool, keys)
    text = ", ".join(f"{one.id} ({one.data_keys} data keys)" for one in uses) + f"; {encrypts}"
    wrapping = [one for one in known if one not in keys.ids]
    if known and not set(known) & set(keys.ids):
        yield Row("Master keys", Finding.FAILED, f"{text}; the database's is {', '.join(known)}", "Give that key.")
    elif wrapping:
        yield Row("Master keys", Finding.ATTENTION, f"{text}; not here: {', '.join(wrapping)}", "`tongyao keys show`")
    elif not settings.temporal_encryption:
        yield Row("Master keys", Finding.ATTENTION, text, "Unset TONGYAO_TEMPORAL_ENCRYPTION (docs/temporal.md §2).")
    else:
        yield Row("Master keys", Finding.OK, text)


async def _backlog(pool: Pool) -> AsyncIterator[Row]:
    found = await read_backlog(pool)
    text = f"{sum(found.phases.values())} open processes, {found.undelivered} undelivered messages"
    if found.undelivered:
        text += f", the oldest {found.oldest_undelivered:.0f} s"
    if found.set_aside:
        yield Row(
            "Messages",
            Finding.FAILED,
            f"{text}, {found.set_aside} set aside",
            "operations.md §10, TongyaoMessageSetAside",
        )
    elif found.oldest_undelivered > UNDELIVERED_SECONDS:
        yield Row("Messages", Finding.FAILED, text, "operations.md §10, TongyaoMessagesNotDelivered")
    else:
        yield Row("Messages", Finding.OK, text)
    if found.suspended:
        causes = ", ".join(f"{cause} {count}" for cause, count in sorted(found.suspended.items()))
        yield Row("Suspended", Finding.ATTENTION, causes, "`tongyao list --suspended`, `tongyao why ID`")


async def _backup(settings: Settings, pool: Pool) -> AsyncIterator[Row]:
    last, most = await Backups(pool).last(), settings.maintenance.most_backup_age
    expected = f"expected every {settings.maintenance.backup_hours:g} h" if most else "none is expected"
    text = f"{last.age / 3600:.1f} h old, {last.files} files, {last.bytes / 1e6:,.0f} MB" if last else "none was noted"
    if most is not None and (last is None or last.age > most.total_seconds()):
        yield Row(
            "Backup", Finding.FAILED, f"{text}; {expected}", "Back up, then `tongyao note-backup` (operations.md §7)."
        )
    else:
        yield Row("Backup", Finding.OK, f"{text}; {expected}")


async def _duties(settings: Settings, pool: Pool) -> AsyncIterator[Row]:
    rows = {row.duty: row for row in await DutyLog(pool).rows()}
    for duty, every in settings.maintenance.every.items():
        row, subject = rows.get(duty.value), f"Duty {duty.value}"
        if row is None:
            yield Row(subject, Finding.ATTENTION, "has not ended yet", "`tongyao schedules` says when it runs next.")
            continue
        counts = ", ".join(f"{name} {count}" for name, count in row.counts.items() if count)
        age = row.success_age
        text = "never succeeded" if age is None else f"succeeded {age / 60:.0f} min ago" + f" ({counts})" * bool(counts)
        if row.failures:
            yield Row(subject, Finding.FAILED, f"{text}; failed {row.failures} times: {row.error}", "operations.md §10")
        elif age is not None and age > OVERDUE * every.total_seconds():
            yield Row(
                subject, Finding.FAILED, f"{text}: overdue", "`tongyao schedules`: is it paused, does a worker poll?"
            )
        else:
            yield Row(subject, Finding.OK, text)


async def _temporal(client: Client) -> AsyncIterator[Row]:
    service = client.workflow_service
    version = (await service.get_system_info(GetSystemInfoRequest())).server_version
    described = await service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    days = described.config.workflow_execution_retention_ttl.ToTimedelta() / timedelta(days=1)
    text = f"server {version or 'of unknown version'}, namespace {client.namespace}, ended processes kept {days:g} days"
    if days < RETENTION_DAYS:
        yield Row(
            "Temporal", Finding.ATTENTION, text, f"Less than {RETENTION_DAYS} days: set the namespace's retention."
        )
    else:
        yield Row("Temporal", Finding.OK, text)


async def _search_attributes(client: Client) -> AsyncIterator[Row]:
    missing = await missing_search_attributes(client)
    if missing:
        yield Row("Search attributes", Finding.FAILED, f"missing: {', '.join(missing)}", "Run `tongyao prepare`.")
    else:
        yield Row("Search attributes", Finding.OK, "all there")


async def _roles(client: Client) -> AsyncIterator[Row]:
    for one in await read_roles(client):
        yield _role(one)


def _role(one: RoleState) -> Row:
    subject, waiting = f"Role {one.role}", ""
    if one.waiting:
        waiting = f"; {one.waiting} tasks wait, the oldest {one.waiting_seconds:.0f} s"
    if one.missing:
        return Row(subject, Finding.FAILED, f"nobody polls {one.queue}{waiting}", one.missing.partition(": ")[2])
    text = ", ".join(f"{count} of build {build}" for build, count in one.workers.items()) + waiting
    if one.waiting_seconds > WAITING_SECONDS:
        return Row(subject, Finding.FAILED, text, f"Too few workers: add replicas of the role {one.role}.")
    if len(one.workers) > 1:
        return Row(subject, Finding.ATTENTION, text, "A roll-out under way? `tongyao versions` says what can go.")
    return Row(subject, Finding.OK, text)


async def versions_row(client: Client) -> AsyncIterator[Row]:
    request = DescribeWorkerDeploymentRequest(namespace=client.namespace, deployment_name=DEPLOYMENT)
    try:
        info = (await client.workflow_service.describe_worker_deployment(request)).worker_deployment_info
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        yield Row("Versions", Finding.OK, "workers are not versioned by Temporal; each reports its build")
        return
    routing = info.routing_config
    current, ramping = routing.current_deployment_version.build_id, routing.ramping_deployment_version.build_id
    text = f"current {current or 'unversioned'}"
    if ramping:
        text += f", ramping {ramping} at {routing.ramping_version_percentage:g} %"
    advice = (
        "Tongyao's own workers are unversioned and get nothing while another version is current (operations.md §5)."
    )
    yield Row(
        "Versions", Finding.FAILED if current or ramping else Finding.OK, text, advice if current or ramping else ""
    )


async def _schedules(settings: Settings, client: Client) -> AsyncIterator[Row]:
    lines = {line.duty: line for line in await read_schedules(client)}
    for duty in Duty:
        yield _schedule(duty, lines.get(duty), duty in settings.maintenance.every)


def _schedule(duty: Duty, line: ScheduleLine | None, wanted: bool) -> Row:
    subject = f"Schedule {duty.value}"
    if line is None:
        if wanted:
            return Row(subject, Finding.FAILED, "is not there", "Run `tongyao prepare`.")
        return Row(subject, Finding.OK, "turned off")
    if line.paused:
        return Row(subject, Finding.ATTENTION, line.note or "paused", f"`tongyao schedules --resume {duty.value}`")
    last = f"last run {line.last:%Y-%m-%d %H:%M} UTC: {line.result}" if line.last else "has not run yet"
    text = f"every {line.every_seconds / 60:g} min; {last}"
    if line.result in ("failed", "timed_out", "terminated"):
        return Row(
            subject, Finding.FAILED, text, f"`tongyao schedules`; in the Temporal UI the runs of tongyao-{duty.value}"
        )
    return Row(subject, Finding.OK, text)


async def _disk(settings: Settings) -> AsyncIterator[Row]:
    place = next(parent for parent in [settings.home, *settings.home.parents] if parent.exists())
    usage = shutil.disk_usage(place)
    text = f"{usage.free / 1e9:.1f} of {usage.total / 1e9:.1f} GB free under the home of this machine"
    if usage.free < DISK_FREE * usage.total:
        yield Row("Disk", Finding.ATTENTION, text, "Make room. The database's own disk is not seen from here.")
    else:
        yield Row("Disk", Finding.OK, text)


async def _model(settings: Settings) -> AsyncIterator[Row]:
    """Lists one model, which costs nothing and needs a good key."""
    if settings.chosen_engine != "anthropic" and "anthropic" not in settings.engine_steps.values():
        yield Row("Model", Finding.OK, f"engine {settings.chosen_engine}: no service is asked from here")
        return
    import anthropic  # a second that other checks save

    from tongyao.llm.anthropic.client import client_of

    key = settings.anthropic_api_key
    client = client_of(
        key.get_secret_value() if key else "none", base_url=settings.anthropic_base_url, seconds=10, max_retries=0
    )
    try:
        await client.models.list(limit=1)
        yield Row("Model", Finding.OK, "the Messages API answers and takes the key")
    except (anthropic.AuthenticationError, anthropic.PermissionDeniedError) as error:
        yield Row(
            "Model", Finding.FAILED, f"the key is refused ({error.status_code})", "Set another ANTHROPIC_API_KEY."
        )
    except anthropic.APIStatusError as error:
        if error.status_code == 404:
            yield Row("Model", Finding.OK, "the server answers; it lists no models, so the key was not tried")
        else:
            yield Row(
                "Model", Finding.FAILED, f"the server answers {error.status_code}", "docs/models.md has the reasons."
            )
    except anthropic.APIConnectionError:
        yield Row("Model", Finding.FAILED, "no server answers", "Check ANTHROPIC_BASE_URL and the way there.")
    finally:
        await client.close()
