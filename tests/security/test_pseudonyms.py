"""A name that stands in several texts of a process is one mark in all of them (docs/protocol.md §6.3)."""

from __future__ import annotations

import pytest

from tongyao.protocol.guards.quoting import find_pieces
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.record import Participant, Record
from tongyao.protocol.model.tension import NameDraft, NameFound, NumberedName, Tension, TensionDraft
from tongyao.protocol.rules import read_access
from tongyao.protocol.rules.identity.anonymity import SOMEBODY, Anonymizer
from tongyao.protocol.rules.identity.pseudonyms import marks_in, names_of, numbered


def found(*names: str, kind: str = "person") -> tuple[NameFound, ...]:
    return tuple(NameFound.model_validate({"name": name, "kind": kind}) for name in names)


def test_a_name_keeps_its_number_in_every_text_and_its_parts_share_it() -> None:
    tension = numbered((*found("Maria Brennan"), *found("Cooper & Sons", kind="firm")))
    profile = numbered((*found("Brennan", "Tomasz"), *found("Cooper & Sons", kind="firm")), tension)
    names = Anonymizer({}, numbered=(*tension, *profile))

    assert names.text("Maria Brennan sold it to Cooper & Sons.") == "[person 1] sold it to [firm 2]."
    assert names.text("Brennan and Tomasz know", author="P02") == "[person 1] and [person 3] know"


def test_chinese_names_with_a_title_share_the_number_of_the_full_name() -> None:
    tension = numbered((*found("张建国"), *found("恒泰建材公司", kind="firm")))
    names = Anonymizer({}, numbered=(*tension, *numbered(found("张师傅"), tension)))

    assert names.text("张建国在恒泰建材公司做过，张师傅认得路。") == "[某人 1]在[某单位 2]做过，[某人 1]认得路。"


def test_the_mark_of_somebody_in_the_room_looks_like_that_of_somebody_outside() -> None:
    """In their own text the author is their alias; in the others' they are a number, as people outside are."""
    known = numbered(found("Ann Bell", "Derek Miller"))
    names = Anonymizer({"P01": ["Ann Bell"], "P02": ["Lena Fox"]}, numbered=known)

    assert names.text("Ann Bell and Derek Miller and Lena Fox", author="P02") == "[person 1] and [person 2] and P02"
    assert names.text("Ann and Derek Miller", author="P01") == "P01 and [person 2]"
    assert names.text("Ann met Lena", author="P03") == f"[person 1] met {SOMEBODY}"


def test_names_of_those_who_join_later_are_numbered_after_all_others() -> None:
    first = numbered(found("Ada Pell"))
    later = numbered(found("Ada Pell", "Bo Quist"), first)

    assert [(one.name, one.number) for one in later] == [("Bo Quist", 2)]


def test_a_childs_numbers_begin_after_the_marks_that_its_tension_brought_along() -> None:
    tension = Tension(transition="to win [person 4] over", barriers=("[某单位 2]不同意",))

    assert [one.number for one in numbered(found("Ada Pell"), after=marks_in(tension))] == [5]


def test_others_read_the_tension_with_marks_and_without_the_list_of_names() -> None:
    tension = Tension(transition="to run the mill that Ada Pell left to Skye", names=found("Ada Pell"))
    record = Record(
        process_id="c-1",
        phase=Phase.CRYSTALLIZING,
        round=1,
        intent="x",
        tension=tension,
        names=numbered(tension.names),
        participants=(Participant(alias="P01"), Participant(alias="P02")),
    )
    seen = read_access.for_party(record, role="participant", alias="P01").tension
    own = read_access.for_party(record, role="demander").tension

    assert seen is not None
    assert (seen.transition, seen.names) == ("to run the mill that [person 1] left to Skye", ())
    assert own == tension


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
    draft = TensionDraft(
        transition="to run the mill of Ada Pell",
        names=[
            NameDraft(name="Ada Pell"),
            NameDraft(name="Nobody Known"),
            NameDraft(name="the"),
            NameDraft(name="Fennel Kitchen", kind="FIRM"),
        ],
    )
    assert names_of(draft, ("we ate at Fennel Kitchen",)) == (
        *found("Ada Pell"),
        *found("Fennel Kitchen", kind="firm"),
    )
    assert NumberedName(number=1, name="Ada Pell") == numbered(found("Ada Pell"))[0]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("They float, they can float: Float is what they learn.", None),
        ("Ask Float. I told Float so, and \u201cFloat\u201d is on the door.", "Ask {0}. I told {0} so, and \u201c{0}\u201d is on the door."),
        ("Float rang. So did FLOAT.", "{0} rang. So did {0}."),
        ("I rang Hope. Hope springs eternal; hope is cheap.", "I rang {1}. Hope springs eternal; hope is cheap."),
        ("我问过Float，float是漂。", "我问过{0}，float是漂。"),
    ],
)  # fmt: skip
def test_a_single_word_found_in_a_text_is_a_mark_only_where_it_is_written_like_a_name(
    text: str, shown: str | None
) -> None:
    names = Anonymizer({}, numbered=numbered(found("Float", "Hope")))
    assert names.text(text) == (shown or text).format("[person 1]", "[person 2]")


def test_a_phrase_that_somebody_hides_in_lower_case_is_hidden_however_it_is_written() -> None:
    names = Anonymizer({}, numbered=numbered(found("riverfox")))
    assert names.text("riverfox, Riverfox and RIVERFOX") == "[person 1], [person 1] and [person 1]"


def test_a_registered_name_is_hidden_in_lower_case_although_texts_have_it_too() -> None:
    names = Anonymizer({"P01": ["Wilma"]}, numbered=numbered(found("Wilma")))
    assert names.text("wilma said so") == "[person 1] said so"


def test_a_place_that_is_called_after_somebody_stays_and_what_somebody_has_does_not_name_them() -> None:
    names = Anonymizer({}, numbered=numbered(found("Fenner")))
    assert names.text("Fenner's Hill, Fenner Road, Fenner's house, Fenner's roads") == (
        "Fenner's Hill, Fenner Road, [person 1]'s house, [person 1]'s roads"
    )
