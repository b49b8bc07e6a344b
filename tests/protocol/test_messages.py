"""Every message × phase × author has a verdict; asking changes nothing; what is applied can be stored."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tongyao.protocol.life.effects import apply
from tongyao.protocol.life.snapshot import asks, snapshot
from tongyao.protocol.model.messages import KINDS, MESSAGE
from tongyao.protocol.model.process import Phase, ProfileRef, Seat, State, TensionRef, Turn
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.model.tension import Grade
from tongyao.protocol.rules.refusals import REFUSALS, Refusal, Verdict, refuse

NOW = datetime(2026, 11, 21, tzinfo=UTC)
AUTHORS = (
    {"role": "demander", "alias": "P00"},
    {"role": "demander", "alias": "P01"},
    {"role": "participant", "alias": "P01"},
    {"role": "participant", "alias": "P02"},
    {"role": "operator", "alias": ""},
)
FIELDS: dict[str, dict[str, Any]] = {
    "revise_tension": {"tension": TensionRef(text_id="t", grade=Grade.A, barriers=1)},
    "select_participants": {"participants": [{"profile_id": "new1"}, {"profile_id": "new2"}]},
    "submit_projection": {"alias": "P01", "round": 2, "text_id": "said"},
    "switch_endpoint": {"alias": "P01", "endpoint": "proxy"},
    "extend_deadline": {"alias": "P01", "seconds": 60},
    "leave": {"alias": "P01"},
    "decide": {"decision": "extend"},
    "set_mandate": {"alias": "P01"},
    "answer_plan": {"alias": "P01", "revision": 1, "answer": "decline"},
    "approve_residual": {"residual": "plan/1/residual/1", "approve": False},
    "replan": {"without": ["P02"]},
}
OF_THE_DEMANDER = {
    "revise_tension", "confirm_tension", "select_participants", "decide", "conclude", "approve_residual",
    "replan", "cancel", "resume", "extend_deadline",
}  # fmt: skip
WAITING = (Phase.CRYSTALLIZING, Phase.ANSWERING, Phase.AWAITING_CHILDREN)
IN_PHASE: dict[str, tuple[Phase, ...]] = {
    "revise_tension": (Phase.CONFIRMING,),
    "confirm_tension": (Phase.CONFIRMING,),
    "select_participants": (Phase.SELECTING,),
    "decide": (Phase.DECIDING,),
    "conclude": WAITING,
    "answer_plan": (Phase.ANSWERING,),
    "replan": (Phase.ANSWERING,),
    "resume": (Phase.SUSPENDED,),
}


def state_in(phase: Phase) -> State:
    seats = {
        alias: Seat(alias=alias, profile=ProfileRef(profile_id=alias.lower(), version=1), endpoint=EndpointKind.HUMAN)
        for alias in ("P01", "P02")
    }
    turn = Turn(alias="P01", round=2, due=NOW + timedelta(hours=1))
    return State(
        process_id="p",
        phase=phase,
        resume_to=Phase.PLANNING if phase is Phase.SUSPENDED else None,
        seats=seats,
        round=2,
        gate_open=True,
        turns={"P01": turn},
        plan_revision=1,
        answers={"P02": "decline"},
        residuals=("plan/1/residual/1",),
    )


def message(kind: str, author: dict[str, str]) -> Any:
    return MESSAGE.validate_python({"kind": kind, "key": "k", "author": author, **FIELDS.get(kind, {})})


@pytest.mark.parametrize("kind", KINDS)
def test_every_author_in_every_phase_gets_a_verdict_and_the_state_stays_whole(kind: str) -> None:
    for phase, author in itertools.product(Phase, AUTHORS):
        state = state_in(phase)
        before = state.model_dump_json()
        sent = message(kind, author)
        verdict = refuse(state, sent, max_participants=8, quorum=2)
        assert state.model_dump_json() == before, "asking changes nothing"
        if phase.ended:
            assert verdict is Refusal.ENDED
        elif (author["role"] == "demander" and author["alias"] != "P00") or (
            author["role"] == "participant" and (kind in OF_THE_DEMANDER or author["alias"] != "P01")
        ):
            assert verdict is Refusal.NOT_YOURS
        elif author["role"] == "demander" and kind not in OF_THE_DEMANDER:
            assert verdict is Refusal.NOT_YOURS, "a participant's part is not the demander's to speak"
        elif kind in IN_PHASE and phase not in IN_PHASE[kind]:
            assert verdict is not None
        if verdict is not None:
            told = Verdict.refused(verdict)
            assert told.en
            assert told.zh
            continue
        for effect, data in apply(state, sent, now=NOW):
            assert effect.value
            assert None not in data.values()
        assert State.model_validate_json(state.model_dump_json()) == state
        assert snapshot(state).inbox == asks(state)


@pytest.mark.parametrize("kind", KINDS)
def test_every_message_can_be_accepted_from_somebody_at_some_time(kind: str) -> None:
    accepted = [
        (phase, author["role"])
        for phase, author in itertools.product(Phase, AUTHORS)
        if refuse(state_in(phase), message(kind, author), max_participants=8, quorum=2) is None
    ]
    assert accepted


def test_every_refusal_is_worded_in_both_languages() -> None:
    assert set(REFUSALS) == set(Refusal)
    assert all(en.strip() and zh.strip() for en, zh in REFUSALS.values())


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
    assert refuse(state_in(Phase.DECIDING), sent, max_participants=8, quorum=2) is expected


@pytest.mark.parametrize("amount", ["not a number", "NaN", "inf", "-1", "1e999"])
def test_a_limit_that_is_no_amount_of_money_is_refused(amount: str) -> None:
    try:
        sent = MESSAGE.validate_python(
            {"kind": "decide", "key": "k", "author": AUTHORS[0], "decision": "raise_budget", "cost": amount}
        )
    except ValueError:
        return
    assert refuse(state_in(Phase.DECIDING), sent, max_participants=8, quorum=2) is not None
