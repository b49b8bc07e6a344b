"""Texts that people read in two languages are data: both languages agree, and no Python file of these packages holds a Chinese sentence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tongyao.texts.catalogue import FOLDER, catalogue, in_both, worded

ROOT = FOLDER.parents[1]
ROOMS = sorted(folder.name for folder in FOLDER.iterdir() if any(folder.glob("**/*.toml")))
VALUE = re.compile(r"\{(\w+)")
CODE_WITHOUT_CHINESE = (
    "tongyao/commands",
    "tongyao/evals",
    "tongyao/protocol",
    "tongyao/llm",
    "workflows",
    "activities",
    "tongyao/runtime",
    "tongyao/field",
    "tongyao/app",
    "tongyao/*.py",
)
LEXICONS = {
    "tongyao/field/facets.py",
    "tongyao/field/profile_import.py",
    "tongyao/app/messaging/given_names.py",
    "tongyao/llm/structured_output/parsing.py",
    *(f"tongyao/protocol/{name}.py" for name in ("guards/items", "guards/support", "rules/profile_grade")),
    *(f"tongyao/protocol/identity/{name}.py" for name in ("chinese_names", "contacts", "listed")),
}
"""Patterns and word lists that are matched with what people wrote. Nobody reads them."""
SENTENCE = re.compile(r"[\u4e00-\u9fff]{2}[^\n]*[，。：；、？！]|[\u4e00-\u9fff]{6}")
ONE_LANGUAGE = {"import.id_taken", "import.not_stored"}
"""The English words come from elsewhere, as a value."""


@pytest.mark.parametrize("room", ROOMS)
def test_both_languages_have_the_same_values(room: str) -> None:
    wrong = []
    for key, (english, chinese) in catalogue(room).items():
        agree = set(VALUE.findall(english)) == set(VALUE.findall(chinese)) or key[-2:] in ("_0", "_1")
        one_is_missing = bool(english.strip()) != bool(chinese.strip())
        if one_is_missing or not (agree or key in ONE_LANGUAGE):
            wrong.append(key)
    assert catalogue(room)
    assert wrong == []


def test_rooms_that_are_read_together_name_no_text_twice() -> None:
    pages = [{key.split(".")[0] for key in catalogue(room)} for room in ("console", "commands")]
    assert pages[0] & pages[1] == set()


def test_no_python_file_holds_a_chinese_sentence() -> None:
    files = {
        file
        for place in CODE_WITHOUT_CHINESE
        for file in (ROOT.glob(place) if "*" in place else (ROOT / place).rglob("*.py"))
    }
    assert len(files) > 100
    found = {
        str(file.relative_to(ROOT)): lines
        for file in files
        if (lines := [line.strip() for line in file.read_text(encoding="utf-8").splitlines() if SENTENCE.search(line)])
    }
    assert {name: lines for name, lines in found.items() if name not in LEXICONS} == {}


def test_a_text_has_its_values_and_its_endings() -> None:
    words = {"a.count": ("{n} link{n:s}", "{n} 条"), "a.count_0": ("no link", "没有")}
    assert [worded(words, "en", "a.count", n=n) for n in (0, 1, 2)] == ["no link", "1 link", "2 links"]
    assert worded(words, "zh", "a.count", n=2) == "2 条"
    assert in_both("app", "receipt.child_started", child="c-1") == ("c-1 has been started for it", "已为它启动 c-1")


def test_an_entry_that_is_no_pair_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "page.toml").write_text('key = "alone"\n', encoding="utf-8")
    monkeypatch.setattr("tongyao.texts.catalogue.FOLDER", tmp_path)
    with pytest.raises(ValueError, match=r"page\.toml: key is no pair"):
        catalogue("room")
