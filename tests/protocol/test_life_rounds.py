"""Rounds, gates, corrections and what follows them (docs/protocol.md §3.2, §3.8, §5.5)."""

from __future__ import annotations

import pytest

from tests.protocol.lives import HOUR, MINUTE, Life
from tongyao.protocol.life.state import State
from tongyao.protocol.life.turns import counts_in
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.process_settings import ProcessSettings


def round_over(life: Life, *said: str, verdict: str = "more", **observed: object) -> None:
    """Everybody who is asked in person says `said`, proxies reply, and the catalyst observes."""
    for alias, words in zip(sorted(life.asked_in_person()), said, strict=False):
        life.says(alias, words)
    while life.runs("project"):
        life.succeed("project")
    life.succeed("observe", verdict=verdict, **observed)


def test_words_are_taken_together_once_the_time_to_correct_the_last_of_them_is_over() -> None:
    life = Life.in_round_one("human", "human", correcting_seconds=600)
    life.says("P01", "one")
    life.says("P02", "two")
    life.wait(9 * MINUTE)
    assert life.says("P01", "one, better") == ""
    assert life.words_kept() == {"P01": "one, better", "P02": "two"} and not life.turns_asked()
    life.wait(9 * MINUTE)
    assert not life.turns_asked()
    life.wait(MINUTE)

    assert [len(given.turns) for given in life.given("project")] == [2]
    assert life.turns_asked() == {"P01": "one, better", "P02": "two"}
    life.succeed("project")
    assert not life.state.gate_open and life.outcomes() == {"P01": "replied", "P02": "replied"}


def test_words_can_be_corrected_as_long_as_somebody_else_is_waited_for() -> None:
    life = Life.in_round_one("human", "human", correcting_seconds=600)
    life.says("P01", "one")
    life.wait(5 * HOUR)
    assert life.state.gate_open and not life.runs("project")
    assert life.says("P01", "one, better") == ""
    life.says("P02", "two")
    life.wait(10 * MINUTE)

    assert life.turns_asked() == {"P01": "one, better", "P02": "two"}


def test_words_that_come_while_the_others_are_taken_give_the_time_to_correct_again() -> None:
    life = Life.in_round_one("human", "human", correcting_seconds=600)
    life.says("P01", "one")
    life.says("P02", "two")
    life.wait(10 * MINUTE)
    life.says("P01", "one, better")
    life.succeed("project")
    assert life.state.gate_open and life.outcomes() == {"P02": "replied"}
    life.wait(10 * MINUTE)
    assert life.turns_asked() == {"P01": "one, better"}


def test_a_correction_by_nothing_new_gives_the_time_to_correct_again() -> None:
    life = Life.in_round_one("human", "human", correcting_seconds=600)
    life.says("P01", "one")
    life.says("P02", "two")
    life.wait(9 * MINUTE)
    life.says("P01", "")
    life.wait(9 * MINUTE)
    assert life.state.gate_open and not life.runs("project")
    life.wait(MINUTE)
    life.succeed("project")

    assert not life.state.gate_open and life.outcomes() == {"P01": "nothing_new", "P02": "replied"}


def test_two_minutes_to_correct_are_the_default() -> None:
    assert ProcessSettings().correcting_seconds == 120


def test_what_somebody_said_in_the_open_round_stays_when_they_leave() -> None:
    life = Life.in_round_one("human", "human", "human", correcting_seconds=600)
    life.says("P01", "one")
    assert life.by("P01", "leave") == ""
    life.says("P02", "two")
    life.says("P03", "three")
    life.wait(10 * MINUTE)

    assert life.turns_asked() == {"P01": "one", "P02": "two", "P03": "three"}


def test_words_of_a_person_and_of_their_agent_stand_beside_each_other_in_a_round() -> None:
    life = Life.in_round_one("human", "human")
    life.says("P01", "from my agent", via="agent")
    life.says("P01", "from me")
    life.says("P01", "from me, better")
    life.says("P02", "two")

    assert life.turns_asked() == {"P01": "from my agent from me, better", "P02": "two"}


def between_rounds(*endpoints: str) -> Life:
    """Everybody has spoken in round 1, and the catalyst observes."""
    life = Life.in_round_one(*endpoints)
    for number, endpoint in enumerate(endpoints, 1):
        if endpoint != "proxy":
            life.says(f"P{number:02d}", "words")
    while life.runs("project"):
        life.succeed("project")
    assert life.runs("observe")
    return life


def test_all_late_words_count_in_the_next_round_of_both_lanes_with_what_is_said_there() -> None:
    life = between_rounds("human", "human")
    assert life.says("P01", "late") == ""
    assert life.says("P01", "late too") == ""
    assert life.says("P01", "late by agent", via="agent") == ""
    life.succeed("observe")
    assert life.asked_in_person() == {"P02"}
    assert life.says("P01", "in time") == ""
    life.says("P02", "two")

    assert life.turns_asked()["P01"] == "late late too late by agent in time"


def test_ten_late_words_are_taken_and_no_more() -> None:
    life = between_rounds("human", "human")
    assert {life.says("P01", f"words {n}") for n in range(10)} == {""}
    assert life.says("P01", "words 11") == "corrected_enough"


@pytest.mark.parametrize("end", ["cancel", "conclude"])
def test_late_words_whose_round_never_opens_are_told_as_unused(end: str) -> None:
    life = between_rounds("human", "human")
    life.says("P02", "late")
    life.by_demander(end)
    if end == "conclude":
        life.succeed("observe")

    assert life.events(EventKind.WORDS_UNUSED) == [{"alias": "P02", "round": 1}]


def test_words_of_an_open_round_that_is_cancelled_are_told_as_unused() -> None:
    life = Life.in_round_one("human", "human")
    life.says("P01", "one")
    life.by_demander("cancel")

    assert life.events(EventKind.WORDS_UNUSED) == [{"alias": "P01", "round": 1}]


def test_words_that_came_between_rounds_count_though_the_proxy_took_over_since() -> None:
    life = between_rounds("human", "proxy")
    assert life.says("P01", "one thing more") == ""
    life.by("P01", "switch_endpoint", endpoint="proxy")
    life.succeed("observe")
    life.succeed("project")

    assert life.turns_asked() == {"P01": "one thing more"}
    assert [turn.author for given in life.given("project") for turn in given.turns] == ["human"]


def test_words_say_in_which_round_they_count_when_their_own_has_closed() -> None:
    """In the next round while the catalyst reads round 1, in round 2 once it is open, before that in their own."""
    life = Life.in_round_one("human", "proxy")
    assert counts_in(life.state) == 1
    life.says("P01", "one")
    life.succeed("project")
    life.succeed("project")
    assert (life.state.gate_open, counts_in(life.state)) == (False, 2)
    life.succeed("observe")
    assert (life.state.gate_open, life.state.round) == (True, 2)
    assert counts_in(life.state) == 2


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


def test_an_observation_that_says_more_breaks_the_row_of_exhausted_ones() -> None:
    """A failed or unreadable observation says so too."""
    life = Life.in_round_one("proxy", "proxy")
    for verdict in ("more", "more", "exhausted", "more", "exhausted"):
        round_over(life, verdict=verdict)
    assert life.phase == "crystallizing"
    round_over(life, verdict="exhausted")
    assert life.phase == "planning"


def test_who_said_nothing_new_is_asked_again_only_when_something_concerns_them() -> None:
    life = Life.in_round_one("human", "human", "proxy")
    round_over(life, "one", "two")
    round_over(life, "", "", concerned=["P02"])

    assert life.state.round == 3 and life.asked_in_person() == {"P02"}
    assert set(life.state.turns) == {"P02", "P03"}
    assert life.says("P01", "I have something after all") == ""
    life.says("P02", "three")
    life.succeed("project")
    assert life.turns_asked()["P01"] == "I have something after all"


def test_who_is_not_asked_has_no_outcome_and_their_silence_ends_nothing() -> None:
    life = Life.in_round_one("human", "human", "human")
    round_over(life, "one", "two", "three")
    round_over(life, "", "", "three again", concerned=["P02"])
    round_over(life, "", "", concerned=["P01"])  # P02 and P03 are asked

    assert [result.everybody_asked for result in life.state.results] == [True, True, False]
    assert sorted(life.state.results[-1].outcomes) == ["P02", "P03"]
    assert life.phase == "crystallizing" and life.asked_in_person() == {"P01"}


def test_what_concerned_somebody_before_they_were_asked_asks_them_no_second_time() -> None:
    life = Life.in_round_one("human", "human")
    round_over(life, "one", "two", concerned=["P01"])
    round_over(life, "", "two again")

    assert life.asked_in_person() == {"P02"}


def test_what_concerned_somebody_while_they_were_not_asked_is_kept_until_they_are() -> None:
    life = Life.in_round_one("human", "human", "human")
    round_over(life, "one", "two", "three")
    round_over(life, "", "", "three again", concerned=["P02"])
    round_over(life, "", "more of three", verdict="more", concerned=["P01"])

    assert life.asked_in_person() == {"P01", "P03"}


def test_everybody_is_asked_in_the_round_after_a_first_exhausted() -> None:
    life = Life.in_round_one("human", "human")
    round_over(life, "one", "two")
    round_over(life, "", "two again")
    assert life.asked_in_person() == {"P02"}
    round_over(life, "two once more", verdict="exhausted")

    assert life.asked_in_person() == {"P01", "P02"}


def test_a_round_in_which_nobody_would_be_asked_asks_everybody() -> None:
    life = Life.in_round_one("human", "human", "human")
    round_over(life, "one", "two", "three")
    round_over(life, "", "", "three again")
    assert life.asked_in_person() == {"P03"}
    round_over(life, "")

    assert life.asked_in_person() == {"P01", "P02", "P03"}


def test_a_gap_asks_the_demander_in_person_once_and_the_round_does_not_wait() -> None:
    life = Life.in_round_one("human", "human")
    assert life.by_demander("submit_projection", alias="P00", round=1, text_id="t") == "demander_takes_no_part"
    round_over(life, "one", "two", asks_demander=True)
    assert [(one.alias, one.round) for one in life.asked("projection")] == [("P01", 2), ("P02", 2)]
    assert [(one.alias, one.round) for one in life.asked("gap")] == [("P00", 2)]
    assert life.events(EventKind.DEMANDER_ASKED) == [{"round": 2}]
    for alias in ("P01", "P02"):
        life.says(alias, "more")
    life.succeed("project")
    life.succeed("observe", asks_demander=True)
    assert life.events(EventKind.DEMANDER_ASKED) == [{"round": 2}], "one ask at a time"

    assert life.by_demander("submit_projection", alias="P00", round=2, text_id="the answer") == ""
    assert life.asked_in_person() == {"P01", "P02"}
    for alias in ("P01", "P02"):
        life.says(alias, "")
    assert life.turns_asked() == {"P00": "the answer"}
    life.succeed("project")
    life.succeed("observe")
    assert sorted(life.state.results[-1].outcomes) == ["P01", "P02"], "it is no turn of the room"
    assert life.phase == "planning", "the others' silence counts"


def test_the_demanders_answer_between_rounds_counts_in_the_next_one() -> None:
    life = Life.in_round_one("human", "human")
    round_over(life, "one", "two", asks_demander=True)
    life.says("P01", "one")
    life.says("P02", "two")
    life.succeed("project")
    assert life.by_demander("submit_projection", alias="P00", round=2, text_id="the answer") == ""
    assert not life.asked()
    life.succeed("observe")
    life.says("P01", "")
    life.says("P02", "")

    assert life.turns_asked() == {"P00": "the answer"}


def test_the_demander_may_say_that_there_is_nothing_to_say_about_a_gap() -> None:
    life = Life.in_round_one("human", "human")
    round_over(life, "one", "two", asks_demander=True)
    assert life.by_demander("submit_projection", alias="P00", round=2, nothing_new=True) == ""

    assert life.asked_in_person() == {"P01", "P02"}


def test_a_demanders_proxy_answers_gaps_in_the_batch_of_the_next_round() -> None:
    profile = {"profile_id": "d-profile", "version": 1}
    life = Life.in_round_one("proxy", "human", demander_endpoint="proxy", start={"demander_profile": profile})
    round_over(life, "two", asks_demander=True)

    assert life.turns_asked() == {"P00": "", "P01": ""} and len(life.runs("project")) == 1
    assert life.asked_in_person() == {"P02"}
    life.succeed("project", outcomes={"P00": "failed"})
    life.says("P02", "")
    life.succeed("observe")
    assert sorted(life.state.results[-1].outcomes) == ["P01", "P02"] and life.state.round == 3
    assert life.turns_asked() == {"P01": ""}, "asked once"


def test_without_a_profile_the_demanders_proxy_is_not_asked() -> None:
    life = Life.in_round_one("proxy", "proxy", demander_endpoint="proxy")
    round_over(life, asks_demander=True)

    assert life.turns_asked() == {"P01": "", "P02": ""} and not life.asked()


def test_a_demander_in_a_seat_is_asked_by_their_turn() -> None:
    life = Life.in_round_one("human", "human", demander_takes_part=True)
    round_over(life, "zero", "one", "two")
    round_over(life, "", "one", "two", asks_demander=True, concerned=["P00"])

    assert [(one.alias, one.round) for one in life.asked("projection")] == [("P00", 3), ("P01", 3), ("P02", 3)]


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


def test_the_state_of_an_older_build_is_read() -> None:
    state = Life.in_round_one("human", "human").state
    older = state.model_dump(mode="json") | {"signals": ["a digest"], "nonces": {"n": 1}, "signalled": []}
    older["start"]["signal_key"] = "MCowBQYDK2VwAyEA"
    read = State.model_validate(older)
    assert read.model_dump(exclude={"start": {"signal_key"}}) == state.model_dump(exclude={"start": {"signal_key"}})


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
    assert life.words_kept() == {"P01": "words"}


def test_after_a_reset_applied_messages_are_sent_again_in_order() -> None:
    life = Life.in_round_one("human", "human")
    life.world.apply(["checkpoint"])
    life.says("P01", "first")
    life.says("P01", "second")
    life.world.apply(["reset"])

    assert life.words_kept() == {}
    assert life.deliver("P01") == "" and life.deliver("P01") == ""
    assert life.words_kept() == {"P01": "second"}


def test_words_are_handed_in_ten_times_in_a_turn_and_again_in_the_next_round() -> None:
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
