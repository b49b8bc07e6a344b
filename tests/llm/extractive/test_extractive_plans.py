"""What a plan without a model says: the demander's matter first, in whole sentences, and no more than shared words can tell."""

from __future__ import annotations

import pytest

from tests.llm.extractive.extractive_process import Ran, process
from tests.llm.extractive.extractive_requests import TENSION, observed, room, said
from tongyao.llm.extractive.cues import Cue, cues_in
from tongyao.llm.extractive.planner import plan as extractive_plan
from tongyao.llm.extractive.wording import PHRASE, excerpt, phrase
from tongyao.protocol.model.observation import Observation, Pair, Relation
from tongyao.protocol.model.plan import PlanDraft
from tongyao.protocol.model.requests import Language, PlannerRequest
from tongyao.protocol.model.sizes import units
from tongyao.protocol.model.tension import Tension

TENSION_ZH = Tension(
    transition="从没人看的旧胶片，到镇上的人能一起看的放映",
    initial_state="文化站楼上有六百卷胶片，放在木柜里。",
    barriers=("胶片发霉，没有人会修。", "放映机坏了两台。"),
    exchange="可以把二楼的木柜和两间屋子借出去。",
)


async def ran(*profiles: str, tension: Tension = TENSION) -> Ran:
    language: Language = "zh" if tension is TENSION_ZH else "en"
    return await process(language, tension, {str(number): text for number, text in enumerate(profiles)})


async def planned(*profiles: str, tension: Tension = TENSION) -> PlanDraft:
    return (await ran(*profiles, tension=tension)).plan


# Offers


@pytest.mark.parametrize(
    "offer",
    [
        "My two nephews can paint tags for the hives.",
        "Our barn stands empty from November on.",
        "The trailer is free on Sundays.",
        "Three of us can carry frames in the evening.",
        "You may use the press behind the mill.",
        "There are two seats left in the school bus.",
        "我家的两个侄子周末能刷木牌。",
        "我们厂里的叉车晚上可以用。",
        "谷仓十一月以后空着。",
    ],
)
def test_an_offer_may_have_another_subject_than_i(offer: str) -> None:
    assert Cue.OFFER in cues_in(offer)


@pytest.mark.parametrize(
    "sentence",
    [
        "Our old press cannot take a second shift.",
        "My mother could never read the labels.",
        "Six evenings a month, unpaid, if the tram is free.",
        "There is no room left in the cellar.",
        "我们没想过怎么能让他们来。",
        "I do not lend the trike.",
        "I lend no tools.",
        "The trike is not for lending.",
        "三轮车不外借。",
        "锯子恕不出借。",
    ],
)
def test_who_cannot_or_refuses_or_makes_it_a_condition_offers_nothing(sentence: str) -> None:
    assert Cue.OFFER not in cues_in(sentence)


async def test_what_somebodys_people_can_do_stands_in_the_plan_and_its_barrier_is_not_called_open() -> None:
    plan = await planned("# Nursery\nMy two nephews can look for mites under the microscope on Sundays.\n")
    assert "My two nephews" in plan.roles[0].contributions[0].text
    assert any("My two nephews" in task.title and task.assignee == "P01" for task in plan.tasks)
    assert not any("T/B1" in residual.sources for residual in plan.residuals)


# Cut sentences


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("I can weld small frames.", "weld small frames"),
        ("I would ask the school first.", "I would ask the school first"),
        (
            "We used to send the brass band to the spring market with two carts that the brewery lent us for the day.",
            "We used to send the brass band to the spring market with two carts…",
        ),
        (
            "The mill keeps a cold room at four degrees, and since the autumn nobody has asked me for more than one shelf of it.",
            "The mill keeps a cold room at four degrees…",
        ),
        ("磨坊里有一间四度的冷库，从秋天到现在没有人向我要过一层以上的架子。", "磨坊里有一间四度的冷库…"),
    ],
)
def test_a_label_is_a_whole_sentence_or_ends_where_a_phrase_ends(sentence: str, told: str) -> None:
    assert phrase(sentence) == told


@pytest.mark.parametrize("limit", range(6, 40))
def test_a_quotation_never_ends_with_a_word_that_waits_for_the_next(limit: int) -> None:
    text = (
        "My cousin drives to the coast on Mondays with a van that is half empty, so that the crates of the mill could go along "
        "for the price of the fuel, and he would rather have somebody to talk to than be paid."
    )
    cut = excerpt(text, limit)
    assert units(cut) <= limit
    assert cut.removesuffix("…").split()[-1].lower() not in {
        "a", "an", "the", "and", "or", "of", "to", "so", "that", "is", "with", "on", "for", "be", "than", "could", "would",
    }  # fmt: skip


async def test_labels_fit_into_one_line_of_a_table() -> None:
    plan = await planned(
        "# A\nI can tell mites from pesticide damage under a microscope, which I learned in the army from a vet who kept bees himself "
        "and never let a colony die.\n"
    )
    assert units(plan.roles[0].role) <= PHRASE


# What a plan is about


async def test_where_nothing_touches_the_tension_the_plan_says_so_first_and_what_can_be_done() -> None:
    plan = await planned(
        "# Smith\nI can forge ship anchors of any weight.\n", "# Skipper\nI need ship anchors for my two barges.\n"
    )
    assert plan.panorama == [] or plan.panorama[0].text.startswith("Nothing that was said here shares words with")
    assert [task.assignee for task in plan.tasks] == ["P00"]
    assert "other people" in plan.tasks[0].title
    assert not any(role.contributions for role in plan.roles)


async def test_what_two_people_have_with_each_other_alone_comes_last_and_short() -> None:
    microscope = "I can tell mites from pesticide damage under a microscope."
    done = await ran(
        f"# Smith\n{microscope}\nI can forge ship anchors of any weight.\n",
        f"# Skipper\n{microscope}\nI need ship anchors for my two barges.\n",
    )
    assert [pair.relation for pair in done.last.pairs] == [Relation.COMPLEMENTARY]
    *first, last = done.plan.panorama
    assert any("microscope" in claim.text for claim in first)
    assert not any("anchors" in claim.text for claim in first)
    assert "P01 and P02" in last.text
    assert "anchors" not in last.text
    assert not any("anchors" in task.title for task in done.plan.tasks)


async def test_a_plan_says_which_words_are_shared_and_not_that_somebody_has_something_against_a_barrier() -> None:
    plan = await planned("# A\nI can tell mites from pesticide damage under a microscope.\n")
    (claim, *_) = plan.panorama
    assert claim.text.startswith("On “Nobody in the valley can tell pesticide damage")
    assert "P01 says “mites”, “pesticide”, “damage” and “microscope” too, in “I can tell mites" in claim.text
    assert "T/B1" in claim.sources


async def test_a_plain_fact_is_no_step() -> None:
    plan = await planned(
        "# A\nThe farmers hide from everybody when they spray the orchards.\nI can tell mites from pesticide damage.\n"
    )
    assert not any("hide" in task.title for task in plan.tasks)


async def test_of_a_thing_that_somebody_only_has_the_step_is_a_question() -> None:
    plan = await planned("# A\nI have a microscope for mites and pesticide damage.\n")
    (task,) = [task for task in plan.tasks if task.assignee == "P01"]
    assert task.question
    assert task.title.startswith("Say whether you would give this here: “I have a microscope")


async def test_what_somebody_only_does_or_has_done_is_a_question_and_one_shared_word_of_it_is_not_enough() -> None:
    plan = await planned(
        "# A\nI have taught people to count mites under the microscope.\n",
        "# B\nIn the summer I drive past the orchards with my drum.\n",
    )
    (task,) = [task for task in plan.tasks if task.assignee != "P00"]
    assert task.assignee == "P01"
    assert task.question


async def test_what_somebody_looks_for_is_no_step_of_theirs() -> None:
    plan = await planned("# A\nI would like somebody who can tell mites from pesticide damage.\n")
    assert not [task for task in plan.tasks if task.assignee == "P01"]


async def test_a_condition_is_nothing_that_somebody_has() -> None:
    need = said("P01", 1, "I need a tram at dawn.", "direction")
    condition = said("P02", 1, "I can read to the old people on Mondays if the tram is paid.")
    offer = said("P02", 1, "I can lend a tram of my own.")
    assert (await observed(room(need, condition))).pairs[0].relation is Relation.NONE_FOUND
    assert (await observed(room(need, offer))).pairs[0].relation is Relation.COMPLEMENTARY


# What stays open


async def test_a_barrier_that_nobody_speaks_of_stays_open_in_a_sentence_that_is_understood_at_once() -> None:
    plan = await planned("# A\nI can tell mites from pesticide damage under a microscope.\n")
    (residual,) = plan.residuals
    barrier = "The farmers do not say when they spray the orchards"
    assert residual.title == f"Nothing was found on this: “{barrier}”"
    assert residual.transition == f"Find somebody who can help with this: “{barrier}”."
    assert residual.barriers == [f"{barrier}."]


async def test_a_barrier_that_was_named_without_any_offer_is_told_from_one_that_nobody_named() -> None:
    plan = await planned(
        "# A\nI need to know when the farmers spray the orchards.\nI can tell mites from pesticide damage.\n"
    )
    (residual,) = plan.residuals
    assert residual.title.startswith("No offer for this was found here: “The farmers do not say")


async def test_what_a_residual_gives_is_what_the_demander_offered() -> None:
    plan = await planned("# A\nI can tell mites from pesticide damage under a microscope. I can lend my boat.\n")
    assert {residual.exchange for residual in plan.residuals} == {TENSION.exchange}


async def test_a_chinese_plan_says_the_same_in_chinese() -> None:
    plan = await planned("# 老周\n我会修发霉的胶片。\n", tension=TENSION_ZH)
    assert plan.panorama[0].text.startswith("关于「胶片发霉，没有人会修」：P01 的话里也有")
    (residual,) = plan.residuals
    assert residual.title == "没有找到说到这一点的话：「放映机坏了两台」"
    assert residual.transition == "找到对这一条有办法的人：「放映机坏了两台」。"


async def test_nobody_is_known_by_a_refusal_who_said_something_else() -> None:
    plan = await planned(
        "I do not lend the slide projector.\n\nMy aunt has counted old slides for nine years.\n",
        "I can clean old slides and film.\n",
    )
    assert not any("do not lend" in role.role for role in plan.roles)


async def test_a_plan_without_somebody_keeps_what_the_others_give() -> None:
    request = room(
        said("P01", 1, "I need a kiln before I can dry the mites and the bees under a microscope.", targets=("B1",)),
        said("P02", 1, "We have a kiln in the yard behind the library."),
        said("P03", 1, "I can tell mites from pesticide damage under a microscope.", targets=("B1",)),
    )
    related = Pair(
        id="R1/catalyst/1",
        a="P01",
        b="P02",
        relation=Relation.COMPLEMENTARY,
        sources=("R1/P01/1", "R1/P02/1"),
        text="P02 has the kiln that P01 needs.",
    )
    seen = Observation(round=1, verdict="more", pairs=(related,))
    rounds = (request.exchange[0].model_copy(update={"observation": seen}),)
    aliases = ("P01", "P02", "P03")
    asked = PlannerRequest(language="en", tension=TENSION, exchange=rounds, aliases=aliases, revision=1)
    without = asked.model_copy(update={"aliases": aliases[1:], "without": ("P01",), "revision": 2})
    first, second = extractive_plan(asked), extractive_plan(without)
    given = {role.alias: [claim.text for claim in role.contributions] for role in first.roles}
    assert given["P02"] and given["P03"], given
    assert {role.alias: [claim.text for claim in role.contributions] for role in second.roles} == {
        alias: given[alias] for alias in aliases[1:]
    }
    assert "P01" not in second.model_dump_json()
