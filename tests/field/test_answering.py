"""Who answers a standing tension: the nearest of the scene for all of it at once, and near enough (docs/field.md §3)."""

from __future__ import annotations

from tongyao.field.relevance import answering
from tongyao.field.scene import Scene
from tongyao.protocol.model.tension import Tension

CRANE = Tension(
    transition="From lifting crates by hand to lifting them with a harbour crane.",
    initial_state="Two jetties and a hand winch from 1961.",
    barriers=("Nobody here has a licence for a crane.",),
    exchange="A berth in winter.",
)
RIGHT = "I hold a licence for a harbour crane and have lifted crates from two jetties. I can offer a crane."
TRADES = ("apples", "clocks", "stamps", "shoes", "bread", "nets", "maps", "bells", "hats", "jars", "ropes", "soap")
ENGLISH = {f"en-{what}": f"I mend {what} and would like to offer {what} to people who need them." for what in TRADES}
CHINESE = {
    f"zh-{n}": f"我在第{n}条街上修{what}，周末可以教人，也想学做饭。"
    for n, what in enumerate("钟表鞋伞琴车船灯锅窗椅床" * 8)
}


def found(people: dict[str, str], threshold: float = 12.0) -> list[str]:
    return [one.profile_id for one in answering(Scene.of(people), CRANE, top=3, threshold=threshold)]


def test_who_alone_is_near_answers_in_a_scene_of_any_size() -> None:
    few = {"right": RIGHT, **dict(list(ENGLISH.items())[:3])}
    assert found(few) == ["right"]
    assert found({"right": RIGHT, **ENGLISH}) == ["right"]
    assert found({"right": RIGHT, **ENGLISH, **CHINESE}) == ["right"]


def test_nobody_answers_because_they_write_in_the_same_language() -> None:
    """Among many who write Chinese everybody who writes English shares ordinary words with an English tension."""
    assert found({**ENGLISH, **CHINESE}) == []


def test_a_candidate_has_the_part_that_they_are_nearest_to_and_its_perspective() -> None:
    [one] = answering(Scene.of({"right": RIGHT, **ENGLISH}), CRANE, top=3, threshold=12.0)
    [reason] = one.reasons
    assert (one.perspective, reason["part"], reason["facet"]) in {
        ("complement", "B1", "offers"),
        ("interference", "T", "offers"),
    }
    assert RIGHT[reason["start"] : reason["end"]] in RIGHT


def test_who_is_nearer_takes_the_place_unless_they_are_left_out() -> None:
    scene = Scene.of({"other": RIGHT.replace("from two jetties", "of apples"), "right": RIGHT, **ENGLISH})
    [first] = answering(scene, CRANE, top=1)
    assert first.profile_id == "right"
    [second] = answering(scene, CRANE, top=1, excluded=["right"])
    assert second.profile_id == "other"
