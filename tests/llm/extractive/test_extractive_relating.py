"""What the extractive engine sees between people, and the plan it makes of it."""

from __future__ import annotations

import pytest

from tests.llm.extractive.extractive_process import ENGINE, call, process
from tests.llm.extractive.extractive_requests import PROFILE, TENSION, observed, room, said
from tongyao.llm.extractive.axes import hours_apart, opposed
from tongyao.llm.extractive.wording import phrase
from tongyao.protocol.guards.deliveries import settle_delivery
from tongyao.protocol.model import steps
from tongyao.protocol.model.observation import Effect, GapKind, Relation, Verdict
from tongyao.protocol.model.plan import Plan, PlanDraft, Role, Task
from tongyao.protocol.model.projection import Item, Outcome, Projection
from tongyao.protocol.model.requests import DeliveryRequest, Exchange, Language, PlannerRequest

# The catalyst


async def relation(one: Item, other: Item) -> Relation:
    """What is seen between two people who said so much."""
    return (await observed(room(one, other))).pairs[0].relation


async def test_an_offer_that_meets_a_need_is_complementary() -> None:
    draft = await observed(
        room(
            said("P01", 1, "I can cut notched wooden tags that blind hands tell apart."),
            said("P02", 1, "I need tags that hands tell apart in the dark.", "direction"),
            said("P03", 1, "I can drive a lorry through snow."),
        )
    )
    relations = {(pair.a, pair.b): pair for pair in draft.pairs}
    assert relations["P01", "P02"].relation is Relation.COMPLEMENTARY
    assert sorted(relations["P01", "P02"].sources) == ["R1/P01/1", "R1/P02/1"]
    assert relations["P01", "P03"].relation is Relation.NONE_FOUND
    assert relations["P02", "P03"].relation is Relation.NONE_FOUND


@pytest.mark.parametrize(
    ("need", "statement"),
    [
        ("We need a second school choir for the spring fair.", "Our neighbours' school has a new roof."),
        ("I need a saddle for the smaller mule.", "The last saddle of my father went to a museum."),
        ("It does not have to be a new tractor.", "The tractor of the forest office passes on Mondays."),
    ],
)
async def test_one_common_word_or_a_plain_statement_meets_no_need(need: str, statement: str) -> None:
    assert await relation(said("P01", 1, need, "direction"), said("P02", 1, statement)) is Relation.NONE_FOUND


async def test_one_rare_word_of_a_direct_offer_meets_a_need_in_singular_or_plural_also_where_the_tension_says_it() -> (
    None
):
    need = said("P01", 1, "I need somebody who understands microscopes and lenses.", "direction")
    offer = said("P02", 1, "I can clean a microscope, oil it and set it up.")
    assert await relation(need, offer) is Relation.COMPLEMENTARY


@pytest.mark.parametrize(("offering", "needing"), [("P01", "P02"), ("P02", "P01")])
async def test_a_relation_puts_each_sentence_into_the_mouth_of_whoever_said_it(offering: str, needing: str) -> None:
    offer, need = (
        "I can cut notched wooden tags that blind hands tell apart.",
        "I need tags that hands tell apart at night.",
    )
    draft = await observed(room(said(offering, 1, offer), said(needing, 1, need, "direction")))
    (pair,) = draft.pairs
    assert pair.relation is Relation.COMPLEMENTARY
    assert pair.text.startswith(f"{offering} says “{offer[:-1]}"), pair.text
    assert f"{needing} says “{need[:-1]}" in pair.text


async def test_a_collision_puts_each_sentence_into_the_mouth_of_whoever_said_it() -> None:
    draft = await observed(
        room(
            said("P01", 1, "I need the Thursday ferry before 16:00.", "direction"),
            said("P02", 1, "We need the Thursday ferry at 21:30.", "direction"),
        )
    )
    (pair,) = draft.pairs
    assert (
        pair.text.index("P01 says") < pair.text.index("16:00") < pair.text.index("P02 says") < pair.text.index("21:30")
    )


async def test_overlapping_directions_are_aligned() -> None:
    seen = await relation(
        said("P01", 1, "We hope to map orchards where bees die.", "direction", ("T",)),
        said("P02", 1, "My plan is a map of orchards where bees thrive.", "direction", ("T",)),
    )
    assert seen is Relation.ALIGNED


async def test_a_limit_against_a_condition_is_offsetting_even_without_a_shared_word() -> None:
    seen = await relation(
        said("P01", 1, "病历不外传，隐私由我们守着。", "boundary"),
        said("P02", 1, "处方要传到云平台才能用。", "boundary"),
    )
    assert seen is Relation.OFFSETTING


async def test_the_same_boat_at_two_hours_is_offsetting() -> None:
    seen = await relation(
        said("P01", 1, "I need the Thursday ferry before 16:00.", "direction"),
        said("P02", 1, "We need the Thursday ferry at 21:30.", "direction"),
    )
    assert seen is Relation.OFFSETTING


def test_one_pole_each_or_nothing() -> None:
    assert opposed("数据要传到云平台", "名单不外传") is not None
    assert opposed("数据要传到云平台", "数据也要上传") is None
    assert opposed("云平台上的数据不外传", "名单不外传") is None
    assert hours_apart("before 16:00", "after 21:30")
    assert not hours_apart("at 16:00", "at 17:00")


async def test_contributions_and_gaps() -> None:
    request = room(
        said("P01", 1, "I can tell mites from pesticide damage.", targets=("B1",)),
        said("P02", 1, "I won't go near the sprayed orchards.", "boundary", ("B2",)),
    )
    draft = await observed(request)
    effects = {(one.alias, one.target): one.effect for one in draft.contributions}
    assert effects == {("P01", "B1"): Effect.DISSOLVES, ("P02", "B2"): Effect.WORSENS}
    assert [(gap.target, gap.kind) for gap in draft.gaps] == [("B2", GapKind.OVERLOOKED)]
    assert not draft.ignored, "a limit asks nothing, so nobody leaves it unanswered"


async def test_a_need_that_nobody_meets_is_named_unless_the_demander_says_something_for_it() -> None:
    met, unmet = "I need a shed for my incubator.", "I need somebody who drives the samples to town."
    draft = await observed(room(said("P01", 1, met, "direction", ("E",)), said("P01", 2, unmet, "direction")))
    assert [note.sources for note in draft.ignored] == [["R1/P01/2"]]
    (told,) = draft.contributions
    assert (told.target, told.sources) == ("E", ["R1/P01/1"])
    assert (
        told.text
        == "P01 says “I need a shed for my incubator”: what the demander says of what is given in return (E) may be what P01 needs."
    )


@pytest.mark.parametrize(
    ("need", "offer"),
    [
        ("I look for somewhere dry, I have nowhere to keep my tools.", "The old barn behind our house stands empty."),
        ("We need a room for Tuesdays.", "Our hall is free on weekdays."),
    ],
)
async def test_a_free_place_meets_the_need_of_one_without_a_shared_word(need: str, offer: str) -> None:
    assert await relation(said("P01", 1, need, "direction"), said("P02", 1, offer)) is Relation.COMPLEMENTARY


@pytest.mark.parametrize(
    "offer", ["Our hall is never empty.", "I come if a room is free.", "We look for an empty hall too."]
)
async def test_a_place_that_is_not_free_or_a_condition_meets_no_need(offer: str) -> None:
    need = said("P01", 1, "We need a room for Tuesdays.", "direction")
    assert await relation(need, said("P02", 1, offer)) is Relation.NONE_FOUND


async def test_who_only_needs_something_for_a_barrier_contributes_nothing_to_it() -> None:
    """To help would contradict the gap, which says of the same barrier that no offer for it was found."""
    draft = await observed(
        room(
            said("P01", 1, "I can tell mites from pesticide damage.", targets=("B1",)),
            said("P02", 1, "I need somebody who drives the samples to town.", targets=("B2",)),
        )
    )
    [gap] = draft.gaps
    assert (gap.target, gap.kind) == ("B2", GapKind.OVERLOOKED)
    assert "no offer for it was found" in gap.text
    told = {one.target: one.text for one in draft.contributions}
    assert "touches it directly" in told["B1"]
    assert "B2" not in told


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_what_was_answered_in_other_words_is_said_not_to_be_found_and_never_that_nobody_answered(
    language: Language,
) -> None:
    """Comparing words, the engine does not see that these answer each other, and the barriers."""
    draft = await observed(
        room(
            said("P01", 1, "I need somebody who drives the samples to town.", "direction", ("B2",)),
            said("P02", 1, "My lorry goes to the city every Friday with room on it."),
        ).model_copy(update={"language": language})
    )
    found = {"en": "found in what", "zh": "没有找到"}[language]
    assert [gap.kind for gap in draft.gaps] == [GapKind.ABSENT, GapKind.OVERLOOKED]
    assert len(draft.ignored) == 1
    for one in (draft.gaps[0].text, draft.ignored[0].text):
        assert found in one
    assert "obody" not in draft.markdown.replace("Nobody in the valley", "")
    assert "没有人" not in draft.markdown


async def test_a_barrier_that_nobody_names_is_absent() -> None:
    draft = await observed(room(said("P01", 1, "I can tell mites from pesticide damage.", targets=("B1",))))
    assert [(gap.target, gap.kind) for gap in draft.gaps] == [("B2", GapKind.ABSENT)]


async def test_no_two_wordings_are_said_to_mean_the_same() -> None:
    """Whether they do cannot be seen by comparing words."""
    draft = await observed(
        room(
            said("P01", 1, "I can read slides in the laboratory.", targets=("B1",)),
            said("P02", 1, "Grandmother recognised sick brood by smell.", targets=("B1",)),
        )
    )
    assert not draft.translations


async def test_a_round_that_brings_nothing_is_exhausted() -> None:
    first = room(said("P01", 1, "I can tell mites from pesticide damage.", targets=("B1",)))
    assert (await observed(first)).verdict is Verdict.MORE
    silent = Projection(round=2, alias="P01", outcome=Outcome.NOTHING_NEW)
    second = first.model_copy(
        update={"round": 2, "exchange": (*first.exchange, Exchange(round=2, projections=(silent,)))}
    )
    assert (await observed(second)).verdict is Verdict.EXHAUSTED


async def test_the_catalyst_does_not_pass_on_a_recommendation() -> None:
    draft = await observed(
        room(
            said("P01", 1, "I recommend that you should hire my cousin.", targets=("B1",)),
            said("P02", 1, "I keep bees."),
        )
    )
    assert "cousin" not in draft.model_dump_json()
    assert [one.sources for one in draft.contributions] == [["R1/P01/1"]]


async def test_a_reask_for_pairs_gets_those_pairs_only() -> None:
    request = room(said("P01", 1, "I keep bees."), said("P02", 1, "I press wax."), said("P03", 1, "I sail."))
    draft = await observed(request.model_copy(update={"only_pairs": (("P01", "P03"),)}))
    assert [(pair.a, pair.b) for pair in draft.pairs] == [("P01", "P03")]
    assert not draft.contributions


# Plan and delivery


async def test_who_needs_waits_for_who_offers_and_nobody_waits_for_themselves() -> None:
    ran = await process(
        "en",
        TENSION,
        {
            "a": "## Offer\nI can tell mites from pesticide damage under a microscope.\n"
            "## Need\nI need a printed map of every orchard by the river.",
            "b": "## Offer\nI can draw a printed map of every orchard by the river, "
            "since the farmers tell me when they spray.",
        },
    )
    by_alias = {task.assignee: task for task in ran.plan.tasks if task.assignee != "P00"}
    assert by_alias["P01"].prerequisites == [by_alias["P02"].id]
    assert by_alias["P02"].prerequisites == []
    assert ran.plan.tasks[0].assignee == "P00"


async def test_an_uncovered_barrier_becomes_a_residual_tension() -> None:
    ran = await process("en", TENSION, {"a": "## Offer\nI can tell mites from pesticide damage under a microscope."})
    (residual,) = ran.plan.residuals
    assert "spray the orchards" in residual.barriers[0]
    assert residual.sources[0] == "T/B2"
    assert residual.initial_state == TENSION.initial_state


async def planned(*profiles: str) -> PlanDraft:
    return (await process("en", TENSION, {str(number): text for number, text in enumerate(profiles)})).plan


async def test_a_limit_that_says_what_others_need_is_no_wish() -> None:
    plan = await planned(
        PROFILE + "\nI cannot have visitors at the microscope, they need a pass for that.\n",
        "# Farm\nI can show on a map where the farmers spray the orchards.\n",
    )
    benefits = [claim.text for role in plan.roles for claim in role.benefits]
    assert benefits
    assert not any("visitors" in text for text in benefits)


async def test_what_is_listed_as_ones_own_stands_among_what_one_gives_and_a_plain_statement_does_not() -> None:
    plan = await planned(
        "# Schoolhouse\nI need a printed map of the orchards for my pupils.\n\n## What we have\n\n"
        "- Nine glass jars of river honey, from the old beekeepers.\n"
        "- A dry shed, the school's, with electricity.\n\n"
        "## How we work\n\nA shed is a cold place for bees in the spring.\n",
        "# Farm\nI can draw a printed map of the orchards and of the spray.\n",
    )
    given = [claim.text for claim in plan.roles[0].contributions]
    assert any("honey" in text for text in given)
    assert any("A dry shed" in text for text in given)
    assert not any("cold place" in text for text in given)


async def test_a_thing_that_is_looked_for_is_not_among_what_one_gives() -> None:
    plan = await planned(
        "# Painter\nI can paint tags that bees see.\n\n## What I look for\n\nA shed by the river, with electricity.\n"
    )
    assert not [claim.text for role in plan.roles for claim in role.contributions if "shed" in claim.text]


async def test_a_residual_tension_has_whole_sentences_or_shows_where_one_was_cut() -> None:
    long = "The hives stand in rows between the old mill and the weir, and every spring somebody counts them. " * 8
    tension = TENSION.model_copy(update={"initial_state": long.strip()})
    plan = (await process("en", tension, {"a": "# A\nI can play the accordion at weddings.\n"})).plan
    for residual in plan.residuals:
        for line in (residual.initial_state, *residual.barriers, residual.transition, residual.exchange):
            assert line.endswith((".", "…")), line


def test_a_few_words_of_a_sentence_show_where_they_were_cut() -> None:
    assert phrase("There are about three hundred feet of green rope with brass hooks in my boat.").endswith("…")
    assert phrase("I can lend a van.") == "lend a van"


async def test_those_who_declined_are_not_in_a_replan() -> None:
    ran = await process("en", TENSION, {"a": PROFILE, "b": PROFILE.replace("I teach", "I once taught")})
    request = PlannerRequest(
        language="en",
        tension=TENSION,
        exchange=ran.rounds,
        aliases=("P01", "P02"),
        without=("P02",),
        revision=2,
    )
    plan = (await ENGINE.answer(steps.PLAN, request, call("plan"))).draft
    assert [role.alias for role in plan.roles] == ["P01"]
    assert "P02" not in {task.assignee for task in plan.tasks}


async def test_a_proposal_that_cannot_be_worked_in_is_said_to_be_left_out() -> None:
    request = PlannerRequest(
        language="en", tension=TENSION, exchange=(), aliases=("P01",), proposals={"P01": "Begin in March."}, revision=2
    )
    plan = (await ENGINE.answer(steps.PLAN, request, call("plan"))).draft
    assert any("What P01 proposed is not worked into this version" in remark for remark in plan.remarks)


async def test_a_delivery_holds_the_own_part_only() -> None:
    plan = Plan(
        panorama=(),
        roles=(Role(alias="P01", role="reads slides"), Role(alias="P02", role="draws maps")),
        tasks=(
            Task(id="task/1", title="slides", assignee="P01"),
            Task(id="task/2", title="maps", assignee="P02"),
        ),
    )
    answer = await ENGINE.answer(steps.DELIVER, DeliveryRequest(language="en", alias="P01", plan=plan), call("deliver"))
    told = settle_delivery(answer.draft, alias="P01", plan=plan, language="en").markdown
    assert "slides" in told
    assert "maps" not in told
