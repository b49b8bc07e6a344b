"""Deliveries as their readers see them: who is who, what is asked, whom they wait for."""

from __future__ import annotations

import pytest

from tests.plans.test_documents import DRAFT, claim, sentences, settled
from tongyao.protocol.documents.delivery_page import delivery_page
from tongyao.protocol.guards.plans import settle_delivery
from tongyao.protocol.model.plan import DeliveryDraft, PlanDraft
from tongyao.protocol.model.requests import Language


def test_a_delivery_speaks_to_its_reader_and_says_what_they_never_offered() -> None:
    plan = settled()
    draft = DeliveryDraft(asked=[claim("Take the keys of the houses along.", "R1/P02/1")])
    page = delivery_page(settle_delivery(draft, alias="P01", plan=plan, language="en"), plan)
    assert [section.kind for section in page.sections] == ["about", "asked", "gains", "conditions", "waits", "answer"]
    assert "You are P01 here: drives the school bus." in sentences(page)[1]
    labels = {line.label for note in page.notes for line in note.lines}
    assert "you, round 1, item 1" in labels and "P01, round 1, item 1" not in labels
    assert [note.kind for note in page.notes].count("unsaid") == 1


@pytest.mark.parametrize(("language", "said"), [("en", "The plan has no part for you."), ("zh", "方案里没有你的份。")])
def test_a_delivery_to_somebody_without_a_part_says_so_itself_and_marks_no_sentence_as_unsupported(
    language: Language, said: str
) -> None:
    plan = settled(DRAFT.model_copy(update={"roles": [], "tasks": []}))
    draft = DeliveryDraft(about=[claim("Children travel late.", "T/T")])
    page = delivery_page(settle_delivery(draft, alias="P02", plan=plan, language=language), plan)
    assert said in sentences(page)
    assert "unsupported" not in [note.kind for note in page.notes]


@pytest.mark.parametrize(
    ("language", "told"),
    [
        (
            "en",
            [
                "The plan uses none of the statements that you or your proxy made:",
                "“P02 holds the door keys of 26 houses.”",
            ],
        ),
        ("zh", ["方案没有用到你或你的代理说的任何一条：", "“P02 holds the door keys of 26 houses.”"]),
    ],
)
def test_somebody_of_whose_words_nothing_is_used_is_told_so_by_what_they_said(
    language: Language, told: list[str]
) -> None:
    nothing = PlanDraft(possible=[claim("The bus is empty.", "R1/P01/1")])
    plan = settled(nothing)
    page = delivery_page(settle_delivery(DeliveryDraft(), alias="P02", plan=plan, language=language), plan)
    assert [text for text in sentences(page) if text in told] == told
    assert "The plan has no part for you." not in sentences(page)


def test_a_delivery_says_where_the_plan_names_nothing_that_its_reader_gets() -> None:
    plan = settled(DRAFT)
    page = delivery_page(settle_delivery(DeliveryDraft(), alias=DRAFT.roles[0].alias, plan=plan, language="en"), plan)
    assert "The plan names nothing that you get." in sentences(page)


def test_a_delivery_introduces_whom_its_reader_meets_before_it_says_anything_of_them() -> None:
    plan = settled()
    draft = DeliveryDraft(asked=[claim("Take the keys of P02 along.", "R1/P02/1")])
    people, told = delivery_page(settle_delivery(draft, alias="P01", plan=plan, language="en"), plan).sections[0].groups
    assert [(entry.label, entry.text) for entry in people.entries][1:] == [
        ("", "These people are mentioned below: P02: holds door keys."),
    ]
    assert told.entries[0].text == "Bread is to reach nine villages before work."


def test_a_delivery_says_whom_its_reader_waits_for_and_who_waits_for_them() -> None:
    plan = settled()

    def waits(alias: str, language: Language) -> list[str]:
        delivery = settle_delivery(DeliveryDraft(), alias=alias, plan=plan, language=language)
        sections = [section for section in delivery_page(delivery, plan).sections if section.kind == "waits"]
        return [entry.text for section in sections for group in section.groups for entry in group.entries]

    assert waits("P02", "en") == ["Your step 2 (Set down) waits for P01, step 1 (Load the bus)."]
    assert waits("P01", "en") == ["Your step 1 (Load the bus) must be done before P02, step 2 (Set down)."]
    assert waits("P02", "zh") == ["你的第 2 步（Set down）要等 P01 的第 1 步（Load the bus）。"]


def test_steps_that_wait_are_listed_in_the_order_of_the_readers_numbers() -> None:
    first = DRAFT.tasks[0]
    tasks = [
        first.model_copy(update={"id": id, "title": id, "assignee": who, "prerequisites": before})
        for id, who, before in (("a", "P01", []), ("b", "P01", []), ("c", "P02", ["b"]), ("d", "P02", ["b", "a"]))
    ]
    plan = settled(DRAFT.model_copy(update={"tasks": tasks}))
    page = delivery_page(settle_delivery(DeliveryDraft(), alias="P01", plan=plan, language="en"), plan)
    [waits] = [section for section in page.sections if section.kind == "waits"]
    told = [entry.text for group in waits.groups for entry in group.entries]
    assert [[word for word in line.split() if word.isdigit()] for line in told] == [["1", "4"], ["2", "3"], ["2", "4"]]


def test_a_residual_that_touches_the_reader_stands_in_their_delivery_with_its_change() -> None:
    residual = DRAFT.residuals[0].model_copy(update={"sources": ["R1/P01/2"]})
    plan = settled(DRAFT.model_copy(update={"residuals": [residual]}), notes=())
    mine, other = (
        settle_delivery(DeliveryDraft(), alias=alias, plan=plan, language="en").markdown for alias in ("P01", "P02")
    )
    assert "From no car to a car on the west side before noon" in mine
    assert "From no car to a car" not in other
