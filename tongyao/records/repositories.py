"""The repositories of all tables over one pool, and the whole record of one process."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import UTC
from typing import Final

from pydantic import Field

from tongyao.protocol.model.plan import Delivery
from tongyao.protocol.model.process import DEMANDER, Phase, ProfileRef
from tongyao.protocol.model.projection import EndpointKind, Projection
from tongyao.protocol.model.record import EarlierAnswer, Participant, Record
from tongyao.protocol.model.requests import Mandate, known_language
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.model.upcast import read_observation, read_plan, read_projection
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules.consent import Consent
from tongyao.records.budgets import Budgets
from tongyao.records.database import Pool, as_json, fetch_one
from tongyao.records.model_calls import Ledger
from tongyao.records.operators_overview import Overview
from tongyao.records.people.consents import Consents
from tongyao.records.people.notifications import Notifications
from tongyao.records.people.openid_links import OpenIDLinks
from tongyao.records.people.profiles import MandateRows, Profiles, ProfileSummary, profile_text_id
from tongyao.records.people.scenes import Scenes
from tongyao.records.people.sources import Sources
from tongyao.records.people.tokens import Tokens
from tongyao.records.privacy.drafts import Drafts
from tongyao.records.privacy.shared_texts import SharedTexts, shared_text_id
from tongyao.records.privacy.texts import Texts
from tongyao.records.process.changes import Changes
from tongyao.records.process.events import Events
from tongyao.records.process.gateway_outages import Door
from tongyao.records.process.inbox import Inbox
from tongyao.records.process.journal import Journal
from tongyao.records.process.lineage import ProcessLineage
from tongyao.records.process.messages import Messages
from tongyao.records.process.operator_log import OperatorLog
from tongyao.records.process.plans import (
    ANSWERS,
    DELIVERIES,
    PLANS,
    AnswerRow,
    Contacts,
    DeliveryRow,
    Feedback,
    PlanRow,
    Plans,
)
from tongyao.records.process.process_rows import Processes, ProcessRow
from tongyao.records.process.rounds import OBSERVATIONS, PROJECTIONS, ObservationRow, ProjectionRow, Rounds
from tongyao.records.process.seats import SEATS, SeatRow, Seats
from tongyao.records.process.standing import StandingTensions
from tongyao.records.waiting_calls import WaitingCalls

ERASED: Final = "[erased]"
"""The replacement for a text that its owner had erased."""


class _RecordRows(Value):
    """The rows from which the record of a process is made. `revised`: whether the tension was revised."""

    seats: list[SeatRow]
    projections: list[ProjectionRow]
    observations: list[ObservationRow]
    revised: bool
    plans: tuple[PlanRow, ...] = ()
    deliveries: tuple[DeliveryRow, ...] = ()
    answers: tuple[AnswerRow, ...] = ()
    contacts: dict[str, str] = Field(default_factory=dict)


_OF_TURNS: Final = f"""SELECT {as_json(SEATS)} AS seats, {as_json(PROJECTIONS)} AS projections,
    {as_json(OBSERVATIONS)} AS observations,
    EXISTS (SELECT 1 FROM events WHERE process_id = %(process)s AND NOT superseded AND kind = 'tension_revised') AS revised"""
_OF_WHOLE_RECORD: Final = f"""{_OF_TURNS}, {as_json(PLANS)} AS plans, {as_json(DELIVERIES)} AS deliveries,
    {as_json(ANSWERS)} AS answers,
    COALESCE((SELECT jsonb_object_agg(alias, text_id) FROM contacts WHERE process_id = %(process)s), '{{}}') AS contacts"""


class Repositories:
    """One repository per subject, all over one connection pool."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.texts = Texts(pool)
        self.drafts = Drafts(pool)
        self.scenes = Scenes(pool)
        self.profiles = Profiles(pool)
        self.shared = SharedTexts(pool, self.texts, self.profiles)
        self.processes = Processes(pool)
        self.lineage = ProcessLineage(pool)
        self.seats = Seats(pool)
        self.rounds = Rounds(pool)
        self.plans = Plans(pool)
        self.feedback = Feedback(pool)
        self.standing = StandingTensions(pool)
        self.contacts = Contacts(pool)
        self.ledger = Ledger(pool)
        self.waiting_calls = WaitingCalls(pool)
        self.journal = Journal(pool)
        self.events = Events(pool)
        self.changes = Changes(pool)
        self.messages = Messages(pool)
        self.door = Door(pool)
        self.operators = OperatorLog(pool)
        self.inbox = Inbox(pool)
        self.consents = Consents(pool)
        self.mandate_rows = MandateRows(pool)
        self.budgets = Budgets(pool)
        self.tokens = Tokens(pool)
        self.openid_links = OpenIDLinks(pool)
        self.notifications = Notifications(pool)
        self.sources = Sources(pool)
        self.overview = Overview(pool)

    async def record(
        self,
        process: str | ProcessRow,
        *,
        own: Collection[str] = (),
        turns_of: Sequence[str] | None = None,
        before_plan: int | None = None,
    ) -> Record:
        """The whole record of a process, given by its id or its row, in the form that others read.

        `own`: aliases whose own texts are returned in the original form. If the demander is among them, the intent is
        included. `turns_of`: only the data that the turns of these aliases may use, without projections of others and
        without plans. `before_plan`: the state before this revision of the plan, with the answers to the previous
        revision. Raises `ProcessUnknown`. Erased texts read as `[erased]` or are left out.
        """
        row = await self.processes.get(process) if isinstance(process, str) else process
        rows = await fetch_one(
            self.pool,
            _RecordRows,
            _OF_WHOLE_RECORD if turns_of is None else _OF_TURNS,
            {"process": row.id, "aliases": None if turns_of is None else list(turns_of)},
        )
        assert rows is not None
        seats, projections, observations = rows.seats, rows.projections, rows.observations
        plans = [one for one in rows.plans if before_plan is None or one.revision < before_plan]
        deliveries, answers = (rows.deliveries, rows.answers) if plans else ((), ())
        contacts = rows.contacts if plans else {}
        people = [(row.demander, None), *((seat.person, seat.profile_version) for seat in seats)]
        summaries = await self.profiles.summaries(people)

        def read_as(alias: str, text_id: str | None) -> str:
            return text_id or "" if not text_id or alias in own else shared_text_id(text_id)

        tension_id = row.tension_text_id or ""
        said = [read_as(one.alias, one.text_id) for one in projections]
        said += [read_as(one.alias, one.text_id) for one in answers]
        wanted = [*contacts.values(), *(one.text_id for one in observations), *(one.text_id for one in plans)]
        wanted += [one.text_id for one in deliveries]
        demanders = [row.intent_text_id, tension_id] if DEMANDER in own else []
        texts = await self.texts.get_many(
            [one for one in (*wanted, *demanders) if one],
            erased="",
            known=[one for one in (*said, read_as("", tension_id)) if one],
        )
        shared, original = texts.get(read_as("", tension_id)), texts.get(tension_id) if demanders else None
        apart = _participant(DEMANDER, row.demander, summaries.get((row.demander, None)))
        seated = tuple(
            _seated(seat, summaries.get((seat.person, seat.profile_version)), row.language) for seat in seats
        )
        latest = plans[-1].revision if plans else 0
        tension = Tension.model_validate_json(shared) if shared else None
        own_tension = Tension.model_validate_json(original) if original else None
        tension_is_own = row.depth == 0 or rows.revised
        words = {(one.revision, one.alias): texts.get(read_as(one.alias, one.text_id), "") for one in answers}
        read = tension or own_tension
        return Record(
            process_id=row.id,
            began=row.began_at.astimezone(UTC).date(),
            forked_from=row.forked_from,
            fork_round=row.fork_round,
            scene=row.scene_id or "",
            language=known_language(row.language),
            phase=Phase(row.phase),
            round=row.round,
            open_record=row.open_record,
            intent=(texts.get(row.intent_text_id or "", "") or ERASED) if demanders else "",
            title=(read.lineage.title or read.transition) if read is not None and read.lineage is not None else "",
            tension=tension,
            own_tension=own_tension,
            tension_is_own=tension_is_own,
            demander=next((one for one in seated if one.alias == DEMANDER), apart),
            participants=seated,
            projections=tuple(_projection(one, texts.get(read_as(one.alias, one.text_id), "")) for one in projections),
            observations=tuple(read_observation(texts[one.text_id]) for one in observations if texts[one.text_id]),
            plans=tuple(read_plan(texts[one.text_id]) for one in plans if texts[one.text_id]),
            deliveries=tuple(_delivery(one, texts[one.text_id]) for one in deliveries),
            answers={one.alias: one.decision for one in answers if one.revision == latest},
            answer_words={alias: said for (revision, alias), said in words.items() if revision == latest and said},
            earlier_answers=tuple(
                EarlierAnswer(
                    revision=one.revision,
                    alias=one.alias,
                    decision=one.decision,
                    words=words[one.revision, one.alias],
                )
                for one in answers
                if one.revision < latest
            ),
            contacts={alias: texts[id] for alias, id in contacts.items() if texts[id]},
        )

    async def speaking_in(self, process: ProcessRow, profile_ids: Sequence[str]) -> tuple[set[str], dict[str, Mandate]]:
        """The people whose profile may be read in a process (docs/protocol.md §3.11), and the current mandates of
        `profile_ids` and of the demander.

        Profiles may be read of the demander and of people whose consent is in the records. The workflow's own statement
        does not count, because a caller who can start workflows could forge it. No proxy speaks for a person who said
        `never` for the scene.
        """
        people = list(dict.fromkeys([process.demander, *profile_ids]))
        mandates = await self.mandates(people)
        consents = {
            one.profile_id: one.consent
            for one in (await self.consents.standing(people, process.scene_id or "")).values()
        }
        for id in (id for id, consent in consents.items() if consent is Consent.NEVER):
            mandates[id] = mandates[id].model_copy(update={"may_speak": False})
        readable = {id for id in profile_ids if consents.get(id) is Consent.ALLOW or id == process.demander}
        asked = [id for id in profile_ids if id not in readable and consents.get(id) is not Consent.NEVER]
        return readable | (await self.consents.said_yes(process.id, asked) if asked else set()), mandates

    async def profile_text(self, profile: ProfileRef) -> str:
        """The text of one profile version. Raises `TextUnknown`, `TextErased`."""
        return await self.texts.get(profile_text_id(profile.profile_id, profile.version))

    async def profile_texts(self, profiles: Sequence[ProfileRef]) -> dict[ProfileRef, str]:
        """The texts of these profile versions. Erased texts are left out. Raises `TextUnknown`."""
        ids = {one: profile_text_id(one.profile_id, one.version) for one in profiles}
        texts = await self.texts.get_many(ids.values(), erased="")
        return {one: texts[id] for one, id in ids.items() if texts[id]}

    async def mandate(self, profile_id: str) -> Mandate:
        """The current mandate of one profile; see `mandates`."""
        return (await self.mandates([profile_id]))[profile_id]

    async def mandates(self, profile_ids: Sequence[str]) -> dict[str, Mandate]:
        """The current mandates by profile id. A missing mandate allows everything. An erased mandate allows nothing."""
        rows = await self.mandate_rows.get_many(profile_ids)
        texts = await self.texts.get_many([row.text_id for row in rows.values() if row.text_id], erased="")
        said = {id: json.loads(texts[row.text_id] or "null") if row.text_id else {} for id, row in rows.items()}
        return {
            id: Mandate(may_speak=rows[id].may_speak, **words) if words is not None else Mandate(may_speak=False)
            for id, words in said.items()
        }


def _delivery(row: DeliveryRow, text: str) -> Delivery:
    """The delivery of a row. It has no words if they were erased."""
    if text:
        return Delivery.model_validate_json(text)
    return Delivery(alias=row.alias, plan_revision=row.revision, language=row.language)


def _participant(alias: str, person: str, face: ProfileSummary | None) -> Participant:
    if face is None:
        return Participant(alias=alias)
    return Participant(
        alias=alias,
        profile=ProfileRef(profile_id=person, version=face.version),
        identities=face.identities,
        language=known_language(face.language),
        erased=face.erased,
    )


def _seated(seat: SeatRow, face: ProfileSummary | None, language: str) -> Participant:
    """The participant of a seat. Without a profile, the language is that of the process."""
    return _participant(seat.alias, seat.person, face).model_copy(
        update={
            "endpoint": EndpointKind(seat.endpoint),
            "active": seat.active,
            "language": known_language(face.language if face else language),
        }
    )


def _projection(row: ProjectionRow, text: str) -> Projection:
    if text:
        return read_projection(text)
    return Projection(round=row.round, alias=row.alias, outcome=row.outcome, author=row.author, struck=row.struck)
