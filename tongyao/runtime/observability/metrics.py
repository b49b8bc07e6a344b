"""The metrics of Tongyao (docs/operations.md §1). The Temporal SDK has its own."""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from tongyao.app.operators.task_queues import RoleState
from tongyao.protocol.model.process import ENDED, Phase
from tongyao.records.backlog import Backlog
from tongyao.records.maintenance import Backup, DutyRow

REGISTRY = CollectorRegistry()

TURNS = Counter("tongyao_turns", "Turns that ended, by outcome.", ["outcome", "author"], registry=REGISTRY)
ENDS = Counter("tongyao_model_calls", "Model calls by outcome.", ["step", "model", "end"], registry=REGISTRY)
LATENCY = Histogram(
    "tongyao_model_call_seconds", "Time from a request to a model until its whole answer.", ["step", "model"], registry=REGISTRY,
    buckets=(0.1, 0.5, 1, 2, 5, 10, 20, 40, 80, 160, 320),
)  # fmt: skip
TOKENS = Counter("tongyao_model_tokens", "Tokens by kind.", ["step", "model", "kind"], registry=REGISTRY)
COST = Counter(
    "tongyao_model_cost_dollars", "Cost of calls whose price is known.", ["step", "model"], registry=REGISTRY
)
GUARDS = Counter(
    "tongyao_guards", "Parts of answers that the guards sent back, struck or replaced.", ["guard"], registry=REGISTRY
)

OPEN = Gauge("tongyao_open_processes", "Processes that have not ended, by phase.", ["phase"], registry=REGISTRY)
SUSPENDED = Gauge(
    "tongyao_suspended_processes", "Open processes by cause of a suspension.", ["cause"], registry=REGISTRY
)
WAITS = Gauge("tongyao_waits", "Open asks in inboxes.", ["ask"], registry=REGISTRY)
OLDEST = Gauge("tongyao_oldest_wait_seconds", "Age of the oldest open ask.", ["ask"], registry=REGISTRY)
UNDELIVERED = Gauge("tongyao_undelivered_messages", "Messages without a verdict.", registry=REGISTRY)
SET_ASIDE = Gauge(
    "tongyao_messages_set_aside", "Messages without a verdict that could not be delivered.", registry=REGISTRY
)
TROUBLES = Gauge(
    "tongyao_delivery_troubles",
    "Messages without a verdict, by the result of the last try.",
    ["trouble"],
    registry=REGISTRY,
)
RELAY_LAG = Gauge(
    "tongyao_oldest_undelivered_seconds", "Age of the oldest message without a verdict.", registry=REGISTRY
)

ROLE_WORKERS = Gauge("tongyao_role_workers", "Workers that poll the queue of a role.", ["role"], registry=REGISTRY)
ROLE_WAITING = Gauge(
    "tongyao_role_waiting_seconds", "Age of the oldest task in the queue of a role.", ["role"], registry=REGISTRY
)


def show_roles(roles: Sequence[RoleState]) -> None:
    for role in roles:
        ROLE_WORKERS.labels(role.role).set(sum(role.workers.values()))
        ROLE_WAITING.labels(role.role).set(role.waiting_seconds)


def forget_roles() -> None:
    """Remove the values of `show_roles`, which are old after a failed read."""
    ROLE_WORKERS.clear()
    ROLE_WAITING.clear()


DUTY_AGE = Gauge(
    "tongyao_duty_seconds_since_success",
    "Time since a duty of maintenance last succeeded.",
    ["duty"],
    registry=REGISTRY,
)
DUTY_FAILURES = Gauge("tongyao_duty_failures", "Failed runs of a duty in a row.", ["duty"], registry=REGISTRY)
DUTY_FOUND = Gauge("tongyao_duty_found", "Counts of the last run of a duty.", ["duty", "what"], registry=REGISTRY)
BACKUP_AGE = Gauge("tongyao_backup_age_seconds", "Time since the last noted backup.", [], registry=REGISTRY)


def show_duties(duties: Sequence[DutyRow], backup: Backup | None) -> None:
    """Set the gauges of maintenance. A duty that has never run has no values. Without a noted backup its age is -1."""
    for gauge in (DUTY_AGE, DUTY_FAILURES, DUTY_FOUND):
        gauge.clear()
    for row in duties:
        DUTY_FAILURES.labels(row.duty).set(row.failures)
        if row.success_age is not None:
            DUTY_AGE.labels(row.duty).set(row.success_age)
        for what, count in row.counts.items():
            DUTY_FOUND.labels(row.duty, what).set(count)
    BACKUP_AGE.set(-1 if backup is None else backup.age)


def show_backlog(backlog: Backlog) -> None:
    """Set the gauges of the records. Phases without a process are 0."""
    for phase in Phase:
        if phase not in ENDED:
            OPEN.labels(phase.value).set(backlog.phases.get(phase.value, 0))
    SUSPENDED.clear()
    for cause, count in backlog.suspended.items():
        SUSPENDED.labels(cause).set(count)
    WAITS.clear()
    OLDEST.clear()
    for waits in backlog.waits:
        WAITS.labels(waits.ask).set(waits.count)
        OLDEST.labels(waits.ask).set(waits.oldest)
    UNDELIVERED.set(backlog.undelivered)
    SET_ASIDE.set(backlog.set_aside)
    TROUBLES.clear()
    for trouble, count in backlog.troubles.items():
        TROUBLES.labels(trouble).set(count)
    RELAY_LAG.set(backlog.oldest_undelivered)


def forget_records() -> None:
    """Remove the values of `show_backlog` and `show_duties`, which are old after a failed read. Without labels: NaN."""
    for labelled in (OPEN, SUSPENDED, WAITS, OLDEST, TROUBLES, DUTY_AGE, DUTY_FAILURES, DUTY_FOUND):
        labelled.clear()
    for single in (UNDELIVERED, SET_ASIDE, RELAY_LAG, BACKUP_AGE):
        single.set(float("nan"))
