"""The console speaks English and Chinese, everywhere."""

from __future__ import annotations

import re
from pathlib import Path

from tongyao.gateway import console
from tongyao.gateway.console.texts import catalogue
from tongyao.protocol.model.events import Ask
from tongyao.protocol.model.observation import Relation
from tongyao.protocol.model.phase import Phase
from tongyao.protocol.model.projection import Dimension, Outcome
from tongyao.protocol.rules.audit import Result
from tongyao.protocol.rules.refusals import REFUSALS, Refusal

FOLDER = Path(console.__file__).parent
LITERAL_KEY = re.compile(r"""\bt\(\s*'([a-z_]+\.[a-zA-Z_0-9]+)'\s*[,)]""")


def test_every_entry_has_both_languages_and_the_same_values() -> None:
    wrong = []
    for key, (english, chinese) in catalogue().items():
        fields = [set(re.findall(r"\{(\w+)\}", one)) for one in (english, chinese)]
        if not english.strip() or not chinese.strip() or (fields[0] != fields[1] and not key[-1].isdigit()):
            wrong.append(key)
    assert not wrong


def test_every_key_that_a_template_names_exists() -> None:
    named = {
        key
        for file in FOLDER.glob("templates/**/*.html")
        for key in LITERAL_KEY.findall(file.read_text(encoding="utf-8"))
    }
    assert named
    assert not {key for key in named if key not in catalogue() and f"{key}_1" not in catalogue()}


def test_no_template_says_anything_by_itself() -> None:
    """Words stand in the catalogue, where both languages are."""
    for file in FOLDER.glob("templates/**/*.html"):
        plain = re.sub(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", "", file.read_text(encoding="utf-8"), flags=re.S)
        plain = plain.replace("wide", "").replace("margin", "")  # layouts
        bare = re.sub(r"<svg.*?</svg>|<[^>]*>", " ", plain, flags=re.S)
        assert not re.search(r"[A-Za-z]{3,}|[\u4e00-\u9fff]", bare), (file.name, bare.split())


def test_every_member_that_people_are_shown_has_a_phrase_in_both_languages() -> None:
    """Phases, questions, relations, outcomes, dimensions and findings are shown in words and not by their names."""
    shown = [
        *(f"phase.{one.value}" for one in Phase),
        *(f"asked.{one.value}" for one in Ask),
        *(f"process.{one.value}" for one in Relation),
        *(f"process.{one.value}" for one in Outcome),
        *(f"process.dim_{one.value}" for one in Dimension),
        *(f"audit.{one.name.lower()}" for one in Result),
    ]
    assert [key for key in shown if key not in catalogue()] == []
    assert set(REFUSALS) == set(Refusal)
    assert all(english and chinese for english, chinese in REFUSALS.values())
