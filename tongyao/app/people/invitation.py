"""What somebody who is invited reads before anything else: who asks, what Tongyao is, and what happens with their answer.

The console, mails, the API, MCP and the command line show the same words.
"""

from __future__ import annotations

from typing import Final

from tongyao.protocol.model.value import Value
from tongyao.records.people.scenes import SceneUnknown
from tongyao.records.process.processes import ProcessRow
from tongyao.records.repositories import Repositories

_WHO: Final = (
    ("Somebody asks you to take part.", "有人请你参加。"),
    ("Somebody in “{scene}” asks you to take part.", "“{scene}”里有人请你参加。"),
)
_UNNAMED: Final = (
    " Their name is not shown, nor is yours: here everybody has an alias. Those who commit to the plan in the end learn each other’s names.",
    "对方的名字不显示，你的也不显示：在这里每个人都用代号。最后答应方案的人，才互相看到名字。",
)
_WHAT: Final = (
    "Tongyao is a program for people who may need each other. In several rounds each says what they have and what they want, "
    "without seeing what others say in that round. A program shows how it fits together. In the end there is a plan, and each "
    "commits to their part of it or declines.",
    "通爻是一个程序，给可能互相需要的人用。过程分几轮，每个人说自己有什么、想要什么，说的时候看不到别人这一轮的话。程序指出这些话之间的关系。"
    "最后写成一份方案，各人答应自己那一份，或者谢绝。",
)
_ANSWER: Final = (
    "Your answer: with a yes you take part, and you can leave at any time. With a no, or without an answer, you take no part and "
    "nothing is said for you. Whoever asks learns how many said yes, and not who.",
    "你的答复：同意就参加，随时可以退出。不同意或不答复就不参加，也没有谁替你说话。提出的人只知道有几个人同意，不知道是谁。",
)


class Invitation(Value):
    """The paragraphs, in this order. `who` says of whoever asks what they let be known: the scene, and no name."""

    who: str
    what: str
    answer: str

    @property
    def paragraphs(self) -> tuple[str, str, str]:
        return self.who, self.what, self.answer


async def invitation_to(repositories: Repositories, process: ProcessRow, language: str) -> Invitation:
    """The invitation to a process, in `zh` or else in English."""
    zh = int(language == "zh")
    title = ""
    if process.scene_id:
        try:
            scene = await repositories.scenes.get(process.scene_id)
            title = scene.settings.get("titles", {}).get("zh" if zh else "en") or scene.title or scene.id
        except SceneUnknown:
            title = process.scene_id
    who = _WHO[bool(title)][zh].format(scene=title) + _UNNAMED[zh]
    return Invitation(who=who, what=_WHAT[zh], answer=_ANSWER[zh])
