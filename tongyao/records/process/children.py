"""Messages between child processes and their parents: the end of a child is told to its parent, a cancelled branch cancels its children."""

from __future__ import annotations

from typing import Final

from tongyao.protocol.model.messages import Author, Cancel, ChildEnded
from tongyao.records.database import Connection, Pool, transaction
from tongyao.records.process.messages import add_message
from tongyao.records.process.processes import ProcessUnknown

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
