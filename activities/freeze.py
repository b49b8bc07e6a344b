"""Seats participants and records the manifest (docs/protocol.md §3.4)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Final

from temporalio import activity

from activities.dependencies import Deps
from activities.llm import scene_prompts
from activities.record import write_outbox
from tongyao.heavy_work import READINGS, on_behalf_of
from tongyao.protocol.contracts.process import FREEZE, FreezeInput, FreezeOutput, fewest_seated
from tongyao.protocol.model.process import DEMANDER, Choice, Seat
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.model.settings import Fallback, ProcessSettings
from tongyao.protocol.model.sizes import WHOLE_PROFILE_CHARS
from tongyao.protocol.model.tension import MOST_NAMES, NameFound, NumberedName
from tongyao.protocol.rules.identity.names import all_forms, forms_of
from tongyao.protocol.rules.identity.pseudonyms import marks_in, numbered
from tongyao.records.people.profiles import ProfileVersion
from tongyao.records.privacy.texts import NewText
from tongyao.records.process.processes import ProcessRow
from tongyao.records.process.seats import SeatRow
from tongyao.records.repositories import IDENTITIES, NAMES, identities_text_id, names_text_id
from tongyao.single_flight import SingleFlight

_MOST_KEPT: Final = 512
"""Profiles whose names a worker keeps: whoever seats the same people again and again makes no work by it."""


class Freezing:
    def __init__(self, deps: Deps) -> None:
        self._deps = deps
        self._found = SingleFlight[Sequence[NameFound]](keep=_MOST_KEPT)

    @activity.defn(name=FREEZE.name)
    async def freeze(self, what: FreezeInput) -> FreezeOutput:
        """Seat the chosen under aliases, each with the version their profile has now. Those who were erased, or no longer allow their
        proxy, since they were chosen are left out; where they are too few then, nobody is seated.

        What was frozen for a seat stays: a retry, or a profile changed meanwhile, moves nobody to another version.
        """
        repositories = self._deps.repositories
        await write_outbox(repositories, what)
        room = repositories.seats
        row = await repositories.processes.get(what.process_id)
        on_behalf_of(row.demander)
        await scene_prompts.freeze(
            repositories, what.process_id, row.scene_id or "", "zh" if row.language == "zh" else "en"
        )
        choices = await self._choices(what, row)
        if not choices:
            return FreezeOutput(seats=())
        profiles = await self._present(choices, what.versions)
        frozen = await room.freeze(
            what.process_id,
            {
                "*": {**self._deps.manifest, "settings": row.settings},
                **{
                    alias: {"profile": one.profile_id, "version": one.version, "sha256": one.sha256}
                    for alias, one in profiles.items()
                },
            },
        )
        first = [(one.profile_id, int(frozen[alias]["version"])) for alias, one in profiles.items()]
        versions = dict(zip(profiles, await repositories.profiles.versions(first), strict=True))
        seats = [
            SeatRow.of(
                versions[alias],
                alias=alias,
                endpoint=choice.endpoint.value,
                fallback=(choice.fallback or what.fallback).value,
                joined_round=what.round,
            )
            if alias in versions
            else _without_a_profile(choice, what)
            for alias, choice in choices.items()
        ]
        long = {alias for alias, version in versions.items() if version.chars > WHOLE_PROFILE_CHARS}
        await self._keep_identities(what.process_id, row.demander, seats)
        await self._keep_names(what.process_id, seats)
        await room.seat(what.process_id, seats)
        return FreezeOutput(
            seats=tuple(
                Seat(
                    alias=seat.alias,
                    profile=seat.profile,
                    endpoint=EndpointKind(seat.endpoint),
                    fallback=Fallback(seat.fallback),
                    joined_round=seat.joined_round,
                    long=seat.alias in long,
                )
                for seat in seats
            )
        )

    async def _keep_identities(self, process_id: str, demander: str, seats: list[SeatRow]) -> None:
        """Freeze what names the demander and those who are seated now: a name changed later would change what others said."""
        repositories = self._deps.repositories
        people = {DEMANDER: demander, **{seat.alias: seat.person for seat in seats}}
        faces = await repositories.profiles.summaries([(person, None) for person in people.values()])
        origin = (await repositories.processes.get(process_id)).forked_from
        room = await repositories.record(origin) if origin else None
        before = {one.alias: one.identities for one in (room.demander, *room.participants)} if room else {}
        texts = [
            NewText(
                identities_text_id(process_id, alias),
                person,
                "identities",
                IDENTITIES.dump_json(tuple(dict.fromkeys((*before.get(alias, ()), *face.identities)))).decode(),
            )
            for alias, person in people.items()
            if (face := faces.get((person, None))) is not None
        ]
        await repositories.texts.first_many(texts)

    async def _keep_names(self, process_id: str, seats: list[SeatRow]) -> None:
        """Number the names in the profiles of those who are seated now; a name that the process knows keeps its number."""
        repositories = self._deps.repositories
        record = await repositories.record(process_id)
        known, after = list(record.names), marks_in(record.tension) if record.tension else 0
        texts = await repositories.profile_texts([seat.profile for seat in seats if seat.profile])
        faces = await repositories.profiles.summaries([(seat.person, seat.profile_version) for seat in seats])
        stored: list[NewText] = []
        for seat in seats:
            face = faces.get((seat.person, seat.profile_version))
            if seat.profile is None or seat.profile not in texts or face is None:
                continue
            found = await self._names_in(texts[seat.profile])
            number = partial(_numbered, found, face.identities, tuple(known), after)
            if new := await asyncio.to_thread(number):
                id = names_text_id(process_id, seat.alias)
                stored.append(NewText(id, seat.person, "names", NAMES.dump_json(new).decode()))
                known += new
        await repositories.texts.first_many(stored)

    async def _names_in(self, text: str) -> Sequence[NameFound]:
        """The names in a profile: found once, and kept under the digest of its text."""
        find = partial(self._deps.find_names, text)
        return await self._found.get(sha256(text.encode()).digest(), lambda: READINGS.run(find))

    async def _choices(self, what: FreezeInput, row: ProcessRow) -> dict[str, Choice]:
        """Alias → who is seated under it; empty where too few newcomers are left. The demander stays in any case.

        A seat that an earlier try stored stays as it is; where it was erased since, its erasure takes it out of the process.
        """
        repositories, chosen = self._deps.repositories, dict(zip(what.aliases, what.choices, strict=True))
        seats = await repositories.seats.seats(row.id)
        stored = {seat.alias: seat.person for seat in seats if seat.alias in chosen}
        by_person = {choice.profile_id: choice for choice in what.choices}
        if stored and by_person.keys() >= set(stored.values()):
            return {alias: by_person[person] for alias, person in stored.items()}
        own = chosen.pop(DEMANDER, None)
        ids = [choice.profile_id for choice in chosen.values()]
        known = await repositories.profiles.known(ids)
        allowed, mandates = await repositories.speaking_in(row, [id for id in ids if id in known])
        fork = row.forked_from is not None
        left = [
            choice
            for choice in chosen.values()
            if choice.profile_id in known
            and (choice.endpoint is not EndpointKind.PROXY or choice.profile_id in allowed)
            and (not fork or choice.endpoint is not EndpointKind.PROXY or mandates[choice.profile_id].may_speak)
        ]
        others = sum(seat.active and seat.alias not in (DEMANDER, *what.aliases) for seat in seats)
        quorum = ProcessSettings.model_validate(row.settings).quorum
        if len(left) < fewest_seated(quorum, later=what.round > 1, others=others, expected=others + len(ids)):
            return {}
        if fork:  # aliases are those of the origin
            return {
                alias: choice
                for alias, choice in zip(what.aliases, what.choices, strict=True)
                if choice in left or choice is own
            }
        return {**({DEMANDER: own} if own is not None else {}), **dict(zip(chosen, left, strict=False))}

    async def _present(self, choices: Mapping[str, Choice], versions: Mapping[str, int]) -> dict[str, ProfileVersion]:
        """Alias → the version of their profile that `versions` names, else the current one. A demander without a profile is left out."""
        profiles, present = self._deps.repositories.profiles, dict(choices)
        if DEMANDER in present and not await profiles.known([present[DEMANDER].profile_id]):
            del present[DEMANDER]
        now = await profiles.versions([(one.profile_id, versions.get(one.profile_id)) for one in present.values()])
        return dict(zip(present, now, strict=True))


def _without_a_profile(choice: Choice, what: FreezeInput) -> SeatRow:
    """The seat of a demander without a profile. A proxy would have nothing to speak from, so it is no fallback."""
    fallback = choice.fallback or what.fallback
    return SeatRow(
        alias=DEMANDER,
        person=choice.profile_id,
        endpoint=choice.endpoint.value,
        fallback=(Fallback.LAPSE if fallback is Fallback.PROXY else fallback).value,
        joined_round=what.round,
    )


def _numbered(
    found: Sequence[NameFound], identities: Sequence[str], known: Sequence[NumberedName], after: int
) -> tuple[NumberedName, ...]:
    """The names found in a profile that the process does not know yet."""
    # Its owner is named by others only: a number between those of this profile would tell whose it is.
    own = all_forms(identities)
    others = [one for one in found if own.isdisjoint(forms_of(one.name, alone=False))]
    return numbered(others[:MOST_NAMES], known, after=after)
