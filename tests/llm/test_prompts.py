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
from tongyao.protocol.guards.complaints import complaint
from tongyao.protocol.model.observation import Note
from tongyao.protocol.model.plan import Absence
from tongyao.protocol.model.requests import Language, Mandate, Request
from tongyao.protocol.model.settings import MAX_PARTICIPANTS
from tongyao.protocol.model.sizes import units
from tongyao.protocol.model.steps import STEPS
from tongyao.protocol.model.tension import MAX_BARRIERS, TENSION_UNITS, LineQuoteDraft
from tongyao.protocol.rules.plans.lineage import LENS_UNITS

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
    assert prompt.sha256 == sha256(prompt.whole.encode()).hexdigest()
    assert prompt.text in prompt.whole and all(part in prompt.whole for part in prompt.parts.values())
    for field in STEPS[step].draft.model_json_schema()["properties"]:
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
    assert [name for name, text in parts.items() if text in told(later)] == ["later", "repeats", "mandate"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_system_prompt_describes_nothing_that_only_some_requests_hold(language: Language) -> None:
    for word in ("mandate", "words", "strategy", "remarks", "carried", "only these pairs"):
        for step in ("project", "observe"):
            assert f"`{word}`" not in load(step, language).text, word


@pytest.mark.parametrize("step", list(STEPS))
def test_both_languages_have_the_same_parts(step: str) -> None:
    assert list(load(step, "en").parts) == list(load(step, "zh").parts)


def test_a_scenes_prompt_keeps_the_parts_that_it_does_not_replace() -> None:
    shipped = load("project", "en").parts
    ours = load("project", "en", "Project what they plant.\n\n<!-- part: first -->\nPlant by plant.").parts
    assert ours == {**shipped, "first": "Plant by plant."}


@pytest.mark.parametrize("language", LANGUAGES)
def test_how_sizes_are_counted_is_said_once_and_in_every_step(language: Language) -> None:
    rule = {"en": "what stands between two spaces", "zh": "每个汉字算一字"}[language]
    for step in STEPS:
        assert load(step, language).text.count(rule) == 1, step


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
        assert re.search(rf"^\*\*{lens}[,，] ?`{name}`", text, re.MULTILINE)


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


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_prompts_say_what_the_day_in_the_task_is(language: Language) -> None:
    assert all(load(step, language).text.count("`began`") == 1 for step in STEPS)


@pytest.mark.parametrize(("language", "limit"), [("en", "at most 60 words each"), ("zh", "各不超过 60 字")])
def test_the_limit_of_a_residual_in_the_prompt_is_the_one_of_the_code(language: Language, limit: str) -> None:
    assert limit in load("plan", language).text
    assert LENS_UNITS == 60


@pytest.mark.parametrize(("language", "limit"), [("en", "at most {} words"), ("zh", "不超过 {} 字")])
def test_the_limit_of_a_tension_in_the_prompt_is_the_one_of_the_code(language: Language, limit: str) -> None:
    assert limit.format(TENSION_UNITS) in load("formulate", language).text


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_plans_prompt_describes_only_the_blocks_that_the_request_holds(language: Language) -> None:
    def told(request: Request) -> set[str]:
        task = rendering.blocks(request, parts)[-1].text
        return {name for name, text in parts.items() if text in task}

    parts = load("plan", language).parts
    plain = requests.planner().model_copy(update={"language": language})
    optional = {"absent", "open_points", "declined", "proposal", "child_plan", "taken_back", "profiles", "pieces"}
    assert told(plain) == set(parts) - optional
    gap = Absence(target="B1", text="nobody", gaps=("R1/catalyst/2",))
    more = {"absent": (gap,), "open_points": ("who pays",), "without": ("P03",), "proposals": {"P02": "later"}}
    assert told(plain.model_copy(update=more)) == set(parts) - {"child_plan", "taken_back", "profiles", "pieces"}
    for word in ("absent", "open_points", "proposal", "child_plan", "relations_that_stand"):
        assert f"`{word}`" not in load("plan", language).text, word


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_endpoint_is_told_which_framework_it_may_answer(language: Language) -> None:
    parts = load("project", language).parts
    note = Note(id="R1/catalyst/5", name="order", text="its cases")
    plain = requests.endpoint(3).model_copy(update={"language": language})
    observations = (*plain.observations[:-1], plain.observations[-1].model_copy(update={"frameworks": (note,)}))
    for seen, holds in ((plain.observations, False), (observations, True)):
        task = rendering.blocks(plain.model_copy(update={"observations": seen}), parts)[-1].text
        assert (": R1/catalyst/5\n" in task, parts["framework"] in task) == (holds, holds)


@pytest.mark.parametrize(
    ("language", "items", "directions"),
    [("en", "rest on four different items", "`direction` item"), ("zh", "用到四个不同的条目", "“方向”")],
)
def test_prompt_and_complaint_say_the_same_of_the_steps_of_an_aligned_relation(
    language: Language, items: str, directions: str
) -> None:
    told = complaint(language, "no_steps", a="P91", b="P92")
    bullet = next(line for line in load("observe", language).text.splitlines() if line.startswith("- `aligned`"))
    for rule in (items, directions):
        assert rule in told
        assert rule in bullet


SAID: dict[tuple[str, Language], tuple[str, ...]] = {
    ("observe", "en"): ("both, also where each of the two lacks something", "60 words for each matter"),
    ("observe", "zh"): ("两人各有对方所缺的时候也一样", "每件事 100 字"),
    ("project", "en"): ('an "absent" gap too, that contradicts what this person has said',),
    ("project", "zh"): ("和这个人说过的话矛盾的任何一行，包括“在场没有”的缺口",),
    ("formulate", "en"): ("in each form in which it stands there",),
    ("formulate", "zh"): ("出现过几种写法", "每种都列"),
    ("plan", "en"): ("without questions and residuals", "What anybody could find out is a question to P00"),
    ("plan", "zh"): ("问题和残余不算在内", "谁去都查得到的，问 P00"),
    ("deliver", "en"): ("at most 50 words", "id that begins a task or a residual is none of them"),
    ("deliver", "zh"): ("一条不超过 80 字", "任务和残余自己的编号不算"),
}
"""What readers in a role had to guess about, each said once."""


@pytest.mark.parametrize(("step", "language"), SAID)
def test_what_readers_had_to_guess_about_is_said_once(step: str, language: Language) -> None:
    for rule in SAID[step, language]:
        assert load(step, language).whole.count(rule) == 1, rule
