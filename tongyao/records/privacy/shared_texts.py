"""The only module that stores texts for others to read: texts with marks in place of names (docs/protocol.md §6.3).

The words of a person are stored twice: the original under the person's key, and a shared text under the key of the
process. Texts of a model are stored with marks only. When further names are hidden, texts that were stored before are marked
again. So no shared text in a tree of processes contains a form that is hidden in this tree. Reading needs no masking.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from pydantic import BaseModel

from tongyao.protocol.identity.marks import Hidden, HiddenForm, Marker, forms_to_hide, seat
from tongyao.protocol.identity.proposer import without_proposed
from tongyao.protocol.model.plan import Delivery
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.tension import NameFound, Tension
from tongyao.protocol.model.upcast import read_observation, read_plan, read_projection
from tongyao.records.database import Connection, Pool, one_at_a_time, session
from tongyao.records.people.profiles import Profiles
from tongyao.records.privacy.texts import (
    NewText,
    Texts,
    data_key,
    get_texts,
    key_of,
    put_with_shared,
    replace_text,
    text_id,
)
from tongyao.records.process.process_rows import ProcessRow

_STRUCTURED: Final[Mapping[str, Callable[[str], BaseModel]]] = {
    "projection": read_projection,
    "observation": read_observation,
    "plan": read_plan,
    "delivery": Delivery.model_validate_json,
    "tension": Tension.model_validate_json,
    "standing": Tension.model_validate_json,
}
"""Kinds of texts that are JSON. Only the Markdown form of a plan is not."""
_SHARED: Final = "shared/"
"""Prefix of the kind of a shared text. The kind of its original follows."""


_TREE: Final = """SELECT k.id AS key_id, k.wrapped, k.master_id,
        ARRAY(SELECT id FROM processes WHERE root_id = %(root)s) AS processes,
        ARRAY(SELECT jsonb_build_object('digest', encode(digest, 'hex'), 'words', words, 'length', length, 'whole', whole,
                                        'capital', capital, 'cased', cased, 'ordinary', ordinary, 'number', number,
                                        'kind', kind, 'authors', authors)
              FROM hidden_forms WHERE root_id = %(root)s ORDER BY number, digest) AS forms
    FROM (SELECT) one LEFT JOIN data_keys k ON k.owner = %(owner)s AND k.destroyed_at IS NULL"""


class _Tree(NamedTuple):
    """A root process, all processes below it, and the names hidden in them."""

    root: str
    processes: list[str]
    hidden: Hidden


def shared_text_id(original: str) -> str:
    """The id of the shared text that belongs to an original."""
    return text_id("shared", original)


def lock_of(root: str) -> str:
    """The name of the lock for writing shared texts of a tree (`database.one_at_a_time`)."""
    return f"shared/{root}"


class SharedTexts:
    """Writes shared texts, and the names that are hidden in them."""

    def __init__(self, pool: Pool, texts: Texts, profiles: Profiles) -> None:
        self._pool, self._texts, self._profiles = pool, texts, profiles

    async def marker(self, process: ProcessRow, own: Mapping[str, Iterable[str]]) -> Marker:
        """The object that marks frozen profiles for a prompt. `own`: alias → names that become the alias in this
        participant's own texts.
        """
        async with session(self._pool) as connection:
            tree = await _tree(connection, process.root_id)
        return Marker(tree.hidden, own, process.first)

    async def hide_people(self, process: ProcessRow, people: Iterable[str]) -> None:
        """Hide the names and contacts of these people, given by the ids of their profiles. People without a profile are skipped."""
        own = await self._own({person: person for person in people})
        if named := [_names(identities) for identities in own.values() if identities]:
            async with session(self._pool) as connection:
                tree = await _tree(connection, process.root_id)
            if forms_to_hide(tree.hidden, named, identities=True):
                async with self._locked(process.root_id) as (connection, tree):
                    await _hide(connection, tree, named, identities=True)

    async def hide(self, process: ProcessRow, groups: Iterable[Sequence[NameFound]], *, author: str = "") -> None:
        """Hide names, all names of a group under the same mark, and mark again the texts stored in the tree before.

        `author`: the alias of the person who confirmed the names. In this person's own texts the names are hidden even
        if they are ordinary words.
        """
        if named := [group for group in groups if group]:
            async with self._locked(process.root_id) as (connection, tree):
                await _hide(connection, tree, named, authors=[seat(process.first, author)])

    async def put(
        self,
        process: ProcessRow,
        texts: Sequence[NewText],
        *,
        aliases: Mapping[str, str],
        names: Mapping[str, Sequence[NameFound]] | None = None,
        own: Mapping[str, Iterable[str]] | None = None,
    ) -> dict[str, str]:
        """Store the words of people: each original with its shared text. Returns the valid originals, by id.

        `aliases`: the aliases of the authors, by the ids of their texts. `names`: further names to hide, by the alias
        of the person who confirmed them. `own`: as in `marker`; if it is None, the owners' names are looked up. As in
        `Texts.first_of_those_left`, the first text of an id stays valid, and nothing is stored for erased owners.
        """
        if not texts:
            return {}
        if own is None:
            own = await self._own({aliases[new.id]: new.owner for new in texts if aliases.get(new.id)})
        async with self._locked(process.root_id) as (connection, tree):
            for alias, confirmed in (names or {}).items():
                groups = [[name] for name in confirmed]
                tree = await _hide(connection, tree, groups, authors=[seat(process.first, alias)])
            marker = Marker(tree.hidden, own, process.first)

            def shared(new: NewText) -> NewText:
                marked = _marked(new.kind, new.text, marker, aliases.get(new.id, ""))
                return NewText(shared_text_id(new.id), f"process:{process.id}", _SHARED + new.kind, marked)

            return await put_with_shared(connection, texts, shared)

    async def put_marked(self, process: ProcessRow, texts: Sequence[NewText]) -> dict[str, str]:
        """Store texts of a model, with marks. Returns the valid texts, as `Texts.first_of_those_left` does."""
        if not texts:
            return {}
        async with self._locked(process.root_id) as (_, tree):
            marker = Marker(tree.hidden, process_id=process.first)
            return await self._texts.first_of_those_left(
                [new._replace(text=_marked(new.kind, new.text, marker, "")) for new in texts]
            )

    async def publish_tension(self, process: ProcessRow) -> None:
        """Hide the names in a confirmed tension, and store the tension in the form that others read. Idempotent."""
        original = process.tension_text_id
        if original is None:
            return
        shared = shared_text_id(original)
        async with session(self._pool) as connection:
            texts = await get_texts(connection, [original], erased="", known=[shared])
        if shared in texts or not texts[original]:
            return
        new = NewText(original, process.demander, "tension", texts[original])
        names = Tension.model_validate_json(texts[original]).names
        await self.put(process, [new], aliases={original: DEMANDER}, names={DEMANDER: names})

    @asynccontextmanager
    async def _locked(self, root: str) -> AsyncIterator[tuple[Connection, _Tree]]:
        """One transaction in which no other caller hides names or stores shared texts in the tree."""
        async with one_at_a_time(self._pool, lock_of(root)), session(self._pool) as connection:
            yield connection, await _tree(connection, root)

    async def _own(self, people: Mapping[str, str]) -> dict[str, Sequence[str]]:
        """Alias → names and contacts that identify the person. People without a profile are left out."""
        faces = await self._profiles.summaries([(person, None) for person in dict.fromkeys(people.values()) if person])
        return {alias: face.identities for alias, person in people.items() if (face := faces.get((person, None)))}


def _names(identities: Iterable[str]) -> list[NameFound]:
    return [NameFound.model_construct(name=name, kind="person") for name in identities]


async def _tree(connection: Connection, root: str) -> _Tree:
    """Read the tree below a root process, with the names hidden in it."""
    cursor = await connection.execute(_TREE, {"root": root, "owner": f"process:{root}"})
    row = await cursor.fetchone()
    assert row is not None
    key = key_of(connection, f"process:{root}", row)
    secret = await data_key(connection, f"process:{root}") if key is None else key.secret
    digests = hashlib.sha256(b"hidden forms" + (secret or root.encode())).digest()
    forms = [HiddenForm(**{**form, "digest": bytes.fromhex(form["digest"])}) for form in row["forms"]]
    return _Tree(root, row["processes"], Hidden(digests, tuple(forms)))


async def _hide(
    connection: Connection,
    tree: _Tree,
    groups: Sequence[Sequence[NameFound]],
    *,
    identities: bool = False,
    authors: Sequence[str] = (),
) -> _Tree:
    """Hide names in a locked tree. Returns the tree with these names."""
    if not (added := forms_to_hide(tree.hidden, groups, identities=identities, authors=authors)):
        return tree
    await connection.execute(
        """INSERT INTO hidden_forms (root_id, digest, words, length, whole, capital, cased, ordinary, number, kind, authors)
           SELECT %s, * FROM unnest(%s::bytea[], %s::int[], %s::int[], %s::bool[], %s::bool[], %s::bool[],
                                    %s::bool[], %s::int[], %s::text[], %s::text[])
           ON CONFLICT (root_id, digest) DO UPDATE SET whole = excluded.whole, capital = excluded.capital,
               cased = excluded.cased, ordinary = excluded.ordinary, authors = excluded.authors""",
        [tree.root, *map(list, zip(*added, strict=True))],
    )
    tree = tree._replace(hidden=tree.hidden.with_forms(added))
    await _mark_again(connection, tree.processes, Marker(tree.hidden))
    return tree


async def _mark_again(connection: Connection, tree: Sequence[str], marker: Marker) -> None:
    """Mark all shared texts of a tree, and all texts that a model wrote in it."""
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
        if text and (new := _marked(kinds[id], text, marker, "")) != text:
            await replace_text(connection, id, new)


def _marked(kind: str, text: str, marker: Marker, author: str) -> str:
    """A text in the form that others read.

    A tension loses its spans and its list of names, because both are for the demander alone. Nobody confirms names in
    feedback, so every word there that looks like a name is replaced.
    """
    kind = kind.removeprefix(_SHARED)
    if kind not in _STRUCTURED or not text.startswith("{"):
        shown = marker.text(text, author=author)
        return without_proposed(shown) if kind == "feedback" else shown
    model = _STRUCTURED[kind](text)
    if isinstance(model, Tension):
        model = model.model_copy(update={"spans": (), "names": ()})
    return marker.model(model, author=author).model_dump_json()
