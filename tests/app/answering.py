"""A small workflow that answers messages in every way a workflow can: as it should, with a bug, or not at all."""

from __future__ import annotations

from dataclasses import dataclass, field

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from tongyao.protocol.contracts.process import REFUSED
from tongyao.protocol.model import messages as m
from tongyao.protocol.rules.refusals import ACCEPTED, MessageVerdict, Refusal

NAME = "Answering"


@dataclass
class Heard:
    """What a run hands on to the next: keys in the order in which they were applied, and each lane's last number."""

    keys: list[str] = field(default_factory=list)
    lanes: dict[str, int] = field(default_factory=dict)


class _Answers:
    heard: Heard
    next_run = False
    over = False

    def apply(self, message: m.Message) -> MessageVerdict:
        if message.number <= self.heard.lanes.get(message.lane, 0):
            return ACCEPTED.model_copy(update={"repeated": True})
        self.heard.lanes[message.lane] = message.number
        self.heard.keys.append(message.key)
        return ACCEPTED

    async def until_closed(self) -> None:
        await workflow.wait_condition(lambda: self.next_run or self.over)
        if self.next_run:
            workflow.continue_as_new(self.heard)

    @workflow.query
    def keys(self) -> list[str]:
        return self.heard.keys

    @workflow.update
    def confirm_tension(self, message: m.ConfirmTension) -> MessageVerdict:
        return self.apply(message)

    @workflow.update
    def conclude(self, message: m.Conclude) -> MessageVerdict:
        return self.apply(message)

    @conclude.validator
    def refuse_to_conclude(self, message: m.Conclude) -> None:
        verdict = MessageVerdict.refused(Refusal.NOT_NOW)
        raise ApplicationError(verdict.en, verdict.model_dump(), type=REFUSED, non_retryable=True)

    @workflow.update(unfinished_policy=workflow.HandlerUnfinishedPolicy.ABANDON)
    async def upgrade(self, message: m.Upgrade) -> MessageVerdict:
        """The first run accepts it and continues as new before it has answered."""
        if not workflow.info().continued_run_id:
            self.next_run = True
            await workflow.wait_condition(lambda: False)
        return self.apply(message)

    @workflow.update
    def set_mandate(self, message: int) -> MessageVerdict:
        """Cannot read what it gets."""
        return ACCEPTED

    @workflow.signal
    def end(self) -> None:
        self.over = True


@workflow.defn(name=NAME)
class Answering(_Answers):
    """Its `replan` has a bug, and it knows no `extend_deadline`."""

    @workflow.init
    def __init__(self, heard: Heard) -> None:
        self.heard = heard

    @workflow.run
    async def run(self, heard: Heard) -> None:
        await self.until_closed()

    @workflow.update
    def replan(self, message: m.Replan) -> MessageVerdict:
        return self.apply(message)

    @replan.validator
    def check_replan(self, message: m.Replan) -> None:
        raise ValueError("a bug")


@workflow.defn(name=NAME)
class Repaired(_Answers):
    """The next version of it: `replan` works, and `extend_deadline` is known."""

    @workflow.init
    def __init__(self, heard: Heard) -> None:
        self.heard = heard

    @workflow.run
    async def run(self, heard: Heard) -> None:
        await self.until_closed()

    @workflow.update
    def replan(self, message: m.Replan) -> MessageVerdict:
        return self.apply(message)

    @workflow.update
    def extend_deadline(self, message: m.ExtendDeadline) -> MessageVerdict:
        return self.apply(message)
