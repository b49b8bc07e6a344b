"""What the three perspectives are, and what a scene may set of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tongyao.field.intent_field import IntentField
from tongyao.field.perspectives import PERSPECTIVES, Match, TensionScores, union
from tongyao.field.scene import Scene
from tongyao.protocol.model.tension import Tension
from tongyao.records.database import Pool, open_pool
from tongyao.records.people.profiles import Profiles
from tongyao.records.people.scenes import Scenes

OTHERS = {f"other-{n}": f"技能：{craft}\n兴趣：{craft}的历史\n在找：{craft}的学徒" for n, craft in enumerate(
    ["打铁", "酿酒", "养蜂", "刻章", "烧陶", "织布", "造纸", "木雕", "制墨", "修表", "做伞", "榨油"]
)}  # fmt: skip
TENSION = Tension(
    transition="把方言童谣传给下一代", barriers=("没有人会方言录音整理",), exchange="教钢琴", language="zh"
)


@pytest.fixture
async def pool(fresh_database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(fresh_database_url)
    yield pool
    await pool.close()


def lists(people: dict[str, str], **options: Any) -> dict[str, list[Match]]:
    return TensionScores(Scene.of({**people, **OTHERS}), TENSION, **options).lists(5)


def test_resonance_is_the_same_change_in_what_somebody_moves_toward() -> None:
    found = lists({"singer": "兴趣：想把方言童谣唱给下一代\n技能：会计", "archivist": "技能：方言童谣传给下一代的书"})
    assert found["resonance"][0].profile_id == "singer"
    [reason] = found["resonance"][0].reasons
    assert (reason["part"], reason["facet"]) == ("T", "moves")


def test_in_complement_who_fits_both_ways_stands_above_who_fits_better_one_way() -> None:
    found = lists(
        {
            "both": "技能：方言录音\n在找：想学钢琴，求人教钢琴",
            "one": "技能：方言录音整理、方言录音整理",
        }
    )
    assert [one.profile_id for one in found["complement"][:2]] == ["both", "one"]
    assert [(one["part"], one["facet"]) for one in found["complement"][0].reasons] == [("B1", "offers"), ("E", "needs")]
    assert [(one["part"], one["facet"]) for one in found["complement"][1].reasons] == [("B1", "offers")]


def test_interference_is_near_in_one_thing_and_far_in_the_others() -> None:
    found = lists(
        {
            "far": "技能：屋顶防水\n兴趣：登山\n在找：方言童谣",
            "alike": "技能：方言录音整理\n兴趣：方言童谣传给下一代\n在找：钢琴老师教方言童谣",
        }
    )
    order = [one.profile_id for one in found["interference"]]
    assert order[0] == "far"
    assert found["interference"][0].reasons[0]["facet"] == "needs"


def test_who_is_left_out_is_in_no_list_and_a_threshold_shortens_lists() -> None:
    people = {"singer": "兴趣：想把方言童谣唱给下一代"}
    assert "singer" not in {one.profile_id for found in lists(people, excluded=["singer"]).values() for one in found}
    assert [one.profile_id for one in lists(people, threshold=3.0)["resonance"]] == ["singer"]


def test_among_no_more_people_than_are_asked_for_nobody_is_left_out_for_being_below_the_mean() -> None:
    """The demander, whose words the tension has, raises the mean above nearly everybody in a small room."""
    people = {
        "me": "我想把方言童谣传给下一代，会教钢琴",
        "smith": "技能：打铁，也会修铁门和农具\n兴趣：爬山\n在找：木炭",
        "potter": "技能：烧陶、录音整理\n兴趣：釉色\n在找：黏土",
        "weaver": "技能：织布\n兴趣：棉花，想把手艺传给下一代\n在找：钢琴老师",
    }

    def found(limit: int, **options: Any) -> list[str]:
        return [
            one.profile_id
            for one in TensionScores(Scene.of(people), TENSION, ["me"], **options).lists(limit)["complement"]
        ]

    assert found(3) == ["smith", "potter", "weaver"]
    assert found(2) == ["smith", "potter"]
    assert found(3, threshold=3.0) == ["smith"], "a threshold that somebody set holds"


@pytest.mark.parametrize("sample_first", [False, True])
async def test_registered_people_stand_before_samples_where_scores_tie(pool: Pool, sample_first: bool) -> None:
    profiles = Profiles(pool)
    await Scenes(pool).put("s", "A scene")
    for id, text in OTHERS.items():
        await profiles.save(id, scene_id="s", display_name=id, text=text, grade="B", language="zh")
    names = ("a-sample", "z-person") if sample_first else ("z-sample", "a-person")
    for id in names:
        contact: dict[str, Any] | None = {"sample": True} if "sample" in id else None
        await profiles.save(
            id, scene_id="s", display_name=id, text="技能：方言录音", grade="B", language="zh", contact=contact
        )
    [found] = await IntentField(pool).relevant(["谁会方言录音"], scene="s", top=2)
    assert [one.profile_id for one in found] == [names[1], names[0]]
    assert found[0].score == found[1].score


async def test_a_scene_sets_how_many_and_which_share_and_its_nonsense_is_left_aside(pool: Pool) -> None:
    profiles = Profiles(pool)
    await Scenes(pool).put("s", "A scene", {"field": {"k": 2, "shares": {"resonance": 0, "complement": 0}}})
    for id, text in OTHERS.items():
        await profiles.save(id, scene_id="s", display_name=id, text=text, grade="B", language="zh")
    tension = TENSION.model_copy(update={"transition": "养蜂", "barriers": ("没有人会打铁", "没有人刻章")})
    field = IntentField(pool)
    rows = await field.discover(tension, scene="s", limit=8, excluded=[])
    assert [row.perspective for row in rows[:2]] == ["interference", "interference"]
    await Scenes(pool).put("s", "A scene", {"field": {"k": "many"}})
    assert len({row.profile_id for row in await field.discover(tension, scene="s", limit=3, excluded=[])}) >= 3


async def test_a_profile_may_itself_be_the_question(pool: Pool) -> None:
    profiles = Profiles(pool)
    await Scenes(pool).put("s", "A scene")
    for id, text in {**OTHERS, "smith": "技能：打铁、淬火\n兴趣：古剑"}.items():
        await profiles.save(id, scene_id="s", display_name=id, text=text, grade="B", language="zh")
    found = await IntentField(pool).near_profile("smith", top=3)
    assert found[0].profile_id == "other-0"
    assert "smith" not in {one.profile_id for one in found}


def test_the_union_keeps_shares_and_interference_is_never_below() -> None:
    found = {name: [Match(name, f"{name}-{number}", 1.0, []) for number in range(8)] for name in PERSPECTIVES}
    first = [one.perspective for one in union(found, 8, {"resonance": 4, "complement": 1, "interference": 0})[:8]]
    assert first.count("interference") >= first.count("resonance") > first.count("complement") >= 0
