"""One process as a self-contained HTML file, for a phone, for printing, for an archive."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from markupsafe import Markup

from tongyao.gateway.console import reading
from tongyao.gateway.console.pages import environment, words
from tongyao.gateway.console.texts import Language
from tongyao.protocol.rules.audit import AuditFinding
from tongyao.protocol.rules.read_access import PartyView

_STATIC: Final = Path(__file__).parent / "static"
_SHEETS: Final = ("style.css", "plan.css")


def report_html(
    view: PartyView,
    *,
    language: Language,
    max_rounds: int,
    findings: Sequence[AuditFinding] = (),
) -> str:
    """Return the report: tension, valid statements, rounds, plan with the sources of every claim, and `findings`.

    The report leaves out everything that `view` does not contain.
    """
    aliases, rounds = reading.grid(view)
    sheet, policy = _style()
    values = {
        "view": view,
        "plan": view.plan,
        "title": reading.title_of(view),
        "stands": reading.table(view),
        "observations": reading.observations(view),
        "matrix": reading.matrix(view),
        "sources": reading.sources_of(view),
        "cited": reading.cited,
        "aliases": aliases,
        "rounds": rounds,
        "own": None,
        "max_rounds": max_rounds,
        "findings": findings,
        "sheet": sheet,
        "policy": policy,
        **(reading.plan_values(view, view.plan) if view.plan else {}),
    }
    return environment().get_template("report.html").render(**words(language), **values)


@cache
def _style() -> tuple[Markup, str]:
    """Return the console's style sheets as one text, and the content security policy that allows only this text."""
    sheet = "\n".join((_STATIC / name).read_text(encoding="utf-8") for name in _SHEETS)
    digest = base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()
    return Markup(sheet), f"default-src 'none'; style-src 'sha256-{digest}'"
