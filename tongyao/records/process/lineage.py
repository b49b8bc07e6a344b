"""The tree of a process and its child processes (docs/plans.md), read from the process rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tongyao.protocol.model.messages import Author, Cancel, ChildEnded
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.model.value import Value
from tongyao.records.database import Connection, Pool, Repository, session, transaction
from tongyao.records.privacy.texts import get_texts
from tongyao.records.process.messages import add_message
from tongyao.records.process.process_rows import SELECT_PROCESSES, Processes, ProcessRow, ProcessUnknown


class ProcessTree(Value):
    """A process with its children, in the order of their announcement."""

    process: ProcessRow
    children: tuple[ProcessTree, ...] = ()

    def all(self) -> tuple[ProcessRow, ...]:
        """This process and all processes below it, depth first."""
        return (self.process, *(row for child in self.children for row in child.all()))


class ProcessLineage(Repository):
    """Parents and children."""

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool)
        self._processes = Processes(pool)

    async def children(self, process_id: str) -> list[ProcessRow]:
        """The processes started for this process's residuals, oldest first."""
        return await self._all(
            ProcessRow, SELECT_PROCESSES + " WHERE p.parent_id = %s ORDER BY p.created_at, p.id", [process_id]
        )

    async def asked_in(self, process_id: str) -> frozenset[str]:
        """The profiles of all people who were asked to take part in a process, with any answer.

        People who said no are included. Otherwise a later selection would disclose who said no.
        """
        return frozenset(
            await self._column(
                """SELECT profile_id FROM seats WHERE process_id = %(process)s AND profile_id IS NOT NULL
               UNION SELECT chosen ->> 'profile_id' FROM messages m, jsonb_array_elements(m.payload -> 'participants') chosen
                     WHERE m.process_id = %(process)s AND m.kind IN ('select_participants', 'decide')
                       AND (m.verdict ->> 'accepted')::boolean
               UNION SELECT named ->> 'profile_id' FROM manifests f, jsonb_array_elements(f.body -> 'participants') named
                     WHERE f.process_id = %(process)s AND f.part = 'start'
               UNION SELECT c.profile_id FROM candidates c JOIN processes p ON p.id = c.process_id
                     WHERE c.process_id = %(process)s AND c.round = 0 AND p.settings ->> 'auto_start' = 'true'""",
                {"process": process_id},
            )
        )

    async def tree(self, process_id: str) -> ProcessTree:
        """The branch that begins with this process. For a root process it is the whole tree. Raises `ProcessUnknown`."""
        top = await self._processes.get(process_id)
        below = await self._all(
            ProcessRow,
            SELECT_PROCESSES + " WHERE p.root_id = %s AND p.depth > %s ORDER BY p.created_at, p.id",
            [top.root_id, top.depth],
        )
        return _branch(top, below)

    async def tensions(self, root_id: str) -> dict[str, Tension]:
        """The tensions of the processes of a tree, by process id. Forks and processes without a readable tension are left out."""
        async with session(self._pool) as connection:
            cursor = await connection.execute(
                """SELECT id, tension_text_id FROM processes
                   WHERE root_id = %s AND tension_text_id IS NOT NULL AND forked_from IS NULL""",
                [root_id],
            )
            ids = {row["id"]: row["tension_text_id"] for row in await cursor.fetchall()}
            texts = await get_texts(connection, ids.values(), erased="")
        return {
            process: Tension.model_validate_json(texts[text_id]) for process, text_id in ids.items() if texts[text_id]
        }


def _branch(top: ProcessRow, below: Sequence[ProcessRow]) -> ProcessTree:
    children = tuple(_branch(row, below) for row in below if row.parent_id == top.id)
    return ProcessTree(process=top, children=children)


VIA_CHILD: Final = "child"
VIA_PARENT: Final = "parent"


async def tell_parent(connection: Connection, process_id: str) -> None:
    """Insert the end of a process as a message for its parent. A repetition is the same message."""
    cursor = await connection.execute(
        """SELECT c.parent_id, c.outcome FROM processes c JOIN processes p ON p.id = c.parent_id
           WHERE c.id = %s AND c.ended_at IS NOT NULL""",
        [process_id],
    )
    row = await cursor.fetchone()
    if row is None:
        return
    message = ChildEnded(
        key=f"ended/{row['outcome']}",
        author=Author(role="child", alias=process_id),
        child=process_id,
        outcome=row["outcome"],
    )
    await add_message(connection, row["parent_id"], message, author_id=f"child:{process_id}", via=VIA_CHILD)


async def cancel_children(pool: Pool, process_id: str) -> tuple[str, ...]:
    """Send `cancel` with its branch to every child that has not ended, and allow no further child.

    Children that were announced and never started are included. Returns their ids. A repetition changes nothing. Raises
    `ProcessUnknown`.
    """
    async with transaction(pool) as connection:
        cursor = await connection.execute("UPDATE processes SET branch_cancelled = true WHERE id = %s", [process_id])
        if not cursor.rowcount:
            raise ProcessUnknown(f"there is no process {process_id!r}")
    # every transaction that held the parent's row has announced its child by now
    async with transaction(pool) as connection:
        cursor = await connection.execute(
            "SELECT id FROM processes WHERE parent_id = %s AND ended_at IS NULL ORDER BY id", [process_id]
        )
        children = tuple(row["id"] for row in await cursor.fetchall())
        message = Cancel(key=f"with/{process_id}", author=Author(role="operator"), branch=True)
        for child in children:
            await add_message(connection, child, message, author_id=f"parent:{process_id}", via=VIA_PARENT)
    return children
