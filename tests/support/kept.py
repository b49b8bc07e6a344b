"""Queries of the records that only tests need."""

from __future__ import annotations

from tongyao.records.database import Pool, fetch_all
from tongyao.records.people.notifications import Notification
from tongyao.records.process.messages import StoredMessage


async def pending_messages(pool: Pool, process_id: str) -> list[StoredMessage]:
    """The messages without a verdict, oldest first, leased or not."""
    query = "SELECT * FROM messages WHERE process_id = %s AND state = 'pending' ORDER BY created_at, id"
    return await fetch_all(pool, StoredMessage, query, [process_id])


async def notifications_of(pool: Pool, process_id: str) -> list[Notification]:
    """All notifications about a process, oldest first."""
    query = "SELECT * FROM notifications WHERE process_id = %s ORDER BY created_at, id"
    return await fetch_all(pool, Notification, query, [process_id])
