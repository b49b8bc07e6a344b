"""The OpenAPI document, corrected where what FastAPI writes is not what is sent: tokens, errors, fields that may be missing."""

from __future__ import annotations

from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from tongyao.protocol.model.events import DATA

_ABOUT: Final = (
    "What people and their agents do in a process, as HTTP. docs/api.md explains it and holds a script that runs. Tokens begin with `ty_`. "
    "Errors are `application/problem+json`. Fields that may be null are left out where they are."
)
_PROBLEM: Final[dict[str, Any]] = {
    "type": "object",
    "title": "Problem",
    "description": "RFC 9457. `code` is for programs, `detail` for people; refusals of a process have their text in Chinese as `zh`.",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string"},
        "detail": {"type": "string"},
        "zh": {"type": "string"},
        "errors": {
            "type": "array",
            "description": "Of `not_valid`: each place that is wrong.",
            "items": {
                "type": "object",
                "properties": {"where": {"type": "string"}, "why": {"type": "string"}},
                "required": ["where", "why"],
            },
        },
    },
}
WITHOUT_TOKEN: Final = frozenset({"get /me", "get /scenes", "post /profiles"})
_KINDS: Final = "What happened, and the keys of `data`, of which you get those that you may see:\n\n" + "\n".join(
    f"- `{kind.value}`: {keys}" for kind, keys in DATA.items()
)
_ANSWER: Final[dict[str, Any]] = {
    "description": "An error: 400, 401, 403, 404, 409, 413, 422, 429 (with `Retry-After`) or 503.",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


def document(app: FastAPI) -> dict[str, Any]:
    """The document of this application, made once."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, description=_ABOUT, routes=app.routes)
        schemas = made["components"]["schemas"]
        for one in ("HTTPValidationError", "ValidationError"):
            schemas.pop(one, None)
        for schema in schemas.values():
            _null_may_be_missing(schema)
        schemas["Problem"] = _PROBLEM
        schemas["EventKind"]["description"] = _KINDS
        made["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        for path, methods in made["paths"].items():
            for method, operation in methods.items():
                _correct(operation)
                open_to_all = f"{method} {path}" in WITHOUT_TOKEN
                operation["security"] = [{"token": []}, {}] if open_to_all else [{"token": []}]
        app.openapi_schema = made
    return app.openapi_schema


def _correct(operation: dict[str, Any]) -> None:
    parameters = [one for one in operation.get("parameters", ()) if one["name"] != "Authorization"]
    for one in parameters:
        if one["name"] == "Idempotency-Key":
            one["required"] = True
    operation["parameters"] = parameters
    operation["responses"].pop("422", None)
    operation["responses"]["default"] = _ANSWER


def _null_may_be_missing(schema: dict[str, Any]) -> None:
    required = schema.get("required")
    if required is None:
        return
    properties = schema.get("properties", {})
    kept = [name for name in required if {"type": "null"} not in properties.get(name, {}).get("anyOf", ())]
    schema["required"] = kept
    if not kept:
        del schema["required"]
