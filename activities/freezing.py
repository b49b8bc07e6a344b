"""The start of a process: who sits where, and what is frozen (the manifest; docs/protocol.md §3.4)."""

from __future__ import annotations

from temporalio import activity

from activities import prompting
from activities.deps import Deps
from activities.recording import write_outbox
from tongyao.protocol.contracts import FREEZE, FreezeInput, FreezeOutput
from tongyao.protocol.process import DEMANDER, Choice, Seat
from tongyao.protocol.projection import EndpointKind
from tongyao.protocol.settings import Fallback
from tongyao.protocol.sizes import WHOLE_PROFILE_CHARS
from tongyao.records.room import SeatRow


class Freezing:
    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    @activity.defn(name=FREEZE.name)
    async def freeze(self, what: FreezeInput) -> FreezeOutput:
        """Seat the chosen under their aliases, each with the version their profile has now.

        What was frozen first stays: a retry, or a profile changed meanwhile, moves nobody to another version.
        """
        library = self._deps.library
        await write_outbox(library, what)
        room = library.room
        row = await library.processes.get(what.process_id)
        await prompting.freeze(library, what.process_id, row.scene_id or "", "zh" if row.language == "zh" else "en")
        await room.freeze(what.process_id, "*", {**self._deps.manifest, "settings": row.settings})
        seats, long = [], set()
        for alias, choice in zip(what.aliases, what.choices, strict=True):
            if alias == DEMANDER and not await library.profiles.get_many([choice.profile_id]):
                seats.append(_without_a_profile(choice, what))
                continue
            current = await library.profiles.version(choice.profile_id)
            frozen = await room.freeze(
                what.process_id,
                alias,
                {"profile": choice.profile_id, "version": current.version, "sha256": current.sha256},
            )
            version = await library.profiles.version(choice.profile_id, int(frozen["version"]))
            fallback = choice.fallback or what.fallback
            if version.chars > WHOLE_PROFILE_CHARS:
                long.add(alias)
            seats.append(
                SeatRow.of(
                    version,
                    alias=alias,
                    endpoint=choice.endpoint.value,
                    fallback=fallback.value,
                    joined_round=what.round,
                )
            )
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


def _without_a_profile(choice: Choice, what: FreezeInput) -> SeatRow:
    """A demander who takes part and whom nobody knows more of: there is nothing a proxy could fall back on."""
    fallback = choice.fallback or what.fallback
    return SeatRow(
        alias=DEMANDER,
        person=choice.profile_id,
        endpoint=choice.endpoint.value,
        fallback=(Fallback.LAPSE if fallback is Fallback.PROXY else fallback).value,
        joined_round=what.round,
    )
