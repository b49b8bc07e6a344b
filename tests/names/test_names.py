"""What the proposer takes for names of persons, and what is marked of it (docs/evaluation.md)."""

from __future__ import annotations

import pytest

from tests.names.__main__ import DATA, rows_of, total
from tongyao.protocol.identity.proposer import proposed_names, without_proposed

FILES = ("development", "en.held_out", "en.held_out_2", "zh.held_out", "zh.held_out_2")


@pytest.mark.parametrize(
    ("file", "recall", "harm"),
    [*((file, 0.89, 0.011) for file in FILES), ("en.unseen", 0.65, 0.026), ("zh.unseen", 0.42, 0.007)],
)
def test_names_are_marked_and_hardly_another_word(file: str, recall: float, harm: float) -> None:
    """Of the texts that nobody had read while writing the proposer, far fewer names are found (docs/evaluation.md §7)."""
    alone = total(rows_of(DATA / f"{file}.jsonl"), confirmed=False)
    assert alone.recall >= recall, alone.missed
    assert alone.harm <= harm, alone.wrong


@pytest.mark.parametrize("file", FILES)
def test_when_the_author_has_confirmed_nearly_all_are(file: str) -> None:
    confirmed = total(rows_of(DATA / f"{file}.jsonl"), confirmed=True)
    assert confirmed.recall >= 0.96, confirmed.missed
    assert confirmed.harm <= 0.01


def test_names_come_in_the_order_of_the_text_and_firms_are_none() -> None:
    found = proposed_names("Joe Hargreaves left Cooper & Sons. 我在恒泰建材公司认识了王建国。")
    assert [name.name for name in found] == ["Joe Hargreaves", "王建国"]


@pytest.mark.parametrize(
    "text",
    [
        "水箱可以放在车库里占地方。", "我是夜班护士，早班护士下班我才来。", "找值班医生签字。",
        "我这儿上厕所不方便，固件把数写反了，不上夜班。", "毛巾湿了，叶子落了，钱花光了。她在读《小满》。", "我右耳听不清，左耳还行。小床八十张空着五十多张。",
        "Flat 9 is empty. Izmir is warm, and Fenner's Hill is steep.",
        "A junior reads Polish and Portuguese, from Monday to August.", "The only nurse on Tarsk gave notice in May.",
        "Founder | Digital Memorials | Stakeholder Engagement | Silver Lining Award | Chair",
    ],
)  # fmt: skip
def test_places_languages_labels_shifts_and_ordinary_words_are_no_names(text: str) -> None:
    assert proposed_names(text) == ()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Everybody brings soup. Mwangi brings bread. I asked Thandiwe if Sipho could weld.", ["Mwangi", "Thandiwe", "Sipho"]),
        ("The Okonkwos keep goats with Ffion Rees, June Carter and Tom Major.", ["Okonkwos", "Ffion Rees", "June Carter", "Tom Major"]),
        ("Old Mrs Lowe rang. Florence said no. J. Alvarez signed, and Will Marsh agreed.",
         ["Mrs Lowe", "Florence", "J. Alvarez", "Will Marsh"]),
        ("Rosa Feldman | Baker | Digital Memorials | Leeds | Cook", ["Rosa Feldman"]),
        ("i mend bikes with ruth", ["ruth"]),
        ("My neighbour June told me. Since May the ferry runs; we start in April.", ["June"]),
        ("Ida Quist and Kim Astor know Una Bell: kim@example.org.", ["Ida Quist", "Kim Astor", "Una Bell"]),
    ],
)  # fmt: skip
def test_names_on_no_list_are_found_by_their_capital_and_the_words_around_them(text: str, names: list[str]) -> None:
    assert [one.name for one in proposed_names(text)] == names


def test_a_mark_is_not_taken_for_a_name() -> None:
    assert proposed_names("[person 2] asked [某人 3] and […] about it.") == ()


def test_where_nobody_confirms_what_looks_like_a_name_is_left_out() -> None:
    assert without_proposed("I asked Rosa Feldman about oxen.") == "I asked […] about oxen."
