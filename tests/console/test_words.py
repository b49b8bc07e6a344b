"""The console speaks English and Chinese, everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.support.page_visitor import VALUES
from tongyao.gateway import console
from tongyao.protocol.documents import delivery_page, markdown, plan_page
from tongyao.protocol.model.observation import NoteKind, RelationKind, Verdict
from tongyao.protocol.model.phase import Phase
from tongyao.protocol.model.projection import ItemKind, Outcome
from tongyao.protocol.rules.audit import Result
from tongyao.protocol.rules.refusals import Refusal
from tongyao.texts.catalogue import catalogue

FOLDER = Path(console.__file__).parent
LITERAL_KEY = re.compile(r"""\bt\(\s*'([a-z_]+\.[a-zA-Z_0-9]+)'\s*[,)]""")


def test_every_entry_has_both_languages_and_the_same_values() -> None:
    wrong = []
    for key, (english, chinese) in catalogue("console").items():
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
    assert not {key for key in named if key not in catalogue("console") and f"{key}_1" not in catalogue("console")}


def test_no_template_says_anything_by_itself() -> None:
    """Words stand in the catalogue, where both languages are."""
    for file in FOLDER.glob("templates/**/*.html"):
        plain = re.sub(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", "", file.read_text(encoding="utf-8"), flags=re.S)
        plain = plain.replace("wide", "").replace("margin", "")  # layouts
        bare = re.sub(r"<svg.*?</svg>|<[^>]*>", " ", plain, flags=re.S)
        assert not re.search(r"[A-Za-z]{3,}|[\u4e00-\u9fff]", bare), (file.name, bare.split())


def test_every_member_that_people_are_shown_has_a_phrase_in_both_languages() -> None:
    """Phases, questions, relations, notes, outcomes, kinds of items and findings are shown in words and not by their names."""
    shown = [
        *(f"phase.{one.value}" for one in Phase),
        *(f"process.{one.value}" for one in RelationKind),
        *(f"process.group_{one.value}" for one in NoteKind),
        *(f"process.verdict_{one.value}" for one in Verdict),
        *(f"process.{one.value}" for one in Outcome),
        *(f"process.kind_{one.value}" for one in ItemKind),
        *(f"audit.{one.name.lower()}" for one in Result),
    ]
    assert [key for key in shown if key not in catalogue("console")] == []
    assert [code for code in Refusal if f"refusals.{code}" not in catalogue("protocol")] == []


def texts_that_people_read() -> Iterator[tuple[str, str, str]]:
    """Where it stands, its language, the text: pages, refusals, notifications, plans and deliveries."""
    mails = {key: pair for key, pair in catalogue("app").items() if key.startswith("notification.")}
    refusals = {key: pair for key, pair in catalogue("protocol").items() if key.startswith("refusals.")}
    for words in (catalogue("console"), refusals, mails):
        for key, (english, chinese) in words.items():
            yield str(key), "en", english
            yield str(key), "zh", chinese
    for by_language in (delivery_page.WORDS, plan_page._WORDS, markdown._WORDS):
        for language, told in by_language.items():
            yield from ((key, language, text) for key, text in told.items())


def test_no_text_that_people_read_holds_the_name_that_programs_give_a_value() -> None:
    """In Chinese no member of an enumeration, in English none of several words. `Code` is for whoever types it."""
    wrong = [
        (where, one)
        for where, language, text in texts_that_people_read()
        for one in re.findall(r"[A-Za-z][A-Za-z_]+", re.sub(r"`[^`]*`|\{[^}]*\}", " ", text))
        if one in VALUES and (language == "zh" or "_" in one)
    ]
    assert wrong == []
