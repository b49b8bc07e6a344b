"""Formats dates and durations in a reader's language and time zone."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tongyao.gateway.console.texts import Language

_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def zone(name: str | None) -> tzinfo:
    """Return the time zone of this name, or UTC if the name is unknown."""
    try:
        return ZoneInfo(name) if name else UTC
    except (OSError, ValueError, ZoneInfoNotFoundError):
        return UTC


def moment(at: datetime | str, language: Language, place: tzinfo) -> str:
    """Return for example `Tuesday 17 November, 18:00`, followed by `UTC` if the reader's zone is unknown."""
    here = _read(at).astimezone(place)
    utc = " UTC" if place is UTC else ""
    if language == "zh":
        return f"{here.month} 月 {here.day} 日（星期{'一二三四五六日'[here.weekday()]}）{here:%H:%M}{utc}"
    return f"{_DAYS[here.weekday()]} {here.day} {_MONTHS[here.month - 1]}, {here:%H:%M}{utc}"


def day(at: datetime | str, language: Language, place: tzinfo) -> str:
    """Return for example `17 November`, with the year if it is not the current year."""
    here = _read(at).astimezone(place)
    this_year = here.year == datetime.now(place).year
    if language == "zh":
        return f"{'' if this_year else f'{here.year} 年 '}{here.month} 月 {here.day} 日"
    return f"{here.day} {_MONTHS[here.month - 1]}{'' if this_year else f' {here.year}'}"


def duration(seconds: float, language: Language) -> str:
    """Return a duration in its greatest unit: `3 days`, `1 hour`, `20 minutes`."""
    for size, en, zh in ((86_400, "day", "天"), (3_600, "hour", "小时"), (60, "minute", "分钟")):
        if seconds >= size:
            n = round(seconds / size)
            return f"{n} {zh}" if language == "zh" else f"{n} {en}{'' if n == 1 else 's'}"
    return f"{int(seconds)} 秒" if language == "zh" else f"{int(seconds)} seconds"


def _read(at: datetime | str) -> datetime:
    read = datetime.fromisoformat(at) if isinstance(at, str) else at
    return read if read.tzinfo else read.replace(tzinfo=UTC)
