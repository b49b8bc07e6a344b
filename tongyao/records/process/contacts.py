"""Contacts of those who committed to a plan: one text of each person, which they may replace or take back."""

from __future__ import annotations

from tongyao.protocol.model.process import DEMANDER
from tongyao.records.database import RecordsError, Repository, transaction
from tongyao.records.privacy.texts import get_texts, put_text, remove_texts


class NobodyThere(RecordsError):
    """There is no seat with this alias in the process."""


class Contacts(Repository):
    """Contacts in all processes. Each contact belongs to the person who gave it."""

    async def put(self, process_id: str, alias: str, words: str) -> None:
        """Store the contact that `alias` gives to the others who committed. It replaces the one before; empty words
        remove it.

        Raises `NobodyThere`, `TextErased`.
        """
        async with transaction(self._pool) as connection:
            cursor = await connection.execute(
                """SELECT COALESCE(s.profile_id, p.demander) AS person FROM processes p
                   LEFT JOIN seats s ON s.process_id = p.id AND s.alias = %(alias)s
                   WHERE p.id = %(process)s AND (s.alias IS NOT NULL OR %(alias)s = %(demander)s)""",
                {"process": process_id, "alias": alias, "demander": DEMANDER},
            )
            found = await cursor.fetchone()
            if found is None:
                raise NobodyThere(f"there is no seat {alias} in {process_id}")
            before = await connection.execute(
                "DELETE FROM contacts WHERE process_id = %s AND alias = %s RETURNING text_id", [process_id, alias]
            )
            replaced = [one["text_id"] for one in await before.fetchall()]
            if words.strip():
                text_id = await put_text(connection, found["person"], "contact", words)
                await connection.execute(
                    "INSERT INTO contacts (process_id, alias, person, text_id) VALUES (%s, %s, %s, %s)",
                    [process_id, alias, found["person"], text_id],
                )
            await remove_texts(connection, replaced)

    async def of_person(self, person: str) -> dict[str, str]:
        """The contacts that one person gave, by process."""
        async with transaction(self._pool) as connection:
            cursor = await connection.execute(
                "SELECT process_id, text_id FROM contacts WHERE person = %s ORDER BY process_id", [person]
            )
            rows = await cursor.fetchall()
            texts = await get_texts(connection, [one["text_id"] for one in rows], erased="")
        return {one["process_id"]: texts[one["text_id"]] for one in rows if texts[one["text_id"]]}
