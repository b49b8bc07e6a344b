"""What the extractive engine picks of one person's texts: it selects and aligns sentences, and never makes one up."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.llm.extractive.extractive_process import ENGINE, call, whole
from tests.llm.extractive.extractive_requests import PROFILE, TENSION, projected, room, said, turn
from tongyao.app.messaging.wire import ProjectionParts
from tongyao.llm.engine import Call, CallKey, Engine, Reask
from tongyao.llm.extractive import endpoint
from tongyao.llm.extractive.cues import is_label
from tongyao.llm.extractive.likeness import tokens
from tongyao.llm.extractive.sentences import split
from tongyao.protocol.model import steps
from tongyao.protocol.model.observation import Gap, GapKind, Note, Observation, Verdict
from tongyao.protocol.model.plan import Plan
from tongyao.protocol.model.projection import Dimension, Item, Outcome, Projection, Span
from tongyao.protocol.model.requests import DeliveryRequest, FormulationRequest, Mandate, PlannerRequest
from tongyao.protocol.model.tension import TENSION_UNITS, Grade, Tension, from_draft

# Every answer says what it is


def test_it_is_an_engine_without_a_model() -> None:
    engine: Engine = ENGINE
    assert engine.name == "extractive"
    assert engine.model_for("observe") == ""


async def test_every_answer_says_that_no_language_model_was_used() -> None:
    project = await ENGINE.answer(steps.PROJECT, turn(), call())
    observe = await ENGINE.answer(steps.OBSERVE, room(said("P01", 1, "I can mend microscopes.")), call("observe"))
    plan_request = PlannerRequest(language="zh", tension=TENSION, exchange=(), aliases=())
    plan = await ENGINE.answer(steps.PLAN, plan_request, call("plan"))
    empty = Plan(panorama=())
    deliver = await ENGINE.answer(
        steps.DELIVER, DeliveryRequest(language="zh", alias="P01", plan=empty), call("deliver")
    )
    assert "no language model was used" in observe.draft.markdown
    for answer_zh in (plan, deliver):
        assert "没有使用语言模型" in answer_zh.draft.remarks[0]
    for labels in (project.labels, observe.labels, plan.labels, deliver.labels):
        assert labels == ("extractive",)


async def test_the_same_request_gets_the_same_answer() -> None:
    assert await ENGINE.answer(steps.PROJECT, turn(), call()) == await ENGINE.answer(steps.PROJECT, turn(), call())


# Formulation


async def formulated(intent: str, profile: str = "", language: str = "en") -> Tension:
    request = FormulationRequest.model_validate(
        {"language": language, "intent": intent, "material": whole(profile) if profile else None}
    )
    draft = (await ENGINE.answer(steps.FORMULATE, request, call("formulate"))).draft
    return from_draft(draft, language=request.language)


async def test_sentences_are_sorted_into_the_four_lenses() -> None:
    tension = await formulated(
        "We want the villages along the line to keep their evening train. "
        "Nobody counts who gets off after nine. "
        "I can offer a year of conductors' notes. We have 14 stations and one rail bus."
    )
    assert "keep their evening train" in tension.transition
    assert "14 stations" in tension.initial_state
    assert "Nobody counts" in tension.barriers[0]
    assert "conductors' notes" in tension.exchange
    assert tension.grade is Grade.A


async def test_barriers_are_what_stands_under_their_heading_and_what_is_listed_as_had_is_offered() -> None:
    profile = """# Ferry house

I keep the ferry house because nobody else wanted it, and I lost a summer to it.

## What we have

- A slipway of stone, ten paces wide.
- 90 euros in the tin.

## What stands in the way

The harbour office will not let us moor at night. Nobody here can read a tide table.
"""
    request = FormulationRequest(language="en", intent="I want a boat for the island school.", material=whole(profile))
    tension = from_draft((await ENGINE.answer(steps.FORMULATE, request, call("formulate"))).draft, language="en")
    assert tension.barriers == (
        "The harbour office will not let us moor at night.",
        "Nobody here can read a tide table.",
    )
    assert "A slipway of stone" in tension.exchange
    assert "90 euros" in tension.exchange


async def test_the_need_behind_the_wish_is_the_transition() -> None:
    tension = await formulated(
        "我想找一个人做小程序。",
        "## 我真正想要的\n其实我想要的是让老人在山上也记得住。\n## 现在\n现在有三个村，一百零四位老人。",
        "zh",
    )
    assert tension.transition == "其实我想要的是让老人在山上也记得住。"
    assert "三个村" in tension.initial_state


async def test_what_is_not_there_stays_blank() -> None:
    tension = await formulated("I want to meet interesting people.")
    assert tension.transition == "I want to meet interesting people."
    assert (tension.initial_state, tension.barriers, tension.exchange) == (
        "[data_insufficient]",
        ("[data_insufficient]",),
        "[data_insufficient]",
    )
    assert tension.grade is Grade.C


@pytest.mark.parametrize(
    "text", ["28岁，产品经理，INTJ，坐标杭州", "Software engineer, 31, based in Leeds", "我是一名设计师。"]
)
def test_labels_are_no_initial_state(text: str) -> None:
    assert is_label(text)


@given(st.text(alphabet="我想要缺不知道能提供现在有12 人。，we want can't offer. ", min_size=1, max_size=3_000))
@settings(max_examples=60)
async def test_a_tension_never_exceeds_its_limit(text: str) -> None:
    draft = (
        await ENGINE.answer(
            steps.FORMULATE, FormulationRequest(language="zh", intent=text, material=whole(text)), call("formulate")
        )
    ).draft
    assert from_draft(draft, language="zh").units <= TENSION_UNITS


# Endpoints


async def test_a_turn_sets_the_own_sentence_beside_the_part_of_the_tension_it_bears_on() -> None:
    items = {item.quotes[0]: item for item in (await projected(turn())).items}
    able = items["I can tell mites from pesticide damage under a microscope."]
    assert (able.dimension, able.targets[0]) == (Dimension.CAPABILITY, "B1")
    assert able.premise == "I can tell mites from pesticide damage under a microscope."
    assert "Nobody in the valley can tell pesticide damage" in able.claim
    exchange = items["I need a shed with electricity for my incubator."]
    assert (exchange.dimension, exchange.targets[0]) == (Dimension.CAPABILITY, "E")
    limit = items["I won't collect samples in orchards on the day when farmers spray."]
    assert (limit.dimension, limit.targets[0]) == (Dimension.BOUNDARY, "B2")
    assert not any("accordion" in quote for quote in items)
    assert not any(item.inferred or item.mapping for item in items.values())


async def test_a_profile_that_has_nothing_to_do_with_it_says_nothing() -> None:
    draft = await projected(turn("## Offer\nI can sew wedding dresses. I can bake rye bread on Fridays."))
    assert draft.nothing_new
    assert not draft.items


async def test_later_turns_say_only_what_is_new_until_nothing_is_left() -> None:
    spoken: list[str] = []
    own: list[Projection] = []
    for number in range(1, 6):
        draft = await projected(turn(round=number, own=tuple(own)))
        if draft.nothing_new:
            break
        quotes = [item.quotes[0] for item in draft.items]
        assert not set(quotes) & set(spoken)
        spoken += quotes
        items = tuple(
            Item(
                id=f"R{number}/P01/{at}",
                dimension=item.dimension,
                premise=item.premise,
                claim=item.claim,
                spans=(
                    Span(
                        source="profile",
                        start=PROFILE.index(item.quotes[0]),
                        end=PROFILE.index(item.quotes[0]) + len(item.quotes[0]),
                    ),
                ),
            )
            for at, item in enumerate(draft.items, 1)
        )
        own.append(Projection(round=number, alias="P01", outcome=Outcome.REPLIED, items=items))
    assert draft.nothing_new
    assert len(spoken) >= 4


async def test_a_proxy_does_not_repeat_in_the_profiles_words_what_its_owner_said() -> None:
    words = "I have a microscope that carries a camera, and I tell pesticide damage from mites."
    sorted_ = (await projected(turn(words=words))).items
    own = Projection(
        round=1,
        alias="P01",
        outcome=Outcome.REPLIED,
        items=tuple(
            Item(
                id=f"R1/P01/{n}",
                dimension=one.dimension,
                claim=one.claim,
                spans=(Span(source="words", start=0, end=9),),
            )
            for n, one in enumerate(sorted_, 1)
        ),
    )
    later = [item.premise for item in (await projected(turn(round=2, own=(own,)))).items]
    assert later
    assert not [text for text in later if "microscope" in text]


async def test_an_offer_to_tell_what_is_allowed_from_what_is_not_is_no_limit() -> None:
    profile = (
        "# What I can do\nI can say which mites harm bees under a microscope and which may not, and I may sign it.\n"
    )
    (item,) = (await projected(turn(profile))).items
    assert item.dimension is Dimension.CAPABILITY


@pytest.mark.parametrize(
    "drawing",
    [
        {"gaps": (Gap(id="g", kind=GapKind.OVERLOOKED, target="B1", text="the school camera stands unused"),)},
        {"ignored": (Note(id="n", text="a camera of the school was never answered"),)},
        {"frameworks": (Note(id="f", name="school camera", text="what a camera at school can hold fast"),)},
    ],
)
async def test_what_the_catalyst_draws_attention_to_is_said_next(drawing: dict[str, object]) -> None:
    weak = (
        "The school has a camera that shows damage, wings, eggs, stripes, antennae, larvae, pollen, brood, "
        "cells, combs, queens, drones, dances and stings."
    )
    before = await projected(turn(weak))
    observation = Observation(round=1, verdict=Verdict.MORE).model_copy(update=drawing)
    after = await projected(turn(weak, round=2, observations=(observation,)))
    assert before.nothing_new
    assert "camera" in after.items[0].quotes[0]


async def test_of_a_profile_beyond_all_bounds_the_beginning_is_read() -> None:
    bound = 200_000
    filler = "The accordion was played at a wedding again. " * (bound // 44)
    draft = await projected(turn(PROFILE + filler + "I can tell pesticide damage from mites under a microscope."))
    quotes = [item.quotes[0] for item in draft.items]
    assert "I can tell mites from pesticide damage under a microscope." in quotes
    assert "I can tell pesticide damage from mites under a microscope." not in quotes


async def test_a_mandate_is_kept() -> None:
    silent = await projected(turn(mandate=Mandate(may_speak=False)))
    assert silent.nothing_new
    without = await projected(turn(mandate=Mandate(never=("Microscope",))))
    assert without.items
    assert not any("microscope" in f"{item.premise} {item.claim}".lower() for item in without.items)
    only = await projected(turn(mandate=Mandate(topics=("shed",))))
    assert [item.quotes[0] for item in only.items] == ["I need a shed with electricity for my incubator."]


async def test_a_persons_words_are_all_kept_and_nothing_is_added() -> None:
    words = "I can lend a microscope. I won't come on Sundays. I am looking for a shed. The moon is basalt."
    draft = await projected(turn(words=words))
    assert [item.claim for item in draft.items] == [sentence.text for sentence in split(words)]
    assert [item.quotes for item in draft.items] == [[item.claim] for item in draft.items]
    assert draft.items[1].dimension is Dimension.BOUNDARY


@pytest.mark.parametrize(
    ("words", "dimension"),
    [
        ("I will not have visitors at the hives before June.", Dimension.BOUNDARY),
        ("I take no orders by telephone.", Dimension.BOUNDARY),
        ("The honey is not filtered, and I cannot have it filtered here.", Dimension.BOUNDARY),
        ("I cannot have children in the extraction room, they need shoes and an adult.", Dimension.BOUNDARY),
        ("I would like a corner of the shed with electricity for a winter.", Dimension.DIRECTION),
        ("I can tell which frames may go into the press and which may not, and I may seal them.", Dimension.CAPABILITY),
        ("I don't have a trailer.", Dimension.DIRECTION),
    ],
)
async def test_a_persons_sentence_is_sorted_by_what_it_says(words: str, dimension: Dimension) -> None:
    (item,) = (await projected(turn(words=words))).items
    assert item.dimension is dimension


def test_numbers_and_units_are_no_subject_and_a_lock_up_is_no_lock() -> None:
    assert not tokens("about twenty-five kilos, in eleven dozen, three metres")
    assert not set(tokens("in my lock-up")) & set(tokens("behind a gate that locks"))
    assert set(tokens("a half-finished boat")) & set(tokens("the boat is finished"))


@pytest.mark.parametrize("words", ["", "  \n", "Nothing new.", "没有新的信息了", "我暂时没有什么新内容。"])
async def test_a_person_may_say_that_there_is_nothing_new(words: str) -> None:
    assert (await projected(turn(words=words))).nothing_new


async def test_a_reask_brings_no_invention() -> None:
    answer = await ENGINE.answer(
        steps.PROJECT,
        turn(),
        Call(CallKey("p1", "project", reask=1), reask=Reask(previous="", complaints=("no such quote",))),
    )
    assert not answer.draft.items


def test_sentences_stay_in_the_part_that_their_author_put_them_into() -> None:
    parts = ProjectionParts(
        capability="Hot air goes up the flue, but not until five: it can dry linen.",
        direction="My costumes must be driven to the theatre.",
        boundary="Nothing may be done to the ovens.",
    )
    said = endpoint.project(turn(words=parts.joined()))
    assert [item.dimension for item in said.items] == ["capability", "direction", "boundary"]
