"""The field: people from files, found by plain needs and from three perspectives; long profiles in pieces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tongyao.evals.field import LabelledNeed, evaluate_lists, interval
from tongyao.field.facets import Facet, split
from tongyao.field.intent_field import IntentField
from tongyao.field.perspectives import Match, union
from tongyao.field.profile_import import NotProfiles, import_profiles
from tongyao.field.retriever import ChunkRetriever
from tongyao.protocol.model.process import ProfileRef
from tongyao.protocol.model.tension import Tension
from tongyao.records.database import open_pool
from tongyao.records.people.profiles import Profiles
from tongyao.records.people.scenes import Scenes
from tongyao.records.privacy.texts import Texts

PEOPLE = {
    "baker": {"姓名": "阿面", "技能": "天然酵母面包、开烤箱、揉面", "在找": "想学做网页的人教我"},
    "coder": {"姓名": "小码", "技能": "前端网页开发、React、小程序", "兴趣": "想让老人也能用上网页"},
    "diver": {"姓名": "阿海", "技能": "潜水救援、水下摄影", "限制": "冬天不下水"},
    "farmer": "我种茶，做有机土壤。希望把茶园变成孩子的自然课堂。不接待旅游团。",
}


async def test_a_file_comes_in_and_its_people_are_found(fresh_database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "people.json"
    file.write_text(json.dumps(PEOPLE, ensure_ascii=False), encoding="utf-8")
    pool = await open_pool(fresh_database_url)
    try:
        profiles = Profiles(pool)
        report = await import_profiles(profiles, Scenes(pool), file, scene="s")
        assert (report.stored, report.refused) == (4, [])
        field = IntentField(pool)
        [found] = await field.relevant(["缺一个会写前端网页的人"], scene="s", top=2)
        assert found[0].profile_id == "coder"
        reason = found[0].reasons[0]
        text = await Texts(pool).get((await profiles.version("coder")).text_id)
        assert "网页" in text[reason["start"] : reason["end"]]

        await import_profiles(profiles, Scenes(pool), file, scene="s")
        assert (await profiles.version("coder")).version == 1, "the same file again changes nothing"

        await profiles.save("welder", scene_id="s", display_name="w", text="技能：氩弧焊焊接", grade="C", language="zh")
        [found] = await field.relevant(["谁会氩弧焊"], scene="s", top=1)
        assert found[0].profile_id == "welder", "who registers now is found now"
        await profiles.delete("welder")
        [found] = await field.relevant(["谁会氩弧焊"], scene="s", top=10)
        assert "welder" not in {one.profile_id for one in found}
    finally:
        await pool.close()


async def test_discovery_leaves_out_who_is_excluded_and_leads_with_the_union(
    fresh_database_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "people.json"
    file.write_text(json.dumps(PEOPLE, ensure_ascii=False), encoding="utf-8")
    pool = await open_pool(fresh_database_url)
    try:
        await import_profiles(Profiles(pool), Scenes(pool), file, scene="s")
        tension = Tension(
            transition="让老人用上网页", barriers=("没有人会前端网页开发",), exchange="教做面包", language="zh"
        )
        rows = await IntentField(pool).discover(tension, scene="s", limit=2, excluded=["diver"])
        first = list(dict.fromkeys(row.profile_id for row in rows))[:2]
        assert "coder" in first
        assert "diver" not in {row.profile_id for row in rows}
        keys = [(row.perspective, row.rank) for row in rows]
        assert len(keys) == len(set(keys))
    finally:
        await pool.close()


@pytest.mark.parametrize(
    ("content", "refused"),
    [
        ('{"a": {}, "b": "会做饭"}', ["a"]),
        ('{"a": "会做饭", "a": "会唱歌"}', ["a"]),
        ('[{"id": "a", "bio": "会做饭"}, 7]', ["entry-2"]),
    ],
)
async def test_what_is_refused_is_named_and_the_rest_comes_in(
    fresh_database_url: str, tmp_path: Path, content: str, refused: list[str]
) -> None:
    file = tmp_path / "people.json"
    file.write_text(content, encoding="utf-8")
    pool = await open_pool(fresh_database_url)
    try:
        report = await import_profiles(Profiles(pool), Scenes(pool), file, scene="s")
        assert report.stored == 1
        assert [id for id, _ in report.refused] == refused
    finally:
        await pool.close()


@pytest.mark.parametrize("content", [b"\xff\xfe", b"{", b"7"])
async def test_a_file_that_holds_no_profiles_is_refused_whole(
    fresh_database_url: str, tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "people.json"
    file.write_bytes(content)
    pool = await open_pool(fresh_database_url)
    try:
        with pytest.raises(NotProfiles, match=r"people\.json"):
            await import_profiles(Profiles(pool), Scenes(pool), file, scene="s")
    finally:
        await pool.close()


def test_fields_and_prose_are_split_by_side() -> None:
    text = "姓名：阿海\n技能：潜水救援\n兴趣：珊瑚\n简介：我拍水下的照片。希望有人一起去。"
    sides = {(chunk.facet, text[chunk.start : chunk.end]) for chunk in split(text)}
    assert {
        (Facet.IDENTITY, "阿海"),
        (Facet.OFFERS, "潜水救援"),
        (Facet.MOVES, "珊瑚"),
        (Facet.OFFERS, "我拍水下的照片。"),
        (Facet.NEEDS, "希望有人一起去。"),
    } == sides


def test_interference_is_never_below_the_others() -> None:
    lists = {
        name: [Match(name, f"{name}-{number}", 1.0, []) for number in range(8)]
        for name in ("resonance", "complement", "interference")
    }
    for limit in range(1, 9):
        first = [one.perspective for one in union(lists, limit)[:limit]]
        assert first.count("interference") >= max(first.count("resonance"), first.count("complement"))


async def test_pieces_of_a_long_profile_are_verbatim_in_order_and_within_the_budget() -> None:
    text = "".join(f"第{number}天我在山里记录鸟的叫声。" for number in range(6000)) + "我会修方言语音识别模型。"
    tension = Tension(transition="听懂方言", barriers=("没有方言语音识别模型",), language="zh")
    retriever = ChunkRetriever(budget_chars=3000)
    ref = ProfileRef(profile_id="p", version=1)
    material = await retriever.retrieve(ref, text, tension)
    assert material == await retriever.retrieve(ref, text, tension)
    assert all(text[piece.start : piece.start + len(piece.text)] == piece.text for piece in material.pieces)
    assert [piece.start for piece in material.pieces] == sorted(piece.start for piece in material.pieces)
    assert material.shown_chars <= 3000
    assert "方言语音识别" in material.text


async def test_a_long_profile_is_searched_for_the_focus_of_a_round_in_place_of_the_tension() -> None:
    birds = "".join(f"第{number}天我在山里记录鸟的叫声。" for number in range(4000))
    speech = "".join(f"第{number}次我修方言语音识别模型。" for number in range(200))
    text = birds[:40_000] + "我在码头有一间冷库，周日空着。" + birds[40_000:] + speech
    tension = Tension(transition="听懂方言", barriers=("没有方言语音识别模型",), language="zh")
    retriever, ref = ChunkRetriever(budget_chars=1200), ProfileRef(profile_id="p", version=1)
    assert "冷库" not in (await retriever.retrieve(ref, text, tension)).text
    material = await retriever.retrieve(ref, text, tension, ("谁在码头有一间冷库，周日空着？",))
    assert "我在码头有一间冷库" in material.text
    assert not any(piece.labels for piece in material.pieces), "a label is a line of the tension"
    assert material.shown_chars <= 1200


def test_a_need_passes_at_its_minimum() -> None:
    needs = [LabelledNeed(need="x", expected=["a", "b"], minimum=2, level="direct")]
    assert evaluate_lists(needs, [["a", "c"]])[-1].passed == 0
    assert evaluate_lists(needs, [["b", "a"]])[-1].passed == 1
    low, high = interval(16, 20)
    assert 0.58 < low < 0.59 and 0.91 < high < 0.93


def test_a_refusal_stands_on_the_side_of_needs_and_refusals() -> None:
    for refusal in (
        "I never lend out the trike.",
        "The saw is not for hire.",
        "I lend my press to nobody.",
        "三轮车不外借。",
        "车不给别人开。",
    ):
        [chunk] = split(f"I can mend nets.\n{refusal}" if refusal.isascii() else f"我能补网。{refusal}")[1:]
        assert chunk.facet is Facet.NEEDS, refusal
