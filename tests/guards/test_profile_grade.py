"""Labels and slogans are no profile; everything else that people wrote of themselves is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tongyao.protocol.model.tension import Grade
from tongyao.protocol.rules.profile_grade import audit_profile, grade_profile

EXAMPLES = Path(__file__).parents[2] / "examples"
LABELS_ONLY = {
    EXAMPLES / "extra" / "grade-c.en.md",
    EXAMPLES / "extra" / "grade-c.zh.md",
    EXAMPLES / "cases" / "zh-5-river-weed" / "profiles" / "youth.md",
    EXAMPLES / "cases" / "en-3-labels-only" / "demander.md",
}
WRITTEN = sorted(
    path
    for path in {*EXAMPLES.glob("**/profiles/*.md"), *EXAMPLES.glob("**/demander.md"), *EXAMPLES.glob("extra/*.md")}
    if "held-out" not in path.parts
)


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: str(path.relative_to(EXAMPLES)))
def test_only_lists_of_labels_are_grade_c(path: Path) -> None:
    assert (grade_profile(path.read_text(encoding="utf-8")) is Grade.C) == (path in LABELS_ONLY)


@pytest.mark.parametrize(
    "slogans",
    [
        "We",
        "",
        "Always learning, always moving, always looking for the next thing that matters in the world.",
        "希望让世界变得更好，相信每一次努力都会有回响；热爱生活，拥抱变化，开始于微末，成就于坚持。",
        "Founder | Builder | Dreamer | Coach | Mentor | 3x TEDx speaker | INTJ | 10x thinker",
        "标签：3D打印、AI、出海、成长、公益、教育、社群、心理、女性",
    ],
)
def test_slogans_and_labels_with_every_cue_word_stay_grade_c(slogans: str) -> None:
    assert grade_profile(slogans) is Grade.C


def test_what_is_missing_is_named_by_its_lens() -> None:
    audit = audit_profile("I have mended nets for 30 years on the north pier. I want to move into sails next winter.")
    assert (audit.transition, audit.initial_state, audit.barriers) == (True, True, False)
