"""The people of scenes: profiles with their versions and identities."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, LiteralString

from pydantic import Field

from tongyao.protocol.identity.names import identities_of
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules.consent import Origin
from tongyao.records.database import Connection, RecordsError, Repository, rows_of, session, transaction
from tongyao.records.people.scenes import SceneUnknown
from tongyao.records.privacy.sealed_values import IDENTITY, Stored, opened, seal_value, stored_value
from tongyao.records.privacy.texts import NewText, put_first_texts, put_text, secret_of, text_id

_COLUMNS: Final = "v.profile_id, v.version, v.text_id, v.chars, v.grade, v.language, v.sha256, v.created_at"


class ProfileUnknown(RecordsError):
    """There is no such profile, or no such version of it."""


class ProfileKnown(RecordsError):
    """A profile that should be new exists already, or was deleted."""


class Profile(Value):
    id: str
    scene_id: str
    display_name: str
    contact: dict[str, Any]
    origin: Origin
    current_version: int
    created_at: datetime


class ProfileVersion(Value):
    """One frozen text of a profile; `chars` counts characters, `grade` is A, B or C."""

    profile_id: str
    version: int
    text_id: str
    chars: int
    grade: str
    language: str
    sha256: str
    created_at: datetime


def profile_text_id(profile_id: str, version: int) -> str:
    return text_id("profile", profile_id, version)


class NewProfile(Value):
    """The arguments of `Profiles.save` for a new person."""

    id: str
    display_name: str
    text: str
    grade: str
    language: str
    contact: dict[str, Any] = Field(default_factory=dict)
    origin: Origin = Origin.API


class ProfileSummary(Value):
    """The data of one profile version that a process needs.

    `identities`: as returned by `Profiles.identities`. `erased`: the person was erased, or their erasure has begun.
    """

    version: int
    language: str
    identities: tuple[str, ...]
    erased: bool = False


class Profiles(Repository):
    """All data about people, by id. Their words are in `texts`, owned by the profile's id."""

    async def save(
        self,
        profile_id: str,
        *,
        scene_id: str,
        display_name: str,
        text: str,
        grade: str,
        language: str,
        contact: dict[str, Any] | None = None,
        origin: Origin = Origin.API,
        file_digest: str | None = None,
    ) -> ProfileVersion:
        """Store a profile: a new version if its text differs from the current version. Name and contact are always
        stored.

        `origin`, and `file_digest` for a profile that is given as a file (`of_file`), state how the profile came in.
        They are kept from the first time. Returns the version that is now current. Raises `SceneUnknown`. Raises
        `ProfileUnknown` if the profile was deleted or belongs to another scene.
        """
        digest = hashlib.sha256(text.encode("utf-8")).hexdigest()
        async with transaction(self._pool) as connection:
            if not (await connection.execute("SELECT 1 FROM scenes WHERE id = %s", [scene_id])).rowcount:
                raise SceneUnknown(f"there is no scene {scene_id!r}")
            saved = await connection.execute(
                """INSERT INTO profiles AS old (id, scene_id, sample, origin, file_digest) VALUES (%s, %s, %s, %s, %s)
                   ON CONFLICT (id) DO UPDATE SET sample = excluded.sample
                   WHERE old.scene_id = excluded.scene_id AND old.deleted_at IS NULL
                   RETURNING current_version""",
                [profile_id, scene_id, _is_sample(contact), origin.value, file_digest],
            )
            row = await saved.fetchone()
            if row is None:
                raise ProfileUnknown(
                    f"profile {profile_id!r} was deleted, or belongs to another scene: choose another id"
                )
            current = int(row["current_version"])
            identity = await seal_value(connection, profile_id, IDENTITY, _identity(display_name, contact))
            await connection.execute(
                "UPDATE profiles SET identity = %s, identity_sealed = %s WHERE id = %s",
                [identity.body, identity.sealed, profile_id],
            )
            async with connection.cursor(row_factory=rows_of(ProfileVersion)) as cursor:
                await cursor.execute(_VERSION + " AND sha256 = %s", [profile_id, current, digest])
                if same := await cursor.fetchone():
                    return same
                version = current + 1
                stored = await put_text(
                    connection, profile_id, "profile", text, id=profile_text_id(profile_id, version)
                )
                await cursor.execute(
                    """INSERT INTO profile_versions AS v
                       (profile_id, version, text_id, chars, grade, language, sha256)
                       VALUES (%s, %s, %s, %s, %s, %s, %s) RETURNING """
                    + _COLUMNS,
                    [profile_id, version, stored, len(text), grade, language, digest],
                )
                new = await cursor.fetchone()
            await connection.execute("UPDATE profiles SET current_version = %s WHERE id = %s", [version, profile_id])
        assert new is not None
        return new

    async def add(self, scene_id: str, new: Sequence[NewProfile]) -> None:
        """Store new profiles, all or none. The result is the same as with one `save` each, in fewer statements.

        Raises `SceneUnknown`. Raises `ProfileKnown`, `TextConflict` or `TextErased` if one of them existed before. The
        error does not state which one: call `save` for each.
        """
        ids = [one.id for one in new]
        texts = [profile_text_id(id, 1) for id in ids]
        async with transaction(self._pool) as connection:
            if not (await connection.execute("SELECT 1 FROM scenes WHERE id = %s", [scene_id])).rowcount:
                raise SceneUnknown(f"there is no scene {scene_id!r}: create it before importing profiles into it")
            keys = await put_first_texts(
                connection, [NewText(text, one.id, "profile", one.text) for text, one in zip(texts, new, strict=True)]
            )
            stored = [
                stored_value(keys[one.id], one.id, IDENTITY, _identity(one.display_name, one.contact)) for one in new
            ]
            added = await connection.execute(
                """INSERT INTO profiles (id, scene_id, identity, identity_sealed, sample, origin)
                   SELECT id, %s, identity, sealed, sample, origin
                   FROM unnest(%s::text[], %s::bytea[], %s::bool[], %s::bool[], %s::text[])
                     AS t (id, identity, sealed, sample, origin)
                   ORDER BY id ON CONFLICT (id) DO NOTHING""",
                [scene_id, ids, [one.body for one in stored], [one.sealed for one in stored],
                 [_is_sample(one.contact) for one in new], [one.origin.value for one in new]],
            )  # fmt: skip
            if added.rowcount != len(new):
                raise ProfileKnown("one of these profiles exists already, or was deleted")
            await connection.execute(
                """INSERT INTO profile_versions (profile_id, version, text_id, chars, grade, language, sha256)
                   SELECT id, 1, text_id, chars, grade, language, sha256
                   FROM unnest(%s::text[], %s::uuid[], %s::int[], %s::text[], %s::text[], %s::text[])
                     AS t (id, text_id, chars, grade, language, sha256)""",
                [ids, texts, [len(one.text) for one in new], [one.grade for one in new],
                 [one.language for one in new], [hashlib.sha256(one.text.encode("utf-8")).hexdigest() for one in new]],
            )  # fmt: skip
            await connection.execute("UPDATE profiles SET current_version = 1 WHERE id = ANY(%s)", [ids])

    async def get(self, profile_id: str) -> Profile:
        """Return one profile. Raises `ProfileUnknown`, also if it was deleted."""
        found = await self.get_many([profile_id])
        if not found:
            raise ProfileUnknown(f"there is no profile {profile_id!r}")
        return found[profile_id]

    async def get_many(self, profile_ids: Sequence[str]) -> dict[str, Profile]:
        """The profiles that exist and are not deleted, by id."""
        async with session(self._pool) as connection:
            cursor = await connection.execute(
                f"SELECT p.*, {_KEY} WHERE p.id = ANY(%s) AND p.deleted_at IS NULL", [list(profile_ids)]
            )
            rows = await cursor.fetchall()
            identities = _identities(connection, rows)
        return {
            row["id"]: Profile(
                display_name=name,
                contact=contact,
                **{column: row[column] for column in Profile.model_fields if column in row},
            )
            for row, (name, contact) in zip(rows, identities, strict=True)
        }

    async def known(self, profile_ids: Sequence[str]) -> dict[str, int]:
        """The current versions of the profiles that exist and are not deleted. Nothing is decrypted."""
        return await self._mapping(
            "SELECT id, current_version FROM profiles WHERE id = ANY(%s) AND deleted_at IS NULL", [list(profile_ids)]
        )

    async def of_file(self, file_digest: str) -> dict[str, str]:
        """The profiles that were imported from this file: profile id → scene. Each scene has at most one such profile."""
        return await self._mapping(
            "SELECT id, scene_id FROM profiles WHERE file_digest = %s AND deleted_at IS NULL ORDER BY id", [file_digest]
        )

    async def was_given(self, profile_id: str) -> bool:
        """Whether a profile has this id, or had it before its deletion. Such an id is never given to another person."""
        return bool(await self._value("SELECT 1 FROM profiles WHERE id = %s", [profile_id]))

    async def ids_like(self, part: str) -> list[str]:
        """Ids that begin with this text, or end with it after a hyphen or a dot, in order: `derek` finds `cases-ferry-derek`."""
        escaped = part.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        return await self._column(
            """SELECT id FROM profiles
               WHERE deleted_at IS NULL AND (id LIKE %(begins)s OR id LIKE %(hyphen)s OR id LIKE %(dot)s)
               ORDER BY id LIMIT 20""",
            {"begins": f"{escaped}%", "hyphen": f"%-{escaped}", "dot": f"%.{escaped}"},
        )

    async def of_scene(self, scene_id: str) -> list[ProfileVersion]:
        """The current versions of all profiles of a scene that are not deleted, by profile id."""
        return await self._current(scene_id, "true ORDER BY p.id", [])

    async def page_of_scene(self, scene_id: str, *, after: str, limit: int) -> list[ProfileVersion]:
        """Like `of_scene`, but at most `limit` profiles with ids after `after`."""
        return await self._current(scene_id, "p.id > %s ORDER BY p.id LIMIT %s", [after, limit])

    async def some_of_scene(self, scene_id: str, profile_ids: Sequence[str]) -> list[ProfileVersion]:
        """Like `of_scene`, but only of `profile_ids`."""
        return await self._current(scene_id, "p.id = ANY(%s) ORDER BY p.id", [list(profile_ids)])

    async def _current(self, scene_id: str, which: LiteralString, values: Sequence[object]) -> list[ProfileVersion]:
        return await self._all(
            ProfileVersion,
            f"""SELECT {_COLUMNS} FROM profiles p JOIN profile_versions v
               ON v.profile_id = p.id AND v.version = p.current_version
               WHERE p.scene_id = %s AND p.deleted_at IS NULL AND {which}""",
            [scene_id, *values],
        )

    async def anybody(self, scene_id: str, *, beside: str = "") -> bool:
        """Whether a scene contains anybody other than the profile `beside`."""
        return bool(
            await self._value(
                "SELECT 1 FROM profiles WHERE scene_id = %s AND deleted_at IS NULL AND id <> %s LIMIT 1",
                [scene_id, beside],
            )
        )

    async def version(self, profile_id: str, version: int | None = None) -> ProfileVersion:
        """One version (None: the current one). Versions of deleted profiles are returned too, because processes may
        have frozen them.

        Raises `ProfileUnknown`.
        """
        return (await self.versions([(profile_id, version)]))[0]

    async def versions(self, wanted: Sequence[tuple[str, int | None]]) -> list[ProfileVersion]:
        """Like `version`, for each (profile id, version), in the same order."""
        rows = await self._rows(
            f"""SELECT w.version AS wanted, {_COLUMNS} FROM unnest(%s::text[], %s::int[]) AS w (id, version)
               JOIN profiles p ON p.id = w.id
               JOIN profile_versions v ON v.profile_id = p.id AND v.version = COALESCE(w.version, p.current_version)""",
            [[id for id, _ in wanted], [version for _, version in wanted]],
        )
        found = {(row["profile_id"], row.pop("wanted")): ProfileVersion(**row) for row in rows}
        for id, version in wanted:
            if (id, version) not in found:
                which = f"no version {version} of profile" if version is not None else "no profile"
                raise ProfileUnknown(f"there is {which} {id!r}")
        return [found[one] for one in wanted]

    async def summaries(self, wanted: Sequence[tuple[str, int | None]]) -> dict[tuple[str, int | None], ProfileSummary]:
        """Summaries of each (profile id, version; None: the current version), in one query. Unknown ones are left out.

        A deleted profile is returned if its version is given, because processes may have frozen it.
        """
        async with session(self._pool) as connection:
            cursor = await connection.execute(
                """SELECT w.id, w.version AS wanted, v.version, v.language, p.identity, p.identity_sealed,
                          EXISTS (SELECT 1 FROM tombstones t WHERE t.owner = p.id) AS erased,
                          k.id AS key_id, k.wrapped, k.master_id
                   FROM unnest(%s::text[], %s::int[]) AS w (id, version)
                   JOIN profiles p ON p.id = w.id AND (w.version IS NOT NULL OR p.deleted_at IS NULL)
                   JOIN profile_versions v ON v.profile_id = p.id AND v.version = COALESCE(w.version, p.current_version)
                   LEFT JOIN data_keys k ON k.owner = p.id AND k.destroyed_at IS NULL""",
                [[one for one, _ in wanted], [version for _, version in wanted]],
            )
            rows = await cursor.fetchall()
            identities = _identities(connection, rows)
        return {
            (row["id"], row["wanted"]): ProfileSummary(
                version=row["version"],
                language=row["language"],
                identities=identities_of(name, contact),
                erased=row["erased"],
            )
            for row, (name, contact) in zip(rows, identities, strict=True)
        }

    async def delete(self, profile_id: str) -> None:
        """Remove the profile from its scene. Its versions stay for the processes that froze them."""
        await self._run("UPDATE profiles SET deleted_at = now() WHERE id = %s AND deleted_at IS NULL", [profile_id])


def _identity(display_name: str, contact: dict[str, Any] | None) -> dict[str, Any]:
    return {"name": display_name, "contact": contact or {}}


def _is_sample(contact: dict[str, Any] | None) -> bool:
    return bool(contact and contact.get("sample") is True)


def _identities(connection: Connection, rows: Sequence[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Name and contact from each row of `profiles` joined with its owner's data key. Empty if they were erased."""
    values = [
        opened(
            secret_of(connection, row["id"], row),
            Stored(row["id"], IDENTITY, row["identity"], row["identity_sealed"]),
        )
        for row in rows
    ]
    return [("", {}) if value is None else (value["name"], value["contact"]) for value in values]


_KEY: LiteralString = """k.id AS key_id, k.wrapped, k.master_id
    FROM profiles p LEFT JOIN data_keys k ON k.owner = p.id AND k.destroyed_at IS NULL"""
_VERSION: LiteralString = f"""SELECT {_COLUMNS} FROM profile_versions v WHERE v.profile_id = %s
    AND v.version = COALESCE(%s, (SELECT current_version FROM profiles p WHERE p.id = v.profile_id))"""


class MandateRow(Value):
    """Whether the proxy may speak, and the id of the text with the other orders (JSON of topics, never, addition), if there is one."""

    profile_id: str
    may_speak: bool = True
    text_id: str | None = None
    updated_at: datetime | None = None


class MandateRows(Repository):
    """Whether each proxy may speak, by profile id. The words of mandates are in `texts`."""

    async def get_many(self, profile_ids: Sequence[str]) -> dict[str, MandateRow]:
        """The present mandates. A person who never set one has a mandate that allows everything."""
        rows = await self._all(
            MandateRow,
            "SELECT profile_id, may_speak, text_id, updated_at FROM mandates WHERE profile_id = ANY(%s)",
            [list(profile_ids)],
        )
        said = {row.profile_id: row for row in rows}
        return {id: said.get(id) or MandateRow(profile_id=id) for id in profile_ids}

    async def put(
        self, profile_id: str, *, may_speak: bool, text_id: str | None = None, answerers: Sequence[str] = ()
    ) -> None:
        """Replace the mandate. It applies from the next call on. `answerers`: names of answerers (`tongyao.records.waiting_calls`)."""
        await self._run(
            """INSERT INTO mandates (profile_id, may_speak, text_id, answerers) VALUES (%s, %s, %s, %s)
               ON CONFLICT (profile_id) DO UPDATE
               SET may_speak = excluded.may_speak, text_id = excluded.text_id, answerers = excluded.answerers,
                   updated_at = now()""",
            [profile_id, may_speak, text_id, list(answerers)],
        )
