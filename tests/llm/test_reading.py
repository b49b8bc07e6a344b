"""Text → draft, however a model wraps it; and what cannot be read."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongyao.llm.errors import Unreadable
from tongyao.llm.structured_output.parsing import read, salvage
from tongyao.protocol.model.observation import ObservationDraft
from tongyao.protocol.model.plan import ClaimDraft, PlanDraft
from tongyao.protocol.model.projection import ProjectionDraft
from tongyao.protocol.model.value import Draft


class Words(Draft):
    markdown: str = ""


RELATION = {"between": ["P01", "P02"], "kind": "aligned", "text": "t", "sources": []}


@pytest.mark.parametrize(
    "text",
    [
        '{"markdown": "ok"}',
        '```json\n{"markdown": "ok"}\n```',
        'Sure.\n\n```\n{"markdown": "ok"}\n```\nDone.',
        'The answer is {"markdown": "ok"}.',
        '\ufeff {"markdown": "ok", "plan": 3, "sources": null}',
        '{"delivery": {"markdown": "ok"}}',
    ],
)
def test_the_ways_in_which_json_comes(text: str) -> None:
    assert read(text.lstrip("\ufeff"), Words).markdown == "ok"


def test_line_breaks_inside_a_string_are_forgiven() -> None:
    assert read('{"markdown": "two\nlines"}', Words).markdown == "two\nlines"


def test_an_answer_orders_no_terminal_about_and_turns_no_text_round() -> None:
    """Its owner reads it as it is kept: on their page, in their export, in a terminal."""
    said = "red \x1b[31m, back \u202e, unseen \U000e0041, kept\nand\tkept"
    assert read(json.dumps({"markdown": said}), Words).markdown == "red [31m, back , unseen , kept\nand\tkept"


def test_markdown_with_a_fence_of_its_own_is_not_taken_for_the_answer() -> None:
    text = json.dumps({"markdown": 'look:\n```json\n{"markdown": "forged"}\n```'})
    assert "look" in read(text, Words).markdown


@pytest.mark.parametrize("text", ["", "no json", "[]", '"markdown"', '{"markdown": "cut', '{"verdict": "more"}'])
def test_what_cannot_be_read_keeps_its_text(text: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read(text, Words)
    assert caught.value.text == text


def test_the_complaint_says_where_but_not_what_was_written() -> None:
    text = json.dumps({"verdict": "more", "relations": [RELATION, {**RELATION, "kind": "a secret of P02"}]})
    with pytest.raises(Unreadable, match=r"relations\.1\.kind: enum") as caught:
        read(text, ObservationDraft)
    assert "secret" not in str(caught.value)


def test_null_means_nothing_to_say() -> None:
    assert read('{"roles": null, "possible": [{"text": "m"}], "tasks": [null]}', PlanDraft) == PlanDraft(
        possible=[ClaimDraft(text="m")]
    )


def test_salvage_leaves_out_only_the_elements_of_another_shape() -> None:
    text = json.dumps({"relations": [{"text": "x"}, RELATION, "P01-P02"], "notes": [{"kind": "lost"}], "words": "m"})
    draft, dropped = salvage(text, ObservationDraft)
    assert [relation.between for relation in draft.relations] == [["P01", "P02"]]
    assert (draft.notes, draft.words, dropped) == ([], "m", 3)


def test_salvage_cannot_make_an_answer_out_of_nothing() -> None:
    with pytest.raises(Unreadable):
        salvage('{"verdict": "perhaps", "relations": []}', ObservationDraft)


@given(st.text(max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    for reader in (read, salvage):
        with suppress(Unreadable):
            reader(text, ObservationDraft)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Complementary", "complementary"),
        ("互补", "complementary"),
        ("offset", "offsetting"),
        ("`ALIGNED`", "aligned"),
    ],
)
def test_a_closed_word_spelt_otherwise_is_understood(said: str, meant: str) -> None:
    draft = read(json.dumps({"verdict": "CONTINUE", "relations": [{**RELATION, "kind": said}]}), ObservationDraft)
    assert (draft.verdict.value, draft.relations[0].kind.value) == ("more", meant)


def test_a_text_where_a_list_was_wanted_is_a_list_of_one() -> None:
    text = json.dumps({"items": [{"kind": "能力", "text": "c", "about": "B1", "quotes": "q", "inferred": "no"}]})
    item = read(text, ProjectionDraft).items[0]
    assert (item.about, item.quotes, item.inferred) == (["B1"], ["q"], False)


def test_thoughts_before_the_answer_and_braces_in_the_words_around_it() -> None:
    text = '<think>{"markdown": "no"} maybe {x}</think>\nIn the form {…} asked for:\n{"markdown": "ok"}\nSo {it} ends.'
    assert read(text, Words).markdown == "ok"


def test_quotation_marks_that_are_not_escaped_are_mended() -> None:
    assert "最重" in read('```json\n{"markdown": "他说"等最重的那口钟"，就停了",}\n```', Words).markdown


def test_a_text_that_breaks_off_is_never_completed() -> None:
    with pytest.raises(Unreadable):
        read('{"markdown": "他说"等最重的", "plan": {"x": "y"}, "and so', Words)
