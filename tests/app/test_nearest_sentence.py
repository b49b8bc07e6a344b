"""Of a candidate one sentence is shown: the one that is nearest the part of the tension, and no longer than can be read at a glance."""

from __future__ import annotations

import pytest

from tongyao.app.choosing.candidate_sentences import MOST_CHARS, nearest_sentence, whole_sentences

PROFILE = """# Chen Yu

I am nineteen years old and live with my grandmother in building three, on the second floor. On weekdays
I am at school until five. I can hold a torch for repairs in the evening, and read a water meter.

- I keep mint on the balcony
- I do not climb onto the roof without a railing
"""


def test_the_sentence_that_shares_most_with_the_part_is_taken_alone() -> None:
    assert (
        nearest_sentence(PROFILE, "Nobody reads the water meter in the evening.")
        == "I can hold a torch for repairs in the evening, and read a water meter."
    )
    assert (
        nearest_sentence(PROFILE, "Somebody has to climb onto the roof.")
        == "I do not climb onto the roof without a railing"
    )


def test_where_nothing_is_shared_it_is_the_first_sentence() -> None:
    first = "I am nineteen years old and live with my grandmother in building three, on the second floor."
    assert nearest_sentence(PROFILE, "") == first


def test_a_chinese_sentence_is_taken_alone() -> None:
    text = "我今年十九岁，住三号楼二楼，和奶奶一起。早上六点到八点我在家，可以帮忙看水表。我喜欢薄荷。"
    assert nearest_sentence(text, "没有人看水表") == "早上六点到八点我在家，可以帮忙看水表。"


def test_a_long_sentence_ends_with_a_clause() -> None:
    clauses = ["我住三号楼", "每天早上给花浇水", "下午去菜场", "晚上教孩子写字"] * 20
    shown = nearest_sentence("，".join(clauses) + "。", "浇水")
    assert MOST_CHARS // 2 < len(shown) <= MOST_CHARS + 1
    assert shown.removesuffix("…").split("，")[-1] in clauses
    assert len(nearest_sentence("long " * 500, "")) <= MOST_CHARS + 1
    assert nearest_sentence("", "water") == ""


def test_of_sentences_that_share_as_little_the_one_that_says_more_is_taken() -> None:
    text = "Five is enough. I keep the books of two bakeries and of the swimming club."
    assert nearest_sentence(text, "The ferry is late.") == "I keep the books of two bakeries and of the swimming club."


def test_a_span_that_cuts_sentences_is_widened_to_whole_ones() -> None:
    cut = PROFILE.index("a torch for"), PROFILE.index("a water meter")
    shown = PROFILE[slice(*whole_sentences(PROFILE, *cut))].strip()
    assert shown == "I can hold a torch for repairs in the evening, and read a water meter."
    item = PROFILE.index("mint"), PROFILE.index(" on the balcony")
    assert PROFILE[slice(*whole_sentences(PROFILE, *item))].strip() == "- I keep mint on the balcony"
    name = PROFILE.index("nineteen"), PROFILE.index("years old")
    assert PROFILE[slice(*whole_sentences(PROFILE, *name))].split()[:3] == ["I", "am", "nineteen"], "no heading"
    chinese = "我住三号楼。早上六点到八点我在家，可以看水表。我喜欢薄荷。"
    cut = chinese.index("六点"), chinese.index("可以")
    assert chinese[slice(*whole_sentences(chinese, *cut))] == "早上六点到八点我在家，可以看水表。"


def test_a_span_of_whole_sentences_stays_as_it_is() -> None:
    text = "I have a boat. I can row. I do not swim."
    assert whole_sentences(text, 0, len(text)) == (0, len(text))
    start, end = text.index("I can"), text.index(" I do")
    assert text[slice(*whole_sentences(text, start, end))].strip() == "I can row."


@pytest.mark.parametrize("said", ["takes registrations by phone", "Written Chinese", "Four hours a week"])
def test_of_a_profile_made_of_fields_no_name_of_a_field_is_quoted(said: str) -> None:
    text = (
        "name：Toft Bergen\noffers：Bookings for courses; takes registrations by phone and mail\nwants：Written Chinese"
        "\nlimits：Four hours a week, and no evenings"
    )
    begin, end = whole_sentences(text, text.index(said), text.index(said) + len(said))
    shown = nearest_sentence(text[begin:end], said)
    assert said in shown and "：" not in shown
