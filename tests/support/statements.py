"""Counts the SQL statements that a separate PostgreSQL server logs, by shape."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg
from temporalio.client import Client

from tests.support.scripted import Script, ScriptedEngine
from tests.support.stack import open_stack
from tongyao.protocol.model.observation import Verdict
from tongyao.protocol.model.process import Phase
from tongyao.records.budgets import DayBudgets
from tongyao.records.migrate import migrate
from tongyao.records.privacy.keys import Keyring
from tongyao.runtime.local.postgres import LocalPostgres

DATABASE: Final = "counted"
_MARK: Final = f"|{DATABASE}|"
_LINE: Final = re.compile(r"^\|counted\|(?P<application>[^|]*)\|LOG:  (?:statement|execute [^:]*): (?P<statement>.*)$")
_CONTROL: Final = re.compile(r"^(BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|SET TRANSACTION)\b", re.IGNORECASE)
_NAMED: Final = re.compile(r"(SAVEPOINT|RELEASE|ROLLBACK TO) .*", re.IGNORECASE)


@dataclass(frozen=True)
class Counted:
    """Statements by shape: the text without line breaks, with parameters as `$1`, `$2`, …

    `control`: statements that only begin or end a transaction or a part of one. A pipeline counts as its statements,
    and a call of an SQL function as one.
    """

    statements: Mapping[str, int]
    control: Mapping[str, int]

    @property
    def total(self) -> int:
        return sum(self.statements.values())

    def table(self, width: int = 150) -> str:
        """One line per shape, the most frequent first. Control statements are separate."""
        lines = [f"{self.total} statements, and {sum(self.control.values())} of transaction control"]
        for shapes in (self.statements, self.control):
            ordered = sorted(shapes.items(), key=lambda shape: (-shape[1], shape[0]))
            lines += ["", *(f"{count:5}  {text[:width]}" for text, count in ordered)]
        return "\n".join(lines)


class CountingPostgres:
    """A server that logs every statement. `url` is the address of its migrated database."""

    def __init__(self, server: LocalPostgres) -> None:
        self.url = server.url()
        self._log = Path(server.home) / "logs" / "postgres.log"
        self._from = 0

    def start(self) -> None:
        """Start counting."""
        self._from = self._log.stat().st_size

    def counted(self) -> Counted:
        """The statements executed in the database since `start`."""
        with self._log.open("rb") as log:
            log.seek(self._from)
            text = log.read().decode("utf-8", errors="replace")
        shapes: Counter[str] = Counter()
        for record in re.split(rf"\n(?={re.escape(_MARK)})", text.rstrip("\n")):
            if (found := _LINE.match(" ".join(record.split("\n")).replace("\t", " "))) is not None:
                shapes[" ".join(found["statement"].split())] += 1
        control: Counter[str] = Counter()
        for shape in [shape for shape in shapes if _CONTROL.match(shape)]:
            control[_NAMED.sub(r"\1", shape)] += shapes.pop(shape)
        return Counted(shapes, control)


PEOPLE: Final = ("ada", "bo", "cy", "di", "ed")
CALLS: Final = 31
"""Model calls of the counted process: a formulation, 4 rounds with 5 projections and an observation, a plan, 5 deliveries."""
_PROFILE: Final = (
    "I repair tide gauges. I can offer ten years of readings. I will not travel in winter. I want to learn boats. "
    "My neighbours {name} Harper and Wim Visser from Rotterdam know me."
)


async def count_process(client: Client, postgres: CountingPostgres) -> Counted:
    """Count the statements of one whole process in a normal installation: 5 proxies, 4 rounds, workers of all roles.

    It has a process budget and a day budget. Texts are encrypted, and profiles contain names.
    """
    engine = ScriptedEngine(Script(verdicts=[Verdict.MORE, Verdict.MORE, Verdict.EXHAUSTED]))
    async with open_stack(
        client,
        postgres.url,
        engine,
        keys=Keyring(b"0" * 32),
        day=DayBudgets(),
    ) as stack:
        people = await stack.people({name: _PROFILE.format(name=name) for name in PEOPLE})
        postgres.start()
        process_id = await stack.start(people, auto_confirm=True, cost_budget="20")
        await stack.handle(process_id).result()
        counted = postgres.counted()
        record = await stack.repositories.record(process_id)
        calls = await stack.repositories.ledger.calls(process_id)
    assert record.phase is Phase.COMPLETED and len(calls) == CALLS, f"{record.phase} after {len(calls)} calls"
    return counted


@contextmanager
def counting_postgres(home: Path) -> Iterator[CountingPostgres]:
    """Run a migrated PostgreSQL in `home` during the block."""
    server = LocalPostgres(home, database=DATABASE, durable=False)
    try:
        migrate(server.start())
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET log_statement = 'all'")
            connection.execute("ALTER SYSTEM SET log_parameter_max_length = 0")
            connection.execute("ALTER SYSTEM SET log_line_prefix = '|%d|%a|'")
            connection.execute("SELECT pg_reload_conf()")
        yield CountingPostgres(server)
    finally:
        server.stop()
