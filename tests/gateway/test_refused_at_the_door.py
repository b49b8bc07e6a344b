"""What an operation does not know is refused, and every refusal has the one form of errors (docs/api.md)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gateway.conftest import GatewayHarness
from tests.gateway.test_api import asked, room


def places(answer: Any) -> list[str]:
    assert (answer.status_code, answer.json()["code"]) == (422, "not_valid"), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    return [one["where"] for one in answer.json()["errors"]]


async def test_a_query_parameter_that_the_operation_does_not_have_is_refused(gateway: GatewayHarness) -> None:
    token = await gateway.person("query-asker")
    answer = await gateway.ask("GET", "/processes?format=md&limit=3&Phase=planning", token)
    assert places(answer) == ["query.format", "query.Phase"]
    assert "the parameters are: cursor, limit, open, parent, person, phase" in answer.json()["detail"]
    none = await gateway.ask("GET", "/me?verbose=1", token)
    assert places(none) == ["query.verbose"] and "takes no query parameters" in none.json()["detail"]
    assert places(await gateway.ask("POST", "/processes?dry_run=true", token, json={"intent": "x"}))


async def test_whoever_may_not_call_learns_nothing_of_the_parameters(gateway: GatewayHarness) -> None:
    answer = await gateway.ask("GET", "/processes?format=md", "ty_unknown")
    assert (answer.status_code, answer.json()["code"]) == (401, "token_unknown")


async def test_a_value_of_a_parameter_that_is_none_of_the_known_ones_is_refused(gateway: GatewayHarness) -> None:
    token = await gateway.person("phase-asker")
    assert places(await gateway.ask("GET", "/processes?phase=foo", token)) == ["query.phase.0"]
    listed = await gateway.ask("GET", "/processes?phase=planning&phase=completed", token)
    assert (listed.status_code, listed.json()["processes"]) == (200, [])
    document = gateway.app.openapi()
    [phase] = [one for one in document["paths"]["/processes"]["get"]["parameters"] if one["name"] == "phase"]
    assert "/Phase" in str(phase["schema"]) and "completed" in document["components"]["schemas"]["Phase"]["enum"]


async def test_public_of_a_scene_is_a_field_that_there_is_and_can_be_read_and_taken_back(
    gateway: GatewayHarness,
) -> None:
    operator, scene = await gateway.operator(), await gateway.scene()
    await gateway.context.repositories.scenes.put(scene, "Old", {"field": {"k": 2}})
    path = f"/scenes/{scene}"
    wrong = await gateway.ask("PUT", path, operator, json={"title": "T", "public": ["phone"]})
    assert places(wrong) == ["body.public.0"]

    async def put(**body: Any) -> Any:
        answer = await gateway.ask("PUT", path, operator, json={"title": "T", **body})
        assert answer.status_code == 200, answer.text
        return answer.json()["public"]

    assert [await put(), await put(public=["name"]), await put()] == [[], ["name"], ["name"]]
    joined = await gateway.join(scene)
    cards = await gateway.ask("GET", f"{path}/people", joined["token"])
    assert [one.get("name") for one in cards.json()] == ["Anna Example"]
    listed = {"id": scene, "title": "T", "titles": {}, "public": ["name"], "sample": False, "sample_intents": []}
    assert listed in (await gateway.ask("GET", "/scenes")).json()
    assert await put(public=[]) == []
    hidden = await gateway.ask("GET", f"{path}/people", joined["token"])
    assert [one.get("name") for one in hidden.json()] == [None]
    settings = (await gateway.context.repositories.scenes.get(scene)).settings
    assert settings["field"] == {"k": 2}, "the other settings of the scene stay"


@pytest.mark.parametrize("path", ["/scenes", "/mcp", "/console/", "/nowhere"])
async def test_another_host_name_is_answered_in_the_form_of_all_errors(gateway: GatewayHarness, path: str) -> None:
    answer = await gateway.ask("GET", path, headers={"Host": "evil.example"})
    assert answer.headers["content-type"] == "application/problem+json"
    problem = gateway.app.openapi()["components"]["schemas"]["Problem"]
    assert set(problem["required"]) <= set(answer.json())
    assert (answer.status_code, answer.json()["code"]) == (400, "unknown_host")
    assert "TONGYAO_PUBLIC_URL" in answer.json()["detail"]


async def test_an_unknown_scene_has_one_code_wherever_it_is_named(gateway: GatewayHarness) -> None:
    person = await gateway.join(await gateway.scene())
    token, me = person["token"], person["profile_id"]
    asked = [
        await gateway.ask("POST", "/profiles", json={"scene": "nowhere", "name": "Bo Example", "text": "I row."}),
        await gateway.ask("POST", "/processes", token, json={"intent": "I want a boat.", "scene": "nowhere"}),
        await gateway.ask("PUT", f"/profiles/{me}/consents/nowhere", token, json={"consent": "allow"}),
        await gateway.ask("GET", "/scenes/nowhere/people", token),
        await gateway.ask("POST", "/scenes/nowhere/search", token, json={"text": "boats"}),
    ]
    assert [(one.status_code, one.json()["code"]) for one in asked] == [(404, "no_such_scene")] * 5
    assert all("`GET /scenes`" in one.json()["detail"] for one in asked)


async def test_a_refusal_says_who_may_and_how_the_request_must_look(gateway: GatewayHarness) -> None:
    token = await gateway.person("refused-person")
    scene = {"title": "T"}
    nobody = await gateway.ask("PUT", "/scenes/valley", json=scene)
    assert nobody.status_code == 401 and "operator" in nobody.json()["detail"]
    person = await gateway.ask("PUT", "/scenes/valley", token, json=scene)
    assert person.status_code == 403 and person.json()["detail"].endswith("it is for operator")
    page = {"content": "# Ida", "headers": {"Content-Type": "text/markdown"}}
    markdown = await gateway.ask("PUT", "/profiles/refused-person", token, **page)
    assert markdown.status_code == 422 and "`Content-Type: application/json`" in markdown.json()["detail"]
    joins = {"scene": await gateway.scene(), "name": "P01", "text": "I row."}
    named = await gateway.ask("POST", "/profiles", json=joins)
    assert "aliases and ids of a process look like this" in named.json()["detail"]


async def test_the_same_message_again_is_called_repeated(gateway: GatewayHarness) -> None:
    pid, demander, people = await room(gateway)
    await asked(gateway, people[1]["token"], "projection", 1)
    path, body = f"/processes/{pid}/messages", {"kind": "conclude"}
    first, again = [await gateway.ask("POST", path, demander, json=body, key="once") for _ in range(2)]
    assert (first.json()["repeated"], again.json()["repeated"]) == (False, True)
    assert first.json()["id"] == again.json()["id"] and again.status_code == 200
    await gateway.stack.handle(pid).cancel()


async def test_a_message_that_answers_what_is_over_is_refused_and_says_what_is_open(gateway: GatewayHarness) -> None:
    pid, demander, people = await room(gateway)
    await asked(gateway, people[1]["token"], "projection", 1)
    path = f"/processes/{pid}/messages"
    late = {"kind": "conclude", "ask": "conclude/crystallizing/7"}
    refused = await gateway.ask("POST", path, demander, json=late)
    assert (refused.status_code, refused.json()["code"]) == (409, "ask_over")
    assert "conclude/crystallizing/1" in refused.json()["detail"]
    shown = {"kind": "conclude", "ask": "conclude/crystallizing/1"}
    assert (await gateway.ask("POST", path, demander, json=shown)).json()["state"] == "applied"
    await gateway.stack.handle(pid).cancel()


async def test_who_names_nothing_answers_what_was_open_when_the_message_was_kept(gateway: GatewayHarness) -> None:
    pid, demander, people = await room(gateway)
    await asked(gateway, people[1]["token"], "projection", 1)
    more = {"kind": "extend_deadline", "alias": "P02", "seconds": 60}
    sent = await gateway.ask("POST", f"/processes/{pid}/messages", demander, json=more, key="more")
    kept = await gateway.stack.repositories.messages.get(sent.json()["id"])
    assert kept.payload["ask"] == "extend_deadline/crystallizing/1/P02"
    await gateway.stack.handle(pid).cancel()
