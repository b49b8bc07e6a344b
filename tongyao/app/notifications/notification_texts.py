"""The texts of notifications: what waits, where and until when. They contain nobody's text and no name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

_WHAT: Final[dict[str, tuple[str, str]]] = {
    "confirm_tension": ("Please confirm or revise your tension", "请确认或修改你的张力"),
    "select_participants": ("Please choose who takes part", "请选择参与者"),
    "projection": ("Your turn in round {round}", "第 {round} 轮轮到你发言"),
    "gap": (
        "A question about your tension, which perhaps only you can answer",
        "关于你的张力，有一个也许只有你答得了的问题",
    ),
    "decision": ("Please decide how to go on", "请决定如何继续"),
    "answer": ("Please answer the plan", "请答复方案"),
    "residual": ("A residual tension waits for your decision", "有一个残余张力待你决定"),
    "hole": ("Somebody declined: decide what happens to their part", "有人谢绝了方案：请决定其份额如何处理"),
    "resume": ("A process is suspended", "一个过程已暂停"),
    "consent": ("Somebody asks whether a proxy may speak for you", "有人询问代理能否代你发言"),
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


def subject(what: str, about: Mapping[str, Any], language: str) -> str:
    words = _WHAT[what][language == "zh"]
    somebody = "有人" if language == "zh" else "Somebody"
    return "Tongyao: " + words.format(alias=about.get("alias") or somebody, round=about.get("round", ""))


def text(
    what: str,
    about: Mapping[str, Any],
    *,
    process: str,
    due: datetime | None,
    where: str,
    language: str,
    first: Sequence[str] = (),
) -> str:
    """The body of a notification. `first`: paragraphs that stand before everything else."""
    zh = language == "zh"
    lines = [line for paragraph in first for line in (paragraph, "")]
    lines += [subject(what, about, language).removeprefix("Tongyao: "), ""]
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
