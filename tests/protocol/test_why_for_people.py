"""The one sentence that people are told of what their process waits for (docs/protocol.md §6)."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.protocol.lives import Life
from tongyao.protocol.life.why import others_are_waited_for_until, why, why_for_party

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


def told(life: Life, alias: str, language: str = "en") -> str:
    return why_for_party(life.state, alias, language)


def test_it_says_what_is_asked_of_whom_it_waits_for() -> None:
    life = Life("human", "human")
    life.succeed("formulate")
    at_once = "confirming begins the process at once with the people who are named"
    assert told(life, "P00").startswith(
        f"The process waits for you: confirm the tension, or revise it: {at_once}, until "
    )
    assert told(life, "P00", "zh").startswith(
        "这个过程在等你：确认或修改张力：参与者已经指定，一经确认过程立即开始，截至 "
    )
    alone = Life(start={"scene": "harbour"})
    alone.succeed("formulate")
    assert told(alone, "P00").startswith("The process waits for you: confirm the tension, or revise it, until ")
    life = Life.in_round_one("human", "proxy")
    assert told(life, "P01").startswith(
        "The process waits for you: say what is new from you in round 1, or answer “nothing new”, until "
    )


def test_it_tells_the_others_what_goes_on_and_names_nobody() -> None:
    life = Life.in_round_one("human", "proxy")
    for alias in ("P00", "P02"):
        assert told(life, alias) == "Round 1 is under way. The process does not wait for you now."


def test_while_the_plan_is_answered_the_demander_hears_of_points_that_stayed_open() -> None:
    life = Life.answering("human", "human", residuals_of_plan=1)
    assert "look for other people" in told(life, "P00")
    assert told(life, "P01").startswith(
        "The process waits for you: answer plan 1: commit, decline, or propose a change, until "
    )


def test_it_says_until_when_others_are_waited_for_and_not_whom() -> None:
    life = Life.in_round_one("human", "proxy")
    until = others_are_waited_for_until(life.state, "P00")
    assert until is not None and until > life.world.now
    assert others_are_waited_for_until(life.state, "P02") == until
    assert others_are_waited_for_until(life.state, "P01") is None, "their own deadline is with what is asked of them"


def test_it_tells_the_demander_of_a_gap_for_which_the_rounds_do_not_wait() -> None:
    life = Life.in_round_one("proxy", "human", max_rounds=2)
    life.says("P02", "words")
    while life.runs("project"):
        life.succeed("project")
    life.succeed("observe", verdict="more", asks_demander=True)
    assert told(life, "P00").endswith("The rounds do not wait for your answer.")
    [asked] = [reason for reason in why(life.state, NOW) if reason.waits_for == "P00"]
    assert asked.until is None
    assert asked.sentence.startswith("A question to P00 is open, and nothing waits for the answer; answer a question")
    while life.runs("project"):
        life.succeed("project")
    life.says("P02", "words")
    life.succeed("project")
    life.succeed("observe", verdict="more")
    assert told(life, "P00").startswith(
        "The process waits for you: decide how the process goes on: the rounds have stopped"
    )


def test_who_is_invited_is_named_in_words_and_not_by_an_id() -> None:
    life = Life("proxy", "proxy", auto_confirm=True)
    life.succeed("formulate")
    life.succeed("consent", ask=["n1"])
    [reason] = why(life.state, NOW)
    assert reason.sentence.startswith("Waits for somebody who is invited (number 1) since ")
    [reason] = why(life.state, NOW, "zh")
    assert reason.sentence.startswith("在等受邀的人（第 1 位）")
