"""The workflow class itself, driven in process: residual tensions, children and the budget of their tree (docs/protocol.md §3)."""

from __future__ import annotations

from typing import Any

from temporalio.common import WorkflowIDReusePolicy

from tests.simulation.rooms import Room
from tests.workflows.test_shell import HUMAN, PROXY, RESIDUAL, accepted
from tongyao.protocol.contracts.process import (
    OPERATOR_NEEDED,
    BranchOutput,
    ObserveOutput,
    ProcessInput,
    ProjectOutput,
    TurnOutput,
)
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.observation import Verdict
from tongyao.protocol.model.process import Spent
from tongyao.protocol.model.projection import Outcome
from tongyao.protocol.model.tension import Lineage


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


def test_the_id_of_a_child_is_never_used_again() -> None:
    room = Room(HUMAN, HUMAN)
    room.to_answers(RESIDUAL)
    room.by_demander("approve_residual", residual=RESIDUAL)
    room.finish("branch", child_of(room))
    commands = [command.start_child_workflow_execution for task in room.history for command in task.commands]
    (policy,) = [child.workflow_id_reuse_policy for child in commands if child.workflow_id]
    assert policy == WorkflowIDReusePolicy.REJECT_DUPLICATE
    (seq,) = room.children
    room.activate(room.child_runs_already(seq))
    assert room.state.residuals[RESIDUAL].status == "started"


def test_the_end_of_a_child_is_a_message_and_may_overtake_the_news_of_its_start() -> None:
    room = Room(HUMAN, HUMAN)
    room.to_answers(RESIDUAL)
    room.by_demander("approve_residual", residual=RESIDUAL)
    author = m.Author(role="child", alias="c-1.1-1")
    assert accepted(room.say(room.message("child_ended", author, child="c-1.1-1", outcome="completed")))
    assert room.state.residuals[RESIDUAL].status == "ended"
    assert not room.named("branch")


def child_room(**settings: Any) -> Room:
    lineage = Lineage(root="c-0", parent="c-0", residual=RESIDUAL, depth=1)
    return Room(PROXY, PROXY, lineage=lineage, **settings)


def test_a_child_has_no_limit_of_its_own_and_goes_on_as_long_as_the_tree_has_money() -> None:
    room = child_room(token_budget=1_000)
    (activity,) = room.named("project")
    outcomes = tuple(TurnOutput(alias=alias, revision=1, outcome=Outcome.REPLIED) for alias in ("P01", "P02"))
    room.activate(room.completed(activity, ProjectOutput(turns=outcomes, spent=Spent(tokens=5_000))))
    room.finish("observe", ObserveOutput(verdict=Verdict.MORE, spent=Spent(tokens=6_000)))
    assert (room.phase, room.state.round) == ("crystallizing", 2)


def test_the_budget_of_a_tree_is_raised_at_its_root() -> None:
    room = child_room()
    (activity,) = room.named("project")
    outcomes = tuple(
        TurnOutput(alias=alias, revision=1, outcome=Outcome.FAILED, reason="budget") for alias in ("P01", "P02")
    )
    room.activate(room.completed(activity, ProjectOutput(turns=outcomes, out_of_budget=True)))
    assert room.phase == "deciding"
    assert room.by_demander("decide", decision="raise_budget", tokens=10_000_000).code == "budget_of_root"
    assert accepted(room.by_demander("decide", decision="extend"))
    assert room.phase == "crystallizing"
