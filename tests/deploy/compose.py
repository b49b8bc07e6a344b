"""docker-compose.yml as Compose reads it: parsed, then its variables put in, at their defaults."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).parents[2]
VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


def read_compose() -> dict[str, Any]:
    parsed = _filled(yaml.safe_load((REPOSITORY / "docker-compose.yml").read_text(encoding="utf-8")))
    assert isinstance(parsed, dict)
    return parsed


def _filled(part: Any) -> Any:
    match part:
        case dict():
            return {key: _filled(value) for key, value in part.items()}
        case list():
            return [_filled(value) for value in part]
        case str():
            return VARIABLE.sub(lambda found: found[2] or "", part)
        case _:
            return part
