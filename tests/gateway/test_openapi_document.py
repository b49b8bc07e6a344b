"""A client that is generated from `/openapi.json` sends tokens and reads errors as they are sent."""

from __future__ import annotations

from typing import Any

from tests.gateway.actions import API
from tests.gateway.conftest import GatewayHarness
from tongyao.app.action_permissions import PERMISSIONS, Role


def operations(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [operation for methods in document["paths"].values() for operation in methods.values()]


def test_every_operation_takes_a_bearer_token_and_says_how_errors_look(gateway: GatewayHarness) -> None:
    document = gateway.app.openapi()
    assert document["components"]["securitySchemes"]["token"] == {"type": "http", "scheme": "bearer"}
    assert "HTTPValidationError" not in document["components"]["schemas"]
    for one in operations(document):
        assert {"token": []} in one["security"]
        assert "Authorization" not in {parameter["name"] for parameter in one["parameters"]}
        error = one["responses"]["default"]["content"]["application/problem+json"]["schema"]
        assert error["$ref"].endswith("/Problem")


def test_only_what_everybody_may_do_goes_without_a_token(gateway: GatewayHarness) -> None:
    paths = gateway.app.openapi()["paths"]
    open_to_all = {name for name, action in API.items() if Role.ANONYMOUS in PERMISSIONS[action]}
    shown = {
        f"{method} {path}" for path, methods in paths.items() for method in methods if {} in methods[method]["security"]
    }
    assert shown == open_to_all


def test_the_document_says_which_data_each_kind_of_event_has(gateway: GatewayHarness) -> None:
    kinds = gateway.app.openapi()["components"]["schemas"]["EventKind"]
    for kind in kinds["enum"]:
        assert f"- `{kind}`: " in kinds["description"]


async def test_errors_have_the_form_that_the_document_gives(gateway: GatewayHarness) -> None:
    problem = gateway.app.openapi()["components"]["schemas"]["Problem"]
    for answer in (
        await gateway.ask("GET", "/inbox"),
        await gateway.ask("POST", "/profiles", json={"scene": "none"}),
        await gateway.ask("GET", "/nowhere"),
    ):
        assert set(problem["required"]) <= set(answer.json()), answer.text


async def test_what_may_be_null_is_not_called_required_because_it_is_left_out(gateway: GatewayHarness) -> None:
    schemas = gateway.app.openapi()["components"]["schemas"]
    assert "due_at" not in schemas["Ask"]["required"] and "process_id" in schemas["Ask"]["required"]


async def test_a_message_that_the_caller_did_not_send_is_unknown_whatever_its_id(gateway: GatewayHarness) -> None:
    token = await gateway.person("somebody-else")
    for id in ("m-nope", "00000000-0000-0000-0000-000000000000"):
        answer = await gateway.ask("GET", f"/messages/{id}", token)
        assert (answer.status_code, answer.json()["code"]) == (404, "no_such_message")
