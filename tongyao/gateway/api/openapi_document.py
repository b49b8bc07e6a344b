"""The OpenAPI document. It corrects FastAPI's document for tokens, errors, and fields that may be missing."""

from __future__ import annotations

from html import escape
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse

from tongyao.protocol.model.events import EventKind

_ABOUT: Final = (
    "The actions of people and their agents in a process, over HTTP. docs/api.md explains them and contains a script that runs. "
    "Tokens begin with `ty_`. Errors are `application/problem+json`. A field whose value is null is left out."
)
_PROBLEM: Final[dict[str, Any]] = {
    "type": "object",
    "title": "Problem",
    "description": "RFC 9457. `code` is for programs, `detail` for people. Refusals of a process also have a Chinese text, `zh`.",
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
            "description": "With `not_valid`: each wrong place.",
            "items": {
                "type": "object",
                "properties": {"where": {"type": "string"}, "why": {"type": "string"}},
                "required": ["where", "why"],
            },
        },
    },
}
WITHOUT_TOKEN: Final = frozenset({"get /me", "get /scenes", "post /profiles"})
_KINDS: Final = "The kinds of events, and the keys of `data`. You get the keys that you may see:\n\n" + "\n".join(
    f"- `{kind.value}`: {kind.keys}" for kind in EventKind
)
_ANSWER: Final[dict[str, Any]] = {
    "description": "An error: 400, 401, 403, 404, 409, 413, 422, 429 (with `Retry-After`) or 503.",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}

POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
_STYLE: Final = "body{font:1rem/1.5 system-ui;margin:2rem auto;max-width:60rem;padding:0 1rem}code{overflow-wrap:anywhere}td{padding:.2rem .8rem .2rem 0;vertical-align:top}@media(max-width:40rem){td{display:block;padding:.2rem 0}td:first-child{margin-top:.6rem}}"


def document(app: FastAPI) -> dict[str, Any]:
    """Return the document of this application. It is made at the first call."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, description=_ABOUT, routes=app.routes)
        schemas = made["components"]["schemas"]
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
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
    parameters = [parameter for parameter in operation.get("parameters", ()) if parameter["name"] != "Authorization"]
    for parameter in parameters:
        if parameter["name"] == "Idempotency-Key":
            parameter["required"] = True
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


def add_reference(app: FastAPI) -> None:
    """Serve the list of operations at `/docs`, on a page without scripts and without resources of other sites."""

    async def reference(request: Request) -> HTMLResponse:
        rows = [
            f"<tr><td><code>{escape(method.upper())} {escape(path)}</code></td>"
            f"<td>{escape(str(operation.get('description') or operation.get('summary', '')))}</td></tr>"
            for path, methods in app.openapi()["paths"].items()
            for method, operation in methods.items()
        ]
        page = (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Tongyao API</title><style>{_STYLE}</style>'
            '<h1>Tongyao API</h1><p>Bodies and answers: <a href="/openapi.json">openapi.json</a>.</p>'
            f"<table>{''.join(rows)}</table></html>"
        )
        return HTMLResponse(page, headers={"Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff"})

    app.add_route("/docs", reference, include_in_schema=False)
