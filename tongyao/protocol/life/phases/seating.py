"""Participants: found by the field, selected by the demander, asked for consent, seated (docs/protocol.md §3.1, §3.11)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256

from pydantic import JsonValue

from tongyao.protocol.contracts.process import (
    CONSENT,
    DISCOVER,
    FREEZE,
    ConsentInput,
    ConsentOutput,
    DiscoverInput,
    DiscoverOutput,
    FreezeInput,
    FreezeOutput,
    fewest_seated,
    people_of,
)
from tongyao.protocol.life.clock import ask_until
from tongyao.protocol.life.journal import note
from tongyao.protocol.life.phases import deciding, rounds
from tongyao.protocol.life.state import Invitation, State
from tongyao.protocol.life.steps import Step
from tongyao.protocol.life.transitions import enter
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.process import DEMANDER, Choice, Phase, next_alias
from tongyao.protocol.model.projection import EndpointKind


def wanted(state: State) -> dict[str, Step]:
    start = state.start
    if state.phase is Phase.DISCOVERING:
        assert state.tension is not None  # confirmed before anybody is looked for
        find = DiscoverInput(
            process_id=start.process_id,
            scene=start.scene,
            tension_text_id=state.tension.text_id,
            limit=start.settings.max_others,
            excluded=(*start.excluded, *_demander_profile(state)),
        )
        return {
            "discover": Step(
                DISCOVER,
                find,
                f"find people near a tension of grade {state.tension.grade.value}, scene {start.scene or 'none'}",
            )
        }
    if state.phase is not Phase.CONSENTING:
        return {}
    if not state.consents_known:
        ask = ConsentInput(process_id=start.process_id, choices=state.selected, others_expected=state.others_expected)
        summary = f"look up the consent of {len(state.selected)} people"
        return {f"consent/{state.seatings}": Step(CONSENT, ask, summary)}
    if any(invitation.waits for invitation in state.invitations):
        return {}
    choices, aliases = _seats(state)
    seat = FreezeInput(
        process_id=start.process_id,
        choices=choices,
        aliases=aliases,
        round=state.round + 1,
        fallback=start.settings.fallback,
    )
    return {f"seat/{state.seatings}": Step(FREEZE, seat, f"seat {people_of(choices)}")}


def find_participants(state: State, now: datetime) -> None:
    """Ask those who were named at the start, or let the field find somebody."""
    if state.start.participants:
        ask_consent(state, state.start.participants, now)
    else:
        enter(state, Phase.DISCOVERING, now)


def discovered(state: State, output: DiscoverOutput, now: datetime) -> None:
    """The demander selects among those found; with `auto_start` the nearest are taken, where there are enough."""
    note_candidates(state, output, now)
    settings = state.start.settings
    found = {one.profile_id: Choice(profile_id=one.profile_id, endpoint=one.endpoint) for one in output.candidates}
    nearest = tuple(found.values())[: settings.max_others]
    if settings.auto_start and len(nearest) >= settings.quorum:
        ask_consent(state, nearest, now)
    else:
        enter(state, Phase.SELECTING, now)


def note_candidates(state: State, found: DiscoverOutput, now: datetime) -> None:
    candidates: list[JsonValue] = [[one.profile_id, one.perspective, round(one.score, 4)] for one in found.candidates]
    if state.round:
        note(state, EventKind.FIELD_ACTIVATED, now, candidates=candidates, round=state.round)
    else:
        note(state, EventKind.FIELD_ACTIVATED, now, candidates=candidates)


def ask_consent(state: State, choices: tuple[Choice, ...], now: datetime) -> None:
    """A seat exists only after a yes: of whoever has not allowed a proxy to speak for them, it is asked."""
    enter(state, Phase.CONSENTING, now)
    state.selected = choices
    state.seatings += 1
    state.invitations = []
    state.consents_known = False
    state.others_expected = len(state.others) + len(choices)
    state.refused = 0
    state.without_proxy = ()


def consents_found(state: State, output: ConsentOutput, now: datetime) -> None:
    state.consents_known = True
    state.without_proxy = output.without_proxy
    taking_part = tuple(choice for choice in state.selected if choice.profile_id not in output.refused)
    state.refused = len(state.selected) - len(taking_part)
    state.selected = taking_part
    for choice in state.selected:
        if choice.profile_id in output.ask:
            state.invited += 1
            deadline = ask_until(state, state.start.settings.turn_seconds, now)
            state.invitations.append(Invitation(number=state.invited, choice=choice, deadline=deadline))
            note(state, EventKind.CONSENT_ASKED, now, number=state.invited)
    asked = [invitation.choice for invitation in state.invitations]
    state.selected = tuple(choice for choice in state.selected if choice not in asked)
    _close_if_answered(state, now)


def answer_invitation(state: State, number: int, endpoint: EndpointKind | None, now: datetime) -> None:
    """A yes gives a seat with the endpoint that the person names; another one than a proxy is no consent to a proxy.

    None: it is a no. No answer in time is a no.
    """
    for invitation in state.invitations:
        if invitation.number == number:
            invitation.allowed = endpoint is not None
            note(state, EventKind.CONSENT_ANSWERED, now, number=number)
            if endpoint is not None:
                invitation.choice = invitation.choice.model_copy(update={"endpoint": endpoint})
                state.selected = (*state.selected, invitation.choice)
                if endpoint is not EndpointKind.PROXY:
                    state.without_proxy = (*state.without_proxy, invitation.choice.profile_id)
    _close_if_answered(state, now)


def _close_if_answered(state: State, now: datetime) -> None:
    """When everybody has answered, those who said yes are seated; where they are too few, the demander goes on otherwise."""
    if any(invitation.waits for invitation in state.invitations):
        return
    asked = len(state.invitations) + state.refused
    if asked:
        allowed = sum(invitation.allowed is True for invitation in state.invitations)
        note(state, EventKind.CONSENT_CLOSED, now, asked=asked, allowed=allowed)
    others, expected = len(state.others), state.others_expected
    quorum = state.start.settings.quorum
    if len(state.selected) < fewest_seated(quorum, later=state.round > 0, others=others, expected=expected):
        _too_few(state, now)


def _too_few(state: State, now: datetime) -> None:
    """The demander goes on otherwise."""
    state.selected = ()
    if state.round:
        deciding.ask(state, now)
    else:
        enter(state, Phase.SELECTING, now)


def enough(state: State, newcomers: int) -> bool:
    """Whether the demander may choose so many newcomers."""
    return newcomers >= fewest_seated(state.start.settings.quorum, later=state.round > 0, others=0, expected=0)


def _seats(state: State) -> tuple[tuple[Choice, ...], tuple[str, ...]]:
    """The chosen and their aliases. The order of aliases says nothing about the order in which people were chosen."""
    choices: Sequence[Choice] = state.selected
    settings = state.start.settings
    if not settings.aliases_as_named:
        choices = sorted(choices, key=lambda one: sha256(f"{state.seed}/{one.profile_id}".encode()).digest())
    taken = sum(alias != DEMANDER for alias in state.seats)
    aliases = [next_alias(taken + number) for number in range(len(choices))]
    if settings.demander_takes_part and DEMANDER not in state.seats:
        choices = [Choice(profile_id=state.start.demander, endpoint=settings.demander_endpoint), *choices]
        aliases = [DEMANDER, *aliases]
    return tuple(choices), tuple(aliases)


def seated(state: State, output: FreezeOutput, now: datetime) -> None:
    """The rounds begin, or go on, with those who were seated. Who was erased or withdrew since they were chosen is not among them."""
    if not output.seats:
        _too_few(state, now)
        return
    for seat in output.seats:
        seat.consented = seat.profile is not None and seat.profile.profile_id not in state.without_proxy
        state.seats[seat.alias] = seat
        if state.round:
            note(state, EventKind.PARTICIPANT_JOINED, now, urgent=False, alias=seat.alias, round=seat.joined_round)
    note(state, EventKind.PARTICIPANTS_SELECTED, now, urgent=False, aliases=[seat.alias for seat in output.seats])
    state.selected = ()
    state.without_proxy = ()
    state.invitations = []
    if state.round:
        deciding.go_on(state)
    enter(state, Phase.CRYSTALLIZING, now)
    rounds.open_round(state, now)


def _demander_profile(state: State) -> tuple[str, ...]:
    profile = state.start.demander_profile
    return (profile.profile_id,) if profile else ()
