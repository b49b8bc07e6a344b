"""The rows of `processes`. A row is created before the workflow starts. Then it is a projection of the workflow's
transitions.

Only `journal` writes the workflow's decisions (phase, round, …). This module announces, finds and lists processes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from psycopg import errors
from psycopg.types.json import Jsonb
from pydantic import Field

from tongyao.protocol.model.process_settings import MAX_ROUNDS
from tongyao.protocol.model.value import Value
from tongyao.records.database import RecordsError, Repository, RowT, transaction
from tongyao.records.people.scenes import SceneUnknown

MAX_PAGE = 200
"""The most rows on one page of a list."""


class ProcessUnknown(RecordsError):
    """No process has this id."""


class ProcessExists(RecordsError):
    """The id belongs to a process of another demander, or with another intent."""


class BranchCancelled(RecordsError):
    """The parent was cancelled together with everything below it. No further child of it is announced."""


class BadCursor(RecordsError):
    """The cursor of a page does not come from the previous page."""


class NewProcess(Value):
    """A process to be announced. `tension_text_id` and `grade` are set only if the tension is given at the start."""

    id: str
    demander: str
    language: str
    intent_text_id: str | None
    scene_id: str | None = None
    root_id: str = ""
    parent_id: str | None = None
    depth: int = 0
    tension_text_id: str | None = None
    grade: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    open_record: bool = True
    phase: str = "formulating"
    forked_from: str | None = None
    fork_round: int = 0
    first_origin: str | None = None
    began_at: datetime | None = Field(default=None, description="For a fork: when its origin began.")


class ProcessRow(Value):
    """One process in its state after transition `seq`. The workflow run `run_id` wrote it, and its events have the
    epoch `epoch`.

    `went_back`: that run contradicted earlier events, and its whole state was not requested since. `forked_from`: the
    origin of a fork. `first_origin`: the first origin in a line of forks. `fork_round`: the first round in which the
    fork's changes apply. `began_at`: when it began; for a fork, when its origin began. `participants`: the number of
    people still in the room. `price_unknown`: its model calls have no known price, so `cost` is 0. `suspended`: codes of all causes; empty while it is not suspended.
    """

    id: str
    scene_id: str | None
    demander: str
    root_id: str
    parent_id: str | None
    forked_from: str | None
    first_origin: str | None
    fork_round: int
    depth: int
    phase: str
    round: int
    waiting: bool
    run_id: str
    epoch: int
    seq: int
    went_back: bool
    language: str
    intent_text_id: str | None
    tension_text_id: str | None
    grade: str | None
    settings: dict[str, Any]
    open_record: bool
    started: bool
    branch_cancelled: bool
    suspended: tuple[str, ...]
    suspended_reason: str
    tokens: int
    cost: Decimal
    began_at: datetime
    created_at: datetime
    updated_at: datetime
    deadline_at: datetime | None
    ended_at: datetime | None
    outcome: str | None
    participants: int
    price_unknown: bool

    @property
    def first(self) -> str:
        """The process whose aliases it uses: itself, or for a fork the first origin."""
        return self.first_origin or self.id

    @property
    def max_rounds(self) -> int:
        return int(self.settings.get("max_rounds") or MAX_ROUNDS)


_STORED = ", ".join(f"p.{name}" for name in ProcessRow.model_fields if name not in ("participants", "price_unknown"))
SELECT_PROCESSES: Final = f"""SELECT {_STORED},
    (SELECT count(*) FROM seats s WHERE s.process_id = p.id AND s.active) AS participants,
    p.tokens > 0 AND p.cost = 0 AND EXISTS (SELECT FROM model_calls c WHERE c.process_id = p.id AND c.state = 'settled'
        AND NOT c.cost_known) AS price_unknown FROM processes p"""
"""For rows of `ProcessRow`. The columns are named so that PostgreSQL prepares this statement, which every step uses."""


class StepRow(ProcessRow):
    """A process as its steps read it: with its manifest by part, and the limits of the budget if it is the root of one."""

    manifest: dict[str, dict[str, Any]]
    has_budget: bool
    limit_tokens: int | None
    limit_cost: Decimal | None


_AT_STEP: Final = SELECT_PROCESSES.replace(
    " FROM processes p",
    """, b.root_id IS NOT NULL AS has_budget, b.limit_tokens, b.limit_cost,
    COALESCE((SELECT jsonb_object_agg(m.part, m.body) FROM manifests m WHERE m.process_id = p.id), '{}') AS manifest
    FROM processes p LEFT JOIN budgets b ON b.root_id = p.id WHERE p.id = %s""",
)


class ProcessPage(Value):
    """Processes, newest first. `next` is the cursor of the next page, or None at the end."""

    rows: list[ProcessRow]
    next: str | None


class Processes(Repository):
    """All processes."""

    async def create(self, new: NewProcess) -> ProcessRow:
        """Announce a process: the row is stored before the workflow starts. A repetition changes nothing.

        Raises `ProcessExists` if the id belongs to another demander or intent. Raises `SceneUnknown`,
        `BranchCancelled`.
        """
        try:
            await self._insert(new)
        except errors.ForeignKeyViolation as error:
            if error.diag.constraint_name != "processes_scene_id_fkey":
                raise
            raise SceneUnknown(f"there is no scene {new.scene_id!r}") from None
        row = await self.get(new.id)
        theirs = (row.demander, row.intent_text_id, row.parent_id)
        if theirs != (new.demander, new.intent_text_id, new.parent_id):
            raise ProcessExists(f"process {new.id!r} already exists with another demander or intent: choose another id")
        return row

    async def mark_started(self, process_id: str) -> None:
        """Note that the workflow exists. Raises `ProcessUnknown`."""
        if not await self._run("UPDATE processes SET started = true, updated_at = now() WHERE id = %s", [process_id]):
            await self.get(process_id)

    async def get(self, process_id: str) -> ProcessRow:
        """Return one process. Raises `ProcessUnknown`."""
        return await self._known(ProcessRow, SELECT_PROCESSES + " WHERE p.id = %s", process_id)

    async def at_step(self, process_id: str) -> StepRow:
        """Return one process for a step. Raises `ProcessUnknown`."""
        return await self._known(StepRow, _AT_STEP, process_id)

    async def _known(self, kind: type[RowT], query: str, process_id: str) -> RowT:
        row = await self._one(kind, query, [process_id])
        if row is None:
            raise ProcessUnknown(f"there is no process {process_id!r}")
        return row

    async def ids_like(self, beginning: str) -> Sequence[str]:
        """At most 20 ids that begin with this text, with or without a preceding `c-`.

        The id that equals the text comes first. The others are in the order of their depth in the tree. Ids of one depth
        are ordered by time, newest first.
        """
        escaped = beginning.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        return await self._column(
            """SELECT id FROM processes WHERE id LIKE %s OR id LIKE %s
               ORDER BY id <> %s, depth, created_at DESC, id LIMIT 20""",
            [f"{escaped}%", f"c-{escaped}%", beginning],
        )

    async def usual_cost(self) -> Decimal | None:
        """The median cost in US dollars of the last hundred completed processes. None if fewer than three have completed."""
        usual: Decimal | None = await self._value(
            """SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY cost) FROM (
                   SELECT cost FROM processes WHERE outcome = 'completed' AND parent_id IS NULL
                   ORDER BY ended_at DESC LIMIT 100) AS last HAVING count(*) >= 3"""
        )
        return usual

    async def list(
        self,
        *,
        scene: str | None = None,
        phases: Sequence[str] | None = None,
        demander: str | None = None,
        participant: str | None = None,
        root: str | None = None,
        parent: str | None = None,
        origin: str | None = None,
        waiting: bool | None = None,
        suspended: bool | None = None,
        cause: str | None = None,
        open: bool | None = None,
        person: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> ProcessPage:
        """The processes that match all given filters, newest first, at most `limit` (capped at `MAX_PAGE`).

        `cause`: the code of a cause of suspension. `participant`: a profile id; forks are left out. `origin`: only
        forks of this process. `person`: the demander, or a person in the room. `since` is inclusive, `until` is
        exclusive; both refer to the time of announcement. Raises `BadCursor`.
        """
        limit = max(1, min(limit, MAX_PAGE))
        before, before_id = _read_cursor(cursor) if cursor else (None, None)
        conditions = {
            "p.scene_id = %(scene)s": scene,
            "p.phase = ANY(%(phases)s)": list(phases) if phases is not None else None,
            "p.demander = %(demander)s": demander,
            """p.forked_from IS NULL
                AND p.id IN (SELECT process_id FROM seats WHERE profile_id = %(participant)s)""": participant,
            "p.forked_from = %(origin)s": origin,
            """(p.demander = %(person)s
                OR p.id IN (SELECT process_id FROM seats WHERE profile_id = %(person)s))""": person,
            "p.created_at >= %(since)s": since,
            "p.created_at < %(until)s": until,
            "p.root_id = %(root)s": root,
            "p.parent_id = %(parent)s": parent,
            "p.waiting = %(waiting)s": waiting,
            "(p.suspended <> '{}') = %(suspended)s": suspended,
            "%(cause)s = ANY(p.suspended)": cause,
            "(p.ended_at IS NULL) = %(open)s": open,
            "(p.created_at, p.id) < (%(before)s, %(before_id)s)": before,
        }
        wanted = [condition for condition, value in conditions.items() if value is not None]
        where = " WHERE " + " AND ".join(wanted) if wanted else ""
        rows = await self._all(
            ProcessRow,
            SELECT_PROCESSES + where + " ORDER BY p.created_at DESC, p.id DESC LIMIT %(limit)s",
            {
                "scene": scene, "phases": phases and list(phases), "demander": demander,
                "participant": participant, "root": root, "parent": parent, "origin": origin, "waiting": waiting,
                "suspended": suspended, "cause": cause, "person": person, "since": since, "until": until, "open": open, "before": before, "before_id": before_id, "limit": limit + 1,
            },
        )  # fmt: skip
        more = len(rows) > limit
        rows = rows[:limit]
        return ProcessPage(rows=rows, next=f"{rows[-1].created_at.isoformat()}~{rows[-1].id}" if more else None)

    async def every(self, **filters: Any) -> AsyncIterator[ProcessRow]:
        """As `list`, page by page to the end."""
        cursor: str | None = None
        while True:
            page = await self.list(**filters, limit=MAX_PAGE, cursor=cursor)
            for row in page.rows:
                yield row
            if (cursor := page.next) is None:
                return

    async def count_open(self, demander: str) -> int:
        """The number of open processes of this demander. Children do not count."""
        return int(
            await self._value(
                "SELECT count(*) AS open FROM processes WHERE demander = %s AND ended_at IS NULL AND parent_id IS NULL",
                [demander],
            )
        )

    async def _insert(self, new: NewProcess) -> None:
        async with transaction(self._pool) as connection:
            if new.parent_id is not None:
                # The lock lasts until the child is stored. So a caller who cancels the branch sees the child, or this
                # code sees the cancellation.
                cursor = await connection.execute(
                    "SELECT branch_cancelled FROM processes WHERE id = %s FOR SHARE", [new.parent_id]
                )
                parent = await cursor.fetchone()
                if parent is not None and parent["branch_cancelled"]:
                    raise BranchCancelled(f"{new.parent_id} was cancelled together with everything below it")
            await connection.execute(
                """INSERT INTO processes (id, scene_id, demander, root_id, parent_id, depth, phase, language,
                       intent_text_id, tension_text_id, grade, settings, open_record, forked_from, first_origin,
                       fork_round, began_at)
                   VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, COALESCE(%s, now())) ON CONFLICT (id) DO NOTHING""",
                [new.id, new.scene_id, new.demander, new.root_id or new.id, new.parent_id, new.depth,
                 new.phase, new.language, new.intent_text_id, new.tension_text_id, new.grade,
                 Jsonb(new.settings), new.open_record, new.forked_from, new.first_origin, new.fork_round, new.began_at],
            )  # fmt: skip


def _read_cursor(cursor: str) -> tuple[datetime, str]:
    at, _, id = cursor.partition("~")
    try:
        if "\x00" in id:
            raise ValueError("PostgreSQL accepts no NUL character")
        return datetime.fromisoformat(at), id
    except ValueError:
        raise BadCursor("this cursor is not from this list: start again without one") from None
