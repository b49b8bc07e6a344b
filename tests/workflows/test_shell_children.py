"""The workflow class itself, driven in process: residual tensions, children and the budget of their tree (docs/protocol.md §3)."""

from __future__ import annotations

from tests.simulation.rooms import Room
from tests.workflows.test_shell import HUMAN, PROXY, RESIDUAL, accepted
from tongyao.protocol.contracts.process import OPERATOR_NEEDED, BranchOutput, ProcessInput
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.process import Phase
from tongyao.protocol.rules.refusals import Verdict


def test_a_branch_that_suspends_during_a_replan_and_an_approval_in_the_last_moment() -> None:
    room = Room(HUMAN, HUMAN, HUMAN)
    room.to_answers(RESIDUAL, "plan/1/residual/2")
    room.by_participant("P01", "answer_plan", revision=1, answer="decline")
    room.by_demander("approve_residual", residual=RESIDUAL)
    assert accepted(room.by_demander("replan", without=("P01",)))
    room.activate(room.failed(room.named("branch")[0], OPERATOR_NEEDED, "no credit"))
    assert room.state.suspended
    assert accepted(room.by_demander("approve_residual", residual="plan/1/residual/2"))
    room.by_operator("resume")
    assert {one.input["residual"] for one in room.named("branch")} == {RESIDUAL, "plan/1/residual/2"}


def child_of(room: Room) -> BranchOutput:
    child = ProcessInput(process_id="c-1.1-1", demander="d", intent_text_id="intent")
    return BranchOutput(child=child)


def test_a_tree_that_is_cancelled_while_a_child_is_being_started_cancels_that_child() -> None:
    room = Room(HUMAN, HUMAN)
    room.to_answers(RESIDUAL)
    room.by_demander("approve_residual", residual=RESIDUAL)
    assert room.named("branch")
    room.by_demander("cancel", branch=True)
    assert room.named("cancel_children")
    room.finish("cancel_children", None)
    room.write_everything()
    assert room.result["outcome"] == "cancelled"


def test_an_announced_child_that_was_never_started_is_started_by_the_next_try() -> None:
    room = Room(HUMAN, HUMAN)
    room.to_answers(RESIDUAL)
    room.by_demander("approve_residual", residual=RESIDUAL)
    room.activate(room.failed(room.named("branch")[0], "DatabaseUnreachable"))
    room.pass_time(seconds=11)
    room.finish("branch", child_of(room))
    (seq,) = room.children
    room.activate(room.child_started(seq))
    assert room.state.residuals[RESIDUAL].child == "c-1.1-1"


def test_the_end_of_a_child_is_a_message_and_may_overtake_the_news_of_its_start() -> None:
    room = Room(HUMAN, HUMAN)
    room.to_answers(RESIDUAL)
    room.by_demander("approve_residual", residual=RESIDUAL)
    author = m.Author(role="child", alias="c-1.1-1")
    assert accepted(room.say(room.message("child_ended", author, child="c-1.1-1", outcome="completed")))
    assert room.state.residuals[RESIDUAL].status == "ended"
    assert not room.named("branch")


def test_a_child_may_not_raise_the_budget_of_the_tree() -> None:
    room = Room(PROXY, PROXY, max_rounds=2)
    state = room.state
    lineage = {"root": "c-0", "parent": "c-0", "parent_revision": 1, "residual": RESIDUAL, "depth": 1}
    fields = type(state.start).model_fields["lineage"].annotation
    assert fields is not None
    while state.phase is not Phase.DECIDING:
        room.project()
        if room.named("observe"):
            room.observe()
    state.start = state.start.model_copy(update={"lineage": lineage})
    refused = room.by_demander("decide", decision="raise_budget", tokens=10_000_000)
    assert isinstance(refused, Verdict)
    assert refused.code == "budget_of_root"
