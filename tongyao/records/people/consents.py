"""Decisions of people, by scene, whether a proxy may speak for them. Also counts the questions to them (docs/protocol.md §3.11)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from tongyao.protocol.model.value import Value
from tongyao.protocol.rules.consent import Consent, Origin, SceneConsent, standing
from tongyao.records.database import Repository, transaction


class ConsentQuotas(BaseModel):
    """The settings `TONGYAO_CONSENT__…`. A person over one of these limits does not take part, and the reason is not disclosed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    person_per_day: int = Field(
        default=20, ge=1, description="The most questions to one person in a day, for all demanders together."
    )
    pair_per_day: int = Field(
        default=5, ge=1, description="The most questions to one person in a day for one demander."
    )
    demander_per_day: int = Field(default=100, ge=1, description="The most questions in a day for one demander.")
    pair_per_month: int = Field(
        default=30,
        ge=1,
        description="The most questions to one person, or seats without a question, in 30 days for one demander. No limit for samples.",
    )
    chosen_per_day: int = Field(
        default=20,
        ge=1,
        description="How often one person may be seated as `human` or `agent` in a day, by all demanders together.",
    )
    chosen_pair_per_day: int = Field(
        default=10,
        ge=1,
        description="How often one demander may have one person seated as `human` or `agent` in a day.",
    )
    most_turns: int = Field(
        default=40,
        ge=1,
        description="While this many turns in others' processes wait for a person, they cannot be chosen as `human` or `agent`.",
    )


class ConsentRow(Value):
    """A person's decision for one scene."""

    scene_id: str
    consent: Consent
    updated_at: datetime


class Consents(Repository):
    """Decisions of people about their proxies. Every question is a row of the inbox, where questions are counted."""

    async def put(self, profile_id: str, scene_id: str, consent: Consent) -> None:
        """Replace the decision for one scene.

        If a person takes back a `never`, their profile is compared with the standing tensions again.
        """
        async with transaction(self._pool) as connection:
            if consent is not Consent.NEVER:
                await connection.execute(
                    """UPDATE profiles SET searched_version = 0 WHERE id = %s AND scene_id = %s AND EXISTS (
                         SELECT 1 FROM consents c WHERE c.profile_id = profiles.id AND c.scene_id = profiles.scene_id
                           AND c.consent = 'never')""",
                    [profile_id, scene_id],
                )
            await connection.execute(
                """INSERT INTO consents (profile_id, scene_id, consent) VALUES (%s, %s, %s)
                   ON CONFLICT (profile_id, scene_id) DO UPDATE SET consent = excluded.consent, updated_at = now()""",
                [profile_id, scene_id, consent.value],
            )

    async def put_first(self, profile_id: str, scene_id: str, consent: Consent) -> None:
        """Store a decision if there is none yet."""
        await self._run(
            "INSERT INTO consents (profile_id, scene_id, consent) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
            [profile_id, scene_id, consent.value],
        )

    async def of_person(self, profile_id: str) -> list[ConsentRow]:
        """The decisions of a person, by scene."""
        return await self._all(
            ConsentRow,
            "SELECT scene_id, consent, updated_at FROM consents WHERE profile_id = %s ORDER BY scene_id",
            [profile_id],
        )

    async def standing(self, profile_ids: Sequence[str], scene_id: str) -> dict[str, SceneConsent]:
        """The current consent of these people in a scene. An empty `scene_id` means the scene of each profile.

        Deleted and unknown profiles are left out.
        """
        rows = await self._rows(
            """SELECT p.id, p.origin, c.consent, COALESCE(NULLIF(%(scene)s, ''), p.scene_id) = p.scene_id AS at_home
               FROM profiles p LEFT JOIN consents c
                 ON c.profile_id = p.id AND c.scene_id = COALESCE(NULLIF(%(scene)s, ''), p.scene_id)
               WHERE p.id = ANY(%(ids)s) AND p.deleted_at IS NULL""",
            {"ids": list(profile_ids), "scene": scene_id},
        )
        return {
            row["id"]: standing(
                row["id"],
                Origin(row["origin"]),
                Consent(row["consent"]) if row["consent"] else None,
                at_home=row["at_home"],
            )
            for row in rows
        }

    async def said_yes(self, process_id: str, profile_ids: Sequence[str]) -> set[str]:
        """The people who agreed in this process by a stored message: an answer to the question, or their own switch to
        a proxy.

        A later no revokes a yes. A yes in the origin of a fork is valid in the fork.
        """
        rows = await self._rows(_SAID_YES, {"process": process_id, "ids": list(profile_ids)})
        return {row["person"] for row in rows if row["yes"]}

    async def over_quota(self, demander: str, profile_ids: Sequence[str], quotas: ConsentQuotas) -> tuple[str, ...]:
        """The people who were asked too often today, or proposed too often by this demander."""
        rows = await self._rows(_COUNTS, {"demander": demander, "ids": list(profile_ids)})
        return tuple(
            row["person"]
            for row in rows
            if row["today"] >= quotas.person_per_day
            or row["pair_today"] >= quotas.pair_per_day
            or (row["origin"] != Origin.SAMPLE and row["pair"] >= quotas.pair_per_month)
        )

    async def chosen_too_often(
        self, demander: str, profile_ids: Sequence[str], quotas: ConsentQuotas, *, announced: bool = False
    ) -> tuple[str, ...]:
        """The people who cannot be chosen as `human` or `agent` now.

        They were chosen too often today, or too many turns wait for them. Only processes that somebody else started
        over the network count. `announced`: processes that have not seated anybody yet count too.
        """
        rows = await self._rows(_CHOSEN, {"demander": demander, "ids": list(profile_ids), "announced": announced})
        return tuple(
            row["person"]
            for row in rows
            if row["today"] + row["announced"] >= quotas.chosen_per_day
            or row["pair_today"] + row["pair_announced"] >= quotas.chosen_pair_per_day
            or row["waiting"] >= quotas.most_turns
        )

    async def asked_by(self, demander: str) -> int:
        """The number of questions that this demander caused in the last day."""
        return int(await self._value(_ASKED_BY_DEMANDER, [demander]))


_SAID_YES = """
    SELECT DISTINCT ON (p.person) p.person, a.yes
    FROM unnest(%(ids)s::text[]) AS p (person), LATERAL (
        SELECT (m.payload ->> 'allow')::boolean AND COALESCE(m.payload ->> 'endpoint', 'proxy') = 'proxy' AS yes, m.created_at FROM messages m
        WHERE m.process_id IN (SELECT id FROM with_origins(%(process)s)) AND m.kind = 'consent' AND m.author_id = 'invited:' || p.person
          AND (m.verdict IS NULL OR (m.verdict ->> 'accepted')::boolean)
        UNION ALL
        SELECT true, m.created_at FROM messages m
        WHERE m.process_id IN (SELECT id FROM with_origins(%(process)s)) AND m.kind = 'switch_endpoint'
          AND m.author_id IN ('participant:' || p.person, 'demander:' || p.person)
          AND 'proxy' IN (m.payload ->> 'endpoint', m.payload ->> 'fallback')
          AND (m.verdict IS NULL OR (m.verdict ->> 'accepted')::boolean)) AS a
    ORDER BY p.person, a.created_at DESC"""

_COUNTS = """
    SELECT p.id AS person, p.origin,
           (SELECT count(*) FROM inbox i
            WHERE i.person = p.id AND i.ask = 'consent' AND i.opened_at > now() - interval '1 day') AS today,
           (SELECT count(*) FROM inbox i JOIN processes c ON c.id = i.process_id
            WHERE i.person = p.id AND i.ask = 'consent' AND c.demander = %(demander)s
              AND i.opened_at > now() - interval '1 day') AS pair_today,
           (SELECT count(*) FROM inbox i JOIN processes c ON c.id = i.process_id
            WHERE i.person = p.id AND i.ask = 'consent' AND c.demander = %(demander)s
              AND i.opened_at > now() - interval '30 days')
           + (SELECT count(*) FROM seats s JOIN processes c ON c.id = s.process_id AND c.forked_from IS NULL
              WHERE s.profile_id = p.id AND c.demander = %(demander)s AND s.seated_at > now() - interval '30 days'
                AND NOT EXISTS (SELECT 1 FROM inbox i
                                WHERE i.process_id = s.process_id AND i.person = p.id AND i.ask = 'consent')) AS pair
    FROM profiles p WHERE p.id = ANY(%(ids)s)"""

_CHOSEN = """
    SELECT p.id AS person,
           (SELECT count(*) FROM seats s JOIN processes c ON c.id = s.process_id AND c.forked_from IS NULL JOIN budgets b ON b.root_id = c.root_id
            WHERE s.profile_id = p.id AND s.seated_endpoint IN ('human', 'agent') AND s.seated_at > now() - interval '1 day'
              AND b.person IS NOT NULL AND c.demander <> p.id) AS today,
           (SELECT count(*) FROM seats s JOIN processes c ON c.id = s.process_id AND c.forked_from IS NULL JOIN budgets b ON b.root_id = c.root_id
            WHERE s.profile_id = p.id AND s.seated_endpoint IN ('human', 'agent') AND s.seated_at > now() - interval '1 day'
              AND b.person IS NOT NULL AND c.demander = %(demander)s) AS pair_today,
           (SELECT count(*) FROM inbox i JOIN processes c ON c.id = i.process_id JOIN budgets b ON b.root_id = c.root_id
            WHERE i.person = p.id AND i.ask = 'projection' AND i.closed_at IS NULL
              AND b.person IS NOT NULL AND c.demander <> p.id) AS waiting,
           a.n AS announced, a.pair AS pair_announced
    FROM profiles p, LATERAL (
        SELECT count(*) AS n, count(*) FILTER (WHERE c.demander = %(demander)s) AS pair
        FROM processes c JOIN manifests m ON m.process_id = c.id AND m.part = 'start' JOIN budgets b ON b.root_id = c.root_id
        WHERE %(announced)s AND c.forked_from IS NULL AND c.created_at > now() - interval '1 day' AND c.ended_at IS NULL
          AND b.person IS NOT NULL AND c.demander <> p.id
          AND NOT EXISTS (SELECT 1 FROM seats s WHERE s.process_id = c.id)
          AND (m.body -> 'participants' @> jsonb_build_array(jsonb_build_object('profile_id', p.id, 'endpoint', 'human'))
               OR m.body -> 'participants' @> jsonb_build_array(jsonb_build_object('profile_id', p.id, 'endpoint', 'agent')))) AS a
    WHERE p.id = ANY(%(ids)s) ORDER BY p.id"""

_ASKED_BY_DEMANDER = """
    SELECT count(*) AS n FROM inbox i JOIN processes c ON c.id = i.process_id
    WHERE c.demander = %s AND i.ask = 'consent' AND i.opened_at > now() - interval '1 day'"""
