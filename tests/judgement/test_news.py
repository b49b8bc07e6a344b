"""News is a link that a round states as related for the first time, on a quote that is new or newly aimed."""

from __future__ import annotations

from tests.judgement.rooms import ROOMS, exchange, gap, item, room, seen
from tongyao.protocol.model.observation import Contribution, Effect, GapKind, Note, Pair, Relation, Verdict
from tongyao.protocol.model.projection import Outcome, Projection, Span
from tongyao.protocol.model.requests import Exchange
from tongyao.protocol.rules.convergence import Course, RoundResult, course
from tongyao.protocol.rules.news import concerned, items_that_can_be_news, news

PAIR = Pair(id="R1/catalyst/1", a="P01", b="P02", relation=Relation.COMPLEMENTARY, sources=("R1/P01/1", "R1/P02/1"))


def ends_in(rounds: tuple[Exchange, ...]) -> tuple[int, Course]:
    """The round in which these rounds end, and how."""
    results: list[RoundResult] = []
    for number, one in enumerate(rounds, 1):
        assert one.observation is not None
        outcomes = {said.alias: said.outcome for said in one.projections}
        brought = bool(news(rounds[:number]).links)
        results.append(RoundResult(number=number, outcomes=outcomes, verdict=one.observation.verdict, news=brought))
        if (reached := course(results)) is not Course.GO_ON:
            return number, reached
    return len(rounds), Course.GO_ON


def test_two_recorded_rooms_that_ran_to_the_limit_end_by_round_five() -> None:
    assert {name: ends_in(room(name)) for name in ROOMS} == {
        "room-of-3": (5, Course.CONVERGED),
        "room-of-5": (4, Course.CONVERGED),
    }


def test_by_the_verdicts_alone_the_same_rooms_run_to_the_limit() -> None:
    for name in ROOMS:
        verdicts = [one.observation.verdict for one in room(name) if one.observation is not None]
        results = [
            RoundResult(number=n, outcomes={"P01": Outcome.REPLIED}, verdict=v) for n, v in enumerate(verdicts, 1)
        ]
        assert course(results) is Course.AT_LIMIT


def contribution(number: int, round_number: int, alias: str, target: str, *sources: str) -> Contribution:
    return Contribution(
        id=f"R{round_number}/catalyst/{number}", alias=alias, target=target, effect=Effect.HELPS, sources=sources
    )


def rounds_of(*later: Exchange) -> tuple[Exchange, ...]:
    """A first round in which P01 quotes 0–50 for B1 and P02 quotes 0–50 for B2; then `later`."""
    first = exchange(
        1,
        [item("R1/P01/1", quote=(0, 50), targets=("B1",)), item("R1/P02/1", quote=(0, 50), targets=("B2",))],
        seen(1, contributions=(contribution(1, 1, "P01", "B1", "R1/P01/1"),)),
    )
    return (first, *later)


def test_a_link_stated_for_the_first_time_on_a_new_quote_is_news() -> None:
    said = item("R2/P01/1", quote=(100, 150), targets=("B3",))
    found = news(rounds_of(exchange(2, [said], seen(2, contributions=(contribution(1, 2, "P01", "B3", said.id),)))))
    assert (found.links, found.new_quotes, found.first_links) == ((("P01", "B3"),), 1, 1)


def test_a_first_link_on_an_old_quote_is_stated_and_is_no_news() -> None:
    said = item("R2/P01/1", quote=(5, 50), targets=("B3",))
    found = news(rounds_of(exchange(2, [said], seen(2, contributions=(contribution(1, 2, "P01", "B3", said.id),)))))
    assert (found.links, found.new_quotes, found.first_links) == ((), 0, 1)


def test_a_new_quote_for_a_link_that_was_stated_before_is_no_news_whatever_its_label() -> None:
    said = item("R2/P01/1", quote=(100, 150), targets=("B1",))
    worse = contribution(1, 2, "P01", "B1", said.id).model_copy(update={"effect": Effect.WORSENS})
    assert news(rounds_of(exchange(2, [said], seen(2, contributions=(worse,))))).links == ()


def test_a_pair_that_changes_its_label_is_no_news() -> None:
    flipped = PAIR.model_copy(
        update={"id": "R3/catalyst/1", "relation": Relation.OFFSETTING, "sources": ("R3/P01/1", "R1/P02/1")}
    )
    said = item("R3/P01/1", quote=(200, 240))
    rounds = rounds_of(exchange(2, [], seen(2, pairs=(PAIR,))), exchange(3, [said], seen(3, pairs=(flipped,))))
    assert news(rounds).links == ()


def test_a_pair_of_which_nothing_was_found_before_is_news_once_it_is_related_on_a_new_quote() -> None:
    none = Pair(id="R1/catalyst/2", a="P01", b="P02", relation=Relation.NONE_FOUND)
    said = item("R3/P02/1", quote=(200, 240))
    related = PAIR.model_copy(update={"id": "R3/catalyst/1", "sources": ("R1/P01/1", said.id)})
    rounds = rounds_of(exchange(2, [], seen(2, pairs=(none,))), exchange(3, [said], seen(3, pairs=(related,))))
    assert news(rounds).links == (("P01", "P02"),)


def stated_in(round_number: int, alias: str, target: str) -> tuple[Exchange, ...]:
    """In `round_number` somebody says something new, and it is stated that it bears on a part of the tension."""
    said = item(f"R{round_number}/{alias}/1", quote=(200, 240), targets=(target,))
    stated = (contribution(1, round_number, alias, target, said.id),)
    quiet = [exchange(number, [], seen(number)) for number in range(2, round_number)]
    return rounds_of(*quiet, exchange(round_number, [said], seen(round_number, contributions=stated)))


def test_from_round_four_a_contribution_to_a_part_that_somebody_has_touched_is_no_news() -> None:
    assert news(stated_in(3, "P02", "B1")).links == (("P02", "B1"),)
    late = news(stated_in(4, "P02", "B1"))
    assert (late.links, late.first_links) == ((), 1)


def test_from_round_four_a_part_that_nobody_had_touched_and_a_pair_are_news() -> None:
    assert news(stated_in(4, "P02", "B4")).links == (("P02", "B4"),)
    said = item("R4/P02/1", quote=(200, 240))
    related = PAIR.model_copy(update={"id": "R4/catalyst/1", "sources": ("R1/P01/1", said.id)})
    rounds = rounds_of(
        exchange(2, [], seen(2)), exchange(3, [], seen(3)), exchange(4, [said], seen(4, pairs=(related,)))
    )
    assert news(rounds).links == (("P01", "P02"),)


def re_aimed(answers: tuple[str, ...], targets: tuple[str, ...] = ("B3",)) -> tuple[Exchange, ...]:
    """Round 2 names a framework and a gap; in round 3 P01 aims the quote of R1/P01/1 at `targets`."""
    framework = Note(id="R2/catalyst/1", name="three ways a handover breaks", text="…")
    asked = seen(2, frameworks=(framework,), gaps=(gap("R2/catalyst/2", "B3"), gap("R2/catalyst/3", "B4")))
    said = item("R3/P01/1", quote=(0, 50), targets=targets, answers=answers)
    stated = tuple(contribution(n, 3, "P01", target, said.id) for n, target in enumerate(targets, 1))
    return rounds_of(exchange(2, [], asked), exchange(3, [said], seen(3, contributions=stated)))


def test_an_old_quote_aimed_at_a_new_part_in_answer_to_the_last_framework_or_gap_is_news() -> None:
    for answered in ("R2/catalyst/1", "R2/catalyst/2"):
        found = news(re_aimed((answered,)))
        assert (found.links, found.new_quotes, found.re_aimed) == ((("P01", "B3"),), 0, 1)


def test_an_item_with_a_new_quote_and_an_old_one_aimed_anew_is_counted_once() -> None:
    *earlier, last = re_aimed(("R2/catalyst/2",))
    (turn,) = last.projections
    said = turn.items[0]
    both = said.model_copy(update={"spans": (*said.spans, Span(source="profile", start=900, end=950))})
    rounds = (*earlier, last.model_copy(update={"projections": (turn.model_copy(update={"items": (both,)}),)}))
    found = news(rounds)
    assert (found.new_quotes, found.re_aimed) == (1, 0)
    assert found.new_quotes + found.re_aimed == len(items_that_can_be_news(rounds))


def test_an_old_quote_aimed_anew_without_an_answer_is_no_news() -> None:
    assert news(re_aimed(())).links == ()
    assert news(re_aimed(("R1/catalyst/1",))).links == (), (
        "an answer to something that the last observation did not ask"
    )


def test_an_answer_with_an_old_quote_aimed_at_its_old_part_is_no_news() -> None:
    assert news(re_aimed(("R2/catalyst/1",), targets=("B1",))).re_aimed == 0


def test_the_last_observation_asks_and_not_the_one_before() -> None:
    framework = Note(id="R2/catalyst/1", name="three ways", text="…")
    said = item("R4/P01/1", quote=(0, 50), targets=("B3",), answers=("R2/catalyst/1",))
    rounds = rounds_of(
        exchange(2, [], seen(2, frameworks=(framework,))),
        exchange(3, [], seen(3)),
        exchange(4, [said], seen(4, contributions=(contribution(1, 4, "P01", "B3", said.id),))),
    )
    assert news(rounds).links == ()


def test_a_quote_counts_as_used_where_earlier_ones_cover_half_of_it() -> None:
    for start, end, new in ((25, 75, 0), (26, 76, 1), (10, 20, 0), (0, 200, 1)):
        said = item("R2/P01/1", quote=(start, end))
        assert news(rounds_of(exchange(2, [said], seen(2)))).new_quotes == new, (start, end)


def test_what_a_person_says_in_a_turn_is_always_a_new_quote() -> None:
    def own(number: int) -> Exchange:
        said = item(f"R{number}/P03/1").model_copy(update={"spans": (Span(source="words", start=0, end=30),)})
        return exchange(number, [said], seen(number))

    assert news(rounds_of(own(2), own(3))).new_quotes == 1


def test_a_repeated_item_counts_for_nothing() -> None:
    said = item("R3/P01/1", quote=(100, 150)).model_copy(update={"repeated": True})
    found = news(
        rounds_of(
            exchange(2, [], seen(2)),
            exchange(3, [said], seen(3, contributions=(contribution(1, 3, "P01", "B3", said.id),))),
        )
    )
    assert (found.items, found.links) == (0, ())


def test_silence_is_no_news() -> None:
    silent = Exchange(
        round=2, projections=(Projection(round=2, alias="P01", outcome=Outcome.NOTHING_NEW),), observation=seen(2)
    )
    assert news(rounds_of(silent)).links == ()


def test_a_new_framework_concerns_whom_it_names_and_whose_items_it_cites() -> None:
    framework = Note(
        id="R2/catalyst/1", name="order", text="P04 waits", about=("P03",), sources=("R1/P01/1", "R1/catalyst/1")
    )
    rounds = rounds_of(exchange(2, [], seen(2, frameworks=(framework,))))
    assert concerned(rounds) == ("P01", "P03", "P04")
    again = (*rounds, exchange(3, [], seen(3, frameworks=(framework,))))
    assert concerned(again) == (), "a framework that stays open has been put before them"


def test_an_overlooked_gap_concerns_who_has_an_item_on_its_part_and_an_absent_one_nobody() -> None:
    assert concerned(rounds_of(exchange(2, [], seen(2, gaps=(gap("R2/catalyst/1", "B2"),))))) == ("P02",)
    absent = gap("R2/catalyst/1", "B2", kind=GapKind.ABSENT)
    assert concerned(rounds_of(exchange(2, [], seen(2, gaps=(absent,))))) == ()


def test_a_gap_that_is_only_said_again_concerns_nobody_until_it_cites_something_of_the_round() -> None:
    rounds = rounds_of(exchange(2, [], seen(2, gaps=(gap("R2/catalyst/1", "B2"),))))
    again = gap("R3/catalyst/1", "B2")
    assert concerned((*rounds, exchange(3, [], seen(3, gaps=(again,))))) == ()
    fresh = again.model_copy(update={"sources": ("R3/P01/1",)})
    said = item("R3/P01/1", quote=(100, 150))
    assert concerned((*rounds, exchange(3, [said], seen(3, gaps=(fresh,))))) == ("P01", "P02")


def test_a_relation_that_changed_concerns_both_sides_and_one_that_is_carried_nobody() -> None:
    rounds = rounds_of(exchange(2, [], seen(2, pairs=(PAIR,))))
    assert concerned(rounds) == ("P01", "P02")
    carried = PAIR.model_copy(update={"carried": True})
    assert concerned((*rounds, exchange(3, [], seen(3, pairs=(carried,))))) == ()
    flipped = PAIR.model_copy(update={"id": "R3/catalyst/1", "relation": Relation.OFFSETTING})
    assert concerned((*rounds, exchange(3, [], seen(3, pairs=(flipped,))))) == ("P01", "P02")


def test_the_verdict_of_the_catalyst_does_not_make_news() -> None:
    assert seen(2).verdict is Verdict.MORE
    assert news(rounds_of(exchange(2, [], seen(2)))).links == ()
