"""Draws messages of people, agents, operators and children for a simulation: of every kind, sensible or not."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

from tongyao.protocol.life.state import State
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.ids import child_id
from tongyao.protocol.model.process import DEMANDER, Phase
from tongyao.protocol.model.process_settings import Fallback
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.model.tension import MISSING

Fields = dict[str, Any]

LIKELY: Final[dict[Phase, tuple[str, ...]]] = {
    Phase.CONFIRMING: ("confirm_tension", "confirm_tension", "revise_tension", "extend_deadline"),
    Phase.SELECTING: ("select_participants",) * 4,
    Phase.CONSENTING: ("consent",) * 5 + ("extend_deadline", "switch_endpoint", "submit_projection"),
    Phase.CRYSTALLIZING: (
        *("submit_projection",) * 14,
        *(
            "switch_endpoint",
            "switch_endpoint",
            "extend_deadline",
            "extend_deadline",
            "leave",
            "set_mandate",
            "conclude",
        ),
    ),
    Phase.DECIDING: (*("decide",) * 6, "extend_deadline", "submit_projection", "leave", "switch_endpoint"),
    Phase.ANSWERING: (
        *("answer_plan",) * 9,
        *("approve_residual", "approve_residual", "replan", "replan", "conclude", "child_ended", "child_ended"),
        *("extend_deadline", "switch_endpoint", "leave"),
    ),
    Phase.AWAITING_CHILDREN: (*("child_ended",) * 4, *("approve_residual",) * 3, "conclude", "extend_deadline"),
}
"""The kinds of messages that are drawn more often in a phase."""

BETWEEN_ROUNDS: Final = (
    "submit_projection",
    "submit_projection",
    "switch_endpoint",
    "switch_endpoint",
    "conclude",
    "leave",
)

NAMES: Final = {
    "confirm_tension": "confirm",
    "revise_tension": "confirm",
    "select_participants": "select",
    "decide": "decide",
    "replan": "replan",
    "conclude": "conclude",
    "extend_deadline": "extend_deadline",
}
"""The kinds of messages that name an ask, and the first part of its id."""

_BY_DEMANDER: Final = frozenset(
    {
        "revise_tension",
        "confirm_tension",
        "select_participants",
        "decide",
        "conclude",
        "approve_residual",
        "replan",
        "cancel",
    }
)
_BY_SEAT: Final = frozenset({"submit_projection", "switch_endpoint", "leave", "set_mandate", "answer_plan"})


def message(rng: Random, state: State, kind: str = "") -> Fields:
    """Draw a message. If `kind` is empty, a kind that is likely in this state is drawn."""
    if not kind:
        between = state.phase is Phase.CRYSTALLIZING and not state.gate_open
        kind = rng.choice(BETWEEN_ROUNDS if between else LIKELY.get(state.phase, tuple(m.MESSAGE_TYPES)))
    if kind == "leave" and rng.random() < 0.3 and state.present:
        fields: Fields = {
            "alias": state.present[0]
        }  # the demander, who has a seat and may be the only person in the room
    else:
        fields = _FIELDS[kind](rng, state) if kind in _FIELDS else {}
    fields |= {"kind": kind, **_author(rng, state, kind, fields)}
    if fields["role"] not in ("invited", "child", "operator") and rng.random() < 0.12:
        fields["via"] = "agent"
    if kind in NAMES and rng.random() < 0.4:
        fields["ask"] = _named(rng, state, kind, fields)
    if rng.random() < 0.004:
        fields["number"] = m.MAX_MESSAGES + rng.randrange(2)
    return fields


def _named(rng: Random, state: State, kind: str, fields: Fields) -> str:
    """Return the ask that the message names: the open one, or sometimes an earlier or later one."""
    number = state.plan_revision if state.phase in (Phase.ANSWERING, Phase.AWAITING_CHILDREN) else state.round
    shown = {
        "confirm": state.revisions + 1,
        "select": state.seatings + 1,
        "decide": state.decisions,
        "replan": state.plan_revision,
        kind: number,
    }
    other = rng.random() < 0.12
    name = NAMES[kind]
    count = max(0, shown[name] + (rng.choice((-1, 1)) if other else 0))
    if name != kind or name in ("decide", "replan"):
        return f"{name}/{count}"
    where = f"{name}/{state.phase.value}"
    if kind == "conclude" and rng.random() < 0.2:
        return where
    return f"{where}/{count}" + (f"/{fields['alias']}" if "alias" in fields else "")


def _author(rng: Random, state: State, kind: str, fields: Fields) -> Fields:
    """Return the usual author of such a message, or sometimes somebody else."""
    x = rng.random()
    if x < 0.06:
        return {"role": "operator", "alias_of_author": ""}
    if x < (0.3 if kind in ("child_ended", "consent") else 0.12):
        role = rng.choice(("demander", "participant", "invited", "child"))
        strange = {
            "demander": rng.choice((DEMANDER, "P01")),
            "participant": _alias(rng, state),
            "invited": f"invited/{rng.randint(1, 3)}",
            "child": "c-1.1-1",
        }
        return {"role": role, "alias_of_author": strange[role]}
    if kind == "upgrade" or (kind == "resume" and x < 0.6):
        return {"role": "operator", "alias_of_author": ""}
    if kind == "consent":
        return {"role": "invited", "alias_of_author": f"invited/{fields['invitation']}"}
    if kind == "call_answered":
        return {"role": "answerer", "alias_of_author": m.CALLS_LANE}
    if kind == "child_ended":
        return {"role": "child", "alias_of_author": fields["child"]}
    if kind in _BY_SEAT or (kind == "extend_deadline" and x < 0.6):
        alias = fields["alias"]
        return {"role": "demander" if alias == DEMANDER and x < 0.8 else "participant", "alias_of_author": alias}
    return {"role": "demander", "alias_of_author": DEMANDER}


def _alias(rng: Random, state: State) -> str:
    """Return the alias of a seat, more often of one for which the process waits, or sometimes another alias."""
    x = rng.random()
    if x < 0.5 and state.waiting_for:
        return rng.choice(state.waiting_for).alias
    if x < 0.93 and state.seats:
        return rng.choice(list(state.seats))
    return DEMANDER if x < 0.98 else "P09"


def _tension(rng: Random, state: State) -> Fields:
    return {"tension": {"text_id": f"revised-{rng.randrange(9)}", "grade": rng.choice("ABC"), "barriers": 1}}


def answer_of(call: str) -> Fields:
    """Return the message that an answer to this model call was stored."""
    return {"kind": "call_answered", "role": "answerer", "alias_of_author": m.CALLS_LANE, "call": call}


def choice(rng: Random, profile_id: str) -> Fields:
    return {
        "profile_id": profile_id,
        "endpoint": rng.choice(("proxy", "human", "human", "agent")),
        "fallback": rng.choice((None, None, *(one.value for one in Fallback))),
    }


def _people(rng: Random, state: State, count: int) -> list[Fields]:
    """Return people to seat. Sometimes one of them has a seat already, is the demander, or occurs twice."""
    names = [f"n{n}" for n in rng.sample(range(30), count)]
    x = rng.random()
    if x < 0.04 and names:
        names.append(names[0])
    elif x < 0.08:
        names.append(rng.choice(("d", "d-profile")))
    elif x < 0.12:
        names += [seat.profile.profile_id for seat in state.seats.values() if seat.profile][:1]
    return [choice(rng, name) for name in names]


def _select(rng: Random, state: State) -> Fields:
    return {"participants": _people(rng, state, rng.choice((1, 2, 2, 3, 3, 4, 9)))}


def _submit(rng: Random, state: State) -> Fields:
    number = max(1, state.round + rng.choice((0,) * 12 + (-1, 1)))
    x = rng.random()
    said = x < 0.72 or x > 0.98
    silent = 0.72 <= x < 0.96 or x > 0.98
    text = f"words-{rng.randrange(10_000)}" if said else ""
    return {"alias": _alias(rng, state), "round": number, "text_id": text, "nothing_new": silent}


def _switch(rng: Random, state: State) -> Fields:
    return {
        "alias": _alias(rng, state),
        "endpoint": rng.choice([kind.value for kind in EndpointKind]),
        "fallback": rng.choice((None, None, None, *(one.value for one in Fallback))),
    }


def _extend(rng: Random, state: State) -> Fields:
    alias = DEMANDER if state.phase is not Phase.CRYSTALLIZING and rng.random() < 0.8 else _alias(rng, state)
    turn = state.start.settings.turn_seconds
    return {"alias": alias, "seconds": rng.choice((1, 59, 60, 3600, turn, turn + 1))}


def taken_over(rng: Random, state: State) -> Fields:
    """Return a message with which a person takes over from their proxy, or hands back to it."""
    alias = _alias(rng, state)
    speaks = state.endpoint_of(alias) is EndpointKind.PROXY
    fields: Fields = {"alias": alias, "endpoint": rng.choice(("human", "agent")) if speaks else "proxy"}
    return {"kind": "switch_endpoint", **fields, **_author(rng, state, "switch_endpoint", fields)}


def _seat(rng: Random, state: State) -> Fields:
    return {"alias": _alias(rng, state)}


def _decide(rng: Random, state: State) -> Fields:
    decision = rng.choice(
        (
            "accept_as_is",
            "extend",
            "extend",
            "extend",
            "raise_budget",
            "add_participants",
            "add_participants",
            "abandon",
        )
    )
    fields: Fields = {"decision": decision}
    if decision == "add_participants" and rng.random() < 0.95:
        fields["participants"] = _people(rng, state, rng.choice((1, 1, 2)))
    spent = state.spent.tokens
    if decision == "raise_budget" or rng.random() < 0.05:
        fields["tokens"] = rng.choice((None, max(1, spent), spent + 1, spent + 1000))
        fields["cost"] = rng.choice((None, None, f"{spent / 1000:.3f}", f"{spent / 1000 + 1:.3f}"))
    return fields


def _answer(rng: Random, state: State) -> Fields:
    waiting = [alias for alias in state.asked_for_answers if alias not in state.answers]
    alias = rng.choice(waiting) if waiting and rng.random() < 0.8 else _alias(rng, state)
    revision = max(1, state.plan_revision - (rng.random() < 0.06))
    answer = rng.choice(("commit", "commit", "decline", "propose"))
    return {"alias": alias, "revision": revision, "answer": answer, "text_id": rng.choice(("", "why"))}


def _approve(rng: Random, state: State) -> Fields:
    pool = state.undecided if rng.random() < 0.92 else tuple(state.residuals)
    return {"residual": rng.choice(pool) if pool else "plan/1/residual/1", "approve": rng.random() < 0.65}


def _replan(rng: Random, state: State) -> Fields:
    def those(given: str) -> list[str]:
        return [alias for alias, one in state.answers.items() if one == given and rng.random() < 0.8]

    without = those("decline") if rng.random() < 0.93 else ["P01"]
    return {"without": without, "proposals": those("propose") if rng.random() < 0.93 else ["P02"]}


def _consent(rng: Random, state: State) -> Fields:
    open_ones = [one.number for one in state.invitations if one.waits]
    number = rng.choice(open_ones) if open_ones and rng.random() < 0.93 else rng.randint(1, 4)
    endpoint = rng.choice(("proxy", "proxy", "human", "agent"))
    return {"invitation": number, "allow": rng.random() < 0.75, "endpoint": endpoint}


def _child(rng: Random, state: State) -> Fields:
    known = [
        child_id(state.process_id, name)
        for name, one in state.residuals.items()
        if one.status in ("started", "approved") or rng.random() < 0.03
    ]
    ended = ("completed", "completed", "cancelled", "abandoned", "expired")
    return {"child": rng.choice(known) if known else "c-1.1-1", "outcome": rng.choice(ended)}


def _call_answered(rng: Random, state: State) -> Fields:
    waiting = [call for parked in state.parked.values() for call in parked.calls]
    return {"call": rng.choice(waiting) if waiting and rng.random() < 0.9 else f"call-{rng.randint(1, 3)}"}


def _cancel(rng: Random, state: State) -> Fields:
    return {"branch": rng.random() < 0.5}


_FIELDS: Final[dict[str, Callable[[Random, State], Fields]]] = {
    "revise_tension": _tension,
    "select_participants": _select,
    "submit_projection": _submit,
    "switch_endpoint": _switch,
    "extend_deadline": _extend,
    "leave": _seat,
    "set_mandate": _seat,
    "decide": _decide,
    "answer_plan": _answer,
    "approve_residual": _approve,
    "replan": _replan,
    "consent": _consent,
    "child_ended": _child,
    "call_answered": _call_answered,
    "cancel": _cancel,
}


def tension_of_grade(grade: str) -> dict[str, Any]:
    """Return a tension of this grade, with its parts as in a message or a signal."""
    whole = {
        "transition": "From gauges that nobody reads to a harbour that knows its tides.",
        "initial_state": "Three gauges, one of them broken.",
        "barriers": ["Nobody can repair the third gauge."],
        "exchange": "Ten years of readings.",
    }
    return whole | {"A": {}, "B": {"exchange": MISSING}, "C": {"initial_state": MISSING}}[grade]
