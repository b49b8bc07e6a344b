"""The engine without a model quotes sentences and judges nothing, in both languages."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from tests.llm.requests import call, catalyst, delivery, endpoint, formulation, planner, turn
from tests.security.growth import hold_linear
from tongyao.llm.extractive import steps
from tongyao.llm.extractive.engine import ExtractiveEngine
from tongyao.llm.labels import label
from tongyao.protocol.documents.delivery_page import delivery_markdown
from tongyao.protocol.documents.plan_page import plan_markdown
from tongyao.protocol.guards.checks import complaints_of
from tongyao.protocol.guards.items import item_checks
from tongyao.protocol.guards.observations import observation_of
from tongyao.protocol.guards.plans import PLAN_CHECKS, settle_delivery, settle_plan
from tongyao.protocol.guards.quoting import Shown
from tongyao.protocol.model.observation import Verdict
from tongyao.protocol.model.requests import CatalystRequest, Exchange, FormulationRequest, Language, Mandate
from tongyao.protocol.model.steps import OBSERVE, PROJECT
from tongyao.protocol.model.tension import MISSING, Tension, from_draft

LANGUAGES: Sequence[Language] = ("en", "zh")
INTENT = {
    "en": "I want the ferry to run again. Nobody repairs the engine.",
    "zh": "我想让渡船重新开起来。发动机没有人会修。",
}
PROFILE = {
    "en": "# Work\n\n- I keep bees.\n- I repair marine engines in my own shed.\n\nI will not work on Sundays.",
    "zh": "# 做什么\n\n- 我养蜜蜂。\n- 我在自己的棚子里修发动机。\n\n我星期天不干活。",
}
ENGINE = {"en": "I repair marine engines in my own shed.", "zh": "我在自己的棚子里修发动机。"}


def room(language: Language, *said: str, round: int = 1) -> CatalystRequest:
    """A room in which each participant said one of these sentences."""
    aliases = tuple(f"P{number:02}" for number in range(1, len(said) + 1))
    turns = tuple(turn(1, alias, text) for alias, text in zip(aliases, said, strict=True))
    exchange = (Exchange(round=1, projections=turns), *(Exchange(round=n, projections=()) for n in range(2, round + 1)))
    request = catalyst(aliases=aliases)
    changes = {"language": language, "exchange": exchange, "round": round, "verdict_counts": round >= 3}
    return request.model_copy(update=changes)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_intent_is_the_transition_and_nothing_else_is_known(language: Language) -> None:
    intent = INTENT[language]
    tension = from_draft(steps.formulate(FormulationRequest(language=language, intent=intent)), language=language)
    assert tension.transition == intent
    assert tension.grade == "C"
    assert {tension.initial_state, *tension.barriers, tension.exchange} <= {MISSING, ""}


def test_persons_in_the_intent_are_proposed_as_names() -> None:
    draft = steps.formulate(formulation("I asked Wilfred Arkwright to mend the ferry."))
    assert [(name.name, name.kind) for name in draft.names] == [("Wilfred Arkwright", "person")]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_profile_is_quoted_as_it_stands(language: Language) -> None:
    tension = Tension(transition=INTENT[language])
    request = endpoint(profile=PROFILE[language]).model_copy(update={"tension": tension, "language": language})
    draft = steps.project(request)
    assert ENGINE[language] in [item.text for item in draft.items]
    assert all(item.quotes == [item.text] and not item.about and not item.inferred for item in draft.items)
    assert not complaints_of(draft, request, item_checks(Shown(request.material.text)))


def test_of_a_long_profile_the_sentences_with_the_rarest_words_of_the_tension_are_quoted() -> None:
    profile = (
        " ".join(f"I grow potatoes on field number {number}." for number in range(40)) + " I answer after midnight."
    )
    items = steps.project(endpoint(profile=profile)).items
    assert len(items) == steps.MOST_QUOTED
    assert items[-1].text == "I answer after midnight."


def test_in_a_later_turn_nothing_is_said() -> None:
    assert not steps.project(endpoint(2)).items


def test_what_a_mandate_forbids_is_not_quoted_and_its_topics_bound_the_rest() -> None:
    def said(**mandate: tuple[str, ...]) -> list[str]:
        return [item.text for item in steps.project(endpoint(mandate=Mandate.model_validate(mandate))).items]

    assert any("foghorn" in text for text in said())
    assert not any("foghorn" in text for text in said(never=("the old foghorn",)))
    assert said(topics=("Apprentices",)) == ["Two apprentices learned the lens from me."]


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_observation_relates_nothing_and_shows_sentences_that_share_rare_words(language: Language) -> None:
    other = {"en": "My marine engines stand still.", "zh": "我的发动机停着。"}[language]
    request = room(language, ENGINE[language], other, {"en": "I bake.", "zh": "我烤面包。"}[language])
    observation = observation_of(steps.observe(request), request)
    assert not (observation.relations or observation.none or observation.notes)
    lines = observation.words.splitlines()
    assert lines[0] == label("no_model", language)
    assert label("rare_words", language) in observation.words
    [row] = [line for line in lines if line.startswith("| P")]
    assert "P01" in row and "P02" in row and other in row


def test_the_table_has_at_most_twelve_rows_and_a_sentence_cannot_add_a_column() -> None:
    said = [f"We keep lanterns{'abcdefgh'[n // 2]} | here." for n in range(16)]
    words = steps.observe(room("en", *said)).words
    rows = [line for line in words.splitlines() if line.startswith("| P")]
    assert len(rows) == 8
    assert all(row.replace("\\|", "").count("|") == 4 for row in rows)
    many = [f"lanterns{a:c} lanterns{b:c}" for a in range(97, 107) for b in range(97, 107) if a < b]
    assert steps.observe(room("en", *many)).words.count("\n| P") <= steps.MOST_ROWS


def test_rounds_that_go_on_are_exhausted_from_the_third() -> None:
    assert [steps.observe(room("en", "I bake.", "I mend.", round=n)).verdict for n in (1, 2, 3)] == [
        Verdict.MORE,
        Verdict.MORE,
        Verdict.EXHAUSTED,
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_plan_says_first_that_nobody_judged_lists_what_was_said_and_has_no_part_for_anybody(
    language: Language,
) -> None:
    request = planner().model_copy(update={"language": language})
    draft = steps.plan(request)
    plan = settle_plan(draft, request)
    lines = [line for line in plan_markdown(plan).splitlines() if line]
    assert lines[1] == f"> {label('no_model', language)}"
    assert not complaints_of(draft, request, PLAN_CHECKS)
    assert not any(plan.has_part(alias) for alias in request.aliases)
    assert any("keeps a register" in line for line in lines[2:])


def test_a_delivery_says_first_that_nobody_judged() -> None:
    request = delivery()
    made = settle_delivery(steps.deliver(request), alias="P01", plan=request.plan, language="en")
    lines = [line for line in delivery_markdown(made, request.plan).splitlines() if line]
    assert lines[1] == f"> {label('no_model', 'en')}"


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["a. ", "? ", "\n", "1. ", "a|", "我。", "(", "\u201d", "# ", "e.g. "])
def test_a_hostile_profile_takes_linear_time(unit: str) -> None:
    hold_linear(
        lambda text: steps.project(endpoint(profile=text)),
        lambda size: unit * (size // len(unit)),
        repr(unit),
        largest=200_000,
    )


def test_the_engine_runs_steps_in_processes_of_their_own_and_labels_its_answers() -> None:
    engine = ExtractiveEngine()
    projected = asyncio.run(engine.answer(PROJECT, endpoint(), call("project")))
    assert projected.draft.items and projected.labels == ("extractive",)
    observed = asyncio.run(engine.answer(OBSERVE, catalyst(), call("observe")))
    assert observed.draft == steps.observe(catalyst())
