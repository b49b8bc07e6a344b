"""The prompt files: complete in both languages, versioned, overridable without losing the frame."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from hashlib import sha256
from pathlib import Path

import pytest

from tests.llm import requests
from tongyao.llm import prompts, rendering
from tongyao.llm.prompts import OVERRIDDEN, load, split_front_matter
from tongyao.protocol.model.process_settings import MAX_PARTICIPANTS
from tongyao.protocol.model.requests import Language, Mandate, Request
from tongyao.protocol.model.sizes import units
from tongyao.protocol.model.steps import STEPS
from tongyao.protocol.model.tension import MAX_BARRIERS, TENSION_UNITS, LineQuoteDraft

LANGUAGES: tuple[Language, ...] = ("en", "zh")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("step", list(STEPS))
def test_every_step_has_a_versioned_prompt_in_both_languages(step: str, language: Language) -> None:
    prompt = load(step, language)
    assert prompt.version.isdigit()
    assert prompt.sha256 == sha256(prompt.whole.encode()).hexdigest()
    assert prompt.text in prompt.whole and all(part in prompt.whole for part in prompt.parts.values())
    for field in STEPS[step].draft.model_json_schema()["properties"]:
        assert f'"{field}"' in prompt.text, "the shape of the answer is in words too, for servers without schemas"


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
    assert "holds only the items that a point names" in prompts.reask("project", "en")
    assert "只填被指出的条目" in prompts.reask("project", "zh")


def test_whoever_is_to_give_the_whole_answer_again_is_not_told_to_give_a_part() -> None:
    for step in ("formulate", "plan", "deliver"):
        assert "only" not in prompts.reask(step, "en")
        assert "只" not in prompts.reask(step, "zh")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("step", list(STEPS))
def test_a_repair_speaks_of_no_field_that_the_step_does_not_have(step: str, language: Language) -> None:
    fields = set(re.findall(r"`(\w+)`", prompts.reask(step, language)))
    assert fields <= set(STEPS[step].draft.model_fields)


@pytest.mark.parametrize("language", LANGUAGES)
def test_parts_stand_in_the_task_of_the_requests_that_they_are_about(language: Language) -> None:
    def told(request: Request) -> str:
        blocks = rendering.blocks(request, load("project", language).parts)
        return blocks[-1].text.partition("<task ")[2]

    parts = load("project", language).parts
    first = requests.endpoint().model_copy(update={"language": language})
    later = requests.endpoint(3, mandate=Mandate(addition="say less")).model_copy(update={"language": language})
    assert [name for name, text in parts.items() if text in told(first)] == ["first"]
    assert [name for name, text in parts.items() if text in told(later)] == ["later", "mandate"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_system_prompt_describes_nothing_that_only_some_requests_hold(language: Language) -> None:
    for word in ("mandate", "strategy", "stands", "replaces"):
        assert f"`{word}`" not in load("observe", language).text, word


@pytest.mark.parametrize("step", list(STEPS))
def test_both_languages_have_the_same_parts(step: str) -> None:
    assert list(load(step, "en").parts) == list(load(step, "zh").parts)


def test_a_scenes_prompt_keeps_the_parts_that_it_does_not_replace() -> None:
    shipped = load("project", "en").parts
    ours = load("project", "en", "Project what they plant.\n\n<!-- part: first -->\nPlant by plant.").parts
    assert ours == {**shipped, "first": "Plant by plant."}


@pytest.mark.parametrize(("language", "text"), [("en", "P03 needs 40 crates, now."), ("zh", "P03 要四箱 40。")])
def test_the_code_counts_as_the_prompts_say(language: Language, text: str) -> None:
    """An alias, a number and each word or Chinese character are one; punctuation is none."""
    assert units(text) == 5


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("sixty-litre", 1),
        ("9.30", 1),
        ("9:30–12:00", 1),
        ("€400", 1),
        ("and/or", 1),
        ("8 °C", 2),
        ("[person 2]", 2),
        ("first – second", 2),
        ("50% … (1,200)", 2),
        ("[某人 2]", 3),
        ("P93、P94，9:30 到", 4),
        ("two-wheeled 小车。", 3),
        (" – … —— ", 0),
    ],
)
def test_a_word_is_what_stands_between_two_spaces(text: str, count: int) -> None:
    assert units(text) == count


@pytest.mark.parametrize("language", LANGUAGES)
def test_examples_use_aliases_that_no_room_has(language: Language) -> None:
    assert MAX_PARTICIPANTS < 90
    for step in STEPS:
        prompt = load(step, language)
        text = prompt.whole.replace(prompt.whole[prompt.whole.index("`P01`") :][:5], "")
        assert set(re.findall(r"P(\d\d)", text)) <= {"00", *map(str, range(90, 100))}, step
        assert text.count("`P90`") == 1, "and what they are is said"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_line_that_a_quote_belongs_to_is_one_of_the_labels_in_the_shape(language: Language) -> None:
    labels = ["T", "I", *(f"B{number}" for number in range(1, MAX_BARRIERS + 1)), "E"]
    assert f'"line": "{" | ".join(labels)}"' in load("formulate", language).text
    assert LineQuoteDraft.model_validate({"line": "B9"}).line == "B9", "another word breaks no answer"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_prompt_of_the_formulation_names_the_field_of_every_lens(language: Language) -> None:
    text = load("formulate", language).text.partition('"transition"')[0]
    for lens, name in zip("TIBE", ("transition", "initial_state", "barriers", "exchange"), strict=True):
        assert re.search(rf"^- `{name}`[ （]\(?{lens}", text, re.MULTILINE)


@pytest.mark.parametrize(
    "ask", [requests.formulation, requests.endpoint, requests.catalyst, requests.planner, requests.delivery]
)
def test_every_request_says_in_its_task_when_the_process_began(ask: Callable[[], Request]) -> None:
    request = ask().model_copy(update={"began": date(2031, 4, 9)})
    task = rendering.blocks(request)[-1].text.rpartition("<task ")[2]
    assert ' began="2031-04-09"' in task.partition(">")[0]
    assert all("2031-04-09" not in block.text for block in rendering.blocks(request)[:-1]), (
        "the cached blocks stay as they are"
    )


@pytest.mark.parametrize(("language", "limit"), [("en", "at most {}."), ("zh", "不超过 {} 字")])
def test_the_limit_of_a_tension_in_the_prompt_is_the_one_of_the_code(language: Language, limit: str) -> None:
    assert limit.format(TENSION_UNITS) in load("formulate", language).text


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_prompts_say_what_the_day_in_the_task_is(language: Language) -> None:
    assert all(load(step, language).text.count("`began`") == 1 for step in STEPS)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_plans_prompt_describes_only_the_blocks_that_the_request_holds(language: Language) -> None:
    parts = load("plan", language).parts

    def told(request: Request) -> set[str]:
        task = rendering.blocks(request, parts)[-1].text
        return {name for name, text in parts.items() if text in task}

    plain = requests.planner().model_copy(update={"language": language})
    assert told(plain) == set()
    more = {"without": ("P03",), "proposals": {"P02": "later"}}
    assert told(plain.model_copy(update=more)) == {"declined", "proposal"}


BUDGETS = {
    ("observe", "en"): 7_000,
    ("observe", "zh"): 2_800,
    ("project", "en"): 5_000,
    ("project", "zh"): 2_000,
    ("formulate", "en"): 3_580,
    ("formulate", "zh"): 1_394,
    ("plan", "en"): 6_354,
    ("plan", "zh"): 2_500,
}
"""Characters, every part included (docs/prompts.md): a longer prompt has not found more."""


@pytest.mark.parametrize(("step", "language"), BUDGETS)
def test_a_prompt_keeps_to_its_budget(step: str, language: Language) -> None:
    assert len((prompts.PROMPTS / language / f"{step}.md").read_text("utf-8")) <= BUDGETS[step, language]


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_prompt_says_how_many_rounds_are_usual(language: Language) -> None:
    for step in STEPS:
        text = load(step, language).whole
        assert not re.search(
            r"(?:most|usually|often|多半|通常|一般)[^.。]{0,40}(?:rounds? \d|\d rounds|第 ?\d ?轮|\d ?轮)", text
        )
        assert not re.search(r"round [4-9]|第[四五六七]轮", text)


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_endpoint_is_told_no_word_of_the_protocol_that_it_does_not_need(language: Language) -> None:
    """Seed 001: an endpoint speaks as its person does."""
    text = load("project", language).whole.lower()
    for word in (
        "catalyst",
        "crystalliz",
        "endpoint",
        "relation",
        "complementary",
        "offsetting",
        "催化",
        "结晶",
        "端侧",
        "互补",
        "对冲",
    ):
        assert word not in text.replace("projection", ""), word


def test_every_paragraph_of_the_two_prompts_of_the_rounds_has_its_reason_on_the_page() -> None:
    """`docs/prompts.md` names each part, and each paragraph by its first words."""
    page = (prompts.PROMPTS.parent / "docs" / "prompts.md").read_text("utf-8")
    for step in ("project", "observe"):
        prompt = load(step, "en")
        for name in prompt.parts:
            assert f"`{name}`" in page, name
