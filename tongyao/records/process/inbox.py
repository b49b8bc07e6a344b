"""The inbox: open asks by person. `journal` writes the asks of processes, `standing` the asks of standing tensions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, LiteralString

from psycopg.types.json import Jsonb

from tongyao.protocol.model.events import AskName, Snapshot
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.value import Value
from tongyao.records.database import Connection, Repository

_ANSWERED: Final[LiteralString] = """EXISTS (
    SELECT 1 FROM messages m
    WHERE m.process_id = inbox.process_id AND m.created_at >= inbox.opened_at
      AND (m.state = 'pending' OR (m.verdict ->> 'accepted')::boolean)
      AND CASE inbox.ask
            WHEN 'answer' THEN m.kind = 'answer_plan' AND (m.payload ->> 'revision')::int = inbox.round
            ELSE inbox.ask IN ('projection', 'gap') AND m.kind = 'submit_projection'
                 AND (m.payload ->> 'round')::int = inbox.round END
      AND m.payload ->> 'alias' = inbox.alias)"""
"""Whether an answer has arrived that the process has not written to the records yet. A refused message is no answer.

If the process forgets a message after a reset, it asks again, and the new ask is later than the message.
"""


class InboxRow(Value):
    """One ask. It is open while `closed_at` is None.

    `id`: the id of the process, a slash, and the ask's id in the process. `person`: the demander, the person on that
    seat, or the invited person. `subject`: the residual, or the invited person, that the ask is about. `others` (only
    for `consent`): the most other people who would take part. `ends_answers` (only for `hole`): whether the decision
    ends the answers to the plan. While the process is suspended, `due_at` is None and `remaining_seconds` is the time
    left after it resumes. `told_…`: the state for which a notification was last made.
    """

    id: str
    process_id: str
    ask: str
    alias: str
    person: str | None
    round: int
    due_at: datetime | None
    remaining_seconds: int | None = None
    opened_at: datetime
    closed_at: datetime | None
    subject: str = ""
    others: int | None = None
    ends_answers: bool = False
    told_opened_at: datetime | None = None
    told_due_at: datetime | None = None

    @property
    def ask_id(self) -> str:
        """The id by which messages refer to the ask: `decide/2`."""
        return self.id.removeprefix(f"{self.process_id}/")


class Inbox(Repository):
    """The inboxes of all people."""

    async def get(self, process_id: str, ask_id: str) -> InboxRow | None:
        """One ask, open or closed. None if there never was one."""
        return await self._one(InboxRow, "SELECT * FROM inbox WHERE id = %s", [f"{process_id}/{ask_id}"])

    async def of_person(self, person: str) -> list[InboxRow]:
        """The open asks to this person in all processes, the most urgent first. Asks without a deadline come last."""
        return await self._all(
            InboxRow,
            f"""SELECT * FROM inbox WHERE person = %s AND closed_at IS NULL AND NOT {_ANSWERED}
               ORDER BY due_at NULLS LAST, opened_at, id""",
            [person],
        )

    async def of_operators(self) -> list[InboxRow]:
        """The open asks to operators: all open asks without an alias."""
        return await self._all(
            InboxRow, "SELECT * FROM inbox WHERE alias = '' AND closed_at IS NULL ORDER BY opened_at, id"
        )

    async def received(self, process_id: str, alias: str) -> list[InboxRow]:
        """Open asks to a seat whose answer has arrived, but is not recorded by the process yet."""
        return await self._all(
            InboxRow,
            f"SELECT * FROM inbox WHERE process_id = %s AND alias = %s AND closed_at IS NULL AND {_ANSWERED}",
            [process_id, alias],
        )

    async def invitation(self, process_id: str, person: str, number: int | None = None) -> InboxRow | None:
        """The question in a process whether a proxy may speak for a person: the last one, or the one with this number; answered or not."""
        return await self._one(
            InboxRow,
            """SELECT * FROM inbox WHERE process_id = %(process)s AND person = %(person)s AND ask = %(consent)s
               AND (%(number)s::int IS NULL OR round = %(number)s) ORDER BY round DESC LIMIT 1""",
            {"process": process_id, "person": person, "consent": AskName.CONSENT.value, "number": number},
        )

    async def open_in(self, process_ids: Sequence[str]) -> list[InboxRow]:
        """The open asks in these processes, oldest first."""
        return await self._all(
            InboxRow,
            f"""SELECT * FROM inbox WHERE process_id = ANY(%s) AND closed_at IS NULL AND NOT {_ANSWERED}
               ORDER BY opened_at, id""",
            [list(process_ids)],
        )

    async def of_process(self, process_id: str, *, open_only: bool = False) -> list[InboxRow]:
        """All asks of a process, open or closed, oldest first. `open_only`: only open ones."""
        return await self._all(
            InboxRow,
            f"""SELECT * FROM inbox WHERE process_id = %s AND (closed_at IS NULL AND NOT {_ANSWERED} OR NOT %s)
               ORDER BY opened_at, id""",
            [process_id, open_only],
        )


async def show_inbox(connection: Connection, snapshot: Snapshot, at: datetime) -> None:
    """Open the current asks of a process, and close all others. A closed ask that is current again is opened again.

    Asks about candidates of standing tensions do not belong to the workflow, so they stay.
    """
    asks = {f"{snapshot.process_id}/{waiting.id}": waiting for waiting in snapshot.inbox}
    await connection.execute(
        "UPDATE inbox SET closed_at = %s WHERE process_id = %s AND closed_at IS NULL AND NOT id = ANY(%s) AND ask <> %s",
        [at, snapshot.process_id, list(asks), AskName.CANDIDATE.value],
    )
    if not asks:
        return
    await connection.execute(
        """INSERT INTO inbox AS old
               (id, process_id, ask, alias, person, round, due_at, remaining_seconds, subject, others, ends_answers,
                opened_at)
           SELECT w.id, p.id, w.ask, w.alias,
                  CASE WHEN w.alias = %(demander)s THEN p.demander
                       WHEN w.ask = %(consent)s THEN w.subject ELSE s.profile_id END,
                  w.round, w.due, w.remaining_seconds, w.subject, w.others, w.ends_answers, %(at)s
           FROM processes p CROSS JOIN jsonb_to_recordset(%(asks)s) AS w (id text, ask text, alias text, round int,
                   due timestamptz, remaining_seconds int, subject text, others int, ends_answers bool)
               LEFT JOIN seats s ON s.process_id = p.id AND s.alias = w.alias
           WHERE p.id = %(process)s
           ON CONFLICT (id) DO UPDATE SET
               due_at = excluded.due_at, remaining_seconds = excluded.remaining_seconds,
               subject = excluded.subject, others = excluded.others, ends_answers = excluded.ends_answers,
               closed_at = NULL,
               person = COALESCE(excluded.person, old.person),
               opened_at = CASE WHEN old.closed_at IS NULL THEN old.opened_at ELSE excluded.opened_at END""",
        {
            "process": snapshot.process_id,
            "demander": DEMANDER,
            "consent": AskName.CONSENT.value,
            "at": at,
            "asks": Jsonb([{**ask.model_dump(mode="json"), "id": id} for id, ask in asks.items()]),
        },
    )
