"""Every kind of note, relation and item has its words wherever a reader or a model meets it, in both languages (CONTRIBUTING.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tongyao.llm.labels import label
from tongyao.protocol.model.observation import NoteKind, RelationKind
from tongyao.protocol.model.projection import ItemKind
from tongyao.texts.catalogue import catalogue, table

PROMPTS: Final = Path(__file__).resolve().parents[2] / "prompts"
STEP_OF: Final = {NoteKind: "observe", RelationKind: "observe", ItemKind: "project"}


@pytest.mark.parametrize("kind", [*NoteKind, *RelationKind, *ItemKind])
def test_a_kind_has_its_words(kind: NoteKind | RelationKind | ItemKind) -> None:
    names = table("protocol", "names")
    for language in ("en", "zh"):
        assert f"`{kind.value}`" in (PROMPTS / language / f"{STEP_OF[type(kind)]}.md").read_text(encoding="utf-8")
        assert names[language][kind.value]
    assert label(kind.value, "zh") != kind.value


@pytest.mark.parametrize("kind", NoteKind)
def test_the_console_has_a_heading_for_a_kind_of_note(kind: NoteKind) -> None:
    assert all(catalogue("console")[f"process.group_{kind.value}"])
