"""The message handlers of a process: an update for each kind of message, and one dynamic signal handler
(docs/protocol.md §8).

The relay sends updates with typed messages, whose texts are already stored. Validators refuse messages, and handlers
apply them. An update is accepted only if this installation encrypted it for this workflow (docs/temporal.md §2).
Everybody who reaches Temporal can send a signal. Therefore only `resume`, which says nothing for anybody, is applied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

from tongyao.protocol.contracts.process import REFUSED
from tongyao.protocol.life import machine
from tongyao.protocol.life.machine import KINDS, Kind, open_now
from tongyao.protocol.life.state import State, note
from tongyao.protocol.life.turns import counts_in
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.rules.refusals import ACCEPTED, MessageVerdict, Refusal

UNKNOWN: Final = "unknown"
"""Recorded as the kind of a refused signal if the signal's name is no kind of message. The name itself is not recorded.
"""


class MessageHandlers:
    """Message handlers that change the state and return at once. The workflow sets `state` before any message."""

    state: State
    changed: bool
    heard_at: int
    updates: int

    def _refuse(self, message: m.Message) -> None:
        """Raise the refusal of a message, with its verdict, unless it may be applied or was applied before."""
        if machine.repeated(self.state, message):
            return
        if (code := machine.refuse(self.state, message)) is not None:
            verdict = MessageVerdict.refused(code, open_now(self.state, message))
            raise ApplicationError(verdict.en, verdict.model_dump(), type=REFUSED, non_retryable=True)

    def _apply(self, message: m.Message) -> MessageVerdict:
        """Apply a message that its validator accepted. The rules are not checked again, so that replays agree."""
        self.updates += 1
        self.heard_at = workflow.info().get_current_history_length()
        if machine.repeated(self.state, message):
            return ACCEPTED.model_copy(update={"repeated": True})
        counts = counts_in(self.state)
        later = counts if isinstance(message, m.SubmitProjection) and counts > message.round else 0
        machine.hear(self.state, message, workflow.now())
        self.changed = True
        return ACCEPTED.model_copy(update={"round": later}) if later else ACCEPTED

    @workflow.signal(dynamic=True)
    def signal(self, kind: str, payloads: Sequence[RawValue]) -> None:
        """Apply `resume`, and note the refusal of every other signal. Payloads are not read, so it never raises."""
        self.changed = True
        message = m.Resume(author=m.Author(role="operator"))
        code = Refusal.NOT_READ if kind != message.kind else machine.refuse(self.state, message)
        if code is None:
            machine.hear(self.state, message, workflow.now())
        else:
            known = kind if kind in KINDS else UNKNOWN
            note(self.state, EventKind.MESSAGE_REFUSED, workflow.now(), message=known, code=code.value)


def _add_update(name: str, kind: Kind) -> None:
    """Add the update of one kind, with its validator, to `MessageHandlers`."""

    def handle(self: MessageHandlers, message: m.Message) -> MessageVerdict:
        return self._apply(message)

    def validate(self: MessageHandlers, message: m.Message) -> None:
        self._refuse(message)

    handle.__annotations__ = {"message": kind.type, "return": MessageVerdict}
    validate.__annotations__ = {"message": kind.type, "return": None}
    update = workflow.update(name=name, description=kind.description)(handle)
    update.validator(validate)
    setattr(MessageHandlers, name, update)


for _name, _kind in KINDS.items():
    _add_update(_name, _kind)
