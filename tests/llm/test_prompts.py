"""The prompt files: complete in both languages, versioned, overridable without losing the frame."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from tongyao.llm import prompts
from tongyao.llm.prompts import OVERRIDDEN, load, split_front_matter
from tongyao.protocol.model.requests import Language
from tongyao.protocol.model.steps import STEPS

LANGUAGES: tuple[Language, ...] = ("en", "zh")

FORBIDDEN_BY_EXAMPLE = {
    ("formulate", "en"): ("psychology", "a persona", "predicting who fits", "advice"),
    ("formulate", "zh"): ("心理分析", "人物画像", "预测谁适合", "建议"),
    ("project", "en"): (
        "a question",
        "advice",
        "empathy, praise",
        "service",
        "psychology",
        "a guess about others",
    ),
    ("project", "zh"): ("提问", "建议", "共情、赞美", "服务", "心理分析", "猜测别人"),
    ("observe", "en"): (
        "a recommendation, a private talk",
        "a plan",
        "a judgement of a person",
        "a forecast",
    ),
    ("observe", "zh"): ("推荐、撮合私谈", "方案", "评价人", "预言"),
}
"""A rule that forbids by example holds where a description does not (seed 000): each clause has its
sentence.
"""


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("step", list(STEPS))
def test_every_step_has_a_versioned_prompt_in_both_languages(step: str, language: Language) -> None:
    prompt = load(step, language)
    assert prompt.version.isdigit()
    assert prompt.sha256 == sha256(prompt.text.encode()).hexdigest()
    for field in STEPS[step].draft.model_fields:
        assert f'"{field}"' in prompt.text, "the shape of the answer is in words too, for servers without schemas"
    assert "not_examined" not in prompt.text


@pytest.mark.parametrize(("step", "language"), FORBIDDEN_BY_EXAMPLE)
def test_what_is_forbidden_is_forbidden_by_example(step: str, language: Language) -> None:
    text = load(step, language).text
    for clause in FORBIDDEN_BY_EXAMPLE[step, language]:
        line = next((line for line in text.splitlines() if line.startswith("- ") and clause in line), "")
        assert line.startswith(("- “", '- "')), f"{clause}: a sentence in quotes stands before it"


def test_an_override_takes_the_place_of_the_steps_text_only() -> None:
    shipped, ours = load("observe", "en"), load("observe", "en", "Look for songs.")
    assert ours.version == OVERRIDDEN
    assert ours.text.startswith("Look for songs.")
    assert ours.text.split("\n\n", 1)[1] in shipped.text, "the frame is the shipped one, to the letter"
    assert ours.sha256 != shipped.sha256
    assert load("observe", "en", "---\nversion: 7b\n---\nLook for songs.").version == "7b"


@pytest.mark.parametrize(
    ("step", "language", "override", "said"),
    [
        ("guess", "en", None, "no prompt for 'guess'"),
        ("plan", "fr", None, "languages en, zh"),
        ("plan", "en", " \n", "blank"),
    ],
)
def test_what_cannot_be_loaded_is_refused(step: str, language: Language, override: str | None, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        load(step, language, override)


def test_a_folder_of_ones_own_stands_in_file_by_file(tmp_path: Path) -> None:
    (tmp_path / "zh").mkdir()
    (tmp_path / "zh" / "deliver.md").write_text("---\nversion: 9\n---\n写给他们。", "utf-8")
    own = load("deliver", "zh", folder=tmp_path)
    assert (own.version, own.text.split("\n")[0]) == ("9", "写给他们。")
    assert load("plan", "zh", folder=tmp_path) == load("plan", "zh")


def test_front_matter_is_read_and_left_out() -> None:
    assert split_front_matter("---\nstep: x\nversion: 2\n---\nbody\n---\nrest") == (
        {"step": "x", "version": "2"},
        "body\n---\nrest",
    )
    assert split_front_matter("no front matter") == ({}, "no front matter")
    assert split_front_matter("---\nnever closed") == ({}, "---\nnever closed")


def test_a_reask_is_worded_in_both_languages() -> None:
    assert "what is mended and nothing else" in prompts.reask("en")
    assert "只给改好的部分" in prompts.reask("zh")
