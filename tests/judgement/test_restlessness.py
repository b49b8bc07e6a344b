"""What keeps a room busy without need: open frameworks, gaps that come back, repeated items."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from activities.project import _review
from tests.judgement.rooms import exchange, gap, item, request, seen, tension
from tongyao.llm.parts import parts_of
from tongyao.llm.rendering import catalyst
from tongyao.protocol.guards.observation_review import settle_observation
from tongyao.protocol.model.observation import Basis, GapKind, Note, Observation, ObservationDraft, Verdict
from tongyao.protocol.model.projection import (
    Dimension,
    EndpointKind,
    ItemDraft,
    Outcome,
    Projection,
    ProjectionDraft,
)
from tongyao.protocol.model.requests import EndpointRequest, Exchange
from tongyao.protocol.rules.catalyst_task import catalyst_task

PROFILE = "I keep a cold room. It is empty after ten. I lend it to nobody on Fridays. My van holds six crates."


def settled(rounds: list[Exchange], guards: Counter[str] | None = None, **draft: Any) -> Observation:
    return settle_observation(ObservationDraft.model_validate(draft), request(rounds), guards=guards)


def framework(*sources: str, name: str = "order") -> dict[str, Any]:
    return {"name": name, "text": "its slots", "sources": list(sources)}


def first(**observed: Any) -> Exchange:
    """Two quoted items of each of P01 and P02."""
    said = [item(f"R1/{alias}/{n}", quote=(n * 100, n * 100 + 50)) for alias in ("P01", "P02") for n in (1, 2)]
    return exchange(1, said, seen(1, **observed))


OPEN = Note(id="R1/catalyst/9", name="order", text="its slots", sources=("R1/P01/1", "R1/P02/1"))


def test_a_framework_rests_on_quoted_items_of_two_participants() -> None:
    bare = exchange(1, [item("R1/P01/1", quote=(0, 9)), item("R1/P02/1")])
    assert settled([bare], frameworks=[framework("R1/P01/1", "R1/P02/1")]).frameworks == ()
    quoted = exchange(1, [item("R1/P01/1", quote=(0, 9)), item("R1/P02/1", quote=(0, 9))])
    assert len(settled([quoted], frameworks=[framework("R1/P01/1", "R1/P02/1")]).frameworks) == 1


def test_one_framework_is_open_at_a_time() -> None:
    guards: Counter[str] = Counter()
    two = [framework("R1/P01/1", "R1/P02/1"), framework("R1/P01/2", "R1/P02/2", name="another")]
    (only,) = settled([first().model_copy(update={"observation": None})], guards, frameworks=two).frameworks
    assert (only.name, guards["frameworks_refused"]) == ("order", 1)


def test_a_framework_that_is_answered_stays_open_under_its_id_and_no_other_is_opened() -> None:
    answered = exchange(2, [item("R2/P01/1", quote=(0, 9), answers=(OPEN.id,))])
    rounds = [first(frameworks=(OPEN,)), answered]
    seen_next = settled(rounds, frameworks=[framework("R1/P01/2", "R1/P02/2", name="another")])
    assert seen_next.frameworks == (OPEN,)
    assert catalyst_task(request(rounds)).framework == OPEN


def test_a_framework_that_nobody_answers_is_closed_and_none_stands_on_its_items_again() -> None:
    rounds = [first(frameworks=(OPEN,)), exchange(2, [item("R2/P01/1", quote=(300, 350))])]
    assert settled(rounds).frameworks == ()
    assert settled(rounds, frameworks=[framework("R1/P01/1", "R1/P02/1", name="again")]).frameworks == ()
    assert settled(rounds, frameworks=[framework("R2/P01/1", "R1/P02/1", name="half")]).frameworks == ()
    (new,) = settled(rounds, frameworks=[framework("R2/P01/1", "R1/P02/2", name="new")]).frameworks
    assert new.id.startswith("R2/catalyst/")


def test_what_was_called_absent_is_overlooked_only_by_a_fact_stated_since() -> None:
    absent = gap("R1/catalyst/9", "B2", GapKind.ABSENT)
    fact = item("R2/P01/1", quote=(400, 450), targets=("B2",))
    old_quote = item("R2/P01/2", quote=(100, 150), targets=("B2",))
    guess = item("R2/P01/3", quote=(500, 550), targets=("B2",), inferred=True)
    rounds = [first(gaps=(absent,)), exchange(2, [fact, old_quote, guess])]
    for sources, kind in (
        ([fact.id], GapKind.OVERLOOKED),
        ([old_quote.id], GapKind.ABSENT),
        ([guess.id], GapKind.ABSENT),
        (["R1/P01/1"], GapKind.ABSENT),
        ([], GapKind.ABSENT),
    ):
        said = {"kind": "overlooked", "target": "B2", "text": "…", "sources": sources}
        (found,) = settled(rounds, gaps=[said]).gaps
        assert found.kind is kind, sources
    (other,) = settled(rounds, gaps=[{"kind": "overlooked", "target": "B1", "text": "…"}]).gaps
    assert other.kind is GapKind.OVERLOOKED


def test_another_gap_on_a_part_that_was_called_absent_is_overlooked_whatever_its_words() -> None:
    absent = gap("R1/catalyst/9", "B2", GapKind.ABSENT).model_copy(update={"text": "nobody here owns a heated yard"})
    rounds = [first(gaps=(absent,)), exchange(2, [item("R2/P01/1", quote=(400, 450))])]
    said = {
        "kind": "overlooked",
        "target": "B2",
        "sources": ["R1/P01/1"],
        "text": "who here owns a heated yard on Fridays",
    }
    seen_next = settled(rounds, gaps=[said])
    assert (seen_next.gaps[0].kind, seen_next.gaps[0].same_as) == (GapKind.OVERLOOKED, ())
    assert seen_next.not_taken == ()


def test_a_gap_that_repeats_an_absent_one_by_its_id_stays_absent_and_the_next_request_says_why() -> None:
    absent = gap("R1/catalyst/9", "B2", GapKind.ABSENT).model_copy(update={"text": "nobody here owns a heated yard"})
    rounds = [first(gaps=(absent,)), exchange(2, [item("R2/P01/1", quote=(400, 450))])]
    said = {
        "kind": "overlooked",
        "target": "B2",
        "sources": ["R1/P01/1"],
        "text": "a warm place",
        "same_as": [absent.id],
    }
    seen_next = settled(rounds, gaps=[said])
    assert (seen_next.gaps[0].kind, seen_next.gaps[0].same_as) == (GapKind.ABSENT, (absent.id,))
    later = [rounds[0], rounds[1].model_copy(update={"observation": seen_next}), exchange(3, [item("R3/P01/1")])]
    line = "not taken over: The gap on B2 that repeats R1/catalyst/9 stays absent"
    assert line in "\n".join(block.text for block in catalyst(request(later)))


def test_a_gap_names_an_earlier_one_on_its_own_part_only() -> None:
    absent = gap("R1/catalyst/9", "B2", GapKind.ABSENT)
    rounds = [first(gaps=(absent,)), exchange(2, [item("R2/P01/1", quote=(400, 450))])]
    said = {"kind": "absent", "text": "a bell", "same_as": [absent.id, "R1/P01/1", "R9/catalyst/9"]}
    assert [one.same_as for one in settled(rounds, gaps=[{**said, "target": part} for part in ("B2", "B1")]).gaps] == [
        (absent.id,),
        (),
    ]


def test_a_contribution_that_rests_on_inferences_alone_keeps_its_hedge() -> None:
    said = [item("R1/P01/1", quote=(0, 9), inferred=True), item("R1/P01/2", quote=(20, 29))]
    for sources, basis in (
        (["R1/P01/1"], Basis.INFERRED),
        (["R1/P01/1", "R1/P01/2"], Basis.STATED),
        ([], Basis.INFERRED),
    ):
        one = {"alias": "P01", "target": "B1", "effect": "helps", "text": "…", "sources": sources}
        assert settled([exchange(1, said)], contributions=[one]).contributions[0].basis is basis


def test_the_catalyst_is_told_which_parts_no_item_is_aimed_at() -> None:
    rounds = [exchange(1, [item("R1/P01/1", targets=("B1", "T"))]), exchange(2, [item("R2/P02/1", targets=("E",))])]
    assert catalyst_task(request(rounds, barriers=3)).untouched == ("I", "B2", "B3")


def turn(number: int, **draft: Any) -> tuple[Projection, Any]:
    """A proxy's answer in round `number`, after a first turn that quoted the profile's first sentence."""
    own = (
        Projection(
            round=1, alias="P01", outcome=Outcome.REPLIED, items=(item("R1/P01/1", quote=(0, 19), targets=("B1",)),)
        ),
    )
    asked = EndpointRequest(
        language="en",
        alias="P01",
        round=number,
        tension=tension(),
        observations=(seen(number - 1, gaps=(gap(f"R{number - 1}/catalyst/1", "B2"),)),),
        own=own,
    )
    return _review(asked, PROFILE, (), EndpointKind.PROXY, ProjectionDraft.model_validate(draft))


def drafted(claim: str, quote: str, **fields: Any) -> ItemDraft:
    return ItemDraft(dimension=Dimension.CAPABILITY, claim=claim, quotes=[quote] if quote else [], **fields)


OLD, NEW = "I keep a cold room.", "My van holds six crates."


@pytest.mark.parametrize(
    ("number", "said", "repeats"),
    [
        (2, drafted("again", OLD), False),
        (3, drafted("again", OLD), True),
        (3, drafted("new", NEW), False),
        (3, drafted("an answer", OLD, targets=["B2"], answers=["R2/catalyst/1"]), False),
        (3, drafted("taken back", "", inferred=True, starts_from=["R1/P01/1"], withdraws=["R1/P01/1"]), False),
        (3, drafted("an answer to nothing", OLD, answers=["R2/catalyst/7"]), True),
        (3, drafted("a guess", "", inferred=True, starts_from=["R1/P01/1"]), True),
    ],
)
def test_from_round_three_a_proxys_item_has_a_new_quote_or_answers_or_takes_back_something(
    number: int, said: ItemDraft, repeats: bool
) -> None:
    projection, repair = turn(number, items=[said])
    assert [one.repeated for one in projection.items] == [repeats]
    assert (repair is not None) is repeats


def test_the_half_that_still_holds_of_an_item_that_is_taken_back_is_given_again_and_stands() -> None:
    wrong = drafted("not after ten", "", inferred=True, starts_from=["R1/P01/1"], withdraws=["R1/P01/1"])
    projection, repair = turn(3, items=[drafted("the room", OLD), wrong])
    assert [one.repeated for one in projection.items] == [False, False]
    assert repair is None


@pytest.mark.parametrize("verdict", list(Verdict))
def test_whoever_is_asked_after_an_exhausted_round_reads_that_this_is_one_more(verdict: Verdict) -> None:
    asked = EndpointRequest(
        language="en",
        alias="P01",
        round=5,
        tension=tension(),
        observations=(seen(4, verdict=verdict),),
        own=(Projection(round=1, alias="P01", outcome=Outcome.REPLIED, items=(item("R1/P01/1"),)),),
    )
    assert ("exhausted" in parts_of(asked)) is (verdict is Verdict.EXHAUSTED)


def test_a_turn_that_only_repeats_has_said_nothing_new_and_nothing_of_it_is_struck() -> None:
    projection, repair = turn(3, items=[drafted("again", OLD)])
    assert (projection.outcome, projection.struck, projection.markdown) == (
        Outcome.NOTHING_NEW,
        0,
        "I have nothing new.",
    )
    assert [one.claim for one in projection.items] == ["again"]
    assert repair is not None
    assert "says nothing new" in repair.complaints[0]


def test_a_repeated_item_is_sent_back_once_and_gives_way_to_what_mends_it() -> None:
    both = [drafted("again", OLD), drafted("new", NEW)]
    _, repair = turn(3, items=both)
    assert repair is not None
    mended = repair.merge(ProjectionDraft(items=[drafted("an answer", OLD, answers=["R2/catalyst/1"])]))
    assert [(one.claim, one.repeated) for one in mended.items] == [("new", False), ("an answer", False)]
    unmended = repair.merge(ProjectionDraft(nothing_new=True))
    told = [(one.id.rpartition("/")[2], one.claim, one.repeated) for one in unmended.items]
    assert told == [("1", "new", False), ("2", "again", True)], (
        "a gap in the numbers that others see would tell a proxy"
    )
    assert (unmended.outcome, unmended.struck) == (Outcome.REPLIED, 0)
    assert unmended.markdown == "### Capability\n\n- new"


def test_own_words_of_a_person_are_never_marked_as_repeated() -> None:
    asked = EndpointRequest(
        language="en", alias="P01", round=4, tension=tension(), words=OLD,
        own=(Projection(round=1, alias="P01", outcome=Outcome.REPLIED, items=(item("R1/P01/1", quote=(0, 19)),)),),
    )  # fmt: skip
    said = ProjectionDraft(items=[drafted("again", OLD)])
    projection, repair = _review(asked, OLD, (), EndpointKind.HUMAN, said)
    assert (projection.items[0].repeated, repair) == (False, None)
