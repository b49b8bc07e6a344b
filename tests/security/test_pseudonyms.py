"""A name that stands in several texts of a process is one mark in all of them (docs/protocol.md §6.3)."""

from __future__ import annotations

import pytest

from tests.support.marking import hiding, name
from tongyao.protocol.guards.quoting import find_pieces
from tongyao.protocol.identity.listed import names_of
from tongyao.protocol.identity.marks import Hidden, forms_to_hide
from tongyao.protocol.model.tension import NameFound


def test_a_name_keeps_its_number_in_every_text_and_its_parts_share_it() -> None:
    names = hiding("Maria Brennan", name("Cooper & Sons", "firm"), "Brennan", "Tomasz", name("Cooper & Sons", "firm"))
    assert names.text("Maria Brennan sold it to Cooper & Sons.") == "[person 1] sold it to [firm 2]."
    assert names.text("Brennan and Tomasz know", author="P02") == "[person 1] and [person 3] know"


def test_chinese_names_with_a_title_share_the_number_of_the_full_name() -> None:
    names = hiding("张建国", name("恒泰建材公司", "firm"), "张师傅")
    assert names.text("张建国在恒泰建材公司做过，张师傅认得路。") == "[某人 1]在[某单位 2]做过，[某人 1]认得路。"


def test_the_mark_of_somebody_in_the_room_looks_like_that_of_somebody_outside() -> None:
    """In their own text the author is their alias; in the others' they are a number, as people outside are."""
    names = hiding("Ann Bell", "Derek Miller", people={"P01": ["Ann Bell"], "P02": ["Lena Fox"]})
    assert names.text("Ann Bell and Derek Miller and Lena Fox", author="P02") == "[person 1] and [person 2] and P02"
    assert names.text("Ann and Derek Miller", author="P01") == "P01 and [person 2]"
    assert names.text("Ann met Lena", author="P03") == "[person 1] met [person 3]"


def test_names_of_those_who_join_later_are_numbered_after_all_others() -> None:
    first = Hidden(forms=forms_to_hide(Hidden(), [[name("Ada Pell")]]))
    assert {form.number for form in forms_to_hide(first, [[name("Ada Pell")], [name("Bo Quist")]])} == {2}


def test_digests_name_nobody_and_differ_from_key_to_key() -> None:
    one, two = (forms_to_hide(Hidden(key), [[name("Ada Pell")]]) for key in (b"1", b"2"))
    assert not {form.digest for form in one} & {form.digest for form in two}
    assert all(b"ada" not in form.digest and b"pell" not in form.digest for form in one)


@pytest.mark.parametrize(
    ("quote", "span"),
    [
        ("[person 1] taught me how to wind a coil", "taught me how to wind a coil"),
        ("pumps, and [person 1] taught me how", "pumps, and Tomasz Kowal taught me how"),
    ],
)
def test_a_quote_copied_from_the_shown_text_is_found_in_the_original(quote: str, span: str) -> None:
    text = "I can mend pumps, and Tomasz Kowal taught me how to wind a coil."
    start, end = find_pieces(text, quote)[0]
    assert text[start:end] == span


@pytest.mark.parametrize(
    "quote",
    [
        pytest.param("For [person 1] there'd have been fifty of us.", id="one word before the mark"),
        pytest.param("for [person 1] there’d have been fifty of [firm 2]", id="one word between"),
        pytest.param("[person 3] For [person 1] there'd have been fifty of us. Ask [person 3]", id="one word behind"),
    ],
)
def test_single_words_beside_a_mark_belong_to_the_quote(quote: str) -> None:
    text = "We turn out.\nWilf. For Wilf there'd have been fifty of us. Ask Ada, for she knows."
    start, end = find_pieces(text, quote)[0]
    assert text[start:end].lower().startswith("for wilf there'd have been fifty of")


def test_a_single_word_far_from_the_rest_is_no_part_of_a_quote() -> None:
    text = "For once. " + "Nothing else was said here. " * 9 + "Wilf would have had fifty of us."
    assert not find_pieces(text, "For [person 1] would have had fifty of us.")


def test_a_quote_whose_parts_lie_far_apart_is_no_quote() -> None:
    text = "I can mend pumps. " + "Nothing else was said here. " * 9 + "He taught me how to wind a coil."
    assert not find_pieces(text, "I can mend pumps [person 1] how to wind a coil")


def test_only_listed_names_that_stand_somewhere_are_kept() -> None:
    listed = ["Ada Pell", "Nobody Known", "the", "Ada Pell"]
    assert names_of(listed, "to run the mill of Ada Pell", "we ate at the mill") == (NameFound(name="Ada Pell"),)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("They float, they can float: a float is what they learn.", None),
        ("Ask Float. I told Float so, and \u201cFloat\u201d is on the door.", "Ask {0}. I told {0} so, and \u201c{0}\u201d is on the door."),
        ("Float rang. So did FLOAT.", "{0} rang. So did {0}."),
        ("我问过Float，float是漂。", "我问过{0}，float是漂。"),
    ],
)  # fmt: skip
def test_a_single_word_is_a_mark_only_where_it_is_written_like_a_name(text: str, shown: str | None) -> None:
    assert hiding("Float", "Hope").text(text) == (shown or text).format("[person 1]", "[person 2]")


def test_a_registered_name_in_lower_case_is_hidden_in_a_text_without_capitals() -> None:
    assert hiding("Wilma").text("wilma said so") == "[person 1] said so"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Jana Weber", "[person 1]"), ("Weber, Jana", "[person 1]"), ("Jana", "[person 1]"), ("Weber", "[person 1]"), ("JANA WEBER", "[person 1]"),
        ("jana weber", "[person 1]"), ("Mrs Weber", "Mrs [person 1]"), ("Weber's", "[person 1]'s"), ("Jana’s", "[person 1]’s"), ("the Webers", "the [person 1]"),
        ("J. Weber", "[person 1]"), ("Jana W.", "[person 1]."), ("J.W.", "[person 1]"), ("J. W.", "[person 1]"),
    ],
)  # fmt: skip
def test_a_known_name_is_hidden_in_the_forms_that_people_use(written: str, shown: str) -> None:
    assert hiding("Jana Weber").text(f"I met {written} once") == f"I met {shown} once"


@pytest.mark.parametrize(
    "written", ["王建国", "建国", "老王", "小王", "王哥", "王工", "王师傅", "王总", "阿国", "王建国老师"]
)
def test_a_known_chinese_name_is_hidden_in_the_forms_that_people_use(written: str) -> None:
    shown = hiding("王建国").text(f"我昨天问过{written}。")
    assert shown.startswith("我昨天问过[某人 1]") and not set("王国建") & set(shown)


@pytest.mark.parametrize("written", ["李默", "老李", "李姐", "李老师"])
def test_a_known_chinese_name_of_two_characters_likewise(written: str) -> None:
    assert hiding("李默").text(f"我昨天问过{written}。") == "我昨天问过[某人 1]。"
