"""How messages enter a process: an update and a signal of the same name for each kind (docs/protocol.md §8).

Updates carry typed messages whose texts are already stored; the relay sends them. Signals are the operators' door
(command line, Temporal UI): loose JSON, which may carry a text. Both record and return at once.
"""

import hashlib
from typing import Any, ClassVar, cast

from pydantic import JsonValue, ValidationError
from temporalio import workflow
from temporalio.exceptions import ApplicationError

from tongyao.protocol.contracts.process import REFUSED, ProcessInput
from tongyao.protocol.life import effects
from tongyao.protocol.model.events import EventKind, SignalledText
from tongyao.protocol.model.messages import (
    MESSAGE,
    AnswerPlan,
    ApproveResidual,
    Cancel,
    Conclude,
    ConfirmTension,
    Decide,
    ExtendDeadline,
    Leave,
    Message,
    Replan,
    Resume,
    ReviseTension,
    SelectParticipants,
    SetMandate,
    SubmitProjection,
    SwitchEndpoint,
    dedupe_key,
)
from tongyao.protocol.model.process import DEMANDER, State, TensionRef
from tongyao.protocol.model.sizes import language_of
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.rules.refusals import ACCEPTED, Refusal, Verdict, refuse
from workflows.journal import Journal

_WITH_WORDS = ("submit_projection", "answer_plan")


def _update(kind: type[Message], name: str, description: str) -> Any:
    async def handle(self: Any, message: Any) -> Verdict:
        verdict: Verdict = self._apply(message)
        return verdict

    def validate(self: Any, message: Any) -> None:
        self._refuse_if_wrong(message)

    for function in (handle, validate):
        function.__annotations__["message"] = kind
        del function.__annotations__["self"]  # Temporal takes an annotated first argument for one of the message's
        function.__qualname__ = function.__name__ = f"update_{name}"
    door = workflow.update(name=name, description=description)(handle)
    door.validator(validate)
    return door


def _signal(name: str, description: str) -> Any:
    async def handle(self: Any, payload: dict[str, JsonValue]) -> None:
        self._signalled(name, payload)

    handle.__qualname__ = handle.__name__ = f"signal_{name}"
    del handle.__annotations__["self"]
    return workflow.signal(name=name, description=description)(handle)


class Doors:
    """The message handlers of a process. A workflow has `state`, `journal` and `start` before the first one arrives."""

    state: State
    journal: Journal
    start: ProcessInput

    def _apply(self, message: Message) -> Verdict:
        key = dedupe_key(message)
        if key in self.state.applied:
            return ACCEPTED.model_copy(update={"repeated": True})
        if (code := self._refusal(message)) is not None:
            return Verdict.refused(code)
        for kind, data in effects.apply(self.state, message, now=workflow.now()):
            at_once = kind is EventKind.WORDS_ARRIVED  # they are taken down at once, which takes this along
            self.journal.note(kind, data, urgent=not at_once)
        self.state.applied[key] = message.kind
        return ACCEPTED

    def _refuse_if_wrong(self, message: Message) -> None:
        if dedupe_key(message) not in self.state.applied and (code := self._refusal(message)) is not None:
            verdict = Verdict.refused(code)
            raise ApplicationError(verdict.en, verdict.model_dump(), type=REFUSED)

    def _refusal(self, message: Message) -> Refusal | None:
        settings = self.start.settings
        return refuse(self.state, message, max_participants=settings.max_others, quorum=settings.quorum)

    def _signalled(self, kind: str, payload: dict[str, JsonValue]) -> None:
        try:
            message = self._read(kind, dict(payload))
        except (ValidationError, ValueError, TypeError):
            self.journal.note(EventKind.MESSAGE_REFUSED, {"message": kind, "code": Refusal.NOT_TRUSTED.value})
            return
        verdict = self._apply(message)
        if not verdict.accepted:
            self.journal.note(EventKind.MESSAGE_REFUSED, {"message": kind, "code": verdict.code})

    def _read(self, kind: str, payload: dict[str, JsonValue]) -> Message:
        """A signal as a message. Without a key, the same alias, round and content make it the same message."""
        author = payload.setdefault("author", {"role": "operator"})
        content = hashlib.sha256(repr(sorted(payload.items())).encode()).hexdigest()[:24]
        payload.setdefault("key", f"signal-{content}")
        if kind in _WITH_WORDS and (text := payload.pop("text", None)):
            payload["text_id"] = self._keep(str(text), f"{kind}/{content}", str(payload.get("alias", "")), "words")
        if kind == "revise_tension" and "tension" in payload:
            payload["tension"] = self._keep_tension(cast(dict[str, Any], payload["tension"]), content)
        return MESSAGE.validate_python({**payload, "kind": kind, "author": author})

    def _keep_tension(self, parts: dict[str, Any], content: str) -> dict[str, JsonValue]:
        tension = Tension.model_validate({"language": language_of(str(parts.get("transition", ""))), **parts})
        text_id = self._keep(tension.model_dump_json(), f"revise_tension/{content}", DEMANDER, "tension")
        ref = TensionRef(text_id=text_id, grade=tension.grade, barriers=len(tension.barriers))
        return ref.model_dump(mode="json")

    def _keep(self, body: str, name: str, alias: str, kind: str) -> str:
        seat = self.state.seats.get(alias)
        owner = seat.profile.profile_id if seat and seat.profile else self.start.demander
        text_id = effects.text_id(self.start.process_id, name)
        self.journal.keep(SignalledText(text_id=text_id, owner=owner, kind=kind, body=body))
        return text_id

    _D: ClassVar[dict[str, tuple[type[Any], str]]] = {
        "revise_tension": (ReviseTension, "Revise the tension before it is confirmed."),
        "confirm_tension": (ConfirmTension, "Confirm the tension."),
        "select_participants": (SelectParticipants, "Choose who takes part, and start."),
        "submit_projection": (SubmitProjection, "Say something in a turn: {alias, round, text | nothing_new}."),
        "switch_endpoint": (SwitchEndpoint, "Change what speaks for a participant: {alias, endpoint}."),
        "extend_deadline": (ExtendDeadline, "Give a late person more time: {alias, seconds}."),
        "leave": (Leave, "A participant leaves: {alias}."),
        "decide": (Decide, "Decide how to go on: {decision}."),
        "conclude": (Conclude, "End the rounds after the present one, or the wait for answers or children."),
        "set_mandate": (SetMandate, "Note that a participant changed their proxy's mandate: {alias}."),
        "resume": (Resume, "Go on after a suspension."),
        "cancel": (Cancel, "Cancel the process; {branch: true}: with its children."),
        "answer_plan": (AnswerPlan, "A participant's decision on the plan: {alias, revision, answer, text}."),
        "approve_residual": (ApproveResidual, "Start a child for a residual tension: {residual}."),
        "replan": (Replan, "Make the plan anew without those who declined: {without}."),
    }
    for _name, (_kind, _description) in _D.items():
        locals()[f"update_{_name}"] = _update(_kind, _name, _description)
        locals()[f"signal_{_name}"] = _signal(_name, _description)
    del _name, _kind, _description, _D
