"""The message handlers of a process: an update and a signal of the same name for each kind (docs/protocol.md §8).

The relay sends updates, which carry typed messages; their texts are stored already. Validators refuse, and handlers apply.
Operators send signals (command line, Temporal UI): untyped JSON, which may carry a text. A refused signal becomes an event. If the
start input has a key, both must be signed: the relay signs updates, and `tongyao signal` signs payloads.
"""

from __future__ import annotations

import hashlib
import json
from typing import Final

from pydantic import ValidationError
from temporalio import workflow
from temporalio.exceptions import ApplicationError

from tongyao.protocol.contracts.process import REFUSED
from tongyao.protocol.contracts.signals import Payload, read_signal
from tongyao.protocol.contracts.signatures import NOT_SIGNED, SIGNED
from tongyao.protocol.life import machine
from tongyao.protocol.life.journal import note
from tongyao.protocol.life.phases.turns import later_round
from tongyao.protocol.life.state import State
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.rules.refusals import ACCEPTED, Refusal, Verdict
from workflows.signatures import message_is_signed, signature_of_signal

SIGNALS_KEPT: Final = 200
"""How many signals with a key are remembered, so that the same signal twice is one message."""

RESUME: Final = "resume"
"""The only signal that is taken without a signature; its payload is not read."""


class MessageHandlers:
    """Handlers record and return at once. The workflow sets `state` before the first message arrives."""

    state: State
    changed: bool
    heard_at: int
    updates: int

    # ---- what all handlers do

    def _refuse(self, message: m.Message) -> None:
        """Raise the refusal of a message, with its verdict; nothing for one that may be applied or was applied before."""
        key = self.state.start.signal_key
        if key and not message_is_signed(key, self.state.process_id, message):
            raise ApplicationError(
                "the message is not signed by this installation", type=NOT_SIGNED, non_retryable=True
            )
        if machine.repeated(self.state, message):
            return
        if (code := machine.refuse(self.state, message)) is not None:
            verdict = Verdict.refused(code)
            raise ApplicationError(verdict.en, verdict.model_dump(), type=REFUSED, non_retryable=True)

    def _apply(self, message: m.Message) -> Verdict:
        """Apply a message that its validator let pass. The rules are not asked again: history has accepted it."""
        self.updates += 1
        self.heard_at = workflow.info().get_current_history_length()
        if machine.repeated(self.state, message):
            return ACCEPTED.model_copy(update={"repeated": True})
        later = later_round(self.state, message) if isinstance(message, m.SubmitProjection) else 0
        machine.hear(self.state, message, workflow.now())
        self.changed = True
        return ACCEPTED.model_copy(update={"round": later}) if later else ACCEPTED

    def _signal(self, kind: str, payload: Payload) -> None:
        self.changed = True
        now = workflow.now()
        if self.state.start.signal_key:
            signed = self._is_signed(kind, payload)
            if not signed and kind != RESUME:
                note(self.state, EventKind.MESSAGE_REFUSED, now, message=kind, code=Refusal.NOT_SIGNED.value)
                return
            payload = {name: value for name, value in payload.items() if name != SIGNED} if signed else {}
        try:
            message, texts = read_signal(self.state, kind, payload)
        except (ValidationError, ValueError, TypeError, KeyError):
            note(self.state, EventKind.MESSAGE_REFUSED, now, message=kind, code=Refusal.NOT_TRUSTED.value)
            return
        digest = hashlib.sha256(json.dumps([kind, payload], sort_keys=True).encode()).hexdigest()[:16]
        if payload.get("key") and digest in self.state.signals:
            return
        if (code := machine.refuse(self.state, message)) is not None:
            note(self.state, EventKind.MESSAGE_REFUSED, now, message=kind, code=code.value)
            return
        if payload.get("key"):
            self.state.signals = [*self.state.signals, digest][-SIGNALS_KEPT:]
        self.state.signalled += texts
        machine.hear(self.state, message, now)

    def _is_signed(self, kind: str, payload: Payload) -> bool:
        """Whether a signal carries a valid signature that was not used before; it is used up by this."""
        now, nonces = workflow.now(), self.state.nonces
        signed = signature_of_signal(self.state.start.signal_key, self.state.process_id, kind, payload)
        if signed is None or signed.nonce in nonces or not signed.stands_at(now):
            return False
        taken = {**nonces, signed.nonce: signed.expires}
        self.state.nonces = {nonce: until for nonce, until in taken.items() if until > now.timestamp()}
        return True

    # ---- one pair of handlers, and a validator, for each kind of message

    @workflow.update(description="Revise the tension before it is confirmed: {tension}.")
    def revise_tension(self, message: m.ReviseTension) -> Verdict:
        return self._apply(message)

    @revise_tension.validator
    def validate_revise_tension(self, message: m.ReviseTension) -> None:
        self._refuse(message)

    @workflow.signal(name="revise_tension", description="Revise the tension before it is confirmed: {tension}.")
    def signal_revise_tension(self, payload: Payload) -> None:
        self._signal("revise_tension", payload)

    @workflow.update(description="Confirm the tension.")
    def confirm_tension(self, message: m.ConfirmTension) -> Verdict:
        return self._apply(message)

    @confirm_tension.validator
    def validate_confirm_tension(self, message: m.ConfirmTension) -> None:
        self._refuse(message)

    @workflow.signal(name="confirm_tension", description="Confirm the tension.")
    def signal_confirm_tension(self, payload: Payload) -> None:
        self._signal("confirm_tension", payload)

    @workflow.update(description="Choose who takes part, and start: {participants}.")
    def select_participants(self, message: m.SelectParticipants) -> Verdict:
        return self._apply(message)

    @select_participants.validator
    def validate_select_participants(self, message: m.SelectParticipants) -> None:
        self._refuse(message)

    @workflow.signal(name="select_participants", description="Choose who takes part, and start: {participants}.")
    def signal_select_participants(self, payload: Payload) -> None:
        self._signal("select_participants", payload)

    @workflow.update(
        description="Somebody who is invited allows a proxy to speak for them, or does not: {invitation, allow}."
    )
    def consent(self, message: m.Consent) -> Verdict:
        return self._apply(message)

    @consent.validator
    def validate_consent(self, message: m.Consent) -> None:
        self._refuse(message)

    @workflow.signal(
        name="consent",
        description="Somebody who is invited allows a proxy to speak for them, or does not: {invitation, allow}.",
    )
    def signal_consent(self, payload: Payload) -> None:
        self._signal("consent", payload)

    @workflow.update(description="Say something in a turn: {alias, round, text | nothing_new}.")
    def submit_projection(self, message: m.SubmitProjection) -> Verdict:
        return self._apply(message)

    @submit_projection.validator
    def validate_submit_projection(self, message: m.SubmitProjection) -> None:
        self._refuse(message)

    @workflow.signal(
        name="submit_projection", description="Say something in a turn: {alias, round, text | nothing_new}."
    )
    def signal_submit_projection(self, payload: Payload) -> None:
        self._signal("submit_projection", payload)

    @workflow.update(description="Change what speaks for a participant: {alias, endpoint}.")
    def switch_endpoint(self, message: m.SwitchEndpoint) -> Verdict:
        return self._apply(message)

    @switch_endpoint.validator
    def validate_switch_endpoint(self, message: m.SwitchEndpoint) -> None:
        self._refuse(message)

    @workflow.signal(name="switch_endpoint", description="Change what speaks for a participant: {alias, endpoint}.")
    def signal_switch_endpoint(self, payload: Payload) -> None:
        self._signal("switch_endpoint", payload)

    @workflow.update(description="Give somebody more time: {alias, seconds}.")
    def extend_deadline(self, message: m.ExtendDeadline) -> Verdict:
        return self._apply(message)

    @extend_deadline.validator
    def validate_extend_deadline(self, message: m.ExtendDeadline) -> None:
        self._refuse(message)

    @workflow.signal(name="extend_deadline", description="Give somebody more time: {alias, seconds}.")
    def signal_extend_deadline(self, payload: Payload) -> None:
        self._signal("extend_deadline", payload)

    @workflow.update(description="A participant leaves: {alias}.")
    def leave(self, message: m.Leave) -> Verdict:
        return self._apply(message)

    @leave.validator
    def validate_leave(self, message: m.Leave) -> None:
        self._refuse(message)

    @workflow.signal(name="leave", description="A participant leaves: {alias}.")
    def signal_leave(self, payload: Payload) -> None:
        self._signal("leave", payload)

    @workflow.update(description="Decide how to go on: {decision}.")
    def decide(self, message: m.Decide) -> Verdict:
        return self._apply(message)

    @decide.validator
    def validate_decide(self, message: m.Decide) -> None:
        self._refuse(message)

    @workflow.signal(name="decide", description="Decide how to go on: {decision}.")
    def signal_decide(self, payload: Payload) -> None:
        self._signal("decide", payload)

    @workflow.update(description="End the rounds after the present one, or the wait for answers or children.")
    def conclude(self, message: m.Conclude) -> Verdict:
        return self._apply(message)

    @conclude.validator
    def validate_conclude(self, message: m.Conclude) -> None:
        self._refuse(message)

    @workflow.signal(
        name="conclude", description="End the rounds after the present one, or the wait for answers or children."
    )
    def signal_conclude(self, payload: Payload) -> None:
        self._signal("conclude", payload)

    @workflow.update(description="Note that a participant changed their proxy's mandate: {alias}.")
    def set_mandate(self, message: m.SetMandate) -> Verdict:
        return self._apply(message)

    @set_mandate.validator
    def validate_set_mandate(self, message: m.SetMandate) -> None:
        self._refuse(message)

    @workflow.signal(name="set_mandate", description="Note that a participant changed their proxy's mandate: {alias}.")
    def signal_set_mandate(self, payload: Payload) -> None:
        self._signal("set_mandate", payload)

    @workflow.update(description="A participant's answer to the plan: {alias, revision, answer, text}.")
    def answer_plan(self, message: m.AnswerPlan) -> Verdict:
        return self._apply(message)

    @answer_plan.validator
    def validate_answer_plan(self, message: m.AnswerPlan) -> None:
        self._refuse(message)

    @workflow.signal(
        name="answer_plan", description="A participant's answer to the plan: {alias, revision, answer, text}."
    )
    def signal_answer_plan(self, payload: Payload) -> None:
        self._signal("answer_plan", payload)

    @workflow.update(description="Start a child for a residual tension, or do not: {residual, approve}.")
    def approve_residual(self, message: m.ApproveResidual) -> Verdict:
        return self._apply(message)

    @approve_residual.validator
    def validate_approve_residual(self, message: m.ApproveResidual) -> None:
        self._refuse(message)

    @workflow.signal(
        name="approve_residual", description="Start a child for a residual tension, or do not: {residual, approve}."
    )
    def signal_approve_residual(self, payload: Payload) -> None:
        self._signal("approve_residual", payload)

    @workflow.update(description="Make the plan anew, once: {without, proposals}.")
    def replan(self, message: m.Replan) -> Verdict:
        return self._apply(message)

    @replan.validator
    def validate_replan(self, message: m.Replan) -> None:
        self._refuse(message)

    @workflow.signal(name="replan", description="Make the plan anew, once: {without, proposals}.")
    def signal_replan(self, payload: Payload) -> None:
        self._signal("replan", payload)

    @workflow.update(description="A child process has ended: {child, outcome}.")
    def child_ended(self, message: m.ChildEnded) -> Verdict:
        return self._apply(message)

    @child_ended.validator
    def validate_child_ended(self, message: m.ChildEnded) -> None:
        self._refuse(message)

    @workflow.signal(name="child_ended", description="A child process has ended: {child, outcome}.")
    def signal_child_ended(self, payload: Payload) -> None:
        self._signal("child_ended", payload)

    @workflow.update(description="Go on after a suspension.")
    def resume(self, message: m.Resume) -> Verdict:
        return self._apply(message)

    @resume.validator
    def validate_resume(self, message: m.Resume) -> None:
        self._refuse(message)

    @workflow.signal(name="resume", description="Go on after a suspension.")
    def signal_resume(self, payload: Payload) -> None:
        self._signal("resume", payload)

    @workflow.update(description="Continue as new, under the newest rules.")
    def upgrade(self, message: m.Upgrade) -> Verdict:
        return self._apply(message)

    @upgrade.validator
    def validate_upgrade(self, message: m.Upgrade) -> None:
        self._refuse(message)

    @workflow.signal(name="upgrade", description="Continue as new, under the newest rules.")
    def signal_upgrade(self, payload: Payload) -> None:
        self._signal("upgrade", payload)

    @workflow.update(description="Cancel the process; {branch: true}: with its children.")
    def cancel(self, message: m.Cancel) -> Verdict:
        return self._apply(message)

    @cancel.validator
    def validate_cancel(self, message: m.Cancel) -> None:
        self._refuse(message)

    @workflow.signal(name="cancel", description="Cancel the process; {branch: true}: with its children.")
    def signal_cancel(self, payload: Payload) -> None:
        self._signal("cancel", payload)
