"""Refusals with what the message was about: its round, or how many people it names and how many are needed."""

from __future__ import annotations

from tongyao.app.messaging.wire import DecideBody, MessageBody, SelectParticipantsBody, SubmitProjectionBody
from tongyao.protocol.model.settings import ProcessSettings
from tongyao.protocol.rules.refusals import Refusal, Verdict
from tongyao.records.process.processes import ProcessRow
from tongyao.texts.catalogue import in_both


def in_detail(verdict: Verdict, body: MessageBody, process: ProcessRow) -> Verdict:
    """The verdict in words that fit this message; as it is where there is nothing to add."""
    match body:
        case SubmitProjectionBody() if verdict.code == Refusal.TURN_OVER:
            before = in_both("app", "refusal.round", round=body.round)
            return _worded(verdict, before[0] + verdict.en, before[1] + verdict.zh)
        case SelectParticipantsBody() if verdict.code == Refusal.NO_PARTICIPANTS:
            needed = max(1, ProcessSettings.model_validate(process.settings).quorum)
            return _too_few(verdict, len(body.participants), needed)
        case DecideBody() if verdict.code == Refusal.NO_PARTICIPANTS:
            return _too_few(verdict, len(body.participants), 1)
    return verdict


def _too_few(verdict: Verdict, named: int, needed: int) -> Verdict:
    missing = needed - named
    return _worded(verdict, *in_both("app", "refusal.too_few", named=named, needed=needed, missing=missing))


def _worded(verdict: Verdict, en: str, zh: str) -> Verdict:
    return verdict.model_copy(update={"en": en, "zh": zh})
