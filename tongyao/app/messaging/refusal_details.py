"""Refusals with what the message was about: its round, or how many people it names and how many are needed."""

from __future__ import annotations

from tongyao.app.messaging.wire import DecideBody, MessageBody, SelectParticipantsBody, SubmitProjectionBody
from tongyao.protocol.model.settings import ProcessSettings
from tongyao.protocol.rules.refusals import Refusal, Verdict
from tongyao.records.process.processes import ProcessRow


def in_detail(verdict: Verdict, body: MessageBody, process: ProcessRow) -> Verdict:
    """The verdict in words that fit this message; as it is where there is nothing to add."""
    match body:
        case SubmitProjectionBody() if verdict.code == Refusal.TURN_OVER:
            return _worded(verdict, f"round {body.round}: {verdict.en}", f"第 {body.round} 轮：{verdict.zh}")
        case SelectParticipantsBody() if verdict.code == Refusal.NO_PARTICIPANTS:
            needed = max(1, ProcessSettings.model_validate(process.settings).quorum)
            return _too_few(verdict, len(body.participants), needed)
        case DecideBody() if verdict.code == Refusal.NO_PARTICIPANTS:
            return _too_few(verdict, len(body.participants), 1)
    return verdict


def _too_few(verdict: Verdict, named: int, needed: int) -> Verdict:
    return _worded(
        verdict,
        f"too few participants: {named} named, at least {needed} needed. Name {needed - named} more: of those who were "
        "found, or others by their ids",
        f"参与者太少：至少要 {needed} 位，现在写了 {named} 位。请再加 {needed - named} 位：从找到的人里选，或者写上别人的 id",
    )


def _worded(verdict: Verdict, en: str, zh: str) -> Verdict:
    return verdict.model_copy(update={"en": en, "zh": zh})
