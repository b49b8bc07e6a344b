"""Profiles from files: read, checked, stored; what is refused is reported, the rest comes in (docs/field.md §1)."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tongyao.protocol.profile_grade import grade_profile
from tongyao.protocol.sizes import language_of
from tongyao.records.database import RecordsError
from tongyao.records.profiles import Profiles, SceneUnknown

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,200}>")
_NAMES: Final = ("name", "display_name", "姓名", "名字", "昵称", "nickname", "绰号")
_IDS: Final = ("id", "profile_id", "编号")


class NotProfiles(Exception):
    """The file as a whole is none of the known forms. The message says what was found and what is expected."""


@dataclass
class Report:
    """What became of an import: ids refused with the reason, how many came in new or were there already."""

    stored: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)


async def import_profiles(
    profiles: Profiles,
    path: Path,
    *,
    scene: str,
    max_chars: int = 2_000_000,
    progress: Callable[[int], None] = lambda count: None,
) -> Report:
    """Store every profile of `path` in `scene`, which is made when missing.

    Each is its own transaction and the same text is the same version: an import that was killed is repeated.

    Raises:
        NotProfiles: no profile can be read from `path` at all.
    """
    report = Report()
    seen: set[str] = set()
    rows = list(_rows(path, report))
    try:
        await profiles.scene(scene)
    except SceneUnknown:
        await profiles.put_scene(scene, scene)
    for id, value in rows:
        try:
            if not id or len(id) > 120:
                raise ValueError("it needs an id of at most 120 characters")
            if id in seen:
                raise ValueError("this id stood before in the same file: the first one counts")
            seen.add(id)
            text = profile_text(value)
            if not text:
                raise ValueError("it is empty: write who this is and what they do")
            if len(text) > max_chars:
                raise ValueError(f"it has {len(text):,} characters; at most {max_chars:,}")
            await profiles.save(
                id, scene_id=scene, display_name=_display_name(value) or id, text=text,
                grade=grade_profile(text).value, language=language_of(text),
            )  # fmt: skip
        except (ValueError, RecordsError) as error:
            report.refused.append((id, str(error)))
        else:
            report.stored += 1
            progress(report.stored)
    return report


def profile_text(value: object) -> str:
    """One profile as text, a line `field: value` each; NFC, without control characters and HTML tags.

    Raises `ValueError` when the value is neither text nor an object of fields.
    """
    if isinstance(value, str):
        lines = [value]
    elif isinstance(value, dict):
        fields = ((str(name), _plain(inner)) for name, inner in value.items() if name not in _IDS)
        lines = [f"{name}：{inner}" for name, inner in fields if inner.strip()]
    else:
        raise ValueError(f"it is {_kind(value)}: a profile is an object of fields, or text")
    text = unicodedata.normalize("NFC", "\n".join(lines)).encode("utf-8", "ignore").decode()
    return _TAG.sub(" ", _CONTROL.sub("", text)).strip()


def _plain(value: object) -> str:
    if value is None or isinstance(value, bool):
        return "" if not value else "true"
    if isinstance(value, list):
        return "、".join(_plain(inner) for inner in value)
    if isinstance(value, dict):
        return "；".join(f"{name} {_plain(inner)}" for name, inner in value.items())
    return str(value)


def _display_name(value: object) -> str:
    names = [value.get(name) for name in _NAMES] if isinstance(value, dict) else []
    return next((name.strip()[:200] for name in names if isinstance(name, str) and name.strip()), "")


def _rows(path: Path, report: Report) -> Iterator[tuple[str, object]]:
    if path.is_dir():
        found = sorted(path.rglob("*.md"))
        if not found:
            raise NotProfiles(f"{path} has no Markdown files: one .md file a profile, its name is the id")
        for file in found:
            try:
                yield file.stem, file.read_bytes().decode("utf-8-sig")
            except UnicodeDecodeError as error:
                report.refused.append((file.stem, f"not UTF-8 (byte {error.start}): save it as UTF-8"))
        return
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise NotProfiles(f"there is no file {path}") from None
    except UnicodeDecodeError as error:
        raise NotProfiles(f"{path} is not UTF-8 (byte {error.start}): save it as UTF-8") from None
    if path.suffix.lower() == ".csv":
        for number, row in enumerate(csv.DictReader(io.StringIO(text)), 2):
            row.pop(None, None)
            yield _id_of(row) or f"line-{number}", row
    elif path.suffix.lower() in (".md", ".txt"):
        yield path.stem, text
    else:
        yield from _json_rows(path, text)


def _json_rows(path: Path, text: str) -> Iterator[tuple[str, object]]:
    def pairs(found: list[tuple[str, Any]]) -> Any:
        """An id given twice would silently lose a person: such an object stays a list of pairs."""
        return found if len({name for name, _ in found}) < len(found) else dict(found)

    try:
        loaded = json.loads(text, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        raise NotProfiles(f"{path} is no JSON (line {error.lineno}): {error.msg}") from None
    if isinstance(loaded, dict):
        yield from loaded.items()
    elif isinstance(loaded, list) and loaded and all(isinstance(one, tuple) for one in loaded):
        yield from loaded
    elif isinstance(loaded, list):
        for number, value in enumerate(loaded, 1):
            yield _id_of(value) or f"entry-{number}", value
    else:
        raise NotProfiles(f"{path} holds {_kind(loaded)}: expected an object of id → profile, or a list")


def _id_of(value: object) -> str:
    found = [value.get(name) for name in _IDS] if isinstance(value, dict) else []
    return next((str(id).strip() for id in found if id not in (None, "")), "")


def _kind(value: object) -> str:
    return {list: "a list", dict: "an object", str: "text", type(None): "null"}.get(type(value), "a bare value")
