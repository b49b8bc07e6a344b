"""The texts of notifications: what waits, where and until when. They contain nobody's text and no name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from tongyao.protocol.life.asks import KINDS as KINDS_OF_ASKS
from tongyao.protocol.life.asks import Told, does

_WHAT: Final[dict[str, tuple[str, str]]] = {
    "set_aside": ("A message cannot be delivered and was set aside", "有一条消息无法送达，已搁置"),
    "token_made": (
        "An operator on the machine made a token or a link that opens your account",
        "本机管理员创建了可进入你账户的令牌或链接",
    ),
    "profile_written": ("An operator on the machine wrote your profile", "本机管理员改写了你的档案"),
    "demanded": ("An operator on the machine started a process in your name", "本机管理员以你的名义启动了一个过程"),
    "spoken_for": (
        "An operator on the machine made a message to a process in your name",
        "本机管理员以你的名义写了一条给过程的消息",
    ),
    "reminder": ("A reminder: your turn in round {round}", "提醒：第 {round} 轮仍在等你发言"),
    "escalated": ("{alias} let the time of round {round} pass", "{alias} 在第 {round} 轮超时未发言"),
    "delivery_ready": ("Your part of a plan is ready", "你的那份方案已经就绪"),
    "process_ended": ("A process has ended", "一个过程已经结束"),
}
_CODE: Final = (
    "This code confirms that you want to be told here: {code}\nIf you did not ask for it, do nothing.\n",
    "确认在此接收通知的验证码：{code}\n如果不是你本人的请求，请忽略。\n",
)


def said(what: str, about: Mapping[str, Any], ask: Told | None, language: str) -> str:
    """What is told, in one sentence. `ask`: of what waits for somebody; its sentence is that of the table of asks."""
    if ask is not None and what in KINDS_OF_ASKS:
        sentence = does(ask, language)
        return f"请{sentence}" if language == "zh" else sentence[:1].upper() + sentence[1:]
    somebody = "有人" if language == "zh" else "Somebody"
    return _WHAT[what][language == "zh"].format(alias=about.get("alias") or somebody, round=about.get("round", ""))


def subject(sentence: str) -> str:
    return f"Tongyao: {sentence}"


def text(
    sentence: str,
    *,
    process: str,
    due: datetime | None,
    where: str,
    language: str,
    first: Sequence[str] = (),
) -> str:
    """The body of a notification. `sentence`: what is told. `first`: paragraphs that stand before everything else."""
    zh = language == "zh"
    lines = [line for paragraph in first for line in (paragraph, "")]
    lines += [sentence, ""]
    if process:
        lines.append(f"过程：{process}" if zh else f"Process: {process}")
    if due is not None:
        until = f"{due:%Y-%m-%d %H:%M} UTC"
        lines.append(f"截止：{until}" if zh else f"Until: {until}")
    if where:
        lines.append(f"地址：{where}" if zh else f"Where: {where}")
    return "\n".join(lines) + "\n"


def code_mail(code: str, language: str) -> tuple[str, str]:
    """Subject and text of the mail with a code."""
    return ("通爻：验证码" if language == "zh" else "Tongyao: a code"), _CODE[language == "zh"].format(code=code)
