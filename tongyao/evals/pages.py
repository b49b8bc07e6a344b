"""Renders pages and pictures of evaluations from the templates beside this file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=lambda name: not str(name).endswith(".md.jinja"),
    undefined=StrictUndefined,
    keep_trailing_newline=True,
)


def rendered(template: str, /, **values: Any) -> str:
    """Render a template with these values. In HTML and SVG the values are escaped."""
    return _ENVIRONMENT.get_template(template).render(**values)
