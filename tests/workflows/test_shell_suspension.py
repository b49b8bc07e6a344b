"""The workflow class itself, driven in process: how causes of a suspension come and go (docs/protocol.md §3.7)."""

from __future__ import annotations

from datetime import timedelta

from tests.simulation.in_process import Activity
from tests.simulation.rooms import Room
from tongyao.protocol.contracts.process import OPERATOR_NEEDED, ProjectOutput, TurnOutput
from tongyao.protocol.life.why import why
from tongyao.protocol.model.messages import Author
from tongyao.protocol.model.projection import EndpointKind, Outcome

HUMAN, PROXY = EndpointKind.HUMAN, EndpointKind.PROXY
P02 = Author(role="participant", alias="P02")


def fail_for_operator(room: Room, *aliases: str) -> None:
    """Let the steps of these proxies, each alone, fail for a reason that only an operator can mend."""
    for activity in list(room.named("project")):
        if {turn["alias"] for turn in activity.input["turns"]} <= set(aliases):
            room.activate(room.failed(activity, OPERATOR_NEEDED, "a profile", "bad_profile"))


def sentences(room: Room) -> list[str]:
    return [reason.sentence for reason in why(room.state, room.now)]


def project_output(activity: Activity) -> ProjectOutput:
    outcomes = [
        TurnOutput(alias=turn["alias"], revision=turn.get("revision", 1), outcome=Outcome.REPLIED)
        for turn in activity.input["turns"]
    ]
    return ProjectOutput(turns=tuple(outcomes))


def succeed(room: Room) -> None:
    """Let every step of proxies succeed."""
    for activity in list(room.named("project")):
        room.activate(room.completed(activity, project_output(activity)))


def test_a_room_goes_on_when_the_proxy_that_suspended_it_is_taken_over() -> None:
    room = Room(PROXY, PROXY)
    fail_for_operator(room, "P01", "P02")  # both in one step
    assert not room.state.suspended, "each is tried alone first"
    fail_for_operator(room, "P01")
    succeed(room)
    assert room.state.suspended
    room.by_participant("P01", "switch_endpoint", endpoint="human")
    assert not room.state.suspended
    room.words("P01")
    room.project()
    assert room.named("observe")


def test_a_room_goes_on_when_every_proxy_that_failed_is_taken_over() -> None:
    room = Room(PROXY, PROXY)
    (activity,) = room.named("project")
    outcomes = [
        TurnOutput(alias=alias, revision=1, outcome=Outcome.FAILED, reason="overloaded") for alias in ("P01", "P02")
    ]
    room.activate(room.completed(activity, ProjectOutput(turns=tuple(outcomes))))
    assert list(room.state.causes) == ["endpoints_failed"]
    room.by_participant("P01", "switch_endpoint", endpoint="human")
    assert room.state.suspended, "the other proxy is still to be tried again"
    room.by_participant("P02", "switch_endpoint", endpoint="human")
    assert not room.state.suspended
    assert {turn.alias for turn in room.state.waiting_for} == {"P01", "P02"}


def test_a_cause_is_gone_with_its_participant() -> None:
    room = Room(PROXY, PROXY, PROXY)
    fail_for_operator(room, "P01", "P02", "P03")
    fail_for_operator(room, "P01")
    succeed(room)
    room.by_participant("P01", "leave")
    assert not room.state.suspended
    assert room.named("observe")


def test_what_resume_clears_comes_back_while_it_is_not_mended() -> None:
    room = Room(PROXY, PROXY)
    fail_for_operator(room, "P01", "P02")
    fail_for_operator(room, "P01", "P02")
    before = set(room.state.causes)
    assert len(before) == 2
    for _ in range(2):
        room.by_operator("resume")
        assert not room.state.suspended
        fail_for_operator(room, "P01", "P02")
        assert set(room.state.causes) == before


def test_resume_leaves_what_infrastructure_failed_and_tries_it_at_once() -> None:
    room = Room(PROXY, PROXY)
    fail_for_operator(room, "P01", "P02")
    first, second = room.named("project")
    room.activate(room.failed(first, OPERATOR_NEEDED, "a profile", "bad_profile"))
    room.activate(room.failed(second, "DatabaseUnreachable"))
    room.by_operator("resume")
    (cause,) = room.state.causes.values()
    assert (cause.kind, cause.retry_at) == ("infrastructure", None)
    assert len(room.named("project")) == 1, "the other one waits until this one succeeds"


def test_the_time_in_which_a_process_is_suspended_is_no_part_of_its_life() -> None:
    room = Room(PROXY, PROXY, process_seconds=int(timedelta(days=10).total_seconds()))
    for _ in range(3):
        fail_for_operator(room, "P01", "P02")
        fail_for_operator(room, "P01", "P02")
        room.pass_time(days=9)
        assert room.state.suspended
        room.by_operator("resume")
    room.pass_time(days=9)
    assert room.phase == "crystallizing"
    room.pass_time(days=2)
    assert room.phase == "expired"


def test_a_step_that_failed_as_the_life_ends_does_not_end_it() -> None:
    """Its failure is heard first: the process was suspended before."""
    room = Room(PROXY, PROXY, process_seconds=int(timedelta(days=4).total_seconds()))
    (activity,) = room.named("project")
    failed = room.failed(activity, "DatabaseUnreachable")
    room.now += timedelta(days=5)
    room.activate(room.fired(), failed)
    assert (room.phase, room.state.suspended) == ("crystallizing", True)


def test_whoever_takes_over_again_and_again_is_stopped_after_every_endpoint_failed_too() -> None:
    room = Room(PROXY, PROXY)
    taken = 0
    for attempt in range(3):
        for _ in range(4):
            taken += room.by_participant("P01", "switch_endpoint", endpoint="human").accepted
            room.by_participant("P01", "switch_endpoint", endpoint="proxy")
        outcomes = []
        for activity in list(room.named("project")):
            outcomes = [
                TurnOutput(alias=turn["alias"], revision=1, outcome=Outcome.FAILED, reason="overloaded")
                for turn in activity.input["turns"]
            ]
            room.activate(room.completed(activity, ProjectOutput(turns=tuple(outcomes))))
        assert list(room.state.causes) == ["endpoints_failed"], attempt
        room.by_operator("resume")
    assert taken == 3


def test_while_a_process_drains_only_the_steps_that_run_are_waited_for() -> None:
    room = Room(PROXY, PROXY)
    fail_for_operator(room, "P01", "P02")  # from now on each has a step of its own
    first, second = room.named("project")
    room.suggested = True
    room.activate(room.completed(first, project_output(first)))
    (one,) = [sentence for sentence in sentences(room) if "worker" in sentence]
    assert "step project/1/3 " in one
    room.activate(
        room.update(room.message("set_mandate", P02, alias="P02")), room.completed(second, project_output(second))
    )
    assert room.continued is None, "not in the task that answered an update"
    assert sentences(room) == ["Waits for its next run (continue-as-new)."]
    room.write_everything()
    assert room.continued is not None and room.continued.draining is None
    assert any("observe/1" in reason.sentence for reason in why(room.continued, room.now))
