"""Seats participants and records the manifest (docs/protocol.md §3.4)."""

from __future__ import annotations

from collections.abc import Mapping

from temporalio import activity

from activities.dependencies import Deps
from activities.llm import scene_prompts
from activities.record import write_outbox
from tongyao.heavy_work import on_behalf_of
from tongyao.protocol.contracts.process import FREEZE, FreezeInput, FreezeOutput, fewest_seated
from tongyao.protocol.model.process import DEMANDER, Choice, Seat
from tongyao.protocol.model.process_settings import Fallback, ProcessSettings
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.model.requests import known_language
from tongyao.protocol.model.sizes import WHOLE_PROFILE_CHARS
from tongyao.records.people.profiles import ProfileVersion
from tongyao.records.process.process_rows import ProcessRow
from tongyao.records.process.seats import SeatRow


class Freezing:
    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    @activity.defn(name=FREEZE.name)
    async def freeze(self, what: FreezeInput) -> FreezeOutput:
        """Seat the chosen people under aliases, each with the current version of their profile.

        People who were erased, or no longer allow their proxy, are left out. If too few people remain, nobody is
        seated. A retry keeps the versions that were frozen, even if a profile has changed. People's names are hidden in
        all texts of the process before the people are seated.
        """
        repositories = self._deps.repositories
        await write_outbox(repositories, what)
        room = repositories.seats
        row = await repositories.processes.get(what.process_id)
        on_behalf_of(row.demander)
        await scene_prompts.freeze(repositories, what.process_id, row.scene_id or "", known_language(row.language))
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
        await repositories.shared.publish_tension(row)
        await repositories.shared.hide_people(row, [row.demander, *(seat.person for seat in seats)])
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

    async def _choices(self, what: FreezeInput, row: ProcessRow) -> dict[str, Choice]:
        """Return the choices by alias, or an empty dict if too few people remain. The demander is always kept.

        Seats that an earlier attempt stored are kept. If a seated person was erased since, the erasure removes the
        seat.
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
        if fork:  # a fork uses the aliases of its origin
            return {
                alias: choice
                for alias, choice in zip(what.aliases, what.choices, strict=True)
                if choice in left or choice is own
            }
        return {**({DEMANDER: own} if own is not None else {}), **dict(zip(chosen, left, strict=False))}

    async def _present(self, choices: Mapping[str, Choice], versions: Mapping[str, int]) -> dict[str, ProfileVersion]:
        """Return by alias the version in `versions`, else the current one. Leaves out a demander without a profile."""
        profiles, present = self._deps.repositories.profiles, dict(choices)
        if DEMANDER in present and not await profiles.known([present[DEMANDER].profile_id]):
            del present[DEMANDER]
        now = await profiles.versions([(one.profile_id, versions.get(one.profile_id)) for one in present.values()])
        return dict(zip(present, now, strict=True))


def _without_a_profile(choice: Choice, what: FreezeInput) -> SeatRow:
    """Return the seat of a demander without a profile. The fallback `proxy` becomes `lapse`: a proxy needs a
    profile."""
    fallback = choice.fallback or what.fallback
    return SeatRow(
        alias=DEMANDER,
        person=choice.profile_id,
        endpoint=choice.endpoint.value,
        fallback=(Fallback.LAPSE if fallback is Fallback.PROXY else fallback).value,
        joined_round=what.round,
    )
