"""Names of persons and firms are found without a model, and places are left alone (docs/evaluation.md)."""

from __future__ import annotations

import pytest
from tongyao.llm.extractive.names_in_text import names_in_text

from tests.names.scores import Half, score, texts


@pytest.mark.parametrize(
    ("lang", "half", "recall", "precision"),
    [
        ("en", "dev", 0.95, 0.95),
        ("zh", "dev", 0.95, 0.95),
        ("en", "held_out", 0.85, 0.95),
        ("zh", "held_out", 0.95, 0.95),
        ("en", "held_out_2", 0.85, 0.90),
        ("zh", "held_out_2", 0.65, 0.90),
    ],
)
def test_most_names_are_found_and_few_other_words(lang: str, half: Half, recall: float, precision: float) -> None:
    """The floors of the held-out half are what was reached."""
    found = score(lang, half)
    assert found.recall >= recall
    assert found.precision >= precision


@pytest.mark.parametrize("half", ["dev", "held_out", "held_out_2"])
def test_hardly_an_ordinary_word_is_masked(half: Half) -> None:
    """With all names of a half numbered as in one process, at most one word in 500 outside the names becomes a mark."""
    for lang in ("en", "zh"):
        found = score(lang, half)
        assert found.masked <= found.words / 500


def test_there_are_sixty_texts_and_a_second_held_out_set_of_sixty_in_each_language() -> None:
    halves: tuple[Half, ...] = ("dev", "held_out")
    assert sum(len(texts(lang, half)) for lang in ("en", "zh") for half in halves) == 60
    assert min(len(texts(lang, "held_out_2")) for lang in ("en", "zh")) >= 60


def test_firms_are_told_from_persons_and_names_come_in_the_order_of_the_text() -> None:
    found = names_in_text("Joe Hargreaves left Cooper & Sons. 我在恒泰建材公司认识了王建国。")
    assert {(one.name, one.kind) for one in found} == {
        ("Joe Hargreaves", "person"), ("Cooper & Sons", "firm"), ("恒泰建材公司", "firm"), ("王建国", "person"),
    }  # fmt: skip


@pytest.mark.parametrize(
    "text", ["水箱可以放在车库里占地方。", "我是夜班护士，早班护士下班我才来。", "找值班医生签字。"]
)
def test_a_place_or_a_shift_is_no_name(text: str) -> None:
    assert names_in_text(text) == ()


def test_a_surname_with_a_title_is_a_name() -> None:
    assert [one.name for one in names_in_text("去问李师傅，班老师也行。")] == ["李师傅", "班老师"]


@pytest.mark.parametrize(
    "text",
    [
        "She read \u201cThe Courage to Float\u201d. From the talk *Deep Ends* I learned to float.",
        "Flat 9 is empty. Izmir is warm, and Fenner's Hill is steep.",
        "A junior reads Polish and Portuguese, from Monday to August.",
        "Founder | Digital Memorials | Stakeholder Engagement | Silver Lining Award | Chair",
        "我右耳听不清，左耳还行。小床八十张空着五十多张。",
        "毛巾湿了，叶子落了，钱花光了。她在读《小满》。",
    ],
)
def test_titles_places_languages_labels_and_ordinary_words_are_no_names(text: str) -> None:
    assert names_in_text(text) == ()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Written on break by Odette. Wilf Arkwright died in March; for Wilf we went.", {"Odette", "Wilf Arkwright", "Wilf"}),
        ("Gethin Raybould, Raybould & Nobody, house clearance.", {"Gethin Raybould", "Raybould & Nobody"}),
        ("祁永年，六十八，看行李。头一天跟司机老巴招呼一声。", {"祁永年", "老巴"}),
        ("小石榴幼儿园　园长　常海燕\n老宋烘干，两座塔。", {"小石榴幼儿园", "常海燕", "老宋"}),
    ],
)  # fmt: skip
def test_first_names_nicknames_and_firms_without_a_usual_ending_are_found(text: str, names: set[str]) -> None:
    assert {one.name for one in names_in_text(text)} == names


@pytest.mark.parametrize(
    "text",
    [
        "The only nurse on Tarsk gave notice in May.",
        "The bus leaves Quillow at six, and nobody in the evening reaches Quillow.",
        "A ferry serving Hennoy comes twice a day. Hennoy's quay is short.",
        "Our nurse looks after three islands (Tarsk, Outer Venn, Quillow) on her own.",
        "Two villages: Upper Sallow and Dray Hollin, share one bus.",
    ],
)
def test_a_place_that_people_live_on_or_a_boat_leaves_or_a_list_of_places_names_is_no_person(text: str) -> None:
    assert names_in_text(text) == ()


def test_who_is_left_or_spoken_of_after_on_is_still_a_person_where_their_name_says_so() -> None:
    assert [one.name for one in names_in_text("Everything depends on Margaret. I left Oswald at home.")] == [
        "Margaret",
        "Oswald",
    ]
