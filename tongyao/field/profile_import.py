"""Imports profiles from files: reads, checks and stores them. Refused profiles are reported (docs/field.md §1)."""

from __future__ import annotations

import asyncio
import csv
import hashlib
import html
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from tongyao.field.scene import searchable_chunks
from tongyao.protocol.identity.names import name_in_heading, problem_with
from tongyao.protocol.model.ids import PROFILE_ID, id_of_text, stem_id
from tongyao.protocol.model.sizes import language_of
from tongyao.protocol.model.unicode_text import kind_of_file, normalized, without_controls
from tongyao.protocol.rules.consent import GIVEN_ON_THE_MACHINE, Consent, Origin
from tongyao.protocol.rules.profile_grade import grade_profile
from tongyao.records.database import DatabaseUnreachable, RecordsError
from tongyao.records.people.consents import Consents
from tongyao.records.people.profiles import NewProfile, Profiles, ProfileUnknown
from tongyao.records.people.scenes import Scenes, SceneUnknown
from tongyao.texts.catalogue import catalogue, worded

_BROKEN = re.compile(r"[\udc80-\udcff]")
_SCRIPT = re.compile(r"<(script|style)\b", re.I)
_TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,200}>")
_NAMES: Final = ("name", "display_name", "姓名", "名字", "昵称", "nickname", "绰号")
_IDS: Final = ("id", "profile_id", "编号")
_CONSENTS: Final = ("consent", "同意")
_CARD: Final = {
    "FN": "name",
    "TITLE": "title",
    "ROLE": "role",
    "ORG": "organisation",
    "CATEGORIES": "skills",
    "NOTE": "bio",
}
"""vCard property (RFC 6350) → field. Other properties, such as addresses and phone numbers, are left out."""
_WRAPPERS: Final = ("profiles", "people", "users", "data", "items")
LONGEST_CELL: Final = 100_000_000
_LONGEST_NUMBER: Final = 1_000
"""A number with at least this many digits stays a text, because Python refuses to parse very long numbers."""
BATCH: Final = 200
AT_A_TIME: Final = 2
"""`BATCH`: profiles of one transaction. `AT_A_TIME`: transactions at the same time."""


_FOLDED_LINE: Final = re.compile(r"\r?\n[ \t]")
_LINE_END: Final = re.compile(r"\r\n|[\r\n]")  # no other characters end a line, because values may contain them
_ESCAPED: Final = re.compile(r"\\(.)")
"""Patterns for vCard files (RFC 6350 §3.2, §3.4)."""


class ImportRefusal(str):
    """The reason for a refusal, in English. `zh`: the same in Chinese. The texts are in `texts/field/import.toml`."""

    zh: str

    def __new__(cls, key: str, /, **values: object) -> ImportRefusal:
        """`values` fill the placeholders. A bilingual value (`ImportRefusal`) appears in the language of the text."""
        words = catalogue("field")
        made = super().__new__(cls, worded(words, "en", f"import.{key}", **values))
        chinese = {name: getattr(value, "zh", value) for name, value in values.items()}
        made.zh = worded(words, "zh", f"import.{key}", **chinese)
        return made


class NotProfiles(Exception):
    """The file has none of the known forms. The reason states the form found and the forms expected."""

    def __init__(self, key: str, /, **values: object) -> None:
        self.reason = ImportRefusal(key, **values)
        super().__init__(self.reason)


class _NoProfile(ValueError):
    """One entry of a file is not a profile that can be stored."""

    def __init__(self, key: str, /, **values: object) -> None:
        self.reason = ImportRefusal(key, **values)
        super().__init__(self.reason)


@dataclass
class ImportReport:
    """The outcome of an import.

    `stored`: profiles that are stored now, including those that were stored before. `new`: profiles that this import
    added. `changed`: profiles of which this import stored a new version. `refused`: ids with the reason.
    """

    stored: int = 0
    new: int = 0
    changed: int = 0
    refused: list[tuple[str, ImportRefusal]] = field(default_factory=list)


async def import_profiles(
    profiles: Profiles,
    scenes: Scenes,
    path: Path,
    *,
    scene: str,
    max_chars: int = 2_000_000,
    sample: bool = False,
    consents: Consents | None = None,
    dry_run: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> ImportReport:
    """Store every profile of `path` in `scene`. The scene is created if it is missing.

    A transaction stores up to `BATCH` profiles. Profiles already stored with the same text are skipped, so an
    interrupted import can be repeated. If a transaction fails, each of its profiles is tried alone.

    Args:
        consents: stores the field `consent` of new people. A decision that a person made is kept.
        dry_run: count and check, and store nothing.
        sample: whether the people are invented. They rank behind registered people with equal scores.
        progress: called with the number of entries done and the number of all entries.

    Raises:
        NotProfiles: no profile can be read from `path` at all.
    """
    report = ImportReport()
    rows = list(_rows(path, report))
    if not rows and not report.refused:
        raise NotProfiles("nobody", path=path)
    try:
        await scenes.get(scene)
    except SceneUnknown:
        if not dry_run:
            await scenes.put(scene, scene)
    there = {version.profile_id: version.sha256 for version in await profiles.of_scene(scene)}
    faces = await profiles.get_many([row.id for row in rows if row.id in there])
    theirs = {id for id, one in faces.items() if one.origin not in GIVEN_ON_THE_MACHINE}
    seen: set[str] = set()
    decided: dict[str, Consent] = {}
    waiting = iter(rows)
    done = 0

    def checked(row: _FileEntry) -> NewProfile | None:
        """Return the profile of one entry; None if the entry is refused, or already stored with the same text."""
        try:
            id, text = _checked(row, scene, seen, max_chars)
            language, consent = _language(row.value), _consent(row.value)
        except _NoProfile as error:
            report.refused.append((_BROKEN.sub("?", row.named), error.reason))
            return None
        if there.get(id) == hashlib.sha256(text.encode()).hexdigest():
            report.stored += 1
            return None
        if id in theirs:
            report.refused.append((id, ImportRefusal("id_theirs")))
            return None
        if consent is not None and id not in there:
            decided[id] = consent
        return NewProfile(
            id=id, display_name=_display_name(row.value), text=text, grade=grade_profile(text).value,
            language=language or language_of(text), contact={"sample": True} if sample else {},
            origin=Origin.SAMPLE if sample else Origin.IMPORT,
        )  # fmt: skip

    async def alone(profile: NewProfile) -> None:
        try:
            await profiles.save(
                profile.id, scene_id=scene, display_name=profile.display_name, text=profile.text, grade=profile.grade,
                language=profile.language, contact=profile.contact, origin=profile.origin,
            )  # fmt: skip
        except DatabaseUnreachable:
            raise
        except RecordsError as error:
            key = "id_taken" if isinstance(error, ProfileUnknown) else "not_stored"
            report.refused.append((profile.id, ImportRefusal(key, error=error)))
        else:
            report.stored += 1
            report.new += profile.id not in there
            report.changed += profile.id in there
            await keep_consents([profile])

    async def would(wanted: Sequence[NewProfile]) -> None:
        for profile in wanted:
            if profile.id not in there and await profiles.was_given(profile.id):
                report.refused.append((profile.id, ImportRefusal("id_taken", error="this id is taken: choose another")))
                continue
            report.stored += 1
            report.new += profile.id not in there
            report.changed += profile.id in there

    async def keep_consents(new: Sequence[NewProfile]) -> None:
        for profile in new:
            if consents is not None and profile.id in decided:
                await consents.put_first(profile.id, scene, decided[profile.id])

    async def together(wanted: Sequence[NewProfile]) -> None:
        new = [profile for profile in wanted if profile.id not in there]
        try:
            if new:
                await profiles.add(scene, new)
        except DatabaseUnreachable:
            raise
        except RecordsError:
            new = []
        report.stored += len(new)
        report.new += len(new)
        await keep_consents(new)
        stored = {profile.id for profile in new}
        for profile in wanted:
            if profile.id not in stored:
                await alone(profile)

    async def take_batches() -> None:
        nonlocal done
        while batch := list(islice(waiting, BATCH)):  # all tasks share this iterator, so each entry is taken once
            wanted = [profile for row in batch if (profile := checked(row)) is not None]
            await (would if dry_run else together)(wanted)
            done += len(batch)
            progress(done, len(rows))

    async with asyncio.TaskGroup() as tasks:
        for _ in range(AT_A_TIME):
            tasks.create_task(take_batches())
    return report


class _FileEntry(NamedTuple):
    """One entry of a file. `named`: the name of the entry in the report. `id`: empty if the file gives no id."""

    named: str
    id: str
    value: object


def _checked(row: _FileEntry, scene: str, seen: set[str], max_chars: int) -> tuple[str, str]:
    """Return the id and the text of one entry. Raises `_NoProfile` with the reason if the entry is refused."""
    if row.id:
        _check_id(row.id, seen)
    text = profile_text(row.value)
    if not text:
        raise _NoProfile("empty")
    if len(text) > max_chars:
        raise _NoProfile("too_long", characters=f"{len(text):,}", most=f"{max_chars:,}")
    if not searchable_chunks(text):
        raise _NoProfile("only_a_name")
    if row.id:
        return row.id, text
    id = id_of_text(scene, text)
    if id in seen:
        raise _NoProfile("same_text")
    seen.add(id)
    return id, text


def _check_id(id: str, seen: set[str]) -> None:
    if _BROKEN.search(id):
        raise _NoProfile("id_not_utf8")
    if not PROFILE_ID.fullmatch(id):
        raise _NoProfile("no_id")
    if id in seen:
        raise _NoProfile("same_id")
    seen.add(id)


def profile_text(value: object) -> str:
    """Return a profile as text: a line `field: value` for each field, in NFC, without control characters and HTML tags.

    Raises `ValueError` if the value is neither text nor an object of fields.
    """
    if isinstance(value, str):
        lines = [value]
    elif isinstance(value, (dict, _Pairs)):
        pairs = value if isinstance(value, _Pairs) else value.items()
        fields = ((str(name), _plain(inner)) for name, inner in pairs if not _is_of_the_row(name, inner))
        try:
            lines = [f"{name}：{inner}" for name, inner in fields if inner.strip()]
        except RecursionError:
            raise _NoProfile("field_too_deep") from None
    else:
        raise _NoProfile("no_fields", kind=_kind(value))
    text = "\n".join(lines)
    if _BROKEN.search(text):
        raise _NoProfile("not_utf8")
    if kind := kind_of_file(text):
        raise _NoProfile(f"is_{kind}")
    text = normalized("NFC", text).encode("utf-8", "ignore").decode()
    if _TAG.search(text):
        text = html.unescape(_TAG.sub(" ", _without_scripts(text)))
    return without_controls(text).strip()


def _without_scripts(text: str) -> str:
    """Return `text` without script and style elements. An element without an end tag is kept."""
    lower, parts, at, unclosed = text.lower(), [], 0, set[str]()
    for opening in _SCRIPT.finditer(text):
        element = opening.group(1).lower()
        if opening.start() < at or element in unclosed:
            continue
        closing = lower.find(f"</{element}", opening.end())
        end = lower.find(">", closing) if closing >= 0 else -1
        if end < 0:
            unclosed.add(element)  # then later elements of this name have no end tag either
            continue
        parts += [text[at : opening.start()], " "]
        at = end + 1
    return "".join([*parts, text[at:]])


class _Pairs(list[tuple[str, Any]]):
    """A JSON object that contains a name twice. A dictionary would lose one of the two values."""


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
    """Return the display name from a field or the first heading of a text. Empty if `names.problem_with` rejects it.

    Ids and file names are never used as display names.
    """
    names = [value.get(name) for name in _NAMES] if isinstance(value, dict) else []
    if isinstance(value, str):
        names = [name_in_heading(value)]
    given = next((name.strip() for name in names if isinstance(name, str) and name.strip()), "")
    return "" if problem_with(given[:200]) else given


def _language(value: object) -> str:
    """Return `en` or `zh` if an entry has this language, else an empty string.

    Any other value of the field is kept in the profile: it lists languages that the person speaks.
    """
    given = _given(value, ("language",)).lower()
    return given if given in ("en", "zh") else ""


def _consent(value: object) -> Consent | None:
    """Return the consent in an entry; None if it has none. Raises `ValueError` for an unknown value."""
    given = _given(value, _CONSENTS).lower()
    if given not in ("", *Consent):
        raise _NoProfile("no_consent", given=given[:40])
    return Consent(given) if given else None


def _is_of_the_row(name: object, value: object) -> bool:
    """Whether a field is data about the entry, and not part of the profile's text."""
    return name in (*_IDS, *_CONSENTS) or (name == "language" and str(value).strip().lower() in ("en", "zh"))


def _given(value: object, names: Sequence[str]) -> str:
    found = [value.get(name) for name in names] if isinstance(value, dict) else []
    return next((str(one).strip() for one in found if one not in (None, "")), "")


def _cards(path: Path, text: str) -> Iterator[_FileEntry]:
    """Yield the people of a vCard file. A line that begins with a space continues the previous line."""
    fields: dict[str, list[str]] | None = None
    for line in _LINE_END.split(_FOLDED_LINE.sub("", text)):
        name, _, value = line.partition(":")
        name = name.partition(";")[0].rpartition(".")[2].strip().upper()
        value = _ESCAPED.sub(lambda found: "\n" if found[1] in "nN" else found[1], value).strip()
        if (name, value.upper()) == ("BEGIN", "VCARD"):
            fields = {}
        elif (name, value.upper()) == ("END", "VCARD") and fields is not None:
            given = fields.pop("id", [""])[0]
            id = stem_id(given) if given else ""
            card = {name: "\n".join(values) for name, values in fields.items()}
            yield _FileEntry(id or card.get("name", "(no id)"), id, card)
            fields = None
        elif fields is not None and name == "UID":
            fields["id"] = [value.removeprefix("urn:uuid:")]
        elif fields is not None and name in ("X-LANGUAGE", "LANG", "X-CONSENT"):
            fields["consent" if name == "X-CONSENT" else "language"] = [value.lower()[:40]]
        elif fields is not None and name in _CARD and value:
            fields.setdefault(_CARD[name], []).append(value)
    if fields is not None:
        raise NotProfiles("no_card_end", path=path)


def _rows(path: Path, report: ImportReport) -> Iterator[_FileEntry]:
    if path.is_dir():
        found = sorted(file for file in path.rglob("*.md") if file.is_file() or file.is_symlink())
        if not found:
            raise NotProfiles("no_markdown", path=path)
        folder = path.resolve()
        for file in found:
            try:
                if not (file.resolve(strict=True).is_relative_to(folder) and file.is_file()):
                    raise OSError
            except (OSError, RuntimeError):  # RuntimeError: links that point to each other
                report.refused.append((file.stem, ImportRefusal("link_out")))
                continue
            try:
                given = file.read_bytes()
                text = "%PDF-" if given.startswith(b"%PDF-") else given.decode("utf-8-sig")
                yield _FileEntry(file.stem, stem_id(file.stem), text)
            except UnicodeDecodeError as error:
                report.refused.append((file.stem, ImportRefusal("not_utf8_at", byte=error.start)))
        return
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise NotProfiles("no_file", path=path) from None
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise NotProfiles("utf16", path=path)
    if kind := kind_of_file(raw):
        raise NotProfiles(f"is_{kind}")
    text = raw.decode("utf-8-sig", "surrogateescape")  # entries with invalid bytes are refused one by one later
    if path.suffix.lower() == ".csv":
        csv.field_size_limit(LONGEST_CELL)
        try:
            lines = csv.reader(io.StringIO(text))
            names = next(lines, [])
            for number, cells in enumerate(filter(None, lines), 2):
                row = dict(zip(names, cells, strict=False))  # if a row is too short, the missing columns get no value
                id = _id_of(row)
                yield _FileEntry(id or f"line-{number}", id, row)
        except csv.Error as error:
            raise NotProfiles("no_csv", path=path, error=error) from None
    elif path.suffix.lower() == ".vcf":
        yield from _cards(path, text)
    elif path.suffix.lower() in (".md", ".txt"):
        yield _FileEntry(path.stem, stem_id(path.stem), text)
    else:
        yield from _json_rows(path, text)


def _json_rows(path: Path, text: str) -> Iterator[_FileEntry]:
    def pairs(found: list[tuple[str, Any]]) -> Any:
        return _Pairs(found) if len({name for name, _ in found}) < len(found) else dict(found)

    def whole(digits: str) -> int | str:
        return int(digits) if len(digits) < _LONGEST_NUMBER else digits

    try:
        loaded = json.loads(text, object_pairs_hook=pairs, parse_int=whole)
    except json.JSONDecodeError as error:
        raise NotProfiles("no_json", path=path, line=error.lineno, error=error.msg) from None
    except RecursionError:
        raise NotProfiles("too_deep", path=path) from None
    if isinstance(loaded, dict) and len(loaded) == 1 and next(iter(loaded)).lower() in _WRAPPERS:
        loaded = next(iter(loaded.values()))
    if isinstance(loaded, dict | _Pairs):
        for id, value in loaded.items() if isinstance(loaded, dict) else loaded:
            yield _FileEntry(id or "(no id)", id, value)
    elif isinstance(loaded, list):
        for number, value in enumerate(loaded, 1):
            id = _id_of(value)
            yield _FileEntry(id or f"entry-{number}", id, value)
    else:
        raise NotProfiles("other_value", path=path, kind=_kind(loaded))


def _id_of(value: object) -> str:
    return _given(value, _IDS)


def _kind(value: object) -> ImportRefusal:
    kinds = {list: "kind_list", dict: "kind_object", str: "kind_text", type(None): "kind_null"}
    return ImportRefusal(kinds.get(type(value), "kind_bare"))
