"""No open cell: every operation of the API and every tool of MCP, for every role, towards what is theirs and what is not."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx
import pytest

from tests.gateway.actions import API, TOOLS
from tests.gateway.conftest import GatewayHarness
from tests.gateway.test_api import asked, room
from tongyao.app.action_permissions import MESSAGE_PERMISSIONS, PERMISSIONS, Action, Role
from tongyao.gateway.mcp.server import make_server
from tongyao.protocol.model.messages import MESSAGE_TYPES as MESSAGE_KINDS

PROCESS, PROFILE = "process_id", "profile_id"
BODIES: dict[tuple[str, str], Any] = {
    ("post", "/profiles"): {"scene": "none-such", "name": "A", "text": "b"},
    ("put", "/scenes/{scene}"): {"title": "t"},
    ("put", "/profiles/{profile_id}"): {"text": "I keep bees, and sheep now."},
    ("put", "/profiles/{profile_id}/mandate"): {},
    ("put", "/profiles/{profile_id}/consents/{scene}"): {"consent": "ask"},
    ("post", "/scenes/{scene}/search"): {"text": "honey"},
    ("post", "/processes"): {"intent": "x", "participants": ["nobody-1", "nobody-2"]},
    ("post", "/processes/{process_id}/forks"): {},
    ("post", "/tokens"): {"role": "operator"},
    ("put", "/processes/{process_id}/standing"): {"looking": False},
    ("post", "/calls/next"): {},
    ("post", "/calls/{call_id}/answer"): {"text": "{}"},
    ("put", "/processes/{process_id}/feedback"): {"usefulness": 3},
    ("put", "/processes/{process_id}/contact"): {"text": "At the quay."},
    ("put", "/profiles/{profile_id}/channels/mail"): {"address": "a@example.org"},
    ("put", "/profiles/{profile_id}/source"): {"kind": "none-such"},
    ("put", "/profiles/{profile_id}/channels/webhook"): {"url": "https://example.org/hook"},
    ("put", "/profiles/{profile_id}/channels/{kind}"): {"address": "none-such"},
    ("put", "/profiles/{profile_id}/channels/{kind}/confirmation"): {"code": "guess"},
}
TURN = {"kind": "submit_projection", "round": 999, "nothing_new": True}
EXTEND = {"kind": "extend_deadline", "alias": "P98", "seconds": 60}
MESSAGES = {"participant": TURN, "scoped": TURN, "anonymous": TURN, "demander": EXTEND, "operator": EXTEND}
SKIP_OWN = {("delete", "/profiles/{profile_id}"), ("delete", "/tokens/{token_id}")}
"""Would end what the other cells need; each has its own test."""


def operations(gateway: GatewayHarness) -> list[tuple[str, str, Action]]:
    paths = gateway.app.openapi()["paths"]
    return [(method, path, API[f"{method} {path}"]) for path, methods in paths.items() for method in methods]


def test_the_tables_have_no_empty_cell(gateway: GatewayHarness) -> None:
    assert set(PERMISSIONS) == set(Action)
    assert set(MESSAGE_PERMISSIONS) == set(MESSAGE_KINDS)
    used = {action for _, _, action in operations(gateway)} | set(TOOLS.values())
    assert used == set(Action)


async def test_every_tool_is_in_the_table(gateway: GatewayHarness) -> None:
    tools = {tool.name for tool in await make_server(gateway.context).list_tools()}
    assert tools == set(TOOLS)


async def test_every_operation_lets_in_whom_the_table_names_and_nobody_else(gateway: GatewayHarness) -> None:
    pid, demander, people = await room(gateway)
    other_pid, _, _ = await room(gateway)
    speaker = people[1]
    await asked(gateway, speaker["token"], "projection", 1)
    scoped = await gateway.context.repositories.tokens.issue(
        "participant", person=speaker["profile_id"], process_id=pid,
        alias=next(s.alias for s in await gateway.context.repositories.seats.seats(pid) if s.profile_id == speaker["profile_id"]),
    )  # fmt: skip
    callers = {
        "anonymous": (None, ""),
        "demander": (demander, (await gateway.ask("GET", "/me", demander)).json()["person"]),
        "participant": (speaker["token"], speaker["profile_id"]),
        "scoped": (scoped.secret, speaker["profile_id"]),
        "operator": (await gateway.operator(), ""),
    }
    wrong = []
    for method, path, action in operations(gateway):
        for name, (token, person) in callers.items():
            for own in (True, False):
                if not own and "{" not in path:
                    continue
                expected = _expected(name, action, path, own)
                if expected and (method, path) in SKIP_OWN:
                    continue
                names = {
                    "process_id": pid if own else other_pid,
                    "profile_id": (person or people[0]["profile_id"]) if own else people[0]["profile_id"],
                    "scene": "none-such", "kind": "pager", "message_id": "00000000-0000-0000-0000-000000000000", "token_id": "t-none", "standing_id": "s-none", "call_id": "call-0123456789",
                }  # fmt: skip
                where = path.format(**names)
                if where.endswith("/events"):
                    where += "?after=4000000"
                    if expected:
                        continue  # an open stream: tested where it ends
                answer = await gateway.ask(
                    method.upper(), where, token, json=BODIES.get((method, path), MESSAGES[name])
                )
                code, detail = _said(answer)
                refused = answer.status_code in (401, 403) or (
                    code in ("no_such_process", "no_such_profile") and detail.startswith("you ")
                )
                if refused == expected:
                    wrong.append((method, path, name, "own" if own else "other", answer.status_code, code))
                assert answer.status_code < 500, (method, path, answer.text)
    allowed_bodies = {("post", "/tokens")}  # everybody but operators is refused for asking for an operator's token
    assert [one for one in wrong if one[:2] not in allowed_bodies] == []
    for process in (pid, other_pid):
        await gateway.stack.handle(process).cancel()


def _said(answer: httpx.Response) -> tuple[str, str]:
    body = answer.json() if answer.content and "json" in answer.headers.get("content-type", "") else None
    return (body.get("code", ""), body.get("detail", "")) if isinstance(body, dict) else ("", "")


def _expected(caller: str, action: Action, path: str, own: bool) -> bool:
    roles = PERMISSIONS[action]
    if caller in ("anonymous", "operator"):
        return Role(caller) in roles
    if PROCESS in path:
        return own and Role("demander" if caller == "demander" else "participant") in roles
    if PROFILE in path:
        return own and caller != "scoped" and Role.OWNER in roles
    if caller == "scoped":
        return Role.PARTICIPANT in roles or action is Action.READ_MESSAGE
    return bool({Role.PERSON, Role.OWNER} & roles)


async def test_guessed_expired_and_revoked_tokens_open_nothing(gateway: GatewayHarness) -> None:
    tokens = gateway.context.repositories.tokens
    expired = await tokens.issue("operator", lasts=timedelta(seconds=-1))
    revoked = await tokens.issue("operator")
    await tokens.revoke(revoked.token.id)
    cells = {"ty_guess": "token_unknown", expired.secret: "token_expired", revoked.secret: "token_revoked"}
    for secret, code in cells.items():
        answer = await gateway.ask("GET", "/scenes", secret)
        assert (answer.status_code, answer.json()["code"]) == (401, code)


async def test_nobody_learns_of_a_process_by_guessing_its_id(gateway: GatewayHarness) -> None:
    pid, _, _ = await room(gateway)
    stranger = await gateway.person("somebody-else")
    real = await gateway.ask("GET", f"/processes/{pid}", stranger)
    guessed = await gateway.ask("GET", "/processes/c-0123456789abcdef", stranger)
    assert real.status_code == guessed.status_code == 404
    assert real.text.replace(pid, "X") == guessed.text.replace("c-0123456789abcdef", "X")
    await gateway.stack.handle(pid).cancel()


async def test_a_deleted_profile_takes_its_tokens_along(gateway: GatewayHarness) -> None:
    joined = await gateway.join(await gateway.scene())
    path = f"/profiles/{joined['profile_id']}"
    assert (await gateway.ask("DELETE", path, joined["token"])).status_code == 204
    assert (await gateway.ask("GET", path, joined["token"])).json()["code"] == "token_revoked"


@pytest.mark.parametrize("settings", [{"strategy": "x"}, {"turn_seconds": 10**15}, {"token_budget": 10**30}])
async def test_settings_that_name_anothers_text_or_break_a_calendar_are_refused(
    gateway: GatewayHarness, settings: dict[str, Any]
) -> None:
    demand = {"intent": "x", "participants": ["a", "b"], "settings": settings}
    answer = await gateway.ask("POST", "/processes", await gateway.person("somebody"), json=demand)
    assert answer.status_code == 422
