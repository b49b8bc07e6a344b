"""Profiles from files: read, checked, stored; what is refused is reported, the rest comes in (docs/field.md §1)."""

from __future__ import annotations

import asyncio
import csv
import hashlib
import html
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from tongyao.field.scene import searchable_chunks
from tongyao.protocol.identity.names import name_in_heading, problem_with
from tongyao.protocol.model.profile_ids import (
    PROFILE_ID,
    PROFILE_ID_RULE,
    PROFILE_ID_RULE_ZH,
    id_of_text,
    stem_id,
)
from tongyao.protocol.model.sizes import language_of
from tongyao.protocol.model.unicode_text import normalized, without_controls
from tongyao.protocol.rules.consent import Origin
from tongyao.protocol.rules.profile_grade import grade_profile
from tongyao.records.database import DatabaseUnreachable, RecordsError
from tongyao.records.people.profiles import NewProfile, Profiles, ProfileUnknown
from tongyao.records.people.scenes import Scenes, SceneUnknown

_BROKEN = re.compile(r"[\udc80-\udcff]")
_SCRIPT = re.compile(r"<(script|style)\b", re.I)
_TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,200}>")
_NAMES: Final = ("name", "display_name", "姓名", "名字", "昵称", "nickname", "绰号")
_IDS: Final = ("id", "profile_id", "编号")
_WRAPPERS: Final = ("profiles", "people", "users", "data", "items")
LONGEST_CELL: Final = 100_000_000
BATCH: Final = 200
AT_A_TIME: Final = 2
"""Profiles of one transaction, and transactions at a time."""


class Reason(str):
    """Why something is refused, in English; `zh` says the same in Chinese."""

    zh: str

    def __new__(cls, en: str, zh: str) -> Reason:
        made = super().__new__(cls, en)
        made.zh = zh
        return made


class NotProfiles(Exception):
    """The file as a whole is none of the known forms. The reason says what was found and what is expected."""

    def __init__(self, en: str, zh: str) -> None:
        super().__init__(en)
        self.reason = Reason(en, zh)


class _NoProfile(ValueError):
    """One row is no profile that can be stored."""

    def __init__(self, en: str, zh: str) -> None:
        super().__init__(en)
        self.reason = Reason(en, zh)


@dataclass
class Report:
    """What became of an import: how many are stored now, of these how many came in new and how many are a new version of one
    that was there; ids refused with the reason."""

    stored: int = 0
    new: int = 0
    changed: int = 0
    refused: list[tuple[str, Reason]] = field(default_factory=list)


async def import_profiles(
    profiles: Profiles,
    scenes: Scenes,
    path: Path,
    *,
    scene: str,
    max_chars: int = 2_000_000,
    sample: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Report:
    """Store every profile of `path` in `scene`, which is made when missing.

    A few hundred are one transaction, and what is there already is passed over: an import that was killed is repeated.
    Where one of them cannot be stored, each of the few hundred is tried alone.

    Args:
        sample: nobody real; such profiles stand behind registered people where scores tie.
        progress: called with how many were dealt with and how many there are.

    Raises:
        NotProfiles: no profile can be read from `path` at all.
    """
    report = Report()
    rows = list(_rows(path, report))
    if not rows and not report.refused:
        raise NotProfiles(
            f"{path} holds nobody: expected an object of id → profile, or a list",
            f"{path} 里没有人：应是 id → 档案 的对象，或列表",
        )
    try:
        await scenes.get(scene)
    except SceneUnknown:
        await scenes.put(scene, scene)
    there = {version.profile_id: version.sha256 for version in await profiles.of_scene(scene)}
    seen: set[str] = set()
    waiting = iter(rows)
    done = 0

    def checked(row: _Row) -> NewProfile | None:
        """One row; None when it is refused, or is there as it is."""
        try:
            id, text = _checked(row, scene, seen, max_chars)
        except _NoProfile as error:
            report.refused.append((_BROKEN.sub("?", row.named), error.reason))
            return None
        if there.get(id) == hashlib.sha256(text.encode()).hexdigest():
            report.stored += 1
            return None
        return NewProfile(
            id=id, display_name=_display_name(row.value), text=text, grade=grade_profile(text).value,
            language=language_of(text), contact={"sample": True} if sample else {},
            origin=Origin.SAMPLE if sample else Origin.IMPORT,
        )  # fmt: skip

    async def alone(one: NewProfile) -> None:
        try:
            await profiles.save(
                one.id, scene_id=scene, display_name=one.display_name, text=one.text, grade=one.grade,
                language=one.language, contact=one.contact, origin=one.origin,
            )  # fmt: skip
        except DatabaseUnreachable:
            raise
        except RecordsError as error:
            zh = (
                "这个 id 的档案已删除，或属于另一个场景：请换一个 id"
                if isinstance(error, ProfileUnknown)
                else "记录没有接受这份档案"
            )
            report.refused.append((one.id, Reason(str(error), zh)))
        else:
            report.stored += 1
            report.new += one.id not in there
            report.changed += one.id in there

    async def store() -> None:
        nonlocal done
        while batch := list(islice(waiting, BATCH)):  # one iterator for all: each row is taken once
            wanted = [one for row in batch if (one := checked(row)) is not None]
            new = [one for one in wanted if one.id not in there]
            try:
                if new:
                    await profiles.add(scene, new)
            except DatabaseUnreachable:
                raise
            except RecordsError:
                new = []
            report.stored += len(new)
            report.new += len(new)
            stored = {one.id for one in new}
            for one in wanted:
                if one.id not in stored:
                    await alone(one)
            done += len(batch)
            progress(done, len(rows))

    async with asyncio.TaskGroup() as together:
        for _ in range(AT_A_TIME):
            together.create_task(store())
    return report


class _Row(NamedTuple):
    """One entry of a file. `named`: as it is called in the report. `id`: empty where the file gives none."""

    named: str
    id: str
    value: object


def _checked(row: _Row, scene: str, seen: set[str], max_chars: int) -> tuple[str, str]:
    """The id and the text of one row. Raises `ValueError` that says what is wrong with it."""
    if row.id:
        _check_id(row.id, seen)
    text = profile_text(row.value)
    if not text:
        raise _NoProfile("it is empty: write who this is and what they do", "内容是空的：请写这个人是谁、做什么")
    if len(text) > max_chars:
        raise _NoProfile(
            f"it has {len(text):,} characters; at most {max_chars:,}", f"有 {len(text):,} 个字符，最多 {max_chars:,} 个"
        )
    if not searchable_chunks(text):
        raise _NoProfile(
            "it says nothing but a name: write what they do, and what they are looking for",
            "除了名字什么也没有写：请写这个人做什么、在找什么",
        )
    if row.id:
        return row.id, text
    id = id_of_text(scene, text)
    if id in seen:
        raise _NoProfile(
            "the same text without an id stood before in the same file", "同一文件里前面已有同样的文字，也没有 id"
        )
    seen.add(id)
    return id, text


def _check_id(id: str, seen: set[str]) -> None:
    if _BROKEN.search(id):
        raise _NoProfile(
            "its id holds bytes that are not UTF-8: save the file as UTF-8",
            "id 里有不是 UTF-8 的字节：请把文件存成 UTF-8",
        )
    if not PROFILE_ID.fullmatch(id):
        raise _NoProfile(f"this cannot be an id: {PROFILE_ID_RULE}", f"不能用作 id：{PROFILE_ID_RULE_ZH}")
    if id in seen:
        raise _NoProfile(
            "this id stood before in the same file: the first one counts", "同一文件里前面已有这个 id：以第一个为准"
        )
    seen.add(id)


def profile_text(value: object) -> str:
    """One profile as text, a line `field: value` each; NFC, without control characters and HTML tags.

    Raises `ValueError` when the value is neither text nor an object of fields.
    """
    if isinstance(value, str):
        lines = [value]
    elif isinstance(value, (dict, _Pairs)):
        pairs = value if isinstance(value, _Pairs) else value.items()
        fields = ((str(name), _plain(inner)) for name, inner in pairs if name not in _IDS)
        lines = [f"{name}：{inner}" for name, inner in fields if inner.strip()]
    else:
        kind = _kind(value)
        raise _NoProfile(
            f"it is {kind}: a profile is an object of fields, or text",
            f"这是{kind.zh}：档案应是由字段组成的对象，或一段文字",
        )
    text = "\n".join(lines)
    if _BROKEN.search(text):
        raise _NoProfile(
            "it holds bytes that are not UTF-8: save the file as UTF-8", "里面有不是 UTF-8 的字节：请把文件存成 UTF-8"
        )
    text = normalized("NFC", text).encode("utf-8", "ignore").decode()
    if _TAG.search(text):
        text = html.unescape(_TAG.sub(" ", _without_scripts(text)))
    return without_controls(text).strip()


def _without_scripts(text: str) -> str:
    """`text` without script and style elements; one that is never closed stays."""
    lower, parts, at, unclosed = text.lower(), [], 0, set[str]()
    for opening in _SCRIPT.finditer(text):
        element = opening.group(1).lower()
        if opening.start() < at or element in unclosed:
            continue
        closing = lower.find(f"</{element}", opening.end())
        end = lower.find(">", closing) if closing >= 0 else -1
        if end < 0:
            unclosed.add(element)  # then none of its kind behind it is closed either
            continue
        parts += [text[at : opening.start()], " "]
        at = end + 1
    return "".join([*parts, text[at:]])


class _Pairs(list[tuple[str, Any]]):
    """A JSON object that names something twice: as a dictionary it would silently lose one."""


def _plain(value: object) -> str:
    if value is None or isinstance(value, bool):
        return "" if not value else "true"
    if isinstance(value, _Pairs):
        return "；".join(f"{name} {_plain(inner)}" for name, inner in value)
    if isinstance(value, list):
        return "、".join(_plain(inner) for inner in value)
    if isinstance(value, dict):
        return "；".join(f"{name} {_plain(inner)}" for name, inner in value.items())
    return str(value)


def _display_name(value: object) -> str:
    """The name that is given, in a field or as a text's first heading, if it may be one (`names.problem_with`).

    An id or a file's name never becomes a name.
    """
    names = [value.get(name) for name in _NAMES] if isinstance(value, dict) else []
    if isinstance(value, str):
        names = [name_in_heading(value)]
    given = next((name.strip() for name in names if isinstance(name, str) and name.strip()), "")
    return "" if problem_with(given[:200]) else given


def _rows(path: Path, report: Report) -> Iterator[_Row]:
    if path.is_dir():
        found = sorted(path.rglob("*.md"))
        if not found:
            raise NotProfiles(
                f"{path} has no Markdown files: one .md file a profile, its name is the id",
                f"{path} 里没有 Markdown 文件：每份档案一个 .md 文件，文件名就是 id",
            )
        folder = path.resolve()
        for file in found:
            try:
                if not file.resolve(strict=True).is_relative_to(folder):
                    raise OSError
            except (OSError, RuntimeError):  # RuntimeError: links that lead to each other
                report.refused.append((file.stem, Reason("a link that leads out of the folder", "链接指向文件夹之外")))
                continue
            try:
                yield _Row(file.stem, stem_id(file.stem), file.read_bytes().decode("utf-8-sig"))
            except UnicodeDecodeError as error:
                zh = f"不是 UTF-8（第 {error.start} 字节）：请存成 UTF-8"
                report.refused.append((file.stem, Reason(f"not UTF-8 (byte {error.start}): save it as UTF-8", zh)))
        return
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise NotProfiles(f"there is no file {path}", f"没有文件 {path}") from None
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise NotProfiles(f"{path} is UTF-16: save it as UTF-8", f"{path} 是 UTF-16：请存成 UTF-8")
    text = raw.decode("utf-8-sig", "surrogateescape")  # who is affected is refused, one by one
    if path.suffix.lower() == ".csv":
        csv.field_size_limit(LONGEST_CELL)
        try:
            for number, row in enumerate(csv.DictReader(io.StringIO(text)), 2):
                row.pop(None, None)
                id = _id_of(row)
                yield _Row(id or f"line-{number}", id, row)
        except csv.Error as error:
            raise NotProfiles(f"{path} is no CSV: {error}", f"{path} 不是 CSV：{error}") from None
    elif path.suffix.lower() in (".md", ".txt"):
        yield _Row(path.stem, stem_id(path.stem), text)
    else:
        yield from _json_rows(path, text)


def _json_rows(path: Path, text: str) -> Iterator[_Row]:
    def pairs(found: list[tuple[str, Any]]) -> Any:
        return _Pairs(found) if len({name for name, _ in found}) < len(found) else dict(found)

    try:
        loaded = json.loads(text, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        raise NotProfiles(
            f"{path} is no JSON (line {error.lineno}): {error.msg}",
            f"{path} 不是 JSON（第 {error.lineno} 行）：{error.msg}",
        ) from None
    except RecursionError:
        raise NotProfiles(
            f"{path} is nested too deeply: an object of id → profile, or a list",
            f"{path} 嵌套太深：应是 id → 档案 的对象，或列表",
        ) from None
    if isinstance(loaded, dict) and len(loaded) == 1 and next(iter(loaded)).lower() in _WRAPPERS:
        loaded = next(iter(loaded.values()))
    if isinstance(loaded, dict | _Pairs):
        for id, value in loaded.items() if isinstance(loaded, dict) else loaded:
            yield _Row(id or "(no id)", id, value)
    elif isinstance(loaded, list):
        for number, value in enumerate(loaded, 1):
            id = _id_of(value)
            yield _Row(id or f"entry-{number}", id, value)
    else:
        kind = _kind(loaded)
        raise NotProfiles(
            f"{path} holds {kind}: expected an object of id → profile, or a list",
            f"{path} 里是{kind.zh}：应是 id → 档案 的对象，或列表",
        )


def _id_of(value: object) -> str:
    found = [value.get(name) for name in _IDS] if isinstance(value, dict) else []
    return next((str(id).strip() for id in found if id not in (None, "")), "")


def _kind(value: object) -> Reason:
    kinds = {
        list: ("a list", "列表"),
        dict: ("an object", "对象"),
        str: ("text", "文字"),
        type(None): ("null", " null"),
    }
    return Reason(*kinds.get(type(value), ("a bare value", "单个值")))
