"""No open cell in MCP: every tool, for every role, towards what is theirs and what is not; by the one table."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from mcp.client import Client as McpClient

from tests.gateway.actions import TOOLS
from tests.gateway.conftest import GatewayHarness, text_of
from tests.gateway.test_api import asked, room
from tongyao.app.action_permissions import PERMISSIONS, Action, Role
from tongyao.gateway.mcp.server import make_server

Arguments = Callable[[str], dict[str, Any]]
CALLS: dict[str, Arguments] = {
    "scenes": lambda pid: {},
    "agents": lambda pid: {"scene": "none-such"},
    "search": lambda pid: {"scene": "none-such", "text": "honey"},
    "join": lambda pid: {"key": "k", "scene": "none-such", "name": "A", "text": "b"},
    "demand": lambda pid: {"key": "k", "intent": "x", "participants": ["nobody-1", "nobody-2"]},
    "status": lambda pid: {"process_id": pid},
    "pending": lambda pid: {"view": False},
    "respond": lambda pid: {"process_id": pid, "round": 999, "nothing_new": True},
    "decide": lambda pid: {"process_id": pid, "message": {"kind": "replan", "without": ["P98"]}},
    "plan": lambda pid: {"process_id": pid},
    "switch": lambda pid: {"process_id": pid, "endpoint": "proxy"},
    "leave": lambda pid: {"process_id": pid},
    "consent": lambda pid: {"process_id": pid, "allow": True},
    "consents": lambda pid: {},
    "set_consent": lambda pid: {"scene": "none-such", "consent": "ask"},
    "standing": lambda pid: {},
    "keep_looking": lambda pid: {"process_id": pid},
    "step_forward": lambda pid: {"standing_id": "s-none"},
    "channels": lambda pid: {},
    "set_channel": lambda pid: {"kind": "webhook", "to": "http://example.org/not-https"},
    "confirm_channel": lambda pid: {"code": "guess"},
    "remove_channel": lambda pid: {"kind": "mail"},
    "source": lambda pid: {},
    "set_source": lambda pid: {"config": {}, "kind": "none-such"},
    "remove_source": lambda pid: {},
    "fetch_profile": lambda pid: {},
    "next_call": lambda pid: {},
    "answer_call": lambda pid: {"call": "call-none", "answer": "{}"},
}
KEYED = {"respond", "decide", "switch", "leave", "consent"}
SPEAKS = {
    "respond": {"demander", "participant"},
    "decide": {"demander", "operator"},
    "switch": {"demander", "participant", "operator"},
    "leave": {"demander", "participant", "operator"},
    "consent": set(),
}
"""The tools that send messages: whose message it is to send (permissions.KINDS). Nobody here is asked for their consent."""
CHANGES_THE_ROOM = {"switch", "leave"}
"""Not called by those who may: it would end what the other cells need."""


def test_every_tool_has_its_cells() -> None:
    assert set(CALLS) == set(TOOLS)


async def test_every_tool_lets_in_whom_the_table_names_and_nobody_else(gateway: GatewayHarness) -> None:
    pid, demander, people = await room(gateway)
    other_pid, _, _ = await room(gateway)
    speaker = people[1]
    await asked(gateway, speaker["token"], "projection", 1)
    seats = await gateway.context.repositories.seats.seats(pid)
    alias = next(seat.alias for seat in seats if seat.profile_id == speaker["profile_id"])
    scoped = await gateway.context.repositories.tokens.issue(
        "participant", person=speaker["profile_id"], process_id=pid, alias=alias
    )
    tokens = {
        "anonymous": "",
        "demander": demander,
        "participant": speaker["token"],
        "scoped": scoped.secret,
        "operator": await gateway.operator(),
        "guessed": "ty_guess",
        "calls": (await gateway.context.repositories.tokens.issue("calls", label="a reader")).secret,
    }
    wrong = []
    async with McpClient(make_server(gateway.context)) as client:
        for tool, arguments in CALLS.items():
            for caller, token in tokens.items():
                for own in (True, False):
                    said = arguments(pid if own else other_pid)
                    if not own and "process_id" not in said:
                        continue
                    allowed = _allowed(tool, caller, own)
                    if allowed and tool in CHANGES_THE_ROOM:
                        continue
                    more = {"key": uuid.uuid4().hex} if tool in KEYED else {}
                    given = {"token": token} if tool != "join" else {}
                    if tool == "join" and caller in ("guessed", "calls"):
                        continue
                    result = await client.call_tool(tool, {**said, **more, **given})
                    refused = bool(result.is_error) and _shuts_out(text_of(result))
                    if refused == allowed:
                        wrong.append((tool, caller, "own" if own else "other", text_of(result)[:80]))
    assert wrong == []
    for process in (pid, other_pid):
        await gateway.stack.handle(process).cancel()


def _shuts_out(said: str) -> bool:
    return said.partition(": ")[2].startswith(("not_allowed", "token_", "no_such_process: you "))


def _allowed(tool: str, caller: str, own: bool) -> bool:
    if caller == "guessed":
        return False
    action, operator = TOOLS[tool], caller == "operator"
    if tool in SPEAKS:
        role = "participant" if caller == "scoped" else caller
        return (own or operator) and (role in SPEAKS[tool])
    roles = PERMISSIONS[action]
    if caller in ("anonymous", "operator", "calls"):
        return Role(caller) in roles
    if action in (Action.READ_PROCESS, Action.READ_PLAN, Action.KEEP_LOOKING):
        return own and Role("demander" if caller == "demander" else "participant") in roles
    if caller == "scoped":
        return Role.PARTICIPANT in roles
    return bool({Role.PERSON, Role.OWNER} & roles)
