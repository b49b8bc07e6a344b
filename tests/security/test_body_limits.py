"""Bodies and forms: what is read of them, how long they may be, and how much work they may cause."""

from __future__ import annotations

import gc
import json
from collections.abc import AsyncIterator
from types import SimpleNamespace

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from tests.gateway.conftest import GatewayHarness
from tests.security.conftest import limited
from tongyao.app.people.sessions import open_session
from tongyao.gateway.access.authentication import SESSION
from tongyao.gateway.access.body_limit import Structure
from tongyao.gateway.mcp.server import make_server
from tongyao.gateway.problems import HttpProblem

BIG = "x" * 70_000


class Unread:
    """A body that must not be read."""

    def __init__(self) -> None:
        self.read = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            self.read += 1
            yield b"x" * 1_000


async def test_no_body_is_read_before_the_limit_is_asked(whole: GatewayHarness) -> None:
    few = limited(whole, rate="2/minute")
    for _ in range(2):
        malformed = await few.ask("POST", "/profiles", content=b"{", headers={"Content-Type": "application/json"})
        assert malformed.status_code == 422
    body = Unread()
    refused = await few.ask("POST", "/profiles", content=body, headers={"Content-Type": "application/json"})
    assert (refused.status_code, refused.json()["code"]) == (429, "too_often")
    assert body.read == 0


async def test_a_large_body_is_taken_only_where_a_profile_is_written_with_a_token(whole: GatewayHarness) -> None:
    few = limited(whole)
    scene = await few.scene()
    joined = await few.join(scene)
    said = {"scene": scene, "name": "Anna Example", "text": BIG}
    for method, path, token in [
        ("POST", "/profiles", None),
        ("POST", "/profiles", joined["token"]),
        ("PUT", f"/profiles/{joined['profile_id']}", None),
        ("PUT", f"/profiles/{joined['profile_id']}", "ty_guess"),
        ("POST", "/mcp", None),
        ("POST", "/processes", joined["token"]),
    ]:
        answer = await few.ask(method, path, token, json=said)
        assert (answer.status_code, answer.json()["code"]) == (413, "too_long"), path
    written = await few.ask("PUT", f"/profiles/{joined['profile_id']}", joined["token"], json={"text": BIG})
    assert written.status_code == 200, written.text


@pytest.mark.parametrize("path", ["/console/enter", "/console/language", "/console/codec/decode", "/console/join"])
async def test_a_stranger_has_no_long_form_parsed(whole: GatewayHarness, path: str) -> None:
    for cookie in ({}, {"Cookie": "tongyao_session=ty_made-up"}):
        headers = {"Content-Type": "application/x-www-form-urlencoded", **cookie}
        answer = await whole.ask("POST", path, content=b"&" * 200_000, headers=headers)
        assert answer.status_code == 413


async def test_whoever_is_signed_in_sends_a_long_form(whole: GatewayHarness) -> None:
    person = await whole.join(await whole.scene())
    session = await open_session(whole.context, person["token"], place="http://127.0.0.1:8700")
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": f"{SESSION}={session.secret}"}
    answer = await whole.ask("POST", "/console/me", content=b"text=" + b"a" * 200_000, headers=headers)
    assert answer.status_code == 403, "it is read, and has no token of a form"


async def test_a_refused_body_is_not_kept(whole: GatewayHarness) -> None:
    before = refusals()
    for _ in range(3):
        bomb = f'{{"intent": "A bridge.", "more": [{"0," * 20_000}0]}}'
        refused = await whole.ask("POST", "/processes", content=bomb, headers={"Content-Type": "application/json"})
        assert refused.json()["code"] == "too_many_parts"
    assert refusals() <= before, "an exception keeps the frames in which it was raised, and these the body"


def refusals() -> int:
    """Exceptions of refused bodies that something keeps."""
    gc.collect()
    return sum(type(one) is HttpProblem and one.code == "too_many_parts" for one in gc.get_objects())


async def test_a_long_body_of_many_small_values_is_not_parsed(whole: GatewayHarness) -> None:
    joined = await whole.join(await whole.scene())
    place = f"/profiles/{joined['profile_id']}"
    for values in ('"",', "[],", '"\\\\",', '{"a":1},', "0,0,0,", "1e5,"):
        bomb = f'{{"text": "I mend nets.", "more": [{values * 350_000}0]}}'
        refused = await whole.ask(
            "PUT", place, joined["token"], content=bomb, headers={"Content-Type": "application/json"}
        )
        assert (refused.status_code, refused.json()["code"]) == (413, "too_many_parts")
        wide = f'{{"text": "Т", "more": [{values * 350_000}0]}}'  # half of this letter, U+0422, is the byte of a quotation mark
        for encoding in ("utf-16-le", "utf-16", "utf-32-be"):
            refused = await whole.ask(
                "PUT",
                place,
                joined["token"],
                content=wide.encode(encoding),
                headers={"Content-Type": "application/json"},
            )
            assert (refused.status_code, refused.json()["code"]) == (413, "too_many_parts"), encoding
    quoted = json.dumps({"text": 'She said "yes" [twice].\n' * 50_000})
    taken = await whole.ask("PUT", place, joined["token"], content=quoted, headers={"Content-Type": "application/json"})
    assert taken.status_code == 200, taken.text


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/processes/{pid}/messages", '{"kind": "revise_tension", "tension": {"transition": "x", "barriers": [%s]}}'),
        ("/processes", '{"intent": "x", "participants": [%s]}'),
        (
            "/mcp",
            '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "demand", "arguments": {"participants": [%s]}}}',
        ),
    ],
    ids=["a message", "a start", "a tool"],
)
async def test_a_body_of_many_wrong_values_is_not_checked_one_by_one(
    whole: GatewayHarness, path: str, body: str
) -> None:
    """Each is an error of its own, with its place: a megabyte of them took a quarter of a minute."""
    joined = await whole.join(await whole.scene())
    headers = {"Content-Type": "application/json"}
    refused = await whole.ask(
        "POST", path.format(pid="c-1"), joined["token"], content=body % ",".join(["{}"] * 15_000), headers=headers
    )
    assert (refused.status_code, refused.json()["code"]) == (413, "too_many_parts")


@pytest.mark.parametrize(
    ("tool", "argument"),
    [
        ("demand", "participants"),
        ("demand", "settings"),
        ("join", "email"),
        ("decide", "message"),
        ("set_consent", "consent"),
        ("agents", "limit"),
    ],
)
async def test_json_in_a_text_for_a_tool_has_no_more_parts_than_a_body(
    whole: GatewayHarness, monkeypatch: pytest.MonkeyPatch, tool: str, argument: str
) -> None:
    """The MCP library reads it as JSON, and checks each value: two megabytes took half a minute and two gigabytes."""
    read: list[str] = []

    def loads(text: str) -> object:
        read.append(text)
        return json.loads(text)

    monkeypatch.setattr("mcp.server.mcpserver.utilities.func_metadata.json", SimpleNamespace(loads=loads))
    bomb = f"[{'[],' * 10_000}0]"
    with pytest.raises(ToolError, match="too many values"):
        await make_server(whole.context).call_tool(tool, {argument: bomb})
    assert not read


@pytest.mark.parametrize(
    "given",
    [
        {"tension": json.dumps({"transition": "A boat floats.", "exchange": "I can [row], {carry}. " * 200})},
        {"intent": "I mend nets, [here] and there, {always}. " * 400},
    ],
    ids=["an object", "a long text"],
)
async def test_what_a_client_sends_as_text_for_a_tool_is_read(whole: GatewayHarness, given: dict[str, str]) -> None:
    """Some clients send lists and objects so. A long text for a text is none of them."""
    with pytest.raises(ToolError) as refused:  # nobody calls
        await make_server(whole.context).call_tool("demand", {"key": "k", "intent": "I want a boat.", **given})
    assert "bad_arguments" not in str(refused.value)


@pytest.mark.parametrize("depth", [100, 900, 30_000])
async def test_json_inside_json_without_end_is_bad_input_and_no_failure(whole: GatewayHarness, depth: int) -> None:
    joined = await whole.join(await whole.scene())
    nested = f'{{"intent": "I want a boat.", "settings": {{"quorum": {"[" * depth}{"]" * depth}}}}}'
    for path in ("/processes", "/processes/c-0000000000000000/messages", "/profiles"):
        answer = await whole.ask(
            "POST", path, joined["token"], content=nested, headers={"Content-Type": "application/json"}
        )
        assert 400 <= answer.status_code < 500, answer.text


def test_what_stands_outside_of_texts_is_counted_however_it_arrives() -> None:
    words = 'A \\ and a quote " and [brackets], commas,,,, 漢字 ' * 50
    document = json.dumps({"text": words, "more": [1, 2, "\\", '"']}, ensure_ascii=False).encode()
    bare = json.dumps({"": "", "_": [1, 2, "", ""]}).encode()
    expected = len(bare) - 1
    for size in (1, 2, 3, 7, len(document)):
        structure = Structure()
        for start in range(0, len(document), size):
            structure.read(document[start : start + size])
        assert structure.parts == expected, size
