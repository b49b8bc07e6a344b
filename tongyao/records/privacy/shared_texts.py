"""The only module that stores what others may read: texts with marks in the place of names (docs/protocol.md §6.3).

What a person said has its original under the person's key, and beside it a shared text under the key of the process. What a model
wrote is stored marked. Whoever hides further names marks again what was stored before, so that no shared text of a tree of processes
ever holds a form that is hidden there. Reading masks nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from pydantic import BaseModel

from tongyao.protocol.identity.marks import Hidden, HiddenForm, Marker, forms_to_hide, seat
from tongyao.protocol.model.plan import Delivery
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.tension import NameFound, Tension
from tongyao.protocol.model.upcast import read_observation, read_plan, read_projection
from tongyao.records.database import Connection, Pool, one_at_a_time, session, transaction
from tongyao.records.people.profiles import Profiles
from tongyao.records.privacy.texts import NewText, Texts, data_key, get_texts, replace_text, text_id

_STRUCTURED: Final[Mapping[str, Callable[[str], BaseModel]]] = {
    "projection": read_projection,
    "observation": read_observation,
    "plan": read_plan,
    "delivery": Delivery.model_validate_json,
    "tension": Tension.model_validate_json,
}
"""Kinds of texts that are JSON, all but the Markdown of a plan."""
_SHARED: Final = "shared/"
"""Before the kind of the original."""


def shared_text_id(original: str) -> str:
    """The id of the shared text beside an original."""
    return text_id("shared", original)


def lock_of(root: str) -> str:
    """The name of the lock under which shared texts of a tree are written (`database.one_at_a_time`)."""
    return f"shared/{root}"


class SharedTexts:
    """The writer of shared texts, and the names that are hidden in them."""

    def __init__(self, pool: Pool, texts: Texts, profiles: Profiles) -> None:
        self._pool, self._texts, self._profiles = pool, texts, profiles

    async def marker(self, process_id: str, own: Mapping[str, str]) -> Marker:
        """What marks frozen profiles for a prompt. `own`: alias → person, whose own names become the alias in their texts."""
        async with session(self._pool) as connection:
            tree = await _tree(connection, process_id)
            hidden = await _hidden(connection, tree.root)
        return await self._marker(tree.first, hidden, own)

    async def hide_people(self, process_id: str, people: Iterable[str]) -> None:
        """Hide what names these people, by the ids of their profiles. Those without a profile are passed over."""
        faces = await self._profiles.summaries([(person, None) for person in dict.fromkeys(people) if person])
        if named := [names for face in faces.values() if (names := _names(face.identities))]:
            async with self._locked(process_id):
                await self._hide(process_id, named, identities=True)

    async def hide(self, process_id: str, groups: Iterable[Sequence[NameFound]], *, author: str = "") -> None:
        """Hide names, those of one group under one mark, and mark again what was stored in the tree before.

        `author`: the alias of whoever confirmed them. In texts of theirs these names are hidden even if they are ordinary words.
        """
        if named := [group for group in groups if group]:
            async with self._locked(process_id):
                await self._hide(process_id, named, authors=[author])

    async def put(
        self,
        process_id: str,
        texts: Sequence[NewText],
        *,
        aliases: Mapping[str, str],
        names: Sequence[NameFound] = (),
    ) -> dict[str, str]:
        """Store what people said, each text beside its shared one. Returns the originals that stand, by id.

        `aliases`: of the authors, by the ids of their texts. `names`: further names to hide, which the authors confirmed. As in `Texts.first_of_those_left` the
        first text of an id stands, and of erased owners nothing is stored.
        """
        if not texts:
            return {}
        async with self._locked(process_id) as (_, tree):
            hidden = await self._hide(process_id, [[name] for name in names], authors={*aliases.values()} or {""})
            stand = await self._texts.first_of_those_left(texts)
            own = {aliases[new.id]: new.owner for new in texts if aliases.get(new.id)}
            marker = await self._marker(tree.first, hidden, own)
            await self._texts.first_of_those_left(
                [
                    NewText(
                        shared_text_id(new.id),
                        f"process:{process_id}",
                        _SHARED + new.kind,
                        _marked(new.kind, stand[new.id], marker, aliases.get(new.id, "")),
                    )
                    for new in texts
                    if new.id in stand
                ]
            )
        return stand

    async def put_marked(self, process_id: str, texts: Sequence[NewText]) -> dict[str, str]:
        """Store what a model wrote, marked. Returns what stands, as `Texts.first_of_those_left`."""
        if not texts:
            return {}
        async with self._locked(process_id) as (connection, tree):
            marker = Marker(await _hidden(connection, tree.root), process_id=tree.first)
            return await self._texts.first_of_those_left(
                [new._replace(text=_marked(new.kind, new.text, marker, "")) for new in texts]
            )

    async def publish_tension(self, process_id: str) -> None:
        """Hide the names of a tension that is confirmed, and store the tension as others read it. Idempotent."""
        async with session(self._pool) as connection:
            cursor = await connection.execute(
                "SELECT demander, tension_text_id FROM processes WHERE id = %s AND tension_text_id IS NOT NULL",
                [process_id],
            )
            row = await cursor.fetchone()
            if row is None:
                return
            text = (await get_texts(connection, [row["tension_text_id"]], erased=""))[row["tension_text_id"]]
        if text:
            new = NewText(row["tension_text_id"], row["demander"], "tension", text)
            names = Tension.model_validate_json(text).names
            await self.hide(process_id, [[name] for name in names], author=DEMANDER)
            await self.hide_people(process_id, [row["demander"]])
            await self.put(process_id, [new], aliases={new.id: DEMANDER})

    @asynccontextmanager
    async def _locked(self, process_id: str) -> AsyncIterator[tuple[Connection, _Tree]]:
        """One transaction, in which nobody else hides names or stores shared texts in the tree."""
        async with session(self._pool) as connection:
            tree = await _tree(connection, process_id)
        async with one_at_a_time(self._pool, lock_of(tree.root)), transaction(self._pool) as connection:
            yield connection, tree

    async def _hide(
        self,
        process_id: str,
        groups: Sequence[Sequence[NameFound]],
        *,
        identities: bool = False,
        authors: Iterable[str] = (),
    ) -> Hidden:
        """`authors`: aliases of those who confirmed the names."""
        async with transaction(self._pool) as connection:
            tree = await _tree(connection, process_id)
            hidden = await _hidden(connection, tree.root)
            seats = [seat(tree.first, alias) for alias in authors]
            if not (added := forms_to_hide(hidden, groups, identities=identities, authors=seats)):
                return hidden
            await connection.execute(
                """INSERT INTO hidden_forms (root_id, digest, words, length, whole, capital, cased, ordinary, number, kind, authors)
                   SELECT %s, * FROM unnest(%s::bytea[], %s::int[], %s::int[], %s::bool[], %s::bool[], %s::bool[],
                                            %s::bool[], %s::int[], %s::text[], %s::text[])
                   ON CONFLICT (root_id, digest) DO UPDATE SET whole = excluded.whole, capital = excluded.capital,
                       cased = excluded.cased, ordinary = excluded.ordinary, authors = excluded.authors""",
                [tree.root, *map(list, zip(*added, strict=True))],
            )
            hidden = hidden.with_forms(added)
            await _mark_again(connection, tree.processes, Marker(hidden))
            return hidden

    async def _marker(self, first: str, hidden: Hidden, own: Mapping[str, str]) -> Marker:
        faces = await self._profiles.summaries([(person, None) for person in own.values()]) if own else {}
        names = {alias: faces[person, None].identities for alias, person in own.items() if (person, None) in faces}
        return Marker(hidden, names, first)


async def _mark_again(connection: Connection, tree: Sequence[str], marker: Marker) -> None:
    """Mark every shared text of a tree, and every text that a model wrote in it."""
    owners = [f"process:{process}" for process in tree]
    cursor = await connection.execute(
        """SELECT id, kind FROM texts WHERE owner = ANY(%s) AND body IS NOT NULL
             AND (kind LIKE 'shared/%%' OR kind IN ('observation', 'plan'))
           UNION SELECT t.id, t.kind FROM deliveries d JOIN texts o ON o.id = d.text_id
             JOIN texts t ON t.id = COALESCE(o.replaced_by, o.id)
             WHERE d.process_id = ANY(%s) AND t.body IS NOT NULL AND t.owner NOT IN (SELECT owner FROM tombstones)""",
        [owners, list(tree)],
    )
    kinds = {row["id"]: row["kind"] for row in await cursor.fetchall()}
    texts = await get_texts(connection, kinds, erased="")
    for id, text in texts.items():
        if text and (new := _marked(kinds[id].removeprefix(_SHARED), text, marker, "")) != text:
            await replace_text(connection, id, new)


def _names(identities: Iterable[str]) -> list[NameFound]:
    return [NameFound.model_construct(name=name, kind="person") for name in identities]


def _marked(kind: str, text: str, marker: Marker, author: str) -> str:
    """A text as others read it. A tension loses its spans and its list of names: both are the demander's alone."""
    if kind not in _STRUCTURED or not text.startswith("{"):
        return marker.text(text, author=author)
    model = _STRUCTURED[kind](text)
    if isinstance(model, Tension):
        model = model.model_copy(update={"spans": (), "names": ()})
    return marker.model(model, author=author).model_dump_json()


class _Tree(NamedTuple):
    """The tree of a process: its root, and all processes in it. `first`: the process, or of a fork the first origin, whose aliases it has."""

    root: str
    first: str
    processes: Sequence[str]


async def _tree(connection: Connection, process_id: str) -> _Tree:
    cursor = await connection.execute(
        """SELECT r.root_id, (SELECT o.id FROM with_origins(r.id) o ORDER BY o.distance DESC LIMIT 1) AS first,
                  ARRAY(SELECT p.id FROM processes p WHERE p.root_id = r.root_id) AS processes
           FROM processes r WHERE r.id = %s""",
        [process_id],
    )
    row = await cursor.fetchone()
    return _Tree(row["root_id"], row["first"], row["processes"]) if row else _Tree(process_id, process_id, ())


async def _hidden(connection: Connection, root: str) -> Hidden:
    secret = await data_key(connection, f"process:{root}")
    cursor = await connection.execute(
        """SELECT digest, words, length, whole, capital, cased, ordinary, number, kind, authors FROM hidden_forms WHERE root_id = %s
           ORDER BY number, digest""",
        [root],
    )
    forms = tuple(HiddenForm(**row) for row in await cursor.fetchall())
    return Hidden(hashlib.sha256(b"hidden forms" + (secret or root.encode())).digest(), forms)
