"""Every kind of ask is answered at every door by what that door shows: the message is accepted, and the ask is open no more.

A door is what it shows of an ask and what it makes of an answer: the API's `messages`, the calls that MCP's `pending` lists, the commands of
`tongyao show`, and the buttons of a page.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, Final, cast

import pytest
import typer
from starlette.datastructures import FormData
from typer.testing import CliRunner

from tests.protocol.lives import Life
from tongyao.app.action_permissions import Role
from tongyao.app.authorization import ProcessAccess
from tongyao.app.errors import BadInput
from tongyao.app.messaging.inbox import Ask
from tongyao.app.messaging.messages import build_message
from tongyao.cli import app
from tongyao.commands import next_steps
from tongyao.gateway.console.asks import Answering
from tongyao.gateway.console.routes import inbox as inbox_page
from tongyao.gateway.mcp.server import with_answers
from tongyao.protocol.life import machine
from tongyao.protocol.life.asks import ASK_KINDS, Body, answers, does, helps
from tongyao.protocol.life.phases import open_asks
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.events import AskName, Waiting
from tongyao.protocol.model.ids import invitation_of
from tongyao.protocol.model.messages import MESSAGE_BODY
from tongyao.records.process.inbox import InboxRow

TENSION: Final = {
    "transition": "From a winch to a crane.",
    "initial_state": "A winch.",
    "barriers": ["No licence."],
    "exchange": "Two jetties.",
}
NOW: Final = datetime(2026, 3, 2, tzinfo=UTC)


def confirming() -> Life:
    life = Life("human", "human")
    life.succeed("formulate")
    return life


def selecting() -> Life:
    life = Life(start={"scene": "harbour"})
    life.succeed("formulate")
    life.by_demander("confirm_tension")
    life.succeed("discover")
    return life


def consenting() -> Life:
    life = Life("proxy", "proxy", auto_confirm=True)
    life.succeed("formulate")
    life.succeed("consent", ask=["n1", "n2"])
    return life


def with_a_gap() -> Life:
    life = Life.in_round_one("proxy", "proxy")
    life.succeed("project")
    life.succeed("observe", verdict="more", asks_demander=True)
    return life


def deciding() -> Life:
    life = Life.in_round_one("proxy", "proxy", max_rounds=2)
    for _ in range(2):
        life.succeed("project", tokens=10)
        life.succeed("observe", verdict="more")
    return life


def declined() -> Life:
    life = Life.answering("human", "human", "human", residuals="ask")
    life.by("P01", "answer_plan", revision=1, answer="decline")
    return life


def suspended() -> Life:
    life = Life("human", "human")
    life.fail("formulate")
    return life


OPEN: Final[Mapping[AskName, Callable[[], Life]]] = {
    AskName.CONFIRM_TENSION: confirming,
    AskName.SELECT_PARTICIPANTS: selecting,
    AskName.CONSENT: consenting,
    AskName.PROJECTION: lambda: Life.in_round_one("human", "human"),
    AskName.GAP: with_a_gap,
    AskName.DECISION: deciding,
    AskName.ANSWER: lambda: Life.answering("human", "human"),
    AskName.REPLAN: declined,
    AskName.RESIDUAL: lambda: Life.answering("human", "human", residuals="ask", residuals_of_plan=2),
    AskName.HOLE: declined,
    AskName.RESUME: suspended,
}
"""By kind of ask, a process in which it is open."""


def waiting(life: Life, kind: AskName) -> Waiting:
    return next(ask for ask, _ in open_asks(life.state) if ask.ask is kind)


def bodies_of(life: Life, ask: Waiting) -> list[Body]:
    """The messages that answer it, as the table gives them; what stands in angle brackets is filled in."""
    given = dict(life.state.answers)
    return [filled(body) for body in answers(ask.ask, ask.id, number=ask.round, subject=ask.subject, given=given)]


def filled(value: Any, names: Iterator[str] | None = None) -> Any:
    names = names or (f"new{number}" for number in range(9))
    if isinstance(value, dict):
        return {key: TENSION if key == "tension" else filled(one, names) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [filled(one, names) for one in value]
    return next(names) if value == "<profile id>" else "words" if value == "<text>" else value


def shown(life: Life, ask: Waiting) -> Ask:
    """The ask as the API's inbox holds it."""
    return Ask(
        process_id="c-1", id=ask.id, ask=ask.ask, alias=ask.alias, en=does(ask, "en"), zh=does(ask, "zh"), round=ask.round,
        subject=ask.subject, due_at=None, opened_at=NOW.isoformat(), answer_with="", messages=tuple(bodies_of(life, ask)),
    )  # fmt: skip


def row_of(ask: Waiting) -> InboxRow:
    return InboxRow(
        id=f"c-1/{ask.id}", process_id="c-1", ask=ask.ask, alias=ask.alias, person=ask.subject or "d", round=ask.round, due_at=None,
        opened_at=NOW, closed_at=None, subject=ask.subject, ends_answers=ask.ends_answers,
    )  # fmt: skip


# ---- the doors: each turns the number of an answer into the body of a message


def by_api(life: Life, ask: Waiting, body: Body, monkeypatch: pytest.MonkeyPatch) -> Body:
    return cast(Body, json.loads(json.dumps(body)))


def by_mcp(life: Life, ask: Waiting, body: Body, monkeypatch: pytest.MonkeyPatch) -> Body:
    calls = with_answers(shown(life, ask))["answer_with"]
    call = calls[bodies_of(life, ask).index(body)]
    arguments = {name: one for name, one in call["arguments"].items() if name not in ("process_id", "key")}
    kind = {"respond": "submit_projection", "consent": "consent"}.get(call["tool"])
    return {"kind": kind, **arguments} if kind else cast(Body, arguments["message"])


BUTTONS: Final = {
    ("select_participants", 0): None,  # a page of its own
    ("confirm_tension", 1): None,
    ("consent", 0): "once",
    ("consent", 1): "myself",
    ("consent", 2): "no",
    ("projection", 0): "send",
    ("gap", 0): "send",
    ("projection", 1): "nothing_new",
    ("gap", 1): "nothing_new",
    ("replan", 0): "replan",
    ("replan", 1): "conclude",
    ("residual", 0): "yes",
    ("residual", 1): "no",
    ("hole", 0): "yes",
    ("hole", 1): "no",
}


def by_page(life: Life, ask: Waiting, body: Body, monkeypatch: pytest.MonkeyPatch) -> Body:
    """What the buttons of the inbox send. Tension, people and plan have pages of their own, whose forms carry the id of the ask."""
    number = bodies_of(life, ask).index(body)
    do = BUTTONS.get((ask.ask.value, number), body.get("decision", ""))
    if do is None or ask.ask is AskName.ANSWER:
        pytest.skip("answered on a page of its own (tests/console)")
    one = Answering(ask=shown(life, ask), words="words")
    if ask.ask in (AskName.PROJECTION, AskName.GAP):
        return inbox_page._message(do, one)
    people = [("person", person) for person in body.get("participants", ())]
    limits = [("tokens", str(body["tokens"]))] if "tokens" in body else []
    return inbox_page._choice(one, FormData([("do", do), *people, *limits]))


@pytest.mark.parametrize("kind", [AskName.SELECT_PARTICIPANTS, AskName.ANSWER])
def test_the_inbox_has_no_buttons_for_an_ask_with_a_page_of_its_own(kind: AskName) -> None:
    life = OPEN[kind]()
    with pytest.raises(BadInput, match="choose one of the buttons"):
        inbox_page._choice(Answering(ask=shown(life, waiting(life, kind))), FormData([("do", "yes")]))


def by_command(life: Life, ask: Waiting, body: Body, monkeypatch: pytest.MonkeyPatch) -> Body:
    """The command that `show` prints, as the command line sends it."""
    from tongyao.commands import consents, messages, options, references, sending, tension_editing

    sent: list[Body] = []

    async def same(first: Any, second: Any = None, *_: Any) -> Any:
        return first if second is None else second

    async def nothing(*given: Any) -> Any:
        return False

    async def send(
        process: str, kind: str, key: str | None, *, sender: str = "P00", about: str = "", **fields: Any
    ) -> None:
        sent.append({"kind": kind, **{name: one for name, one in fields.items() if one not in ("", None, [])}})

    def consented(kind: Any, given: Body) -> Any:
        sent.append(given)
        raise typer.Exit(0)

    async def rounds(process: str) -> Any:
        return SimpleNamespace(phase="rounds")

    monkeypatch.setattr(references, "find_people", same)
    monkeypatch.setattr(options, "run", lambda found: found.close() or "c-1")
    monkeypatch.setattr(sending, "send", send)
    for name, stub in (("_aliases", same), ("_ends_answering", nothing), ("_row", rounds)):
        monkeypatch.setattr(messages, name, stub)
    monkeypatch.setattr(consents, "validated", consented)
    monkeypatch.setattr(tension_editing, "revised", nothing)
    monkeypatch.setattr(tension_editing, "tension_as_text", lambda _: "before")
    monkeypatch.setattr(tension_editing, "edited", lambda _: "after")
    monkeypatch.setattr(tension_editing, "tension_of_text", lambda _: TENSION)
    people = body.get("participants", ())
    command = next_steps._command(row_of(ask), body, people)
    ended = CliRunner().invoke(app, shlex.split(command)[1:])
    assert ended.exit_code == 0, (command, ended.output, ended.exception)
    return sent[-1]


DOORS: Final = (by_api, by_mcp, by_page, by_command)


def author_of(ask: Waiting) -> tuple[Role, str]:
    role = {
        "demander": Role.DEMANDER,
        "participant": Role.PARTICIPANT,
        "invited": Role.INVITED,
        "operator": Role.OPERATOR,
    }
    return role[ASK_KINDS[ask.ask].whom], ask.alias


CASES: Final = [
    pytest.param(kind, number, door, id=f"{kind.value}-{number}-{door.__name__}")
    for kind in OPEN
    for number in range(len(ASK_KINDS[kind].answers))
    for door in DOORS
]


def test_every_kind_of_ask_is_opened_here() -> None:
    assert {*OPEN, AskName.CALLS, AskName.CANDIDATE} == set(ASK_KINDS) == set(AskName), (
        "model calls and candidates are asked by no workflow: tests/gateway/test_calls.py, test_standing.py"
    )
    for kind, make in OPEN.items():
        assert waiting(make(), kind).id


@pytest.mark.parametrize(("kind", "number", "door"), CASES)
def test_what_a_door_shows_answers_the_ask(
    kind: AskName, number: int, door: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = OPEN[kind]()
    ask = waiting(life, kind)
    body = bodies_of(life, ask)[number]
    made = MESSAGE_BODY.validate_python(door(life, ask, body, monkeypatch))
    role, alias = author_of(ask)
    access = ProcessAccess(cast(Any, SimpleNamespace(id="c-1", settings={})), role, "p", alias, f"{role}:p")
    message, _ = build_message(made, access, "k")
    message = message.model_copy(update={"lane": alias or "operator", "number": 900})
    if isinstance(message, m.AnswerToAsk) and door is not by_command:
        assert message.ask == machine.open_ask(life.state, message), "the message names what it answers"
    assert machine.refuse(life.state, message) is None, message
    machine.hear(life.state, message, life.world.now)
    left = {one.id for one, _ in open_asks(life.state)}
    if kind is AskName.PROJECTION and body.get("nothing_new"):
        assert ask.id not in left
    elif kind is not AskName.RESUME or not life.state.suspended:
        assert ask.id not in left, "it is answered, and still asked"


@pytest.mark.parametrize(
    "kind", [AskName.CONFIRM_TENSION, AskName.SELECT_PARTICIPANTS, AskName.DECISION, AskName.REPLAN]
)
def test_what_answers_another_ask_is_refused_and_told_what_is_open(kind: AskName) -> None:
    life = OPEN[kind]()
    ask = waiting(life, kind)
    body = bodies_of(life, ask)[0] | {"ask": f"{ask.id.split('/')[0]}/77"}
    message = m.MESSAGE.validate_python(
        {**body, "participants": [], "author": {"role": "demander", "alias": "P00"}}
        if body["kind"] == "decide"
        else {**_typed(body), "author": {"role": "demander", "alias": "P00"}}
    )
    assert machine.refuse(life.state, message) == "ask_over"
    assert ask.id in machine.open_now(life.state, message).split(", ")


def _typed(body: Body) -> Body:
    if body["kind"] == "select_participants":
        return {**body, "participants": [{"profile_id": one} for one in body["participants"]]}
    return body


def test_two_decisions_in_one_round_are_two_asks() -> None:
    life = Life.in_round_one("proxy", "proxy", max_rounds=2, token_budget=100)
    while life.phase != "deciding":
        life.succeed(
            "project" if life.runs("project") else "observe",
            **({"tokens": 60} if life.runs("project") else {"verdict": "more"}),
        )
    first = waiting(life, AskName.DECISION)
    assert life.state.round == life.state.round_limit
    assert life.by_demander("decide", decision="raise_budget", tokens=5000, ask=first.id) == ""
    second = waiting(life, AskName.DECISION)
    assert (first.round, second.round) == (2, 2) and first.id != second.id
    assert life.by_demander("decide", decision="accept_as_is", ask=first.id) == "ask_over"
    assert life.by_demander("decide", decision="accept_as_is", ask=second.id) == ""


def test_a_confirmation_of_what_was_revised_meanwhile_is_refused() -> None:
    life = confirming()
    first = waiting(life, AskName.CONFIRM_TENSION)
    life.by_demander("revise_tension", tension={"text_id": "t2", "grade": "A", "barriers": 1})
    assert life.by_demander("confirm_tension", ask=first.id) == "ask_over"
    assert life.by_demander("confirm_tension", ask=waiting(life, AskName.CONFIRM_TENSION).id) == ""


def test_every_ask_has_its_sentences_in_both_languages() -> None:
    for kind, make in OPEN.items():
        ask = waiting(make(), kind)
        for language in ("en", "zh"):
            assert does(ask, language) and helps(ask, language)
            assert "{" not in does(ask, language)
    assert invitation_of(waiting(consenting(), AskName.CONSENT).alias) == 1
