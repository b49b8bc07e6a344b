"""What the loop of all steps does with complaints: the second answer takes the place of what was faulty, the rest is struck."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tongyao.protocol.guards.checks import Complaint, merged, sentences, strike
from tongyao.protocol.model.observation import EndedDraft, NoteDraft, NoteKind, ObservationDraft, Verdict
from tongyao.protocol.model.projection import ItemDraft, ItemKind, ProjectionDraft


def items(*texts: str) -> ProjectionDraft:
    return ProjectionDraft(items=[ItemDraft(kind=ItemKind.CAPABILITY, text=text) for text in texts])


def texts(draft: ProjectionDraft) -> list[str]:
    return [item.text for item in draft.items]


def of_item(entry: int, text: str = "mend it", sentence: str = "") -> Complaint:
    return Complaint(text=text, reason="r", fields=("items",), entry=entry, sentence=sentence)


def test_mended_entries_take_the_place_of_the_faulty_ones() -> None:
    assert texts(merged(items("a", "b", "c", "d"), items("B"), [of_item(1), of_item(3)])) == ["a", "B", "c"]


def test_an_entry_that_the_second_answer_only_repeats_stands_once() -> None:
    assert texts(merged(items("a", "b", "c"), items("a", "B", "c"), [of_item(1)])) == ["a", "B", "c"]


def test_a_faulty_entry_that_is_insisted_on_is_checked_again() -> None:
    assert texts(merged(items("a", "b"), items("b"), [of_item(1)])) == ["a", "b"]


def test_an_answer_that_is_complained_of_as_a_whole_is_replaced() -> None:
    assert texts(merged(items("a", "b"), items("c"), [Complaint(text="too long", reason="r")])) == ["c"]


def test_what_nobody_complained_of_does_not_change() -> None:
    first = ObservationDraft(verdict=Verdict.MORE, words="One. Two.", notes=[NoteDraft(kind=NoteKind.GAP, text="g")])
    second = ObservationDraft(verdict=Verdict.EXHAUSTED, words="Three.", ended=[EndedDraft(id="R1/r1")])
    again = merged(first, second, [Complaint(text="no", reason="r", fields=("words",), sentence="Two.")])
    assert (again.verdict, again.words, again.notes, again.ended) == (Verdict.MORE, "Three.", first.notes, [])


def test_what_is_missing_is_added() -> None:
    first, second = ObservationDraft(none=[["P01", "P02"]]), ObservationDraft(none=[["P01", "P03"]])
    missing = Complaint(text="a pair", reason="missing_pair", fields=("none", "relations"))
    assert merged(first, second, [missing]).none == [["P01", "P02"], ["P01", "P03"]]
    assert strike(first, [missing]) == (first, 0)


def test_a_fault_that_is_not_told_is_struck_and_not_merged() -> None:
    silent = of_item(2, text="")
    first = items("a", "b", "c")
    assert texts(merged(first, items("B"), [of_item(1), silent])) == ["a", "B", "c"]
    draft, struck = strike(first, [silent])
    assert (texts(draft), struck) == (["a", "b"], 1)


def test_only_the_sentence_is_struck_and_an_entry_without_words_goes() -> None:
    first = items("One. Two. Three.", "Two.")
    draft, struck = strike(first, [of_item(0, sentence="Two. "), of_item(1, sentence="Two.")])
    assert (texts(draft), struck) == (["One. Three."], 2)


def test_an_entry_with_two_faults_is_struck_once() -> None:
    assert strike(items("a", "b"), [of_item(0), of_item(0)])[1] == 1


def test_a_fault_of_the_whole_answer_strikes_nothing() -> None:
    first = items("a")
    assert strike(first, [Complaint(text="too long", reason="r")]) == (first, 0)


@given(st.text(alphabet="ab 1.2。；！“”「」\n", max_size=60))
def test_sentences_are_the_whole_text(text: str) -> None:
    assert "".join(sentences(text)) == text
