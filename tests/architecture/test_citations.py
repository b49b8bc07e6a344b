"""What the code cites exists: every `docs/X.md §N` in a source file is a numbered section of that page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("tongyao", "crystalline_highway", "workflows", "activities", "bench", "tests", "worker.py")

_CITATION = re.compile(r"docs/([a-z-]+)\.md(?:\s+§(\d+(?:\.\d+)*))?")
_HEADING = re.compile(r"^#{2,4} (\d+(?:\.\d+)*)\.?\s+\S", re.MULTILINE)


def sources() -> list[Path]:
    files = [path for room in ROOMS for path in ([ROOT / room] if room.endswith(".py") else (ROOT / room).rglob("*"))]
    return [path for path in files if path.suffix in {".py", ".sql"} and path != Path(__file__)]


def citations() -> dict[tuple[str, str], list[str]]:
    """(page, section or "") → where it is cited."""
    found: dict[tuple[str, str], list[str]] = {}
    for path in sources():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for page, section in _CITATION.findall(line):
                found.setdefault((page, section), []).append(f"{path.relative_to(ROOT)}:{number}")
    return found


def _is_there(page: str, section: str) -> bool:
    text = ROOT / "docs" / f"{page}.md"
    return text.is_file() and (not section or section in _HEADING.findall(text.read_text(encoding="utf-8")))


@pytest.mark.parametrize(("page", "section"), sorted(citations()), ids=lambda part: part or "whole")
def test_what_is_cited_exists(page: str, section: str) -> None:
    where = ", ".join(citations()[page, section])
    assert _is_there(page, ""), f"docs/{page}.md is cited in {where} and does not exist"
    assert _is_there(page, section), f"docs/{page}.md has no section {section}, which is cited in {where}"


def test_the_protocol_page_is_cited_at_all() -> None:
    """The search above finds what it is there for."""
    assert sum(len(where) for (page, _), where in citations().items() if page == "protocol") > 30


def test_sections_are_numbered_once() -> None:
    for page in (ROOT / "docs").glob("*.md"):
        sections = _HEADING.findall(page.read_text(encoding="utf-8"))
        assert len(sections) == len(set(sections)), f"{page.name} numbers a section twice"
