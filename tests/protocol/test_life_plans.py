"""Answers, the one re-plan, residual tensions and children (docs/protocol.md §3.6, §7.5, §7.7)."""

from __future__ import annotations

from tests.protocol.lives import DAY, Life
from tongyao.protocol.contracts.process import PlanInput
from tongyao.protocol.model.events import EventKind


def test_a_plan_is_made_anew_once_without_whoever_declined() -> None:
    life = Life.answering("human", "human", "human", residuals="off")
    life.by("P01", "answer_plan", revision=1, answer="decline")
    life.by("P02", "answer_plan", revision=1, answer="propose", text_id="another way")
    life.by("P03", "answer_plan", revision=1, answer="commit")
    assert life.by_demander("replan", without=["P01"], proposals=["P02"]) == ""

    [given] = life.given("plan")
    assert (given.revision, given.without, given.proposals) == (2, ("P01",), ("P02",))
    life.succeed("plan")
    [delivered] = life.given("deliver")
    assert delivered.aliases == ("P02", "P03")
    life.succeed("deliver")
    assert {one.alias for one in life.asked("answer")} == {"P02", "P03"}
    assert life.by("P01", "answer_plan", revision=2, answer="commit") == "not_asked"
    life.by("P02", "answer_plan", revision=2, answer="decline")
    assert life.by_demander("replan", without=["P02"]) == "already_replanned"


def test_a_replan_is_refused_when_the_demander_has_decided_on_every_answer_otherwise() -> None:
    life = Life.answering("human", "human", residuals="ask")
    life.by("P01", "answer_plan", revision=1, answer="decline")
    assert life.asked("replan")
    life.by_demander("approve_residual", residual="plan/1/hole/P01")
    assert life.phase == "answering" and not life.asked("replan")
    assert life.by_demander("replan", without=["P01"], ask="replan/1") == "ask_over"


def test_suspended_by_a_branch_during_a_replan_the_plan_waits_and_both_go_on() -> None:
    life = Life.answering("human", "human", residuals="ask", residuals_of_plan=1)
    life.by("P01", "answer_plan", revision=1, answer="decline")
    life.by_demander("approve_residual", residual="plan/1/residual/1")
    life.by_demander("replan", without=["P01"])
    life.fail("branch")

    assert life.state.suspended and life.phase == "planning"
    life.by_operator("resume")
    life.succeed("branch")
    life.succeed("plan")
    assert life.phase == "delivering"
    assert life.state.residuals["plan/1/residual/1"].status == "started"


def test_a_residual_approved_in_the_last_moment_still_gets_its_child() -> None:
    life = Life.answering("human", "human", residuals="ask", residuals_of_plan=1, wait_for_children=False)
    life.by("P01", "answer_plan", revision=1, answer="commit")
    life.by_demander("approve_residual", residual="plan/1/residual/1")
    life.by("P02", "answer_plan", revision=1, answer="commit")

    assert life.phase == "awaiting_children"
    life.succeed("branch")
    assert life.phase == "completed"


def test_an_approved_residual_is_no_longer_asked_about_and_an_event_says_so() -> None:
    life = Life.answering("human", "human", residuals="ask", residuals_of_plan=1)
    life.by_demander("approve_residual", residual="plan/1/residual/1")

    assert life.asked("residual") == []
    assert life.events(EventKind.RESIDUAL_APPROVED) == [{"residual": "plan/1/residual/1"}]


def test_a_tree_cancelled_while_a_child_is_started_cancels_its_children() -> None:
    life = Life.answering("human", "human", residuals="ask", residuals_of_plan=1)
    life.by_demander("approve_residual", residual="plan/1/residual/1")
    life.by_demander("cancel", branch=True)
    life.late("branch")

    assert life.runs("cancel_children") and not life.runs("branch")
    life.succeed("cancel_children")
    life._write()
    assert life.world.running == {} and life.state.residuals["plan/1/residual/1"].status == "approved"


def test_a_child_that_was_announced_and_never_started_ends_like_every_child() -> None:
    life = Life.answering("human", "human", residuals="ask", residuals_of_plan=1, wait_for_children=True)
    life.by_demander("approve_residual", residual="plan/1/residual/1")
    assert life.by_child("c-1.1-1", "cancelled") == ""

    assert not life.runs("branch")
    assert life.by_child("c-1.1-1", "cancelled") == "unknown_child"


def test_plans_of_children_are_folded_in_once() -> None:
    life = Life.answering("human", "human", residuals="auto", residuals_of_plan=2, wait_for_children=True)
    life.succeed("branch")
    life.succeed("branch")
    life.by_demander("conclude")
    assert life.phase == "awaiting_children"
    life.by_child("c-1.1-1", "completed")
    life.by_child("c-1.1-2", "abandoned")

    [given] = life.given("plan")
    assert given.children == ("c-1.1-1",)
    life.succeed("plan", residuals=3)
    life.succeed("deliver")
    assert life.phase == "completed"


def test_a_child_that_ends_before_anybody_is_asked_is_folded_in_too() -> None:
    life = Life.in_round_one("proxy", "proxy", residuals="auto", wait_for_children=True)
    life.by_demander("conclude")
    life.succeed("project")
    life.succeed("observe")
    life.succeed("plan", residuals=1)
    life.succeed("branch")
    life.by_child("c-1.1-1", "completed")
    life.succeed("deliver")

    assert life.phase == "planning"
    assert [event["to"] for event in life.events(EventKind.PHASE_CHANGED)][-2:] == ["awaiting_children", "planning"]


def test_in_a_room_of_proxies_the_demander_is_asked_about_each_residual_after_the_plan() -> None:
    life = Life.answering("proxy", "proxy", residuals="ask", residuals_of_plan=2)
    assert life.phase == "answering"
    assert {one.id: one.ends_answers for one in life.asked("residual")} == {
        "residual/plan/1/residual/1": False,
        "residual/plan/1/residual/2": False,
    }
    life.by_demander("approve_residual", residual="plan/1/residual/1", approve=False)
    assert [one.ends_answers for one in life.asked("residual")] == [True]
    life.by_demander("approve_residual", residual="plan/1/residual/2", approve=False)
    assert life.phase == "completed"


def test_in_a_room_of_proxies_nobody_waits_for_the_demander_for_longer_than_for_an_answer() -> None:
    life = Life.answering("proxy", "proxy", residuals="ask", residuals_of_plan=1)
    life.wait(7 * DAY)
    life.succeed("check_deadline")
    assert life.phase == "completed" and life.state.residuals["plan/1/residual/1"].status == "open"


def test_a_childs_plan_flows_back_where_the_residual_was_taken_up_before_the_end() -> None:
    life = Life.answering("proxy", "proxy", residuals="ask", residuals_of_plan=2)
    life.by_demander("approve_residual", residual="plan/1/residual/1")
    life.succeed("branch")
    life.by_demander("approve_residual", residual="plan/1/residual/2", approve=False)
    assert life.phase == "awaiting_children"
    life.by_child("c-1.1-1", "completed")
    [plan] = life.runs("plan")
    assert isinstance(plan.step.input, PlanInput) and plan.step.input.children == ("c-1.1-1",)
    life.succeed("plan", residuals=1)
    life.succeed("deliver")
    assert life.phase == "completed" and life.state.plan_revision == 2


def test_every_answer_to_the_question_of_consent_changes_the_inbox_by_an_event() -> None:
    life = Life("human", "human", "human", auto_confirm=True)
    life.succeed("formulate")
    life.succeed("consent", ask=["n1", "n2"])
    life.world.apply(
        ["say", {"kind": "consent", "role": "invited", "alias_of_author": "invited/1", "invitation": 1, "allow": False}]
    )

    assert {one.alias for one in life.asked("consent")} == {"invited/2"}
    assert life.events(EventKind.CONSENT_ANSWERED) == [{"number": 1}]
    assert life.state.seats == {}


def test_whoever_is_asked_may_take_the_seat_themself_and_allows_no_proxy_by_it() -> None:
    life = Life("proxy", "proxy", "proxy", auto_confirm=True, fallback="proxy")
    life.succeed("formulate")
    life.succeed("consent", ask=["n1", "n2"])
    for number, endpoint in ((1, "human"), (2, "proxy")):
        answer = {"kind": "consent", "invitation": number, "allow": True, "endpoint": endpoint}
        life.world.apply(["say", {**answer, "role": "invited", "alias_of_author": f"invited/{number}"}])
    life.succeed("freeze")

    seats = {seat.profile.profile_id: seat for seat in life.state.seats.values() if seat.profile}
    assert {name: (seat.endpoint.value, seat.consented) for name, seat in seats.items()} == {
        "n1": ("human", False),
        "n2": ("proxy", True),
        "n3": ("proxy", True),
    }
    assert [one.alias for one in life.asked("projection")] == [seats["n1"].alias]


def test_a_decision_that_ends_the_answers_says_so_where_it_is_asked_for() -> None:
    life = Life.answering("human", "human", "human", residuals="ask", residuals_of_plan=1)
    life.by("P01", "answer_plan", revision=1, answer="decline")
    life.by("P02", "answer_plan", revision=1, answer="decline")
    life.by("P03", "answer_plan", revision=1, answer="commit")
    assert not any(one.ends_answers for one in life.asked()), "two holes are open"
    life.by_demander("approve_residual", residual="plan/1/hole/P01", approve=False)
    assert {one.subject: one.ends_answers for one in life.asked("hole")} == {"plan/1/hole/P02": True}
    assert [one.ends_answers for one in life.asked("residual")] == [False]
    life.by_demander("approve_residual", residual="plan/1/hole/P02", approve=False)
    assert life.phase == "completed"
