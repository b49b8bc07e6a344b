"""Revises a tension: changes of single parts, and its text for an editor."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tongyao.app.errors import BadInput
from tongyao.commands.context import app_context
from tongyao.commands.words import say
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.tension import MISSING

_LETTERS: Final = {"transition": "T", "initial_state": "I", "barriers": "B", "exchange": "E"}
_BULLET: Final = re.compile(r"^\s{0,8}[-*]\s{1,8}")
_LINE: Final = re.compile(r"^## ([TIBE])[:：].*$", re.MULTILINE)
_PARTS: Final = {letter: name for name, letter in _LETTERS.items()}
_NOTE: Final = re.compile(r"^<!--[^>]{0,400}-->$", re.MULTILINE)


async def revised(process: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tension of a process with `changes`, as the body of `revise_tension`, without empty parts.

    Raises `ProcessUnknown`, and `BadInput` if there is no tension yet.
    """
    async with app_context() as context:
        record = await context.repositories.record(process, own=(DEMANDER,))
    if record.own_tension is None:
        raise BadInput("no_tension_yet", say("sent.no_tension_yet", process=process), field="process")
    present = record.own_tension.model_dump(include=set(_LETTERS))
    return _without_missing({**present, **changes})


def tension_as_text(tension: Mapping[str, Any]) -> str:
    """Return the text for the editor: a heading for each part, a line for each barrier."""
    parts = [f"<!-- {say('file.edit_note')} -->"]
    for name, letter in _LETTERS.items():
        value = tension.get(name, "")
        text = value if isinstance(value, str) else "\n".join(f"- {' '.join(barrier.split())}" for barrier in value)
        parts.append(f"## {letter}: {say(f'file.edit_{name}')}\n\n{text}".rstrip())
    return "\n\n".join(parts) + "\n"


def tension_of_text(text: str) -> dict[str, Any]:
    """Return the tension from the text of the editor. Raises `BadInput` if it has no headings."""
    pieces = _LINE.split(_NOTE.sub("", text, count=1))
    found = dict(zip(pieces[1::2], pieces[2::2], strict=True))
    if not found:
        raise BadInput("no_headings", say("file.no_headings"), field="tension")
    tension: dict[str, Any] = {_PARTS[letter]: written.strip() for letter, written in found.items()}
    lines = [_BULLET.sub("", line).strip() for line in tension.get("barriers", "").splitlines()]
    return _without_missing({**tension, "barriers": [line for line in lines if line]})


def edited(text: str) -> str:
    """Return `text` after its change in the editor (VISUAL, else EDITOR, else vi). Raises `BadInput` if that fails."""
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tension.md"
        file.write_text(text, encoding="utf-8")
        try:
            subprocess.run([*shlex.split(command), str(file)], check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise BadInput(
                "no_editor", say("file.no_editor", command=repr(command), error=error), field="edit"
            ) from None
        return file.read_text(encoding="utf-8")


def _without_missing(tension: dict[str, Any]) -> dict[str, Any]:
    barriers = [barrier for barrier in tension.get("barriers") or () if barrier.strip() and barrier != MISSING]
    parts = {name: text for name, text in tension.items() if name != "barriers" and text.strip() and text != MISSING}
    return {**parts, **({"barriers": barriers} if barriers else {})}
