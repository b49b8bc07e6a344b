"""The phases before the rounds (docs/protocol.md §3.1, §3.11). The intent becomes a confirmed tension. Then
participants are found, selected, asked for consent and seated."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from hashlib import sha256

from tongyao.protocol.contracts.process import (
    CONSENT,
    DISCOVER,
    FORMULATE,
    FREEZE,
    ConsentInput,
    ConsentOutput,
    DiscoverInput,
    DiscoverOutput,
    FormulateInput,
    FormulateOutput,
    FreezeInput,
    FreezeOutput,
    fewest_seated,
    people_of,
)
from tongyao.protocol.life.clock import ask_until, process_time
from tongyao.protocol.life.state import InvitedPerson, State, WantedStep, note, note_found
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.ids import invited_alias, next_alias
from tongyao.protocol.model.messages import ConsentAnswer, ReviseTension, SelectParticipants
from tongyao.protocol.model.process import DEMANDER, Choice, Phase
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.model.tension import Grade

# ---- formulating and confirming


def formulation(state: State) -> dict[str, WantedStep]:
    intent = FormulateInput(process_id=state.process_id)
    return {"formulate": WantedStep(FORMULATE, intent, "formulate the intent", take=_formulated)}


def _formulated(state: State, output: FormulateOutput, now: datetime) -> Phase:
    tension = state.tension = output.tension
    figures = {"grade": tension.grade.value, "barriers": tension.barriers, "fallback": output.fallback}
    note(state, EventKind.FORMULATION_READY, now, **figures)
    return Phase.CONFIRMING


def confirm_seconds(state: State) -> int | None:
    """Return the seconds until the tension counts as confirmed without an answer. None if the tension is confirmed at
    once, or has grade C and must be confirmed by the demander."""
    waits = not _by_itself(state) and not _grade_c(state)
    return state.start.settings.confirm_seconds if waits else None


def open_confirming(state: State, now: datetime) -> Phase | None:
    return confirm(state, "setting", now) if _by_itself(state) else None


def confirm(state: State, by: str, now: datetime) -> Phase:
    """Confirm the tension. Next come the named people's consents, or the search. `by`: `person`, `timer`, `setting`."""
    note(state, EventKind.TENSION_CONFIRMED, now, by=by)
    state.selected = state.start.participants
    return Phase.CONSENTING if state.selected else Phase.DISCOVERING


def revise(state: State, message: ReviseTension, now: datetime) -> None:
    """Replace the tension. Its confirmation gets a new deadline, unless it was extended to a later one.

    `MAX_MESSAGES` and the deadline of the process limit the number of revisions.
    """
    state.tension = message.tension
    state.revisions += 1
    deadline, whole = state.deadline, state.start.settings.confirm_seconds
    if _grade_c(state):
        state.deadline = None
    elif deadline is None or deadline.due < process_time(state, now) + timedelta(seconds=whole):
        state.deadline = ask_until(state, whole, now)
    note(state, EventKind.TENSION_REVISED, now, grade=message.tension.grade.value)


def _by_itself(state: State) -> bool:
    """Whether the tension is confirmed at once: with `auto_confirm` always, and otherwise in a child unless its tension
    has grade C or `confirm_children` is set."""
    settings = state.start.settings
    quick_child = state.start.lineage is not None and not settings.confirm_children and not _grade_c(state)
    return settings.auto_confirm or quick_child


def _grade_c(state: State) -> bool:
    return state.tension is not None and state.tension.grade is Grade.C


# ---- discovering, selecting, consenting


def discovery(state: State) -> dict[str, WantedStep]:
    start, tension = state.start, state.tension
    assert tension is not None  # the search starts only after the confirmation
    find = DiscoverInput(
        process_id=start.process_id,
        scene=start.scene,
        tension_text_id=tension.text_id,
        limit=start.settings.max_others,
        excluded=state.excluded,
    )
    summary = f"find people near a tension of grade {tension.grade.value}, scene {start.scene or 'none'}"
    return {"discover": WantedStep(DISCOVER, find, summary, take=_discovered)}


def _discovered(state: State, output: DiscoverOutput, now: datetime) -> Phase:
    """Let the demander select among the people found; with `auto_start`, choose the nearest if there are enough."""
    note_found(state, output, now)
    settings = state.start.settings
    found = {one.profile_id: Choice(profile_id=one.profile_id, endpoint=one.endpoint) for one in output.candidates}
    nearest = tuple(found.values())[: settings.max_others]
    if settings.auto_start and len(nearest) >= settings.quorum:
        state.selected = nearest
        return Phase.CONSENTING
    return Phase.SELECTING


def select(state: State, message: SelectParticipants, now: datetime) -> Phase:
    state.selected = message.participants
    return Phase.CONSENTING


def open_consenting(state: State, now: datetime) -> None:
    """Start to ask the people in `state.selected` for consent. Nobody has a seat before consent is known."""
    state.seatings += 1
    state.invitations = []
    state.consents_known = state.start.fork is not None  # the step that seats people of a fork checks consents
    state.others_expected = len(state.others) + len(state.selected)
    state.refused = 0
    state.without_proxy = ()


def seating(state: State) -> dict[str, WantedStep]:
    """Return the step that looks up consents. After that and after all answers, return the step that seats people."""
    start = state.start
    if not state.consents_known:
        ask = ConsentInput(process_id=start.process_id, choices=state.selected, others_expected=state.others_expected)
        summary = f"look up the consent of {len(state.selected)} people"
        return {f"consent/{state.seatings}": WantedStep(CONSENT, ask, summary, take=_consents_found)}
    if any(invitation.waits for invitation in state.invitations):
        return {}
    choices, aliases = _seats(state)
    seat = FreezeInput(
        process_id=start.process_id,
        choices=choices,
        aliases=aliases,
        round=state.round + 1,
        fallback=start.settings.fallback,
        versions={
            seat.choice.profile_id: seat.version
            for seat in (start.fork.seats if start.fork is not None else ())
            if seat.alias in aliases and seat.version is not None
        },
    )
    return {f"seat/{state.seatings}": WantedStep(FREEZE, seat, f"seat {people_of(choices)}", take=_seated)}


def _consents_found(state: State, output: ConsentOutput, now: datetime) -> Phase | None:
    state.consents_known = True
    state.without_proxy = output.without_proxy
    taking_part = tuple(choice for choice in state.selected if choice.profile_id not in output.refused)
    state.refused = len(state.selected) - len(taking_part)
    for choice in taking_part:
        if choice.profile_id in output.ask:
            state.invited += 1
            whose = invited_alias(state.invited)
            deadline = ask_until(state, state.start.settings.turn_seconds, now, whose=whose)
            state.invitations.append(InvitedPerson(number=state.invited, choice=choice, deadline=deadline))
            note(state, EventKind.CONSENT_ASKED, now, number=state.invited)
    asked = [invitation.choice for invitation in state.invitations]
    state.selected = tuple(choice for choice in taking_part if choice not in asked)
    return _close_if_answered(state, now)


def consent(state: State, message: ConsentAnswer, now: datetime) -> Phase | None:
    whose = invited_alias(message.invitation)
    return answer_invitation(state, whose, message.endpoint if message.allow else None, now)


def answer_invitation(state: State, whose: str, endpoint: EndpointKind | None, now: datetime) -> Phase | None:
    """Record the answer of an invited person, and continue if it was the last one.

    `endpoint`: the endpoint with which the person accepts the seat; only `proxy` is consent to a proxy. None: the
    person declined, or did not answer before the deadline.
    """
    invitation = next(one for one in state.invitations if invited_alias(one.number) == whose)
    invitation.allowed = endpoint is not None
    note(state, EventKind.CONSENT_ANSWERED, now, number=invitation.number)
    if endpoint is not None:
        invitation.choice = invitation.choice.model_copy(update={"endpoint": endpoint})
        state.selected = (*state.selected, invitation.choice)
        if endpoint is not EndpointKind.PROXY:
            state.without_proxy = (*state.without_proxy, invitation.choice.profile_id)
    return _close_if_answered(state, now)


def _close_if_answered(state: State, now: datetime) -> Phase | None:
    """If nobody has still to answer, close the invitations. If too few people take part, return the phase of a new
    choice."""
    if any(invitation.waits for invitation in state.invitations):
        return None
    asked = len(state.invitations) + state.refused
    if asked:
        allowed = sum(invitation.allowed is True for invitation in state.invitations)
        note(state, EventKind.CONSENT_CLOSED, now, asked=asked, allowed=allowed)
    others, expected = len(state.others), state.others_expected
    quorum = state.start.settings.quorum
    if len(state.selected) < fewest_seated(quorum, later=state.round > 0, others=others, expected=expected):
        return _too_few(state)
    return None


def _too_few(state: State) -> Phase:
    """Return the phase in which the demander chooses again. A fork asks nobody: it continues without newcomers or
    ends."""
    state.selected = ()
    if state.start.fork is not None:
        return Phase.CRYSTALLIZING if state.round else Phase.CANCELLED
    return Phase.DECIDING if state.round else Phase.SELECTING


def enough(state: State, newcomers: int) -> bool:
    """Whether the demander may choose so few newcomers."""
    return newcomers >= fewest_seated(state.start.settings.quorum, later=state.round > 0, others=0, expected=0)


def _seats(state: State) -> tuple[tuple[Choice, ...], tuple[str, ...]]:
    """Return the chosen people and their aliases. The order is random, except in a fork, which uses its origin's
    aliases."""
    if state.start.fork is not None:
        joining = [seat for seat in state.start.fork.seats if seat.joined_round == state.round + 1]
        return tuple(seat.choice for seat in joining), tuple(seat.alias for seat in joining)
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


def _seated(state: State, output: FreezeOutput, now: datetime) -> Phase:
    """Begin or continue the rounds with the people whom the step has seated. The step leaves out people who were erased
    or who withdrew their consent."""
    if not output.seats:
        return _too_few(state)
    for seat in output.seats:
        seat.consented = seat.profile is not None and seat.profile.profile_id not in state.without_proxy
        state.seats[seat.alias] = seat
        if state.round:
            note(state, EventKind.PARTICIPANT_JOINED, now, alias=seat.alias, round=seat.joined_round)
    note(state, EventKind.PARTICIPANTS_SELECTED, now, aliases=[seat.alias for seat in output.seats])
    state.selected = ()
    state.without_proxy = ()
    state.invitations = []
    return Phase.CRYSTALLIZING
