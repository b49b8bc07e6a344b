"""Every refusal of a message, worded in both languages (docs/protocol.md §8). Which one applies when is in `life/message_kinds.py`."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from tongyao.protocol.model.value import Value


class Refusal(StrEnum):
    """Why a message was not applied. The texts are in `REFUSALS`."""

    ENDED = "ended"
    NOTHING_TO_REFUSE = "nothing_to_refuse"
    NOT_SUSPENDED = "not_suspended"
    NOT_YOURS = "not_yours"
    NOT_NOW = "not_now"
    ALREADY_CONFIRMED = "already_confirmed"
    NO_SEATS_YET = "no_seats_yet"
    UNKNOWN_ALIAS = "unknown_alias"
    HAS_LEFT = "has_left"
    WRONG_ROUND = "wrong_round"
    ROUND_OVER = "round_over"
    TURN_OVER = "turn_over"
    PROXY_SPEAKS = "proxy_speaks"
    CORRECTED_ENOUGH = "corrected_enough"
    TAKEN_OVER_OFTEN = "taken_over_often"
    NOTHING_SAID = "nothing_said"
    TWO_ANSWERS = "two_answers"
    TOO_MANY = "too_many"
    TWICE = "twice"
    HIMSELF = "demander_among_participants"
    NO_PARTICIPANTS = "no_participants"
    DEMANDER_APART = "demander_takes_no_part"
    DEMANDER_ALONE = "demander_alone"
    NO_PROFILE = "no_profile"
    NO_CONSENT = "no_consent"
    NO_LIMIT = "no_limit"
    LIMIT_TOO_LOW = "limit_too_low"
    WRONG_REVISION = "wrong_revision"
    ALREADY_ANSWERED = "already_answered"
    UNKNOWN_RESIDUAL = "unknown_residual"
    ALREADY_REPLANNED = "already_replanned"
    NO_ONE_DECLINED = "no_one_declined"
    NOTHING_TO_EXTEND = "nothing_to_extend"
    NO_ROUND_YET = "no_round_yet"
    NO_CHANGE = "no_change"
    TOO_MANY_MESSAGES = "too_many_messages"
    EXTENDED_ALREADY = "extended_already"
    TOO_LONG = "too_long"
    UNKNOWN_INVITATION = "unknown_invitation"
    NOT_ASKED = "not_asked"
    NOTHING_TO_REPLAN = "nothing_to_replan"
    NO_ONE_PROPOSED = "no_one_proposed"
    NOBODY_LEFT = "nobody_left"
    BUDGET_OF_ROOT = "budget_of_root"
    UNKNOWN_CHILD = "unknown_child"
    ASK_OVER = "ask_over"
    OVERTAKEN = "overtaken"
    NOT_TRUSTED = "unreadable_message"
    NOT_SIGNED = "not_signed"
    FORK = "fork"


REFUSALS: Final[dict[Refusal, tuple[str, str]]] = {
    Refusal.ENDED: ("this process has ended; nothing can be changed any more", "这个过程已经结束，不能再改动"),
    Refusal.NOTHING_TO_REFUSE: (
        "this process has ended and asks nothing any more: no process starts for the residual tension unless you start it",
        "这个过程已经结束，不再询问：你不启动，就不会为这个残余张力另开过程",
    ),
    Refusal.NOT_SUSPENDED: ("the process is not suspended; there is nothing to resume", "过程没有暂停，无需恢复"),
    Refusal.NOT_YOURS: ("this is not yours to say in this process", "这件事在本过程中不由你决定"),
    Refusal.NOT_NOW: (
        "not possible in the present phase; your inbox says what is asked of you now, and `why` what the process waits for",
        "当前阶段不能这样做；收件箱写明现在要你做什么，`why` 说明过程在等什么",
    ),
    Refusal.ALREADY_CONFIRMED: (
        "the tension is confirmed already and can no longer be changed",
        "张力已经确认，不能再修改",
    ),
    Refusal.NO_SEATS_YET: (
        "nobody has a seat yet: this is possible once the tension is confirmed, people are chosen, and those who are "
        "asked whether a proxy may speak for them have answered",
        "还没有人入座：等张力确认、人选定下、被询问是否允许代理发言的人都答复之后才可以",
    ),
    Refusal.UNKNOWN_ALIAS: ("there is no such participant in this process", "本过程中没有这个参与者"),
    Refusal.HAS_LEFT: ("this participant has left the process", "该参与者已离开本过程"),
    Refusal.WRONG_ROUND: ("this answers a round that has not been opened", "这一轮还没有开始"),
    Refusal.ROUND_OVER: (
        "that round is over: words for a round are taken only while it is open",
        "那一轮已结束：只有在一轮进行中才能为它发言",
    ),
    Refusal.TURN_OVER: (
        "your proxy has answered in this round, in words or by saying that there is nothing new, and that is not taken back: "
        "you can speak when the next round opens",
        "这一轮你的代理已经答复过（说了话，或者说没有新的），不能收回：下一轮开始后你就可以自己说",
    ),
    Refusal.PROXY_SPEAKS: (
        "the proxy speaks in this turn; take over first (message `switch_endpoint` with `human`)",
        "这一轮由代理发言，请先接管（消息 `switch_endpoint`，值为 `human`）",
    ),
    Refusal.CORRECTED_ENOUGH: (
        "you have handed in words ten times in this turn: what you said last holds; say more in the next round",
        "这一轮你已提交十次：以最后一次为准；其余请在下一轮说",
    ),
    Refusal.TAKEN_OVER_OFTEN: (
        "your proxy is speaking, and you have taken over three times in this round: take over when it has spoken, or in the next round",
        "代理正在发言，而你这一轮已经接管三次：请等它说完再接管，或者等下一轮",
    ),
    Refusal.NOTHING_SAID: ("say something, or say that there is nothing new", "请写下内容，或说明没有新内容"),
    Refusal.TWO_ANSWERS: ("either a text or nothing new, not both", "内容与“没有新内容”只能选一个"),
    Refusal.TOO_MANY: ("more participants than this process allows", "参与者人数超过本过程上限"),
    Refusal.TWICE: ("somebody is named twice, or is in the room already", "有人被重复选中，或已在场"),
    Refusal.HIMSELF: ("the demander cannot be one of the participants", "需求方不能同时是参与者"),
    Refusal.NO_PARTICIPANTS: (
        "too few participants: name at least as many as the quorum, which is 2 unless the demander set another; to add people, at least one",
        "参与者太少：至少要达到最低人数，需求方没有另设时是 2 人；加人时至少一位",
    ),
    Refusal.DEMANDER_APART: (
        "the demander takes no part in the rounds of this process: nobody speaks, or is waited for, as P00",
        "本过程中需求方不参与各轮：没有人以 P00 发言，也不等待 P00",
    ),
    Refusal.DEMANDER_ALONE: (
        "nobody but the demander is left in the room: add participants, accept what there is, or abandon",
        "场上只剩需求方：请增加参与者、接受现有结果，或放弃",
    ),
    Refusal.NO_PROFILE: (
        "there is no profile of the demander for a proxy to speak from: speak yourself, or through your own agent",
        "需求方没有档案，代理无从发言：请亲自发言，或由自己的智能体发言",
    ),
    Refusal.NO_CONSENT: (
        "this participant has not allowed a proxy to speak for them: only they can switch to it",
        "该参与者没有允许代理代其发言：只有本人可以切换到代理",
    ),
    Refusal.NO_LIMIT: ("say the new limit, in tokens or in dollars", "请给出新的上限（token 或美元）"),
    Refusal.LIMIT_TOO_LOW: ("the new limit is not above what has been spent", "新的上限不高于已花费的数额"),
    Refusal.WRONG_REVISION: ("this answers another version of the plan", "这是对另一版方案的答复"),
    Refusal.ALREADY_ANSWERED: ("this plan has been answered already", "已对这份方案作过答复"),
    Refusal.UNKNOWN_RESIDUAL: ("there is no such residual tension waiting", "没有这个待定的残余张力"),
    Refusal.ALREADY_REPLANNED: (
        "the plan has been made anew once; that is all there is",
        "方案已重做过一次，不能再重做",
    ),
    Refusal.NO_ONE_DECLINED: ("nobody named here has declined", "所列参与者并未拒绝"),
    Refusal.NOTHING_TO_EXTEND: ("nobody is waited for under this alias", "目前没有在等这个参与者"),
    Refusal.NO_ROUND_YET: ("no round has begun yet", "还没有开始任何一轮"),
    Refusal.NO_CHANGE: ("this is so already; nothing would change", "现状已是如此，不会有任何改变"),
    Refusal.TOO_MANY_MESSAGES: (
        "you have sent as many messages to this process as it takes; leaving is still possible",
        "你发给本过程的消息已达上限；仍可离开本过程",
    ),
    Refusal.EXTENDED_ALREADY: (
        "you have extended this turn once; ask the demander for more time",
        "这一轮你已延长过一次；如需更多时间，请联系需求方",
    ),
    Refusal.TOO_LONG: ("a turn can be extended by at most its own length", "延长的时间不能超过一轮本身的时长"),
    Refusal.UNKNOWN_INVITATION: (
        "no question for you is open here: you have answered, or the time for it is over. After a yes `leave` takes you out",
        "这里没有等你答复的问题：你已经答复，或者时间已过。答应之后可以用 `leave` 退出",
    ),
    Refusal.NOT_ASKED: (
        "this plan was made without you, and asks nothing of you",
        "这版方案未包含你，不需要你的答复",
    ),
    Refusal.NOTHING_TO_REPLAN: (
        "name at least one participant who declined or proposed",
        "请至少指出一位谢绝或提出建议的参与者",
    ),
    Refusal.NO_ONE_PROPOSED: ("nobody named here has proposed anything", "所列参与者并未提出建议"),
    Refusal.NOBODY_LEFT: (
        "a plan without any participant is none: keep somebody in it, look for others (`approve_residual`), or end the answers (`conclude`)",
        "方案里不能一个参与者都没有：请至少留下一位，或另找他人（`approve_residual`），或结束答复（`conclude`）",
    ),
    Refusal.BUDGET_OF_ROOT: (
        "the budget belongs to the process at the root of this tree: raise it there",
        "预算属于最上层的过程：请在那里提高上限",
    ),
    Refusal.UNKNOWN_CHILD: ("this process has no such child running", "本过程没有这个正在进行的子过程"),
    Refusal.ASK_OVER: (
        "what this answers is over: the process went on after you saw it. Look at it again",
        "你答复的事情已经过去：你看到之后，过程又往前走了。请重新查看",
    ),
    Refusal.OVERTAKEN: (
        "this message could not be delivered before a later one of the same sender was applied",
        "此消息未能及时送达，同一发送者的后一条消息已先被采用",
    ),
    Refusal.NOT_SIGNED: (
        "the signal carries no valid signature: have its payload signed with `tongyao signal PROCESS KIND PAYLOAD`",
        "信号没有有效签名：请用 `tongyao signal 过程 类型 内容` 为其签名",
    ),
    Refusal.FORK: (
        "this is a fork: people's words and decisions in it are those of the process it was made from. It can be cancelled",
        "这是一个分支推演：其中各人的话和决定都取自原过程。可以取消它",
    ),
    Refusal.NOT_TRUSTED: (
        "the message cannot be read; see the reference of messages",
        "无法读取这条消息，请参照消息格式",
    ),
}


_OVER: Final = frozenset(
    {
        Refusal.NOT_NOW,
        Refusal.ALREADY_CONFIRMED,
        Refusal.ROUND_OVER,
        Refusal.WRONG_ROUND,
        Refusal.WRONG_REVISION,
        Refusal.ALREADY_ANSWERED,
        Refusal.UNKNOWN_RESIDUAL,
        Refusal.ASK_OVER,
    }
)
"""Refusals of messages that answer what is not open."""
_OPEN_NOW: Final = ("; open now: {open}", "；现在等待的是 {open}")


class Verdict(Value):
    """The answer to a message. A refusal carries its code and both wordings; a repeated key its first verdict.

    `round`: the round in which words count that came after their own round had closed; else 0.
    """

    accepted: bool
    code: str = "accepted"
    en: str = ""
    zh: str = ""
    repeated: bool = False
    round: int = 0

    @classmethod
    def refused(cls, code: Refusal, open_now: str = "") -> Verdict:
        """`open_now`: ids of what is open instead; said where the message answers something that is over."""
        said = zip(REFUSALS[code], _OPEN_NOW if open_now and code in _OVER else ("", ""), strict=True)
        en, zh = (text + tail.replace("{open}", open_now) for text, tail in said)
        return cls(accepted=False, code=code.value, en=en, zh=zh)


ACCEPTED: Final = Verdict(accepted=True)
