"""Rounds, gates, corrections and what follows them (docs/protocol.md §3.2, §3.8, §5.5)."""

from __future__ import annotations

from tests.protocol.lives import MINUTE, Life
from tongyao.protocol.life.phases.turns import later_round
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.messages import Author, SubmitProjection


def round_over(life: Life, *said: str, verdict: str = "more", **observed: object) -> None:
    """Everybody who is asked in person says `said`, proxies reply, and the catalyst observes."""
    for alias, words in zip(sorted(life.asked_in_person()), said, strict=False):
        life.says(alias, words)
    while life.runs("project"):
        life.succeed("project")
    life.succeed("observe", verdict=verdict, **observed)


def test_the_second_corrects_while_the_first_correction_is_being_sorted() -> None:
    life = Life.in_round_one("human", "human", correcting_seconds=600)
    life.says("P01", "one")
    life.says("P02", "two")
    life.succeed("project")
    life.succeed("project")
    life.wait(5 * MINUTE)
    life.says("P01", "one, better")
    assert life.says("P02", "two, better") == ""
    assert life.turns_asked() == {"P01": "one, better", "P02": "two, better"}
    life.succeed("project")
    life.wait(9 * MINUTE)
    assert life.state.gate_open
    life.succeed("project")
    life.wait(9 * MINUTE)
    assert life.state.gate_open
    life.wait(MINUTE)
    assert not life.state.gate_open


def test_a_correction_by_nothing_new_gives_the_time_to_correct_again() -> None:
    life = Life.in_round_one("human", "human", correcting_seconds=600)
    life.says("P01", "one")
    life.says("P02", "two")
    life.succeed("project")
    life.succeed("project")
    life.wait(9 * MINUTE)
    life.says("P01", "")
    life.wait(9 * MINUTE)

    assert life.state.gate_open and life.outcomes() == {"P01": "nothing_new", "P02": "replied"}


def test_words_that_came_between_rounds_count_though_the_proxy_took_over_since() -> None:
    life = Life.in_round_one("human", "proxy", news_rule="links")
    life.says("P01", "one")
    life.succeed("project")
    life.succeed("project")
    assert life.says("P01", "one thing more") == ""
    life.by("P01", "switch_endpoint", endpoint="proxy")
    life.succeed("observe")

    assert life.turns_asked() == {"P01": "one thing more", "P02": ""}
    assert {turn.author for one in life.given("project") for turn in one.turns if turn.submission} == {"human"}


def test_words_say_in_which_round_they_count_when_their_own_has_closed() -> None:
    """In the next round while the catalyst reads round 1, in round 2 once it is open, before that in their own."""

    def words(number: int) -> SubmitProjection:
        author = Author(role="participant", alias="P01")
        return SubmitProjection(key="k", author=author, alias="P01", round=number, text_id="t")

    life = Life.in_round_one("human", "proxy", news_rule="links")
    assert later_round(life.state, words(1)) == 0
    life.says("P01", "one")
    life.succeed("project")
    life.succeed("project")
    assert (life.state.gate_open, later_round(life.state, words(1))) == (False, 2)
    life.succeed("observe")
    assert (life.state.gate_open, life.state.round) == (True, 2)
    assert (later_round(life.state, words(1)), later_round(life.state, words(2))) == (2, 0)


def test_two_exhausted_rounds_in_a_row_from_the_third_on_converge() -> None:
    life = Life.in_round_one("proxy", "proxy")
    for verdict in ("exhausted", "exhausted", "exhausted", "more", "exhausted"):
        round_over(life, verdict=verdict)
        assert life.phase == "crystallizing"
    round_over(life, verdict="exhausted")

    assert life.phase == "planning" and not life.state.unconverged


def test_everybody_says_nothing_new_in_round_two_and_the_catalyst_still_observes() -> None:
    life = Life.in_round_one("human", "human")
    round_over(life, "one", "two")
    life.says("P01", "")
    life.says("P02", "")

    assert life.runs("observe")
    life.succeed("observe", verdict="more")
    assert life.phase == "planning"


def test_who_said_nothing_new_is_asked_again_only_when_something_concerns_them() -> None:
    life = Life.in_round_one("human", "human", "proxy", news_rule="links")
    round_over(life, "one", "two")
    round_over(life, "", "", concerned=["P02"])

    assert life.state.round == 3 and life.asked_in_person() == {"P02"}
    assert life.outcomes() == {"P01": "nothing_new"}
    assert life.says("P01", "I have something after all") == ""
    assert life.turns_asked()["P01"] == "I have something after all"


def test_nobody_spoke_so_the_catalyst_is_not_asked() -> None:
    life = Life.in_round_one("proxy", "proxy")
    life.succeed("project", outcomes={"P01": "lapsed", "P02": "failed"})

    assert life.phase == "deciding" and life.events(EventKind.DECISION_NEEDED) == [{"cause": "quorum"}]


def test_raising_the_budget_at_the_limit_of_rounds_adds_no_round() -> None:
    life = Life.in_round_one("proxy", "proxy", max_rounds=2, token_budget=1000)
    round_over(life)
    round_over(life, tokens=2000)
    assert life.events(EventKind.DECISION_NEEDED) == [{"cause": "budget"}]
    life.by_demander("decide", decision="raise_budget", tokens=5000)

    assert life.phase == "deciding" and life.events(EventKind.DECISION_NEEDED)[-1] == {"cause": "limit"}
    life.by_demander("decide", decision="extend")
    assert life.phase == "crystallizing" and (life.state.round, life.state.token_budget) == (3, 5000)


def test_after_an_extension_every_step_is_told_the_new_limit() -> None:
    life = Life.in_round_one("proxy", "proxy", max_rounds=2)
    assert [one.round_limit for one in life.given("project")] == [2]
    round_over(life)
    round_over(life)
    assert life.by_demander("decide", decision="extend") == ""

    assert [one.round_limit for one in life.given("project")] == [4]
    life.succeed("project")
    assert [one.round_limit for one in life.given("observe")] == [4]


def test_only_a_decision_to_raise_the_budget_changes_it() -> None:
    life = Life.in_round_one("proxy", "proxy", max_rounds=2)
    round_over(life)
    round_over(life)
    assert life.by_demander("decide", decision="extend", tokens=1) == ""

    assert life.state.token_budget is None and life.phase == "crystallizing"


def test_a_childs_budget_is_raised_at_its_root_only() -> None:
    lineage = {"root": "c-0", "parent": "c-0", "residual": "plan/1/residual/1", "depth": 1}
    tension = {"text_id": "residual", "grade": "A", "barriers": 1}
    life = Life("proxy", "proxy", start={"lineage": lineage, "tension": tension}, max_rounds=2)
    life.succeed("consent")
    life.succeed("freeze")
    round_over(life)
    round_over(life)

    assert life.by_demander("decide", decision="raise_budget", tokens=10) == "budget_of_root"


def test_commands_without_keys_each_take_effect() -> None:
    life = Life("proxy", "proxy")
    life.succeed("formulate")
    assert life.signal("confirm_tension") == ""
    life.succeed("consent")
    life.succeed("freeze")
    assert life.signal("conclude") == ""
    assert life.state.concluded
    assert life.signal("cancel") == "" and life.phase == "cancelled"


def test_after_two_thousand_switches_the_demander_still_cancels() -> None:
    life = Life.in_round_one("human", "human")
    life.says("P02", "words")
    fallbacks = ("proxy", "lapse")
    codes = {life.by("P01", "switch_endpoint", endpoint="human", fallback=fallbacks[n % 2]) for n in range(2_000)}

    assert codes == {"", "too_many_messages"}
    assert life.by("P01", "leave") == ""
    assert life.by_demander("cancel") == "" and life.phase == "cancelled"


def test_applied_messages_are_known_again_after_a_kill_and_in_the_next_run() -> None:
    life = Life.in_round_one("human", "proxy")
    life.says("P01", "words")
    for incident in ("kill", "continue"):
        life.world.apply([incident])
        assert life.world.apply(["repeat", "P01"])  # asserts that it is taken for a repetition
    assert life.turns_asked()["P01"] == "words"


def test_after_a_reset_applied_messages_are_sent_again_in_order() -> None:
    life = Life.in_round_one("human", "human")
    life.world.apply(["checkpoint"])
    life.says("P01", "first")
    life.says("P01", "second")
    life.world.apply(["reset"])

    assert life.turns_asked() == {}
    assert life.deliver("P01") == "" and life.deliver("P01") == ""
    assert life.turns_asked() == {"P01": "second"}


def test_words_are_handed_in_ten_times_in_a_turn_and_again_in_the_next_round() -> None:
    """Each time is a model call, which the demander pays."""
    life = Life.in_round_one("human", "human")
    assert {life.says("P01", f"words {n}") for n in range(10)} == {""}
    assert life.says("P01", "words 11") == "corrected_enough"
    assert life.says("P02", "others go on") == ""
    assert life.says("P01", "") == ""  # to say that there is nothing new costs nothing


def test_a_proxys_running_call_is_taken_over_three_times_in_a_turn_and_no_more() -> None:
    """Each time it is thrown away, and the demander pays it."""
    life = Life.in_round_one("proxy", "human")
    codes = []
    for _ in range(4):
        assert life.runs("project")
        codes.append(life.by("P01", "switch_endpoint", endpoint="human"))
        if not codes[-1]:
            assert life.by("P01", "switch_endpoint", endpoint="proxy") == ""
    assert codes == ["", "", "", "taken_over_often"]
    life.succeed("project")
    assert life.by("P01", "switch_endpoint", endpoint="human") == "", "it has spoken: nothing is thrown away"
