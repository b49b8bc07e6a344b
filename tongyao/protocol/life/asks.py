"""The asks of a process: one table of the kinds of asks (docs/protocol.md §8.3).

A row states who is asked, which messages answer the ask, and when the ask is open. The sentences are in
`tongyao/texts/protocol/asks.toml`. The inbox, `why`, `show`, the pages, MCP, mails and the API show asks by this table.
`life.phases` lists the asks that may be open in each phase.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, Protocol

from tongyao.protocol.life.state import Deadline, State
from tongyao.protocol.model import ids
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.events import AskName, Waiting
from tongyao.protocol.model.process import DEMANDER, Phase
from tongyao.texts.catalogue import catalogue, worded

Body = dict[str, Any]
"""A message as a program sends it: `kind` and the fields to fill in. Texts in angle brackets are placeholders."""

Open = tuple[Waiting, Deadline | None]
"""An open ask and its deadline."""

TEXT: Final = "<text>"
PROFILE: Final = "<profile id>"
NEVER_OPEN: Final = "none/0"
"""An id that no ask has. It is set in a message without `ask` if no ask is open that the message could answer."""

_TEXTS: Final = catalogue("protocol")
"""The texts. They are read at import, because a workflow may not read files."""


@dataclass(frozen=True)
class AskKind:
    """One kind of ask.

    `open`: returns the open asks of this kind. It is called only in phases that have this kind. `answers`: the messages
    that answer the ask, the usual answer first, without the fields that identify the ask.
    """

    kind: AskName
    whom: Literal["demander", "participant", "invited", "operator", "answerer"]
    open: Callable[[State], Iterable[Open]]
    answers: tuple[Body, ...]


def moment(kind: str, phase: Phase, round_number: int, revision: int, alias: str = "") -> str:
    """Return the id for a message that answers no ask: `conclude/crystallizing/2`, `extend_deadline/deciding/3/P00`.

    The number in the id is the plan's revision in the phases `answering` and `awaiting_children`, and otherwise the
    round. `alias`: the person whose deadline is extended.
    """
    number = revision if phase in (Phase.ANSWERING, Phase.AWAITING_CHILDREN) else round_number
    return ids.ask_id(kind, phase.value, number, *([alias] if alias else []))


# ---- the open asks of each kind


def _confirm(state: State) -> Iterator[Open]:
    named = len(state.start.participants) or None
    yield (
        Waiting(
            id=ids.ask_id("confirm", state.revisions + 1), ask=AskName.CONFIRM_TENSION, alias=DEMANDER, others=named
        ),
        state.deadline,
    )


def _select(state: State) -> Iterator[Open]:
    yield Waiting(id=ids.ask_id("select", state.seatings + 1), ask=AskName.SELECT_PARTICIPANTS, alias=DEMANDER), None


def _consent(state: State) -> Iterator[Open]:
    for invitation in state.invitations:
        if invitation.waits:
            number = invitation.number
            yield (
                Waiting(
                    id=ids.ask_id("consent", number),
                    ask=AskName.CONSENT,
                    alias=ids.invited_alias(number),
                    round=number,
                    subject=invitation.choice.profile_id,
                    others=state.others_expected - 1,
                ),
                invitation.deadline,
            )


def _say(state: State) -> Iterator[Open]:
    for turn in state.waiting_for:
        id = ids.ask_id("say", state.round, turn.alias)
        yield Waiting(id=id, ask=AskName.PROJECTION, alias=turn.alias, round=state.round), turn.deadline


def _gap(state: State) -> Iterator[Open]:
    if number := state.demander_asked:
        yield Waiting(id=ids.ask_id("gap", number), ask=AskName.GAP, alias=DEMANDER, round=number), None


def _decide(state: State) -> Iterator[Open]:
    id = ids.ask_id("decide", state.decisions)
    yield Waiting(id=id, ask=AskName.DECISION, alias=DEMANDER, round=state.round), state.deadline


def _answer(state: State) -> Iterator[Open]:
    for alias in state.asked_for_answers:
        if alias not in state.answers:
            id = ids.ask_id("answer", state.plan_revision, alias)
            yield Waiting(id=id, ask=AskName.ANSWER, alias=alias, round=state.plan_revision), state.deadline


def _replan(state: State) -> Iterator[Open]:
    if state.open_points:
        id = ids.ask_id("replan", state.plan_revision)
        yield Waiting(id=id, ask=AskName.REPLAN, alias=DEMANDER, round=state.plan_revision), state.deadline


def _residuals(kind: AskName, state: State) -> Iterator[Open]:
    for residual in state.undecided:
        if (kind is AskName.HOLE) == (ids.hole_of(residual) is not None):
            waiting = Waiting(
                id=ids.ask_id("residual", residual),
                ask=kind,
                alias=DEMANDER,
                round=ids.number_of_residual(residual),
                subject=residual,
                ends_answers=residual == state.last_residual,
            )
            yield waiting, None


def _of_no_workflow(state: State) -> Iterable[Open]:
    """Return no asks. Asks of this kind are not in the state: `records.process.standing` opens them in the records."""
    return ()


def _resume(state: State) -> Iterator[Open]:
    if any(cause.kind == "operator" for cause in state.causes.values()):
        yield Waiting(id="resume", ask=AskName.RESUME, alias=""), None


def _calls(state: State) -> Iterator[Open]:
    """Yield one ask for all waiting model calls. One ask per call would reveal by its alias who has a proxy."""
    if calls := sorted(call for parked in state.parked.values() for call in parked.calls):
        running = [parked.deadline for parked in state.parked.values() if parked.deadline is not None]
        first = min(running, key=lambda deadline: deadline.due, default=None)
        yield Waiting(id="calls", ask=AskName.CALLS, alias="", subject=" ".join(calls)), first


_TENSION: Final = {"transition": TEXT, "initial_state": TEXT, "barriers": [TEXT], "exchange": TEXT}
_SAY: Final = ({"kind": "submit_projection", "text": TEXT}, {"kind": "submit_projection", "nothing_new": True})
_BRANCH: Final = ({"kind": "approve_residual", "approve": True}, {"kind": "approve_residual", "approve": False})
_MORE: Final[dict[m.Decision, Body]] = {
    m.Decision.ADD_PARTICIPANTS: {"participants": [PROFILE]},
    m.Decision.RAISE_BUDGET: {"tokens": 1_000_000},
}

_TABLE: Final = (
    AskKind(AskName.CONFIRM_TENSION, "demander", _confirm, (
        {"kind": "confirm_tension"}, {"kind": "revise_tension", "tension": _TENSION})),
    AskKind(AskName.SELECT_PARTICIPANTS, "demander", _select, (
        {"kind": "select_participants", "participants": [PROFILE, PROFILE]},)),
    AskKind(AskName.CONSENT, "invited", _consent, (
        {"kind": "consent", "allow": True}, {"kind": "consent", "allow": True, "endpoint": "human"}, {"kind": "consent", "allow": False})),
    AskKind(AskName.PROJECTION, "participant", _say, _SAY),
    AskKind(AskName.GAP, "demander", _gap, _SAY),
    AskKind(AskName.DECISION, "demander", _decide, tuple(
        {"kind": "decide", "decision": decision.value, **_MORE.get(decision, {})} for decision in m.Decision)),
    AskKind(AskName.ANSWER, "participant", _answer, (
        {"kind": "answer_plan", "answer": "commit"}, {"kind": "answer_plan", "answer": "decline", "text": TEXT},
        {"kind": "answer_plan", "answer": "propose", "text": TEXT})),
    AskKind(AskName.REPLAN, "demander", _replan, ({"kind": "replan"}, {"kind": "conclude"})),
    AskKind(AskName.RESIDUAL, "demander", partial(_residuals, AskName.RESIDUAL), _BRANCH),
    AskKind(AskName.HOLE, "demander", partial(_residuals, AskName.HOLE), _BRANCH),
    AskKind(AskName.CANDIDATE, "demander", _of_no_workflow, _BRANCH),
    AskKind(AskName.RESUME, "operator", _resume, ({"kind": "resume"},)),
    AskKind(AskName.CALLS, "answerer", _calls, ()),
)  # fmt: skip

ASK_KINDS: Final[Mapping[AskName, AskKind]] = {row.kind: row for row in _TABLE}
"""Every kind of ask by its name."""

FOR_PARTICIPANTS: Final = frozenset(row.kind.value for row in _TABLE if row.whom == "participant")
"""Kinds of asks to people with a seat. All other asks are for the demander, invited people, operators or answerers."""


def answers(
    kind: AskName,
    id: str,
    *,
    number: int,
    subject: str = "",
    options: Sequence[str] = (),
    given: Mapping[str, str] | None = None,
) -> list[Body]:
    """Return the messages that answer an ask, the usual answer first. Only placeholders in angle brackets are missing.

    Args:
        id: the id of the ask.
        number: the round; for `answer` and `replan` the plan's revision; for `consent` the invitation's number.
        subject: for `residual`, `hole` and `candidate`, the id of the residual.
        options: the permitted choices; empty: all.
        given: for `replan`, the answers to the current plan, by alias.
    """
    possible = ASK_KINDS[kind].answers
    offered = [body for body in possible if not options or body.get("decision", body["kind"]) in options]
    answered = {
        one: [alias for alias, answer in (given or {}).items() if answer == one] for one in ("decline", "propose")
    }
    named: dict[str, Body] = {
        "submit_projection": {"round": number},
        "answer_plan": {"revision": number},
        "approve_residual": {"residual": subject, **({"ask": id} if kind is AskName.CANDIDATE else {})},
        "consent": {"invitation": number},
        "conclude": {"ask": moment("conclude", Phase.ANSWERING, 0, number)},
        "replan": {"ask": id, "without": answered["decline"], "proposals": answered["propose"]},
        "resume": {},
    }
    return [{**body, **named.get(body["kind"], {"ask": id})} for body in offered]


def answered_by(message_kind: str) -> frozenset[str]:
    """Return the kinds of asks that a message of this kind answers."""
    return frozenset(row.kind.value for row in _TABLE if any(body["kind"] == message_kind for body in row.answers))


# ---- the sentences of asks


def words(key: str, language: str, /, **values: Any) -> str:
    """Return a text of `tongyao/texts/protocol`, in English for every language except `zh`."""
    return worded(_TEXTS, language, key, **values)


def whom(ask: str, alias: str, language: str) -> str:
    """Return the addressee of an ask in words: an alias, an invited person, or for an empty alias the answerers or
    operators."""
    if not alias:
        return words("asks.answerer" if ask == AskName.CALLS else "asks.operator", language)
    number = ids.invitation_of(alias)
    return words("asks.invited", language, number=number) if number else alias


class Told(Protocol):
    """The fields of an ask that the state, the records and inboxes have in common."""

    @property
    def ask(self) -> str: ...
    @property
    def round(self) -> int: ...
    @property
    def subject(self) -> str: ...
    @property
    def others(self) -> int | None: ...
    @property
    def ends_answers(self) -> bool: ...


def does(ask: Told, language: str) -> str:
    """Return the action that an ask requests, without subject and full stop: `confirm the tension, or revise it`."""
    return _text(ask, language, "does")


def helps(ask: Told, language: str) -> str:
    """Return advice for the person asked, in whole sentences."""
    return _text(ask, language, "help")


def _text(ask: Told, language: str, part: str) -> str:
    """Return the text `part` for the ask. The last ask before the end and an ask with names may have their own text."""
    last = ask.ends_answers or (ask.ask == AskName.ANSWER and ask.round > 1)
    named = ask.ask == AskName.CONFIRM_TENSION and ask.others
    variant = f"asks.{ask.ask}_last_{part}" if last else f"asks.{ask.ask}_named_{part}" if named else ""
    key = variant if variant in _TEXTS else f"asks.{ask.ask}_{part}"
    return words(key, language, round=ask.round, count=len(ask.subject.split()))
