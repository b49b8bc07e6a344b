"""Every message × phase × author has a verdict. Asking for it changes nothing. What is applied can be stored."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from typing import Any

import pytest

from tongyao.protocol.contracts.process import ProcessInput
from tongyao.protocol.life import machine
from tongyao.protocol.life.clock import ask_until
from tongyao.protocol.life.machine import refuse
from tongyao.protocol.life.snapshot import inbox, snapshot
from tongyao.protocol.life.state import Cause, InvitedPerson, ResidualOutcome, State, Turn
from tongyao.protocol.model.messages import MESSAGE, MESSAGE_TYPES
from tongyao.protocol.model.process import Choice, DecidingCause, Phase, ProfileRef, Seat, TensionRef
from tongyao.protocol.model.process_settings import ProcessSettings
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.model.tension import Grade
from tongyao.protocol.rules.refusals import MessageVerdict, Refusal
from tongyao.texts.catalogue import table

NOW = datetime(2026, 11, 21, tzinfo=UTC)
AUTHORS = (
    {"role": "demander", "alias": "P00"},
    {"role": "demander", "alias": "P01"},
    {"role": "participant", "alias": "P01"},
    {"role": "participant", "alias": "P02"},
    {"role": "operator", "alias": ""},
    {"role": "invited", "alias": "invited/1"},
    {"role": "child", "alias": "p.1-2"},
    {"role": "answerer", "alias": "calls"},
)
FIELDS: dict[str, dict[str, Any]] = {
    "revise_tension": {"tension": TensionRef(text_id="t", grade=Grade.A, barriers=1)},
    "select_participants": {"participants": [{"profile_id": "new1"}, {"profile_id": "new2"}]},
    "submit_projection": {"alias": "P01", "round": 2, "text_id": "said"},
    "switch_endpoint": {"alias": "P01", "endpoint": "agent"},
    "consent": {"invitation": 1, "allow": True, "number": 1},
    "child_ended": {"child": "p.1-2", "outcome": "completed"},
    "call_answered": {"call": "call-1"},
    "extend_deadline": {"alias": "P01", "seconds": 60},
    "leave": {"alias": "P01"},
    "decide": {"decision": "extend"},
    "set_mandate": {"alias": "P01"},
    "answer_plan": {"alias": "P01", "revision": 1, "answer": "decline"},
    "approve_residual": {"residual": "plan/1/residual/1", "approve": False},
    "replan": {"without": ["P02"]},
}
OF_THE_DEMANDER = {
    "revise_tension",
    "confirm_tension",
    "select_participants",
    "decide",
    "conclude",
    "approve_residual",
    "replan",
    "cancel",
    "resume",
}
OF_NOBODY_ELSE = {"consent": "invited", "child_ended": "child", "call_answered": "answerer", "upgrade": "operator"}  # fmt: skip
WAITING = (Phase.CRYSTALLIZING, Phase.ANSWERING, Phase.AWAITING_CHILDREN)
IN_PHASE: dict[str, tuple[Phase, ...]] = {
    "revise_tension": (Phase.CONFIRMING,),
    "confirm_tension": (Phase.CONFIRMING,),
    "select_participants": (Phase.SELECTING,),
    "decide": (Phase.DECIDING,),
    "conclude": WAITING,
    "answer_plan": (Phase.ANSWERING,),
    "replan": (Phase.ANSWERING,),
    "consent": (Phase.CONSENTING,),
}


def state_in(phase: Phase, *, suspended: bool = False) -> State:
    seats = {
        alias: Seat(alias=alias, profile=ProfileRef(profile_id=alias.lower(), version=1), endpoint=EndpointKind.HUMAN)
        for alias in ("P01", "P02")
    }
    start = ProcessInput(process_id="p", demander="d", intent_text_id="i", settings=ProcessSettings(residuals="ask"))
    state = State(
        start=start,
        started_at=NOW,
        seed="s",
        phase=phase,
        tension=TensionRef(text_id="t", grade=Grade.A, barriers=1),
        seats=seats,
        round=2,
        gate_open=phase is Phase.CRYSTALLIZING,
        consents_known=True,
        deciding_cause=DecidingCause.LIMIT if phase is Phase.DECIDING else None,
        plan_revision=1,
        answers={"P02": "decline"},
        residuals={
            "plan/1/residual/1": ResidualOutcome(),
            "plan/1/residual/2": ResidualOutcome(status="started", child="p.1-2"),
        },
    )
    if phase is Phase.CRYSTALLIZING:
        state.turns = {alias: Turn(alias=alias, deadline=ask_until(state, 3600, NOW)) for alias in ("P01", "P02")}
    if phase is Phase.CONSENTING:
        invited = Choice(profile_id="new3")
        state.invitations = [InvitedPerson(number=1, choice=invited, deadline=ask_until(state, 3600, NOW))]
    if suspended:
        state.causes = {"plan/2": Cause(kind="operator", code="no_credit", since=NOW)}
        state.stopped_at = NOW
    return state


def message(kind: str, author: dict[str, str]) -> Any:
    return MESSAGE.validate_python({"kind": kind, "key": "k", "author": author, **FIELDS.get(kind, {})})


def may_not_say(kind: str, author: dict[str, str]) -> bool:
    """Whose messages these are, told apart from the code that refuses them."""
    role, alias = author["role"], author["alias"]
    if kind in OF_NOBODY_ELSE:
        return role != OF_NOBODY_ELSE[kind]
    if role in ("invited", "child", "answerer"):
        return True
    if role == "demander":
        return alias != "P00" or kind not in OF_THE_DEMANDER | {"extend_deadline"}
    return role == "participant" and (kind in OF_THE_DEMANDER or alias != "P01")


@pytest.mark.parametrize("suspended", [False, True], ids=["running", "suspended"])
@pytest.mark.parametrize("kind", MESSAGE_TYPES)
def test_every_author_in_every_phase_gets_a_verdict_and_the_state_stays_whole(kind: str, suspended: bool) -> None:
    for phase, author in itertools.product(Phase, AUTHORS):
        state = state_in(phase, suspended=suspended)
        before = state.model_dump_json()
        sent = message(kind, author)
        verdict = refuse(state, sent)
        assert state.model_dump_json() == before, "asking changes nothing"
        if phase.ended:
            assert verdict is Refusal.ENDED
        elif may_not_say(kind, author):
            assert verdict is Refusal.NOT_YOURS
        elif kind in IN_PHASE and phase not in IN_PHASE[kind]:
            assert verdict is not None
        elif kind == "resume":
            assert (verdict is None) == suspended
        if verdict is not None:
            told = MessageVerdict.refused(verdict)
            assert told.en
            assert told.zh
            continue
        machine.hear(state, sent, NOW)
        assert State.model_validate_json(state.model_dump_json()) == state
        assert snapshot(state, NOW).inbox == inbox(state, NOW)


@pytest.mark.parametrize("kind", MESSAGE_TYPES)
def test_every_message_can_be_accepted_from_somebody_at_some_time(kind: str) -> None:
    accepted = [
        (phase, author["role"])
        for phase, author in itertools.product(Phase, AUTHORS)
        if refuse(state_in(phase, suspended=kind == "resume"), message(kind, author)) is None
    ]
    assert accepted


@pytest.mark.parametrize("kind", sorted(set(MESSAGE_TYPES) - {"resume"}))
def test_a_suspension_changes_no_verdict(kind: str) -> None:
    for phase, author in itertools.product(Phase, AUTHORS):
        sent = message(kind, author)
        assert refuse(state_in(phase), sent) == refuse(state_in(phase, suspended=True), sent)


def test_every_refusal_is_worded_in_both_languages() -> None:
    assert set(table("protocol", "refusals")["en"]) == {*Refusal, "open_now"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"decision": "raise_budget"}, Refusal.NO_LIMIT),
        ({"decision": "raise_budget", "cost": "0"}, Refusal.LIMIT_TOO_LOW),
        ({"decision": "add_participants", "participants": [{"profile_id": "p01"}]}, Refusal.TWICE),
        (
            {"decision": "add_participants", "participants": [{"profile_id": f"n{n}"} for n in range(7)]},
            Refusal.TOO_MANY,
        ),
        ({"decision": "abandon"}, None),
    ],
)
def test_decisions_are_looked_at_whole(fields: dict[str, Any], expected: Refusal | None) -> None:
    sent = MESSAGE.validate_python({"kind": "decide", "key": "k", "author": AUTHORS[0], **fields})
    assert refuse(state_in(Phase.DECIDING), sent) is expected


@pytest.mark.parametrize("amount", ["not a number", "NaN", "inf", "-1", "1e999"])
def test_a_limit_that_is_no_amount_of_money_is_refused(amount: str) -> None:
    with pytest.raises(ValueError, match="cost"):
        MESSAGE.validate_python(
            {"kind": "decide", "key": "k", "author": AUTHORS[0], "decision": "raise_budget", "cost": amount}
        )
