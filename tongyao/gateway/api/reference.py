"""The list of operations at `/docs`: a page without scripts and without anything from elsewhere. `/openapi.json` says all."""

from __future__ import annotations

from html import escape
from typing import Final

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse

POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
_STYLE: Final = "body{font:1rem/1.5 system-ui;margin:2rem auto;max-width:60rem;padding:0 1rem}code{white-space:nowrap}td{padding:.2rem .8rem .2rem 0;vertical-align:top}"


def add_reference(app: FastAPI) -> None:
    """Serve the page."""

    async def reference(request: Request) -> HTMLResponse:
        rows = [
            f"<tr><td><code>{escape(method.upper())} {escape(path)}</code></td>"
            f"<td>{escape(str(operation.get('description') or operation.get('summary', '')))}</td></tr>"
            for path, methods in app.openapi()["paths"].items()
            for method, operation in methods.items()
        ]
        page = (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Tongyao API</title><style>{_STYLE}</style>'
            '<h1>Tongyao API</h1><p>Bodies and answers: <a href="/openapi.json">openapi.json</a>.</p>'
            f"<table>{''.join(rows)}</table></html>"
        )
        return HTMLResponse(page, headers={"Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff"})

    app.add_route("/docs", reference, include_in_schema=False)
