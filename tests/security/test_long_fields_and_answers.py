"""Nobody blocks the gateway with a field of very many lines, an address of very many parameters, or the export of very long profiles."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.gateway.conftest import GatewayHarness
from tests.security.conftest import whole
from tongyao.app.people import profiles
from tongyao.app.people.sessions import open_session
from tongyao.gateway.access.authentication import SESSION
from tongyao.gateway.console.routes import preparing
from tongyao.gateway.long_json import long_json

__all__ = ["whole"]
PLACE = "http://127.0.0.1:8700"
MANY = 50_000


async def sent(gateway: GatewayHarness, person: Any, path: str, **fields: str) -> Any:
    """The answer to a form of the console that this person sends."""
    session = await open_session(gateway.context, person["token"], place=PLACE)
    headers = {"Cookie": f"{SESSION}={session.secret}", "Content-Type": "application/x-www-form-urlencoded"}
    page = await gateway.ask("GET", "/console/me", headers=headers)
    form = re.search(r'name="form_token" value="([^"]+)"', page.text)
    assert form is not None
    content = urlencode({"form_token": form[1], "key": "a-key-for-this-form", **fields})
    return await gateway.ask("POST", path, content=content, headers=headers)


async def demanded(gateway: GatewayHarness, person: Any, scene: str) -> str:
    await gateway.join(scene)
    body = {"intent": "I want to bring an old ferry back onto the lake.", "scene": scene}
    started = await gateway.ask("POST", "/processes", person["token"], json=body)
    assert started.status_code == 201, started.text
    return str(started.json()["id"])


@pytest.mark.parametrize(
    ("page", "field", "between", "more"),
    [
        ("people", "others", " ", {}),
        ("people", "others", ",", {}),
        ("tension", "barriers", "\n", {"do": "revise", "transition": "A ferry runs again."}),
        ("tension", "names", "\n", {"do": "revise", "transition": "A ferry runs again."}),
        ("me", "topics", "\n", {"do": "mandate", "may_speak": "yes"}),
        ("me", "never", "\n", {"do": "mandate", "may_speak": "yes"}),
    ],
)
async def test_a_field_of_very_many_lines_is_refused_before_each_becomes_a_value(
    whole: GatewayHarness, monkeypatch: pytest.MonkeyPatch, page: str, field: str, between: str, more: dict[str, str]
) -> None:
    """Half a million words in a form took 2.6 seconds of the event loop."""
    scene = await whole.scene()
    person = await whole.join(scene)
    place = "me" if page == "me" else f"processes/{await demanded(whole, person, scene)}/{page}"

    def never(*args: Any, **fields: Any) -> Any:
        raise AssertionError("a value was made of the lines")

    monkeypatch.setattr(profiles.MandateBody, "model_validate", never)
    monkeypatch.setattr(preparing, "_send", never)
    answer = await sent(whole, person, f"/console/{place}", **{field: between.join(["a"] * MANY)}, **more)
    assert answer.status_code == 422
    assert "too many lines" in answer.text


async def test_a_residual_that_cannot_be_one_is_no_failure(whole: GatewayHarness) -> None:
    scene = await whole.scene()
    person = await whole.join(scene)
    pid = await demanded(whole, person, scene)
    answer = await sent(whole, person, f"/console/processes/{pid}/residuals", residual="a" * 300)
    assert answer.status_code == 404, "it has no plan yet"


async def test_an_address_with_very_many_parameters_is_not_read(whole: GatewayHarness) -> None:
    for path in ("/scenes", "/console/enter", "/mcp", "/nowhere"):
        answer = await whole.ask("GET", f"{path}?{'a&' * 1_000}")
        assert answer.status_code == 414


async def test_others_have_their_turn_while_a_long_answer_is_made() -> None:
    texts = ["x" * 100_000] * 20
    answer = long_json({"texts": texts})
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(others())
    body = b"".join([bytes(piece) async for piece in answer.body_iterator])  # type: ignore[arg-type]  # reason: its pieces may be str by their type
    beside.cancel()
    assert json.loads(body) == {"texts": texts}
    assert turns >= len(texts)
